/* Blocked storage: who reads it, and what is a relayout. A library that takes everything stands for
 * the real one.
 */
#include "lower/lower.h"
#include "unit.h"

#include <string.h>

#include "graph/infer.h"
#include "passes/manager.h"

static bool
is_available(void *self, const char *library)
{
	(void)self;
	return strcmp(library, "onednn") == 0;
}

static bool
measure(void *self, const VendorCall *query, double *seconds, const char **impl)
{
	(void)self, (void)query;
	if (seconds) /* NULL: it is only asked whether it accepts */
		*seconds = 1;
	if (impl)
		*impl = "any";
	return true;
}

/* An accept() that says what a measure() says. */
#define ACCEPT(by) \
	static bool accept_as_##by(void *self, const VendorCall *query, const char **impl) \
	{ \
		return by(self, query, NULL, impl); \
	}
#define ORACLE(by) \
	{ \
		.available = is_available, .accept = accept_as_##by, .measure = by \
	}

ACCEPT(measure)
static const Oracle oracle = ORACLE(measure);
static Arena *arena;
static Target target;
static PassContext context;

static void
set_up(void)
{
	arena = arena_new("test");
	target = (Target){.device = device_find("cpu:x86-64-v4"), .oracle = &oracle};
	context = (PassContext){.arena = arena,
	                        .run = run_passes,
	                        .level = 3,
	                        .target = &target,
	                        .verify = true,
	                        .config = {.arena = arena},
	                        .recorded = {.arena = arena}};
}

static void
tear_down(void)
{
	arena_free(arena);
}

/* Branches and bodies read plain storage, whatever the values around them are stored in. */
START_TEST(captures_are_plain)
{
	static const char text[] =
		"graph g(%x: f32[1,32,6,6], %k: bool) -> %y { %w: f32[32,32,3,3] = weight 0\n"
		"%c = Conv(%x, %w) {pads=[1,1,1,1]} \"c\"\n"
		"%i = If(%k) \"i\" else_branch { %e = Neg(%c) \"e\"\n yield %e }\n"
		"then_branch { %r = Relu(%c) \"r\"\n %t = Exp(%r) \"t\"\n yield %t }\n"
		"%d = Conv(%c, %w) {pads=[1,1,1,1]} \"d\"\n %y = Add(%i, %d) \"y\" }";
	Graph *graph = graph_parse(arena, "text", text);
	run_graph_passes(graph, &context);
	int blocked = 0, captures = 0;
	for (const Node *node = graph->body->first; node; node = node->next) {
		blocked += node->outputs[0]->layout != NULL;
		for (int r = 0; r < node->nregion && node->op->code != OP_fused; r++)
			for (int c = 0; c < node->regions[r]->captures.count; c++, captures++)
				ck_assert_ptr_null(node->regions[r]->captures.data[c]->layout);
	}
	ck_assert(blocked > 0 && captures == 2);
}
END_TEST

/* Outputs of one node are stored alike: here one goes into a convolution, the other does not. */
START_TEST(outputs_are_stored_alike)
{
	static const char text[] =
		"graph g(%x: f32[1,32,6,6]) -> %y, %b { %w: f32[32,32,3,3] = weight 0\n"
		"%v: f32[16,16,3,3] = weight 1\n %c = Conv(%x, %w) \"c\"\n"
		"%a, %b = Split(%c) {axis=1, num_outputs=2} \"s\"\n"
		"%y = Conv(%a, %v) \"y\" }";
	Graph *graph = graph_parse(arena, "text", text);
	run_graph_passes(graph, &context);
	int blocked = 0;
	for (const Node *node = graph->body->first; node; node = node->next)
		for (int i = 0; i < node->noutput; i++) {
			blocked += node->outputs[i]->layout != NULL;
			ck_assert(!node->outputs[i]->layout == !node->outputs[0]->layout);
		}
	ck_assert_int_gt(blocked, 3);
	lower_graph(arena, graph, &context);
}
END_TEST

/* A pool that a group computes itself keeps blocks, its two results alike; what reduces channels
 * gives plain storage. */
