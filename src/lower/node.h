/* What lowering, fusion and matching ask of a node. */
#ifndef LOWER_NODE_H
#define LOWER_NODE_H

#include "base/pass.h"
#include "graph/graph.h"

/* What is known of a meaning's inputs, when values[k] is what its input k reads; NULL entries:
 * nothing, or a default that a caller may replace. */
const Array *const *known_values(Arena *arena, const Program *meaning, Value *const *values);

/* A meaning with the numbers of the model in it, inlined; values[k] is what its input k reads. */
Program *program_with_values(Arena *arena, const Program *meaning, Value *const *values);

/* The same of node_meaning(). `values` has room for the node's inputs and gets those of the
 * program. */
Program *node_program(Arena *arena, const Graph *graph, const Node *node, Value **values);

/* Whether a result of the node was found wrong with this choice before (pass_denied()). */
bool node_is_denied(PassContext *context, const Node *node, const char *choice);

#endif
