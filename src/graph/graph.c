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

/* Depth first over producers within one region, by an explicit stack (chains may be long). Nodes
 * keep their order where nothing forces another. */
typedef struct Sorter {
	Arena *arena;
	Region *region;
	VEC(Node *) stack;
	Node *first, *last;
} Sorter;

enum { NODE_NEW, NODE_OPEN, NODE_DONE };

/* Push the producer of `value` if it lies in the region being sorted and is not placed yet. */
static void
push_producer(Sorter *sort, const Node *user, const Value *value)
{
	if (!value || !value->def || value->def->parent != sort->region)
		return;
	if (value->def->mark == NODE_DONE)
		return;
	if (value->def->mark == NODE_OPEN)
		fail(&user->loc, "the node is part of a cycle: it needs %%%s, which depends on it",
		     value->name);
	vec_push(sort->arena, &sort->stack, value->def);
}

/* Push, in reverse, so that the first operand's producer is placed first. */
static void
push_producers(Sorter *sort, const Node *node)
{
	for (int r = node->nregion - 1; r >= 0; r--) {
		const Region *region = node->regions[r];
		for (int i = region->captures.count - 1; i >= 0; i--)
			push_producer(sort, node, region->captures.data[i]);
	}
	for (int i = node->ninput - 1; i >= 0; i--)
		push_producer(sort, node, node->inputs[i]);
}

static void
place(Sorter *sort, Node *node)
{
	node->mark = NODE_DONE;
	node->prev = sort->last;
	node->next = NULL;
	if (sort->last)
		sort->last->next = node;
	else
		sort->first = node;
	sort->last = node;
}

static void
sort_from(Sorter *sort, Node *start)
{
	vec_push(sort->arena, &sort->stack, start);
	while (sort->stack.count > 0) {
		Node *node = sort->stack.data[sort->stack.count - 1];
		if (node->mark == NODE_NEW) {
			node->mark = NODE_OPEN;
			push_producers(sort, node);
			continue;
		}
		sort->stack.count--;
		if (node->mark == NODE_OPEN)
			place(sort, node);
	}
}

static void
region_sort(Region *region)
{
	Sorter sort = {.arena = region->graph->arena, .region = region};
	VEC(Node *) nodes = {0}; /* placing relinks the list */
	for (Node *node = region->first; node; node = node->next) {
		node->mark = NODE_NEW;
		vec_push(sort.arena, &nodes, node);
		for (int i = 0; i < node->nregion; i++)
			region_sort(node->regions[i]);
	}
	for (int i = 0; i < nodes.count; i++)
		if (nodes.data[i]->mark == NODE_NEW)
			sort_from(&sort, nodes.data[i]);
	region->first = sort.first;
	region->last = sort.last;
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
