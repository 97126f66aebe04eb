/* Products: a block has a tile of rows and columns of the result, each of its threads a part of
 * that, and of both factors what a slice of the sum needs lies in shared memory at a time.
 *
 *     Y[b,m,n] = max(sum(k) A[b,m,k] * B[b,k,n], 0)     rows m, columns n, terms k
 *     Y[n,f,p,q] = sum(c,r,s) X[n,c,p+r,q+s] * W[f,c,r,s]    rows f, columns n.p.q, terms c.r.s
 *
 * Rows are all loops along which the one factor moves alone, columns those of the other, terms
 * those of the sum: each is one loop, and a slice of a factor lies in shared memory by rows or
 * columns and terms, wherever it came from (the step reindex). Borders are zeros there. What moves
 * both factors is a block's.
 *
 * How large tiles are Roller says. Neighbours of a warp have neighbouring columns, four each, so
 * that loads of shared memory and stores take 16 bytes a thread, side by side.
 */
#include "lower/gpu/product.h"

enum {
	PROGRAMS = 1 << 16, /* of Roller's: all */
	MOST_RESULTS = 64,  /* of a thread: with more, registers do not suffice */
	OTHERS = 12,        /* registers of a thread, besides two for each result */
	STRAIGHT_TERMS = 8, /* of a slice: as many at a time */
	MOST_TERMS = 32,    /* of a slice: more are no better, and take room from other blocks */
	FEW_TERMS = 16,     /* a shorter sum reads little more than it writes */
	FEW_RESULTS = 8,    /* rows or columns: fewer leave a tile empty */
	WARP = 32,
	VECTOR = 4
};

/* Results along each side: of a block and of a thread; terms of a slice. */
typedef struct ProductSize {
	int64_t block[2], thread[2], slice;
} ProductSize;

/* ---- what is one ----------------------------------------------------------------------------- */

/* The read that a scalar is, but for a cast. */
static const Expr *
read_of(const Expr *e)
{
	e = expr_without_casts(e);
	return e->op == EX_read && !e->tensor->stage ? e : NULL;
}

/* A place that loops alone decide: what is read there is no part of it. */
static bool
is_plain_read(const Expr *read)
{
	for (int d = 0; d < read->argc; d++)
		if (read->arg[d]->has_read)
			return false;
	return true;
}

/* Whether what a stage has besides the shared loops is of one iteration: in strided storage dims of
 * extent 1 stay. */
static bool
has_shared_loops(const Group *group, int s)
{
	const Stage *stage = group->program->stages[s];
	int count = group->nshared;
	for (int i = 0; i < stage->nloop; i++) {
		bool is_shared = false;
		for (int k = 0; k < group->nshared; k++)
			is_shared |= group->map[s][k] == i;
		count += !is_shared && dim_is(stage->iters[i].hi, 1);
	}
	return stage->nloop == count;
}

static bool
are_maps_behind(const Group *group)
{
	const Program *p = group->program;
	for (int s = 0; s < p->nstage; s++)
		if ((s > 0 && p->stages[s]->kind != STAGE_map) || !has_shared_loops(group, s))
			return false;
	return true;
}

static bool
is_sum_of_products(const GpuWriter *w, const Stage *sum)
{
	bool is_sum = sum->kind == STAGE_reduce && sum->reduce == REDUCE_sum && sum->nbody == 1 &&
	              sum->nresult == 1 && sum->nreduce > 0 && sum->body[0]->op == EX_mul &&
	              w->group->nshared <= TILE_ITERS && (!sum->guard || w->target->is_finite);
	for (int i = 0; i < sum->nreduce && is_sum; i++)
		is_sum = dim_is(sum->iters[sum->nloop + i].lo, 0);
	return is_sum;
}

