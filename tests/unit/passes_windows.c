/* FoldExplicitPadding keeps what a graph means: a Pad of any mode and fill before convolutions and
 * pools of one to three dims, open and empty ones too, with NaN, infinities and -0 among the
 * numbers and at times among the weights; every bit is the same before and after, but for what a
 * NaN carries. WINDOWS_GRAPHS says how many; some hundreds without it.
 */
#include <stdlib.h>

#include "eval/eval.h"
#include "graph/infer.h"
#include "passes/passes.h"
#include "random_number.h"
#include "same_numbers.h"
#include "unit.h"

enum { GRAPHS = 500, MAX_DIMS = 5 };

typedef struct Case {
	uint64_t state;
	Graph *graph;
	int rank;
	int64_t extents[MAX_DIMS]; /* of x, where it is open too */
} Case;

static int
below(Case *c, int count)
{
	return (int)random_below(&c->state, (unsigned)count);
}

static double
number(Case *c, int special)
{
	static const double odd[] = {-0.0, 0, INFINITY, -INFINITY, NAN, 1e-40};
	return below(c, special) ? below(c, 2000) / 100.0 - 10 : odd[below(c, 6)];
}

static Value *
constant(Case *c, int rank, const int64_t *dims, int special)
{
	Array *array = array_new(c->graph->arena, DT_F32, rank, dims);
	for (int64_t i = 0; i < array_count(array); i++)
		dtype_store_f64(DT_F32, array->data, i, number(c, special));
	return graph_constant(c->graph, graph_fresh_name(c->graph, "w"), array);
}

static Node *
node(Case *c, const char *op, int ninput, Value *const *inputs)
{
	static const Loc none = {0};
	return node_new(c->graph->body, NULL, op, &none, ninput, inputs, 1, (const char *[]){""});
}

static void
set_ints(Case *c, Node *made, const char *name, int count, int least, int below_)
{
	int64_t *numbers = NEW_N(c->graph->arena, int64_t, count);
	for (int i = 0; i < count; i++)
		numbers[i] = least + below(c, below_);
	node_add_attr(made, &(Attr){.name = name, .kind = ATTR_INTS, .count = count, .ints = numbers});
}

/* ---- nodes ---- */

static Value *
padded(Case *c, Value *x)
{
	static const double fills[] = {0, 0, -0.0, -INFINITY, -INFINITY, 1, NAN, INFINITY};
	static const char *const modes[] = {"edge", "reflect", "wrap"};
	int64_t pads[2 * MAX_DIMS] = {0}, none = 0;
	bool is_plain = below(c, 8);
	for (int i = 0; i < 2 * c->rank; i++)
		pads[i] = i % c->rank > 1 || !is_plain ? below(c, 4) - (!is_plain && !below(c, 4)) : 0;
	Array *fill = array_new(c->graph->arena, DT_F32, 0, &none);
	dtype_store_f64(DT_F32, fill->data, 0, fills[below(c, 8)]);
	Value *inputs[] = {x,
	                   graph_constant(c->graph, graph_fresh_name(c->graph, "pads"),
	                                  array_vector_i64(c->graph->arena, 2 * c->rank, pads)),
	                   graph_constant(c->graph, graph_fresh_name(c->graph, "fill"), fill)};
	Node *made = node(c, "Pad", below(c, 3) ? 3 : 2, inputs);
	const char *mode = modes[below(c, 3)];
	if (below(c, 10) == 0)
		node_add_attr(made, &(Attr){.name = "mode",
		                            .kind = ATTR_STRING,
		                            .count = (int64_t)strlen(mode),
		                            .s = mode});
	if (node_try_infer(made))
		return made->outputs[0];
	node_remove(made);
	return x;
}

static Node *
product(Case *c, Value *x, const char *op)
{
	bool is_turned = op[4] == 'T';
	int64_t dims[MAX_DIMS] = {2, 2}, groups = 1 + below(c, 2);
	dims[!is_turned] = 2 / groups;
	for (int d = 2; d < c->rank; d++)
		dims[d] = 1 + below(c, 3);
	Value *inputs[] = {x, constant(c, c->rank, dims, below(c, 6) ? INT16_MAX : 4),
	                   constant(c, 1, (int64_t[]){is_turned ? 2 / groups * groups : 2}, 9)};
	Node *made = node(c, op, 2 + below(c, 2), inputs);
	node_set_int(made, "group", groups);
	return made;
}

