/* places: which memory each value lies in, and the copies between them.
 *
 * For a device whose memory is its own. Kernels, vendor calls and what passes in and out of nested
 * modules work on the device; host operators, symbols, conditions, trip counts and strings in the
 * host's memory, and so do the model's inputs and outputs:
 *
 *     kernel  y = f(x)              copy    x -> x'
 *     host    n = NonZero(y)   =>   kernel  y' = f(x')
 *                                   copy    y' -> y
 *                                   host    n = NonZero(y)
 *
 * A value's storage has one home, where it is written first; where the other side touches it, it
 * has a twin there. The home is always whole: what is written to the twin is copied back at once,
 * and the twin is copied anew before it is read when the home has been written since. Views of a
 * home have views of the twin, so strides stay as kernels were compiled for them.
 */
#include "lower/program.h"

#include <string.h>

/* What a root of the module, or a view of one, has on the other side. */
typedef struct Twin {
	MBuffer *buffer; /* NULL: nothing yet */
	bool is_written; /* something is in the home */
	bool is_fresh;   /* the twin of a root holds what the home holds */
	bool has_home;   /* a temporary's home has been decided */
	int last;        /* step that writes it last, -1: none */
} Twin;

typedef struct Places {
	Arena *arena;
	Module *module;
	int count;   /* buffers before any twin */
	Twin *twins; /* by index of the buffer */
	MStepVec steps;
} Places;

/* ---- where things are ---- */

/* Values that pass in and out of nested modules: on the device, strings excepted. */
static bool
is_host_port(const MBuffer *buffer)
{
	return buffer->type == DT_STRING;
}

static bool
is_copy_between(const MStep *step)
{
	return step->plan.kind == PT_COPY && step->args[0]->kind != PB_VIEW &&
	       step->args[1]->kind != PB_VIEW;
}

/* The side on which a step touches its argument. */
static bool
is_host_arg(const MStep *step, int arg)
{
	MBuffer *buffer = step->args[arg];
	switch (step->plan.kind) {
	case PT_KERNEL:
	case PT_VENDOR:
		return false;
	case PT_HOST:
		return true;
	case PT_COPY: /* whole buffers go across as they are; others are copied where they come from */
		return mbuffer_root(is_copy_between(step) ? buffer : step->args[0])->is_host;
	case PT_IF:
		return arg == 0 || is_host_port(buffer);
	case PT_LOOP:
		return arg < 2 || is_host_port(buffer);
	case PT_SCAN:
		break;
	}
	return is_host_port(buffer);
}

/* A temporary is at home where it is written; on the device if on both sides. */
static void
find_home(Places *p, const MStep *step, int arg)
{
	MBuffer *root = mbuffer_root(step->args[arg]);
	Twin *twin = &p->twins[root->index];
	if (root->kind != PB_TEMP)
		return;
	bool is_host = is_host_arg(step, step->plan.kind == PT_COPY ? 0 : arg);
	root->is_host = is_host && (!twin->has_home || root->is_host);
	twin->has_home = true;
}

/* `around`: the step whose body the module is; NULL: the model itself. */
static void
find_homes(Places *p, const MStep *around)
{
	Module *module = p->module;
	int own = around && around->plan.kind == PT_LOOP ? 2 : 0;
	for (int i = 0; i < p->count; i++) {
		MBuffer *buffer = module->buffers.data[i];
		buffer->is_host = is_host_port(buffer);
		if (buffer->kind == PB_CAPTURE)
			buffer->is_host = mbuffer_root(buffer->base)->is_host;
		p->twins[i].is_written = buffer->kind != PB_TEMP && buffer->kind != PB_OUTPUT;
		p->twins[i].last = -1;
	}
	for (int i = 0; i < module->inputs.count; i++)
		module->inputs.data[i]->is_host |= !around || i < own;
	for (int i = 0; i < module->outputs.count; i++)
		module->outputs.data[i]->is_host |= !around || (own && i == 0);
	for (int s = 0; s < module->steps.count; s++) {
		const MStep *step = module->steps.data[s];
		for (int i = step->plan.narg - step->plan.noutput; i < step->plan.narg; i++)
			if (step->args[i]) {
				find_home(p, step, i);
				p->twins[mbuffer_root(step->args[i])->index].last = s;
			}
	}
}

/* ---- twins ---- */

