/* Building stages so that a builder reads like the formula.
 *
 *     StageBuilder *y = stage_open(ctx, "Y", 2, (const Dim *[]){N, M});
 *     const Expr *n = stage_iter(y, 0), *m = stage_iter(y, 1);
 *     const Expr *k = stage_over(y, "k", 0, K);
 *     Tensor *Y = stage_reduce(y, REDUCE_sum, DT_F32,
 *                              expr_mul(ctx, stage_read(y, A, (const Expr *[]){n, k}),
 *                                            stage_read(y, B, (const Expr *[]){k, m})));
 *
 * A read inside a reduction adds its range to the guard where it is not provable from the box, so
 * builders never write borders; outside a reduction a read must be provably in range, or be made
 * with stage_read_or(), which is `select(in range, X[i], fill)`.
 */
#ifndef EXPR_STAGE_BUILD_H
#define EXPR_STAGE_BUILD_H

#include "expr/index/simplify.h"
#include "expr/stage/stage.h"

typedef struct StageBuilder StageBuilder;

/* Begin a stage whose result has these dims. Iterator names are i0, i1 … unless named. */
StageBuilder *stage_open(ExprCtx *ctx, const char *name, int rank, const Dim *const *dims);
void stage_name_iter(StageBuilder *stage, int position, const char *name);
const Expr *stage_iter(StageBuilder *stage, int position);

/* Add a reduction iterator lo..hi; call before any read that uses it. */
const Expr *stage_over(StageBuilder *stage, const char *name, const Dim *lo, const Dim *hi);

/* X[index…]: see above. */
const Expr *stage_read(StageBuilder *stage, const Tensor *tensor, const Expr *const *index);
/* select(index in range, X[index…], fill); just the read where the range is provable. */
const Expr *stage_read_or(StageBuilder *stage, const Tensor *tensor, const Expr *const *index,
                          const Expr *fill);
/* X[index…] where an index that is not provable becomes at(index, 0..extent, check): for ranges
 * that follow only from dims which infer took to be equal. */
const Expr *stage_read_checked(StageBuilder *stage, const Tensor *tensor, const Expr *const *index);
/* X read at this stage's loops under ONNX broadcasting (trailing dims aligned, extent 1 reads 0),
 * checked in the same way. */
const Expr *stage_read_broadcast(StageBuilder *stage, const Tensor *tensor);
/* A scalar tensor's only element. */
const Expr *stage_read_scalar(StageBuilder *stage, const Tensor *tensor);
/* Add a condition to the reduction's guard. */
void stage_where(StageBuilder *stage, const Expr *condition);
/* Reads between the two are made only where the condition holds (in the arm of a select that the
 * caller builds): they must be provable under it and add nothing to the guard. Nests. */
void stage_if(StageBuilder *stage, const Expr *condition);
void stage_end_if(StageBuilder *stage);

/* Finish. Each returns a new tensor (the result), of `type`; bodies are converted explicitly by
 * the caller. The accumulator is reduce_accumulator() of the body's type unless given. */
Tensor *stage_map(StageBuilder *builder, DType type, const Expr *body);
Tensor *stage_reduce(StageBuilder *stage, ReduceOp op, DType type, const Expr *body);
Tensor *stage_reduce_acc(StageBuilder *builder, ReduceOp op, DType type, DType acc,
                         const Expr *body);
/* Tuples: a key and payloads, or maxsumexp and the like; types[k] is result k's. */
void stage_reduce_tuple(StageBuilder *builder, ReduceOp op, int count, const DType *types,
                        const Expr *const *bodies, Tensor **results);
/* The box (opened with the updates' dims) writes into a copy of init. */
Tensor *stage_scatter(StageBuilder *builder, const Tensor *init, const Expr *const *target,
                      int combine, const Expr *body);

/* A one-step recurrence along loop `axis`: body may read prev (stage_prev) and anything at the
 * current position. init may be NULL (zeros). */
const Expr *stage_prev(StageBuilder *builder, int axis, const Tensor *init, bool reverse,
                       DType type);
Tensor *stage_scan(StageBuilder *builder, DType type, const Expr *body);

#endif
