/* Sums of products of bytes, compiled for each CPU that this machine runs: bits of the definition,
 * with the most awkward numbers. Many are dot products of four (lower/quads.c), and the test counts
 * these; lengths that are no multiples of four, u8 by u8 and images with channels apart are not.
 * QUANTISED_CASES says how many; eighty without it.
 */
#include <string.h>

#include "base/buf.h"
#include "eval/eval.h"
#include "graph/infer.h"
#include "module_run.h"
#include "passes/manager.h"
#include "random_number.h"
#include "unit.h"

enum { CASES = 80, BATCH = 40 };

static unsigned
below(uint64_t *state, unsigned count)
{
	return random_below(state, count);
}

static const char *
byte_type(uint64_t *state)
{
	return below(state, 2) ? "u8" : "i8";
}

/* Node i: a product, of one or more matrices, or a convolution, whose image may be one place, and
 * which may have a group and a zero point for each channel. */
static void
add_case(uint64_t *state, Buf *params, Buf *nodes, int i)
{
	unsigned k = below(state, 4) ? 4 * (1 + below(state, 40)) : 1 + below(state, 70);
	unsigned m = 1 + below(state, 40),
			 n = below(state, 3) ? 16 * (1 + below(state, 6)) : 1 + below(state, 70);
	const char *x = byte_type(state), *w = below(state, 3) ? "i8" : "u8", *sep = i ? ", " : "";
	unsigned kind = below(state, 4);
	if (kind == 0) {
		unsigned side = below(state, 2) ? 1 : 5, window = side > 1 && below(state, 2) ? 3 : 1;
		bool is_deep = below(state, 2);
		int zero = is_deep ? (int)below(state, 256) - 128 * (*x == 'i') : 0;
		k = is_deep ? n : k;
		buf_printf(params, "%s%%x%d: %s[1,%u,%u,%u]", sep, i, x, k, side, side);
		buf_printf(nodes, "%%w%d: %s[%u,%u,%u,%u] = weight %d\n", i, w, n, is_deep ? 1 : k, window,
		           window, i);
		buf_printf(nodes, "%%z%d: %s = {%d}\n", i, x, zero);
		buf_printf(nodes,
		           "%%y%d = ConvInteger(%%x%d, %%w%d, %%z%d) {pads=[%u,%u,%u,%u], group=%u}\n", i,
		           i, i, i, window / 2, window / 2, window / 2, window / 2, is_deep ? n : 1);
		return;
	}
	buf_printf(params, kind == 1 ? "%s%%x%d: %s[2,%u,%u]" : "%s%%x%d: %s[%u,%u]", sep, i, x, m, k);
	buf_printf(nodes, "%%w%d: %s[%u,%u] = weight %d\n", i, w, k, n, i);
	buf_printf(nodes, "%%y%d = MatMulInteger(%%x%d, %%w%d)\n", i, i, i);
}

/* Bytes at both ends of their range, runs of the same, and any. */
static void
fill_bytes(uint64_t *state, const Array *array)
{
	static const uint8_t ends[] = {0x80, 0x7F, 0xFF, 0, 0x81, 1};
	unsigned way = below(state, 3), end = below(state, countof(ends));
	for (int64_t i = 0; i < array_count(array); i++)
		((uint8_t *)array->data)[i] = way == 0   ? ends[end]
		                              : way == 1 ? ends[below(state, countof(ends))]
		                                         : (uint8_t)below(state, 256);
}

/* Whether a store takes a dot product. */
static bool
is_dot(const Expr *value)
{
	return scalar_is_dot(value->op);
}

static int
check_batch(uint64_t seed, const Device *device)
{
	Arena *arena = arena_new("test");
	uint64_t state = seed;
	Buf params = {.arena = arena}, nodes = {.arena = arena}, results = {.arena = arena};
	for (int i = 0; i < BATCH; i++) {
		add_case(&state, &params, &nodes, i);
		buf_printf(&results, "%s%%y%d", i ? ", " : "", i);
	}
	const char *text = arena_printf(arena, "graph g(%s) -> %s {\n%s}\n", buf_text(&params),
	                                buf_text(&results), buf_text(&nodes));
	Graph *graph = graph_parse(arena, "text", text);
	for (const Node *node = graph->body->first; node; node = node->next)
		fill_bytes(&state, value_fixed(node->inputs[1])); /* before what is known of them is */
	graph_infer(graph);
	Array *inputs[BATCH], *seen[BATCH];
	const Array *expected[BATCH];
	for (int i = 0; i < BATCH; i++) {
		const Type *type = &graph->body->params[i]->type;
		int64_t dims[ARRAY_MAX_RANK];
		for (int d = 0; d < type->rank; d++)
			ck_assert(dim_is_const(type->dims[d], &dims[d]));
		inputs[i] = array_new(arena, type->dtype, type->rank, dims);
		fill_bytes(&state, inputs[i]);
	}
	eval_graph(arena, graph, (const Array *const *)inputs, expected);
	Target target = {.device = device};
	PassContext context = {.arena = arena,
	                       .run = run_passes,
	                       .level = 3,
	                       .target = &target,
	                       .config = {.arena = arena},
	                       .recorded = {.arena = arena}};
	if (seed % 2) /* half of them as they are: of signs and zero points that the pass changes */
		vec_push(arena, &context.disabled, "FakeQuantizationToInteger");
	run_graph_passes(graph, &context);
	const Module *module = lower_graph(arena, graph, &context);
	run_loop_passes(module, &context);
	int dots = run_module(arena, &target, module, inputs, seen, is_dot);
	for (int i = 0; i < BATCH; i++)
		ck_assert_msg(memcmp(expected[i]->data, seen[i]->data, array_bytes(seen[i])) == 0,
		              "%s: result %d of seed %llu differs:\n%s", device->name, i,
		              (unsigned long long)seed, text);
	arena_free(arena);
	return dots;
}

START_TEST(bits)
{
	int dots = 0, devices = 0;
	for (int d = 0; d < device_count(); d++) {
		const Device *device = device_at(d);
		if (device->is_apart || !device_runs_here(device))
			continue;
		devices++;
		dots += check_batch(0x5EED + (uint64_t)_i, device);
	}
	ck_assert_int_ge(dots, devices * BATCH / 6);
}
END_TEST

int
main(void)
{
	TCase *t = tcase_create("quads");
	const char *given = getenv("QUANTISED_CASES");
	int cases = given ? atoi(given) : CASES;
	tcase_add_loop_test(t, bits, 0, (cases + BATCH - 1) / BATCH);
	return unit_run(t);
}
