/* Sessions' executors: making frames, running steps in order, moving values in and out of slots. */
#include "runtime/exec/exec.h"

#include <stdio.h>
#include <string.h>

#include "base/clock.h"

/* ---- Errors, logs ---- */

void
error_say(TwError *error, TwCode code, const char *format, va_list args)
{
	if (!error)
		return;
	error->code = code;
	vsnprintf(error->text, sizeof error->text, format, args);
	for (char *c = error->text; *c; c++)
		if ((unsigned char)*c < ' ' || *c == 127)
			*c = '?';
}

TwCode
exec_fail(Exec *exec, TwCode code, const char *format, ...)
{
	va_list args;
	va_start(args, format);
	error_say(exec->error, code, format, args);
	va_end(args);
	return code;
}

TwCode
exec_out_of_memory(Exec *exec, size_t bytes)
{
	const Backend *backend = exec->model->backend;
	BackendReport report;
	if (backend->trouble && backend->trouble(&report))
		return exec_report(exec, &report);
	const Memory *full[] = {&exec->memory, exec->stream ? exec->stream->memory : NULL};
	static const char said[] =
		"%zu more bytes are needed; %zu of the limit of %zu bytes are in use";
	for (size_t i = 0; i < 2; i++)
		if (full[i] && full[i]->limit && bytes > full[i]->limit - full[i]->now)
			return exec_fail(exec, TW_MEMORY, said, bytes, full[i]->now, full[i]->limit);
	return exec_fail(exec, TW_MEMORY, "out of memory (%zu bytes asked for)", bytes);
}

void
exec_log(const ExecModel *model, const char *format, ...)
{
	char line[1024];
	if (!model->log)
		return;
	va_list args;
	va_start(args, format);
	vsnprintf(line, sizeof line, format, args);
	va_end(args);
	model->log(model->log_context, line);
}

TwCode
exec_reserve_scratch(Exec *exec, size_t bytes)
{
	return exec->model->backend->reserve(exec->stream, bytes) ? TW_OK
	                                                          : exec_out_of_memory(exec, bytes);
}

/* ---- The device and the host ---- */

Memory *
exec_memory(Exec *exec, PlanPlace place)
{
	return place == PLACE_HOST ? &exec->memory : exec->stream->memory;
}

TwCode
exec_report(Exec *exec, const BackendReport *report)
{
	if (report->step < 0)
		return exec_fail(exec, report->code, "%s", report->text);
	const PlanStep *step = exec->named[report->step];
	const char *node = step->origins && *step->origins ? step->origins : step->name;
	long long value = report->status.value, limit = report->status.limit;
	if (report->code != TW_DATA)
		return exec_fail(exec, report->code, "node \"%.200s\": %s", node, report->text);
	if (report->status.code == TW_CHECK_INDEX)
		return exec_fail(exec, TW_DATA, "node \"%.200s\": index %lld is outside 0..%lld", node,
		                 value, limit - 1);
	return exec_fail(exec, TW_DATA,
	                 "node \"%.200s\": check %d failed: the value is %lld, the limit %lld", node,
	                 (int)report->status.code, value, limit);
}

TwCode
exec_await(Exec *exec)
{
	BackendReport report;
	if (exec->model->backend->wait(exec->stream, exec->mark, &report))
		return TW_OK;
	return exec_report(exec, &report);
}

TwCode
exec_finish(Exec *exec)
{
	exec->mark = exec->model->backend->mark(exec->stream);
	return exec_await(exec);
}

TwCode
exec_end(Exec *exec)
{
	if (!exec->is_async)
		return exec_finish(exec);
	exec->mark = exec->model->backend->mark(exec->stream);
	return TW_OK;
}

TwCode
exec_reserve(Exec *exec, PlanPlace place, Block *block, size_t bytes)
{
	bool is_enough = block->data && bytes <= block->capacity;
	TwCode code = is_enough || place == PLACE_DEVICE ? TW_OK : exec_await(exec);
	if (code || block_reserve(exec_memory(exec, place), block, bytes))
		return code;
	return exec_out_of_memory(exec, bytes);
}

