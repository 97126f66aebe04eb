/* Launches and calls on the CPU: the flat index and the library's pieces, cut for the workers.
 *
 * Everything is done when its function returns: marks and waiting are nothing.
 */
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/cpu/cpu.h"

enum {
	PIECES_PER_WORKER = 4,
	/* Below this many operations and bytes a step is done before a sleeping core would begin:
	 * waking one takes 5 to 50 us, and a core does 10^10 simple operations a second or more. */
	SMALL_STEP = 100000,
};

/* What one worker found in a step. */
typedef struct Finding {
	TwStatus status;
	int64_t begin; /* of the piece it was found in */
	char text[256];
	char padding[64]; /* workers do not share lines */
} Finding;

typedef struct CpuStream {
	Stream head;
	const CpuCode *code;
	const Workers *workers;
	Block scratch; /* one part of scratch_part bytes per worker */
	size_t scratch_part;
	Finding found[]; /* per worker */
} CpuStream;

Stream *
cpu_open(const BackendCode *code, const Workers *workers, Memory *memory)
{
	CpuStream *stream = calloc(1, sizeof *stream + (size_t)workers->threads * sizeof(Finding));
	if (!stream)
		return NULL;
	stream->head.memory = memory;
	stream->code = (const CpuCode *)code;
	stream->workers = workers;
	return &stream->head;
}

void
cpu_close(Stream *stream)
{
	CpuStream *cpu = (CpuStream *)stream;
	if (cpu)
		block_free(&cpu->scratch);
	free(cpu);
}

bool
cpu_reserve(Stream *stream, size_t bytes)
{
	CpuStream *cpu = (CpuStream *)stream;
	size_t part, total;
	if (bytes <= cpu->scratch_part)
		return true;
	if (__builtin_add_overflow(bytes, (size_t)MEMORY_ALIGN - 1, &part))
		return false;
	part = part / MEMORY_ALIGN * MEMORY_ALIGN;
	cpu->scratch_part = 0;
	if (__builtin_mul_overflow(part, (size_t)cpu->workers->threads, &total) ||
	    !block_reserve(cpu->head.memory, &cpu->scratch, total))
		return false;
	cpu->scratch_part = part;
	return true;
}

static void *
scratch_of(const CpuStream *cpu, int worker)
{
	unsigned char *scratch = cpu->scratch.data;
	return scratch ? scratch + (size_t)worker * cpu->scratch_part : NULL;
}

bool
cpu_copy(Stream *stream, const BackendCopy *copy, BackendReport *report)
{
	(void)stream;
	(void)report;
	copy_strided(copy->size, copy->rank, copy->dims, copy->source, copy->source_strides,
	             copy->target, copy->target_strides);
	return true;
}

/* ---- Kernels ---- */

typedef struct KernelJob {
	CpuStream *cpu;
	TwKernel *kernel;
	TwArgs args;
	int64_t extent, piece;
	_Atomic int64_t next;
} KernelJob;

/* Keep the finding of the piece that comes first: the sentence does not depend on threads. */
static void
run_piece(KernelJob *job, const TwArgs *args, Finding *found, int64_t begin)
{
	int64_t end = job->extent - begin < job->piece ? job->extent : begin + job->piece;
	*args->status = (TwStatus){0};
	job->kernel(args, begin, end);
	if (args->status->code && (!found->status.code || begin < found->begin)) {
		found->status = *args->status;
		found->begin = begin;
	}
}

static void
run_kernel_task(void *arg, int worker)
{
	KernelJob *job = arg;
	TwArgs args = job->args;
	TwStatus status;
	args.status = &status;
	args.scratch = scratch_of(job->cpu, worker);
	for (;;) {
		int64_t begin = atomic_fetch_add_explicit(&job->next, job->piece, memory_order_relaxed);
		if (begin >= job->extent)
			return;
		run_piece(job, &args, &job->cpu->found[worker], begin);
	}
}

