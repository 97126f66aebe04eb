/* SinkDequantize: move the bytes of quantised numbers, not the f32 that they stand for.
 *
 *     %x = DequantizeLinear(%q, s, z)          %p = MaxPool(%q)
 *     %m = MaxPool(%x)                    =>
 *     %y = QuantizeLinear(%m, s, z)            %y = %p
 *
 * DequantizeLinear goes behind operators that move elements or take the largest: it keeps their
 * order. There it meets what quantises by the same scale again, and both go.
 *
 * needs    shapes, topological order
 * keeps    shapes, order, values
 * breaks   nothing
 */
#include <string.h>

#include "graph/infer.h"
#include "graph/meaning.h"
#include "passes/passes.h"
#include "passes/quantised.h"
#include "program/forms.h"

/* Each window of a pool has an element: of none, the largest byte is no byte. */
static bool
has_elements(const Node *node)
{
	int64_t count, given;
	const int64_t *pads = attr_ints(node, "pads", &count);
	const int64_t *kernel = attr_ints(node, "kernel_shape", &given);
	for (int64_t i = 0; i < count; i++)
		if (pads[i] >= kernel[i % given])
			return false;
	return true;
}

/* The result has elements of the first input, or the largest of some: the order of numbers is
 * enough for that. */
static bool
moves_elements(const Graph *graph, const Node *node)
{
	Value **values = NEW_N(graph->arena, Value *, node->ninput + 1);
	if (!node_has_meaning(node) || node->nregion > 0 || node->noutput != 1)
		return false;
	const Program *p = program_flatten(graph->arena, node_meaning(graph, node));
	const Stage *stage = p->nstage == 1 ? p->stages[0] : NULL;
	if (!stage || stage->scan || stage->nbody != 1 || node_meaning_inputs(node, values) < 1 ||
	    values[0] != node->inputs[0] || p->outputs[0] != stage->results[0])
		return false;
	bool is_largest = node->op->code == OP_MaxPool && stage->kind == STAGE_reduce &&
	                  stage->reduce == REDUCE_max && has_elements(node);
	return (stage->kind == STAGE_map || is_largest) && stage->body[0]->op == EX_read &&
	       stage->body[0]->tensor == p->inputs[0];
}

/* Move(DequantizeLinear(x)) becomes DequantizeLinear(Move(x)): fewer bytes move. Where the operator
 * takes no bytes, or makes something else of them, as Cast does, nothing is done. */
static bool
sink_dequantise(PassContext *context, Node *node)
{
	Quantised x;
	if (node->ninput < 1 || !quantised_read(node->inputs[0], &x) ||
	    !quantised_is_plain_scale(x.scale) || (x.zero && !quantised_is_single(x.zero)) ||
	    !moves_elements(node->parent->graph, node))
		return false;
	Expander m = {node->parent, node, node};
	Value **inputs = arena_memdup(node->parent->graph->arena, node->inputs,
	                              (size_t)node->ninput * sizeof *inputs);
	inputs[0] = x.q;
	Node *moved = expander_node(&m, node->op->name, node->ninput, inputs, 1);
	for (int i = 0; i < node->nattr; i++)
		node_add_attr(moved, &node->attrs[i]);
	if (!node_try_infer(moved) || moved->outputs[0]->type.dtype != x.q->type.dtype) {
		node_remove(moved);
		return false;
	}
	Value *parts[] = {moved->outputs[0], x.scale, x.zero};
	Value *y = expander_result(&m, expander_node(&m, "DequantizeLinear", x.zero ? 3 : 2, parts, 1));
	pass_log(context, "fewer bytes move", node->loc.node, NULL, NULL);
	value_replace_uses(node->outputs[0], y);
	node_remove(node);
	return true;
}

/* The transposition of a scale or zero point with as many dims; else itself. */
static Value *
transposed(const Expander *m, Value *value, int rank)
{
	if (!value || value->type.rank != rank)
		return value;
	Node *made = expander_node(m, "Transpose", 1, &value, 1);
	for (int i = 0; i < m->node->nattr; i++)
		node_add_attr(made, &m->node->attrs[i]);
	return expander_result(m, made);
}

/* Transpose(DequantizeLinear(W)) of constants, with scales by channel or block, likewise. */
static bool
sink_by_axis(PassContext *context, Node *node)
{
	if (node->op->code != OP_Transpose) /* others may have no input at all */
		return false;
	const Node *def = node->inputs[0]->def;
	int rank = node->inputs[0]->type.rank;
	if (!def || def->op->code != OP_DequantizeLinear || !value_fixed(def->inputs[0]) ||
	    def->outputs[0]->uses.count > 1 || rank < 2)
		return false;
	Expander m = {node->parent, node, node};
	int64_t count, axis = attr_int(def, "axis"), to = 0;
	const int64_t *order = attr_ints(node, "perm", &count);
	axis += axis < 0 ? rank : 0;
	for (int d = 0; d < rank; d++)
		if ((order ? order[d] : rank - 1 - d) == axis)
			to = d;
	Value *parts[3] = {NULL};
	for (int i = 0; i < def->ninput; i++)
		parts[i] = transposed(&m, def->inputs[i], rank);
	Node *made = expander_node(&m, "DequantizeLinear", def->ninput, parts, 1);
	for (int i = 0; i < def->nattr; i++)
		if (strcmp(def->attrs[i].name, "axis") != 0)
			node_add_attr(made, &def->attrs[i]);
	node_set_int(made, "axis", to);
	pass_log(context, "fewer bytes move", node->loc.node, NULL, NULL);
	value_replace_uses(node->outputs[0], expander_result(&m, made));
	node_remove(node);
	return true;
}

static bool
is_same(const Value *a, const Value *b)
{
	const Array *x = a ? value_fixed(a) : NULL, *y = b ? value_fixed(b) : NULL;
	return a == b || (x && y && x->type == y->type && array_count(x) == 1 && array_count(y) == 1 &&
	                  !memcmp(x->data, y->data, (size_t)dtype_bits(x->type) / 8));
}

/* QuantizeLinear(DequantizeLinear(x)) by the same scale and zero point is x: (x - z) s / s is off
 * by roundings of f32 at most, and rounded. */
static bool
cancel_pair(PassContext *context, Node *node)
{
	Quantised x;
	if (node->op->code != OP_QuantizeLinear || !quantised_read(node->inputs[0], &x) ||
	    node->outputs[0]->type.dtype != x.q->type.dtype || attr_int(node, "block_size") != 0 ||
	    !quantised_is_plain_scale(x.scale) || !is_same(x.scale, node->inputs[1]) ||
	    !is_same(x.zero, expander_input(node, 2)))
		return false;
	pass_log(context, "pair", node->loc.node, NULL, NULL);
	value_replace_uses(node->outputs[0], x.q);
	node_remove(node);
	return true;
}

static bool
sink_region(PassContext *context, Region *region)
{
	bool changed = false;
	for (Node *node = region->first, *next; node; node = next) {
		next = node->next;
		for (int i = 0; i < node->nregion; i++)
			changed |= sink_region(context, node->regions[i]);
		changed |= pass_may_rewrite(context) &&
		           (sink_by_axis(context, node) || sink_dequantise(context, node) ||
		            cancel_pair(context, node));
	}
	return changed;
}

bool
pass_SinkDequantize(Graph *graph, PassContext *context)
{
	return sink_region(context, graph->body);
}
