/* Binding sizes: from the dims of inputs to the values of symbols and dims, slots and placements.
 *
 * A binding stays until other dims come: binding the same ones again only compares them. What is
 * "late" depends on data; it is bound while the plan runs and looked at again only when one of its
 * symbols has changed.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/exec/exec.h"

size_t
element_bytes(DType type)
{
	return type == DT_STRING ? sizeof(char *) : (size_t)dtype_bits(type) / 8;
}

bool
slot_measure(const PlanBuffer *buffer, const int64_t *dims, size_t *bytes)
{
	int64_t count = dims_count(buffer->rank, dims);
	if (count < 0)
		return false;
	if (buffer->type == DT_STRING)
		return !__builtin_mul_overflow((size_t)count, sizeof(char *), bytes);
	return dtype_bytes(buffer->type, count, bytes);
}

/* "[1,3,224,224]" */
static const char *
shape_text(int rank, const int64_t *dims, char *text, size_t size)
{
	size_t used = (size_t)snprintf(text, size, "[");
	for (int i = 0; i < rank && used < size; i++)
		used +=
			(size_t)snprintf(text + used, size - used, i ? ",%lld" : "%lld", (long long)dims[i]);
	if (used < size)
		snprintf(text + used, size - used, "]");
	return text;
}

/* ---- Symbols ---- */

/* Mark what the marked buffers are computed from. */
static void
mark_behind(const Plan *plan, bool *is_behind)
{
	for (int s = plan->nstep - 1; s >= 0; s--) {
		const PlanStep *step = &plan->steps[s];
		bool makes = false;
		for (int k = step->narg - step->noutput; k < step->narg; k++)
			makes |= step->args[k] >= 0 && is_behind[plan_root(plan, step->args[k])];
		for (int k = 0; makes && k < step->narg - step->noutput; k++)
			if (step->args[k] >= 0)
				is_behind[plan_root(plan, step->args[k])] = true;
	}
}

/* ", computed from 'a', 'b'": the inputs behind a buffer of the main plan that is none; else "". */
static const char *
inputs_text(const Plan *plan, int buffer, char *text, size_t size)
{
	size_t used = 0;
	int root = plan_root(plan, buffer);
	bool is_given = plan->parent || plan->buffers[root].kind == PB_INPUT;
	bool *is_behind = is_given ? NULL : calloc((size_t)plan->nbuffer, sizeof *is_behind);
	text[0] = 0;
	if (!is_behind)
		return text;
	is_behind[root] = true;
	mark_behind(plan, is_behind);
	for (int i = 0; i < plan->ninput && used < size; i++)
		if (is_behind[plan->inputs[i]])
			used += (size_t)snprintf(text + used, size - used, "%s'%.40s'",
			                         used ? ", " : ", computed from ",
			                         plan->buffers[plan->inputs[i]].name);
	free(is_behind);
	return text;
}

static TwCode
set_symbol(Frame *frame, int index, int64_t value)
{
	const PlanSymbol *symbol = &frame->plan->symbols[index];
	char inputs[300] = "";
	bool is_size = symbol->source == PS_DIM;
	if (symbol->lo == PLAN_CLAMPED) {
		value = value < symbol->lo ? symbol->lo : value;
		value = value > symbol->hi ? symbol->hi : value;
	}
	if (value >= symbol->lo && value <= symbol->hi) {
		frame->symbols[index] = value;
		return TW_OK;
	}
	return exec_fail(frame->exec, symbol->source == PS_INPUT ? TW_SHAPE : TW_DATA,
	                 "%s is %lld (from %.60s%s), outside %lld..%lld", symbol->name,
	                 (long long)value,
	                 is_size ? "a computed size" : frame->plan->buffers[symbol->buffer].name,
	                 is_size ? "" : inputs_text(frame->plan, symbol->buffer, inputs, sizeof inputs),
	                 (long long)symbol->lo, (long long)symbol->hi);
}

static int
first_own_symbol(const Frame *frame)
{
	return frame->outer ? frame->outer->plan->nsymbol : 0;
}

