/* A session's work on a GPU: streams, launches, marks. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/cuda/gpu.h"

/* ---- Memory ---- */

static void *
allocate(void *context, size_t bytes, size_t alignment)
{
	GpuStream *gpu = context;
	BackendReport report = {.step = -1};
	void *memory = NULL;
	(void)alignment; /* CUDA's is 256 */
	int before = cuda_enter(gpu->device);
	bytes = bytes > 0 ? bytes : 1; /* of none CUDA gives no address */
	bool is_there = CUDA_TRY(&report, MallocAsync, &memory, bytes, gpu->lanes[0]);
	cuda_leave(before);
	return is_there ? memory : cuda_refuse(&report);
}

/* Behind the work that was given, so nobody need wait. */
static void
release(void *context, void *memory, size_t bytes)
{
	GpuStream *gpu = context;
	(void)bytes;
	int before = cuda_enter(gpu->device);
	cuda_runtime()->FreeAsync(memory, gpu->lanes[0]);
	cuda_leave(before);
}

/* ---- Streams ---- */

static bool
make_event(CudaEvent **event, BackendReport *report)
{
	return CUDA_TRY(report, EventCreateWithFlags, event, CUDA_EVENT_WITHOUT_TIME);
}

static bool
make(GpuStream *gpu, BackendReport *report)
{
	bool is_made = make_event(&gpu->forked, report);
	for (int i = 0; i < MARKS; i++)
		is_made = is_made && make_event(&gpu->marks[i], report);
	for (int i = 0; i < LANES; i++)
		is_made = is_made && make_event(&gpu->joined[i], report) &&
		          CUDA_TRY(report, StreamCreateWithFlags, &gpu->lanes[i], CUDA_STREAM_NON_BLOCKING);
	void *status = NULL;
	is_made = is_made &&
	          CUDA_TRY(report, HostAlloc, &status, sizeof *gpu->status, CUDA_HOST_PORTABLE_MAPPED);
	gpu->status = status;
	if (is_made)
		*gpu->status = (TwStatus){.code = TW_CHECK_NONE};
	return is_made;
}

void
gpu_close(Stream *stream)
{
	GpuStream *gpu = (GpuStream *)stream;
	const Cudart *cuda = cuda_runtime();
	if (!gpu)
		return;
	block_free(&gpu->workspace);
	int before = cuda_enter(gpu->device);
	for (int i = 0; i < LANES; i++) {
		if (gpu->lanes[i])
			cuda->StreamDestroy(gpu->lanes[i]);
		if (gpu->joined[i])
			cuda->EventDestroy(gpu->joined[i]);
	}
	for (int i = 0; i < MARKS; i++)
		if (gpu->marks[i])
			cuda->EventDestroy(gpu->marks[i]);
	if (gpu->forked)
		cuda->EventDestroy(gpu->forked);
	if (gpu->status)
		cuda->FreeHost(gpu->status);
	cuda_leave(before);
	free(gpu);
}

Stream *
gpu_open(const BackendCode *code, const Workers *workers, Memory *memory)
{
	BackendReport report = {.code = TW_MEMORY, .step = -1};
	GpuStream *gpu = calloc(1, sizeof *gpu);
	(void)workers;
	if (!gpu)
		return cuda_refuse(&report);
	gpu->code = (const GpuCode *)code;
	gpu->memory =
		(Memory){.allocate = allocate, .release = release, .context = gpu, .limit = memory->limit};
	gpu->head.memory = &gpu->memory;
	bool is_found = gpu->code || CUDA_TRY(&report, GetDevice, &gpu->device);
	gpu->device = gpu->code ? gpu->code->device : gpu->device;
	int before = cuda_enter(gpu->device);
	bool is_made = is_found && make(gpu, &report);
	cuda_leave(before);
	if (is_made)
		return &gpu->head;
	gpu_close(&gpu->head);
	return cuda_refuse(&report);
}

/* ---- Launches ---- */

/* Where the next work goes: the streams take turns between fork() and join(), and each waits for
 * what was given before fork(). */
