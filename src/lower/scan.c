/* Scatter and scan: the two kinds of stages whose points depend on one another.
 *
 * A scatter's result starts as a copy of its initial tensor (the step before the kernel makes it);
 * the kernel applies the updates in row-major order. An iterator that stands alone as one dim of
 * the target writes a slice of its own, so loops over such iterators may go outside and in
 * parallel.
 *
 * A scan's iterator is a serial loop around its step stages. Where every step reads the state at
 * exactly its own point (CumSum), the other loops are independent: they go outside, in parallel,
 * and the state is a register. Otherwise the states are arrays and all loops stand inside.
 */
#include "lower/group.h"
#include "target/maker.h"

static void
new_iters(Emit *emit, const Stage *stage)
{
	emit->iters = NEW_N(emit->arena, const Expr *, stage->nloop + stage->nreduce + 1);
}

/* emit_close_iter() for a loop that is to run in parallel. */
static Stmt *
close_parallel(Emit *emit, const Stage *stage, int position, Stmt *body)
{
	vec_push(emit->arena, &emit->parallel, emit->iters[position]->var);
	return emit_close_iter(emit, stage, position, body);
}

/* ---- scatter ---- */

static bool
owns_slice(const Stage *stage, int iter)
{
	for (int d = 0; d < stage->results[0]->rank; d++)
		if (stage->target[d]->op == EX_iter && stage->target[d]->iter == iter)
			return true;
	return false;
}

Stmt *
emit_scatter(Emit *emit, const Program *program)
{
	const Stage *stage = program->stages[0];
	const Tensor *result = stage->results[0];
	const Buffer *out = emit_place(emit, result)->param;
	new_iters(emit, stage);
	for (int i = 0; i < stage->nloop; i++)
		emit_open_iter(emit, stage, i);
	const Expr **target = NEW_N(emit->arena, const Expr *, result->rank + 1);
	for (int d = 0; d < result->rank; d++)
		target[d] = lower_scalar(emit, stage->target[d]);
	Stmt *body =
		stmt_store(emit->kernel, out, target, stage->combine, lower_scalar(emit, stage->body[0]));
	for (int i = stage->nloop - 1; i >= 0; i--)
		if (!owns_slice(stage, i))
			body = emit_close_iter(emit, stage, i, body);
	for (int i = stage->nloop - 1; i >= 0; i--)
		if (owns_slice(stage, i))
			body = close_parallel(emit, stage, i, body);
	return body;
}

/* ---- scan ---- */

static bool
is_pointwise_scan(const Stage *stage)
{
	bool is_pointwise = stage->scan->nstep == 1 && stage->scan->nstate == 1;
	if (stage->kind != STAGE_map || !is_pointwise)
		return false;
	for (ExprWalk walk = expr_walk(stage->body[0]); expr_step(&walk);) {
		if (walk.e->op != EX_read || walk.e->tensor != stage->scan->prev[0])
			continue;
		for (int d = 0; d < walk.e->argc; d++) {
			int own = d < stage->scan_axis ? d : d + 1;
			is_pointwise &= walk.e->arg[d]->op == EX_iter && walk.e->arg[d]->iter == own;
		}
	}
	return is_pointwise;
}

/* The scan's loop: counts up from 0; `time` is the position it stands for, up or down. */
static const Var *
time_loop(Emit *emit, const Scan *scan, const Expr **time)
{
	ExprCtx *ctx = emit->kernel->ctx;
	const Dim *extent = dim_sub(ctx, scan->hi, scan->lo);
	const Var *var = var_new(ctx, "t", DT_I64, expr_i64(ctx, 0), extent);
	const Expr *t = expr_var(ctx, var);
	const Dim *last = dim_sub(ctx, scan->hi, dim_const(ctx, 1));
	*time = scan->reverse            ? expr_sub(ctx, last, t)
	        : expr_is_zero(scan->lo) ? t
	                                 : expr_add(ctx, scan->lo, t);
	return var;
}

static const Expr *
initial_state(Emit *emit, const Scan *scan, int k, const Expr *const *index)
{
	ExprCtx *ctx = emit->kernel->ctx;
	if (!scan->init[k])
		return expr_number(ctx, scan->prev[k]->type, 0);
	return expr_read(ctx, &emit_place(emit, scan->init[k])->param->tensor, index);
}

static Stmt *
pointwise_scan(Emit *emit, const Stage *stage)
{
	ExprCtx *ctx = emit->kernel->ctx;
	const Scan *scan = stage->scan;
	const Expr *time;
	const Var *t = time_loop(emit, scan, &time);
	const Expr **others = NEW_N(emit->arena, const Expr *, stage->nloop + 1);
	new_iters(emit, stage);
	for (int i = 0, n = 0; i < stage->nloop; i++) {
		if (i == stage->scan_axis) {
			emit->iters[i] = time;
			continue;
		}
		emit_open_iter(emit, stage, i);
		others[n++] = emit->iters[i];
	}
	Buffer *state = kernel_local(emit->kernel, "state", scan->prev[0]->type, 0, NULL, SCOPE_REG);
	emit_place(emit, scan->prev[0])->local = state;
	Stmt *body =
		stmt_store(emit->kernel, state, NULL, STORE_SET, lower_scalar(emit, stage->body[0]));
	body = stmt_append(body,
	                   emit_result(emit, stage->results[0], expr_read(ctx, &state->tensor, NULL)));
	body = stmt_for(emit->kernel, t, t->lo, t->hi, BIND_SERIAL, body);
	body = stmt_append(stmt_alloc(emit->kernel, state, initial_state(emit, scan, 0, others)), body);
	for (int i = stage->nloop - 1; i >= 0; i--)
		if (i != stage->scan_axis)
			body = close_parallel(emit, stage, i, body);
	return body;
}

