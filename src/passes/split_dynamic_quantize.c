/* SplitDynamicQuantize: the range of what is quantised by it is one node, and its numbers another.
 *
 *     %q, %s, %z = DynamicQuantizeLinear(%x)   =>   _, %s, %z = DynamicQuantizeLinear(%x)
 *                                                   %q        = QuantizeLinear(%x, %s, %z)
 *
 * What quantises element by element stands with who reads the numbers, as the padding of a
 * convolution, and they lie as that wants them; the range reads %x however it lies.
 *
 * Of what is never negative, as behind Relu, the zero point is 0: nothing is padded with it or
 * taken off, and the smallest number is not looked for:
 *
 *     %h = Max(ReduceMax(ReduceMax(%x, channels)), 0)
 *     %s = Div(Where(Equal(%h, 0), 1, %h), 255)          %z = {0}
 *
 * needs    shapes, topological order
 * keeps    shapes, order, values
 * breaks   nothing
 */
#include "graph/expand.h"
#include "graph/infer.h"
#include "passes/passes.h"

/* ---- what is never negative ---- */

enum { DEPTH = 8 }; /* nodes that are looked through */

/* Operators whose results are never negative; `inputs`: where so many inputs are not. */
static const struct {
	OpCode code;
	int inputs;
} never_negative[] = {
	{OP_Relu, 0},        {OP_Sigmoid, 0},
	{OP_HardSigmoid, 0}, {OP_Softmax, 0},
	{OP_Abs, 0},         {OP_Add, 2},
	{OP_Mul, 2},         {OP_Flatten, 1},
	{OP_AveragePool, 1}, {OP_GlobalAveragePool, 1},
	{OP_Reshape, 1},     {OP_Transpose, 1},
};

static bool
is_clipped(const Node *clip)
{
	const Value *low = expander_input(clip, 1);
	const Array *array = low ? value_fixed(low) : NULL;
	return array && dtype_load_f64(array->type, array->data, 0) >= 0;
}

/* A NaN may be among the numbers: then scale and zero point are what they are of any. */
static bool
is_never_negative(const Value *x, int depth)
{
	const Node *def = x->def;
	if (!def || depth == DEPTH)
		return false;
	if (def->op->code == OP_Clip)
		return is_clipped(def);
	for (size_t i = 0; i < countof(never_negative); i++) {
		bool is = def->op->code == never_negative[i].code;
		for (int k = 0; is && k < never_negative[i].inputs; k++)
			is = is_never_negative(def->inputs[k], depth + 1);
		if (is)
			return true;
	}
	return false;
}

static Value *
largest(const Expander *m, Value *x, int naxis, const int64_t *axes)
{
	Value *inputs[] = {x, naxis ? expander_integers(m, naxis, axes) : NULL};
	Node *made = expander_node(m, "ReduceMax", naxis ? 2 : 1, inputs, 1);
	node_set_int(made, "keepdims", 0);
	return expander_result(m, made);
}

/* The scale of numbers from 0 on; the largest in two steps, as the operator finds both ends. */
static Value *
scale_from_zero(const Expander *m, Value *x)
{
	int64_t axis = x->type.rank > 3 ? 1 : x->type.rank - 1;
	Value *zero = expander_number(m, DT_F32, 0), *one = expander_number(m, DT_F32, 1);
	Value *high = x->type.rank > 1 ? largest(m, x, 1, &axis) : x;
	high = expander_binary(m, "Max", largest(m, high, 0, NULL), zero);
	Value *is_none = expander_binary(m, "Equal", high, zero);
	Node *range = expander_node(m, "Where", 3, (Value *[]){is_none, one, high}, 1);
	return expander_binary(m, "Div", expander_result(m, range), expander_number(m, DT_F32, 255));
}

/* ---- the pass ---- */

/* Scale and zero point. */
static void
find_range(const Expander *m, Node *node, Value *found[2])
{
	Value *x = node->inputs[0];
	if (is_never_negative(x, 0)) {
		found[0] = scale_from_zero(m, x);
		found[1] = expander_number(m, DT_U8, 0);
		return;
	}
	const char *names[] = {NULL, "", ""};
	Node *range = node_new_row(m->region, node, node->op, &node->loc, 1, node->inputs, 3, names);
	node_infer(m->region->graph, range);
	node_add_origins(range, node);
	found[0] = range->outputs[1];
	found[1] = range->outputs[2];
}

static void
split(Node *node)
{
	Expander m = {node->parent, node, node};
	Value *found[2];
	find_range(&m, node, found);
	Value *from[] = {node->inputs[0], found[0], found[1]};
	Value *numbers = expander_result(&m, expander_node(&m, "QuantizeLinear", 3, from, 1));
	value_replace_uses(node->outputs[0], numbers);
	for (int i = 1; i < 3; i++)
		value_replace_uses(node->outputs[i], found[i - 1]);
	node_remove(node);
}

static bool
split_region(PassContext *context, Region *region)
{
	bool changed = false;
	for (Node *node = region->first, *next; node; node = next) {
		next = node->next;
		for (int i = 0; i < node->nregion; i++)
			changed |= split_region(context, node->regions[i]);
		if (node->op->code != OP_DynamicQuantizeLinear || !node->outputs[0] ||
		    !pass_may_rewrite(context))
			continue;
		pass_log(context, "range", node->loc.node, "", NULL);
		split(node);
		changed = true;
	}
	return changed;
}

bool
pass_SplitDynamicQuantize(Graph *graph, PassContext *context)
{
	return split_region(context, graph->body);
}
