/* lower_graph: every node becomes a view, a vendor call, kernels, or a host step; regions of If,
 * Loop and Scan become nested modules.
 *
 * One walk over the nodes in order. A node with a meaning is lowered from its program alone; which
 * operators it held does not matter here. Steps nobody reads are dropped at the end, so shape
 * computations that inference already answered leave nothing behind.
 */
#include "lower/lower.h"

#include "lower/node.h"
#include "lower/program.h"
#include "lower/vendor.h"
#include "lower/weights.h"
#include "program/forms.h"

static void
copy_attrs(Lowering *low, const Node *node, MStep *step)
{
	StepAttr *made = NEW_N(low->arena, StepAttr, node->op->nattr + 1);
	step->plan.attrs = made;
	for (int i = 0; i < node->op->nattr; i++) {
		const Attr *attr = attr_find(node, node->op->attrs[i].name);
		if (attr && attr_for_step(attr, &made[step->plan.nattr]))
			step->plan.nattr++;
	}
}

static MBuffer **
buffers_of(Lowering *low, int count, Value **values)
{
	MBuffer **buffers = NEW_N(low->arena, MBuffer *, count + 1);
	for (int i = 0; i < count; i++)
		buffers[i] = values[i] ? lower_buffer(low, values[i]) : NULL;
	return buffers;
}

static void
lower_host(Lowering *low, const Node *node)
{
	MBuffer **inputs = buffers_of(low, node->ninput, node->inputs);
	MBuffer **outputs = buffers_of(low, node->noutput, node->outputs);
	MStep *step = lower_step(low, PT_HOST, node, node->ninput, inputs, node->noutput, outputs);
	step->plan.row = node->op->name;
	for (int i = 0; i < node->noutput; i++)
		if (outputs[i] && !type_is_static(&node->outputs[i]->type))
			outputs[i]->is_data_sized = true;
	copy_attrs(low, node, step);
}

/* ---- regions ---- */

static Module *lower_region(Lowering *parent, Region *region);

static void
lower_control(Lowering *low, const Node *node)
{
	static const struct {
		OpCode code;
		PlanStepKind kind;
	} kinds[] = {{OP_If, PT_IF}, {OP_Loop, PT_LOOP}, {OP_Scan, PT_SCAN}};
	if (node->op->code == OP_Enter)
		return; /* a capture with other dims: lower_buffer() */
	for (size_t i = 0; i < countof(kinds); i++) {
		if (node->op->code != kinds[i].code)
			continue;
		MBuffer **inputs = buffers_of(low, node->ninput, node->inputs);
		MBuffer **outputs = buffers_of(low, node->noutput, node->outputs);
		for (int k = 0; k < node->noutput; k++)
			if (outputs[k] && !type_is_static(&node->outputs[k]->type))
				outputs[k]->is_data_sized = true;
		MStep *step =
			lower_step(low, kinds[i].kind, node, node->ninput, inputs, node->noutput, outputs);
		copy_attrs(low, node, step);
		step->plan.nbody = node->nregion;
		step->bodies = NEW_N(low->arena, Module *, node->nregion + 1);
		for (int k = 0; k < node->nregion; k++)
			step->bodies[k] = lower_region(low, node_body(node, k));
		return;
	}
	fail_unsupported(&node->loc, "this control operator cannot be compiled yet");
}

/* ---- nodes with a meaning ---- */

/* As node_program(), by way of the passes. */
static const Program *
program_of(Lowering *low, const Node *node, Value **values)
{
	ProgramUnit unit = {.arena = low->arena,
	                    .name = node->loc.node,
	                    .target = low->context->target,
	                    .program = node_meaning(low->graph, node)};
	node_meaning_inputs(node, values);
	unit.values = known_values(low->arena, unit.program, values);
	low->context->run(low->context, IR_program, &unit);
	return unit.program;
}

