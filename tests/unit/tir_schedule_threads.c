/* Schedules that make threads: every step keeps the meaning, judged by the interpreter, which finds
 * races and what is read too early; or it refuses with the reason.
 */
#include <math.h>
#include <string.h>

#include "thread_scripts.h"
#include "unit.h"

/* The kernel after each of the first steps, and behind all passes, computes the same. */
static void
same_meaning(const ThreadScript *script)
{
	const Array *expected = evaluated(read_kernel(script->text));
	char *all = arena_printf(arena, "%sschedule {\n%s}\n", script->text, script->steps);
	for (int count = 1;; count++) {
		Kernel *kernel = read_kernel(all);
		Script some = *kernel->script;
		bool is_all = count >= some.steps.count;
		some.steps.count = is_all ? some.steps.count : count;
		Primitive last = some.steps.data[some.steps.count - 1].primitive;
		if (!is_all && last != PRIM_tensorize && last != PRIM_cache_read && last != PRIM_reindex &&
		    last != PRIM_load_matrix)
			continue;
		script_apply(kernel, &some);
		kernel->script = NULL;
		kernel_check(kernel);
		ck_assert_msg(array_same_bytes(evaluated(kernel), expected), "%s", printed(kernel));
		ck_assert_str_eq(printed(read_kernel(printed(kernel))), printed(kernel));
		if (!is_all)
			continue;
		ck_assert_msg(!script->holds || strstr(printed(kernel), script->holds), "%s",
		              printed(kernel));
		take_passes(kernel);
		ck_assert_msg(memcmp(evaluated(kernel)->data, expected->data, array_bytes(expected)) == 0,
		              "%s", printed(kernel));
		return;
	}
}

START_TEST(test_scripts)
{
	for (size_t i = 0; i < countof(thread_scripts); i++)
		same_meaning(&thread_scripts[i]);
}
END_TEST

START_TEST(test_lesson)
{
	ThreadScript lessons[MAX_LESSONS];
	int count = lesson_scripts(lessons);
	ck_assert_int_ge(count, 3);
	for (int i = 0; i < count; i++) {
		Kernel *kernel = scheduled(&lessons[i]);
		const Array *expected = evaluated(read_kernel(lessons[i].text));
		kernel_check(kernel);
		kernel_check_device(kernel, device_find("cuda:h100"));
		ck_assert_msg(strstr(printed(kernel), lessons[i].holds), "%s", printed(kernel));
		ck_assert(array_same_bytes(evaluated(kernel), expected));
	}
}
END_TEST

/* The normalisation by shuffles adds up in another order than that by threads with a row each. */
START_TEST(test_lesson_norm)
{
	ThreadScript lessons[MAX_LESSONS];
	const Array *norm[2];
	int found = 0;
	for (int i = 0, count = lesson_scripts(lessons); i < count; i++)
		if (strstr(lessons[i].text, "kernel norm("))
			norm[found++] = evaluated(scheduled(&lessons[i]));
	ck_assert_int_eq(found, 2);
	ck_assert(!array_same_bytes(norm[0], norm[1]));
	for (int64_t i = 0; i < array_count(norm[0]); i++) {
		double a = dtype_load_f64(norm[0]->type, norm[0]->data, i);
		double b = dtype_load_f64(norm[1]->type, norm[1]->data, i);
		ck_assert_double_le(fabs(a - b), 1e-5 * (1 + fabs(a)));
	}
}
END_TEST

/* ---- what is refused ------------------------------------------------------------------------- */

static const char STORED[] = "kernel k(X: f32[64], Z: out f32[64], Y: out f32[64]) {\n"
							 "  for b in 2 for t in 32 {\n    Z[32*b + t] = X[t]\n"
							 "    for j in 3 Y[32*b + t] = X[32*b + t] * 2\n  }\n}\n";
static const char MEET[] = "kernel k(X: f32[64], Y: out f32[32]) {\n  for b in 2 for t in 32\n"
						   "    Y[t] += X[32*b + t]\n}\n";
static const char TWO[] = "kernel k(X: f32[64], Y: out f32[64]) {\n  for i in 64\n    Y[i] = X[i]\n"
						  "  for j in 64\n    Y[j] = X[j]\n}\n";
static const char OPEN[] = "kernel k(N, X: f32[N], Y: out f32[N]) {\n  for i in N\n"
						   "    Y[i] = X[i]\n}\n";
static const char BITS[] = "kernel k(X: i8[64], Y: out i32[32]) {\n  for t in 32 {\n"
						   "    acc: i32 @reg = 0\n    for k in 3\n      acc[] += i32(X[t + k])\n"
						   "    Y[t] = acc[]\n  }\n}\n";

static const char ONE[] = "kernel k(A: f16[16,16], B: f16[16,8], Y: out f32[16,8]) {\n"
						  "  acc: f32[16,8] @reg = 0\n"
						  "  for m in 16, n in 8, k in 16\n"
						  "    acc[m, n] += f32(A[m, k]) * f32(B[k, n])\n"
						  "  for p in 16, q in 8\n    Y[p/2, q] = acc[p, q]\n}\n";

static void
apply_text(void *text)
{
	Kernel *kernel = read_kernel(text);
	script_apply(kernel, kernel->script);
}

