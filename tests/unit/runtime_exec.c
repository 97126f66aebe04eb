/* The executor on hand-written plans: sizes, threads, fork, limits, host operators. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "runtime_rig.h"
#include "unit.h"

/* clang-format off */
/* t = 2x+1; u = t+x; y = [u, t] written through views. */
static const char CHAIN[] =
	"{" SYMBOL_N ", \"dims\": [\"s0\", \"s0 4 *\", \"s0 2 *\", \"0\", \"1\"],"
	"\"buffers\": [" BUFFER("x", "f32", "[0]", "\"kind\": \"input\", \"index\": 0") ","
	BUFFER("t", "f32", "[0]", "\"kind\": \"temp\", \"size\": 1, \"first\": 0, \"last\": 2") ","
	BUFFER("y", "f32", "[2]", "\"kind\": \"output\", \"index\": 0") ","
	BUFFER("low", "f32", "[0]", "\"kind\": \"view\", \"base\": 2, \"at\": 3") ","
	BUFFER("high", "f32", "[0]", "\"kind\": \"view\", \"base\": 2, \"at\": 0, \"strides\": [4]")
	"], \"steps\": [" KERNEL(0, 0, "[0, 1]") "," KERNEL(1, 0, "[1, 0, 3]") ","
	"{\"kind\": \"copy\", \"name\": \"copy\", \"args\": [1, 4], \"outputs\": 1}],"
	"\"inputs\": [0], \"outputs\": [2], " NOTHING "}";
/* clang-format on */

START_TEST(chain)
{
	Rig rig;
	rig_open(&rig, CHAIN, 2);
	int64_t sizes[] = {3, 700, 3, 5};
	int after_first = 0;
	for (int round = 0; round < 4; round++) {
		int64_t n = sizes[round];
		float *x = malloc((size_t)n * sizeof *x), *y = malloc(2 * (size_t)n * sizeof *y);
		for (int64_t i = 0; i < n; i++)
			x[i] = (float)i;
		Array input = vector(x, &n);
		ck_assert_int_eq(rig_run(&rig, &input, y, 2 * (size_t)n * sizeof *y), TW_OK);
		for (int64_t i = 0; i < n; i++) {
			ck_assert(y[i] == 3 * x[i] + 1);
			ck_assert(y[n + i] == 2 * x[i] + 1);
		}
		if (round == 1)
			after_first = rig.allocations;
		free(x);
		free(y);
	}
	ck_assert_int_eq(rig.allocations, after_first); /* smaller sizes fit into what there is */
	rig_close(&rig);
}
END_TEST

START_TEST(wrong_inputs)
{
	Rig rig;
	rig_open(&rig, CHAIN, 1);
	float x[8] = {0}, y[16];
	int64_t n = 0, two[2] = {2, 4};
	Array input = vector(x, &n);
	ck_assert_int_eq(rig_run(&rig, &input, y, sizeof y), TW_SHAPE);
	ck_assert_ptr_nonnull(strstr(rig.error.text, "N is 0"));
	input = (Array){DT_F32, 2, two, x};
	ck_assert_int_eq(rig_run(&rig, &input, y, sizeof y), TW_SHAPE);
	input = (Array){DT_I32, 1, two, x};
	ck_assert_int_eq(rig_run(&rig, &input, y, sizeof y), TW_SHAPE);
	n = 8;
	input = vector(x, &n);
	ck_assert_int_eq(rig_run(&rig, &input, y, sizeof y - 1), TW_MEMORY);
	ck_assert_ptr_nonnull(strstr(rig.error.text, "63 bytes and 64 are needed"));
	ck_assert_int_eq(rig_run(&rig, &input, y, sizeof y), TW_OK);
	rig_close(&rig);
}
END_TEST

