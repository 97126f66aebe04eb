/* The test backend: plans with two memories, and what a missing copy or wait does. */
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "runtime/test/test.h"
#include "runtime_rig.h"

enum { COUNT = 300 };

/* 2 x + 1 on the device, of the argument %d; an If on the condition %d gives it on, to be copied to
 * y. %s: what ends each of the host's buffers, and the plan. */
#define TWO_MEMORIES \
	"{" SYMBOL_N ", \"dims\": [\"s0\", \"s0 4 *\", \"1\"], \"buffers\": [" \
	"{\"name\": \"x\", \"type\": \"f32\", \"dims\": [0], \"kind\": \"input\", \"index\": 0%s}," \
	"{\"name\": \"c\", \"type\": \"bool\", \"dims\": [], \"kind\": \"input\", \"index\": 1%s}," \
	"{\"name\": \"y\", \"type\": \"f32\", \"dims\": [0], \"kind\": \"output\", \"index\": 0%s}," \
	"{\"name\": \"x'\", \"type\": \"f32\", \"dims\": [0], \"kind\": \"temp\", \"size\": 1," \
	" \"first\": 0, \"last\": 4}," \
	"{\"name\": \"t'\", \"type\": \"f32\", \"dims\": [0], \"kind\": \"temp\", \"size\": 1," \
	" \"first\": 0, \"last\": 4}," \
	"{\"name\": \"c'\", \"type\": \"bool\", \"dims\": [], \"kind\": \"temp\", \"size\": 2," \
	" \"first\": 0, \"last\": 4}," \
	"{\"name\": \"z'\", \"type\": \"f32\", \"dims\": [0], \"kind\": \"temp\", \"size\": 1," \
	" \"first\": 0, \"last\": 4}], \"steps\": [" \
	"{\"kind\": \"copy\", \"name\": \"in\", \"args\": [0, 3], \"outputs\": 1}," \
	"{\"kind\": \"copy\", \"name\": \"both\", \"args\": [1, 5], \"outputs\": 1}," \
	"{\"kind\": \"kernel\", \"name\": \"k0\", \"origins\": \"node0\", \"kernel\": 0," \
	" \"extent\": 0, \"args\": [%d, 4], \"outputs\": 1}," \
	"{\"kind\": \"if\", \"name\": \"if\", \"args\": [%d, 6], \"outputs\": 1, \"bodies\": [" BRANCH \
	", " BRANCH "]}, {\"kind\": \"copy\", \"name\": \"out\", \"args\": [6, 2], \"outputs\": 1}]," \
	"\"inputs\": [0, 1], \"outputs\": [2], " NOTHING "%s}"
#define BRANCH \
	"{" SYMBOL_N ", \"dims\": [\"s0\"], \"buffers\": [" \
	"{\"name\": \"o\", \"type\": \"f32\", \"dims\": [0], \"kind\": \"output\", \"index\": 0}," \
	"{\"name\": \"u\", \"type\": \"f32\", \"dims\": [0], \"kind\": \"capture\", \"index\": 4}]," \
	" \"steps\": [{\"kind\": \"copy\", \"name\": \"d\", \"args\": [1, 0], \"outputs\": 1}]," \
	" \"inputs\": [], \"outputs\": [0], " NOTHING "}"

/* `argument` of the kernel and `condition`: numbers of buffers; 3 and 1 are right. */
static const char *
plan_text(int argument, int condition, bool says_so, char *text, size_t size)
{
	const char *place = says_so ? ", \"place\": \"host\"" : "";
	snprintf(text, size, TWO_MEMORIES, place, place, place, argument, condition,
	         says_so ? ", \"apart\": 1" : "");
	return text;
}

static void
refused(int argument, int condition, const char *expected)
{
	char text[6000], error[400];
	Plan *plan;
	plan_text(argument, condition, true, text, sizeof text);
	ck_assert_msg(plan_read(text, strlen(text), &plan, error, sizeof error), "%s", error);
	ck_assert(!plan_verify(plan, 6, sizeof WEIGHTS, error, sizeof error));
	ck_assert_msg(strstr(error, expected) != NULL, "%s", error);
	plan_free(plan);
}

static TwCode
run_once(Rig *rig, float *x, float *y)
{
	int64_t n = COUNT;
	bool condition = true;
	const Array inputs[] = {vector(x, &n), {DT_BOOL, 0, NULL, &condition}};
	return rig_run(rig, inputs, y, COUNT * sizeof *y);
}

