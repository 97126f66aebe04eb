/* Cutting boxes to where values can be other than the identity, and growing them.
 *
 *     T[t:H+2] = sum(c where 0 <= t-1, t-1 < H) A[t-1, c]      tighten: t:1..H+1, no guard
 *     Y[..] = sum(r:5) X[..r..]*K[r]      relax to r:6: K gets a stage of its own, zero at r = 5
 *
 * Readers of a cut stage test the new box; in a sum the test becomes a guard (expr/stage/tidy.c).
 */

#include <string.h>

#include "expr/index/facts.h"
#include "expr/stage/build.h"
#include "program/derive.h"
#include "program/derive_inner.h"

enum { MAX_ITERS = 64 };

/* ---- what a condition says about one iterator ------------------------------------------------ */

typedef struct Cut {
	ExprCtx *ctx;
	Iter iters[MAX_ITERS]; /* the box, loops being cut */
	int nloop, total;
} Cut;

/* A bound that may lie outside of the box, for some sizes, is none: the box would have to be the
 * larger of two, whose loops bound each other again, and so on without an end. */
static void
raise_lo(const Cut *cut, Iter *iter, const Dim *lo)
{
	if (dim_proves_le(cut->ctx, iter->lo, lo))
		iter->lo = lo;
}

static void
lower_hi(const Cut *cut, Iter *iter, const Dim *hi)
{
	if (dim_proves_le(cut->ctx, hi, iter->hi))
		iter->hi = hi;
}

/* coef*x + (what the others can be at most) >= 0 bounds x; division is by floor. */
static void
cut_by_bound(Cut *cut, const Dim *const *coef, const Dim *rest)
{
	ExprCtx *ctx = cut->ctx;
	int64_t c, d;
	for (int i = 0; i < cut->nloop; i++) {
		const Dim *most = rest;
		bool is_known = dim_is_const(coef[i], &c) && c != 0 && c != INT64_MIN;
		for (int k = 0; k < cut->total && is_known; k++) {
			if (k == i)
				continue;
			is_known = dim_is_const(coef[k], &d);
			const Dim *last = dim_add_i64(ctx, cut->iters[k].hi, -1);
			if (is_known && d != 0)
				most = dim_add(ctx, most, dim_mul_i64(ctx, d > 0 ? last : cut->iters[k].lo, d));
		}
		if (!is_known)
			continue;
		const Dim *bound = dim_floordiv(ctx, most, dim_const(ctx, c > 0 ? c : -c));
		if (c > 0)
			raise_lo(cut, &cut->iters[i], dim_sub(ctx, dim_const(ctx, 0), bound));
		else
			lower_hi(cut, &cut->iters[i], dim_add_i64(ctx, bound, 1));
	}
}

/* b - a + extra >= 0 */
static void
cut_by_le(Cut *cut, const Expr *a, const Expr *b, int64_t extra)
{
	const Dim *coef[MAX_ITERS], *dim;
	const Expr *rest;
	ExprCtx *ctx = cut->ctx;
	const Expr *gap = expr_add(ctx, expr_sub(ctx, b, a), expr_i64(ctx, extra));
	if (!expr_affine(ctx, gap, cut->total, coef, &rest))
		return;
	dim = dim_from_expr(ctx, rest);
	if (dim)
		cut_by_bound(cut, coef, dim);
}

static void
cut_by_condition(Cut *cut, const Expr *e)
{
	const Expr *a = e->arg[0], *b = e->argc > 1 ? e->arg[1] : NULL;
	if (e->op == EX_and) {
		cut_by_condition(cut, a);
		cut_by_condition(cut, b);
		return;
	}
	if (e->op < EX_lt || e->op > EX_ne || !a->is_tame || !b->is_tame)
		return;
	if (e->op == EX_lt)
		cut_by_le(cut, a, b, -1);
	if (e->op == EX_gt)
		cut_by_le(cut, b, a, -1);
	if (e->op == EX_le || e->op == EX_eq)
		cut_by_le(cut, a, b, 0);
	if (e->op == EX_ge || e->op == EX_eq)
		cut_by_le(cut, b, a, 0);
}

/* An extent is never negative. */
static void
close_boxes(Cut *cut)
{
	for (int i = 0; i < cut->nloop; i++) {
		Iter *iter = &cut->iters[i];
		if (!dim_proves_le(cut->ctx, iter->lo, iter->hi))
			iter->hi = dim_max(cut->ctx, iter->hi, iter->lo);
	}
}

/* ---- tightening ------------------------------------------------------------------------------ */

/* Where the value is value_otherwise() unless the condition holds; NULL when nothing says so. */
static const Expr *
value_condition(const Stage *stage)
{
	const Expr *body = stage->body[0];
	if (stage->kind == STAGE_reduce && reduce_info(stage->reduce)->states == 1)
		return stage->guard;
	bool is_choice =
		stage->kind == STAGE_map && body->op == EX_select && body->arg[2]->op == EX_const;
	return is_choice ? body->arg[0] : NULL;
}

static const Expr *
value_otherwise(ExprCtx *ctx, const Stage *stage)
{
	if (stage->kind == STAGE_map)
		return stage->body[0]->arg[2];
	const Expr *identity = reduce_identity(ctx, stage->reduce, 0, stage->acc);
	return expr_cast(ctx, stage->results[0]->type, identity);
}

