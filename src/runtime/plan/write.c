/* Plans as JSON.
 *
 *     {"kernels": ["k0_relu1"],
 *      "symbols": [{"name": "N", "lo": 0, "hi": 2147483647, "from": "input", "buffer": 0,
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
			buf_printf(json, "%s%s", j ? " " : "", plan_op_words[token->op]);
			if (plan_op_arity(token->op) == 0)
				buf_printf(json, "%lld", (long long)token->value);
		}
		buf_putc(json, '"');
	}
	buf_putc(json, ']');
}

static void
put_ints(Buf *json, const char *name, int count, const int *values)
{
	buf_printf(json, ", \"%s\": [", name);
	for (int i = 0; i < count; i++)
		buf_printf(json, i ? ", %d" : "%d", values[i]);
	buf_putc(json, ']');
}

static void
put_symbol(Buf *json, const PlanSymbol *symbol)
{
	json_put(json, "{'name': %s, 'lo': %lld, 'hi': %lld, 'from': %s", symbol->name,
	         (long long)symbol->lo, (long long)symbol->hi, plan_source_words[symbol->source]);
	if (symbol->source != PS_DIM)
		json_put(json, ", 'buffer': %d, 'index': %d", symbol->buffer, symbol->index);
	else
		json_put(json, ", 'dim': %d", symbol->dim);
	if (symbol->step)
		json_put(json, ", 'step': %d", symbol->step);
	buf_putc(json, '}');
}

static void
put_buffer(Buf *json, const PlanBuffer *buffer)
{
	PlanBufferKind kind = buffer->kind;
	json_put(json, "{'name': %s, 'type': %s", buffer->name, dtype_name(buffer->type));
	put_ints(json, "dims", buffer->rank, buffer->dims);
	json_put(json, ", 'kind': %s", plan_buffer_words[kind]);
	if (buffer->place != PLACE_DEVICE)
		json_put(json, ", 'place': %s", plan_place_words[buffer->place]);
	if (buffer->layout)
		json_put(json, ", 'layout': %s", buffer->layout);
	if (buffer->is_value)
		json_put(json, ", 'value': 1");
	if (kind == PB_INPUT || kind == PB_OUTPUT || kind == PB_CAPTURE)
		json_put(json, ", 'index': %d", buffer->index);
	if (kind == PB_WEIGHT || (kind == PB_INPUT && buffer->bytes >= 0))
		json_put(json, ", 'offset': %lld, 'bytes': %lld", (long long)buffer->offset,
		         (long long)buffer->bytes);
	if (kind == PB_VIEW)
		json_put(json, ", 'base': %d, 'at': %d", buffer->base, buffer->offset_dim);
	if (kind == PB_VIEW && buffer->of != buffer->base)
		json_put(json, ", 'of': %d", buffer->of);
	if (kind == PB_TEMP)
		json_put(json, ", 'size': %d, 'first': %d, 'last': %d", buffer->size_dim, buffer->first,
		         buffer->last);
	if (buffer->strides)
		put_ints(json, "strides", buffer->rank, buffer->strides);
	buf_putc(json, '}');
}

static void
put_attr(Buf *json, const StepAttr *attr)
{
	json_put(json, "{'name': %s, %s: ", attr->name, plan_attr_words[attr->kind]);
	if (attr->kind == SA_STRING) {
		json_put(json, "%s}", attr->string);
		return;
	}
	for (int i = 0; i < attr->count; i++)
		if (attr->kind == SA_FLOATS)
			json_put(json, i ? ", %g" : "[%g", (double)attr->floats[i]);
		else
			json_put(json, i ? ", %lld" : "[%lld", (long long)attr->ints[i]);
	buf_puts(json, attr->count ? "]}" : "[]}");
}

static void put_plan(Buf *json, const Plan *plan);

/* Where a step's work lies: the members that not every kind has. */
static void
put_work(Buf *json, const PlanStep *step)
{
	if (step->row)
		json_put(json, ", 'row': %s", step->row);
	if (step->kind == PT_KERNEL || (step->kind == PT_VENDOR && step->kernel >= 0)) {
		json_put(json, ", 'kernel': %d, 'extent': %d", step->kernel, step->extent_dim);
		if (step->scratch_dim >= 0)
			json_put(json, ", 'scratch': %d", step->scratch_dim);
	}
	if (step->ngrid) {
		put_ints(json, "grid", step->ngrid, step->grid);
		put_ints(json, "block", step->nblock, step->block);
		if (step->shared_dim >= 0)
			json_put(json, ", 'shared': %d", step->shared_dim);
	}
	if (step->nsymbol)
		put_ints(json, "symbols", step->nsymbol, step->symbols);
}

