/* Making standard operators. */
#include <string.h>

#include "graph/spell/inner.h"

static Value *
finish(const Spell *s, Node *made)
{
	int64_t count;
	node_add_origins(made, s->node);
	node_infer(s->graph, made);
	if (dim_is_const(type_count(s->ctx, &made->outputs[0]->type), &count) && count > SPELL_ELEMENTS)
		spell_fail(s, "a result on the way has %lld elements", (long long)count);
	return made->outputs[0];
}

static Node *
make(const Spell *s, const char *op, int ninput, Value *const *inputs)
{
	return node_new(s->node->parent, s->node, op, &s->node->loc, ninput, inputs, 1,
	                (const char *[]){""});
}

Value *
spell_op(const Spell *s, const char *op, int ninput, Value *const *inputs)
{
	return finish(s, make(s, op, ninput, inputs));
}

Value *
spell_cast(const Spell *s, Value *x, DType type)
{
	if (x->type.dtype == type)
		return x;
	Node *made = make(s, "Cast", 1, &x);
	node_set_int(made, "to", type);
	return finish(s, made);
}

Value *
spell_array(const Spell *s, const Array *array)
{
	return graph_constant(s->graph, graph_fresh_name(s->graph, "table"), array);
}

Value *
spell_ints(const Spell *s, int count, const int64_t *numbers)
{
	Array *array = array_new(s->arena, DT_I64, 1, (int64_t[]){count});
	memcpy(array->data, numbers, (size_t)count * sizeof *numbers);
	return spell_array(s, array);
}

/* ---- layouts --------------------------------------------------------------------------------- */

static bool
has_dims(const Value *x, int rank, const Dim *const *dims)
{
	bool is_same = x->type.rank == rank;
	for (int i = 0; is_same && i < rank; i++)
		is_same = x->type.dims[i] == dims[i];
	return is_same;
}

static int
without_ones(int rank, const Dim *const *dims, int *axes)
{
	int count = 0;
	for (int i = 0; i < rank; i++)
		if (!dim_is(dims[i], 1))
			axes[count++] = i;
	return count;
}

/* Whether the same dims stand there in the same order, but for those of extent 1. */
static bool
differs_by_ones(const Type *type, int rank, const Dim *const *dims)
{
	int a[ARRAY_MAX_RANK], b[ARRAY_MAX_RANK];
	int count = without_ones(type->rank, type->dims, a);
	bool is_same = without_ones(rank, dims, b) == count;
	for (int i = 0; is_same && i < count; i++)
		is_same = type->dims[a[i]] == dims[b[i]];
	return is_same;
}

/* The shape that makes x one of these dims; how many of them Reshape cannot tell. */
static int
shape_of(const Value *x, int rank, const Dim *const *dims, int64_t *shape)
{
	int open = 0;
	for (int i = 0; i < rank; i++) {
		if (dim_is_const(dims[i], &shape[i]))
			continue;
		bool is_kept = i < x->type.rank && x->type.dims[i] == dims[i];
		shape[i] = is_kept ? 0 : -1;
		open += !is_kept;
	}
	return open > 0 ? open - 1 : 0;
}

/* Dims of extent 1 taken out and put in, whatever the sizes of the others. */
static Value *
move_ones(const Spell *s, Value *x, int rank, const Dim *const *dims)
{
	int64_t out[ARRAY_MAX_RANK], in[ARRAY_MAX_RANK];
	int nout = 0, nin = 0;
	for (int i = 0; i < x->type.rank; i++)
		if (dim_is(x->type.dims[i], 1))
			out[nout++] = i;
	for (int i = 0; i < rank; i++)
		if (dim_is(dims[i], 1))
			in[nin++] = i;
	if (nout > 0)
		x = spell_op(s, "Squeeze", 2, (Value *[]){x, spell_ints(s, nout, out)});
	if (nin > 0)
		x = spell_op(s, "Unsqueeze", 2, (Value *[]){x, spell_ints(s, nin, in)});
	return x;
}

static bool
is_reshape(const Value *x)
{
	OpCode op = x->def ? x->def->op->code : OP_NONE;
	return op == OP_Reshape || op == OP_Squeeze || op == OP_Unsqueeze;
}

Value *
spell_reshape(const Spell *s, Value *x, int rank, const Dim *const *dims)
{
	int64_t shape[ARRAY_MAX_RANK];
	while (is_reshape(x) && shape_of(x->def->inputs[0], rank, dims, shape) == 0)
		x = x->def->inputs[0];
	if (has_dims(x, rank, dims))
		return x;
	bool is_empty = false; /* Reshape takes 0 for a dim that stays */
	for (int i = 0; i < rank; i++)
		is_empty |= dim_is(dims[i], 0);
	if (is_empty && !differs_by_ones(&x->type, rank, dims))
		spell_fail(s, "there are no elements");
	if (shape_of(x, rank, dims, shape) == 0 && !is_empty)
		return spell_op(s, "Reshape", 2, (Value *[]){x, spell_ints(s, rank, shape)});
	if (!differs_by_ones(&x->type, rank, dims))
		spell_fail(s, "several dims of open size change places");
	return move_ones(s, x, rank, dims);
}

/* Where x only moves elements of another value around: that one, and in axes[] those of its axes
 * that axes[] of x, none of extent 1, are. */