static bool
report_status(const CpuStream *cpu, int step, BackendReport *report)
{
	const Finding *first = NULL;
	for (int i = 0; i < cpu->workers->threads; i++) {
		const Finding *found = &cpu->found[i];
		if (found->status.code && (!first || found->begin < first->begin))
			first = found;
	}
	if (first)
		*report = (BackendReport){.code = TW_DATA, .step = step, .status = first->status};
	return !first;
}

bool
cpu_launch(Stream *stream, const BackendLaunch *launch, BackendReport *report)
{
	CpuStream *cpu = (CpuStream *)stream;
	int threads = cpu->workers->threads;
	bool is_small = launch->work > 0 && launch->work < SMALL_STEP;
	int width = is_small || launch->extent == 1 ? 1 : threads;
	int64_t pieces = (int64_t)width * PIECES_PER_WORKER;
	KernelJob job = {
		.cpu = cpu,
		.kernel = cpu->code->table[launch->kernel],
		.args = {.size = sizeof(TwArgs),
	             .abi = TW_KERNEL_ABI,
	             .buffers = launch->buffers,
	             .strides = launch->strides,
	             .symbols = launch->symbols,
	             .step = launch->step},
		.extent = launch->extent,
		.piece = width == 1 ? launch->extent : (launch->extent + pieces - 1) / pieces,
	};
	for (int i = 0; i < threads; i++)
		cpu->found[i].status.code = 0;
	workers_run(cpu->workers, width < launch->extent ? width : (int)launch->extent, run_kernel_task,
	            &job);
	return report_status(cpu, launch->step, report);
}

/* ---- Vendor calls ---- */

typedef struct CallJob {
	CpuStream *cpu;
	const BackendCall *call;
	int pieces;
	_Atomic int next;
} CallJob;

static void
run_call_task(void *arg, int worker)
{
	CallJob *job = arg;
	Finding *found = &job->cpu->found[worker];
	for (;;) {
		int piece = atomic_fetch_add_explicit(&job->next, 1, memory_order_relaxed);
		if (piece >= job->pieces || found->text[0])
			return;
		vendor_call_run(job->call->call, piece, job->call->buffers, scratch_of(job->cpu, worker),
		                found->text, sizeof found->text);
	}
}

bool
cpu_call(Stream *stream, const BackendCall *call, BackendReport *report)
{
	CpuStream *cpu = (CpuStream *)stream;
	for (int i = 0; i < cpu->workers->threads; i++)
		cpu->found[i].text[0] = 0;
	CallJob job = {.cpu = cpu, .call = call, .pieces = vendor_call_pieces(call->call)};
	workers_run(cpu->workers, job.pieces, run_call_task, &job);
	for (int i = 0; i < cpu->workers->threads; i++)
		if (cpu->found[i].text[0]) {
			*report = (BackendReport){.code = TW_DEVICE, .step = call->step};
			memcpy(report->text, cpu->found[i].text, sizeof report->text);
			return false;
		}
	return true;
}

/* ---- The record ---- */

static void *
cpu_hold(Bytes bytes)
{
	return (void *)(uintptr_t)bytes.data;
}

static void
cpu_drop(void *held)
{
	(void)held;
}

static uint64_t
cpu_mark(Stream *stream)
{
	(void)stream;
	return 0;
}

static bool
cpu_wait(Stream *stream, uint64_t mark, BackendReport *report)
{
	(void)stream;
	(void)mark;
	(void)report;
	return true;
}

const Backend backend_cpu = {
	.name = "cpu",
	.load = cpu_load,
	.unload = cpu_unload,
	.hold = cpu_hold,
	.drop = cpu_drop,
	.open = cpu_open,
	.close = cpu_close,
	.reserve = cpu_reserve,
	.copy = cpu_copy,
	.launch = cpu_launch,
	.call = cpu_call,
	.mark = cpu_mark,
	.wait = cpu_wait,
};
