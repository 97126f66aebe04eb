/* Vendor steps inside plans: sizes that change, threads, fork, and the fallback kernel. */
#include <math.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "runtime/onednn/call.h"
#include "runtime_rig.h"

enum { INNER = 96, COLUMNS = 640 };

/* The fallback: y = relu(x w + b), an element at a time. */
static void
k_product(const TwArgs *args, int64_t begin, int64_t end)
{
	const float *x = args->buffers[0], *w = args->buffers[1], *b = args->buffers[2];
	float *y = args->buffers[3];
	for (int64_t i = begin; i < end; i++) {
		float sum = b[i % COLUMNS];
		for (int64_t k = 0; k < INNER; k++)
			sum += x[i / COLUMNS * INNER + k] * w[k * COLUMNS + i % COLUMNS];
		y[i] = sum > 0 ? sum : 0;
	}
}

/* The same, of weights in blocks of five rows; the last block has one. */
static void
k_blocked(const TwArgs *args, int64_t begin, int64_t end)
{
	const float *x = args->buffers[0], *w = args->buffers[1], *b = args->buffers[2];
	float *y = args->buffers[3];
	for (int64_t i = begin; i < end; i++) {
		float sum = b[i % COLUMNS];
		for (int64_t k = 0; k < INNER; k++)
			sum += x[i / COLUMNS * INNER + k] * w[(k / 5 * COLUMNS + i % COLUMNS) * 5 + k % 5];
		for (int64_t k = INNER; k < 100; k++) /* filled up with zeros */
			sum += w[(k / 5 * COLUMNS + i % COLUMNS) * 5 + k % 5];
		y[i] = sum > 0 ? sum : 0;
	}
}

static TwKernel *const PRODUCT[] = {k_product}, *const BLOCKED[] = {k_blocked};
static const CpuCode PRODUCTS = {.head = {1}, .table = PRODUCT};
static const CpuCode BLOCKS = {.head = {1}, .table = BLOCKED};

/* clang-format off */
/* w and b come as inputs' neighbours: weights at 0 and behind. %s: an attribute and a comma, or
 * nothing, and what post-ops there are. */
static const char PLAN[] =
	"{" SYMBOL_N ", \"dims\": [\"s0\", \"96\", \"640\", \"s0 640 *\"], \"buffers\": ["
	BUFFER("x", "f32", "[0, 1]", "\"kind\": \"input\", \"index\": 0") ","
	BUFFER("w", "f32", "[1, 2]", "\"kind\": \"weight\", \"offset\": 0, \"bytes\": 245760") ","
	BUFFER("b", "f32", "[2]", "\"kind\": \"weight\", \"offset\": 245760, \"bytes\": 2560") ","
	BUFFER("y", "f32", "[0, 2]", "\"kind\": \"output\", \"index\": 0")
	"], \"steps\": [{\"kind\": \"vendor\", \"name\": \"mm\", \"origins\": \"mm\","
	" \"library\": \"onednn\", \"row\": \"matmul\","
	" \"kernel\": 0, \"extent\": 3, \"args\": [0, 1, 2, 3], \"outputs\": 1, \"attrs\": [%s"
	"{\"name\": \"post\", \"string\": \"%s\"}, {\"name\": \"pieces\", \"ints\": [5]}],"
	" \"flops\": 1e9}], \"inputs\": [0], \"outputs\": [3], " NOTHING "}";
/* clang-format on */

static Vendor *vendor;
static float *weights;
static char said[400];

static void
note(void *context, const char *line)
{
	(void)context;
	snprintf(said, sizeof said, "%s", line);
}

static void
set_up(void)
{
	char error[300];
	vendor = vendor_onednn.open(error, sizeof error);
	if (!vendor)
		printf("skipped: for want of oneDNN: %s\n", error);
	ck_assert_int_eq(posix_memalign((void **)&weights, 64, (INNER + 1) * COLUMNS * sizeof(float)),
	                 0);
	for (int i = 0; i < (INNER + 1) * COLUMNS; i++)
		weights[i] = (float)(i * 37 % 101) / 50 - 1;
	said[0] = 0;
}

static void
tear_down(void)
{
	if (vendor)
		vendor_onednn.close(vendor);
	free(weights);
}

