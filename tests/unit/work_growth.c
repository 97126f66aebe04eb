/* Compiling takes work that grows as the model does: nodes walked, facts looked at by proofs, and
 * bytes allocated, counted, of graphs of many kinds and of graphs twice as large. Chains, values
 * used twice at each step, two values that need each other, shape computations, open dims; at each
 * level, without a library or C compiler.
 */
#include "driver/compile.h"
#include "graph/infer.h"
#include "graph/text.h"
#include "passes/manager.h"
#include "target/target.h"
#include "unit.h"

/* One step of a graph: # is its number, & the next one. */
typedef struct Kind {
	const char *inputs, *begin, *step, *end;
} Kind;

#define LENGTH \
	"%one: i64[1] = {1}\n%two: i64[1] = {2}\n%three: i64[1] = {3}\n%many: i64[1] = {50}\n" \
	"%v0 = Shape(%x)\n"
#define SIZED "%k = Max(%v&, %one)\n%l = Min(%k, %many)\n%y = ConstantOfShape(%l)"

static const Kind kinds[] = {
	{"%x: f32[8,16]", "%v0 = Neg(%x)\n", "%v& = Max(%v#, %v#)\n", "%y = Neg(%v&)"},
	{"%x: f32[N,M]", "%v0 = Neg(%x)\n", "%v& = Add(%v#, %v#)\n", "%y = Neg(%v&)"},
	{"%x: f32[N,M]", "%v0 = Neg(%x)\n", "%v& = Sin(%v#)\n", "%y = Neg(%v&)"},
	{"%x: i64[N]", "%v0 = Neg(%x)\n", "%v& = Max(%v#, %v#)\n", "%y = Gather(%x, %v&)"},
	{"%x: i64[8,16]", "%v0 = Neg(%x)\n", "%v& = Div(%v#, %v#)\n", "%y = Neg(%v&)"},
	{"%x: i64[8,16]", "%v0 = Neg(%x)\n", "%v& = BitwiseAnd(%v#, %v#)\n", "%y = Neg(%v&)"},
	{"%x: f32[8,16]", "%v0 = Neg(%x)\n", "%a# = Relu(%v#)\n%b# = Sin(%v#)\n%v& = Add(%a#, %b#)\n",
     "%y = Neg(%v&)"},
	{"%x: f32[8,8]", "%v0 = Neg(%x)\n", "%s# = Softmax(%v#)\n%v& = Add(%s#, %v#)\n",
     "%y = Neg(%v&)"},
	{"%x: f32[4]", "%v0 = Neg(%x)\n%i: i64[4] = {0, 1, 2, 3}\n",
     "%c# = Concat(%v#, %v#) {axis=0}\n%v& = Gather(%c#, %i)\n", "%y = Neg(%v&)"},
	{"%c: bool, %x: f32[N]", "%v0 = Neg(%x)\n",
     "%v& = If(%c) then_branch() { %p# = Sin(%v#) yield %p# } "
     "else_branch() { %q# = Cos(%v#) yield %q# }\n",
     "%y = Neg(%v&)"},
	{"%x: f32[N]", LENGTH, "%v& = Max(%v#, %v#)\n", SIZED},
	{"%x: f32[N]", LENGTH, "%a# = Div(%v#, %three)\n%m# = Mul(%a#, %a#)\n%v& = Add(%m#, %one)\n",
     SIZED},
	{"%x: f32[N]", LENGTH, "%a# = Sub(%v#, %one)\n%b# = Div(%a#, %two)\n%v& = Add(%b#, %v#)\n",
     SIZED},
	{"%x: f32[N]", LENGTH, "%a# = Min(%v#, %many)\n%b# = Max(%v#, %two)\n%v& = Sub(%b#, %a#)\n",
     SIZED},
	{"%x: f32[N]", LENGTH "%f0 = Cast(%v0) {to=1}\n", "%f& = Add(%f#, %f#)\n",
     "%v& = Cast(%f&) {to=7}\n" SIZED},
	{"%x: f32[N,M]",
     "%one: i64[1] = {1}\n%two: i64[1] = {2}\n%many: i64[1] = {50}\n"
     "%v0 = Shape(%x) {end=1}\n%u0 = Shape(%x) {start=1}\n",
     "%a# = Add(%v#, %u#)\n%v& = Div(%a#, %two)\n%b# = Mul(%v#, %u#)\n%e# = Mod(%b#, %many)\n"
     "%u& = Add(%e#, %one)\n",
     SIZED},
};

static void
put(Buf *buf, const char *text, int number)
{
	for (const char *c = text; *c; c++) {
		if (*c == '#' || *c == '&')
			buf_printf(buf, "%d", number + (*c == '&'));
		else
			buf_printf(buf, "%c", *c);
	}
}

typedef struct Effort {
	double work, bytes;
} Effort;

static Effort
effort_of(const Kind *kind, int steps, int level)
{
	Arena *arena = arena_new("growth");
	Buf text = {.arena = arena};
	buf_printf(&text, "graph g(%s) -> %%y {\n", kind->inputs);
	put(&text, kind->begin, 0);
	for (int i = 0; i < steps; i++)
		put(&text, kind->step, i);
	put(&text, kind->end, steps - 1);
	buf_printf(&text, "\n}\n");
	Graph *graph = graph_parse(arena, "growth", buf_text(&text));
	graph_infer(graph);
	Target *target = NEW(arena, Target);
	target->device = device_find("cpu:x86-64-v3");
	PassContext context = {.arena = arena, .run = run_passes, .level = level, .target = target};
	bundle_rehearse(arena, target, compile_graph(arena, graph, &context));
	Effort effort = {(double)expr_ctx_work(graph->ctx), (double)arena_used(arena)};
	arena_free(arena);
	return effort;
}

START_TEST(work_grows_as_the_model_does)
{
	enum { STEPS = 60, LEVELS = 4 };
	const Kind *kind = &kinds[_i / LEVELS];
	int level = _i % LEVELS;
	Effort once = effort_of(kind, STEPS, level), twice = effort_of(kind, 2 * STEPS, level);
	ck_assert_msg(twice.work <= 2.3 * once.work && twice.bytes <= 2.3 * once.bytes,
	              "%s at -O%d: %.0f and %.0f steps, %.0f and %.0f bytes", kind->step, level,
	              once.work, twice.work, once.bytes, twice.bytes);
}
END_TEST

int
main(void)
{
	TCase *t = tcase_create("growth");
	tcase_add_loop_test(t, work_grows_as_the_model_does, 0, 4 * (int)countof(kinds));
	return unit_run(t);
}