TwCode
exec_copy(Exec *exec, BackendCopy *copy)
{
	const Backend *backend = exec->model->backend;
	BackendReport report;
	bool is_recording = exec->capture.is_recording; /* replayed, it has its turn in the stream */
	TwCode code = copy->from == PLACE_HOST && !is_recording ? exec_await(exec) : TW_OK;
	if (code)
		return code;
	copy->step = exec->step;
	if (copy->from == PLACE_HOST && copy->to == PLACE_HOST)
		copy_strided(copy->size, copy->rank, copy->dims, copy->source, copy->source_strides,
		             copy->target, copy->target_strides);
	else if (!backend->copy(exec->stream, copy, &report))
		return exec_report(exec, &report);
	else if (copy->to == PLACE_HOST && !is_recording)
		exec->mark = backend->mark(exec->stream);
	return TW_OK;
}

TwCode
exec_copy_bytes(Exec *exec, size_t bytes, PlanPlace from, const void *source, PlanPlace to,
                void *target)
{
	int64_t count = (int64_t)bytes;
	BackendCopy copy = {.size = 1,
	                    .rank = 1,
	                    .dims = &count,
	                    .from = from,
	                    .to = to,
	                    .source = source,
	                    .target = target};
	return bytes ? exec_copy(exec, &copy) : TW_OK;
}

TwCode
exec_copy_array(Exec *exec, const Array *array, PlanPlace from, const int64_t *strides,
                PlanPlace to, void *target, const int64_t *target_strides)
{
	BackendCopy copy = {.size = element_bytes(array->type),
	                    .rank = array->rank,
	                    .dims = array->dims,
	                    .from = from,
	                    .to = to,
	                    .source = array->data,
	                    .source_strides = strides,
	                    .target = target,
	                    .target_strides = target_strides};
	return exec_copy(exec, &copy);
}

/* ---- Frames ---- */

static Frame *frame_new(Exec *exec, const Plan *plan, Frame *outer);

static void
make_step(Frame *frame, const PlanStep *step, StepState *state)
{
	Pile *pile = &frame->exec->pile;
	size_t nargs = (size_t)step->narg;
	int *buffers = pile_alloc(pile, nargs, sizeof *buffers);
	state->data = pile_alloc(pile, nargs, sizeof *state->data);
	state->symbols = pile_alloc(pile, (size_t)step->nsymbol, sizeof *state->symbols);
	state->bodies = pile_alloc(pile, (size_t)step->nbody, sizeof *state->bodies);
	if (pile->is_out)
		return;
	for (int i = 0; i < step->narg; i++)
		if (step->args[i] >= 0)
			buffers[state->nbuffer++] = step->args[i];
	state->buffers = buffers;
	state->number = frame->exec->nnamed++;
	frame->exec->named[state->number] = step;
	if (step->covered_by >= 0)
		frame->steps[step->covered_by].covers = true;
	if (step->kind == PT_VENDOR) {
		state->calls = pile_alloc(pile, 1, sizeof *state->calls);
		if (state->calls)
			state->calls->vendor = vendors_find(&frame->exec->model->vendors, step->library);
	} else if (step->kind != PT_KERNEL) {
		state->arrays = pile_alloc(pile, 2 * nargs, sizeof *state->arrays);
		state->dense = pile_alloc(pile, nargs, sizeof *state->dense);
		state->carried = pile_alloc(pile, nargs, sizeof *state->carried);
	}
	if (step->kind == PT_HOST)
		host_step_make(frame->exec, step, state);
	for (int i = 0; i < step->nbody; i++)
		state->bodies[i] = frame_new(frame->exec, step->bodies[i], frame);
}

static void
make_slot(Frame *frame, const PlanBuffer *buffer, Slot *slot)
{
	Pile *pile = &frame->exec->pile;
	slot->dims = pile_alloc(pile, (size_t)buffer->rank, sizeof *slot->dims);
	slot->root = &frame->slots[plan_root(frame->plan, (int)(slot - frame->slots))];
	if (buffer->kind == PB_VIEW && buffer->strides)
		slot->strides = pile_alloc(pile, (size_t)buffer->rank, sizeof *slot->strides);
	if (buffer->kind == PB_WEIGHT) {
		const ExecModel *model = frame->exec->model;
		bool is_here = buffer->place == PLACE_HOST;
		const unsigned char *here = weights_at(model->weights, buffer->offset);
		is_here = is_here || model->held == model->weights->plain.data;
		slot->data = (unsigned char *)(uintptr_t)(is_here ? here : model->held + buffer->offset);
		slot->constant = here;
	}
}

