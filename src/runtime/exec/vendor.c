/* Vendor steps: calls by the sizes of their arguments, run in pieces; the fallback kernel where the
 * library has nothing real to offer.
 *
 * A step remembers the last few calls it made, so that going back to known sizes makes nothing.
 */
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/exec/exec.h"

/* ---- Libraries ---- */

static void
open_vendors(ExecModel *model, const Plan *plan)
{
	char text[300];
	for (int i = 0; i < plan->nstep; i++) {
		const PlanStep *step = &plan->steps[i];
		for (int k = 0; k < step->nbody; k++)
			open_vendors(model, step->bodies[k]);
		text[0] = 0;
		if (step->kind == PT_VENDOR &&
		    !vendors_open_to_run(&model->vendors, step->library, model->backend->enter != NULL,
		                         text, sizeof text) &&
		    text[0])
			exec_log(model, "%s: fallback kernels are used", text);
	}
}

void
model_open_vendors(ExecModel *model)
{
	open_vendors(model, model->plan);
}

/* What a library does between these is done on the model's device. */
static int
enter_device(const ExecModel *model)
{
	return model->backend->enter ? model->backend->enter(model->code) : -1;
}

static void
leave_device(const ExecModel *model, int before)
{
	if (model->backend->enter)
		model->backend->leave(before);
}

void
model_close_vendors(ExecModel *model)
{
	if (!model->backend)
		return;
	int before = enter_device(model);
	vendors_close(&model->vendors);
	leave_device(model, before);
}

/* ---- Calls by sizes ---- */

static void
drop_call(const ExecModel *model, PreparedCall *call)
{
	if (!call)
		return;
	int before = enter_device(model);
	call->library->drop(call);
	leave_device(model, before);
}

void
call_cache_free(Exec *exec, CallCache *cache)
{
	for (int i = 0; i < cache->count; i++) {
		drop_call(exec->model, cache->entries[i].call);
		memory_release(&exec->memory, cache->entries[i].key, cache->key_bytes);
	}
	cache->count = 0;
}

/* What decides a call beside the plan: dims and strides of all arguments, and where views begin. */
static size_t
key_size(const Frame *frame, const PlanStep *step)
{
	int length = 0;
	for (int i = 0; i < step->narg; i++)
		length += step->args[i] < 0 ? 0 : 1 + 2 * frame->plan->buffers[step->args[i]].rank;
	return (size_t)length * sizeof(int64_t);
}

static void
fill_key(const Frame *frame, const PlanStep *step, int64_t *key)
{
	for (int i = 0; i < step->narg; i++) {
		if (step->args[i] < 0)
			continue;
		const Slot *slot = &frame->slots[step->args[i]];
		size_t rank = (size_t)frame->plan->buffers[step->args[i]].rank;
		*key++ = slot->view_offset & (MEMORY_ALIGN - 1);
		for (size_t d = 0; d < rank; d++) {
			*key++ = slot->dims[d];
			*key++ = slot->strides ? slot->strides[d] : -1;
		}
	}
}

/* ---- Binding ---- */

static void
say_call(const ExecModel *model, const PlanStep *step, const PreparedCall *call)
{
	char made[48] = "";
	if (call->seconds > 0)
		snprintf(made, sizeof made, ", made in %.1f ms", call->seconds * 1e3);
	exec_log(model, "step '%.60s': %s%s", step->name, call->impl, made);
}

/* Make the pending call of a step. Touches nothing of the session but the step's own cache. */
static void
fill_entry(Frame *frame, const PlanStep *step, CallCache *cache)
{
	VendorArg tensors[VENDOR_MAX_ARGS] = {{0}};
	CallEntry *entry = &cache->entries[0];
	cache->refusal[0] = 0;
	cache->is_said = false;
	if (step->narg > VENDOR_MAX_ARGS)
		snprintf(cache->refusal, sizeof cache->refusal, "it has more than %d arguments",
		         VENDOR_MAX_ARGS);
	for (int i = 0; i < step->narg && !cache->refusal[0]; i++) {
		if (step->args[i] < 0)
			continue;
		const PlanBuffer *buffer = &frame->plan->buffers[step->args[i]];
		const Slot *slot = &frame->slots[step->args[i]];
		tensors[i] = (VendorArg){.type = buffer->type,
		                         .rank = buffer->rank,
		                         .dims = slot->dims,
		                         .strides = slot->strides,
		                         .layout = buffer->layout,
		                         .offset = slot->view_offset & (MEMORY_ALIGN - 1),
		                         .constant = slot_constant(frame, step->args[i])};
	}
	const VendorCall desc = {step->library, step->row,   step->narg,
	                         tensors,       step->nattr, step->attrs};
	int before = enter_device(frame->exec->model);
	if (!cache->refusal[0])
		entry->call = cache->vendor->library->prepare(cache->vendor, &desc, cache->refusal,
		                                              sizeof cache->refusal);
	leave_device(frame->exec->model, before);
	entry->is_refused = !entry->call;
	if (entry->call && frame->exec->model->says_calls)
		say_call(frame->exec->model, step, entry->call);
}

/* Whether the first entry is new: neither made nor refused. */
static bool
is_pending(const CallCache *cache)
{
	return !cache->entries[0].call && !cache->entries[0].is_refused;
}

