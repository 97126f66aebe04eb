/* Axes and steps that data decides, in nodes whose axes are known.
 *
 *     CumSum(x, axis)          where(axis == d, CumSum(x, d), …) over all axes d
 *     Pad(x, pads, v, a)       Pad(x, those of each axis, v)
 *     Slice(x, s, e, a, by)    Gather(x, start + by * Range(0, count, 1), d) for each axis d
 *     Unsqueeze, Squeeze       Reshape to a shape that is computed
 *     ReduceSum(x, axes)       Reshape to x[a0,b0,a1,b1,…], where b is the dim to be reduced or 1
 *                              and a the other, and ReduceSum over each b
 *
 * The rank of what comes out must be known: from x, and from how many axes there are. Anything else
 * stays as it is, and is refused by whoever asks for the numbers. A Gather among 0 … rank-1 counts
 * axes from the front and refuses those that there are not.
 */
#include <string.h>

#include "graph/infer.h"
#include "onnx/import.h"

static Value *
number(Draft *d, int64_t value)
{
	return draft_number(d, "n", DT_I64, (double)value);
}

static Value *
numbers(Draft *d, int64_t count, const int64_t *values)
{
	return draft_ints_constant(d, "n", count, values);
}

/* from, from+1 … of `count` elements. */
static Value *
counting(Draft *d, int count)
{
	int64_t *values = NEW_N(d->import->arena, int64_t, count + 1);
	for (int i = 0; i < count; i++)
		values[i] = i;
	return numbers(d, count, values);
}

static Value *
unary(Draft *d, const char *op, Value *a)
{
	return draft_emit(d, op, 1, &a, 0, NULL);
}

static Value *
binary(Draft *d, const char *op, Value *a, Value *b)
{
	return draft_emit(d, op, 2, (Value *[]){a, b}, 0, NULL);
}

static Value *
where(Draft *d, Value *which, Value *a, Value *b)
{
	return draft_emit(d, "Where", 3, (Value *[]){which, a, b}, 0, NULL);
}

static Value *
as_i64(Draft *d, Value *a)
{
	Attr to = {.name = "to", .kind = ATTR_INT, .i = DT_I64};
	return a->type.dtype == DT_I64 ? a : draft_emit(d, "Cast", 1, &a, 1, &to);
}

/* Over `axis`, which goes. */
static Value *
reduced(Draft *d, const char *op, Value *a, int axis)
{
	Attr no_keep = {.name = "keepdims", .kind = ATTR_INT, .i = 0};
	return draft_emit(d, op, 2, (Value *[]){a, numbers(d, 1, &(int64_t){axis})}, 1, &no_keep);
}

/* As a list of one column, so that it meets a list in a table. */
static Value *
column(Draft *d, Value *a)
{
	return binary(d, "Unsqueeze", a, numbers(d, 1, &(int64_t){1}));
}

/* Whether a run alone says what an input holds. */
static bool
is_of_data(const Draft *d, int index)
{
	Value *value = draft_input(d, index);
	if (!value || d->import->graph->is_open)
		return false;
	const Known *known = value_known(d->import->graph, value);
	int64_t element;
	for (int i = 0; known && i < known->count; i++)
		if (!known->value[i] || !dim_is_const(known->value[i], &element))
			return true;
	return !known;
}

/* How many numbers a list has; -1: not known. */
static int
length_of(const Draft *d, int index)
{
	const Type *type = &draft_input(d, index)->type;
	int64_t count;
	bool is_known = type->kind == TYPE_TENSOR && type->rank == 1 &&
	                dim_is_const(type->dims[0], &count) && count <= ARRAY_MAX_RANK;
	return is_known ? (int)count : -1;
}

/* Axes counted from the front. */
static Value *
from_front(Draft *d, Value *axes, int rank)
{
	return binary(d, "Gather", counting(d, rank), axes);
}

/* 1 for each of the axes 0 … rank-1 that is among `axes`, else 0. */
static Value *
are_among(Draft *d, Value *axes, int rank)
{
	Value *table = binary(d, "Equal", column(d, counting(d, rank)), from_front(d, axes, rank));
	return reduced(d, "ReduceMax", as_i64(d, table), 1);
}

