/* What transformations of programs share, inside this folder. */
#ifndef EXPR_REWRITE_H
#define EXPR_REWRITE_H

#include "expr/stage.h"

/* As program_rewrite(), and stages that change are tidied. */
Program *program_rewrite_tidy(const Program *program, ExprRewrite rewrite, void *arg);

/* Simplify the scalars under the box and guard, drop terms of the guard that the box implies, and
 * let a sum omit terms that are zero: sum select(c, x, 0)*y becomes a sum of x*y where c. */
void stage_tidy(ExprCtx *ctx, Stage *stage);

/* Whether every read of the bodies is in range where it happens. */
bool stage_reads_are_certain(ExprCtx *ctx, const Stage *stage);

/* ---- helpers of the derive_*.c files ---- */

/* NULL, with the reason. */
Program *derive_refuse(const char **why, const char *reason);

/* Whether the stage may be rewritten at all: no scatter, no member of a scan, one result (or any
 * number), no indirect read; otherwise why not. */
const char *derive_obstacle(const Stage *stage, bool any_results);

/* The program with `old` computed by `replacement`, whose results have the same boxes. */
Program *derive_replace(const Program *program, const Stage *old, const Stage *replacement);

/* The program with every read of stage's results replaced by its body; it is a map. */
Program *derive_inline(const Program *program, const Stage *stage);

bool derive_is_output(const Program *program, const Stage *stage);

/* A new stage of this kind and these loops and reduction iterators; bodies and guard as given. Its
 * results (one per type) have the loops' box. */
Stage *derive_stage(ExprCtx *ctx, const Stage *like, StageKind kind, int nloop, int nreduce,
                    const Iter *iters, const Expr *const *body, const Expr *guard,
                    const DType *types);

/* select(lo <= position < hi for every iterator where the box is not enough, e, otherwise). */
const Expr *derive_in_box(ExprCtx *ctx, int count, const Expr *const *at, const Iter *box);

#endif
