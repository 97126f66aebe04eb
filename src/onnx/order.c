/* Order: nodes of a graph stand behind what they use; a model that has them otherwise is repaired.
 *
 * Most models are in order, which one pass confirms. A cycle is an error that names a node of it.
 */
#include <string.h>

#include "onnx/import.h"

typedef struct Order {
	Import *import;
	Arena *scratch;
	size_t count;
	Onnx__NodeProto *const *nodes;
	Map producers; /* index + 1 of the node that makes a name */
	IntVec *needs; /* per node: indices of the producers it needs */
} Order;

/* Names defined in graphs between a node and the use being looked at. */
typedef struct Hidden {
	const struct Hidden *outer;
	Map names;
} Hidden;

static void
need_name(Order *order, int user, const char *name, const Hidden *hidden)
{
	if (!name || !*name)
		return;
	for (const Hidden *h = hidden; h; h = h->outer)
		if (map_find(&h->names, name))
			return;
	int producer = (int)(intptr_t)map_find(&order->producers, name) - 1;
	if (producer >= 0)
		vec_push(order->scratch, &order->needs[user], producer);
}

static void need_graph(Order *order, int user, const Onnx__GraphProto *graph, const Hidden *outer);

static void
need_node(Order *order, int user, const Onnx__NodeProto *node, const Hidden *hidden)
{
	for (size_t i = 0; i < node->n_input; i++)
		need_name(order, user, node->input[i], hidden);
	for (size_t i = 0; i < node->n_attribute; i++)
		if (node->attribute[i]->g)
			need_graph(order, user, node->attribute[i]->g, hidden);
}

/* The free names of a graph inside a node; messages are at most WALK_MAX_DEPTH deep. */
static void
need_graph(Order *order, int user, const Onnx__GraphProto *graph, const Hidden *outer)
{
	Hidden hidden = {.outer = outer, .names = {.arena = order->scratch}};
	void *here = order;
	for (size_t i = 0; i < graph->n_input; i++)
		map_set(&hidden.names, text_of(graph->input[i]->name), here);
	for (size_t i = 0; i < graph->n_initializer; i++)
		map_set(&hidden.names, text_of(graph->initializer[i]->name), here);
	for (size_t i = 0; i < graph->n_node; i++)
		for (size_t k = 0; k < graph->node[i]->n_output; k++)
			map_set(&hidden.names, graph->node[i]->output[k], here);
	for (size_t i = 0; i < graph->n_node; i++)
		need_node(order, user, graph->node[i], &hidden);
	for (size_t i = 0; i < graph->n_output; i++)
		need_name(order, user, graph->output[i]->name, &hidden);
}

/* List what each node needs; whether every producer stands in front of its users. */
static bool
list_needs(Order *order)
{
	bool is_ordered = true;
	for (size_t i = 0; i < order->count; i++)
		for (size_t k = 0; k < order->nodes[i]->n_output; k++)
			if (*order->nodes[i]->output[k] &&
			    !map_find(&order->producers, order->nodes[i]->output[k]))
				map_set(&order->producers, order->nodes[i]->output[k], (void *)(intptr_t)(i + 1));
	for (size_t i = 0; i < order->count; i++) {
		need_node(order, (int)i, order->nodes[i], NULL);
		for (int k = 0; k < order->needs[i].count; k++)
			is_ordered = is_ordered && order->needs[i].data[k] < (int)i;
	}
	return is_ordered;
}

_Noreturn static void
fail_cycle(const Order *order, int node)
{
	const Onnx__NodeProto *proto = order->nodes[node];
	const char *output = proto->n_output ? proto->output[0] : "";
	Loc loc = {
		.file = order->import->file,
		.node = proto->name && *proto->name ? proto->name : output,
		.op = text_of(proto->op_type),
	};
	fail(&loc, "the node is part of a cycle: its output '%s' is needed to compute it", output);
}

const int *
import_order(Import *import, size_t count, Onnx__NodeProto *const *nodes)
{
	Arena *arena = import->arena;
	Order order = {import, arena, count, nodes, {.arena = arena}, NEW_N(arena, IntVec, count + 1)};
	int *placed = NEW_N(arena, int, count + 1);
	for (size_t i = 0; i < count; i++)
		placed[i] = (int)i;
	int cycle = list_needs(&order) ? -1 : vec_order(arena, (int)count, order.needs, placed);
	if (cycle >= 0)
		fail_cycle(&order, cycle);
	return placed;
}
