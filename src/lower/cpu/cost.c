/* The estimated cost of a stage with one of its loops in vector lanes (cpu.h). */
#include "lower/cpu/cpu.h"

#include <math.h>

enum { FAR = 256 }; /* bytes between steps */

static const double GATHER_COST = 1.6; /* a scalar load and an insert, against one vector load */
static const double PAIR_COST = 3;     /* every second element: two vector loads and a shuffle */
static const double UNIFORM_COST = 0.1;

bool
cost_stride(const Coster *c, const Tensor *t, const Expr *const *index, int64_t *stride)
{
	ExprCtx *ctx = c->program->ctx;
	int n = c->stage->nloop + c->stage->nreduce;
	const Expr **others = NEW_N(c->arena, const Expr *, n + 1); /* may do as they like */
	int64_t step = 1, total = 0;
	for (int i = 0; i < n; i++)
		others[i] = expr_iter(ctx, i == c->iter ? 0 : i + 1);
	for (int d = t->rank - 1; d >= 0; d--) {
		const Dim *coefficient;
		const Expr *rest;
		if (expr_uses_iter(index[d], c->iter)) {
			const Expr *along = expr_substitute(ctx, index[d], n, others);
			if (!expr_affine(ctx, along, 1, &coefficient, &rest))
				return false;
			int64_t part = probe_times(probe_dim(c->target, coefficient), step);
			if (__builtin_add_overflow(total, part, &total))
				total = INT64_MAX;
		}
		step = probe_times(step, probe_dim(c->target, t->hi[d]));
	}
	*stride = total;
	return true;
}

bool
cost_moves(const Expr *read, int iter)
{
	bool moves = false;
	for (int d = 0; d < read->argc; d++)
		moves |= expr_uses_iter(read->arg[d], iter);
	return moves;
}

bool
cost_is_far(const Tensor *t, int64_t stride)
{
	return fabs((double)stride) * dtype_bits(t->type) >= FAR * 8.0;
}

static double
access_cost(Coster *c, const Tensor *t, const Expr *const *index)
{
	int64_t stride;
	if (c->iter < 0)
		return 1;
	if (!cost_stride(c, t, index, &stride))
		return GATHER_COST;
	if (stride == 0)
		return UNIFORM_COST;
	if (stride == 1)
		return 1 / c->lanes;
	return GATHER_COST;
}

static double
read_cost(Coster *c, const Expr *e)
{
	int64_t stride;
	bool has_pairs = dtype_bits(e->tensor->type) == 32 && c->target->device->vector_bytes >= 32;
	if (has_pairs && c->iter >= 0 && cost_stride(c, e->tensor, e->arg, &stride) && stride == 2)
		return PAIR_COST / c->lanes;
	return access_cost(c, e->tensor, e->arg);
}

static double
node_cost(Coster *c, const Expr *e)
{
	const ScalarInfo *info = scalar_info((ExprOp)e->op);
	bool is_uniform = c->iter >= 0 && !e->has_read && !expr_uses_iter(e, c->iter);
	if (e->op == EX_read)
		return read_cost(c, e);
	if (!info || is_uniform) /* once for all lanes, most often outside the loops */
		return 0;
	return 0.5 * info->cost / c->lanes;
}

/* Lanes of a vector that hold something, on average: a short loop leaves some empty. */
static double
used_lanes(int64_t extent, double full)
{
	double vectors = (double)extent / full;
	double rounded = vectors == (double)(int64_t)vectors ? vectors : (double)(int64_t)vectors + 1;
	return extent > 0 ? (double)extent / rounded : full;
}

double
cost_of_stage(Coster *c, const Stage *stage, int iter)
{
	ExprCtx *ctx = c->program->ctx;
	c->stage = stage;
	c->iter = iter;
	int bits = dtype_bits(stage->results[0]->type);
	double full = c->target->device->vector_bytes * 8.0 / (bits < 8 ? 8 : bits);
	c->lanes = iter < 0 ? 1 : used_lanes(probe_dim(c->target, stage->iters[iter].hi), full);
	double cost = 0;
	for (int b = 0; b <= stage->nbody; b++)
		for (ExprWalk walk = expr_walk(b < stage->nbody ? stage->body[b] : stage->guard);
		     expr_step(&walk);)
			cost += node_cost(c, walk.e);
	double points = (double)probe_dim(c->target, stage_points(ctx, stage));
	double writes = 1;
	for (int i = 0; i < stage->nloop; i++)
		writes *= (double)probe_dim(c->target, stage->iters[i].hi);
	const Expr **identity = NEW_N(c->arena, const Expr *, stage->nloop + stage->nreduce + 1);
	stage_identity(ctx, stage->nloop, identity);
	double total = points * cost;
	if (stage->kind != STAGE_scatter && iter < stage->nloop)
		total += writes * access_cost(c, stage->results[0], identity);
	if (iter >= stage->nloop) /* the tree at the end of a reduction across lanes */
		total += writes * 4;
	return total;
}
