/* Infer functions that many rows share, and those of pointwise operators and reductions. */
#include <stdio.h>
#include <string.h>

#include "graph/inner.h"

/* ---- pointwise ------------------------------------------------------------------------------- */

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
			dims[at] = infer_broadcast_dim(infer, dims[at], type->dims[d], what);
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

/* The dims of the first input, the element type of the row. */
void
infer_same_first(Infer *infer)
{
	const Type *x = infer_input(infer, 0);
	infer_set(infer, 0, infer_dtype(infer, 0), x->rank, x->dims);
}

/* The element type an integer attribute names. */
static DType
type_attr(const Infer *infer, const char *name)
{
	int64_t number = attr_int(infer->node, name);
	if (number <= DT_NONE || number >= DT_COUNT)
		infer_fail(infer, "%s = %lld is not an element type", name, (long long)number);
	return (DType)number;
}

void
infer_cast(Infer *infer)
{
	const Type *x = infer_input(infer, 0);
	const Type *like = infer_input(infer, 1);
	infer_set(infer, 0, like ? like->dtype : type_attr(infer, "to"), x->rank, x->dims);
}

void
infer_bit_cast(Infer *infer)
{
	const Type *x = infer_input(infer, 0);
	DType to = type_attr(infer, "to");
	if (dtype_bits(to) != dtype_bits(x->dtype))
		infer_fail(infer, "%s and %s are of different width", dtype_name(x->dtype), dtype_name(to));
	infer_set(infer, 0, to, x->rank, x->dims);
}

void
infer_Dropout(Infer *infer)
{
	infer_same_first(infer);
	const Type *x = infer_input(infer, 0);
	infer_set(infer, 1, DT_BOOL, x->rank, x->dims);
}

/* ---- reductions ------------------------------------------------------------------------------ */

/* Which axes a Reduce node takes: by its second input, all of them, or none. */
void
reduce_axes(const Node *node, const Known *axes, int rank, bool *is_reduced)
{
	int count = axes ? axes->count : 0;
	bool is_all = count == 0 && !attr_int(node, "noop_with_empty_axes");
	for (int i = 0; i < rank; i++)
		is_reduced[i] = is_all;
	for (int i = 0; i < count; i++) {
		int64_t axis = 0;
		if (!axes->value[i] || !dim_is_const(axes->value[i], &axis))
			fail_unsupported(&node->loc, "input axes is only known at run time");
		if (axis < -rank || axis >= rank)
			fail(&node->loc, "axis %lld is outside -%d..%d", (long long)axis, rank, rank - 1);
		is_reduced[axis < 0 ? axis + rank : axis] = true;
	}
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
infer_reduce(Infer *infer)
{
	const Type *x = infer_input(infer, 0);
	bool is_reduced[ARRAY_MAX_RANK];
	const Dim *dims[ARRAY_MAX_RANK];
	require_axes(infer);
	reduce_axes(infer->node, infer_known(infer, 1), x->rank, is_reduced);
	bool keeps = attr_int(infer->node, "keepdims") != 0;
	int rank = 0;
	for (int i = 0; i < x->rank; i++) {
		if (!is_reduced[i])
			dims[rank++] = x->dims[i];
		else if (keeps)
			dims[rank++] = dim_const(infer->ctx, 1);
	}
	infer_set(infer, 0, infer_dtype(infer, 0), rank, dims);
}

void
infer_cumulative(Infer *infer)
{
	int count;
	const int64_t *axis = infer_numbers(infer, 1, &count);
	if (count != 1)
		infer_fail(infer, "axis has %d elements, expected 1", count);
	infer_axis(infer, axis[0], infer_input(infer, 0)->rank);
	infer_same_first(infer);
}
