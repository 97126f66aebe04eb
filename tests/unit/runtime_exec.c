/* The executor on hand-written plans, with kernels that are functions of this file. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "unit.h"
#include "runtime/exec.h"
#include "runtime/pool.h"

/* ---- Kernels ---- */

static int64_t
step_of(const TwArgs *args, int buffer)
{
	return args->strides[buffer] ? args->strides[buffer][0] : 1;
}

/* y = 2 x + 1 */
static void
k_scale(const TwArgs *args, int64_t begin, int64_t end)
{
	const float *x = args->buffers[0];
	float *y = args->buffers[1];
	for (int64_t i = begin; i < end; i++)
		y[i * step_of(args, 1)] = 2 * x[i * step_of(args, 0)] + 1;
}

/* y = a + b */
static void
k_add(const TwArgs *args, int64_t begin, int64_t end)
{
	const float *a = args->buffers[0], *b = args->buffers[1];
	float *y = args->buffers[2];
	for (int64_t i = begin; i < end; i++)
		y[i * step_of(args, 2)] = a[i * step_of(args, 0)] + b[i * step_of(args, 1)];
}

/* y[i] = x[index[i]], checked; the symbol is the length of x. Uses its scratch. */
static void
k_gather(const TwArgs *args, int64_t begin, int64_t end)
{
	const float *x = args->buffers[0];
	const int64_t *index = args->buffers[1];
	float *y = args->buffers[2];
	memset(args->scratch, 1, 100);
	for (int64_t i = begin; i < end; i++) {
		int64_t at = index[i];
		if (at < 0 || at >= args->symbols[0]) {
			if (!args->status->code) {
				args->status->value = at;
				args->status->limit = args->symbols[0];
				args->status->code = TW_CHECK_INDEX;
			}
			at = 0;
		}
		y[i] = x[at];
	}
}

/* y[i] = i * first element of x */
static void
k_iota(const TwArgs *args, int64_t begin, int64_t end)
{
	const float *x = args->buffers[0];
	float *y = args->buffers[1];
	for (int64_t i = begin; i < end; i++)
		y[i] = (float)i * x[0];
}

/* go = number < 3 */
static void
k_less(const TwArgs *args, int64_t begin, int64_t end)
{
	const int64_t *number = args->buffers[0];
	bool *go = args->buffers[1];
	if (begin < end)
		*go = *number < 3;
}

/* y = x with a pause, so that several workers meet. */
static void
k_slow(const TwArgs *args, int64_t begin, int64_t end)
{
	const float *x = args->buffers[0];
	float *y = args->buffers[1];
	for (int64_t i = begin; i < end; i++) {
		float sum = 0;
		for (int j = 0; j < 2000; j++)
			sum += x[i] / (float)(j + 1);
		y[i] = sum;
	}
	memset(args->scratch, 2, 64);
}

static TwKernel *const TABLE[] = {k_scale, k_add, k_gather, k_iota, k_less, k_slow};
static const TwKernels KERNELS = {TW_KERNEL_ABI, 6, TABLE};

/* ---- Harness ---- */

typedef struct Rig {
	Plan *plan;
	ExecModel model;
	Exec exec;
	TwError error;
	int allocations;
} Rig;

static void *
count_allocate(void *context, size_t bytes, size_t alignment)
{
	void *memory = NULL;
	((Rig *)context)->allocations++;
	return posix_memalign(&memory, alignment, bytes) ? NULL : memory;
}

static void
count_release(void *context, void *memory, size_t bytes)
{
	(void)context;
	(void)bytes;
	free(memory);
}

static const unsigned char WEIGHTS[64] = {0};

static void
rig_open(Rig *rig, const char *text, int threads)
{
	char sentence[400];
	*rig = (Rig){.plan = NULL};
	ck_assert_msg(plan_read(text, strlen(text), &rig->plan, sentence, sizeof sentence), "%s",
	              sentence);
	ck_assert_msg(plan_verify(rig->plan, 6, sizeof WEIGHTS, sentence, sizeof sentence), "%s",
	              sentence);
	rig->model = (ExecModel){.plan = rig->plan, .kernels = &KERNELS, .weights = WEIGHTS};
	rig->exec = (Exec){.model = &rig->model, .threads = threads, .spin_us = 20,
	                   .error = &rig->error};
	rig->exec.memory = (Memory){.allocate = count_allocate, .release = count_release,
	                            .context = rig};
	pool_acquire();
	ck_assert_int_eq(exec_open(&rig->exec), TW_OK);
}

