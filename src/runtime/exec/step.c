/* Steps: bound to sizes, then run; those that are kernels and copies. */
#include "runtime/exec/exec.h"

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

/* Dims of a grid or block; false where one is not a size. */
static bool
bind_axes(const Frame *frame, int count, const int *dims, int64_t axes[PLAN_AXES])
{
	bool is_sound = true;
	for (int i = 0; i < PLAN_AXES; i++) {
		axes[i] = i < count ? frame->dims[dims[i]] : count > 0;
		is_sound = is_sound && axes[i] >= 0;
	}
	return is_sound;
}

/* The furthest from its beginning that a kernel may touch what has no elements, in bytes: an index
 * from data is reported and goes on as 0, where there is no 0 either. */
static size_t
reach_of_nothing(const Frame *frame, int buffer)
{
	const PlanBuffer *described = &frame->plan->buffers[buffer];
	const Slot *slot = &frame->slots[buffer];
	int64_t dense[PLAN_MAX_RANK], reach = 1, part;
	int64_t unit = (int64_t)element_bytes(described->type), most = INT64_MAX / 4;
	if (slot->bytes > 0)
		return 0;
	plan_strides(described->rank, slot->dims, dense);
	for (int i = 0; i < described->rank; i++) {
		int64_t stride = slot->strides ? slot->strides[i] : dense[i], steps = slot->dims[i] - 1;
		if (steps > 0 && (__builtin_mul_overflow(steps, stride < 0 ? -stride : stride, &part) ||
		                  __builtin_add_overflow(reach, part, &reach)))
			return (size_t)most; /* more memory than there is */
	}
	bool is_small = !__builtin_mul_overflow(reach, unit ? unit : 1, &reach) && reach < most;
	return (size_t)(is_small ? reach : most);
}

static TwCode
reserve_nothing(Frame *frame, const StepState *state)
{
	size_t most = 0;
	for (int i = 0; i < state->nbuffer && state->extent > 0; i++) {
		size_t reach = reach_of_nothing(frame, state->buffers[i]);
		most = reach > most ? reach : most;
	}
	most = (most + MEMORY_ALIGN - 1) / MEMORY_ALIGN * MEMORY_ALIGN; /* the middle is aligned, too */
	return most ? exec_reserve(frame->exec, PLACE_DEVICE, &frame->exec->nothing, 2 * most) : TW_OK;
}

/* Kernels read weights plain. */
static TwCode
need_weights(Frame *frame, const PlanStep *step)
{
	Weights *weights = frame->exec->model->weights;
	for (int i = 0; i < step->narg; i++) {
		const void *constant = step->args[i] < 0 ? NULL : slot_constant(frame, step->args[i]);
		if (constant && !weights_need(weights, constant))
			return exec_out_of_memory(frame->exec, weights->only_packed);
	}
	return TW_OK;
}

TwCode
step_bind_kernel(Frame *frame, const PlanStep *step, StepState *state)
{
	int64_t scratch = step->scratch_dim < 0 ? 0 : frame->dims[step->scratch_dim];
	const BackendCode *loaded = frame->exec->model->code;
	if (!loaded || step->kernel >= loaded->count)
		return exec_fail(frame->exec, TW_INTERNAL, "step '%.60s' has no kernel", step->name);
	state->extent = frame->dims[step->extent_dim];
	if (scratch < 0)
		return exec_fail(frame->exec, TW_INTERNAL, "step '%.60s' has scratch of %lld bytes",
		                 step->name, (long long)scratch);
	state->shared = step->shared_dim < 0 ? 0 : frame->dims[step->shared_dim];
	if (!bind_axes(frame, step->ngrid, step->grid, state->grid) ||
	    !bind_axes(frame, step->nblock, step->block, state->block) || state->shared < 0)
		return exec_fail(frame->exec, TW_INTERNAL, "step '%.60s' has a grid that cannot be",
		                 step->name);
	for (int i = 1; i < PLAN_AXES; i++)
		if (state->grid[i] > PLAN_GRID_MOST)
			return exec_fail(
				frame->exec, TW_SHAPE,
				"step '%.60s' has %lld blocks along axis %d of its grid at these sizes, "
				"where %d is the most",
				step->name, (long long)state->grid[i], i, PLAN_GRID_MOST);
	state->scratch = (size_t)scratch;
	for (int i = 0; i < step->nsymbol; i++)
		state->symbols[i] = frame->symbols[step->symbols[i]];
	TwCode code = exec_reserve_scratch(frame->exec, state->scratch);
	if (!code)
		code = reserve_nothing(frame, state);
	if (!code)
		code = need_weights(frame, step);
	return code ? code : step_block_weights(frame, step, state);
}