/* Own symbols by the step before which they are read, in their order; who tells them. */
static void
sort_symbols(Frame *frame)
{
	const Plan *plan = frame->plan;
	const PlanSymbol *symbols = plan->symbols;
	int own = frame->outer ? frame->outer->plan->nsymbol : 0, *from = frame->late_from;
	for (int i = own; i < plan->nsymbol; i++)
		if (symbols[i].source != PS_INPUT)
			from[symbols[i].step]++;
	for (int step = 0; step <= plan->nstep; step++)
		from[step + 1] += from[step]; /* where each step's end */
	for (int i = plan->nsymbol - 1; i >= own; i--) {
		if (symbols[i].source != PS_INPUT)
			frame->late[--from[symbols[i].step]] = i;
		if (symbols[i].source == PS_OUTPUT)
			frame->steps[symbols[i].step - 1].tells = true;
	}
}

/* A frame for a plan and frames for its nested plans, of use unless the pile is out. What it holds
 * beyond the pile is freed by frame_close(). */
static Frame *
frame_new(Exec *exec, const Plan *plan, Frame *outer)
{
	Pile *pile = &exec->pile;
	Frame *frame = pile_alloc(pile, 1, sizeof *frame);
	size_t nbuffer = (size_t)plan->nbuffer, nstep = (size_t)plan->nstep;
	if (!frame)
		return NULL;
	*frame = (Frame){.exec = exec, .plan = plan, .outer = outer};
	frame->depth = outer ? outer->depth + 1 : 0;
	frame->symbols = pile_alloc(pile, (size_t)plan->nsymbol, sizeof *frame->symbols);
	frame->dims = pile_alloc(pile, (size_t)plan->ndim, sizeof *frame->dims);
	frame->dim_is_late = pile_alloc(pile, (size_t)plan->ndim, sizeof *frame->dim_is_late);
	frame->late = pile_alloc(pile, (size_t)plan->nsymbol, sizeof *frame->late);
	frame->late_from = pile_alloc(pile, nstep + 2, sizeof *frame->late_from);
	frame->slots = pile_alloc(pile, nbuffer, sizeof *frame->slots);
	frame->size = pile_alloc(pile, nbuffer, sizeof *frame->size);
	frame->offset = pile_alloc(pile, nbuffer, sizeof *frame->offset);
	frame->steps = pile_alloc(pile, nstep, sizeof *frame->steps);
	if (pile->is_out)
		return frame;
	sort_symbols(frame);
	for (int i = 0; i < plan->nbuffer; i++)
		make_slot(frame, &plan->buffers[i], &frame->slots[i]);
	for (int i = 0; i < plan->nstep; i++)
		make_step(frame, &plan->steps[i], &frame->steps[i]);
	return frame;
}

static void
frame_close(Frame *frame)
{
	if (!frame || !frame->steps)
		return;
	const Backend *backend = frame->exec->model->backend;
	for (int i = 0; i < frame->plan->nbuffer; i++)
		block_free(&frame->slots[i].own);
	for (int i = 0; i < frame->plan->nstep; i++) {
		StepState *state = &frame->steps[i];
		if (state->calls)
			call_cache_free(frame->exec, state->calls);
		if (state->held)
			backend->drop(state->held);
		block_free(&state->blocked);
		for (int j = 0; state->carried && j < frame->plan->steps[i].narg; j++) {
			block_free(&state->dense[j]);
			block_free(&state->carried[j].block[0]);
			block_free(&state->carried[j].block[1]);
		}
		for (int j = 0; state->bodies && j < frame->plan->steps[i].nbody; j++)
			frame_close(state->bodies[j]);
	}
	for (int i = 0; i < PLAN_PLACES; i++)
		block_free(&frame->arena[i]);
}