static void
rig_close(Rig *rig)
{
	exec_close(&rig->exec);
	ck_assert_uint_eq(rig->exec.memory.now, 0);
	plan_free(rig->plan);
	pool_release();
}

/* Bind inputs and one output (NULL: the session's own), and run. */
static TwCode
rig_run(Rig *rig, const Array *inputs, void *output, size_t bytes)
{
	Frame *frame = rig->exec.main;
	TwCode code = frame_bind(frame, inputs);
	if (code)
		return code;
	for (int i = 0; i < rig->plan->ninput; i++)
		frame->slots[rig->plan->inputs[i]].data = inputs[i].data;
	Slot *slot = &frame->slots[rig->plan->outputs[0]];
	slot->bound = output;
	slot->bound_bytes = bytes;
	return frame_run(frame);
}

#define SYMBOL_N \
	"\"symbols\": [{\"name\": \"N\", \"lo\": 1, \"hi\": 4096, \"from\": \"input\", \"buffer\": 0," \
	" \"index\": 0}]"
#define BUFFER(name, type, dims, rest) \
	"{\"name\": \"" name "\", \"type\": \"" type "\", \"dims\": " dims ", " rest "}"
#define KERNEL(number, extent, args) \
	"{\"kind\": \"kernel\", \"name\": \"k" #number "\", \"origins\": \"node" #number "\"," \
	" \"kernel\": " #number ", \"extent\": " #extent ", \"args\": " args ", \"outputs\": 1}"
#define NOTHING "\"assumptions\": []"

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

static Array
vector(float *data, int64_t *count)
{
	return (Array){DT_F32, 1, count, data};
}

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
	static const char TEXT[] =
		"{\"symbols\": [{\"name\": \"N\", \"lo\": 1, \"hi\": 9, \"from\": \"input\", \"buffer\": 0,"
		" \"index\": 0}, {\"name\": \"M\", \"lo\": 1, \"hi\": 9, \"from\": \"input\","
		" \"buffer\": 1, \"index\": 0}], \"dims\": [\"s0\", \"s1\"], \"buffers\": ["
		BUFFER("a", "f32", "[0]", "\"kind\": \"input\", \"index\": 0") ","
		BUFFER("b", "f32", "[1]", "\"kind\": \"input\", \"index\": 1") ","
		BUFFER("y", "f32", "[0]", "\"kind\": \"output\", \"index\": 0")
		"], \"steps\": [" KERNEL(1, 0, "[0, 1, 2]") "], \"inputs\": [0, 1], \"outputs\": [2],"
		"\"assumptions\": [{\"a\": 0, \"b\": 1, \"what\": \"dim 0 of a and dim 0 of b\"}]}";
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

/* y = x[index]; the sentence names the first bad element for any number of threads. */
static const char GATHER[] =
	"{\"symbols\": [{\"name\": \"N\", \"lo\": 1, \"hi\": 4096, \"from\": \"input\", \"buffer\": 0,"
	" \"index\": 0}, {\"name\": \"K\", \"lo\": 0, \"hi\": 4096, \"from\": \"input\", \"buffer\": 1,"
	" \"index\": 0}], \"dims\": [\"s0\", \"s1\", \"100\"], \"buffers\": ["
	BUFFER("x", "f32", "[0]", "\"kind\": \"input\", \"index\": 0") ","
	BUFFER("i", "i64", "[1]", "\"kind\": \"input\", \"index\": 1") ","
	BUFFER("y", "f32", "[1]", "\"kind\": \"output\", \"index\": 0")
	"], \"steps\": [{\"kind\": \"kernel\", \"name\": \"g\", \"origins\": \"gather1\", \"kernel\": 2,"
	" \"extent\": 1, \"scratch\": 2, \"symbols\": [0], \"args\": [0, 1, 2], \"outputs\": 1}],"
	"\"inputs\": [0, 1], \"outputs\": [2], " NOTHING "}";

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

