/* What keeps a graph that reads well from becoming code, from tables alone: for check (all of it),
 * compile (the first) and test-onnx (why a case is skipped). */
#ifndef DRIVER_OBSTACLES_H
#define DRIVER_OBSTACLES_H

#include "driver/options.h"
#include "graph/graph.h"

typedef struct Obstacle {
	const Node *node; /* NULL: an input or output of the graph */
	const char *name; /* of the node, which passes may remove */
	FailKind kind;    /* FAIL_UNSUPPORTED, or FAIL_INVALID: no machine could */
	const char *text; /* "nothing computes this operator yet" */
} Obstacle;

typedef VEC(Obstacle) ObstacleVec;

/* `is_compiled`: for the compiler; otherwise for the interpreter, which knows sequences. */
ObstacleVec graph_obstacles(Arena *arena, const Graph *graph, bool is_compiled);

/* Fail with the first one and its place, if there is any, and with what was said of that node
 * before passes ran. Before them, since they may remove others, only for what no machine could
 * hold; gives all that there are. */
void graph_refuse_obstacles(const Graph *graph, const ObstacleVec *before);
ObstacleVec graph_refuse_sizes(const Graph *graph);

/* Sizes of inputs that a node has made those of others, or numbers, though the model leaves them
 * open: "dim 1 of b is that of a, or 1 (node "add" (Add): …)"; "": there are none. */
const char *graph_assumed_text(Arena *arena, const Graph *graph);

/* Whether nothing says what rank a tensor has, or what kind of value it is. */
bool value_is_unknown(const Value *value);

#endif
