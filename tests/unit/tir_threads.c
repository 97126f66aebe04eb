/* Blocks, threads, shared memory, barriers and operations of threads: what they compute is what
 * plain loops compute, and each mistake in them is found, by the verifier or while they run.
 *
 * The data are small integers, so that sums are exact and their order does not matter.
 */
#include <string.h>

#include "kernels.h"
#include "loop_passes.h"
#include "thread_pairs.h"
#include "unit.h"

static void
expect_equal(int pair, const Array *a, const Array *b)
{
	for (int64_t i = 0; i < array_count(a); i++) {
		double x = dtype_load_f64(a->type, a->data, i), y = dtype_load_f64(b->type, b->data, i);
		ck_assert_msg(x == y, "%s: element %d is %g, expected %g", pairs[pair].name, (int)i, x, y);
	}
}

START_TEST(test_pairs)
{
	Kernel *threads = read_kernel(pairs[_i].threads);
	const char *text = printed(threads);
	ck_assert_str_eq(printed(read_kernel(text)), text);
	kernel_check(threads);
	kernel_check_device(threads, device_find("cuda:h100"));
	const Array *expected = evaluated(read_kernel(pairs[_i].plain));
	expect_equal(_i, evaluated(threads), expected);
	take_passes(threads);
	expect_equal(_i, evaluated(threads), expected);
}
END_TEST

START_TEST(test_bf16)
{
	for (size_t i = 0; i < countof(pairs); i++) {
		if (!strstr(pairs[i].threads, "f16["))
			continue;
		Kernel *threads = read_kernel(replaced(pairs[i].threads, "f16", "bf16"));
		kernel_check(threads);
		const char *plain = replaced(pairs[i].plain, "f16", "bf16");
		expect_equal((int)i, evaluated(threads), evaluated(read_kernel(plain)));
	}
}
END_TEST

/* Each element of a matrix is in one register of one lane. */
static void
expect_whole(const char *name, const Fragment *fragment)
{
	bool is_there[32][32] = {{false}};
	ck_assert_msg(fragment->count * WARP_LANES == fragment->rows * fragment->cols, "%s", name);
	for (int lane = 0; lane < WARP_LANES; lane++)
		for (int i = 0; i < fragment->count; i++) {
			int row = fragment->row(lane, i), col = fragment->col(lane, i);
			ck_assert_msg(row >= 0 && row < fragment->rows && col >= 0 && col < fragment->cols,
			              "%s: element %d of lane %d is [%d,%d]", name, i, lane, row, col);
			ck_assert_msg(!is_there[row][col], "%s: [%d,%d] is there twice", name, row, col);
			is_there[row][col] = true;
		}
}

START_TEST(test_rows)
{
	for (int i = 0; i < warp_op_count(); i++) {
		const WarpOp *row = warp_op_at(i);
		ck_assert_ptr_eq(warp_op_find(row->name), row);
		if (row->d)
			expect_whole(row->name, row->d);
		if (row->kind != WARP_MMA)
			continue;
		expect_whole(row->name, row->a);
		expect_whole(row->name, row->b);
		ck_assert(row->d->rows == row->a->rows && row->d->cols == row->b->cols);
		ck_assert_int_eq(row->a->cols, row->b->rows);
	}
}
END_TEST

/* Factors of tf32 keep 10 bits behind the point, ties away from zero. */
START_TEST(test_tf32_rounds)
{
	static const struct {
		const char *factor;
		double kept;
	} cases[] = {{"1.00048828125", 1.0009765625}, /* 1 + 2^-11: a tie */
	             {"-1.00048828125", -1.0009765625},
	             {"1.00048804", 1.0},
	             {"1.0009765625", 1.0009765625}};
	for (size_t i = 0; i < countof(cases); i++) {
		const char *text =
			arena_printf(arena,
		                 "kernel k(C: out f32[4]) {\n  for t in 32 @thread.x {\n"
		                 "    a: f32[4] @reg = %s\n    b: f32[2] @reg = t %% 4 == 0 ? 1.0 : 0.0\n"
		                 "    b[1] = 0\n    acc: f32[4] @reg = 0\n"
		                 "    acc[0] += mma.m16n8k8.tf32(a[0], b[0])\n"
		                 "    if (t == 0)\n      for i in 4\n        C[i] = acc[i]\n  }\n}",
		                 cases[i].factor);
		const Array *c = evaluated(read_kernel(text));
		ck_assert_double_eq(dtype_load_f64(DT_F32, c->data, 0), cases[i].kept);
	}
}
END_TEST

