/* SplitBorders: windows without tests. Lanes that reach no border above or below run in a copy
 * without the tests for it; a loop too long to be unrolled takes what a guard says as its bounds.
 *
 *     for q in 56 @vector {
 *       for r in 3, s in 3
 *         if (0 <= p + r - 1 && p + r - 1 < 56 && 0 <= q + s - 1 && ...)
 *           acc[] += X[p + r - 1, q + s - 1] * W[r, s]
 *       ...
 *   =>
 *     if (1 <= p && p < 55) { for q in 56 @vector { for r in 3 @unroll, s in 3 @unroll ... } }
 *     else { for q in 56 @vector { for r in 3 @unroll { if (0 <= p + r - 1 && ...) ... } ... } }
 *
 *     for k in N { if (k <= p) ... }   =>   for k in 0..p + 1 { ... }
 *
 * A row is treated like lanes: a serial loop without lanes inside, each iteration of which sums up
 * the taps of a window. Where its border does not depend on the row's own counter, the C compiler
 * finds straight code, and lanes of its own; else the row's border is a bound. Without a row, a sum
 * of a few taps has such a copy for itself.
 *
 * needs    nothing
 * keeps    the order of the terms, so the bits of every result
 * breaks   nothing
 * not for  conditions that read memory or differ between lanes: they stay where they are
 */
#include "tir/loops/loops.h"
#include "tir/rewrite.h"

enum { MAX_TAPS = 32, MAX_STORES = 48, MAX_TESTS = 4, FEW_TAPS = 2, SMALL_WINDOW = 9 };

typedef struct Borders {
	Kernel *kernel;
	Arena *arena;
	const Stmt *vector;      /* the @vector loop around, the row, or the sum; or NULL */
	bool is_row;             /* it is a row: its counter moves the window */
	VEC(const Stmt *) inner; /* loops and lets in it */
	Lanes lanes;             /* its */
	VEC(const Expr *) gaps;  /* where none of these is negative no loop of it is narrowed */
} Borders;

/* ---- a guard's conditions as bounds ---------------------------------------------------------- */

static const Expr *
at_value(const Borders *borders, const Expr *e, const Var *var, const Expr *value)
{
	return expr_simplify_alone(borders->kernel->ctx, expr_replace_var(e, var, value));
}

/* What a comparison of indices says is not negative; NULL where it says something else. */
static const Expr *
not_negative(ExprCtx *ctx, const Expr *e)
{
	bool is_order = e->op == EX_lt || e->op == EX_le || e->op == EX_gt || e->op == EX_ge;
	if (!is_order || e->arg[0]->type != DT_I64 || e->has_read)
		return NULL;
	bool is_greater = e->op == EX_gt || e->op == EX_ge;
	const Expr *gap = expr_sub(ctx, e->arg[!is_greater], e->arg[is_greater]);
	return e->op == EX_lt || e->op == EX_gt ? expr_sub(ctx, gap, expr_i64(ctx, 1)) : gap;
}

typedef struct Bounds {
	const Expr *lo, *hi; /* of a loop */
	const Expr *kept;    /* conditions that still have to be tested inside */
	const Expr *outer;   /* conditions that are the same for the whole loop */
	bool is_window;      /* it will be unrolled: conditions are cheaper than counting to bounds */
} Bounds;

/* How much e grows with each step of var; false when that is no constant. */
static bool
step_of(const Borders *borders, const Expr *e, const Var *var, int64_t *step)
{
	ExprCtx *ctx = borders->kernel->ctx;
	const Expr *next = expr_add(ctx, expr_var(ctx, var), expr_i64(ctx, 1));
	next = expr_replace_var(e, var, next);
	return expr_as_i64(expr_simplify_alone(ctx, expr_sub(ctx, next, e)), step);
}

/* Whether it changes from one iteration of the row to the next. */
static bool
is_of_row(const Borders *borders, const Expr *e)
{
	return borders->is_row && expr_uses_var(e, borders->vector->var);
}

/* The least that gap can be over the loops inside the lanes: where it is not negative, nothing is
 * narrowed by the gap. */
