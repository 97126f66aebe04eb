/* Steps with nested plans: If, Loop, Scan.
 *
 * A body is a frame like the main plan's, entered with arrays for its inputs; what it captures are
 * slots of the frame around. Values carried by a loop lie in two blocks that change roles, so that
 * an iteration never writes what it reads. All blocks keep their size from run to run.
 */
#include <string.h>

#include "runtime/exec/exec.h"

/* ---- Entering a body ---- */

/* Lend the outer frame's slots to the body. */
static void
set_captures(Frame *body)
{
	for (int i = 0; i < body->plan->nbuffer; i++) {
		const PlanBuffer *buffer = &body->plan->buffers[i];
		if (buffer->kind != PB_CAPTURE)
			continue;
		body->slots[i].data = slot_data(body->outer, buffer->index);
		body->slots[i].strides = body->outer->slots[buffer->index].strides;
		body->slots[i].constant = body->outer->slots[buffer->index].constant;
	}
}

/* Bind a body's sizes; its outputs go to its own memory until told otherwise. */
static TwCode
enter_body(Frame *body, const Array *inputs, int ninput)
{
	if (ninput != body->plan->ninput)
		return exec_fail(body->exec, TW_INTERNAL, "a nested plan has %d inputs instead of %d",
		                 body->plan->ninput, ninput);
	set_captures(body);
	TwCode code = frame_bind(body, inputs);
	for (int i = 0; i < ninput && !code; i++)
		body->slots[body->plan->inputs[i]].data = inputs[i].data;
	for (int i = 0; i < body->plan->noutput; i++)
		body->slots[body->plan->outputs[i]].bound = NULL;
	return code;
}

static PlanPlace
output_place(const Frame *body, int index)
{
	return body->plan->buffers[body->plan->outputs[index]].place;
}

/* Output `index` of a body that has run. */
static TwCode
body_output(Frame *body, int index, Array *array)
{
	int buffer = body->plan->outputs[index];
	const PlanBuffer *described = &body->plan->buffers[buffer];
	const Slot *slot = &body->slots[buffer];
	*array = (Array){described->type, described->rank, slot->dims, slot->data};
	if (slot->has_dims && (slot->data || slot->bytes == 0))
		return TW_OK;
	return exec_fail(body->exec, TW_INTERNAL, "nothing was written to '%.60s'", described->name);
}

/* Let a body write its output straight to `data` when it has the size for it. */
static void
lend_output(Frame *body, int index, void *data, size_t bytes)
{
	Slot *slot = &body->slots[body->plan->outputs[index]];
	if (slot->has_dims && slot->bytes == bytes) {
		slot->bound = data;
		slot->bound_bytes = bytes;
	}
}

static TwCode
check_counts(Frame *frame, const PlanStep *step, const Plan *body, int noutput)
{
	if (body->noutput == noutput)
		return TW_OK;
	return exec_fail(frame->exec, TW_INTERNAL,
	                 "step '%.60s': a nested plan has %d outputs "
	                 "instead of %d",
	                 step->name, body->noutput, noutput);
}

static bool
array_truth(const Array *array)
{
	return array->data && *(const unsigned char *)array->data != 0;
}

/* Arguments before the outputs, as dense arrays in state->arrays. */
static TwCode
take_arguments(Frame *frame, const PlanStep *step, StepState *state)
{
	TwCode code = TW_OK;
	for (int i = 0; i < step->narg - step->noutput && !code; i++)
		code = slot_array(frame, state, i, step->args[i], &state->arrays[i]);
	return code;
}

/* ---- If ---- */

/* For who looks on: the branch that is not taken, its results dropped. It may well not work with
 * what the condition rules out; then there is nothing to see. */
static void
show_branch(Frame *body)
{
	Exec *exec = body->exec;
	TwError *error = exec->error;
	Turns turns = exec->turns; /* the run has all of its own */
	exec->error = NULL;
	if (enter_body(body, NULL, 0) == TW_OK)
		frame_run(body);
	turns.has_no_branch = exec->turns.has_no_end || exec->turns.has_no_branch;
	exec->error = error;
	exec->turns = turns;
}

