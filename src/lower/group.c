/* lower_group: loops for a group of stages, in the form its schedule asks for.
 *
 *     shared loops @parallel {
 *       [vector loop or tile over the vector iterator]
 *       stage 1: own loops { registers; reduction loops { if (guard) acc op= body }; store }
 *       stage 2: …
 *     }
 *
 * A scalar of a stage is turned into one of the loop IR by two substitutions: iterators become loop
 * variables, reads of tensors become reads of buffers (intermediates lose their shared dims).
 */
#include <string.h>

#include "lower/group.h"
#include "lower/lower.h"

/* ---- places: where a tensor lives ---- */

Place *
emit_place(Emit *emit, const Tensor *tensor)
{
	Place *place = map_find_ptr(&emit->places, tensor);
	if (!place) {
		place = NEW(emit->arena, Place);
		map_set_ptr(&emit->places, tensor, place);
	}
	return place;
}

static int
stage_index(const Emit *emit, const Stage *stage)
{
	for (int s = 0; s < emit->group.program->nstage; s++)
		if (emit->group.program->stages[s] == stage)
			return s;
	return -1;
}

static int
shared_at(const Emit *emit, int s, int position)
{
	for (int k = 0; k < emit->group.nshared; k++)
		if (emit->group.map[s][k] == position)
			return k;
	return -1;
}

Scope
emit_scope(Emit *emit, int64_t bytes)
{
	if (bytes > STACK_BYTES - emit->stack_bytes)
		return SCOPE_SCRATCH;
	emit->stack_bytes += bytes;
	return SCOPE_STACK;
}

/* A local buffer for the result of stage s: its own dims, then the tile where stages take turns. */
static void
place_locally(Emit *emit, int s, const Tensor *tensor)
{
	ExprCtx *ctx = emit->kernel->ctx;
	Place *place = emit_place(emit, tensor);
	const Dim **dims = NEW_N(emit->arena, const Dim *, tensor->rank + 2);
	int *source = NEW_N(emit->arena, int, tensor->rank + 2);
	int rank = 0;
	int64_t bytes = dtype_bits(tensor->type) / 8, extent;
	bool is_const = true;
	for (int d = 0; d < tensor->rank; d++) {
		if (shared_at(emit, s, d) >= 0)
			continue;
		const Dim *lo = tensor->lo ? tensor->lo[d] : dim_const(ctx, 0);
		source[rank] = d;
		dims[rank++] = dim_sub(ctx, tensor->hi[d], lo);
	}
	if (emit->schedule.is_tiled) {
		source[rank] = PLACE_TILE;
		dims[rank++] = dim_const(ctx, emit->schedule.tile);
	}
	for (int d = 0; d < rank; d++) {
		bool known = dim_is_const(dims[d], &extent);
		is_const = is_const && known && bytes <= STACK_BYTES;
		if (is_const)
			bytes *= extent;
	}
	Scope scope = rank == 0 ? SCOPE_REG : emit_scope(emit, is_const ? bytes : INT64_MAX);
	place->local = kernel_local(emit->kernel, tensor->name, tensor->type, rank, dims, scope);
	place->rank = rank;
	place->source = source;
}

/* Index of an element of `tensor` in its local buffer, from its index in the tensor. */
static const Expr *const *
local_index(Emit *emit, const Place *place, const Tensor *tensor, const Expr *const *index)
{
	ExprCtx *ctx = emit->kernel->ctx;
	const Expr **out = NEW_N(emit->arena, const Expr *, place->rank + 1);
	for (int r = 0; r < place->rank; r++) {
		int d = place->source[r];
		if (d == PLACE_TILE)
			out[r] = emit->in_tile;
		else if (tensor->lo && !dim_is(tensor->lo[d], 0))
			out[r] = expr_sub(ctx, index[d], tensor->lo[d]);
		else
			out[r] = index[d];
	}
	return out;
}

/* ---- scalars ---- */

