/* schedule_cpu: choose lanes, tiles and parallel pieces for a group by estimated cost, and write
 * what was chosen as a script.
 *
 *     y[n] = sum(k) X[k,n]          split n 512 -> piece, lane
 *     z[n] = exp(y[n])              bind piece @parallel
 *                                   bind lane @vector
 *                                   fission lane y @stack -> lane_1
 *                                   fission lane acc @stack -> lane_2
 *                                   reorder k, lane
 *
 * Here the 512 accumulators of a piece lie in memory, and each step of k adds to all of them: X is
 * read in runs of 512 elements, not one vector at a time, each from another page.
 */
#include "base/work.h"
#include "lower/cpu/cpu.h"

enum {
	CHUNK = 4096,           /* iterations per parallel piece when only the vector loop is long */
	LONG_LOOP = 4 * CHUNK,  /* shorter vector loops are not worth cutting for the pool */
	TILE_LANES = 4,         /* vectors per tile when stages take turns */
	STREAM_LANES = 32,      /* the same when a reduction is streamed */
	STREAM_STEPS = 16,      /* a shorter reduction is not streamed */
	TILE_BYTES = 128 << 10, /* intermediates of a tile */
	BLOCK_LANES = 4,        /* vectors of a piece of a transpose, and … */
	BLOCK = 64,             /* … iterations along its lines */
};

typedef struct Choice {
	/* The shared iterator (index into Group.shared) that runs in lanes for all stages; -1: each
	 * stage vectorises a loop or reduction of its own. */
	int vector_shared;
	/* With vector_shared: intermediates have dims of their own, so the vector loop is cut into
	 * tiles and each stage runs over a tile in turn. */
	bool is_tiled;
	int64_t tile; /* iterations of the vector loop per parallel piece; 0: not cut */
	/* Per stage: its reduction loops stand outside its lanes, because a step moves far from the
	 * last one. Read down a column, memory gives a line of it at a time and every line anew. Only
	 * with is_tiled. */
	bool *is_streamed;
	bool has_streams; /* any of them */
	/* The shared iterator along which memory is contiguous where the lanes stride far (transposes):
	 * BLOCK iterations of it run inside each piece, so that lines fetched for one serve the next;
	 * -1: none. Only without is_tiled. */
	int block_shared;
	/* Rows of the register tile: `rows` consecutive iterations of shared iterator `row_shared` are
	 * computed together, so that a vector loaded once serves all of them; 0: none. */
	int row_shared;
	int rows;
	/* Of windows, which share what they read: the iterator of the reduction that counts rows. */
	int counter;
	/* Without vector_shared: per stage, the iterator (position in the stage) that runs in lanes,
	 * -1 none. */
	int *vector_iter;
} Choice;