/* Find the entry for the sizes bound now, or begin a new one, and make it the first. When all are
 * taken the oldest goes, once it has run. */
static TwCode
find_entry(Frame *frame, const PlanStep *step, CallCache *cache)
{
	Exec *exec = frame->exec;
	size_t bytes = cache->key_bytes = key_size(frame, step);
	CallEntry first = {.key = memory_alloc(&exec->memory, bytes)}, gone = {0};
	TwCode code = first.key ? TW_OK : exec_out_of_memory(exec, bytes);
	if (code)
		return code;
	fill_key(frame, step, first.key);
	int found = 0;
	while (found < cache->count && memcmp(cache->entries[found].key, first.key, bytes) != 0)
		found++;
	if (found == VENDOR_CALLS && (code = exec_finish(exec)) != TW_OK) {
		memory_release(&exec->memory, first.key, bytes);
		return code;
	}
	if (found == VENDOR_CALLS) {
		gone = cache->entries[--found];
	} else if (found < cache->count) {
		gone.key = first.key;
		first = cache->entries[found];
	} else {
		cache->count++;
	}
	memmove(&cache->entries[1], cache->entries, (size_t)found * sizeof first);
	cache->entries[0] = first;
	drop_call(exec->model, gone.call);
	memory_release(&exec->memory, gone.key, bytes);
	return TW_OK;
}

/* Use the first entry. */
static TwCode
take_entry(Frame *frame, const PlanStep *step, StepState *state)
{
	Exec *exec = frame->exec;
	CallCache *cache = state->calls;
	state->call = cache->entries[0].call;
	if (state->call)
		return exec_reserve_scratch(exec, state->call->scratch);
	if (step->kernel < 0 && !state->covers)
		return exec_fail(exec, TW_DEVICE, "step '%.60s' cannot run: %s", step->name,
		                 cache->refusal);
	if (!cache->is_said)
		exec_log(exec->model, "step '%.60s' runs %s: %s", step->name,
		         state->covers ? "the steps in its place" : "its fallback kernel", cache->refusal);
	cache->is_said = true;
	return TW_OK;
}

TwCode
step_bind_vendor(Frame *frame, const PlanStep *step, StepState *state)
{
	state->call = NULL;
	if (!state->calls->vendor) {
		if (step->kernel >= 0 || state->covers)
			return TW_OK;
		return exec_fail(frame->exec, TW_DEVICE,
		                 "step '%.60s' needs the vendor library %.40s, which is not loaded",
		                 step->name, step->library);
	}
	TwCode code = find_entry(frame, step, state->calls);
	if (!code && is_pending(state->calls))
		fill_entry(frame, step, state->calls);
	return code ? code : take_entry(frame, step, state);
}

typedef struct MakeJob {
	Frame *frame;
	_Atomic int next;
} MakeJob;

static void
make_calls_task(void *arg, int worker)
{
	MakeJob *job = arg;
	(void)worker;
	for (;;) {
		int index = atomic_fetch_add_explicit(&job->next, 1, memory_order_relaxed);
		if (index >= job->frame->plan->nstep)
			return;
		StepState *state = &job->frame->steps[index];
		if (state->calls && state->calls->count && is_pending(state->calls))
			fill_entry(job->frame, &job->frame->plan->steps[index], state->calls);
	}
}

TwCode
frame_make_calls(Frame *frame)
{
	TwCode code = TW_OK;
	int pending = 0;
	for (int i = 0; i < frame->plan->nstep && !code; i++) {
		const PlanStep *step = &frame->plan->steps[i];
		if (step->kind != PT_VENDOR || !frame->steps[i].calls->vendor || step->covered_by >= 0 ||
		    !step_has_sizes(frame, step))
			continue;
		code = find_entry(frame, step, frame->steps[i].calls);
		pending += !code && is_pending(frame->steps[i].calls);
	}
	MakeJob job = {.frame = frame};
	if (!code && pending)
		workers_run(&frame->exec->workers, pending, make_calls_task, &job);
	return code;
}

/* ---- Running ---- */

TwCode
step_show_fallback(Frame *frame, const PlanStep *step, StepState *state)
{
	Exec *exec = frame->exec;
	int index = (int)(step - frame->plan->steps);
	TwCode code = step_bind_kernel(frame, step, state);
	if (!code)
		code = step_run_kernel(frame, step, state);
	if (!code)
		code = exec_finish(exec);
	return code ? code : exec->watch(exec->watch_context, frame, index, true);
}

TwCode
step_run_vendor(Frame *frame, const PlanStep *step, StepState *state)
{
	Exec *exec = frame->exec;
	if (!state->call)
		return step_run_kernel(frame, step, state);
	for (int i = 0; i < step->narg; i++)
		state->data[i] = slot_data(frame, step->args[i]);
	const BackendCall call = {.step = state->number,
	                          .call = state->call,
	                          .work = state->flops + state->bytes,
	                          .nbuffer = step->narg,
	                          .buffers = state->data};
	BackendReport report;
	bool is_done = exec->model->backend->call(exec->stream, &call, &report);
	return is_done ? TW_OK : exec_report(exec, &report);
}
