/* Loops that indices only take apart become two: what they read needs no table then.
 *
 *     Y[h:2*H, f:F] = sum(k) A[h/2, k] * B[h%2, k, f]
 * =>  Y'[q:H, r:2, f:F] = sum(k) A[q, k] * B[r, k, f]        and Y is Y' in another shape
 */
#include "graph/spell/inner.h"

/* The number by which all uses of loop i divide it, or take its remainder; 0: there is none. */
static int64_t
divisor_of(const Stage *stage, int i)
{
	int64_t divisor = 0, number;
	bool is_same = true;
	for (ExprWalk walk = stage_walk(stage); expr_step(&walk);) {
		const Expr *e = walk.e;
		for (int k = 0; k < e->argc; k++) {
			if (e->arg[k]->op != EX_iter || e->arg[k]->iter != i)
				continue;
			bool is_part = (e->op == EX_floordiv || e->op == EX_floormod) && k == 0 &&
			               expr_as_i64(e->arg[1], &number) && number > 1;
			is_same &= is_part && (divisor == 0 || divisor == number);
			divisor = is_part ? number : 0;
		}
	}
	return is_same ? divisor : 0;
}

static Stage *
split_loop(ExprCtx *ctx, Arena *arena, const Stage *stage, int i, int64_t by)
{
	const Expr *map[SPELL_ITERS + 1];
	int count = stage->nloop + stage->nreduce;
	Iter *iters = NEW_N(arena, Iter, count + 1);
	for (int k = 0; k < count; k++) {
		iters[k + (k > i)] = stage->iters[k];
		map[k] = expr_iter(ctx, k + (k > i));
	}
	const Dim *part = dim_const(ctx, by);
	map[i] = expr_add(ctx, expr_mul(ctx, map[i], part), expr_iter(ctx, i + 1));
	iters[i].hi = dim_floordiv(ctx, stage->iters[i].hi, part);
	iters[i + 1] = (Iter){iters[i].name, dim_const(ctx, 0), part};
	Stage *split = arena_memdup(arena, stage, sizeof *stage);
	split->nloop++;
	split->iters = iters;
	Facts *facts = facts_of_stage(ctx, arena, split);
	const Expr *body = expr_simplify(facts, expr_substitute(ctx, stage->body[0], count, map));
	split->body = arena_memdup(arena, &body, sizeof body);
	if (stage->guard)
		split->guard = expr_simplify(facts, expr_substitute(ctx, stage->guard, count, map));
	facts_close(facts);
	return split;
}

const Stage *
spell_split_loops(ExprCtx *ctx, Arena *arena, const Stage *stage)
{
	for (int i = 0; i < stage->nloop && stage->nloop + stage->nreduce < SPELL_ITERS; i++) {
		const Iter *iter = &stage->iters[i];
		int64_t by = divisor_of(stage, i), extent;
		if (by > 0 && expr_is_zero(iter->lo) && dim_is_const(iter->hi, &extent) && extent > by &&
		    extent % by == 0)
			stage = split_loop(ctx, arena, stage, i, by);
	}
	return stage;
}
