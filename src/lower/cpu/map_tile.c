/* map_tile(): a tile for maps and rows (map.h), by what Roller knows of the group's axes. */
#include <math.h>

#include "base/work.h"
#include "lower/cpu/map.h"

enum {
	CHUNK = 4096,            /* iterations per parallel piece when only the vector loop is long */
	LONG_LOOP = 4 * CHUNK,   /* shorter vector loops are not worth cutting for the pool */
	TILE_LANES = 4,          /* vectors per piece when stages take turns */
	STREAM_LANES = 32,       /* the same when a sum is streamed */
	STREAM_STEPS = 16,       /* a shorter sum is not streamed */
	FAR_BITS = 256 * 8,      /* between steps: none finds in cache what the last one brought */
	PIECE_BYTES = 128 << 10, /* intermediates of a piece */
	TURNED_BITS = 32,
	LINE = 16,       /* elements of 4 bytes in a cache line */
	FEW = LINE / 2,  /* shorter loops have nothing to turn */
	LONG_LINES = 64, /* what is not turned: a line that one lane reads serves others */
	AHEAD = 256,     /* elements of a row fetched at once */
};

/* Of the vector registers, the sums of a tile: the factors are beside them, and what the C compiler
 * keeps at hand. */
static const double SHARE_OF_ROWS = 0.375;

typedef struct Mapping {
	const TileTask *task;
	const Group *group;
	const Target *target;
	MapTile *tile;
} Mapping;

/* The axis of a shared loop. */
static int
axis_of(const Mapping *m, int k)
{
	return m->task->axis_of[m->group->program->nstage - 1][m->group->shared[k]];
}

static int64_t
extent_of(const Mapping *m, int k)
{
	return m->task->extents[axis_of(m, k)];
}

static void
choose_lanes(Mapping *m)
{
	const TileTask *task = m->task;
	for (int k = 0; k < m->group->nshared; k++)
		if (axis_of(m, k) == task->lane)
			m->tile->lane = k;
	for (int s = 0; s < m->group->program->nstage && m->tile->lane < 0; s++) {
		const Stage *stage = m->group->program->stages[s];
		for (int i = 0; i < stage->nloop + stage->nreduce; i++)
			if (task->lane_of[s] >= 0 && task->axis_of[s][i] == task->lane_of[s])
				m->tile->own[s] = i;
	}
}

/* ---- lines ----------------------------------------------------------------------------------- */

/* The shared loop along which an input lies side by side that is read across lanes; -1: none. */
static int
line_of(const Mapping *m, const TileAccess *access, int lane)
{
	int64_t stride = access_stride(access, axis_of(m, lane));
	if (access->is_result || stride == INT64_MAX || (stride > -FEW && stride < FEW))
		return -1;
	for (int k = 0; k < m->group->nshared; k++)
		if (k != lane && access_stride(access, axis_of(m, k)) == 1 && extent_of(m, k) >= FEW)
			return k;
	return -1;
}

/* Whether a tile of it is a box of an argument, a dim for the lanes and one for the lines. */
static bool
may_turn(const Mapping *m, const TileAccess *access, int lane, int line)
{
	const TileTask *task = m->task;
	int lane_dim = access_dim(access, axis_of(m, lane)),
		line_dim = access_dim(access, axis_of(m, line));
	bool may = access->bits == TURNED_BITS && access->argument >= 0 && lane_dim >= 0 &&
	           line_dim >= 0 && access_is_box(access) &&
	           !m->group->program->stages[access->stage]->guard &&
	           (access->users & (access->users - 1)) == 0;
	for (int k = 0; k < task->naccess; k++)
		may &= &task->accesses[k] == access || task->accesses[k].tensor != access->tensor;
	return may;
}

/* A multiple of tiles, of which there are several, and which the last one fills; 0: none. */
static int64_t
block_of(const Mapping *m, int k, int64_t most)
{
	const double WASTE = 0.1;
	for (int64_t size = most; size > LINE; size /= 2)
		if (extent_of(m, k) >= 2 * size && is_aligned_to_shape(extent_of(m, k), size, WASTE))
			return size;
	return 0;
}

/* Lanes lie side by side in the result. What lies side by side along another loop is copied in
 * tiles of as many lines as lanes, which registers turn (tir/loops/turn_loops.c). Tiles follow each
 * other along the lines that are read: those have their cache lines whole. In blocks of them, each
 * page is used for some; where lines begin anywhere, that gained nothing. */
