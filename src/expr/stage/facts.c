/* Questions about stages: how much they compute, whether element by element, over which boxes. */
#include "expr/stage/stage.h"

const Dim *
stage_points(ExprCtx *ctx, const Stage *stage)
{
	const Dim *points = dim_const(ctx, 1);
	for (int i = 0; i < stage->nloop + stage->nreduce; i++) {
		const Iter *iter = &stage->iters[i];
		points = dim_mul(ctx, points, dim_sub(ctx, iter->hi, iter->lo));
	}
	return points;
}

/* Of integers what has the type of the result: casts to it are none, and indices have another. */
static int
operations_of(const Stage *stage, bool by_cost)
{
	DType type = (DType)stage->body[0]->type;
	bool is_float = dtype_is_float(type);
	int count = stage->kind == STAGE_reduce;
	for (int b = 0; b < stage->nbody; b++)
		for (ExprWalk walk = expr_walk(stage->body[b]); expr_step(&walk);) {
			const ScalarInfo *row = scalar_info(walk.e->op);
			bool is_value = is_float ? dtype_is_float((DType)walk.e->type)
			                         : walk.e->type == type && walk.e->op != EX_cast;
			count += !row || !is_value ? 0 : by_cost ? row->cost : row->cost > 0;
		}
	return count;
}

int
stage_point_work(const Stage *stage)
{
	return operations_of(stage, false);
}

int
stage_point_cost(const Stage *stage)
{
	return operations_of(stage, true);
}

bool
program_has_stage(const Program *program, const Stage *stage)
{
	for (int s = 0; s < program->nstage; s++)
		if (program->stages[s] == stage)
			return true;
	return false;
}

bool
program_gives(const Program *program, const Stage *stage)
{
	for (int i = 0; i < program->noutput; i++)
		if (program->outputs[i] && program->outputs[i]->stage == stage)
			return true;
	return false;
}

/* Indices are constants or loops in rising order. */
static bool
is_read_pointwise(const Expr *read)
{
	int last = -1;
	for (int i = 0; i < read->argc; i++) {
		const Expr *index = read->arg[i];
		if (index->op == EX_iter && index->iter > last)
			last = index->iter;
		else if (index->op != EX_const)
			return false;
	}
	return true;
}

bool
stage_is_pointwise(const Stage *stage)
{
	bool is_pointwise = stage->kind == STAGE_map && !stage->scan;
	for (ExprWalk walk = expr_walk(stage->body[0]); expr_step(&walk);)
		is_pointwise &= walk.e->op != EX_at && (walk.e->op != EX_read || is_read_pointwise(walk.e));
	return is_pointwise;
}

const Expr *
stage_summed_product(const Stage *stage)
{
	bool is_sum = stage->kind == STAGE_reduce && stage->reduce == REDUCE_sum && stage->nbody == 1;
	const Expr *body = is_sum ? expr_without_casts(stage->body[0]) : NULL;
	return body && (body->op == EX_mul || scalar_is_dot(body->op)) ? body : NULL;
}

Facts *
facts_of_stage(ExprCtx *ctx, Arena *arena, const Stage *stage)
{
	Facts *facts = facts_new(ctx, arena);
	for (int i = 0; i < stage->nloop + stage->nreduce; i++)
		facts_iter(facts, i, stage->iters[i].lo, stage->iters[i].hi);
	return facts;
}

static bool
has_same_ranges(const Iter *a, const Iter *b, int count)
{
	for (int i = 0; i < count; i++)
		if (a[i].lo != b[i].lo || a[i].hi != b[i].hi)
			return false;
	return true;
}

bool
stage_same_loops(const Stage *a, const Stage *b)
{
	return a->nloop == b->nloop && has_same_ranges(a->iters, b->iters, a->nloop);
}

bool
stage_same_iters(const Stage *a, const Stage *b)
{
	return a->nloop == b->nloop && a->nreduce == b->nreduce &&
	       has_same_ranges(a->iters, b->iters, a->nloop + a->nreduce);
}