static void
sort_loops(const GpuWriter *w, Product *product)
{
	const Group *group = w->group;
	for (int side = 0; side < SIDES; side++)
		product->extent[side] = 1;
	for (int k = 0; k < group->nshared; k++) {
		int iter = group->map[0][k];
		bool a = expr_uses_iter(product->factor[0], iter),
			 b = expr_uses_iter(product->factor[1], iter);
		Side side = a == b ? BOTH : a ? ROWS : COLUMNS;
		product->loops[side][product->count[side]++] = k;
		product->extent[side] = probe_times(
			product->extent[side], probe_dim(w->target, group->root->iters[group->shared[k]].hi));
	}
}

static bool
find_product(const GpuWriter *w, Product *product)
{
	const Stage *sum = w->group->program->stages[0];
	if (!are_maps_behind(w->group) || !is_sum_of_products(w, sum))
		return false;
	const Expr *a = read_of(sum->body[0]->arg[0]), *b = read_of(sum->body[0]->arg[1]);
	if (!a || !b || a->tensor == b->tensor || !is_plain_read(a) || !is_plain_read(b))
		return false;
	*product = (Product){.factor = {a, b}, .terms = 1};
	sort_loops(w, product);
	if (product->count[ROWS] == 0 || product->count[COLUMNS] == 0)
		return false;
	/* columns are the loops that stand further inside */
	if (product->loops[ROWS][product->count[ROWS] - 1] >
	    product->loops[COLUMNS][product->count[COLUMNS] - 1]) {
		*product = (Product){.factor = {b, a}, .terms = 1};
		sort_loops(w, product);
	}
	for (int i = 0; i < sum->nreduce; i++)
		product->terms =
			probe_times(product->terms, probe_dim(w->target, sum->iters[sum->nloop + i].hi));
	return product->terms >= FEW_TERMS && product->extent[ROWS] >= FEW_RESULTS &&
	       product->extent[COLUMNS] >= FEW_RESULTS;
}

/* ---- how large ------------------------------------------------------------------------------- */

/* Of a program of Roller's: a tile along some iterators of the sum, which may be one axis. */
static int64_t
tile_along(const TileTask *task, const TileProgram *tile, int level, int count, const int *iters)
{
	uint64_t seen = 0;
	int64_t size = 1;
	for (int i = 0; i < count; i++) {
		int axis = task->axis_of[0][iters[i]];
		if (axis >= 0 && !(seen >> axis & 1))
			size *= tile->tile[level][axis];
		seen |= axis >= 0 ? UINT64_C(1) << axis : 0;
	}
	return size;
}

static int64_t
least(int64_t a, int64_t b)
{
	return a < b ? a : b;
}

static int64_t
threads_of(const ProductSize *size)
{
	int64_t threads = 1;
	for (int side = 0; side < 2; side++)
		threads *= size->block[side] / size->thread[side];
	return threads;
}

/* Whether threads are whole warps, and hold their parts of a tile in registers: a thread each of
 * its sums, and about as many factors and addresses besides. */
static bool
is_possible(const Target *target, const ProductSize *size)
{
	int64_t threads = threads_of(size), results = size->thread[ROWS] * size->thread[COLUMNS];
	return threads % WARP == 0 && threads <= 1024 && results <= MOST_RESULTS &&
	       threads * (2 * results + OTHERS) <= target->device->gpu->registers;
}

/* The same tile by more threads, if these have more results than registers. */
static TileProgram
more_threads(const TileTask *task, const TileProgram *tile)
{
	TileProgram own = *tile;
	for (;;) {
		int64_t results = 1;
		int large = 0;
		for (int a = 0; a < task->naxis; a++) {
			results *= task->axes[a].kind == AXIS_loop ? own.tile[0][a] : 1;
			large = own.tile[0][a] > own.tile[0][large] ? a : large;
		}
		if (results <= MOST_RESULTS || own.tile[0][large] % 2 != 0)
			return own;
		own.tile[0][large] /= 2;
	}
}