static void
choose_lines(Mapping *m)
{
	const Program *p = m->group->program;
	MapTile *tile = m->tile;
	int lane = m->group->nshared - 1, line = -1;
	for (int s = 0; s < p->nstage; s++)
		if (p->stages[s]->kind != STAGE_map || p->stages[s]->nloop > m->group->nshared)
			return;
	if (lane < 1 || extent_of(m, lane) < FEW)
		return;
	for (int k = 0; k < m->task->naccess && line < 0; k++)
		line = line_of(m, &m->task->accesses[k], lane);
	for (int k = 0; k < m->task->naccess && line >= 0; k++) {
		const TileAccess *access = &m->task->accesses[k];
		if (line_of(m, access, lane) == line && may_turn(m, access, lane, line))
			vec_push(m->task->arena, &tile->turned, access);
	}
	if (line < 0)
		return;
	tile->lane = lane;
	tile->row = line;
	tile->lines = tile->turned.count > 0 ? LINE : LONG_LINES;
	bool is_ragged = tile->turned.count > 0 && extent_of(m, lane) % LINE != 0;
	/* a short piece is turned only as one vector */
	tile->piece = is_ragged ? target_lanes(m->target, DT_F32) : tile->lines;
	tile->wide = block_of(m, lane, 4 * LINE);
	tile->tall = block_of(m, line, 2 * LINE);
	if (!tile->wide || !tile->tall || tile->turned.count == 0 || is_ragged)
		tile->wide = tile->tall = 0;
}

/* ---- rows ------------------------------------------------------------------------------------ */

/* As many iterations of a shared loop as divide it and leave registers for the factors. */
static int
rows_of(const Mapping *m, int k)
{
	const Stage *stage = m->group->program->stages[0];
	const Iter *iter = &m->group->root->iters[m->group->shared[k]];
	ExprCtx *ctx = m->group->program->ctx;
	int rows = (int)(SHARE_OF_ROWS * m->target->device->registers);
	if (!dim_is(iter->lo, 0) || (stage->guard && expr_uses_iter(stage->guard, m->group->map[0][k])))
		return 1;
	while (rows > 1 && !dim_is(dim_floormod(ctx, iter->hi, dim_const(ctx, rows)), 0))
		rows--;
	return rows;
}

/* Of what the sum reads, some moves along the axis and some does not. */
static bool
shares_terms(const TileTask *task, int axis)
{
	bool moves = false, stays = false;
	for (int k = 0; k < task->naccess; k++) {
		const TileAccess *access = &task->accesses[k];
		bool is_term = !access->is_result && access->users & 1;
		moves |= is_term && access->axes >> axis & 1;
		stays |= is_term && !(access->axes >> axis & 1);
	}
	return moves && stays;
}

/* The loop whose iterations share most of what they load, for the registers that they take. */
static void
choose_rows(Mapping *m)
{
	TileProgram one = {.cut = 1};
	double best = 0;
	if (m->tile->takes_turns || m->tile->lane < 0 || !program_reduction(m->group->program))
		return;
	for (int a = 0; a < m->task->naxis; a++)
		one.tile[0][a] = 1;
	one.tile[0][m->task->lane] = target_lanes(m->target, m->task->type);
	for (int k = m->group->nshared - 1; k >= 0; k--) {
		bool may = k != m->tile->lane && shares_terms(m->task, axis_of(m, k));
		int rows = may ? rows_of(m, k) : 1;
		double reuse = rows > 1 ? tile_reuse(m->task, &one, 0, axis_of(m, k), rows) : 0;
		if (reuse <= best)
			continue;
		best = reuse;
		m->tile->row = k;
		m->tile->rows = rows;
	}
}

/* Rows of windows in tiles, where nothing else is cut: this candidate of them. */
static void
choose_windows(Mapping *m, int candidate)
{
	MapTile *tile = m->tile;
	int lane = tile->lane, row = m->group->nshared - 1; /* the innermost but lanes */
	row -= lane == row;
	if (lane < 0 || row < 0 || tile->takes_turns || tile->piece > 0 || tile->rows > 0)
		return;
	tile->rows =
		window_rows(m->task->arena, m->group, m->target, row, lane, candidate, &tile->counter);
	tile->row = tile->rows > 0 ? row : -1;
}

/* Short rows: a vector's lanes are as many rows, whose inputs are turned for that. */
static bool
choose_short_rows(Mapping *m)
{
	for (int k = 0; k < m->task->naccess && m->tile->lane >= 0; k++) {
		const TileAccess *access = &m->task->accesses[k];
		bool is_alone = true;
		for (int o = 0; o < m->task->naccess; o++)
			is_alone &= o == k || m->task->accesses[o].tensor != access->tensor;
		if (is_alone && !access->is_result && access_turns(m->task, access, m->task->lane))
			vec_push(m->task->arena, &m->tile->turned, access);
	}
	if (m->tile->turned.count > 0)
		m->tile->piece = target_lanes(m->target, DT_F32);
	return m->tile->turned.count > 0;
}

