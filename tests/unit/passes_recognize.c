/* RecognizeOperators keeps what a graph means, and finds each operator however it is written:
 * random spellings of all rows, half of them with a fault somewhere, a number, an operand, an axis.
 * Results before and after are near; without a fault one node is left. RECOGNIZE_GRAPHS says how
 * many; some hundreds without it.
 */
#include <math.h>
#include <stdlib.h>

#include "eval/eval.h"
#include "graph/infer.h"
#include "passes/passes.h"
#include "random_number.h"
#include "unit.h"

enum { GRAPHS = 300, LONG = 6, WIDE = 4 };

typedef struct Case {
	uint64_t state;
	Graph *graph;
	Value *x, *scale, *bias;
	int fault; /* at which number, operand or axis from now on; below 0: behind it, or none */
} Case;

static int
below(Case *c, int count)
{
	return (int)random_below(&c->state, (unsigned)count);
}

static bool
is_fault(Case *c)
{
	return c->fault-- == 0;
}

/* ---- nodes ---- */

static Value *
node(Case *c, const char *op, int ninput, Value *const *inputs)
{
	static const Loc none = {0};
	return node_new(c->graph->body, NULL, op, &none, ninput, inputs, 1, (const char *[]){""})
	    ->outputs[0];
}

static Value *
one(Case *c, const char *op, Value *x)
{
	return node(c, op, 1, &x);
}

static Value *
two(Case *c, const char *op, Value *a, Value *b)
{
	return node(c, op, 2, (Value *[]){a, b});
}

/* Of a sum or product; which is first, is chance. */
static Value *
either(Case *c, const char *op, Value *a, Value *b)
{
	bool is_turned = below(c, 2);
	return two(c, op, is_turned ? b : a, is_turned ? a : b);
}

/* a - b or a / b. */
static Value *
ordered(Case *c, const char *op, Value *a, Value *b)
{
	return is_fault(c) ? two(c, op, b, a) : two(c, op, a, b);
}

static Value *
number(Case *c, double value)
{
	Array *array = array_new(c->graph->arena, DT_F32, 0, NULL);
	dtype_store_f64(DT_F32, array->data, 0, is_fault(c) ? value * 1.01 + 0.001 : value);
	return graph_constant(c->graph, graph_fresh_name(c->graph, "n"), array);
}

static Value *
reduced(Case *c, const char *op, Value *x)
{
	int64_t axis = is_fault(c) ? 1 : below(c, 2) ? -1 : 2;
	Value *axes = graph_constant(c->graph, graph_fresh_name(c->graph, "i"),
	                             array_vector_i64(c->graph->arena, 1, &axis));
	return two(c, op, x, axes);
}

/* ---- operators as others write them ---- */

static Value *
mean(Case *c, Value *x)
{
	switch (below(c, 5)) {
	case 0:
		return reduced(c, "ReduceMean", x);
	case 1:
		return either(c, "Mul", reduced(c, "ReduceSum", x), number(c, 1.0 / WIDE));
	case 2: /* the number before the sum */
		return reduced(c, "ReduceSum", either(c, "Mul", x, number(c, 1.0 / WIDE)));
	case 3: /* on both sides */
		x = reduced(c, "ReduceSum", either(c, "Mul", x, number(c, -0.5)));
		return either(c, "Mul", x, number(c, -2.0 / WIDE));
	default:
		return ordered(c, "Div", reduced(c, "ReduceSum", x), number(c, WIDE));
	}
}

static Value *
square(Case *c, Value *x)
{
	return below(c, 2) ? two(c, "Mul", x, x) : two(c, "Pow", x, number(c, 2));
}

static Value *
over_root(Case *c, Value *x, Value *e)
{
	switch (below(c, 4)) {
	case 0:
		return ordered(c, "Div", x, one(c, "Sqrt", e));
	case 1:
		return either(c, "Mul", x, one(c, "Reciprocal", one(c, "Sqrt", e)));
	case 2:
		return either(c, "Mul", x, two(c, "Pow", e, number(c, -0.5)));
	default:
		return ordered(c, "Div", x, two(c, "Pow", e, number(c, 0.5)));
	}
}

