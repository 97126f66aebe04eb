/* Maps along what lies side by side: a thread has the neighbours that an access of 16 bytes holds.
 *
 *     Y[i,j:768] = X[i,j] + B[j]      j in pieces of 4, a thread a piece
 *     Y[i,j:49] = X[i,j] + B[i]       49 is no multiple: i and j as one, of which X and Y are runs
 *
 * The widest type decides how many. What stands still along j is read once, or once for each
 * element. Of a last piece that is short a thread has what is left.
 */
#include "lower/gpu/gpu.h"

enum { ACCESS_BITS = 128, MOST_LANES = 16 };

static int
most(int a, int b)
{
	return a > b ? a : b;
}

static bool
is_multiple(ExprCtx *ctx, const Dim *dim, int64_t lanes)
{
	return dim && dim_is(dim_floormod(ctx, dim, dim_const(ctx, lanes)), 0);
}

/* Whether the read moves with the iterator. */
static bool
moves(const Expr *e, int iter)
{
	return e->op == EX_read && !e->tensor->stage && expr_uses_iter(e, iter);
}

/* Whether a piece of the iterator is one access: neighbours side by side, from a multiple on. */
static bool
is_access(const Stage *stage, const Expr *read, int iter, int64_t lanes)
{
	ExprCtx *ctx = read->ctx;
	int dim = read->argc - 1, count = stage->nloop + stage->nreduce;
	const Dim **of = NEW_N(expr_ctx_arena(ctx), const Dim *, count + 1);
	const Expr *rest;
	if (read->has_check)
		return false;
	for (int d = 0; d < dim; d++)
		if (expr_uses_iter(read->arg[d], iter))
			return false;
	if (!expr_affine(ctx, read->arg[dim], count, of, &rest) || !dim_is(of[iter], 1))
		return false;
	for (int i = 0; i < count; i++)
		if (i != iter && of[i] && !is_multiple(ctx, of[i], lanes))
			return false;
	return is_multiple(ctx, dim_from_expr(ctx, rest), lanes) &&
	       (dim == 0 || is_multiple(ctx, read->tensor->hi[dim], lanes));
}

bool
gpu_has_accesses(const Stage *stage, int iter, int64_t lanes)
{
	bool is_each = is_multiple(stage->body[0]->ctx, stage->iters[iter].hi, lanes) &&
	               dim_is(stage->iters[iter].lo, 0);
	for (int b = 0; b < stage->nbody; b++)
		for (ExprWalk walk = expr_walk(stage->body[b]); expr_step(&walk);)
			if (moves(walk.e, iter))
				is_each &= is_access(stage, walk.e, iter, lanes);
	return is_each;
}

int64_t
gpu_lanes_along(const Stage *stage, int iter)
{
	int bits = ACCESS_BITS / MOST_LANES;
	for (int i = 0; iter < stage->nloop && i < stage->nresult; i++)
		bits = most(bits, dtype_bits(stage->results[i]->type));
	for (int b = 0; b < stage->nbody; b++)
		for (ExprWalk walk = expr_walk(stage->body[b]); expr_step(&walk);)
			if (moves(walk.e, iter))
				bits = most(bits, dtype_bits(walk.e->tensor->type));
	return ACCESS_BITS / bits;
}

/* ---- maps ------------------------------------------------------------------------------------ */

/* Whether what the map reads along its last loop has an element for each iteration, in their
 * order. */
static bool
has_runs(const Stage *stage)
{
	bool is_each = true;
	for (ExprWalk walk = expr_walk(stage->body[0]); expr_step(&walk);) {
		const Expr *e = walk.e;
		if (!moves(e, stage->nloop - 1))
			continue;
		for (int d = 0; d < e->argc; d++)
			is_each &= e->arg[d]->op == EX_iter && e->arg[d]->iter == d &&
			           e->tensor->hi[d] == stage->iters[d].hi;
		is_each &= e->argc == stage->nloop;
	}
	return is_each;
}

/* Whether the stages are maps of the same loops, in the same order. */
static bool
are_maps(const Group *group)
{
	for (int s = 0; s < group->program->nstage; s++) {
		const Stage *stage = group->program->stages[s];
		if (stage->kind != STAGE_map || stage->nloop != group->nshared)
			return false;
		for (int k = 0; k < group->nshared; k++)
			if (group->map[s][k] != k || !dim_is(stage->iters[k].lo, 0))
				return false;
	}
	return group->nshared > 0;
}

/* How many neighbours a thread has; 0: it is no such map, or too small. */
static int64_t
lanes_of(const Group *group)
{
	int last = group->nshared - 1;
	int64_t lanes = MOST_LANES;
	if (!are_maps(group))
		return 0;
	for (int s = 0; s < group->program->nstage; s++) {
		int64_t of_stage = gpu_lanes_along(group->program->stages[s], last);
		lanes = of_stage < lanes ? of_stage : lanes;
	}
	bool is_fit = lanes > 1 && group->points / lanes >= GPU_ENOUGH_THREADS;
	for (int s = 0; s < group->program->nstage && is_fit; s++) {
		const Stage *stage = group->program->stages[s];
		bool is_row = is_multiple(group->program->ctx, stage->iters[last].hi, lanes);
		is_fit = is_row ? gpu_has_accesses(stage, last, lanes) : has_runs(stage);
	}
	return is_fit ? lanes : 0;
}

bool
gpu_write_map(GpuWriter *w)
{
	int64_t lanes = w->target->is_plain ? 0 : lanes_of(w->group);
	if (lanes == 0)
		return false;
	ScriptWriter *script = &w->script;
	const char **loops = NEW_N(w->arena, const char *, w->group->nshared);
	for (int k = 0; k < w->group->nshared; k++)
		loops[k] = w->nest->shared[k]->var->name;
	const char *piece = script_name(script, "piece"), *lane = script_name(script, "v");
	gpu_split(script, PRIM_split, gpu_fuse(script, w->group->nshared, loops), lanes, piece, lane);
	gpu_bind_flat(script, 1, &piece, GPU_BLOCK, BIND_THREAD_X);
	script_bind(script, lane, BIND_VECTOR);
	return true;
}
