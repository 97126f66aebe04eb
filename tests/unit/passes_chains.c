/* What joins or replaces constants keeps what a graph means: random chains of Mul, Div, Add and Sub
 * by constants, behind an input, a product or a convolution, of all floats, with the largest and
 * the smallest numbers of the type among constants and data. What the graph as it was keeps finite
 * is within its bounds at every level. Sums are joined as those whose order is free: by some units
 * of their terms, whose sizes a twin of the graph adds up.
 * CHAINS says how many; some hundreds without it.
 */
#include <float.h>
#include <math.h>
#include <string.h>

#include "eval/eval.h"
#include "expr/scalar/affine.h"
#include "graph/infer.h"
#include "graph/meaning.h"
#include "passes/passes.h"
#include "program/forms.h"
#include "random_number.h"
#include "unit.h"

enum { CHAINS = 300, CHANNELS = 3, ROWS = 24, MAX_STEPS = 5, MAX_SIZES = 2 * MAX_STEPS + 2 };

typedef struct Numbers {
	DType type;
	double unit, least, most; /* half an ulp; least of full precision; largest */
} Numbers;

static const Numbers all_numbers[] = {
	{DT_F16, 0x1p-11, 0x1p-14, 65504},
	{DT_BF16, 0x1p-8, 0x1p-126, 0x1.fep127},
	{DT_F32, 0x1p-24, 0x1p-126, 0x1.fffffep127},
	{DT_F64, 0x1p-53, 0x1p-1022, 0x1.fffffffffffffp1023},
};

static bool
always(void *self, const char *library)
{
	(void)self;
	(void)library;
	return true;
}

static bool
accepts(void *self, const VendorCall *call, const char **impl)
{
	(void)self;
	(void)call;
	if (impl)
		*impl = "test";
	return true;
}

static bool
measures(void *self, const VendorCall *call, double *seconds, const char **impl)
{
	*seconds = 1;
	return accepts(self, call, impl);
}

/* The chain, and its twin of f64: the same of sizes alone, whose results, the last one first, are
 * the sizes of all terms of each value. */
typedef struct Chain {
	uint64_t state;
	const Numbers *numbers;
	Graph *graph, *sizes;
	bool has_product, has_sum;
	double summand; /* the last one: data that cancels it are awkward */
} Chain;

static unsigned
below(Chain *c, unsigned count)
{
	return random_below(&c->state, count);
}

static double
plain(Chain *c)
{
	return ((double)below(c, 4000) + 1) / 1000;
}

/* A positive number, rounded to the type; most are of use, some at the edge of what it holds. */
static double
positive(Chain *c)
{
	const Numbers *n = c->numbers;
	int exponent;
	frexp(n->most, &exponent);
	switch (below(c, 12)) {
	case 0:
		return n->most;
	case 1:
		return n->least;
	case 2:
		return n->least / 2 * plain(c);
	case 3:
		return ldexp(1, (int)below(c, 2 * (unsigned)exponent) - exponent + 1);
	case 4:
		return ldexp(1.5, (int)below(c, 2 * (unsigned)exponent) - exponent + 1);
	case 5:
		return 0.75 / n->unit;
	case 6:
		return pow(n->most, 0.65);
	case 7:
		return 300 * plain(c);
	default:
		return plain(c);
	}
}

static double
number(Chain *c)
{
	return (below(c, 2) ? 1 : -1) * positive(c);
}

static Value *
constant(Graph *g, DType type, int rank, const int64_t *dims, const double *numbers)
{
	Array *array = array_new(g->arena, type, rank, dims);
	for (int64_t i = 0; i < array_count(array); i++)
		dtype_store_f64(type, array->data, i, numbers[i]);
	return graph_constant(g, graph_fresh_name(g, "c"), array);
}

/* Of the chain, and its sizes of the twin. */
static void
constants(Chain *c, int rank, const int64_t *dims, double *numbers, Value *both[2])
{
	both[0] = constant(c->graph, c->numbers->type, rank, dims, numbers);
	const Array *held = both[0]->constant;
	for (int64_t i = 0; i < array_count(held); i++)
		numbers[i] = fabs(dtype_load_f64(held->type, held->data, i));
	both[1] = constant(c->sizes, DT_F64, rank, dims, numbers);
}

static Value *
node(Graph *g, const char *op, Value *a, Value *b)
{
	static const Loc none = {0};
	const char *name = "";
	Node *made = node_new(g->body, NULL, op, &none, 2, (Value *[]){a, b}, 1, &name);
	node_infer(g, made);
	return made->outputs[0];
}

/* No less than the least number of all digits: what is rounded below it is no unit of its size. */
static Value *
size_node(Chain *c, const char *op, Value *a, Value *b)
{
	Value *least = constant(c->sizes, DT_F64, 0, NULL, &c->numbers->least);
	return node(c->sizes, "Add", node(c->sizes, op, a, b), least);
}