/* ---- mistakes -------------------------------------------------------------------------------- */

static void
check_text(void *text)
{
	kernel_check(read_kernel(text));
}

static void
check_and_run(void *text)
{
	Kernel *kernel = read_kernel(text);
	kernel_check(kernel);
	evaluated(kernel);
}

static void
run_text(void *text)
{
	evaluated(read_kernel(text));
}

static void
check_h100(void *text)
{
	Kernel *kernel = read_kernel(text);
	kernel_check(kernel);
	kernel_check_device(kernel, device_find("cuda:h100"));
}

static void
check_v100(void *text)
{
	kernel_check_device(read_kernel(text), device_find("cuda:v100"));
}

#define THREADS(count, body) \
	"kernel k(X: f32[256], Y: out f32[256]) {\n" \
	"  for b in 1 @block.x {\n" \
	"    s: f32[256] @shared\n" \
	"    for t in " count " @thread.x {\n" body "    }\n  }\n}\n"

static const struct {
	void (*run)(void *text);
	const char *text, *message;
} mistakes[] = {
	{check_and_run, THREADS("64", "s[t] = X[t]\nY[t] = s[63-t]\n"),
     "test.l:6: kernel k: thread 0 reads element 63 of s, which thread 63 wrote"},
	{check_and_run, THREADS("64", "s[t] = X[t]\nsync\nY[t] = s[63-t]\ns[t] = X[t+1]\n"),
     "test.l:8: kernel k: thread 0 writes element 0 of s, which thread 63 reads"},
	{check_and_run, THREADS("64", "s[t/2] = X[t]\nsync\nY[t] = s[t/2]\n"),
     "test.l:5: kernel k: thread 1 writes element 0 of s, which thread 0 wrote"},
	{check_text, THREADS("64", "s[t] = X[t]\nif (t < 32)\nsync\nY[t] = s[63-t]\n"),
     "test.l:7: kernel k: what decides whether a barrier is reached may differ along @thread.x"},
	{run_text, THREADS("64", "s[t] = X[t]\nif (t < 32)\nsync\nY[t] = s[63-t]\n"),
     "test.l:7: kernel k: thread 0 waits at a barrier that thread 32 does not reach"},
	{run_text, THREADS("64", "s[t] = X[t]\nfor i in 2 + t/63\nsync\nY[t] = 0\n"),
     "test.l:7: kernel k: thread 63 waits at a barrier that thread 0 does not reach"},
	{run_text, THREADS("64", "if (t < 63)\ns[t] = X[t]\nsync\nY[t] = s[t]\n"),
     "test.l:8: kernel k: s is read before it is written"},
	{run_text, THREADS("64", "s[t] = X[t]\nsync\nif (t < 60)\nY[t] = X[t*5]\n"),
     "test.l:8: kernel k: index 260 of X is outside 0..256"},
	{run_text, THREADS("2048", "Y[0] = 1\n"), "2048 threads in a block"},
	{check_text, THREADS("64", "s[t] = X[t]\nfor i in t\nsync\nY[t] = s[63-t]\n"),
     "may differ along @thread.x"},
	{check_and_run, THREADS("64", "s[t] = X[t]\nlet n = t\nif (n < 32)\nsync\nY[t] = 0\n"),
     "may differ along @thread.x"},
	{check_text, THREADS("64", "s[t] = X[t]\nsync\nY[0] = s[t]\n"),
     "test.l:7: kernel k: all iterations of @thread.x store to one place of Y"},
	{check_text, THREADS("64", "s[0] = X[t]\nsync\nY[t] = s[0]\n"), "to one place of s"},
	{check_text, "kernel k(Y: out f32[4]) {\n  for b in 4 @block.x\n    Y[0] = 1\n}",
     "test.l:3: kernel k: all iterations of @block.x store to one place of Y"},
	{check_text, "kernel k(Y: out f32[4]) {\n  for b in 4 @parallel\n    Y[0] = 1\n}",
     "test.l:3: kernel k: all iterations of @parallel store to one place of Y"},
	{check_and_run, "kernel k(Y: out f32[4]) {\n  for b in 4 @block.x\n    Y[b/2] = 1\n}",
     "test.l:3: kernel k: block 1 writes element 0 of Y, which block 0 wrote"},
	{check_and_run, "kernel k(Y: out f32[4]) {\n  for b in 4 @parallel\n    Y[b/2] = 1\n}",
     "iteration 2 writes element 0 of Y, which iteration 1 wrote"},
	{check_and_run,
     "kernel k(Y: out f32[4]) {\n  for b in 4 @block.x\n    Y[b] = b == 3 ? Y[0] : 1.0\n}",
     "block 3 reads element 0 of Y, which block 0 wrote"},
	{check_and_run, /* two readers of the second block do not hide that of the first */
     "kernel k(Y: out f32[256]) {\n  for b in 2 @block.x\n    for t in 64 @thread.x {\n"
     "      r: f32 @reg = 0\n      if (t < 1+b)\n        r = Y[0]\n      sync\n"
     "      if (b == 1 && t == 2)\n        Y[0] = 1\n      Y[1+b*64+t] = r\n    }\n}",
     "test.l:9: kernel k: block 1 writes element 0 of Y, which block 0 reads"},
	{check_and_run,
     THREADS("64", "s[t*4] = cp.async(X[t*4], 16)\ncp.async.commit()\nsync\nY[t] = s[t]\n"),
     "test.l:8: kernel k: element 0 of s is read before its copy has been waited for"},
	{check_and_run,
     THREADS("64", "s[t*4] = cp.async(X[t*4], 16)\ncp.async.wait(0)\nsync\nY[t] = s[t]\n"),
     "read before its copy has been waited for"}, /* it was not committed */
	{check_and_run,
     THREADS("64", "s[t*4] = cp.async(X[t*4], 16)\ncp.async.commit()\ncp.async.wait(0)\n"
                   "Y[t] = s[t]\n"),
     "thread 1 reads element 1 of s, which thread 0 wrote"},
	{check_and_run, THREADS("64", "s[t*4] = cp.async(X[t*4], 16)\ns[t*4] = 0\nY[t] = 0\n"),
     "written before its copy has been waited for"},
	{check_and_run,
     THREADS("60", "s[t*4] = cp.async(X[t*4+1], 16)\ncp.async.commit()\ncp.async.wait(0)\n"
                   "Y[t] = 0\n"),
     "test.l:5: kernel k: element 1 of X is not aligned to 16 bytes"},
	{check_text, THREADS("64", "s[t*4] = cp.async.zfill(X[t*4+4], 16, t < 64)\nY[t] = 0\n"),
     "test.l:5: kernel k: index 0 of X is not proven in range"},
	{check_text, THREADS("64", "s[t] = cp.async(X[t], 12)\nY[t] = 0\n"), "4, 8 or 16 bytes"},
	{check_text, THREADS("64", "s[t*4] = cp.async(X[t*4+1], 16)\nY[t] = 0\n"),
     "index 0 of X is not proven in range"},
	{check_and_run,
     THREADS("64", "r: f32 @reg = 0\nif (t < 40)\nr[] = shfl.xor(X[t], 1)\nY[t] = 0\n"),
     "thread 32 is at shfl.xor without thread 40 of its warp"},
	{check_text, THREADS("40", "r: f32 @reg = 0\nr[] = shfl.xor(X[t], 1)\nY[t] = r[]\n"),
     "works in warps of 32, and there are 40 threads"},
	{check_text, "kernel k(Y: out f32[4]) {\n  for i in 4\n    Y[i] = shfl.xor(1, 1)\n}",
     "no loop is bound to threads"},
	{check_text, "kernel k(Y: out f32[4]) {\n  for i in 4 {\n    Y[i] = 1\n    sync\n  }\n}",
     "a barrier where no loop is bound to threads"},
	{check_text,
     THREADS("32", "a: f16[8] @reg = 0\nb: f16[3] @reg = 0\nc: f32[4] @reg = 0\n"
                   "c[0] += mma.m16n8k16.f16(a[0], b[0])\nY[t] = c[0]\n"),
     "test.l:8: kernel k: index 0 of b is not proven in range: 3"},
	{check_text,
     THREADS("32", "a: f32[8] @reg = 0\nb: f16[4] @reg = 0\nc: f32[4] @reg = 0\n"
                   "c[0] += mma.m16n8k16.f16(a[0], b[0])\nY[t] = c[0]\n"),
     "expected an expression of type f16 before this"},
	{check_text,
     THREADS("32", "a: f16[8] @reg = 0\nb: f16[4] @reg = 0\nc: f32[4] @reg = 0\n"
                   "c[0] = mma.m16n8k16.f16(a[0], b[0])\nY[t] = c[0]\n"),
     "is added"},
	{check_text, THREADS("64", "Y[t] = X[t*4+1]\nif (t < 63)\nY[t] = X[t*4+4]\ns[t] = X[t*4+4]\n"),
     "test.l:8: kernel k: index 0 of X is not proven in range"},
	{check_text, THREADS("64", "for u in 32 @thread.x\nY[u] = 1\n"), "differ in extent"},
	{check_text, "kernel k(N, Y: out f32[N]) {\n  for t in N @thread.x\n    Y[t] = 1\n}",
     "is no number"},
	{check_text,
     "kernel k(Y: out f32[4]) {\n  for i in 4\n    for b in 4 @block.x\n      Y[b] = 1\n}",
     "stands in a loop or condition"},
	{check_text,
     "kernel k(Y: out f32[4]) {\n  s: f32[4] @shared\n  for b in 4 @block.x\n    Y[b] = 1\n}",
     "test.l:2: kernel k: shared buffer s is made outside of blocks"},
	{check_text, THREADS("4", "r: f32[4] @shared = 0\nY[t] = r[t]\n"), "has an initial value"},
	{check_text, THREADS("4", "r: f32[4] @scratch\nY[t] = 0\n"), "there are blocks"},
	{check_h100,
     "kernel k(Y: out f32[4]) {\n  for b in 4 @block.x {\n    s: f32[65536] @shared\n"
     "    for t in 4 @thread.x\n      if (t == 0)\n        Y[b] = 1\n  }\n}",
     "262144 bytes of shared memory in a block, and cuda:h100 has 232448"},
	{check_h100, "kernel k(Y: out f32[2048]) {\n  for t in 2048 @thread.x\n    Y[t] = 1\n}",
     "2048 threads in a block, and cuda:h100 has 1024"},
	{check_h100,
     "kernel k(Y: out f32[512]) {\n  for t in 512 @thread.x {\n    r: f32[200] @reg = 0\n"
     "    Y[t] = r[0]\n  }\n}",
     "102400 registers in a block, and cuda:h100 has 65536"},
	{check_v100, THREADS("64", "s[t*4] = cp.async(X[t*4], 16)\nY[t] = 0\n"),
     "cuda:v100 has no cp.async, which needs capability 80"},
};

START_TEST(test_mistakes)
{
	Failure failure;
	bool is_right = try_run(mistakes[_i].run, (void *)(uintptr_t)mistakes[_i].text, &failure);
	ck_assert_msg(!is_right, "found nothing in:\n%s", mistakes[_i].text);
	ck_assert_msg(strstr(failure.text, mistakes[_i].message), "%s, expected %s in:\n%s",
	              failure.text, mistakes[_i].message, mistakes[_i].text);
}
END_TEST

int
main(void)
{
	TCase *tests = tcase_create("threads");
	tcase_add_checked_fixture(tests, setup, teardown);
	tcase_add_loop_test(tests, test_pairs, 0, (int)countof(pairs));
	tcase_add_test(tests, test_bf16);
	tcase_add_test(tests, test_rows);
	tcase_add_test(tests, test_tf32_rounds);
	tcase_add_loop_test(tests, test_mistakes, 0, (int)countof(mistakes));
	return unit_run(tests);
}
