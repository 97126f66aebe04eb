/* Operators whose meaning is other nodes (NODES in ops.def): recurrent cells. */
#ifndef GRAPH_EXPAND_H
#define GRAPH_EXPAND_H

#include "graph/graph.h"

/* Put the nodes that `node` stands for into its place. */
void node_expand(Node *node);

/* A graph of its own with this node alone, expanded: inputs and outputs are those of the node that
 * are there, in order; the inputs have the types and dims of `like`, without its data. */
Graph *node_expanded(Arena *arena, const Node *node, const Array *like);

#define FORMULA(text)
#define HOST
#define MISSING
#define CONTROL
#define BUILD(name, examples)
#define NODES(name) void expand_##name(Node *);
#define OP(name, domain, since, inputs, outputs, attrs, infer, meaning, effect, doc) meaning
#include "graph/ops.def"
#undef OP
#undef NODES
#undef BUILD
#undef CONTROL
#undef HOST
#undef MISSING
#undef FORMULA

#endif