/* A scalar, a vector of one, or a number for each channel, which is dim 1 of `rank`. */
static void
step(Chain *c, int rank, Value *at[2])
{
	static const char *const ops[] = {"Mul", "Div", "Add", "Sub", "Mul", "Div"};
	const char *op = ops[below(c, countof(ops))];
	int64_t dims[] = {CHANNELS, 1, 1};
	int form = (int)below(c, 3), is_sum = op[0] == 'A' || op[0] == 'S';
	double numbers[CHANNELS];
	if (form == 1)
		dims[0] = 1;
	for (int i = 0; i < CHANNELS; i++)
		numbers[i] = i && below(c, 2) ? numbers[0] : number(c);
	Value *by[2];
	c->summand = is_sum ? (op[0] == 'A' ? -numbers[0] : numbers[0]) : c->summand;
	constants(c, form == 0 ? 0 : form == 1 ? 1 : rank - 1, dims, numbers, by);
	bool is_turned = is_sum && below(c, 6) == 0;
	at[0] = node(c->graph, op, is_turned ? by[0] : at[0], is_turned ? at[0] : by[0]);
	at[1] = size_node(c, is_sum ? "Add" : op, at[1], by[1]);
	c->has_sum |= is_sum;
}

static void
product(Chain *c, const char *op, Value *at[2])
{
	bool is_conv = op[0] == 'C';
	int64_t dims[] = {CHANNELS, CHANNELS, 1, 1};
	double numbers[CHANNELS * CHANNELS];
	Value *by[2];
	for (size_t i = 0; i < countof(numbers); i++)
		numbers[i] = below(c, 8) ? plain(c) - 2 : number(c);
	constants(c, is_conv ? 4 : 2, dims, numbers, by);
	at[0] = node(c->graph, op, at[0], by[0]);
	at[1] = size_node(c, op, at[1], by[1]);
	c->has_product = c->has_sum = true;
}

static void
make_chain(Chain *c, Arena *arena)
{
	static const char *const fronts[] = {NULL, NULL, "MatMul", "Conv"};
	const char *front = fronts[below(c, countof(fronts))];
	int rank = front && front[0] == 'C' ? 4 : 2, count = 1 + (int)below(c, MAX_STEPS);
	Value *at[2];
	Graph *graphs[2];
	for (int i = 0; i < 2; i++) {
		Graph *g = graphs[i] = graph_new(arena, "g", "random");
		const Dim *one = dim_const(g->ctx, 1);
		const Dim *const dims[] = {dim_const(g->ctx, ROWS), dim_const(g->ctx, CHANNELS), one, one};
		const Dim **kept = arena_memdup(arena, dims, sizeof dims);
		Type type = type_tensor(i ? DT_F64 : c->numbers->type, rank, kept);
		at[i] = graph_input(g, "x", &type);
	}
	c->graph = graphs[0];
	c->sizes = graphs[1];
	if (front)
		product(c, front, at);
	for (int i = 0; i < count; i++)
		step(c, rank, at);
	graph_set_outputs(c->graph, 1, &at[0]);
	graph_infer(c->graph);
	Value *all[MAX_SIZES];
	int made = 0;
	for (Node *one = c->sizes->body->last; one; one = one->prev)
		all[made++] = one->outputs[0];
	graph_set_outputs(c->sizes, made, all);
	graph_infer(c->sizes);
}

/* Both zeros, the largest, the smallest, what cancels a constant, and others. */
static void
make_data(Chain *c, Arena *arena, const Array *inputs[2])
{
	const Numbers *n = c->numbers;
	const double awkward[] = {
		0, -0.0, n->most, -n->most, n->least, n->least * n->unit * 2, c->summand, -c->summand};
	const Type *type = &c->graph->body->params[0]->type;
	int64_t dims[] = {ROWS, CHANNELS, 1, 1};
	Array *x = array_new(arena, n->type, type->rank, dims);
	Array *sizes = array_new(arena, DT_F64, type->rank, dims);
	for (int64_t i = 0; i < array_count(x); i++) {
		double value = below(c, 2) ? awkward[below(c, countof(awkward))] : number(c);
		dtype_store_f64(n->type, x->data, i, value);
		dtype_store_f64(DT_F64, sizes->data, i, fabs(dtype_load_f64(n->type, x->data, i)));
	}
	inputs[0] = x;
	inputs[1] = sizes;
}

/* A sum of products is finite for certain where it is in every order, and scaled before it is
 * added up. */
static bool
is_certain(const Chain *c, const Array *const *sizes, int64_t i)
{
	double most = fmax(c->numbers->most, FLT_MAX), largest = 0;
	for (int k = 0; k < c->sizes->body->nresult; k++)
		largest = fmax(largest, dtype_load_f64(DT_F64, sizes[k]->data, i));
	return !c->has_product || largest <= most;
}

