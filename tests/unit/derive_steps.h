/* Every elementary derivation of a program, as a search tries them: by what the stages show, never
 * by what they are called. One that does not apply is refused by its own guard.
 */
#ifndef DERIVE_STEPS_H
#define DERIVE_STEPS_H

#include "expr/stage/build.h"
#include "program/derive.h"

typedef enum StepKind {
	STEP_split_sum, /* bits: the iterators that stay outside */
	STEP_skew,      /* i += by*j */
	STEP_fuse,      /* i, j */
	STEP_split,     /* i by `by` */
	STEP_swap,      /* loops i and j */
	STEP_terms,     /* the sum's iterator i by `by` */
	STEP_relax,     /* iterator i up to a multiple of `by` */
	STEP_tighten,
	STEP_merge,
	STEP_residue, /* iterator i */
	STEP_extract, /* `read` */
	STEP_COUNT
} StepKind;

typedef struct Step {
	StepKind kind;
	const Stage *stage;
	int i, j;
	int64_t by;
	const Expr *read;
} Step;

typedef struct Steps {
	Arena *arena;
	const Stage *stage; /* at work */
	VEC(Step) list;
} Steps;

static void
add_step(Steps *steps, StepKind kind, int i, int j, int64_t by, const Expr *read)
{
	vec_push(steps->arena, &steps->list, (Step){kind, steps->stage, i, j, by, read});
}

/* Two loops of one index may be skewed: i with the coefficient 1 by the other's. */
static void
add_skews(Steps *steps, const Expr *index)
{
	const Dim *coefficient[64];
	const Expr *rest;
	int n = steps->stage->nloop;
	int64_t a, b;
	if (index->op == EX_floordiv || index->op == EX_floormod)
		index = index->arg[0];
	if (n > 60 || !expr_affine(index->ctx, index, n, coefficient, &rest))
		return;
	for (int i = 0; i < n; i++)
		for (int j = 0; j < n; j++)
			if (i != j && dim_is_const(coefficient[i], &a) && a == 1 &&
			    dim_is_const(coefficient[j], &b) && b != 0)
				add_step(steps, STEP_skew, i, j, b, NULL);
}

static void
add_read_steps(Steps *steps, const Expr *read)
{
	add_step(steps, STEP_extract, 0, 0, 0, read);
	for (int d = 0; d < read->argc; d++)
		add_skews(steps, read->arg[d]);
}

static void
add_loop_steps(Steps *steps)
{
	const Stage *stage = steps->stage;
	int64_t lo, hi;
	for (int i = 0; i < stage->nloop; i++) {
		if (i + 1 < stage->nloop) {
			add_step(steps, STEP_fuse, i, i + 1, 0, NULL);
			add_step(steps, STEP_swap, i, i + 1, 0, NULL);
		}
		if (dim_is_const(stage->iters[i].lo, &lo) && dim_is_const(stage->iters[i].hi, &hi) &&
		    hi - lo > 4 && (hi - lo) % 4 == 0)
			add_step(steps, STEP_split, i, 0, 4, NULL);
	}
}

static void
add_sum_steps(Steps *steps)
{
	const Stage *stage = steps->stage;
	int64_t lo, hi;
	for (int bits = 1; bits + 1 < 1 << stage->nreduce; bits++)
		add_step(steps, STEP_split_sum, 0, 0, bits, NULL);
	for (int k = 0; k < stage->nreduce; k++) {
		int i = stage->nloop + k;
		add_step(steps, STEP_residue, i, 0, 0, NULL);
		if (!dim_is_const(stage->iters[i].lo, &lo) || !dim_is_const(stage->iters[i].hi, &hi) ||
		    lo != 0 || hi > 10)
			continue;
		for (int64_t by = 2; by <= 3; by++)
			if (hi > by)
				add_step(steps, hi % by == 0 ? STEP_terms : STEP_relax, i, 0, by, NULL);
	}
}

