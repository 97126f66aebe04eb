/* Building stages: see build.h. */
#include "expr/stage/build.h"

#include <stdio.h>

#include "expr/scalar/ctx.h"

enum { MAX_ITERS = 64, MAX_CONDITIONS = 16 };

struct StageBuilder {
	ExprCtx *ctx;
	const char *name;
	int nloop, nreduce;
	Iter iters[MAX_ITERS];
	const Expr *guard; /* NULL: none */
	Facts *facts;      /* boxes, the guard so far, open conditions */
	int marks[MAX_CONDITIONS];
	int nmark;
	Scan *scan; /* after stage_prev() */
	int scan_axis;
	StageBuilder *next; /* in the ctx's list of closed ones */
};

StageBuilder *
stage_open(ExprCtx *ctx, const char *name, int rank, const Dim *const *dims)
{
	StageBuilder *stage = ctx->closed_builders;
	must(rank <= MAX_ITERS);
	if (stage)
		ctx->closed_builders = stage->next;
	else
		stage = NEW(ctx->arena, StageBuilder);
	*stage = (StageBuilder){.ctx = ctx};
	stage->name = ctx_name(ctx, name);
	stage->nloop = rank;
	stage->facts = facts_new(ctx, ctx->arena);
	for (int i = 0; i < rank; i++) {
		char text[16];
		snprintf(text, sizeof text, "i%d", i);
		stage->iters[i] = (Iter){ctx_name(ctx, text), dim_const(ctx, 0), dims[i]};
		facts_iter(stage->facts, i, stage->iters[i].lo, stage->iters[i].hi);
	}
	return stage;
}

void
stage_name_iter(StageBuilder *stage, int position, const char *name)
{
	stage->iters[position].name = ctx_name(stage->ctx, name);
}

const Expr *
stage_iter(StageBuilder *stage, int position)
{
	must(position < stage->nloop + stage->nreduce);
	return expr_iter(stage->ctx, position);
}

const Expr *
stage_over(StageBuilder *stage, const char *name, const Dim *lo, const Dim *hi)
{
	int position = stage->nloop + stage->nreduce++;
	must(position < MAX_ITERS);
	stage->iters[position] = (Iter){ctx_name(stage->ctx, name), lo, hi};
	facts_iter(stage->facts, position, lo, hi);
	return expr_iter(stage->ctx, position);
}

/* ---- reads ----------------------------------------------------------------------------------- */

_Noreturn static void
fail_range(const StageBuilder *stage, const Tensor *tensor, const Expr *range)
{
	Stage shown = {.name = stage->name,
	               .nloop = stage->nloop,
	               .nreduce = stage->nreduce,
	               .iters = stage->iters};
	Buf text = {.arena = stage->ctx->arena};
	stage_print_scalar(&text, &shown, range);
	fail_as(FAIL_BUG, NULL, "stage '%s' reads '%s' where %s is not certain",
	        stage->name ? stage->name : "", tensor->name ? tensor->name : "", buf_text(&text));
}

const Expr *
stage_read(StageBuilder *stage, const Tensor *tensor, const Expr *const *index)
{
	const Expr *range = read_range(stage->facts, tensor, index);
	if (range && (stage->nreduce == 0 || stage->nmark > 0))
		fail_range(stage, tensor, range);
	if (range)
		stage_where(stage, range);
	return expr_read(stage->ctx, tensor, index);
}

const Expr *
stage_read_checked(StageBuilder *stage, const Tensor *tensor, const Expr *const *index)
{
	ExprCtx *ctx = stage->ctx;
	const Expr *safe[MAX_ITERS];
	for (int i = 0; i < tensor->rank; i++) {
		const Expr *lo = tensor->lo ? tensor->lo[i] : expr_i64(ctx, 0);
		bool is_certain = facts_prove(stage->facts, expr_le(ctx, lo, index[i])) &&
		                  facts_prove(stage->facts, expr_lt(ctx, index[i], tensor->hi[i]));
		safe[i] = is_certain ? index[i] : expr_at(ctx, index[i], tensor->hi[i], AT_CHECK);
	}
	return expr_read(ctx, tensor, safe);
}

const Expr *
stage_read_or(StageBuilder *stage, const Tensor *tensor, const Expr *const *index, const Expr *fill)
{
	const Expr *range = read_range(stage->facts, tensor, index);
	const Expr *read = expr_read(stage->ctx, tensor, index);
	return range ? expr_select(stage->ctx, range, read, fill) : read;
}

