/* Whole graphs by the interpreter: meanings, host operators, symbols from data, If, Loop and Scan;
 * exact results by hand, and the same results within the bounds of bound mode.
 */
#include <math.h>
#include <string.h>

#include "eval/eval.h"
#include "graph/infer.h"
#include "unit.h"

static Arena *arena;

static void
set_up(void)
{
	arena = arena_new("eval test");
}

static void
tear_down(void)
{
	arena_free(arena);
}

static Array *
floats(int rank, const int64_t *dims, const float *data)
{
	return array_from(arena, DT_F32, rank, dims, data);
}

static Graph *
parse(const char *text)
{
	Graph *graph = graph_parse(arena, "t", text);
	graph_infer(graph);
	return graph;
}

static void
expect(const Array *seen, int64_t count, const double *want)
{
	ck_assert_ptr_nonnull(seen);
	ck_assert_int_eq(array_count(seen), count);
	for (int64_t i = 0; i < count; i++)
		ck_assert_msg(dtype_load_f64(seen->type, seen->data, i) == want[i],
		              "element %d is %g, expected %g", (int)i,
		              dtype_load_f64(seen->type, seen->data, i), want[i]);
}

/* Evaluate in both modes; exact results must lie within the bounds, all decided. */
static void
run(Graph *graph, const Array *const *inputs, const Array **outputs)
{
	const BoundArray *bounds[8];
	eval_graph(arena, graph, inputs, outputs);
	eval_graph_bound(arena, graph, inputs, bounds, (BoundWay){.sample = 0});
	for (int i = 0; i < graph->body->nresult; i++) {
		Agreement a = bound_compare(bounds[i], outputs[i], 1);
		ck_assert_int_eq(a.wrong, 0);
		ck_assert_int_eq(a.undecided, 0);
	}
}

typedef struct BadRun {
	const Graph *graph;
	const Array *const *inputs;
} BadRun;

static void
run_these(void *arg)
{
	const BadRun *bad = arg;
	const Array *out[8];
	eval_graph(arena, bad->graph, bad->inputs, out);
}

START_TEST(chain)
{
	Graph *g = parse("graph g(%x: f32[N,2]) -> %y {\n%w: f32[2,1] = {2, -1}\n"
	                 "%m = MatMul(%x, %w)\n%y = Relu(%m)\n}\n");
	const Array *in[] = {floats(2, (int64_t[]){3, 2}, (float[]){1, 1, 0, 5, 2, 0.5f})}, *out[1];
	run(g, in, out);
	expect(out[0], 3, (double[]){1, 0, 3.5});
	ck_assert_int_eq(out[0]->dims[0], 3);
}
END_TEST

/* A host operator's output defines a symbol; what follows has a meaning like anything else. */
START_TEST(data_dependent_dims)
{
	Graph *g = parse("graph g(%x: f32[N]) -> %y {\n%i = NonZero(%x)\n%t = Transpose(%i)\n"
	                 "%z = GatherND(%x, %t)\n%y = Neg(%z)\n}\n");
	const Array *in[] = {floats(1, (int64_t[]){5}, (float[]){0, 3, 0, 4, 5})}, *out[1];
	run(g, in, out);
	expect(out[0], 3, (double[]){-3, -4, -5});
}
END_TEST

/* One axis is cut where data says how long the lists of bounds are; other lengths fail. */
START_TEST(bounds_as_many_as_data_says)
{
	Failure failure;
	Graph *g = parse("graph g(%x: f32[N,2], %i: i64[1], %j: i64[1]) -> %y {\n"
	                 "%o: i64[4] = {0, 1, 3, 4}\n%one: i64[1] = {1}\n%k = Add(%j, %one)\n"
	                 "%from = Slice(%o, %i, %j)\n%to = Slice(%o, %j, %k)\n"
	                 "%y = Slice(%x, %from, %to)\n}\n");
	const Array *out[1], *in[] = {floats(2, (int64_t[]){4, 2}, (float[]){1, 2, 3, 4, 5, 6, 7, 8}),
	                              array_vector_i64(arena, 1, (int64_t[]){1}),
	                              array_vector_i64(arena, 1, (int64_t[]){2})};
	run(g, in, out);
	expect(out[0], 4, (double[]){3, 4, 5, 6});
	in[1] = array_vector_i64(arena, 1, (int64_t[]){0});
	BadRun bad = {g, in};
	ck_assert(!try_run(run_these, &bad, &failure));
	ck_assert_msg(strstr(failure.text, "elements of starts, and expected ones") != NULL, "%s",
	              failure.text);
}
END_TEST

START_TEST(branches)
{
	Graph *g = parse("graph g(%c: bool, %x: f32[2]) -> %a, %b {\n"
	                 "%a, %b = If(%c) then_branch { %t = Neg(%x) yield %t, %x }\n"
	                 "else_branch { %e = Add(%x, %x) yield %e, %e }\n}\n");
	const Array *out[2], *x = floats(1, (int64_t[]){2}, (float[]){1, 2});
	run(g, (const Array *[]){array_from(arena, DT_BOOL, 0, NULL, &(uint8_t){1}), x}, out);
	expect(out[0], 2, (double[]){-1, -2});
	expect(out[1], 2, (double[]){1, 2});
	run(g, (const Array *[]){array_from(arena, DT_BOOL, 0, NULL, &(uint8_t){0}), x}, out);
	expect(out[0], 2, (double[]){2, 4});
}
END_TEST

