/* product_write(): the script for a tile of a product (product.h).
 *
 *     split q 14 -> tile, u              14 positions of a row: each vector that is loaded of W
 *     reorder f, p, tile, b, u           serves all of them, and each of their sums takes one
 *     bind b @vector                     number of X
 *     fission u acc @reg -> u_1
 *     reorder c, r, s, u
 *     bind s @unroll                     what the border tests is then the same for a whole tile
 *
 * Where a sum is done in rounds and a block has several tiles, sums get memory, which each round
 * adds to from registers (docs/schedules.md, "Blocks of the sum").
 */
#include "lower/cpu/product.h"

typedef struct Writer {
	const Product *p;
	const ProductTile *tile;
	const Nest *nest;
	ScriptWriter script;
	/* The two or three of each shared loop: NULL where there is none. */
	const char *blocks[PRODUCT_LOOPS], *tiles[PRODUCT_LOOPS], *inner[PRODUCT_LOOPS];
	/* Of each loop of the sum: of rounds, and of the steps of one. */
	const char *rounds[PRODUCT_LOOPS], *steps[PRODUCT_LOOPS];
	const char *lane;
	StrVec outer, turns, registers; /* loops of blocks; of tiles in one; of a tile but its lanes */
	int parallel;                   /* of the outer loops so many */
	bool is_kept;                   /* sums wait in memory */
} Writer;

static void
add_loop(const Writer *w, StrVec *loops, const char *loop)
{
	if (loop)
		vec_push(w->script.arena, loops, loop);
}

static void
add_all(const Writer *w, StrVec *loops, const StrVec *more)
{
	for (int i = 0; i < more->count; i++)
		vec_push(w->script.arena, loops, more->data[i]);
}

static void
reorder(Writer *w, const StrVec *loops)
{
	script_reorder(&w->script, loops->count, loops->data);
}

/* A loop in pieces of so many: their loop, and in *inner the loop of a piece. */
static const char *
write_split(Writer *w, const char *loop, int64_t size, const char *outer, const char **inner)
{
	outer = script_name(&w->script, outer);
	*inner = script_name(&w->script, *inner);
	script_split(&w->script, loop, size, outer, *inner);
	return outer;
}

/* ---- shared loops ---------------------------------------------------------------------------- */

static bool
is_row(const Product *p, int k)
{
	return expr_uses_iter(p->x, p->group->map[0][k]);
}

/* Whether the last tile is shorter, or may be. */
static bool
is_ragged(const Writer *w, int k)
{
	int64_t extent = product_extent(w->p, k);
	return w->tile->registers[k] > 1 && (extent == 0 || extent % w->tile->registers[k] != 0);
}

static void
split_shared(Writer *w, int k, const char *outer, const char *inner)
{
	const ProductTile *tile = w->tile;
	const char *loop = w->nest->shared[k]->var->name;
	bool is_whole = k == w->p->lane && !w->p->is_cut;
	if (tile->registers[k] > 1 && !is_whole) {
		loop = write_split(w, loop, tile->registers[k], outer, &inner);
		w->inner[k] = inner;
	} else if (is_whole) {
		w->inner[k] = loop;
		return;
	}
	w->tiles[k] = loop;
	if (tile->block[k] == 0)
		return;
	const char *turns = outer;
	w->blocks[k] = write_split(w, loop, tile->block[k] / tile->registers[k], "piece", &turns);
	w->tiles[k] = turns;
}

/* Of the tile, along rows or along other channels. */
static int64_t
sums_of(const Writer *w, bool of_rows)
{
	int64_t count = 1;
	for (int k = 0; k < w->p->group->nshared; k++)
		if (k != w->p->lane && is_row(w->p, k) == of_rows)
			count *= w->tile->registers[k];
	return count;
}

static void
split_all(Writer *w)
{
	const Product *p = w->p;
	for (int k = 0; k < p->group->nshared; k++)
		if (k != p->lane && is_row(p, k))
			split_shared(w, k, "tile", "u");
	for (int k = 0; k < p->group->nshared; k++)
		if (k != p->lane && !is_row(p, k))
			split_shared(w, k, "blocks", "v");
	split_shared(w, p->lane, "vectors", "lane");
	w->lane = w->inner[p->lane];
	/* What stands inside is loaded once and kept in registers while the other factor goes by. */
	bool rows_inside = sums_of(w, true) < sums_of(w, false);
	for (int turn = 0; turn < 2; turn++)
		for (int k = 0; k < p->group->nshared; k++)
			add_loop(w, &w->registers,
			         k != p->lane && is_row(p, k) == (turn == rows_inside) ? w->inner[k] : NULL);
}

/* Blocks, then tiles in their turns. Loops with a shorter last tile are cut where that begins, so
 * they are serial, and inside. */
