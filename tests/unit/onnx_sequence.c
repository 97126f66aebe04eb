/* Sequences of models: their tensors stand in their place, as the standard says. */
#include "unit.h"

#include <stdio.h>

#include "eval/eval.h"
#include "onnx_fixture.h"

static const float numbers[] = {1, 2, 3, 4, 5, 6};

/* x: f32[2,3] or, where `is_open`, f32[N,3]. */
static ModelMaker
new_model(bool is_open)
{
	ModelMaker m = maker(arena);
	int64_t zero = 0, one = 1;
	make_value(&m, INPUT, "x", DT_F32, 2, (int64_t[]){is_open ? -2 : 2, 3});
	make_initializer(&m, "zero", DT_I64, 0, NULL, &zero, sizeof zero);
	make_initializer(&m, "one", DT_I64, 0, NULL, &one, sizeof one);
	return m;
}

static void
node(ModelMaker *m, const char *op, const char *inputs, const char *outputs)
{
	make_node(m, op, inputs, outputs, NULL);
}

static void
concat(ModelMaker *m, const char *output, int64_t axis, int64_t new_axis)
{
	Wire attrs = {.arena = arena};
	put_int(&attrs, "axis", axis);
	put_int(&attrs, "new_axis", new_axis);
	make_node(m, "ConcatFromSequence", "s", output, &attrs);
}

static Graph *
read_model(ModelMaker *m, const char *output)
{
	Failure failure;
	make_value(m, OUTPUT, output, DT_F32, -1, NULL);
	Graph *graph = try_bytes(arena, make_model(m, 8, 17), &failure);
	ck_assert_msg(graph != NULL, "%s", failure.text);
	graph_check(graph);
	return graph;
}

/* The output's elements for x = {{1, 2, 3}, {4, 5, 6}}; its dims as a text. */
static const Array *
result_of(ModelMaker *m, const char *output, const char *dims)
{
	const Array *x = array_from(arena, DT_F32, 2, (int64_t[]){2, 3}, numbers), *y;
	eval_graph(arena, read_model(m, output), &x, &y);
	Buf seen = {.arena = arena};
	for (int d = 0; d < y->rank; d++)
		buf_printf(&seen, d ? ",%lld" : "%lld", (long long)y->dims[d]);
	ck_assert_str_eq(buf_text(&seen), dims);
	return y;
}

static void
expect(const Array *seen, const double *wanted)
{
	for (int64_t i = 0; i < array_count(seen); i++)
		ck_assert_msg(dtype_load_f64(seen->type, seen->data, i) == wanted[i],
		              "element %d is %g, expected %g", (int)i,
		              dtype_load_f64(seen->type, seen->data, i), wanted[i]);
}

/* s = x in parts along an axis; put together along each, as they were or with a new axis. */
START_TEST(what_is_split_is_put_together)
{
	static const struct {
		int64_t axis, keeps, to, is_new;
		const char *dims;
		double wanted[6];
	} cases[] = {
		{0, 1, 0, 0, "2,3", {1, 2, 3, 4, 5, 6}},   {0, 1, 1, 0, "1,6", {1, 2, 3, 4, 5, 6}},
		{1, 1, 0, 0, "6,1", {1, 4, 2, 5, 3, 6}},   {1, 1, 1, 0, "2,3", {1, 2, 3, 4, 5, 6}},
		{0, 0, 0, 0, "6", {1, 2, 3, 4, 5, 6}},     {1, 0, -1, 0, "6", {1, 4, 2, 5, 3, 6}},
		{0, 0, 1, 1, "3,2", {1, 4, 2, 5, 3, 6}},   {1, 0, 0, 1, "3,2", {1, 4, 2, 5, 3, 6}},
		{1, 1, 2, 1, "2,1,3", {1, 2, 3, 4, 5, 6}},
	};
	for (int i = 0; i < 2 * (int)countof(cases); i++) {
		ModelMaker m = new_model(i % 2);
		Wire attrs = {.arena = arena};
		put_int(&attrs, "axis", cases[i / 2].axis);
		put_int(&attrs, "keepdims", cases[i / 2].keeps);
		make_node(&m, "SplitToSequence", "x", "s", &attrs);
		concat(&m, "y", cases[i / 2].to, cases[i / 2].is_new);
		expect(result_of(&m, "y", cases[i / 2].dims), cases[i / 2].wanted);
	}
}
END_TEST

/* What is done to a list of tensors, one after the other. */
static ModelMaker
new_list(void)
{
	ModelMaker m = new_model(false);
	Wire attrs = {.arena = arena};
	make_i64s(&m, "sizes", 2, (int64_t[]){1, 2});
	put_int(&attrs, "axis", 1);
	make_node(&m, "SplitToSequence", "x sizes", "a", &attrs); /* {1, 4} and {2, 3, 5, 6} */
	node(&m, "SequenceAt", "a one", "right");
	node(&m, "Neg", "right", "minus");
	node(&m, "SequenceInsert", "a minus zero", "b");
	node(&m, "SequenceErase", "b one", "c");
	node(&m, "SequenceInsert", "c x", "d");
	node(&m, "Identity", "d", "s");
	return m;
}

START_TEST(lists_of_tensors)
{
	ModelMaker m = new_list();
	concat(&m, "y", 1, 0);
	expect(result_of(&m, "y", "2,7"), (double[]){-2, -3, 2, 3, 1, 2, 3, -5, -6, 5, 6, 4, 5, 6});
	m = new_list();
	node(&m, "SequenceLength", "s", "n");
	node(&m, "CastLike", "n x", "y");
	expect(result_of(&m, "y", ""), (double[]){3});
}
END_TEST

