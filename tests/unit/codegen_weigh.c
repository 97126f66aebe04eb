/* Weights of machine code: more work in a loop weighs more, equal kernels weigh the same, and codes
 * of other loops are not compared. */
#include "unit.h"

#include "codegen/common/codegen.h"

static const char ONE[] = "kernel one(X: f32[4096], Y: out f32[4096]) {\n"
						  "  for i in 1000\n    Y[i*3] = X[i*i%4096]\n}\n";
static const char MORE[] =
	"kernel more(X: f32[4096], Y: out f32[4096]) {\n"
	"  for i in 1000\n    Y[i*3] = X[i*i%4093] + X[i*i*i%4095] / X[i*7%4091]\n}\n";
static const char NESTED[] = "kernel nested(X: f32[4096], Y: out f32[4096]) {\n"
							 "  for i in 1000 {\n    acc: f32 @reg = 0\n"
							 "    for j in 1000\n      acc[] += X[i*j%4096]\n"
							 "    Y[i*3] = acc[]\n  }\n}\n";

static Arena *arena;

static Kernel *
read_kernel(ExprCtx *ctx, const char *text)
{
	return kernel_parse(arena, ctx, "weigh.l", text);
}

START_TEST(test_weights)
{
	arena = arena_new("weigh");
	ExprCtx *ctx = expr_ctx_new(arena);
	const Target target = {.device = device_find("cpu:x86-64-v3"), .threads = 1};
	Kernel *kernels[] = {read_kernel(ctx, ONE), read_kernel(ctx, MORE), read_kernel(ctx, ONE),
	                     read_kernel(ctx, NESTED)};
	CodeWeight w[countof(kernels)];
	const char *text = codegen_c(arena, &target, countof(kernels), kernels);
	codegen_weigh(arena, &target, text, countof(kernels), w);
	ck_assert_double_gt(w[0].instructions, 8);
	ck_assert(codegen_is_heavier(&w[1], &w[0]) && !codegen_is_heavier(&w[0], &w[1]));
	ck_assert_double_eq(w[0].instructions, w[2].instructions);
	ck_assert_int_eq(w[0].depth, w[2].depth);
	ck_assert_int_eq(w[0].depth, 1);
	ck_assert_int_eq(w[3].depth, 2);
	ck_assert_double_gt(w[3].instructions, w[1].instructions);
	ck_assert(!codegen_is_heavier(&w[3], &w[0]));
	arena_free(arena);
}
END_TEST

int
main(void)
{
	TCase *tcase = tcase_create("weigh");
	tcase_add_test(tcase, test_weights);
	return unit_run(tcase);
}
