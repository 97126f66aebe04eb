/* What transformations of programs share. */
#ifndef EXPR_STAGE_REWRITE_H
#define EXPR_STAGE_REWRITE_H

#include "expr/stage/stage.h"

/* As program_rewrite() of what has reads in it, and stages that change are tidied. */
Program *program_rewrite_tidy(const Program *program, ExprRewrite rewrite, void *arg);

/* Simplify the scalars under the box and guard, drop terms of the guard that the box implies, and
 * let a sum omit terms that are zero: sum select(c, x, 0)*y becomes a sum of x*y where c. */
void stage_tidy(ExprCtx *ctx, Stage *stage);

/* Whether every read of the bodies is in range where it happens. */
bool stage_reads_are_certain(ExprCtx *ctx, const Stage *stage);

#endif