const Expr *
stage_read_broadcast(StageBuilder *stage, const Tensor *tensor)
{
	const Expr *index[MAX_ITERS];
	int shift = stage->nloop - tensor->rank;
	must(shift >= 0);
	for (int i = 0; i < tensor->rank; i++) {
		bool stands = dim_stands(stage->ctx, tensor->hi[i], stage->iters[shift + i].hi);
		index[i] = stands ? expr_i64(stage->ctx, 0) : expr_iter(stage->ctx, shift + i);
	}
	return stage_read_checked(stage, tensor, index);
}

const Expr *
stage_read_scalar(StageBuilder *stage, const Tensor *tensor)
{
	const Expr *index[MAX_ITERS];
	for (int i = 0; i < tensor->rank; i++)
		index[i] = expr_i64(stage->ctx, 0);
	return stage_read(stage, tensor, index);
}

void
stage_where(StageBuilder *stage, const Expr *condition)
{
	must(stage->nreduce > 0 && stage->nmark == 0);
	stage->guard = expr_both(stage->ctx, stage->guard, condition);
	facts_assume(stage->facts, condition);
}

void
stage_if(StageBuilder *stage, const Expr *condition)
{
	must(stage->nmark < MAX_CONDITIONS);
	stage->marks[stage->nmark++] = facts_mark(stage->facts);
	facts_assume(stage->facts, condition);
}

void
stage_end_if(StageBuilder *stage)
{
	must(stage->nmark > 0);
	facts_release(stage->facts, stage->marks[--stage->nmark]);
}

/* ---- finishing ------------------------------------------------------------------------------- */

static Stage *
close_stage(StageBuilder *builder, StageKind kind, int nbody, const Expr *const *body)
{
	Arena *arena = builder->ctx->arena;
	int niter = builder->nloop + builder->nreduce;
	Stage *stage = NEW(arena, Stage);
	must(builder->nmark == 0);
	facts_close(builder->facts);
	builder->facts = NULL;
	stage->kind = kind;
	stage->name = builder->name;
	stage->nloop = builder->nloop;
	stage->nreduce = builder->nreduce;
	stage->iters = arena_memdup(arena, builder->iters, (size_t)niter * sizeof *stage->iters);
	stage->nbody = nbody;
	stage->body = arena_memdup(arena, body, (size_t)nbody * sizeof *body);
	stage->guard = builder->guard;
	builder->next = builder->ctx->closed_builders; /* a model has many stages */
	builder->ctx->closed_builders = builder;
	return stage;
}

static void
add_results(ExprCtx *ctx, Stage *stage, int count, const DType *types, int rank,
            const Dim *const *dims, Tensor **results)
{
	for (int i = 0; i < count; i++) {
		const char *name = stage->name;
		if (i > 0)
			name = arena_printf(ctx->arena, "%s_%d", name ? name : "", i);
		results[i] = tensor_new(ctx, name, types[i], rank, dims);
		results[i]->stage = stage;
		results[i]->result = i;
	}
	stage->nresult = count;
	stage->results = arena_memdup(ctx->arena, results, (size_t)count * sizeof *results);
}

static void
add_loop_results(ExprCtx *ctx, Stage *stage, int count, const DType *types, Tensor **results)
{
	const Dim *dims[MAX_ITERS];
	for (int i = 0; i < stage->nloop; i++)
		dims[i] = stage->iters[i].hi;
	add_results(ctx, stage, count, types, stage->nloop, dims, results);
}

Tensor *
stage_map(StageBuilder *builder, DType type, const Expr *body)
{
	Tensor *result;
	must(builder->nreduce == 0 && body->type == type);
	Stage *stage = close_stage(builder, STAGE_map, 1, &body);
	add_loop_results(builder->ctx, stage, 1, &type, &result);
	return result;
}

Tensor *
stage_reduce_acc(StageBuilder *builder, ReduceOp op, DType type, DType acc, const Expr *body)
{
	Tensor *result;
	must(builder->nreduce > 0 && reduce_info(op)->states < 2);
	const Expr *term = expr_cast(builder->ctx, acc, body);
	Stage *stage = close_stage(builder, STAGE_reduce, 1, &term);
	stage->reduce = op;
	stage->acc = acc;
	add_loop_results(builder->ctx, stage, 1, &type, &result);
	return result;
}

