/* ExpandOperators: put the nodes that an operator stands for into its place.
 *
 *     %y = LSTM(%x, %w, %r)  =>  %g = MatMul(%x, %w')
 *                                %y = Scan(%h, %g) { … }
 *
 * For rows whose meaning is other nodes (NODES in ops.def). Not for optimize: a runtime that has
 * the operator runs it better than a loop.
 *
 * needs    shapes, topological order
 * keeps    shapes, order, values
 * breaks   nothing
 */
#include "graph/expand.h"
#include "passes/passes.h"

/* What nodes are put there depends on ranks. */
static bool
is_typed(const Node *node)
{
	for (int i = 0; i < node->ninput; i++)
		if (node->inputs[i] && node->inputs[i]->type.rank < 0)
			return false;
	return true;
}

static bool
expand_region(Region *region, PassContext *context)
{
	bool changed = false;
	for (Node *node = region->first, *next; node; node = next) {
		next = node->next;
		for (int i = 0; i < node->nregion; i++)
			changed |= expand_region(node->regions[i], context);
		if (node->op->meaning != MEANING_NODES || !is_typed(node))
			continue;
		pass_log(context, "expand", node->loc.node, NULL, NULL);
		node_expand(node);
		changed = true;
	}
	return changed;
}

bool
pass_ExpandOperators(Graph *graph, PassContext *context)
{
	bool changed = expand_region(graph->body, context);
	if (changed)
		region_update_captures(graph->body);
	return changed;
}
