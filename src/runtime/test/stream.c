/* The test backend: the CPU as a device with memory of its own, which does nothing before it must.
 *
 * It runs the CPU's kernels and the CPU's vendor library, so any machine has it, and it is as
 * strange to the host as a GPU: addresses of its memory cannot be followed (space.h), an argument
 * in the host's memory is refused, and work that was given waits in a list until somebody waits for
 * it. What the host reads too early is 0xff. So a plan that lacks a copy fails here, and an
 * executor that lacks a wait, on machines without a GPU.
 */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/cpu/cpu.h"
#include "runtime/test/space.h"

typedef enum WorkKind { WORK_LAUNCH, WORK_CALL, WORK_COPY, WORK_REPLAY } WorkKind;

/* Something to do, with everything that it needs. */
typedef struct TestWork {
	struct TestWork *next;
	uint64_t number;
	WorkKind kind;
	union {
		BackendLaunch launch;
		BackendCall call;
		BackendCopy copy;
		const BackendCapture *replay;
	} as;
	unsigned char room[]; /* what those point to */
} TestWork;

typedef struct WorkList {
	TestWork *first, **end;
} WorkList;

struct BackendCapture {
	WorkList work;
};

typedef struct TestStream {
	Stream head;
	Memory memory;
	Stream *cpu; /* does the work */
	WorkList work;
	uint64_t given;
	BackendCapture *recording; /* NULL: nothing is recorded */
} TestStream;

/* ---- Memory ---- */

static void *
test_hold(Bytes bytes)
{
	void *address = space_alloc(bytes.size);
	if (address && bytes.size)
		memcpy(space_bytes(address), bytes.data, bytes.size);
	return address;
}

static void
drop_work(WorkList *list)
{
	while (list->first) {
		TestWork *work = list->first;
		list->first = work->next;
		free(work);
	}
	list->end = &list->first;
}

static bool run_until(TestStream *stream, uint64_t last, BackendReport *report);

static void *
allocate(void *context, size_t bytes, size_t alignment)
{
	(void)context;
	(void)alignment;
	return space_alloc(bytes);
}

/* Work on a block is done before it goes. */
static void
release(void *context, void *memory, size_t bytes)
{
	TestStream *stream = context;
	BackendReport report;
	(void)bytes;
	run_until(stream, stream->given, &report);
	space_release(memory);
}

/* ---- Streams ---- */

static Stream *
test_open(const BackendCode *code, const Workers *workers, Memory *memory)
{
	TestStream *stream = calloc(1, sizeof *stream);
	if (!stream)
		return NULL;
	stream->cpu = cpu_open(code, workers, memory);
	if (!stream->cpu) {
		free(stream);
		return NULL;
	}
	stream->memory = (Memory){
		.allocate = allocate, .release = release, .context = stream, .limit = memory->limit};
	stream->head.memory = &stream->memory;
	stream->work.end = &stream->work.first;
	return &stream->head;
}

static void
test_close(Stream *stream)
{
	TestStream *test = (TestStream *)stream;
	if (!test)
		return;
	drop_work(&test->work);
	cpu_close(test->cpu);
	free(test);
}

static bool
test_reserve(Stream *stream, size_t bytes)
{
	return cpu_reserve(((TestStream *)stream)->cpu, bytes);
}

/* ---- Giving work ---- */

__attribute__((format(printf, 3, 4))) static bool
refuse(BackendReport *report, int step, const char *format, ...)
{
	va_list args;
	*report = (BackendReport){.code = TW_INTERNAL, .step = step};
	va_start(args, format);
	vsnprintf(report->text, sizeof report->text, format, args);
	va_end(args);
	return false;
}

/* Where work goes that is given now. */
static WorkList *
list_of(TestStream *stream)
{
	return stream->recording ? &stream->recording->work : &stream->work;
}

/* Work with room for `bytes`, behind all that was given. */
static TestWork *
give(TestStream *stream, WorkKind kind, size_t bytes)
{
	TestWork *work = calloc(1, sizeof *work + bytes);
	if (!work)
		return NULL;
	work->kind = kind;
	work->number = ++stream->given;
	WorkList *list = list_of(stream);
	*list->end = work;
	list->end = &work->next;
	return work;
}

