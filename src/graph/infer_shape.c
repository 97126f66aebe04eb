/* Infer functions of the operators that move elements: shapes from shapes and known integers. */
#include <stdio.h>
#include <string.h>

#include "graph/inner.h"

/* ---- shapes as values ------------------------------------------------------------------------ */

void
infer_Shape(Infer *infer)
{
	const Type *x = infer_input(infer, 0);
	int start, count;
	shape_range(infer->node, x->rank, &start, &count);
	const Dim *length = dim_const(infer->ctx, count);
	infer_set(infer, 0, DT_I64, 1, &length);
}

/* Of elements, or of tensors. */
void
infer_count(Infer *infer)
{
	infer_set(infer, 0, DT_I64, 0, NULL);
}

void
shape_range(const Node *node, int rank, int *start, int *count)
{
	int64_t from = attr_int(node, "start");
	int64_t to = attr_has(node, "end") ? attr_int(node, "end") : rank;
	from += from < 0 ? rank : 0;
	to += to < 0 ? rank : 0;
	from = from < 0 ? 0 : from > rank ? rank : from;
	to = to < 0 ? 0 : to > rank ? rank : to;
	*start = (int)from;
	*count = to > from ? (int)(to - from) : 0;
}

void
infer_ConstantOfShape(Infer *infer)
{
	const Dim *dims[ARRAY_MAX_RANK];
	int rank = infer_length(infer, 0);
	for (int i = 0; i < rank; i++)
		dims[i] = infer_dim_value(infer, 0, i);
	const Attr *value = attr_find(infer->node, "value");
	infer_set(infer, 0, value ? value->tensor->type : DT_F32, rank, dims);
}

/* ---- Reshape and its relatives --------------------------------------------------------------- */

/* What stands for element i before -1 is resolved: 0 copies the input's dim. */
static const Dim *
reshape_element(Infer *infer, const Type *x, int i, const Dim *known)
{
	if (!dim_is(known, 0) || attr_int(infer->node, "allowzero"))
		return known;
	if (i >= x->rank)
		infer_fail(infer, "element %d of the shape is 0, but the input has rank %d", i, x->rank);
	return x->dims[i];
}

/* What a run says of the element that is left must be that, or -1, or 0 for the input's dim. */
static void
reshape_check_said(Infer *infer, const Type *x, int open, const Dim *left)
{
	ExprCtx *ctx = infer->ctx;
	const Dim *said = infer_index_value(infer, 1, open);
	const Expr *meant = said;
	if (!attr_int(infer->node, "allowzero") && open < x->rank)
		meant = expr_select(ctx, expr_eq(ctx, said, expr_i64(ctx, 0)), x->dims[open], said);
	meant = expr_select(ctx, expr_eq(ctx, said, expr_i64(ctx, -1)), left, meant);
	infer_equal(infer, left, infer_symbol(infer, "R", meant),
	            "what is left for a dim and what the shape says");
}

/* All elements but one are numbers or dims: that one is what is left. */
static void
reshape_resolve(Infer *infer, const Type *x, int rank, int open, bool is_said, const Dim **dims)
{
	ExprCtx *ctx = infer->ctx;
	const Dim *others = dim_const(ctx, 1), *total = type_count(ctx, x);
	for (int i = 0; i < rank; i++)
		if (i != open)
			others = dim_mul(ctx, others, dims[i]);
	int64_t divisor;
	if (open >= 0 && dim_is_const(others, &divisor) && divisor == 0)
		infer_fail(infer, "-1 stands beside a dim of 0");
	if (open >= 0)
		dims[open] = dim_floordiv(ctx, total, others);
	const Dim *product = open >= 0 ? dim_mul(ctx, dims[open], others) : others;
	infer_equal(infer, total, product, "elements before and after");
	if (is_said)
		reshape_check_said(infer, x, open, dims[open]);
}

/* Several elements are only known at run time. What is no size, and neither -1, is refused as a
 * value of its symbol. */
