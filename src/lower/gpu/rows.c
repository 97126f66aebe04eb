/* Rows: the shared loops are blocks, or warps, and their threads share what stands inside: loops
 * that a stage has of its own, or those of its sum.
 *
 *     m[n]    = max(c) X[n,c]               for n in N @block.x, t in 128 @thread.x:
 *     e[n,c]  = exp(X[n,c] - m[n])            max of c = t, t+128, …; e in shared memory;
 *     s[n]    = sum(c) e[n,c]                 sum of the same; Y of the same
 *     Y[n,c]  = e[n,c] / s[n]
 *
 * So softmax and norms are one kernel that reads a row in runs of neighbours, each thread 16 bytes
 * at once where rows begin and end at multiples of it; a short row takes a part of a warp. A sum
 * alone comes here where its terms lie side by side, or where there are too few sums for a chip.
 */
#include "lower/gpu/gpu.h"

enum {
	WARP = 32,
	LEAST_ROW = 8,    /* of a shorter one a thread reads all */
	SHORT_ROW = 1024, /* a warp shares it, or less: no barrier, and several in a block */
	MANY_ROWS = 2048, /* that warps need to fill a chip */
	LONG_ROW = 4096,
	ARRAY_BYTES = 40 << 10, /* of a block's arrays, of the 48 KB that a function may declare */
	FEW_POINTS = 16384,     /* threads that leave a chip half empty */
};

/* Own loops of a stage, or of its sum where it has none: first..last-1, but for shared ones. */
typedef struct Own {
	int first, last;
	int64_t count; /* iterations, at the probe sizes */
} Own;

static Own
own_loops(const Group *group, const Target *target, int s)
{
	const Stage *stage = group->program->stages[s];
	Own own = {0, stage->nloop, 1};
	if (stage->nloop == group->nshared) {
		bool is_plain = stage->kind == STAGE_reduce && stage->nbody == 1 &&
		                reduce_in_parts(stage->reduce) && reduce_info(stage->reduce)->states == 1;
		own.first = stage->nloop;
		own.last = is_plain ? stage->nloop + stage->nreduce : stage->nloop;
	}
	for (int i = own.first; i < own.last; i++)
		if (!group_shares(group, s, i))
			own.count = probe_times(own.count, probe_dim(target, stage->iters[i].hi));
	return own;
}

static int64_t
longest_row(const Group *group, const Target *target)
{
	int64_t longest = 1;
	for (int s = 0; s < group->program->nstage; s++) {
		int64_t count = own_loops(group, target, s).count;
		longest = count > longest ? count : longest;
	}
	return longest;
}

/* Whether numbers say how large the arrays between stages are. */
static bool
are_fixed(const Group *group)
{
	int64_t extent;
	for (int s = 0; s < group->program->nstage; s++) {
		const Stage *stage = group->program->stages[s];
		for (int i = 0; i < stage->nloop && stage != group->root; i++)
			if (!group_shares(group, s, i) && !dim_is_const(stage->iters[i].hi, &extent))
				return false;
	}
	return true;
}

bool
gpu_arrays_fit(const Group *group, const Target *target)
{
	return are_fixed(group) &&
	       (group->local_bytes <= GPU_LOCAL_BYTES ||
	        (group->local_bytes <= ARRAY_BYTES && longest_row(group, target) >= LEAST_ROW));
}

/* Whether neighbours along the iterator lie side by side. */
static bool
is_side_by_side(ExprCtx *ctx, const Expr *read, int iter, int iters)
{
	const Dim **coefficient = NEW_N(expr_ctx_arena(ctx), const Dim *, iters + 1);
	const Expr *rest;
	for (int d = 0; d < read->argc; d++) {
		if (!expr_affine(ctx, read->arg[d], iters, coefficient, &rest))
			return false;
		if (coefficient[iter] && !dim_is(coefficient[iter], d + 1 == read->argc ? 1 : 0))
			return false;
		if (d + 1 == read->argc && !coefficient[iter])
			return false;
	}
	return read->argc > 0;
}

/* Of the sum's reads, how many more run along it than along the last shared loop; short runs,
 * as those of windows, are none. */
static int
runs_along_sum(const Group *group, const Target *target, int s)
{
	const Stage *stage = group->program->stages[s];
	int along = 0, iters = stage->nloop + stage->nreduce;
	if (probe_dim(target, stage->iters[iters - 1].hi) < LEAST_ROW)
		return 0;
	for (ExprWalk walk = expr_walk(stage->body[0]); expr_step(&walk);) {
		if (walk.e->op != EX_read)
			continue;
		along += is_side_by_side(group->program->ctx, walk.e, iters - 1, iters);
		if (group->nshared > 0)
			along -= is_side_by_side(group->program->ctx, walk.e, group->map[s][group->nshared - 1],
			                         iters);
	}
	return along;
}