TwCode
step_run_if(Frame *frame, const PlanStep *step, StepState *state)
{
	TwCode code =
		step->narg - step->noutput == 1
			? take_arguments(frame, step, state)
			: exec_fail(frame->exec, TW_INTERNAL, "step '%.60s' needs one condition", step->name);
	if (code)
		return code;
	bool is_taken = array_truth(&state->arrays[0]);
	Frame *body = state->bodies[is_taken ? 0 : 1];
	if (frame->exec->watch && !frame->exec->turns.has_no_branch)
		show_branch(state->bodies[is_taken ? 1 : 0]);
	const int *outputs = step->args + 1;
	code = check_counts(frame, step, body->plan, step->noutput);
	if (!code)
		code = enter_body(body, NULL, 0);
	for (int i = 0; i < step->noutput && !code; i++) {
		const Slot *slot = outputs[i] < 0 ? NULL : &frame->slots[outputs[i]];
		if (!slot || !slot->has_dims || slot->strides || slot->is_late)
			continue;
		code = slot_prepare(frame, outputs[i]);
		lend_output(body, i, slot_data(frame, outputs[i]), slot->bytes);
	}
	if (!code)
		code = frame_run(body);
	for (int i = 0; i < step->noutput && !code; i++) {
		Array result;
		code = body_output(body, i, &result);
		if (!code && outputs[i] >= 0)
			code = slot_take(frame, outputs[i], &result, output_place(body, i), step);
	}
	return code;
}

/* ---- Carried and collected values ---- */

/* Make `carried` hold output `index` of the body in the block that is not the value's own. */
static TwCode
carry(Frame *body, int index, Carried *carried, int parity, Array *next)
{
	Exec *exec = body->exec;
	PlanPlace place = output_place(body, index);
	Block *block = &carried->block[parity];
	Array result, *value = &result;
	size_t bytes;
	TwCode code = body_output(body, index, value);
	if (code)
		return code;
	const PlanBuffer shape = {.type = value->type, .rank = value->rank};
	if (!slot_measure(&shape, value->dims, &bytes) || value->rank > PLAN_MAX_RANK)
		return exec_fail(exec, TW_INTERNAL, "a carried value has no size");
	if (value->data != block->data) {
		code = exec_reserve(exec, place, block, bytes);
		if (!code)
			code = exec_copy_bytes(exec, bytes, place, value->data, place, block->data);
	}
	exec->turns.work += (double)bytes;
	if (value->rank)
		memmove(carried->dims, value->dims, (size_t)value->rank * sizeof *carried->dims);
	*next = (Array){value->type, value->rank, carried->dims, block->data};
	return code;
}

/* Let the body write output `index` into the block that the next iteration will read. */
static TwCode
lend_carried(Frame *body, int index, Carried *carried, int parity)
{
	const Slot *slot = &body->slots[body->plan->outputs[index]];
	Block *block = &carried->block[parity];
	if (!slot->has_dims || slot->is_late)
		return TW_OK;
	TwCode code = exec_reserve(body->exec, output_place(body, index), block, slot->bytes);
	if (!code)
		lend_output(body, index, block->data, slot->bytes);
	return code;
}

/* Make room for `bytes` where `used` are. */
static TwCode
grow(Exec *exec, PlanPlace place, Block *block, size_t used, size_t bytes)
{
	Block more = {0};
	if (block->data && bytes <= block->capacity)
		return TW_OK;
	if (bytes < block->capacity * 2)
		bytes = block->capacity * 2;
	TwCode code = exec_reserve(exec, place, &more, bytes);
	if (!code)
		code = exec_copy_bytes(exec, used, place, block->data, place, more.data);
	block_free(block);
	*block = more;
	return code;
}

/* Add one iteration's value, output `index` of the body, behind the others. */
static TwCode
collect(Frame *body, int index, const PlanStep *step, Carried *all)
{
	Exec *exec = body->exec;
	PlanPlace place = output_place(body, index);
	Array result, *value = &result;
	TwCode code = body_output(body, index, value);
	if (code)
		return code;
	size_t unit = element_bytes(value->type), bytes, used, total;
	int64_t elements = dims_count(value->rank, value->dims);
	if (all->count == 0) {
		all->rank = value->rank;
		memcpy(all->dims, value->dims, (size_t)value->rank * sizeof *all->dims);
	}
	if (unit == 0 || value->rank > PLAN_MAX_RANK - 1 || all->rank != value->rank ||
	    (value->rank &&
	     memcmp(all->dims, value->dims, (size_t)value->rank * sizeof *all->dims) != 0))
		return exec_fail(exec, TW_DATA,
		                 "node \"%.100s\": iterations gave outputs of different "
		                 "shapes",
		                 step->origins);
	if (__builtin_mul_overflow((size_t)elements, unit, &bytes) ||
	    __builtin_mul_overflow((size_t)all->count, bytes, &used) ||
	    __builtin_add_overflow(used, bytes, &total))
		return exec_out_of_memory(exec, bytes);
	exec->turns.work += (double)bytes;
	code = grow(exec, place, &all->block[0], used, total);
	if (!code)
		code = exec_copy_bytes(exec, bytes, place, value->data, place, all->block[0].data + used);
	all->count++;
	return code;
}