static void
reshape_run_time(Infer *infer, const Type *x, int rank, const Dim **dims)
{
	ExprCtx *ctx = infer->ctx;
	const Dim *said[ARRAY_MAX_RANK], *meant[ARRAY_MAX_RANK]; /* meant: 0 is the input's dim */
	const Dim *product = dim_const(ctx, 1);
	bool keeps = !attr_int(infer->node, "allowzero");
	for (int i = 0; i < rank; i++) {
		said[i] = meant[i] = dims[i] ? dims[i] : infer_index_value(infer, 1, i);
		if (!dims[i] && keeps && i < x->rank) {
			const Expr *is_kept = expr_eq(ctx, said[i], expr_i64(ctx, 0));
			meant[i] = expr_select(ctx, is_kept, x->dims[i], said[i]);
		}
		product = dim_mul(ctx, product, meant[i]);
	}
	/* With one element -1 the product of all is minus that of the others. */
	const Dim *left = dim_floordiv(ctx, type_count(ctx, x), dim_mul_i64(ctx, product, -1));
	for (int i = 0; i < rank; i++)
		if (!dims[i] || dim_is(dims[i], -1)) {
			const Expr *is_rest = expr_eq(ctx, said[i], expr_i64(ctx, -1));
			dims[i] = infer_symbol(infer, "R", expr_select(ctx, is_rest, left, meant[i]));
		}
	const Dim *made = dim_const(ctx, 1);
	for (int i = 0; i < rank; i++)
		made = dim_mul(ctx, made, dims[i]);
	infer_equal(infer, type_count(ctx, x), made, "elements before and after");
}

/* A size that comes to 0 when it runs would stand for the input's dim, unless that is then 0, too;
 * and -1 for something else than what is left beside that size. */
static void
reshape_refuse_zero(Infer *infer, const Type *x, int rank, const Dim **dims)
{
	ExprCtx *ctx = infer->ctx;
	const Dim *one = dim_const(ctx, 1);
	for (int i = 0; i < rank && i < x->rank && !attr_int(infer->node, "allowzero"); i++) {
		int64_t number;
		if (dim_is_const(dims[i], &number) || dim_is(dim_floormod(ctx, x->dims[i], dims[i]), 0))
			continue;
		infer_equal(infer, dim_min(ctx, dims[i], one), one,
		            "the lesser of 1 and a size beside -1, and 1,");
	}
}

void
infer_Reshape(Infer *infer)
{
	const Type *x = infer_input(infer, 0);
	const Known *known = infer_known(infer, 1);
	const Dim *dims[ARRAY_MAX_RANK];
	int rank = infer_length(infer, 1), open = -1, unknown = 0;
	for (int i = 0; i < rank; i++) {
		dims[i] = known && i < known->count ? known->value[i] : NULL;
		if (!dims[i]) {
			unknown++;
			open = i;
			continue;
		}
		int64_t number;
		dims[i] = reshape_element(infer, x, i, dims[i]);
		if (dim_is_const(dims[i], &number) && number < -1)
			infer_fail(infer, "element %d of the shape is %lld", i, (long long)number);
	}
	int minus = -1;
	for (int i = 0; i < rank; i++) {
		if (!dims[i] || !dim_is(dims[i], -1))
			continue;
		if (minus >= 0)
			infer_fail(infer, "elements %d and %d of the shape are both -1", minus, i);
		minus = i;
	}
	if (unknown == 0 && minus >= 0)
		reshape_refuse_zero(infer, x, rank, dims);
	if (unknown + (minus >= 0) > 1)
		reshape_run_time(infer, x, rank, dims);
	else
		reshape_resolve(infer, x, rank, minus >= 0 ? minus : open, unknown > 0, dims);
	infer_set(infer, 0, infer_dtype(infer, 0), rank, dims);
}

void
infer_Flatten(Infer *infer)
{
	const Type *x = infer_input(infer, 0);
	int64_t axis = attr_int(infer->node, "axis");
	if (axis < -x->rank || axis > x->rank)
		infer_fail(infer, "axis %lld is outside -%d..%d", (long long)axis, x->rank, x->rank);
	int at = (int)(axis < 0 ? axis + x->rank : axis);
	const Dim *dims[2] = {
		dim_product(infer->ctx, at, x->dims),
		dim_product(infer->ctx, x->rank - at, x->dims + at),
	};
	infer_set(infer, 0, infer_dtype(infer, 0), 2, dims);
}

/* Whether a dim stays where no axes are given: an open one does, and is not 1 then when run. A
 * model that is written again assumes nothing: the rank is not known. */
