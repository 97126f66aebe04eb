/* Tidying a stage after a transformation: see rewrite.h.
 *
 * Terms omitted by a guard and terms that are zero are the same to a sum. Derivation prefers the
 * guard, because boxes can then be cut to it: `select(c, x, 0) * y` gives its condition up to the
 * guard, if that is a conjunction of comparisons of indices.
 */

#include "expr/index/facts.h"
#include "expr/stage/stage.h"

static bool
is_guard(const Expr *e)
{
	while (e->op == EX_and) {
		if (!is_guard(e->arg[1]))
			return false;
		e = e->arg[0];
	}
	return expr_is_compare(e) && e->arg[0]->type == DT_I64 && !e->has_read;
}

/* Take the conditions of zero selects out of a product; *guard gathers them. */
static const Expr *
lift_from_product(ExprCtx *ctx, const Expr *e, const Expr **guard)
{
	if (e->op == EX_mul) {
		const Expr *a = lift_from_product(ctx, e->arg[0], guard);
		return expr_mul(ctx, a, lift_from_product(ctx, e->arg[1], guard));
	}
	if (e->op == EX_select && expr_is_zero(e->arg[2]) && is_guard(e->arg[0])) {
		*guard = expr_both(ctx, *guard, e->arg[0]);
		return lift_from_product(ctx, e->arg[1], guard);
	}
	return e;
}

/* The same for a term that is the identity of its reduction. */
static const Expr *
lift_from_term(ExprCtx *ctx, const Stage *stage, const Expr *e, const Expr **guard)
{
	const Expr *identity = NULL;
	if (e->op == EX_select)
		identity = reduce_identity(ctx, stage->reduce, 0, stage->acc);
	while (e->op == EX_select && e->arg[2] == identity && is_guard(e->arg[0])) {
		*guard = expr_both(ctx, *guard, e->arg[0]);
		e = e->arg[1];
	}
	return e;
}

/* Terms of the guard that the others before them, and the box, do not imply. */
static const Expr *
tidy_guard(Facts *facts, const Expr *guard)
{
	if (guard->op == EX_and) {
		const Expr *first = tidy_guard(facts, guard->arg[0]);
		const Expr *second = tidy_guard(facts, guard->arg[1]);
		return expr_both(facts->ctx, first, second);
	}
	const Expr *simple = expr_simplify(facts, guard);
	if (simple->op == EX_const && simple->value.u64)
		return NULL;
	if (simple->op == EX_const || !is_guard(simple))
		simple = guard; /* never true, or no longer a guard: keep it as it is */
	facts_assume(facts, simple);
	return simple;
}

/* The conditions under which the term is not the identity go up to the guard. */
static void
lift_conditions(Facts *facts, Stage *stage, const Expr **body)
{
	ExprCtx *ctx = facts->ctx;
	const Expr *lifted = NULL;
	body[0] = lift_from_term(ctx, stage, body[0], &lifted);
	if (stage->reduce == REDUCE_sum)
		body[0] = lift_from_product(ctx, body[0], &lifted);
	if (!lifted)
		return;
	stage->guard = expr_both(ctx, stage->guard, tidy_guard(facts, lifted));
	body[0] = expr_simplify(facts, body[0]);
}

void
stage_tidy(ExprCtx *ctx, Stage *stage)
{
	const Expr **body = NEW_N(ctx->arena, const Expr *, stage->nbody);
	for (int i = 0; i < stage->nbody; i++)
		body[i] = stage->body[i];
	stage->body = body;
	Arena *scratch = ctx_scratch(ctx);
	ArenaMark mark = arena_mark(scratch);
	Facts *facts = facts_of_stage(ctx, scratch, stage);
	if (stage->guard)
		stage->guard = tidy_guard(facts, stage->guard);
	for (int i = 0; i < stage->nbody; i++)
		body[i] = expr_simplify(facts, body[i]);
	if (stage->kind == STAGE_reduce && stage->nbody == 1 &&
	    reduce_info(stage->reduce)->freedom != REDUCE_ordered)
		lift_conditions(facts, stage, body);
	facts_close(facts);
	arena_release(scratch, mark);
}
