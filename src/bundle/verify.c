/* Replaying a plan without running it.
 *
 * First the order of steps: which buffers are written when, whether everything read has been
 * written, whether it lies in the memory that the step works in, and whether a temporary is touched
 * only during its life (a view counts as its base).
 * Then sizes: for a few bindings of the symbols, temporaries are placed with plan_place() and
 * compared pairwise, and views are held against their bases. Bindings that contradict the plan's
 * assumptions say nothing and are passed over. The proof for the binding that is used is repeated
 * by the runtime each time sizes are bound.
 */
#include "bundle/plan.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct Replay {
	const Plan *plan;
	size_t weights_size;
	char *error;
	size_t error_size;
} Replay;

__attribute__((format(printf, 2, 3))) static bool
refuse(const Replay *replay, const char *format, ...)
{
	int used = snprintf(replay->error, replay->error_size, "the plan is not sound: ");
	if (used < 0 || (size_t)used >= replay->error_size)
		return false;
	va_list args;
	va_start(args, format);
	vsnprintf(replay->error + used, replay->error_size - (size_t)used, format, args);
	va_end(args);
	return false;
}

/* Buffers that need no step to write them. */
static bool
is_given(const PlanBuffer *buffer)
{
	return buffer->kind == PB_INPUT || buffer->kind == PB_WEIGHT || buffer->kind == PB_CAPTURE;
}

/* What a step touches lives as long as the steps beside it run. */
static bool
check_life(const Replay *replay, int buffer, int step)
{
	const Plan *plan = replay->plan;
	const PlanBuffer *root = &plan->buffers[plan_root(plan, buffer)];
	int first = step, last = step;
	while (first > 0 && plan->steps[first].is_beside)
		first--;
	while (last + 1 < plan->nstep && plan->steps[last + 1].is_beside)
		last++;
	if (root->kind == PB_TEMP && (first < root->first || last > root->last))
		return refuse(replay, "step %d touches buffer '%.60s', which lives in steps %d..%d", step,
		              root->name, root->first, root->last);
	return true;
}

static bool
check_read(const Replay *replay, int buffer, int step, const char *written)
{
	if (buffer < 0)
		return true;
	if (!written[plan_root(replay->plan, buffer)])
		return refuse(replay, "step %d reads buffer '%.60s' before anything is written to it", step,
		              replay->plan->buffers[buffer].name);
	return check_life(replay, buffer, step);
}

static bool
check_write(const Replay *replay, int buffer, int step, char *written)
{
	if (buffer < 0)
		return true;
	int root = plan_root(replay->plan, buffer);
	if (is_given(&replay->plan->buffers[root]))
		return refuse(replay, "step %d writes to buffer '%.60s', which is not its own", step,
		              replay->plan->buffers[buffer].name);
	written[root] = 1;
	return check_life(replay, buffer, step);
}

/* Arguments that outer buffers lend to the bodies of a step are read by it. */
static bool
check_captures(const Replay *replay, const PlanStep *step, int index, const char *written)
{
	for (int i = 0; i < step->nbody; i++)
		for (int j = 0; j < step->bodies[i]->nbuffer; j++) {
			const PlanBuffer *buffer = &step->bodies[i]->buffers[j];
			if (buffer->kind == PB_CAPTURE && !check_read(replay, buffer->index, index, written))
				return false;
		}
	return true;
}

/* ---- places ---- */

static bool
check_place(const Replay *replay, const PlanStep *step, int buffer, PlanPlace place)
{
	static const char *const whose[] = {"device", "host"};
	if (buffer < 0 || replay->plan->buffers[buffer].place == place)
		return true;
	return refuse(replay, "step '%.60s' works in the %s's memory, where buffer '%.60s' is not",
	              step->name, whose[place], replay->plan->buffers[buffer].name);
}