static bool
stays_unnamed(Infer *infer, const Dim *dim)
{
	ExprCtx *ctx = infer->ctx;
	if (dim_is(dim, 1))
		return false;
	if (dim_proves_lt(ctx, dim_const(ctx, 1), dim) || dim_is(dim, 0))
		return true;
	if (infer->graph->is_open)
		fail_unsupported(&infer->node->loc, "whether an open dim is 1 is only known when run");
	const Dim *two = dim_const(ctx, 2), *one = dim_const(ctx, 1);
	const char *what = "a dim of 1 would go, as no axes are given (--shape SYMBOL=1..1 compiles "
					   "that): sizes";
	infer_equal(infer, dim, dim_mul(ctx, dim, dim_min(ctx, dim_floordiv(ctx, dim, two), one)),
	            what);
	return true;
}

void
infer_Squeeze(Infer *infer)
{
	const Type *x = infer_input(infer, 0);
	const Dim *dims[ARRAY_MAX_RANK];
	bool is_gone[ARRAY_MAX_RANK] = {false};
	int count, rank = 0;
	const int64_t *axes = infer_numbers(infer, 1, &count);
	for (int i = 0; i < count; i++) {
		int axis = infer_axis(infer, axes[i], x->rank);
		infer_equal(infer, x->dims[axis], dim_const(infer->ctx, 1), "the dim squeezed and 1");
		is_gone[axis] = true;
	}
	for (int i = 0; i < x->rank; i++)
		if (count < 0 ? stays_unnamed(infer, x->dims[i]) : !is_gone[i])
			dims[rank++] = x->dims[i];
	infer_set(infer, 0, infer_dtype(infer, 0), rank, dims);
}

void
infer_Unsqueeze(Infer *infer)
{
	const Type *x = infer_input(infer, 0);
	const Dim *dims[ARRAY_MAX_RANK] = {NULL};
	int count;
	const int64_t *axes = infer_numbers(infer, 1, &count);
	int rank = x->rank + count, from = 0;
	if (rank > ARRAY_MAX_RANK)
		infer_fail(infer, "rank %d is more than %d", rank, ARRAY_MAX_RANK);
	for (int i = 0; i < count; i++) {
		int axis = infer_axis(infer, axes[i], rank);
		if (dims[axis])
			infer_fail(infer, "axis %d is named twice", axis);
		dims[axis] = dim_const(infer->ctx, 1);
	}
	for (int i = 0; i < rank; i++)
		if (!dims[i])
			dims[i] = x->dims[from++];
	infer_set(infer, 0, infer_dtype(infer, 0), rank, dims);
}

void
infer_Transpose(Infer *infer)
{
	const Type *x = infer_input(infer, 0);
	const Dim *dims[ARRAY_MAX_RANK];
	bool is_used[ARRAY_MAX_RANK] = {false};
	int64_t count;
	const int64_t *perm = attr_ints(infer->node, "perm", &count);
	if (count >= 0 && count != x->rank)
		infer_fail(infer, "perm has %lld elements, but the input has rank %d", (long long)count,
		           x->rank);
	for (int i = 0; i < x->rank; i++) {
		int axis = count < 0 ? x->rank - 1 - i : infer_axis(infer, perm[i], x->rank);
		if (is_used[axis])
			infer_fail(infer, "perm names axis %d twice", axis);
		is_used[axis] = true;
		dims[i] = x->dims[axis];
	}
	infer_set(infer, 0, infer_dtype(infer, 0), x->rank, dims);
}

/* ---- growing --------------------------------------------------------------------------------- */

/* a where it is not 1, else b. */
static const Dim *
unless_one(Infer *infer, const Dim *a, const Dim *b)
{
	ExprCtx *ctx = infer->ctx;
	return infer_symbol(infer, "X", expr_select(ctx, expr_eq(ctx, a, expr_i64(ctx, 1)), b, a));
}

/* A dim and an element of Expand's shape: a 1 on either side gives way. Which one is 1 may only be
 * known at run time: unlike two dims that meet in a broadcast, the shape is data. */