/* A state that grows, one that does not, and what each iteration yields. */
START_TEST(loop)
{
	Graph *g = parse("graph g(%m: i64, %x: f32[N]) -> %s, %f, %a {\n%yes: bool = {1}\n"
	                 "%s, %f, %a = Loop(%m, %yes, %x, %x) body(%i, %c, %g, %h) {\n"
	                 "%j = Concat(%g, %x) {axis=0}\n%k = Add(%h, %x)\nyield %c, %j, %k, %h }\n}\n");
	const Array *in[] = {array_scalar_i64(arena, 3), floats(1, (int64_t[]){2}, (float[]){1, 2})};
	const Array *out[3];
	run(g, in, out);
	expect(out[0], 8, (double[]){1, 2, 1, 2, 1, 2, 1, 2});
	expect(out[1], 2, (double[]){4, 8});
	expect(out[2], 6, (double[]){1, 2, 2, 4, 3, 6});
	in[0] = array_scalar_i64(arena, 0);
	run(g, in, out);
	expect(out[1], 2, (double[]){1, 2});
	ck_assert_int_eq(out[2]->dims[0], 0);
}
END_TEST

START_TEST(loop_ends_by_condition)
{
	Graph *g = parse("graph g(%x: f32[1]) -> %f {\n%yes: bool = {1}\n%lim: f32[1] = {10}\n"
	                 "%f = Loop(_, %yes, %x) body(%i, %c, %h) {\n"
	                 "%k = Add(%h, %h)\n%l = Less(%k, %lim)\nyield %l, %k }\n}\n");
	const Array *in[] = {floats(1, (int64_t[]){1}, (float[]){1.5f})}, *out[1];
	run(g, in, out);
	expect(out[0], 1, (double[]){12});
}
END_TEST

START_TEST(scan)
{
	Graph *g = parse("graph g(%s: f32[2], %x: f32[2,T]) -> %e, %y {\n"
	                 "%e, %y = Scan(%s, %x) {num_scan_inputs=1, scan_input_axes=[1], "
	                 "scan_output_axes=[-1], scan_output_directions=[1]} body(%p, %r) {\n"
	                 "%q = Add(%p, %r)\n%z = Mul(%q, %r)\nyield %q, %z }\n}\n");
	const Array *in[] = {floats(1, (int64_t[]){2}, (float[]){0, 10}),
	                     floats(2, (int64_t[]){2, 3}, (float[]){1, 2, 3, 4, 5, 6})};
	const Array *out[2];
	run(g, in, out);
	expect(out[0], 2, (double[]){6, 25});
	expect(out[1], 6, (double[]){18, 6, 1, 150, 95, 56});
}
END_TEST

static void
run_bad(void *arg)
{
	const Array *out[2];
	Graph **graph = arg;
	const Array *in[] = {floats(1, (int64_t[]){2}, (float[]){1, 2}), array_scalar_i64(arena, 7)};
	eval_graph(arena, *graph, in, out);
}

START_TEST(failures_have_a_place)
{
	Failure failure;
	Graph *g = parse("graph g(%x: f32[N], %i: i64) -> %y {\n%y = Gather(%x, %i)  \"pick\"\n}\n");
	ck_assert(!try_run(run_bad, &g, &failure));
	ck_assert_msg(strstr(failure.text, "node \"pick\" (Gather)") != NULL, "%s", failure.text);
	ck_assert_msg(strstr(failure.text, "index 7 is outside") != NULL, "%s", failure.text);
}
END_TEST

static void
run_window(void *arg)
{
	const Graph *graph = arg;
	const Array *x = floats(3, (const int64_t[]){1, 1, 1}, (const float[]){1}), *y;
	eval_graph(arena, graph, &x, &y);
}

/* As a run does; its extents say so, not its elements, of which there are none. */
START_TEST(less_than_nothing)
{
	Failure failure;
	Graph *graph = parse("graph g(%x: f32[1,1,N]) -> %y {\n"
	                     "  %y = MaxPool(%x) {kernel_shape=[3]}  \"window\"\n"
	                     "}\n");
	ck_assert(!try_run(run_window, graph, &failure));
	ck_assert_msg(strstr(failure.text, "node \"window\" (MaxPool): dim 2 of %y would be -1") !=
	                  NULL,
	              "%s", failure.text);
}
END_TEST

START_TEST(host_rows)
{
	const char *odd = eval_check_host_rows(op_table_new(arena));
	ck_assert_msg(odd == NULL, "%s", odd);
}
END_TEST

int
main(void)
{
	TCase *t = tcase_create("eval");
	tcase_add_checked_fixture(t, set_up, tear_down);
	tcase_add_test(t, chain);
	tcase_add_test(t, data_dependent_dims);
	tcase_add_test(t, bounds_as_many_as_data_says);
	tcase_add_test(t, branches);
	tcase_add_test(t, loop);
	tcase_add_test(t, loop_ends_by_condition);
	tcase_add_test(t, scan);
	tcase_add_test(t, failures_have_a_place);
	tcase_add_test(t, less_than_nothing);
	tcase_add_test(t, host_rows);
	return unit_run(t);
}
