/* Programs of stages: walking, ordering, copying; questions about them. */
#include "expr/stage/stage.h"

#include <string.h>

#include "expr/scalar/ctx.h"

/* ---- what a stage reads ---------------------------------------------------------------------- */

ExprWalk
stage_walk(const Stage *stage)
{
	ExprWalk walk = {0};
	for (int b = 0; b < stage->nbody; b++)
		expr_walk_add(&walk, stage->body[b]);
	expr_walk_add(&walk, stage->guard);
	for (int d = 0; stage->kind == STAGE_scatter && d < stage->results[0]->rank; d++)
		expr_walk_add(&walk, stage->target[d]);
	return walk;
}

void
stage_visit_reads(const Stage *stage, void (*visit)(const Tensor *tensor, void *arg), void *arg)
{
	Memo *memo = memo_take(stage->body[0]->ctx);
	for (int b = 0; b < stage->nbody; b++)
		walk_nodes(memo, stage->body[b], WALK_READS);
	for (int d = 0; stage->kind == STAGE_scatter && d < stage->results[0]->rank; d++)
		walk_nodes(memo, stage->target[d], WALK_READS);
	for (int i = 0; i < memo->nodes.count; i++)
		if (memo->nodes.data[i]->op == EX_read)
			visit(memo->nodes.data[i]->tensor, arg);
	memo_give(stage->body[0]->ctx, memo);
	if (stage->kind == STAGE_scatter)
		visit(stage->init, arg);
}

bool
stage_reads(const Stage *stage, const Tensor *tensor)
{
	bool reads = stage->kind == STAGE_scatter && stage->init == tensor;
	for (int k = 0; k < stage->nbody; k++)
		reads |= expr_reads(stage->body[k], tensor);
	for (int d = 0; stage->kind == STAGE_scatter && d < stage->results[0]->rank; d++)
		reads |= expr_reads(stage->target[d], tensor);
	return reads || (stage->guard && expr_reads(stage->guard, tensor));
}

/* ---- topological order ----------------------------------------------------------------------- */

/* A unit is a stage, or all steps of a scan. It is listed after the units it depends on. */
typedef struct Order {
	Arena *arena;
	Map inputs; /* Tensor to itself: whatever computes one of these is not part of the program */
	Map state;  /* unit (Stage or Scan) to a mark: met, or listed */
	VEC(const Stage *) pending; /* a stack; a stage is entered, and left when met again */
	VEC(const Stage *) stages;
} Order;

enum { MET = 1, LISTED };

static const void *
unit_of(const Stage *stage)
{
	return stage->scan ? (const void *)stage->scan : (const void *)stage;
}

static void
want_producer(const Tensor *tensor, void *arg)
{
	Order *order = arg;
	if (!tensor || !tensor->stage || map_find_ptr(&order->inputs, tensor))
		return;
	if (!map_find_ptr(&order->state, unit_of(tensor->stage)))
		vec_push(order->arena, &order->pending, tensor->stage);
}

static void
want_unit(Order *order, const Stage *stage)
{
	const Scan *scan = stage->scan;
	if (!scan) {
		stage_visit_reads(stage, want_producer, order);
		return;
	}
	for (int i = 0; i < scan->nstep; i++)
		stage_visit_reads(scan->steps[i], want_producer, order);
	for (int i = 0; i < scan->nstate; i++)
		want_producer(scan->init[i], order);
}

static void
list_unit(Order *order, const Stage *stage)
{
	int count = stage->scan ? stage->scan->nstep : 1;
	for (int i = 0; i < count; i++)
		vec_push(order->arena, &order->stages, stage->scan ? stage->scan->steps[i] : stage);
}

static void
order_from(Order *order, const Tensor *output)
{
	want_producer(output, order);
	while (order->pending.count > 0) {
		const Stage *stage = order->pending.data[order->pending.count - 1];
		uintptr_t state = (uintptr_t)map_find_ptr(&order->state, unit_of(stage));
		if (state == 0) {
			map_set_ptr(&order->state, unit_of(stage), (void *)(uintptr_t)MET);
			want_unit(order, stage);
			continue;
		}
		order->pending.count--;
		if (state == MET) {
			map_set_ptr(&order->state, unit_of(stage), (void *)(uintptr_t)LISTED);
			list_unit(order, stage);
		}
	}
}

Program *
program_new(ExprCtx *ctx, const char *name, int ninput, Tensor *const *inputs, int noutput,
            const Tensor *const *outputs)
{
	Arena *arena = ctx->arena, *scratch = ctx_scratch(ctx);
	ArenaMark mark = arena_mark(scratch);
	Order order = {.arena = scratch, .inputs = {.arena = scratch}, .state = {.arena = scratch}};
	for (int i = 0; i < ninput; i++)
		map_set_ptr(&order.inputs, inputs[i], inputs[i]);
	for (int i = 0; i < noutput; i++)
		order_from(&order, outputs[i]);
	Program *program = NEW(arena, Program);
	program->ctx = ctx;
	program->name = ctx_name(ctx, name);
	program->ninput = ninput;
	program->inputs = arena_memdup(arena, inputs, (size_t)ninput * sizeof *inputs);
	program->nstage = order.stages.count;
	program->stages = arena_memdup(arena, order.stages.data,
	                               (size_t)order.stages.count * sizeof *program->stages);
	program->noutput = noutput;
	program->outputs = arena_memdup(arena, outputs, (size_t)noutput * sizeof *outputs);
	arena_release(scratch, mark);
	return program;
}

/* ---- copies ---------------------------------------------------------------------------------- */

Tensor *
tensor_copy(ExprCtx *ctx, const Tensor *tensor)
{
	Tensor *copy = tensor_new(ctx, tensor->name, tensor->type, tensor->rank, tensor->hi);
	if (tensor->lo)
		copy->lo = arena_memdup(ctx->arena, tensor->lo, (size_t)tensor->rank * sizeof *copy->lo);
	copy->result = tensor->result;
	return copy;
}

Stage *
stage_clone(ExprCtx *ctx, const Stage *stage)
{
	Arena *arena = ctx->arena;
	Stage *copy = arena_memdup(arena, stage, sizeof *stage);
	size_t niter = (size_t)(stage->nloop + stage->nreduce);
	Tensor **results = NEW_N(arena, Tensor *, stage->nresult);
	copy->iters = arena_memdup(arena, stage->iters, niter * sizeof *stage->iters);
	copy->body = arena_memdup(arena, stage->body, (size_t)stage->nbody * sizeof *stage->body);
	for (int i = 0; i < stage->nresult; i++) {
		results[i] = tensor_copy(ctx, stage->results[i]);
		results[i]->stage = copy;
	}
	copy->results = results;
	if (stage->target)
		copy->target =
			arena_memdup(arena, stage->target, (size_t)results[0]->rank * sizeof *stage->target);
	return copy;
}

void
stage_identity(ExprCtx *ctx, int count, const Expr **out)
{
	for (int i = 0; i < count; i++)
		out[i] = expr_iter(ctx, i);
}
