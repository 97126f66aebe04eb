/* Which calls of a library are left to our kernels where nothing is measured: those that an
 * implementation does in passes, when these take long beside the arithmetic, and those that lose
 * numbers (vendor.def).
 */
#include "lower/lower.h"
#include "vendor_rows.h"

#include <stdio.h>
#include <string.h>

#include "graph/infer.h"
#include "passes/manager.h"

static bool
is_available(void *self, const char *library)
{
	(void)self;
	return strcmp(library, "onednn") == 0;
}

/* `self` is the name of the implementation that it has for all. */
static bool
accept(void *self, const VendorCall *query, const char **impl)
{
	(void)query;
	if (impl)
		*impl = self;
	return true;
}

static bool
measure(void *self, const VendorCall *query, double *seconds, const char **impl)
{
	*seconds = 1;
	return accept(self, query, impl);
}

/* How many steps are calls, of how many. */
static int
count_calls(char *implementation, const char *text, PassValues values, int *steps)
{
	const Oracle oracle = {implementation, is_available, accept, .measure = measure};
	Arena *arena = arena_new("test");
	Graph *graph = graph_parse(arena, "test", text);
	Target target = {.device = device_find("cpu:x86-64-v4"), .oracle = &oracle};
	PassContext context = {.arena = arena,
	                       .run = run_passes,
	                       .level = 2,
	                       .values = values,
	                       .target = &target,
	                       .config = {.arena = arena},
	                       .recorded = {.arena = arena}};
	graph_infer(graph);
	run_graph_passes(graph, &context);
	const Module *module = lower_graph(arena, graph, &context);
	int calls = 0;
	*steps = module->steps.count;
	for (int i = 0; i < *steps; i++)
		calls += module->steps.data[i]->plan.kind == PT_VENDOR;
	arena_free(arena);
	return calls;
}

static bool
has_call(char *implementation, const char *text, PassValues values)
{
	int steps;
	return count_calls(implementation, text, values, &steps) > 0;
}

/* Whether a call does all of it. */
static bool
is_call(char *implementation, const char *text)
{
	int steps;
	return count_calls(implementation, text, VALUES_finite, &steps) == 1 && steps == 1;
}

#define CONV(channels, side, filters, weights, attributes) \
	"graph g(%x: f32[1," channels "," side "," side "], %w: f32[" filters "," weights \
	"]) -> %y {\n" \
	"%c = Conv(%x, %w) {" attributes "} \"c\"\n"
#define ALONE "%y = Identity(%c) \"y\" }"
#define RELU "%y = Relu(%c) \"y\" }"

static const struct {
	const char *text;
	bool passes; /* by an implementation in passes, too */
} calls[] = {
	{CONV("64", "28", "64", "64,1,1", "group=1") ALONE, true},
	{CONV("64", "28", "64", "64,1,1", "group=1") RELU, false},   /* a pass over the result */
	{CONV("4096", "8", "64", "4096,1,1", "group=1") RELU, true}, /* short beside so long a sum */
	{CONV("64", "28", "64", "64,3,3", "pads=[1,1,1,1]") ALONE, false},
	{CONV("64", "28", "64", "1,3,3", "group=64, pads=[1,1,1,1]") ALONE, false},
};

START_TEST(passes_are_counted)
{
	ck_assert(is_call("jit:avx512_core", calls[_i].text));
	ck_assert_int_eq(is_call("x64:gemm:jit", calls[_i].text), calls[_i].passes);
}
END_TEST

/* Weights that a run gives may be infinite, and so may those that a model says, whose windows reach
 * into padding. */
static const struct {
	const char *weights, *attributes;
	bool is_kept;
} pads[] = {
	{"%w: f32[2,1,3] = weight 0", "pads=[1,1]", true},
	{"%w: f32[2,1,3] = {1, 2, 3, 4, 5, inf}", "pads=[1,1]", false},
	{"%w: f32[2,1,3] = {1, 2, 3, 4, 5, inf}", "pads=[0,0]", true},
	{"%w = Neg(%v)", "pads=[0,1]", false},
	{"%w = Neg(%v)", "pads=[0,0]", true},
};

START_TEST(padding_is_no_term)
{
	char text[400];
	snprintf(
		text, sizeof text,
		"graph g(%%x: f32[1,1,9], %%v: f32[2,1,3]) -> %%y, %%w { %s\n%%y = Conv(%%x, %%w) {%s} }",
		pads[_i].weights, pads[_i].attributes);
	ck_assert_int_eq(has_call("jit:avx512_core", text, VALUES_usual), pads[_i].is_kept);
	ck_assert(has_call("jit:avx512_core", text, VALUES_finite));
}
END_TEST

int
main(void)
{
	TCase *tcase = tcase_create("calls");
	tcase_add_loop_test(tcase, passes_are_counted, 0, (int)countof(calls));
	tcase_add_loop_test(tcase, padding_is_no_term, 0, (int)countof(pads));
	return unit_run(tcase);
}
