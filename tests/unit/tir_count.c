/* What is counted of kernels for GPUs, and what is found while some of their blocks run. */
#include <string.h>

#include "target/maker.h"
#include "tir/count.h"
#include "unit.h"

#include "kernels.h"

static KernelCounts
counted(const char *text)
{
	return kernel_count(read_kernel(text), NULL);
}

/* A warp's 32 floats side by side are four sectors, and each is asked for as a whole. */
START_TEST(test_sectors)
{
	KernelCounts c = counted("kernel k(X: f32[4096], Y: out f32[4096]) {\n"
	                         "  for b in 16 @block.x for t in 256 @thread.x\n"
	                         "    Y[b*256+t] = X[b*256+t] + 1\n}\n");
	ck_assert_double_eq_tol(c.blocks, 16, 1e-6);
	ck_assert_int_eq(c.threads, 256);
	ck_assert_double_eq_tol(c.sectors, 1024, 1e-6);
	ck_assert_double_eq_tol(c.asked, 2 * 4096 * 4, 1e-6);
	ck_assert_double_eq_tol(c.memory, 2 * 4096 * 4, 1e-6);
	ck_assert_double_eq_tol(c.operations, 4096, 1e-6);
	c = counted("kernel k(X: f32[4096], Y: out f32[4096]) {\n"
	            "  for b in 16 @block.x for t in 256 @thread.x\n"
	            "    Y[b*256+t] = X[t*16+b]\n}\n");
	ck_assert_double_eq_tol(c.sectors, 512 + 4096, 1e-6);
	ck_assert_double_eq_tol(c.reused, 512 + 4096, 1e-6);
}
END_TEST

/* Straight code reads a place of shared memory once, until somebody stores. */
START_TEST(test_registers)
{
	KernelCounts c = counted("kernel k(X: f32[32], Y: out f32[64]) {\n"
	                         "  for t in 32 @thread.x {\n"
	                         "    s: f32[32] @shared\n"
	                         "    s[t] = X[t]\n"
	                         "    sync\n"
	                         "    let a = s[t]\n"
	                         "    let b = s[t]\n"
	                         "    Y[t] = a + b\n"
	                         "    Y[32+t] = s[t]\n"
	                         "  }\n}\n");
	ck_assert_double_eq_tol(c.rounds, 3, 1e-6);
}
END_TEST

/* Lanes down a column of rows of 32 meet in one bank; with one more for each row, in none. */
START_TEST(test_banks)
{
	static const char text[] = "kernel k(X: f32[32,32], Y: out f32[32,32]) {\n"
							   "  for t in 32 @thread.x {\n"
							   "    s: f32[32,%d] @shared\n"
							   "    for i in 32 s[i, t] = X[i, t]\n"
							   "    sync\n"
							   "    for j in 32 Y[j, t] = s[t, j]\n"
							   "  }\n}\n";
	KernelCounts c = counted(arena_printf(arena, text, 32));
	ck_assert_double_eq_tol(c.words, 64, 1e-6);
	ck_assert_double_eq_tol(c.rounds, 32 + 32 * 32, 1e-6);
	ck_assert_double_eq_tol(c.barriers, 1, 1e-6);
	ck_assert_int_eq((int)c.shared, 4096);
	c = counted(arena_printf(arena, text, 33));
	ck_assert_double_eq_tol(c.rounds, 64, 1e-6);
}
END_TEST

/* A vector's lanes are one access: 16 bytes a thread, in four rounds. */
START_TEST(test_vectors)
{
	KernelCounts c = counted("kernel k(X: f32[128], Y: out f32[128]) {\n"
	                         "  for t in 32 @thread.x {\n"
	                         "    s: f32[128] @shared\n"
	                         "    for i in 4 @vector s[t*4+i] = X[t*4+i]\n"
	                         "    sync\n"
	                         "    for j in 4 @vector Y[t*4+j] = s[t*4+j]\n"
	                         "  }\n}\n");
	ck_assert_double_eq_tol(c.sectors, 32, 1e-6);
	ck_assert_double_eq_tol(c.words, 8, 1e-6);
	ck_assert_double_eq_tol(c.rounds, 8, 1e-6);
}
END_TEST

/* Three turns of a long loop stand for all. */
START_TEST(test_long_loops)
{
	KernelCounts c = counted("kernel k(X: f32[300,64], Y: out f32[64]) {\n"
	                         "  for b in 2 @block.x for t in 32 @thread.x {\n"
	                         "    acc: f32 @reg = 0\n"
	                         "    for k in 300 acc[] += X[k, b*32+t] * 2\n"
	                         "    Y[b*32+t] = acc[]\n"
	                         "  }\n}\n");
	ck_assert_double_eq_tol(c.operations, 2 * 300 * 64, 1);
	ck_assert_double_eq_tol(c.sectors, 301 * 8, 1);
}
END_TEST

/* What threads read of arguments in front of a barrier they wait for, each time; copies that are on
 * their way are apart. */