/* Where the graph as it was gives a number for certain, the new one gives it within `slack` units
 * of all terms. */
static void
compare(Chain *c, const BoundArray *expected, const Array *const *sizes, const Array *seen,
        double slack, const char *text)
{
	for (int64_t i = 0; i < array_count(seen); i++) {
		double bound = expected->bound ? expected->bound[i] : 0, wanted = expected->value[i];
		double is = dtype_load_f64(seen->type, seen->data, i);
		if (!isfinite(wanted) || !isfinite(bound) || !is_certain(c, sizes, i))
			continue;
		double size = dtype_load_f64(DT_F64, sizes[0]->data, i);
		bound += slack ? slack * c->numbers->unit * size : 0;
		if (fabs(is - wanted) <= bound)
			continue;
		Buf now = {.arena = c->graph->arena};
		graph_print(&now, c->graph);
		ck_abort_msg("element %d is %.9g, expected %.9g within %.3g\n%s%s", (int)i, is, wanted,
		             bound, text, buf_text(&now));
	}
}

/* As optimize runs them, or as for a processor whose library takes every call. */
static void
run_pipeline(Chain *c, Arena *arena, int level)
{
	static const Oracle oracle = {.available = always, .accept = accepts, .measure = measures};
	const Target machine = {.device = device_find("cpu:x86-64-v4"), .oracle = &oracle}, none = {0};
	PassContext context = {.arena = arena,
	                       .running = "test",
	                       .run = run_passes,
	                       .level = level,
	                       .config = {.arena = arena},
	                       .recorded = {.arena = arena}};
	context.target = below(c, 2) ? &machine : &none;
	for (int i = 0; context.target == &none && pass_at(i); i++)
		if (pass_at(i)->portability != PORT_standard)
			vec_push(arena, &context.disabled, pass_at(i)->name);
	if (context.target == &none)
		run_graph_passes_to_rest(c->graph, &context);
	else
		run_graph_passes(c->graph, &context);
	graph_check(c->graph);
}

static bool
one_chain(Arena *arena, uint64_t seed)
{
	Chain c = {.state = seed};
	c.numbers = &all_numbers[below(&c, countof(all_numbers))];
	make_chain(&c, arena);
	const Array *inputs[2], *seen, *sizes[MAX_SIZES];
	const BoundArray *bound;
	make_data(&c, arena, inputs);
	int level = 1 + (int)below(&c, 3);
	eval_graph_bound(arena, c.graph, inputs, &bound, (BoundWay){.keeps_halves = level > 1});
	eval_graph(arena, c.sizes, inputs + 1, sizes);
	Buf text = {.arena = arena}, now = {.arena = arena};
	graph_print(&text, c.graph);
	run_pipeline(&c, arena, level);
	graph_print(&now, c.graph);
	eval_graph(arena, c.graph, inputs, &seen);
	/* A factor that is rounded is for a product that rounds, if not for this x. */
	double slack = level == 1 ? 0 : c.has_sum ? 2 * MAX_STEPS : 1;
	compare(&c, bound, sizes, seen, slack, buf_text(&text));
	bool is_other = strcmp(buf_text(&text), buf_text(&now)) != 0;
	arena_reset(arena);
	return is_other;
}

START_TEST(chains_mean_the_same)
{
	int changed = 0;
	Arena *arena = arena_new("test");
	for (int i = 0; i < CHAINS; i++)
		changed += one_chain(arena, (uint64_t)_i * CHAINS + (uint64_t)i);
	arena_free(arena);
	ck_assert_int_gt(changed, CHAINS / 20); /* something is joined, too */
}
END_TEST

/* ---- numbers in programs ---- */

static const char *
program_text(Arena *arena, const Program *program)
{
	Buf text = {.arena = arena};
	program_print(&text, program);
	return buf_text(&text);
}

/* What FoldNumbers makes of x / c has the same bits, for powers of two and what is none. */
static int
fold_by(const Numbers *n, double by)
{
	Arena *arena = arena_new("test");
	Chain c = {.numbers = n};
	c.graph = graph_new(arena, "g", "numbers");
	const Dim *dims[] = {dim_const(c.graph->ctx, ROWS), dim_const(c.graph->ctx, CHANNELS)};
	Type type = type_tensor(n->type, 2, dims);
	Value *x = graph_input(c.graph, "x", &type);
	c.sizes = c.graph;
	Value *one = constant(c.graph, n->type, 0, NULL, &by);
	const Node *made = node(c.graph, "Div", x, one)->def;
	const Array *inputs[2], *values[] = {NULL, one->constant};
	make_data(&c, arena, inputs);
	inputs[1] = one->constant;
	const Program *before = node_meaning(c.graph, made);
	const Program *after = program_fold_numbers(before, values);
	Array *wanted, *seen;
	program_eval(arena, before, NULL, inputs, &wanted);
	program_eval(arena, after, NULL, inputs, &seen);
	ck_assert_msg(!memcmp(wanted->data, seen->data, array_bytes(seen)), "%s by %g:\n%s",
	              dtype_name(n->type), by, program_text(arena, after));
	int is_product = strchr(program_text(arena, after), '*') != NULL;
	arena_free(arena);
	return is_product;
}