/* Take back what cannot be done after all. */
static void
take_back(TestStream *stream, TestWork *work)
{
	WorkList *list = list_of(stream);
	TestWork **at = &list->first;
	while (*at != work)
		at = &(*at)->next;
	*at = NULL;
	list->end = at;
	free(work);
}

/* Where the bytes of a step's arguments lie; false when one is not the device's. */
static bool
find_bytes(int step, int count, void *const *buffers, void **bytes, BackendReport *report)
{
	for (int i = 0; i < count; i++) {
		bytes[i] = buffers[i] ? space_bytes(buffers[i]) : NULL;
		if (buffers[i] && !bytes[i])
			return refuse(report, step, "argument %d lies in the host's memory: a copy is missing",
			              i);
	}
	return true;
}

/* The launch with tables of its own. */
static bool
test_launch(Stream *stream, const BackendLaunch *launch, BackendReport *report)
{
	TestStream *test = (TestStream *)stream;
	size_t nbuffer = (size_t)launch->nbuffer, nsymbol = (size_t)launch->nsymbol;
	TestWork *work = give(test, WORK_LAUNCH, nbuffer * sizeof(void *) + nsymbol * sizeof(int64_t));
	if (!work)
		return refuse(report, launch->step, "out of memory for a launch");
	void **buffers = (void **)work->room;
	int64_t *numbers = (int64_t *)(buffers + nbuffer);
	work->as.launch = *launch;
	work->as.launch.buffers = buffers;
	work->as.launch.symbols = numbers;
	if (nsymbol)
		memcpy(numbers, launch->symbols, nsymbol * sizeof *numbers);
	if (find_bytes(launch->step, launch->nbuffer, launch->buffers, buffers, report))
		return true;
	take_back(test, work);
	return false;
}

static bool
test_call(Stream *stream, const BackendCall *call, BackendReport *report)
{
	TestStream *test = (TestStream *)stream;
	TestWork *work = give(test, WORK_CALL, (size_t)call->nbuffer * sizeof(void *));
	if (!work)
		return refuse(report, call->step, "out of memory for a call");
	work->as.call = *call;
	work->as.call.buffers = (void **)work->room;
	if (find_bytes(call->step, call->nbuffer, call->buffers, (void **)work->room, report))
		return true;
	take_back(test, work);
	return false;
}

/* Bytes of a copy between memories, which is dense. */
static size_t
dense_bytes(const BackendCopy *copy)
{
	size_t bytes = copy->size;
	for (int i = 0; i < copy->rank; i++)
		bytes *= (size_t)copy->dims[i];
	return bytes;
}

/* The address of one side of a copy: of the device's memory or of the host's, as it says. */
static bool
find_side(const BackendCopy *copy, PlanPlace place, const void *address, void **bytes,
          BackendReport *report)
{
	void *own = space_bytes(address);
	*bytes = own ? own : (void *)(uintptr_t)address;
	if (!own == (place == PLACE_HOST))
		return true;
	return refuse(report, copy->step, "a copy's address is not in the memory that the plan says");
}

/* Until a copy to the host is done, the host sees 0xff. */
static void
spoil(const BackendCopy *copy)
{
	if (copy->to == PLACE_HOST)
		memset(copy->target, 0xff, dense_bytes(copy));
}