static void
order_shared(Writer *w)
{
	for (int turn = 0; turn < 2; turn++) {
		for (int i = 0; i < w->p->group->nshared; i++) {
			int k = w->tile->order[i];
			const char *loop = w->blocks[k] ? w->blocks[k] : w->tiles[k];
			add_loop(w, &w->outer, is_ragged(w, k) == (turn == 1) ? loop : NULL);
		}
		w->parallel = turn == 0 ? w->outer.count : w->parallel;
	}
	for (int i = 0; i < w->p->group->nshared; i++) {
		int k = w->tile->order[i];
		add_loop(w, &w->turns, w->blocks[k] ? w->tiles[k] : NULL);
	}
}

/* What is parallel, tiles in turns, lanes, the tile. Sums that are kept get their dims from the
 * inside out, so tiles stand inside the lanes until then. */
static void
write_shared(Writer *w)
{
	StrVec loops = {0};
	order_shared(w);
	add_all(w, &loops, &w->outer);
	if (!w->is_kept)
		add_all(w, &loops, &w->turns);
	add_loop(w, &loops, w->lane);
	add_all(w, &loops, &w->registers);
	if (w->is_kept)
		add_all(w, &loops, &w->turns);
	reorder(w, &loops);
	for (int i = 0; i < w->parallel; i++)
		script_bind(&w->script, w->outer.data[i], BIND_PARALLEL);
}

/* Behind a tile, its results are turned, so that runs of a row are stored. */
static void
write_turned(Writer *w)
{
	const NestStage *last = &w->nest->stages[w->p->group->program->nstage - 1];
	const StrVec *around = w->turns.count ? &w->turns : &w->outer;
	const char *turned = script_name(&w->script, "turned");
	ScriptStep *step = script_step(&w->script, PRIM_cache_write, around->data[around->count - 1]);
	step->scope = SCOPE_STACK;
	vec_push(w->script.arena, &step->buffers, last->last->tensor.name);
	vec_push(w->script.arena, &step->made, turned);
	script_bind(&w->script, arena_printf(w->script.arena, "%s_%d", turned, w->registers.count),
	            BIND_VECTOR);
}

/* Whether a tile takes more than one index of this dim of x. */
static bool
varies_in_tile(const Writer *w, const Expr *index)
{
	const Product *p = w->p;
	for (int i = 0; i < p->stage->nreduce; i++)
		if (product_terms(p, i) != 1 && expr_uses_iter(index, p->stage->nloop + i))
			return true;
	for (int k = 0; k < p->group->nshared; k++)
		if (expr_uses_iter(index, p->group->map[0][k]) &&
		    (w->blocks[k] ? w->tiles[k] != NULL : w->inner[k] != NULL))
			return true;
	return false;
}

/* What tiles read of x is turned into f32 in front of them, in whole vectors. */
static void
write_widened(Writer *w)
{
	const Product *p = w->p;
	const Program *program = p->group->program;
	const char *copy = script_name(&w->script, "wide");
	int input = 0, rank = 0;
	while (program->inputs[input] != p->x->tensor)
		input++;
	for (int d = 0; d < p->x->argc; d++)
		rank += varies_in_tile(w, p->x->arg[d]);
	if (w->outer.count == 0 || rank == 0)
		return;
	ScriptStep *step = script_step(&w->script, PRIM_cache_read, w->outer.data[w->outer.count - 1]);
	step->scope = SCOPE_STACK;
	vec_push(w->script.arena, &step->buffers, w->nest->arguments[input]->tensor.name);
	vec_push(w->script.arena, &step->made, copy);
	script_bind(&w->script, arena_printf(w->script.arena, "%s_%d", copy, rank - 1), BIND_VECTOR);
}

/* What w stands for is computed once for all rows, in whole vectors. */
static void
write_precomputed(Writer *w)
{
	const Product *p = w->p;
	const Program *program = p->group->program;
	const char *copy = script_name(&w->script, "panel");
	int input = 0;
	while (program->inputs[input] != p->w->tensor)
		input++;
	ScriptStep *step = script_step(&w->script, PRIM_precompute, w->outer.data[w->parallel - 1]);
	step->scope = SCOPE_SCRATCH;
	vec_push(w->script.arena, &step->buffers, w->nest->arguments[input]->tensor.name);
	vec_push(w->script.arena, &step->made, copy);
	int rank = 2; /* terms and lanes */
	for (int k = 0; k < p->group->nshared; k++)
		rank += k != p->lane && !is_row(p, k) && w->inner[k];
	script_bind(&w->script, arena_printf(w->script.arena, "%s_%d", copy, rank - 1), BIND_VECTOR);
}

/* ---- the sum --------------------------------------------------------------------------------- */