START_TEST(windows_keep_blocks)
{
	static const char text[] =
		"graph g(%x: f32[1,32,12,12]) -> %y, %z, %m { %w: f32[32,32,3,3] = weight 0\n"
		"%s: f32[32,1,1] = weight 1\n %v: f32[32,32,1,1] = weight 2\n"
		"%c = Conv(%x, %w) \"c\"\n"
		"%p = MaxPool(%c) {kernel_shape=[3,3], pads=[1,1,1,1], strides=[2,2]} \"p\"\n"
		"%q = Mul(%p, %s) \"q\"\n %r = Relu(%q) \"r\"\n"
		"%y = Conv(%r, %v) \"y\"\n %z = Conv(%p, %v) \"z\"\n"
		"%ax: i64[1] = {1}\n %m = ReduceMax(%c, %ax) \"m\" }";
	Graph *graph = graph_parse(arena, "text", text);
	run_graph_passes(graph, &context);
	int relayouts = 0;
	for (const Node *node = graph->body->first; node; node = node->next)
		relayouts += strcmp(node->op->name, "Relayout") == 0;
	ck_assert_int_eq(relayouts, 3); /* of the input and the two convolutions that are results */
	ck_assert_ptr_null(graph->body->results[2]->layout);
	lower_graph(arena, graph, &context);
}
END_TEST

/* A transposed convolution reads plain storage, so that its products can be a call. */
START_TEST(products_of_others_are_plain)
{
	static const char text[] =
		"graph g(%x: f32[1,32,16,16]) -> %y { %w: f32[32,32,3,3] = weight 0\n"
		"%v: f32[32,16,2,2] = weight 1\n"
		"%c = Conv(%x, %w) {pads=[1,1,1,1]} \"c\"\n %d = Conv(%c, %w) {pads=[1,1,1,1]} \"d\"\n"
		"%y = ConvTranspose(%d, %v) {strides=[2,2]} \"y\" }";
	Graph *graph = graph_parse(arena, "text", text);
	run_graph_passes(graph, &context);
	const Node *last = graph->body->results[0]->def;
	ck_assert_ptr_null(last->inputs[0]->layout);
	ck_assert_str_eq(last->inputs[0]->def->op->name, "Relayout");
}
END_TEST

/* As a library does that takes blocked values only with weights it can pack. */
static bool
measure_packed(void *self, const VendorCall *query, double *seconds, const char **impl)
{
	bool is_packed = true;
	for (int i = 0; i < query->narg && strcmp(query->row, "conv") == 0; i++)
		is_packed &= query->args[i].layout == NULL || query->args[1].is_weight;
	return is_packed && measure(self, query, seconds, impl);
}

ACCEPT(measure_packed)

/* Weights that somebody gives at run time are no weights to the library: it is asked with the
 * truth, and nothing is stored for a call that is then refused. */
START_TEST(weights_that_are_inputs)
{
	static const Oracle strict = ORACLE(measure_packed);
	static const char text[] =
		"graph g(%x: f32[1,32,6,6], %w: f32[32,32,3,3]) -> %y {\n"
		"%c = Conv(%x, %w) {pads=[1,1,1,1]} \"c\"\n %y = Conv(%c, %w) {pads=[1,1,1,1]} \"y\" }";
	target.oracle = &strict;
	Graph *graph = graph_parse(arena, "text", text);
	run_graph_passes(graph, &context);
	const Module *module = lower_graph(arena, graph, &context);
	ck_assert_int_eq(module->steps.count, 2);
	for (int i = 0; i < module->steps.count; i++)
		ck_assert_str_eq(module->steps.data[i]->plan.row, "conv");
}
END_TEST

/* A library whose convolutions store blocks where they read blocks. */
static bool
measure_alike(void *self, const VendorCall *query, double *seconds, const char **impl)
{
	const VendorArg *first = &query->args[0], *last = &query->args[query->narg - 1];
	return (!first->layout || last->layout) && measure(self, query, seconds, impl);
}

ACCEPT(measure_alike)

/* A result of three channels is no blocks, and its convolution none of the library's: what it reads
 * stays plain, since a kernel has no lanes in single elements of blocks. */