static void
put_step(Buf *json, const PlanStep *step)
{
	json_put(json, "{'kind': %s, 'name': %s", plan_step_words[step->kind], step->name);
	if (step->origins)
		json_put(json, ", 'origins': %s", step->origins);
	put_work(json, step);
	put_ints(json, "args", step->narg, step->args);
	json_put(json, ", 'outputs': %d", step->noutput);
	for (int i = 0; i < step->nattr; i++) {
		json_put(json, i ? ", " : ", 'attrs': [");
		put_attr(json, &step->attrs[i]);
	}
	buf_puts(json, step->nattr ? "]" : "");
	for (int i = 0; i < step->nbody; i++) {
		json_put(json, i ? ", " : ", 'bodies': [");
		put_plan(json, step->bodies[i]);
	}
	buf_puts(json, step->nbody ? "]" : "");
	if (step->is_beside)
		json_put(json, ", 'beside': 1");
	if (step->points_dim >= 0)
		json_put(json, ", 'grows': %d, 'points': %g", step->points_dim, step->points);
	json_put(json, ", 'flops': %g, 'bytes': %g}", step->flops, step->bytes);
}

static void
put_plan(Buf *json, const Plan *plan)
{
	for (int i = 0; i < plan->nkernel && !plan->parent; i++)
		json_put(json, i ? ", %s" : "{'kernels': [%s", plan->kernels[i]);
	json_put(json, plan->nkernel && !plan->parent ? "],\n 'symbols': [" : "{'symbols': [");
	for (int i = 0; i < plan->nsymbol; i++) {
		buf_puts(json, i ? ",\n  " : "");
		put_symbol(json, &plan->symbols[i]);
	}
	buf_puts(json, "],\n ");
	put_dims(json, plan);
	json_put(json, ",\n 'buffers': [");
	for (int i = 0; i < plan->nbuffer; i++) {
		buf_puts(json, i ? ",\n  " : "");
		put_buffer(json, &plan->buffers[i]);
	}
	json_put(json, "],\n 'steps': [");
	for (int i = 0; i < plan->nstep; i++) {
		buf_puts(json, i ? ",\n  " : "");
		put_step(json, &plan->steps[i]);
	}
	buf_puts(json, "]");
	put_ints(json, "inputs", plan->ninput, plan->inputs);
	put_ints(json, "outputs", plan->noutput, plan->outputs);
	json_put(json, ",\n 'assumptions': [");
	for (int i = 0; i < plan->nassumption; i++) {
		const PlanAssumption *assumption = &plan->assumptions[i];
		json_put(json, i ? ", {'a': %d, 'b': %d, 'what': %s}" : "{'a': %d, 'b': %d, 'what': %s}",
		         assumption->a, assumption->b, assumption->what);
	}
	json_put(json, "]");
	for (int i = 0; i < plan->nwish; i++) {
		const InputWish *wish = &plan->wishes[i];
		json_put(json, i ? ", " : ", 'wishes': [");
		json_put(json, "{'input': %d, 'axis': %d, 'what': %s}", wish->input, wish->axis,
		         wish->what);
	}
	json_put(json, plan->nwish ? "], 'captures': %d" : ", 'captures': %d", plan->ncapture);
	json_put(json, plan->is_apart && !plan->parent ? ", 'apart': 1}" : "}");
}

void
plan_write(Buf *json, const Plan *plan)
{
	put_plan(json, plan);
	buf_putc(json, '\n');
}