/* A place that data says is looked up among tensors of the same dims. */
START_TEST(a_place_that_data_says)
{
	ModelMaker m = new_model(false);
	node(&m, "Neg", "x", "minus");
	node(&m, "SequenceConstruct", "x minus", "s");
	node(&m, "ReduceMax", "x", "largest");
	Wire to = {.arena = arena}, keep = {.arena = arena};
	put_int(&to, "to", DT_I64);
	make_node(&m, "Cast", "largest", "six", &to);
	put_int(&keep, "keepdims", 0);
	make_node(&m, "ReduceMin", "six", "six0", &keep);
	node(&m, "Sub", "six0 six0", "nothing");
	node(&m, "Sub", "nothing one", "last");
	node(&m, "SequenceAt", "s last", "y");
	expect(result_of(&m, "y", "2,3"), (double[]){-1, -2, -3, -4, -5, -6});
}
END_TEST

/* A loop over the rows of x whose state s gets a tensor in each iteration: t, made by `op`. */
static Wire
loop_body(const char *op, const char *inputs, const char *insert)
{
	Wire body = {.arena = arena}, flag = make_node_wire(arena, "Identity", "go", "on", NULL);
	Wire row = make_node_wire(arena, "Gather", "x i", "row", NULL);
	Wire made = make_node_wire(arena, op, inputs, "t", NULL);
	Wire add = make_node_wire(arena, "SequenceInsert", insert, "s2", NULL);
	wire_message(&body, 1, &flag);
	wire_message(&body, 1, &row);
	wire_message(&body, 1, &made);
	wire_message(&body, 1, &add);
	make_value_in(&body, arena, INPUT, "i", DT_I64, 0, NULL);
	make_value_in(&body, arena, INPUT, "go", DT_BOOL, 0, NULL);
	make_value_in(&body, arena, INPUT, "s1", DT_F32, -1, NULL);
	make_value_in(&body, arena, OUTPUT, "on", DT_BOOL, 0, NULL);
	make_value_in(&body, arena, OUTPUT, "s2", DT_F32, -1, NULL);
	return body;
}

static ModelMaker
new_loop(const char *begin_with, const Wire *body)
{
	bool yes = true;
	int64_t two = 2;
	ModelMaker m = new_model(true);
	Wire attrs = {.arena = arena};
	make_initializer(&m, "yes", DT_BOOL, 0, NULL, &yes, 1);
	make_initializer(&m, "two", DT_I64, 0, NULL, &two, sizeof two);
	make_initializer(&m, "tens", DT_F32, 1, (int64_t[]){3}, (float[]){10, 20, 30}, 12);
	node(&m, *begin_with ? "SequenceConstruct" : "SequenceEmpty", begin_with, "begun");
	put_graph(&attrs, "body", body);
	make_node(&m, "Loop", "two yes begun", "s", &attrs);
	return m;
}

START_TEST(a_loop_that_fills_a_sequence_collects)
{
	Wire body = loop_body("Add", "row tens", "s1 t");
	ModelMaker m = new_loop("", &body);
	concat(&m, "y", 0, 1);
	expect(result_of(&m, "y", "2,3"), (double[]){11, 22, 33, 14, 25, 36});
	m = new_loop("", &body);
	concat(&m, "y", 0, 0);
	expect(result_of(&m, "y", "6"), (double[]){11, 22, 33, 14, 25, 36});
	m = new_loop("tens", &body);
	concat(&m, "y", 1, 1);
	expect(result_of(&m, "y", "3,3"), (double[]){10, 11, 14, 20, 22, 25, 30, 33, 36});
	m = new_loop("tens", &body);
	node(&m, "SequenceAt", "s two", "y");
	expect(result_of(&m, "y", "3"), (double[]){14, 25, 36});
}
END_TEST

static void
expect_refusal(ModelMaker *m, const char *output, const char *text)
{
	Failure failure;
	make_value(m, OUTPUT, output, DT_F32, -1, NULL);
	ck_assert(!try_bytes(arena, make_model(m, 8, 17), &failure));
	ck_assert_msg(strstr(failure.text, text) != NULL, "%s", failure.text);
	ck_assert_int_eq(failure.kind, FAIL_UNSUPPORTED);
}

/* Sequences that only a run knows are refused, each in a sentence. */
START_TEST(other_sequences_are_refused)
{
	Wire front = loop_body("Add", "row tens", "s1 t zero");
	ModelMaker m = new_loop("", &front);
	concat(&m, "y", 0, 0);
	expect_refusal(&m, "y", "the loop does more with sequence 's1' than to add a tensor");

	Wire grows = loop_body("Range", "zero i one", "s1 t");
	m = new_loop("", &grows);
	concat(&m, "y", 0, 0);
	expect_refusal(&m, "y", "that the loop adds to a sequence may differ in dim 0");

	m = new_model(false);
	node(&m, "SequenceConstruct", "x", "s");
	expect_refusal(&m, "s", "is a sequence");

	m = new_model(false);
	node(&m, "SequenceConstruct", "x", "s");
	node(&m, "Relu", "s", "y");
	expect_refusal(&m, "y", "it takes a sequence");
}
END_TEST

int
main(void)
{
	TCase *t = tcase_create("onnx_sequence");
	tcase_add_checked_fixture(t, begin, end);
	tcase_add_test(t, what_is_split_is_put_together);
	tcase_add_test(t, lists_of_tensors);
	tcase_add_test(t, a_place_that_data_says);
	tcase_add_test(t, a_loop_that_fills_a_sequence_collects);
	tcase_add_test(t, other_sequences_are_refused);
	return unit_run(t);
}