static Value *
source_of(Value *x, int count, int *axes)
{
	for (;;) {
		const Node *def = x->def;
		if (def && def->op->code == OP_Transpose) {
			int64_t rank;
			const int64_t *perm = attr_ints(def, "perm", &rank);
			for (int i = 0; i < count && rank >= 0; i++)
				axes[i] = (int)perm[axes[i]];
			if (rank < 0)
				return x;
		} else if (is_reshape(x) &&
		           differs_by_ones(&def->inputs[0]->type, x->type.rank, x->type.dims)) {
			int from[ARRAY_MAX_RANK], to[ARRAY_MAX_RANK];
			without_ones(def->inputs[0]->type.rank, def->inputs[0]->type.dims, from);
			int known = without_ones(x->type.rank, x->type.dims, to);
			for (int i = 0; i < count; i++)
				for (int k = 0; k < known; k++)
					if (to[k] == axes[i]) {
						axes[i] = from[k];
						break;
					}
		} else {
			return x;
		}
		x = def->inputs[0];
	}
}

static Value *
transpose(const Spell *s, Value *x, const int *axes)
{
	int rank = x->type.rank;
	int64_t *perm = NEW_N(s->arena, int64_t, rank);
	for (int i = 0; i < rank; i++)
		perm[i] = axes[i];
	Node *made = make(s, "Transpose", 1, &x);
	node_add_attr(made, &(Attr){.name = "perm", .kind = ATTR_INTS, .count = rank, .ints = perm});
	return finish(s, made);
}

/* x without dims of extent 1, its axes in this order. */
static Value *
transpose_compact(const Spell *s, Value *x, int count, const int *order)
{
	const Dim *dims[ARRAY_MAX_RANK];
	int kept[ARRAY_MAX_RANK], place[ARRAY_MAX_RANK], perm[ARRAY_MAX_RANK];
	without_ones(x->type.rank, x->type.dims, kept);
	for (int i = 0; i < count; i++) {
		dims[i] = x->type.dims[kept[i]];
		place[kept[i]] = i;
	}
	for (int i = 0; i < count; i++)
		perm[i] = place[order[i]];
	return transpose(s, spell_reshape(s, x, count, dims), perm);
}

/* Axes of extent 1 are moved by Reshape, and what was moved before is not moved twice. */
Value *
spell_transpose(const Spell *s, Value *x, const int *axes)
{
	const Dim *dims[ARRAY_MAX_RANK];
	int order[ARRAY_MAX_RANK], count = 0, rank = x->type.rank;
	for (int i = 0; i < rank; i++) {
		dims[i] = x->type.dims[axes[i]];
		if (!dim_is(dims[i], 1))
			order[count++] = axes[i];
	}
	Value *source = source_of(x, count, order);
	bool is_moved = false;
	for (int i = 1; i < count; i++)
		is_moved |= order[i] < order[i - 1];
	Value *moved = is_moved ? transpose_compact(s, source, count, order) : source;
	return spell_reshape(s, moved, rank, dims);
}

Value *
spell_expand(const Spell *s, Value *x, int rank, const Dim *const *dims)
{
	if (has_dims(x, rank, dims))
		return x;
	int64_t shape[ARRAY_MAX_RANK];
	for (int i = 0; i < rank; i++) {
		bool is_there = x->type.rank == rank && x->type.dims[i] == dims[i];
		if (is_there)
			shape[i] = 1; /* broadcasts to what is there */
		else if (!dim_is_const(dims[i], &shape[i]))
			spell_fail(s, "a value is repeated along a dim of open size");
	}
	return spell_op(s, "Expand", 2, (Value *[]){x, spell_ints(s, rank, shape)});
}

Value *
spell_gather(const Spell *s, Value *x, int axis, const Array *table)
{
	Node *made = make(s, "Gather", 2, (Value *[]){x, spell_array(s, table)});
	node_set_int(made, "axis", axis);
	return finish(s, made);
}

Value *
spell_slice(const Spell *s, Value *x, int axis, int64_t first, int64_t count, int64_t by)
{
	int64_t end = first + (count - 1) * by + 1;
	return spell_op(s, "Slice", 5,
	                (Value *[]){x, spell_ints(s, 1, &first), spell_ints(s, 1, &end),
	                            spell_ints(s, 1, (int64_t[]){axis}), spell_ints(s, 1, &by)});
}

Value *
spell_pad(const Spell *s, Value *x, int axis, int64_t before, int64_t behind, const Expr *fill)
{
	int64_t pads[2 * ARRAY_MAX_RANK] = {0};
	int rank = x->type.rank;
	if (before == 0 && behind == 0)
		return x;
	pads[axis] = before;
	pads[rank + axis] = behind;
	Value *value = expr_is_zero(fill) ? NULL : spell_array(s, spell_table(s, fill, 0, NULL));
	return spell_op(s, "Pad", value ? 3 : 2, (Value *[]){x, spell_ints(s, 2 * rank, pads), value});
}

Value *
spell_reduce(const Spell *s, const char *op, Value *x, Axes axes, bool keeps)
{
	int64_t list[ARRAY_MAX_RANK];
	int count = 0;
	for (int i = 0; i < x->type.rank; i++)
		if (axes & AXIS(i))
			list[count++] = i;
	if (count == 0)
		return x;
	Node *made = make(s, op, 2, (Value *[]){x, spell_ints(s, count, list)});
	node_set_int(made, "keepdims", keeps);
	return finish(s, made);
}

bool
spell_has(const Value *value, int i)
{
	return value->type.rank > 0 && !dim_is(value->type.dims[i], 1);
}
