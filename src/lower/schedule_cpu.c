/* schedule_cpu: choose lanes, tiles and parallel pieces for a group by estimated cost. */
#include <math.h>
#include <string.h>

#include "lower/schedule_cpu.h"

enum {
	CHUNK = 4096,           /* iterations per parallel piece when only the vector loop is long */
	LONG_LOOP = 4 * CHUNK,  /* shorter vector loops are not worth cutting for the pool */
	FEW_PIECES = 16,        /* with this many outer iterations nothing needs cutting */
	TILE_LANES = 4,         /* vectors per tile when stages take turns */
	STREAM_LANES = 32,      /* the same when a reduction is streamed */
	STREAM_STRIDE = 256,    /* bytes between steps from which streaming pays … */
	STREAM_STEPS = 16,      /* … with at least so many steps */
	TILE_BYTES = 128 << 10, /* intermediates of a tile */
	BLOCK_LANES = 4,        /* vectors of a piece of a transpose, and … */
	BLOCK = 64,             /* … iterations along its lines */
	MAX_ROWS = 6,           /* accumulators of a register tile; 16 vector registers must suffice */
};

static const double GATHER_COST = 1.6; /* a scalar load and an insert, against one vector load */
static const double PAIR_COST = 3;     /* every second element: two vector loads and a shuffle */
static const double UNIFORM_COST = 0.1;

typedef struct Coster {
	Arena *arena;
	const Program *program;
	const Target *target;
	const Stage *stage;
	int iter; /* the lane iterator considered; -1: scalar code */
	double lanes;
	double cost; /* of one point */
	bool gathers;
	/* counting reads that do not move with an iterator */
	int without;
	int line; /* the loop along which a strided read is contiguous */
	int still, moving;
} Coster;

/* How far apart neighbours along `iter` lie in this tensor, in elements: 0, 1, or `many`. */
static bool
stride_of(const Coster *c, const Tensor *t, const Expr *const *index, int64_t *stride)
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

/* So far apart that a step finds nothing in cache that the last one brought. */
static bool
is_far(const Tensor *t, int64_t stride)
{
	return fabs((double)stride) * dtype_bits(t->type) >= STREAM_STRIDE * 8.0;
}

static double
access_cost(Coster *c, const Tensor *t, const Expr *const *index)
{
	int64_t stride;
	if (c->iter < 0)
		return 1;
	if (!stride_of(c, t, index, &stride)) {
		c->gathers = true;
		return GATHER_COST;
	}
	if (stride == 0)
		return UNIFORM_COST;
	if (stride == 1)
		return 1 / c->lanes;
	c->gathers = true;
	return GATHER_COST;
}

static double
read_cost(Coster *c, const Expr *e)
{
	int64_t stride;
	bool has_pairs = dtype_bits(e->tensor->type) == 32 && c->target->device->vector_bytes >= 32;
	if (has_pairs && c->iter >= 0 && stride_of(c, e->tensor, e->arg, &stride) && stride == 2)
		return PAIR_COST / c->lanes;
	return access_cost(c, e->tensor, e->arg);
}

static void
add_cost(const Expr *e, void *arg)
{
	Coster *c = arg;
	const ScalarInfo *info = scalar_info((ExprOp)e->op);
	bool is_uniform = c->iter >= 0 && !e->has_read && !expr_uses_iter(e, c->iter);
	if (e->op == EX_read)
		c->cost += read_cost(c, e);
	else if (info && !is_uniform) /* once for all lanes, most often outside the loops */
		c->cost += 0.5 * info->cost / c->lanes;
}

/* Lanes of a vector that hold something, on average: a short loop leaves some empty. */
static double
used_lanes(int64_t extent, double full)
{
	double vectors = (double)extent / full;
	double rounded = vectors == (double)(int64_t)vectors ? vectors : (double)(int64_t)vectors + 1;
	return extent > 0 ? (double)extent / rounded : full;
}

/* Estimated time of a whole stage with `iter` in lanes. */
static double
stage_cost(Coster *c, const Stage *stage, int iter)
{
	ExprCtx *ctx = c->program->ctx;
	c->stage = stage;
	c->iter = iter;
	c->cost = 0;
	c->gathers = false;
	int bits = dtype_bits(stage->results[0]->type);
	double full = c->target->device->vector_bytes * 8.0 / (bits < 8 ? 8 : bits);
	c->lanes = iter < 0 ? 1 : used_lanes(probe_dim(c->target, stage->iters[iter].hi), full);
	for (int b = 0; b < stage->nbody; b++)
		expr_visit(stage->body[b], add_cost, c);
	if (stage->guard)
		expr_visit(stage->guard, add_cost, c);
	double points = (double)probe_dim(c->target, stage_points(ctx, stage));
	double writes = 1;
	for (int i = 0; i < stage->nloop; i++)
		writes *= (double)probe_dim(c->target, stage->iters[i].hi);
	const Expr **identity = NEW_N(c->arena, const Expr *, stage->nloop + stage->nreduce + 1);
	stage_identity(ctx, stage->nloop, identity);
	double total = points * c->cost;
	if (stage->kind != STAGE_scatter && iter < stage->nloop)
		total += writes * access_cost(c, stage->results[0], identity);
	if (iter >= stage->nloop) /* the tree at the end of a reduction across lanes */
		total += writes * 4;
	return total;
}