static CudaStream *
next_lane(GpuStream *gpu)
{
	if (!gpu->is_forked)
		return gpu->lanes[0];
	int lane = gpu->next;
	if (lane == gpu->used && lane > 0 &&
	    cuda_runtime()->StreamWaitEvent(gpu->lanes[lane], gpu->forked, 0) != CUDA_OK)
		return gpu->lanes[0]; /* in order, it is right too */
	gpu->used = lane == gpu->used ? lane + 1 : gpu->used;
	gpu->next = (lane + 1) % LANES;
	return gpu->lanes[lane];
}

static bool
refuse(BackendReport *report, const char *words)
{
	report->code = TW_INTERNAL;
	snprintf(report->text, sizeof report->text, "%s", words);
	return false;
}

/* Blocks, threads and bytes that CUDA can be told. Shared memory beyond what a kernel declares is
 * one array whose size the launch says, once the kernel is allowed so much. */
static bool
check_sizes(const GpuStream *gpu, const BackendLaunch *launch, size_t *shared,
            BackendReport *report)
{
	int64_t blocks = 1;
	for (int i = 0; i < PLAN_AXES && launch->grid[0] > 0; i++) {
		if (launch->grid[i] > INT32_MAX || launch->block[i] > INT32_MAX ||
		    __builtin_mul_overflow(blocks, launch->grid[i], &blocks))
			return refuse(report, "a grid that no GPU has");
	}
	if (launch->first > 0 || launch->extent != blocks)
		return refuse(report, "some blocks of a kernel alone, which no GPU starts");
	*shared = launch->shared > PLAN_STATIC_SHARED ? (size_t)launch->shared : 0;
	if (launch->shared > INT32_MAX)
		return refuse(report, "more shared memory than a GPU has");
	return !*shared ||
	       CUDA_TRY(report, KernelSetAttributeForDevice, gpu->code->kernels[launch->kernel],
	                CUDA_DYNAMIC_SHARED, (int)*shared, gpu->device);
}

/* Of a kernel without loops for blocks and threads the plan says nothing: it is one thread. */
static CudaDim
dim_of(const int64_t *axes)
{
	if (axes[0] == 0)
		return (CudaDim){1, 1, 1};
	return (CudaDim){(unsigned)axes[0], (unsigned)axes[1], (unsigned)axes[2]};
}

/* A kernel's parameters are its buffers, its symbols, the status and the step (codegen_cuda()). */
static bool
launch_on(GpuStream *gpu, const BackendLaunch *launch, BackendReport *report)
{
	enum { PARAMETERS = 4096 };
	void *parameters[PARAMETERS];
	int count = 0, step = launch->step;
	size_t shared = 0;
	if (launch->nbuffer + launch->nsymbol + 2 > PARAMETERS)
		return refuse(report, "more parameters than a kernel can have");
	if (!check_sizes(gpu, launch, &shared, report))
		return false;
	for (int i = 0; i < launch->nbuffer; i++)
		parameters[count++] = (void *)(uintptr_t)&launch->buffers[i];
	for (int i = 0; i < launch->nsymbol; i++)
		parameters[count++] = (void *)(uintptr_t)&launch->symbols[i];
	parameters[count++] = &gpu->status;
	parameters[count++] = &step;
	return CUDA_TRY(report, LaunchKernel, gpu->code->kernels[launch->kernel], dim_of(launch->grid),
	                dim_of(launch->block), parameters, shared, next_lane(gpu));
}

bool
gpu_launch(Stream *stream, const BackendLaunch *launch, BackendReport *report)
{
	GpuStream *gpu = (GpuStream *)stream;
	*report = (BackendReport){.step = launch->step};
	int before = cuda_enter(gpu->device);
	bool is_given = launch_on(gpu, launch, report);
	cuda_leave(before);
	return is_given;
}

/* ---- Libraries' calls ---- */

/* Calls that need the workspace have one stream. */
bool
gpu_call(Stream *stream, const BackendCall *call, BackendReport *report)
{
	GpuStream *gpu = (GpuStream *)stream;
	PreparedCall *made = call->call;
	*report = (BackendReport){.code = TW_DEVICE, .step = call->step};
	if (made->scratch > gpu->workspace.capacity)
		return refuse(report, "a library's call without its workspace");
	int before = cuda_enter(gpu->device);
	bool is_given =
		made->library->enqueue(made, made->scratch ? gpu->lanes[0] : next_lane(gpu), call->buffers,
	                           gpu->workspace.data, report->text, sizeof report->text);
	if (!is_given)
		cuda_runtime()->GetLastError(); /* the caller's own calls shall not find it */
	cuda_leave(before);
	return is_given;
}

