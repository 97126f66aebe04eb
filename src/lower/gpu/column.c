/* Columns: a thread has some places of a window's result below each other, and reads what they
 * share once, into registers.
 *
 *     Y[n,c,p,q] = sum(r,s) X[n,c,p+r,q+s] * W[c,r,s]
 *
 *     for s in 5 {
 *       column: f32[11] @reg = X[n, c, 7*y .. 7*y+11, q+s]
 *       for r in 5, u in 7 @unroll
 *         acc[u] += column[u+r] * W[c, r, s]      55 reads for 7 places, not 175
 *     }
 *
 * Sums are in another order: that is for -O3. How many places a thread has divides the extent:
 * which register is meant has to be known when compiling. Lanes have neighbours of a row; a block
 * has as many columns of one image as there are, and several images where these are small.
 */
#include "lower/gpu/gpu.h"

enum {
	LEAST_PLACES = 3, /* of a thread: fewer share little */
	GOOD_PLACES = 8,
	MOST_PLACES = 14,
	MOST_COLUMN = 32, /* registers */
	MOST_TERMS = 112, /* straight code */
	MOST_LANES = 64,
	MOST_IMAGES = 64, /* threads along z */
};

typedef struct Column {
	const Expr *read;
	int term;                  /* that slides along the column; the others stand around it */
	int64_t step, reach;       /* by which a place moves it; what one place reads of it */
	int64_t terms, places;     /* of a thread */
	int64_t rows, lanes, many; /* threads along y, x and z */
} Column;

static int
outer_loop(const GpuWriter *w)
{
	return w->group->nshared - 2;
}

static const Dim *
extent_of(const GpuWriter *w, int k)
{
	return w->group->root->iters[w->group->shared[k]].hi;
}

/* ---- what is one ----------------------------------------------------------------------------- */

/* The one dim that the loop of the column moves, and the one term that moves it, too. */
static bool
find_column(const GpuWriter *w, Column *column)
{
	const Stage *stage = w->group->program->stages[0];
	int loop = w->group->map[0][outer_loop(w)], seen = 0;
	int64_t by;
	for (int d = 0; d < column->read->argc; d++) {
		const Dim **of = gpu_coefficients(stage, column->read->arg[d]);
		if (!of)
			return false;
		if (!of[loop])
			continue;
		if (seen++ > 0 || !dim_is_const(of[loop], &column->step) || column->step < 1)
			return false;
		column->term = -1;
		for (int i = 0; i < stage->nreduce; i++) {
			if (!of[stage->nloop + i])
				continue;
			if (column->term >= 0 || !dim_is_const(of[stage->nloop + i], &by) || by < 1 ||
			    !dim_is_const(stage->iters[stage->nloop + i].hi, &column->terms))
				return false;
			column->term = i;
			column->reach = by * (column->terms - 1) + 1;
		}
	}
	return seen == 1 && column->term >= 0 && stage->nreduce > 1;
}

/* ---- how large ------------------------------------------------------------------------------- */

/* The largest divisor that is no larger; 1 always is one. */
static int64_t
divisor_of(int64_t number, int64_t most)
{
	int64_t divisor = most < number ? most : number;
	while (divisor > 1 && number % divisor != 0)
		divisor--;
	return divisor > 1 ? divisor : 1;
}

static bool
are_places(const GpuWriter *w, const Column *column, int64_t extent, int64_t places)
{
	const Device *device = w->target->device;
	double threads = (double)device->units * device->gpu->loading;
	return extent % places == 0 && column->step * (places - 1) + column->reach <= MOST_COLUMN &&
	       column->terms * places <= MOST_TERMS && w->group->points / (double)places >= threads;
}

static bool
size_column(const GpuWriter *w, Column *column)
{
	int64_t extent, width = probe_dim(w->target, extent_of(w, outer_loop(w) + 1));
	if (!dim_is_const(extent_of(w, outer_loop(w)), &extent) || width < 1)
		return false;
	for (int64_t n = GOOD_PLACES; n >= LEAST_PLACES && !column->places; n--)
		column->places = are_places(w, column, extent, n) ? n : 0;
	for (int64_t n = GOOD_PLACES + 1; n <= MOST_PLACES && !column->places; n++)
		column->places = are_places(w, column, extent, n) ? n : 0;
	if (!column->places)
		return false;
	int64_t parts = (width + MOST_LANES - 1) / MOST_LANES;
	column->lanes = (width + parts - 1) / parts;
	column->rows = divisor_of(extent / column->places, GPU_BLOCK / column->lanes);
	column->many = GPU_BLOCK / (column->lanes * column->rows);
	column->many = column->many < MOST_IMAGES ? column->many : MOST_IMAGES;
	return true;
}

