/* usage: lower_tiles [COUNT [SEED]]
 *
 * Any legal tile of a product makes a script that applies, and loops that compute the same: random
 * products and convolutions, random tiles of them, the interpreter of loops before and behind all
 * loop passes. What is not legal is refused.
 */
#include <stdio.h>
#include <stdlib.h>

#include "kernels.h"
#include "lower/cpu/product.h"
#include "lower/lower.h"
#include "loop_passes.h"
#include "random_number.h"
#include "unit.h"

static uint64_t seed = 1;
static int wanted = 150;

static int
pick(int below)
{
	return (int)random_below(&seed, (unsigned)below);
}

static int
some(int most)
{
	return 1 + pick(most);
}

/* ---- products -------------------------------------------------------------------------------- */

/* The result's index and what stands behind the sum. */
static const char *
with_map(const char *dims, const char *index)
{
	return pick(2) ? arena_printf(arena, " Z[%s]: f32 = max(Y[%s], 0)\n}\n", dims, index) : "}\n";
}

static const char *
product_text(void)
{
	int f = some(6), m = 2 + pick(30), k = some(9), n = some(4);
	const char *batch = pick(3) ? arena_printf(arena, "%d", n) : "N";
	bool is_turned = pick(3) == 0;
	const char *dims = arena_printf(
		arena, is_turned ? "n:%s, f:%d, b:8, m:%d" : "n:%s, f:%d, m:%d, b:8", batch, f, m);
	const char *index = is_turned ? "n,f,b,m" : "n,f,m,b", *map = with_map(dims, index);
	return arena_printf(arena,
	                    "expr f(X: f32[%s,%d,%d], W: f32[%d,%d,8]) -> %s {\n"
	                    " Y[%s]: f32 = sum(k:%d) X[n,m,k] * W[f,k,b]\n%s",
	                    batch, m, k, f, k, *map == '}' ? "Y" : "Z", dims, k, map);
}

static const char *
window_text(void)
{
	int f = some(4), c = some(5), p = 1 + pick(8), q = 2 + pick(14), r = some(3), s = some(3);
	bool is_turned = pick(3) == 0;
	const char *dims =
		arena_printf(arena, is_turned ? "f:%d, b:8, p:%d, q:%d" : "f:%d, p:%d, q:%d, b:8", f, p, q);
	const char *index = is_turned ? "f,b,p,q" : "f,p,q,b", *map = with_map(dims, index);
	return arena_printf(arena,
	                    "expr f(X: f32[%d,%d,%d], W: f32[%d,%d,%d,%d,8]) -> %s {\n"
	                    " Y[%s]: f32 = sum(c:%d, r:%d, s:%d where 0 <= p+r-1, p+r-1 < %d, "
	                    "0 <= q+s-1, q+s-1 < %d) X[c,p+r-1,q+s-1] * W[f,c,r,s,b]\n%s",
	                    c, p, q, f, c, r, s, *map == '}' ? "Y" : "Z", dims, c, r, s, p, q, map);
}

static const char *
depthwise_text(void)
{
	int f = some(4), p = 1 + pick(8), q = 2 + pick(14), r = some(3), s = some(3);
	return arena_printf(arena,
	                    "expr f(X: f32[%d,%d,%d,8], W: f32[%d,%d,%d,8]) -> Y {\n"
	                    " Y[f:%d, p:%d, q:%d, b:8]: f32 = sum(r:%d, s:%d where 0 <= p+r-1, "
	                    "p+r-1 < %d, 0 <= q+s-1, q+s-1 < %d) X[f,p+r-1,q+s-1,b] * W[f,r,s,b]\n}\n",
	                    f, p, q, f, r, s, f, p, q, r, s, p, q);
}

static const char *
matrix_text(void)
{
	int m = 2 + pick(30), k = some(9), n = 9 + pick(30);
	const char *rows = pick(3) ? arena_printf(arena, "%d", m) : "M";
	return arena_printf(arena,
	                    "expr f(A: f32[%s,%d], B: f32[%d,%d]) -> Y {\n"
	                    " Y[m:%s, n:%d]: f32 = sum(k:%d) A[m,k] * B[k,n]\n}\n",
	                    rows, k, k, n, rows, n, k);
}

/* ---- tiles ----------------------------------------------------------------------------------- */

/* A number that divides, or any. */
static int64_t
part_of(int64_t extent, bool divides)
{
	int64_t size = extent > 0 ? 1 + pick((int)(extent < 20 ? extent : 20)) : 1 + pick(6);
	while (divides && extent % size != 0)
		size--;
	return size;
}

