/* Steps that are kernels and copies: arguments, cutting of the flat index, status. */
#include <stdatomic.h>
#include <string.h>

#include "runtime/exec/exec.h"

enum {
	PIECES_PER_WORKER = 4,
	/* Below this many operations and bytes a step is done before a sleeping core would begin:
	 * waking one takes 5 to 50 us, and a core does 10^10 simple operations a second or more. */
	SMALL_STEP = 100000,
};

/* ---- Binding ---- */

bool
step_has_sizes(const Frame *frame, const PlanStep *step)
{
	bool is_known = step->extent_dim < 0 || frame->dims[step->extent_dim] != PLAN_UNBOUND;
	is_known =
		is_known && (step->scratch_dim < 0 || frame->dims[step->scratch_dim] != PLAN_UNBOUND);
	for (int i = 0; i < step->nsymbol; i++)
		is_known = is_known && frame->symbols[step->symbols[i]] != PLAN_UNBOUND;
	for (int i = 0; i < step->narg; i++)
		is_known = is_known && (step->args[i] < 0 || frame->slots[step->args[i]].has_dims);
	return is_known;
}

static TwCode
bind_kernel(Frame *frame, const PlanStep *step, StepState *state)
{
	int64_t scratch = step->scratch_dim < 0 ? 0 : frame->dims[step->scratch_dim];
	const TwKernels *kernels = frame->exec->model->kernels;
	if (!kernels || step->kernel >= (int)kernels->count)
		return exec_fail(frame->exec, TW_INTERNAL, "step '%.60s' has no kernel", step->name);
	state->extent = frame->dims[step->extent_dim];
	if (scratch < 0)
		return exec_fail(frame->exec, TW_INTERNAL, "step '%.60s' has scratch of %lld bytes",
		                 step->name, (long long)scratch);
	state->scratch = (size_t)scratch;
	for (int i = 0; i < step->nsymbol; i++)
		state->symbols[i] = frame->symbols[step->symbols[i]];
	for (int i = 0; i < state->nbuffer; i++)
		state->strides[i] = frame->slots[state->buffers[i]].strides;
	return exec_reserve_scratch(frame->exec, state->scratch);
}

/* All symbols have values, and still a size has none: it divides by an extent that came to 0 (half
 * of a side of 1), or overflows. */
static TwCode
report_no_sizes(Frame *frame, const PlanStep *step)
{
	for (int i = 0; i < frame->plan->nsymbol; i++)
		if (frame->symbols[i] == PLAN_UNBOUND)
			return exec_fail(frame->exec, TW_INTERNAL, "step '%.60s' has no sizes when it runs",
			                 step->name);
	return exec_fail(frame->exec, TW_SHAPE,
	                 "node \"%.100s\": a size has no value for these inputs: it is divided by an "
	                 "extent of 0, or overflows",
	                 *step->origins ? step->origins : step->name);
}

/* Steps whose dims depend on data are bound when they run. */
TwCode
step_bind(Frame *frame, int index)
{
	const PlanStep *step = &frame->plan->steps[index];
	StepState *state = &frame->steps[index];
	TwCode code = TW_OK;
	bool is_work = step->kind == PT_KERNEL || step->kind == PT_VENDOR || step->kind == PT_COPY;
	if (is_work && !step_has_sizes(frame, step)) {
		if (state->is_late)
			return report_no_sizes(frame, step);
		state->is_late = true;
		return TW_OK;
	}
	if (step->kind == PT_VENDOR)
		code = step_bind_vendor(frame, index);
	if (!code && is_work && step->kernel >= 0 && !state->call)
		code = bind_kernel(frame, step, state);
	if (!code && step->kind == PT_VENDOR && !state->call)
		code = step_block_weights(frame, step, state);
	state->is_bound = !code;
	state->late_version = frame->late_version;
	return code;
}

/* ---- Kernels ---- */

typedef struct KernelJob {
	Exec *exec;
	TwKernel *kernel;
	TwArgs args;
	int64_t extent, piece;
	_Atomic int64_t next;
} KernelJob;

/* Keep the finding of the piece that comes first: the sentence does not depend on threads. */
static void
run_piece(KernelJob *job, const TwArgs *args, WorkerStatus *found, int64_t begin)
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
	args.scratch = job->exec->scratch.data
	                   ? job->exec->scratch.data + (size_t)worker * job->exec->scratch_part
	                   : NULL;
	for (;;) {
		int64_t begin = atomic_fetch_add_explicit(&job->next, job->piece, memory_order_relaxed);
		if (begin >= job->extent)
			return;
		run_piece(job, &args, &job->exec->workers[worker], begin);
	}
}

