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
	value->is_made_up = !name || !name[0];
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

/* Graph outputs are known by their names to the outside: the name moves with the role, and what the
 * model says of the name. */
void
value_swap_names(Value *a, Value *b)
{
	Map *names = a->region->graph->names;
	Value old = *a;
	a->name = b->name;
	a->is_made_up = b->is_made_up;
	a->is_listed = b->is_listed;
	a->notes = b->notes;
	b->name = old.name;
	b->is_made_up = old.is_made_up;
	b->is_listed = old.is_listed;
	b->notes = old.notes;
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
	Value *output = new;
	if (value_is_graph_output(old))
		output = as_output(old, new);
	else if (new->is_made_up && !old->is_made_up)
		value_swap_names(old, new);
	symbols_move(old->region->graph, old, new);
	while (old->uses.count > 0) {
		Use use = old->uses.data[0];
		if (use.node)
			node_set_input(use.node, use.index, new);
		else
			region_set_result(use.region, use.index, use.region->parent ? new : output);
	}
}

Array *
value_known_array(Arena *arena, const Value *value)
{
	const Known *known = value->known;
	const Type *type = &value->type;
	if (!known || type->kind != TYPE_TENSOR || type->rank < 0 ||
	    !(dtype_is_integer(type->dtype) || type->dtype == DT_BOOL))
		return NULL;
	int64_t extents[ARRAY_MAX_RANK], number;
	for (int d = 0; d < type->rank; d++)
		if (!dim_is_const(type->dims[d], &extents[d]))
			return NULL;
	Array *array = array_new(arena, type->dtype, type->rank, extents);
	for (int i = 0; i < known->count; i++) {
		if (!known->value[i] || !dim_is_const(known->value[i], &number))
			return NULL;
		dtype_store_i64(array->type, array->data, i, number);
	}
	return array;
}