static const Expr *
translate_node(ExprCtx *ctx, const Expr *e, void *arg)
{
	Emit *emit = arg;
	if (e->op == EX_iter)
		return emit->iters[e->iter];
	if (e->op != EX_read)
		return e;
	const Place *place = map_find_ptr(&emit->places, e->tensor);
	if (place->local)
		return expr_read(ctx, &place->local->tensor, local_index(emit, place, e->tensor, e->arg));
	return expr_read(ctx, &place->param->tensor, e->arg);
}

const Expr *
lower_scalar(Emit *emit, const Expr *e)
{
	return expr_rewrite(emit->kernel->ctx, e, translate_node, emit);
}

/* ---- statements ---- */

Stmt *
emit_result(Emit *emit, const Tensor *result, const Expr *value)
{
	const Place *place = emit_place(emit, result);
	Stmt *list = NULL;
	if (!place->param && !place->local)
		return NULL; /* a result nobody asked for */
	if (place->local) {
		const Expr *const *index = local_index(emit, place, result, emit->iters);
		list = stmt_store(emit->kernel, place->local, index, STORE_SET, value);
		if (place->param)
			value = expr_read(emit->kernel->ctx, &place->local->tensor, index);
	}
	if (place->param) {
		const Expr **index = NEW_N(emit->arena, const Expr *, result->rank + 1);
		memcpy(index, emit->iters, (size_t)result->rank * sizeof *index);
		list = stmt_append(list, stmt_store(emit->kernel, place->param, index, STORE_SET, value));
	}
	return list;
}

static const Expr *
element(Emit *emit, const Buffer *buffer, const Expr *const *at)
{
	return expr_read(emit->kernel->ctx, &buffer->tensor, at);
}

/* acc[at] = combination of acc[at] and the terms. One state: a store with the row's op, which
 * codegen may contract and spread over lanes. Tuples: all new states are computed before any is
 * stored. `at` is NULL for a register. */
Stmt *
emit_terms(Emit *emit, const Stage *stage, Buffer *const *acc, const Expr *const *at)
{
	ExprCtx *ctx = emit->kernel->ctx;
	if (stage->nbody == 1 && reduce_info(stage->reduce)->states == 1)
		return stmt_store(emit->kernel, acc[0], at, (int)stage->reduce,
		                  lower_scalar(emit, stage->body[0]));
	const Expr *a[REDUCE_MAX_STATES], *b[REDUCE_MAX_STATES], *out[REDUCE_MAX_STATES];
	Stmt *lets = NULL, *stores = NULL;
	for (int k = 0; k < stage->nbody; k++) {
		Var *term = var_new(ctx, "term", (DType)stage->body[k]->type, NULL, NULL);
		lets = stmt_append(lets, stmt_let(emit->kernel, term, lower_scalar(emit, stage->body[k])));
		a[k] = element(emit, acc[k], at);
		b[k] = expr_var(ctx, term);
	}
	reduce_combine(ctx, stage->reduce, stage->nbody, a, b, out);
	for (int k = 0; k < stage->nbody; k++) {
		Var *next = var_new(ctx, "next", (DType)out[k]->type, NULL, NULL);
		lets = stmt_append(lets, stmt_let(emit->kernel, next, out[k]));
		stores = stmt_append(stores,
		                     stmt_store(emit->kernel, acc[k], at, STORE_SET, expr_var(ctx, next)));
	}
	return stmt_append(lets, stores);
}

/* A loop over iterator `position` of the stage around `body`; the variable was made by
 * emit_open_iter(). */
Stmt *
emit_close_iter(Emit *emit, const Stage *stage, int position, Bind bind, Stmt *body)
{
	const Iter *iter = &stage->iters[position];
	return stmt_for(emit->kernel, emit->iters[position]->var, iter->lo, iter->hi, bind, body);
}

void
emit_open_iter(Emit *emit, const Stage *stage, int position)
{
	const Iter *iter = &stage->iters[position];
	ExprCtx *ctx = emit->kernel->ctx;
	emit->iters[position] = expr_var(ctx, var_new(ctx, iter->name, DT_I64, iter->lo, iter->hi));
}

