/* ToMixedPrecision: on random graphs its casts are the fewest there can be, by trying all, and the
 * results are those of f32 but for roundings. */
#include <string.h>

#include "eval/eval.h"
#include "graph/infer.h"
#include "passes/passes.h"
#include "random_number.h"
#include "unit.h"

enum { NODES = 15, INPUTS = 2, VALUES = NODES + INPUTS, SIDE = 4 };

typedef enum Kind { LONG, SHORT, EITHER } Kind;

/* Nodes of a graph, in numbers: node k makes value INPUTS + k. */
typedef struct Shape {
	int count;
	Kind kind[NODES];
	int reads[NODES][2];
	bool is_output[NODES];
} Shape;

static uint64_t state;

static int
below(int limit)
{
	return (int)random_below(&state, (unsigned)limit);
}

static Shape
random_shape(int seed)
{
	Shape shape = {.count = 1 + seed % NODES};
	state = (uint64_t)seed;
	for (int k = 0; k < shape.count; k++) {
		int least = below(3) ? INPUTS + k - 5 : 0;
		least = least < 0 ? 0 : least;
		for (int i = 0; i < 2; i++)
			shape.reads[k][i] = least + below(INPUTS + k - least);
		int kind = below(8);
		shape.kind[k] = kind < 2 ? LONG : kind < 4 ? SHORT : EITHER;
		shape.is_output[k] = k == shape.count - 1 || below(6) == 0;
	}
	return shape;
}

static const char *
text_of(Arena *arena, const Shape *shape)
{
	static const char *const ops[][2] = {
		{"Softmax(%%v%d)", "Cos(%%v%d)"},
		{"MatMul(%%v%d, %%v%d)", "Gemm(%%v%d, %%v%d)"},
		{"Sub(%%v%d, %%v%d)", "Transpose(%%v%d) {perm=[1,0]}"},
	};
	Buf buf = {.arena = arena};
	buf_printf(&buf, "graph g(%%v0: f32[4,4], %%v1: f32[4,4]) -> ");
	for (int k = 0, count = 0; k < shape->count; k++)
		if (shape->is_output[k])
			buf_printf(&buf, "%s%%v%d", count++ ? ", " : "", INPUTS + k);
	buf_printf(&buf, " {\n");
	for (int k = 0; k < shape->count; k++) {
		const int *reads = shape->reads[k];
		const char *op = ops[shape->kind[k]][reads[0] == reads[1] && shape->kind[k] != SHORT];
		buf_printf(&buf, "  %%v%d = ", INPUTS + k);
		for (int i = 0; *op; op++)
			if (strncmp(op, "%%v%d", 5) == 0) {
				buf_printf(&buf, "%%v%d", reads[i++]);
				op += 4;
			} else {
				buf_printf(&buf, "%c", *op);
			}
		buf_printf(&buf, "\n");
	}
	buf_printf(&buf, "}\n");
	return buf_text(&buf);
}

static int
reads_of(const Shape *shape, int node)
{
	return shape->kind[node] == SHORT ||
	               (shape->kind[node] == EITHER && shape->reads[node][0] != shape->reads[node][1])
	           ? 2
	           : 1;
}

/* Casts where bit k says that node k is short: each value is cast once, if a reader has the other
 * type. */
static int
casts_of(const Shape *shape, unsigned shorts)
{
	bool is_cast[VALUES] = {false};
	int count = 0;
	for (int k = 0; k < shape->count; k++) {
		bool is_short = shorts >> k & 1;
		for (int i = 0; i < reads_of(shape, k); i++) {
			int value = shape->reads[k][i];
			bool was_short = value >= INPUTS && (shorts >> (value - INPUTS) & 1);
			is_cast[value] |= was_short != is_short;
		}
		is_cast[INPUTS + k] |= shape->is_output[k] && is_short;
	}
	for (int v = 0; v < VALUES; v++)
		count += is_cast[v];
	return count;
}

static int
fewest_casts(const Shape *shape)
{
	unsigned fixed = 0, shorts = 0;
	int fewest = VALUES;
	for (int k = 0; k < shape->count; k++) {
		fixed |= (unsigned)(shape->kind[k] != EITHER) << k;
		shorts |= (unsigned)(shape->kind[k] == SHORT) << k;
	}
	for (unsigned all = 0; all < 1U << shape->count; all++) {
		int casts = (all & fixed) == shorts ? casts_of(shape, all) : VALUES;
		fewest = casts < fewest ? casts : fewest;
	}
	return fewest;
}

static Graph *
mixed(Arena *arena, const char *text, const char *type)
{
	Graph *graph = graph_parse(arena, "g", text);
	PassContext context = {.arena = arena, .config = {.arena = arena}};
	graph_infer(graph);
	map_set(&context.config, "ToMixedPrecision.type", (void *)(uintptr_t)type);
	pass_ToMixedPrecision(graph, &context);
	graph_check(graph);
	return graph;
}

static int
count_casts(const Graph *graph)
{
	int count = 0;
	for (const Node *node = NULL; (node = region_step(graph->body, node));)
		count += node->op->code == OP_Cast;
	return count;
}

START_TEST(casts_are_the_fewest)
{
	for (int seed = 0; seed < 3000; seed++) {
		Arena *arena = arena_new("test");
		Shape shape = random_shape(seed);
		const char *text = text_of(arena, &shape);
		int casts = count_casts(mixed(arena, text, "fp16"));
		ck_assert_msg(casts == fewest_casts(&shape), "seed %d: %d casts, expected %d\n%s", seed,
		              casts, fewest_casts(&shape), text);
		arena_free(arena);
	}
}
END_TEST

/* The f32 results lie in the bounds of the short ones. */
START_TEST(results_are_near)
{
	int64_t dims[] = {4, 4}, points = 0, undecided = 0;
	for (int seed = 0; seed < 600; seed++) {
		Arena *arena = arena_new("test");
		Shape shape = random_shape(seed);
		const char *text = text_of(arena, &shape), *type = seed & 1 ? "bf16" : "fp16";
		Graph *before = graph_parse(arena, "g", text), *after = mixed(arena, text, type);
		const Array *inputs[INPUTS], *seen[NODES];
		const BoundArray *bounds[NODES];
		graph_infer(before);
		for (int i = 0; i < INPUTS; i++) {
			Array *data = array_new(arena, DT_F32, 2, dims);
			for (int k = 0; k < 16; k++)
				((float *)data->data)[k] = (float)(below(2001) - 1000) / 1000;
			inputs[i] = data;
		}
		eval_graph(arena, before, inputs, seen);
		eval_graph_bound(arena, after, inputs, bounds, (BoundWay){.keeps_halves = true});
		for (int i = 0; i < before->body->nresult; i++) {
			Agreement a = bound_compare(bounds[i], seen[i], 1);
			points += a.points;
			undecided += a.undecided;
			ck_assert_msg(a.wrong == 0, "seed %d, output %d: %g, expected %g within %g\n%s", seed,
			              i, a.seen, a.expected, a.bound, text);
		}
		arena_free(arena);
	}
	ck_assert_int_lt(undecided, points / 20);
}
END_TEST

int
main(void)
{
	TCase *t = tcase_create("mixed");
	tcase_add_test(t, casts_are_the_fewest);
	tcase_add_test(t, results_are_near);
	return unit_run(t);
}
