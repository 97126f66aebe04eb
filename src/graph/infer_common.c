/* Infer functions that many rows share, and those of pointwise operators and reductions. */
#include <stdio.h>
#include <string.h>

#include "graph/inner.h"

/* ---- what operands must be ------------------------------------------------------------------- */

static const char *
name_of(const Infer *infer, int index)
{
	return op_input(infer->node->op, index)->name;
}

void
infer_rank(const Infer *infer, int index, int rank)
{
	const Type *type = infer_input(infer, index);
	if (type && type->rank != rank)
		infer_fail(infer, "input %s has rank %d, expected %d", name_of(infer, index), type->rank,
		           rank);
}

void
infer_least_rank(const Infer *infer, int index, int least)
{
	const Type *type = infer_input(infer, index);
	if (type && type->rank < least)
		infer_fail(infer, "input %s has rank %d, expected %d or more", name_of(infer, index),
		           type->rank, least);
}

void
infer_single(Infer *infer, int index)
{
	const Type *type = infer_input(infer, index);
	char what[128];
	snprintf(what, sizeof what, "dims of %s, of which one element is expected",
	         name_of(infer, index));
	for (int i = 0; type && i < type->rank; i++)
		infer_equal(infer, type->dims[i], dim_const(infer->ctx, 1), what);
}

void
infer_vector(Infer *infer, int index, const Dim *length)
{
	const Type *type = infer_input(infer, index);
	char what[128];
	infer_rank(infer, index, 1);
	snprintf(what, sizeof what, "elements of %s, and expected ones", name_of(infer, index));
	if (type)
		infer_equal(infer, type->dims[0], length, what);
}

void
infer_single_or_vector(Infer *infer, int index, const Dim *length)
{
	const Type *type = infer_input(infer, index);
	bool is_single = type != NULL;
	for (int i = 0; type && i < type->rank; i++)
		is_single &= dim_is(type->dims[i], 1);
	if (!is_single)
		infer_vector(infer, index, length);
}

void
infer_broadcast_to(Infer *infer, int index, int rank, const Dim *const *dims)
{
	const Type *type = infer_input(infer, index);
	char what[128];
	snprintf(what, sizeof what, "dims of %s, and those it broadcasts to", name_of(infer, index));
	if (type && type->rank > rank)
		infer_fail(infer, "input %s has rank %d, expected at most %d", name_of(infer, index),
		           type->rank, rank);
	for (int i = 0; type && i < type->rank; i++)
		if (!dim_is(type->dims[i], 1))
			infer_equal(infer, type->dims[i], dims[rank - type->rank + i], what);
}

DType
infer_float_attr(const Infer *infer, const char *name)
{
	int64_t number = attr_int(infer->node, name);
	if (number <= DT_NONE || number >= DT_COUNT || !dtype_is_float((DType)number))
		infer_fail(infer, "%s = %lld is no float type that can be computed in", name,
		           (long long)number);
	return (DType)number;
}

/* ---- pointwise ------------------------------------------------------------------------------- */

/* Whether `a` broadcasts to `b` by what is assumed of it alone, while meanings see that it is 1 by
 * its type. */
static bool
is_late_one(const Infer *infer, const Dim *a, const Dim *b)
{
	const Dim *one = dim_const(infer->ctx, 1);
	if (a == b || !dim_proves_lt(infer->ctx, one, b))
		return false;
	return infer_assumed(infer, a) == one ||
	       (dim_proves_le(infer->ctx, a, one) && dim_proves_le(infer->ctx, one, a));
}

/* For a model that is written again nothing is assumed: either side may be 1. Of a number and a
 * size that is only known when run, the number is what both become. */
static const Dim *
broadcast_openly(Infer *infer, const Dim *a, const Dim *b, const char *what)
{
	int64_t number;
	bool is_number[] = {dim_is_const(a, &number), dim_is_const(b, &number)};
	if (is_number[0] || is_number[1])
		return is_number[0] && is_number[1] ? infer_equal(infer, a, b, what) : is_number[0] ? a : b;
	ExprCtx *ctx = infer->ctx;
	const Expr *is_one = expr_eq(ctx, a, expr_i64(ctx, 1));
	return infer_symbol(infer, "X", expr_select(ctx, is_one, b, a));
}

const Dim *
infer_broadcast_dim(Infer *infer, const Dim *a, const Dim *b, const char *what)
{
	if (dim_is(a, 1))
		return b;
	if (dim_is(b, 1))
		return a;
	if (infer->graph->is_open && a != b)
		return broadcast_openly(infer, a, b, what);
	if (is_late_one(infer, a, b) || is_late_one(infer, b, a))
		fail_unsupported(&infer->node->loc, "%s: that one of them is 1 is only known at run time",
		                 what);
	return infer_equal(infer, a, b, what);
}

/* `b` where `a` is 1, or 0 as b is then: a window's end that is cut off, min(1, sequence). */
static const Dim *
broadcast_along(Infer *infer, const Dim *a, const Dim *b, const char *what)
{
	if (a == b || dim_is(a, 1) || dim_is(b, 1))
		return infer_broadcast_dim(infer, a, b, what);
	if (dim_stands(infer->ctx, a, b))
		return infer_equal(infer, b, dim_mul(infer->ctx, a, b), what);
	if (dim_stands(infer->ctx, b, a))
		return infer_equal(infer, a, dim_mul(infer->ctx, a, b), what);
	return infer_broadcast_dim(infer, a, b, what);
}