START_TEST(sources_of_images_are_plain)
{
	static const Oracle alike = ORACLE(measure_alike);
	static const char text[] = "graph g(%x: f32[1,64,9,9]) -> %y { %w: f32[3,64,3,3] = weight 0\n"
							   "%y = Conv(%x, %w) {pads=[1,1,1,1]} \"c\" }";
	Graph *graph = graph_parse(arena, "text", text);
	target.oracle = &alike;
	run_graph_passes(graph, &context);
	for (const Node *node = graph->body->first; node; node = node->next)
		ck_assert_str_ne(node->op->name, "Relayout");
}
END_TEST

static bool
measure_nothing(void *self, const VendorCall *query, double *seconds, const char **impl)
{
	(void)self, (void)query, (void)seconds, (void)impl;
	return false;
}

ACCEPT(measure_nothing)

static bool
measure_too_long(void *self, const VendorCall *query, double *seconds, const char **impl)
{
	(void)self, (void)query, (void)seconds;
	*impl = "timing gemm: it takes too long";
	return false;
}

ACCEPT(measure_too_long)

/* A call that the library refuses, or that is ended, becomes kernels, and the log says why. */
START_TEST(refusals_are_logged)
{
	static const Oracle refusing[] = {ORACLE(measure_nothing), ORACLE(measure_too_long)};
	target.oracle = &refusing[_i];
	Graph *graph = graph_parse(arena, "text",
	                           "graph g(%x: f32[4,8], %w: f32[8,6]) -> %y {\n"
	                           "%y = MatMul(%x, %w) \"m\" }");
	run_graph_passes(graph, &context);
	const Module *module = lower_graph(arena, graph, &context);
	ck_assert_int_eq(module->steps.count, 1);
	ck_assert(module->steps.data[0]->plan.kind == PT_KERNEL);
	ck_assert_int_gt(context.log.count, 0);
	const PassEvent *event = &context.log.data[context.log.count - 1];
	ck_assert_str_eq(event->rule, "matmul");
	ck_assert_str_eq(event->nodes, "m");
	ck_assert_str_eq(event->reason,
	                 _i ? "timing gemm: it takes too long" : "the library refuses it");
}
END_TEST

static int
count_reorders(const char *text)
{
	Graph *graph = graph_parse(arena, "text", text);
	graph_infer(graph);
	const Module *module = lower_graph(arena, graph, &context);
	int count = 0;
	for (int i = 0; i < module->steps.count; i++)
		count += module->steps.data[i]->plan.kind == PT_VENDOR;
	return count;
}

/* The library brings a tensor into another storage; what is broadcast on the way is our work. */
START_TEST(only_relayouts_are_reorders)
{
	ck_assert_int_eq(count_reorders("graph g(%x: f32[N,16,1,4]) -> %y {\n"
	                                "  %b: f32[N,16,1,4] @nc16hw = Relayout(%x)  \"b\"\n"
	                                "  %r: f32[N,16,1,4] @nc16hw = Relu(%b)  \"r\"\n"
	                                "  %y = Relayout(%r)  \"y\"\n}"),
	                 2);
	ck_assert_int_eq(count_reorders("graph g(%x: f32[N,16,1,4]) -> %y {\n"
	                                "  %e: i64[4] = {1, 16, 3, 4}\n"
	                                "  %b: f32[N,16,1,4] @nc16hw = Relu(%x)  \"b\"\n"
	                                "  %y = Expand(%b, %e)  \"y\"\n}"),
	                 0);
}
END_TEST

/* Bytes have all channels in one block, whatever the numbers that they are made of lie in; and a
 * sum of bytes of which the library has the sum alone, since what is added to it is an integer. */
START_TEST(bytes_have_one_block)
{
	static const char text[] =
		"graph g(%x: f32[1,64,12,12], %s: f32, %z: u8, %t: i32[64,1,1]) -> %y {\n"
		"%w: f32[64,64,3,3] = weight 0\n%v: i8[64,64,1,1] = weight 1\n"
		"%c = Conv(%x, %w) \"c\"\n"
		"%p = MaxPool(%c) {kernel_shape=[3,3]} \"p\"\n"
		"%q = QuantizeLinear(%p, %s, %z) \"q\"\n"
		"%i = ConvInteger(%q, %v) \"i\"\n %k = Add(%i, %t)\n %f = Cast(%k) {to=1}\n"
		"%r = QuantizeLinear(%f, %s, %z) \"r\"\n"
		"%j = ConvInteger(%r, %v) \"j\"\n %y = Cast(%j) {to=1} \"y\" }";
	Graph *graph = graph_parse(arena, "text", text);
	run_graph_passes(graph, &context);
	int relayouts = 0;
	for (const Node *node = graph->body->first; node; node = node->next) {
		const Value *value = node->outputs[0];
		relayouts += node->op->code == OP_Relayout;
		if (value->type.dtype == DT_U8)
			ck_assert_str_eq(value->layout, "nc64hw");
	}
	ck_assert_int_eq(relayouts, 2); /* of x, and of the result */
}
END_TEST

