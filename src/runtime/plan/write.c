/* Plans as JSON.
 *
 *     {"symbols": [{"name": "N", "lo": 0, "hi": 2147483647, "from": "input", "buffer": 0,
 *                   "index": 0}],
 *      "dims": ["1", "s0", "s0 64 *"],
 *      "buffers": [{"name": "x", "type": "f32", "dims": [1, 0], "kind": "input", "index": 0}, …],
 *      "steps": [{"kind": "kernel", "name": "relu1", "kernel": 0, "extent": 2, "args": [0, 1],
 *                 "outputs": 1}, …],
 *      "inputs": [0], "outputs": [1], "assumptions": [], "captures": 0}
 *
 * A plan for a device with memory of its own has "apart": 1 at the end, and "place": "host" in the
 * buffers of the host's; its kernels may have "grid" and "block" (three dims at most) and "shared".
 *
 * A dim is its postfix text: numbers, sI for symbol I, and + - * / % min max scalefloor < == ?
 * (floor division and modulo; `c a b ?` is a unless c is 0). Members that have their default are
 * left out. Nested plans stand inside their step as "bodies". The tables of words here are the
 * reader's too (text.h).
 */
#include "runtime/plan/plan.h"

#include "runtime/json.h"
#include "runtime/plan/text.h"

static void
put_dims(Buf *json, const Plan *plan)
{
	buf_puts(json, "\"dims\": [");
	for (int i = 0; i < plan->ndim; i++) {
		const PlanDim *dim = &plan->dims[i];
		buf_puts(json, i ? ", \"" : "\"");
		for (int j = 0; j < dim->count; j++) {
			const PlanToken *token = &dim->tokens[j];
			if (j)
				buf_putc(json, ' ');
			buf_puts(json, plan_op_words[token->op]);
			if (plan_op_arity(token->op) == 0)
				buf_printf(json, "%lld", (long long)token->value);
		}
		buf_putc(json, '"');
	}
	buf_puts(json, "]");
}

static void
put_ints(Buf *json, const char *name, int count, const int *values)
{
	buf_printf(json, "\"%s\": [", name);
	for (int i = 0; i < count; i++)
		buf_printf(json, "%s%d", i ? ", " : "", values[i]);
	buf_putc(json, ']');
}

static void
put_text(Buf *json, const char *name, const char *value)
{
	buf_printf(json, ", \"%s\": ", name);
	json_put_text(json, value ? value : "");
}

static void
put_symbol(Buf *json, const PlanSymbol *symbol)
{
	buf_puts(json, "{\"name\": ");
	json_put_text(json, symbol->name);
	buf_puts(json, ", \"lo\": ");
	json_put_int(json, symbol->lo);
	buf_puts(json, ", \"hi\": ");
	json_put_int(json, symbol->hi);
	put_text(json, "from", plan_source_words[symbol->source]);
	if (symbol->source != PS_DIM)
		buf_printf(json, ", \"buffer\": %d, \"index\": %d", symbol->buffer, symbol->index);
	else
		buf_printf(json, ", \"dim\": %d", symbol->dim);
	if (symbol->step)
		buf_printf(json, ", \"step\": %d", symbol->step);
	buf_putc(json, '}');
}

static void
put_data(Buf *json, const PlanBuffer *buffer)
{
	buf_puts(json, ", \"offset\": ");
	json_put_int(json, buffer->offset);
	buf_puts(json, ", \"bytes\": ");
	json_put_int(json, buffer->bytes);
}

static void
put_buffer(Buf *json, const PlanBuffer *buffer)
{
	buf_puts(json, "{\"name\": ");
	json_put_text(json, buffer->name ? buffer->name : "");
	put_text(json, "type", dtype_name(buffer->type));
	buf_puts(json, ", ");
	put_ints(json, "dims", buffer->rank, buffer->dims);
	put_text(json, "kind", plan_buffer_words[buffer->kind]);
	if (buffer->place != PLACE_DEVICE)
		put_text(json, "place", plan_place_words[buffer->place]);
	if (buffer->layout)
		put_text(json, "layout", buffer->layout);
	if (buffer->is_value)
		buf_puts(json, ", \"value\": 1");
	switch (buffer->kind) {
	case PB_INPUT:
	case PB_OUTPUT:
	case PB_CAPTURE:
		buf_printf(json, ", \"index\": %d", buffer->index);
		if (buffer->kind == PB_INPUT && buffer->bytes >= 0)
			put_data(json, buffer);
		break;
	case PB_WEIGHT:
		put_data(json, buffer);
		break;
	case PB_VIEW:
		buf_printf(json, ", \"base\": %d, \"at\": %d", buffer->base, buffer->offset_dim);
		if (buffer->of != buffer->base)
			buf_printf(json, ", \"of\": %d", buffer->of);
		break;
	case PB_TEMP:
		buf_printf(json, ", \"size\": %d, \"first\": %d, \"last\": %d", buffer->size_dim,
		           buffer->first, buffer->last);
		break;
	case PB_POOL:
		break;
	}
	if (buffer->strides) {
		buf_puts(json, ", ");
		put_ints(json, "strides", buffer->rank, buffer->strides);
	}
	buf_putc(json, '}');
}

