/* Tiles of rows and SplitBorders keep every bit: windows of all kinds, evaluated by the loop
 * interpreter before and after, and the verifier finds every index proven.
 */
#include "unit.h"

#include "passes/passes.h"
#include "random_number.h"
#include "tir/rewrite.h"
#include "tir/script.h"

static const char *const WINDOWS[] = {
	/* enough rows to take four at once; a wider window is not unrolled but narrowed */
	"kernel rows(X: f32[5,12,20], Y: out f32[5,12,20]) {\n  for c in 5 @parallel\n"
	"    for p in 12 @parallel\n      for q in 20 @vector {\n        m: f32 @reg = -inf\n"
	"        for r in 3, s in 3\n"
	"          if (0 <= p+r-1 && p+r-1 < 12 && 0 <= q+s-1 && q+s-1 < 20)\n"
	"            m max= X[c, p+r-1, q+s-1]\n        Y[c, p, q] = m\n      }\n}\n"
	"schedule {\n  split p 4 -> tile, u\n  reorder q, u\n  bind u @unroll\n"
	"  fission u m @reg -> u_1\n  reorder r, s, u\n  skew r, u -> r_row\n  bind r_row @unroll\n"
	"  bind s @unroll\n}\n",
	"kernel wide(X: f32[12,20], Y: out f32[12,20]) {\n  for p in 12 @parallel\n"
	"    for q in 20 @vector {\n      acc: f32 @reg = 0.0\n      for r in 7, s in 7\n"
	"        if (0 <= p+r-3 && p+r-3 < 12 && 0 <= q+s-3 && q+s-3 < 20)\n"
	"          acc += X[p+r-3, q+s-3]\n      Y[p, q] = acc\n    }\n}",
	"kernel pool(X: f32[9,20], Y: out f32[9,20]) {\n  for p in 9 @parallel\n"
	"    for q in 20 @vector {\n      m: f32 @reg = -inf\n      for r in 3, s in 3\n"
	"        if (0 <= p+r-1 && p+r-1 < 9 && 0 <= q+s-1 && q+s-1 < 20)\n"
	"          m max= X[p+r-1, q+s-1]\n      Y[p, q] = m\n    }\n}",
	/* two loops beside each other, one of them inside another reduction; stride 2 */
	"kernel conv(X: f32[3,9,9], W: f32[3,3,3], Y: out f32[5,5]) {\n  for p in 5 @parallel\n"
	"    for q in 5 @vector {\n      acc: f32 @reg = 0.0\n      n: f32 @reg = 0.0\n"
	"      for r in 3\n        if (0 <= 2*p+r-1 && 2*p+r-1 < 9)\n          n += 1.0\n"
	"      for c in 3, r in 3, s in 3\n"
	"        if (0 <= 2*p+r-1 && 2*p+r-1 < 9 && 0 <= 2*q+s-1 && 2*q+s-1 < 9)\n"
	"          acc += X[c, 2*p+r-1, 2*q+s-1] * W[c, r, s]\n      Y[p, q] = acc / n\n    }\n}",
	/* dilated: the step is not 1, so the guard stays */
	"kernel dilated(X: f32[12,8], Y: out f32[12,8]) {\n  for p in 12 @parallel\n"
	"    for q in 8 @vector {\n      acc: f32 @reg = 0.0\n      for r in 3\n"
	"        if (0 <= p+2*r-2 && p+2*r-2 < 12)\n          acc += X[p+2*r-2, q]\n"
	"      Y[p, q] = acc\n    }\n}",
	/* from above, more pads than the window, a symbolic extent, no lanes */
	"kernel causal(N, X: f32[N], Y: out f32[N]) {\n  for p in N {\n    acc: f32 @reg = 0.0\n"
	"    for k in N\n      if (k <= p && p < k + 3)\n        acc += X[k]\n    Y[p] = acc\n  }\n}",
	"kernel far(X: f32[2,6], Y: out f32[8,6]) {\n  for p in 8 @parallel\n"
	"    for q in 6 @vector {\n      acc: f32 @reg = 0.0\n      for r in 2\n"
	"        if (p+r > 3 && 5 >= p+r)\n          acc += X[p+r-4, q]\n      Y[p, q] = acc\n    }\n}",
	/* a condition that reads, one that knows no loop, a let that differs between lanes */
	"kernel mixed(X: f32[8], M: bool[8], Y: out f32[8]) {\n  for q in 8 @vector {\n"
	"    let k = q * 3 % 8\n    acc: f32 @reg = 0.0\n    for s in 4\n"
	"      if (M[q] && k + s < 8 && q != 5)\n        acc += X[k + s]\n    Y[q] = acc\n  }\n}",
};

static const Array *
evaluated(Arena *arena, const Kernel *kernel)
{
	int64_t numbers[8] = {0}, dims[8];
	bool bound[8] = {false};
	Array *arrays[8] = {NULL};
	for (int i = 0; i < kernel->symbols.count; i++) {
		numbers[kernel->symbols.data[i]->id] = 7;
		bound[kernel->symbols.data[i]->id] = true;
	}
	Binding binding = {8, numbers, bound};
	uint64_t seed = 5;
	for (int i = 0; i < kernel->buffers.count; i++) {
		const Tensor *tensor = &kernel->buffers.data[i]->tensor;
		for (int d = 0; d < tensor->rank; d++)
			ck_assert(dim_eval(tensor->hi[d], &binding, &dims[d]));
		arrays[i] = array_new(arena, tensor->type, tensor->rank, dims);
		int64_t count = array_count(arrays[i]);
		for (int64_t k = 0; k < count; k++)
			if (tensor->type == DT_F32)
				((float *)arrays[i]->data)[k] = (float)random_below(&seed, 1000) / 77 - 6;
			else
				((uint8_t *)arrays[i]->data)[k] = random_below(&seed, 4) != 0;
	}
	kernel_eval(kernel, &binding, arrays);
	return arrays[kernel->buffers.count - 1];
}

START_TEST(test_windows)
{
	for (size_t i = 0; i < countof(WINDOWS); i++) {
		Arena *arena = arena_new("test");
		ExprCtx *ctx = expr_ctx_new(arena);
		Kernel *kernel = kernel_parse(arena, ctx, "window", WINDOWS[i]);
		kernel_check(kernel);
		const Array *expected = evaluated(arena, kernel);
		if (kernel->script)
			script_apply(kernel, kernel->script);
		kernel->script = NULL;
		tir_simplify(kernel);
		kernel_check(kernel);
		pass_SplitBorders(kernel, NULL);
		kernel_check(kernel);
		Buf text = {.arena = arena};
		kernel_print(&text, kernel);
		ck_assert_msg(array_same_bytes(evaluated(arena, kernel), expected), "%s", buf_text(&text));
		arena_free(arena);
	}
}
END_TEST

int
main(void)
{
	TCase *tcase = tcase_create("borders");
	tcase_add_test(tcase, test_windows);
	return unit_run(tcase);
}
