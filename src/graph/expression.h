/* Expression: the operator whose meaning stands in the node itself, as the text of a program.
 *
 *     %y: f32[N,4] = Expression(%a, %b) {expr="expr sum(A: f32[M], B: f32[4]) -> Y {\n
 *       Y[m:M, i:4]: f32 = A[m] + B[i]\n}\n"}
 *
 * It says what derivation finds and no operator of ONNX does. The text is closed, as a function is:
 * its symbols are its own, and what each stands for is read off the dims of the inputs, so that a
 * node may be cloned, moved, and its graph be bound to sizes, without anybody looking at the text.
 */
#ifndef GRAPH_EXPRESSION_H
#define GRAPH_EXPRESSION_H

#include "graph/graph.h"

/* A node that computes the program's outputs (of any ctx, NULL ones left out) from `inputs`, one
 * for each of the program's, types inferred. NULL with the reason in *why (the graph's arena) where
 * its text cannot stand alone: a symbol that no dim of an input tells, a read not proven. */
Node *node_new_expression(Region *region, Node *before, const Loc *loc, const Program *program,
                          Value *const *inputs, const char **why);

#endif