static void
open_step(Rig *rig, const CpuCode *kernels, const char *attr, const char *post, int threads,
          bool with_vendor)
{
	static Weights all;
	char text[4000], sentence[400];
	snprintf(text, sizeof text, PLAN, attr, post);
	*rig = (Rig){.plan = NULL};
	all.plain = (Bytes){(const unsigned char *)weights, (INNER + 1) * COLUMNS * sizeof(float)};
	ck_assert_msg(rig_read(text, &rig->plan, sentence, sizeof sentence), "%s", sentence);
	rig->model = (ExecModel){.plan = rig->plan,
	                         .backend = &backend_cpu,
	                         .code = &kernels->head,
	                         .weights = &all,
	                         .held = (const unsigned char *)weights,
	                         .vendors = {.open = {with_vendor ? vendor : NULL}},
	                         .log = note};
	rig->exec = (Exec){.model = &rig->model, .workers = {.threads = threads}, .error = &rig->error};
	rig->exec.memory =
		(Memory){.allocate = count_allocate, .release = count_release, .context = rig};
	pool_acquire();
	ck_assert_int_eq(exec_open(&rig->exec), TW_OK);
}

static void
open_product(Rig *rig, const char *post, int threads, bool with_vendor)
{
	open_step(rig, &PRODUCTS, "", post, threads, with_vendor);
}

static void
run_product(Rig *rig, int64_t n, float *y)
{
	float x[64 * INNER];
	int64_t dims[2] = {n, INNER};
	for (int64_t i = 0; i < n * INNER; i++)
		x[i] = (float)(i % 17) / 17;
	Array input = {DT_F32, 2, dims, x};
	ck_assert_msg(rig_run(rig, &input, y, (size_t)(n * COLUMNS) * sizeof *y) == TW_OK, "%s",
	              rig->error.text);
}

START_TEST(sizes_and_threads)
{
	static float want[64 * COLUMNS], y[64 * COLUMNS], first[64 * COLUMNS];
	if (!vendor)
		return;
	for (int threads = 1; threads <= 3; threads++) {
		Rig plain, rig;
		open_product(&plain, "relu", 1, false);
		open_product(&rig, "relu", threads, true);
		int allocations = 0;
		for (int round = 0; round < 7; round++) {
			int64_t n = (int64_t[]){2, 64, 7, 2, 64, 7, 2}[round];
			run_product(&plain, n, want);
			run_product(&rig, n, y);
			ck_assert_ptr_nonnull(rig.exec.main->steps[0].call);
			ck_assert_ptr_null(plain.exec.main->steps[0].call);
			for (int64_t i = 0; i < n * COLUMNS; i++)
				ck_assert(fabsf(y[i] - want[i]) < 1e-4f);
			if (round == 1 && threads == 1)
				memcpy(first, y, sizeof y);
			if (round == 1)
				ck_assert_mem_eq(first, y, sizeof y);
			if (round == 2)
				allocations = rig.exec.main->steps[0].calls->count;
		}
		ck_assert_int_eq(allocations, 3);
		ck_assert_int_eq(rig.exec.main->steps[0].calls->count, 3);
		rig_close(&rig);
		rig_close(&plain);
	}
}
END_TEST

/* What the library has not got runs on the fallback, is said once, and is not tried again. */
START_TEST(fallback)
{
	static float want[4 * COLUMNS], y[4 * COLUMNS];
	if (!vendor)
		return;
	Rig rig, plain;
	open_product(&plain, "relu", 1, false);
	open_product(&rig, "no_such_thing", 2, true);
	run_product(&plain, 4, want);
	ck_assert_str_eq(said, "");
	for (int round = 0; round < 3; round++) {
		run_product(&rig, 4, y);
		ck_assert_mem_eq(y, want, sizeof y);
		ck_assert((strstr(said, "no_such_thing") != NULL) == (round == 0));
		said[0] = 0;
	}
	rig_close(&rig);
	rig_close(&plain);
}
END_TEST

/* Weights in blocks are made once, for the fallback kernel alone. */
START_TEST(fallback_weights)
{
	static const char five[] = "{\"name\": \"fallback_weights\", \"ints\": [5]}, ";
	static const char none[] = "{\"name\": \"fallback_weights\", \"ints\": [0]}, ";
	static float want[4 * COLUMNS], y[4 * COLUMNS];
	Rig plain, rig;
	open_product(&plain, "relu", 1, false);
	run_product(&plain, 4, want);
	open_step(&rig, &BLOCKS, five, "relu", 2, false);
	const void *made = NULL;
	for (int64_t n = 2; n <= 4; n++) {
		run_product(&rig, n, y);
		ck_assert(n == 2 || made == rig.exec.main->steps[0].blocked.data);
		made = rig.exec.main->steps[0].blocked.data;
	}
	ck_assert_mem_eq(y, want, sizeof y);
	rig_close(&rig);
	if (vendor) {
		open_step(&rig, &BLOCKS, five, "relu", 2, true);
		run_product(&rig, 4, y);
		ck_assert_ptr_null(rig.exec.main->steps[0].blocked.data);
		for (int i = 0; i < 4 * COLUMNS; i++)
			ck_assert(fabsf(y[i] - want[i]) < 1e-4f);
		rig_close(&rig);
	}
	open_step(&rig, &BLOCKS, none, "relu", 1, false);
	float x[INNER] = {0};
	int64_t dims[2] = {1, INNER};
	ck_assert_int_eq(rig_run(&rig, &(Array){DT_F32, 2, dims, x}, y, COLUMNS * sizeof *y),
	                 TW_DAMAGED);
	ck_assert_msg(strstr(rig.error.text, "weights in blocks") != NULL, "%s", rig.error.text);
	rig_close(&rig);
	rig_close(&plain);
}
END_TEST

