/* Nested graphs of models: what they capture, their names, and an If that needs none. */
#include "unit.h"

#include <stdio.h>

#include "onnx_fixture.h"

static Graph *
read_model(const ModelMaker *m)
{
	Failure failure;
	Graph *graph = try_bytes(arena, make_model(m, 8, 17), &failure);
	ck_assert_msg(graph != NULL, "%s", failure.text);
	return graph;
}

/* A graph t = op(inputs). */
static Wire
new_branch(const char *op, const char *inputs)
{
	Wire branch = {.arena = arena}, node = make_node_wire(arena, op, inputs, "t", NULL);
	wire_message(&branch, 1, &node);
	make_value_in(&branch, arena, OUTPUT, "t", DT_F32, 2, (int64_t[]){2, 3});
	return branch;
}

/* y = If(c) {*then} else {*other} */
static void
put_if(ModelMaker *m, const Wire *then, const Wire *other)
{
	Wire attrs = {.arena = arena};
	put_graph(&attrs, "then_branch", then);
	put_graph(&attrs, "else_branch", other);
	make_node(m, "If", "c", "y", &attrs);
}

/* One side captures an input, the other a node that the file has behind the If. */
START_TEST(regions_capture_and_may_repeat_names)
{
	ModelMaker m = make_small(arena);
	make_value(&m, INPUT, "c", DT_BOOL, 0, NULL);
	Wire then = new_branch("Relu", "x"), other = new_branch("Neg", "a");
	put_if(&m, &then, &other);
	make_node(&m, "Abs", "x", "a", NULL);
	Graph *graph = read_model(&m);
	Node *node = graph->body->last; /* moved behind Abs, which its branch needs */
	ck_assert_str_eq(node->op->name, "If");
	ck_assert_int_eq(node->nregion, 2);
	for (int i = 0; i < 2; i++) {
		Region *region = node->regions[i];
		bool is_then = strcmp(region->name, "then_branch") == 0;
		ck_assert_int_eq(region->captures.count, 1);
		ck_assert_str_eq(region->captures.data[0]->name, is_then ? "x" : "a");
	}
	ck_assert_str_ne(node->regions[0]->results[0]->name, node->regions[1]->results[0]->name);
	graph_check(graph);
}
END_TEST

/* A branch with an input of its own, of an If that is decided when running, or when reading. */
START_TEST(a_branch_takes_nothing)
{
	for (int is_decided = 0; is_decided < 2; is_decided++) {
		ModelMaker m = make_small(arena);
		Wire then = new_branch("Relu", "p"), other = new_branch("Neg", "x");
		make_value_in(&then, arena, INPUT, "p", DT_F32, 2, (int64_t[]){2, 3});
		if (is_decided)
			make_initializer(&m, "c", DT_BOOL, 0, NULL, "\1", 1);
		else
			make_value(&m, INPUT, "c", DT_BOOL, 0, NULL);
		put_if(&m, &then, &other);
		Failure failure;
		ck_assert(!try_bytes(arena, make_model(&m, 8, 17), &failure));
		ck_assert_msg(strstr(failure.text, "has formal inputs, expected none"), "%s", failure.text);
		ck_assert_int_eq(failure.kind, FAIL_INVALID);
	}
}
END_TEST

/* y = If(c) {MatMul(x, x), of no sense for f32[2,3]} else {Relu(x)} */
static void
put_choice(ModelMaker *m)
{
	Wire then = new_branch("MatMul", "x x"), other = new_branch("Relu", "x");
	put_if(m, &then, &other);
}

START_TEST(a_decided_if_is_its_side)
{
	int64_t six = 6;
	bool no = false;
	ModelMaker m = make_small(arena);
	make_initializer(&m, "six", DT_I64, 0, NULL, &six, sizeof six);
	make_node(&m, "Size", "x", "size", NULL);
	make_node(&m, "Greater", "size six", "c", NULL);
	put_choice(&m);
	Graph *graph = read_model(&m);
	graph_check(graph);
	ck_assert_str_eq(graph->body->last->op->name, "Relu");
	ck_assert_ptr_eq(graph->body->results[0], graph->body->last->outputs[0]);

	m = make_small(arena); /* a constant decides, too */
	make_initializer(&m, "c", DT_BOOL, 0, NULL, &no, 1);
	put_choice(&m);
	ck_assert_str_eq(read_model(&m)->body->last->op->name, "Relu");

	m = make_small(arena); /* a default does not: the caller may say otherwise */
	make_value(&m, INPUT, "c", DT_BOOL, 0, NULL);
	make_initializer(&m, "c", DT_BOOL, 0, NULL, &no, 1);
	put_choice(&m);
	Failure failure;
	ck_assert_ptr_null(try_bytes(arena, make_model(&m, 8, 17), &failure));
	ck_assert_msg(strstr(failure.text, "(MatMul): ") != NULL, "%s", failure.text);
}
END_TEST

/* t = ReduceSum(x, axes), of a type that follows once somebody knows how many axes there are. */
static Wire
new_waiting(void)
{
	Wire branch = {.arena = arena}, output = {.arena = arena};
	Wire node = make_node_wire(arena, "ReduceSum", "x axes", "t", NULL);
	wire_text(&output, 1, "t");
	wire_message(&branch, 1, &node);
	wire_message(&branch, 12, &output);
	return branch;
}

typedef struct OpenJob {
	Bytes bytes;
	Graph *graph;
} OpenJob;

static void
read_open(void *arg)
{
	OpenJob *job = arg;
	job->graph =
		onnx_read_bytes(arena, "test.onnx", job->bytes, &(OnnxReadOptions){.is_open = true});
}

/* An open graph believes the model where a result of a branch, of either or both, has no type. */
START_TEST(results_without_a_type_wait)
{
	for (int waits = 1; waits < 4; waits++) {
		ModelMaker m = make_small(arena);
		make_value(&m, INPUT, "c", DT_BOOL, 0, NULL);
		make_value(&m, INPUT, "axes", DT_I64, 1, (int64_t[]){-1});
		Wire then = waits & 1 ? new_waiting() : new_branch("Relu", "x");
		Wire other = waits & 2 ? new_waiting() : new_branch("Neg", "x");
		put_if(&m, &then, &other);
		OpenJob job = {make_model(&m, 8, 17), NULL};
		Failure failure;
		ck_assert_msg(try_run(read_open, &job, &failure), "%s", failure.text);
		ck_assert_int_eq(job.graph->body->results[0]->type.rank, 2);
	}
}
END_TEST

int
main(void)
{
	TCase *t = tcase_create("onnx_branch");
	tcase_add_checked_fixture(t, begin, end);
	tcase_add_test(t, regions_capture_and_may_repeat_names);
	tcase_add_test(t, a_branch_takes_nothing);
	tcase_add_test(t, a_decided_if_is_its_side);
	tcase_add_test(t, results_without_a_type_wait);
	return unit_run(t);
}