/* Between memories whole rows of bytes go. */
static bool
check_copy(const Replay *replay, const PlanStep *step)
{
	const PlanBuffer *from = &replay->plan->buffers[step->args[0]];
	const PlanBuffer *to = &replay->plan->buffers[step->args[1]];
	if (from->place != to->place && (from->strides || to->strides))
		return refuse(replay, "copy '%.60s' goes to another memory with strides", step->name);
	return true;
}

/* What a nested plan has as input or output (`ports`) is copied from or to an argument of the step
 * without a step that would say so: they lie in one memory. */
static bool
check_port(const Replay *replay, const PlanStep *step, int arg, const Plan *body, int count,
           const int *ports, int port)
{
	if (arg < 0 || arg >= step->narg || step->args[arg] < 0 || port >= count)
		return true; /* counts are compared when the step runs */
	return check_place(replay, step, step->args[arg], body->buffers[ports[port]].place);
}

/* One nested plan: its ports lie where the step's arguments do, and what an iteration gives where
 * the next one takes it. The first `own` inputs of a loop's body and its first output are the
 * host's. */
static bool
check_body(const Replay *replay, const PlanStep *step, const Plan *body, int own)
{
	const Replay inner = {body, replay->weights_size, replay->error, replay->error_size};
	PlanPlace host = plan_host(body);
	int nread = step->narg - step->noutput, goes_on = step->kind == PT_LOOP;
	bool is_sound = true;
	for (int i = 0; goes_on && i < own && i < body->ninput && is_sound; i++)
		is_sound = check_place(&inner, step, body->inputs[i], host);
	if (goes_on && body->noutput && is_sound)
		is_sound = check_place(&inner, step, body->outputs[0], host);
	for (int i = own; i < nread && is_sound; i++)
		is_sound = check_port(replay, step, i, body, body->ninput, body->inputs, i);
	for (int i = 0; i < step->noutput && is_sound; i++)
		is_sound =
			check_port(replay, step, nread + i, body, body->noutput, body->outputs, i + goes_on);
	for (int i = own; i < nread && i - own < body->noutput - goes_on && is_sound; i++)
		is_sound = check_port(replay, step, nread + i - own, body, body->ninput, body->inputs, i);
	return is_sound;
}

/* Conditions and trip counts are the host's. */
static bool
check_flow(const Replay *replay, const PlanStep *step)
{
	int nread = step->narg - step->noutput;
	int own = step->kind == PT_LOOP ? 2 : step->kind == PT_IF ? 1 : 0;
	bool is_sound = true;
	for (int i = 0; i < own && i < nread && is_sound; i++)
		is_sound = check_place(replay, step, step->args[i], plan_host(replay->plan));
	for (int i = 0; i < step->nbody && is_sound; i++)
		is_sound = check_body(replay, step, step->bodies[i], own);
	return is_sound;
}

static bool
check_places(const Replay *replay, const PlanStep *step)
{
	bool is_device = step->kind == PT_KERNEL || step->kind == PT_VENDOR;
	if (step->kind == PT_COPY)
		return check_copy(replay, step);
	if (!is_device && step->kind != PT_HOST)
		return check_flow(replay, step);
	for (int i = 0; i < step->narg; i++)
		if (!check_place(replay, step, step->args[i],
		                 is_device ? PLACE_DEVICE : plan_host(replay->plan)))
			return false;
	return true;
}

/* ---- order ---- */

/* Steps beside one another are the device's work, not too many, and no symbol is read between
 * them. */
static bool
check_beside(const Replay *replay)
{
	const Plan *plan = replay->plan;
	for (int i = 0, count = 1; i < plan->nstep; i++) {
		const PlanStep *step = &plan->steps[i];
		bool is_work = step->kind == PT_KERNEL || step->kind == PT_VENDOR;
		count = step->is_beside ? count + 1 : is_work ? 1 : PLAN_MOST_BESIDE;
		if ((step->is_beside && !is_work) || count > PLAN_MOST_BESIDE)
			return refuse(replay, "step '%.60s' cannot run beside the one before", step->name);
	}
	for (int i = plan->parent ? plan->parent->nsymbol : 0; i < plan->nsymbol; i++) {
		const PlanSymbol *s = &plan->symbols[i];
		if (s->step > 0 && s->step < plan->nstep && plan->steps[s->step].is_beside)
			return refuse(replay, "symbol '%.60s' is read between steps that run side by side",
			              s->name);
	}
	return plan->nstep == 0 || !plan->steps[0].is_beside ||
	       refuse(replay, "the first step runs beside one before");
}

