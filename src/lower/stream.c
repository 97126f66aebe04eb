/* Streamed reductions: a tile of accumulators in memory, the reduction's loops outside the lanes.
 *
 *     y[n] = sum(k) X[k,n]  =>  for piece in ceil(N/512) @parallel {
 *                                 acc: f32[512] @stack
 *                                 for l in 512 @vector { acc[l] = 0.0 }
 *                                 for k in K
 *                                   for l in 512 @vector { acc[l] += X[k, 512*piece + l] }
 *                                 for l in 512 @vector { y[512*piece + l] = acc[l] }
 *                               }
 *
 * Memory is then read in runs of a tile; with the lanes outside, a vector at a time, each from
 * another page.
 */
#include "lower/group.h"

static Buffer **
new_accumulators(Emit *emit, const Stage *stage)
{
	ExprCtx *ctx = emit->kernel->ctx;
	Buffer **acc = NEW_N(emit->arena, Buffer *, stage->nbody);
	const Dim *tile = dim_const(ctx, emit->schedule.tile);
	for (int k = 0; k < stage->nbody; k++) {
		DType type = (DType)stage->body[k]->type;
		int64_t bytes = emit->schedule.tile * dtype_bits(type) / 8;
		acc[k] = kernel_local(emit->kernel, "acc", type, 1, &tile, emit_scope(emit, bytes));
	}
	return acc;
}

static Stmt *
start(Emit *emit, int s, Buffer *const *acc)
{
	const Stage *stage = emit->group.program->stages[s];
	const Var *lane = emit_open_tile(emit, s);
	Stmt *allocs = NULL, *stores = NULL;
	for (int k = 0; k < stage->nbody; k++) {
		const Expr *identity =
			reduce_identity(emit->kernel->ctx, stage->reduce, k, acc[k]->tensor.type);
		allocs = stmt_append(allocs, stmt_alloc(emit->kernel, acc[k], NULL));
		stores = stmt_append(stores,
		                     stmt_store(emit->kernel, acc[k], &emit->in_tile, STORE_SET, identity));
	}
	return stmt_append(allocs, emit_close_tile(emit, lane, stores));
}

static Stmt *
steps(Emit *emit, int s, Buffer *const *acc)
{
	const Stage *stage = emit->group.program->stages[s];
	for (int i = stage->nloop; i < stage->nloop + stage->nreduce; i++)
		emit_open_iter(emit, stage, i);
	const Var *lane = emit_open_tile(emit, s);
	Stmt *body = emit_terms(emit, stage, acc, &emit->in_tile);
	if (stage->guard)
		body = stmt_if(emit->kernel, lower_scalar(emit, stage->guard), body, NULL);
	body = emit_close_tile(emit, lane, body);
	for (int i = stage->nloop + stage->nreduce - 1; i >= stage->nloop; i--)
		body = emit_close_iter(emit, stage, i, BIND_SERIAL, body);
	return body;
}

static Stmt *
finish(Emit *emit, int s, Buffer *const *acc)
{
	const Stage *stage = emit->group.program->stages[s];
	ExprCtx *ctx = emit->kernel->ctx;
	const Var *lane = emit_open_tile(emit, s);
	Stmt *stores = NULL;
	for (int k = 0; k < stage->nresult; k++) {
		const Expr *value = expr_read(ctx, &acc[k]->tensor, &emit->in_tile);
		value = expr_cast(ctx, stage->results[k]->type, value);
		stores = stmt_append(stores, emit_result(emit, stage->results[k], value));
	}
	return emit_close_tile(emit, lane, stores);
}

Stmt *
emit_stream(Emit *emit, int s)
{
	Buffer **acc = new_accumulators(emit, emit->group.program->stages[s]);
	Stmt *list = start(emit, s, acc);
	list = stmt_append(list, steps(emit, s, acc));
	return stmt_append(list, finish(emit, s, acc));
}
