/* lower_view, lower_program: from a node's program to views and kernels. */
#include <string.h>

#include "lower/moves.h"
#include "lower/node.h"
#include "lower/program.h"
#include "lower/weights.h"
#include "program/group.h"
#include "program/layout.h"
#include "target/maker.h"

/* ---- views ---- */

/* The flat position in the buffer that the stage's one read reads, over the stage's iterators. */
static const Expr *
flat_address(Lowering *low, const Stage *stage, const Expr *read, const MBuffer *base)
{
	ExprCtx *ctx = low->graph->ctx;
	const Tensor *t = read->tensor;
	const Dim **stride = NEW_N(low->arena, const Dim *, t->rank + 1);
	layout_strides(ctx, NULL, t->rank, t->hi, stride);
	for (int d = 0; base->kind == PB_VIEW && d < t->rank; d++)
		stride[d] = base->strides[d];
	const Expr *address = expr_i64(ctx, 0);
	for (int d = 0; d < t->rank; d++)
		address = expr_add(ctx, address, expr_mul(ctx, read->arg[d], stride[d]));
	Facts *facts = facts_of_stage(ctx, expr_ctx_arena(ctx), stage);
	address = expr_simplify(facts, address);
	facts_close(facts);
	return address;
}

/* Whether the match takes input `input` through strides: as an operand, and as a row's program only
 * where its last dim is contiguous. */
static bool
takes_strides(const VendorMatch *match, int input, bool is_dense)
{
	const Tensor *operand = match->program->inputs[input];
	int count = match->row->program ? VENDOR_INPUTS : VENDOR_OPERANDS;
	bool is_operand = false;
	for (int k = 0; k < count; k++)
		is_operand |= operand == match->operands[k].tensor;
	return (match->row->storage & STORAGE_strides) && is_operand &&
	       (is_dense || !match->row->program);
}

/* Whether every reader is a matrix product that reads the value as an operand: the library's call
 * takes strides, and so does our own product, with a library or without. One of the last two dims
 * must be contiguous. */
static bool
readers_take_strides(Lowering *low, const Value *value, int rank, const Dim *const *strides)
{
	const Target *target = vendor_calls(low->context->target) ? low->context->target : NULL;
	if (rank < 2 || value->uses.count == 0 ||
	    (!dim_is(strides[rank - 1], 1) && !dim_is(strides[rank - 2], 1)))
		return false;
	for (int i = 0; i < value->uses.count; i++) {
		const Node *user = value->uses.data[i].node;
		if (user && user->parent->owner && user->parent->owner->op->code == OP_fused)
			continue; /* the group itself is a reader too */
		if (!user || user->parent != value->region || !node_has_meaning(user))
			return false;
		Value **values = NEW_N(low->arena, Value *, user->ninput + 1);
		const Program *p = node_program(low->arena, low->graph, user, values);
		bool *fixed = NEW_N(low->arena, bool, p->ninput + p->noutput + 1);
		int input = -1;
		for (int k = 0; k < p->ninput; k++)
			if (values[k] == value)
				input = k;
		if (input < 0)
			return false;
		fixed[input] = true;
		VendorFound found = vendor_match(low->forms, low->arena, p, target, fixed);
		if (found.count == 0 && target && vendor_calls_programs(target) &&
		    node_multiplies(low->arena, low->graph, user, value))
			continue; /* a product of ours, or a part of a call */
		if (found.count == 0 || (!target && found.match->row->program) ||
		    !takes_strides(found.match, input, dim_is(strides[rank - 1], 1)))
			return false;
	}
	return true;
}

bool
lower_may_begin(const Lowering *low, const Dim *offset, DType type)
{
	int bits = dtype_bits(type), align = maker_of(low->context->target)->align * 8;
	const Dim *rest = dim_floormod(low->graph->ctx, offset,
	                               dim_const(low->graph->ctx, align > bits ? align / bits : 1));
	return dim_is(rest, 0);
}

bool
lower_view(Lowering *low, const Node *node, const Program *program, MBuffer *const *inputs)
{
	if (program->nstage != 1 || program->noutput != 1 || program->stages[0]->kind != STAGE_map)
		return false;
	ExprCtx *ctx = low->graph->ctx;
	const Stage *stage = program->stages[0];
	const Expr *read = stage->body[0], *rest;
	if (read->op != EX_read || stage->scan)
		return false;
	int source = -1;
	for (int i = 0; i < program->ninput; i++)
		if (program->inputs[i] == read->tensor)
			source = i;
	if (source < 0 || inputs[source]->layout || node->outputs[0]->layout)
		return false;
	const Dim **coefficient = NEW_N(low->arena, const Dim *, stage->nloop + 1);
	const Dim **dense = NEW_N(low->arena, const Dim *, stage->nloop + 1);
	const Tensor *result = stage->results[0];
	layout_strides(ctx, NULL, result->rank, result->hi, dense);
	const Expr *address = flat_address(low, stage, read, inputs[source]);
	if (!expr_affine(ctx, address, stage->nloop, coefficient, &rest))
		return false;
	bool is_dense = true;
	for (int d = 0; d < stage->nloop; d++)
		is_dense &= coefficient[d] == dense[d] || dim_is(result->hi[d], 1);
	if (!is_dense && !readers_take_strides(low, node->outputs[0], stage->nloop, coefficient))
		return false; /* a copy kernel is cheaper than strided readers */
	const Dim *offset = dim_from_expr(ctx, rest);
	bool is_packed = dtype_bits(result->type) < 8; /* a view begins with a byte, as all do */
	if (!offset || !lower_may_begin(low, offset, result->type) ||
	    (is_packed && (!is_dense || !dim_is(offset, 0))))
		return false;
	MBuffer *view = lower_buffer(low, node->outputs[0]);
	MBuffer *base = inputs[source];
	view->kind = PB_VIEW;
	view->base = base->kind == PB_VIEW ? base->base : base;
	view->of = base;
	view->offset = base->kind == PB_VIEW ? dim_add(ctx, base->offset, offset) : offset;
	view->strides = is_dense ? dense : coefficient;
	view->is_data_sized = base->is_data_sized;
	return true;
}

