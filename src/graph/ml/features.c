/* Operators of ai.onnx.ml on features: what stands before a model of scikit-learn, and between its
 * parts.
 *
 *     %y = ai.onnx.ml.Scaler(%x) {offset=[1,2], scale=[3,4]}
 *     =>
 *     %y = Mul(Sub(%x, {1, 2}), {3, 4})
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "graph/inner.h"
#include "graph/ml/ml.h"

static Value *
where(const Expander *m, Value *condition, Value *yes, Value *no)
{
	return expander_result(m, expander_node(m, "Where", 3, (Value *[]){condition, yes, no}, 1));
}

static Value *
unsqueezed(const Expander *m, Value *x, int axis)
{
	return expander_binary(m, "Unsqueeze", x, expander_integer(m, 1, axis));
}

/* ---- ArrayFeatureExtractor ------------------------------------------------------------------- */

void
infer_ArrayFeatureExtractor(Infer *infer)
{
	const Dim *dims[ARRAY_MAX_RANK + 1] = {dim_const(infer->ctx, 1)};
	const Type *x = infer_input(infer, 0);
	infer_least_rank(infer, 0, 1);
	int rank = x->rank == 1 ? 2 : x->rank;
	if (x->rank > 1)
		type_dims(x, dims);
	dims[rank - 1] = type_count(infer->ctx, infer_input(infer, 1));
	infer_set(infer, 0, x->dtype, rank, dims);
}

void
expand_ArrayFeatureExtractor(Node *node)
{
	Expander m = {node->parent, node, node};
	if (node->inputs[0]->type.dtype == DT_STRING)
		ml_refuse_text(node, node->inputs[0]->name);
	Value *at = expander_binary(&m, "Reshape", node->inputs[1], expander_integer(&m, 1, -1));
	Value *parts[] = {node->inputs[0], at};
	if (parts[0]->type.rank == 1)
		parts[0] = unsqueezed(&m, parts[0], 0);
	Node *gather = expander_node(&m, "Gather", 2, parts, 1);
	node_set_int(gather, "axis", -1);
	node_become(node, expander_result(&m, gather));
}

/* ---- FeatureVectorizer ----------------------------------------------------------------------- */

void
infer_FeatureVectorizer(Infer *infer)
{
	const Array *widths = ml_list(infer->node, "inputdimensions");
	int64_t all = 0;
	if (infer->node->ninput < 1 || array_count(widths) != infer->node->ninput)
		infer_fail(infer, "inputdimensions has %lld elements, and there are %d inputs",
		           (long long)array_count(widths), infer->node->ninput);
	for (int i = 0; i < infer->node->ninput; i++) {
		int64_t width = dtype_load_i64(DT_I64, widths->data, i);
		infer_rank(infer, i, 2);
		infer_equal(infer, infer_input(infer, i)->dims[1], dim_const(infer->ctx, width),
		            "columns of an input and its inputdimensions");
		infer_equal(infer, infer_input(infer, i)->dims[0], infer_input(infer, 0)->dims[0],
		            "rows of the inputs");
		all += width;
	}
	const Dim *dims[] = {infer_input(infer, 0)->dims[0], dim_const(infer->ctx, all)};
	infer_set(infer, 0, DT_F32, 2, dims);
}

void
expand_FeatureVectorizer(Node *node)
{
	Expander m = {node->parent, node, node};
	Value **parts = NEW_N(node->parent->graph->arena, Value *, node->ninput);
	for (int i = 0; i < node->ninput; i++)
		parts[i] = expander_cast(&m, node->inputs[i], DT_F32);
	Node *joined = expander_node(&m, "Concat", node->ninput, parts, 1);
	node_set_int(joined, "axis", 1);
	node_become(node, expander_result(&m, joined));
}

/* ---- Imputer, Normalizer, Scaler ------------------------------------------------------------- */

/* One number for all columns, or one for each. */
static void
check_columns(Infer *infer, const char *name)
{
	int64_t count = ml_count(infer->node, name);
	infer_ml_rows(infer, count > 1 ? count : 0);
}

static Value *
columns(const Expander *m, const char *name, DType type)
{
	int64_t count = ml_count(m->node, name);
	return ml_constant(m, name, type, 1, &count);
}

static const char *
imputed_name(const Node *node)
{
	bool is_float = dtype_is_float(node->inputs[0]->type.dtype);
	return is_float ? "imputed_value_floats" : "imputed_value_int64s";
}

