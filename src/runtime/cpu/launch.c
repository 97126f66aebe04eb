/* Launches and calls on the CPU: the flat index and the library's pieces, cut for the workers.
 *
 * Everything is done when its function returns, or join(): marks and waiting are nothing.
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

/* A kernel or a vendor call, cut into pieces: their numbers go on from job to job. */
typedef struct Job {
	int64_t first, pieces;
	/* a kernel: ranges of its flat index; NULL: a call */
	TwKernel *kernel;
	TwArgs args;
	int64_t begin, end, range;
	BackendCall call;
} Job;

/* What one worker has to do, and what it found. It begins with its own share of the pieces, the
 * same in each step: what it wrote there is in its cache. Then it takes pieces of others. */
typedef struct Share {
	_Atomic int64_t next;
	int64_t end;
	BackendReport found; /* of all its pieces the first that found something; TW_OK: none did, */
	int64_t piece;       /* and which that was */
	char padding[64];    /* workers do not share lines */
} Share;

enum { MOST_JOBS = 16 };

typedef struct CpuStream {
	Stream head;
	const CpuCode *code;
	const Workers *workers;
	Block scratch; /* one part of scratch_part bytes per worker */
	size_t scratch_part;
	/* What is given and not yet done: between fork() and join(), else nothing. */
	bool is_forked;
	int njob;
	double work; /* of these jobs */
	Job jobs[MOST_JOBS];
	int width;      /* workers that run them */
	Share shares[]; /* per worker */
} CpuStream;

Stream *
cpu_open(const BackendCode *code, const Workers *workers, Memory *memory)
{
	CpuStream *stream = calloc(1, sizeof *stream + (size_t)workers->threads * sizeof(Share));
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

/* ---- Pieces ---- */

static void
run_kernel(const Job *job, int64_t piece, void *scratch, BackendReport *report)
{
	TwArgs args = job->args;
	TwStatus status = {0};
	int64_t begin = job->begin + piece * job->range;
	args.status = &status;
	args.scratch = scratch;
	job->kernel(&args, begin, job->end - begin < job->range ? job->end : begin + job->range);
	if (status.code)
		*report = (BackendReport){.code = TW_DATA, .step = args.step, .status = status};
}

static void
run_call(const Job *job, int64_t piece, void *scratch, BackendReport *report)
{
	PreparedCall *call = job->call.call;
	if (call->library->run(call, (int)piece, job->call.buffers, scratch, report->text,
	                       sizeof report->text))
		return;
	report->code = TW_DEVICE;
	report->step = job->call.step;
}

static void
run_piece(CpuStream *cpu, int64_t piece, int worker)
{
	const Job *job = cpu->jobs;
	Share *share = &cpu->shares[worker];
	BackendReport report;
	report.code = TW_OK; /* its text stays as it is: this is done for each piece */
	while (piece >= job->first + job->pieces)
		job++;
	(job->kernel ? run_kernel : run_call)(job, piece - job->first, scratch_of(cpu, worker),
	                                      &report);
	if (report.code && (!share->found.code || piece < share->piece)) {
		share->found = report;
		share->piece = piece;
	}
}

static void
run_shares(void *arg, int worker)
{
	CpuStream *cpu = arg;
	for (int i = 0; i < cpu->width; i++) {
		Share *share = &cpu->shares[(worker + i) % cpu->width];
		int64_t piece;
		while ((piece = atomic_fetch_add_explicit(&share->next, 1, memory_order_relaxed)) <
		       share->end)
			run_piece(cpu, piece, worker);
	}
}

/* Do all that was given. */
static bool
run_jobs(CpuStream *cpu, BackendReport *report)
{
	int threads = cpu->workers->threads;
	const Share *first = NULL;
	if (!cpu->njob)
		return true;
	const Job *last = &cpu->jobs[cpu->njob - 1];
	int64_t pieces = last->first + last->pieces;
	int width = cpu->width = cpu->work < SMALL_STEP ? 1 : pieces < threads ? (int)pieces : threads;
	cpu->shares[0].found.code = TW_OK;
	for (int64_t piece = 0; width == 1 && piece < pieces; piece++)
		run_piece(cpu, piece, 0); /* nobody to share with: nothing atomic */
	for (int i = 0; width > 1 && i < width; i++) {
		cpu->shares[i].found.code = TW_OK;
		cpu->shares[i].next = pieces * i / width;
		cpu->shares[i].end = pieces * (i + 1) / width;
	}
	if (width > 1)
		workers_run(cpu->workers, width, run_shares, cpu);
	cpu->njob = 0;
	cpu->work = 0;
	for (int i = 0; i < width; i++) {
		const Share *share = &cpu->shares[i];
		if (share->found.code && (!first || share->piece < first->piece))
			first = share;
	}
	if (first)
		*report = first->found;
	return !first;
}

/* The next job, of so many pieces and so much work. */
static bool
give(CpuStream *cpu, Job *job, double work, BackendReport *report)
{
	if (cpu->njob == MOST_JOBS && !run_jobs(cpu, report))
		return false;
	const Job *before = cpu->njob ? &cpu->jobs[cpu->njob - 1] : NULL;
	job->first = before ? before->first + before->pieces : 0;
	cpu->jobs[cpu->njob++] = *job;
	cpu->work += work > 0 ? work : SMALL_STEP;
	return cpu->is_forked || run_jobs(cpu, report);
}

/* ---- Giving work ---- */

bool
cpu_launch(Stream *stream, const BackendLaunch *launch, BackendReport *report)
{
	CpuStream *cpu = (CpuStream *)stream;
	int threads = cpu->workers->threads;
	/* blocks of threads have one memory to share, so they take turns */
	bool has_blocks = launch->block && launch->block[0];
	bool is_small = launch->work > 0 && launch->work < SMALL_STEP;
	int64_t wanted =
		is_small || has_blocks || threads == 1 ? 1 : (int64_t)threads * PIECES_PER_WORKER;
	int64_t extent = launch->extent, range = wanted == 1 ? extent : (extent + wanted - 1) / wanted;
	Job job = {
		.pieces = wanted == 1 ? 1 : (extent + range - 1) / range,
		.kernel = cpu->code->table[launch->kernel],
		.args = {.size = sizeof(TwArgs),
	             .abi = TW_KERNEL_ABI,
	             .buffers = launch->buffers,
	             .symbols = launch->symbols,
	             .step = launch->step},
		.begin = launch->first,
		.end = launch->first + extent,
		.range = range,
	};
	return give(cpu, &job, launch->work, report);
}

bool
cpu_call(Stream *stream, const BackendCall *call, BackendReport *report)
{
	Job job = {.pieces = call->call->pieces, .call = *call};
	return give((CpuStream *)stream, &job, call->work, report);
}

static void
cpu_fork(Stream *stream)
{
	((CpuStream *)stream)->is_forked = true;
}

static bool
cpu_join(Stream *stream, BackendReport *report)
{
	CpuStream *cpu = (CpuStream *)stream;
	cpu->is_forked = false;
	return run_jobs(cpu, report);
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
	.fit = cpu_fit,
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
	.fork = cpu_fork,
	.join = cpu_join,
	.mark = cpu_mark,
	.wait = cpu_wait,
};