/* ---- pieces ---------------------------------------------------------------------------------- */

/* Whether each input that moves with the lanes moves far at every step of the sum. */
static bool
wants_stream(const Mapping *m, int s)
{
	const TileTask *task = m->task;
	const Stage *stage = m->group->program->stages[s];
	int64_t steps = 1;
	int all_far = 0, some_far = 0;
	for (int i = stage->nloop; i < stage->nloop + stage->nreduce; i++)
		steps = probe_times(steps, task->extents[task->axis_of[s][i]]);
	for (int k = 0; k < task->naccess; k++) {
		const TileAccess *access = &task->accesses[k];
		int far = 0;
		if (access->is_result || !(access->users >> s & 1) || !(access->axes >> task->lane & 1))
			continue;
		for (int i = stage->nloop; i < stage->nloop + stage->nreduce; i++) {
			int64_t stride = access_stride(access, task->axis_of[s][i]);
			far += stride != INT64_MAX && fabs((double)stride) * access->bits >= FAR_BITS;
		}
		all_far += far > 0 && far == stage->nreduce;
		some_far += far > 0 && far < stage->nreduce;
	}
	return stage->kind == STAGE_reduce && steps >= STREAM_STEPS && all_far > 0 && some_far == 0;
}

static bool
choose_streams(Mapping *m)
{
	bool has_streams = false;
	for (int s = 0; s < m->group->program->nstage && m->tile->lane >= 0 && m->tile->rows <= 1; s++)
		has_streams |= m->tile->is_streamed[s] = wants_stream(m, s);
	m->tile->takes_turns |= has_streams;
	return has_streams;
}

/* Wide pieces for streams, as long as intermediates stay in cache. */
static void
choose_piece(Mapping *m, bool has_streams)
{
	int64_t lanes = target_lanes(m->target, m->group->root->results[0]->type), outer = 1;
	int64_t count = has_streams ? STREAM_LANES : TILE_LANES;
	if (m->tile->lane < 0)
		return;
	for (int k = 0; k < m->group->nshared; k++)
		outer = k == m->tile->lane ? outer : probe_times(outer, extent_of(m, k));
	while (count > TILE_LANES && m->group->local_bytes > PIECE_BYTES / (count * lanes))
		count /= 2;
	if (m->tile->takes_turns)
		m->tile->piece = count * lanes;
	else if (outer < WORK_PIECES && extent_of(m, m->tile->lane) >= LONG_LOOP)
		m->tile->piece = CHUNK;
}

/* Rows one after the other, each gone through several times: while a stage computes what is in
 * cache, the next row comes from memory. In the nearest cache this one has room besides. */
static void
choose_ahead(Mapping *m)
{
	const TileTask *task = m->task;
	TileProgram row = {.cut = 1};
	int last = m->group->program->nstage - 1;
	if (m->tile->takes_turns && extent_of(m, m->tile->lane) > m->tile->piece)
		m->tile->cache = 2; /* of the next piece */
	if (m->tile->lane >= 0 || m->group->nshared == 0 || last == 0 || m->tile->own[last] < 0)
		return;
	for (int a = 0; a < task->naxis; a++)
		row.tile[2][a] = task->axes[a].kind == AXIS_loop ? 1 : task->extents[a];
	bool is_near = program_footprint(task, &row, 2) <= task->device->levels[1].bytes / 4;
	m->tile->ahead = task->extents[task->lane_of[last]] >= 2 * LINE ? AHEAD : 0;
	m->tile->cache = is_near ? 1 : 2;
}

MapTile
map_tile(const TileTask *task, const Group *group, const Target *target, int candidate)
{
	MapTile tile = {.lane = -1, .row = -1, .counter = -1};
	Mapping m = {task, group, target, &tile};
	for (int s = 0; s < TILE_WORKS; s++)
		tile.own[s] = -1;
	if (!task || target->is_plain)
		return tile;
	choose_lines(&m);
	if (tile.lines > 0)
		return tile;
	choose_lanes(&m);
	for (int s = 0; s < group->program->nstage; s++)
		tile.takes_turns |= tile.lane >= 0 && group->program->stages[s]->nloop > group->nshared;
	if (choose_short_rows(&m))
		return tile;
	choose_rows(&m);
	choose_piece(&m, choose_streams(&m));
	choose_windows(&m, candidate);
	choose_ahead(&m);
	return tile;
}
