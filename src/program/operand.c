/* derive_split_operand, derive_unfold: an operand of a sum of products in another layout, zero
 * where there is nothing, so that the sum needs no condition for it.
 *
 *     sum(r where 0 <= 2*a+b+2*r-2 < H) X[2*a+b+2*r-2] * W[r]     b < 2
 * =>  T[q:ceil(H/2), b:2] = X[2*q+b] else 0                       split by 2
 *     sum(r where 0 <= a+r-1 < ceil(H/2)) T[a+r-1, b] * W[r]
 *
 *     sum(r where 0 <= p+r-1 < H) X[p+r-1] * W[r]
 * =>  T[p, r] = X[p+r-1] else 0                                   unfolded: im2col
 *     sum(r) T[p,r] * W[r]
 */
#include "expr/index/facts.h"
#include "expr/stage/stage.h"
#include "program/derive.h"
#include "program/derive_inner.h"

enum { MAX_ITERS = 64 };

/* ---- shared ---------------------------------------------------------------------------------- */

/* The guard without what the border implies: terms that it alone leaves out are read outside. */
static const Expr *
guard_beyond(Facts *facts, const Expr *guard, const Expr *border)
{
	if (!guard)
		return NULL;
	if (guard->op == EX_and) {
		const Expr *a = guard_beyond(facts, guard->arg[0], border);
		const Expr *b = guard_beyond(facts, guard->arg[1], border);
		return expr_both(facts->ctx, a, b);
	}
	int mark = facts_mark(facts);
	facts_assume(facts, border);
	bool is_implied = facts_prove(facts, guard);
	facts_release(facts, mark);
	return is_implied ? NULL : guard;
}

/* A factor of the product e. */
static bool
is_factor(const Expr *e, const Expr *read)
{
	if (e->op == EX_mul)
		return is_factor(e->arg[0], read) != is_factor(e->arg[1], read);
	return e == read;
}

static const char *
operand_obstacle(const Stage *stage, const Expr *read)
{
	const char *obstacle = derive_obstacle(stage, false);
	if (obstacle)
		return obstacle;
	if (stage->kind != STAGE_reduce || stage->reduce != REDUCE_sum ||
	    stage->nloop + stage->nreduce > MAX_ITERS - 2)
		return "the stage is no sum";
	return read->op == EX_read && is_factor(stage->body[0], read) ? NULL
	                                                              : "the sum has no such factor";
}

/* A map of these loops that is the operand at `index`, and zero where that is outside. */
static Stage *
copy_of(ExprCtx *ctx, const Stage *stage, const Tensor *tensor, int count, const Iter *iters,
        const Expr *const *index)
{
	const Expr *body = expr_read(ctx, tensor, index);
	DType type = tensor->type;
	Stage like = *stage;
	like.name = tensor->name;
	Stage *copy = derive_stage(ctx, &like, STAGE_map, count, 0, iters, &body, NULL, &type);
	Facts *facts = facts_of_stage(ctx, expr_ctx_arena(ctx), copy);
	const Expr *range = read_range(facts, tensor, index);
	facts_close(facts);
	if (range) {
		body = expr_select(ctx, range, body, expr_number(ctx, type, 0));
		copy->body = arena_memdup(expr_ctx_arena(ctx), &body, sizeof body);
	}
	return copy;
}

/* Whether the condition holds at every point of the stage that is read: of a box that grew, the
 * points that it did not have are not. */
static bool
holds_where_read(const Program *program, const Stage *stage, const Expr *condition)
{
	ExprCtx *ctx = program->ctx;
	bool holds = true;
	for (int i = 0; i < program->noutput; i++)
		holds = holds && program->outputs[i] != stage->results[0];
	for (int k = stage->nloop; k < stage->nloop + stage->nreduce; k++)
		holds = holds && !expr_uses_iter(condition, k);
	for (int s = 0; s < program->nstage && holds; s++) {
		Facts *facts = facts_of_stage(ctx, expr_ctx_arena(ctx), program->stages[s]);
		for (ExprWalk walk = stage_walk(program->stages[s]); expr_step(&walk);)
			if (walk.e->op == EX_read && walk.e->tensor == stage->results[0])
				holds = holds && facts_prove(facts, expr_substitute(ctx, condition, walk.e->argc,
				                                                    walk.e->arg));
		facts_close(facts);
	}
	return holds;
}

