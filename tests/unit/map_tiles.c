/* usage: map_tiles [COUNT [SEED]]
 *
 * The sizes of a tile of a map are free: whatever they are, its script applies, and the loops
 * compute the same. Random maps across rows, rows that are gone through several times, sums down
 * columns and small products, each with random sizes; the interpreter of loops before and behind
 * all loop passes.
 */
#include <stdio.h>
#include <stdlib.h>

#include "kernels.h"
#include "loop_passes.h"
#include "lower/cpu/map.h"
#include "lower/lower.h"
#include "random_number.h"
#include "unit.h"

static uint64_t seed = 1;
static int wanted = 150;

static int
pick(int below)
{
	return (int)random_below(&seed, (unsigned)below);
}

/* ---- programs -------------------------------------------------------------------------------- */

static const char *
lines_text(void)
{
	int i = 8 + pick(50), j = 8 + pick(50), n = 1 + pick(3);
	const char *rows = pick(4) ? arena_printf(arena, "%d", i) : "I";
	return arena_printf(arena,
	                    "expr f(X: f32[%d,%d,%s], Z: f32[%s,%d]) -> Y {\n"
	                    " Y[n:%d, i:%s, j:%d]: f32 = X[n,j,i] * 2 + Z[i,j]\n}\n",
	                    n, j, rows, rows, j, n, rows, j);
}

static const char *
rows_text(void)
{
	bool is_short = pick(2); /* then lanes are rows, whose inputs are turned */
	int i = is_short ? 8 + pick(50) : 1 + pick(4), j = 1 + pick(is_short ? 20 : 200);
	const char *length = pick(4) ? arena_printf(arena, "%d", j) : "J";
	return arena_printf(arena,
	                    "expr f(X: f32[%d,%s], Z: f32[%s]) -> Y {\n"
	                    " M[i:%d]: f32 = max(k:%s) X[i,k]\n"
	                    " Y[i:%d, j:%s]: f32 = (X[i,j] - M[i]) * Z[j]\n}\n",
	                    i, length, length, i, length, i, length);
}

static const char *
columns_text(void)
{
	int k = 1 + pick(40), n = 8 + pick(300);
	return arena_printf(arena,
	                    "expr f(X: f32[%d,%d]) -> Y {\n"
	                    " M[n:%d]: f32 = max(k:%d) X[k,n]\n"
	                    " Y[j:%d, n:%d]: f32 = X[j,n] - M[n]\n}\n",
	                    k, n, n, k, k, n);
}

static const char *
product_text(void)
{
	int t = 1 + pick(8), p = 1 + pick(30), k = 1 + pick(6);
	return arena_printf(arena,
	                    "expr f(B: f32[%d,%d], X: f32[%d,%d]) -> Y {\n"
	                    " Y[t:%d, p:%d]: f32 = sum(k:%d) B[t,k] * X[k,p]\n}\n",
	                    t, k, k, p, t, p, k);
}

/* ---- tiles ----------------------------------------------------------------------------------- */

static int with_lines, with_blocks, with_short, with_ahead, with_turns, with_rows;

static const Script *
random_script(Arena *into, const Group *group, const Target *target, const Nest *nest,
              int candidate)
{
	const char *reason;
	const TileTask *task = roller_task(into, group->program, target, &reason);
	MapTile tile = map_tile(task, group, target, 0);
	(void)candidate;
	if (tile.lines && pick(2)) {
		bool has_tiles = tile.turned.count > 0; /* of registers: these have their size */
		tile.tall = pick(2) ? (1 + pick(4)) * tile.lines : 0;
		tile.wide = tile.tall ? (1 + pick(4)) * tile.piece : 0;
		tile.lines = has_tiles ? tile.lines : 1 + pick(30);
	}
	if (tile.piece && tile.turned.count == 0)
		tile.piece = 8 * (1 + pick(20));
	if (tile.rows > 0 && tile.counter < 0 && pick(2))
		tile.rows = 1 + pick(6);
	if (tile.lane < 0 && pick(3))
		tile.ahead = 1 + pick(80);
	tile.cache = 1 + pick(2);
	for (int s = 0; s < group->program->nstage && tile.takes_turns; s++)
		tile.is_streamed[s] = group->program->stages[s]->kind == STAGE_reduce && pick(2);
	with_lines += tile.lines > 0;
	with_blocks += tile.tall > 0;
	with_short += tile.lines == 0 && tile.turned.count > 0;
	with_ahead += tile.ahead > 0;
	with_turns += tile.takes_turns;
	with_rows += tile.rows > 0;
	return map_write(task, group, &tile, nest);
}