static Value *
running_sum(Draft *d, Value *list)
{
	return binary(d, "CumSum", list, number(d, 0));
}

static Value *
shape_of(Draft *d, Value *x)
{
	return unary(d, "Shape", x);
}

/* The draft becomes op(inputs) without attributes but those given. */
static void
become(Draft *d, const char *op, int count, Value *const *inputs)
{
	d->op = op;
	d->inputs.count = 0;
	for (int i = 0; i < count; i++)
		draft_set_input(d, i, inputs[i]);
}

void
cumulative_of_data(Draft *d)
{
	Value *x = draft_input(d, 0), *axis = draft_input(d, 1);
	int rank = draft_rank(d, 0);
	if (rank < 1 || !axis || !is_of_data(d, 1))
		return;
	Attr attrs[] = {
		{.name = "exclusive", .kind = ATTR_INT, .i = draft_int(d, "exclusive", 0)},
		{.name = "reverse", .kind = ATTR_INT, .i = draft_int(d, "reverse", 0)},
	};
	Value *chosen = from_front(d, axis, rank), *all = NULL;
	for (int i = 0; i < rank; i++) {
		Value *along = draft_emit(d, d->op, 2, (Value *[]){x, number(d, i)}, 2, attrs);
		all = all ? where(d, binary(d, "Equal", chosen, number(d, i)), along, all) : along;
	}
	attrs_remove(&d->attrs, "exclusive");
	attrs_remove(&d->attrs, "reverse");
	become(d, "Identity", 1, &all);
}

/* ---- slices ---------------------------------------------------------------------------------- */

typedef struct Cut {
	Value *start, *end, *step; /* single numbers */
} Cut;

/* Clamped to what there is, as ONNX says it: where a slice begins, and by how much it counts up or
 * down, so many times. */
static Value *
places_of(Draft *d, Cut cut, Value *extent)
{
	Value *zero = number(d, 0), *one = number(d, 1), *minus = number(d, -1);
	Value *is_down = binary(d, "Less", cut.step, zero);
	Value *start = where(d, binary(d, "Less", cut.start, zero), binary(d, "Add", cut.start, extent),
	                     cut.start);
	Value *end =
		where(d, binary(d, "Less", cut.end, zero), binary(d, "Add", cut.end, extent), cut.end);
	Value *last = where(d, is_down, binary(d, "Sub", extent, one), extent);
	start = binary(d, "Min", binary(d, "Max", start, zero), last);
	end = binary(d, "Max", binary(d, "Min", end, extent), where(d, is_down, minus, zero));
	Value *by =
		binary(d, "Max", binary(d, "Min", cut.step, number(d, INT32_MAX)), number(d, -INT32_MAX));
	/* (span + step - 1) / step, of steps downwards (span + step + 1) / step */
	Value *span = binary(d, "Sub", end, start);
	Value *more = binary(d, "Add", span, binary(d, "Sub", by, where(d, is_down, minus, one)));
	Value *count = binary(d, "Max", binary(d, "Div", more, by), zero);
	Value *range = draft_emit(d, "Range", 3, (Value *[]){zero, count, one}, 0, NULL);
	return binary(d, "Add", start, binary(d, "Mul", range, by));
}

/* Of the numbers in a list the one for axis `i`, which `mask` marks where data decides. */
static Value *
number_for(Draft *d, Value *list, Value *mask, int i)
{
	if (!mask)
		return binary(d, "Gather", list, number(d, i));
	return reduced(d, "ReduceSum", binary(d, "Mul", list, mask), 0);
}

/* What becomes of axis `i`, where `chosen` are the axes that are cut, in the order of the lists. */
static Cut
cut_of(Draft *d, Value *chosen, int i)
{
	Value *starts = as_i64(d, draft_input(d, 1)), *ends = as_i64(d, draft_input(d, 2));
	Value *steps = draft_input(d, 4) ? as_i64(d, draft_input(d, 4)) : NULL, *one = number(d, 1);
	if (!chosen)
		return (Cut){number_for(d, starts, NULL, i), number_for(d, ends, NULL, i),
		             number_for(d, steps, NULL, i)};
	Value *mask = as_i64(d, binary(d, "Equal", chosen, number(d, i)));
	Value *is_cut = binary(d, "Greater", reduced(d, "ReduceMax", mask, 0), number(d, 0));
	return (Cut){
		number_for(d, starts, mask, i),
		where(d, is_cut, number_for(d, ends, mask, i), number(d, INT32_MAX)),
		steps ? where(d, is_cut, number_for(d, steps, mask, i), one) : one,
	};
}

