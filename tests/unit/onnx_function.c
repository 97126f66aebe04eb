/* Model-local functions by what they compute: calls of calls, attributes that pass through them and
 * into nested graphs, defaults, inputs that are not given, opsets of their own.
 *
 *     leak(X) {slope = 0.5} => Y = LeakyRelu(X) {alpha = @slope}
 *     model: y = leak(x) {slope = 0.25}        y(-4) is -1
 */
#include "unit.h"

#include <assert.h>
#include <stdio.h>

#include "eval/eval.h"
#include "onnx_fixture.h"

/* ---- functions of domain "local" ---- */

static Wire
new_function(const char *name, const char *inputs, const char *attrs)
{
	Wire function = {.arena = arena};
	wire_text(&function, 1, name);
	make_names(&function, arena, 4, inputs);
	make_names(&function, arena, 5, "Y");
	make_names(&function, arena, 6, attrs);
	wire_text(&function, 10, "local");
	return function;
}

static void
put_default(Wire *function, const char *name, float value)
{
	Wire attr = {.arena = arena};
	wire_text(&attr, 1, name);
	wire_float(&attr, 2, value);
	wire_int(&attr, 20, 1);
	wire_message(function, 11, &attr);
}

/* name = @of, a float */
static void
put_reference(Wire *attrs, const char *name, const char *of)
{
	Wire attr = {.arena = arena};
	wire_text(&attr, 1, name);
	wire_text(&attr, 21, of);
	wire_int(&attr, 20, 1);
	wire_message(attrs, 5, &attr);
}

enum { NODE_OF_GRAPH = 1, NODE_OF_FUNCTION = 7 };

/* A node of a graph or function; the names of functions are in lower case. */
static void
put_node(Wire *wire, int field, const char *op, const char *inputs, const char *outputs,
         const Wire *attrs)
{
	Wire node = make_node_wire(arena, op, inputs, outputs, attrs);
	if (*op >= 'a')
		wire_text(&node, 7, "local");
	wire_message(wire, field, &node);
}

static void
put_function(ModelMaker *m, Wire *function, int64_t opset)
{
	put_opset(function, 9, "", opset);
	put_opset(function, 9, "local", 1);
	wire_message(&m->functions, 25, function);
}

/* leak(X) {slope = 0.5} => Y = LeakyRelu(X) {alpha = @slope} */
static void
put_leak(ModelMaker *m)
{
	Wire leak = new_function("leak", "X", ""), attrs = {.arena = arena};
	put_default(&leak, "slope", 0.5f);
	put_reference(&attrs, "alpha", "slope");
	put_node(&leak, NODE_OF_FUNCTION, "LeakyRelu", "X", "Y", &attrs);
	put_function(m, &leak, 17);
}

/* ---- models: x: f32[2] = {-4, 8}, c: bool; y ---- */

static ModelMaker
new_model(void)
{
	ModelMaker m = maker(arena);
	make_value(&m, INPUT, "x", DT_F32, 1, (int64_t[]){2});
	make_value(&m, INPUT, "c", DT_BOOL, 0, NULL);
	make_value(&m, OUTPUT, "y", DT_F32, 1, (int64_t[]){2});
	return m;
}

/* A call in the model, with an attribute unless it is NULL. */
static void
call(ModelMaker *m, const char *function, const char *inputs, const char *output, const char *attr,
     float value)
{
	Wire attrs = {.arena = arena};
	if (attr)
		put_float(&attrs, attr, value);
	put_node(&m->graph, NODE_OF_GRAPH, function, inputs, output, &attrs);
}

static void
expect(const ModelMaker *m, bool c, float first, float second)
{
	Failure failure;
	Graph *graph = try_bytes(arena, make_model(m, 9, 17), &failure);
	ck_assert_msg(graph != NULL, "%s", failure.text);
	graph_check(graph);
	uint8_t truth = c;
	const Array *in[] = {array_from(arena, DT_F32, 1, (int64_t[]){2}, (float[]){-4, 8}),
	                     array_from(arena, DT_BOOL, 0, NULL, &truth)};
	const Array *out[1];
	eval_graph(arena, graph, in, out);
	const float *y = out[0]->data;
	ck_assert_msg(y[0] == first && y[1] == second, "%g and %g, expected %g and %g", (double)y[0],
	              (double)y[1], (double)first, (double)second);
}

static void
expect_failure(const ModelMaker *m, const char *text)
{
	Failure failure;
	ck_assert_ptr_null(try_bytes(arena, make_model(m, 9, 17), &failure));
	ck_assert_msg(strstr(failure.text, text) != NULL, "%s", failure.text);
}

START_TEST(defaults_stand_in_for_attributes)
{
	ModelMaker m = new_model();
	put_leak(&m);
	call(&m, "leak", "x", "y", "slope", 0.25f);
	expect(&m, true, -1, 8);
	m = new_model();
	put_leak(&m);
	call(&m, "leak", "x", "y", NULL, 0);
	expect(&m, true, -2, 8);
}
END_TEST

/* twice(X) {a} => Y = -leak(-leak(X) {slope = @a}); model: y = twice(twice(x) {a}) {a'} */
static void
put_twice(ModelMaker *m)
{
	Wire twice = new_function("twice", "X", "a"), attrs = {.arena = arena};
	put_reference(&attrs, "slope", "a");
	put_node(&twice, NODE_OF_FUNCTION, "leak", "X", "t", &attrs);
	put_node(&twice, NODE_OF_FUNCTION, "Neg", "t", "X2", NULL);
	put_node(&twice, NODE_OF_FUNCTION, "leak", "X2", "t2", NULL);
	put_node(&twice, NODE_OF_FUNCTION, "Neg", "t2", "Y", NULL);
	put_function(m, &twice, 17);
}

