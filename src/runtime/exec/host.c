/* Steps that run host operators: functions on arrays (host/host.h).
 *
 * Results are written straight to their buffers: a function asks for memory once it knows a shape,
 * and that is where a size that depends on data becomes known. Working memory comes from blocks
 * that the session keeps from run to run.
 */
#include <string.h>

#include "host/host.h"
#include "runtime/exec/exec.h"

/* What the step needs beside the plan: the function, and attributes as it takes them. */
struct HostStep {
	const HostInfo *info;
	const Array **inputs;
	bool *is_wanted;
	Array *outputs;
	int64_t (*dims)[PLAN_MAX_RANK]; /* of outputs */
};

typedef struct HostRun {
	Frame *frame;
	const PlanStep *step;
	StepState *state;
	TwCode code; /* what went wrong in a callback */
} HostRun;

void
host_step_make(Exec *exec, const PlanStep *step, StepState *state)
{
	Pile *pile = &exec->pile;
	HostStep *host = state->host = pile_alloc(pile, 1, sizeof *host);
	size_t nargs = (size_t)step->narg;
	if (!host)
		return;
	host->info = host_find(step->row);
	host->inputs = pile_alloc(pile, nargs, sizeof *host->inputs);
	host->is_wanted = pile_alloc(pile, nargs, sizeof *host->is_wanted);
	host->outputs = pile_alloc(pile, nargs, sizeof *host->outputs);
	host->dims = pile_alloc(pile, nargs, sizeof *host->dims);
}

/* ---- Memory for the function ---- */

static void *
take_scratch(void *context, size_t bytes)
{
	HostRun *run = context;
	Exec *exec = run->frame->exec;
	HostScratch *scratch = &exec->host_scratch;
	size_t rounded = (bytes + MEMORY_ALIGN - 1) / MEMORY_ALIGN * MEMORY_ALIGN;
	if (rounded < bytes)
		return NULL;
	while (scratch->block < HOST_BLOCKS) {
		Block *block = &scratch->blocks[scratch->block];
		if (block->capacity - scratch->used >= rounded && block->data) {
			void *memory = block->data + scratch->used;
			scratch->used += rounded;
			return memory;
		}
		if (scratch->used == 0) { /* nothing of this block is in use: make it large enough */
			size_t wanted = (size_t)65536 << scratch->block;
			if ((wanted <= rounded || !block_reserve(&exec->memory, block, wanted)) &&
			    !block_reserve(&exec->memory, block, rounded))
				break;
			continue;
		}
		scratch->block++;
		scratch->used = 0;
	}
	run->code = exec_out_of_memory(exec, bytes);
	return NULL;
}

/* Where output `index` goes when it has these dims. */
static Array *
give_output(void *context, int index, DType type, int rank, const int64_t *dims)
{
	HostRun *run = context;
	Frame *frame = run->frame;
	HostStep *host = run->state->host;
	if (run->code) /* an output before this one has failed: that is what went wrong */
		return NULL;
	int arg = run->step->narg - run->step->noutput + index, buffer = run->step->args[arg];
	if (index < 0 || index >= run->step->noutput || buffer < 0 || rank > PLAN_MAX_RANK)
		return NULL;
	Array *array = &host->outputs[index];
	if (rank)
		memcpy(host->dims[index], dims, (size_t)rank * sizeof *dims);
	*array = (Array){type, rank, host->dims[index], NULL};
	run->code = slot_shape(frame, buffer, array, run->step);
	if (!run->code)
		run->code = slot_prepare(frame, buffer);
	if (run->code)
		return NULL;
	const Slot *slot = &frame->slots[buffer];
	if (slot->strides) {
		Block *dense = &run->state->dense[arg];
		PlanPlace place = frame->plan->buffers[buffer].place;
		run->code = exec_reserve(frame->exec, place, dense, slot->bytes);
		if (run->code)
			return NULL;
		array->data = dense->data;
	} else {
		array->data = slot_data(frame, buffer);
	}
	return array;
}

/* ---- Running ---- */

/* Results of strided views go from their dense form to their place; missing ones are a bug. */
static TwCode
finish_outputs(HostRun *run)
{
	const PlanStep *step = run->step;
	HostStep *host = run->state->host;
	for (int i = 0; i < step->noutput; i++) {
		int buffer = step->args[step->narg - step->noutput + i];
		if (buffer < 0)
			continue;
		if (host->outputs[i].type == DT_NONE)
			return exec_fail(run->frame->exec, TW_INTERNAL, "host operator %s gave no output %d",
			                 host->info->name, i);
		if (run->frame->slots[buffer].strides) {
			PlanPlace place = run->frame->plan->buffers[buffer].place;
			TwCode code = slot_take(run->frame, buffer, &host->outputs[i], place, step);
			if (code)
				return code;
		}
	}
	return TW_OK;
}

TwCode
step_run_host(Frame *frame, const PlanStep *step, StepState *state)
{
	Exec *exec = frame->exec;
	HostStep *host = state->host;
	HostRun run = {frame, step, state, TW_OK};
	int ninput = step->narg - step->noutput;
	if (!host->info)
		return exec_fail(exec, TW_UNSUPPORTED, "this library has no host operator '%.60s'",
		                 step->row);
	for (int i = 0; i < ninput; i++) {
		TwCode code = slot_array(frame, state, i, step->args[i], &state->arrays[i]);
		if (code)
			return code;
		host->inputs[i] = step->args[i] < 0 ? NULL : &state->arrays[i];
	}
	for (int i = 0; i < step->noutput; i++) {
		host->is_wanted[i] = step->args[ninput + i] >= 0;
		host->outputs[i] = (Array){0};
	}
	exec->host_scratch.block = 0;
	exec->host_scratch.used = 0;
	HostCall call = {
		.ninput = ninput,
		.noutput = step->noutput,
		.inputs = host->inputs,
		.is_wanted = host->is_wanted,
		.nattr = step->nattr,
		.attrs = step->attrs,
		.context = &run,
		.output = give_output,
		.scratch = take_scratch,
	};
	const char *sentence = host->info->run(&call);
	if (run.code)
		return run.code;
	if (sentence)
		return exec_fail(exec, TW_DATA, "node \"%.200s\": %.300s",
		                 *step->origins ? step->origins : step->name, sentence);
	return finish_outputs(&run);
}
