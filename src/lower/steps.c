/* Buffers and steps of what is lowered (steps.h). */
#include "lower/steps.h"

#include "program/layout.h"

/* A temporary of a step. */
static MBuffer *
new_buffer(Lowering *low, const char *name, const Type *type, PlanBufferKind kind)
{
	MBuffer *buffer = NEW(low->arena, MBuffer);
	*buffer = (MBuffer){.name = name,
	                    .type = type->dtype,
	                    .rank = type->rank,
	                    .dims = type->dims,
	                    .kind = kind,
	                    .index = low->module->buffers.count};
	vec_push(low->arena, &low->module->buffers, buffer);
	return buffer;
}

MBuffer *
lower_value(Lowering *low, const Value *value, PlanBufferKind kind)
{
	MBuffer *buffer = new_buffer(low, value->name, &value->type, kind);
	buffer->is_value = true;
	return buffer;
}

MBuffer *
lower_temp(Lowering *low, const char *name, DType type, int rank, const Dim *const *dims)
{
	Type t = type_tensor(type, rank, dims);
	return new_buffer(low, name, &t, PB_TEMP);
}

MBuffer *
lower_buffer(Lowering *low, Value *value)
{
	MBuffer *buffer = map_find_ptr(&low->buffers, value);
	if (buffer)
		return buffer;
	if (value->type.kind != TYPE_TENSOR)
		fail_unsupported(value->def ? &value->def->loc : NULL,
		                 "value %%%s: sequences and optionals cannot be compiled yet", value->name);
	bool is_entered =
		value->region == low->region && value->def && value->def->op->code == OP_Enter;
	if (value_fixed(value)) {
		buffer = lower_value(low, value, PB_WEIGHT);
		buffer->data = value->constant;
	} else if (low->parent && (is_entered || value->region != low->region)) {
		buffer = lower_value(low, value, PB_CAPTURE);
		buffer->base = lower_buffer(low->parent, is_entered ? value->def->inputs[0] : value);
	} else {
		buffer = lower_value(low, value, PB_TEMP);
		buffer->layout = value->layout;
	}
	map_set_ptr(&low->buffers, value, buffer);
	return buffer;
}

/* ---- steps ---- */

static const char *
joined_origins(Arena *arena, const Node *node)
{
	Buf buf = {.arena = arena};
	for (int i = 0; i < node->origins.count; i++)
		buf_printf(&buf, "%s%s", i ? ", " : "", node->origins.data[i]);
	if (!buf.size && node->loc.node)
		buf_puts(&buf, node->loc.node);
	return buf_text(&buf);
}

MStep *
lower_step(Lowering *low, PlanStepKind kind, const Node *node, int ninput, MBuffer **inputs,
           int noutput, MBuffer **outputs)
{
	MStep *step = mstep_new(low->arena, kind, node->loc.node ? node->loc.node : node->op->name,
	                        ninput, inputs, noutput, outputs);
	step->loc = node->loc;
	step->source = node;
	step->plan.origins = joined_origins(low->arena, node);
	vec_push(low->arena, &low->module->steps, step);
	return step;
}

bool
lower_is_strided(Lowering *low, const MBuffer *buffer)
{
	if (buffer->kind != PB_VIEW)
		return false;
	const Dim **dense = NEW_N(low->arena, const Dim *, buffer->rank + 1);
	layout_strides(low->graph->ctx, buffer->layout, buffer->rank, buffer->dims, dense);
	for (int d = 0; d < buffer->rank; d++)
		if (buffer->strides[d] != dense[d] && !dim_is(buffer->dims[d], 1))
			return true;
	return false;
}

/* ---- work ---- */

/* At the sizes chosen for, and how they grow: as those of the heaviest stage. */
static void
count_flops(Lowering *low, MStep *step, const Program *part)
{
	double most = -1;
	for (int s = 0; s < part->nstage; s++) {
		const Dim *points = stage_points(part->ctx, part->stages[s]);
		double count = (double)probe_dim(low->context->target, points);
		double share = probe_share(low->context->target, part->stages[s]);
		double flops = count * share * stage_point_work(part->stages[s]);
		step->plan.flops += flops;
		if (flops > most && count > 0) {
			most = flops;
			step->points = points;
			step->plan.points = count;
		}
	}
}

static double
bytes_of(Lowering *low, const MBuffer *buffer)
{
	double bytes = dtype_bits(buffer->type) / 8.0;
	for (int d = 0; d < buffer->rank; d++)
		bytes *= (double)probe_dim(low->context->target, buffer->dims[d]);
	return bytes;
}

/* What computes its products, by the names of the peaks in devices.def. */
static const char *
units_of(const Program *program)
{
	const Expr *product = NULL;
	for (int s = 0; s < program->nstage && !product; s++)
		product = stage_summed_product(program->stages[s]);
	if (!product)
		return "";
	DType type = (DType)expr_without_casts(product->arg[0])->type;
	return dtype_is_byte(type) ? "s8" : dtype_is_float(type) ? dtype_name(type) : "";
}

void
lower_count_work(Lowering *low, MStep *step, const Program *program)
{
	step->plan.units = units_of(program);
	count_flops(low, step, program);
	for (int i = 0; i < step->plan.narg; i++)
		if (step->args[i])
			step->plan.bytes += bytes_of(low, step->args[i]);
}