static const Dim *
expand_dim(Infer *infer, const Dim *dim, int element)
{
	static const char what[] = "the input's dim and the shape's";
	const Dim *known = infer_known(infer, 1) ? infer_known(infer, 1)->value[element] : NULL;
	int64_t number;
	bool is_number = dim_is_const(dim, &number);
	const Dim *wanted = known ? known : infer_element(infer, 1, element);
	bool is_wanted_number = dim_is_const(wanted, &number);
	if (dim == wanted || dim_is(dim, 1) || dim_is(wanted, 1) || (is_number && is_wanted_number))
		return infer_broadcast_dim(infer, dim, wanted, what);
	const Dim *wide = is_wanted_number ? wanted : unless_one(infer, dim, wanted);
	const Dim *other = is_wanted_number ? dim : wanted;
	infer_equal(infer, unless_one(infer, other, wide), wide, what);
	return wide;
}

void
infer_Expand(Infer *infer)
{
	const Type *x = infer_input(infer, 0);
	const Dim *dims[ARRAY_MAX_RANK];
	int length = infer_length(infer, 1);
	int rank = length > x->rank ? length : x->rank;
	for (int i = 0; i < rank; i++) {
		int from = i - (rank - x->rank), element = i - (rank - length);
		if (from < 0)
			dims[i] = infer_dim_value(infer, 1, element);
		else if (element < 0)
			dims[i] = x->dims[from];
		else
			dims[i] = expand_dim(infer, x->dims[from], element);
	}
	infer_set(infer, 0, infer_dtype(infer, 0), rank, dims);
}

void
infer_Tile(Infer *infer)
{
	const Type *x = infer_input(infer, 0);
	const Dim *dims[ARRAY_MAX_RANK];
	if (infer_length(infer, 1) != x->rank)
		infer_fail(infer, "repeats has %d elements, but the input has rank %d",
		           infer_length(infer, 1), x->rank);
	for (int i = 0; i < x->rank; i++)
		dims[i] = dim_mul(infer->ctx, x->dims[i], infer_dim_value(infer, 1, i));
	infer_set(infer, 0, infer_dtype(infer, 0), x->rank, dims);
}

void
infer_Pad(Infer *infer)
{
	const Type *x = infer_input(infer, 0);
	const Dim *dims[ARRAY_MAX_RANK];
	int count;
	const int64_t *axes = infer_numbers(infer, 3, &count);
	int padded = count < 0 ? x->rank : count;
	if (infer_length(infer, 1) != 2 * padded)
		infer_fail(infer, "pads has %d elements, expected %d", infer_length(infer, 1), 2 * padded);
	infer_single(infer, 2);
	type_dims(x, dims);
	for (int i = 0; i < padded; i++) {
		int axis = count < 0 ? i : infer_axis(infer, axes[i], x->rank);
		const Dim *both = dim_add(infer->ctx, infer_index_value(infer, 1, i),
		                          infer_index_value(infer, 1, padded + i));
		dims[axis] = dim_add(infer->ctx, dims[axis], both);
	}
	infer_set(infer, 0, infer_dtype(infer, 0), x->rank, dims);
}

void
infer_CenterCropPad(Infer *infer)
{
	const Type *x = infer_input(infer, 0);
	const Dim *dims[ARRAY_MAX_RANK];
	int64_t count;
	const int64_t *axes = attr_ints(infer->node, "axes", &count);
	int changed = count < 0 ? x->rank : (int)count;
	if (infer_length(infer, 1) != changed)
		infer_fail(infer, "shape has %d elements, expected %d", infer_length(infer, 1), changed);
	type_dims(x, dims);
	for (int i = 0; i < changed; i++)
		dims[count < 0 ? i : infer_axis(infer, axes[i], x->rank)] = infer_dim_value(infer, 1, i);
	infer_set(infer, 0, infer_dtype(infer, 0), x->rank, dims);
}

/* ---- cutting and joining --------------------------------------------------------------------- */

void
infer_Concat(Infer *infer)
{
	const Type *x = infer_input(infer, 0);
	const Dim *dims[ARRAY_MAX_RANK];
	if (!x)
		infer_fail(infer, "an input is missing");
	int axis = infer_axis(infer, attr_int(infer->node, "axis"), x->rank);
	type_dims(x, dims);
	for (int i = 1; i < infer->node->ninput; i++) {
		const Type *next = infer_input(infer, i);
		if (!next || next->rank != x->rank)
			infer_fail(infer, "input %d has rank %d, the first has %d", i, next ? next->rank : 0,
			           x->rank);
		for (int d = 0; d < x->rank; d++) {
			char what[64];
			snprintf(what, sizeof what, "dim %d of the inputs", d);
			dims[d] = d == axis ? dim_add(infer->ctx, dims[d], next->dims[d])
			                    : infer_equal(infer, dims[d], next->dims[d], what);
		}
	}
	infer_set(infer, 0, infer_dtype(infer, 0), x->rank, dims);
}

