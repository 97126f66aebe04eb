/* Nodes by name. */
#include "cli/nodes.h"

#include <string.h>

#include "cli/cli.h"

static bool
is_called(const Node *node, const char *name)
{
	if (node->loc.node && strcmp(node->loc.node, name) == 0)
		return true;
	for (int i = 0; i < node->noutput; i++)
		if (node->outputs[i] && strcmp(node->outputs[i]->name, name) == 0)
			return true;
	return false;
}

static const Node *
find_in(const Region *region, const char *name)
{
	for (const Node *node = region->first; node; node = node->next) {
		const Node *found = is_called(node, name) ? node : NULL;
		for (int i = 0; i < node->nregion && !found; i++)
			found = find_in(node->regions[i], name);
		if (found)
			return found;
	}
	return NULL;
}

const Node *
node_named(const Graph *graph, const char *name)
{
	return find_in(graph->body, name);
}

const char *
node_called(const Node *node)
{
	if (node->loc.node && *node->loc.node)
		return node->loc.node;
	return node->noutput > 0 && node->outputs[0] ? node->outputs[0]->name : node->op->name;
}

static void
names_in(Arena *arena, const Region *region, StrVec *names)
{
	for (const Node *node = region->first; node; node = node->next) {
		if (node->loc.node)
			vec_push(arena, names, node->loc.node);
		for (int i = 0; i < node->noutput; i++)
			if (node->outputs[i])
				vec_push(arena, names, node->outputs[i]->name);
		for (int i = 0; i < node->nregion; i++)
			names_in(arena, node->regions[i], names);
	}
}

void
node_names(Arena *arena, const Graph *graph, StrVec *names)
{
	names_in(arena, graph->body, names);
}
