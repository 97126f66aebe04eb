/* What a question about indices may cost, in steps: proofs weaken claims, sums are multiplied out,
 * conditions open scopes. Who asks begins a budget, who answers takes steps from it, and where none
 * is left the answer is "undecided", which is never wrong. A question inside another has its own.
 */
#ifndef EXPR_INDEX_BUDGET_H
#define EXPR_INDEX_BUDGET_H

#include "expr/scalar/ctx.h"

/* Most questions that are not decided soon are not decidable by us at all. */
typedef enum Budget {
	BUDGET_proof = 80,         /* claims on the way to one */
	BUDGET_condition = 1000,   /* parts of it, whose proofs have their own */
	BUDGET_interval = 1 << 20, /* nodes below one */
	BUDGET_sum = 1280,         /* nodes: a sum of shared sums is a tree with many paths */
	BUDGET_simplify = 200,     /* scopes of conditions, each of which walks its arms again */
	BUDGET_checks = 4000,      /* the same, in looking after a stage's reads */
	BUDGET_box = 64,           /* nodes of an index, before anything is known but numbers */
	BUDGET_reads = 100,        /* nodes that two bodies have in common */
} Budget;

/* What is left to the question outside, for budget_end(). */
static inline int
budget_begin(ExprCtx *ctx, Budget budget)
{
	int outside = ctx->steps_left;
	ctx->steps_left = (int)budget < ctx->steps_most ? (int)budget : ctx->steps_most;
	return outside;
}

static inline void
budget_end(ExprCtx *ctx, int outside)
{
	ctx->steps_left = outside;
}

/* False: undecided. */
static inline bool
budget_take(ExprCtx *ctx)
{
	return ctx->steps_left > 0 && ctx->steps_left-- > 0;
}

#endif
