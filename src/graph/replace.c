/* graph_replace: a graph becomes what a text of it says that somebody has changed.
 *
 * What no text has stays: the data of weights, found by their numbers; opsets and the header;
 * notes, of what has its name still. Symbols keep their ids, so that sizes chosen before hold.
 */
#include <string.h>

#include "graph/parser.h"

void
graph_number_weights(Graph *graph)
{
	int count = 0;
	for (int i = 0; i < graph->constants.count; i++)
		graph->constants.data[i]->weight = count++;
	for (int i = 0; i < graph->body->nparam; i++)
		if (graph->body->params[i]->is_default)
			graph->body->params[i]->weight = count++;
}

const Value *
graph_weight(const Graph *graph, int number)
{
	if (number >= 0 && number < graph->constants.count)
		return graph->constants.data[number];
	for (int i = 0; i < graph->body->nparam; i++)
		if (graph->body->params[i]->is_default && graph->body->params[i]->weight == number)
			return graph->body->params[i];
	return NULL;
}

static void
keep_notes(const Value *old, Value *value)
{
	value->is_made_up = old->is_made_up;
	value->is_listed = old->is_listed;
	value->notes = old->notes;
	if (old->def && value->def && old->def->op->code == value->def->op->code)
		value->def->notes = old->def->notes;
}

static void
move_regions(Graph *to, Region *body)
{
	body->graph = to;
	for (Node *node = NULL; (node = region_step(body, node));) {
		node->loc = (Loc){.file = to->file, .node = node->loc.node, .op = node->loc.op};
		for (int i = 0; i < node->nregion; i++)
			node->regions[i]->graph = to;
	}
}

void
graph_replace(Graph *graph, const char *file, const char *text)
{
	Graph *made = graph_parse_changed(graph, file, text);
	for (int i = 0; i < graph->names->count; i++) {
		const MapEntry *entry = &graph->names->entries[i];
		Value *value = graph_find_value(made, entry->name);
		if (entry->value && value)
			keep_notes(entry->value, value);
	}
	move_regions(graph, made->body);
	made->body->name = graph->name;
	graph->ctx = made->ctx;
	graph->ops = made->ops;
	graph->body = made->body;
	graph->constants = made->constants;
	graph->symbols = made->symbols;
	graph->assumptions = made->assumptions;
	graph->names = made->names;
	graph->symbol_map = made->symbol_map;
	graph->expressions = made->expressions;
	for (int i = 0; i < graph->assumptions.count; i++)
		graph->assumptions.data[i].loc = (Loc){.file = graph->file};
}