static void
push_copy(Places *p, MBuffer *from, MBuffer *to)
{
	const char *name =
		arena_printf(p->arena, "%s to the %s", from->name, to->is_host ? "host" : "device");
	vec_push(p->arena, &p->steps, mstep_new(p->arena, PT_COPY, name, 1, &from, 1, &to));
}

/* A buffer as it is on the other side. */
static MBuffer *
twin_of(Places *p, MBuffer *buffer)
{
	Twin *twin = &p->twins[buffer->index];
	if (twin->buffer)
		return twin->buffer;
	MBuffer *made = twin->buffer = arena_memdup(p->arena, buffer, sizeof *buffer);
	made->name = arena_printf(p->arena, "%s'", buffer->name);
	made->index = p->module->buffers.count;
	made->is_value = false;
	made->is_host = !buffer->is_host;
	vec_push(p->arena, &p->module->buffers, made);
	if (buffer->kind == PB_VIEW) {
		made->base = twin_of(p, buffer->base);
		made->of = NULL;
		return made;
	}
	twin->is_fresh = buffer->kind == PB_WEIGHT;
	if (buffer->kind == PB_WEIGHT) /* the model's bytes are on both sides */
		return made;
	made->kind = PB_TEMP;
	made->data = NULL;
	made->base = NULL;
	return made;
}

/* A buffer on one side, with what it holds. */
static MBuffer *
buffer_on(Places *p, MBuffer *buffer, bool is_host)
{
	MBuffer *root = mbuffer_root(buffer);
	Twin *twin = &p->twins[root->index];
	if (root->is_host == is_host)
		return buffer;
	MBuffer *other = twin_of(p, buffer);
	if (twin->is_written && !twin->is_fresh) {
		push_copy(p, root, twin->buffer);
		twin->is_fresh = true;
	}
	return other;
}

/* Symbols are read from the host's memory once their values have been written for the last time. */
static void
place_elements(Places *p, int step)
{
	for (int i = 0; i < p->module->symbols.count; i++) {
		MSymbol *symbol = &p->module->symbols.data[i];
		if (symbol->source == MSYM_ELEMENT && symbol->buffer->index < p->count &&
		    p->twins[mbuffer_root(symbol->buffer)->index].last == step)
			symbol->buffer = buffer_on(p, symbol->buffer, true);
	}
}

/* Sizes that a step finds are those of the buffer that it writes itself. */
static void
place_sizes(const Places *p, const MBuffer *home, MBuffer *written)
{
	for (int i = 0; i < p->module->symbols.count; i++) {
		MSymbol *symbol = &p->module->symbols.data[i];
		if (symbol->source == MSYM_DIM && symbol->buffer == home)
			symbol->buffer = written;
	}
}

static void
place_step(Places *p, MStep *step)
{
	int first = step->plan.narg - step->plan.noutput;
	MBuffer **homes = arena_memdup(p->arena, step->args, (size_t)step->plan.narg * sizeof *homes);
	bool *is_host = NEW_N(p->arena, bool, step->plan.narg + 1);
	for (int i = 0; i < step->plan.narg; i++)
		is_host[i] = homes[i] && is_host_arg(step, i);
	for (int i = 0; i < step->plan.narg; i++)
		if (homes[i])
			step->args[i] = buffer_on(p, homes[i], is_host[i]);
	vec_push(p->arena, &p->steps, step);
	for (int i = first; i < step->plan.narg; i++) {
		if (!homes[i])
			continue;
		MBuffer *root = mbuffer_root(homes[i]);
		Twin *twin = &p->twins[root->index];
		twin->is_written = true;
		twin->is_fresh = root->is_host != is_host[i];
		if (!twin->is_fresh || step->covered_by) /* whose step writes it once more */
			continue;
		push_copy(p, twin->buffer, root);
		place_sizes(p, homes[i], step->args[i]);
	}
}

static void
place_module(Arena *arena, Module *module, const MStep *around)
{
	Places p = {.arena = arena, .module = module, .count = module->buffers.count};
	p.twins = NEW_N(arena, Twin, p.count + 1);
	module->is_apart = true;
	find_homes(&p, around);
	place_elements(&p, -1);
	for (int s = 0; s < module->steps.count; s++) {
		MStep *step = module->steps.data[s];
		for (int i = 0; i < step->plan.nbody; i++)
			place_module(arena, step->bodies[i], step);
		place_step(&p, step);
		place_elements(&p, s);
	}
	module->steps.count = p.steps.count;
	module->steps.data = p.steps.data;
}

void
lower_places(Arena *arena, Module *module)
{
	place_module(arena, module, NULL);
}