/* A step of 0 ends the run: there is no place 9 among two. */
static Value *
without_zero(Draft *d, Value *steps)
{
	Value *is_zero =
		as_i64(d, binary(d, "Equal", steps, draft_number(d, "n", steps->type.dtype, 0)));
	Value *place = binary(d, "Mul", is_zero, number(d, 9));
	Value *ones = binary(d, "Gather", numbers(d, 2, (int64_t[]){1, 2}), place);
	return binary(d, "Mul", as_i64(d, steps), ones);
}

/* Lists of bounds, as long as each other as far as one can know. */
static bool
are_lists(const Draft *d)
{
	int count = -1;
	for (int i = 1; i <= 4; i++) {
		if (!draft_input(d, i))
			continue;
		int length = length_of(d, i);
		if (draft_rank(d, i) != 1 || (count >= 0 && length >= 0 && length != count))
			return false;
		count = length >= 0 ? length : count;
	}
	return true;
}

/* Whether axis `i` stays whole, as the axes say that are known. */
static bool
is_whole(const Draft *d, int i, int rank)
{
	Value *axes = draft_input(d, 3);
	const Known *known = axes ? value_known(d->import->graph, axes) : NULL;
	for (int k = 0; known && k < known->count; k++) {
		int64_t axis;
		if (!known->value[k] || !dim_is_const(known->value[k], &axis) || axis == i ||
		    axis + rank == i)
			return false;
	}
	return known != NULL;
}

void
slice_of_data(Draft *d)
{
	int rank = draft_rank(d, 0);
	bool has_axes = is_of_data(d, 3), has_steps = is_of_data(d, 4);
	Value *x = draft_input(d, 0);
	if (rank < 1 || !draft_input(d, 1) || !draft_input(d, 2) || !(has_axes || has_steps) ||
	    !are_lists(d))
		return;
	int count = length_of(d, 1);
	Value *chosen = draft_input(d, 3) ? from_front(d, draft_input(d, 3), rank) : NULL;
	if (!chosen && (count < 0 || count > rank))
		return;
	if (draft_input(d, 4))
		draft_set_input(d, 4, without_zero(d, draft_input(d, 4)));
	Value *shape = shape_of(d, x);
	for (int i = 0; i < (chosen ? rank : count); i++) {
		if (is_whole(d, i, rank))
			continue;
		Value *extent = binary(d, "Gather", shape, number(d, i));
		Attr along = {.name = "axis", .kind = ATTR_INT, .i = i};
		x = draft_emit(d, "Gather", 2, (Value *[]){x, places_of(d, cut_of(d, chosen, i), extent)},
		               1, &along);
	}
	become(d, "Identity", 1, &x);
}

/* ---- borders --------------------------------------------------------------------------------- */

/* Of the numbers in `list` from `from` on, one for each of its axes: that for each axis of all. */
static Value *
spread(Draft *d, Value *list, int from, int count, Value *mask)
{
	int64_t bounds[] = {from, from + count};
	Value *part =
		draft_emit(d, "Slice", 3,
	               (Value *[]){list, numbers(d, 1, bounds), numbers(d, 1, bounds + 1)}, 0, NULL);
	return reduced(d, "ReduceSum", binary(d, "Mul", mask, part), 1);
}

void
pad_of_data(Draft *d)
{
	int rank = draft_rank(d, 0), count;
	if (rank < 1 || !draft_input(d, 1) || !draft_input(d, 3) || !is_of_data(d, 3) ||
	    (count = length_of(d, 3)) < 1 || count > rank || draft_rank(d, 1) != 1)
		return;
	Value *chosen = from_front(d, draft_input(d, 3), rank), *pads = as_i64(d, draft_input(d, 1));
	Value *mask = as_i64(d, binary(d, "Equal", column(d, counting(d, rank)), chosen));
	Value *ends[] = {spread(d, pads, 0, count, mask), spread(d, pads, count, count, mask)};
	Attr along = {.name = "axis", .kind = ATTR_INT, .i = 0};
	draft_set_input(d, 1, draft_emit(d, "Concat", 2, ends, 1, &along));
	draft_set_input(d, 3, NULL);
}