/* Symbols that follow from inputs' dims alone. */
static TwCode
bind_early_symbols(Frame *frame, const Array *inputs)
{
	const Plan *plan = frame->plan;
	int own = first_own_symbol(frame);
	TwCode code = TW_OK;
	if (own)
		memcpy(frame->symbols, frame->outer->symbols, (size_t)own * sizeof *frame->symbols);
	for (int i = own; i < plan->nsymbol && !code; i++) {
		const PlanSymbol *symbol = &plan->symbols[i];
		frame->symbols[i] = PLAN_UNBOUND;
		if (symbol->source == PS_INPUT)
			code = set_symbol(frame, i,
			                  inputs[plan->buffers[symbol->buffer].index].dims[symbol->index]);
	}
	for (int i = own; i < plan->nsymbol && !code; i++) {
		int64_t value;
		if (plan->symbols[i].source == PS_DIM && plan->symbols[i].step == 0 &&
		    plan_dim_eval(plan, plan->symbols[i].dim, frame->symbols, &value))
			code = set_symbol(frame, i, value);
	}
	return code;
}

/* ---- Dims and slots ---- */

static void
eval_dims(Frame *frame, bool only_late)
{
	for (int i = 0; i < frame->plan->ndim; i++) {
		if (only_late && !frame->dim_is_late[i])
			continue;
		bool is_known = plan_dim_eval(frame->plan, i, frame->symbols, &frame->dims[i]);
		if (!is_known)
			frame->dims[i] = PLAN_UNBOUND;
		if (!only_late)
			frame->dim_is_late[i] = !is_known;
	}
}

static bool
dim_values(const Frame *frame, int count, const int *dims, int64_t *values)
{
	bool is_known = true;
	for (int i = 0; i < count; i++) {
		values[i] = frame->dims[dims[i]];
		is_known = is_known && values[i] != PLAN_UNBOUND;
	}
	return is_known;
}

static TwCode
check_assumptions(Frame *frame)
{
	for (int i = 0; i < frame->plan->nassumption; i++) {
		const PlanAssumption *assumption = &frame->plan->assumptions[i];
		int64_t a = frame->dims[assumption->a], b = frame->dims[assumption->b];
		if (a != PLAN_UNBOUND && b != PLAN_UNBOUND && a != b)
			return exec_fail(frame->exec, TW_SHAPE, "%s must be equal, and are %lld and %lld",
			                 assumption->what, (long long)a, (long long)b);
	}
	return TW_OK;
}

/* Elements that fit into a buffer's storage, for views of it. */
static int64_t
storage_elements(const Frame *frame, int buffer)
{
	const PlanBuffer *described = &frame->plan->buffers[buffer];
	size_t unit = element_bytes(described->type);
	int64_t bytes = (int64_t)slot_storage(frame, buffer);
	if (described->kind == PB_WEIGHT)
		bytes = described->bytes;
	return unit ? bytes / (int64_t)unit : 0;
}

/* A view: where it begins and whether it stays inside. Its base has been measured. */
static TwCode
bind_view(Frame *frame, int buffer)
{
	const Plan *plan = frame->plan;
	const PlanBuffer *view = &plan->buffers[buffer];
	Slot *slot = &frame->slots[buffer];
	int root = plan_root(plan, buffer);
	size_t unit = element_bytes(view->type);
	int64_t dense[PLAN_MAX_RANK], offset = 0;
	for (int at = buffer; at != root; at = plan->buffers[at].base) {
		int64_t more = frame->dims[plan->buffers[at].offset_dim];
		if (more == PLAN_UNBOUND || __builtin_add_overflow(offset, more, &offset))
			return exec_fail(frame->exec, TW_INTERNAL, "view '%.60s' has no offset", view->name);
	}
	if (slot->strides && !dim_values(frame, view->rank, view->strides, slot->strides))
		return exec_fail(frame->exec, TW_INTERNAL, "view '%.60s' has no strides", view->name);
	plan_strides(view->rank, slot->dims, dense);
	const int64_t *strides = slot->strides ? slot->strides : dense;
	bool is_dense = true;
	for (int i = 0; i < view->rank; i++)
		is_dense &= strides[i] == dense[i] || slot->dims[i] == 1 || slot->bytes == 0;
	int64_t room = storage_elements(frame, root);
	/* Of several elements in a byte a view shows all from the first on. */
	bool is_inside = unit ? plan_view_fits(view->rank, slot->dims, strides, offset, room)
	                      : offset == 0 && is_dense && slot->bytes <= frame->slots[root].bytes;
	if (view->layout) /* strides are between blocks; the last block must fit too */
		is_inside = offset >= 0 && offset < room;
	if (!is_inside || element_bytes(plan->buffers[root].type) != unit)
		return exec_fail(frame->exec, TW_INTERNAL, "view '%.60s' reaches outside '%.60s'",
		                 view->name, plan->buffers[root].name);
	slot->view_offset = offset * (int64_t)unit;
	return TW_OK;
}