START_TEST(assumptions)
{
	/* clang-format off */
	static const char TEXT[] =
		"{\"symbols\": [{\"name\": \"N\", \"lo\": 1, \"hi\": 9, \"from\": \"input\", \"buffer\": 0,"
		" \"index\": 0}, {\"name\": \"M\", \"lo\": 1, \"hi\": 9, \"from\": \"input\","
		" \"buffer\": 1, \"index\": 0}], \"dims\": [\"s0\", \"s1\"], \"buffers\": ["
		BUFFER("a", "f32", "[0]", "\"kind\": \"input\", \"index\": 0") ","
		BUFFER("b", "f32", "[1]", "\"kind\": \"input\", \"index\": 1") ","
		BUFFER("y", "f32", "[0]", "\"kind\": \"output\", \"index\": 0")
		"], \"steps\": [" KERNEL(1, 0, "[0, 1, 2]") "], \"inputs\": [0, 1], \"outputs\": [2],"
		"\"assumptions\": [{\"a\": 0, \"b\": 1, \"what\": \"dim 0 of a and dim 0 of b\"}]}";
	/* clang-format on */
	Rig rig;
	rig_open(&rig, TEXT, 1);
	float a[4] = {1, 2, 3, 4}, y[4];
	int64_t n = 4, m = 3;
	Array inputs[2] = {vector(a, &n), vector(a, &m)};
	ck_assert_int_eq(rig_run(&rig, inputs, y, sizeof y), TW_SHAPE);
	ck_assert_str_eq(rig.error.text, "dim 0 of a and dim 0 of b must be equal, and are 4 and 3");
	m = 4;
	ck_assert_int_eq(rig_run(&rig, inputs, y, sizeof y), TW_OK);
	ck_assert(y[3] == 8);
	rig_close(&rig);
}
END_TEST

/* clang-format off */
/* y = x[index]; the sentence names the first bad element for any number of threads. */
static const char GATHER[] =
	"{\"symbols\": [{\"name\": \"N\", \"lo\": 0, \"hi\": 4096, \"from\": \"input\", \"buffer\": 0,"
	" \"index\": 0}, {\"name\": \"K\", \"lo\": 0, \"hi\": 4096, \"from\": \"input\", \"buffer\": 1,"
	" \"index\": 0}], \"dims\": [\"s0\", \"s1\", \"100\"], \"buffers\": ["
	BUFFER("x", "f32", "[0]", "\"kind\": \"input\", \"index\": 0") ","
	BUFFER("i", "i64", "[1]", "\"kind\": \"input\", \"index\": 1") ","
	BUFFER("y", "f32", "[1]", "\"kind\": \"output\", \"index\": 0")
	"], \"steps\": [{\"kind\": \"kernel\", \"name\": \"g\", \"origins\": \"gather1\","
	" \"kernel\": 2,"
	" \"extent\": 1, \"scratch\": 2, \"symbols\": [0], \"args\": [0, 1, 2], \"outputs\": 1}],"
	"\"inputs\": [0, 1], \"outputs\": [2], " NOTHING "}";
/* clang-format on */

START_TEST(failed_check)
{
	enum { COUNT = 1000 };
	float x[10], y[COUNT];
	int64_t index[COUNT], n = 10, k = COUNT;
	for (int i = 0; i < 10; i++)
		x[i] = (float)(i * i);
	for (int i = 0; i < COUNT; i++)
		index[i] = i % 10;
	for (int threads = 1; threads <= 3; threads++) {
		Rig rig;
		rig_open(&rig, GATHER, threads);
		Array inputs[2] = {vector(x, &n), {DT_I64, 1, &k, index}};
		ck_assert_int_eq(rig_run(&rig, inputs, y, sizeof y), TW_OK);
		ck_assert(y[999] == 81);
		index[300] = 77;
		index[301] = -5;
		index[900] = 50;
		ck_assert_int_eq(rig_run(&rig, inputs, y, sizeof y), TW_DATA);
		ck_assert_str_eq(rig.error.text, "node \"gather1\": index 77 is outside 0..9");
		for (int i = 0; i < COUNT; i++)
			index[i] = i % 10;
		ck_assert_int_eq(rig_run(&rig, inputs, y, sizeof y), TW_OK);
		rig_close(&rig);
	}
}
END_TEST

/* An index into nothing reads nothing of the caller's, who may have no memory for it. */
START_TEST(index_into_nothing)
{
	float y[2];
	int64_t index[2] = {0}, n = 0, k = 2;
	Rig rig;
	rig_open(&rig, GATHER, 1);
	Array inputs[2] = {vector(NULL, &n), {DT_I64, 1, &k, index}};
	ck_assert_int_eq(rig_run(&rig, inputs, y, sizeof y), TW_DATA);
	ck_assert_str_eq(rig.error.text, "node \"gather1\": index 0 is outside 0..-1");
	rig_close(&rig);
}
END_TEST