/* The guard without terms that hold wherever the stage is read. */
static const Expr *
guard_where_read(const Program *program, const Stage *stage, const Expr *guard)
{
	if (guard && guard->op == EX_and)
		return expr_both(program->ctx, guard_where_read(program, stage, guard->arg[0]),
		                 guard_where_read(program, stage, guard->arg[1]));
	return guard && holds_where_read(program, stage, guard) ? NULL : guard;
}

/* The program with the copy read there instead, under the guard that the new read needs. */
static Program *
read_copy(const Program *program, const Stage *stage, const Expr *read, const Stage *copy,
          const Expr *const *index, Reason *why)
{
	ExprCtx *ctx = program->ctx;
	Facts *facts = facts_of_stage(ctx, expr_ctx_arena(ctx), stage);
	const Expr *border = read_range(facts, read->tensor, read->arg);
	const Expr *guard = border ? guard_beyond(facts, stage->guard, border) : stage->guard;
	guard = expr_both(ctx, guard, read_range(facts, copy->results[0], index));
	facts_close(facts);
	const Expr *body =
		expr_replace(ctx, stage->body[0], read, expr_read(ctx, copy->results[0], index));
	DType type = stage->results[0]->type;
	Stage *reader = derive_stage(ctx, stage, STAGE_reduce, stage->nloop, stage->nreduce,
	                             stage->iters, &body, guard, &type);
	Stage *wider =
		derive_stage(ctx, reader, STAGE_reduce, stage->nloop, stage->nreduce, stage->iters, &body,
	                 guard_where_read(program, stage, guard), &type);
	stage_tidy(ctx, wider);
	if (stage_reads_are_certain(ctx, wider))
		return derive_certain_beside(program, wider, derive_replace(program, stage, wider), why);
	stage_tidy(ctx, reader);
	return derive_certain(program, derive_replace(program, stage, reader), why);
}

/* ---- splitting a dim ------------------------------------------------------------------------- */

/* index = by*quotient + remainder with 0 <= remainder < by everywhere; false where it is not. */
static bool
split_index(Facts *facts, const Expr *index, int total, int64_t by, const Expr **quotient,
            const Expr **remainder)
{
	ExprCtx *ctx = facts->ctx;
	const Dim *coefficient[MAX_ITERS];
	const Expr *rest;
	int64_t c, lo, hi;
	if (!expr_affine(ctx, index, total, coefficient, &rest))
		return false;
	*quotient = expr_i64(ctx, 0);
	*remainder = rest;
	for (int i = 0; i < total; i++) {
		if (!dim_is_const(coefficient[i], &c))
			return false;
		const Expr **side = c % by == 0 ? quotient : remainder;
		const Expr *factor = expr_i64(ctx, c % by == 0 ? c / by : c);
		if (c != 0)
			*side = expr_add(ctx, *side, expr_mul(ctx, factor, expr_iter(ctx, i)));
	}
	*remainder = expr_simplify(facts, *remainder);
	if (!facts_range(facts, *remainder, &lo, &hi) || lo < -(INT64_C(1) << 40))
		return false;
	int64_t whole = lo >= 0 ? lo / by : -((-lo + by - 1) / by);
	*quotient = expr_simplify(facts, expr_add(ctx, *quotient, expr_i64(ctx, whole)));
	*remainder = expr_simplify(facts, expr_sub(ctx, *remainder, expr_i64(ctx, whole * by)));
	return hi - whole * by < by;
}