/* The steps of all stages, into steps->list. */
static void
list_steps(Steps *steps, const Program *program)
{
	steps->list.count = 0;
	for (int s = 0; s < program->nstage; s++) {
		const Stage *stage = steps->stage = program->stages[s];
		if (stage->kind == STAGE_reduce && stage->nreduce < 8)
			add_sum_steps(steps);
		add_loop_steps(steps);
		add_step(steps, STEP_tighten, 0, 0, 0, NULL);
		add_step(steps, STEP_merge, 0, 0, 0, NULL);
		for (ExprWalk walk = expr_walk(stage->body[0]); expr_step(&walk);)
			if (walk.e->op == EX_read)
				add_read_steps(steps, walk.e);
	}
}

/* r = by*a + b in the place of the sum's iterator r. */
static Program *
split_terms(const Program *program, const Step *step, Reason *why)
{
	const Stage *stage = step->stage;
	ExprCtx *ctx = program->ctx;
	const Expr *forward[10], *inverse[10], *by = expr_i64(ctx, step->by);
	Iter iters[10];
	int n = stage->nreduce, at = step->i - stage->nloop;
	for (int k = 0, to = 0; k < n; k++, to++) {
		const Expr *r = expr_iter(ctx, k), *a = expr_iter(ctx, to);
		iters[to] = stage->iters[stage->nloop + k];
		forward[to] = r;
		inverse[k] = a;
		if (k != at)
			continue;
		const Dim *count = dim_floordiv(ctx, iters[to].hi, by);
		inverse[k] = expr_add(ctx, expr_mul(ctx, a, by), expr_iter(ctx, to + 1));
		forward[to] = expr_floordiv(ctx, r, by);
		iters[to] = (Iter){iters[to].name, dim_const(ctx, 0), count};
		forward[++to] = expr_floormod(ctx, r, by);
		iters[to] = (Iter){NULL, dim_const(ctx, 0), by};
	}
	Bijection map = {n, n + 1, forward, inverse, iters};
	return derive_substitute_sum(program, stage, &map, why);
}

static Program *
relax_to_multiple(const Program *program, const Step *step, Reason *why)
{
	ExprCtx *ctx = program->ctx;
	const Iter *iter = &step->stage->iters[step->i];
	const Dim *by = dim_const(ctx, step->by);
	const Dim *hi = dim_mul(ctx, dim_ceildiv(ctx, iter->hi, by), by);
	return derive_relax(program, step->stage, step->i, iter->lo, hi, why);
}

static Program *
map_loops(const Program *program, const Step *step, Reason *why)
{
	ExprCtx *ctx = program->ctx;
	const Stage *stage = step->stage;
	Bijection map;
	int order[64];
	for (int i = 0; i < stage->nloop; i++)
		order[i] = i == step->i ? step->j : i == step->j ? step->i : i;
	bool is_map = step->kind == STEP_skew
	                  ? derive_skew(ctx, stage, step->i, step->j, step->by, &map)
	              : step->kind == STEP_fuse  ? derive_fuse(ctx, stage, step->i, step->j, &map)
	              : step->kind == STEP_split ? derive_split(ctx, stage, step->i, step->by, &map)
	                                         : derive_permute(ctx, stage, order, &map);
	return is_map ? derive_substitute(program, stage, &map, why) : NULL;
}

/* The derived program; NULL, with the reason, where the step does not apply. */
static Program *
apply_step(const Program *program, const Step *step, Reason *why)
{
	switch (step->kind) {
	case STEP_split_sum:
		return derive_split_sum(program, step->stage, (unsigned)step->by, why);
	case STEP_terms:
		return split_terms(program, step, why);
	case STEP_relax:
		return relax_to_multiple(program, step, why);
	case STEP_tighten:
		return derive_tighten(program, step->stage, why);
	case STEP_merge:
		return derive_merge(program, step->stage, why);
	case STEP_residue:
		return derive_residue(program, step->stage, step->i, why);
	case STEP_extract:
		return derive_extract(program, step->stage, step->read, why);
	default:
		return map_loops(program, step, why);
	}
}

#endif