/* Measure a buffer whose dims are all known now. */
static TwCode
measure_slot(Frame *frame, int buffer)
{
	const PlanBuffer *described = &frame->plan->buffers[buffer];
	Slot *slot = &frame->slots[buffer];
	if (!slot_measure(described, slot->dims, &slot->bytes)) {
		char text[256];
		return exec_fail(frame->exec, TW_SHAPE, "'%.60s' would have shape %s", described->name,
		                 shape_text(described->rank, slot->dims, text, sizeof text));
	}
	if (described->kind == PB_WEIGHT && !described->layout &&
	    (int64_t)slot->bytes > described->bytes)
		return exec_fail(frame->exec, TW_INTERNAL, "weight '%.60s' is shorter than its shape",
		                 described->name);
	slot->has_dims = true;
	return TW_OK;
}

/* Slots whose dims are known and that are not bound yet (or are late). Bases before views. */
static TwCode
bind_slots(Frame *frame, bool only_late)
{
	const Plan *plan = frame->plan;
	for (int pass = 0; pass < 2; pass++)
		for (int i = 0; i < plan->nbuffer; i++) {
			const PlanBuffer *described = &plan->buffers[i];
			Slot *slot = &frame->slots[i];
			int64_t dims[PLAN_MAX_RANK];
			if ((described->kind == PB_VIEW) != (pass == 1) || (only_late && !slot->is_late))
				continue;
			bool is_known = dim_values(frame, described->rank, described->dims, dims);
			if (described->kind == PB_VIEW)
				is_known = is_known && frame->slots[plan_root(plan, i)].has_dims &&
				           frame->dims[described->offset_dim] != PLAN_UNBOUND;
			if (!only_late) {
				slot->is_late = !is_known;
				slot->has_dims = false;
			}
			if (!is_known)
				continue;
			if (described->rank)
				memcpy(slot->dims, dims, (size_t)described->rank * sizeof *dims);
			TwCode code = measure_slot(frame, i);
			if (!code && described->kind == PB_VIEW)
				code = bind_view(frame, i);
			if (code)
				return code;
		}
	return TW_OK;
}

/* ---- Temporaries ---- */

/* Bytes of each temporary to place; late ones and outputs get memory of their own. */
static TwCode
size_temporaries(Frame *frame)
{
	const Plan *plan = frame->plan;
	for (int i = 0; i < plan->nbuffer; i++) {
		const PlanBuffer *described = &plan->buffers[i];
		Slot *slot = &frame->slots[i];
		frame->size[i] = -1;
		slot->is_own = described->kind == PB_POOL || described->kind == PB_OUTPUT;
		if (described->kind != PB_TEMP)
			continue;
		frame->size[i] = frame->dims[described->size_dim];
		if (frame->size[i] == PLAN_UNBOUND || !slot->has_dims) {
			frame->size[i] = -1;
			slot->is_own = true;
		} else if (frame->size[i] < 0 ||
		           (!described->layout && frame->size[i] < (int64_t)slot->bytes)) {
			return exec_fail(frame->exec, TW_INTERNAL, "'%.60s' is placed in %lld bytes",
			                 described->name, (long long)frame->size[i]);
		}
	}
	return TW_OK;
}

/* The caller's arena is the host's memory. */
static TwCode
reserve_arena(Frame *frame, PlanPlace place, size_t total)
{
	Exec *exec = frame->exec;
	if (place == plan_host(frame->plan)) {
		frame->arena_bytes = total;
		if (!frame->outer && exec->arena) {
			if (total > exec->arena_size)
				return exec_fail(exec, TW_MEMORY,
				                 "the caller's arena has %zu bytes and %zu are needed",
				                 exec->arena_size, total);
			frame->base[place] = exec->arena;
			return TW_OK;
		}
	}
	if (exec->watch)
		total += WATCH_ROOM;
	TwCode code = exec_reserve(exec, place, &frame->arena[place], total);
	frame->base[place] = frame->arena[place].data;
	return code;
}

static TwCode
place_temporaries_in(Frame *frame, PlanPlace place)
{
	const Plan *plan = frame->plan;
	int64_t total = plan_place(plan, place, frame->size, frame->offset);
	if (total < 0)
		return exec_fail(frame->exec, TW_MEMORY, "temporaries do not fit into memory");
	TwCode code = reserve_arena(frame, place, (size_t)total);
	for (int i = 0; i < plan->nbuffer && !code; i++)
		if (frame->offset[i] >= 0)
			frame->slots[i].data = frame->base[place] + frame->offset[i];
	return code;
}

static TwCode
place_temporaries(Frame *frame)
{
	TwCode code = size_temporaries(frame);
	for (PlanPlace place = PLACE_DEVICE; place <= plan_host(frame->plan) && !code; place++)
		code = place_temporaries_in(frame, place);
	return code;
}

