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

const Array *
value_fixed(const Value *value)
{
	return value->is_default ? NULL : value->constant;
}

const Array *
value_default(const Value *value)
{
	bool fits = value->is_default && type_is_static(&value->type) &&
	            type_takes(&value->type, value->constant);
	return fits ? value->constant : NULL;
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

/* What stands for `old` among the graph's outputs: `new` under the name of `old`; where it has a
 * name that is known outside already, a copy. */
static Value *
as_output(Value *old, Value *new)
{
	bool is_input = !new->def && !value_fixed(new);
	if (!is_input && !value_is_graph_output(new)) {
		value_swap_names(old, new);
		return new;
	}
	const char *name = "";
	Loc none = {.node = old->name}, *loc = old->def ? &old->def->loc : &none;
	Node *copy = node_new(old->region, NULL, "Identity", loc, 1, &new, 1, &name);
	copy->outputs[0]->type = new->type;
	copy->outputs[0]->known = new->known;
	if (old->def)
		node_add_origins(copy, old->def);
	value_swap_names(old, copy->outputs[0]);
	return copy->outputs[0];
}

void
value_replace_uses(Value *old, Value *new)
{
	if (old == new)
		return;
	Value *output = value_is_graph_output(old) ? as_output(old, new) : new;
	symbols_move(old->region->graph, old, new);
	while (old->uses.count > 0) {
		Use use = old->uses.data[0];
		if (use.node)
			node_set_input(use.node, use.index, new);
		else
			region_set_result(use.region, use.index, use.region->parent ? new : output);
	}
}