/* The reduction of a stage at fixed loops, or its map body. `lane`: the iterator in lanes or -1. */
Stmt *
emit_point(Emit *emit, const Stage *stage, int lane)
{
	ExprCtx *ctx = emit->kernel->ctx;
	if (stage->kind == STAGE_map)
		return emit_result(emit, stage->results[0], lower_scalar(emit, stage->body[0]));
	Buffer *acc[REDUCE_MAX_STATES];
	Stmt *list = NULL;
	for (int k = 0; k < stage->nbody; k++) {
		DType type = (DType)stage->body[k]->type;
		acc[k] = kernel_local(emit->kernel, "acc", type, 0, NULL, SCOPE_REG);
		list = stmt_append(
			list, stmt_alloc(emit->kernel, acc[k], reduce_identity(ctx, stage->reduce, k, type)));
	}
	for (int i = stage->nloop; i < stage->nloop + stage->nreduce; i++)
		emit_open_iter(emit, stage, i);
	Stmt *body = emit_terms(emit, stage, acc, NULL);
	if (stage->guard)
		body = stmt_if(emit->kernel, lower_scalar(emit, stage->guard), body, NULL);
	if (lane >= stage->nloop)
		body = emit_close_iter(emit, stage, lane, BIND_VECTOR, body);
	for (int i = stage->nloop + stage->nreduce - 1; i >= stage->nloop; i--)
		if (i != lane)
			body = emit_close_iter(emit, stage, i, BIND_SERIAL, body);
	list = stmt_append(list, body);
	for (int k = 0; k < stage->nresult; k++) {
		const Expr *value = expr_cast(ctx, stage->results[k]->type, element(emit, acc[k], NULL));
		list = stmt_append(list, emit_result(emit, stage->results[k], value));
	}
	return list;
}

const Var *
emit_open_tile(Emit *emit, int s)
{
	ExprCtx *ctx = emit->kernel->ctx;
	int v = emit->schedule.vector_shared;
	Var *in_tile = var_new(ctx, "lane", DT_I64, expr_i64(ctx, 0), emit->tile_extent);
	emit->in_tile = expr_var(ctx, in_tile);
	emit->iters[emit->group.map[s][v]] = expr_add(ctx, emit->shared[v], emit->in_tile);
	return in_tile;
}

Stmt *
emit_close_tile(Emit *emit, const Var *in_tile, Stmt *body)
{
	const Expr *zero = expr_i64(emit->kernel->ctx, 0);
	return stmt_for(emit->kernel, in_tile, zero, emit->tile_extent, BIND_VECTOR, body);
}

/* Stage s inside the shared loops: its own loops around its point. */
Stmt *
emit_stage(Emit *emit, int s)
{
	const Stage *stage = emit->group.program->stages[s];
	int n = stage->nloop + stage->nreduce;
	int lane = emit->schedule.vector_shared < 0 ? emit->schedule.vector_iter[s] : -1;
	emit->iters = NEW_N(emit->arena, const Expr *, n + 1);
	for (int i = 0; i < stage->nloop; i++) {
		int k = shared_at(emit, s, i);
		if (k < 0)
			emit_open_iter(emit, stage, i);
		else
			emit->iters[i] = emit->shared[k];
	}
	Stmt *body;
	if (!emit->schedule.is_tiled)
		body = emit_point(emit, stage, lane);
	else if (emit->schedule.is_streamed[s])
		body = emit_stream(emit, s);
	else {
		const Var *in_tile = emit_open_tile(emit, s);
		body = emit_close_tile(emit, in_tile, emit_point(emit, stage, lane));
	}
	if (lane >= 0 && lane < stage->nloop)
		body = emit_close_iter(emit, stage, lane, BIND_VECTOR, body);
	for (int i = stage->nloop - 1; i >= 0; i--)
		if (i != lane && shared_at(emit, s, i) < 0)
			body = emit_close_iter(emit, stage, i, BIND_SERIAL, body);
	return body;
}