/* One that only says what it takes when compiling: it is not even loaded, and said once. */
START_TEST(library_without_calls)
{
	static float want[2 * COLUMNS], y[2 * COLUMNS];
	Rig rig, plain;
	open_product(&plain, "relu", 1, false);
	run_product(&plain, 2, want);
	rig_close(&plain);
	open_step(&rig, &PRODUCTS, "", "relu", 1, false);
	((PlanStep *)(uintptr_t)rig.plan->steps)->library = "cudnn";
	said[0] = 0;
	model_open_vendors(&rig.model);
	ck_assert_str_eq(said, "calls of cudnn are not made on this device: fallback kernels are used");
	ck_assert_ptr_null(vendors_find(&rig.model.vendors, "cudnn"));
	run_product(&rig, 2, y);
	ck_assert_mem_eq(y, want, sizeof y);
	rig_close(&rig);
}
END_TEST

/* A plan may say anything: a name that is none of the program's libraries is looked up, and nothing
 * is opened by it. */
START_TEST(unknown_library)
{
	static const char *const names[] = {"../../evil.so", "/lib/libm.so.6", "cublas", "onednn ", ""};
	static float want[2 * COLUMNS], y[2 * COLUMNS];
	for (size_t i = 0; i < countof(names); i++)
		for (int kernel = 0; kernel >= -1; kernel--) {
			Rig rig, plain;
			open_product(&plain, "relu", 1, false);
			run_product(&plain, 2, want);
			rig_close(&plain);
			open_step(&rig, &PRODUCTS, "", "relu", 1, false);
			PlanStep *step = (PlanStep *)(uintptr_t)rig.plan->steps;
			step->library = names[i];
			step->kernel = kernel;
			said[0] = 0;
			model_open_vendors(&rig.model);
			ck_assert_msg(strstr(said, "knows no vendor library '"), "%s", said);
			for (int k = 0; k < VENDORS_MOST; k++)
				ck_assert_ptr_null(rig.model.vendors.open[k]);
			if (kernel >= 0) {
				run_product(&rig, 2, y);
				ck_assert_mem_eq(y, want, sizeof y);
			} else {
				float x[INNER] = {0};
				int64_t dims[2] = {1, INNER};
				TwCode code = rig_run(&rig, &(Array){DT_F32, 2, dims, x}, y, COLUMNS * sizeof *y);
				ck_assert_int_eq(code, TW_DEVICE);
				ck_assert_msg(strstr(rig.error.text, "needs the vendor library "), "%s",
				              rig.error.text);
			}
			rig_close(&rig);
		}
}
END_TEST

#ifndef __SANITIZE_THREAD__
START_TEST(fork_with_vendor)
{
	static float y[64 * COLUMNS], again[64 * COLUMNS];
	if (!vendor)
		return;
	Rig rig;
	open_product(&rig, "relu", 3, true);
	run_product(&rig, 64, y);
	pid_t child = fork();
	if (child == 0) {
		alarm(20);
		run_product(&rig, 64, again);
		_exit(!same_bytes(y, again, sizeof y));
	}
	int status = -1;
	ck_assert_int_eq(waitpid(child, &status, 0), child);
	ck_assert_int_eq(status, 0);
	rig_close(&rig);
}
END_TEST
#endif

int
main(void)
{
	TCase *t = tcase_create("vendor_step");
	tcase_add_checked_fixture(t, set_up, tear_down);
	tcase_add_test(t, sizes_and_threads);
	tcase_add_test(t, fallback);
	tcase_add_test(t, fallback_weights);
	tcase_add_test(t, unknown_library);
	tcase_add_test(t, library_without_calls);
#ifndef __SANITIZE_THREAD__
	tcase_add_test(t, fork_with_vendor);
#endif
	return unit_run(t);
}