static Buffer *
state_array(Emit *emit, const Tensor *tensor, int rank, const Dim *const *dims)
{
	Scope scope = maker_of(emit->target)->lacks_scratch
	                  ? emit_array_scope(emit, tensor->type, rank, dims)
	                  : SCOPE_SCRATCH;
	return kernel_local(emit->kernel, tensor->name, tensor->type, rank, dims, scope);
}

/* An array for each state, and for each step result that is no output of its own: without the
 * scan's axis in both cases. */
static Stmt *
state_arrays(Emit *emit, const Scan *scan)
{
	Stmt *list = NULL;
	for (int k = 0; k < scan->nstate; k++) {
		const Tensor *prev = scan->prev[k];
		Place *place = emit_place(emit, prev);
		int *source = NEW_N(emit->arena, int, prev->rank + 1);
		for (int d = 0; d < prev->rank; d++)
			source[d] = d;
		place->local = state_array(emit, prev, prev->rank, prev->hi);
		place->rank = prev->rank;
		place->source = source;
		list = stmt_append(list, stmt_alloc(emit->kernel, place->local, NULL));
	}
	for (int s = 0; s < scan->nstep; s++)
		for (int r = 0; r < scan->steps[s]->nresult; r++) {
			const Tensor *result = scan->steps[s]->results[r];
			Place *place = emit_place(emit, result);
			if (place->param)
				continue;
			const Dim **dims = NEW_N(emit->arena, const Dim *, result->rank + 1);
			int *source = NEW_N(emit->arena, int, result->rank + 1);
			for (int d = 0; d < result->rank; d++)
				if (d != scan->steps[s]->scan_axis) {
					source[place->rank] = d;
					dims[place->rank++] = result->hi[d];
				}
			place->local = state_array(emit, result, place->rank, dims);
			place->source = source;
			list = stmt_append(list, stmt_alloc(emit->kernel, place->local, NULL));
		}
	return list;
}

/* for index in box of `like` { buffer of prev = value(index) } */
static Stmt *
fill_state(Emit *emit, const Scan *scan, int k, const Expr *time)
{
	ExprCtx *ctx = emit->kernel->ctx;
	const Tensor *prev = scan->prev[k];
	const Var **vars = NEW_N(emit->arena, const Var *, prev->rank + 1);
	const Expr **index = NEW_N(emit->arena, const Expr *, prev->rank + 2);
	for (int d = 0; d < prev->rank; d++) {
		vars[d] = var_new(ctx, "i", DT_I64, expr_i64(ctx, 0), prev->hi[d]);
		index[d] = expr_var(ctx, vars[d]);
	}
	const Expr *value;
	if (!time)
		value = initial_state(emit, scan, k, index);
	else {
		const Tensor *next = scan->next[k];
		const Expr **full = NEW_N(emit->arena, const Expr *, next->rank + 1);
		for (int d = 0, n = 0; d < next->rank; d++)
			full[d] = d == next->stage->scan_axis ? time : index[n++];
		const Place *place = emit_place(emit, next);
		value = place->param ? expr_read(ctx, &place->param->tensor, full)
		                     : expr_read(ctx, &place->local->tensor, index);
	}
	Stmt *body = stmt_store(emit->kernel, emit_place(emit, prev)->local, index, STORE_SET, value);
	for (int d = prev->rank - 1; d >= 0; d--)
		body = stmt_for(emit->kernel, vars[d], vars[d]->lo, vars[d]->hi, BIND_SERIAL, body);
	return body;
}

static Stmt *
general_scan(Emit *emit, const Scan *scan)
{
	const Expr *time;
	const Var *t = time_loop(emit, scan, &time);
	Stmt *list = state_arrays(emit, scan), *body = NULL;
	for (int k = 0; k < scan->nstate; k++)
		list = stmt_append(list, fill_state(emit, scan, k, NULL));
	for (int s = 0; s < scan->nstep; s++) {
		const Stage *stage = scan->steps[s];
		new_iters(emit, stage);
		for (int i = 0; i < stage->nloop; i++)
			if (i == stage->scan_axis)
				emit->iters[i] = time;
			else
				emit_open_iter(emit, stage, i);
		Stmt *step = emit_point(emit, stage);
		for (int i = stage->nloop - 1; i >= 0; i--)
			if (i != stage->scan_axis)
				step = emit_close_iter(emit, stage, i, step);
		body = stmt_append(body, step);
	}
	for (int k = 0; k < scan->nstate; k++)
		body = stmt_append(body, fill_state(emit, scan, k, time));
	return stmt_append(list, stmt_for(emit->kernel, t, t->lo, t->hi, BIND_SERIAL, body));
}

Stmt *
emit_scan(Emit *emit, const Program *program)
{
	const Stage *stage = program->stages[0];
	return is_pointwise_scan(stage) ? pointwise_scan(emit, stage) : general_scan(emit, stage->scan);
}