static const char SLOW[] =
	"{" SYMBOL_N ", \"dims\": [\"s0\", \"64\"], \"buffers\": ["
	BUFFER("x", "f32", "[0]", "\"kind\": \"input\", \"index\": 0") ","
	BUFFER("y", "f32", "[0]", "\"kind\": \"output\", \"index\": 0")
	"], \"steps\": [{\"kind\": \"kernel\", \"name\": \"s\", \"kernel\": 5, \"extent\": 0,"
	" \"scratch\": 1, \"args\": [0, 1], \"outputs\": 1}],"
	"\"inputs\": [0], \"outputs\": [1], " NOTHING "}";

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
	rig.exec.parallel_for = serial_for;
	rig.exec.parallel_context = &calls;
	run_slow(&rig, again);
	ck_assert_int_eq(calls, 1);
	ck_assert_mem_eq(y, again, sizeof y);
	rig_close(&rig);
}
END_TEST

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
		bool is_right = memcmp(y, again, sizeof y) == 0 && pool_threads() == 2;
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

/* M is an element of an input: y[M] = iota, in pool memory and then copied to the output. */
static const char LATE[] =
	"{\"symbols\": [{\"name\": \"M\", \"lo\": 0, \"hi\": 100, \"from\": \"element\", \"buffer\": 1,"
	" \"index\": 1, \"step\": 0}], \"dims\": [\"1\", \"s0\", \"2\"], \"buffers\": ["
	BUFFER("x", "f32", "[0]", "\"kind\": \"input\", \"index\": 0") ","
	BUFFER("shape", "i64", "[2]", "\"kind\": \"input\", \"index\": 1") ","
	BUFFER("p", "f32", "[1]", "\"kind\": \"pool\"") ","
	BUFFER("y", "f32", "[1]", "\"kind\": \"output\", \"index\": 0")
	"], \"steps\": [" KERNEL(3, 1, "[0, 2]") "," KERNEL(0, 1, "[2, 3]") "],"
	"\"inputs\": [0, 1], \"outputs\": [3], " NOTHING "}";

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

/* ---- Nested plans ---- */

#define INNER_SYMBOL SYMBOL_N
#define CAPTURED_X BUFFER("x", "f32", "[0]", "\"kind\": \"capture\", \"index\": 0")

/* y = c ? 2x+1 : x+x */
static const char IF[] =
	"{" SYMBOL_N ", \"dims\": [\"s0\", \"1\"], \"buffers\": ["
	BUFFER("x", "f32", "[0]", "\"kind\": \"input\", \"index\": 0") ","
	BUFFER("c", "bool", "[]", "\"kind\": \"input\", \"index\": 1") ","
	BUFFER("y", "f32", "[0]", "\"kind\": \"output\", \"index\": 0")
	"], \"steps\": [{\"kind\": \"if\", \"name\": \"if\", \"args\": [1, 2], \"outputs\": 1,"
	" \"bodies\": [{" INNER_SYMBOL ", \"dims\": [\"s0\"], \"buffers\": [" CAPTURED_X ","
	BUFFER("o", "f32", "[0]", "\"kind\": \"output\", \"index\": 0") "],"
	" \"steps\": [" KERNEL(0, 0, "[0, 1]") "], \"inputs\": [], \"outputs\": [1], " NOTHING "},"
	"{" INNER_SYMBOL ", \"dims\": [\"s0\"], \"buffers\": [" CAPTURED_X ","
	BUFFER("o", "f32", "[0]", "\"kind\": \"output\", \"index\": 0") "],"
	" \"steps\": [" KERNEL(1, 0, "[0, 0, 1]") "], \"inputs\": [], \"outputs\": [1], " NOTHING "}]}],"
	"\"inputs\": [0, 1], \"outputs\": [2], " NOTHING "}";

START_TEST(if_step)
{
	Rig rig;
	rig_open(&rig, IF, 1);
	float x[3] = {1, 2, 3}, y[3];
	int64_t n = 3;
	bool condition;
	Array inputs[2] = {vector(x, &n), {DT_BOOL, 0, NULL, &condition}};
	for (int round = 0; round < 4; round++) {
		condition = round % 2;
		ck_assert_msg(rig_run(&rig, inputs, y, sizeof y) == TW_OK, "%s", rig.error.text);
		for (int i = 0; i < 3; i++)
			ck_assert(y[i] == (condition ? 2 * x[i] + 1 : x[i] + x[i]));
	}
	rig_close(&rig);
}
END_TEST