static bool
has_own_loops(const Group *group)
{
	for (int s = 0; s < group->program->nstage; s++)
		if (group->program->stages[s]->nloop > group->nshared)
			return true;
	return false;
}

bool
gpu_has_rows(const Group *group, const Target *target)
{
	int along = 0;
	bool has_arrays = group->local_bytes > GPU_LOCAL_BYTES;
	if ((target->is_plain && !has_arrays) || longest_row(group, target) < LEAST_ROW)
		return false;
	if (has_own_loops(group))
		return !has_arrays || gpu_arrays_fit(group, target);
	for (int s = 0; s < group->program->nstage; s++)
		if (group->program->stages[s]->kind == STAGE_reduce)
			along += runs_along_sum(group, target, s);
	return along > 0 || group->points < FEW_POINTS / WARP;
}

/* How many neighbours along its own loops each stage reads and writes at once; 1: one of them has
 * other numbers. */
static int64_t
lanes_of_rows(const Group *group, const Target *target)
{
	int64_t lanes = INT64_MAX;
	for (int turn = 0; turn < 2; turn++)
		for (int s = 0; s < group->program->nstage; s++) {
			const Stage *stage = group->program->stages[s];
			Own own = own_loops(group, target, s);
			int last = own.last - 1;
			if (own.count == 1)
				continue;
			if (group_shares(group, s, last) || (turn > 0 && !gpu_has_accesses(stage, last, lanes)))
				return 1;
			int64_t most = gpu_lanes_along(stage, last);
			lanes = most < lanes ? most : lanes;
		}
	return lanes;
}

/* Own loops of each stage as one, in pieces of so many neighbours, by name. */
static void
add_own_loops(GpuWriter *w, int64_t lanes, ScriptStep *step)
{
	ScriptWriter *script = &w->script;
	for (int s = 0; s < w->group->program->nstage; s++) {
		Own own = own_loops(w->group, w->target, s);
		StrVec loops = {0};
		for (int i = own.first; i < own.last; i++)
			if (!group_shares(w->group, s, i))
				vec_push(w->arena, &loops, w->nest->stages[s].iters[i]->var->name);
		if (loops.count == 0)
			continue;
		const char *loop = gpu_fuse(script, loops.count, loops.data);
		if (lanes > 1) {
			const char *piece = script_name(script, "piece"), *lane = script_name(script, "v");
			gpu_split(script, PRIM_split, loop, lanes, piece, lane);
			script_bind(script, lane, BIND_VECTOR);
			loop = piece;
		}
		vec_push(w->arena, &step->loops, loop);
	}
}

/* Threads that share a row of so many pieces: all have as much to do as can be. */
static int64_t
threads_of_block(int64_t longest, int64_t pieces)
{
	int64_t most = longest <= SHORT_ROW ? 128 : longest <= LONG_ROW ? 256 : 512;
	int64_t rounds = (pieces + most - 1) / most, threads = (pieces + rounds - 1) / rounds;
	return (threads + WARP - 1) / WARP * WARP;
}

static int64_t
threads_of_warp(int64_t pieces)
{
	int64_t threads = 2;
	while (threads < WARP && threads < pieces)
		threads *= 2;
	return threads;
}

void
gpu_write_rows(GpuWriter *w)
{
	const Group *group = w->group;
	int64_t longest = longest_row(group, w->target), lanes = lanes_of_rows(group, w->target);
	int64_t pieces = (longest + lanes - 1) / lanes, threads = threads_of_warp(pieces);
	bool is_warp = longest <= SHORT_ROW && (group->points >= MANY_ROWS || pieces <= WARP) &&
	               probe_times(group->local_bytes, GPU_BLOCK / threads) <= ARRAY_BYTES;
	const char **loops = NEW_N(w->arena, const char *, group->nshared + 1);
	ScriptStep spread = {.primitive = PRIM_spread};
	for (int k = 0; k < group->nshared; k++)
		loops[k] = w->nest->shared[k]->var->name;
	add_own_loops(w, lanes, &spread);
	if (is_warp && group->nshared > 0)
		gpu_bind_flat(&w->script, group->nshared, loops, (int)(GPU_BLOCK / threads), BIND_THREAD_Y);
	else if (group->nshared > 0)
		script_bind(&w->script, gpu_fuse(&w->script, group->nshared, loops), BIND_BLOCK_X);
	spread.number = is_warp && group->nshared > 0 ? threads : threads_of_block(longest, pieces);
	vec_push(w->arena, &spread.made, script_name(&w->script, "thread"));
	vec_push(w->arena, &w->script.script->steps, spread);
}