Program *
derive_tighten(const Program *program, const Stage *stage, Reason *why)
{
	ExprCtx *ctx = program->ctx;
	const Expr *at[MAX_ITERS];
	Cut cut = {.ctx = ctx, .nloop = stage->nloop, .total = stage->nloop + stage->nreduce};
	const char *obstacle = derive_obstacle(stage, false);
	if (obstacle)
		return derive_refuse(why, obstacle);
	const Expr *condition = value_condition(stage);
	if (!condition || cut.total > MAX_ITERS - 2)
		return derive_refuse(why, "no condition says where the value is the identity");
	for (int i = 0; i < cut.total; i++)
		cut.iters[i] = stage->iters[i];
	cut_by_condition(&cut, condition);
	close_boxes(&cut);
	if (memcmp(cut.iters, stage->iters, (size_t)cut.total * sizeof *cut.iters) == 0)
		return derive_refuse(why, "the condition does not bound a loop");
	DType type = stage->results[0]->type;
	Stage *small = derive_stage(ctx, stage, stage->kind, stage->nloop, stage->nreduce, cut.iters,
	                            stage->body, stage->guard, &type);
	stage_tidy(ctx, small);
	stage_identity(ctx, stage->nloop, at);
	const Expr *inside = derive_in_box(ctx, stage->nloop, at, cut.iters);
	const Expr *body = expr_select(ctx, inside, expr_read(ctx, small->results[0], at),
	                               value_otherwise(ctx, stage));
	Stage *copy =
		derive_stage(ctx, stage, STAGE_map, stage->nloop, 0, stage->iters, &body, NULL, &type);
	stage_tidy(ctx, copy);
	return derive_certain(program, derive_inline(derive_replace(program, stage, copy), copy), why);
}

/* ---- relaxing -------------------------------------------------------------------------------- */

/* The loop: further values are computed and nobody reads them. */
static Program *
relax_loop(const Program *program, const Stage *stage, Stage *grown, const Expr *inside)
{
	ExprCtx *ctx = program->ctx;
	const Expr *at[MAX_ITERS];
	DType type = stage->results[0]->type;
	if (!stage_reads_are_certain(ctx, grown)) {
		if (stage->kind == STAGE_reduce) {
			grown->guard = expr_both(ctx, grown->guard, inside);
		} else {
			const Expr *body = expr_select(ctx, inside, stage->body[0], expr_number(ctx, type, 0));
			grown->body = arena_memdup(expr_ctx_arena(ctx), &body, sizeof body);
		}
	}
	stage_identity(ctx, stage->nloop, at);
	const Expr *body = expr_read(ctx, grown->results[0], at);
	Stage *copy =
		derive_stage(ctx, stage, STAGE_map, stage->nloop, 0, stage->iters, &body, NULL, &type);
	return derive_inline(derive_replace(program, stage, copy), copy);
}

/* A factor of the product e that is read out of range in the new terms and only there, so that it
 * may be zero there; NULL when there is none. */
static const Expr *
find_zero_factor(Facts *facts, const Expr *e, const Expr *inside)
{
	if (e->op == EX_mul) {
		const Expr *found = find_zero_factor(facts, e->arg[0], inside);
		return found ? found : find_zero_factor(facts, e->arg[1], inside);
	}
	if (e->op == EX_cast)
		return find_zero_factor(facts, e->arg[0], inside);
	const Expr *range = e->op == EX_read ? read_range(facts, e->tensor, e->arg) : NULL;
	if (!range)
		return NULL;
	int mark = facts_mark(facts);
	facts_assume(facts, range);
	bool is_zero_outside = facts_prove(facts, inside);
	facts_release(facts, mark);
	return is_zero_outside ? e : NULL;
}

/* The reduction: added terms are zero because a factor is, or else omitted. */
static Program *
relax_sum(const Program *program, const Stage *stage, Stage *grown, const Expr *inside)
{
	ExprCtx *ctx = program->ctx;
	Facts *facts = facts_of_stage(ctx, expr_ctx_arena(ctx), grown);
	const Expr *factor = NULL;
	if (stage->reduce == REDUCE_sum)
		factor = find_zero_factor(facts, stage->body[0], inside);
	if (factor) {
		Program *padded =
			derive_extract(derive_replace(program, stage, grown), grown, factor, NULL);
		if (padded)
			return padded;
	}
	grown->guard = expr_both(ctx, grown->guard, inside);
	return derive_replace(program, stage, grown);
}

Program *
derive_relax(const Program *program, const Stage *stage, int iter, const Dim *lo, const Dim *hi,
             Reason *why)
{
	ExprCtx *ctx = program->ctx;
	Iter iters[MAX_ITERS];
	int total = stage->nloop + stage->nreduce;
	const char *obstacle = derive_obstacle(stage, false);
	if (obstacle)
		return derive_refuse(why, obstacle);
	if (iter < 0 || iter >= total || total > MAX_ITERS - 2)
		return derive_refuse(why, "the stage has no such iterator");
	const Iter *old = &stage->iters[iter];
	if (!dim_proves_le(ctx, lo, old->lo) || !dim_proves_le(ctx, old->hi, hi))
		return derive_refuse(why, "the new range does not certainly contain the old one");
	for (int i = 0; i < total; i++)
		iters[i] = stage->iters[i];
	iters[iter].lo = lo;
	iters[iter].hi = hi;
	const Expr *at = expr_iter(ctx, iter);
	const Expr *inside = NULL;
	if (lo != old->lo)
		inside = expr_le(ctx, old->lo, at);
	if (hi != old->hi)
		inside = expr_both(ctx, inside, expr_lt(ctx, at, old->hi));
	if (!inside)
		return derive_refuse(why, "the range stays as it is");
	DType type = stage->results[0]->type;
	Stage *grown = derive_stage(ctx, stage, stage->kind, stage->nloop, stage->nreduce, iters,
	                            stage->body, stage->guard, &type);
	Program *relaxed = iter < stage->nloop ? relax_loop(program, stage, grown, inside)
	                                       : relax_sum(program, stage, grown, inside);
	return derive_certain(program, relaxed, why);
}