/* clang-format off */
static const char SLOW[] =
	"{" SYMBOL_N ", \"dims\": [\"s0\", \"64\"], \"buffers\": ["
	BUFFER("x", "f32", "[0]", "\"kind\": \"input\", \"index\": 0") ","
	BUFFER("y", "f32", "[0]", "\"kind\": \"output\", \"index\": 0")
	"], \"steps\": [{\"kind\": \"kernel\", \"name\": \"s\", \"kernel\": 5, \"extent\": 0,"
	" \"scratch\": 1, \"args\": [0, 1], \"outputs\": 1}],"
	"\"inputs\": [0], \"outputs\": [1], " NOTHING "}";
/* clang-format on */

enum { SLOW_COUNT = 4000 };

static void
run_slow(Rig *rig, float *y)
{
	float x[SLOW_COUNT];
	int64_t n = SLOW_COUNT;
	for (int i = 0; i < SLOW_COUNT; i++)
		x[i] = (float)(i + 1) / 7;
	Array input = vector(x, &n);
	ck_assert_int_eq(rig_run(rig, &input, y, SLOW_COUNT * sizeof *y), TW_OK);
}

START_TEST(same_bits)
{
	float first[SLOW_COUNT], y[SLOW_COUNT];
	for (int threads = 1; threads <= 4; threads++) {
		Rig rig;
		rig_open(&rig, SLOW, threads);
		for (int round = 0; round < 20; round++) {
			memset(y, 0, sizeof y);
			run_slow(&rig, y);
			if (threads == 1 && round == 0)
				memcpy(first, y, sizeof y);
			ck_assert_mem_eq(first, y, sizeof y);
		}
		if (threads == 1)
			ck_assert_int_eq(pool_threads(), 0);
		else
			ck_assert_int_eq(pool_threads(), threads - 1);
		rig_close(&rig);
		ck_assert_int_eq(pool_threads(), 0);
	}
}
END_TEST

static void
serial_for(void *context, int count, void (*task)(void *arg, int index), void *arg)
{
	*(int *)context += 1;
	for (int i = count - 1; i >= 0; i--)
		task(arg, i);
}

START_TEST(callers_threads)
{
	float y[SLOW_COUNT], again[SLOW_COUNT];
	int calls = 0;
	Rig rig;
	rig_open(&rig, SLOW, 3);
	run_slow(&rig, y);
	rig.exec.workers.parallel_for = serial_for;
	rig.exec.workers.context = &calls;
	run_slow(&rig, again);
	ck_assert_int_eq(calls, 1);
	ck_assert_mem_eq(y, again, sizeof y);
	rig_close(&rig);
}
END_TEST

/* Three steps beside one another, the second of which checks indices, and one behind them. */
/* clang-format off */
static const char BESIDE[] =
	"{" SYMBOL_N ", \"dims\": [\"s0\", \"64\", \"s0 4 *\", \"128\"], \"buffers\": ["
	BUFFER("x", "f32", "[0]", "\"kind\": \"input\", \"index\": 0") ","
	BUFFER("i", "i64", "[0]", "\"kind\": \"input\", \"index\": 1") ","
	BUFFER("a", "f32", "[0]", "\"kind\": \"temp\", \"size\": 2, \"first\": 0, \"last\": 3") ","
	BUFFER("b", "f32", "[0]", "\"kind\": \"temp\", \"size\": 2, \"first\": 0, \"last\": 2") ","
	BUFFER("c", "f32", "[0]", "\"kind\": \"temp\", \"size\": 2, \"first\": 0, \"last\": 3") ","
	BUFFER("y", "f32", "[0]", "\"kind\": \"output\", \"index\": 0")
	"], \"steps\": ["
	"{\"kind\": \"kernel\", \"name\": \"s\", \"kernel\": 5, \"extent\": 0, \"scratch\": 1,"
	" \"args\": [0, 2], \"outputs\": 1},"
	"{\"kind\": \"kernel\", \"name\": \"g\", \"origins\": \"gather1\", \"kernel\": 2,"
	" \"extent\": 0, \"scratch\": 3, \"symbols\": [0], \"args\": [0, 1, 3], \"outputs\": 1,"
	" \"beside\": 1},"
	"{\"kind\": \"kernel\", \"name\": \"g2\", \"origins\": \"gather2\", \"kernel\": 2,"
	" \"extent\": 0, \"scratch\": 3, \"symbols\": [0], \"args\": [0, 1, 4], \"outputs\": 1,"
	" \"beside\": 1},"
	"{\"kind\": \"kernel\", \"name\": \"add\", \"kernel\": 1, \"extent\": 0,"
	" \"args\": [2, 4, 5], \"outputs\": 1}],"
	"\"inputs\": [0, 1], \"outputs\": [5], " NOTHING "}";