static void
note_gap(Borders *borders, const Expr *gap)
{
	ExprCtx *ctx = borders->kernel->ctx;
	int64_t step;
	if (!borders->vector)
		return;
	for (int i = borders->inner.count - 1; i >= 0; i--) {
		const Stmt *inner = borders->inner.data[i];
		if (!expr_uses_var(gap, inner->var))
			continue;
		if (inner->kind != STMT_FOR || !step_of(borders, gap, inner->var, &step))
			return;
		const Expr *last = expr_sub(ctx, inner->hi, expr_i64(ctx, 1));
		gap = at_value(borders, gap, inner->var, step > 0 ? inner->lo : last);
	}
	if (gap->op != EX_const && !is_of_row(borders, gap))
		vec_push(borders->arena, &borders->gaps, gap);
}

/* A few taps are tested where their border jumps along the row: no cut of the row makes the bounds
 * numbers. */
static bool
stays_test(const Borders *borders, const Stmt *loop, const Expr *gap)
{
	int64_t lo, hi, step;
	bool is_short = expr_as_i64(loop->lo, &lo) && expr_as_i64(loop->hi, &hi) && hi - lo <= FEW_TAPS;
	return is_short && !step_of(borders, gap, borders->vector->var, &step);
}

/* Narrow the bounds by `gap >= 0`, where gap = step*var + rest: var >= -rest/step, rounded up, or
 * var <= rest/-step. */
static bool
narrow(Borders *borders, const Stmt *loop, const Expr *gap, Bounds *bounds)
{
	ExprCtx *ctx = borders->kernel->ctx;
	int64_t step;
	if (!step_of(borders, gap, loop->var, &step) || step == 0 || step == INT64_MIN)
		return false;
	const Expr *rest = at_value(borders, gap, loop->var, expr_i64(ctx, 0));
	if (borders->vector && (borders->vector->bind == BIND_VECTOR || bounds->is_window))
		note_gap(borders, gap);
	if (bounds->is_window && (!is_of_row(borders, gap) || stays_test(borders, loop, gap)))
		return false;
	const Expr *turn = expr_floordiv(ctx, rest, expr_i64(ctx, step > 0 ? step : -step));
	if (step > 0)
		bounds->lo = expr_max(ctx, bounds->lo, expr_neg(ctx, turn));
	else
		bounds->hi = expr_min(ctx, bounds->hi, expr_add(ctx, turn, expr_i64(ctx, 1)));
	return true;
}

/* What a bound is at most (of an EX_min) or at least (EX_max), whatever has narrowed it. */
static bool
widest(const Expr *bound, ExprOp op, int64_t *value)
{
	return expr_as_i64(bound, value) || (bound->op == op && (widest(bound->arg[0], op, value) ||
	                                                         widest(bound->arg[1], op, value)));
}

/* How many stores a nest of short loops around one store makes; 0 for other nests. */
static int64_t
count_taps(const Stmt *list)
{
	int64_t lo, hi;
	if (!list || list->next || list->other)
		return 0;
	if (list->kind == STMT_STORE)
		return 1;
	if (list->kind == STMT_IF)
		return count_taps(list->body);
	if (list->kind != STMT_FOR || !expr_as_i64(list->lo, &lo) || !expr_as_i64(list->hi, &hi) ||
	    hi - lo > MAX_TAPS)
		return 0;
	return (hi - lo) * count_taps(list->body);
}

static bool
is_straight(const Stmt *list)
{
	while (list && (list->kind == STMT_STORE || list->kind == STMT_LET))
		list = list->next;
	return !list;
}

/* The same of a nest that is not unrolled here: around several stores, and with bounds that a row
 * has narrowed. */
static int64_t
count_scalar_taps(const Stmt *list)
{
	int64_t lo, hi;
	if (is_straight(list))
		return list != NULL;
	if (list->next || list->other)
		return 0;
	if (list->kind == STMT_IF)
		return count_scalar_taps(list->body);
	if (list->kind != STMT_FOR || !widest(list->lo, EX_max, &lo) ||
	    !widest(list->hi, EX_min, &hi) || hi - lo > MAX_TAPS)
		return 0;
	return (hi - lo) * count_scalar_taps(list->body);
}

