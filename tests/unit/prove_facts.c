/* What a proof knows of a plan before it runs: from which boundary on which buffer holds a value
 * whole (boundary i is before step i), and who makes it. The plans are those that lowering makes
 * without fusion and without a library.
 */
#include "lower/lower.h"
#include "unit.h"

#include "codegen/common/bundle.h"
#include "graph/infer.h"
#include "passes/manager.h"
#include "prove/facts.h"

/* "x 0 given; a 1 step; s 2 view; y 3 kernel across": each claim of the graph's plan, in order of
 * its buffers. The last was made in the other memory, by a kernel. */
static const char *
facts_text(Arena *arena, const char *device, const char *text)
{
	static const char *KINDS[] = {[PT_KERNEL] = "kernel", [PT_COPY] = "copy"};
	Graph *graph = graph_parse(arena, "test", text);
	Target target = {.device = device_find(device)};
	PassContext context = {.arena = arena,
	                       .run = run_passes,
	                       .target = &target,
	                       .config = {.arena = arena},
	                       .recorded = {.arena = arena}};
	WeightPool weights = {.arena = arena};
	KernelList kernels = {{0}};
	Buf buf = {.arena = arena};
	graph_infer(graph);
	const Plan *plan =
		plan_of_module(arena, lower_graph(arena, graph, &context), &weights, &kernels);
	const PlanFacts *facts = plan_facts(arena, graph, graph->body, plan);
	for (int i = 0; i < facts->claims.count; i++) {
		const Claim *claim = &facts->claims.data[i];
		buf_printf(&buf, "%s%s %d %s%s", i ? "; " : "", claim->value->name, claim->done,
		           claim->made != claim->buffer ? KINDS[plan->steps[claim->step].kind]
		           : claim->step >= 0           ? "step"
		           : claim->node >= 0           ? "view"
		                                        : "given",
		           claim->made != claim->buffer ? " across" : "");
	}
	return buf_text(&buf);
}

static void
expect_facts(const char *text, const char *expected)
{
	Arena *arena = arena_new("test");
	ck_assert_str_eq(facts_text(arena, "cpu:x86-64-v4", text), expected);
	arena_free(arena);
}

/* A concatenation in place is whole when its last piece is; its pieces are before. */
START_TEST(pieces_of_a_concatenation)
{
	expect_facts("graph g(%x: f32[4,6]) -> %y {\n"
	             "  %a = Neg(%x)\n  %b = Exp(%x)\n  %c = Concat(%a, %b) {axis=0}\n"
	             "  %y = Softmax(%c)\n}\n",
	             "x 0 given; a 1 step; b 2 step; c 2 step; y 3 step");
}
END_TEST

/* A view, and a view of it, show what is there once what they show is whole. */
START_TEST(views_of_views)
{
	expect_facts("graph g(%x: f32[8,6]) -> %y, %z {\n"
	             "  %0: i64[1] = {0}\n  %1: i64[1] = {1}\n  %5: i64[1] = {5}\n"
	             "  %a = Neg(%x)\n  %s = Slice(%a, %1, %5, %0)\n  %t = Slice(%s, %1, %5, %0)\n"
	             "  %y = Softmax(%t)\n  %z = Exp(%s)\n}\n",
	             "x 0 given; a 1 step; s 1 view; t 1 view; y 2 step; z 3 step");
}
END_TEST

/* A result that is a view is copied: the value lies in two places. */
START_TEST(outputs_that_are_copied)
{
	expect_facts("graph g(%x: f32[8,6]) -> %s, %x {\n"
	             "  %0: i64[1] = {0}\n  %1: i64[1] = {1}\n  %5: i64[1] = {5}\n"
	             "  %s = Slice(%x, %1, %5, %0)\n}\n",
	             "x 0 given; s 0 view; s 1 step; x 2 step");
}
END_TEST

/* Where the device has memory of its own, a result is whole behind the copy, but it is the step
 * in front that made it. */
START_TEST(results_that_cross)
{
	Arena *arena = arena_new("test");
	const char *text = "graph g(%x: f32[8,6]) -> %y {\n  %a = Neg(%x)\n  %y = Softmax(%a)\n}\n";
	ck_assert_str_eq(facts_text(arena, "test:x86-64-v4", text),
	                 "x 0 given; a 2 step; y 4 kernel across");
	arena_free(arena);
}
END_TEST

int
main(void)
{
	TCase *t = tcase_create("facts");
	tcase_add_test(t, pieces_of_a_concatenation);
	tcase_add_test(t, views_of_views);
	tcase_add_test(t, outputs_that_are_copied);
	tcase_add_test(t, results_that_cross);
	return unit_run(t);
}
