/* DeadCodeElimination: remove nodes and constants nobody uses.
 *
 * One walk from the last node to the first, regions included: a node goes when it has no effect and
 * none of its outputs has a use. Removing it may free the nodes before it, which the walk meets
 * next. A symbol that something still speaks of is a use of the value that it is read from; when
 * the last of them is gone, the walk begins again.
 *
 * needs    topological order
 * keeps    shapes, order, values
 * breaks   nothing
 */
#include "graph/meaning.h"
#include "passes/passes.h"

typedef struct Sweep {
	PassContext *context;
	Map deciding; /* Value -> itself: a symbol is read from it */
	bool changed;
} Sweep;

static bool
is_unused(const Sweep *sweep, const Node *node)
{
	for (int i = 0; i < node->noutput; i++)
		if (node->outputs[i] &&
		    (node->outputs[i]->uses.count > 0 || map_find_ptr(&sweep->deciding, node->outputs[i])))
			return false;
	return node->op->effect != EFFECT_stateful;
}

static void
remove_dead(Sweep *sweep, Region *region)
{
	for (Node *node = region->last, *before; node; node = before) {
		before = node->prev;
		if (is_unused(sweep, node)) {
			pass_log(sweep->context, "unused", node->loc.node, "", NULL);
			node_remove(node);
			sweep->changed = true;
			continue;
		}
		for (int i = 0; i < node->nregion; i++)
			remove_dead(sweep, node->regions[i]);
	}
}

static bool
sweep_once(Arena *arena, Graph *graph, PassContext *context)
{
	Sweep sweep = {context, {.arena = arena}, false};
	for (int i = 0; i < graph->symbols.count; i++)
		if (graph->symbols.data[i].value)
			map_set_ptr(&sweep.deciding, graph->symbols.data[i].value,
			            graph->symbols.data[i].value);
	remove_dead(&sweep, graph->body);
	return sweep.changed;
}

static bool
remove_constants(Graph *graph)
{
	int count = 0;
	for (int i = 0; i < graph->constants.count; i++) {
		Value *value = graph->constants.data[i];
		if (value->uses.count > 0) {
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
	Arena *arena = arena_new_in(graph->arena, "DeadCodeElimination");
	symbols_prune(graph);
	bool changed = sweep_once(arena, graph, context);
	while (symbols_prune(graph) && sweep_once(arena, graph, context))
		changed = true;
	arena_reset(arena);
	region_update_captures(graph->body);
	return remove_constants(graph) || changed;
}