/* Results along sides of a tile; false: it cannot be written. */
static bool
size_sides(const GpuWriter *w, const Product *product, const TileTask *task,
           const TileProgram *tile, ProductSize *size)
{
	int iters[TILE_ITERS];
	for (int side = 0; side < SIDES; side++) {
		for (int i = 0; i < product->count[side]; i++)
			iters[i] = w->group->map[0][product->loops[side][i]];
		int64_t block = tile_along(task, tile, 1, product->count[side], iters);
		if (side == BOTH && block > 1)
			return false;
		if (side == BOTH)
			break;
		size->thread[side] = tile_along(task, tile, 0, product->count[side], iters);
		size->block[side] = pieces_of(block, size->thread[side]) * size->thread[side];
	}
	return is_possible(w->target, size);
}

/* Terms of a slice: the tile's, or as many as are of use. */
static int64_t
slice_of(const GpuWriter *w, const Product *product, const TileTask *task, const TileProgram *tile,
         bool is_long)
{
	const Stage *sum = w->group->program->stages[0];
	int terms[TILE_ITERS];
	for (int i = 0; i < sum->nreduce; i++)
		terms[i] = sum->nloop + i;
	int64_t slice = is_long ? MOST_TERMS : tile_along(task, tile, 1, sum->nreduce, terms);
	slice = least(slice, least(MOST_TERMS, product->terms));
	return slice > STRAIGHT_TERMS ? slice - slice % STRAIGHT_TERMS : slice;
}

/* How long the program takes as it is written; negative: there is no room for it. */
static double
seconds_of(const TileTask *task, const TileProgram *tile, const ProductSize *size)
{
	TileProgram own = *tile;
	int64_t terms = size->slice; /* of the last axes */
	for (int a = task->naxis - 1; a >= 0; a--)
		if (task->axes[a].kind == AXIS_term) {
			own.tile[1][a] = least(task->extents[a], terms);
			terms = pieces_of(terms, own.tile[1][a]);
		}
	own.sharers = 1;
	own.threads = threads_of(size);
	return predict_seconds(task, &own);
}

/* Parts are worth another kernel if they take less than this share of the time: the model errs by
 * as much (docs/cuda.md). */
static const double WORTH = 0.87;

/* The best of Roller's; where it has nothing that can be written, a square. If the best of all has
 * the sum cut into parts, so many are wished for, and this is the best with a whole one. */
static ProductSize
size_of(const GpuWriter *w, const Product *product, int64_t *parts)
{
	const char *reason;
	int visited;
	ProductSize size = {{32, 32}, {2, 2}, 16}, one;
	double best = 0, whole = 0; /* seconds; 0: none yet */
	Arena *own = arena_new_in(w->arena, "tiles");
	const TileTask *task = roller_task(own, w->group->program, w->target, &reason);
	TilePrograms tiles = {0};
	if (task)
		tiles = roller_tiles(task, PROGRAMS, &visited);
	for (int i = 0; i < 2 * tiles.count; i++) {
		const TileProgram tile = more_threads(task, &tiles.data[i / 2]);
		if (!size_sides(w, product, task, &tile, &one))
			continue;
		one.slice = slice_of(w, product, task, &tile, i % 2 == 0);
		double seconds = seconds_of(task, &tile, &one);
		if (seconds > 0 && (best == 0 || seconds < best)) {
			best = seconds;
			*parts = tile.cut;
		}
		if (seconds > 0 && tile.cut == 1 && (whole == 0 || seconds < whole)) {
			whole = seconds;
			size = one;
		}
	}
	if (whole > 0 && best > WORTH * whole)
		*parts = 1;
	arena_reset(own);
	return size;
}

/* ---- the script ------------------------------------------------------------------------------ */

/* A side as blocks, threads, and what a thread has: its names. A thread has runs of neighbours
 * along columns, as many as a vector has, and along rows one of each piece. */
typedef struct Cut {
	const char *block, *piece, *thread, *lane; /* lane: or NULL */
} Cut;