void
infer_Imputer(Infer *infer)
{
	const char *name = imputed_name(infer->node);
	if (ml_count(infer->node, name) < 1)
		infer_fail(infer, "%s is missing", name);
	check_columns(infer, name);
	infer_same(infer);
}

void
expand_Imputer(Node *node)
{
	Expander m = {node->parent, node, node};
	Value *x = node->inputs[0], *is;
	DType type = x->type.dtype;
	double replaced = (double)attr_float(node, "replaced_value_float");
	if (dtype_is_float(type) && isnan(replaced)) {
		is = expander_unary(&m, "IsNaN", x);
	} else {
		Value *value = dtype_is_float(type)
		                   ? expander_number(&m, type, replaced)
		                   : expander_integer(&m, 0, attr_int(node, "replaced_value_int64"));
		is = expander_binary(&m, "Equal", dtype_is_float(type) ? x : expander_cast(&m, x, DT_I64),
		                     value);
	}
	node_become(node, where(&m, is, columns(&m, imputed_name(node), type), x));
}

void
infer_Normalizer(Infer *infer)
{
	infer_ml_rows(infer, 0);
	infer_as_first(infer, 0, DT_F32);
}

/* A row of zeros stays as it is. */
void
expand_Normalizer(Node *node)
{
	static const char *const norms[][2] = {
		{"MAX", "ReduceMax"}, {"L1", "ReduceL1"}, {"L2", "ReduceL2"}};
	Expander m = {node->parent, node, node};
	Value *x = expander_cast(&m, node->inputs[0], DT_F32), *norm = NULL;
	for (int i = 0; i < 3; i++)
		if (strcmp(attr_string(node, "norm"), norms[i][0]) == 0)
			norm = expander_binary(&m, norms[i][1], x, expander_integer(&m, 1, -1));
	Value *is_zero = expander_binary(&m, "Equal", norm, expander_number(&m, DT_F32, 0));
	node_become(node, where(&m, is_zero, x, expander_binary(&m, "Div", x, norm)));
}

void
infer_Scaler(Infer *infer)
{
	check_columns(infer, "offset");
	check_columns(infer, "scale");
	infer_as_first(infer, 0, DT_F32);
}

void
expand_Scaler(Node *node)
{
	Expander m = {node->parent, node, node};
	DType type = node->inputs[0]->type.dtype == DT_F64 ? DT_F64 : DT_F32;
	Value *y = expander_cast(&m, node->inputs[0], type);
	if (ml_count(node, "offset") > 0)
		y = expander_binary(&m, "Sub", y, columns(&m, "offset", type));
	if (ml_count(node, "scale") > 0)
		y = expander_binary(&m, "Mul", y, columns(&m, "scale", type));
	node_become(node, expander_cast(&m, y, DT_F32));
}

/* ---- LabelEncoder, OneHotEncoder ------------------------------------------------------------- */

/* bool [...,K]: which of a list's elements x is. Where one is NaN, that is NaN. */
static Value *
equal_to_each(const Expander *m, Value *x, const char *name)
{
	int64_t count = ml_count(m->node, name);
	Value *list = ml_constant(m, name, x->type.dtype, 1, &count), *each = unsqueezed(m, x, -1);
	Value *is = expander_binary(m, "Equal", each, list);
	bool has_nan = false;
	for (int64_t i = 0; dtype_is_float(x->type.dtype) && i < count; i++)
		has_nan |= isnan(dtype_load_f64(x->type.dtype, list->constant->data, i));
	if (!has_nan)
		return is;
	Value *both = expander_binary(m, "And", expander_unary(m, "IsNaN", each),
	                              expander_unary(m, "IsNaN", list));
	return expander_binary(m, "Or", is, both);
}

/* i32: 1 where one of them holds. */
static Value *
any_of(const Expander *m, Value *is)
{
	Value *parts[] = {expander_cast(m, is, DT_I32), expander_integer(m, 1, -1)};
	Node *any = expander_node(m, "ReduceMax", 2, parts, 1);
	node_set_int(any, "keepdims", 0);
	return expander_result(m, any);
}

/* The list among those of this prefix that is given: keys_floats, values_tensor. */
static const char *
given_list(const Node *node, const char *prefix)
{
	static const char *const kinds[] = {"int64s", "floats", "tensor"};
	Arena *arena = node->parent->graph->arena;
	const char *found = NULL;
	if (attr_has(node, arena_printf(arena, "%s_strings", prefix)))
		ml_refuse_text(node, arena_printf(arena, "%s_strings", prefix));
	for (int i = 0; i < 3; i++) {
		const char *name = arena_printf(arena, "%s_%s", prefix, kinds[i]);
		if (attr_has(node, name) && found)
			fail(&node->loc, "%s and %s are given, expected one of them", found, name);
		found = attr_has(node, name) ? name : found;
	}
	if (!found)
		fail(&node->loc, "there is no list of %s", prefix);
	return found;
}

