/* product_tiles(): tiles of a product by Roller (src/roller), the best by its model first.
 *
 * The tile in registers is that of a program of Roller's. Around it channels stand outside or
 * inside of positions, or all loops in blocks of the size that Roller has for the second cache.
 * What each cache then holds follows from the loops: the innermost ones as long as they fit.
 */
#include <stdlib.h>
#include <string.h>

#include "lower/cpu/product.h"
#include "roller/roller.h"

enum { PROGRAMS = 96, MOST_TILES = 4 * PROGRAMS };

typedef struct Choice {
	ProductTile tile;
	double seconds;
	int number;
} Choice;

typedef struct Tiles {
	Product *p;
	TileTask task;
	int count;
	Choice *choices;
} Tiles;

static int
axis_of(const Tiles *t, int iter)
{
	return t->task.axis_of[0][iter];
}

static int64_t
least(int64_t a, int64_t b)
{
	return a < b ? a : b;
}

/* ---- what the model is asked ----------------------------------------------------------------- */

/* So much more of an axis, if the level has room for that; false: only for a part of it. */
static bool
widen(const Tiles *t, TileProgram *program, int level, int axis, int64_t size)
{
	int64_t *at = &program->tile[level][axis], whole = least(size, t->task.extents[axis]);
	int64_t room = t->task.device->levels[level].bytes / 2, kept = *at;
	*at = whole > kept ? whole : kept;
	if (program_footprint(&t->task, program, level) <= room)
		return true;
	*at = kept;
	for (int64_t next; (next = *at * 2) < whole; *at = next) {
		TileProgram larger = *program;
		larger.tile[level][axis] = next;
		if (program_footprint(&t->task, &larger, level) > room)
			break;
	}
	return false;
}

/* The part of the loops that stays in a cache, from the inside: steps of a round, tiles of a block,
 * rounds, then blocks. */
static void
fill_level(const Tiles *t, const ProductTile *tile, TileProgram *program, int level)
{
	const Product *p = t->p;
	int nsum = p->stage->nreduce, nshared = p->group->nshared;
	bool is_open = true;
	for (int i = nsum - 1; i >= 0 && is_open; i--)
		is_open = widen(t, program, level, axis_of(t, p->stage->nloop + i),
		                tile->terms[i] ? tile->terms[i] : INT64_MAX);
	for (int turn = 0; turn < 2; turn++) {
		for (int i = nshared - 1; i >= 0 && is_open; i--) {
			int k = tile->order[i], iter = p->group->map[0][k];
			int64_t size = turn == 1 ? INT64_MAX : tile->block[k];
			is_open = widen(t, program, level, axis_of(t, iter), size);
		}
		for (int i = nsum - 1; i >= 0 && is_open && turn == 0; i--)
			is_open = widen(t, program, level, axis_of(t, p->stage->nloop + i), INT64_MAX);
	}
}

static double
seconds_of(const Tiles *t, const ProductTile *tile)
{
	TileProgram program;
	memset(&program, 0, sizeof program);
	program.cut = program.sharers = program.stages = program.threads = 1;
	for (int a = 0; a < t->task.naxis; a++)
		program.tile[0][a] = 1;
	for (int k = 0; k < t->p->group->nshared; k++)
		program.tile[0][axis_of(t, t->p->group->map[0][k])] = tile->registers[k];
	for (int l = 1; l < t->task.nlevel; l++) {
		memcpy(program.tile[l], program.tile[l - 1], sizeof program.tile[l]);
		fill_level(t, tile, &program, l);
	}
	return predict_seconds(&t->task, &program);
}

/* ---- tiles ----------------------------------------------------------------------------------- */

static void
add(Tiles *t, const ProductTile *tile)
{
	if (!product_is_legal(t->p, tile) || t->count == MOST_TILES)
		return;
	for (int i = 0; i < t->count; i++)
		if (memcmp(&t->choices[i].tile, tile, sizeof *tile) == 0)
			return;
	t->choices[t->count] = (Choice){*tile, seconds_of(t, tile), t->count};
	t->count++;
}

/* Loops along which w moves first, or those along which x does; else as they are. */
static void
order_loops(const Tiles *t, ProductTile *tile, bool channels_first)
{
	const Product *p = t->p;
	int count = 0;
	for (int part = 0; part < 3; part++)
		for (int k = 0; k < p->group->nshared; k++) {
			int iter = p->group->map[0][k];
			bool x = expr_uses_iter(p->x, iter), w = expr_uses_iter(p->w, iter);
			int mine = x == w ? 0 : w == channels_first ? 1 : 2;
			if (mine == part)
				tile->order[count++] = k;
		}
}

static void
add_program(Tiles *t, const TileProgram *program)
{
	const Product *p = t->p;
	ProductTile tile;
	memset(&tile, 0, sizeof tile);
	for (int k = 0; k < p->group->nshared; k++) {
		int64_t size = program->tile[0][axis_of(t, p->group->map[0][k])];
		int64_t extent = product_extent(p, k);
		tile.registers[k] = k == p->lane ? p->lanes : extent > 0 ? least(size, extent) : 1;
	}
	for (int channels_first = 0; channels_first < 2; channels_first++) {
		order_loops(t, &tile, channels_first);
		add(t, &tile);
	}
	int level = t->task.nlevel - 1 < 2 ? t->task.nlevel - 1 : 2;
	for (int k = 0; k < p->group->nshared; k++) {
		int64_t size = program->tile[level][axis_of(t, p->group->map[0][k])];
		int64_t extent = product_extent(p, k), step = tile.registers[k];
		size = least(size, extent) / step * step;
		tile.block[k] = extent % step == 0 && size < extent ? size : 0;
	}
	for (int i = 0; i < p->stage->nreduce; i++) {
		int64_t size = program->tile[level][axis_of(t, p->stage->nloop + i)];
		tile.terms[i] = size < product_terms(p, i) ? size : 0;
	}
	add(t, &tile);
}

static int
compare(const void *a, const void *b)
{
	const Choice *p = a, *q = b;
	if (p->seconds != q->seconds)
		return p->seconds < q->seconds ? -1 : 1;
	return p->number - q->number;
}

int
product_tiles(Product *p, int most, ProductTile *tiles)
{
	const char *reason;
	int visited;
	Arena *arena = arena_new_in(p->coster.arena, "tiles"); /* a task is large */
	const TileTask *task = roller_task(arena, p->group->program, p->coster.target, &reason);
	if (!task)
		return 0;
	Tiles t = {.p = p, .task = *task, .choices = NEW_N(arena, Choice, MOST_TILES)};
	t.task.lane = axis_of(&t, p->group->map[0][p->lane]);
	const TilePrograms found = roller_tiles(&t.task, PROGRAMS, &visited);
	for (int i = 0; i < found.count; i++)
		add_program(&t, &found.data[i]);
	if (t.count > 0)
		qsort(t.choices, (size_t)t.count, sizeof *t.choices, compare);
	int count = t.count < most ? t.count : most;
	for (int i = 0; i < count; i++)
		tiles[i] = t.choices[i].tile;
	arena_reset(arena);
	return count;
}