/* clang-format on */

START_TEST(side_by_side)
{
	static float x[SLOW_COUNT], first[SLOW_COUNT], y[SLOW_COUNT];
	static int64_t index[SLOW_COUNT];
	int64_t n = SLOW_COUNT;
	for (int i = 0; i < SLOW_COUNT; i++) {
		x[i] = (float)(i + 1) / 7;
		index[i] = (i * 37) % SLOW_COUNT;
	}
	for (int threads = 1; threads <= 4; threads++) {
		int calls = 0;
		Rig rig;
		rig_open(&rig, BESIDE, threads);
		ck_assert_msg(plan_verify(rig.plan, 0, rig.error.text, sizeof rig.error.text), "%s",
		              rig.error.text);
		Array inputs[2] = {vector(x, &n), {DT_I64, 1, &n, index}};
		for (int round = 0; round < 20; round++) {
			ck_assert_int_eq(rig_run(&rig, inputs, y, sizeof y), TW_OK);
			if (threads == 1 && round == 0)
				memcpy(first, y, sizeof y);
			ck_assert_mem_eq(first, y, sizeof y);
		}
		index[30] = SLOW_COUNT;
		ck_assert_int_eq(rig_run(&rig, inputs, y, sizeof y), TW_DATA);
		ck_assert_str_eq(rig.error.text, "node \"gather1\": index 4000 is outside 0..3999");
		index[30] = 3;
		rig.exec.workers.parallel_for = serial_for;
		rig.exec.workers.context = &calls;
		ck_assert_int_eq(rig_run(&rig, inputs, y, sizeof y), TW_OK);
		ck_assert_int_eq(calls, threads > 1 ? 2 : 0); /* the three together, and the last */
		index[30] = (30 * 37) % SLOW_COUNT;
		rig_close(&rig);
	}
}
END_TEST

#ifndef __SANITIZE_THREAD__
START_TEST(fork_between_runs)
{
	float y[SLOW_COUNT], again[SLOW_COUNT];
	Rig rig;
	rig_open(&rig, SLOW, 3);
	run_slow(&rig, y);
	pid_t child = fork();
	if (child == 0) {
		alarm(20); /* a child that waits for threads it has not got must not wait forever */
		run_slow(&rig, again);
		bool is_right = same_bytes(y, again, sizeof y) && pool_threads() == 2;
		rig_close(&rig);
		_exit(is_right ? 0 : 1);
	}
	int status = -1;
	ck_assert_int_eq(waitpid(child, &status, 0), child);
	ck_assert_int_eq(status, 0);
	run_slow(&rig, again);
	ck_assert_mem_eq(y, again, sizeof y);
	rig_close(&rig);
}
END_TEST
#endif

static void *
run_session(void *arg)
{
	float y[SLOW_COUNT];
	Rig rig;
	rig_open(&rig, SLOW, 2);
	for (int i = 0; i < 20; i++)
		run_slow(&rig, y);
	rig_close(&rig);
	memcpy(arg, y, sizeof y);
	return NULL;
}

START_TEST(sessions_at_once)
{
	static float results[3][SLOW_COUNT];
	pthread_t threads[3];
	for (int i = 0; i < 3; i++)
		ck_assert_int_eq(pthread_create(&threads[i], NULL, run_session, results[i]), 0);
	for (int i = 0; i < 3; i++)
		pthread_join(threads[i], NULL);
	ck_assert_mem_eq(results[0], results[1], sizeof *results);
	ck_assert_mem_eq(results[0], results[2], sizeof *results);
	ck_assert_int_eq(pool_threads(), 0);
}
END_TEST