/* All symbols that are due have values, but those that are computed, and still a size has none: it
 * divides by an extent that came to 0 (half of a side of 1), or overflows. */
static TwCode
report_no_sizes(Frame *frame, const PlanStep *step, int index)
{
	for (int i = 0; i < frame->plan->nsymbol; i++) {
		const PlanSymbol *symbol = &frame->plan->symbols[i];
		if (frame->symbols[i] == PLAN_UNBOUND && symbol->source != PS_DIM && symbol->step <= index)
			return exec_fail(frame->exec, TW_INTERNAL, "step '%.60s' has no sizes when it runs",
			                 step->name);
	}
	return exec_fail(frame->exec, TW_SHAPE,
	                 "node \"%.100s\": a size has no value for these inputs: it is divided by an "
	                 "extent of 0, or overflows",
	                 *step->origins ? step->origins : step->name);
}

/* What it computes and moves, where the plan says something of it. */
static void
count_work(const Frame *frame, const PlanStep *step, StepState *state)
{
	int64_t points = step->points_dim < 0 ? 0 : frame->dims[step->points_dim];
	state->flops = step->flops;
	if (points > 0 && step->points > 0)
		state->flops *= (double)points / step->points;
	state->bytes = 0;
	for (int i = 0; i < step->narg && step->flops + step->bytes > 0; i++)
		if (step->args[i] >= 0)
			state->bytes += (double)frame->slots[step->args[i]].bytes;
}

bool
step_is_covered(const Frame *frame, int index)
{
	int by = frame->plan->steps[index].covered_by;
	const StepState *call = by < 0 ? NULL : &frame->steps[by];
	return call && call->is_bound && !call->is_late && call->call && !frame->exec->watch;
}

/* Steps whose dims depend on data are bound when they run. */
TwCode
step_bind(Frame *frame, int index)
{
	const PlanStep *step = &frame->plan->steps[index];
	StepState *state = &frame->steps[index];
	int by = step->covered_by;
	bool is_asked = by >= 0 && !frame->steps[by].is_bound && !frame->steps[by].is_late;
	TwCode code = is_asked ? step_bind(frame, by) : TW_OK;
	if (code || step_is_covered(frame, index))
		return code;
	bool is_work = step->kind == PT_KERNEL || step->kind == PT_VENDOR || step->kind == PT_COPY;
	if (is_work && !step_has_sizes(frame, step)) {
		if (state->is_late)
			return report_no_sizes(frame, step, index);
		state->is_late = true;
		return TW_OK;
	}
	if (is_work)
		count_work(frame, step, state);
	if (step->kind == PT_VENDOR)
		code = step_bind_vendor(frame, step, state);
	if (!code && is_work && step->kernel >= 0 && !state->call)
		code = step_bind_kernel(frame, step, state);
	state->is_bound = !code;
	state->late_version = frame->late_version;
	return code;
}

/* ---- Kernels ---- */

/* The blocks that the observer asks for, and then the observer. */
static TwCode
launch_sample(Frame *frame, const PlanStep *step, BackendLaunch launch)
{
	Exec *exec = frame->exec;
	BlockSample sample = exec->sample;
	BackendReport report;
	TwCode code = TW_OK;
	exec->sample.count = 0;
	launch.extent = 1;
	for (int i = 0; i < sample.count && !code; i++) {
		launch.first = sample.blocks[i];
		if (!exec->model->backend->launch(exec->stream, &launch, &report))
			code = exec_report(exec, &report);
	}
	if (!code)
		code = exec_finish(exec);
	int index = (int)(step - frame->plan->steps);
	return code ? code : exec->watch(exec->watch_context, frame, index, true);
}