/* ---- dims of one element --------------------------------------------------------------------- */

static void
become_reshape(Draft *d, Value *x, Value *shape)
{
	become(d, "Reshape", 2, (Value *[]){x, shape});
	draft_set_int(d, "allowzero", 1);
}

void
unsqueeze_of_data(Draft *d)
{
	int rank = draft_rank(d, 0), count;
	if (rank < 0 || !draft_input(d, 1) || !is_of_data(d, 1) || (count = length_of(d, 1)) < 1)
		return;
	Value *x = draft_input(d, 0);
	Value *is_new = are_among(d, draft_input(d, 1), rank + count);
	/* the place among the dims of x: of those that are not new, one before less */
	Value *is_old = binary(d, "Sub", number(d, 1), is_new);
	Value *place = binary(d, "Mul", binary(d, "Sub", running_sum(d, is_old), number(d, 1)), is_old);
	Value *dims = binary(d, "Gather", shape_of(d, x), place);
	become_reshape(d, x, where(d, binary(d, "Greater", is_new, number(d, 0)), number(d, 1), dims));
}

/* The dims of x at the axes that `is_gone` (0 or 1) leaves, of which there are `count`: the j-th
 * has as many in front of it as sums up to there are j or less. */
static Value *
dims_left(Draft *d, Value *x, Value *is_gone, int count)
{
	Value *sums = running_sum(d, binary(d, "Sub", number(d, 1), is_gone));
	Value *table = binary(d, "LessOrEqual", sums, column(d, counting(d, count)));
	return binary(d, "Gather", shape_of(d, x), reduced(d, "ReduceSum", as_i64(d, table), 1));
}

void
squeeze_of_data(Draft *d)
{
	int rank = draft_rank(d, 0), count;
	if (rank < 1 || !draft_input(d, 1) || !is_of_data(d, 1) || (count = length_of(d, 1)) < 1 ||
	    count > rank)
		return;
	Value *x = draft_input(d, 0);
	become_reshape(d, x, dims_left(d, x, are_among(d, draft_input(d, 1), rank), rank - count));
}

/* ---- reductions ------------------------------------------------------------------------------ */

void
reduce_of_data(Draft *d)
{
	int rank = draft_rank(d, 0), count;
	bool keeps = draft_int(d, "keepdims", 1) != 0;
	if (rank < 1 || 2 * rank > ARRAY_MAX_RANK || !draft_input(d, 1) || !is_of_data(d, 1) ||
	    (count = length_of(d, 1)) < 1 || count > rank)
		return;
	Value *x = draft_input(d, 0), *shape = shape_of(d, x);
	Value *among = are_among(d, draft_input(d, 1), rank), *one = number(d, 1);
	Value *is_among = binary(d, "Greater", among, number(d, 0));
	Value *kept = where(d, is_among, one, shape), *gone = where(d, is_among, shape, one);
	Attr last = {.name = "axis", .kind = ATTR_INT, .i = 1};
	Value *pairs =
		draft_emit(d, "Concat", 2, (Value *[]){column(d, kept), column(d, gone)}, 1, &last);
	Value *flat = binary(d, "Reshape", pairs, numbers(d, 1, &(int64_t){2 * rank}));
	Attr zeros = {.name = "allowzero", .kind = ATTR_INT, .i = 1};
	Value *apart = draft_emit(d, "Reshape", 2, (Value *[]){x, flat}, 1, &zeros);
	int64_t axes[ARRAY_MAX_RANK];
	for (int i = 0; i < rank; i++)
		axes[i] = 2 * i + 1;
	Attr no_keep = {.name = "keepdims", .kind = ATTR_INT, .i = 0};
	Value *y = draft_emit(d, d->op, 2, (Value *[]){apart, numbers(d, rank, axes)}, 1, &no_keep);
	attrs_remove(&d->attrs, "keepdims");
	attrs_remove(&d->attrs, "noop_with_empty_axes");
	if (keeps)
		become(d, "Identity", 1, &y);
	else
		become_reshape(d, y, dims_left(d, y, among, rank - count));
}
