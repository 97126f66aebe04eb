/* Fallback kernels of vendor steps: weights in blocks of output channels.
 *
 * A kernel between blocked values has channels in its lanes, and would gather weights that are
 * stored by channel. A bundle holds weights once, for the library to pack as it likes; so a session
 * that runs the fallback kernel stores them in blocks when the step is first bound, and keeps that.
 */
#include <string.h>

#include "runtime/exec.h"

enum { BLOCK_MOST = 64 };

typedef struct Blocking {
	size_t size;             /* of an element */
	int64_t channels, count; /* output channels, elements of each */
	int64_t block, nblock;
} Blocking;

/* out[o/b][i][o%b] = in[o][i] */
static void
block_elements(const Blocking *b, const unsigned char *in, unsigned char *out)
{
	for (int64_t o = 0; o < b->channels; o++) {
		unsigned char *to =
			out + (size_t)(o / b->block * b->count * b->block + o % b->block) * b->size;
		for (int64_t i = 0; i < b->count; i++, in += b->size, to += (size_t)b->block * b->size)
			memcpy(to, in, b->size);
	}
}

static const PlanAttr *
find_attr(const PlanStep *step, const char *name)
{
	for (int i = 0; i < step->nattr; i++)
		if (strcmp(step->attrs[i].name, name) == 0)
			return &step->attrs[i];
	return NULL;
}

/* False where the plan asks for what cannot be. */
static bool
read_blocking(const Frame *frame, const PlanStep *step, const PlanAttr *attr, Blocking *b)
{
	if (step->narg < 3 || step->args[0] < 0 || step->args[1] < 0 || attr->kind != PA_INTS ||
	    attr->count != 1 || attr->ints[0] < 1 || attr->ints[0] > BLOCK_MOST)
		return false;
	const PlanBuffer *buffer = &frame->plan->buffers[step->args[1]];
	const Slot *slot = &frame->slots[step->args[1]];
	int64_t bits = dtype_bits(buffer->type);
	*b = (Blocking){.size = (size_t)bits / 8, .count = 1, .block = attr->ints[0]};
	if (buffer->rank < 1 || bits % 8 || slot->bytes == 0)
		return false;
	b->channels = slot->dims[0];
	for (int d = 1; d < buffer->rank; d++) /* no overflow: the elements are there */
		b->count *= slot->dims[d];
	b->nblock = (b->channels + b->block - 1) / b->block;
	return !slot->strides;
}

TwCode
step_block_weights(Frame *frame, const PlanStep *step, StepState *state)
{
	const PlanAttr *attr = find_attr(step, "fallback_weights");
	Exec *exec = frame->exec;
	Blocking b;
	if (!attr || state->blocked.data)
		return TW_OK;
	if (!read_blocking(frame, step, attr, &b))
		return exec_fail(exec, TW_DAMAGED, "step '%.60s' cannot have its weights in blocks",
		                 step->name);
	size_t bytes = (size_t)(b.nblock * b.count * b.block) * b.size;
	if (!block_reserve(&exec->memory, &state->blocked, bytes))
		return exec_out_of_memory(exec, bytes);
	memset(state->blocked.data, 0, bytes);
	block_elements(&b, slot_data(frame, step->args[1]), state->blocked.data);
	state->weights = 1;
	return TW_OK;
}