static ProductTile
draw(const Product *p)
{
	ProductTile tile = {.order = {0}};
	bool divides = pick(2);
	for (int k = 0; k < p->group->nshared; k++) {
		int64_t extent = product_extent(p, k);
		tile.registers[k] = k == p->lane ? p->lanes : pick(2) ? part_of(extent, divides) : 1;
		if (extent > 0 && extent % tile.registers[k] == 0 && pick(2))
			tile.block[k] = part_of(extent / tile.registers[k], false) * tile.registers[k];
		tile.order[k] = k;
	}
	for (int k = p->group->nshared - 1; k > 0; k--) {
		int other = pick(k + 1), kept = tile.order[k];
		tile.order[k] = tile.order[other];
		tile.order[other] = kept;
	}
	for (int i = 0; i < p->stage->nreduce; i++) {
		int64_t extent = product_terms(p, i);
		tile.terms[i] = extent > 1 && pick(2) ? part_of(extent - 1, false) : 0;
	}
	return tile;
}

static int legal, illegal, kept, ragged, turned, candidates;

static void
count(const Product *p, const ProductTile *tile)
{
	bool has_block = false, has_rounds = false;
	legal++;
	turned += p->is_turned;
	for (int k = 0; k < p->group->nshared; k++) {
		int64_t extent = product_extent(p, k);
		has_block |= tile->block[k] > 0;
		ragged += tile->registers[k] > 1 && (extent == 0 || extent % tile->registers[k] != 0);
	}
	for (int i = 0; i < p->stage->nreduce; i++)
		has_rounds |= tile->terms[i] > 0;
	kept += has_block && has_rounds;
}

static const Script *
random_script(Arena *into, const Group *group, const Target *target, const Nest *nest,
              int candidate)
{
	(void)candidate;
	Product p = {.coster = {.arena = into, .program = group->program, .target = target},
	             .group = group,
	             .stage = group->program->stages[0]};
	int first = pick(PRODUCT_READINGS), reading = 0;
	while (reading < PRODUCT_READINGS && !product_read(&p, (first + reading) % PRODUCT_READINGS))
		reading++;
	for (int i = 0; i < 50 && reading < PRODUCT_READINGS; i++) {
		ProductTile tile = draw(&p);
		if (!product_is_legal(&p, &tile)) {
			illegal++;
			continue;
		}
		count(&p, &tile);
		return product_write(&p, &tile, nest);
	}
	return NULL;
}

/* ---- the test -------------------------------------------------------------------------------- */

static Kernel *
lowered(const char *text, const Maker *maker, int candidate)
{
	static const Loc none = {0};
	Device device = *device_find("cpu:x86-64-v3");
	Target target = {.device = &device};
	device.maker = maker;
	const Program *program = program_parse(ctx, "tiles.e", text);
	const Dim *const **dense =
		NEW_N(arena, const Dim *const *, program->ninput + program->noutput + 1);
	return lower_group(arena, program, dense, "k", &none, "", &target, candidate);
}

static void
compare(const char *text, const Array *expected, Kernel *tiled)
{
	const char *loops = printed(tiled);
	take_passes(tiled);
	const Array *given = evaluated(tiled);
	ck_element_msg(array_bytes(expected) == array_bytes(given) &&
	                   memcmp(expected->data, given->data, array_bytes(given)) == 0,
	               "%s\n%s", text, loops);
}

/* A tile by chance, and one of those that are candidates. */
static void
try_one(void)
{
	const char *const texts[] = {product_text(), window_text(), depthwise_text(), matrix_text()};
	const char *text = texts[pick(countof(texts))];
	Maker random = maker_cpu;
	random.script = random_script;
	Kernel *plain = lowered(text, &maker_cpu, 0), *tiled = lowered(text, &random, 0);
	Kernel *candidate = lowered(text, &maker_cpu, pick(10));
	plain->script = NULL;
	const Array *expected = evaluated(plain);
	candidates += candidate != NULL;
	if (tiled)
		compare(text, expected, tiled);
	if (candidate)
		compare(text, expected, candidate);
}

START_TEST(tiles)
{
	for (int i = 0; i < wanted; i++) {
		setup();
		try_one();
		teardown();
	}
	printf("%d legal tiles (%d shorter last ones, %d with sums in rounds, %d turned), %d refused\n",
	       legal, ragged, kept, turned, illegal);
	ck_assert_int_gt(legal, wanted / 2);
	ck_assert_int_gt(ragged, 0);
	ck_assert_int_gt(kept, 0);
	ck_assert_int_gt(turned, 0);
	ck_assert_int_gt(illegal, 0);
	ck_assert_int_gt(candidates, wanted / 4);
}
END_TEST

int
main(int argc, char **argv)
{
	wanted = argc > 1 ? atoi(argv[1]) : wanted;
	seed = argc > 2 ? strtoull(argv[2], NULL, 10) : seed;
	TCase *tcase = tcase_create("tiles");
	tcase_add_test(tcase, tiles);
	return unit_run(tcase);
}