/* ---- kernels ---- */

static void
note_used(const Tensor *tensor, void *arg)
{
	map_set_ptr(arg, tensor, (void *)(uintptr_t)tensor);
}

/* The same program without inputs nothing reads (a shape operand inference has answered). */
static Program *
without_unused(Lowering *low, const Program *part)
{
	Map used = {.arena = low->arena};
	for (int s = 0; s < part->nstage; s++) {
		const Scan *scan = part->stages[s]->scan;
		stage_visit_reads(part->stages[s], note_used, &used);
		for (int k = 0; scan && k < scan->nstate; k++)
			if (scan->init[k])
				note_used(scan->init[k], &used);
	}
	Tensor **inputs = NEW_N(low->arena, Tensor *, part->ninput + 1);
	int count = 0;
	for (int i = 0; i < part->ninput; i++)
		if (map_find_ptr(&used, part->inputs[i]))
			inputs[count++] = part->inputs[i];
	return program_new(part->ctx, part->name, count, inputs, part->noutput, part->outputs);
}

static const char *
kernel_name(Lowering *low, const Node *node)
{
	Buf buf = {.arena = low->arena};
	buf_printf(&buf, "k%d_", low->next_kernel++);
	const char *text = node->loc.node && *node->loc.node ? node->loc.node : node->op->name;
	size_t length = strlen(text);
	const char *tail = length > 40 ? text + length - 40 : text;
	for (; *tail; tail++) {
		bool plain = (*tail >= 'a' && *tail <= 'z') || (*tail >= 'A' && *tail <= 'Z') ||
		             (*tail >= '0' && *tail <= '9');
		buf_putc(&buf, plain ? *tail : '_');
	}
	return buf_text(&buf);
}

static const char *
ancestry(Lowering *low, const Node *node)
{
	Buf buf = {.arena = low->arena};
	for (int i = 0; i < node->origins.count; i++)
		buf_printf(&buf, "%s%s", i ? " + " : "", node->origins.data[i]);
	if (!buf.size)
		buf_puts(&buf, node->loc.node ? node->loc.node : node->op->name);
	return buf_text(&buf);
}

/* The strides of a kernel's argument: of a blocked one as the program has it, lanes last. */
static const Dim *const *
argument_strides(Lowering *low, const MBuffer *buffer)
{
	if (!buffer->layout)
		return buffer->strides;
	const Dim **strides = NEW_N(low->arena, const Dim *, buffer->rank + 2);
	memcpy(strides, buffer->strides, (size_t)buffer->rank * sizeof *strides);
	strides[buffer->rank] = dim_const(low->graph->ctx, 1);
	return strides;
}

/* Buffers that are strided views keep their dims, and the kernel knows their strides. */
Kernel *
lower_kernel(Lowering *low, const Node *node, const Program *part, MBuffer *const *args)
{
	int count = part->ninput + part->noutput;
	const char **layouts = NEW_N(low->arena, const char *, count + 1);
	bool *fixed = NEW_N(low->arena, bool, count + 1);
	const Dim *const **strides = NEW_N(low->arena, const Dim *const *, count + 1);
	for (int i = 0; i < count; i++) {
		layouts[i] = args[i]->layout;
		fixed[i] = lower_is_strided(low, args[i]);
		strides[i] = fixed[i] ? argument_strides(low, args[i]) : NULL;
	}
	Target target = *low->context->target;
	target.is_plain = low->is_plain;
	ProgramUnit unit = {.arena = low->arena,
	                    .name = kernel_name(low, node),
	                    .target = &target,
	                    .program = part,
	                    .layouts = layouts,
	                    .fixed = fixed};
	low->context->run(low->context, IR_nest, &unit);
	for (int i = 0; i < count; i++)
		if (layouts[i] && !unit.is_stored)
			fail_as(FAIL_USAGE, &node->loc, "a tensor is stored as %s: ApplyLayouts must run",
			        layouts[i]);
	KernelSource source = {.program = unit.program,
	                       .strides = strides,
	                       .is_plain = low->is_plain,
	                       .is_finite = pass_is_finite(low->context)};
	return lower_source(low->arena, &source, unit.name, &node->loc, ancestry(low, node),
	                    low->context);
}

