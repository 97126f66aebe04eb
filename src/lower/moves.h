/* Nodes that only move elements for products. Calls of several nodes (lower/covering.c) read
 * operands as they are made, so such nodes begin groups of their own, which calls cover:
 *
 *     kt = Transpose(k), s = MatMul(q, kt)                       turned
 *     kr = Reshape(Expand(Unsqueeze(k))), s = MatMul(q, kr)      repeated: heads share their keys
 */
#ifndef LOWER_MOVES_H
#define LOWER_MOVES_H

#include "graph/graph.h"

struct Stage;

/* A sum of products of two things: squares, as of a variance, are read once. */
bool stage_is_heavy(const struct Stage *stage);
/* It has a meaning, of which nothing but its results is left. */
bool node_may_fuse(const Node *node);

/* Whether its result is elements of an operand and nothing else; *repeats is set where some stand
 * in it several times. */
bool node_moves(Arena *arena, const Graph *graph, const Node *node, bool *repeats);

/* Whether a sum of products is of the value as it is, in the same region. */
bool node_multiplies(Arena *arena, const Graph *graph, const Node *node, const Value *value);

/* It puts dims in another order, for products alone, which take a matrix in either order. */
bool node_turns_for_products(Arena *arena, const Graph *graph, const Node *node);

/* Products alone read its elements, through nodes that move, and one of all repeats them. */
bool node_repeats_for_products(Arena *arena, const Graph *graph, const Node *node);

#endif