/* ---- Inputs ---- */

static TwCode
check_input_types(Frame *frame, const Array *inputs)
{
	for (int i = 0; i < frame->plan->ninput; i++) {
		const PlanBuffer *wanted = &frame->plan->buffers[frame->plan->inputs[i]];
		if (inputs[i].type != wanted->type || inputs[i].rank != wanted->rank)
			return exec_fail(frame->exec, TW_SHAPE,
			                 "input '%.60s' is %s of rank %d; %s of rank "
			                 "%d is needed",
			                 wanted->name, dtype_name(inputs[i].type), inputs[i].rank,
			                 dtype_name(wanted->type), wanted->rank);
	}
	return TW_OK;
}

/* Where a dim that is just a symbol has its value from: ", as dim 0 of input 'x'"; else "". */
static const char *
source_text(const Plan *plan, int dim, char *text, size_t size)
{
	const PlanDim *d = &plan->dims[dim];
	text[0] = 0;
	if (d->count != 1 || d->tokens[0].op != PD_SYMBOL)
		return text;
	const PlanSymbol *symbol = &plan->symbols[d->tokens[0].value];
	if (symbol->source == PS_INPUT)
		snprintf(text, size, ", as dim %d of input '%.60s'", symbol->index,
		         plan->buffers[symbol->buffer].name);
	return text;
}

/* " (node "add" (Add): dim 0 of the inputs)", or "". */
static const char *
wish_text(const Plan *plan, int input, int axis, char *text, size_t size)
{
	text[0] = 0;
	for (int i = 0; i < plan->nwish; i++)
		if (plan->wishes[i].input == input && plan->wishes[i].axis == axis && *plan->wishes[i].what)
			snprintf(text, size, " (%s)", plan->wishes[i].what);
	return text;
}

TwCode
frame_refuse_dim(Frame *frame, int input, const Array *given, int dim, int64_t value)
{
	const PlanBuffer *wanted = &frame->plan->buffers[frame->plan->inputs[input]];
	char shape[256], source[100], wish[300];
	return exec_fail(
		frame->exec, TW_SHAPE, "input '%.60s' has shape %s, and its dim %d must be %lld%s%s",
		wanted->name, shape_text(wanted->rank, given->dims, shape, sizeof shape), dim,
		(long long)value, source_text(frame->plan, wanted->dims[dim], source, sizeof source),
		wish_text(frame->plan, input, dim, wish, sizeof wish));
}

/* Every dim of an input must be what the plan computes for it. */
static TwCode
check_input_dims(Frame *frame, const Array *inputs)
{
	for (int i = 0; i < frame->plan->ninput; i++) {
		const PlanBuffer *wanted = &frame->plan->buffers[frame->plan->inputs[i]];
		for (int d = 0; d < wanted->rank; d++) {
			int64_t value = frame->dims[wanted->dims[d]];
			if (value != inputs[i].dims[d] && value != PLAN_UNBOUND)
				return frame_refuse_dim(frame, i, &inputs[i], d, value);
		}
	}
	return TW_OK;
}

/* Whether the frame is bound to exactly these dims and outer symbols. */
static bool
is_bound_to(const Frame *frame, const Array *inputs)
{
	int own = first_own_symbol(frame);
	if (!frame->is_bound || (own && memcmp(frame->symbols, frame->outer->symbols,
	                                       (size_t)own * sizeof *frame->symbols) != 0))
		return false;
	for (int i = 0; i < frame->plan->ninput; i++) {
		const Slot *slot = &frame->slots[frame->plan->inputs[i]];
		int rank = frame->plan->buffers[frame->plan->inputs[i]].rank;
		if (rank && memcmp(slot->dims, inputs[i].dims, (size_t)rank * sizeof *slot->dims) != 0)
			return false;
	}
	return true;
}

static TwCode
bind_new(Frame *frame, const Array *inputs)
{
	TwCode code = bind_early_symbols(frame, inputs);
	if (code)
		return code;
	eval_dims(frame, false);
	code = check_input_dims(frame, inputs);
	if (!code)
		code = check_assumptions(frame);
	if (!code)
		code = bind_slots(frame, false);
	if (!code)
		code = place_temporaries(frame);
	if (!code)
		code = frame_make_calls(frame);
	for (int i = 0; i < frame->plan->nstep; i++)
		frame->steps[i].is_bound = frame->steps[i].is_late = false;
	for (int i = 0; i < frame->plan->nstep && !code; i++)
		if (!frame->steps[i].is_bound && !frame->steps[i].is_late)
			code = step_bind(frame, i);
	return code;
}