START_TEST(cancel_and_limits)
{
	float x[512] = {0}, y[1024];
	int64_t n = 512;
	int flag = 0;
	Array input = vector(x, &n);
	Rig rig;
	rig_open(&rig, CHAIN, 1);
	rig.exec.cancel = &flag;
	ck_assert_int_eq(rig_run(&rig, &input, y, sizeof y), TW_OK);
	flag = 1;
	ck_assert_int_eq(rig_run(&rig, &input, y, sizeof y), TW_CANCELLED);
	rig_close(&rig);

	rig_open(&rig, CHAIN, 1);
	rig.exec.memory.limit = 2000; /* t alone needs 2048 */
	ck_assert_int_eq(rig_run(&rig, &input, y, sizeof y), TW_MEMORY);
	rig.exec.memory.limit = 4096;
	ck_assert_int_eq(rig_run(&rig, &input, y, sizeof y), TW_OK);
	ck_assert(rig.exec.memory.most <= 4096);
	rig_close(&rig);

	rig_open(&rig, CHAIN, 1);
	_Alignas(64) static unsigned char arena[2048];
	rig.exec.arena = arena;
	rig.exec.arena_size = 2047;
	ck_assert_int_eq(rig_run(&rig, &input, y, sizeof y), TW_MEMORY);
	rig.exec.arena_size = 2048;
	ck_assert_int_eq(rig_run(&rig, &input, y, sizeof y), TW_OK);
	ck_assert_int_eq(rig.allocations, 0);
	rig_close(&rig);
}
END_TEST

/* clang-format off */
/* M is an element of an input: y[M] = iota, in pool memory and then copied to the output. */
#define LATE_PLAN(KIND) \
	"{\"symbols\": [{\"name\": \"M\", \"lo\": 0, \"hi\": 100," \
	" \"from\": \"element\", \"buffer\": 1," \
	" \"index\": 1, \"step\": 0}], \"dims\": [\"1\", \"s0\", \"2\", \"s0 64 *\"], \"buffers\": [" \
	BUFFER("x", "f32", "[0]", "\"kind\": \"input\", \"index\": 0") "," \
	BUFFER("shape", "i64", "[2]", "\"kind\": \"input\", \"index\": 1") "," \
	BUFFER("p", "f32", "[1]", KIND) "," \
	BUFFER("y", "f32", "[1]", "\"kind\": \"output\", \"index\": 0") \
	"], \"steps\": [" KERNEL(3, 1, "[0, 2]") "," KERNEL(0, 1, "[2, 3]") "]," \
	"\"inputs\": [0, 1], \"outputs\": [3], " NOTHING "}"
static const char LATE[] = LATE_PLAN("\"kind\": \"pool\"");
static const char LATE_STORAGE[] =
	LATE_PLAN("\"kind\": \"temp\", \"size\": 3, \"first\": 0, \"last\": 1");
/* clang-format on */

START_TEST(late_sizes)
{
	Rig rig;
	rig_open(&rig, LATE, 2);
	float x = 3;
	int64_t one = 1, two = 2, shape[2] = {0, 5};
	Array inputs[2] = {vector(&x, &one), {DT_I64, 1, &two, shape}};
	int allocations = 0;
	for (int round = 0; round < 5; round++) {
		shape[1] = (int64_t[]){5, 9, 0, 9, 5}[round];
		ck_assert_msg(rig_run(&rig, inputs, NULL, 0) == TW_OK, "%s", rig.error.text);
		const Slot *slot = &rig.exec.main->slots[3];
		ck_assert_int_eq(slot->dims[0], shape[1]);
		for (int64_t i = 0; i < shape[1]; i++)
			ck_assert(((float *)(void *)slot->data)[i] == 6 * (float)i + 1);
		if (round == 1)
			allocations = rig.allocations;
	}
	ck_assert_int_eq(rig.allocations, allocations);
	shape[1] = 101;
	ck_assert_int_eq(rig_run(&rig, inputs, NULL, 0), TW_DATA);
	shape[1] = 4;
	float small[3];
	ck_assert_int_eq(rig_run(&rig, inputs, small, sizeof small), TW_MEMORY);
	rig_close(&rig);
}
END_TEST

