/* Which calls of a library are left to our kernels where nothing is measured: those that an
 * implementation does in passes, when these take long beside the arithmetic (vendor.def).
 */
#include "lower/lower.h"
#include "vendor_rows.h"

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

/* Whether a call does all of it. */
static bool
is_call(char *implementation, const char *text)
{
	const Oracle oracle = {implementation, is_available, accept, .measure = measure};
	Arena *arena = arena_new("test");
	Graph *graph = graph_parse(arena, "test", text);
	Target target = {.device = device_find("cpu:x86-64-v4"), .oracle = &oracle};
	PassContext context = {.arena = arena,
	                       .run = run_passes,
	                       .level = 2,
	                       .target = &target,
	                       .config = {.arena = arena},
	                       .recorded = {.arena = arena}};
	graph_infer(graph);
	run_graph_passes(graph, &context);
	const Module *module = lower_graph(arena, graph, &context);
	bool found = module->steps.count == 1 && module->steps.data[0]->plan.kind == PT_VENDOR;
	arena_free(arena);
	return found;
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

int
main(void)
{
	TCase *tcase = tcase_create("calls");
	tcase_add_loop_test(tcase, passes_are_counted, 0, (int)countof(calls));
	return unit_run(tcase);
}