/* Threads of a GPU have no scratch memory of their own: it is libraries'. */
bool
gpu_reserve(Stream *stream, size_t bytes)
{
	GpuStream *gpu = (GpuStream *)stream;
	return bytes == 0 || block_reserve(&gpu->memory, &gpu->workspace, bytes);
}

/* ---- Side by side ---- */

void
gpu_fork(Stream *stream)
{
	GpuStream *gpu = (GpuStream *)stream;
	int before = cuda_enter(gpu->device);
	gpu->is_forked = cuda_runtime()->EventRecord(gpu->forked, gpu->lanes[0]) == CUDA_OK;
	gpu->next = gpu->used = 0;
	cuda_leave(before);
}

bool
gpu_join(Stream *stream, BackendReport *report)
{
	GpuStream *gpu = (GpuStream *)stream;
	*report = (BackendReport){.step = -1};
	bool is_joined = true;
	int before = cuda_enter(gpu->device);
	for (int i = 1; i < gpu->used; i++)
		is_joined = is_joined && CUDA_TRY(report, EventRecord, gpu->joined[i], gpu->lanes[i]) &&
		            CUDA_TRY(report, StreamWaitEvent, gpu->lanes[0], gpu->joined[i], 0);
	for (int i = 1; i < gpu->used && !is_joined && !gpu->recording; i++)
		cuda_runtime()->StreamSynchronize(
			gpu->lanes[i]); /* what comes next may use the same memory */
	cuda_leave(before);
	gpu->is_forked = false;
	gpu->used = 0;
	return is_joined;
}

bool
gpu_meet(Stream *stream, void *callers, bool is_behind, BackendReport *report)
{
	GpuStream *gpu = (GpuStream *)stream;
	CudaStream *first = is_behind ? gpu->lanes[0] : callers;
	CudaStream *second = is_behind ? callers : gpu->lanes[0];
	*report = (BackendReport){.step = -1};
	int before = cuda_enter(gpu->device);
	bool is_met = CUDA_TRY(report, EventRecord, gpu->forked, first) &&
	              CUDA_TRY(report, StreamWaitEvent, second, gpu->forked, 0);
	cuda_leave(before);
	return is_met;
}

/* ---- Waiting ---- */

uint64_t
gpu_mark(Stream *stream)
{
	GpuStream *gpu = (GpuStream *)stream;
	BackendReport report = {.step = -1};
	int before = cuda_enter(gpu->device);
	if (!CUDA_TRY(&report, EventRecord, gpu->marks[++gpu->given % MARKS], gpu->lanes[0]))
		gpu->late = report;
	cuda_leave(before);
	return gpu->given;
}

/* Kernels that were given behind the one that stored it may run still. */
static bool
take_status(GpuStream *gpu, BackendReport *report)
{
	int32_t code = *(volatile int32_t *)&gpu->status->code;
	if (code == TW_CHECK_NONE)
		return true;
	if (!CUDA_TRY(report, StreamSynchronize, gpu->lanes[0]))
		return false;
	report->code = TW_DATA;
	report->status = *gpu->status;
	report->step = gpu->status->step;
	*gpu->status = (TwStatus){.code = TW_CHECK_NONE};
	return false;
}

static bool
wait_for(GpuStream *gpu, uint64_t mark, BackendReport *report)
{
	if (gpu->late.code) {
		*report = gpu->late;
		gpu->late.code = TW_OK;
		cuda_runtime()->StreamSynchronize(gpu->lanes[0]);
		return false;
	}
	if (!CUDA_TRY(report, EventSynchronize, gpu->marks[mark % MARKS]))
		return false;
	gpu->done = mark;
	gpu_deliver(gpu);
	return take_status(gpu, report);
}

bool
gpu_wait(Stream *stream, uint64_t mark, BackendReport *report)
{
	GpuStream *gpu = (GpuStream *)stream;
	*report = (BackendReport){.step = -1};
	if (gpu->recording)
		return refuse(report, "the host waits for work that is being recorded");
	if (mark <= gpu->done)
		return true;
	int before = cuda_enter(gpu->device);
	bool is_done = wait_for(gpu, mark, report);
	cuda_leave(before);
	return is_done;
}