Tensor *
stage_reduce(StageBuilder *stage, ReduceOp op, DType type, const Expr *body)
{
	return stage_reduce_acc(stage, op, type, reduce_accumulator(op, body->type), body);
}

void
stage_reduce_tuple(StageBuilder *builder, ReduceOp op, int count, const DType *types,
                   const Expr *const *bodies, Tensor **results)
{
	int states = reduce_info(op)->states;
	const Expr *terms[REDUCE_MAX_STATES];
	DType acc = reduce_accumulator(op, bodies[0]->type);
	must(builder->nreduce > 0 && count <= REDUCE_MAX_STATES);
	must(states == 0 ? count >= 1 : count == states);
	for (int i = 0; i < count; i++)
		terms[i] = i == 0 || states > 0 ? expr_cast(builder->ctx, acc, bodies[i]) : bodies[i];
	Stage *stage = close_stage(builder, STAGE_reduce, count, terms);
	stage->reduce = op;
	stage->acc = acc;
	add_loop_results(builder->ctx, stage, count, types, results);
}

/* What no update changes: a stage that is never run writes nothing. */
static Tensor *
unchanged(ExprCtx *ctx, const Tensor *init)
{
	StageBuilder *y = stage_open(ctx, init->name, init->rank, init->hi);
	const Expr *index[MAX_ITERS];
	for (int i = 0; i < init->rank; i++)
		index[i] = stage_iter(y, i);
	return stage_map(y, init->type, stage_read(y, init, index));
}

Tensor *
stage_scatter(StageBuilder *builder, const Tensor *init, const Expr *const *target, int combine,
              const Expr *body)
{
	Tensor *result;
	must(builder->nreduce == 0 && body->type == init->type);
	for (int i = 0; i < builder->nloop; i++)
		if (dim_is(builder->iters[i].hi, 0))
			return unchanged(builder->ctx, init);
	const Expr *range = read_range(builder->facts, init, target);
	if (range)
		fail_range(builder, init, range);
	Stage *stage = close_stage(builder, STAGE_scatter, 1, &body);
	stage->init = init;
	stage->target = arena_memdup(builder->ctx->arena, target, (size_t)init->rank * sizeof *target);
	stage->combine = combine;
	add_results(builder->ctx, stage, 1, &(DType){init->type}, init->rank, init->hi, &result);
	return result;
}

/* ---- scans ----------------------------------------------------------------------------------- */

const Expr *
stage_prev(StageBuilder *builder, int axis, const Tensor *init, bool reverse, DType type)
{
	ExprCtx *ctx = builder->ctx;
	const Dim *dims[MAX_ITERS];
	const Expr *index[MAX_ITERS];
	int rank = 0;
	must(axis < builder->nloop && builder->nreduce == 0);
	for (int i = 0; i < builder->nloop; i++)
		if (i != axis) {
			dims[rank] = builder->iters[i].hi;
			index[rank++] = expr_iter(ctx, i);
		}
	Scan *scan = NEW(ctx->arena, Scan);
	scan->lo = builder->iters[axis].lo;
	scan->hi = builder->iters[axis].hi;
	scan->reverse = reverse;
	scan->nstate = 1;
	Tensor *prev = tensor_new(ctx, "prev", type, rank, dims);
	scan->prev = arena_memdup(ctx->arena, &prev, sizeof prev);
	scan->init = arena_memdup(ctx->arena, &init, sizeof init);
	builder->scan = scan;
	builder->scan_axis = axis;
	return expr_read(ctx, prev, index);
}

Tensor *
stage_scan(StageBuilder *builder, DType type, const Expr *body)
{
	Arena *arena = builder->ctx->arena;
	must(builder->scan);
	Tensor *result = stage_map(builder, type, body);
	Stage *stage = (Stage *)(uintptr_t)result->stage;
	Scan *scan = builder->scan;
	const Tensor *next = result;
	const Stage *step = stage;
	stage->scan = scan;
	stage->scan_axis = builder->scan_axis;
	scan->next = arena_memdup(arena, &next, sizeof next);
	scan->nstep = 1;
	scan->steps = arena_memdup(arena, &step, sizeof step);
	return result;
}
