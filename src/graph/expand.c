/* Putting other nodes into the place of one, and the same as a graph of its own. */
#include "graph/expand.h"

#include <string.h>

#include "graph/inner.h"

void
node_expand(Node *node)
{
	node->op->expand(node);
}

Graph *
node_expanded(Arena *arena, const Node *node, const Array *like)
{
	Graph *graph = graph_new(arena, node->op->name, node->loc.file);
	Value **inputs = NEW_N(arena, Value *, node->ninput + 1);
	Value **outputs = NEW_N(arena, Value *, node->noutput + 1);
	const char **names = NEW_N(arena, const char *, node->noutput + 1);
	for (int i = 0; i < node->ninput; i++)
		if (node->inputs[i] && value_fixed(node->inputs[i])) {
			const Array *data = value_fixed(node->inputs[i]);
			inputs[i] = graph_constant(graph, graph_fresh_name(graph, "x"), data);
		} else if (node->inputs[i]) {
			Type type = type_of_array(graph->ctx, &like[i]);
			inputs[i] = graph_input(graph, graph_fresh_name(graph, "x"), &type);
		}
	for (int i = 0; i < node->noutput; i++)
		names[i] = node->outputs[i] ? "" : NULL;
	Node *copy = node_new(graph->body, NULL, op_text(arena, node->op), &node->loc, node->ninput,
	                      inputs, node->noutput, names);
	for (int i = 0; i < node->nattr; i++)
		node_add_attr(copy, &node->attrs[i]);
	int count = 0;
	for (int i = 0; i < node->noutput; i++)
		if (copy->outputs[i])
			outputs[count++] = copy->outputs[i];
	graph_set_outputs(graph, count, outputs);
	graph_infer(graph);
	node_expand(copy);
	return graph;
}

void
node_become(Node *node, Value *result)
{
	value_replace_uses(node->outputs[0], result);
	node_remove(node);
}

/* ---- making nodes ---------------------------------------------------------------------------- */

Value *
expander_input(const Node *node, int index)
{
	return index < node->ninput ? node->inputs[index] : NULL;
}

Node *
expander_node(const Expander *m, const char *op, int ninput, Value *const *inputs, int noutput)
{
	const char *names[EXPANDER_OUTPUTS] = {"", "", "", ""};
	Node *made = node_new(m->region, m->before, op, &m->node->loc, ninput, inputs, noutput, names);
	node_add_origins(made, m->node);
	return made;
}

Value *
expander_result(const Expander *m, Node *made)
{
	if (m->before)
		node_infer(m->region->graph, made);
	return made->outputs[0];
}

Value *
expander_unary(const Expander *m, const char *op, Value *x)
{
	return expander_result(m, expander_node(m, op, 1, &x, 1));
}

Value *
expander_binary(const Expander *m, const char *op, Value *a, Value *b)
{
	return expander_result(m, expander_node(m, op, 2, (Value *[]){a, b}, 1));
}

Value *
expander_cast(const Expander *m, Value *x, DType type)
{
	if (x->type.dtype == type)
		return x;
	Node *cast = expander_node(m, "Cast", 1, &x, 1);
	node_set_int(cast, "to", type);
	return expander_result(m, cast);
}

Value *
expander_transposed(const Expander *m, Value *x, int count, const int64_t *order)
{
	Node *turned = expander_node(m, "Transpose", 1, &x, 1);
	node_add_attr(turned,
	              &(Attr){.name = "perm", .kind = ATTR_INTS, .ints = order, .count = count});
	return expander_result(m, turned);
}

void
expander_split(const Expander *m, Value *x, int count, const int64_t *widths, Value **parts)
{
	Value *inputs[] = {x, expander_integers(m, count, widths)};
	Node *split = expander_node(m, "Split", 2, inputs, count);
	node_set_int(split, "axis", x->type.rank - 1);
	expander_result(m, split);
	memcpy(parts, split->outputs, (size_t)count * sizeof *parts);
}

Value *
expander_integer(const Expander *m, int rank, int64_t number)
{
	Graph *graph = m->region->graph;
	Array *array = array_new(graph->arena, DT_I64, rank, (const int64_t[]){1});
	dtype_store_i64(DT_I64, array->data, 0, number);
	return graph_constant(graph, graph_fresh_name(graph, "step"), array);
}

Value *
expander_integers(const Expander *m, int count, const int64_t *numbers)
{
	Graph *graph = m->region->graph;
	return graph_constant(graph, graph_fresh_name(graph, "step"),
	                      array_vector_i64(graph->arena, count, numbers));
}

Value *
expander_number(const Expander *m, DType type, double value)
{
	Graph *graph = m->region->graph;
	Array *array = array_new(graph->arena, type, 0, NULL);
	dtype_store_f64(type, array->data, 0, value);
	return graph_constant(graph, graph_fresh_name(graph, "step"), array);
}
