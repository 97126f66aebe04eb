/* split, split_tail, split_whole, fuse, unroll: other loops over the same iterations in the same
 * order.
 *
 *     for q in N { S }  =>  split q 64 -> qo, qi        for qo in (N+63)/64
 *                                                         for qi in min(64, N-64*qo) { S }
 *                           split_tail q 64 -> qo, qi, qt
 *                                                       for qo in N/64, qi in 64 { S }
 *                                                       for qt in N/64*64..N { S }
 *                           split_whole q 64 -> qo, qi
 *                                                       for qo in (N+63)/64, qi in 64 { S }
 *
 * where the iterations of the last line that lie behind the end do the last one again, and store
 * nothing that is made outside: `if (64*qo+qi < N)` stands at each such store.
 */
#include "tir/schedule/inner.h"
#include "tir/text.h"

enum { MAX_COPIES = 1024 };

static bool
divides(ExprCtx *ctx, const Expr *extent, int64_t factor)
{
	const Dim *dim = dim_from_expr(ctx, extent);
	return dim && dim_is(dim_floormod(ctx, dim, dim_const(ctx, factor)), 0);
}

static const Expr *
behind(ExprCtx *ctx, const Expr *lo, const Expr *offset)
{
	return expr_is_zero(lo) ? offset : expr_add(ctx, lo, offset);
}

static const Expr *
piece_length(const Scheduling *s)
{
	if (s->step->number < 1 || s->step->number > INT32_MAX)
		refuse_step(s, "a piece has 1 to %d iterations", INT32_MAX);
	return expr_i64(s->ctx, s->step->number);
}

/* Whether the list makes the buffer. */
static bool
makes(const Scheduling *s, Stmt *list, const Buffer *buffer)
{
	for (StmtWalk walk = stmt_walk(s->kernel->arena, list); stmt_step(&walk);)
		if (walk.stmt->kind == STMT_ALLOC && walk.stmt->buffer == buffer)
			return true;
	return false;
}

/* Stores of the list to what `body` does not make happen where the iteration is one of the loop's;
 * `value` is its number. Under conditions (is_in_if) these speak of the number that is repeated,
 * and so does what stands there. */
static void
guard_stores(Scheduling *s, const Stmt *loop, Stmt *list, const Expr *value, bool is_in_if)
{
	for (Stmt *stmt = list; stmt; stmt = stmt->next) {
		if (stmt->kind != STMT_STORE) {
			bool is_if =
				is_in_if || (stmt->kind == STMT_IF && expr_uses_var(stmt->condition, loop->var));
			guard_stores(s, loop, stmt->body, value, is_if);
			guard_stores(s, loop, stmt->other, value, is_if);
		} else if (!makes(s, loop->body, stmt->buffer)) {
			Stmt *store = NEW(s->kernel->arena, Stmt), *next = stmt->next;
			*store = *stmt;
			store->next = NULL;
			if (!is_in_if)
				stmt_substitute(s->kernel, store, loop->var, value);
			*stmt = *stmt_if(s->kernel, expr_lt(s->ctx, value, loop->hi), store, NULL);
			stmt->next = next;
		}
	}
}

/* How many iterations the last piece has: as many as are left (of `extent`), or as all others. */
typedef enum Last { LAST_SHORT, LAST_WHOLE } Last;

/* Make `loop` the outer of two: `count` pieces of `extent` iterations, of at most one piece's
 * length each. No extent: all pieces are whole. */
static void
cut_loop(Scheduling *s, Stmt *loop, const Expr *count, const Expr *extent, Last last)
{
	ExprCtx *ctx = s->ctx;
	const Expr *zero = expr_i64(ctx, 0), *length = piece_length(s);
	const Var *outer = new_counter(s, 0, zero, count);
	const Expr *first = expr_mul(ctx, expr_var(ctx, outer), length);
	bool is_padded = extent && last == LAST_WHOLE;
	if (extent && !is_padded)
		length = expr_min(ctx, length, expr_sub(ctx, extent, first));
	const Var *inner = new_counter(s, 1, zero, length);
	const Expr *value = expr_add(ctx, behind(ctx, loop->lo, first), expr_var(ctx, inner));
	if (is_padded) {
		guard_stores(s, loop, loop->body, value, false);
		value = expr_min(ctx, value, expr_sub(ctx, loop->hi, expr_i64(ctx, 1)));
	}
	stmt_substitute(s->kernel, loop->body, loop->var, value);
	bool is_parallel = loop->bind == BIND_PARALLEL; /* that are the pieces; lanes are of a piece */
	Bind bind = is_parallel ? BIND_SERIAL : loop->bind;
	loop->body = stmt_for(s->kernel, inner, zero, length, bind, loop->body);
	loop->bind = is_parallel ? BIND_PARALLEL : BIND_SERIAL;
	loop->var = outer;
	loop->lo = zero;
	loop->hi = count;
}