/* Declarations of the group's intermediates, then the stages in order. */
static Stmt *
emit_stages(Emit *emit)
{
	const Program *p = emit->group.program;
	Stmt *list = NULL;
	for (int s = 0; s < p->nstage; s++)
		for (int r = 0; r < p->stages[s]->nresult; r++) {
			const Place *place = emit_place(emit, p->stages[s]->results[r]);
			if (place->local)
				list = stmt_append(list, stmt_alloc(emit->kernel, place->local, NULL));
		}
	for (int s = 0; s < p->nstage; s++)
		list = stmt_append(list, emit_stage(emit, s));
	return list;
}

/* ---- shared loops ---- */

static Stmt *
shared_loop(Emit *emit, int k, Bind bind, Stmt *body)
{
	const Iter *iter = &emit->group.root->iters[emit->group.shared[k]];
	return stmt_for(emit->kernel, emit->shared[k]->var, iter->lo, iter->hi, bind, body);
}

/* Iterations of shared iterator k in blocks of `size`, the inner loop of them around `body`. */
static Stmt *
piece_loop(Emit *emit, int k, const Var *piece, int64_t size, Bind bind, Stmt *body)
{
	ExprCtx *ctx = emit->kernel->ctx;
	const Iter *iter = &emit->group.root->iters[emit->group.shared[k]];
	const Expr *first = expr_mul(ctx, expr_var(ctx, piece), expr_i64(ctx, size));
	const Expr *lo = expr_add(ctx, iter->lo, first);
	const Expr *hi = expr_min(ctx, expr_add(ctx, lo, expr_i64(ctx, size)), iter->hi);
	return stmt_for(emit->kernel, emit->shared[k]->var, lo, hi, bind, body);
}

static Stmt *
pieces_loop(Emit *emit, int k, const Var *piece, int64_t size, Stmt *body)
{
	ExprCtx *ctx = emit->kernel->ctx;
	const Iter *iter = &emit->group.root->iters[emit->group.shared[k]];
	const Dim *count = dim_ceildiv(ctx, dim_sub(ctx, iter->hi, iter->lo), dim_const(ctx, size));
	return stmt_for(emit->kernel, piece, expr_i64(ctx, 0), count, BIND_PARALLEL, body);
}

/* The vector iterator cut into pieces: for o in ceil(E/tile) @parallel { for v in piece }; inside
 * each piece a block of another iterator, where there is one. */
static Stmt *
cut_loop(Emit *emit, const Var *piece, Stmt *body)
{
	const Schedule *schedule = &emit->schedule;
	int v = schedule->vector_shared, b = schedule->block_shared;
	if (!schedule->is_tiled)
		body = piece_loop(emit, v, piece, schedule->tile, BIND_VECTOR, body);
	if (b >= 0) {
		ExprCtx *ctx = emit->kernel->ctx;
		const Var *block = var_new(ctx, "block", DT_I64, NULL, NULL);
		body = piece_loop(emit, b, block, schedule->block, BIND_SERIAL, body);
		body = pieces_loop(emit, b, block, schedule->block, body);
	}
	return pieces_loop(emit, v, piece, schedule->tile, body);
}

