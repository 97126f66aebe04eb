/* A lowered graph as text, for people: symbols, buffers, steps, each kernel below the step that
 * first runs it. Bodies of control steps follow, indented by their names.
 */
#include "tir/module.h"
#include "expr/index/text.h"

static const char *const BUFFER_KINDS[] = {
	[MB_INPUT] = "input", [MB_OUTPUT] = "output", [MB_WEIGHT] = "weight",
	[MB_TEMP] = "temp",   [MB_VIEW] = "view",     [MB_CAPTURE] = "capture",
};

static const char *const STEP_KINDS[] = {
	[MS_KERNEL] = "kernel", [MS_VENDOR] = "vendor", [MS_HOST] = "host", [MS_COPY] = "copy",
	[MS_IF] = "if",         [MS_LOOP] = "loop",     [MS_SCAN] = "scan",
};

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
	buf_printf(buf, " = %s", BUFFER_KINDS[buffer->kind]);
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
	buf_printf(buf, "  %s", STEP_KINDS[step->kind]);
	if (step->row)
		buf_printf(buf, " %s", step->row);
	buf_puts(buf, "(");
	for (int i = 0; i < step->narg; i++) {
		bool is_output = i >= step->narg - step->noutput;
		buf_puts(buf, i ? ", " : "");
		buf_puts(buf, is_output ? "out " : "");
		if (step->args[i])
			buf_printf(buf, "%%%s", step->args[i]->name);
		else
			buf_putc(buf, '_');
	}
	buf_puts(buf, ")  ");
	buf_quote(buf, step->name ? step->name : "");
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

MBuffer *
mbuffer_root(MBuffer *buffer)
{
	while (buffer->kind == MB_VIEW && buffer->base)
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
		for (int k = 0; k < module->steps.data[i]->nbody; k++)
			module_print(buf, module->steps.data[i]->bodies[k]);
}