/* Parts of equal size, the last with what is left. */
static const Dim *
equal_part(Infer *infer, const Dim *extent, int part, int parts)
{
	ExprCtx *ctx = infer->ctx;
	const Dim *size = dim_ceildiv(ctx, extent, dim_const(ctx, parts));
	return part < parts - 1 ? size : dim_sub(ctx, extent, dim_mul_i64(ctx, size, parts - 1));
}

void
infer_Split(Infer *infer)
{
	const Type *x = infer_input(infer, 0);
	const Dim *dims[ARRAY_MAX_RANK];
	int axis = infer_axis(infer, attr_int(infer->node, "axis"), x->rank);
	int parts = infer->node->noutput;
	bool is_given = infer_input(infer, 1) != NULL;
	if (is_given && infer_length(infer, 1) != parts)
		infer_fail(infer, "split has %d elements for %d outputs", infer_length(infer, 1), parts);
	if (!is_given && attr_has(infer->node, "num_outputs") &&
	    attr_int(infer->node, "num_outputs") != parts)
		infer_fail(infer, "num_outputs is %lld, but %d outputs are named",
		           (long long)attr_int(infer->node, "num_outputs"), parts);
	const Dim *sum = dim_const(infer->ctx, 0);
	type_dims(x, dims);
	for (int i = 0; i < parts; i++) {
		dims[axis] =
			is_given ? infer_dim_value(infer, 1, i) : equal_part(infer, x->dims[axis], i, parts);
		sum = dim_add(infer->ctx, sum, dims[axis]);
		infer_set(infer, i, infer_dtype(infer, i), x->rank, dims);
	}
	infer_equal(infer, x->dims[axis], sum, "the dim split and the sum of its parts");
}

/* Index s counted from behind where it is negative. */
static const Dim *
from_behind(ExprCtx *ctx, const Dim *s, const Dim *extent, bool *is_front)
{
	*is_front = dim_proves_le(ctx, dim_const(ctx, 0), s);
	if (*is_front)
		return s;
	if (dim_proves_lt(ctx, s, dim_const(ctx, 0)))
		return dim_add(ctx, s, extent);
	/* s / 2^31 rounded down is -1 for a negative 32-bit s, else 0 */
	const Dim *sign = dim_floordiv(ctx, s, dim_const(ctx, (int64_t)1 << 31));
	return dim_sub(ctx, s, dim_mul(ctx, sign, extent));
}

static const Dim *
least(ExprCtx *ctx, const Dim *a, const Dim *b)
{
	return dim_proves_le(ctx, a, b) ? a : dim_proves_le(ctx, b, a) ? b : dim_min(ctx, a, b);
}

static const Dim *
greatest(ExprCtx *ctx, const Dim *a, const Dim *b)
{
	return dim_proves_le(ctx, a, b) ? b : dim_proves_le(ctx, b, a) ? a : dim_max(ctx, a, b);
}

/* Indices from 2^31 - 1 on say "to the end". */
static const Dim *
within_32_bits(ExprCtx *ctx, const Dim *s, const Dim *extent)
{
	int64_t number;
	if (!dim_is_const(s, &number))
		return s;
	return number >= INT32_MAX ? extent : number < INT32_MIN ? dim_const(ctx, INT32_MIN) : s;
}

/* An index clamped only on the side where the length does not do it: a start past the end makes the
 * length negative, and max(0, …) takes care. */
void
slice_range(ExprCtx *ctx, const Dim *extent, const Dim *from, const Dim *to, int64_t by,
            const Dim **start, const Dim **length)
{
	const Dim *zero = dim_const(ctx, 0), *span;
	bool is_front;
	*start = from_behind(ctx, within_32_bits(ctx, from, extent), extent, &is_front);
	if (by > 0 && !is_front)
		*start = greatest(ctx, *start, zero);
	if (by < 0) {
		/* what begins in front of the first element begins with it, unless there is none */
		const Dim *last = dim_add_i64(ctx, extent, -1);
		*start = least(ctx, *start, last);
		if (!is_front)
			*start = greatest(ctx, *start, least(ctx, zero, last));
	}
	const Dim *end = from_behind(ctx, within_32_bits(ctx, to, extent), extent, &is_front);
	if (by > 0) {
		span = dim_sub(ctx, least(ctx, end, extent), *start);
	} else {
		span = dim_sub(ctx, *start, is_front ? end : greatest(ctx, end, dim_const(ctx, -1)));
		by = -by;
	}
	*length = greatest(ctx, dim_ceildiv(ctx, span, dim_const(ctx, by)), zero);
}

