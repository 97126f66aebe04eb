/* Every elementary derivation of a program: the rules on any stage, and what a search does with its
 * stages besides. One that does not apply is refused by its own guard.
 */
#ifndef DERIVE_STEPS_H
#define DERIVE_STEPS_H

#include "expr/stage/build.h"
#include "einnet/rules.h"

typedef enum StepKind {
	STEP_rule,
	STEP_skew,    /* i += by*j */
	STEP_fuse,    /* i, j */
	STEP_swap,    /* loops i and j */
	STEP_relax,   /* iterator i up to a multiple of `by` */
	STEP_extract, /* `read` */
	STEP_COUNT
} StepKind;

typedef struct Step {
	StepKind kind;
	const Stage *stage;
	int i, j;
	int64_t by;
	const Expr *read;
	RuleStep rule;
} Step;

typedef struct Steps {
	Arena *arena;
	const Stage *stage; /* at work */
	VEC(Step) list;
} Steps;

static void
add_step(Steps *steps, StepKind kind, int i, int j, int64_t by, const Expr *read)
{
	vec_push(steps->arena, &steps->list, (Step){kind, steps->stage, i, j, by, read, {0}});
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
	for (int i = 0; i + 1 < stage->nloop; i++) {
		add_step(steps, STEP_fuse, i, i + 1, 0, NULL);
		add_step(steps, STEP_swap, i, i + 1, 0, NULL);
	}
}

static void
add_sum_steps(Steps *steps)
{
	const Stage *stage = steps->stage;
	int64_t lo, hi;
	for (int i = stage->nloop; i < stage->nloop + stage->nreduce; i++)
		for (int64_t by = 2; by <= 3; by++)
			if (dim_is_const(stage->iters[i].lo, &lo) && dim_is_const(stage->iters[i].hi, &hi) &&
			    lo == 0 && hi <= 10 && hi > by && hi % by != 0)
				add_step(steps, STEP_relax, i, 0, by, NULL);
}

static void
add_rule_steps(Steps *steps, const Program *program, int s)
{
	RuleSteps rules = {.arena = steps->arena};
	for (int rule = 0; rule < RULE_COUNT; rule++)
		rule_list(&rules, (RuleCode)rule, program, s);
	for (int i = 0; i < rules.list.count; i++)
		vec_push(steps->arena, &steps->list,
		         (Step){.kind = STEP_rule, .stage = steps->stage, .rule = rules.list.data[i]});
}

/* The steps of all stages, into steps->list. */
static void
list_steps(Steps *steps, const Program *program)
{
	steps->list.count = 0;
	for (int s = 0; s < program->nstage; s++) {
		const Stage *stage = steps->stage = program->stages[s];
		add_rule_steps(steps, program, s);
		if (stage->kind == STAGE_reduce && stage->nreduce < 8)
			add_sum_steps(steps);
		add_loop_steps(steps);
		for (ExprWalk walk = expr_walk(stage->body[0]); expr_step(&walk);)
			if (walk.e->op == EX_read)
				add_read_steps(steps, walk.e);
	}
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
	              : step->kind == STEP_fuse ? derive_fuse(ctx, stage, step->i, step->j, &map)
	                                        : derive_permute(ctx, stage, order, &map);
	return is_map ? derive_substitute(program, stage, &map, why) : NULL;
}

/* What is applied, for counting: a rule, or another kind of step. */
enum { STEP_NUMBERS = RULE_COUNT + STEP_COUNT };

static inline int
step_number(const Step *step)
{
	return step->kind == STEP_rule ? (int)step->rule.rule : RULE_COUNT + (int)step->kind;
}

static inline const char *
step_name(int number)
{
	static const char *const names[] = {"rule", "skew", "fuse", "swap", "relax", "extract"};
	return number < RULE_COUNT ? rule_info((RuleCode)number)->name : names[number - RULE_COUNT];
}

/* The derived program; NULL, with the reason, where the step does not apply. */
static inline Program *
apply_step(const Program *program, const Step *step, Reason *why)
{
	switch (step->kind) {
	case STEP_rule:
		return rule_apply(program, &step->rule, why);
	case STEP_relax:
		return relax_to_multiple(program, step, why);
	case STEP_extract:
		return derive_extract(program, step->stage, step->read, why);
	default:
		return map_loops(program, step, why);
	}
}

#endif