/* Larger ones count to bounds rather: most tests of theirs fail at a border. */
static bool
is_small_window(const Stmt *list)
{
	int64_t taps = list->kind == STMT_FOR ? count_scalar_taps(list) : 0;
	return taps > 0 && taps <= SMALL_WINDOW;
}

/* Distribute the conjuncts of a guard directly inside `loop`. */
static void
distribute(Borders *borders, const Stmt *loop, const Expr *e, Bounds *bounds)
{
	ExprCtx *ctx = borders->kernel->ctx;
	if (e->op == EX_and && !e->has_read && !e->has_check) {
		distribute(borders, loop, e->arg[0], bounds);
		distribute(borders, loop, e->arg[1], bounds);
		return;
	}
	const Expr *gap = not_negative(ctx, e);
	if (e->has_read || e->has_check || lanes_differ(&borders->lanes, e))
		bounds->kept = expr_both(ctx, bounds->kept, e);
	else if (!expr_uses_var(e, loop->var))
		bounds->outer = expr_both(ctx, bounds->outer, e);
	else if (!gap || !narrow(borders, loop, gap, bounds))
		bounds->kept = expr_both(ctx, bounds->kept, e);
}

static void
bound_loop(Borders *borders, Stmt *loop)
{
	Stmt *guard = loop->body;
	bool is_unrolled = loop->bind == BIND_UNROLL;
	if ((loop->bind != BIND_SERIAL && !is_unrolled) || !guard || guard->next ||
	    guard->kind != STMT_IF || guard->other)
		return;
	Stmt alone = *loop;
	alone.next = NULL;
	int64_t taps = borders->vector ? count_taps(&alone) : 0;
	bool is_narrow =
		borders->vector && borders->vector->bind != BIND_VECTOR && is_small_window(&alone);
	Bounds bounds = {.lo = loop->lo,
	                 .hi = loop->hi,
	                 .is_window =
	                     loop->bind == BIND_UNROLL || (taps > 0 && taps <= MAX_TAPS) || is_narrow};
	distribute(borders, loop, guard->condition, &bounds);
	loop->lo = bounds.lo;
	loop->hi = bounds.hi;
	guard->condition = bounds.kept;
	if (!bounds.kept)
		loop->body = guard->body;
	if (!bounds.outer)
		return;
	Stmt *inner = stmt_for(borders->kernel, loop->var, loop->lo, loop->hi, loop->bind, loop->body);
	Stmt *next = loop->next;
	*loop = *stmt_if(borders->kernel, bounds.outer, inner, NULL);
	loop->next = next;
}

/* ---- the inside of an image ------------------------------------------------------------------ */

/* A test may part the threads of a block, and a barrier is one place that all of them reach. */
static bool
holds_barrier(const Borders *borders, Stmt *list)
{
	bool is_found = false;
	for (StmtWalk walk = stmt_walk(borders->arena, list); stmt_step(&walk);)
		is_found |= stmt_is_barrier(walk.stmt);
	return is_found;
}

/* if (nothing is narrowed) { a copy of the loop } else { the loop }. */
static void
split_inside(Borders *borders, Stmt *loop)
{
	ExprCtx *ctx = borders->kernel->ctx;
	if (borders->gaps.count == 0 || borders->gaps.count > MAX_TESTS ||
	    holds_barrier(borders, loop->body))
		return;
	const Expr *test = NULL;
	for (int i = 0; i < borders->gaps.count; i++)
		test = expr_both(ctx, test, expr_le(ctx, expr_i64(ctx, 0), borders->gaps.data[i]));
	Stmt *next = loop->next;
	loop->next = NULL;
	Stmt *inside = stmt_copy(borders->kernel, loop, NULL, NULL);
	Stmt *border = NEW(borders->kernel->arena, Stmt);
	*border = *loop;
	*loop = *stmt_if(borders->kernel, test, inside, border);
	loop->next = next;
}

static void split_list(Borders *borders, Stmt *list);

static bool
has_lanes(const Borders *borders, Stmt *list)
{
	bool has_lanes = false;
	for (StmtWalk walk = stmt_walk(borders->arena, list); stmt_step(&walk);)
		has_lanes |= walk.stmt->bind == BIND_VECTOR;
	return has_lanes;
}