/* Loop: v = v + x (captured) while number < 3 and at most M times; y = v, and all v collected.
 * The trip count decides the size of `all`. */
static const char LOOP[] =
	"{\"symbols\": [{\"name\": \"N\", \"lo\": 1, \"hi\": 99, \"from\": \"input\", \"buffer\": 0,"
	" \"index\": 0}, {\"name\": \"T\", \"lo\": 0, \"hi\": 99, \"from\": \"output\", \"buffer\": 3,"
	" \"index\": 0, \"step\": 1}], \"dims\": [\"s0\", \"s1\", \"s0 4 *\"], \"buffers\": ["
	BUFFER("x", "f32", "[0]", "\"kind\": \"input\", \"index\": 0") ","
	BUFFER("m", "i64", "[]", "\"kind\": \"input\", \"index\": 1") ","
	BUFFER("v", "f32", "[0]", "\"kind\": \"temp\", \"size\": 2, \"first\": 0, \"last\": 1") ","
	BUFFER("all", "f32", "[1, 0]", "\"kind\": \"output\", \"index\": 0") ","
	BUFFER("y", "f32", "[0]", "\"kind\": \"output\", \"index\": 1")
	"], \"steps\": [{\"kind\": \"loop\", \"name\": \"loop\", \"args\": [1, -1, 0, 2, 3],"
	" \"outputs\": 2, \"bodies\": [{"
	"\"symbols\": [{\"name\": \"N\", \"lo\": 1, \"hi\": 99, \"from\": \"input\", \"buffer\": 0,"
	" \"index\": 0}, {\"name\": \"T\", \"lo\": 0, \"hi\": 99, \"from\": \"output\", \"buffer\": 3,"
	" \"index\": 0, \"step\": 1}], \"dims\": [\"s0\", \"1\"], \"buffers\": [" CAPTURED_X ","
	BUFFER("number", "i64", "[]", "\"kind\": \"input\", \"index\": 0") ","
	BUFFER("go", "bool", "[]", "\"kind\": \"input\", \"index\": 1") ","
	BUFFER("in", "f32", "[0]", "\"kind\": \"input\", \"index\": 2") ","
	BUFFER("more", "bool", "[]", "\"kind\": \"output\", \"index\": 0") ","
	BUFFER("out", "f32", "[0]", "\"kind\": \"output\", \"index\": 1") ","
	BUFFER("each", "f32", "[0]", "\"kind\": \"output\", \"index\": 2") "],"
	" \"steps\": [" KERNEL(4, 1, "[1, 4]") "," KERNEL(1, 0, "[3, 0, 5]") ","
	"{\"kind\": \"copy\", \"name\": \"copy\", \"args\": [5, 6], \"outputs\": 1}],"
	" \"inputs\": [1, 2, 3], \"outputs\": [4, 5, 6], " NOTHING "}]},"
	"{\"kind\": \"copy\", \"name\": \"copy\", \"args\": [2, 4], \"outputs\": 1}],"
	"\"inputs\": [0, 1], \"outputs\": [3, 4], " NOTHING "}";

START_TEST(loop_step)
{
	Rig rig;
	rig_open(&rig, LOOP, 1);
	float x[2] = {1, 10};
	int64_t n = 2, trips;
	Array inputs[2] = {vector(x, &n), {DT_I64, 0, NULL, &trips}};
	int allocations = 0;
	for (int round = 0; round < 6; round++) {
		trips = (int64_t[]){9, 2, 0, 1, -4, 9}[round];
		int64_t done = trips < 0 ? 0 : trips > 4 ? 4 : trips; /* number 3 says stop */
		ck_assert_msg(rig_run(&rig, inputs, NULL, 0) == TW_OK, "%s", rig.error.text);
		const Slot *all = &rig.exec.main->slots[3], *last = &rig.exec.main->slots[4];
		ck_assert_int_eq(all->dims[0], done);
		ck_assert_int_eq(all->dims[1], 2);
		for (int64_t t = 0; t < done; t++)
			for (int i = 0; i < 2; i++)
				ck_assert(((float *)(void *)all->data)[2 * t + i] == x[i] * (float)(t + 2));
		for (int i = 0; i < 2; i++)
			ck_assert(((float *)(void *)last->data)[i] == x[i] * (float)(done + 1));
		if (round == 0)
			allocations = rig.allocations;
	}
	ck_assert_int_eq(rig.allocations, allocations);
	rig_close(&rig);
}
END_TEST

