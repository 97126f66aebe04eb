/* Locals that stand for boxes of buffers (local.h). */
#include "tir/schedule/local.h"

#include <string.h>

#include "expr/stage/reduce.h"

/* ---- room ------------------------------------------------------------------------------------ */

/* Bytes of a buffer; INT64_MAX when that is no number, or too large a one. */
static int64_t
bytes_of(const Buffer *buffer)
{
	int64_t bytes = (dtype_bits(buffer->tensor.type) + 7) / 8, extent;
	for (int d = 0; d < buffer->tensor.rank; d++)
		if (!dim_is_const(buffer->tensor.hi[d], &extent) || extent > STACK_BYTES ||
		    (bytes *= extent) > STACK_BYTES)
			return INT64_MAX;
	return bytes;
}

/* What no longer fits on the stack when `leaving` is gone lives in scratch memory; what does not
 * fit into registers is refused. */
static void
settle_scope(const Scheduling *s, Buffer *buffer, const Buffer *leaving)
{
	int64_t used = 0;
	if (buffer->scope == SCOPE_REG && bytes_of(buffer) == INT64_MAX)
		refuse_step(s, "%s does not fit into registers", buffer->tensor.name);
	if (buffer->scope != SCOPE_STACK)
		return;
	for (StmtWalk walk = stmt_walk(s->kernel->arena, s->kernel->body); stmt_step(&walk);) {
		const Buffer *other = walk.stmt->kind == STMT_ALLOC ? walk.stmt->buffer : NULL;
		if (other && other != leaving && (other->scope == SCOPE_STACK || other->scope == SCOPE_REG))
			used += bytes_of(other);
	}
	if (bytes_of(buffer) > STACK_BYTES - used)
		buffer->scope = SCOPE_SCRATCH;
}

/* ---- the local ------------------------------------------------------------------------------- */

Local
local_plan(const Scheduling *s, Facts *facts, const AccessVec *all, const Tensor *old)
{
	Local l = {
		.s = s, .facts = facts, .old = old, .type = old->type, .box = find_box(s, facts, all, old)};
	for (int d = 0; d < old->rank; d++)
		if (!dim_is(l.box.size[d], 1))
			vec_push(s->kernel->arena, &l.parts, (Part){PART_WHOLE, d, 0});
	return l;
}

/* i of min(i, N-1), where N is the dim's extent; else NULL. */
static const Expr *
without_clamp(Facts *facts, const Dim *extent, const Expr *index)
{
	ExprCtx *ctx = index->ctx;
	for (int i = 0; index->op == EX_min && i < 2; i++) {
		const Expr *behind = expr_sub(ctx, extent, index->arg[1 - i]);
		if (expr_is_zero(expr_simplify(facts, expr_sub(ctx, behind, expr_i64(ctx, 1)))))
			return index->arg[i];
	}
	return NULL;
}

/* The access without clamps, in a loop of the kernel's that may have some. */
static Access
unclamp(Local *l, const Access *access)
{
	Access plain = *access;
	const Expr **index = NEW_N(l->s->kernel->arena, const Expr *, l->old->rank);
	for (int d = 0; d < l->old->rank; d++) {
		const Expr *inside = without_clamp(l->facts, l->old->hi[d], access->index[d]);
		index[d] = inside ? inside : access->index[d];
		l->is_clamped[d] |= inside != NULL;
	}
	plain.index = index;
	return plain;
}

Local
local_plan_reads(const Scheduling *s, Facts *facts, const AccessVec *all, const Tensor *old)
{
	Local plan = {.s = s, .facts = facts, .old = old};
	AccessVec plain = {0};
	for (int i = 0; i < all->count; i++)
		vec_push(s->kernel->arena, &plain,
		         all->data[i].tensor == old ? unclamp(&plan, &all->data[i]) : all->data[i]);
	Local l = local_plan(s, facts, &plain, old);
	memcpy(l.is_clamped, plan.is_clamped, sizeof l.is_clamped);
	return l;
}

