/* derive_residue: where a guard fixes an iterator's remainder, run over the terms that have it.
 *
 *     sum(r:R where (a-r)%s == 0) f(r)  =>  sum(k:ceil(R/s) where s*k + a%s < R) f(s*k + a%s)
 *
 * `a` is anything without r. With c*r in place of -r the remainder is that of m*a, where m*c is -1
 * modulo s; c and s must have no common factor. The terms and their order stay the same, so this is
 * exact for every reduction.
 */
#include "expr/index/simplify.h"
#include "program/derive.h"
#include "program/derive_inner.h"

enum { MAX_ITERS = 64 };

/* The condition (a + c*r) % s == 0. */
typedef struct Residue {
	ExprCtx *ctx;
	int iter, total;
	const Expr *condition, *sum; /* sum = a + c*r */
	int64_t c, s, m;
} Residue;

/* m in [0, s) with m*c = -1 modulo s; -1: there is none. */
static int64_t
negative_inverse(int64_t c, int64_t s)
{
	for (int64_t m = 0; m < s; m++)
		if ((m * (c % s) + 1) % s == 0)
			return m;
	return -1;
}

static bool
is_residue(Residue *found, const Expr *e)
{
	enum { LARGEST = 1024 }; /* the inverse is looked for one by one */
	const Dim *coefficient[MAX_ITERS];
	const Expr *rest;
	if (e->op != EX_eq || e->arg[0]->op != EX_floormod || !expr_is_zero(e->arg[1]) ||
	    !expr_as_i64(e->arg[0]->arg[1], &found->s) || found->s < 2 || found->s > LARGEST)
		return false;
	found->condition = e;
	found->sum = e->arg[0]->arg[0];
	if (!expr_affine(found->ctx, found->sum, found->total, coefficient, &rest) ||
	    !dim_is_const(coefficient[found->iter], &found->c) || found->c == 0)
		return false;
	found->m = negative_inverse(found->c, found->s);
	return found->m >= 0;
}

static bool
find_residue(Residue *found, const Expr *guard)
{
	if (guard->op == EX_and)
		return find_residue(found, guard->arg[0]) || find_residue(found, guard->arg[1]);
	return is_residue(found, guard);
}

/* The condition holds, and iterator `total` stands for the exact quotient (a + c*r)/s. */
static const Expr *
replace_node(ExprCtx *ctx, const Expr *e, void *arg)
{
	const Residue *found = arg;
	if (e == found->condition)
		return expr_bool(ctx, true);
	bool is_quotient = e->op == EX_floordiv && e->arg[0] == found->sum &&
	                   e->arg[1] == found->condition->arg[0]->arg[1];
	return is_quotient ? expr_iter(ctx, found->total) : e;
}

static const Expr *
replaced(const Residue *found, const Expr *e, const Expr *const *map)
{
	e = expr_rewrite(found->ctx, e, replace_node, (void *)(uintptr_t)found);
	return expr_substitute(found->ctx, e, found->total + 1, map);
}

/* The old iterators over the new ones, and behind them the quotient: with r = s*k + rest it is
 * (a + c*rest)/s + c*k, where a - a%s over s is a/s. */
static void
map_iterators(const Residue *found, const Expr **map)
{
	ExprCtx *ctx = found->ctx;
	const Expr *zero = expr_i64(ctx, 0), *s = expr_i64(ctx, found->s), *c = expr_i64(ctx, found->c);
	stage_identity(ctx, found->total, map);
	const Expr *k = map[found->iter];
	map[found->iter] = zero;
	const Expr *a = expr_substitute(ctx, found->sum, found->total, map);
	const Expr *rest = expr_floormod(ctx, expr_mul(ctx, expr_i64(ctx, found->m), a), s);
	map[found->iter] = expr_add(ctx, expr_mul(ctx, s, k), rest);
	if (found->c != -1)
		a = expr_add(ctx, a, expr_mul(ctx, c, rest));
	map[found->total] = expr_add(ctx, expr_floordiv(ctx, a, s), expr_mul(ctx, c, k));
}

Program *
derive_residue(const Program *program, const Stage *stage, int iter, Reason *why)
{
	ExprCtx *ctx = program->ctx;
	int total = stage->nloop + stage->nreduce;
	Residue found = {.ctx = ctx, .iter = iter, .total = total};
	const Expr *map[MAX_ITERS], *body[REDUCE_MAX_STATES];
	DType types[REDUCE_MAX_STATES];
	Iter iters[MAX_ITERS];
	const char *obstacle = derive_obstacle(stage, true);
	if (obstacle)
		return derive_refuse(why, obstacle);
	if (stage->kind != STAGE_reduce || iter < stage->nloop || iter >= total ||
	    total > MAX_ITERS - 2 || !dim_is(stage->iters[iter].lo, 0))
		return derive_refuse(why, "the stage has no such iterator of a sum, from 0");
	if (!stage->guard || !find_residue(&found, stage->guard))
		return derive_refuse(why, "no condition fixes a remainder");
	map_iterators(&found, map);
	for (int i = 0; i < total; i++)
		iters[i] = stage->iters[i];
	iters[iter].hi = dim_ceildiv(ctx, stage->iters[iter].hi, dim_const(ctx, found.s));
	for (int i = 0; i < stage->nbody; i++) {
		body[i] = replaced(&found, stage->body[i], map);
		types[i] = stage->results[i]->type;
	}
	const Expr *inside = expr_lt(ctx, map[iter], stage->iters[iter].hi);
	const Expr *guard = expr_and(ctx, replaced(&found, stage->guard, map), inside);
	Stage *picked = derive_stage(ctx, stage, STAGE_reduce, stage->nloop, stage->nreduce, iters,
	                             body, guard, types);
	stage_tidy(ctx, picked);
	return derive_certain(program, derive_replace(program, stage, picked), why);
}
