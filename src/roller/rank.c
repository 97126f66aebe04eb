/* roller_tiles(): what is constructed, smaller and cut variants of it, the best by the model. */
#include <stdlib.h>
#include <string.h>

#include "roller/roller.h"

enum { LEAST_STEPS = 4, CROWD = 4 };

/* ---- variants -------------------------------------------------------------------------------- */

/* Half of an axis in all memories, each a multiple of the one before. Whether it got shorter. */
static bool
halve(const TileTask *task, TileProgram *program, int axis)
{
	int last = task->nlevel - 1;
	int64_t step = task->unit[axis], whole = program->tile[last][axis];
	for (int l = 0; l <= last; l++) {
		int64_t half = (program->tile[l][axis] + 1) / 2;
		half = (half + step - 1) / step * step;
		program->tile[l][axis] = step =
			half < program->tile[l][axis] ? half : program->tile[l][axis];
	}
	return program->tile[last][axis] < whole;
}

/* The axis that saves least becomes half as long. */
static bool
shrink(const TileTask *task, TileProgram *program)
{
	int last = task->nlevel - 1, worst = -1;
	double least = 0;
	for (int a = 0; a < task->naxis; a++) {
		TileProgram half = *program;
		if (task->axes[a].kind != AXIS_loop || !halve(task, &half, a))
			continue;
		double reuse = tile_reuse(task, &half, last, a, program->tile[last][a]);
		if (worst < 0 || reuse < least) {
			worst = a;
			least = reuse;
		}
	}
	return worst >= 0 && halve(task, program, worst);
}

static int64_t
steps_of_sum(const TileTask *task, const TileProgram *program)
{
	int64_t steps = 1;
	for (int a = 0; a < task->naxis; a++)
		if (task->axes[a].kind == AXIS_term)
			steps = probe_times(steps,
			                    (task->extents[a] + program->tile[1][a] - 1) / program->tile[1][a]);
	return steps;
}

/* Sums in 2, 4, 8 … pieces while there are too few, each of some steps. */
static void
cut_sum(const TileTask *task, const TileProgram *program, TilePrograms *programs)
{
	int last = task->nlevel - 1;
	int64_t steps = steps_of_sum(task, program), cut = 1;
	int64_t pieces = tile_count(task, program->tile[last], task->extents);
	while (pieces * cut < CROWD * task->device->units && steps / (cut * 2) >= LEAST_STEPS) {
		TileProgram part = *program;
		cut *= 2;
		part.cut = cut;
		vec_push(task->arena, programs, part);
	}
}

/* Whether all memories hold it; its threads and padding are filled in. */
static bool
fits_again(const TileTask *task, const TilePolicy *policy, TileProgram *program)
{
	bool is_fit = true;
	for (int l = 0; l < task->nlevel && is_fit; l++)
		is_fit = policy->fits(policy, task, program, l);
	return is_fit;
}

/* The same part of a tile for each thread, and half of the threads. Whether there are any left. */
static bool
halve_threads(const TileTask *task, TileProgram *program)
{
	int last = task->nlevel - 1, most = -1;
	int64_t threads = 1;
	for (int a = 0; a < task->naxis; a++) {
		int64_t along = program->tile[last][a] / program->tile[0][a];
		bool is_even = along % 2 == 0 && program->tile[last][a] % program->tile[0][a] == 0;
		if (task->axes[a].kind != AXIS_loop || !is_even || along < threads)
			continue;
		threads = along;
		most = a;
	}
	if (most < 0 || program->threads < task->device->issue)
		return false;
	program->tile[last][most] /= 2;
	return true;
}

/* What a piece can be besides, where there are few: smaller, or a part of each sum. */
static void
add_variants(const TileTask *task, const TilePolicy *policy, const TileProgram *program,
             TilePrograms *programs)
{
	TileProgram smaller = *program;
	int last = task->nlevel - 1;
	cut_sum(task, program, programs);
	while (task->device->threads > 1 && halve_threads(task, &smaller) &&
	       fits_again(task, policy, &smaller)) {
		vec_push(task->arena, programs, smaller);
		cut_sum(task, &smaller, programs);
	}
	smaller = *program;
	while (tile_count(task, smaller.tile[last], task->extents) < task->device->units &&
	       shrink(task, &smaller)) {
		if (!fits_again(task, policy, &smaller))
			continue;
		vec_push(task->arena, programs, smaller);
		cut_sum(task, &smaller, programs);
	}
}

/* ---- the best -------------------------------------------------------------------------------- */

static int
compare(const void *a, const void *b)
{
	const TileProgram *p = a, *q = b;
	if (p->seconds != q->seconds)
		return p->seconds < q->seconds ? -1 : 1;
	int order = memcmp(p->tile, q->tile, sizeof p->tile);
	return order != 0 ? order : (p->cut > q->cut) - (p->cut < q->cut);
}

static void
add_found(const TileTask *task, const TilePolicy *policy, TilePrograms *all, int *visited)
{
	TilePrograms found = construct_tiles(task, policy, visited);
	for (int i = 0; i < found.count; i++) {
		vec_push(task->arena, all, found.data[i]);
		add_variants(task, policy, &found.data[i], all);
	}
}

TilePrograms
roller_tiles(const TileTask *task, int most, int *visited)
{
	TilePrograms all = {0};
	int kept = 0;
	*visited = 0;
	for (int i = 0; i < TILE_POLICIES && (i < TILE_POLICIES - 1 || all.count == 0); i++) {
		TilePolicy policy = roller_policy(task, i);
		add_found(task, &policy, &all, visited);
	}
	for (int i = 0; i < all.count; i++)
		all.data[i].seconds = predict_seconds(task, &all.data[i]);
	if (all.count > 0)
		qsort(all.data, (size_t)all.count, sizeof *all.data, compare);
	for (int i = 0; i < all.count && kept < most; i++) {
		bool is_new = kept == 0 || compare(&all.data[kept - 1], &all.data[i]) != 0;
		if (is_new && all.data[i].seconds >= 0)
			all.data[kept++] = all.data[i];
	}
	all.count = kept;
	return all;
}
