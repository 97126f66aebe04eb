/* The test backend: plans with two memories, and what a missing copy or wait does. */
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "runtime/test/space.h"
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
	ck_assert_msg(rig_read(text, &plan, error, sizeof error), "%s", error);
	ck_assert(!plan_verify(plan, sizeof WEIGHTS, error, sizeof error));
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
	BackendCopy copy = {.size = sizeof *x,
	                    .rank = 1,
	                    .dims = &count,
	                    .from = PLACE_HOST,
	                    .source = x,
	                    .target = in.data};
	BackendLaunch launch = {.extent = 2, .nbuffer = 2, .buffers = buffers};
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

/* ---- Capture ---- */

/* y = 2 (2 x[i] + 1) + 1 by way of the host's memory: h lies between the kernels. */
/* clang-format off */
#define HOST ", \"place\": \"host\""
#define INPUT(name, type, index) \
	BUFFER(name, type, "[0]", "\"kind\": \"input\", \"index\": " #index HOST)
#define TEMP(name, type, size, place) \
	BUFFER(name, type, "[0]", "\"kind\": \"temp\", \"size\": " #size ", \"first\": 0," \
	       " \"last\": 7" place)
#define COPY(args) "{\"kind\": \"copy\", \"name\": \"c\", \"args\": [" args "], \"outputs\": 1}"
#define CAPTURED \
	"{" SYMBOL_N ", \"dims\": [\"s0\", \"s0 4 *\", \"s0 8 *\", \"128\"], \"buffers\": [" \
	INPUT("x", "f32", 0) ", " INPUT("i", "i64", 1) ", " \
	BUFFER("y", "f32", "[0]", "\"kind\": \"output\", \"index\": 0" HOST) ", " \
	TEMP("x'", "f32", 1, "") ", " TEMP("i'", "i64", 2, "") ", " TEMP("t'", "f32", 1, "") ", " \
	TEMP("u'", "f32", 1, "") ", " TEMP("h", "f32", 1, HOST) ", " TEMP("v'", "f32", 1, "") ", " \
	TEMP("w'", "f32", 1, "") "], \"steps\": [" COPY("0, 3") ", " COPY("1, 4") ", " \
	"{\"kind\": \"kernel\", \"name\": \"k2\", \"origins\": \"node2\", \"kernel\": 2," \
	" \"extent\": 0, \"scratch\": 3, \"symbols\": [0], \"args\": [3, 4, 5], \"outputs\": 1}, " \
	KERNEL(0, 0, "[5, 6]") ", " COPY("6, 7") ", " COPY("7, 8") ", " \
	KERNEL(0, 0, "[8, 9]") ", " COPY("9, 2") "]," \
	"\"inputs\": [0, 1], \"outputs\": [2], " NOTHING ", \"apart\": 1}"
/* clang-format on */

/* The test backend, which counts what is asked of it. */
static struct {
	int launches, replays, captures;
} asked;

static bool
count_launch(Stream *stream, const BackendLaunch *launch, BackendReport *report)
{
	asked.launches++;
	return backend_test.launch(stream, launch, report);
}

static bool
count_replay(Stream *stream, const BackendCapture *capture, BackendReport *report)
{
	asked.replays++;
	return backend_test.replay(stream, capture, report);
}

static BackendCapture *
count_capture(Stream *stream)
{
	asked.captures++;
	return backend_test.capture(stream);
}

static void
count_forget(BackendCapture *capture)
{
	asked.captures -= capture != NULL;
	backend_test.forget(capture);
}

typedef struct Captured {
	Rig rig;
	Backend backend;
	float x[COUNT], y[2][COUNT];
	int64_t i[COUNT];
} Captured;

static void
captured_open(Captured *c, const Backend *backend)
{
	memset(&asked, 0, sizeof asked);
	c->backend = *backend;
	if (backend == &backend_test) {
		c->backend.launch = count_launch;
		c->backend.replay = count_replay;
		c->backend.capture = count_capture;
		c->backend.forget = count_forget;
	}
	for (int i = 0; i < COUNT; i++) {
		c->x[i] = (float)i;
		c->i[i] = (i + 1) % COUNT;
	}
	rig_open_on(&c->rig, &c->backend, CAPTURED, 2);
}

/* Run with `n` elements; the last of x is new each time. */
static TwCode
captured_run(Captured *c, int64_t n, float *y)
{
	const Array inputs[] = {vector(c->x, &n), {DT_I64, 1, &n, c->i}};
	c->x[n - 1] += 1;
	memset(y, 0, COUNT * sizeof *y);
	return rig_run(&c->rig, inputs, y, COUNT * sizeof *y);
}

static void
captured_agrees(Captured *c, int64_t n, float *y)
{
	ck_assert_msg(captured_run(c, n, y) == TW_OK, "%s", c->rig.error.text);
	for (int64_t i = 0; i < n; i++)
		ck_assert_float_eq(y[i], 4 * c->x[c->i[i]] + 3);
}

/* The second run with a binding is recorded, and it and those behind it are replayed. */
START_TEST(replays)
{
	Captured *c = calloc(1, sizeof *c);
	captured_open(c, &backend_test);
	for (int run = 1; run <= 4; run++) {
		captured_agrees(c, COUNT, c->y[0]);
		ck_assert_int_eq(asked.launches, run == 1 ? 3 : 6);
		ck_assert_int_eq(asked.replays, run - 1);
		ck_assert_int_eq(asked.captures, run > 1);
	}
	rig_close(&c->rig);
	ck_assert_int_eq(asked.captures, 0);
	free(c);
}
END_TEST

/* Other memory or other sizes end what was recorded with the ones before. */
START_TEST(rebinding_drops_capture)
{
	Captured *c = calloc(1, sizeof *c);
	captured_open(c, &backend_test);
	c->i[6] = 0;
	for (int run = 0; run < 3; run++)
		captured_agrees(c, COUNT, c->y[0]);
	ck_assert_int_eq(asked.replays, 2);
	captured_agrees(c, COUNT, c->y[1]);
	ck_assert_int_eq(asked.captures, 0);
	ck_assert_int_eq(asked.replays, 2);
	for (int run = 0; run < 2; run++)
		captured_agrees(c, COUNT, c->y[1]);
	ck_assert_int_eq(asked.captures, 1);
	ck_assert_int_eq(asked.replays, 4);
	captured_agrees(c, 7, c->y[1]);
	ck_assert_int_eq(asked.captures, 0);
	captured_agrees(c, 7, c->y[1]);
	captured_agrees(c, 7, c->y[1]);
	ck_assert_int_eq(asked.replays, 6);
	int64_t n = COUNT; /* bound, not run: memory on the device may be elsewhere now */
	const Array inputs[] = {vector(c->x, &n), {DT_I64, 1, &n, c->i}};
	ck_assert_int_eq(frame_bind(c->rig.exec.main, inputs), TW_OK);
	ck_assert_int_eq(asked.captures, 0);
	captured_agrees(c, 7, c->y[1]);
	ck_assert_int_eq(asked.replays, 6);
	rig_close(&c->rig);
	free(c);
}
END_TEST

/* What a check finds is said in the same words, replayed or not, and the next run is right. */
START_TEST(replay_reports)
{
	const Backend *const backends[] = {&backend_cpu, &backend_test};
	TwError errors[4];
	for (int b = 0; b < 2; b++)
		for (int before = 0; before < 4; before += 3) {
			Captured *c = calloc(1, sizeof *c);
			captured_open(c, backends[b]);
			for (int run = 0; run < before; run++)
				captured_agrees(c, COUNT, c->y[0]);
			c->i[3] = COUNT + 5;
			ck_assert_int_eq(captured_run(c, COUNT, c->y[0]), TW_DATA);
			errors[b * 2 + before / 3] = c->rig.error;
			c->i[3] = 4;
			captured_agrees(c, COUNT, c->y[0]);
			rig_close(&c->rig);
			free(c);
		}
	ck_assert_str_eq(errors[0].text, "node \"node2\": index 305 is outside 0..299");
	for (int i = 1; i < 4; i++)
		ck_assert_str_eq(errors[i].text, errors[0].text);
}
END_TEST

/* Who wants to be told or asked between steps gets steps. */
START_TEST(cancel_needs_steps)
{
	Captured *c = calloc(1, sizeof *c);
	volatile int flag = 0;
	captured_open(c, &backend_test);
	c->rig.exec.cancel = &flag;
	for (int run = 0; run < 3; run++)
		captured_agrees(c, COUNT, c->y[0]);
	ck_assert_int_eq(asked.launches, 9);
	ck_assert_int_eq(asked.replays, 0);
	rig_close(&c->rig);
	free(c);
}
END_TEST

/* The host cannot wait for what is only written down. */
START_TEST(no_waiting_while_recording)
{
	Memory memory = {0};
	Workers workers = {.threads = 1};
	BackendReport report;
	Stream *stream = backend_test.open(&KERNELS.head, &workers, &memory);
	ck_assert(backend_test.record(stream));
	ck_assert(!backend_test.wait(stream, backend_test.mark(stream), &report));
	ck_assert_str_eq(report.text, "the host waits for work that is being recorded");
	backend_test.forget(backend_test.capture(stream));
	ck_assert(backend_test.wait(stream, backend_test.mark(stream), &report));
	backend_test.close(stream);
}
END_TEST

/* Blocks of whole pages lie side by side: where one ends, another begins. */
START_TEST(side_by_side)
{
	enum { BLOCKS = 64, PAGE = 4096 };
	void *blocks[BLOCKS];
	for (int i = 0; i < BLOCKS; i++) {
		blocks[i] = space_alloc(PAGE);
		memset(space_bytes(blocks[i]), i, PAGE);
	}
	for (int i = 0; i < BLOCKS; i++)
		ck_assert_int_eq(*(const unsigned char *)space_bytes(blocks[i]), i);
	for (int i = 0; i < BLOCKS; i++)
		space_release(blocks[i]);
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
	tcase_add_test(t, replays);
	tcase_add_test(t, rebinding_drops_capture);
	tcase_add_test(t, replay_reports);
	tcase_add_test(t, cancel_needs_steps);
	tcase_add_test(t, no_waiting_while_recording);
	tcase_add_test(t, side_by_side);
	return unit_run(t);
}