static const char *
fuse_side(GpuWriter *w, const Product *product, Side side)
{
	const char *names[TILE_ITERS];
	for (int i = 0; i < product->count[side]; i++)
		names[i] = w->nest->shared[product->loops[side][i]]->var->name;
	return gpu_fuse(&w->script, product->count[side], names);
}

void
gpu_fuse_sides(GpuWriter *w, const Product *product, const char *names[SIDES])
{
	static const Side order[] = {BOTH, ROWS, COLUMNS};
	StrVec all = {0};
	for (size_t s = 0; s < countof(order); s++)
		for (int i = 0; i < product->count[order[s]]; i++) {
			int k = product->loops[order[s]][i];
			vec_push(w->arena, &all, w->nest->shared[k]->var->name);
		}
	script_reorder(&w->script, all.count, all.data);
	for (size_t s = 0; s < countof(order); s++)
		names[order[s]] = product->count[order[s]] > 0 ? fuse_side(w, product, order[s]) : NULL;
}

static Cut
cut_side(GpuWriter *w, const char *loop, const ProductSize *size, Side side)
{
	static const char *const blocks[] = {"rows", "columns"}, *const threads[] = {"y", "x"};
	ScriptWriter *script = &w->script;
	const char *inner = script_name(script, "inner"), *rest = script_name(script, "inner");
	int64_t lanes = side == ROWS ? 1 : VECTOR, count = size->block[side] / size->thread[side];
	while (size->thread[side] % lanes != 0)
		lanes /= 2;
	Cut cut = {script_name(script, blocks[side]), script_name(script, "u"),
	           script_name(script, threads[side]), lanes > 1 ? script_name(script, "v") : NULL};
	gpu_split(script, PRIM_split_whole, loop, size->block[side], cut.block, inner);
	gpu_split(script, PRIM_split, inner, count * lanes, cut.piece, lanes > 1 ? rest : cut.thread);
	if (lanes > 1)
		gpu_split(script, PRIM_split, rest, lanes, cut.thread, cut.lane);
	return cut;
}

/* What a thread has of both sides, outermost first. */
static StrVec
own_loops(GpuWriter *w, const Cut *rows, const Cut *columns)
{
	StrVec own = {0};
	const char *const all[] = {rows->piece, columns->piece, columns->lane};
	for (size_t i = 0; i < countof(all); i++)
		if (all[i])
			vec_push(w->arena, &own, all[i]);
	return own;
}

int64_t
gpu_product_most(const GpuWriter *w, const Product *product, Side side)
{
	int64_t most = 1;
	for (int i = 0; i < product->count[side]; i++)
		most = probe_times(most, gpu_most(w, product->loops[side][i]));
	return most;
}

static void
bind_threads(GpuWriter *w, const Product *product, const char *both, const Cut *rows,
             const Cut *columns, const StrVec *own)
{
	ScriptWriter *script = &w->script;
	StrVec order = {0};
	const char *const bound[] = {both, rows->block, columns->block, rows->thread, columns->thread};
	for (size_t i = 0; i < countof(bound); i++)
		if (bound[i])
			vec_push(w->arena, &order, bound[i]);
	for (int i = 0; i < own->count; i++)
		vec_push(w->arena, &order, own->data[i]);
	script_reorder(script, order.count, order.data);
	const int64_t most[] = {gpu_product_most(w, product, BOTH), gpu_product_most(w, product, ROWS),
	                        gpu_product_most(w, product, COLUMNS)};
	gpu_bind_blocks(w, bound, most);
	script_bind(script, rows->thread, BIND_THREAD_Y);
	script_bind(script, columns->thread, BIND_THREAD_X);
}

static bool
is_of_block(const GpuWriter *w, const Product *product, int iter)
{
	for (int i = 0; i < product->count[BOTH]; i++)
		if (w->group->map[0][product->loops[BOTH][i]] == iter)
			return true;
	return false;
}

