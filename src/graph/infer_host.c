/* Infer functions of the operators that host functions compute. Dims that depend on data are
 * symbols defined by the output they describe.
 */
#include <string.h>

#include "graph/inner.h"

/* ---- tensors --------------------------------------------------------------------------------- */

/* Output 0: some of the input's elements, or of its slices along an axis. Returns how many. */
static const Dim *
some_of_input(Infer *infer)
{
	const Type *x = infer_input(infer, 0);
	bool is_flat = !attr_has(infer->node, "axis");
	int axis = is_flat ? 0 : infer_axis(infer, attr_int(infer->node, "axis"), x->rank);
	const Dim *count = infer_output_dim(infer, 0, axis);
	if (is_flat)
		infer_set(infer, 0, x->dtype, 1, &count);
	else
		infer_with_extent(infer, 0, x->dtype, axis, count);
	return count;
}

void
infer_Compress(Infer *infer)
{
	some_of_input(infer);
}

void
infer_NonMaxSuppression(Infer *infer)
{
	const Dim *dims[2] = {infer_output_dim(infer, 0, 0), dim_const(infer->ctx, 3)};
	infer_set(infer, 0, DT_I64, 2, dims);
}

void
infer_NonZero(Infer *infer)
{
	const Dim *dims[2] = {dim_const(infer->ctx, infer_input(infer, 0)->rank),
	                      infer_output_dim(infer, 0, 1)};
	infer_set(infer, 0, DT_I64, 2, dims);
}

void
infer_TopK(Infer *infer)
{
	const Type *x = infer_input(infer, 0);
	int axis = infer_axis(infer, attr_int(infer->node, "axis"), x->rank);
	infer_with_extent(infer, 0, x->dtype, axis, infer_dim_value(infer, 1, 0));
	infer_with_extent(infer, 1, DT_I64, axis, infer_dim_value(infer, 1, 0));
}

void
infer_Unique(Infer *infer)
{
	const Type *x = infer_input(infer, 0);
	const Dim *count = some_of_input(infer), *all = type_count(infer->ctx, x);
	if (attr_has(infer->node, "axis"))
		all = x->dims[infer_axis(infer, attr_int(infer->node, "axis"), x->rank)];
	infer_set(infer, 1, DT_I64, 1, &count);
	infer_set(infer, 2, DT_I64, 1, &all);
	infer_set(infer, 3, DT_I64, 1, &count);
}

/* ---- random ---------------------------------------------------------------------------------- */

void
infer_random(Infer *infer)
{
	int64_t count;
	const int64_t *shape = attr_ints(infer->node, "shape", &count);
	const Dim *dims[ARRAY_MAX_RANK];
	if (count > ARRAY_MAX_RANK)
		infer_fail(infer, "rank %lld is more than %d", (long long)count, ARRAY_MAX_RANK);
	for (int i = 0; i < count; i++)
		dims[i] = dim_const(infer->ctx, shape[i]);
	infer_set(infer, 0, infer_type_attr(infer, "dtype", DT_F32), (int)count, dims);
}

void
infer_random_like(Infer *infer)
{
	infer_as_first(infer, 0, infer_type_attr(infer, "dtype", infer_input(infer, 0)->dtype));
}

void
infer_Multinomial(Infer *infer)
{
	const Type *x = infer_input(infer, 0);
	infer_rank(infer, 0, 2);
	const Dim *dims[2] = {x->dims[0], dim_const(infer->ctx, attr_int(infer->node, "sample_size"))};
	infer_set(infer, 0, infer_type_attr(infer, "dtype", DT_I32), 2, dims);
}

/* ---- sequences ------------------------------------------------------------------------------- */

/* A tensor of which only the element type is certain: what sequences are made of. */
static const Type *
loose_type(Infer *infer, DType dtype)
{
	Type *type = NEW(infer->graph->arena, Type);
	*type = type_tensor(dtype, -1, NULL);
	return type;
}

static void
set_sequence(Infer *infer, const Type *element)
{
	Type type = {.kind = TYPE_SEQUENCE, .rank = -1, .element = element};
	infer_set_type(infer, 0, &type);
}

static const Type *
element_of(const Infer *infer, int index)
{
	const Type *sequence = infer_input(infer, index);
	if (!sequence->element || sequence->element->kind == TYPE_UNKNOWN)
		infer_fail(infer, "the elements' type of input %d is not known", index);
	return sequence->element;
}

/* A dim of an element, which output 0 will have at `axis`. Symbols in the type of a sequence that
 * is an input have no other place that tells them. */
static const Dim *
element_dim(Infer *infer, const Dim *dim, int axis)
{
	bool is_open = false;
	for (ExprWalk walk = expr_walk(dim); expr_step(&walk);)
		is_open |= walk.e->op == EX_symbol && !symbol_def_find(infer->graph, walk.e->symbol);
	return is_open ? infer_output_dim(infer, 0, axis) : dim;
}