/* How many elements: of the buffer, or (is_exact) of those in use. */
static const Expr *
part_extent(const Local *l, const Part *part, bool is_exact)
{
	ExprCtx *ctx = l->s->ctx;
	if (part->kind == PART_LANE)
		return l->lanes;
	if (part->kind == PART_IN_BLOCK)
		return expr_i64(ctx, part->block);
	const Expr *extent = is_exact ? l->box.extent[part->dim] : l->box.size[part->dim];
	if (part->kind == PART_WHOLE)
		return extent;
	const Expr *up = expr_add(ctx, extent, expr_i64(ctx, part->block - 1));
	return tidy_dim(ctx, expr_floordiv(ctx, up, expr_i64(ctx, part->block)));
}

void
local_make(Local *l, const char *name, const Buffer *leaving)
{
	int count = l->parts.count;
	const Dim **dims = NEW_N(l->s->kernel->arena, const Dim *, count);
	for (int p = 0; p < count; p++)
		dims[p] = part_extent(l, &l->parts.data[p], false);
	if (l->padding)
		dims[count - 1] = dim_add_i64(l->s->ctx, dims[count - 1], l->padding);
	l->buffer = kernel_local(l->s->kernel, name, l->type, count, dims, l->s->step->scope);
	settle_scope(l->s, l->buffer, leaving);
}

/* The place in the local of the element at old[index]. */
static const Expr *const *
place_of(const Local *l, const Expr *const *index)
{
	ExprCtx *ctx = l->s->ctx;
	const Expr **place = NEW_N(l->s->kernel->arena, const Expr *, l->parts.count);
	for (int p = 0; p < l->parts.count; p++) {
		const Part *part = &l->parts.data[p];
		if (part->kind == PART_LANE) {
			place[p] = l->lane;
			continue;
		}
		const Expr *block = expr_i64(ctx, part->block), *at = index[part->dim];
		const Expr *lo = l->box.lo[part->dim];
		const Expr *inside =
			l->is_clamped[part->dim] ? without_clamp(l->facts, l->old->hi[part->dim], at) : NULL;
		at = inside ? inside : at;
		at = expr_is_zero(lo) ? at : expr_simplify(l->facts, expr_sub(ctx, at, lo));
		if (part->kind == PART_BLOCKS)
			at = expr_floordiv(ctx, at, block);
		if (part->kind == PART_IN_BLOCK)
			at = expr_floormod(ctx, at, block);
		place[p] = at;
	}
	return place;
}

static const Buffer *
redirect(Kernel *kernel, const Buffer *buffer, const Expr *const **index, void *arg)
{
	(void)kernel;
	const Local *l = arg;
	if (&buffer->tensor != l->old)
		return NULL;
	*index = place_of(l, *index);
	return l->buffer;
}

void
local_redirect(Local *l, Stmt *list)
{
	stmt_redirect(l->s->kernel, list, redirect, l);
}

/* ---- loops over the elements ----------------------------------------------------------------- */

typedef struct Nest {
	const Expr **place, **index; /* in the local, in the old buffer */
	const Var **vars;
	const Expr *guard; /* what is not certain of the place, or NULL */
} Nest;

static void
add_guard(ExprCtx *ctx, Nest *nest, const Expr *condition)
{
	if (condition)
		nest->guard = nest->guard ? expr_and(ctx, nest->guard, condition) : condition;
}

/* The last block of a dim may be short, and parts of a box may lie outside of the buffer, where
 * nothing is read under the conditions that stand there. */
static void
guard_nest(const Local *l, Nest *nest)
{
	ExprCtx *ctx = l->s->ctx;
	for (int p = 0; p < l->parts.count; p++) {
		const Part *part = &l->parts.data[p];
		const Expr *lo = part->kind == PART_IN_BLOCK ? l->box.lo[part->dim] : NULL;
		if (!lo)
			continue;
		const Expr *end = expr_add(ctx, lo, l->box.extent[part->dim]);
		const Expr *is_used = expr_lt(ctx, nest->index[part->dim], end);
		if (!facts_prove(l->facts, is_used))
			add_guard(ctx, nest, is_used);
	}
	add_guard(ctx, nest, read_range(l->facts, l->old, nest->index));
}

