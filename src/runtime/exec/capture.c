/* Capture: a run that needs nothing of the host is one piece of work for the device.
 *
 * Where all sizes follow from the inputs' and every step is the device's work, each run with the
 * same memory and sizes gives the same work. The first goes step by step, and makes what is made
 * when it is first needed; the second is recorded, and it and all behind it are replayed:
 *
 *     tw_prepare()  run 1: steps   run 2: record, replay   run 3: replay   …
 *     other sizes or other memory: from the beginning
 *
 * Who is to be told or asked between steps (profile, cancel, FrameWatch) gets steps.
 */
#include <string.h>

#include "runtime/exec/exec.h"

static bool
is_work(const Plan *plan, const PlanStep *step)
{
	if (step->kind == PT_COPY) /* from host to host is the host's */
		return plan->buffers[step->args[0]].place == PLACE_DEVICE ||
		       plan->buffers[step->args[1]].place == PLACE_DEVICE;
	return step->kind == PT_KERNEL || step->kind == PT_VENDOR;
}

/* No step and no symbol waits for data. */
static bool
is_whole(const Plan *plan)
{
	bool is_whole = plan->nstep > 0;
	for (int i = 0; i < plan->nsymbol; i++)
		is_whole =
			is_whole && (plan->symbols[i].source == PS_INPUT || plan->symbols[i].source == PS_DIM);
	for (int i = 0; i < plan->nstep; i++)
		is_whole = is_whole && is_work(plan, &plan->steps[i]);
	return is_whole;
}

void
capture_open(Exec *exec)
{
	const Plan *plan = exec->model->plan;
	Capture *capture = &exec->capture;
	capture->is_possible = exec->model->backend->record && is_whole(plan);
	size_t count = (size_t)plan->ninput + (size_t)plan->noutput;
	capture->bound = pile_alloc(&exec->pile, count, sizeof *capture->bound);
}

TwCode
capture_drop(Exec *exec)
{
	TwCode code = exec->capture.work ? exec_finish(exec) : TW_OK; /* it may be under way */
	if (exec->capture.work)
		exec->model->backend->forget(exec->capture.work);
	exec->capture.work = NULL;
	exec->capture.runs = 0;
	return code;
}

/* Whether memory is bound as it was in the run before; takes down how it is. */
static bool
is_bound_alike(const Frame *frame, Bytes *bound)
{
	const Plan *plan = frame->plan;
	bool is_alike = true;
	for (int i = 0; i < plan->ninput + plan->noutput; i++) {
		bool is_input = i < plan->ninput;
		const Slot *slot =
			&frame->slots[is_input ? plan->inputs[i] : plan->outputs[i - plan->ninput]];
		const Bytes now = {is_input ? slot->data : slot->bound,
		                   is_input ? slot->bytes : slot->bound_bytes};
		is_alike = is_alike && bound[i].data == now.data && bound[i].size == now.size;
		bound[i] = now;
	}
	return is_alike;
}

/* Without memory for it the recording is NULL. */
static TwCode
record(Exec *exec)
{
	const Backend *backend = exec->model->backend;
	Capture *capture = &exec->capture;
	TwCode code = TW_OK;
	if (!backend->record(exec->stream))
		return TW_OK;
	capture->is_recording = true;
	for (int i = 0; i < exec->main->plan->nstep && !code; i++)
		code = frame_step(exec->main, i);
	capture->is_recording = false;
	capture->work = backend->capture(exec->stream);
	if (code)
		capture_drop(exec);
	return code;
}

static TwCode
run_or_replay(Exec *exec)
{
	Capture *capture = &exec->capture;
	TwCode code = loans_take(exec);
	if (!code && (!capture->is_possible || exec->profile || exec->cancel || exec->watch))
		return frame_run(exec->main);
	if (!code && !is_bound_alike(exec->main, capture->bound))
		code = capture_drop(exec);
	if (!code && capture->runs && !capture->work)
		code = record(exec);
	if (!code && !capture->work) {
		code = frame_run(exec->main);
		capture->runs += !code;
		return code;
	}
	BackendReport report;
	if (!code && !exec->model->backend->replay(exec->stream, capture->work, &report))
		code = exec_report(exec, &report);
	return code ? code : exec_end(exec);
}

TwCode
exec_run(Exec *exec)
{
	exec->turns = (Turns){0};
	TwCode code = run_or_replay(exec);
	exec->main->is_bound = exec->main->is_bound && !code;
	return code;
}