/* ---- the test -------------------------------------------------------------------------------- */

static Kernel *
lowered(const char *text, const Maker *maker)
{
	static const Loc none = {0};
	Device device = *device_find("cpu:x86-64-v3");
	Target target = {.device = &device};
	device.maker = maker;
	const Program *program = program_parse(ctx, "tiles.e", text);
	const Dim *const **dense =
		NEW_N(arena, const Dim *const *, program->ninput + program->noutput + 1);
	return lower_group(arena, program, dense, "k", &none, "", &target, 0);
}

static void
try_one(void)
{
	const char *const texts[] = {lines_text(), rows_text(), columns_text(), product_text()};
	const char *text = texts[pick(countof(texts))];
	Maker random = maker_cpu;
	random.script = random_script;
	Kernel *plain = lowered(text, &maker_cpu), *tiled = lowered(text, &random);
	plain->script = NULL;
	const Array *expected = evaluated(plain);
	const char *loops = printed(tiled);
	take_passes(tiled);
	const Array *given = evaluated(tiled);
	ck_assert_msg(array_bytes(expected) == array_bytes(given) &&
	                  memcmp(expected->data, given->data, array_bytes(given)) == 0,
	              "%s\n%s", text, loops);
}

START_TEST(tiles)
{
	for (int i = 0; i < wanted; i++) {
		setup();
		try_one();
		teardown();
	}
	printf("%d with lines (%d in blocks), %d of short rows, %d fetch ahead, %d take turns, %d with "
	       "rows\n",
	       with_lines, with_blocks, with_short, with_ahead, with_turns, with_rows);
	ck_assert_int_gt(with_lines, 0);
	ck_assert_int_gt(with_blocks, 0);
	ck_assert_int_gt(with_short, 0);
	ck_assert_int_gt(with_ahead, 0);
	ck_assert_int_gt(with_turns, 0);
	ck_assert_int_gt(with_rows, 0);
}
END_TEST

/* As many reads as fusing makes of a chain of additions still run in lanes. */
START_TEST(many_reads)
{
	enum { READS = 80 };
	setup();
	Buf inputs = {.arena = arena}, sum = {.arena = arena};
	for (int i = 0; i < READS; i++) {
		buf_printf(&inputs, "%sX%d: f32[1000]", i ? ", " : "", i);
		buf_printf(&sum, "%sX%d[i]", i ? " + " : "", i);
	}
	const Kernel *kernel =
		lowered(arena_printf(arena, "expr f(%s) -> Y {\n Y[i:1000]: f32 = %s\n}\n",
	                         buf_text(&inputs), buf_text(&sum)),
	            &maker_cpu);
	ck_assert_int_eq(kernel->script->steps.count, 1);
	ck_assert_int_eq(kernel->script->steps.data[0].bind, BIND_VECTOR);
	teardown();
}
END_TEST

int
main(int argc, char **argv)
{
	wanted = argc > 1 ? atoi(argv[1]) : wanted;
	seed = argc > 2 ? strtoull(argv[2], NULL, 10) : seed;
	TCase *tcase = tcase_create("tiles");
	tcase_add_test(tcase, tiles);
	tcase_add_test(tcase, many_reads);
	return unit_run(tcase);
}