/* Storage may be larger than what is stored: the last block of a layout is filled up. */
START_TEST(late_storage)
{
	Rig rig;
	rig_open(&rig, LATE_STORAGE, 1);
	float x = 3;
	int64_t one = 1, two = 2, shape[2] = {0, 40};
	Array inputs[2] = {vector(&x, &one), {DT_I64, 1, &two, shape}};
	ck_assert_msg(rig_run(&rig, inputs, NULL, 0) == TW_OK, "%s", rig.error.text);
	ck_assert_uint_ge(rig.exec.main->slots[2].own.capacity, 40 * 64);
	rig_close(&rig);
}
END_TEST

/* clang-format off */
/* M and L are the same element, read at different steps, L through a view: while L's value is that
 * of the run before, nothing is said about M == L. */
static const char TOGETHER[] =
	"{\"symbols\": [{\"name\": \"M\", \"lo\": 0, \"hi\": 100, \"from\": \"element\", \"buffer\": 1,"
	" \"index\": 1, \"step\": 0}, {\"name\": \"L\", \"lo\": 0, \"hi\": 100, \"from\": \"element\","
	" \"buffer\": 2, \"index\": 0, \"step\": 1}],"
	" \"dims\": [\"1\", \"s0\", \"2\", \"s1\"], \"buffers\": ["
	BUFFER("x", "f32", "[0]", "\"kind\": \"input\", \"index\": 0") ","
	BUFFER("shape", "i64", "[2]", "\"kind\": \"input\", \"index\": 1") ","
	BUFFER("v", "i64", "[0]", "\"kind\": \"view\", \"base\": 1, \"at\": 0, \"strides\": [0]") ","
	BUFFER("p", "f32", "[1]", "\"kind\": \"pool\"") ","
	BUFFER("y", "f32", "[3]", "\"kind\": \"output\", \"index\": 0")
	"], \"steps\": [" KERNEL(3, 1, "[0, 3]") "," KERNEL(0, 3, "[3, 4]") "],"
	"\"inputs\": [0, 1], \"outputs\": [4],"
	"\"assumptions\": [{\"a\": 1, \"b\": 3, \"what\": \"the sizes\"}]}";
/* clang-format on */

START_TEST(late_symbols_together)
{
	Rig rig;
	rig_open(&rig, TOGETHER, 1);
	float x = 3;
	int64_t one = 1, two = 2, shape[2] = {0, 5};
	Array inputs[2] = {vector(&x, &one), {DT_I64, 1, &two, shape}};
	for (int round = 0; round < 3; round++) {
		shape[1] = (int64_t[]){5, 9, 4}[round];
		ck_assert_msg(rig_run(&rig, inputs, NULL, 0) == TW_OK, "%s", rig.error.text);
		ck_assert_int_eq(rig.exec.main->slots[4].dims[0], shape[1]);
	}
	rig_close(&rig);
}
END_TEST

/* clang-format off */
/* M has changed when Q ends the run: the next run must not find M's dims done. */
static const char REFUSED[] =
	"{\"symbols\": [{\"name\": \"M\", \"lo\": 0, \"hi\": 100, \"from\": \"element\", \"buffer\": 1,"
	" \"index\": 1, \"step\": 0}, {\"name\": \"Q\", \"lo\": 0, \"hi\": 9, \"from\": \"element\","
	" \"buffer\": 1, \"index\": 0, \"step\": 0}],"
	" \"dims\": [\"1\", \"s0\", \"2\"], \"buffers\": ["
	BUFFER("x", "f32", "[0]", "\"kind\": \"input\", \"index\": 0") ","
	BUFFER("shape", "i64", "[2]", "\"kind\": \"input\", \"index\": 1") ","
	BUFFER("y", "f32", "[1]", "\"kind\": \"output\", \"index\": 0")
	"], \"steps\": [" KERNEL(3, 1, "[0, 2]") "],"
	"\"inputs\": [0, 1], \"outputs\": [2], " NOTHING "}";
/* clang-format on */