/* How many axes are cut: as many as starts, or axes, are known to be. Where data makes both longer
 * or shorter, one: so exporters write down where something begins, starts = offsets[i:i+1]. */
int
slice_count(const Type *starts, const Type *axes)
{
	int64_t count = 1;
	if (!dim_is_const(starts->dims[0], &count) && axes)
		dim_is_const(axes->dims[0], &count);
	return count < 0 || count > ARRAY_MAX_RANK ? ARRAY_MAX_RANK + 1 : (int)count;
}

/* A list of bounds has as many elements; where data decides that, it is assumed. */
static void
check_bounds(Infer *infer, int index, int count)
{
	int64_t number = 1;
	if (!dim_is_const(infer_input(infer, index)->dims[0], &number))
		infer_vector(infer, index, dim_const(infer->ctx, count));
	else if (number != count)
		infer_fail(infer, "starts, ends, axes and steps differ in length");
}

void
infer_Slice(Infer *infer)
{
	const Type *x = infer_input(infer, 0);
	const Dim *dims[ARRAY_MAX_RANK], *start;
	int naxes, nsteps, count = slice_count(infer_input(infer, 1), infer_input(infer, 3));
	const int64_t *axes = infer_numbers(infer, 3, &naxes);
	const int64_t *steps = infer_numbers(infer, 4, &nsteps);
	check_bounds(infer, 1, count);
	check_bounds(infer, 2, count);
	if ((naxes >= 0 && naxes != count) || (nsteps >= 0 && nsteps != count) || count > x->rank)
		infer_fail(infer, "starts, ends, axes and steps differ in length");
	type_dims(x, dims);
	for (int i = 0; i < count; i++) {
		int axis = naxes < 0 ? i : infer_axis(infer, axes[i], x->rank);
		int64_t by = nsteps < 0 ? 1 : steps[i];
		if (by == 0)
			infer_fail(infer, "step %d is 0", i);
		slice_range(infer->ctx, x->dims[axis], infer_bound_value(infer, 1, i),
		            infer_bound_value(infer, 2, i), by, &start, &dims[axis]);
	}
	infer_set(infer, 0, infer_dtype(infer, 0), x->rank, dims);
}

/* ---- blocks ---------------------------------------------------------------------------------- */

static int64_t
block_size(Infer *infer)
{
	int64_t block = attr_int(infer->node, "blocksize");
	if (block < 1 || block > 1 << 15)
		infer_fail(infer, "blocksize is %lld", (long long)block);
	infer_rank(infer, 0, 4);
	return block;
}

/* dim / divisor, assumed to leave no rest. */
static const Dim *
exact_part(Infer *infer, const Dim *dim, int64_t divisor, const char *what)
{
	const Dim *part = dim_floordiv(infer->ctx, dim, dim_const(infer->ctx, divisor));
	infer_equal(infer, dim, dim_mul_i64(infer->ctx, part, divisor), what);
	return part;
}

void
infer_DepthToSpace(Infer *infer)
{
	const Type *x = infer_input(infer, 0);
	int64_t b = block_size(infer);
	const Dim *dims[4] = {x->dims[0], exact_part(infer, x->dims[1], b * b, "channels and blocks"),
	                      dim_mul_i64(infer->ctx, x->dims[2], b),
	                      dim_mul_i64(infer->ctx, x->dims[3], b)};
	infer_set(infer, 0, infer_dtype(infer, 0), 4, dims);
}

void
infer_SpaceToDepth(Infer *infer)
{
	const Type *x = infer_input(infer, 0);
	int64_t b = block_size(infer);
	const Dim *dims[4] = {x->dims[0], dim_mul_i64(infer->ctx, x->dims[1], b * b),
	                      exact_part(infer, x->dims[2], b, "height and blocks"),
	                      exact_part(infer, x->dims[3], b, "width and blocks")};
	infer_set(infer, 0, infer_dtype(infer, 0), 4, dims);
}