START_TEST(two_memories)
{
	const Backend *const backends[] = {&backend_cpu, &backend_test};
	char text[6000];
	float x[COUNT], y[COUNT];
	plan_text(3, 1, true, text, sizeof text);
	for (int i = 0; i < COUNT; i++)
		x[i] = (float)i;
	for (int b = 0; b < 2; b++) {
		Rig rig;
		rig_open_on(&rig, backends[b], text, 2);
		for (int run = 0; run < 3; run++) {
			memset(y, 0, sizeof y);
			ck_assert_msg(run_once(&rig, x, y) == TW_OK, "%s", rig.error.text);
			for (int i = 0; i < COUNT; i++)
				ck_assert_float_eq(y[i], 2 * x[i] + 1);
		}
		rig_close(&rig);
	}
}
END_TEST

START_TEST(refused_by_verifier)
{
	refused(0, 1, "step 'k0' works in the device's memory, where buffer 'x' is not");
	refused(3, 5, "step 'if' works in the host's memory, where buffer 'c'' is not");
}
END_TEST

/* A plan that says nothing of memories gets past the verifier: the backend is what finds it. */
START_TEST(refused_by_backend)
{
	char text[6000];
	float x[COUNT] = {0}, y[COUNT];
	Rig rig;
	rig_open_on(&rig, &backend_test, plan_text(0, 1, false, text, sizeof text), 1);
	ck_assert_int_eq(run_once(&rig, x, y), TW_INTERNAL);
	ck_assert_msg(strstr(rig.error.text, "not in the memory that the plan says") != NULL, "%s",
	              rig.error.text);
	rig_close(&rig);
}
END_TEST

/* What the host follows of the device's memory ends it: in a child. */
START_TEST(host_is_stopped)
{
	int status;
	Memory memory = {0};
	Workers workers = {.threads = 1};
	Stream *stream = backend_test.open(&KERNELS.head, &workers, &memory);
	ck_assert_ptr_nonnull(stream);
	Block block = {0};
	ck_assert(block_reserve(stream->memory, &block, 64));
	pid_t child = fork();
	if (child == 0) {
		_exit(*(volatile unsigned char *)block.data & 0);
	}
	ck_assert_int_eq(waitpid(child, &status, 0), child);
	ck_assert_int_ne(status, 0);
	block_free(&block);
	ck_assert_uint_eq(stream->memory->now, 0);
	backend_test.close(stream);
}
END_TEST

/* Nothing is done before somebody waits, and what was copied from the host is what it was then. */
START_TEST(waits)
{
	int64_t count = 2;
	float x[] = {1, 2}, y[] = {0, 0};
	Memory memory = {0};
	Workers workers = {.threads = 1};
	BackendReport report;
	Stream *stream = backend_test.open(&KERNELS.head, &workers, &memory);
	Block in = {0}, out = {0};
	ck_assert(block_reserve(stream->memory, &in, sizeof x));
	ck_assert(block_reserve(stream->memory, &out, sizeof y));
	void *buffers[] = {in.data, out.data};
	const int64_t *strides[2] = {0};
	const int ranks[] = {1, 1};
	BackendCopy copy = {.size = sizeof *x,
	                    .rank = 1,
	                    .dims = &count,
	                    .from = PLACE_HOST,
	                    .source = x,
	                    .target = in.data};
	BackendLaunch launch = {
		.extent = 2, .nbuffer = 2, .buffers = buffers, .ranks = ranks, .strides = strides};
	BackendCopy back = {.size = sizeof *y,
	                    .rank = 1,
	                    .dims = &count,
	                    .to = PLACE_HOST,
	                    .source = out.data,
	                    .target = y};
	ck_assert(backend_test.copy(stream, &copy, &report));
	x[0] = 7;
	uint64_t early = backend_test.mark(stream);
	ck_assert(backend_test.launch(stream, &launch, &report));
	ck_assert(backend_test.copy(stream, &back, &report));
	ck_assert(backend_test.wait(stream, early, &report));
	ck_assert(y[0] != y[0]);
	ck_assert(backend_test.wait(stream, backend_test.mark(stream), &report));
	ck_assert_float_eq(y[0], 3);
	ck_assert_float_eq(y[1], 5);
	buffers[0] = x;
	ck_assert(!backend_test.launch(stream, &launch, &report));
	ck_assert_str_eq(report.text, "argument 0 lies in the host's memory: a copy is missing");
	block_free(&in);
	block_free(&out);
	backend_test.close(stream);
}
END_TEST

int
main(void)
{
	TCase *t = tcase_create("test");
	tcase_add_test(t, two_memories);
	tcase_add_test(t, refused_by_verifier);
	tcase_add_test(t, refused_by_backend);
	tcase_add_test(t, host_is_stopped);
	tcase_add_test(t, waits);
	return unit_run(t);
}