TwCode
frame_bind(Frame *frame, const Array *inputs)
{
	TwCode code = check_input_types(frame, inputs);
	if (code || is_bound_to(frame, inputs))
		return code;
	frame->is_bound = false;
	code = capture_drop(frame->exec);
	if (!code)
		code = bind_new(frame, inputs);
	frame->is_bound = !code;
	if (!code && !frame->outer)
		loans_bind(frame->exec);
	return code;
}

/* ---- While running ---- */

/* Where element `index` (row-major) of a slot lies, in elements; a view may have strides. */
static int64_t
element_offset(const Slot *slot, int rank, int64_t index)
{
	int64_t offset = 0;
	if (!slot->strides)
		return index;
	for (int d = rank - 1; d >= 0; d--) {
		offset += index % slot->dims[d] * slot->strides[d];
		index /= slot->dims[d];
	}
	return offset;
}

/* The value of a late symbol; false with an error when there is none. */
static TwCode
read_symbol(Frame *frame, const PlanSymbol *symbol, int64_t *value)
{
	const PlanBuffer *from = &frame->plan->buffers[symbol->buffer];
	const Slot *slot = &frame->slots[symbol->buffer];
	bool is_read = false;
	if (symbol->source == PS_DIM) {
		is_read = plan_dim_eval(frame->plan, symbol->dim, frame->symbols, value);
	} else if (symbol->source == PS_OUTPUT) {
		is_read = slot->has_dims;
		*value = is_read ? slot->dims[symbol->index] : 0;
	} else if (slot->has_dims) {
		int64_t count = dims_count(from->rank, slot->dims);
		const void *data = slot_data(frame, symbol->buffer);
		is_read = data && symbol->index < count;
		int64_t at = is_read ? element_offset(slot, from->rank, symbol->index) : 0;
		*value = is_read ? dtype_load_i64(from->type, data, at) : 0;
	}
	if (is_read)
		return TW_OK;
	return exec_fail(frame->exec, TW_INTERNAL, "symbol %.60s cannot be read", symbol->name);
}

/* A step that tells dims of its results by giving them has made all of them as the plan says: what
 * is read later is measured by the plan's dims. */
static TwCode
check_outputs(Frame *frame, int index)
{
	const Plan *plan = frame->plan;
	if (index == 0 || !frame->steps[index - 1].tells)
		return TW_OK;
	const PlanStep *step = &plan->steps[index - 1];
	for (int i = step->narg - step->noutput; i < step->narg; i++) {
		const PlanBuffer *buffer = step->args[i] < 0 ? NULL : &plan->buffers[step->args[i]];
		for (int d = 0; buffer && d < buffer->rank; d++) {
			int64_t dim = frame->dims[buffer->dims[d]];
			int64_t given = frame->slots[step->args[i]].dims[d];
			if (dim != PLAN_UNBOUND && dim != given)
				return exec_fail(frame->exec, TW_DATA,
				                 "dim %d of the result '%.60s' is %lld, and %lld was computed for "
				                 "it",
				                 d, buffer->name, (long long)given, (long long)dim);
		}
	}
	return TW_OK;
}

/* Once a symbol has changed, those that later steps decide are not known until they are read: their
 * values belong to the run before, and together they may make no sense. What is computed from
 * symbols of which none has changed stays. */
TwCode
frame_bind_late(Frame *frame, int index)
{
	TwCode code = TW_OK;
	bool has_changed = false;
	for (int k = frame->late_from[index]; k < frame->late_from[index + 1] && !code; k++) {
		int i = frame->late[k];
		const PlanSymbol *symbol = &frame->plan->symbols[i];
		int64_t value;
		if (symbol->source == PS_DIM && !has_changed && frame->symbols[i] != PLAN_UNBOUND)
			continue;
		code = read_symbol(frame, symbol, &value);
		if (!code && (value != frame->symbols[i] || value == PLAN_UNBOUND)) { /* no size is that */
			code = set_symbol(frame, i, value);
			has_changed = true;
		}
	}
	if (!code && has_changed) {
		frame->late_version++;
		for (int k = frame->late_from[index + 1]; k < frame->late_from[frame->plan->nstep + 1]; k++)
			frame->symbols[frame->late[k]] = PLAN_UNBOUND;
		eval_dims(frame, true);
		code = check_assumptions(frame);
	}
	if (!code)
		code = check_outputs(frame, index);
	return !code && has_changed ? bind_slots(frame, true) : code;
}
