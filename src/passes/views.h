/* Programs that put the elements of one input into other places, and what operator does that. */
#ifndef PASSES_VIEWS_H
#define PASSES_VIEWS_H

#include "expr/stage/stage.h"
#include "graph/graph.h"

/* The only input that the program's one map reads, an element for each of its own, cast at most and
 * by no index that may be outside; -1: it is something else. */
int view_input(const Program *program);

/* Whether it gives that input as it is. */
bool view_is_same(const Program *program);

/* The second input of a Reshape that gives x these dims: a new constant, in which a single open dim
 * is -1, and several that stay as and where they are in x are 0. NULL: it cannot be said. */
Value *view_shape(Graph *graph, const Value *x, int rank, const Dim *const *dims);

/* Before `node`, one operator on x that does the same: Identity, Transpose, Reshape, Slice, Cast;
 * without types. NULL: no single one is known. */
Node *view_node(const Program *program, Value *x, Node *node);

/* Before `last`, one Slice on x that cuts what two Slices cut, one behind the other, where all that
 * they say is numbers and no axis is cut by both. The dims may be open: each axis keeps its bounds.
 * It has no types. NULL: they are others. */
Node *view_joined(Value *x, const Node *first, Node *last);

#endif