/* ---- calls that cover steps ---- */

static bool
reads_root(const Plan *plan, const PlanStep *step, int root)
{
	bool reads = false;
	for (int i = 0; i < step->narg - step->noutput; i++)
		reads |= step->args[i] >= 0 && plan_root(plan, step->args[i]) == root;
	for (int k = 0; k < step->nbody; k++)
		for (int i = 0; i < step->bodies[k]->nbuffer; i++) {
			const PlanBuffer *buffer = &step->bodies[k]->buffers[i];
			reads |= buffer->kind == PB_CAPTURE && plan_root(plan, buffer->index) == root;
		}
	return reads;
}

/* Whether anybody looks at a buffer but the steps that one call covers. */
static bool
is_seen(const Plan *plan, int root, int call)
{
	bool is = plan->buffers[root].kind != PB_TEMP && plan->buffers[root].kind != PB_POOL;
	for (int i = 0; i < plan->nstep; i++)
		is |= plan->steps[i].covered_by != call && reads_root(plan, &plan->steps[i], root);
	for (int i = plan->parent ? plan->parent->nsymbol : 0; i < plan->nsymbol; i++)
		is |= plan->symbols[i].source != PS_DIM && plan->symbols[i].buffer >= 0 &&
		      plan->symbols[i].buffer < plan->nbuffer &&
		      plan_root(plan, plan->symbols[i].buffer) == root;
	return is;
}

/* A step that is not run where a call is made: what it writes is seen by others that are not run
 * either, or is what the call writes, before anybody else is there to see it. */
static bool
check_covered(const Replay *replay, int index)
{
	const Plan *plan = replay->plan;
	const PlanStep *step = &plan->steps[index];
	int by = step->covered_by;
	if (by < 0)
		return true;
	const PlanStep *call = by < plan->nstep ? &plan->steps[by] : NULL;
	bool is_work = step->kind == PT_KERNEL || step->kind == PT_VENDOR || step->kind == PT_COPY;
	if (!is_work || by <= index || !call || call->kind != PT_VENDOR || call->kernel >= 0 ||
	    call->covered_by >= 0 || call->narg < 1 || call->args[call->narg - 1] < 0)
		return refuse(replay, "step '%.60s' cannot be covered by step %d", step->name, by);
	int result = plan_root(plan, call->args[call->narg - 1]);
	for (int i = step->narg - step->noutput; i < step->narg; i++) {
		int root = step->args[i] < 0 ? -1 : plan_root(plan, step->args[i]);
		bool is_right = root < 0 || root == result || !is_seen(plan, root, by);
		for (int k = index + 1; root == result && k < by; k++)
			is_right &= plan->steps[k].covered_by == by;
		if (!is_right)
			return refuse(replay,
			              "step '%.60s' is covered by step %d, but others see what it writes",
			              step->name, by);
	}
	return true;
}

