/* Index arithmetic: bounds and simplification, for integers and booleans only.
 *
 * Facts are the boxes of iterators and variables, the ranges of symbols, and conditions known to
 * hold (guards, the conditions of enclosing selects). Floats are never touched.
 */
#ifndef EXPR_INDEX_SIMPLIFY_H
#define EXPR_INDEX_SIMPLIFY_H

#include "expr/index/dim.h"

typedef struct Facts Facts;

/* No facts yet; lives in `arena`. */
Facts *facts_new(ExprCtx *ctx, Arena *arena);
/* Nobody will ask again: what the ctx lent goes back to it. Without it that is lost, no more. */
void facts_close(Facts *facts);
void facts_iter(Facts *facts, int position, const Expr *lo, const Expr *hi); /* lo <= i < hi */
void facts_var(Facts *facts, const Var *var, const Expr *lo, const Expr *hi);
void facts_assume(Facts *facts, const Expr *condition); /* conjunctions are split */
/* Scoped: facts added after mark are forgotten by release. */
int facts_mark(const Facts *facts);
void facts_release(Facts *facts, int mark);

/* Whether a boolean holds (is false) at every point the facts allow; false = not proven. */
bool facts_prove(Facts *facts, const Expr *condition);
bool facts_disprove(Facts *facts, const Expr *condition);

/* Smallest interval known: false when unbounded on a side, which then holds INT64_MIN/MAX. */
bool facts_range(Facts *facts, const Expr *e, int64_t *lo, int64_t *hi);

/* The conjunction of those lo <= index < hi of a read that the facts do not prove; NULL when they
 * prove all. */
const Expr *read_range(Facts *facts, const Tensor *tensor, const Expr *const *index);

/* A scalar equal at every point the facts allow, with integer and boolean parts in normal form:
 * sums by position, exact div/mod pairs joined, redundant conditions gone. Products of sums are
 * multiplied out, so it may have more nodes: proofs find a read in its guard by this form. */
const Expr *expr_simplify(Facts *facts, const Expr *e);
/* The same where nothing is known of what stands in it. */
const Expr *expr_simplify_alone(ExprCtx *ctx, const Expr *e);
/* The same for what is to be computed: where the normal form costs more (expr_cost), the parts of
 * which that is so stay as they are. Never more than e costs; equal scalars may differ in form. */
const Expr *expr_lighten(Facts *facts, const Expr *e);

/* coefficient[i] of iterator i (i < count) and the rest, when e = sum coefficient*iter + rest with
 * rest free of these iterators; false otherwise. Coefficients are dims. */
bool expr_affine(ExprCtx *ctx, const Expr *e, int count, const Dim **coefficient,
                 const Expr **rest);

#endif
