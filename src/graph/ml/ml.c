#include "graph/ml/ml.h"

#include <string.h>

/* ---- lists ----------------------------------------------------------------------------------- */

const Array *
ml_list(const Node *node, const char *name)
{
	static const int64_t none = 0;
	Arena *arena = node->parent->graph->arena;
	const char *as_tensor = arena_printf(arena, "%s_as_tensor", name);
	const Attr *attr = op_attr(node->op, as_tensor) ? attr_find(node, as_tensor) : NULL;
	if (!attr)
		attr = attr_find(node, name);
	if (!attr)
		return array_new(arena, DT_F32, 1, &none);
	if (attr->kind == ATTR_INTS)
		return array_vector_i64(arena, attr->count, attr->ints);
	if (attr->kind == ATTR_FLOATS)
		return array_from(arena, DT_F32, 1, &attr->count, attr->floats);
	must(attr->kind == ATTR_TENSOR);
	if (attr->tensor->type == DT_STRING)
		ml_refuse_text(node, name);
	return attr->tensor;
}

int64_t
ml_count(const Node *node, const char *name)
{
	return array_count(ml_list(node, name));
}

Value *
ml_constant(const Expander *m, const char *name, DType type, int rank, const int64_t *dims)
{
	Graph *graph = m->region->graph;
	const Array *list = ml_list(m->node, name);
	int64_t count = 1;
	for (int d = 0; d < rank; d++)
		count *= dims[d];
	if (array_count(list) != count)
		fail(&m->node->loc, "%s has %lld elements, expected %lld", name,
		     (long long)array_count(list), (long long)count);
	Array *made = array_new(graph->arena, type, rank, dims);
	for (int64_t i = 0; i < count; i++)
		if (dtype_is_integer(list->type))
			dtype_store_i64(type, made->data, i, dtype_load_i64(list->type, list->data, i));
		else
			dtype_store_f64(type, made->data, i, dtype_load_f64(list->type, list->data, i));
	return graph_constant(graph, graph_fresh_name(graph, name), made);
}

void
ml_refuse_text(const Node *node, const char *what)
{
	fail_unsupported(
		&node->loc,
		"text (%s) is not supported: turn it into numbers before the model, and numbers "
		"into text behind it",
		what);
}

/* ---- rows of features ------------------------------------------------------------------------ */

const Dim *
infer_ml_rows(Infer *infer, int64_t width)
{
	const Type *x = infer_input(infer, 0);
	if (x->rank < 1 || x->rank > 2)
		infer_fail(infer, "input of rank %d, expected rows of features (2), or a row (1)", x->rank);
	if (width > 0)
		infer_equal(infer, x->dims[x->rank - 1], dim_const(infer->ctx, width),
		            "features of a row, and those the model knows");
	return x->rank == 1 ? dim_const(infer->ctx, 1) : x->dims[0];
}

Value *
ml_rows(const Expander *m, DType type)
{
	Value *x = expander_cast(m, m->node->inputs[0], type);
	return x->type.rank == 2 ? x : expander_binary(m, "Unsqueeze", x, expander_integer(m, 1, 0));
}

Value *
ml_linear(const Expander *m, Value *x, int64_t results, const char *weights, const char *bias)
{
	const int64_t dims[] = {results, ml_count(m->node, weights) / results};
	Value *operands[] = {x, ml_constant(m, weights, DT_F32, 2, dims), NULL};
	if (bias && ml_count(m->node, bias) > 0)
		operands[2] = ml_constant(m, bias, DT_F32, 1, &results);
	Node *gemm = expander_node(m, "Gemm", operands[2] ? 3 : 2, operands, 1);
	node_set_int(gemm, "transB", 1);
	return expander_result(m, gemm);
}

Value *
ml_expression(const Expander *m, DType type, int ninput, Value *const *inputs, const char *text)
{
	Buf program = {.arena = m->region->graph->arena};
	for (; *text; text++)
		buf_printf(&program, "%.*s", *text == '@' ? 3 : 1, *text == '@' ? dtype_name(type) : text);
	Node *made = expander_node(m, "Expression", ninput, inputs, 1);
	Attr attr = {.name = "expr", .kind = ATTR_STRING, .s = buf_text(&program)};
	attr.count = (int64_t)strlen(attr.s);
	node_add_attr(made, &attr);
	return expander_result(m, made);
}

Value *
ml_repeated(const Expander *m, int64_t times, DType type, int ninput, Value **inputs,
            const char *text)
{
	Value *operands[] = {expander_integer(m, 0, times), NULL, inputs[0]};
	Node *loop = expander_node(m, "Loop", 3, operands, 1);
	Region *body = region_new(loop, "body");
	Expander inner = {body, NULL, m->node};
	region_param(body, "step", NULL);
	Value *results[2] = {region_param(body, "goes_on", NULL)};
	inputs[0] = region_param(body, "state", NULL);
	results[1] = ml_expression(&inner, type, ninput, inputs, text);
	region_set_results(body, 2, results);
	region_update_captures(body);
	return expander_result(m, loop);
}

/* ---- scores ---------------------------------------------------------------------------------- */

static const char *const TRANSFORMS[] = {"NONE", "SOFTMAX", "LOGISTIC", "SOFTMAX_ZERO", "PROBIT"};

MlTransform
ml_transform(const Node *node)
{
	const Attr *attr = attr_find(node, "post_transform");
	for (int i = 0; i <= ML_PROBIT; i++)
		if (attr->kind == ATTR_INT ? attr->i == i : strcmp(attr->s, TRANSFORMS[i]) == 0)
			return (MlTransform)i;
	fail(&node->loc, "post_transform is %lld, expected 0 to 4", (long long)attr->i);
}

