/* Tiles: a block has a tile of two loops of the result, and what it reads of one input lies in
 * shared memory, each element read once from side by side, and used by several threads, or by
 * others than those it lies side by side for.
 *
 *     Y[n,c,p,q] = max(r,s) X[n,c,2*p+r,2*q+s]      windows overlap: 8 x 32 places, X[17,65]
 *     Y[n,p,c] = X[n,c,p]                           lanes of c read down a column: X[32,32+1]
 *
 * What is turned is read and written by 16 bytes where both extents are multiples of them.
 * Tiles are Roller's where one of those that it likes has such a form; else rows, whole ones up to
 * 32 wide, of which a block of 256 threads has as many as leave blocks alike, and 32 x 32 of what
 * is turned.
 */
#include "lower/gpu/gpu.h"
#include "roller/roller.h"

enum { PROGRAMS = 64, WARP = 32, MOST_THREADS = 512, MOST_BYTES = 40 << 10, LEAST_TURNED = 8 };

typedef struct Tile {
	const Expr *read;
	int loop[2]; /* of Group.shared: outer, and inner, whose neighbours are lanes */
	int64_t block[2], thread[2];
	int64_t lanes; /* neighbours along the inner loop that a thread stores at once */
	bool is_turned;
} Tile;

const Dim **
gpu_coefficients(const Stage *stage, const Expr *index)
{
	int count = stage->nloop + stage->nreduce;
	const Dim **of = NEW_N(expr_ctx_arena(index->ctx), const Dim *, count + 1);
	const Expr *rest;
	if (!expr_affine(index->ctx, index, count, of, &rest))
		return NULL;
	for (int i = 0; i < count; i++)
		of[i] = dim_is(of[i], 0) ? NULL : of[i];
	return of;
}

/* ---- what is one ----------------------------------------------------------------------------- */

/* The loop that moves the dim together with a term of a window; -1: none. */
static int
slides_along(const Group *group, const Expr *index)
{
	const Stage *stage = group->program->stages[0];
	const Dim **of = gpu_coefficients(stage, index);
	int found = -1;
	for (int k = 0; of && k < group->nshared; k++)
		if (of[group->map[0][k]])
			found = k;
	for (int i = 0; found >= 0 && i < stage->nreduce; i++)
		if (of[stage->nloop + i])
			return found;
	return -1;
}

/* Windows that lie a stride apart, so many as are a part of an open dim, whose last block begins
 * early: where it ends in what is read is not proved. */
static bool
is_open_stride(const Group *group, const Expr *index, int k)
{
	const Stage *stage = group->program->stages[0];
	int loop = group->map[0][k];
	if (dim_is(gpu_coefficients(stage, index)[loop], 1))
		return false;
	for (ExprWalk walk = expr_walk(stage->iters[loop].hi); expr_step(&walk);)
		if (walk.e->op == EX_floordiv)
			return true;
	return false;
}

/* Windows over the last two loops, of which neighbours share most. */
static bool
is_window(const GpuWriter *w, const Expr *read, Tile *tile)
{
	int last = w->group->nshared - 1, seen = 0;
	if (w->group->program->stages[0]->kind != STAGE_reduce || last < 1)
		return false;
	for (int d = 0; d < read->argc; d++) {
		if (read->arg[d]->has_read)
			return false;
		int k = slides_along(w->group, read->arg[d]);
		if (k >= 0 && is_open_stride(w->group, read->arg[d], k))
			return false;
		seen |= k == last ? 1 : k == last - 1 ? 2 : k >= 0 ? 4 : 0;
	}
	*tile = (Tile){.read = read, .loop = {last - 1, last}, .lanes = 1};
	return seen == 3;
}

/* The dim that the loop alone moves, by one; -1: none. */
static int
dim_of(const GpuWriter *w, const Expr *read, int k)
{
	const Stage *stage = w->group->program->stages[0];
	int found = -1;
	for (int d = 0; d < read->argc; d++) {
		const Dim **of = gpu_coefficients(stage, read->arg[d]);
		if (!of)
			return -1;
		for (int i = 0; i < w->group->nshared; i++) {
			bool is_mine = i == k;
			const Dim *by = of[w->group->map[0][i]];
			if (is_mine && by && (found >= 0 || !dim_is(by, 1)))
				return -1;
			found = is_mine && by ? d : found;
		}
		for (int i = 0; found == d && i < w->group->nshared; i++)
			if (i != k && of[w->group->map[0][i]])
				return -1;
	}
	return found;
}

static int64_t
extent_of(const GpuWriter *w, int k)
{
	return probe_dim(w->target, w->group->root->iters[w->group->shared[k]].hi);
}