/* Steps of a plan and those nested in it. */
static size_t
count_steps(const Plan *plan)
{
	size_t count = (size_t)plan->nstep;
	for (int i = 0; i < plan->nstep; i++)
		for (int j = 0; j < plan->steps[i].nbody; j++)
			count += count_steps(plan->steps[i].bodies[j]);
	return count;
}

TwCode
exec_open(Exec *exec)
{
	const ExecModel *model = exec->model;
	exec->named = pile_alloc(&exec->pile, count_steps(model->plan), sizeof *exec->named);
	exec->stream = model->backend->open(model->code, &exec->workers, &exec->memory);
	capture_open(exec);
	loans_open(exec);
	exec->main = exec->stream ? frame_new(exec, model->plan, NULL) : NULL;
	bool is_made = exec->stream && !exec->pile.is_out;
	BackendReport report;
	if (!exec->stream && model->backend->trouble && model->backend->trouble(&report))
		return exec_report(exec, &report);
	return is_made ? TW_OK : exec_fail(exec, TW_MEMORY, "out of memory for a session");
}

void
exec_close(Exec *exec)
{
	exec->error = NULL; /* that of the last call may be gone */
	if (exec->stream)
		exec_finish(exec);
	capture_drop(exec);
	frame_close(exec->main);
	for (int i = 0; i < HOST_BLOCKS; i++)
		block_free(&exec->host_scratch.blocks[i]);
	block_free(&exec->nothing);
	exec->model->backend->close(exec->stream);
	pile_free(&exec->pile);
}

/* ---- Slots ---- */

void *
slot_data(const Frame *frame, int buffer)
{
	if (buffer < 0)
		return NULL;
	const Slot *slot = &frame->slots[buffer];
	unsigned char *data = slot->root->data;
	return data ? data + slot->view_offset : NULL;
}

const void *
slot_constant(const Frame *frame, int buffer)
{
	const Slot *slot = &frame->slots[buffer];
	const unsigned char *constant = slot->root->constant;
	return constant ? constant + slot->view_offset : NULL;
}

size_t
slot_storage(const Frame *frame, int buffer)
{
	const PlanBuffer *described = &frame->plan->buffers[buffer];
	int64_t bytes = (int64_t)frame->slots[buffer].bytes;
	int64_t placed = described->kind == PB_TEMP ? frame->dims[described->size_dim] : bytes;
	return (size_t)(placed > bytes ? placed : bytes);
}

TwCode
slot_prepare(Frame *frame, int buffer)
{
	Slot *slot = buffer < 0 ? NULL : frame->slots[buffer].root;
	if (!slot || !slot->is_own)
		return TW_OK;
	Exec *exec = frame->exec;
	int root = (int)(slot - frame->slots);
	const PlanBuffer *described = &frame->plan->buffers[root];
	if (!slot->has_dims)
		return exec_fail(exec, TW_INTERNAL, "the size of '%.60s' is not known when it is written",
		                 described->name);
	if (slot->bound) {
		if (slot->bound_bytes < slot->bytes)
			return exec_fail(exec, TW_MEMORY,
			                 "the memory bound to output '%.60s' has %zu bytes "
			                 "and %zu are needed",
			                 described->name, slot->bound_bytes, slot->bytes);
		slot->data = slot->bound;
		return TW_OK;
	}
	TwCode code = exec_reserve(exec, described->place, &slot->own, slot_storage(frame, root));
	slot->data = slot->own.data;
	return code;
}

static bool
dims_agree(int rank, const int64_t *a, const int64_t *b)
{
	return rank == 0 || memcmp(a, b, (size_t)rank * sizeof *a) == 0;
}

static size_t
array_size(const Array *array)
{
	size_t bytes = 0;
	int64_t count = dims_count(array->rank, array->dims);
	if (array->type == DT_STRING)
		return (size_t)count * sizeof(char *);
	dtype_bytes(array->type, count, &bytes);
	return bytes;
}

