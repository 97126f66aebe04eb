/* SinkShapes: ask the dims of the value that is needed anyway.
 *
 *     %c = Conv(%x, %w)                    %c = Conv(%x, %w)
 *     %s = Shape(%c)                       %r = Reshape(%c, %groups)
 *     %r = Reshape(%c, %groups)      =>    %n = InstanceNormalization(%r, …)
 *     %n = InstanceNormalization(%r, …)    %s = Shape(%n)
 *     %y = Reshape(%n, %s)                 %y = Reshape(%n, %s)
 *
 * where %c, %r and %n have the same dims. Exporters write group normalisation so. A value whose
 * dims are asked is a result that has to be stored, and what makes it cannot become part of a group
 * (or of a vendor's call) with what reads it. So the question goes along to the last value of the
 * same dims, as long as each has one reader that passes them on.
 *
 * needs    shapes, topological order
 * keeps    shapes, values
 * breaks   nothing
 */
#include <string.h>

#include "passes/passes.h"

enum { NEVER = INT32_MAX };

typedef struct Sink {
	Map position; /* Node -> its number in its region, from 1 */
} Sink;

static int
position_of(const Sink *sink, const Node *node)
{
	return (int)(intptr_t)map_find_ptr(&sink->position, node);
}

static bool
is_shape(const Node *node)
{
	return strcmp(node->op->name, "Shape") == 0;
}

static bool
same_dims(const Value *a, const Value *b)
{
	if (a->type.rank != b->type.rank || a->type.rank < 0)
		return false;
	for (int d = 0; d < a->type.rank; d++)
		if (a->type.dims[d] != b->type.dims[d])
			return false;
	return true;
}

/* Where the first user of the value stands; those inside other regions: as if at its own place. */
static int
first_use(const Sink *sink, const Value *value)
{
	int first = NEVER;
	for (int i = 0; i < value->uses.count; i++) {
		const Node *user = value->uses.data[i].node;
		int position = user && user->parent == value->def->parent ? position_of(sink, user) : 0;
		first = position < first ? position : first;
	}
	return first;
}

/* The only node that reads the elements of a value; NULL: there are more, or they leave. */
static const Node *
only_reader(const Value *value)
{
	const Node *reader = NULL;
	for (int i = 0; i < value->uses.count; i++) {
		const Node *user = value->uses.data[i].node;
		if (!user || user->parent != value->def->parent ||
		    (reader && user != reader && !is_shape(user)))
			return NULL;
		reader = is_shape(user) ? reader : user;
	}
	return reader;
}

/* The value of the same dims that the reader of this one makes before `last`; NULL: none. */
static Value *
passed_on(const Sink *sink, const Value *value, int last)
{
	const Node *reader = value->def ? only_reader(value) : NULL;
	if (!reader || position_of(sink, reader) >= last)
		return NULL;
	for (int i = 0; i < reader->noutput; i++)
		if (reader->outputs[i] && same_dims(value, reader->outputs[i]))
			return reader->outputs[i];
	return NULL;
}

static bool
sink_shape(const Sink *sink, Node *node, PassContext *context)
{
	Value *value = node->inputs[0], *next;
	int last = first_use(sink, node->outputs[0]);
	while ((next = passed_on(sink, value, last)))
		value = next;
	if (value == node->inputs[0] || !pass_may_rewrite(context))
		return false;
	pass_log(context, "sink", node->loc.node, value->def->loc.node, NULL);
	node_set_input(node, 0, value);
	node_move(node, node->parent, value->def->next);
	return true;
}

static bool
sink_region(PassContext *context, Arena *arena, Region *region)
{
	Sink sink = {.position = {.arena = arena}};
	bool changed = false;
	int count = 0;
	for (Node *node = region->first; node; node = node->next)
		map_set_ptr(&sink.position, node, (void *)(intptr_t)++count);
	for (Node *node = region->last, *before; node; node = before) {
		before = node->prev;
		for (int i = 0; i < node->nregion; i++)
			changed |= sink_region(context, arena, node->regions[i]);
		if (is_shape(node) && node->inputs[0]->def && node->inputs[0]->def->parent == region)
			changed |= sink_shape(&sink, node, context);
	}
	return changed;
}

bool
pass_SinkShapes(Graph *graph, PassContext *context)
{
	Arena *arena = arena_new_in(graph->arena, "SinkShapes");
	bool changed = sink_region(context, arena, graph->body);
	arena_reset(arena);
	return changed;
}