/* Whether neighbours in the factor are those of this term. */
static bool
lies_along(const Expr *factor, int term)
{
	const Expr *index = factor->argc > 0 ? factor->arg[factor->argc - 1] : NULL;
	return index && index->op == EX_iter && index->iter == term;
}

/* The term that moves fastest, so that slices are copied in runs: the longest along which a factor
 * lies, as channels are where they lie last; else the last one. */
static int
inner_term(const GpuWriter *w, const Product *product)
{
	const Stage *sum = w->group->program->stages[0];
	int inner = sum->nloop + sum->nreduce - 1;
	int64_t longest = 1;
	for (int i = inner; i >= sum->nloop; i--) {
		int64_t extent = probe_dim(w->target, sum->iters[i].hi);
		bool lies = lies_along(product->factor[0], i) || lies_along(product->factor[1], i);
		if (!lies || extent <= longest)
			continue;
		inner = i;
		longest = extent;
	}
	return inner;
}

/* Whether what it reads lies side by side along the inner term: then a slice is copied so. */
static bool
runs_along_terms(const GpuWriter *w, const Product *product, const Expr *factor)
{
	const Stage *sum = w->group->program->stages[0];
	int last = inner_term(w, product);
	const Expr *index = factor->argc > 0 ? factor->arg[factor->argc - 1] : NULL;
	if (!index)
		return false;
	for (ExprWalk walk = expr_walk(index); expr_step(&walk);)
		if (walk.e->op == EX_iter && walk.e->iter < sum->nloop &&
		    !is_of_block(w, product, walk.e->iter))
			return false;
	return expr_uses_iter(factor, last);
}

const char *
gpu_share_slice(GpuWriter *w, const Product *product, Side which, const StrVec *side,
                const StrVec *terms, const char *slice)
{
	static const char *const names[] = {"left", "right"};
	const Expr *factor = product->factor[which];
	bool is_turned = runs_along_terms(w, product, factor);
	const StrVec *const order[] = {is_turned ? side : terms, is_turned ? terms : side};
	StrVec loops = {0};
	for (size_t k = 0; k < countof(order); k++)
		for (int i = 0; i < order[k]->count; i++)
			vec_push(w->arena, &loops, order[k]->data[i]);
	vec_push(w->arena, &loops, slice);
	ScriptStep *step = script_step(&w->script, PRIM_reindex, loops.data[0]);
	step->loops = loops;
	step->number = order[0]->count;
	vec_push(w->arena, &step->buffers, gpu_argument(w, factor->tensor));
	step->scope = SCOPE_SHARED;
	const char *made = script_name(&w->script, names[which]);
	vec_push(w->arena, &step->made, made);
	return made;
}

/* A sum of no terms has no first slice. */
static bool
has_terms(const Stage *sum)
{
	int64_t extent;
	for (int i = 0; i < sum->nreduce; i++)
		if (!dim_is_const(sum->iters[sum->nloop + i].hi, &extent) || extent < 1)
			return false;
	return true;
}

void
gpu_fetch_ahead(GpuWriter *w, const char *slice, const char *left, const char *right)
{
	enum { ASYNC = 80 }; /* compute capability */
	if (w->target->device->gpu->capability < ASYNC || !has_terms(w->group->program->stages[0]))
		return;
	ScriptStep *ahead = script_step(&w->script, PRIM_prefetch, slice);
	vec_push(w->arena, &ahead->buffers, left);
	vec_push(w->arena, &ahead->buffers, right);
}

const char *
gpu_fuse_terms(GpuWriter *w, const Product *product)
{
	const Stage *sum = w->group->program->stages[0];
	const char **names = NEW_N(w->arena, const char *, sum->nreduce);
	const Expr *const *loops = w->nest->stages[0].iters + sum->nloop;
	int count = 0, inner = inner_term(w, product) - sum->nloop;
	for (int i = 0; i < sum->nreduce; i++)
		if (i != inner)
			names[count++] = loops[i]->var->name;
	names[count] = loops[inner]->var->name;
	if (inner != count)
		script_reorder(&w->script, sum->nreduce, names);
	return gpu_fuse(&w->script, sum->nreduce, names);
}

