/* Channels last on GPUs, where a library wants them so: what stands between calls lies so, too, and
 * what lies otherwise does so at the ends alone. A library that takes all that it is asked for
 * in one storage stands for cuDNN.
 */
#include "lower/lower.h"
#include "unit.h"

#include <string.h>

#include "passes/manager.h"

static bool
is_available(void *self, const char *library)
{
	(void)self;
	return strcmp(library, "cudnn") == 0;
}

/* All tensors of a call lie one way, those of f16 and bf16 perhaps in one block of channels. */
static bool
accept_alike(void *self, const VendorCall *query, const char **impl)
{
	const VendorArg *first = &query->args[0];
	bool is_alike = true;
	for (int i = 0; i < query->narg; i++) {
		const VendorArg *arg = &query->args[i];
		if (arg->type == DT_NONE || arg->rank < 3)
			continue;
		if (arg->layout)
			ck_assert_int_eq(layout_block(arg->layout), arg->dims[1]);
		ck_assert(!arg->layout || arg->type == DT_F16 || arg->type == DT_BF16);
		is_alike &= !arg->layout == !first->layout;
	}
	if (impl)
		*impl = "engine 1";
	return is_alike && !(self && first->layout);
}

static const Oracle oracle = {.available = is_available, .accept = accept_alike};
static const Oracle plain_only = {
	.self = (void *)(uintptr_t)&oracle, .available = is_available, .accept = accept_alike};
static Arena *arena;
static Target target;
static PassContext context;

static void
set_up(void)
{
	static const char *const disabled[] = {"DeriveExpressions"};
	arena = arena_new("test");
	target = (Target){.device = device_find("cuda:h100"), .oracle = &oracle};
	context = (PassContext){.arena = arena,
	                        .run = run_passes,
	                        .level = 3,
	                        .target = &target,
	                        .verify = true,
	                        .config = {.arena = arena},
	                        .recorded = {.arena = arena}};
	vec_push(arena, &context.disabled, disabled[0]);
}

static void
tear_down(void)
{
	arena_free(arena);
}

/* What a graph became: copies into other storage, other values that lie last, calls of a kind. */
typedef struct Seen {
	int relayouts, last, calls;
	const Module *module;
} Seen;

static Seen
compile(const char *text)
{
	Graph *graph = graph_parse(arena, "text", text);
	Seen seen = {0};
	run_graph_passes(graph, &context);
	for (const Node *node = graph->body->first; node; node = node->next) {
		seen.relayouts += node->op->code == OP_Relayout;
		seen.last += node->op->code != OP_Relayout && node->outputs[0]->layout != NULL;
	}
	for (int i = 0; i < graph->body->nresult; i++)
		ck_assert_ptr_null(graph->body->results[i]->layout);
	seen.module = lower_graph(arena, graph, &context);
	for (int i = 0; i < seen.module->steps.count; i++)
		seen.calls += seen.module->steps.data[i]->plan.kind == PT_VENDOR;
	return seen;
}

/* The same for another type of numbers. */
static const char *
of_type(const char *text, const char *type)
{
	Buf buf = {.arena = arena};
	for (const char *c = text; *c; c++)
		if (strncmp(c, "f16", 3) == 0) {
			buf_puts(&buf, type);
			c += 2;
		} else {
			buf_putc(&buf, *c);
		}
	return buf_text(&buf);
}

static const char chain[] =
	"graph g(%x: f16[N,3,20,20]) -> %y, %m { %w: f16[32,3,3,3] = weight 0\n"
	"%v: f16[32,1,3,3] = weight 1\n %u: f16[32,16,1,1] = weight 2\n"
	"%t: f16[32,8,2,2] = weight 3\n"
	"%c = Conv(%x, %w) {pads=[1,1,1,1]} \"c\"\n %r = Relu(%c) \"r\"\n"
	"%p = MaxPool(%r) {kernel_shape=[3,3], strides=[2,2], pads=[1,1,1,1]} \"p\"\n"
	"%d = Conv(%p, %v) {group=32, pads=[1,1,1,1]} \"d\"\n"
	"%g = Conv(%d, %u) {group=2} \"g\"\n %a = Add(%g, %p) \"a\"\n %s = Relu(%a) \"s\"\n"
	"%y = ConvTranspose(%s, %t) {strides=[2,2]} \"y\"\n %m = GlobalAveragePool(%s) \"m\" }";

/* Windows, groups, additions and pools: relayouts of the input and of the one result of a call. */
START_TEST(chains_lie_last)
{
	static const char *const types[] = {"f16", "bf16"};
	Seen seen = compile(of_type(chain, types[_i]));
	ck_assert_int_eq(seen.relayouts, 2);
	ck_assert_int_eq(seen.last, 5);
	ck_assert_int_eq(seen.calls, 4);
	int weights = 0;
	for (int i = 0; i < seen.module->buffers.count; i++) {
		const MBuffer *buffer = seen.module->buffers.data[i];
		if (buffer->kind != PB_WEIGHT || !buffer->layout)
			continue;
		weights++;
		ck_assert_int_eq(buffer->data->rank, buffer->rank + 1); /* its bytes lie so, too */
	}
	ck_assert_int_eq(weights, 4);
}
END_TEST