static bool
test_copy(Stream *stream, const BackendCopy *copy, BackendReport *report)
{
	TestStream *test = (TestStream *)stream;
	bool is_strided = copy->source_strides || copy->target_strides;
	void *source, *target;
	if (!find_side(copy, copy->from, copy->source, &source, report) ||
	    !find_side(copy, copy->to, copy->target, &target, report))
		return false;
	if (copy->from != copy->to && is_strided)
		return refuse(report, copy->step, "a copy between memories has strides");
	bool is_taken = copy->from == PLACE_HOST && !test->recording;
	size_t rank = (size_t)copy->rank, taken = is_taken ? dense_bytes(copy) : 0;
	TestWork *work = give(test, WORK_COPY, 3 * rank * sizeof(int64_t) + taken);
	if (!work)
		return refuse(report, copy->step, "out of memory for a copy");
	int64_t *numbers = (int64_t *)work->room;
	const int64_t *tables[] = {copy->dims, copy->source_strides, copy->target_strides};
	for (int i = 0; i < 3; i++)
		if (tables[i] && rank)
			memcpy(numbers + (size_t)i * rank, tables[i], rank * sizeof *numbers);
	work->as.copy = *copy;
	work->as.copy.dims = numbers;
	work->as.copy.source_strides = copy->source_strides ? numbers + rank : NULL;
	work->as.copy.target_strides = copy->target_strides ? numbers + 2 * rank : NULL;
	work->as.copy.source = taken ? memcpy(numbers + 3 * rank, source, taken) : source;
	work->as.copy.target = target;
	if (!test->recording)
		spoil(&work->as.copy);
	return true;
}

/* ---- Recording ---- */

static bool
test_record(Stream *stream)
{
	TestStream *test = (TestStream *)stream;
	test->recording = calloc(1, sizeof *test->recording);
	if (test->recording)
		drop_work(&test->recording->work);
	return test->recording != NULL;
}

static BackendCapture *
test_capture(Stream *stream)
{
	TestStream *test = (TestStream *)stream;
	BackendCapture *capture = test->recording;
	test->recording = NULL;
	return capture;
}

static bool
test_replay(Stream *stream, const BackendCapture *capture, BackendReport *report)
{
	TestWork *replay = give((TestStream *)stream, WORK_REPLAY, 0);
	if (!replay)
		return refuse(report, 0, "out of memory for a replay");
	replay->as.replay = capture;
	for (const TestWork *work = capture->work.first; work; work = work->next)
		if (work->kind == WORK_COPY)
			spoil(&work->as.copy);
	return true;
}

static void
test_forget(BackendCapture *capture)
{
	if (capture)
		drop_work(&capture->work);
	free(capture);
}

/* ---- Doing it ---- */

static bool
run_work(TestStream *stream, const TestWork *work, BackendReport *report)
{
	if (work->kind == WORK_LAUNCH)
		return cpu_launch(stream->cpu, &work->as.launch, report);
	if (work->kind == WORK_CALL)
		return cpu_call(stream->cpu, &work->as.call, report);
	if (work->kind == WORK_COPY)
		return cpu_copy(stream->cpu, &work->as.copy, report);
	bool is_done = true;
	for (const TestWork *at = work->as.replay->work.first; at && is_done; at = at->next)
		is_done = run_work(stream, at, report);
	return is_done;
}

/* In order; nothing is done behind what failed. */
static bool
run_until(TestStream *stream, uint64_t last, BackendReport *report)
{
	WorkList *list = &stream->work;
	while (list->first && list->first->number <= last) {
		TestWork *work = list->first;
		if (!run_work(stream, work, report)) {
			drop_work(list);
			return false;
		}
		list->first = work->next;
		if (!list->first)
			list->end = &list->first;
		free(work);
	}
	return true;
}

static uint64_t
test_mark(Stream *stream)
{
	return ((TestStream *)stream)->given;
}

static bool
test_wait(Stream *stream, uint64_t mark, BackendReport *report)
{
	TestStream *test = (TestStream *)stream;
	if (test->recording)
		return refuse(report, 0, "the host waits for work that is being recorded");
	return run_until(test, mark, report);
}

const Backend backend_test = {
	.name = "test",
	.fit = cpu_fit,
	.load = cpu_load,
	.unload = cpu_unload,
	.hold = test_hold,
	.drop = space_release,
	.open = test_open,
	.close = test_close,
	.reserve = test_reserve,
	.copy = test_copy,
	.launch = test_launch,
	.call = test_call,
	.mark = test_mark,
	.wait = test_wait,
	.record = test_record,
	.capture = test_capture,
	.replay = test_replay,
	.forget = test_forget,
};
