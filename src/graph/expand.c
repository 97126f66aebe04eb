/* Putting other nodes into the place of one, and the same as a graph of its own. */
#include "graph/expand.h"

#include "graph/infer.h"

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
		if (node->inputs[i]) {
			Type type = type_of_array(graph->ctx, &like[i]);
			inputs[i] = graph_input(graph, graph_fresh_name(graph, "x"), &type);
		}
	for (int i = 0; i < node->noutput; i++)
		names[i] = node->outputs[i] ? "" : NULL;
	Node *copy = node_new(graph->body, NULL, node->op->name, &node->loc, node->ninput, inputs,
	                      node->noutput, names);
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