/* Reductions across lanes need one state and no order. */
static bool
may_vectorise(const Stage *stage, int iter)
{
	if (stage->kind == STAGE_scatter || stage->scan)
		return false;
	if (iter < stage->nloop)
		return true;
	const ReduceInfo *info = reduce_info(stage->reduce);
	return info->states == 1 && info->freedom != REDUCE_ordered;
}

static bool
is_shared_position(const Group *group, int s, int position)
{
	for (int k = 0; k < group->nshared; k++)
		if (group->map[s][k] == position)
			return true;
	return false;
}

/* Best own iterator of stage s. */
static double
best_own(Coster *c, const Group *group, int s, int *best)
{
	const Stage *stage = group->program->stages[s];
	double least = stage_cost(c, stage, -1);
	*best = -1;
	for (int i = 0; i < stage->nloop + stage->nreduce; i++) {
		if (is_shared_position(group, s, i) || !may_vectorise(stage, i))
			continue;
		double cost = stage_cost(c, stage, i);
		if (cost < least) {
			least = cost;
			*best = i;
		}
	}
	return least;
}

static bool
has_own_loops(const Group *group)
{
	for (int s = 0; s < group->program->nstage; s++)
		if (group->program->stages[s]->nloop > group->nshared)
			return true;
	return false;
}

static bool
moves_along(const Expr *read, int iter)
{
	bool moves = false;
	for (int d = 0; d < read->argc; d++)
		moves |= expr_uses_iter(read->arg[d], iter);
	return moves;
}

static void
count_still(const Expr *e, void *arg)
{
	Coster *c = arg;
	if (e->op != EX_read)
		return;
	bool moves = moves_along(e, c->without);
	c->still += !moves;
	c->moving += moves;
}

/* A register tile pays where the one reduction reads something that does not move along another
 * shared loop (matrix product, dense convolution). */
static void
choose_rows(Coster *c, const Group *group, Schedule *schedule)
{
	const Stage *stage = group->program->stages[0];
	if (stage->kind != STAGE_reduce || schedule->is_tiled || schedule->vector_shared < 0 ||
	    !may_vectorise(stage, stage->nloop))
		return;
	for (int s = 1; s < group->program->nstage; s++)
		if (group->program->stages[s]->kind != STAGE_map)
			return;
	for (int k = group->nshared - 1; k >= 0; k--) {
		const Iter *iter = &group->root->iters[group->shared[k]];
		ExprCtx *ctx = c->program->ctx;
		if (k == schedule->vector_shared || !dim_is(iter->lo, 0))
			continue;
		c->without = group->map[0][k];
		c->still = c->moving = 0;
		expr_visit(stage->body[0], count_still, c);
		if (c->still == 0 || c->moving == 0 ||
		    (stage->guard && expr_uses_iter(stage->guard, c->without)))
			continue;
		for (int rows = MAX_ROWS; rows > 1; rows--)
			if (dim_is(dim_floormod(ctx, iter->hi, dim_const(ctx, rows)), 0)) {
				schedule->row_shared = k;
				schedule->rows = rows;
				return;
			}
	}
}

/* Whether each read that moves with the lanes (c->iter) moves far at every step of the reduction,
 * so that a step finds nothing in cache that the last one brought. */
static void
check_strides(const Expr *e, void *arg)
{
	Coster *c = arg;
	const Stage *stage = c->stage;
	int lane = c->iter;
	if (e->op != EX_read || !moves_along(e, lane))
		return;
	int near = 0, far = 0;
	for (int i = stage->nloop; i < stage->nloop + stage->nreduce; i++) {
		int64_t stride;
		c->iter = i;
		if (stride_of(c, e->tensor, e->arg, &stride) && is_far(e->tensor, stride))
			far++;
		else
			near++;
	}
	c->iter = lane;
	c->still += far > 0 && near > 0;
	c->moving += far > 0 && near == 0;
}