START_TEST(test_fetches)
{
	static const char text[] = "kernel k(X: f32[128], Y: out f32[64]) {\n"
							   "  for b in 2 @block.x for t in 32 @thread.x {\n"
							   "    s: f32[32] @shared\n"
							   "    acc: f32 @reg = 0\n"
							   "    for k in 4 {\n"
							   "      s[t] = %s\n"
							   "      sync\n"
							   "      acc[] += s[31-t]\n"
							   "      sync\n"
							   "    }\n"
							   "    Y[b*32+t] = acc[]\n"
							   "  }\n}\n";
	KernelCounts c = counted(arena_printf(arena, text, "X[k*32+t]"));
	ck_assert_double_eq_tol(c.barriers, 2 * 8, 1e-6);
	ck_assert_double_eq_tol(c.fetches, 2 * 4, 1e-6);
	ck_assert_double_eq_tol(c.ahead, 0, 1e-6);
	c = counted(arena_printf(arena, text,
	                         "cp.async(X[k*32+t], 4)\n      cp.async.commit()\n"
	                         "      cp.async.wait(0)"));
	ck_assert_double_eq_tol(c.fetches, 0, 1e-6);
	ck_assert_double_eq_tol(c.ahead, 2 * 4, 1e-6);
}
END_TEST

static void
count_text(void *text)
{
	kernel_count(read_kernel(text), NULL);
}

/* Mistakes that no single run of threads in turn may show. */
START_TEST(test_mistakes)
{
	static const struct {
		const char *body, *message;
	} cases[] = {
		{"s[t] = X[t]\n    Y[t] = s[31-t]", "nothing orders them"},
		{"if (t < 16) s[t] = X[t]\n    sync\n    Y[t] = s[t]", "is read before it is written"},
		{"s[t] = X[t]\n    if (t < 16) sync\n    Y[t] = s[t]", ""},
		{"for k in 20 {\n    s[t] = X[t]\n    sync\n    Y[t] = s[31-t]\n  }",
	     "nothing orders them"},
		{"s[t] = X[t]\n    sync\n    Y[0] = s[t]", "nothing orders them"},
	};
	for (size_t i = 0; i < countof(cases); i++) {
		Failure failure;
		char *text = arena_printf(arena,
		                          "kernel k(X: f32[32], Y: out f32[32]) {\n  for t in 32 @thread.x "
		                          "{\n    s: f32[32] @shared\n    %s\n  }\n}\n",
		                          cases[i].body);
		ck_assert_msg(!try_run(count_text, text, &failure), "%s", text);
		ck_assert_msg(strstr(failure.text, cases[i].message), "%s", failure.text);
	}
}
END_TEST

/* The longest of what a kernel does bounds it. */
START_TEST(test_time)
{
	const Device *h100 = device_find("cuda:h100");
	KernelCounts c = {.blocks = 13200, .threads = 256, .instructions = 1e6, .memory = 3.35e9};
	KernelTime time = kernel_time(h100, &c, 32, DT_NONE);
	ck_assert_str_eq(time.bound, "memory");
	ck_assert_double_eq_tol(time.seconds, 1e-3 / 0.833, 1e-4);
	ck_assert_int_eq((int)time.resident, 8);
	ck_assert_double_eq(time.occupancy, 1);
	ck_assert_int_eq((int)kernel_time(h100, &c, 255, DT_NONE).resident, 1);
	c.shared = 100 << 10;
	ck_assert_int_eq((int)kernel_time(h100, &c, 32, DT_NONE).resident, 2);
	c.shared = 300 << 10;
	ck_assert_ptr_null(kernel_time(h100, &c, 32, DT_NONE).bound);
}
END_TEST

/* A block waits for what it reads, a hundred times: others hide that, or what it computes. */
START_TEST(test_chain)
{
	const Device *h100 = device_find("cuda:h100");
	double wait = h100->gpu->latency * 100 + h100->gpu->wait * 200;
	KernelCounts c = {.blocks = 132, .threads = 128, .barriers = 132 * 200, .fetches = 132 * 100};
	KernelTime time = kernel_time(h100, &c, 32, DT_NONE);
	ck_assert_str_eq(time.bound, "latency");
	ck_assert_double_eq_tol(time.seconds, wait + h100->gpu->launch, 1e-9);
	KernelCounts more = {
		.blocks = 1320, .threads = 128, .barriers = 1320 * 200, .fetches = 1320 * 100};
	ck_assert_double_eq_tol(kernel_time(h100, &more, 32, DT_NONE).seconds, time.seconds, 1e-9);
	KernelCounts ahead = {.blocks = 132,
	                      .threads = 128,
	                      .instructions = 4e9,
	                      .barriers = 132 * 200,
	                      .ahead = 132 * 100};
	double hidden = kernel_time(h100, &ahead, 32, DT_NONE).seconds;
	ahead.fetches = ahead.ahead;
	ck_assert_double_eq_tol(kernel_time(h100, &ahead, 32, DT_NONE).seconds - hidden,
	                        h100->gpu->latency * 100, 1e-9);
}
END_TEST

int
main(void)
{
	TCase *tests = tcase_create("counts");
	tcase_add_checked_fixture(tests, setup, teardown);
	tcase_add_test(tests, test_sectors);
	tcase_add_test(tests, test_banks);
	tcase_add_test(tests, test_registers);
	tcase_add_test(tests, test_vectors);
	tcase_add_test(tests, test_long_loops);
	tcase_add_test(tests, test_fetches);
	tcase_add_test(tests, test_chain);
	tcase_add_test(tests, test_mistakes);
	tcase_add_test(tests, test_time);
	return unit_run(tests);
}
