/* Shared by the builders that only move elements. */
#ifndef GRAPH_OPS_MOVE_H
#define GRAPH_OPS_MOVE_H

#include "graph/ops/helpers.h"

/* A stage of output `output` of the node, open for reads; its name is the row's. */
StageBuilder *output_open(Build *b, int output);
/* x[index…] at this stage, whose loops have these dims: where the range follows from assumptions
 * only (dims that infer took to be equal), the index is checked at run time. */
const Expr *read_checked(StageBuilder *y, ExprCtx *ctx, const Type *loops, const Tensor *x,
                         const Expr *const *index);
/* x under ONNX broadcasting at a stage with these dims, checked in the same way. */
const Expr *read_broadcast(StageBuilder *y, ExprCtx *ctx, const Type *loops, const Tensor *x);
/* Positions of the first `rank` loops. */
void loops_of(StageBuilder *y, int rank, const Expr **index);
/* 0 of any type, storage types included. */
const Expr *zero_of(ExprCtx *ctx, DType type);
/* An element of a constant. */
const Expr *element_of_array(ExprCtx *ctx, const Array *array, int64_t index);

#endif
