/* Operators that no row has: read only to be written again, they pass through with attributes,
 * graphs, names and opset, and what is around them is inferred and optimised.
 */
#include <assert.h>

#include "graph/infer.h"
#include "onnx_fixture.h"
#include "passes/manager.h"
#include "target/target.h"

/* y, z = Foo(relu, _, same) {alpha, body: inner = Add(relu, relu)}; the others are known. */
static Bytes
model(int64_t opset)
{
	ModelMaker m = maker(arena);
	Wire body = {.arena = arena}, attrs = {.arena = arena};
	Wire node = make_node_wire(arena, "Add", "relu relu", "inner", NULL);
	wire_message(&body, 1, &node);
	make_value_in(&body, arena, OUTPUT, "inner", DT_F32, 2, (int64_t[]){-2, 4});
	put_float(&attrs, "alpha", 1.5f);
	put_ints(&attrs, "sizes", 2, (int64_t[]){7, 9});
	put_graph(&attrs, "body", &body);
	wire_text(&attrs, 7, "com.x");
	make_value(&m, INPUT, "x", DT_F32, 2, (int64_t[]){-2, 4});
	make_node(&m, "Relu", "x", "relu", NULL);
	make_node(&m, "Relu", "x", "same", NULL);
	Wire wire = make_node_wire(arena, "Foo", "relu _ same", "y z _", NULL);
	Buf joined = {.arena = arena};
	buf_write(&joined, buf_text(&wire.buf), wire.buf.size);
	Bytes more = make_bytes(arena, &attrs);
	buf_write(&joined, more.data, more.size);
	wire_bytes(&m.graph, 1, joined.data, joined.size);
	make_node(&m, "Blur", "z", "l", NULL);
	make_node(&m, "Relu", "l", "end", NULL);
	make_value(&m, OUTPUT, "y", DT_F32, 2, (int64_t[]){-2, 5});
	make_value(&m, OUTPUT, "end", DT_F32, 1, (int64_t[]){3});
	put_opset(&m.functions, 8, "com.x", 3);
	return make_model(&m, 8, opset);
}

typedef struct Job {
	const char *path;
	int64_t opset, least;
	Graph *graph;
} Job;

static void
read_and_write(void *arg)
{
	Job *job = arg;
	PassContext context = {
		.arena = arena, .run = run_passes, .level = 3, .config = {.arena = arena}};
	Target target = {.device = device_find("cpu:x86-64-v3")};
	context.target = &target;
	vec_push(arena, &context.disabled, "FuseOps");
	vec_push(arena, &context.disabled, "AssignLayout");
	OnnxReadOptions open = {.is_open = true};
	Graph *graph = onnx_read_bytes(arena, "test.onnx", model(job->opset), &open);
	graph_check(graph);
	run_graph_passes(graph, &context);
	graph_check(graph);
	onnx_write(graph, job->path, &(OnnxWriteOptions){.opset = job->least});
	job->graph = onnx_read(arena, job->path, &open);
}

static const Node *
find_node(const Graph *graph, const char *op)
{
	for (const Node *node = graph->body->first; node; node = node->next)
		if (strcmp(node->op->name, op) == 0)
			return node;
	return NULL;
}

START_TEST(unknown_operators_pass_through)
{
	Failure failure;
	Job job = {arena_printf(arena, "%s/m.onnx", folder), 17, 0, NULL};
	ck_assert_msg(try_run(read_and_write, &job, &failure), "%s", failure.text);
	const Node *foo = find_node(job.graph, "Foo");
	ck_assert_ptr_nonnull(foo);
	ck_assert_str_eq(foo->op->domain, "com.x");
	ck_assert_int_eq(foo->op->since, 3);
	ck_assert_int_eq(foo->ninput, 3);
	ck_assert_ptr_null(foo->inputs[1]);
	ck_assert_ptr_eq(foo->inputs[2], foo->inputs[0]); /* what computes the same is one */
	ck_assert_int_eq(foo->noutput, 3);
	ck_assert(attr_find(foo, "alpha")->f == 1.5f);
	ck_assert_int_eq(attr_find(foo, "sizes")->ints[1], 9);
	ck_assert_int_eq(foo->nregion, 1);
	ck_assert_str_eq(foo->regions[0]->name, "body");
	ck_assert_ptr_eq(foo->regions[0]->captures.data[0], foo->inputs[0]);
	ck_assert_str_eq(foo->outputs[0]->name, "y");
	ck_assert_int_eq(foo->outputs[0]->type.rank, 2);
	ck_assert_int_eq(find_node(job.graph, "Blur")->op->since, 17);
}
END_TEST

START_TEST(unknown_operators_stay_in_their_opset)
{
	Failure failure;
	Job job = {arena_printf(arena, "%s/m.onnx", folder), 17, 20, NULL};
	ck_assert(!try_run(read_and_write, &job, &failure));
	ck_assert_int_eq(failure.kind, FAIL_UNSUPPORTED);
	ck_assert_ptr_nonnull(strstr(failure.text, "it stays in opset 17, and opset 20 is needed"));
}
END_TEST

/* A model that is written again takes what it took: sizes that meet in a broadcast stay two. */
START_TEST(open_graphs_assume_nothing)
{
	ModelMaker m = maker(arena);
	make_value(&m, INPUT, "x", DT_F32, 2, (int64_t[]){-2, -7});
	make_value(&m, INPUT, "z", DT_F32, 2, (int64_t[]){-7, 4});
	make_value(&m, OUTPUT, "y", DT_F32, 2, (int64_t[]){-1, 4});
	make_node(&m, "Add", "x z", "y", NULL);
	for (int is_open = 0; is_open < 2; is_open++) {
		const OnnxReadOptions options = {.is_open = is_open};
		Graph *graph = onnx_read_bytes(arena, "test.onnx", make_model(&m, 8, 17), &options);
		graph_infer(graph);
		const Type *x = &graph->body->params[0]->type, *z = &graph->body->params[1]->type;
		const Type *y = &graph->body->results[0]->type;
		ck_assert_int_eq(x->dims[0] != z->dims[0], is_open);
		ck_assert_int_eq(dim_is(x->dims[1], 4), !is_open);
		ck_assert_int_eq(y->dims[0] != x->dims[0] && y->dims[0] != z->dims[0], is_open);
		ck_assert(dim_is(y->dims[1], 4));
	}
}
END_TEST

int
main(void)
{
	TCase *t = tcase_create("onnx_unknown");
	tcase_add_checked_fixture(t, begin, end);
	tcase_add_test(t, unknown_operators_pass_through);
	tcase_add_test(t, unknown_operators_stay_in_their_opset);
	tcase_add_test(t, open_graphs_assume_nothing);
	return unit_run(t);
}