START_TEST(late_symbols_refused)
{
	Rig rig;
	rig_open(&rig, REFUSED, 1);
	float x = 3;
	int64_t one = 1, two = 2, shape[2] = {0, 5};
	Array inputs[2] = {vector(&x, &one), {DT_I64, 1, &two, shape}};
	ck_assert_int_eq(rig_run(&rig, inputs, NULL, 0), TW_OK);
	memcpy(shape, (int64_t[]){50, 9}, sizeof shape);
	ck_assert_int_eq(rig_run(&rig, inputs, NULL, 0), TW_DATA);
	shape[0] = 0;
	ck_assert_int_eq(rig_run(&rig, inputs, NULL, 0), TW_OK);
	ck_assert_int_eq(rig.exec.main->slots[2].dims[0], 9);
	rig_close(&rig);
}
END_TEST

/* clang-format off */
/* NonZero decides the size of what follows: y = the elements it found. */
static const char HOST[] =
	"{\"symbols\": [{\"name\": \"N\", \"lo\": 1, \"hi\": 99, \"from\": \"input\", \"buffer\": 0,"
	" \"index\": 0}, {\"name\": \"K\", \"lo\": 0, \"hi\": 99, \"from\": \"output\","
	" \"buffer\": 1, \"index\": 1, \"step\": 1}],"
	"\"dims\": [\"s0\", \"s1\", \"1\", \"100\", \"0\"],"
	"\"buffers\": ["
	BUFFER("x", "f32", "[0]", "\"kind\": \"input\", \"index\": 0") ","
	BUFFER("where", "i64", "[2, 1]", "\"kind\": \"pool\"") ","
	BUFFER("flat", "i64", "[1]", "\"kind\": \"view\", \"base\": 1, \"at\": 4") ","
	BUFFER("y", "f32", "[1]", "\"kind\": \"output\", \"index\": 0")
	"], \"steps\": [{\"kind\": \"host\", \"name\": \"nz\", \"origins\": \"nonzero\","
	" \"row\": \"NonZero\", \"args\": [0, 1], \"outputs\": 1},"
	"{\"kind\": \"kernel\", \"name\": \"g\", \"kernel\": 2, \"extent\": 1, \"scratch\": 3,"
	" \"symbols\": [0], \"args\": [0, 2, 3], \"outputs\": 1}],"
	"\"inputs\": [0], \"outputs\": [3], " NOTHING "}";
/* clang-format on */

START_TEST(host_step)
{
	Rig rig;
	rig_open(&rig, HOST, 2);
	for (int round = 0; round < 6; round++) {
		float x[9];
		int64_t n = 9, expected = 0;
		for (int i = 0; i < 9; i++)
			x[i] = (i + round) % 3 && round != 4 ? (float)(i + 1) : 0;
		Array input = vector(x, &n);
		ck_assert_msg(rig_run(&rig, &input, NULL, 0) == TW_OK, "%s", rig.error.text);
		const Slot *slot = &rig.exec.main->slots[3];
		for (int i = 0; i < 9; i++)
			if (x[i] != 0)
				ck_assert(((float *)(void *)slot->data)[expected++] == x[i]);
		ck_assert_int_eq(slot->dims[0], expected);
	}
	rig_close(&rig);
}
END_TEST

int
main(void)
{
	TCase *t = tcase_create("exec");
	tcase_add_test(t, chain);
	tcase_add_test(t, wrong_inputs);
	tcase_add_test(t, assumptions);
	tcase_add_test(t, failed_check);
	tcase_add_test(t, index_into_nothing);
	tcase_add_test(t, same_bits);
	tcase_add_test(t, callers_threads);
	tcase_add_test(t, side_by_side);
#ifndef __SANITIZE_THREAD__ /* it cannot follow threads that a forked child starts */
	tcase_add_test(t, fork_between_runs);
#endif
	tcase_add_test(t, sessions_at_once);
	tcase_add_test(t, cancel_and_limits);
	tcase_add_test(t, late_sizes);
	tcase_add_test(t, late_storage);
	tcase_add_test(t, late_symbols_together);
	tcase_add_test(t, late_symbols_refused);
	tcase_add_test(t, host_step);
	return unit_run(t);
}
