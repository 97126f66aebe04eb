/* print --tiles; see tiles.c. */
#ifndef CLI_VERBS_TILES_H
#define CLI_VERBS_TILES_H

#include "graph/graph.h"
#include "graph/meaning.h"
#include "target/target.h"

void print_program_tiles(Buf *out, const Program *program, const Target *target, const char *name);
/* Of the nodes of the graph, of which passes have made groups. */
void print_graph_tiles(Buf *out, const Graph *graph, const Target *target);

#endif