/* Scan: s = s + slice; outputs s each time. Axis and directions are filled in by the test. */
static const char SCAN[] =
	"{\"symbols\": [], \"dims\": [\"2\", \"3\", \"8\"], \"buffers\": ["
	BUFFER("s", "f32", "[0]", "\"kind\": \"input\", \"index\": 0") ","
	BUFFER("x", "f32", "%s", "\"kind\": \"input\", \"index\": 1") ","
	BUFFER("f", "f32", "[0]", "\"kind\": \"temp\", \"size\": 2, \"first\": 0, \"last\": 0") ","
	BUFFER("y", "f32", "%s", "\"kind\": \"output\", \"index\": 0")
	"], \"steps\": [{\"kind\": \"scan\", \"name\": \"scan\", \"args\": [0, 1, 2, 3],"
	" \"outputs\": 2, \"attrs\": [{\"name\": \"num_scan_inputs\", \"ints\": [1]},"
	" {\"name\": \"scan_input_axes\", \"ints\": [%d]},"
	" {\"name\": \"scan_output_axes\", \"ints\": [%d]},"
	" {\"name\": \"scan_input_directions\", \"ints\": [%d]},"
	" {\"name\": \"scan_output_directions\", \"ints\": [%d]}], \"bodies\": [{\"symbols\": [],"
	" \"dims\": [\"2\"], \"buffers\": ["
	BUFFER("a", "f32", "[0]", "\"kind\": \"input\", \"index\": 0") ","
	BUFFER("b", "f32", "[0]", "\"kind\": \"input\", \"index\": 1") ","
	BUFFER("c", "f32", "[0]", "\"kind\": \"output\", \"index\": 0") ","
	BUFFER("d", "f32", "[0]", "\"kind\": \"output\", \"index\": 1") "],"
	" \"steps\": [" KERNEL(1, 0, "[0, 1, 2]") "," KERNEL(1, 0, "[0, 1, 3]") "],"
	" \"inputs\": [0, 1], \"outputs\": [2, 3], " NOTHING "}]}],"
	"\"inputs\": [0, 1], \"outputs\": [3], " NOTHING "}";

START_TEST(scan_step)
{
	for (int mode = 0; mode < 16; mode++) {
		int in = mode & 1, out = mode >> 1 & 1, back_in = mode >> 2 & 1, back_out = mode >> 3;
		char text[4000];
		snprintf(text, sizeof text, SCAN, in ? "[0, 1]" : "[1, 0]", out ? "[0, 1]" : "[1, 0]",
		         in ? -1 : 0, out, back_in, back_out);
		Rig rig;
		rig_open(&rig, text, 1);
		float s[2] = {100, 200}, x[6], y[6], sum[2] = {100, 200};
		int64_t two = 2, dims[2] = {in ? 2 : 3, in ? 3 : 2};
		for (int t = 0; t < 3; t++)
			for (int i = 0; i < 2; i++)
				x[in ? i * 3 + t : t * 2 + i] = (float)(10 * t + i + 1);
		Array inputs[2] = {vector(s, &two), {DT_F32, 2, dims, x}};
		ck_assert_msg(rig_run(&rig, inputs, y, sizeof y) == TW_OK, "%s", rig.error.text);
		for (int t = 0; t < 3; t++)
			for (int i = 0; i < 2; i++) {
				int from = back_in ? 2 - t : t, to = back_out ? 2 - t : t;
				sum[i] += (float)(10 * from + i + 1);
				ck_assert(y[out ? i * 3 + to : to * 2 + i] == sum[i]);
			}
		rig_close(&rig);
	}
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
	tcase_add_test(t, same_bits);
	tcase_add_test(t, callers_threads);
	tcase_add_test(t, fork_between_runs);
	tcase_add_test(t, sessions_at_once);
	tcase_add_test(t, cancel_and_limits);
	tcase_add_test(t, late_sizes);
	tcase_add_test(t, if_step);
	tcase_add_test(t, loop_step);
	tcase_add_test(t, scan_step);
	return unit_run(t);
}