static bool
check_step(const Replay *replay, int index, char *written)
{
	const PlanStep *step = &replay->plan->steps[index];
	int nread = step->narg - step->noutput;
	if (step->kind == PT_COPY && (step->narg != 2 || step->noutput != 1))
		return refuse(replay, "copy '%.60s' needs a source and a destination", step->name);
	if ((step->kind == PT_COPY || step->kind == PT_VENDOR) &&
	    (step->args[0] < 0 || step->args[step->narg - 1] < 0 || step->noutput != 1))
		return refuse(replay, "step '%.60s' lacks an argument", step->name);
	if (!step->ngrid != !step->nblock || (step->shared_dim >= 0 && !step->ngrid))
		return refuse(replay, "step '%.60s' has a grid without blocks or blocks without a grid",
		              step->name);
	if (!check_places(replay, step) || !check_covered(replay, index))
		return false;
	for (int i = 0; i < nread; i++)
		if (!check_read(replay, step->args[i], index, written))
			return false;
	if (!check_captures(replay, step, index, written))
		return false;
	for (int i = nread; i < step->narg; i++)
		if (!check_write(replay, step->args[i], index, written))
			return false;
	return true;
}

/* Symbols read from buffers are read at their step. */
static bool
check_symbols(const Replay *replay, int step, const char *written)
{
	const Plan *plan = replay->plan;
	for (int i = plan->parent ? plan->parent->nsymbol : 0; i < plan->nsymbol; i++) {
		const PlanSymbol *s = &plan->symbols[i];
		if (s->source == PS_ELEMENT && s->step == step && !written[plan_root(plan, s->buffer)])
			return refuse(replay, "symbol '%.60s' is read before anything is written there",
			              s->name);
		if (s->source == PS_ELEMENT && plan->buffers[s->buffer].place != plan_host(plan))
			return refuse(replay, "symbol '%.60s' is read where the host cannot", s->name);
	}
	return true;
}

static bool
check_order(const Replay *replay)
{
	const Plan *plan = replay->plan;
	bool is_sound = true;
	char *written = calloc((size_t)plan->nbuffer + 1, 1);
	if (!written)
		return refuse(replay, "out of memory");
	for (int i = 0; i < plan->nbuffer; i++)
		written[i] = is_given(&plan->buffers[i]);
	is_sound = check_beside(replay);
	for (int i = 0; i < plan->nstep && is_sound; i++)
		is_sound = check_symbols(replay, i, written) && check_step(replay, i, written);
	for (int i = 0; i < plan->noutput && is_sound; i++)
		if (!written[plan->outputs[i]])
			is_sound = refuse(replay, "nothing is written to output '%.60s'",
			                  plan->buffers[plan->outputs[i]].name);
	free(written);
	return is_sound;
}

static bool
check_weights(const Replay *replay)
{
	for (int i = 0; i < replay->plan->nbuffer; i++) {
		const PlanBuffer *b = &replay->plan->buffers[i];
		bool has_data = b->kind == PB_WEIGHT || (b->kind == PB_INPUT && b->bytes >= 0);
		if (has_data && (b->offset % 64 != 0 || (uint64_t)b->offset > replay->weights_size ||
		                 (uint64_t)b->bytes > replay->weights_size - (uint64_t)b->offset))
			return refuse(replay, "weight '%.60s' lies outside the weights or is not aligned",
			              b->name);
	}
	return true;
}

/* Symbols for a sample: `wanted` moved into each range; those that are dims of others follow. */
static void
sample_symbols(const Plan *plan, int64_t wanted, int64_t *symbols)
{
	for (int i = 0; i < plan->nsymbol; i++) {
		const PlanSymbol *s = &plan->symbols[i];
		int64_t value = wanted + i % 3;
		if (s->source == PS_DIM && i >= (plan->parent ? plan->parent->nsymbol : 0) &&
		    plan_dim_eval(plan, s->dim, symbols, &symbols[i]))
			continue;
		symbols[i] = value < s->lo ? s->lo : value > s->hi ? s->hi : value;
	}
}

static bool
sample_is_possible(const Plan *plan, const int64_t *symbols)
{
	for (int i = 0; i < plan->nsymbol; i++)
		if (symbols[i] < plan->symbols[i].lo || symbols[i] > plan->symbols[i].hi)
			return false;
	for (int i = 0; i < plan->nassumption; i++) {
		int64_t a, b;
		const PlanAssumption *assumption = &plan->assumptions[i];
		if (!plan_dim_eval(plan, assumption->a, symbols, &a) ||
		    !plan_dim_eval(plan, assumption->b, symbols, &b) || a != b)
			return false;
	}
	return true;
}