static void
open_shared(Emit *emit, const Var **outer)
{
	ExprCtx *ctx = emit->kernel->ctx;
	const Group *group = &emit->group;
	for (int k = 0; k < group->nshared; k++) {
		const Iter *iter = &group->root->iters[group->shared[k]];
		emit->shared[k] = expr_var(ctx, var_new(ctx, iter->name, DT_I64, iter->lo, iter->hi));
	}
	int v = emit->schedule.vector_shared;
	if (v < 0 || emit->schedule.tile == 0)
		return;
	const Iter *iter = &group->root->iters[group->shared[v]];
	const Dim *tile = dim_const(ctx, emit->schedule.tile);
	const Dim *pieces = dim_ceildiv(ctx, dim_sub(ctx, iter->hi, iter->lo), tile);
	*outer = var_new(ctx, "piece", DT_I64, expr_i64(ctx, 0), pieces);
	if (emit->schedule.is_tiled) { /* shared[v] is the first position of the tile */
		const Expr *first = expr_mul(ctx, expr_var(ctx, *outer), tile);
		emit->shared[v] = expr_add(ctx, iter->lo, first);
		emit->tile_extent = expr_min(ctx, tile, expr_sub(ctx, iter->hi, emit->shared[v]));
	}
}

static Stmt *
emit_shared(Emit *emit)
{
	const Var *outer = NULL;
	int v = emit->schedule.vector_shared;
	emit->shared = NEW_N(emit->arena, const Expr *, emit->group.nshared + 1);
	open_shared(emit, &outer);
	Stmt *body = emit->schedule.rows > 1 ? emit_rows(emit) : emit_stages(emit);
	if (v >= 0 && outer)
		body = cut_loop(emit, outer, body);
	else if (v >= 0)
		body = shared_loop(emit, v, BIND_VECTOR, body);
	for (int k = emit->group.nshared - 1; k >= 0; k--) {
		if (k == v || k == emit->schedule.block_shared)
			continue;
		if (emit->schedule.rows > 1 && k == emit->schedule.row_shared)
			body = emit_row_loop(emit, body);
		else
			body = shared_loop(emit, k, BIND_PARALLEL, body);
	}
	return body;
}

/* ---- the kernel ---- */

static void
make_params(Emit *emit, const Program *p, const Dim *const *const *strides)
{
	for (int i = 0; i < p->ninput + p->noutput; i++) {
		bool is_output = i >= p->ninput;
		const Tensor *t = is_output ? p->outputs[i - p->ninput] : p->inputs[i];
		Buffer *param = kernel_param(emit->kernel, t->name, t->type, t->rank, t->hi, is_output);
		param->stride = strides[i];
		emit_place(emit, t)->param = param;
	}
}

static void
note_inner_read(const Expr *e, void *arg)
{
	Emit *emit = arg;
	if (e->op != EX_read || !e->tensor->stage)
		return;
	int s = stage_index(emit, e->tensor->stage);
	if (s >= 0 && !emit_place(emit, e->tensor)->local)
		place_locally(emit, s, e->tensor);
}

static void
make_locals(Emit *emit, const Program *p)
{
	for (int s = 0; s < p->nstage; s++) {
		for (int b = 0; b < p->stages[s]->nbody; b++)
			expr_visit(p->stages[s]->body[b], note_inner_read, emit);
		if (p->stages[s]->guard)
			expr_visit(p->stages[s]->guard, note_inner_read, emit);
	}
}

Kernel *
lower_group(Arena *arena, const Program *program, const Dim *const *const *strides,
            const char *name, const Loc *loc, const char *ancestry, const Target *target)
{
	Emit emit = {.arena = arena, .target = target, .places = {.arena = arena}};
	const char *reason;
	emit.kernel = kernel_new(arena, program->ctx, name, loc);
	emit.kernel->ancestry = ancestry;
	emit.kernel->is_plain = target->is_plain;
	make_params(&emit, program, strides);
	if (program->stages[0]->scan)
		emit.kernel->body = emit_scan(&emit, program);
	else if (program->stages[0]->kind == STAGE_scatter)
		emit.kernel->body = emit_scatter(&emit, program);
	else {
		if (!group_analyse(arena, program, target, &emit.group, &reason))
			fail_as(FAIL_BUG, loc, "cannot stand in one kernel: %s", reason);
		schedule_cpu(arena, &emit.group, target, &emit.schedule);
		make_locals(&emit, program);
		emit.kernel->body = emit_shared(&emit);
	}
	kernel_finish(emit.kernel);
	return emit.kernel;
}
