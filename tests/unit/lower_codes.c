/* Products with weights of 4 and 8 bits in blocks, compiled for each CPU that this machine runs:
 * numbers are such that every sum is exact, so that all bits are those of the definition. Most are
 * unpacked from words (lower/codes.c), and the test counts these; channels that are no whole
 * vectors, and terms that are no whole words, are not. QUANTISED_CASES says how many.
 */
#include <string.h>

#include "base/buf.h"
#include "eval/eval.h"
#include "graph/infer.h"
#include "module_run.h"
#include "passes/manager.h"
#include "random_number.h"
#include "unit.h"

enum { CASES = 60, BATCH = 20 };

static unsigned
below(uint64_t *state, unsigned count)
{
	return random_below(state, count);
}

/* Node i: columns in either dim, a scale for each column or for blocks of 16 and more terms, zero
 * points of any kind. */
static void
add_case(uint64_t *state, Buf *params, Buf *nodes, int i)
{
	static const char *const types[] = {"u4", "i4", "u8", "i8"};
	unsigned k = below(state, 4) ? 8 * (1 + below(state, 24)) : 1 + below(state, 100);
	unsigned n = below(state, 4) ? 16 * (1 + below(state, 6)) : 1 + below(state, 70);
	unsigned m = below(state, 3) ? 1 + below(state, 4) : 1 + below(state, 40);
	unsigned block = below(state, 4) ? 16u << below(state, 3) : 0, axis = below(state, 2);
	unsigned blocks = block ? (k + block - 1) / block : 0, zero = below(state, 3);
	const char *type = types[below(state, block ? 4 : 2)], *sep = i ? ", " : "";
	const char *dims = !block ? arena_printf(params->arena, "%u", n)
	                   : axis ? arena_printf(params->arena, "%u,%u", n, blocks)
	                          : arena_printf(params->arena, "%u,%u", blocks, n);
	buf_printf(params, "%s%%x%d: f32[%u,%u]", sep, i, m, k);
	buf_printf(nodes, "%%w%d: %s[%u,%u] = weight %d\n", i, type, axis ? n : k, axis ? k : n, 3 * i);
	buf_printf(nodes, "%%s%d: f32[%s] = weight %d\n", i, dims, 3 * i + 1);
	if (zero > 0)
		buf_printf(nodes, "%%z%d: %s[%s] = weight %d\n", i, type, dims, 3 * i + 2);
	buf_printf(nodes, "%%d%d = DequantizeLinear(%%w%d, %%s%d", i, i, i);
	buf_printf(nodes, zero > 0 ? ", %%z%d) " : ") ", i);
	buf_printf(nodes, "{axis=%u, block_size=%u}\n", block ? axis : 1 - axis, block);
	if (axis && below(state, 2)) {
		buf_printf(nodes, "%%t%d = Transpose(%%d%d)\n", i, i);
		buf_printf(nodes, "%%p%d = MatMul(%%x%d, %%t%d)\n", i, i, i);
	} else
		buf_printf(nodes, "%%p%d = Gemm(%%x%d, %%d%d) {transB=%u}\n", i, i, i, axis);
	buf_printf(nodes, "%%y%d = Relu(%%p%d)\n", i, i);
}

/* Any codes, scales that are powers of two, zero points of which some are all the same. */
static void
fill(uint64_t *state, const Array *array)
{
	bool is_same = below(state, 2), is_middle = below(state, 2);
	int bits = dtype_bits(array->type);
	unsigned same = is_middle ? 1u << (bits - 1) : below(state, 1u << bits % 32);
	for (int64_t i = 0; i < array_count(array); i++)
		if (array->type == DT_F32)
			dtype_store_f64(DT_F32, array->data, i, 1. / (1 << below(state, 3)));
		else
			dtype_store_i64(array->type, array->data, i, is_same ? same : below(state, 1u << bits));
}

static bool
is_unpacked(const Expr *value)
{
	bool shifts = false;
	for (ExprWalk walk = expr_walk(value); expr_step(&walk);)
		shifts |= walk.e->op == EX_shr;
	return shifts;
}

static Graph *
random_graph(Arena *arena, uint64_t *state, const char **text)
{
	Buf params = {.arena = arena}, nodes = {.arena = arena}, results = {.arena = arena};
	for (int i = 0; i < BATCH; i++) {
		add_case(state, &params, &nodes, i);
		buf_printf(&results, "%s%%y%d", i ? ", " : "", i);
	}
	*text = arena_printf(arena, "graph g(%s) -> %s {\n%s}\n", buf_text(&params), buf_text(&results),
	                     buf_text(&nodes));
	Graph *graph = graph_parse(arena, "text", *text);
	graph_infer(graph);
	for (const Node *node = graph->body->first; node; node = node->next)
		for (int i = 0; i < node->ninput; i++)
			if (node->inputs[i]->constant)
				fill(state, value_fixed(node->inputs[i]));
	return graph;
}

static int
check_batch(uint64_t seed, const Device *device, int level)
{
	Arena *arena = arena_new("test");
	uint64_t state = seed;
	const char *text;
	Graph *graph = random_graph(arena, &state, &text);
	Array *inputs[BATCH], *seen[BATCH];
	const Array *expected[BATCH];
	for (int i = 0; i < BATCH; i++) {
		const Type *type = &graph->body->params[i]->type;
		int64_t dims[ARRAY_MAX_RANK];
		for (int d = 0; d < type->rank; d++)
			ck_assert(dim_is_const(type->dims[d], &dims[d]));
		inputs[i] = array_new(arena, type->dtype, type->rank, dims);
		for (int64_t k = 0; k < array_count(inputs[i]); k++)
			dtype_store_f64(DT_F32, inputs[i]->data, k, (double)below(&state, 9) - 4);
	}
	eval_graph(arena, graph, (const Array *const *)inputs, expected);
	Target target = {.device = device};
	PassContext context = {.arena = arena,
	                       .run = run_passes,
	                       .level = level,
	                       .target = &target,
	                       .config = {.arena = arena},
	                       .recorded = {.arena = arena}};
	run_graph_passes(graph, &context);
	const Module *module = lower_graph(arena, graph, &context);
	run_loop_passes(module, &context);
	int unpacked = run_module(arena, &target, module, inputs, seen, is_unpacked);
	for (int i = 0; i < BATCH; i++)
		ck_assert_msg(memcmp(expected[i]->data, seen[i]->data, array_bytes(seen[i])) == 0,
		              "%s: result %d of seed %llu differs:\n%s", device->name, i,
		              (unsigned long long)seed, text);
	arena_free(arena);
	return unpacked;
}

START_TEST(bits)
{
	int unpacked = 0, devices = 0;
	for (int d = 0; d < device_count(); d++) {
		const Device *device = device_at(d);
		if (device->is_apart || !device_runs_here(device))
			continue;
		devices++;
		unpacked += check_batch(0xC0DE + (uint64_t)_i, device, 1 + _i % 2);
	}
	ck_assert_int_ge(unpacked, devices * BATCH / 3);
}
END_TEST

int
main(void)
{
	TCase *t = tcase_create("codes");
	const char *given = getenv("QUANTISED_CASES");
	int cases = given ? atoi(given) : CASES;
	tcase_add_loop_test(t, bits, 0, (cases + BATCH - 1) / BATCH);
	return unit_run(t);
}