static void
set_element(Infer *infer, const Type *element)
{
	const Dim *dims[ARRAY_MAX_RANK];
	if (element->kind != TYPE_TENSOR || element->rank < 0) {
		infer_set_type(infer, 0, element);
		return;
	}
	for (int i = 0; i < element->rank && i < ARRAY_MAX_RANK; i++)
		dims[i] = element_dim(infer, element->dims[i], i);
	infer_set(infer, 0, element->dtype, element->rank, dims);
}

void
infer_SequenceAt(Infer *infer)
{
	set_element(infer, element_of(infer, 0));
}

void
infer_SequenceConstruct(Infer *infer)
{
	const Type *first = infer_input(infer, 0);
	if (!first)
		infer_fail(infer, "an input is missing");
	bool is_same = true;
	for (int i = 1; i < infer->node->ninput; i++)
		is_same &= infer_input(infer, i) && type_equal(first, infer_input(infer, i));
	set_sequence(infer, is_same ? arena_memdup(infer->graph->arena, first, sizeof *first)
	                            : loose_type(infer, first->dtype));
}

void
infer_SequenceEmpty(Infer *infer)
{
	set_sequence(infer, loose_type(infer, infer_type_attr(infer, "dtype", DT_F32)));
}

void
infer_SequenceErase(Infer *infer)
{
	set_sequence(infer, element_of(infer, 0));
}

void
infer_SequenceInsert(Infer *infer)
{
	const Type *element = element_of(infer, 0), *x = infer_input(infer, 1);
	bool is_same = type_equal(element, x);
	set_sequence(infer, is_same ? element : loose_type(infer, x->dtype));
}

void
infer_SplitToSequence(Infer *infer)
{
	set_sequence(infer, loose_type(infer, infer_input(infer, 0)->dtype));
}

void
infer_ConcatFromSequence(Infer *infer)
{
	const Type *element = element_of(infer, 0);
	if (element->rank < 0) {
		infer_set_unknown(infer, 0, element->dtype);
		return;
	}
	bool is_new = attr_int(infer->node, "new_axis") != 0;
	const Dim *dims[ARRAY_MAX_RANK];
	int rank = element->rank + is_new, from = 0;
	int axis = infer_axis(infer, attr_int(infer->node, "axis"), rank);
	for (int i = 0; i < rank && i < ARRAY_MAX_RANK; i++) {
		bool is_joined = i == axis;
		const Dim *own = is_joined && is_new ? NULL : element->dims[from++];
		dims[i] = is_joined ? infer_output_dim(infer, 0, i) : element_dim(infer, own, i);
	}
	infer_set(infer, 0, element->dtype, rank, dims);
}

/* ---- optionals ------------------------------------------------------------------------------- */

void
infer_Optional(Infer *infer)
{
	const Attr *attr = attr_find(infer->node, "type");
	const Type *element = infer_input(infer, 0) ? infer_input(infer, 0) : attr ? attr->type : NULL;
	if (!element)
		infer_fail(infer, "neither an input nor a type is given");
	Type type = {.kind = TYPE_OPTIONAL, .rank = -1, .element = element};
	infer_set_type(infer, 0, &type);
}

void
infer_OptionalGetElement(Infer *infer)
{
	const Type *x = infer_input(infer, 0);
	set_element(infer, x->kind == TYPE_OPTIONAL ? element_of(infer, 0) : x);
}

void
infer_OptionalHasElement(Infer *infer)
{
	infer_set(infer, 0, DT_BOOL, 0, NULL);
}

/* ---- strings --------------------------------------------------------------------------------- */

void
infer_StringNormalizer(Infer *infer)
{
	const Type *x = infer_input(infer, 0);
	const Dim *dims[2];
	if (x->rank < 1 || x->rank > 2)
		infer_fail(infer, "the input has rank %d, expected 1 or 2", x->rank);
	bool is_kept = !attr_has(infer->node, "stopwords");
	for (int i = 0; i < x->rank; i++)
		dims[i] = i < x->rank - 1 || is_kept ? x->dims[i] : infer_output_dim(infer, 0, i);
	infer_set(infer, 0, DT_STRING, x->rank, dims);
}

void
infer_StringSplit(Infer *infer)
{
	const Type *x = infer_input(infer, 0);
	const Dim *dims[ARRAY_MAX_RANK];
	infer_as_first(infer, 1, DT_I64);
	if (x->rank >= ARRAY_MAX_RANK)
		return;
	type_dims(x, dims);
	dims[x->rank] = infer_output_dim(infer, 0, x->rank);
	infer_set(infer, 0, DT_STRING, x->rank + 1, dims);
}
