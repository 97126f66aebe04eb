/* Nodes of a graph as people call them: by the model's name, or by that of an output. */
#ifndef CLI_REPORT_NODES_H
#define CLI_REPORT_NODES_H

#include "graph/graph.h"

/* The first in the order of the graph, those in branches and loops too; NULL: there is none. */
const Node *node_named(const Graph *graph, const char *name);

/* Append all names that node_named() finds. */
void node_names(Arena *arena, const Graph *graph, StrVec *names);

#endif
