/* Values and their uses. Every operand of a node and every result of a region is one use. */
#include <string.h>

#include "graph/inner.h"

Value *
value_new(Region *region, const char *name)
{
	Graph *graph = region->graph;
	Value *value = NEW(graph->arena, Value);
	value->name = name && name[0] && !map_find(graph->names, name)
	                  ? arena_strdup(graph->arena, name)
	                  : graph_fresh_name(graph, name && name[0] ? name : "v");
	map_set(graph->names, value->name, value);
	value->region = region;
	value->type.rank = -1;
	return value;
}

void
value_add_use(Value *value, Use use)
{
	if (value)
		vec_push(value->region->graph->arena, &value->uses, use);
}

void
value_remove_use(Value *value, Use use)
{
	if (!value)
		return;
	for (int i = 0; i < value->uses.count; i++) {
		Use *at = &value->uses.data[i];
		if (at->node != use.node || at->region != use.region || at->index != use.index)
			continue;
		value->uses.count--;
		memmove(at, at + 1, (size_t)(value->uses.count - i) * sizeof *at);
		return;
	}
	must(!"the use is in the list");
}

bool
value_is_graph_output(const Value *value)
{
	for (int i = 0; i < value->uses.count; i++)
		if (value->uses.data[i].region && !value->uses.data[i].region->parent)
			return true;
	return false;
}

/* Graph outputs are known by their names to the outside: the name moves with the role. */
void
value_swap_names(Value *a, Value *b)
{
	Map *names = a->region->graph->names;
	const char *name = a->name;
	a->name = b->name;
	b->name = name;
	map_set(names, a->name, a);
	map_set(names, b->name, b);
}

void
value_replace_uses(Value *old, Value *new)
{
	if (old == new)
		return;
	bool is_signature = (!new->def && !new->constant) || value_is_graph_output(new);
	if (value_is_graph_output(old) && old->def && !is_signature)
		value_swap_names(old, new);
	symbols_move(old->region->graph, old, new);
	while (old->uses.count > 0) {
		Use use = old->uses.data[0];
		if (use.node)
			node_set_input(use.node, use.index, new);
		else
			region_set_result(use.region, use.index, new);
	}
}
