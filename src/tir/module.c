/* A lowered graph as text, for people: symbols, buffers, steps, each kernel below the step that
 * first runs it. Bodies of control steps follow, indented by their names.
 */
#include "tir/module.h"
#include "expr/index/text.h"

static void
print_dims(Buf *buf, int count, const Dim *const *dims)
{
	for (int d = 0; d < count; d++) {
		buf_puts(buf, d ? "," : "[");
		dim_print(buf, dims[d]);
	}
	buf_puts(buf, count ? "]" : "");
}

static void
print_buffer(Buf *buf, const MBuffer *buffer)
{
	buf_printf(buf, "  %%%s: %s", buffer->name, dtype_name(buffer->type));
	print_dims(buf, buffer->rank, buffer->dims);
	if (buffer->layout)
		buf_printf(buf, " @%s", buffer->layout);
	buf_printf(buf, " = %s", plan_buffer_words[buffer->kind]);
	if (buffer->base) {
		buf_printf(buf, " of %%%s", buffer->base->name);
		if (buffer->offset) {
			buf_puts(buf, " + ");
			dim_print(buf, buffer->offset);
		}
		if (buffer->strides) {
			buf_puts(buf, " strides");
			print_dims(buf, buffer->rank, buffer->strides);
		}
	}
	buf_puts(buf, buffer->is_data_sized ? " data-sized" : "");
	buf_puts(buf, buffer->is_host ? " @host\n" : "\n");
}

static void
print_step(Buf *buf, const MStep *step)
{
	buf_printf(buf, "  %s", plan_step_words[step->plan.kind]);
	if (step->plan.row)
		buf_printf(buf, " %s", step->plan.row);
	buf_puts(buf, "(");
	for (int i = 0; i < step->plan.narg; i++) {
		bool is_output = i >= step->plan.narg - step->plan.noutput;
		buf_puts(buf, i ? ", " : "");
		buf_puts(buf, is_output ? "out " : "");
		if (step->args[i])
			buf_printf(buf, "%%%s", step->args[i]->name);
		else
			buf_putc(buf, '_');
	}
	buf_puts(buf, ")  ");
	buf_quote(buf, step->plan.name ? step->plan.name : "");
	buf_puts(buf, step->covered_by ? "  covered" : "");
	buf_putc(buf, '\n');
	if (step->kernel)
		kernel_print(buf, step->kernel);
}

static void
print_symbol(Buf *buf, const MSymbol *symbol)
{
	buf_printf(buf, "  %s = ", symbol->symbol->name);
	if (symbol->source == MSYM_EXPR)
		expr_print(buf, symbol->expr);
	else
		buf_printf(buf, "%s %d of %%%s", symbol->source == MSYM_DIM ? "dim" : "element",
		           symbol->index, symbol->buffer->name);
	buf_putc(buf, '\n');
}

MStep *
mstep_new(Arena *arena, PlanStepKind kind, const char *name, int ninput, MBuffer *const *inputs,
          int noutput, MBuffer *const *outputs)
{
	MStep *step = NEW(arena, MStep);
	*step = (MStep){.plan = {.kind = kind,
	                         .name = name,
	                         .origins = "",
	                         .kernel = -1,
	                         .extent_dim = -1,
	                         .scratch_dim = -1,
	                         .shared_dim = -1,
	                         .points_dim = -1,
	                         .covered_by = -1,
	                         .points = 1,
	                         .narg = ninput + noutput,
	                         .noutput = noutput},
	                .args = NEW_N(arena, MBuffer *, ninput + noutput + 1)};
	for (int i = 0; i < ninput; i++)
		step->args[i] = inputs[i];
	for (int i = 0; i < noutput; i++)
		step->args[ninput + i] = outputs[i];
	return step;
}

static void
add_steps(Arena *arena, const Module *module, MStepVec *steps)
{
	for (int i = 0; i < module->steps.count; i++) {
		MStep *step = module->steps.data[i];
		vec_push(arena, steps, step);
		for (int k = 0; k < step->plan.nbody; k++)
			add_steps(arena, step->bodies[k], steps);
	}
}

MStepVec
module_steps(Arena *arena, const Module *module)
{
	MStepVec steps = {0};
	add_steps(arena, module, &steps);
	return steps;
}

MBuffer *
mbuffer_root(MBuffer *buffer)
{
	while (buffer->kind == PB_VIEW && buffer->base)
		buffer = buffer->base;
	return buffer;
}

void
module_print(Buf *buf, const Module *module)
{
	buf_printf(buf, "module %s(", module->name ? module->name : "");
	for (int i = 0; i < module->inputs.count; i++)
		buf_printf(buf, "%s%%%s", i ? ", " : "", module->inputs.data[i]->name);
	buf_puts(buf, ") -> ");
	for (int i = 0; i < module->outputs.count; i++)
		buf_printf(buf, "%s%%%s", i ? ", " : "", module->outputs.data[i]->name);
	buf_puts(buf, " {\n");
	for (int i = 0; i < module->symbols.count; i++)
		print_symbol(buf, &module->symbols.data[i]);
	for (int i = 0; i < module->buffers.count; i++)
		print_buffer(buf, module->buffers.data[i]);
	for (int i = 0; i < module->steps.count; i++)
		print_step(buf, module->steps.data[i]);
	buf_puts(buf, "}\n");
	for (int i = 0; i < module->steps.count; i++)
		for (int k = 0; k < module->steps.data[i]->plan.nbody; k++)
			module_print(buf, module->steps.data[i]->bodies[k]);
}
