/* map_script(): the script of a map's tile (map.h).
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
 *
 *     Y[i,j] = X[j,i] + B[i]        split i 16 -> block, line
 *                                   split j 16 -> piece, lane
 *                                   reorder piece, block, line, lane
 *                                   bind piece @parallel
 *                                   bind block @parallel
 *                                   bind lane @vector
 *                                   pack X at block ba @stack -> turned
 *                                   bind turned_1 @vector
 *                                   fetch block X, Y 1 at block
 */
#include "lower/cpu/map.h"

typedef struct Writer {
	Arena *arena;
	const Group *group;
	const TileTask *task;
	const MapTile *tile;
	const Nest *nest;
	ScriptWriter script;
	Map fetched; /* arguments of which lines are */
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
		if (i != without && !group_shares(w->group, s, i))
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

static bool
is_plain(const TileAccess *access)
{
	bool is_sum = access->bits >= 8;
	for (int d = 0; d < access->rank; d++) {
		is_sum &= access->dims[d]->op == EX_add;
		for (int i = 0; i < access->dims[d]->nterm; i++)
			is_sum &= access->dims[d]->terms[i].axis >= 0;
	}
	return is_sum;
}

/* Whether it is known which part of the argument is used, by all stages that may stand there:
 * indices are sums of axes. */
static bool
has_box(const TileTask *task, int argument)
{
	bool is_known = true;
	for (int k = 0; k < task->naccess; k++)
		is_known &= task->accesses[k].argument != argument || is_plain(&task->accesses[k]);
	return is_known;
}

/* The arguments to fetch among the accesses: of stage s, or -1, of all. */
static void
add_fetched(Writer *w, int s, const TileAccess *access, StrVec *names)
{
	const char *name =
		access->argument < 0 ? NULL : w->nest->arguments[access->argument]->tensor.name;
	bool is_used = s < 0 || access->users >> s & 1;
	if (!name || !is_used || !has_box(w->task, access->argument) || map_find(&w->fetched, name))
		return;
	vec_push(w->arena, names, name);
	map_set(&w->fetched, name, "");
}

static void
write_fetch(Writer *w, const StrVec *names, int cache, const char *next, const char *place)
{
	if (names->count > 0)
		script_fetch(&w->script, next, place, *names, cache);
}

/* The stage's lanes in parts, which begin by fetching one of the next row: what no stage
 * before it has fetched. Gives the loop that is in lanes then. */
static const char *
write_ahead(Writer *w, int s, int lane)
{
	const TileTask *task = w->task;
	const Group *group = w->group;
	int row = task->axis_of[s][group->map[s][group->nshared - 1]], along = task->axis_of[s][lane];
	const char *next = name_of(w->nest->shared[group->nshared - 1]), *part = next;
	const char *rest = name_of(w->nest->stages[s].iters[lane]);
	StrVec names = {0};
	for (int k = 0; k < task->naccess; k++) {
		const TileAccess *access = &task->accesses[k];
		int64_t stride = access_stride(access, row);
		if (access_stride(access, along) == 1 && stride != 0 && stride != INT64_MAX)
			add_fetched(w, s, access, &names);
	}
	if (names.count > 0 && task->extents[along] > w->tile->ahead) {
		const char *whole = rest;
		part = script_name(&w->script, "part");
		rest = script_name(&w->script, "lane");
		script_split(&w->script, whole, w->tile->ahead, part, rest);
	}
	write_fetch(w, &names, w->tile->cache, next, part);
	return rest;
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
	script_bind(&w->script, is_sum || !w->tile->ahead ? name : write_ahead(w, s, lane),
	            BIND_VECTOR);
}

/* A shared loop, or the two it is cut into. */
typedef struct Cut {
	const char *around; /* in blocks; NULL: it is not */
	const char *outer;  /* NULL: it is whole */
	const char *inner;
} Cut;

static Cut
write_cut(Writer *w, int k)
{
	const MapTile *t = w->tile;
	const char *outer = "piece", *inner = "lane", *name = name_of(w->nest->shared[k]);
	int64_t size = k == t->lane ? t->piece : 0;
	if (k == t->row) {
		size = t->lines ? t->lines : t->rows;
		outer = t->lines ? "block" : "tile";
		inner = t->lines ? "line" : "u";
	}
	if (size == 0)
		return (Cut){NULL, NULL, name};
	Cut cut = {NULL, script_name(&w->script, outer), script_name(&w->script, inner)};
	int64_t block = k == t->lane ? t->wide : k == t->row ? t->tall : 0;
	if (block > 0) {
		const char *rest = script_name(&w->script, "rest");
		cut.around = script_name(&w->script, k == t->lane ? "wide" : "tall");
		script_split(&w->script, name, block, cut.around, rest);
		name = rest;
	}
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
write_shared(Writer *w, Cut *lanes, Cut *rows)
{
	const MapTile *t = w->tile;
	StrVec before = {0}, after = {0};
	*lanes = *rows = (Cut){0};
	for (int k = 0; k < w->group->nshared; k++) {
		Cut cut = write_cut(w, k);
		add_loop(w, &before, cut.around);
		add_loop(w, &before, cut.outer);
		add_loop(w, &before, cut.inner);
		if (k == t->lane)
			*lanes = cut;
		else if (k != t->row || !t->lines)
			add_loop(w, &after, cut.outer ? cut.outer : cut.inner);
		if (k == t->row)
			*rows = cut;
	}
	add_loop(w, &after, lanes->around);
	add_loop(w, &after, rows->around);
	int parallel = after.count;
	add_loop(w, &after, lanes->outer);
	add_loop(w, &after, t->lines ? rows->outer : NULL);
	parallel = t->wide > 0 ? parallel : after.count;
	add_loop(w, &after, t->lines ? rows->inner : lanes->inner);
	add_loop(w, &after, t->lines ? lanes->inner : rows->inner);
	write_reorder(w, &before, &after);
	for (int i = 0; i < parallel; i++)
		script_bind(&w->script, after.data[i], BIND_PARALLEL);
}

/* A tile of an input, copied at the beginning of a loop's body, turned: "acb", lines, then lanes
 * innermost. */
static void
write_turned(Writer *w, int nth, const char *block)
{
	const TileAccess *access = w->tile->turned.data[nth];
	const int *axis = w->task->axis_of[w->group->program->nstage - 1];
	int lane = access_dim(access, axis[w->group->shared[w->tile->lane]]);
	int line = access_dim(access, access->run_axis);
	/* turned, turned1: turned_1 is a loop that packing the first has made */
	const char *turned =
		script_name(&w->script, nth ? arena_printf(w->arena, "turned%d", nth) : "turned");
	Buf order = {.arena = w->arena};
	for (int d = 0; d < access->rank; d++)
		if (d != lane && d != line)
			buf_putc(&order, (char)('a' + d));
	buf_printf(&order, "%c%c", 'a' + line, 'a' + lane);
	ScriptStep *step = script_step(&w->script, PRIM_pack, block);
	step->order = buf_text(&order);
	step->scope = SCOPE_STACK;
	vec_push(w->arena, &step->buffers, w->nest->arguments[access->argument]->tensor.name);
	vec_push(w->arena, &step->made, turned);
	script_bind(&w->script, arena_printf(w->arena, "%s_%d", turned, access->rank - 1), BIND_VECTOR);
}

/* Inputs are turned at the beginning of each tile, and the next tile's lines are fetched, or the
 * next block's: they lie on pages where no cache looks ahead, or hide behind much arithmetic. */
static void
write_tiles(Writer *w, const Cut *tiles)
{
	StrVec names = {0};
	const char *next = tiles->around ? tiles->around : tiles->outer;
	for (int i = 0; i < w->tile->turned.count; i++) {
		write_turned(w, i, tiles->outer);
		add_fetched(w, -1, w->tile->turned.data[i], &names);
	}
	for (int k = 0; k < w->task->naccess && names.count > 0; k++)
		if (w->task->accesses[k].is_result)
			add_fetched(w, -1, &w->task->accesses[k], &names);
	write_fetch(w, &names, tiles->around ? 2 : 1, next, next);
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
		if (!w->tile->is_streamed[s])
			continue;
		const NestStage *nest = &w->nest->stages[s];
		script_fission(&w->script, lanes[s], nest->nacc, nest->acc, SCOPE_STACK,
		               script_name(&w->script, "lane"));
		write_inside(w, lanes[s], s, stage->nloop, stage->nloop + stage->nreduce);
	}
}

/* While a stage computes a step of its own loops for one piece, as much of the next piece is
 * fetched: each step of a column lies on another page. */
static void
write_turns_ahead(Writer *w, const char *piece)
{
	const TileTask *task = w->task;
	for (int s = 0; s < w->group->program->nstage; s++) {
		const Stage *stage = w->group->program->stages[s];
		StrVec loops = {0}, names = {0};
		add_loops(w, s, 0, stage->nloop, -1, &loops);
		for (int k = 0; k < task->naccess && loops.count > 0; k++)
			if (access_stride(&task->accesses[k], task->lane) == 1)
				add_fetched(w, s, &task->accesses[k], &names);
		if (names.count > 0)
			write_fetch(w, &names, w->tile->cache, piece, loops.data[loops.count - 1]);
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
		if (i == w->tile->counter) {
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
	if (w->tile->counter >= 0)
		write_windows(w, rows);
	else if (stage->guard)
		script_step(&w->script, PRIM_unswitch, rows);
}

const Script *
map_write(const TileTask *task, const Group *group, const MapTile *tile, const Nest *nest)
{
	Cut lanes, rows;
	Arena *arena = nest->names.arena;
	Writer w = {.arena = arena,
	            .group = group,
	            .task = task,
	            .tile = tile,
	            .nest = nest,
	            .script = script_writer(arena, nest->names),
	            .fetched = {.arena = arena}};
	write_shared(&w, &lanes, &rows);
	if (lanes.inner)
		script_bind(&w.script, lanes.inner, BIND_VECTOR);
	for (int s = 0; task && s < group->program->nstage && !lanes.inner; s++)
		if (tile->own[s] >= 0)
			write_own_lanes(&w, s, tile->own[s]);
	if (tile->lines)
		write_tiles(&w, &rows);
	if (tile->takes_turns)
		write_turns(&w, lanes.inner);
	if (tile->takes_turns && tile->cache > 0)
		write_turns_ahead(&w, lanes.outer);
	if (tile->turned.count > 0 && !tile->lines)
		write_tiles(&w, &lanes);
	if (tile->rows)
		write_rows(&w, rows.inner);
	return w.script.script;
}

const Script *
map_script(Arena *arena, const Group *group, const Target *target, const Nest *nest, int *candidate)
{
	const char *reason;
	Arena *own = arena_new_in(arena, "tile"); /* a task is large */
	const TileTask *task = roller_task(own, group->program, target, &reason);
	const MapTile tile = map_tile(task, group, target, *candidate);
	bool is_wanted = (*candidate)-- <= 0 || (tile.counter >= 0 && tile.rows > 0);
	const Script *script = is_wanted ? map_write(task, group, &tile, nest) : NULL;
	arena_reset(own);
	return script;
}
