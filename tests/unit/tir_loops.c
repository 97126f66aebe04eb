/* Loop IR: texts read back as they print, the verifier refuses what its rules name, the interpreter
 * evaluates, and simplifying keeps the meaning.
 */
#include <string.h>

#include "tir/rewrite.h"

#include "kernels.h"
#include "loop_passes.h"
#include "unit.h"

static const char ADD[] = "kernel add(N, X: f32[N,13], Y: out f32[N,13]) {\n"
						  "  for i in N, j in 13\n"
						  "    Y[i, j] = X[i, j] + 1\n"
						  "}\n";

static const char MIXED[] =
	"kernel mixed(N in 1..64, I: i64[N], X: f32[7] strides(2), Z: out alias f16[N] strides(3), "
	"Y: out f32[N]) {\n"
	"  t: f32[4,2] @stack = 0.5\n"
	"  u: i32[N] @scratch\n"
	"  for i in 1..N @parallel {\n"
	"    let k = at(I[i], 0..7, wrap, check)\n"
	"    if (X[k] > 0) {\n"
	"      Y[i] = X[k]\n"
	"      Y[i] *= 2\n"
	"      Y[i] max= 0.25\n"
	"    }\n"
	"    else {\n"
	"      Y[i] min= -X[k]\n"
	"    }\n"
	"    Z[i] = f16(X[k])\n"
	"    for j in 2 @unroll\n"
	"      t[j, 0] += X[k]\n"
	"  }\n"
	"}\n";

START_TEST(test_round_trip)
{
	static const char *const texts[] = {CONV, ADD, MIXED};
	for (size_t i = 0; i < countof(texts); i++)
		ck_assert_str_eq(printed(read_kernel(texts[i])), texts[i]);
}
END_TEST

START_TEST(test_finish)
{
	const Kernel *kernel = read_kernel(CONV);
	ck_assert_int_eq(kernel->symbols.count, 1);
	ck_assert_ptr_eq(kernel->extent, dim_mul_i64(ctx, dim_symbol(ctx, "N"), 3));
	ck_assert_ptr_null(kernel->scratch);
	ck_assert_ptr_nonnull(read_kernel(MIXED)->scratch);
	kernel_check(kernel);
}
END_TEST

/* 100,000 statements in one list are read, checked, taken through all passes, printed and run in
 * the time that a unit test has, which nothing quadratic is. */
START_TEST(test_long_lists)
{
	enum { COUNT = 100000 };
	Buf text = {.arena = arena};
	buf_puts(&text, "kernel long(Y: out i64[1]) {\n  Y[0] = 0\n");
	for (int i = 0; i < COUNT; i += 2)
		buf_printf(&text, "  let x = %d\n  Y[0] += x\n", i & 7);
	buf_puts(&text, "}\n");
	Kernel *kernel = read_kernel(buf_text(&text));
	kernel_check(kernel);
	const char *once = printed(kernel);
	ck_assert_str_eq(printed(read_kernel(once)), once);
	take_passes(kernel);
	kernel_check(kernel);
	ck_assert_int_eq(dtype_load_i64(DT_I64, evaluated(kernel)->data, 0), COUNT / 8 * 12);
}
END_TEST

/* ---- the verifier ---------------------------------------------------------------------------- */

static void
check_text(void *text)
{
	kernel_check(read_kernel(text));
}