static TwCode
report_status(Exec *exec, const PlanStep *step)
{
	const WorkerStatus *first = NULL;
	for (int i = 0; i < exec->threads; i++) {
		const WorkerStatus *found = &exec->workers[i];
		if (found->status.code && (!first || found->begin < first->begin))
			first = found;
	}
	if (!first)
		return TW_OK;
	long long value = first->status.value, limit = first->status.limit;
	if (first->status.code == TW_CHECK_INDEX)
		return exec_fail(exec, TW_DATA, "node \"%.200s\": index %lld is outside 0..%lld",
		                 *step->origins ? step->origins : step->name, value, limit - 1);
	return exec_fail(exec, TW_DATA, "node \"%.200s\": check %d found %lld against %lld",
	                 *step->origins ? step->origins : step->name, (int)first->status.code, value,
	                 limit);
}

TwCode
step_run_kernel(Frame *frame, int index)
{
	Exec *exec = frame->exec;
	const PlanStep *step = &frame->plan->steps[index];
	StepState *state = &frame->steps[index];
	if (state->extent <= 0)
		return TW_OK;
	for (int i = 0; i < state->nbuffer; i++)
		state->data[i] = slot_data(frame, state->buffers[i]);
	if (state->blocked.data) /* then arguments 0 and 1 are both there */
		state->data[1] = state->blocked.data;
	bool is_small = step->flops + step->bytes > 0 && step->flops + step->bytes < SMALL_STEP;
	int width = is_small || state->extent == 1 ? 1 : exec->threads;
	int64_t pieces = (int64_t)width * PIECES_PER_WORKER;
	KernelJob job = {
		.exec = exec,
		.kernel = exec->model->kernels->table[step->kernel],
		.args = {.size = sizeof(TwArgs),
	             .abi = TW_KERNEL_ABI,
	             .buffers = state->data,
	             .strides = state->strides,
	             .symbols = state->symbols,
	             .step = index},
		.extent = state->extent,
		.piece = width == 1 ? state->extent : (state->extent + pieces - 1) / pieces,
	};
	for (int i = 0; i < exec->threads; i++)
		exec->workers[i].status.code = 0;
	exec_parallel(exec, width < state->extent ? width : (int)state->extent, run_kernel_task, &job);
	return report_status(exec, step);
}

/* ---- Copies ---- */

static void
copy_rows(size_t size, int64_t count, const unsigned char *source, int64_t source_stride,
          unsigned char *target, int64_t target_stride)
{
	if (source_stride == 1 && target_stride == 1) {
		memcpy(target, source, (size_t)count * size);
		return;
	}
	for (int64_t i = 0; i < count; i++)
		memcpy(target + i * target_stride * (int64_t)size,
		       source + i * source_stride * (int64_t)size, size);
}

void
copy_strided(size_t size, int rank, const int64_t *dims, const void *source,
             const int64_t *source_strides, void *target, const int64_t *target_strides)
{
	int64_t from[PLAN_MAX_RANK], to[PLAN_MAX_RANK], at[PLAN_MAX_RANK] = {0}, dense = 1;
	const unsigned char *read = source;
	unsigned char *write = target;
	for (int i = rank - 1; i >= 0; i--) {
		from[i] = source_strides ? source_strides[i] : dense;
		to[i] = target_strides ? target_strides[i] : dense;
		dense *= dims[i];
	}
	if (dense == 0)
		return;
	if (rank == 0) {
		memcpy(write, read, size);
		return;
	}
	for (int axis = 0; axis >= 0;) {
		copy_rows(size, dims[rank - 1], read, from[rank - 1], write, to[rank - 1]);
		for (axis = rank - 2; axis >= 0; axis--) {
			read += from[axis] * (int64_t)size;
			write += to[axis] * (int64_t)size;
			if (++at[axis] < dims[axis])
				break;
			read -= dims[axis] * from[axis] * (int64_t)size;
			write -= dims[axis] * to[axis] * (int64_t)size;
			at[axis] = 0;
		}
	}
}

TwCode
step_run_copy(Frame *frame, int index)
{
	const PlanStep *step = &frame->plan->steps[index];
	int source = step->args[0], target = step->args[1];
	const PlanBuffer *from = &frame->plan->buffers[source], *to = &frame->plan->buffers[target];
	const Slot *read = &frame->slots[source], *written = &frame->slots[target];
	bool is_same = from->type == to->type && from->rank == to->rank && !from->layout && !to->layout;
	for (int i = 0; i < from->rank && is_same; i++)
		is_same = read->dims[i] == written->dims[i];
	bool is_packed = element_bytes(from->type) == 0; /* bind_view(): without gaps */
	if (!is_same)
		return exec_fail(frame->exec, TW_INTERNAL, "step '%.60s' copies between different shapes",
		                 step->name);
	if (read->bytes && (is_packed || (!read->strides && !written->strides)))
		memmove(slot_data(frame, target), slot_data(frame, source), read->bytes);
	else if (read->bytes)
		copy_strided(element_bytes(from->type), from->rank, read->dims, slot_data(frame, source),
		             read->strides, slot_data(frame, target), written->strides);
	return TW_OK;
}