/* Elements of a buffer at a sample; -1 when it has no size there. */
static int64_t
count_elements(const Plan *plan, const PlanBuffer *b, const int64_t *symbols, int64_t *dims)
{
	int64_t count = 1;
	for (int i = 0; i < b->rank; i++)
		if (!plan_dim_eval(plan, b->dims[i], symbols, &dims[i]) || dims[i] < 0 ||
		    __builtin_mul_overflow(count, dims[i], &count))
			return -1;
	return count;
}

static bool
check_view(const Replay *replay, const PlanBuffer *view, const int64_t *symbols)
{
	const Plan *plan = replay->plan;
	const PlanBuffer *base = &plan->buffers[view->base];
	int64_t dims[PLAN_MAX_RANK], strides[PLAN_MAX_RANK], unused[PLAN_MAX_RANK], offset, size;
	int64_t count = count_elements(plan, view, symbols, dims);
	int64_t room = count_elements(plan, base, symbols, unused);
	if (base->kind == PB_TEMP && dtype_bits(base->type) >= 8 &&
	    plan_dim_eval(plan, base->size_dim, symbols, &size))
		room = size / (dtype_bits(base->type) / 8);
	if (count < 0 || room < 0 || base->kind == PB_VIEW || view->layout ||
	    base->type != view->type || !plan_dim_eval(plan, view->offset_dim, symbols, &offset))
		return true; /* not decidable here; checked when bound */
	plan_strides(view->rank, dims, strides);
	for (int i = 0; i < view->rank && view->strides; i++)
		if (!plan_dim_eval(plan, view->strides[i], symbols, &strides[i]))
			return true;
	if (plan_view_fits(view->rank, dims, strides, offset, room))
		return true;
	return refuse(replay, "view '%.60s' reaches outside '%.60s'", view->name, base->name);
}

/* A dim at a sample is at least `least`, or not known there. */
static bool
is_at_least(const Plan *plan, const int64_t *symbols, int dim, int64_t least)
{
	int64_t value;
	return !plan_dim_eval(plan, dim, symbols, &value) || value >= least;
}

static bool
check_launch(const Replay *replay, const PlanStep *step, const int64_t *symbols)
{
	bool is_sound = step->shared_dim < 0 || is_at_least(replay->plan, symbols, step->shared_dim, 0);
	for (int i = 0; i < step->ngrid; i++)
		is_sound = is_sound && is_at_least(replay->plan, symbols, step->grid[i], 0);
	for (int i = 0; i < step->nblock; i++)
		is_sound = is_sound && is_at_least(replay->plan, symbols, step->block[i], 1);
	return is_sound || refuse(replay, "step '%.60s' has a grid that cannot be", step->name);
}

/* Two steps that run side by side: what one writes, the other does not touch. */
static bool
check_pair(const Replay *replay, const PlanStep *a, const PlanStep *b, const int64_t *symbols)
{
	const Plan *plan = replay->plan;
	for (int i = 0; i < a->narg; i++)
		for (int j = 0; j < b->narg; j++) {
			bool is_written = i >= a->narg - a->noutput || j >= b->narg - b->noutput;
			int x = a->args[i], y = b->args[j];
			if (is_written && x >= 0 && y >= 0 && plan_root(plan, x) == plan_root(plan, y) &&
			    !plan_parts_are_apart(plan, x, y, symbols))
				return refuse(replay,
				              "steps '%.60s' and '%.60s' run side by side and share '%.60s'",
				              a->name, b->name, plan->buffers[x].name);
		}
	return true;
}

static bool
check_pairs(const Replay *replay, const int64_t *symbols)
{
	const PlanStep *steps = replay->plan->steps;
	for (int i = 0; i < replay->plan->nstep; i++)
		for (int j = i; j > 0 && steps[j].is_beside; j--)
			if (!check_pair(replay, &steps[j - 1], &steps[i], symbols))
				return false;
	return true;
}

