/* Register tiles: several rows of a reduction at once, so that what one row loads serves them all.
 *
 *     for mo in M/6 @parallel
 *       for n in N @vector {
 *         acc: f32[6] @reg = 0.0
 *         for k in K
 *           for u in 6 @unroll
 *             acc[u] += A[6*mo + u, k] * B[k, n]      # B[k, n] is loaded once
 *         for u in 6 @unroll
 *           Y[6*mo + u, n] = acc[u]
 *       }
 */
#include "lower/group.h"

static const Expr *
row_extent(Emit *emit)
{
	const Iter *iter = &emit->group.root->iters[emit->group.shared[emit->schedule.row_shared]];
	ExprCtx *ctx = emit->kernel->ctx;
	return dim_floordiv(ctx, iter->hi, dim_const(ctx, emit->schedule.rows));
}

/* A loop over the rows of the tile around what `body` computes of row shared[row_shared]. */
static Stmt *
unrolled(Emit *emit, const Var *row, Stmt *body)
{
	ExprCtx *ctx = emit->kernel->ctx;
	return stmt_for(emit->kernel, row, expr_i64(ctx, 0), expr_i64(ctx, emit->schedule.rows),
	                BIND_UNROLL, body);
}

/* Make the row iterator stand for row `row` of the current tile. */
static const Var *
enter_row(Emit *emit, const Expr *tile)
{
	ExprCtx *ctx = emit->kernel->ctx;
	int64_t rows = emit->schedule.rows;
	const Var *row = var_new(ctx, "u", DT_I64, expr_i64(ctx, 0), expr_i64(ctx, rows));
	const Expr *first = expr_mul(ctx, tile, expr_i64(ctx, rows));
	emit->shared[emit->schedule.row_shared] = expr_add(ctx, first, expr_var(ctx, row));
	return row;
}

static void
enter_reduction(Emit *emit, const Stage *stage)
{
	emit->iters = NEW_N(emit->arena, const Expr *, stage->nloop + stage->nreduce + 1);
	for (int i = 0; i < stage->nloop; i++)
		for (int k = 0; k < emit->group.nshared; k++)
			if (emit->group.map[0][k] == i)
				emit->iters[i] = emit->shared[k];
}

Stmt *
emit_rows(Emit *emit)
{
	const Program *p = emit->group.program;
	const Stage *stage = p->stages[0];
	ExprCtx *ctx = emit->kernel->ctx;
	DType type = (DType)stage->body[0]->type;
	const Dim *rows = dim_const(ctx, emit->schedule.rows);
	Buffer *acc = kernel_local(emit->kernel, "acc", type, 1, &rows, SCOPE_REG);
	emit->row_tile = var_new(ctx, "tile", DT_I64, expr_i64(ctx, 0), row_extent(emit));
	const Expr *tile = expr_var(ctx, emit->row_tile);

	const Var *row = enter_row(emit, tile);
	const Expr *index = expr_var(ctx, row);
	enter_reduction(emit, stage);
	for (int i = stage->nloop; i < stage->nloop + stage->nreduce; i++)
		emit_open_iter(emit, stage, i);
	Stmt *body = stmt_store(emit->kernel, acc, &index, (int)stage->reduce,
	                        lower_scalar(emit, stage->body[0]));
	body = unrolled(emit, row, body);
	if (stage->guard)
		body = stmt_if(emit->kernel, lower_scalar(emit, stage->guard), body, NULL);
	for (int i = stage->nloop + stage->nreduce - 1; i >= stage->nloop; i--)
		body = emit_close_iter(emit, stage, i, BIND_SERIAL, body);
	Stmt *list = stmt_alloc(emit->kernel, acc, reduce_identity(ctx, stage->reduce, 0, type));
	list = stmt_append(list, body);

	row = enter_row(emit, tile);
	index = expr_var(ctx, row);
	enter_reduction(emit, stage);
	Place *place = emit_place(emit, stage->results[0]);
	Stmt *tail = place->local ? stmt_alloc(emit->kernel, place->local, NULL) : NULL;
	const Expr *value = expr_read(ctx, &acc->tensor, &index);
	value = expr_cast(ctx, stage->results[0]->type, value);
	tail = stmt_append(tail, emit_result(emit, stage->results[0], value));
	for (int s = 1; s < p->nstage; s++) {
		Place *local = emit_place(emit, p->stages[s]->results[0]);
		if (local->local)
			tail = stmt_append(tail, stmt_alloc(emit->kernel, local->local, NULL));
		tail = stmt_append(tail, emit_stage(emit, s));
	}
	return stmt_append(list, unrolled(emit, row, tail));
}

Stmt *
emit_row_loop(Emit *emit, Stmt *body)
{
	ExprCtx *ctx = emit->kernel->ctx;
	return stmt_for(emit->kernel, emit->row_tile, expr_i64(ctx, 0), row_extent(emit), BIND_PARALLEL,
	                body);
}
