/* usage: roller_random [COUNT [SEED]]
 *
 * What a tile touches is what the interpreter counts: of random index maps of one to four axes, for
 * random tiles. Each tensor's elements hold their own positions, so that the interpreter tells
 * which of them every point reads; of each tile the box around these has at most as many elements
 * as access_elements() says, and exactly as many for sums of axes, and for quotients of them, and
 * remainders of an axis, where there are enough tiles to begin at every residue.
 */
#include <stdlib.h>

#include "expr/interp/interp.h"
#include "random_number.h"
#include "roller_rig.h"

enum { MOST_AXES = 4, DIMS = 3 };

typedef struct Case {
	int naxis, nloop, rank;
	int64_t extent[MOST_AXES], tile[MOST_AXES];
	const char *index[DIMS];
	int64_t size[DIMS];
	bool is_exact[DIMS];
} Case;

static uint64_t seed = 1;
static int wanted = 2000;
static const char NAMES[] = "ijrs";

static int
pick(int below)
{
	return (int)random_below(&seed, (unsigned)below);
}

/* a*i + b*r + c, perhaps divided. Its largest value is known: the tensor is large enough. */
static void
make_index(Case *c, int d, bool *is_used)
{
	int first = pick(c->naxis), second = pick(3) > 0 ? pick(c->naxis) : first;
	int64_t a = 1 + pick(3), b = second == first ? 0 : 1 + pick(2), offset = pick(4);
	int64_t last = a * (c->extent[first] - 1) + b * (c->extent[second] - 1) + offset;
	const char *sum = arena_printf(arena, "%d*%c + %d*%c + %d", (int)a, NAMES[first], (int)b,
	                               NAMES[second], (int)offset);
	int64_t divisor = 2 + pick(4);
	int64_t tiles = c->extent[first] / c->tile[first];
	is_used[first] = is_used[second] = true;
	c->is_exact[d] = true;
	switch (pick(8)) {
	case 0:
		c->index[d] = arena_printf(arena, "(%s)/%d", sum, (int)divisor);
		c->size[d] = last / divisor + 1;
		c->is_exact[d] = b == 0 && tiles >= divisor;
		break;
	case 1:
		c->index[d] = arena_printf(arena, "(%s)%%%d", sum, (int)divisor);
		c->size[d] = last < divisor ? last + 1 : divisor;
		c->is_exact[d] = a == 1 && b == 0 && tiles >= divisor;
		break;
	default:
		c->index[d] = sum;
		c->size[d] = last + 1;
	}
}

static Case
make_case(void)
{
	Case c = {.naxis = 1 + pick(MOST_AXES), .rank = 1 + pick(DIMS)};
	bool is_used[MOST_AXES] = {false};
	c.nloop = 1 + pick(c.naxis);
	for (int a = 0; a < c.naxis; a++) {
		c.extent[a] = 2 + pick(c.naxis > 2 ? 7 : 30);
		c.tile[a] = 1 + pick((int)c.extent[a]);
	}
	for (int d = 0; d < c.rank; d++)
		make_index(&c, d, is_used);
	return c;
}

static const char *
iters_text(const Case *c, int from, int to)
{
	Buf out = {.arena = arena};
	for (int a = from; a < to; a++)
		buf_printf(&out, "%s%c:%d", a > from ? ", " : "", NAMES[a], (int)c->extent[a]);
	return buf_text(&out);
}

/* `to`: how many axes are loops. */
static const char *
text_of(const Case *c, int to)
{
	Buf out = {.arena = arena};
	buf_puts(&out, "expr f(X: f32[");
	for (int d = 0; d < c->rank; d++)
		buf_printf(&out, "%s%d", d ? "," : "", (int)c->size[d]);
	buf_printf(&out, "]) -> Y {\n  Y[%s]: f32 = ", iters_text(c, 0, to));
	if (to < c->naxis)
		buf_printf(&out, "sum(%s) ", iters_text(c, to, c->naxis));
	buf_puts(&out, "X[");
	for (int d = 0; d < c->rank; d++)
		buf_printf(&out, "%s%s", d ? ", " : "", c->index[d]);
	buf_puts(&out, "]\n}\n");
	return buf_text(&out);
}