/* ---- the script ------------------------------------------------------------------------------ */

/* The loops of the grid and of a block's threads: of images, rows and lanes. */
typedef struct Threads {
	const char *block[3], *thread[3]; /* NULL: none */
} Threads;

/* The loops around a window as one, of which a block has several iterations if they are small. */
static void
write_images(GpuWriter *w, const Column *column, const StrVec *loops, Threads *threads)
{
	ScriptWriter *script = &w->script;
	const char *all = loops->count > 0 ? gpu_fuse(script, loops->count, loops->data) : NULL;
	threads->block[0] = all;
	if (!all || column->many == 1)
		return;
	threads->block[0] = script_name(script, "block");
	threads->thread[0] = script_name(script, "z");
	gpu_split(script, PRIM_split_whole, all, column->many, threads->block[0], threads->thread[0]);
	const char *order[BOUND_AXES];
	for (int i = 0; i < GRID_AXES; i++) {
		order[i] = threads->block[i];
		order[GRID_AXES + i] = threads->thread[i];
	}
	script_reorder(script, BOUND_AXES, order);
}

/* The name of the loop of a thread's places. */
static const char *
write_threads(GpuWriter *w, const Column *column)
{
	static const Bind axes[] = {BIND_THREAD_Z, BIND_THREAD_Y, BIND_THREAD_X};
	ScriptWriter *script = &w->script;
	int outer = outer_loop(w);
	const char *p = w->nest->shared[outer]->var->name, *q = w->nest->shared[outer + 1]->var->name;
	const char *rows = script_name(script, "rows"), *u = script_name(script, "u");
	Threads of = {{NULL, script_name(script, "block"), script_name(script, "block")},
	              {NULL, script_name(script, "y"), script_name(script, "x")}};
	int64_t most[GRID_AXES] = {1, gpu_most(w, outer), gpu_most(w, outer + 1)};
	StrVec order = {0}, images = {0};
	gpu_split(script, PRIM_split_whole, p, column->rows * column->places, of.block[1], rows);
	script_split(script, rows, column->places, of.thread[1], u);
	gpu_split(script, PRIM_split_whole, q, column->lanes, of.block[2], of.thread[2]);
	for (int k = 0; k < outer; k++) {
		vec_push(w->arena, &images, w->nest->shared[k]->var->name);
		vec_push(w->arena, &order, w->nest->shared[k]->var->name);
		most[0] = probe_times(most[0], gpu_most(w, k));
	}
	const char *const inside[] = {of.block[1], of.block[2], of.thread[1], of.thread[2], u};
	for (size_t i = 0; i < countof(inside); i++)
		vec_push(w->arena, &order, inside[i]);
	script_reorder(script, order.count, order.data);
	write_images(w, column, &images, &of);
	gpu_bind_blocks(w, of.block, most);
	for (int i = 0; i < GRID_AXES; i++)
		if (of.thread[i])
			script_bind(script, of.thread[i], axes[i]);
	return u;
}

bool
gpu_write_column(GpuWriter *w, const Expr *read)
{
	Column column = {.read = read};
	ScriptWriter *script = &w->script;
	const Stage *stage = w->group->program->stages[0];
	const NestStage *nest = &w->nest->stages[0];
	if (!w->target->is_finite || !find_column(w, &column) || !size_column(w, &column))
		return false;
	const char *u = write_threads(w, &column), *behind = script_name(script, u);
	const char *term = nest->iters[stage->nloop + column.term]->var->name;
	StrVec order = {0};
	script_fission(script, u, nest->nacc, nest->acc, SCOPE_REG, behind);
	for (int i = 0; i < stage->nreduce; i++)
		if (i != column.term)
			vec_push(w->arena, &order, nest->iters[stage->nloop + i]->var->name);
	const char *around = order.data[order.count - 1];
	vec_push(w->arena, &order, term);
	vec_push(w->arena, &order, u);
	script_reorder(script, order.count, order.data);
	const char *made = script_name(script, "column");
	ScriptStep *step = script_step(script, PRIM_cache_read, around);
	vec_push(w->arena, &step->buffers, gpu_argument(w, read->tensor));
	step->scope = SCOPE_REG;
	vec_push(w->arena, &step->made, made);
	const char *const straight[] = {arena_printf(w->arena, "%s_0", made), term, u, behind};
	for (size_t i = 0; i < countof(straight); i++)
		script_bind(script, straight[i], BIND_UNROLL);
	return true;
}