static void
lower_meaning(Lowering *low, const Node *node)
{
	if (!node_has_meaning(node))
		fail_unsupported(&node->loc,
		                 node->op->effect == EFFECT_random
		                     ? "the operator draws at random, which nothing computes yet"
		                     : "the operator is not computed for operands of these types");
	Value **values = NEW_N(low->arena, Value *, node->ninput + 1);
	const Program *program = program_of(low, node, values);
	MBuffer **inputs = NEW_N(low->arena, MBuffer *, program->ninput + 1);
	for (int i = 0; i < program->ninput; i++)
		inputs[i] = lower_buffer(low, values[i]);
	if (!node_is_denied(low->context, node, "view") &&
	    (lower_view(low, node, program, inputs) || lower_concat(low, node, program, values)))
		return;
	MBuffer **outputs = buffers_of(low, node->noutput, node->outputs);
	low->is_plain = node_is_denied(low->context, node, "schedule");
	if (!low->is_plain)
		program = lower_take_codes(low, program, &inputs);
	if (!node_is_denied(low->context, node, "vendor") &&
	    (lower_faster_apart(low, node, program, inputs, outputs) ||
	     lower_vendor(low, node, program, inputs, outputs) ||
	     lower_products(low, node, program, inputs, outputs)))
		return;
	lower_program(low, node, program, inputs, outputs);
}

static void
show_progress(Lowering *low)
{
	while (low->parent)
		low = low->parent;
	low->lowered++;
	if (low->context->progress)
		low->context->progress(low->context->progress_arg, "lowering", low->lowered, low->nodes);
}

static void
lower_node(Lowering *low, const Node *node)
{
	Work work = work_begin(&node->loc, NULL);
	switch (node->op->meaning) {
	case MEANING_HOST:
		lower_host(low, node);
		break;
	case MEANING_CONTROL:
		if (!node_has_meaning(node)) {
			lower_control(low, node);
			break;
		}
		/* fall through */
	default:
		lower_meaning(low, node);
	}
	show_progress(low);
	work_end(work);
}

/* ---- outputs, symbols, clean-up ---- */

static bool
is_listed(const Module *module, const MBuffer *buffer)
{
	for (int i = 0; i < module->outputs.count; i++)
		if (module->outputs.data[i] == buffer)
			return true;
	return false;
}

/* A result is a buffer of its own that a step writes: inputs, weights, views and repeated results
 * are copied. */
static void
lower_result(Lowering *low, Value *value)
{
	MBuffer *buffer = lower_buffer(low, value);
	if (buffer->kind == PB_TEMP && !is_listed(low->module, buffer)) {
		buffer->kind = PB_OUTPUT;
		vec_push(low->arena, &low->module->outputs, buffer);
		return;
	}
	MBuffer *copy = lower_value(low, value, PB_OUTPUT);
	MStep *step = mstep_new(low->arena, PT_COPY, value->name, 1, &buffer, 1, &copy);
	if (value->def)
		step->loc = value->def->loc;
	copy->is_data_sized = buffer->is_data_sized;
	vec_push(low->arena, &low->module->steps, step);
	vec_push(low->arena, &low->module->outputs, copy);
}

static void
keep(bool *live, const MBuffer *buffer)
{
	for (; buffer && !live[buffer->index]; buffer = buffer->kind == PB_VIEW ? buffer->base : NULL)
		live[buffer->index] = true;
}

static void
keep_captures(bool *live, const Module *outer, const Module *inner)
{
	for (int i = 0; i < inner->buffers.count; i++) {
		const MBuffer *buffer = inner->buffers.data[i];
		if (buffer->kind == PB_CAPTURE && buffer->base->index < outer->buffers.count &&
		    outer->buffers.data[buffer->base->index] == buffer->base)
			keep(live, buffer->base);
	}
}

/* A step may write its result through a view of the buffer that is read. */
static bool
is_read(const bool *live, const MBuffer *buffer)
{
	return live[buffer->index] || (buffer->kind == PB_VIEW && live[buffer->base->index]);
}

/* Drop steps whose results nobody reads, from the end. */
static void
drop_unread(Module *module, Arena *arena)
{
	bool *live = NEW_N(arena, bool, module->buffers.count + 1);
	bool *wanted = NEW_N(arena, bool, module->steps.count + 1);
	for (int i = 0; i < module->outputs.count; i++)
		keep(live, module->outputs.data[i]);
	for (int i = 0; i < module->symbols.count; i++)
		keep(live, module->symbols.data[i].buffer);
	for (int s = module->steps.count - 1; s >= 0; s--) {
		MStep *step = module->steps.data[s];
		for (int i = step->plan.narg - step->plan.noutput; i < step->plan.narg; i++)
			wanted[s] |= step->args[i] && is_read(live, step->args[i]);
		for (int i = 0; wanted[s] && i < step->plan.narg; i++)
			keep(live, step->args[i]);
		for (int i = 0; wanted[s] && i < step->plan.nbody; i++)
			keep_captures(live, module, step->bodies[i]);
	}
	int count = 0;
	for (int s = 0; s < module->steps.count; s++)
		if (wanted[s])
			module->steps.data[count++] = module->steps.data[s];
	module->steps.count = count;
	count = 0;
	for (int i = 0; i < module->buffers.count; i++) {
		MBuffer *buffer = module->buffers.data[i];
		if (live[i] || buffer->kind == PB_INPUT)
			module->buffers.data[count++] = buffer;
	}
	module->buffers.count = count;
	for (int i = 0; i < count; i++)
		module->buffers.data[i]->index = i;
}