/* The position that each point reads, by the interpreter. */
static const float *
positions_of(const Case *c, int64_t *count)
{
	int64_t total = 1;
	for (int d = 0; d < c->rank; d++)
		total *= c->size[d];
	float *data = NEW_N(arena, float, total);
	for (int64_t i = 0; i < total; i++)
		data[i] = (float)i;
	const Array *input = array_from(arena, DT_F32, c->rank, c->size, data);
	Array *output = NULL;
	const Program *program = program_parse(expr_ctx_new(arena), "map.e", text_of(c, c->naxis));
	program_eval(arena, program, &(Binding){0}, &input, &output);
	*count = 1;
	for (int a = 0; a < c->naxis; a++)
		*count *= c->extent[a];
	return output->data;
}

/* The most places that any tile touches in each dim. */
static void
count_boxes(const Case *c, int64_t *most)
{
	int64_t count, tiles = 1, at[MOST_AXES];
	const float *positions = positions_of(c, &count);
	for (int a = 0; a < c->naxis; a++)
		tiles *= (c->extent[a] + c->tile[a] - 1) / c->tile[a];
	int64_t *lo = NEW_N(arena, int64_t, tiles * DIMS), *hi = NEW_N(arena, int64_t, tiles * DIMS);
	for (int64_t i = 0; i < tiles * DIMS; i++)
		lo[i] = INT64_MAX;
	for (int64_t point = 0; point < count; point++) {
		int64_t rest = point, tile = 0, place = (int64_t)positions[point];
		for (int a = c->naxis - 1; a >= 0; a--) {
			at[a] = rest % c->extent[a];
			rest /= c->extent[a];
		}
		for (int a = 0; a < c->naxis; a++)
			tile = tile * ((c->extent[a] + c->tile[a] - 1) / c->tile[a]) + at[a] / c->tile[a];
		for (int d = c->rank - 1; d >= 0; d--) {
			int64_t index = place % c->size[d];
			place /= c->size[d];
			lo[tile * DIMS + d] = index < lo[tile * DIMS + d] ? index : lo[tile * DIMS + d];
			hi[tile * DIMS + d] = index > hi[tile * DIMS + d] ? index : hi[tile * DIMS + d];
		}
	}
	for (int d = 0; d < c->rank; d++) {
		most[d] = 0;
		for (int64_t t = 0; t < tiles; t++)
			if (hi[t * DIMS + d] - lo[t * DIMS + d] + 1 > most[d])
				most[d] = hi[t * DIMS + d] - lo[t * DIMS + d] + 1;
	}
}

static const TileAccess *
input_of(const TileTask *task)
{
	for (int k = 0; k < task->naccess; k++)
		if (!task->accesses[k].is_result)
			return &task->accesses[k];
	return NULL;
}

/* Tiles by axis of the task, which has the iterators in its own order. */
static void
tile_for(const TileTask *task, const Case *c, int64_t *tile)
{
	for (int i = 0; i < c->naxis; i++)
		tile[task->axis_of[0][i]] = c->tile[i];
}

START_TEST(footprints)
{
	int exact = 0;
	for (int n = 0; n < wanted; n++) {
		const char *reason;
		Arena *all = arena;
		arena = arena_new_in(all, "case");
		Case c = make_case();
		int64_t most[DIMS], tile[SPAN_AXES] = {0}, expected = 1, seen = 1;
		const char *text = text_of(&c, c.nloop);
		const TileTask *task =
			roller_task(arena, program_parse(expr_ctx_new(arena), "case.e", text),
		                target_on("cuda:v100"), &reason);
		ck_element_msg(task, "%s: %s", text, reason);
		const TileAccess *x = input_of(task);
		tile_for(task, &c, tile);
		count_boxes(&c, most);
		bool is_exact = true;
		for (int d = 0; d < c.rank; d++) {
			seen *= most[d];
			is_exact &= c.is_exact[d];
		}
		expected = access_elements(task, x, tile);
		ck_element_msg(is_exact ? expected == seen : expected >= seen,
		               "case %d: %s  has %lld elements in a tile, not %lld", n, text,
		               (long long)seen, (long long)expected);
		exact += is_exact;
		arena_free(arena);
		arena = all;
	}
	ck_assert_int_gt(exact, wanted / 2);
}
END_TEST

int
main(int argc, char **argv)
{
	TCase *t = tcase_create("roller random");
	wanted = argc > 1 ? atoi(argv[1]) : wanted;
	seed = argc > 2 ? (uint64_t)atoll(argv[2]) : seed;
	arena = arena_new("test");
	tcase_add_test(t, footprints);
	return unit_run(t);
}