static Value *
scaled_norm(Case *c, Value *d)
{
	Value *e = either(c, "Add", mean(c, square(c, d)), number(c, below(c, 2) ? 1e-5 : 1e-3));
	return either(c, "Mul", over_root(c, d, e), c->scale);
}

static Value *
layer_norm(Case *c)
{
	Value *y = scaled_norm(c, ordered(c, "Sub", c->x, mean(c, c->x)));
	return below(c, 2) ? y : either(c, "Add", y, c->bias);
}

static Value *
rms_norm(Case *c)
{
	return scaled_norm(c, c->x);
}

static Value *
softmax(Case *c)
{
	Value *e = one(c, "Exp", ordered(c, "Sub", c->x, reduced(c, "ReduceMax", c->x)));
	return ordered(c, "Div", e, reduced(c, "ReduceSum", e));
}

/* x * (1 + f) / 2. */
static Value *
half_of(Case *c, Value *f)
{
	switch (below(c, 3)) {
	case 0:
		return either(c, "Mul", either(c, "Mul", c->x, either(c, "Add", f, number(c, 1))),
		              number(c, 0.5));
	case 1:
		return either(c, "Mul", either(c, "Mul", c->x, number(c, 0.5)),
		              either(c, "Add", f, number(c, 1)));
	default:
		return either(c, "Mul", c->x,
		              either(c, "Add", either(c, "Mul", f, number(c, 0.5)), number(c, 0.5)));
	}
}

static Value *
gelu(Case *c)
{
	Value *a = below(c, 2) ? ordered(c, "Div", c->x, number(c, sqrt(2)))
	                       : either(c, "Mul", c->x, number(c, sqrt(0.5)));
	return half_of(c, one(c, is_fault(c) ? "Tanh" : "Erf", a));
}

static Value *
gelu_tanh(Case *c)
{
	Value *cube = below(c, 2) ? two(c, "Pow", c->x, number(c, 3))
	                          : either(c, "Mul", c->x, two(c, "Mul", c->x, c->x));
	Value *sum = either(c, "Add", c->x, either(c, "Mul", cube, number(c, 0.044715)));
	return half_of(c, one(c, "Tanh", either(c, "Mul", sum, number(c, 0.7978845608))));
}

static Value *
hard_swish(Case *c)
{
	Value *up = either(c, "Add", c->x, number(c, 3));
	Value *cut = node(c, "Clip", 3, (Value *[]){up, number(c, 0), number(c, 6)});
	return below(c, 2) ? ordered(c, "Div", either(c, "Mul", c->x, cut), number(c, 6))
	                   : either(c, "Mul", c->x, ordered(c, "Div", cut, number(c, 6)));
}

static Value *
mish(Case *c)
{
	return either(c, "Mul", c->x, one(c, is_fault(c) ? "Erf" : "Tanh", one(c, "Softplus", c->x)));
}

typedef struct Operator {
	const char *name;
	Value *(*spell)(Case *c);
	int places; /* for faults, at most */
} Operator;

static const Operator OPERATORS[] = {
	{"LayerNormalization", layer_norm, 12},
	{"RMSNormalization", rms_norm, 7},
	{"Softmax", softmax, 4},
	{"Gelu", gelu, 6},
	{"Gelu", gelu_tanh, 6},
	{"HardSwish", hard_swish, 5},
	{"Mish", mish, 1},
};

enum { OPERATOR_COUNT = (int)(sizeof OPERATORS / sizeof *OPERATORS) };

/* ---- running ---- */

static Value *
input(Case *c, const char *name, int rank)
{
	ExprCtx *ctx = c->graph->ctx;
	const Dim **dims = NEW_N(c->graph->arena, const Dim *, 3);
	const Dim *all[] = {dim_symbol(ctx, "N"), dim_const(ctx, LONG), dim_const(ctx, WIDE)};
	for (int d = 0; d < rank; d++)
		dims[d] = all[3 - rank + d];
	Type type = type_tensor(DT_F32, rank, dims);
	return graph_input(c->graph, name, &type);
}