static bool
may_vectorise(const Stage *stage, int iter)
{
	if (stage->kind == STAGE_scatter || stage->scan)
		return false;
	return iter < stage->nloop || reduce_in_parts(stage->reduce);
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
	double least = cost_of_stage(c, stage, -1);
	*best = -1;
	for (int i = 0; i < stage->nloop + stage->nreduce; i++) {
		if (is_shared_position(group, s, i) || !may_vectorise(stage, i))
			continue;
		double cost = cost_of_stage(c, stage, i);
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

static void
choose_rows(Coster *c, const Group *group, Choice *choice)
{
	if (!choice->is_tiled && choice->vector_shared >= 0)
		choice->rows = rows_choose(c, group, choice->vector_shared, &choice->row_shared);
}

/* Of the steps of the reduction, how many move a read far. */
static int
far_steps(Coster *c, const Expr *read)
{
	int far = 0;
	for (int i = c->stage->nloop; i < c->stage->nloop + c->stage->nreduce; i++) {
		int64_t stride;
		c->iter = i;
		far +=
			cost_stride(c, read->tensor, read->arg, &stride) && cost_is_far(read->tensor, stride);
	}
	return far;
}

/* Whether each read that moves with the lanes moves far at every step of the reduction, so that a
 * step finds nothing in cache that the last one brought. */
static bool
wants_stream(Coster *c, const Stage *stage, int lane)
{
	int64_t steps = 1;
	int all_far = 0, some_far = 0;
	if (stage->kind != STAGE_reduce)
		return false;
	for (int i = stage->nloop; i < stage->nloop + stage->nreduce; i++)
		steps = probe_times(steps, probe_dim(c->target, stage->iters[i].hi));
	c->stage = stage;
	for (int b = 0; b < stage->nbody; b++)
		for (ExprWalk walk = expr_walk(stage->body[b]); expr_step(&walk);) {
			if (walk.e->op != EX_read || !cost_moves(walk.e, lane))
				continue;
			int far = far_steps(c, walk.e);
			all_far += far > 0 && far == stage->nreduce;
			some_far += far > 0 && far < stage->nreduce;
		}
	return steps >= STREAM_STEPS && all_far > 0 && some_far == 0;
}

static void
choose_streams(Coster *c, const Group *group, Choice *choice)
{
	bool *streams = choice->is_streamed = NEW_N(c->arena, bool, group->program->nstage);
	if (choice->vector_shared < 0 || choice->rows > 1)
		return;
	for (int s = 0; s < group->program->nstage; s++) {
		int lane = group->map[s][choice->vector_shared];
		streams[s] = wants_stream(c, group->program->stages[s], lane);
		choice->has_streams |= streams[s];
	}
	choice->is_tiled |= choice->has_streams;
}

/* Wide tiles for streams, as long as intermediates stay in cache. */
static int64_t
tile_lanes(const Group *group, const Choice *choice, int64_t lanes)
{
	int64_t count = choice->has_streams ? STREAM_LANES : TILE_LANES;
	while (count > TILE_LANES && group->local_bytes > TILE_BYTES / (count * lanes))
		count /= 2;
	return count * lanes;
}

/* A read that strides far along the lanes and is contiguous along another loop: that, or -1. */
static int
find_line(Coster *c, const Expr *e, int lane)
{
	int line = -1;
	for (ExprWalk walk = expr_walk(e); expr_step(&walk);) {
		const Expr *read = walk.e;
		int64_t stride;
		c->iter = lane;
		if (read->op != EX_read || !cost_stride(c, read->tensor, read->arg, &stride) ||
		    !cost_is_far(read->tensor, stride))
			continue;
		for (c->iter = 0; c->iter < c->stage->nloop; c->iter++)
			if (c->iter != lane && cost_stride(c, read->tensor, read->arg, &stride) && stride == 1)
				line = c->iter;
	}
	return line;
}

static void
choose_block(Coster *c, const Group *group, Choice *choice, int64_t lanes)
{
	c->stage = group->root;
	for (int s = 0; s < group->program->nstage; s++)
		if (group->program->stages[s]->kind != STAGE_map)
			return;
	int line = find_line(c, group->root->body[0], group->shared[choice->vector_shared]);
	for (int k = 0; k < group->nshared; k++)
		if (group->shared[k] == line) {
			choice->block_shared = k;
			choice->tile = BLOCK_LANES * lanes;
		}
}

static void
choose_tile(Coster *c, const Group *group, Choice *choice)
{
	if (choice->vector_shared < 0)
		return;
	int64_t lanes = target_lanes(c->target, group->root->results[0]->type);
	if (choice->is_tiled) {
		choice->tile = tile_lanes(group, choice, lanes);
		return;
	}
	choose_block(c, group, choice, lanes);
	if (choice->block_shared >= 0)
		return;
	int64_t outer = 1, length = 1;
	for (int k = 0; k < group->nshared; k++) {
		int64_t extent = probe_dim(c->target, group->root->iters[group->shared[k]].hi);
		if (k == choice->vector_shared)
			length = extent;
		else
			outer = probe_times(outer, extent);
	}
	if (outer < WORK_PIECES && length >= LONG_LOOP)
		choice->tile = CHUNK;
}

/* Rows of windows in tiles, where nothing else is cut. */
static void
choose_windows(const Coster *c, const Group *group, Choice *choice)
{
	int lane = choice->vector_shared;
	int row = lane == group->nshared - 1 ? lane - 1 : group->nshared - 1; /* innermost but lanes */
	if (lane < 0 || row < 0 || choice->is_tiled || choice->tile > 0 || choice->rows > 0)
		return;
	choice->rows = window_rows(c->arena, group, row, lane, &choice->counter);
	choice->row_shared = choice->rows > 0 ? row : -1;
}

static Choice
choose(Arena *arena, const Group *group, const Target *target)
{
	Coster c = {.arena = arena, .program = group->program, .target = target};
	Choice choice = {.vector_shared = -1, .block_shared = -1, .row_shared = -1, .counter = -1};
	int *own = choice.vector_iter = NEW_N(arena, int, group->program->nstage);
	double least = 0;
	for (int s = 0; s < group->program->nstage; s++) {
		least += best_own(&c, group, s, &own[s]);
		if (target->is_plain)
			own[s] = -1;
	}
	if (target->is_plain)
		return choice;
	for (int k = group->nshared - 1; k >= 0; k--) {
		double cost = 0;
		bool allowed = true;
		for (int s = 0; s < group->program->nstage; s++) {
			allowed &= may_vectorise(group->program->stages[s], group->map[s][k]);
			cost += cost_of_stage(&c, group->program->stages[s], group->map[s][k]);
		}
		if (allowed && cost < least) {
			least = cost;
			choice.vector_shared = k;
		}
	}
	choice.is_tiled = choice.vector_shared >= 0 && has_own_loops(group);
	choose_rows(&c, group, &choice);
	choose_streams(&c, group, &choice);
	choose_tile(&c, group, &choice);
	choose_windows(&c, group, &choice);
	return choice;
}

/* ---- the script ------------------------------------------------------------------------------ */

typedef struct Writer {
	Arena *arena;
	const Group *group;
	const Choice *choice;
	const Nest *nest;
	ScriptWriter script;
} Writer;

static const char *
name_of(const Expr *var)
{
	return var->var->name;
}

/* Put loops that stand as in `before` into the order of `after`, if that is another. */
static void
write_reorder(Writer *w, const StrVec *before, const StrVec *after)
{
	int first = 0, last = after->count - 1;
	while (first <= last && before->data[first] == after->data[first])
		first++;
	while (first <= last && before->data[last] == after->data[last])
		last--;
	script_reorder(&w->script, last - first + 1, after->data + first);
}

/* Iterators first..last-1 of stage s that are not shared, but `without`: their loops. */
static void
add_loops(const Writer *w, int s, int first, int last, int without, StrVec *loops)
{
	for (int i = first; i < last; i++)
		if (i != without && !is_shared_position(w->group, s, i))
			vec_push(w->arena, loops, name_of(w->nest->stages[s].iters[i]));
}

/* Loops first..last-1 of stage s come to stand around `inner`, which holds them. */
static void
write_inside(Writer *w, const char *inner, int s, int first, int last)
{
	StrVec before = {0}, after = {0};
	vec_push(w->arena, &before, inner);
	add_loops(w, s, first, last, -1, &before);
	add_loops(w, s, first, last, -1, &after);
	vec_push(w->arena, &after, inner);
	write_reorder(w, &before, &after);
}

/* Without lanes for all: a loop of the stage in lanes, inside the others of its kind. */
static void
write_own_lanes(Writer *w, int s, int lane)
{
	const Stage *stage = w->group->program->stages[s];
	bool is_sum = lane >= stage->nloop;
	int first = is_sum ? stage->nloop : 0, last = stage->nloop + (is_sum ? stage->nreduce : 0);
	const char *name = name_of(w->nest->stages[s].iters[lane]);
	StrVec before = {0}, after = {0};
	add_loops(w, s, first, last, -1, &before);
	add_loops(w, s, first, last, lane, &after);
	vec_push(w->arena, &after, name);
	write_reorder(w, &before, &after);
	script_bind(&w->script, name, BIND_VECTOR);
}

/* A shared loop, or the two it is cut into. */
typedef struct Cut {
	const char *outer; /* NULL: it is whole */
	const char *inner;
} Cut;

static Cut
write_cut(Writer *w, int k)
{
	const Choice *c = w->choice;
	const char *outer = "piece", *inner = "lane", *name = name_of(w->nest->shared[k]);
	int64_t size = k == c->vector_shared ? c->tile : 0;
	if (k == c->row_shared) {
		size = c->rows;
		outer = "tile";
		inner = "u";
	} else if (k == c->block_shared) {
		size = BLOCK;
		outer = "block";
		inner = "line";
	}
	if (size == 0)
		return (Cut){NULL, name};
	Cut cut = {script_name(&w->script, outer), script_name(&w->script, inner)};
	script_split(&w->script, name, size, cut.outer, cut.inner);
	return cut;
}

static void
add_loop(const Writer *w, StrVec *loops, const char *loop)
{
	if (loop)
		vec_push(w->arena, loops, loop);
}

/* The shared loops: those to cut are cut, parallel ones stand outside, then lines, lanes, rows. */
static void
write_shared(Writer *w, const char **lane, const char **rows)
{
	const Choice *c = w->choice;
	StrVec before = {0}, after = {0};
	Cut lanes = {0}, lines = {0};
	*rows = NULL;
	for (int k = 0; k < w->group->nshared; k++) {
		Cut cut = write_cut(w, k);
		add_loop(w, &before, cut.outer);
		add_loop(w, &before, cut.inner);
		if (k == c->vector_shared)
			lanes = cut;
		else if (k == c->block_shared)
			lines = cut;
		else
			add_loop(w, &after, cut.outer ? cut.outer : cut.inner);
		if (k == c->row_shared)
			*rows = cut.inner;
	}
	add_loop(w, &after, lanes.outer);
	add_loop(w, &after, lines.outer);
	int parallel = after.count;
	add_loop(w, &after, lines.inner);
	add_loop(w, &after, lanes.inner);
	add_loop(w, &after, *rows);
	write_reorder(w, &before, &after);
	for (int i = 0; i < parallel; i++)
		script_bind(&w->script, after.data[i], BIND_PARALLEL);
	*lane = lanes.inner;
}

/* Stages in turn over a tile, each with its own loops outside the lanes, and the loops of its sum
 * where that is streamed. */
static void
write_turns(Writer *w, const char *lane)
{
	const Program *p = w->group->program;
	const char **lanes = NEW_N(w->arena, const char *, p->nstage);
	lanes[0] = lane;
	for (int s = 0; s + 1 < p->nstage; s++) {
		lanes[s + 1] = script_name(&w->script, "lane");
		script_fission(&w->script, lanes[s], 1, &w->nest->stages[s].last, SCOPE_STACK,
		               lanes[s + 1]);
	}
	for (int s = 0; s < p->nstage; s++) {
		const Stage *stage = p->stages[s];
		write_inside(w, lanes[s], s, 0, stage->nloop);
		if (!w->choice->is_streamed[s])
			continue;
		const NestStage *nest = &w->nest->stages[s];
		script_fission(&w->script, lanes[s], nest->nacc, nest->acc, SCOPE_STACK,
		               script_name(&w->script, "lane"));
		write_inside(w, lanes[s], s, stage->nloop, stage->nloop + stage->nreduce);
	}
}

/* Windows count the rows they read, and all their terms are straight code. */
static void
write_windows(Writer *w, const char *rows)
{
	const Stage *stage = w->group->program->stages[0];
	const NestStage *nest = &w->nest->stages[0];
	for (int i = stage->nloop; i < stage->nloop + stage->nreduce; i++) {
		const char *name = name_of(nest->iters[i]);
		if (i == w->choice->counter) {
			const char *row = script_name(&w->script, arena_printf(w->arena, "%s_row", name));
			ScriptStep *step = script_step(&w->script, PRIM_skew, name);
			vec_push(w->arena, &step->loops, rows);
			vec_push(w->arena, &step->made, row);
			name = row;
		}
		script_bind(&w->script, name, BIND_UNROLL);
	}
}

/* Rows of the first stage's sum together: what one loads serves them all. */
static void
write_rows(Writer *w, const char *rows)
{
	const Stage *stage = w->group->program->stages[0];
	script_bind(&w->script, rows, BIND_UNROLL);
	script_fission(&w->script, rows, 1, w->nest->stages[0].acc, SCOPE_REG,
	               script_name(&w->script, rows));
	write_inside(w, rows, 0, stage->nloop, stage->nloop + stage->nreduce);
	if (w->choice->counter >= 0)
		write_windows(w, rows);
	else if (stage->guard)
		script_step(&w->script, PRIM_unswitch, rows);
}

const Script *
schedule_cpu(Arena *arena, const Group *group, const Target *target, const Nest *nest)
{
	const Script *product = product_script(arena, group, target, nest);
	if (product)
		return product;
	const Choice choice = choose(arena, group, target);
	const char *lane, *rows;
	Writer w = {.arena = arena,
	            .group = group,
	            .choice = &choice,
	            .nest = nest,
	            .script = script_writer(arena, nest->names)};
	write_shared(&w, &lane, &rows);
	if (lane)
		script_bind(&w.script, lane, BIND_VECTOR);
	for (int s = 0; s < group->program->nstage && !lane; s++)
		if (choice.vector_iter[s] >= 0)
			write_own_lanes(&w, s, choice.vector_iter[s]);
	if (choice.is_tiled)
		write_turns(&w, lane);
	if (rows)
		write_rows(&w, rows);
	return w.script.script;
}
