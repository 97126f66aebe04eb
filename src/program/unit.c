/* Program units: replacing the program of a unit, and the settings that stand for what a program
 * read from a text cannot express (values of inputs, layouts, dims that must stay). */
#include "program/unit.h"

#include <stdlib.h>
#include <string.h>

#include "program/group.h"

static bool
same_tensors(int count, const Tensor *const *a, const Tensor *const *b)
{
	for (int i = 0; i < count; i++)
		if (a[i] != b[i])
			return false;
	return true;
}

static bool
same_program(const Program *a, const Program *b)
{
	if (a->nstage != b->nstage || a->ninput != b->ninput || a->noutput != b->noutput)
		return false;
	for (int s = 0; s < a->nstage; s++)
		if (a->stages[s] != b->stages[s])
			return false;
	return same_tensors(a->ninput, (const Tensor *const *)a->inputs,
	                    (const Tensor *const *)b->inputs) &&
	       same_tensors(a->noutput, a->outputs, b->outputs);
}

bool
unit_take(ProgramUnit *unit, const Program *form)
{
	if (form == unit->program || same_program(form, unit->program))
		return false;
	unit->program = form;
	return true;
}

bool
unit_take_nest(ProgramUnit *unit, const Program *form, PassContext *context)
{
	const char *reason = NULL;
	form = group_form(unit->arena, unit->program, form, unit->target, &reason);
	if (reason)
		pass_log(context, "one kernel", unit->name, NULL, reason);
	return unit_take(unit, form);
}

/* ---- settings ---- */

static const Tensor *
tensor_at(const Program *p, int k)
{
	return k < p->ninput ? p->inputs[k] : p->outputs[k - p->ninput];
}

static const char *
setting_of(const ProgramUnit *unit, const PassContext *context, int k)
{
	const Tensor *t = tensor_at(unit->program, k);
	if (!t || context->config.count == 0)
		return NULL;
	return pass_config_text(context, arena_printf(unit->arena, "%s.%s", context->running, t->name),
	                        NULL);
}

static int
tensor_count(const ProgramUnit *unit)
{
	return unit->program->ninput + unit->program->noutput;
}

const Array *const *
unit_values(const ProgramUnit *unit, const PassContext *context)
{
	if (unit->values)
		return unit->values;
	const Array **values = NEW_N(unit->arena, const Array *, unit->program->ninput + 1);
	for (int k = 0; k < unit->program->ninput; k++) {
		const char *text = setting_of(unit, context, k);
		const Tensor *t = unit->program->inputs[k];
		DType type = t->type;
		if (!text || !dim_is(dim_product(unit->program->ctx, t->rank, t->hi), 1))
			continue;
		Array *value = array_new(unit->arena, type, 0, NULL);
		if (dtype_is_float(type))
			dtype_store_f64(type, value->data, 0, strtod(text, NULL));
		else
			dtype_store_i64(type, value->data, 0, strtoll(text, NULL, 10));
		values[k] = value;
	}
	return values;
}

const char *const *
unit_layouts(const ProgramUnit *unit, const PassContext *context)
{
	if (unit->layouts)
		return unit->layouts;
	const char **layouts = NEW_N(unit->arena, const char *, tensor_count(unit) + 1);
	for (int k = 0; k < tensor_count(unit); k++)
		layouts[k] = setting_of(unit, context, k);
	return layouts;
}

const bool *
unit_fixed(const ProgramUnit *unit, const PassContext *context)
{
	if (unit->fixed)
		return unit->fixed;
	bool *fixed = NEW_N(unit->arena, bool, tensor_count(unit) + 1);
	for (int k = 0; k < tensor_count(unit); k++) {
		const char *text = setting_of(unit, context, k);
		fixed[k] = text && strcmp(text, "fixed") == 0;
	}
	return fixed;
}