static void
split_sum(Writer *w)
{
	for (int i = 0; i < w->p->stage->nreduce; i++) {
		const Expr *iter = w->nest->stages[0].iters[w->p->stage->nloop + i];
		w->steps[i] = iter->var->name;
		if (w->tile->terms[i] > 0) {
			const char *steps = "step";
			w->rounds[i] = write_split(w, w->steps[i], w->tile->terms[i], "round", &steps);
			w->steps[i] = steps;
		}
	}
}

/* Behind the sums of a loop of the tile comes another one for what is done with them. */
static const char *
write_fission(Writer *w, const char *loop, Scope scope)
{
	const char *behind = script_name(&w->script, loop);
	script_fission(&w->script, loop, 1, w->nest->stages[0].acc, scope, behind);
	return behind;
}

static void
add_sum(const Writer *w, StrVec *loops, const char *const *of)
{
	for (int i = 0; i < w->p->stage->nreduce; i++)
		add_loop(w, loops, of[i]);
}

static void
write_unrolled(Writer *w)
{
	bool straight[PRODUCT_LOOPS];
	product_straight(w->p, w->tile, straight);
	for (int i = 0; i < w->p->stage->nreduce; i++)
		if (straight[i])
			script_bind(&w->script, w->steps[i], BIND_UNROLL);
	for (int i = 0; i < w->registers.count; i++)
		script_bind(&w->script, w->registers.data[i], BIND_UNROLL);
}

static void
write_sum(Writer *w)
{
	StrVec loops = {0};
	for (int i = w->registers.count - 1; i >= 0; i--)
		script_bind(&w->script, write_fission(w, w->registers.data[i], SCOPE_REG), BIND_UNROLL);
	add_sum(w, &loops, w->rounds);
	add_sum(w, &loops, w->steps);
	add_all(w, &loops, &w->registers);
	reorder(w, &loops);
	write_unrolled(w);
}

/* The sums of a block get memory: the loops that clear them, those that add, those behind. */
static void
write_kept_sum(Writer *w)
{
	StrVec from = {0}, clear = {0}, behind = {0}, loops = {0};
	add_loop(w, &from, w->lane);
	add_all(w, &from, &w->registers);
	add_all(w, &from, &w->turns);
	for (int i = from.count - 1; i >= 0; i--) {
		const char *loop = from.data[i];
		add_loop(w, &behind, write_fission(w, loop, SCOPE_SCRATCH));
		add_loop(w, &clear, arena_printf(w->script.arena, "%s_init", loop));
	}
	reorder(w, &clear);
	add_sum(w, &loops, w->rounds);
	add_all(w, &loops, &w->turns);
	add_loop(w, &loops, w->lane);
	add_sum(w, &loops, w->steps);
	add_all(w, &loops, &w->registers);
	reorder(w, &loops);
	reorder(w, &behind);
	script_bind(&w->script, clear.data[clear.count - 1], BIND_VECTOR);
	script_bind(&w->script, behind.data[behind.count - 1], BIND_VECTOR);
	if (w->registers.count == 0)
		return;
	const char *sums = script_name(&w->script, "sums");
	ScriptStep *step = script_step(&w->script, PRIM_cache_write, w->lane);
	step->scope = SCOPE_REG;
	vec_push(w->script.arena, &step->buffers, w->nest->stages[0].acc[0]->tensor.name);
	vec_push(w->script.arena, &step->made, sums);
	for (int i = 0; i < w->registers.count; i++)
		script_bind(&w->script, arena_printf(w->script.arena, "%s_%d", sums, i), BIND_UNROLL);
}

const Script *
product_write(const Product *p, const ProductTile *tile, const Nest *nest)
{
	Writer w = {
		.p = p, .tile = tile, .nest = nest, .script = script_writer(p->coster.arena, nest->names)};
	bool has_turns = false, has_rounds = false;
	for (int k = 0; k < p->group->nshared; k++)
		has_turns |= tile->block[k] > 0;
	for (int i = 0; i < p->stage->nreduce; i++)
		has_rounds |= tile->terms[i] > 0;
	w.is_kept = has_turns && has_rounds;
	split_all(&w);
	split_sum(&w);
	write_shared(&w);
	if (p->widens_x)
		write_widened(&w);
	if (p->is_turned)
		write_turned(&w);
	if (w.is_kept)
		write_kept_sum(&w);
	else {
		script_bind(&w.script, w.lane, BIND_VECTOR);
		write_sum(&w);
		if (p->precomputes && w.parallel > 0)
			write_precomputed(&w);
		return w.script.script;
	}
	script_bind(&w.script, w.lane, BIND_VECTOR);
	write_unrolled(&w);
	return w.script.script;
}
