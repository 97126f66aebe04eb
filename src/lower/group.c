/* lower_group: naive loops for a group of stages, and the script that schedules them.
 *
 *     shared loops {
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
#include "target/maker.h"
#include "tir/text.h"

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
emit_array_scope(Emit *emit, DType type, int rank, const Dim *const *dims)
{
	int64_t bytes = dtype_bits(type) / 8, extent, room = maker_of(emit->target)->local_bytes;
	for (int d = 0; d < rank; d++)
		if (!dim_is_const(dims[d], &extent) || __builtin_mul_overflow(bytes, extent, &bytes))
			return SCOPE_SCRATCH;
	if (bytes > room - emit->stack_bytes)
		return SCOPE_SCRATCH;
	emit->stack_bytes += bytes;
	return SCOPE_STACK;
}

/* A local buffer for the result of stage s, over its own dims. */
static void
place_locally(Emit *emit, int s, const Tensor *tensor)
{
	ExprCtx *ctx = emit->kernel->ctx;
	Place *place = emit_place(emit, tensor);
	const Dim **dims = NEW_N(emit->arena, const Dim *, tensor->rank + 2);
	int *source = NEW_N(emit->arena, int, tensor->rank + 2);
	int rank = 0;
	for (int d = 0; d < tensor->rank; d++) {
		if (shared_at(emit, s, d) >= 0)
			continue;
		const Dim *lo = tensor->lo ? tensor->lo[d] : dim_const(ctx, 0);
		source[rank] = d;
		dims[rank++] = dim_sub(ctx, tensor->hi[d], lo);
	}
	Scope scope = rank == 0 ? SCOPE_REG : emit_array_scope(emit, tensor->type, rank, dims);
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
		if (tensor->lo && !dim_is(tensor->lo[d], 0))
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

/* acc = combination of acc and the terms. One state: a store with the row's op, which codegen may
 * contract and spread over lanes. Tuples: all new states are computed before any is stored. */
static Stmt *
emit_terms(Emit *emit, const Stage *stage, Buffer *const *acc)
{
	ExprCtx *ctx = emit->kernel->ctx;
	if (stage->nbody == 1 && reduce_info(stage->reduce)->states == 1)
		return stmt_store(emit->kernel, acc[0], NULL, (int)stage->reduce,
		                  lower_scalar(emit, stage->body[0]));
	const Expr *a[REDUCE_MAX_STATES], *b[REDUCE_MAX_STATES], *out[REDUCE_MAX_STATES];
	Stmt *lets = NULL, *stores = NULL;
	for (int k = 0; k < stage->nbody; k++) {
		Var *term = var_new(ctx, "term", (DType)stage->body[k]->type, NULL, NULL);
		lets = stmt_append(lets, stmt_let(emit->kernel, term, lower_scalar(emit, stage->body[k])));
		a[k] = expr_read(ctx, &acc[k]->tensor, NULL);
		b[k] = expr_var(ctx, term);
	}
	reduce_combine(ctx, stage->reduce, stage->nbody, a, b, out);
	for (int k = 0; k < stage->nbody; k++) {
		Var *next = var_new(ctx, "next", (DType)out[k]->type, NULL, NULL);
		lets = stmt_append(lets, stmt_let(emit->kernel, next, out[k]));
		stores = stmt_append(
			stores, stmt_store(emit->kernel, acc[k], NULL, STORE_SET, expr_var(ctx, next)));
	}
	return stmt_append(lets, stores);
}

/* A loop over iterator `position` of the stage around `body`; the variable was made by
 * emit_open_iter(). */
Stmt *
emit_close_iter(Emit *emit, const Stage *stage, int position, Stmt *body)
{
	const Iter *iter = &stage->iters[position];
	const Var *var = emit->iters[position]->var;
	return stmt_for(emit->kernel, var, iter->lo, iter->hi, BIND_SERIAL, body);
}

void
emit_open_iter(Emit *emit, const Stage *stage, int position)
{
	const Iter *iter = &stage->iters[position];
	ExprCtx *ctx = emit->kernel->ctx;
	emit->iters[position] = expr_var(ctx, var_new(ctx, iter->name, DT_I64, iter->lo, iter->hi));
}

/* The reduction of a stage at fixed loops, or its map body. */
Stmt *
emit_point(Emit *emit, const Stage *stage)
{
	ExprCtx *ctx = emit->kernel->ctx;
	if (stage->kind == STAGE_map)
		return emit_result(emit, stage->results[0], lower_scalar(emit, stage->body[0]));
	Buffer **acc = emit->acc = NEW_N(emit->arena, Buffer *, stage->nbody);
	Stmt *list = NULL;
	for (int k = 0; k < stage->nbody; k++) {
		DType type = (DType)stage->body[k]->type;
		acc[k] = kernel_local(emit->kernel, "acc", type, 0, NULL, SCOPE_REG);
		list = stmt_append(
			list, stmt_alloc(emit->kernel, acc[k], reduce_identity(ctx, stage->reduce, k, type)));
	}
	for (int i = stage->nloop; i < stage->nloop + stage->nreduce; i++)
		emit_open_iter(emit, stage, i);
	Stmt *body = emit_terms(emit, stage, acc);
	if (stage->guard)
		body = stmt_if(emit->kernel, lower_scalar(emit, stage->guard), body, NULL);
	for (int i = stage->nloop + stage->nreduce - 1; i >= stage->nloop; i--)
		body = emit_close_iter(emit, stage, i, body);
	list = stmt_append(list, body);
	for (int k = 0; k < stage->nresult; k++) {
		const Expr *value =
			expr_cast(ctx, stage->results[k]->type, expr_read(ctx, &acc[k]->tensor, NULL));
		list = stmt_append(list, emit_result(emit, stage->results[k], value));
	}
	return list;
}

/* What the schedule must know of a stage's loops. */
static NestStage
nest_stage(Emit *emit, const Stage *stage)
{
	bool is_sum = stage->kind == STAGE_reduce;
	NestStage nest = {.iters = emit->iters,
	                  .nacc = is_sum ? stage->nbody : 0,
	                  .acc = (const Buffer *const *)emit->acc};
	for (int r = 0; r < stage->nresult; r++) {
		const Place *place = emit_place(emit, stage->results[r]);
		if (place->param || place->local)
			nest.last = place->param ? place->param : place->local;
	}
	return nest;
}

/* Stage s inside the shared loops: its own loops around its point. */
static Stmt *
emit_stage(Emit *emit, int s, NestStage *nest)
{
	const Stage *stage = emit->group.program->stages[s];
	emit->iters = NEW_N(emit->arena, const Expr *, stage->nloop + stage->nreduce + 1);
	for (int i = 0; i < stage->nloop; i++) {
		int k = shared_at(emit, s, i);
		if (k < 0)
			emit_open_iter(emit, stage, i);
		else
			emit->iters[i] = emit->shared[k];
	}
	Stmt *body = emit_point(emit, stage);
	for (int i = stage->nloop - 1; i >= 0; i--)
		if (shared_at(emit, s, i) < 0)
			body = emit_close_iter(emit, stage, i, body);
	*nest = nest_stage(emit, stage);
	return body;
}

/* Shared loops around declarations of the group's intermediates and the stages in order. */
static Stmt *
emit_group(Emit *emit, NestStage *nest)
{
	const Program *p = emit->group.program;
	ExprCtx *ctx = emit->kernel->ctx;
	emit->shared = NEW_N(emit->arena, const Expr *, emit->group.nshared + 1);
	for (int k = 0; k < emit->group.nshared; k++) {
		const Iter *iter = &emit->group.root->iters[emit->group.shared[k]];
		emit->shared[k] = expr_var(ctx, var_new(ctx, iter->name, DT_I64, iter->lo, iter->hi));
	}
	StmtList stages = {0};
	for (int s = 0; s < p->nstage; s++)
		for (int r = 0; r < p->stages[s]->nresult; r++) {
			const Place *place = emit_place(emit, p->stages[s]->results[r]);
			if (place->local)
				stmt_list_add(&stages, stmt_alloc(emit->kernel, place->local, NULL));
		}
	for (int s = 0; s < p->nstage; s++)
		stmt_list_add(&stages, emit_stage(emit, s, &nest[s]));
	Stmt *list = stages.first;
	for (int k = emit->group.nshared - 1; k >= 0; k--) {
		const Iter *iter = &emit->group.root->iters[emit->group.shared[k]];
		list = stmt_for(emit->kernel, emit->shared[k]->var, iter->lo, iter->hi, BIND_SERIAL, list);
	}
	return list;
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
make_locals(Emit *emit, const Program *p)
{
	for (int s = 0; s < p->nstage; s++)
		for (ExprWalk walk = stage_walk(p->stages[s]); expr_step(&walk);) {
			const Tensor *t = walk.e->op == EX_read ? walk.e->tensor : NULL;
			int maker = t && t->stage ? stage_index(emit, t->stage) : -1;
			if (maker >= 0 && !emit_place(emit, t)->local)
				place_locally(emit, maker, t);
		}
}

/* Names are final before the script says them. */
static Map
finish(Kernel *kernel, Stmt *body)
{
	kernel->body = body;
	kernel_finish(kernel);
	return kernel_name_apart(kernel);
}

Kernel *
lower_group(Arena *arena, const Program *program, const Dim *const *const *strides,
            const char *name, const Loc *loc, const char *ancestry, const Target *target,
            int candidate)
{
	Emit emit = {.arena = arena, .target = target, .places = {.arena = arena}};
	const char *reason;
	const Maker *maker = maker_of(target);
	Kernel *kernel = emit.kernel = kernel_new(arena, program->ctx, name, loc);
	kernel->ancestry = ancestry;
	kernel->is_plain = target->is_plain;
	make_params(&emit, program, strides);
	if (program->stages[0]->scan || program->stages[0]->kind == STAGE_scatter) {
		bool is_scan = program->stages[0]->scan;
		finish(kernel, is_scan ? emit_scan(&emit, program) : emit_scatter(&emit, program));
		kernel->script = maker->script_outer(arena, emit.parallel.count, emit.parallel.data);
		return candidate == 0 ? kernel : NULL;
	}
	if (!group_analyse(arena, program, target, &emit.group, &reason))
		fail_as(FAIL_BUG, loc, "cannot stand in one kernel: %s", reason);
	make_locals(&emit, program);
	Nest nest = {.stages = NEW_N(arena, NestStage, program->nstage),
	             .arguments = kernel->buffers.data};
	nest.names = finish(kernel, emit_group(&emit, nest.stages));
	nest.shared = emit.shared;
	kernel->script = maker->script(arena, &emit.group, target, &nest, candidate);
	return kernel->script ? kernel : NULL;
}