/* Sizes of the temporaries at a sample; -1 where unknown. */
static void
sample_sizes(const Plan *plan, const int64_t *symbols, int64_t *size)
{
	for (int i = 0; i < plan->nbuffer; i++) {
		const PlanBuffer *b = &plan->buffers[i];
		size[i] = -1;
		if (b->kind == PB_TEMP && !plan_dim_eval(plan, b->size_dim, symbols, &size[i]))
			size[i] = -1;
	}
}

static bool
check_overlaps(const Replay *replay, const int64_t *size, const int64_t *offset)
{
	const PlanBuffer *buffers = replay->plan->buffers;
	for (int i = 0; i < replay->plan->nbuffer; i++)
		for (int j = i + 1; j < replay->plan->nbuffer && offset[i] >= 0; j++)
			if (offset[j] >= 0 && buffers[i].first <= buffers[j].last &&
			    buffers[j].first <= buffers[i].last && offset[i] < offset[j] + size[j] &&
			    offset[j] < offset[i] + size[i])
				return refuse(replay, "buffers '%.60s' and '%.60s' overlap", buffers[i].name,
				              buffers[j].name);
	return true;
}

/* `tables` is memory for symbols, sizes and offsets of one sample. */
static bool
check_sample(const Replay *replay, int64_t wanted, int64_t *tables)
{
	const Plan *plan = replay->plan;
	int64_t *symbols = tables, *size = symbols + plan->nsymbol, *offset = size + plan->nbuffer;
	bool is_sound = true;
	sample_symbols(plan, wanted, symbols);
	if (!sample_is_possible(plan, symbols))
		return true;
	for (int i = 0; i < plan->nbuffer; i++)
		if (plan->buffers[i].kind == PB_VIEW && !check_view(replay, &plan->buffers[i], symbols))
			return false;
	for (int i = 0; i < plan->nstep; i++)
		if (!check_launch(replay, &plan->steps[i], symbols))
			return false;
	if (!check_pairs(replay, symbols))
		return false;
	sample_sizes(plan, symbols, size);
	for (PlanPlace place = 0; place < PLAN_PLACES && is_sound; place++)
		if (plan_place(plan, place, size, offset) >= 0) /* else refused when bound */
			is_sound = check_overlaps(replay, size, offset);
	return is_sound;
}

static bool
check_sizes(const Replay *replay)
{
	static const int64_t SAMPLES[] = {1, 2, 7, 64};
	const Plan *plan = replay->plan;
	bool is_sound = true;
	int64_t *tables = calloc((size_t)plan->nsymbol + 2 * (size_t)plan->nbuffer + 1, sizeof *tables);
	if (!tables)
		return refuse(replay, "out of memory");
	for (size_t i = 0; i < sizeof SAMPLES / sizeof *SAMPLES && is_sound; i++)
		is_sound = check_sample(replay, SAMPLES[i], tables);
	free(tables);
	return is_sound;
}

bool
plan_verify(const Plan *plan, size_t weights_size, char *error, size_t error_size)
{
	Replay replay = {plan, weights_size, error, error_size};
	for (int i = 0; i < plan->ninput + plan->noutput && !plan->parent; i++) {
		int port = i < plan->ninput ? plan->inputs[i] : plan->outputs[i - plan->ninput];
		if (plan->buffers[port].place != plan_host(plan))
			return refuse(&replay, "'%.60s' is the caller's and not in the host's memory",
			              plan->buffers[port].name);
	}
	if (!check_weights(&replay) || !check_order(&replay) || !check_sizes(&replay))
		return false;
	for (int i = 0; i < plan->nstep; i++)
		for (int j = 0; j < plan->steps[i].nbody; j++)
			if (!plan_verify(plan->steps[i].bodies[j], weights_size, error, error_size))
				return false;
	return true;
}