TwCode
step_run_kernel(Frame *frame, const PlanStep *step, StepState *state)
{
	Exec *exec = frame->exec;
	if (state->extent <= 0)
		return TW_OK;
	for (int i = 0; i < state->nbuffer; i++)
		state->data[i] = frame->slots[state->buffers[i]].bytes > 0
		                     ? slot_data(frame, state->buffers[i])
		                     : exec->nothing.data + exec->nothing.capacity / 2;
	if (state->held) /* then arguments 0 and 1 are both there */
		state->data[1] = state->held;
	BackendLaunch launch = {
		.step = state->number,
		.kernel = step->kernel,
		.extent = state->extent,
		.work = state->flops + state->bytes,
		.grid = state->grid,
		.block = state->block,
		.shared = state->shared,
		.nbuffer = state->nbuffer,
		.nsymbol = step->nsymbol,
		.buffers = state->data,
		.symbols = state->symbols,
	};
	if (exec->sample.count)
		return launch_sample(frame, step, launch);
	BackendReport report;
	bool is_done = exec->model->backend->launch(exec->stream, &launch, &report);
	return is_done ? TW_OK : exec_report(exec, &report);
}

/* ---- Copies ---- */

TwCode
step_run_copy(Frame *frame, const PlanStep *step, StepState *state)
{
	(void)state;
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
	if (slot_data(frame, source) == slot_data(frame, target)) /* lent (loan.c) */
		return TW_OK;
	bool is_dense = is_packed || (!read->strides && !written->strides);
	if (is_dense)
		return exec_copy_bytes(frame->exec, read->bytes, from->place, slot_data(frame, source),
		                       to->place, slot_data(frame, target));
	const Array array = {from->type, from->rank, read->dims, slot_data(frame, source)};
	return read->bytes ? exec_copy_array(frame->exec, &array, from->place, read->strides, to->place,
	                                     slot_data(frame, target), written->strides)
	                   : TW_OK;
}

/* ---- Any step ---- */

static TwCode (*const RUN[])(Frame *frame, const PlanStep *step, StepState *state) = {
	[PT_KERNEL] = step_run_kernel, [PT_VENDOR] = step_run_vendor, [PT_HOST] = step_run_host,
	[PT_COPY] = step_run_copy,     [PT_IF] = step_run_if,         [PT_LOOP] = step_run_loop,
	[PT_SCAN] = step_run_scan,
};

static void
report_step(const Frame *frame, int index, double seconds)
{
	const PlanStep *step = &frame->plan->steps[index];
	const StepState *state = &frame->steps[index];
	const PreparedCall *call = state->call;
	TwStep report = {
		.size = sizeof report,
		.index = index,
		.depth = frame->depth,
		.name = step->name,
		.origins = step->origins,
		.kind = plan_step_words[step->kind == PT_VENDOR && !call ? PT_KERNEL : step->kind],
		.impl = call                    ? call->impl
	            : step->kind == PT_HOST ? step->row
	            : step->kernel >= 0     ? frame->plan->kernels[step->kernel]
	                                    : "",
		.seconds = seconds,
		.flops = state->flops,
		.bytes = state->bytes,
		.units = step->units ? step->units : "",
	};
	frame->exec->profile(frame->exec->profile_context, &report);
}

TwCode
step_run(Frame *frame, int index)
{
	Exec *exec = frame->exec;
	const PlanStep *step = &frame->plan->steps[index];
	StepState *state = &frame->steps[index];
	if (exec->cancel && *exec->cancel)
		return exec_fail(exec, TW_CANCELLED, "the run was cancelled before step '%.60s'",
		                 step->name);
	if (step_is_covered(frame, index))
		return TW_OK;
	double start = exec->profile ? now_seconds() : 0;
	TwCode code = TW_OK;
	if (!state->is_bound || (state->is_late && state->late_version != frame->late_version))
		code = step_bind(frame, index);
	if (!code && state->covers && !state->call)
		return TW_OK; /* the steps in its place have run */
	bool is_work = step->kind == PT_KERNEL || step->kind == PT_VENDOR || step->kind == PT_COPY;
	for (int i = step->narg - step->noutput; i < step->narg && !code; i++)
		if (is_work)
			code = slot_prepare(frame, step->args[i]);
	int outer = exec->step;
	exec->step = state->number;
	if (!code && !is_work)
		code = exec_await(exec);
	if (!code && exec->watch && state->call && step->kernel >= 0)
		code = step_show_fallback(frame, step, state);
	if (!code)
		code = RUN[step->kind](frame, step, state);
	exec->turns.work += frame->outer ? state->flops + state->bytes : 0;
	if (!code && exec->profile && (code = exec_finish(exec)) == TW_OK)
		report_step(frame, index, now_seconds() - start);
	exec->step = outer;
	return code;
}