static Node *
window(Case *c, Value *x)
{
	static const char *const ops[] = {"Conv",          "Conv",        "Conv",
	                                  "ConvTranspose", "AveragePool", "AveragePool",
	                                  "MaxPool",       "MaxPool",     "LpPool"};
	const char *op = ops[below(c, 9)];
	int spatial = c->rank - 2;
	bool is_product = op[0] == 'C';
	Node *made = is_product ? product(c, x, op) : node(c, op, 1, &x);
	if (!is_product)
		set_ints(c, made, "kernel_shape", spatial, 1, 3);
	if (below(c, 2))
		set_ints(c, made, "strides", spatial, 1, 2);
	if (below(c, 3) == 0)
		set_ints(c, made, "dilations", spatial, 1, 2);
	if (below(c, 2))
		set_ints(c, made, "pads", 2 * spatial, 0, 2);
	if (!is_product && below(c, 4) == 0)
		node_set_int(made, "ceil_mode", 1);
	if (op[0] == 'A' && below(c, 2))
		node_set_int(made, "count_include_pad", 1);
	return made;
}

static bool
make_graph(Case *c, Arena *arena)
{
	Graph *g = c->graph = graph_new(arena, "g", "random");
	const Dim **dims = NEW_N(arena, const Dim *, MAX_DIMS);
	c->rank = 3 + below(c, 3);
	for (int d = 0; d < c->rank; d++) {
		c->extents[d] = d == 1 ? 2 : below(c, 15) ? 1 + below(c, d == 0 ? 2 : 5) : 0;
		bool is_open = d != 1 && below(c, 4) == 0;
		dims[d] = is_open ? dim_symbol(g->ctx, arena_printf(arena, "N%d", d))
		                  : dim_const(g->ctx, c->extents[d]);
	}
	Type type = type_tensor(DT_F32, c->rank, dims);
	Node *made = window(c, padded(c, graph_input(g, "x", &type)));
	if (!node_try_infer(made))
		return false;
	graph_set_outputs(g, 1, made->outputs);
	graph_infer(g);
	return true;
}

/* ---- running ---- */

typedef struct Run {
	Arena *arena;
	const Graph *graph;
	const Array *input, *output;
} Run;

static void
run(void *arg)
{
	Run *r = arg;
	eval_graph(r->arena, r->graph, &r->input, &r->output);
}

static bool
check_graph(Case *c, Arena *arena)
{
	Run before = {.arena = arena, .graph = c->graph}, after;
	Array *x = array_new(arena, DT_F32, c->rank, c->extents);
	for (int64_t i = 0; i < array_count(x); i++)
		dtype_store_f64(DT_F32, x->data, i, number(c, 5));
	before.input = x;
	Buf text = {.arena = arena};
	graph_print(&text, c->graph);
	after = before;
	Failure refused; /* a window larger than the image that there is */
	bool runs = try_run(run, &before, &refused);
	PassContext context = {.arena = arena, .running = "test", .level = 1};
	bool is_folded = pass_FoldExplicitPadding(c->graph, &context);
	graph_check(c->graph);
	if (!runs)
		return is_folded;
	run(&after);
	graph_print(&text, c->graph);
	ck_assert_msg(array_same_numbers(before.output, after.output), "%s", buf_text(&text));
	return is_folded;
}

START_TEST(mean_the_same)
{
	int folded = 0;
	for (int i = 0; i < GRAPHS; i++) {
		Arena *arena = arena_new("test");
		Case c = {.state = (uint64_t)_i * GRAPHS + (uint64_t)i};
		if (make_graph(&c, arena))
			folded += check_graph(&c, arena);
		arena_free(arena);
	}
	ck_assert_int_gt(folded, GRAPHS / 20);
}
END_TEST

int
main(void)
{
	TCase *t = tcase_create("windows");
	const char *given = getenv("WINDOWS_GRAPHS");
	int graphs = given ? atoi(given) : GRAPHS;
	tcase_add_loop_test(t, mean_the_same, 0, (graphs + GRAPHS - 1) / GRAPHS);
	return unit_run(t);
}