static void
put_attr(Buf *json, const StepAttr *attr)
{
	buf_puts(json, "{\"name\": ");
	json_put_text(json, attr->name);
	if (attr->kind == SA_STRING) {
		put_text(json, "string", attr->string);
	} else {
		buf_printf(json, ", \"%s\": [", plan_attr_words[attr->kind]);
		for (int i = 0; i < attr->count; i++) {
			buf_puts(json, i ? ", " : "");
			if (attr->kind == SA_FLOATS)
				json_put_number(json, (double)attr->floats[i]);
			else
				json_put_int(json, attr->ints[i]);
		}
		buf_putc(json, ']');
	}
	buf_putc(json, '}');
}

static void put_plan(Buf *json, const Plan *plan);

/* Where a step's work lies: the members that not every kind has. */
static void
put_work(Buf *json, const PlanStep *step)
{
	if (step->row)
		put_text(json, "row", step->row);
	if (step->kind == PT_KERNEL || (step->kind == PT_VENDOR && step->kernel >= 0)) {
		buf_printf(json, ", \"kernel\": %d, \"extent\": %d", step->kernel, step->extent_dim);
		if (step->scratch_dim >= 0)
			buf_printf(json, ", \"scratch\": %d", step->scratch_dim);
	}
	if (step->ngrid) {
		buf_puts(json, ", ");
		put_ints(json, "grid", step->ngrid, step->grid);
		buf_puts(json, ", ");
		put_ints(json, "block", step->nblock, step->block);
		if (step->shared_dim >= 0)
			buf_printf(json, ", \"shared\": %d", step->shared_dim);
	}
	if (step->nsymbol) {
		buf_puts(json, ", ");
		put_ints(json, "symbols", step->nsymbol, step->symbols);
	}
}

static void
put_step(Buf *json, const PlanStep *step)
{
	buf_printf(json, "{\"kind\": \"%s\"", plan_step_words[step->kind]);
	put_text(json, "name", step->name);
	if (step->origins)
		put_text(json, "origins", step->origins);
	put_work(json, step);
	buf_puts(json, ", ");
	put_ints(json, "args", step->narg, step->args);
	buf_printf(json, ", \"outputs\": %d", step->noutput);
	for (int i = 0; i < step->nattr; i++) {
		buf_puts(json, i ? ", " : ", \"attrs\": [");
		put_attr(json, &step->attrs[i]);
	}
	buf_puts(json, step->nattr ? "]" : "");
	for (int i = 0; i < step->nbody; i++) {
		buf_puts(json, i ? ", " : ", \"bodies\": [");
		put_plan(json, step->bodies[i]);
	}
	buf_puts(json, step->nbody ? "]" : "");
	buf_puts(json, ", \"flops\": ");
	json_put_number(json, step->flops);
	buf_puts(json, ", \"bytes\": ");
	json_put_number(json, step->bytes);
	buf_putc(json, '}');
}

static void
put_plan(Buf *json, const Plan *plan)
{
	buf_puts(json, "{\"symbols\": [");
	for (int i = 0; i < plan->nsymbol; i++) {
		buf_puts(json, i ? ",\n  " : "");
		put_symbol(json, &plan->symbols[i]);
	}
	buf_puts(json, "],\n ");
	put_dims(json, plan);
	buf_puts(json, ",\n \"buffers\": [");
	for (int i = 0; i < plan->nbuffer; i++) {
		buf_puts(json, i ? ",\n  " : "");
		put_buffer(json, &plan->buffers[i]);
	}
	buf_puts(json, "],\n \"steps\": [");
	for (int i = 0; i < plan->nstep; i++) {
		buf_puts(json, i ? ",\n  " : "");
		put_step(json, &plan->steps[i]);
	}
	buf_puts(json, "],\n ");
	put_ints(json, "inputs", plan->ninput, plan->inputs);
	buf_puts(json, ", ");
	put_ints(json, "outputs", plan->noutput, plan->outputs);
	buf_puts(json, ",\n \"assumptions\": [");
	for (int i = 0; i < plan->nassumption; i++) {
		const PlanAssumption *assumption = &plan->assumptions[i];
		buf_printf(json, "%s{\"a\": %d, \"b\": %d", i ? ", " : "", assumption->a, assumption->b);
		put_text(json, "what", assumption->what);
		buf_putc(json, '}');
	}
	buf_printf(json, "], \"captures\": %d", plan->ncapture);
	buf_puts(json, plan->is_apart && !plan->parent ? ", \"apart\": 1}" : "}");
}

void
plan_write(Buf *json, const Plan *plan)
{
	put_plan(json, plan);
	buf_putc(json, '\n');
}