START_TEST(test_refused)
{
	static const struct {
		const char *text, *steps, *message;
	} cases[] = {
		{MEET, "bind b @block.x", "iterations may store to one place of Y"},
		{TWO, "bind i @block.x", "does not stand in loops of blocks and threads alone"},
		{STORED, "bind t @thread.x", "does not stand in loops of blocks and threads alone"},
		{STORED, "bind b @thread.x\n  bind t @block.x", "blocks do not stand in threads"},
		{STORED, "bind b @thread.x\n  bind t @thread.x", "@thread.x is another loop's"},
		{STORED, "bind b @parallel\n  bind t @thread.x", "does not stand in loops of blocks"},
		{STORED, "bind b @block.x\n  bind t @parallel", "does not stand in @parallel loops alone"},
		{STORED, "bind b @block.x\n  split b 2 -> bo, bi", "loop b is bound to @block.x"},
		{OPEN, "bind i @thread.x", "how many threads there are is no number"},
		{OPEN, "bind i @block.x", NULL},
		{STORED, "cache_read X at j @shared -> c", "no loop is bound to threads"},
		{STORED, "pack X at j a2 @shared -> c",
	     "only cache_read and reindex copy to @shared memory"},
		{STORED, "bind b @block.x\n  bind t @thread.x\n  cache_read Z at t @shared -> c",
	     "Z is stored too"},
		{STORED,
	     "bind b @block.x\n  bind t @thread.x\n  cache_read X at t @shared -> c\n"
	     "  split j 2 -> jo, ji",
	     "threads meet there already"},
		{STORED,
	     "bind b @block.x\n  bind t @thread.x\n  cache_read X at j @shared -> c\n"
	     "  prefetch c at t",
	     "there is no iteration before"},
		{STORED,
	     "bind b @block.x\n  bind t @thread.x\n  cache_read X at j @shared -> c\n"
	     "  prefetch c at j",
	     NULL},
		{STORED,
	     "bind b @block.x\n  bind t @thread.x\n  cache_read X at j @shared -> c\n"
	     "  prefetch d at j",
	     "not only copies to these stand in front"},
		{STORED, "bind b @block.x\n  bind t @thread.x\n  reindex t 0 X at j @stack -> c",
	     "it copies to @shared memory"},
		{STORED, "bind b @block.x\n  bind t @thread.x\n  reindex t 1 X at j @shared -> c",
	     "the columns have no loop"},
		{STORED, "bind b @block.x\n  bind t @thread.x\n  reindex j 0 X at j @shared -> c",
	     "loop j does not stand around the read, in loop j or as a thread"},
		{STORED, "bind b @block.x\n  bind t @thread.x\n  reindex t 0 X at t @shared -> c",
	     "X is read there in more than one place"},
		{STORED, "bind b @block.x\n  bind t @thread.x\n  reindex t 0 Z at t @shared -> c",
	     "nothing in it reads Z"},
		{BITS, "bind t @thread.x\n  reindex k 0 X at t @shared -> c",
	     "X is read by other loops, too"},
		{BITS, "bind t @thread.x\n  cache_read X at k @shared -> c\n  prefetch c at k", NULL},
		{HALVES, "tensorize m, n, k mma.m16n8k16.f16 -> lane, fa, fb", "does not hold exactly one"},
		{ONE, "tensorize m, n, k mma.m16n8k16.f16 -> lane, fa, fb",
	     "iterations may store to one place of Y"},
		{HALVES, WARPS("8") F16, "loop ki does not run from 0 to 16"},
		{HALVES, WARPS("16") TF32, "loop ki does not run from 0 to 8"},
		{HALVES, WARPS("16") BF16, "a factor is not of bf16"},
		{HALVES, WARPS("16") F16 "  load_matrix fa at ko", "what is loaded depends on kt"},
		{HALVES, WARPS("16") F16 SHARED "  load_matrix fa at ko", "sa changes in loop ko"},
		{HALVES, WARPS("16") F16 "  load_matrix fb at nt_1", "fb is not loaded in loop nt_1"},
		{HALVES, WARPS("16") F16 "  load_matrix acc at nt", "it is not filled behind"},
		{HALVES, WARPS("16") F16 "  reorder nt_1, ni_1", "threads meet there already"},
		{HALVES, WARPS("16") "  tensorize mi, ni, ki cp.async -> lane, fa, fb",
	     "'cp.async' is no product of matrices"},
	};
	for (size_t i = 0; i < countof(cases); i++) {
		Failure failure;
		char *text = arena_printf(arena, "%sschedule {\n  %s\n}\n", cases[i].text, cases[i].steps);
		bool is_done = try_run(apply_text, text, &failure);
		ck_assert_msg(is_done == !cases[i].message, "%s: %s", cases[i].steps,
		              is_done ? "done" : failure.text);
		if (is_done)
			continue;
		ck_assert_msg(strstr(failure.text, cases[i].message), "%s: %s", cases[i].steps,
		              failure.text);
		ck_assert_int_eq(failure.kind, FAIL_INVALID);
	}
}
END_TEST

int
main(void)
{
	TCase *tests = tcase_create("threads");
	tcase_add_checked_fixture(tests, setup, teardown);
	tcase_add_test(tests, test_scripts);
	tcase_add_test(tests, test_lesson);
	tcase_add_test(tests, test_lesson_norm);
	tcase_add_test(tests, test_refused);
	return unit_run(tests);
}