static void
lower_one(Lowering *low, const Node *node, const Program *part, const Map *buffers)
{
	MBuffer **inputs = NEW_N(low->arena, MBuffer *, part->ninput + 1);
	MBuffer **outputs = NEW_N(low->arena, MBuffer *, part->noutput + 1);
	for (int i = 0; i < part->ninput; i++)
		inputs[i] = map_find_ptr(buffers, part->inputs[i]);
	for (int i = 0; i < part->noutput; i++)
		outputs[i] = map_find_ptr(buffers, part->outputs[i]);
	const Stage *first = part->stages[0];
	if (first->kind == STAGE_scatter) { /* the kernel updates a copy of the initial tensor */
		MBuffer *from = map_find_ptr(buffers, first->init);
		lower_step(low, PT_COPY, node, 1, &from, 1, outputs);
	}
	MStep *step = lower_step(low, PT_KERNEL, node, part->ninput, inputs, part->noutput, outputs);
	const Program *stored = low->is_plain ? part : lower_block_weights(low, part, step->args);
	step->kernel = lower_kernel(low, node, stored, step->args);
	lower_count_work(low, step, part);
}

/* A kernel for what can stand in one; its results that have no buffer yet get one. */
static void
lower_part(Lowering *low, const Node *node, const Program *part, Map *buffers)
{
	part = without_unused(low, part);
	for (int i = 0; i < part->noutput; i++) {
		const Tensor *t = part->outputs[i];
		if (!map_find_ptr(buffers, t))
			map_set_ptr(buffers, t, lower_temp(low, t->name, t->type, t->rank, t->hi));
	}
	lower_one(low, node, part, buffers);
}

/* Whether a reduction that is no product runs over channels that lie in blocks: chunks of them
 * would be cut out of blocks. */
static bool
reduces_blocks(const Program *part, const Map *buffers)
{
	const Stage *stage = part->stages[0];
	if (stage->nreduce == 0 || stage_summed_product(stage))
		return false;
	for (ExprWalk walk = stage_walk(stage); expr_step(&walk);) {
		const MBuffer *buffer =
			walk.e->op == EX_read ? map_find_ptr(buffers, walk.e->tensor) : NULL;
		for (int i = stage->nloop; buffer && buffer->layout && i < stage->nloop + stage->nreduce;
		     i++)
			if (expr_uses_iter(walk.e->arg[layout_dim(buffer->layout)], i))
				return true;
	}
	return false;
}

/* The same as two kernels where a long reduction would leave cores idle. */
static bool
lower_in_chunks(Lowering *low, const Node *node, const Program *part, Map *buffers)
{
	Target target = *low->context->target;
	if (reduces_blocks(part, buffers))
		return false;
	target.is_finite = pass_is_finite(low->context);
	ProgramUnit unit = {
		.arena = low->arena, .name = node->loc.node, .target = &target, .program = part};
	if (!low->is_plain)
		low->context->run(low->context, IR_part, &unit);
	const Program *split = unit.program;
	if (split == part)
		return false;
	for (int i = 0; i < part->noutput; i++)
		map_set_ptr(buffers, split->outputs[i], map_find_ptr(buffers, part->outputs[i]));
	lower_part(low, node, program_part(low->arena, split, 0, 1), buffers);
	lower_part(low, node, program_part(low->arena, split, 1, split->nstage), buffers);
	for (int i = 0; i < part->noutput; i++)
		map_set_ptr(buffers, part->outputs[i], map_find_ptr(buffers, split->outputs[i]));
	return true;
}

void
lower_program(Lowering *low, const Node *node, const Program *program, MBuffer *const *inputs,
              MBuffer *const *outputs)
{
	ProgramVec parts = {0};
	Map buffers = {.arena = low->arena};
	for (int i = 0; i < program->ninput; i++)
		map_set_ptr(&buffers, program->inputs[i], inputs[i]);
	for (int i = 0; i < program->noutput; i++) {
		const Tensor *t = program->outputs[i];
		if (!t || !outputs[i])
			continue;
		if (map_find_ptr(&buffers, t)) { /* an input, or a result wanted twice */
			MBuffer *from = map_find_ptr(&buffers, t);
			if (!t->stage)
				lower_step(low, PT_COPY, node, 1, &from, 1, (MBuffer **)&outputs[i]);
		} else
			map_set_ptr(&buffers, t, outputs[i]);
	}
	program_cut(low->arena, program, low->context->target, &parts);
	for (int p = 0; p < parts.count; p++)
		if (!lower_in_chunks(low, node, parts.data[p], &buffers))
			lower_part(low, node, parts.data[p], &buffers);
	for (int i = 0; i < program->noutput; i++) { /* a result wanted twice */
		const Tensor *t = program->outputs[i];
		MBuffer *from = t ? map_find_ptr(&buffers, t) : NULL;
		if (from && outputs[i] && from != outputs[i] && t->stage)
			lower_step(low, PT_COPY, node, 1, &from, 1, (MBuffer **)&outputs[i]);
	}
}