void
infer_LabelEncoder(Infer *infer)
{
	const Node *node = infer->node;
	const char *keys = given_list(node, "keys"), *values = given_list(node, "values");
	int64_t count = ml_count(node, keys);
	if (count < 1 || count != ml_count(node, values))
		infer_fail(infer,
		           "%s and %s have %lld and %lld elements, expected as many and one at least", keys,
		           values, (long long)count, (long long)ml_count(node, values));
	infer_as_first(infer, 0, ml_list(node, values)->type);
}

static Value *
default_label(const Expander *m, DType type)
{
	const Attr *tensor = attr_find(m->node, "default_tensor");
	if (tensor && array_count(tensor->tensor) == 1)
		return ml_constant(m, "default_tensor", type, 0, NULL);
	if (dtype_is_float(type))
		return expander_number(m, type, (double)attr_float(m->node, "default_float"));
	return expander_cast(m, expander_integer(m, 0, attr_int(m->node, "default_int64")), type);
}

void
expand_LabelEncoder(Node *node)
{
	Expander m = {node->parent, node, node};
	const char *keys = given_list(node, "keys"), *values = given_list(node, "values");
	int64_t count = ml_count(node, keys);
	Value *x = node->inputs[0];
	DType type = ml_list(node, values)->type;
	Value *is = equal_to_each(&m, x, keys);
	Value *found = expander_cast(&m, is, DT_I32);
	Node *first = expander_node(&m, "ArgMax", 1, &found, 1);
	node_set_int(first, "axis", -1);
	node_set_int(first, "keepdims", 0);
	Value *y = expander_binary(&m, "Gather", ml_constant(&m, values, type, 1, &count),
	                           expander_result(&m, first));
	Value *known = expander_cast(&m, any_of(&m, is), DT_BOOL);
	node_become(node, where(&m, known, y, default_label(&m, type)));
}

static int
compare_integers(const void *left, const void *right)
{
	const int64_t *a = left, *b = right;
	return *a < *b ? -1 : *a > *b;
}

/* ONNX does not say which of two equal categories it is. */
static void
check_categories(const Infer *infer, int64_t count)
{
	Arena *arena = infer->graph->arena;
	const Array *list = ml_list(infer->node, "cats_int64s");
	int64_t *sorted = arena_memdup(arena, list->data, (size_t)count * sizeof *sorted);
	qsort(sorted, (size_t)count, sizeof *sorted, compare_integers);
	for (int64_t i = 1; i < count; i++)
		if (sorted[i - 1] == sorted[i])
			infer_fail(infer, "cats_int64s has %lld twice", (long long)sorted[i]);
}

void
infer_OneHotEncoder(Infer *infer)
{
	const Dim *dims[ARRAY_MAX_RANK + 1];
	const Type *x = infer_input(infer, 0);
	int64_t count = ml_count(infer->node, "cats_int64s");
	if (attr_has(infer->node, "cats_strings"))
		ml_refuse_text(infer->node, "cats_strings");
	if (count < 1)
		infer_fail(infer, "cats_int64s is missing");
	if (x->rank >= ARRAY_MAX_RANK)
		infer_fail(infer, "input of rank %d, expected %d at most", x->rank, ARRAY_MAX_RANK - 1);
	check_categories(infer, count);
	type_dims(x, dims);
	dims[x->rank] = dim_const(infer->ctx, count);
	infer_set(infer, 0, DT_F32, x->rank + 1, dims);
}

/* Where zeros is 0, an unknown category is an error: it reads beyond a table of one element. */
void
expand_OneHotEncoder(Node *node)
{
	Expander m = {node->parent, node, node};
	Value *x = expander_cast(&m, node->inputs[0], DT_I64);
	Value *is = equal_to_each(&m, x, "cats_int64s");
	Value *y = expander_cast(&m, is, DT_F32);
	if (!attr_int(node, "zeros")) {
		Value *unknown = expander_binary(&m, "Sub", expander_number(&m, DT_I32, 1), any_of(&m, is));
		Value *one = unsqueezed(&m, expander_number(&m, DT_F32, 1), 0);
		y = expander_binary(&m, "Mul", y,
		                    unsqueezed(&m, expander_binary(&m, "Gather", one, unknown), -1));
	}
	node_become(node, y);
}
