/* Which steps lowering puts side by side, as texts. */
#include "graph/graph.h"
#include "graph/infer.h"
#include "lower/lower.h"
#include "passes/manager.h"
#include "unit.h"

/* Steps in order: '|' between those that run side by side. */
static const struct Waves {
	const char *text, *waves;
} waves[] = {
	/* branches; the second of one waits */
	{"graph g(%x: f32[1,8,6,6]) -> %y, %e {\n"
     "  %a = Relu(%x)  \"a\"\n  %b = Neg(%x)  \"b\"\n  %c = Exp(%b)  \"c\"\n"
     "  %d = Abs(%x)  \"d\"\n  %e = Tanh(%d)  \"e\"\n  %y = Add(%a, %c)  \"f\"\n}",
     "a | b | d; c | e; f"},
	/* a chain */
	{"graph g(%x: f32[8]) -> %y {\n"
     "  %a = Relu(%x)  \"a\"\n  %b = Neg(%a)  \"b\"\n  %y = Exp(%b)  \"c\"\n}",
     "a; b; c"},
	/* enough to do for all cores alone: 16 million numbers */
	{"graph g(%x: f32[4096,4096], %z: f32[8]) -> %a, %b, %c {\n"
     "  %a = Relu(%x)  \"a\"\n  %b = Neg(%z)  \"b\"\n  %c = Exp(%z)  \"c\"\n}",
     "a; b | c"},
	/* pieces of one result, whatever N is */
	{"graph g(%x: f32[N,16,4,4], %z: f32[N,32,4,4]) -> %y {\n"
     "  %a: f32[N,16,4,4] @nc16hw = Relu(%x)  \"a\"\n"
     "  %b: f32[N,32,4,4] @nc16hw = Neg(%z)  \"b\"\n"
     "  %c: f32[N,48,4,4] @nc16hw = Concat(%a, %b) {axis=1}  \"c\"\n"
     "  %y = Tanh(%c)  \"t\"\n}",
     "a | b; t"},
	/* across a host step nothing moves */
	{"graph g(%x: f32[8]) -> %a, %n, %b, %c {\n"
     "  %a = Relu(%x)  \"a\"\n  %n = NonZero(%x)  \"n\"\n  %b = Neg(%x)  \"b\"\n"
     "  %c = Exp(%x)  \"c\"\n}",
     "a; n; b | c"},
};

START_TEST(steps_side_by_side)
{
	const struct Waves *w = &waves[_i];
	Arena *arena = arena_new("test");
	Graph *graph = graph_parse(arena, "test", w->text);
	Target target = {.device = device_find("cpu:x86-64-v4")};
	PassContext context = {.arena = arena,
	                       .run = run_passes,
	                       .target = &target,
	                       .config = {.arena = arena},
	                       .recorded = {.arena = arena}};
	Buf order = {.arena = arena};
	graph_infer(graph);
	const Module *module = lower_graph(arena, graph, &context);
	for (int i = 0; i < module->steps.count; i++) {
		const MStep *step = module->steps.data[i];
		buf_printf(&order, "%s%s",
		           i == 0                 ? ""
		           : step->plan.is_beside ? " | "
		                                  : "; ",
		           step->plan.name);
	}
	ck_assert_str_eq(buf_text(&order), w->waves);
	arena_free(arena);
}
END_TEST

int
main(void)
{
	TCase *tcase = tcase_create("side by side");
	tcase_add_loop_test(tcase, steps_side_by_side, 0, (int)countof(waves));
	return unit_run(tcase);
}
