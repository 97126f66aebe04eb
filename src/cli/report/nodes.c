/* Nodes by name. */
#include "cli/report/nodes.h"

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

const Node *
node_named(const Graph *graph, const char *name)
{
	const Node *node = region_step(graph->body, NULL);
	while (node && !is_called(node, name))
		node = region_step(graph->body, node);
	return node;
}

void
node_names(Arena *arena, const Graph *graph, StrVec *names)
{
	for (const Node *node = NULL; (node = region_step(graph->body, node));) {
		if (node->loc.node)
			vec_push(arena, names, node->loc.node);
		for (int i = 0; i < node->noutput; i++)
			if (node->outputs[i])
				vec_push(arena, names, node->outputs[i]->name);
	}
}