/* Nothing but registers is stored, and there are no lanes. */
static bool
is_scalar_sum(const Borders *borders, Stmt *list)
{
	bool is_scalar = !has_lanes(borders, list);
	for (StmtWalk walk = stmt_walk(borders->arena, list); stmt_step(&walk);)
		is_scalar &= !walk.stmt->index || walk.stmt->buffer->scope == SCOPE_REG;
	return is_scalar;
}

static bool
is_row(const Borders *borders, const Stmt *loop)
{
	bool has_sum = false;
	if (loop->bind != BIND_SERIAL)
		return false;
	for (const Stmt *stmt = loop->body; stmt; stmt = stmt->next)
		has_sum |= stmt->kind == STMT_ALLOC && stmt->buffer->scope == SCOPE_REG && stmt->value;
	return has_sum && !has_lanes(borders, loop->body);
}

/* Loops around the taps of a window alone, where there is no row: sums of one place. */
static bool
is_sum(const Borders *borders, const Stmt *loop)
{
	Stmt alone = *loop;
	alone.next = NULL;
	for (const Stmt *stmt = &alone; stmt && !stmt->next && !stmt->other; stmt = stmt->body) {
		if (stmt->kind != STMT_IF && (stmt->kind != STMT_FOR || stmt->bind != BIND_SERIAL))
			return false;
		if (is_small_window(stmt))
			return is_scalar_sum(borders, loop->body);
	}
	return false;
}

static void
split_loop(Borders *borders, Stmt *loop)
{
	bool is_outermost = !borders->vector, has_row = is_outermost && is_row(borders, loop);
	bool has_sum = is_outermost && !has_row && is_sum(borders, loop);
	if (loop->bind != BIND_VECTOR && !has_row && !has_sum) {
		split_list(borders, loop->body);
		bound_loop(borders, loop);
		return;
	}
	borders->vector = loop;
	borders->is_row = has_row;
	borders->inner.count = borders->gaps.count = 0;
	if (has_sum)
		vec_push(borders->arena, &borders->inner, loop);
	split_list(borders, loop->body);
	if (has_sum)
		bound_loop(borders, loop);
	split_inside(borders, loop);
	borders->vector = NULL;
	borders->is_row = false;
}

static void
split_list(Borders *borders, Stmt *list)
{
	for (Stmt *next, *stmt = list; stmt; stmt = next) {
		next = stmt->next;
		if (stmt->var && borders->vector)
			vec_push(borders->arena, &borders->inner, stmt);
		lanes_note(&borders->lanes, stmt);
		if (stmt->kind == STMT_FOR) {
			split_loop(borders, stmt);
			continue;
		}
		split_list(borders, stmt->body);
		split_list(borders, stmt->other);
	}
}

/* ---- taps one by one ------------------------------------------------------------------------- */

/* As long as that is not too much code. The channels that a tap meets are unrolled beside it: one
 * row of a 3x3 window for 16 of them is 48 stores, and has masks that are constants. */
static void
unroll_taps(Stmt *list, bool is_in_lanes)
{
	for (Stmt *stmt = list; stmt; stmt = stmt->next) {
		Stmt alone = *stmt;
		alone.next = NULL;
		int64_t taps = is_in_lanes && stmt->kind == STMT_FOR ? count_taps(&alone) : 0;
		if (taps > 0 && taps <= MAX_STORES && stmt->bind == BIND_SERIAL)
			stmt->bind = BIND_UNROLL;
		unroll_taps(stmt->body, is_in_lanes || stmt->bind == BIND_VECTOR);
		unroll_taps(stmt->other, is_in_lanes);
	}
}

bool
pass_SplitBorders(Kernel *kernel, PassContext *context)
{
	(void)context;
	Arena *arena = arena_new("splitting borders");
	arena_defer(kernel->arena, (void (*)(void *))arena_free, arena);
	Borders borders = {.kernel = kernel, .arena = arena, .lanes.arena = arena};
	split_list(&borders, kernel->body);
	tir_simplify(kernel);
	unroll_taps(kernel->body, false);
	arena_reset(arena);
	return true;
}