/* The dims of values that no iteration gave: as far as they are known outside; else 0. What an
 * earlier run told is not known any more. */
static void
take_dims_of_none(Frame *frame, const PlanStep *step, const PlanBuffer *outer, int axis,
                  Carried *all)
{
	const Plan *plan = frame->plan;
	const int *from = &frame->late_from[step - plan->steps + 1];
	for (int k = from[0]; k < from[1]; k++)
		if (plan->symbols[frame->late[k]].source == PS_OUTPUT)
			frame->symbols[frame->late[k]] = PLAN_UNBOUND;
	all->rank = outer->rank - 1;
	for (int i = 0; i < all->rank; i++) {
		int64_t dim = 0;
		plan_dim_eval(plan, outer->dims[i + (i >= axis)], frame->symbols, &dim);
		all->dims[i] = dim;
	}
}

/* Where collected values go: `buffer` of the frame, with the iterations as dim `axis`. */
typedef struct Gift {
	int buffer, output, axis; /* output: of the body */
	bool is_reversed;
} Gift;

/* Collected values as an array; without iterations its dims come from where it goes or the body. */
static TwCode
give_collected(Frame *frame, const PlanStep *step, const Frame *body, Carried *all,
               const Gift *gift)
{
	Exec *exec = frame->exec;
	const PlanBuffer *inner = &body->plan->buffers[body->plan->outputs[gift->output]];
	int64_t dims[PLAN_MAX_RANK], strides[PLAN_MAX_RANK], elements = 1;
	if (gift->buffer < 0)
		return TW_OK;
	int rank = (all->count ? all->rank : inner->rank) + 1;
	int axis = gift->axis + (gift->axis < 0 ? rank : 0);
	if (axis < 0 || axis >= rank || rank > PLAN_MAX_RANK)
		return exec_fail(exec, TW_INTERNAL, "step '%.60s' has no axis %d", step->name, axis);
	const PlanBuffer *outer = &frame->plan->buffers[gift->buffer];
	if (all->count == 0 && outer->rank == rank)
		take_dims_of_none(frame, step, outer, axis, all);
	for (int i = rank - 1; i >= 0; i--) {
		dims[i] = i == axis ? all->count : all->dims[i - (i > axis)];
		strides[i] = elements;
		elements *= i == axis || all->count == 0 ? 1 : dims[i];
	}
	strides[axis] = gift->is_reversed ? -elements : elements;
	unsigned char *data = all->block[0].data;
	Array result = {inner->type, rank, dims, data};
	if ((axis == 0 && !gift->is_reversed) || all->count == 0)
		return slot_take(frame, gift->buffer, &result, inner->place, step);
	size_t bytes = (size_t)elements * element_bytes(inner->type);
	TwCode code = exec_reserve(exec, inner->place, &all->block[1], (size_t)all->count * bytes);
	result.data = data + (gift->is_reversed ? (size_t)(all->count - 1) * bytes : 0);
	if (!code)
		code = exec_copy_array(exec, &result, inner->place, strides, inner->place,
		                       all->block[1].data, NULL);
	result.data = all->block[1].data;
	return code ? code : slot_take(frame, gift->buffer, &result, inner->place, step);
}

/* Where a carried value lies: input `index` of the body. */
static PlanPlace
carried_place(const Frame *body, int index)
{
	return body->plan->buffers[body->plan->inputs[index]].place;
}

/* ---- Iterating ---- */

/* A Loop or Scan that runs. The body's inputs are a Loop's number and condition, then what is
 * carried, then slices; its outputs a Loop's condition, then what is carried, then what is
 * collected. */
typedef struct Iteration {
	Frame *frame, *body;
	const PlanStep *step;
	StepState *state;
	int own_inputs, own_outputs; /* a Loop's */
	int ncarried, nscan, ncollected;
	int64_t length;               /* of what is cut into slices */
	Carried *carried, *collected; /* of the state's, */
	Array *values;                /* and the body's inputs */
} Iteration;

/* A step's arguments are its own (M, condition), carried, scanned, and as outputs the final values
 * of the carried, then what is collected. */