START_TEST(calls_of_calls)
{
	ModelMaker m = new_model();
	put_twice(&m);
	put_leak(&m);
	call(&m, "twice", "x", "h", "a", 0.25f); /* -4 -> -1 -> 1 -> 1 -> -1; 8 -> 8 -> -8 -> -4 -> 4 */
	call(&m, "twice", "h", "y", "a", 0.125f); /* -1 -> -1/8; 4 -> 2 */
	expect(&m, true, -0.125f, 2);
	m = new_model();
	put_twice(&m);
	put_leak(&m);
	call(&m, "twice", "x", "y", NULL, 0); /* @a is nothing: leak has its default */
	expect(&m, true, -2, 4);
}
END_TEST

/* pick(X, C) {a} {b = 2} => Y = If(C) {LeakyRelu(X) {alpha = @a}} else {leak(X) {slope = @b}} */
static void
put_pick(ModelMaker *m)
{
	Wire pick = new_function("pick", "X C", "a"), attrs = {.arena = arena};
	Wire references[2] = {{.arena = arena}, {.arena = arena}};
	Wire branches[2] = {{.arena = arena}, {.arena = arena}};
	put_default(&pick, "b", 2);
	put_reference(&references[0], "alpha", "a");
	put_reference(&references[1], "slope", "b");
	put_node(&branches[0], NODE_OF_GRAPH, "LeakyRelu", "X", "t", &references[0]);
	put_node(&branches[1], NODE_OF_GRAPH, "leak", "X", "t", &references[1]);
	for (int i = 0; i < 2; i++)
		make_value_in(&branches[i], arena, OUTPUT, "t", DT_F32, 1, (int64_t[]){2});
	put_graph(&attrs, "then_branch", &branches[0]);
	put_graph(&attrs, "else_branch", &branches[1]);
	put_node(&pick, NODE_OF_FUNCTION, "If", "C", "Y", &attrs);
	put_function(m, &pick, 17);
}

START_TEST(references_reach_into_nested_graphs)
{
	ModelMaker m = new_model();
	put_leak(&m);
	put_pick(&m);
	call(&m, "pick", "x c", "y", "a", 0.25f);
	expect(&m, true, -1, 8);
	expect(&m, false, -8, 8);
	m = new_model();
	put_leak(&m);
	put_pick(&m);
	call(&m, "pick", "x c", "h", "a", 0.5f);
	call(&m, "pick", "h c", "y", "b", 4);
	expect(&m, true, -2 * 0.01f, 8); /* LeakyRelu's own default */
	expect(&m, false, -32, 8);
}
END_TEST

/* inner(X, L, H) => Y = Clip(X, L, H); bound(X, L, H) => Y = inner(X, L, H) */
static void
put_bound(ModelMaker *m)
{
	Wire inner = new_function("inner", "X L H", ""), bound = new_function("bound", "X L H", "");
	put_node(&inner, NODE_OF_FUNCTION, "Clip", "X L H", "Y", NULL);
	put_node(&bound, NODE_OF_FUNCTION, "inner", "X L H", "Y", NULL);
	put_function(m, &inner, 17);
	put_function(m, &bound, 17);
	float numbers[] = {-1, 5};
	make_initializer(m, "low", DT_F32, 0, NULL, &numbers[0], 4);
	make_initializer(m, "high", DT_F32, 0, NULL, &numbers[1], 4);
}

START_TEST(inputs_may_be_missing)
{
	static const struct {
		const char *inputs;
		float first, second;
	} cases[] = {
		{"x low high", -1, 5}, {"x _ high", -4, 5}, {"x low", -1, 8},
		{"x low _", -1, 8},    {"x", -4, 8},        {"x _ _", -4, 8},
	};
	for (size_t i = 0; i < countof(cases); i++) {
		ModelMaker m = new_model();
		put_bound(&m);
		call(&m, "bound", cases[i].inputs, "y", NULL, 0);
		expect(&m, true, cases[i].first, cases[i].second);
	}
	ModelMaker m = new_model();
	put_bound(&m);
	call(&m, "bound", "_ low high", "y", NULL, 0);
	expect_failure(&m, "input 0 (");
	m = new_model();
	put_bound(&m);
	call(&m, "bound", "x low high low", "y", NULL, 0);
	expect_failure(&m, "4 inputs, function bound has 3");
}
END_TEST

/* A function of opset 6 in a model of 17: its nodes have their old forms. */
START_TEST(functions_have_opsets_of_their_own)
{
	ModelMaker m = new_model();
	Wire old = new_function("old", "X", ""), attrs = {.arena = arena};
	put_float(&attrs, "min", -1);
	put_float(&attrs, "max", 5);
	put_node(&old, NODE_OF_FUNCTION, "Clip", "X", "Y", &attrs);
	put_function(&m, &old, 6);
	call(&m, "old", "x", "y", NULL, 0);
	expect(&m, true, -1, 5);
}
END_TEST

int
main(void)
{
	TCase *t = tcase_create("onnx_function");
	tcase_add_checked_fixture(t, begin, end);
	tcase_add_test(t, defaults_stand_in_for_attributes);
	tcase_add_test(t, calls_of_calls);
	tcase_add_test(t, references_reach_into_nested_graphs);
	tcase_add_test(t, inputs_may_be_missing);
	tcase_add_test(t, functions_have_opsets_of_their_own);
	return unit_run(t);
}