static StrVec
side_loops(GpuWriter *w, const Cut *cut)
{
	StrVec loops = {0};
	const char *const all[] = {cut->piece, cut->thread, cut->lane};
	for (size_t i = 0; i < countof(all); i++)
		if (all[i])
			vec_push(w->arena, &loops, all[i]);
	return loops;
}

/* The sum as slices, and a slice's terms as one or two loops, the last of few iterations: as
 * straight code a row's factors come by 16 bytes, and loads are given before what came last is
 * used. */
static int
cut_slice(GpuWriter *w, const Product *product, const ProductSize *size, const char *slice,
          const char *terms[2])
{
	ScriptWriter *script = &w->script;
	Primitive how = w->target->is_finite ? PRIM_split_whole : PRIM_split;
	terms[0] = script_name(script, "term");
	gpu_split(script, how, gpu_fuse_terms(w, product), size->slice, slice, terms[0]);
	if (size->slice <= STRAIGHT_TERMS)
		return 1;
	const char *all = terms[0];
	terms[0] = script_name(script, "term");
	terms[1] = script_name(script, "step");
	gpu_split(script, PRIM_split, all, STRAIGHT_TERMS, terms[0], terms[1]);
	return 2;
}

static void
write_product(GpuWriter *w, const Product *product, const ProductSize *size)
{
	ScriptWriter *script = &w->script;
	const char *sides[SIDES];
	gpu_fuse_sides(w, product, sides);
	Cut rows = cut_side(w, sides[ROWS], size, ROWS);
	Cut columns = cut_side(w, sides[COLUMNS], size, COLUMNS);
	StrVec own = own_loops(w, &rows, &columns), behind = {0};
	bind_threads(w, product, sides[BOTH], &rows, &columns, &own);
	for (int i = own.count - 1; i >= 0; i--) {
		const char *name = script_name(script, own.data[i]);
		script_fission(script, own.data[i], 1, w->nest->stages[0].acc, SCOPE_REG, name);
		vec_push(w->arena, &behind, name);
	}
	const char *slice = script_name(script, "slice"), *terms[] = {NULL, NULL};
	int nterm = cut_slice(w, product, size, slice, terms);
	StrVec order = {0};
	vec_push(w->arena, &order, slice);
	for (int i = 0; i < nterm; i++)
		vec_push(w->arena, &order, terms[i]);
	for (int i = 0; i < own.count; i++)
		vec_push(w->arena, &order, own.data[i]);
	script_reorder(script, order.count, order.data);
	if (columns.lane) {
		script_bind(script, columns.lane, BIND_VECTOR);
		script_bind(script, behind.data[0], BIND_VECTOR);
	}
	const StrVec of_terms = {.data = terms, .count = nterm};
	StrVec of_rows = side_loops(w, &rows), of_columns = side_loops(w, &columns);
	const char *left = gpu_share_slice(w, product, ROWS, &of_rows, &of_terms, slice);
	const char *right = gpu_share_slice(w, product, COLUMNS, &of_columns, &of_terms, slice);
	gpu_fetch_ahead(w, slice, left, right);
	script_bind(script, terms[nterm - 1], BIND_UNROLL);
	for (int i = 0; i < own.count; i++)
		if (own.data[i] != columns.lane)
			script_bind(script, own.data[i], BIND_UNROLL);
	for (int i = columns.lane ? 1 : 0; i < behind.count; i++)
		script_bind(script, behind.data[i], BIND_UNROLL);
}

bool
gpu_write_product(GpuWriter *w)
{
	Product product;
	if (w->target->is_plain || !find_product(w, &product))
		return false;
	if (gpu_write_matrix(w, &product))
		return true;
	ProductSize size = size_of(w, &product, &w->script.script->parts);
	write_product(w, &product, &size);
	return true;
}
