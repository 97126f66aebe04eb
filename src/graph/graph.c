/* Graphs: making them, names, order. */
#include "graph/graph.h"

#include <string.h>

#include "graph/inner.h"

Graph *
graph_new(Arena *arena, const char *name, const char *file)
{
	Graph *graph = NEW(arena, Graph);
	graph->arena = arena;
	graph->ctx = expr_ctx_new(arena);
	graph->ops = op_table_new(arena);
	graph->name = arena_strdup(arena, name && name[0] ? name : "g");
	graph->file = file ? arena_strdup(arena, file) : NULL;
	graph->names = NEW(arena, Map);
	graph->names->arena = arena;
	graph->symbol_map = NEW(arena, Map);
	graph->symbol_map->arena = arena;
	graph->expressions = NEW(arena, Map);
	graph->expressions->arena = arena;
	graph->body = NEW(arena, Region);
	graph->body->graph = graph;
	graph->body->name = graph->name;
	return graph;
}

Value *
graph_input(Graph *graph, const char *name, const Type *type)
{
	Value *value = region_param(graph->body, name, type);
	symbols_from_input(graph, value);
	return value;
}

Value *
graph_constant(Graph *graph, const char *name, const Array *data)
{
	Value *value = value_new(graph->body, name);
	value->constant = data;
	value->type = type_of_array(graph->ctx, data);
	value->weight = graph->constants.count;
	vec_push(graph->arena, &graph->constants, value);
	return value;
}

void
graph_set_outputs(Graph *graph, int count, Value *const *outputs)
{
	region_set_results(graph->body, count, outputs);
}

Value *
graph_find_value(const Graph *graph, const char *name)
{
	return map_find(graph->names, name);
}

const char *
graph_fresh_name(Graph *graph, const char *base)
{
	if (!map_find(graph->names, base))
		return arena_strdup(graph->arena, base);
	for (;;) {
		const char *name = arena_printf(graph->arena, "%s_%d", base, ++graph->next_name);
		if (!map_find(graph->names, name))
			return name;
	}
}

/* ---- order ----------------------------------------------------------------------------------- */

static void
add_need(const Region *region, IntVec *needs, const Value *value)
{
	if (value && value->def && value->def->parent == region)
		vec_push(region->graph->arena, needs, value->def->mark);
}

static void
region_sort(Region *region)
{
	Arena *arena = region->graph->arena;
	VEC(Node *) nodes = {0};
	for (Node *node = region->first; node; node = node->next) {
		node->mark = nodes.count;
		vec_push(arena, &nodes, node);
		for (int i = 0; i < node->nregion; i++)
			region_sort(node->regions[i]);
	}
	IntVec *needs = NEW_N(arena, IntVec, nodes.count + 1);
	int *order = NEW_N(arena, int, nodes.count + 1);
	for (int n = 0; n < nodes.count; n++) {
		const Node *node = nodes.data[n];
		for (int i = 0; i < node->ninput; i++)
			add_need(region, &needs[n], node->inputs[i]);
		for (int r = 0; r < node->nregion; r++)
			for (int i = 0; i < node->regions[r]->captures.count; i++)
				add_need(region, &needs[n], node->regions[r]->captures.data[i]);
	}
	int cycle = vec_order(arena, nodes.count, needs, order);
	if (cycle >= 0)
		fail(&nodes.data[cycle]->loc,
		     "the node is part of a cycle: its results are needed to compute them");
	region->first = region->last = NULL;
	for (int n = 0; n < nodes.count; n++) {
		Node *node = nodes.data[order[n]];
		node->prev = region->last;
		node->next = NULL;
		*(region->last ? &region->last->next : &region->first) = node;
		region->last = node;
	}
}

void
graph_sort(Graph *graph)
{
	region_update_captures(graph->body);
	region_sort(graph->body);
}

static int
region_nodes(const Region *region)
{
	int count = 0;
	for (const Node *node = region->first; node; node = node->next) {
		count++;
		for (int i = 0; i < node->nregion && node->op->code != OP_fused; i++)
			count += region_nodes(node->regions[i]);
	}
	return count;
}

int
graph_node_count(const Graph *graph)
{
	return region_nodes(graph->body);
}

int64_t
graph_opset(const Graph *graph)
{
	for (int i = 0; i < graph->opsets.count; i++)
		if (!*graph->opsets.data[i].domain)
			return graph->opsets.data[i].version;
	return INT64_MAX;
}