TwCode
slot_shape(Frame *frame, int buffer, const Array *array, const PlanStep *step)
{
	const PlanBuffer *described = &frame->plan->buffers[buffer];
	Slot *slot = &frame->slots[buffer];
	if (array->type != described->type || array->rank != described->rank)
		return exec_fail(frame->exec, TW_INTERNAL, "step '%.60s' gave %s of rank %d for '%.60s'",
		                 step->name, dtype_name(array->type), array->rank, described->name);
	if (slot->is_late && described->kind != PB_VIEW &&
	    frame->steps[step - frame->plan->steps].tells) {
		if (array->rank)
			memcpy(slot->dims, array->dims, (size_t)array->rank * sizeof *slot->dims);
		slot->has_dims = slot_measure(described, slot->dims, &slot->bytes);
	}
	if (!slot->has_dims || !dims_agree(array->rank, slot->dims, array->dims))
		return exec_fail(frame->exec, TW_DATA,
		                 "node \"%.100s\": the result '%.60s' has not the "
		                 "size that was computed for it",
		                 step->origins, described->name);
	return TW_OK;
}

TwCode
slot_take(Frame *frame, int buffer, const Array *array, PlanPlace from, const PlanStep *step)
{
	const Slot *slot = &frame->slots[buffer];
	PlanPlace to = frame->plan->buffers[buffer].place;
	TwCode code = slot_shape(frame, buffer, array, step);
	if (!code)
		code = slot_prepare(frame, buffer);
	void *data = slot_data(frame, buffer);
	if (code || data == array->data)
		return code;
	if (!slot->strides)
		return exec_copy_bytes(frame->exec, array_size(array), from, array->data, to, data);
	return exec_copy_array(frame->exec, array, from, NULL, to, data, slot->strides);
}

TwCode
slot_array(Frame *frame, StepState *state, int arg, int buffer, Array *array)
{
	*array = (Array){0};
	if (buffer < 0)
		return TW_OK;
	const PlanBuffer *described = &frame->plan->buffers[buffer];
	const Slot *slot = &frame->slots[buffer];
	*array = (Array){described->type, described->rank, slot->dims, slot_data(frame, buffer)};
	if (!slot->has_dims || (!array->data && slot->bytes))
		return exec_fail(frame->exec, TW_INTERNAL, "'%.60s' is read before it is written",
		                 described->name);
	if (!slot->strides)
		return TW_OK;
	Block *dense = &state->dense[arg];
	TwCode code = exec_reserve(frame->exec, described->place, dense, slot->bytes);
	if (!code)
		code = exec_copy_array(frame->exec, array, described->place, slot->strides,
		                       described->place, dense->data, NULL);
	array->data = dense->data;
	return code;
}

/* ---- Running ---- */

static bool
is_beside(const Plan *plan, int index)
{
	return index < plan->nstep && plan->steps[index].is_beside;
}

/* Where nobody looks on, steps that may run side by side are given together. */
TwCode
frame_step(Frame *frame, int index)
{
	Exec *exec = frame->exec;
	const Plan *plan = frame->plan;
	const Backend *backend = exec->model->backend;
	bool is_alone = !is_beside(plan, index) && !is_beside(plan, index + 1);
	if (is_alone || !backend->fork || exec->watch || exec->profile)
		return step_run(frame, index);
	if (!is_beside(plan, index))
		backend->fork(exec->stream);
	BackendReport report;
	TwCode code = step_run(frame, index);
	bool is_last = code || !is_beside(plan, index + 1);
	if (is_last && !backend->join(exec->stream, &report))
		code = exec_report(exec, &report);
	return code;
}

TwCode
frame_run(Frame *frame)
{
	const Plan *plan = frame->plan;
	TwCode code = TW_OK;
	for (int i = 0; i <= plan->nstep && !code; i++) {
		bool has_symbols = frame->late_from[i] < frame->late_from[i + 1];
		code = has_symbols ? exec_await(frame->exec) : TW_OK;
		if (!code && has_symbols)
			code = frame_bind_late(frame, i);
		if (!code && frame->exec->watch)
			code = exec_finish(frame->exec);
		if (!code && frame->exec->watch)
			code = frame->exec->watch(frame->exec->watch_context, frame, i, false);
		if (!code && i < plan->nstep)
			code = frame_step(frame, i);
	}
	if (!code && !frame->outer)
		code = exec_end(frame->exec);
	frame->is_bound = frame->is_bound && !code;
	return code;
}
