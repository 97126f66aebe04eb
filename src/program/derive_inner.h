/* What the elementary derivations share, inside this folder. */
#ifndef PROGRAM_DERIVE_INNER_H
#define PROGRAM_DERIVE_INNER_H

#include "expr/stage/stage.h"

/* Whether the stage may be rewritten at all: no scatter, no member of a scan, one result (or any
 * number), no indirect read; otherwise why not. */
const char *derive_obstacle(const Stage *stage, bool any_results);

/* A sum of the product of two reads, which are not alike, and of nothing else. */
bool derive_is_product(const Stage *stage);

/* The program with `old` computed by `replacement`, whose results have the same boxes. */
Program *derive_replace(const Program *program, const Stage *old, const Stage *replacement);

/* `after` if all reads of its new stages are proven in range, else NULL, with the reason. An
 * operation that is right keeps them there, but what says so of symbolic boxes may be more than a
 * proof finds. */
Program *derive_certain(const Program *before, Program *after, const char **why);
/* Where that was asked of one of them already. */
Program *derive_certain_beside(const Program *before, const Stage *certain, Program *after,
                               const char **why);

/* A new stage of this kind and these loops and reduction iterators; bodies and guard as given. Its
 * results (one per type) have the loops' box. */
Stage *derive_stage(ExprCtx *ctx, const Stage *like, StageKind kind, int nloop, int nreduce,
                    const Iter *iters, const Expr *const *body, const Expr *guard,
                    const DType *types);

/* select(lo <= position < hi for every iterator where the box is not enough, e, otherwise). */
const Expr *derive_in_box(ExprCtx *ctx, int count, const Expr *const *at, const Iter *box);

#endif