/* Of a dim that goes on behind its end, the elements from there on (part of `behind`), or all. */
static Nest
make_nest(Local *l, int behind)
{
	ExprCtx *ctx = l->s->ctx;
	Arena *arena = l->s->kernel->arena;
	int count = l->parts.count;
	Nest nest = {.place = NEW_N(arena, const Expr *, count),
	             .index = NEW_N(arena, const Expr *, l->old->rank),
	             .vars = NEW_N(arena, const Var *, count)};
	for (int d = 0; d < l->old->rank; d++)
		nest.index[d] = l->box.lo[d];
	for (int p = 0; p < count; p++) {
		const Part *part = &l->parts.data[p];
		const char *name =
			arena_printf(arena, behind < 0 ? "%s_%d" : "%s_fill_%d", l->buffer->tensor.name, p);
		const Expr *first = expr_i64(ctx, 0), *extent = part_extent(l, part, true);
		int64_t scale = part->kind == PART_BLOCKS ? part->block : 1;
		if (part->kind <= PART_BLOCKS && part->dim == behind) {
			const Expr *inside = expr_sub(ctx, l->old->hi[part->dim], l->box.lo[part->dim]);
			first = expr_max(ctx, first, expr_floordiv(ctx, inside, expr_i64(ctx, scale)));
		}
		nest.vars[p] = var_new(ctx, name, DT_I64, first, extent);
		nest.place[p] = expr_var(ctx, nest.vars[p]);
		facts_var(l->facts, nest.vars[p], first, extent);
		const Expr *step = expr_mul(ctx, nest.place[p], expr_i64(ctx, scale));
		if (part->kind != PART_LANE)
			nest.index[part->dim] = expr_add(ctx, nest.index[part->dim], step);
	}
	for (int d = 0; d < l->old->rank; d++)
		nest.index[d] = expr_simplify(l->facts, nest.index[d]);
	return nest;
}

static Stmt *
put_in_nest(const Local *l, const Nest *nest, Stmt *body)
{
	for (int p = l->parts.count - 1; p >= 0; p--)
		body = stmt_for(l->s->kernel, nest->vars[p], nest->vars[p]->lo, nest->vars[p]->hi,
		                BIND_SERIAL, body);
	return body;
}

/* Where dim d goes on behind its end, what lies there is the last element. */
static Stmt *
fill_behind(Local *l, int d)
{
	ExprCtx *ctx = l->s->ctx;
	int mark = facts_mark(l->facts);
	Nest nest = make_nest(l, d);
	const Expr *is_behind = expr_le(ctx, l->old->hi[d], nest.index[d]);
	for (int k = 0; k < l->old->rank; k++)
		if (l->is_clamped[k])
			nest.index[k] =
				expr_min(ctx, nest.index[k], expr_sub(ctx, l->old->hi[k], expr_i64(ctx, 1)));
	const Expr *value = expr_cast(ctx, l->type, expr_read(ctx, l->old, nest.index));
	Stmt *store = stmt_store(l->s->kernel, l->buffer, nest.place, STORE_SET, value);
	facts_release(l->facts, mark);
	return put_in_nest(l, &nest, stmt_if(l->s->kernel, is_behind, store, NULL));
}

Stmt *
local_move(Local *l, Move move, int op)
{
	ExprCtx *ctx = l->s->ctx;
	Kernel *kernel = l->s->kernel;
	int mark = facts_mark(l->facts);
	Nest nest = make_nest(l, -1);
	const Buffer *to = move == MOVE_OUT ? (const Buffer *)l->old : l->buffer;
	const Expr *value = move == MOVE_IN
	                        ? expr_cast(ctx, l->type, expr_read(ctx, l->old, nest.index))
	                    : move == MOVE_OUT ? expr_read(ctx, &l->buffer->tensor, nest.place)
	                                       : reduce_identity(ctx, (ReduceOp)op, 0, l->old->type);
	Stmt *body = stmt_store(kernel, to, move == MOVE_OUT ? nest.index : nest.place,
	                        move == MOVE_OUT ? op : STORE_SET, value);
	if (move != MOVE_IDENTITY)
		guard_nest(l, &nest);
	if (nest.guard)
		body = stmt_if(kernel, nest.guard, body, NULL);
	body = put_in_nest(l, &nest, body);
	facts_release(l->facts, mark);
	for (int d = 0; d < l->old->rank; d++)
		if (move == MOVE_IN && l->is_clamped[d])
			body = stmt_append(body, fill_behind(l, d));
	return body;
}