static void
split(Scheduling *s, Last last)
{
	ExprCtx *ctx = s->ctx;
	Stmt *loop = named_loop(s, 0);
	const Expr *extent = loop_extent(s, loop), *length = piece_length(s);
	const Expr *up = expr_add(ctx, extent, expr_i64(ctx, s->step->number - 1));
	bool is_exact = divides(ctx, extent, s->step->number);
	cut_loop(s, loop, tidy_dim(ctx, expr_floordiv(ctx, up, length)), is_exact ? NULL : extent,
	         last);
}

void
primitive_split(Scheduling *s)
{
	split(s, LAST_SHORT);
}

void
primitive_split_whole(Scheduling *s)
{
	split(s, LAST_WHOLE);
	kernel_name_apart(s->kernel);
}

void
primitive_split_tail(Scheduling *s)
{
	ExprCtx *ctx = s->ctx;
	Stmt *loop = named_loop(s, 0);
	const Expr *extent = loop_extent(s, loop), *length = piece_length(s);
	const Expr *count = tidy_dim(ctx, expr_floordiv(ctx, extent, length));
	if (!divides(ctx, extent, s->step->number)) {
		const Expr *lo = tidy_dim(ctx, expr_add(ctx, loop->lo, expr_mul(ctx, count, length)));
		if (!is_certain_at(s, loop, expr_le(ctx, loop->lo, loop->hi)))
			lo = expr_max(ctx, loop->lo, lo); /* where it does not run, nor does the rest */
		const Var *var = new_counter(s, 2, lo, loop->hi);
		Stmt *body = stmt_copy(s->kernel, loop->body, loop->var, expr_var(ctx, var));
		Stmt *tail = stmt_for(s->kernel, var, lo, loop->hi, loop->bind, body);
		tail->next = loop->next;
		loop->next = tail;
	}
	cut_loop(s, loop, count, NULL, LAST_WHOLE);
	kernel_name_apart(s->kernel);
}

void
primitive_fuse(Scheduling *s)
{
	ExprCtx *ctx = s->ctx;
	Stmt *outer = named_loop(s, 0), *inner = only_loop(s, outer);
	if (inner != named_loop(s, 1))
		refuse_step(s, "what it holds is loop %s", inner->var->name);
	if (expr_uses_var(inner->lo, outer->var) || expr_uses_var(inner->hi, outer->var))
		refuse_step(s, "the bounds of loop %s depend on it", inner->var->name);
	const Expr *width = loop_extent(s, inner), *zero = expr_i64(ctx, 0);
	const Expr *count = tidy_dim(ctx, expr_mul(ctx, loop_extent(s, outer), width));
	const Var *var = new_counter(s, 0, zero, count);
	const Expr *flat = expr_var(ctx, var);
	const Expr *high = expr_floordiv(ctx, flat, width), *low = expr_floormod(ctx, flat, width);
	Stmt *body = inner->body;
	stmt_substitute(s->kernel, body, inner->var, behind(ctx, inner->lo, low));
	stmt_substitute(s->kernel, body, outer->var, behind(ctx, outer->lo, high));
	outer->var = var;
	outer->lo = zero;
	outer->hi = count;
	outer->body = body;
}

void
primitive_unroll(Scheduling *s)
{
	Stmt *loop = named_loop(s, 0);
	int64_t lo, hi;
	if (!expr_as_i64(loop->lo, &lo) || !expr_as_i64(loop->hi, &hi))
		refuse_step(s, "its bounds are no constants");
	if (hi > lo && (uint64_t)hi - (uint64_t)lo > MAX_COPIES)
		refuse_step(s, "more than %d copies", MAX_COPIES);
	StmtList copies = {0};
	for (int64_t i = lo; i < hi; i++)
		stmt_list_add(&copies, stmt_copy(s->kernel, loop->body, loop->var, expr_i64(s->ctx, i)));
	if (!copies.first) {
		loop->body = NULL; /* an empty loop: tir_simplify() drops it */
		return;
	}
	stmt_list_add(&copies, loop->next);
	*loop = *copies.first;
	kernel_name_apart(s->kernel);
}
