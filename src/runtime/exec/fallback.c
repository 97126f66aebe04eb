/* Fallback kernels of vendor steps: weights in blocks of output channels.
 *
 * A kernel between blocked values has channels in its lanes, and would gather weights that are
 * stored by channel. A bundle holds weights once, for the library to pack as it likes; so a session
 * that runs the fallback kernel stores them in blocks when the step is first bound, and keeps that.
 */
#include "runtime/exec/exec.h"

enum { BLOCK_MOST = 64 }; /* but for a block of all channels */

/* False where the plan asks for what cannot be. */
static bool
read_blocking(const Frame *frame, const PlanStep *step, const StepAttr *attr, Blocking *b)
{
	if (step->narg < 3 || step->args[0] < 0 || step->args[1] < 0 || attr->kind != SA_INTS ||
	    attr->count != 1 || attr->ints[0] < 1)
		return false;
	const PlanBuffer *buffer = &frame->plan->buffers[step->args[1]];
	const Slot *slot = &frame->slots[step->args[1]];
	if (buffer->rank < 1 || dtype_bits(buffer->type) % 8 || slot->bytes == 0 || slot->strides ||
	    (attr->ints[0] > BLOCK_MOST && attr->ints[0] != slot->dims[0]) ||
	    !slot_constant(frame, step->args[1]))
		return false;
	*b = blocking_of(&(Array){buffer->type, buffer->rank, slot->dims, NULL}, 0, attr->ints[0]);
	return true;
}

TwCode
step_block_weights(Frame *frame, const PlanStep *step, StepState *state)
{
	const StepAttr *attr = plan_attr(step, "fallback_weights");
	Exec *exec = frame->exec;
	Blocking b;
	if (!attr || state->held)
		return TW_OK;
	if (!read_blocking(frame, step, attr, &b))
		return exec_fail(exec, TW_DAMAGED, "step '%.60s' cannot have its weights in blocks",
		                 step->name);
	size_t bytes = (size_t)blocking_count(&b) * b.size;
	TwCode code = exec_reserve(exec, PLACE_HOST, &state->blocked, bytes);
	if (code)
		return code;
	blocking_copy(&b, slot_constant(frame, step->args[1]), state->blocked.data);
	state->held = exec->model->backend->hold((Bytes){state->blocked.data, bytes});
	return state->held ? TW_OK : exec_out_of_memory(exec, bytes);
}