static bool
wants_stream(Coster *c, const Stage *stage, int lane)
{
	int64_t steps = 1;
	if (stage->kind != STAGE_reduce)
		return false;
	for (int i = stage->nloop; i < stage->nloop + stage->nreduce; i++)
		steps = probe_times(steps, probe_dim(c->target, stage->iters[i].hi));
	c->stage = stage;
	c->iter = lane;
	c->still = c->moving = 0;
	for (int b = 0; b < stage->nbody; b++)
		expr_visit(stage->body[b], check_strides, c);
	return steps >= STREAM_STEPS && c->moving > 0 && c->still == 0;
}

static void
choose_streams(Coster *c, const Group *group, Schedule *schedule)
{
	bool *streams = NEW_N(c->arena, bool, group->program->nstage);
	schedule->is_streamed = streams;
	if (schedule->vector_shared < 0 || schedule->rows > 1)
		return;
	for (int s = 0; s < group->program->nstage; s++) {
		int lane = group->map[s][schedule->vector_shared];
		streams[s] = wants_stream(c, group->program->stages[s], lane);
		schedule->has_streams |= streams[s];
	}
	schedule->is_tiled |= schedule->has_streams;
}

/* Wide tiles for streams, as long as intermediates stay in cache. */
static int64_t
tile_lanes(const Group *group, const Schedule *schedule, int64_t lanes)
{
	int64_t count = schedule->has_streams ? STREAM_LANES : TILE_LANES;
	while (count > TILE_LANES && group->local_bytes > TILE_BYTES / (count * lanes))
		count /= 2;
	return count * lanes;
}

/* A read that strides far along the lanes (c->iter) and is contiguous along another loop: that. */
static void
find_line(const Expr *e, void *arg)
{
	Coster *c = arg;
	int lane = c->iter;
	int64_t stride;
	if (e->op != EX_read || !stride_of(c, e->tensor, e->arg, &stride) || !is_far(e->tensor, stride))
		return;
	for (int i = 0; i < c->stage->nloop; i++) {
		c->iter = i;
		if (i != lane && stride_of(c, e->tensor, e->arg, &stride) && stride == 1)
			c->line = i;
	}
	c->iter = lane;
}

static void
choose_block(Coster *c, const Group *group, Schedule *schedule, int64_t lanes)
{
	c->line = -1;
	c->stage = group->root;
	c->iter = group->shared[schedule->vector_shared];
	for (int s = 0; s < group->program->nstage; s++)
		if (group->program->stages[s]->kind != STAGE_map)
			return;
	expr_visit(group->root->body[0], find_line, c);
	for (int k = 0; k < group->nshared && c->line >= 0; k++)
		if (group->shared[k] == c->line) {
			schedule->block_shared = k;
			schedule->block = BLOCK;
			schedule->tile = BLOCK_LANES * lanes;
		}
}

static void
choose_tile(Coster *c, const Group *group, Schedule *schedule)
{
	if (schedule->vector_shared < 0)
		return;
	int bits = dtype_bits(group->root->results[0]->type);
	int64_t lanes = c->target->device->vector_bytes * 8 / (bits < 8 ? 8 : bits);
	if (schedule->is_tiled) {
		schedule->tile = tile_lanes(group, schedule, lanes);
		return;
	}
	choose_block(c, group, schedule, lanes);
	if (schedule->block_shared >= 0)
		return;
	int64_t outer = 1, length = 1;
	for (int k = 0; k < group->nshared; k++) {
		int64_t extent = probe_dim(c->target, group->root->iters[group->shared[k]].hi);
		if (k == schedule->vector_shared)
			length = extent;
		else
			outer = probe_times(outer, extent);
	}
	if (outer < FEW_PIECES && length >= LONG_LOOP)
		schedule->tile = CHUNK;
}

void
schedule_cpu(Arena *arena, const Group *group, const Target *target, Schedule *schedule)
{
	Coster c = {.arena = arena, .program = group->program, .target = target};
	int *own = NEW_N(arena, int, group->program->nstage);
	double least = 0;
	*schedule =
		(Schedule){.vector_shared = -1, .block_shared = -1, .row_shared = -1, .vector_iter = own};
	for (int s = 0; s < group->program->nstage; s++) {
		least += best_own(&c, group, s, &own[s]);
		if (target->is_plain)
			own[s] = -1;
	}
	if (target->is_plain)
		return;
	for (int k = group->nshared - 1; k >= 0; k--) {
		double cost = 0;
		bool allowed = true;
		for (int s = 0; s < group->program->nstage; s++) {
			allowed &= may_vectorise(group->program->stages[s], group->map[s][k]);
			cost += stage_cost(&c, group->program->stages[s], group->map[s][k]);
		}
		if (allowed && cost < least) {
			least = cost;
			schedule->vector_shared = k;
		}
	}
	schedule->is_tiled = schedule->vector_shared >= 0 && has_own_loops(group);
	choose_rows(&c, group, schedule);
	choose_streams(&c, group, schedule);
	choose_tile(&c, group, schedule);
}