Program *
derive_split_operand(const Program *program, const Stage *stage, const Expr *read, int d,
                     int64_t by, Reason *why)
{
	ExprCtx *ctx = program->ctx;
	const char *obstacle = operand_obstacle(stage, read);
	if (obstacle)
		return derive_refuse(why, obstacle);
	const Tensor *tensor = read->tensor;
	if (d < 0 || d >= read->argc || by < 2 || read->argc > MAX_ITERS - 2 ||
	    (tensor->lo && !dim_is(tensor->lo[d], 0)))
		return derive_refuse(why, "the operand has no such dim from 0");
	const Expr *quotient, *remainder, *from[MAX_ITERS], *at[MAX_ITERS];
	Iter iters[MAX_ITERS];
	Facts *facts = facts_of_stage(ctx, expr_ctx_arena(ctx), stage);
	bool is_split =
		split_index(facts, read->arg[d], stage->nloop + stage->nreduce, by, &quotient, &remainder);
	facts_close(facts);
	if (!is_split)
		return derive_refuse(why, "the index is no multiple and a remainder");
	const Dim *zero = dim_const(ctx, 0), *factor = dim_const(ctx, by);
	for (int k = 0; k < read->argc; k++) {
		int to = k + (k > d);
		iters[to] = (Iter){NULL, tensor->lo ? tensor->lo[k] : zero, tensor->hi[k]};
		from[k] = expr_iter(ctx, to);
		at[to] = read->arg[k];
	}
	iters[d].hi = dim_ceildiv(ctx, tensor->hi[d], factor);
	iters[d + 1] = (Iter){NULL, zero, factor};
	from[d] = expr_add(ctx, expr_mul(ctx, factor, expr_iter(ctx, d)), expr_iter(ctx, d + 1));
	at[d] = quotient;
	at[d + 1] = remainder;
	Stage *copy = copy_of(ctx, stage, tensor, read->argc + 1, iters, from);
	return read_copy(program, stage, read, copy, at, why);
}

/* ---- unfolding ------------------------------------------------------------------------------- */

Program *
derive_unfold(const Program *program, const Stage *stage, const Expr *read, Reason *why)
{
	ExprCtx *ctx = program->ctx;
	const char *obstacle = operand_obstacle(stage, read);
	if (obstacle)
		return derive_refuse(why, obstacle);
	int total = stage->nloop + stage->nreduce, count = 0;
	const Expr *map[MAX_ITERS] = {NULL}, *from[MAX_ITERS], *at[MAX_ITERS];
	Iter iters[MAX_ITERS];
	for (int i = 0; i < total; i++)
		if (expr_uses_iter(read, i)) {
			iters[count] = stage->iters[i];
			at[count] = expr_iter(ctx, i);
			map[i] = expr_iter(ctx, count++);
		}
	for (int d = 0; d < read->argc; d++)
		from[d] = expr_substitute(ctx, read->arg[d], total, map);
	return read_copy(program, stage, read, copy_of(ctx, stage, read->tensor, count, iters, from),
	                 at, why);
}

/* ---- another order of dims ------------------------------------------------------------------- */

Program *
derive_permute_operand(const Program *program, const Stage *stage, const Expr *read,
                       const int *order, Reason *why)
{
	ExprCtx *ctx = program->ctx;
	const char *obstacle = operand_obstacle(stage, read);
	if (obstacle)
		return derive_refuse(why, obstacle);
	const Expr *from[MAX_ITERS] = {NULL}, *at[MAX_ITERS];
	Iter iters[MAX_ITERS];
	const Tensor *tensor = read->tensor;
	for (int k = 0; k < read->argc; k++) {
		int d = order[k];
		if (d < 0 || d >= read->argc || from[d])
			return derive_refuse(why, "the order is none of the operand's dims");
		iters[k] = (Iter){NULL, tensor->lo ? tensor->lo[d] : dim_const(ctx, 0), tensor->hi[d]};
		from[d] = expr_iter(ctx, k);
		at[k] = read->arg[d];
	}
	return read_copy(program, stage, read, copy_of(ctx, stage, tensor, read->argc, iters, from), at,
	                 why);
}