/* The broadcast shape of the inputs from `first` to `last`, both included. */
static int
broadcast(Infer *infer, int first, int last, const Dim **dims)
{
	int rank = 0;
	for (int i = first; i <= last; i++)
		if (infer_input(infer, i) && infer_input(infer, i)->rank > rank)
			rank = infer_input(infer, i)->rank;
	for (int d = 0; d < rank; d++)
		dims[d] = dim_const(infer->ctx, 1);
	for (int i = first; i <= last; i++) {
		const Type *type = infer_input(infer, i);
		for (int d = 0; type && d < type->rank; d++) {
			int at = rank - type->rank + d;
			char what[64];
			snprintf(what, sizeof what, "dim %d of the inputs", at);
			dims[at] = broadcast_along(infer, dims[at], type->dims[d], what);
		}
	}
	return rank;
}

void
infer_pointwise(Infer *infer)
{
	const Dim *dims[ARRAY_MAX_RANK];
	if (infer->node->ninput == 0)
		infer_fail(infer, "an input is missing");
	int rank = broadcast(infer, 0, infer->node->ninput - 1, dims);
	infer_set(infer, 0, infer_dtype(infer, 0), rank, dims);
}

void
infer_string_pair(Infer *infer)
{
	infer_pointwise(infer);
}

/* The whole type of the first input, whatever its kind. */
void
infer_same(Infer *infer)
{
	infer_set_type(infer, 0, infer_input(infer, 0));
}

void
infer_as_first(Infer *infer, int output, DType dtype)
{
	const Type *x = infer_input(infer, 0);
	infer_set(infer, output, dtype, x->rank, x->dims);
}

void
infer_with_extent(Infer *infer, int output, DType dtype, int axis, const Dim *extent)
{
	const Type *x = infer_input(infer, 0);
	const Dim *dims[ARRAY_MAX_RANK];
	type_dims(x, dims);
	dims[axis] = extent;
	infer_set(infer, output, dtype, x->rank, dims);
}

DType
infer_type_attr(const Infer *infer, const char *name, DType otherwise)
{
	const Attr *attr = attr_find(infer->node, name);
	if (!attr)
		return otherwise;
	if (attr->i <= DT_NONE || attr->i >= DT_COUNT)
		infer_fail(infer, "%s = %lld is not an element type", name, (long long)attr->i);
	return (DType)attr->i;
}

void
infer_cast(Infer *infer)
{
	const Type *like = infer_input(infer, 1);
	infer_as_first(infer, 0, like ? like->dtype : infer_type_attr(infer, "to", DT_NONE));
}

void
infer_bit_cast(Infer *infer)
{
	DType from = infer_input(infer, 0)->dtype, to = infer_type_attr(infer, "to", DT_NONE);
	if (dtype_bits(to) != dtype_bits(from))
		infer_fail(infer, "%s and %s are of different width", dtype_name(from), dtype_name(to));
	infer_as_first(infer, 0, to);
}

void
infer_Dropout(Infer *infer)
{
	infer_same(infer);
	infer_as_first(infer, 1, DT_BOOL);
}

/* ---- reductions ------------------------------------------------------------------------------ */

/* Which axes a Reduce node takes: by its second input, all of them, or none. */
Axes
reduce_axes(const Node *node, const Known *axes, int rank)
{
	int count = axes ? axes->count : 0;
	bool is_all = count == 0 && !attr_int(node, "noop_with_empty_axes");
	Axes reduced = is_all ? AXIS(rank) - 1 : 0;
	for (int i = 0; i < count; i++) {
		int64_t axis = 0;
		if (!axes->value[i] || !dim_is_const(axes->value[i], &axis))
			fail_unsupported(&node->loc,
			                 "input axes is only known at run time; --fix makes it a constant");
		if (axis < -rank || axis >= rank)
			fail(&node->loc, "axis %lld is outside -%d..%d", (long long)axis, rank, rank - 1);
		reduced |= AXIS(axis < 0 ? axis + rank : axis);
	}
	return reduced;
}

/* An axes input that is given must be known, unless it has no elements. */
static void
require_axes(Infer *infer)
{
	const Type *axes = infer_input(infer, 1);
	bool is_empty = axes && axes->rank == 1 && dim_is(axes->dims[0], 0);
	if (axes && !infer_known(infer, 1) && !is_empty)
		infer_wait(infer, 1, 0);
}

void
infer_reduced(Infer *infer, Axes axes)
{
	const Type *x = infer_input(infer, 0);
	const Dim *dims[ARRAY_MAX_RANK];
	bool keeps = attr_int(infer->node, "keepdims") != 0;
	int rank = 0;
	for (int i = 0; i < x->rank; i++) {
		if (!(axes & AXIS(i)))
			dims[rank++] = x->dims[i];
		else if (keeps)
			dims[rank++] = dim_const(infer->ctx, 1);
	}
	infer_set(infer, 0, infer_dtype(infer, 0), rank, dims);
}

void
infer_reduce(Infer *infer)
{
	require_axes(infer);
	int rank = infer_input(infer, 0)->rank;
	infer_reduced(infer, reduce_axes(infer->node, infer_known(infer, 1), rank));
}

void
infer_cumulative(Infer *infer)
{
	int count;
	const int64_t *axis = infer_numbers(infer, 1, &count);
	if (count != 1)
		infer_fail(infer, "axis has %d elements, expected 1", count);
	infer_axis(infer, axis[0], infer_input(infer, 0)->rank);
	infer_same(infer);
}