/* Symbols of the graph that this region binds. */
static void
lower_symbols(Lowering *low, const Region *region)
{
	Graph *graph = low->graph;
	for (int i = 0; i < graph->symbols.count; i++) {
		const SymbolDef *def = &graph->symbols.data[i];
		if (symbol_home(def) != region)
			continue;
		MSymbol symbol = {.symbol = def->symbol, .index = def->index, .expr = def->expr};
		symbol.source = def->source == SYMBOL_DIM       ? MSYM_DIM
		                : def->source == SYMBOL_ELEMENT ? MSYM_ELEMENT
		                                                : MSYM_EXPR;
		if (def->value)
			symbol.buffer = lower_buffer(low, def->value);
		vec_push(low->arena, &low->module->symbols, symbol);
	}
}

/* An assumption is checked where the region is entered that made it. */
static void
lower_assumptions(Lowering *low, const Region *region)
{
	for (int i = 0; i < low->graph->assumptions.count; i++) {
		const Assumption *a = &low->graph->assumptions.data[i];
		const char *place = assumption_place(low->arena, a);
		MAssumption out = {a->a, a->b, arena_printf(low->arena, "%s%s", place, a->what)};
		if (a->region == region)
			vec_push(low->arena, &low->module->assumptions, out);
	}
	for (int i = 0; i < low->graph->wishes.count && !region->parent; i++)
		vec_push(low->arena, &low->module->wishes, low->graph->wishes.data[i]);
}

static void
lower_body(Lowering *low, Region *region)
{
	low->region = region;
	for (int i = 0; i < region->nparam; i++) {
		Value *param = region->params[i];
		MBuffer *buffer = lower_value(low, param, PB_INPUT);
		buffer->data = value_default(param);
		map_set_ptr(&low->buffers, param, buffer);
		vec_push(low->arena, &low->module->inputs, buffer);
	}
	lower_place_concats(low, region);
	for (const Node *node = region->first; node; node = node->next) {
		lower_node(low, node);
		lower_covering(low, node);
	}
	for (int i = 0; i < region->nresult; i++)
		lower_result(low, region->results[i]);
	lower_symbols(low, region);
	lower_assumptions(low, region);
}

static Module *
new_module(Lowering *low, const char *name, Module *parent)
{
	Module *module = NEW(low->arena, Module);
	module->arena = low->arena;
	module->ctx = low->graph->ctx;
	module->name = name;
	module->parent = parent;
	return module;
}

static Module *
lower_region(Lowering *parent, Region *region)
{
	Lowering low = {.arena = parent->arena,
	                .graph = parent->graph,
	                .context = parent->context,
	                .parent = parent,
	                .buffers = {.arena = parent->arena},
	                .placed = {.arena = parent->arena},
	                .forms = parent->forms,
	                .next_kernel = parent->next_kernel};
	low.module = new_module(&low, region->name, parent->module);
	lower_body(&low, region);
	drop_unread(low.module, low.arena);
	parent->next_kernel = low.next_kernel;
	return low.module;
}

Module *
lower_graph(Arena *arena, Graph *graph, PassContext *context)
{
	TextOperators operators = formula_operators(graph->ops);
	Lowering low = {.arena = arena,
	                .graph = graph,
	                .context = context,
	                .forms = vendor_forms_new(arena, &operators, vendor_losses(context)),
	                .buffers = {.arena = arena},
	                .placed = {.arena = arena},
	                .nodes = graph_node_count(graph)};
	low.module = new_module(&low, graph->name, NULL);
	context->running = "lowering";
	lower_body(&low, graph->body);
	context->running = NULL;
	drop_unread(low.module, arena);
	if (context->target && context->target->device->is_apart)
		lower_places(arena, low.module);
	lower_side_by_side(arena, low.module, context->target);
	return low.module;
}