static TwCode
begin_iterating(Iteration *it)
{
	const PlanStep *step = it->step;
	Exec *exec = it->frame->exec;
	int nread = step->narg - step->noutput;
	bool is_sound = it->nscan >= (step->kind == PT_SCAN) && it->nscan <= nread;
	it->ncarried = is_sound ? nread - it->own_inputs - it->nscan : -1;
	it->ncollected = step->noutput - it->ncarried;
	if (it->ncarried < 0 || it->ncollected < 0)
		return exec_fail(exec, TW_INTERNAL, "step '%.60s' has %d arguments and %d outputs",
		                 step->name, step->narg, step->noutput);
	it->values = it->state->arrays + step->narg;
	it->carried = it->state->carried;
	it->collected = it->carried + it->ncarried + it->nscan;
	for (int i = 0; i < it->ncollected; i++)
		it->collected[i].count = 0;
	TwCode code = check_counts(it->frame, step, it->body->plan, it->own_outputs + step->noutput);
	if (!code)
		code = take_arguments(it->frame, step, it->state);
	if (!code)
		memcpy(it->values, it->state->arrays, (size_t)nread * sizeof *it->values);
	return code;
}

/* Run the body on the values, and make those of the next iteration. */
static TwCode
run_iteration(Iteration *it, int64_t number)
{
	int parity = (int)(number & 1), first = it->own_outputs;
	TwCode code = enter_body(it->body, it->values, it->own_inputs + it->ncarried + it->nscan);
	for (int i = 0; i < it->ncarried && !code; i++)
		code = lend_carried(it->body, first + i, &it->carried[i], parity);
	if (!code)
		code = frame_run(it->body);
	for (int i = 0; i < it->ncarried && !code; i++)
		code = carry(it->body, first + i, &it->carried[i], parity, &it->values[it->own_inputs + i]);
	for (int i = 0; i < it->ncollected && !code; i++)
		code = collect(it->body, first + it->ncarried + i, it->step, &it->collected[i]);
	return code;
}

/* Element `index` of a list attribute, 0 when it is not there. */
static int64_t
list_item(const PlanStep *step, const char *name, int index)
{
	const StepAttr *attr = plan_attr(step, name);
	return attr && attr->kind == SA_INTS && index < attr->count ? attr->ints[index] : 0;
}

static TwCode
give_results(Iteration *it)
{
	const PlanStep *step = it->step;
	const int *outputs = step->args + step->narg - step->noutput;
	TwCode code = TW_OK;
	for (int i = 0; i < it->ncarried && !code; i++)
		if (outputs[i] >= 0)
			code = slot_take(it->frame, outputs[i], &it->values[it->own_inputs + i],
			                 carried_place(it->body, it->own_inputs + i), step);
	for (int i = 0; i < it->ncollected && !code; i++)
		code = give_collected(
			it->frame, step, it->body, &it->collected[i],
			&(Gift){.buffer = outputs[it->ncarried + i],
		            .output = it->own_outputs + it->ncarried + i,
		            .axis = (int)list_item(step, "scan_output_axes", i),
		            .is_reversed = list_item(step, "scan_output_directions", i) != 0});
	return code;
}

/* ---- Loop ---- */

/* Whether the iteration that has run wants another. */
static TwCode
read_condition(const Iteration *it, bool *goes_on)
{
	Array result;
	TwCode code = body_output(it->body, 0, &result);
	if (!code)
		code = exec_await(it->body->exec);
	if (!code)
		*goes_on = array_truth(&result);
	return code;
}

/* What a turn has come to: also whether there may be another, where somebody has said how many a
 * run may make. A loop that makes no more of them than that by its count has an end. */
static TwCode
count_turn(Exec *exec, const PlanStep *step, int64_t limit, TwCode code)
{
	Turns *turns = &exec->turns;
	if (!exec->most.count || limit <= exec->most.count)
		return code;
	turns->count++;
	if (code ? code != TW_MEMORY || turns->has_no_end
	         : turns->count <= exec->most.count && turns->work <= exec->most.work)
		return code;
	turns->has_no_end = true;
	return exec_fail(exec, TW_CANCELLED,
	                 "node \"%.200s\": no end was seen at these inputs in %lld turns",
	                 *step->origins ? step->origins : step->name, (long long)turns->count);
}