/* What lies side by side along another loop than the last. */
static bool
is_turned(const GpuWriter *w, const Expr *read, Tile *tile)
{
	int last = w->group->nshared - 1;
	if (w->group->program->stages[0]->kind != STAGE_map || read->argc < 2 ||
	    dim_of(w, read, last) < 0)
		return false;
	for (int k = 0; k < last; k++)
		if (dim_of(w, read, k) == read->argc - 1) {
			*tile = (Tile){.read = read, .loop = {k, last}, .lanes = 1, .is_turned = true};
			return extent_of(w, k) >= LEAST_TURNED && extent_of(w, last) >= LEAST_TURNED;
		}
	return false;
}

/* Whether all reads of the tensor are this one. */
static bool
is_only_read(const Group *group, const Expr *read)
{
	for (int s = 0; s < group->program->nstage; s++) {
		const Stage *stage = group->program->stages[s];
		for (int i = 0; i < stage->nbody; i++)
			for (ExprWalk walk = expr_walk(stage->body[i]); expr_step(&walk);)
				if (walk.e->op == EX_read && walk.e->tensor == read->tensor &&
				    (walk.e != read || s > 0))
					return false;
	}
	return true;
}

static bool
find_tile(const GpuWriter *w, Tile *tile)
{
	const Program *p = w->group->program;
	const Stage *first = p->stages[0];
	for (int s = 0; s < p->nstage; s++)
		if ((s > 0 && p->stages[s]->kind != STAGE_map) ||
		    p->stages[s]->nloop != w->group->nshared || p->stages[s]->kind > STAGE_reduce)
			return false;
	if (first->nbody != 1)
		return false;
	for (ExprWalk walk = expr_walk(first->body[0]); expr_step(&walk);) {
		const Expr *e = walk.e;
		if (e->op == EX_read && !e->tensor->stage && is_only_read(w->group, e) &&
		    (is_window(w, e, tile) || is_turned(w, e, tile)))
			return true;
	}
	return false;
}

/* ---- how large ------------------------------------------------------------------------------- */

/* Elements of the input that a block reads, in each dim as far as its loops and the terms go. */
static bool
fits(const GpuWriter *w, const Tile *tile)
{
	const Stage *stage = w->group->program->stages[0];
	int64_t bytes = (dtype_bits(tile->read->tensor->type) + 7) / 8, by;
	for (int d = 0; d < tile->read->argc; d++) {
		const Dim **of = gpu_coefficients(stage, tile->read->arg[d]);
		int64_t extent = 1;
		for (int i = 0; of && i < stage->nloop + stage->nreduce; i++) {
			int64_t count = i >= stage->nloop ? probe_dim(w->target, stage->iters[i].hi) : 1;
			for (int side = 0; side < 2; side++)
				if (i == w->group->map[0][tile->loop[side]])
					count = tile->block[side];
			if (!of[i])
				continue;
			if (!dim_is_const(of[i], &by) ||
			    (i >= stage->nloop && !dim_is_const(stage->iters[i].hi, &count)))
				return false;
			extent += (by < 0 ? -by : by) * (count - 1);
		}
		bytes = probe_times(bytes, of ? extent : INT32_MAX);
	}
	return bytes <= MOST_BYTES;
}

static bool
take_program(const GpuWriter *w, const TileTask *task, const TileProgram *program, Tile *tile)
{
	int64_t threads = 1;
	for (int k = 0; k < w->group->nshared; k++) {
		int axis = task->axis_of[0][w->group->map[0][k]];
		if (axis < 0)
			return false;
		for (int side = 0; side < 2; side++)
			if (k == tile->loop[side]) {
				tile->block[side] = program->tile[1][axis];
				tile->thread[side] = program->tile[0][axis];
				threads *= tile->block[side] / tile->thread[side];
			}
		if (k != tile->loop[0] && k != tile->loop[1] && program->tile[1][axis] > 1)
			return false;
	}
	return program->cut == 1 && program->sharers == 1 && threads % WARP == 0 &&
	       threads <= MOST_THREADS && tile->thread[1] == 1 &&
	       tile->block[0] % tile->thread[0] == 0 && tile->block[1] >= LEAST_TURNED && fits(w, tile);
}

/* An extent in equal parts of so many at most: how many each has, one at least. */
static int64_t
part_of(int64_t extent, int64_t most)
{
	int64_t parts = (extent + most - 1) / most;
	return extent > 0 ? (extent + parts - 1) / parts : 1;
}

/* What is turned: how many neighbours along both loops an access of 16 bytes holds. */
static int64_t
lanes_of(const GpuWriter *w, const Tile *tile)
{
	const Program *p = w->group->program;
	int64_t lanes = gpu_lanes_along(p->stages[0], w->group->map[0][tile->loop[1]]);
	for (int s = 0; s < p->nstage; s++)
		for (int side = 0; side < 2; side++) {
			const Dim *extent = p->stages[s]->iters[w->group->map[s][tile->loop[side]]].hi;
			if (!dim_is(dim_floormod(p->ctx, extent, dim_const(p->ctx, lanes)), 0))
				return 1;
		}
	return lanes;
}