static const Array *
data_of(Case *c, const Value *value)
{
	int64_t dims[] = {2, LONG, WIDE};
	const int64_t *own = dims + 3 - value->type.rank;
	Array *array = array_new(c->graph->arena, DT_F32, value->type.rank, own);
	for (int64_t i = 0; i < array_count(array); i++)
		dtype_store_f64(DT_F32, array->data, i, below(c, 4000) / 500.0 - 4);
	return array;
}

static void
check_near(const Array *before, const Array *after, const char *text)
{
	for (int64_t i = 0; i < array_count(before); i++) {
		double a = dtype_load_f64(DT_F32, before->data, i);
		double b = dtype_load_f64(DT_F32, after->data, i);
		bool is_near = (isnan(a) && isnan(b)) || a == b || fabs(a - b) <= 1e-4 * (1 + fabs(a));
		ck_assert_msg(is_near, "element %d: %.9g, then %.9g\n%s", (int)i, a, b, text);
	}
}

START_TEST(operators_mean_the_same)
{
	int found = 0, spoilt = 0;
	for (int i = 0; i < GRAPHS; i++) {
		Arena *arena = arena_new("test");
		const Operator *spelt = &OPERATORS[i % OPERATOR_COUNT];
		Case c = {.state = (uint64_t)_i * GRAPHS + (uint64_t)i, .fault = -1};
		bool is_spoilt = below(&c, 2);
		c.fault = is_spoilt ? below(&c, spelt->places) : -1;
		c.graph = graph_new(arena, "g", "random");
		c.x = input(&c, "x", 3);
		c.scale = input(&c, "scale", 1);
		c.bias = input(&c, "bias", 1);
		Value *y = spelt->spell(&c);
		is_spoilt &= c.fault < 0;
		graph_set_outputs(c.graph, 1, &y);
		graph_infer(c.graph);
		const Array *data[] = {data_of(&c, c.x), data_of(&c, c.scale), data_of(&c, c.bias)};
		const Array *before, *after;
		eval_graph(arena, c.graph, data, &before);
		Buf text = {.arena = arena};
		graph_print(&text, c.graph);
		PassContext context = {.arena = arena, .running = "test", .level = 2};
		bool is_found = pass_RecognizeOperators(c.graph, &context);
		graph_print(&text, c.graph);
		graph_check(c.graph);
		eval_graph(arena, c.graph, data, &after);
		check_near(before, after, buf_text(&text));
		const Node *last = c.graph->body->last;
		bool is_one =
			is_found && last == c.graph->body->first && !strcmp(last->op->name, spelt->name);
		ck_assert_msg(is_one || is_spoilt, "not found\n%s", buf_text(&text));
		found += is_one;
		spoilt += !is_found;
		arena_free(arena);
	}
	ck_assert_int_gt(found, GRAPHS / 3);
	ck_assert_int_gt(spoilt, GRAPHS / 5);
}
END_TEST

/* A model that says an opset which has none of them. */
START_TEST(older_opsets_keep_nodes)
{
	for (int i = 0; i < OPERATOR_COUNT; i++) {
		Arena *arena = arena_new("test");
		Case c = {.state = (uint64_t)i, .graph = graph_new(arena, "g", "random"), .fault = -1};
		c.x = input(&c, "x", 3);
		c.scale = input(&c, "scale", 1);
		c.bias = input(&c, "bias", 1);
		Value *y = OPERATORS[i].spell(&c);
		graph_set_outputs(c.graph, 1, &y);
		vec_push(arena, &c.graph->opsets, ((OpsetImport){"", 12}));
		graph_infer(c.graph);
		PassContext context = {.arena = arena, .running = "test", .level = 2};
		ck_assert_msg(!pass_RecognizeOperators(c.graph, &context), "%s", OPERATORS[i].name);
		arena_free(arena);
	}
}
END_TEST

int
main(void)
{
	TCase *t = tcase_create("recognize");
	const char *given = getenv("RECOGNIZE_GRAPHS");
	int graphs = given ? atoi(given) : GRAPHS;
	tcase_add_loop_test(t, operators_mean_the_same, 0, (graphs + GRAPHS - 1) / GRAPHS);
	tcase_add_test(t, older_opsets_keep_nodes);
	return unit_run(t);
}