void
ml_refuse_transform(const Node *node, bool is_refused)
{
	if (is_refused)
		fail_unsupported(&node->loc,
		                 "post_transform %s of a single score is not supported: ONNX Runtime does "
		                 "not do what ONNX says",
		                 TRANSFORMS[ml_transform(node)]);
}

/* Both as ONNX Runtime computes them. SOFTMAX_ZERO leaves scores of 0 out; PROBIT is the inverse of
 * the normal distribution by Winitzki's formula. */
static const char SOFTMAX_ZERO[] =
	"expr softmax_zero(X: @[N,C]) -> Y {\n"
	"  M[n:N]: @ = max(c:C) X[n, c]\n"
	"  E[n:N, c:C]: @ = abs(X[n, c]) > 0.0000001 ? exp(X[n, c] - M[n]) : X[n, c]*exp(-M[n])\n"
	"  S[n:N]: @ = sum(c:C) (abs(X[n, c]) > 0.0000001 ? E[n, c] : 0.0)\n"
	"  Y[n:N, c:C]: @ = E[n, c]/S[n]\n"
	"}\n";
static const char PROBIT[] =
	"expr probit(X: @[N,C]) -> Y {\n"
	"  Z[n:N, c:C]: @ = 2.0*X[n, c] - 1.0\n"
	"  L[n:N, c:C]: @ = log((1.0 - Z[n, c])*(1.0 + Z[n, c]))\n"
	"  V[n:N, c:C]: @ = 4.3307515 + 0.5*L[n, c]\n"
	"  W[n:N, c:C]: @ = sqrt(sqrt(V[n, c]*V[n, c] - L[n, c]/0.147) - V[n, c])\n"
	"  Y[n:N, c:C]: @ = 1.4142135*(Z[n, c] < 0.0 ? -W[n, c] : W[n, c])\n"
	"}\n";

Value *
ml_transformed(const Expander *m, Value *scores)
{
	DType type = scores->type.dtype;
	switch (ml_transform(m->node)) {
	case ML_SOFTMAX:
		return expander_unary(m, "Softmax", scores);
	case ML_LOGISTIC:
		return expander_unary(m, "Sigmoid", scores);
	case ML_SOFTMAX_ZERO:
		return ml_expression(m, type, 1, &scores, SOFTMAX_ZERO);
	case ML_PROBIT:
		return ml_expression(m, type, 1, &scores, PROBIT);
	default:
		return scores;
	}
}

/* ---- labels ---------------------------------------------------------------------------------- */

/* Operators differ in how they call numbers; texts are classlabels_strings. */
static const char *
labels_name(const Node *node)
{
	return op_attr(node->op, "classlabels_ints") ? "classlabels_ints" : "classlabels_int64s";
}

static int64_t
text_label_count(const Node *node)
{
	const Attr *text = attr_find(node, "classlabels_strings");
	return text ? text->count : 0;
}

int64_t
ml_label_count(const Node *node)
{
	int64_t texts = text_label_count(node), numbers = ml_count(node, labels_name(node));
	if (texts > 0 && numbers > 0)
		fail(&node->loc, "labels are numbers and texts, expected one of them");
	return texts + numbers;
}

void
infer_ml_classes(Infer *infer, const Dim *rows, int64_t scores)
{
	DType label = text_label_count(infer->node) > 0 ? DT_STRING : DT_I64;
	infer_set(infer, 0, label, 1, &rows);
	infer_set(infer, 1, DT_F32, 2, (const Dim *[]){rows, dim_const(infer->ctx, scores)});
}

/* 0 and 1 where the model says none. */
static Value *
label_table(const Expander *m)
{
	int64_t count = ml_label_count(m->node);
	if (count > 1)
		return ml_constant(m, labels_name(m->node), DT_I64, 1, &count);
	return expander_integers(m, 2, (const int64_t[]){0, 1});
}

void
ml_become(const Expander *m, Value *place, Value *scores)
{
	Node *node = (Node *)(uintptr_t)m->node;
	Value *label = node->outputs[0], *all = node->noutput > 1 ? node->outputs[1] : NULL;
	if (label && label->uses.count > 0) {
		if (text_label_count(node) > 0)
			fail_unsupported(&node->loc,
			                 "labels that are text (classlabels_strings) are not supported: train "
			                 "with numbers for classes, or keep the scores alone as outputs "
			                 "(onnx.utils.extract_model)");
		value_replace_uses(label, expander_binary(m, "Gather", label_table(m), place));
	}
	if (all)
		value_replace_uses(all, scores);
	node_remove(node);
}

Value *
ml_largest(const Expander *m, Value *scores)
{
	Node *arg = expander_node(m, "ArgMax", 1, &scores, 1);
	node_set_int(arg, "axis", 1);
	node_set_int(arg, "keepdims", 0);
	return expander_result(m, arg);
}

Value *
ml_above(const Expander *m, Value *x, double number)
{
	Value *is = expander_binary(m, "Greater", x, expander_number(m, x->type.dtype, number));
	return expander_binary(m, "Squeeze", expander_cast(m, is, DT_I64), expander_integer(m, 1, 1));
}

Value *
ml_both(const Expander *m, Value *x, double less)
{
	Value *other = expander_binary(m, "Sub", expander_number(m, x->type.dtype, less), x);
	Node *both = expander_node(m, "Concat", 2, (Value *[]){other, x}, 1);
	node_set_int(both, "axis", 1);
	return expander_result(m, both);
}