START_TEST(quotients_keep_their_bits)
{
	const Numbers *n = &all_numbers[_i];
	int products = 0, exponent;
	frexp(n->most, &exponent);
	for (int k = -exponent - 9; k<exponent; k += exponent> 200 ? 13 : 1)
		products += fold_by(n, ldexp(k & 2 ? 1 : -1, k));
	fold_by(n, 3);
	fold_by(n, n->most);
	fold_by(n, n->least * n->unit * 2);
	ck_assert_int_gt(products, 10);
}
END_TEST

/* ---- the question itself ---- */

static void
check_join(const Numbers *n, bool is, int count, const AffineStep *steps)
{
	Affine joined;
	ck_assert_msg(affine_join(n->type, count, steps, &joined) == is, "%s: %d steps, the last by %g",
	              dtype_name(n->type), count, steps[count - 1].by);
}
#define CHECK_JOIN(n, is, ...) \
	check_join(n, is, (int)countof(((AffineStep[]){__VA_ARGS__})), (AffineStep[]){__VA_ARGS__})

/* In units of each type: to add what is so large that digits are lost, and to take it away, is to
 * round, to whatever digit and with whatever factor. */
START_TEST(rounding_stays)
{
	const Numbers *n = &all_numbers[_i];
	double large = 0.75 / n->unit;
	for (double c = large; c >= large / 4; c /= 2) {
		CHECK_JOIN(n, false, {EX_add, c}, {EX_add, -c});
		CHECK_JOIN(n, false, {EX_add, -c}, {EX_add, c});
		CHECK_JOIN(n, false, {EX_add, c}, {EX_add, 1 - c});
		CHECK_JOIN(n, false, {EX_mul, 3}, {EX_add, c}, {EX_add, -c}, {EX_div, 3});
		CHECK_JOIN(n, false, {EX_add, -c}, {EX_div, 64});
	}
}
END_TEST

START_TEST(ranges_are_the_types)
{
	const Numbers *n = &all_numbers[_i];
	double root = sqrt(n->most);
	CHECK_JOIN(n, true, {EX_mul, root / 2}, {EX_mul, root / 2});
	CHECK_JOIN(n, false, {EX_mul, root * 2}, {EX_mul, root * 2});
	CHECK_JOIN(n, false, {EX_div, root * 4}, {EX_div, root * 3});
	CHECK_JOIN(n, true, {EX_div, root * 4}, {EX_mul, root});
	CHECK_JOIN(n, false, {EX_div, 3});
	CHECK_JOIN(n, true, {EX_div, 3}, {EX_div, 5});
	CHECK_JOIN(n, true, {EX_div, -0.25});
	CHECK_JOIN(n, true, {EX_add, 1}, {EX_mul, 2}, {EX_add, -1});
	CHECK_JOIN(n, true, {EX_add, n->most});
	/* x * scale may be infinite where what was added to x has kept it from that */
	CHECK_JOIN(n, true, {EX_add, 16}, {EX_mul, n->most * n->unit / 64});
	CHECK_JOIN(n, false, {EX_add, 16}, {EX_mul, n->most * n->unit / 8});
	CHECK_JOIN(n, true, {EX_mul, n->most * n->unit / 8}, {EX_add, 16});
	CHECK_JOIN(n, false, {EX_add, 4}, {EX_add, n->unit});
	CHECK_JOIN(n, false, {EX_mul, INFINITY});
	CHECK_JOIN(n, false, {EX_add, INFINITY});
	CHECK_JOIN(n, false, {EX_div, 0});
	CHECK_JOIN(n, true, {EX_mul, 0}, {EX_add, 1});
}
END_TEST

int
main(void)
{
	TCase *t = tcase_create("chains");
	int chains = unit_count("CHAINS", CHAINS);
	tcase_add_loop_test(t, chains_mean_the_same, 0, (chains + CHAINS - 1) / CHAINS);
	tcase_add_loop_test(t, rounding_stays, 0, (int)countof(all_numbers));
	tcase_add_loop_test(t, ranges_are_the_types, 0, (int)countof(all_numbers));
	tcase_add_loop_test(t, quotients_keep_their_bits, 0, (int)countof(all_numbers));
	return unit_run(t);
}