TwCode
step_run_loop(Frame *frame, const PlanStep *step, StepState *state)
{
	Exec *exec = frame->exec;
	Iteration it = {.frame = frame,
	                .body = state->bodies[0],
	                .step = step,
	                .state = state,
	                .own_inputs = 2,
	                .own_outputs = 1};
	unsigned char condition = 1;
	int64_t number = 0;
	TwCode code = begin_iterating(&it);
	if (code)
		return code;
	bool has_limit = step->args[0] >= 0;
	bool goes_on = step->args[1] < 0 || array_truth(&it.values[1]);
	int64_t limit = has_limit ? dtype_load_i64(DT_I64, it.values[0].data, 0) : INT64_MAX;
	it.values[0] = (Array){DT_I64, 0, NULL, &number};
	it.values[1] = (Array){DT_BOOL, 0, NULL, &condition};
	for (; goes_on && number < limit && !code; number++) {
		if (exec->cancel && *exec->cancel)
			return exec_fail(exec, TW_CANCELLED, "the run was cancelled in step '%.60s'",
			                 step->name);
		code = run_iteration(&it, number);
		if (!code)
			code = read_condition(&it, &goes_on);
		if (code || goes_on)
			code = count_turn(exec, step, limit, code);
	}
	return code ? code : give_results(&it);
}

/* ---- Scan ---- */

static int
scan_axis(const PlanStep *step, const char *name, int index, int rank)
{
	int64_t axis = list_item(step, name, index);
	axis += axis < 0 ? rank : 0;
	return axis >= 0 && axis < rank ? (int)axis : -1;
}

/* Slice `number` of scan input `index` as a dense array in its block. */
static TwCode
take_slice(Iteration *it, int index, int64_t number)
{
	Exec *exec = it->frame->exec;
	const Array *whole = &it->state->arrays[it->ncarried + index];
	Carried *carried = &it->carried[it->ncarried + index];
	int64_t strides[PLAN_MAX_RANK], picked[PLAN_MAX_RANK], step = 1;
	size_t unit = element_bytes(whole->type);
	int axis = scan_axis(it->step, "scan_input_axes", index, whole->rank);
	for (int i = whole->rank - 1; i >= 0; i--) {
		strides[i] = step;
		step *= whole->dims[i];
	}
	for (int i = 0; i < whole->rank - 1; i++) {
		carried->dims[i] = whole->dims[i + (i >= axis)];
		picked[i] = strides[i + (i >= axis)];
	}
	if (list_item(it->step, "scan_input_directions", index))
		number = it->length - 1 - number;
	Array *slice = &it->values[it->ncarried + index];
	size_t bytes = (size_t)dims_count(whole->rank - 1, carried->dims) * unit;
	PlanPlace place = carried_place(it->body, it->ncarried + index);
	TwCode code = exec_reserve(exec, place, &carried->block[0], bytes);
	*slice = (Array){whole->type, whole->rank - 1, carried->dims, carried->block[0].data};
	const Array part = {slice->type, slice->rank, slice->dims,
	                    (unsigned char *)whole->data + number * strides[axis] * (int64_t)unit};
	return code || bytes == 0
	           ? code
	           : exec_copy_array(exec, &part, place, picked, place, slice->data, NULL);
}

static TwCode
check_scan(Iteration *it)
{
	const PlanStep *step = it->step;
	for (int i = 0; i < it->nscan; i++) {
		const Array *whole = &it->state->arrays[it->ncarried + i];
		int axis = scan_axis(step, "scan_input_axes", i, whole->rank);
		if (axis < 0 || element_bytes(whole->type) == 0)
			return exec_fail(it->frame->exec, TW_INTERNAL,
			                 "step '%.60s': input %d cannot be cut into slices", step->name, i);
		if (i == 0)
			it->length = whole->dims[axis];
		else if (it->length != whole->dims[axis])
			return exec_fail(it->frame->exec, TW_SHAPE,
			                 "node \"%.100s\": scan inputs have %lld and %lld slices",
			                 step->origins, (long long)it->length, (long long)whole->dims[axis]);
	}
	return TW_OK;
}

TwCode
step_run_scan(Frame *frame, const PlanStep *step, StepState *state)
{
	Iteration it = {.frame = frame, .body = state->bodies[0], .step = step, .state = state};
	it.nscan = (int)plan_attr_int(step, "num_scan_inputs", 0, 1);
	TwCode code = begin_iterating(&it);
	if (!code)
		code = check_scan(&it);
	for (int64_t number = 0; number < it.length && !code; number++) {
		for (int i = 0; i < it.nscan && !code; i++)
			code = take_slice(&it, i, number);
		if (!code)
			code = run_iteration(&it, number);
	}
	return code ? code : give_results(&it);
}