/* So has bf16, whose convolutions are calls. */
START_TEST(bf16_has_one_block)
{
	static const char text[] =
		"graph g(%x: bf16[1,64,12,12]) -> %y, %z { %w: bf16[64,64,3,3] = weight 0\n"
		"%b: bf16[64] = weight 1\n"
		"%c = Conv(%x, %w) \"c\"\n %r = Relu(%c) \"r\"\n"
		"%p = MaxPool(%r) {kernel_shape=[3,3], strides=[2,2]} \"p\"\n"
		"%y = Conv(%p, %w) \"y\"\n %d = Conv(%r, %w, %b) \"d\"\n %e = Cast(%d) {to=1}\n"
		"%z = Relu(%e) \"z\" }";
	Graph *graph = graph_parse(arena, "text", text);
	run_graph_passes(graph, &context);
	int calls = 0, blocked = 0;
	for (const Node *node = graph->body->first; node; node = node->next)
		if (node->outputs[0]->type.dtype == DT_BF16 && node->outputs[0]->layout) {
			ck_assert_str_eq(node->outputs[0]->layout, "nc64hw");
			blocked++;
		}
	const Module *module = lower_graph(arena, graph, &context);
	for (int i = 0; i < module->steps.count; i++)
		calls +=
			module->steps.data[i]->plan.row && strcmp(module->steps.data[i]->plan.row, "conv") == 0;
	ck_assert_int_ge(calls, 2);
	ck_assert_int_ge(blocked, 2);
}
END_TEST

/* Where our own kernel takes the place of a call, channels run in lanes through one block of bytes:
 * weights have it, too, and are not gathered. */
START_TEST(weights_of_bytes_have_one_block)
{
	static const Oracle refusing = ORACLE(measure_nothing);
	static const char text[] =
		"graph g(%x: u8[1,96,6,6]) -> %y {\n %w: i8[96,1,3,3] = weight 0\n"
		"%b: u8[1,96,6,6] @nc96hw = Relayout(%x) \"b\"\n"
		"%c: i32[1,96,6,6] @nc96hw = ConvInteger(%b, %w) {group=96, pads=[1,1,1,1]} \"c\"\n"
		"%y = Relayout(%c) \"y\" }";
	target.oracle = &refusing;
	Graph *graph = graph_parse(arena, "text", text);
	graph_infer(graph);
	const Module *module = lower_graph(arena, graph, &context);
	int count = 0;
	for (int i = 0; i < module->steps.count; i++)
		for (int k = 0; k < module->steps.data[i]->plan.narg; k++) {
			const MBuffer *buffer = module->steps.data[i]->args[k];
			if (buffer->kind != PB_WEIGHT)
				continue;
			ck_assert_str_eq(buffer->layout, "o96ihw");
			count++;
		}
	ck_assert_int_eq(count, 1);
}
END_TEST

int
main(void)
{
	TCase *tcase = tcase_create("layout");
	tcase_add_checked_fixture(tcase, set_up, tear_down);
	tcase_add_test(tcase, captures_are_plain);
	tcase_add_test(tcase, windows_keep_blocks);
	tcase_add_test(tcase, products_of_others_are_plain);
	tcase_add_test(tcase, outputs_are_stored_alike);
	tcase_add_test(tcase, weights_that_are_inputs);
	tcase_add_test(tcase, sources_of_images_are_plain);
	tcase_add_loop_test(tcase, refusals_are_logged, 0, 2);
	tcase_add_test(tcase, only_relayouts_are_reorders);
	tcase_add_test(tcase, bytes_have_one_block);
	tcase_add_test(tcase, weights_of_bytes_have_one_block);
	tcase_add_test(tcase, bf16_has_one_block);
	return unit_run(tcase);
}