/* Of f32, which rows do not ask for, or where the library refuses it. */
START_TEST(others_are_plain)
{
	target.oracle = _i ? &plain_only : &oracle;
	Seen seen = compile(of_type(chain, _i ? "f16" : "f32"));
	ck_assert_int_eq(seen.relayouts, 0);
	ck_assert_int_eq(seen.last, 0);
	ck_assert_int_eq(seen.calls, 5); /* the pool, too */
}
END_TEST

/* Concatenated channels are written in place, from place to place as the whole lies, and parts of
 * them are read; a result in f32 of other channels is plain. */
START_TEST(concatenations_lie_last)
{
	static const char text[] =
		"graph g(%x: f16[N,24,9,8]) -> %y, %z { %w: f16[24,24,1,1] = weight 0\n"
		"%v: f16[8,24,3,3] = weight 1\n %u: f16[18,32,1,1] = weight 2\n"
		"%t: f16[8,9,1,1] = weight 3\n"
		"%c = Conv(%x, %w) \"c\"\n %d = Conv(%x, %v) {pads=[1,1,1,1]} \"d\"\n"
		"%r = Relu(%d) \"r\"\n %a = Concat(%c, %r) {axis=1} \"a\"\n %s = Conv(%a, %u) \"s\"\n"
		"%o, %p = Split(%s) {axis=1, num_outputs=2} \"p\"\n %y = Conv(%p, %t) \"y\"\n"
		"%k = Conv(%o, %t) \"k\"\n %f = Concat(%o, %k) {axis=1} \"f\"\n"
		"%g = Cast(%f) {to=1} \"g\"\n %z = Exp(%g) \"z\" }";
	Seen seen = compile(text);
	int views = 0;
	for (int i = 0; i < seen.module->buffers.count; i++) {
		const MBuffer *buffer = seen.module->buffers.data[i];
		if (buffer->kind != PB_VIEW || !buffer->layout)
			continue;
		views++;
		ck_assert(dim_is(buffer->strides[3], layout_block(buffer->of->layout)));
	}
	ck_assert_int_eq(seen.calls, 5);
	ck_assert_int_eq(seen.relayouts, 2); /* of x and y */
	ck_assert_int_eq(views, 2);
}
END_TEST

/* The kernel behind a call that writes a part of something is a product for tensor cores all the
 * same, though the one image and the one block stay dims of it. */
START_TEST(parts_are_products)
{
	static const char text[] =
		"graph g(%x: f16[1,16,27,27]) -> %y { %w: f16[64,16,1,1] = weight 0\n"
		"%v: f16[64,16,3,3] = weight 1\n %u: f16[16,128,1,1] = weight 2\n"
		"%a = Conv(%x, %w) \"a\"\n %b = Conv(%x, %v) {pads=[1,1,1,1]} \"b\"\n"
		"%r = Relu(%b) \"r\"\n %c = Concat(%a, %r) {axis=1} \"c\"\n %y = Conv(%c, %u) \"y\" }";
	Seen seen = compile(text);
	ck_assert_int_eq(seen.calls, 3);
	for (int i = 0; i < seen.module->steps.count; i++) {
		const MStep *step = seen.module->steps.data[i];
		Buf buf = {.arena = arena};
		if (step->plan.kind != PT_VENDOR)
			continue;
		kernel_print(&buf, step->kernel);
		ck_assert_msg(strstr(buf_text(&buf), "mma."), "%s", buf_text(&buf));
	}
}
END_TEST

/* Weights that are given when running are brought into the storage of the call, and what the
 * library does not absorb keeps the product ours, which reads channels as they lie. */
START_TEST(given_weights_and_our_products)
{
	static const char text[] =
		"graph g(%x: f16[1,16,9,9], %w: f16[16,16,3,3]) -> %y { %v: f16[16,16,3,3] = weight 0\n"
		"%c = Conv(%x, %w) {pads=[1,1,1,1]} \"c\"\n %r = Relu(%c) \"r\"\n"
		"%d = Conv(%r, %v) {pads=[1,1,1,1]} \"d\"\n %h = HardSwish(%d) \"h\"\n"
		"%y = Conv(%h, %v) \"y\" }";
	Seen seen = compile(text);
	ck_assert_int_eq(seen.calls, 2);
	ck_assert_int_eq(seen.last, 3);
	ck_assert_int_eq(seen.relayouts, 3); /* of x, of w, of y */
}
END_TEST

int
main(void)
{
	TCase *tcase = tcase_create("layout");
	tcase_add_checked_fixture(tcase, set_up, tear_down);
	tcase_add_loop_test(tcase, chains_lie_last, 0, 2);
	tcase_add_loop_test(tcase, others_are_plain, 0, 2);
	tcase_add_test(tcase, concatenations_lie_last);
	tcase_add_test(tcase, parts_are_products);
	tcase_add_test(tcase, given_weights_and_our_products);
	return unit_run(tcase);
}