static bool
size_tile(const GpuWriter *w, Tile *tile)
{
	const char *reason;
	int visited;
	Arena *own = arena_new_in(w->arena, "tiles");
	const TileTask *task =
		tile->is_turned ? NULL : roller_task(own, w->group->program, w->target, &reason);
	TilePrograms programs = {0};
	bool is_found = false;
	if (task)
		programs = roller_tiles(task, PROGRAMS, &visited);
	for (int i = 0; i < programs.count && !is_found; i++)
		is_found = take_program(w, task, &programs.data[i], tile);
	arena_reset(own);
	if (is_found)
		return true;
	int64_t inner = extent_of(w, tile->loop[1]), outer = extent_of(w, tile->loop[0]);
	tile->block[1] = tile->is_turned || inner > WARP ? WARP : part_of(inner, WARP);
	tile->block[0] = tile->is_turned ? WARP : part_of(outer, GPU_BLOCK / tile->block[1]);
	tile->lanes = tile->is_turned ? lanes_of(w, tile) : 1;
	tile->thread[0] = tile->is_turned && tile->lanes == 1 ? 4 : 1;
	tile->thread[1] = 1;
	int64_t threads = tile->block[0] * tile->block[1] / tile->thread[0] / tile->lanes;
	return threads >= WARP && fits(w, tile);
}

/* ---- the script ------------------------------------------------------------------------------ */

static void
write_tile(GpuWriter *w, const Tile *tile)
{
	static const Bind axes[] = {BIND_THREAD_Y, BIND_THREAD_X};
	static const char *const names[] = {"y", "x"};
	ScriptWriter *script = &w->script;
	StrVec order = {0};
	int64_t most[3] = {1, gpu_most(w, tile->loop[0]), gpu_most(w, tile->loop[1])};
	const char *block[2], *thread[2], *piece = NULL;
	for (int side = 0; side < 2; side++) {
		const char *loop = w->nest->shared[tile->loop[side]]->var->name, *inner = NULL;
		block[side] = script_name(script, "block");
		thread[side] = script_name(script, names[side]);
		bool is_cut = tile->thread[side] > 1;
		inner = is_cut ? script_name(script, "inner") : thread[side];
		int64_t lanes = side == 1 ? tile->lanes : 1;
		if (lanes > 1) {
			const char *pieces = script_name(script, "pieces");
			piece = script_name(script, "v");
			gpu_split(script, PRIM_split, loop, lanes, pieces, piece);
			loop = pieces;
		}
		gpu_split(script, PRIM_split_whole, loop, tile->block[side] / lanes, block[side], inner);
		if (!is_cut)
			continue;
		piece = script_name(script, "u");
		script_split(script, inner, tile->block[side] / tile->thread[side], piece, thread[side]);
	}
	for (int k = 0; k < w->group->nshared; k++)
		if (k != tile->loop[0] && k != tile->loop[1]) {
			vec_push(w->arena, &order, w->nest->shared[k]->var->name);
			most[0] = probe_times(most[0], gpu_most(w, k));
		}
	StrVec others = strings_copy(w->arena, &order);
	const char *const rest[] = {block[0], block[1], thread[0], thread[1], piece};
	for (size_t i = 0; i < countof(rest); i++)
		if (rest[i])
			vec_push(w->arena, &order, rest[i]);
	script_reorder(script, order.count, order.data);
	const char *other = others.count > 0 ? gpu_fuse(script, others.count, others.data) : NULL;
	gpu_bind_blocks(w, (const char *const[]){other, block[0], block[1]}, most);
	for (int side = 0; side < 2; side++)
		script_bind(script, thread[side], axes[side]);
	if (tile->lanes > 1)
		script_bind(script, piece, BIND_VECTOR);
	ScriptStep *step = script_step(script, PRIM_cache_read, thread[1]);
	vec_push(w->arena, &step->buffers, gpu_argument(w, tile->read->tensor));
	step->scope = SCOPE_SHARED;
	vec_push(w->arena, &step->made, script_name(script, "tile"));
	if (piece && tile->lanes == 1)
		script_bind(script, piece, BIND_UNROLL);
}

bool
gpu_write_tile(GpuWriter *w)
{
	Tile tile;
	if (w->target->is_plain || !find_tile(w, &tile))
		return false;
	if (!tile.is_turned && gpu_write_column(w, tile.read))
		return true;
	if (!size_tile(w, &tile))
		return false;
	write_tile(w, &tile);
	return true;
}
