/* Locals that stand for boxes of buffers (local.h). */
#include "tir/schedule/local.h"

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
	Local l = {.s = s, .facts = facts, .old = old, .box = find_box(s, facts, all, old)};
	for (int d = 0; d < old->rank; d++)
		if (!dim_is(l.box.size[d], 1))
			vec_push(s->kernel->arena, &l.parts, (Part){PART_WHOLE, d, 0});
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
	l->buffer = kernel_local(l->s->kernel, name, l->old->type, count, dims, l->s->step->scope);
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

static Nest
make_nest(Local *l)
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
		const char *name = arena_printf(arena, "%s_%d", l->buffer->tensor.name, p);
		const Expr *zero = expr_i64(ctx, 0), *extent = part_extent(l, part, true);
		nest.vars[p] = var_new(ctx, name, DT_I64, zero, extent);
		nest.place[p] = expr_var(ctx, nest.vars[p]);
		facts_var(l->facts, nest.vars[p], zero, extent);
		int64_t scale = part->kind == PART_BLOCKS ? part->block : 1;
		const Expr *step = expr_mul(ctx, nest.place[p], expr_i64(ctx, scale));
		if (part->kind != PART_LANE)
			nest.index[part->dim] = expr_add(ctx, nest.index[part->dim], step);
	}
	for (int d = 0; d < l->old->rank; d++)
		nest.index[d] = expr_simplify(l->facts, nest.index[d]);
	return nest;
}

Stmt *
local_move(Local *l, Move move, int op)
{
	ExprCtx *ctx = l->s->ctx;
	Kernel *kernel = l->s->kernel;
	int mark = facts_mark(l->facts);
	Nest nest = make_nest(l);
	const Buffer *to = move == MOVE_OUT ? (const Buffer *)l->old : l->buffer;
	const Expr *value = move == MOVE_IN    ? expr_read(ctx, l->old, nest.index)
	                    : move == MOVE_OUT ? expr_read(ctx, &l->buffer->tensor, nest.place)
	                                       : reduce_identity(ctx, (ReduceOp)op, 0, l->old->type);
	Stmt *body = stmt_store(kernel, to, move == MOVE_OUT ? nest.index : nest.place,
	                        move == MOVE_OUT ? op : STORE_SET, value);
	if (move != MOVE_IDENTITY)
		guard_nest(l, &nest);
	if (nest.guard)
		body = stmt_if(kernel, nest.guard, body, NULL);
	for (int p = l->parts.count - 1; p >= 0; p--)
		body = stmt_for(kernel, nest.vars[p], NULL, part_extent(l, &l->parts.data[p], true),
		                BIND_SERIAL, body);
	facts_release(l->facts, mark);
	return body;
}