START_TEST(test_refusals)
{
	static const struct {
		const char *text, *message;
	} cases[] = {
		{"kernel k(X: f32[4], Y: out f32[4]) {\n  for i in 5\n    Y[i] = 1\n}",
	     "not proven in range"},
		{"kernel k(X: f32[4], Y: out f32[4]) {\n  for i in 4\n    Y[i] = X[i+1]\n}",
	     "not proven in range"},
		{"kernel k(X: f32[4], Y: out f32[4]) {\n  for i in 4\n    X[i] = 1\n}", "no output"},
		{"kernel k(X: f32[4], Y: out f32[4]) {\n  for i in 4\n    let x = X[i]\n}",
	     "never written"},
		{"kernel k(Y: out f32[4]) {\n  for i in 4 {\n    for j in 2 @parallel\n      Y[i] = 1\n"
	     "    Y[i] = 2\n  }\n}",
	     "perfectly"},
		{"kernel k(Y: out f32[4]) {\n  for i in 4 @vector\n    Y[0] = 1\n}", "one place"},
		{"kernel k(Y: out f32[4]) {\n  for i in 4 @vector\n    for j in 4 @vector\n      Y[i] = "
	     "1\n}",
	     "stands in another"},
		{"kernel k(Y: out f32[4]) {\n  for i in 4 @vector(i32x4) {\n    let n = i\n"
	     "    for j in n\n      Y[i] = 1\n  }\n}",
	     "differ between lanes"},
		{"kernel k(Y: out f32[4]) {\n  for i in 4 @vector(i32x4) {\n    r: f32[4] @reg = 0\n"
	     "    Y[i] = r[i]\n  }\n}",
	     "different elements of r"},
		{"kernel k(Y: out f32[4]) {\n  for i in 4 @vector(i32x4) {\n    r: f32[4] @reg\n"
	     "    r[i] = 1\n    Y[i] = 1\n  }\n}",
	     "different elements of r"},
		{"kernel k(Y: out f32[4]) {\n  for i in 4 @vector(i32x4) {\n    r: f32[4] @stack\n"
	     "    Y[i] = 1\n  }\n}",
	     "no register"},
		{"kernel k(Y: out i64[1]) {\n  for i in 4 @vector(i32x4)\n    Y[0] += i\n}",
	     "too narrow for a sum"},
		{"kernel k(Y: out f32[4]) {\n  a: f32[4] @reg(4) = 0\n  for i in 4\n    Y[i] = a[i]\n}",
	     "not used as a register of vectors"},
		{"kernel k(Y: out f32[4]) {\n  a: f32[4] @reg(4) = 0\n  for i in 4 @vector(i32x8)\n"
	     "    Y[i] = a[i]\n}",
	     "not used as a register of vectors"},
		{"kernel k(Y: out f32[4]) {\n  a: f32[5] @reg(4) = 0\n  for i in 4\n    Y[i] = 0\n}",
	     "no register of vectors"},
		{"kernel k(N, Y: out f32[4]) {\n  a: f32[N] @reg\n  for i in 4\n    Y[i] = 1\n}",
	     "constant extents"},
		{"kernel k(Y: out f32[4]) {\n  a: f32[100,100] @stack\n  for i in 4\n    Y[i] = 1\n}",
	     "too large for the stack"},
	};
	for (size_t i = 0; i < countof(cases); i++) {
		Failure failure;
		ck_assert_msg(!try_run(check_text, (void *)cases[i].text, &failure), "%s", cases[i].text);
		ck_assert_msg(strstr(failure.text, cases[i].message), "%s", failure.text);
		ck_assert_int_eq(failure.kind, FAIL_BUG);
	}
}
END_TEST

START_TEST(test_a_guard_is_a_proof)
{
	kernel_check(read_kernel("kernel k(N, X: f32[N], Y: out f32[N]) {\n  for i in N\n"
	                         "    Y[i] = 3 <= i ? X[i-3] : 0.0\n}"));
	kernel_check(read_kernel("kernel k(N, X: f32[N], Y: out f32[N]) {\n  for i in N {\n"
	                         "    let j = i - 3\n    if (0 <= j)\n      Y[j] = X[i]\n  }\n}"));
}
END_TEST

/* ---- the interpreter ------------------------------------------------------------------------- */

static void
evaluate_text(void *text)
{
	evaluated(read_kernel(text));
}

START_TEST(test_eval)
{
	Array *y =
		evaluated(read_kernel("kernel k(Y: out i64[4]) {\n  s: i64 @reg = 1\n  for i in 4 {\n"
	                          "    Y[i] = i / 3 + s\n    s *= 2\n  }\n}"));
	static const int64_t expected[] = {1, 2, 4, 9};
	ck_assert_mem_eq(y->data, expected, sizeof expected);
	Failure failure;
	ck_assert(!try_run(evaluate_text,
	                   "kernel k(Y: out f32[4]) {\n  a: f32[2] @reg\n  Y[0] = a[1]\n}", &failure));
	ck_assert_msg(strstr(failure.text, "read before it is written"), "%s", failure.text);
	ck_assert(!try_run(evaluate_text, "kernel k(Y: out f32[4]) {\n  for i in 5\n    Y[i] = 1\n}",
	                   &failure));
	ck_assert_msg(strstr(failure.text, "outside 0..4"), "%s", failure.text);
}
END_TEST

START_TEST(test_simplify)
{
	Kernel *kernel = read_kernel(
		"kernel k(N, X: f32[N,12], Y: out f32[N,12]) {\n  for i in N, h in 1, j in 12 {\n"
		"    if (j < 20)\n      Y[i, (12*i + j) % 12] = X[(12*i + j) / 12, j]\n"
		"    if (13 < j)\n      Y[i, j] = 2\n  }\n}");
	tir_simplify(kernel);
	ck_assert_str_eq(printed(kernel), "kernel k(N, X: f32[N,12], Y: out f32[N,12]) {\n"
	                                  "  for i in N, j in 12\n"
	                                  "    Y[i, j] = X[i, j]\n"
	                                  "}\n");
}
END_TEST

int
main(void)
{
	TCase *tests = tcase_create("loops");
	tcase_add_checked_fixture(tests, setup, teardown);
	tcase_add_test(tests, test_round_trip);
	tcase_add_test(tests, test_finish);
	tcase_add_test(tests, test_long_lists);
	tcase_add_test(tests, test_refusals);
	tcase_add_test(tests, test_a_guard_is_a_proof);
	tcase_add_test(tests, test_eval);
	tcase_add_test(tests, test_simplify);
	return unit_run(tests);
}
