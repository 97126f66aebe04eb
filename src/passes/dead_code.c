/* DeadCodeElimination: remove nodes and constants nobody uses.
 *
 * One walk from the last node to the first, regions included: a node goes when it has no effect and
 * none of its outputs has a use. Removing it may free the nodes before it, which the walk meets
 * next.
 */
#include "graph/meaning.h"
#include "passes/passes.h"

static bool
is_unused(const Node *node)
{
	for (int i = 0; i < node->noutput; i++)
		if (node->outputs[i] && node->outputs[i]->uses.count > 0)
			return false;
	return node->op->effect != EFFECT_stateful;
}

static bool
remove_dead(Region *region, PassContext *context)
{
	bool changed = false;
	for (Node *node = region->last, *before; node; node = before) {
		before = node->prev;
		if (is_unused(node)) {
			pass_log(context, "unused", node->loc.node, "", NULL);
			node_remove(node);
			changed = true;
			continue;
		}
		for (int i = 0; i < node->nregion; i++)
			changed |= remove_dead(node->regions[i], context);
	}
	return changed;
}

/* Initializers that are inputs too are part of the model's signature and stay. */
static bool
remove_constants(Graph *graph)
{
	int count = 0;
	for (int i = 0; i < graph->constants.count; i++) {
		Value *value = graph->constants.data[i];
		if (value->uses.count > 0 || value->is_default) {
			value->weight = count;
			graph->constants.data[count++] = value;
		}
	}
	bool changed = count < graph->constants.count;
	graph->constants.count = count;
	return changed;
}

bool
pass_DeadCodeElimination(Graph *graph, PassContext *context)
{
	bool changed = remove_dead(graph->body, context);
	region_update_captures(graph->body);
	return remove_constants(graph) || changed;
}
