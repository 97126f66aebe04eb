/* TileRows: windows of neighbouring rows together, since they read nearly the same.
 *
 *     for p in 56 @parallel
 *       for q in 56 @vector { acc = 0; for r in 3, s in 3 { acc += X[p + r, q + s] * W[r, s] } … }
 *   =>
 *     for p_tile in 14 @parallel
 *       for q in 56 @vector
 *         for u in 4 @unroll { … p is 4*p_tile + u … }
 *
 * Once all is unrolled the C compiler loads each X[…] and W[…] once for the four rows: a vector
 * that crosses a cache line costs more to load than to use.
 *
 * keeps    the order of the terms of each row
 * not for  rows that share little, long reductions (lower_rows.c has their tiles)
 */
#include "passes/passes.h"
#include "tir/schedule.h"

enum {
	MAX_TERMS = 100,
	MAX_WINDOW = 32,
	MAX_ROW = 64,    /* longer rows wait for memory, not for loads from cache */
	FEW_PIECES = 16, /* left to run in parallel */
};

static const int ROWS[] = {4, 5, 3}; /* in the order they are tried; two gain nothing */

typedef struct Window {
	Kernel *kernel;
	const Var *row;
	const Var *loops[8]; /* of the reduction */
	int count;
	bool overlaps; /* something is read at row + a loop of the window */
} Window;

static const Expr *
next_row(ExprCtx *ctx, const Expr *e, void *arg)
{
	const Window *window = arg;
	bool is_row = e->op == EX_var && e->var == window->row;
	return is_row ? expr_add(ctx, e, expr_i64(ctx, 1)) : e;
}

/* Neighbouring rows lie one apart: with strides they share too little. */
static bool
moves_by_one(Window *window, const Expr *index)
{
	ExprCtx *ctx = window->kernel->ctx;
	const Expr *next = expr_rewrite(ctx, index, next_row, window);
	Facts *facts = facts_new(ctx, window->kernel->arena);
	return expr_is_one(expr_simplify(facts, expr_sub(ctx, next, index)));
}

static void
find_overlap(const Expr *e, void *arg)
{
	Window *window = arg;
	for (int d = 0; e->op == EX_read && d < e->argc; d++)
		for (int i = 0; i < window->count && expr_uses_var(e->arg[d], window->row); i++)
			window->overlaps |= expr_uses_var(e->arg[d], window->loops[i]) &&
			                    e->arg[d]->type == DT_I64 && moves_by_one(window, e->arg[d]);
}

/* Terms of a nest of constant serial loops around one store; 0 for anything else. */
static int64_t
window_terms(Window *window, const Stmt *stmt)
{
	int64_t lo, hi;
	if (stmt->next || stmt->other)
		return 0;
	if (stmt->kind == STMT_STORE) {
		expr_visit(stmt->value, find_overlap, window);
		return 1;
	}
	if (stmt->kind == STMT_IF)
		return window_terms(window, stmt->body);
	if (stmt->kind != STMT_FOR || stmt->bind != BIND_SERIAL || !expr_as_i64(stmt->lo, &lo) ||
	    !expr_as_i64(stmt->hi, &hi) || window->count == countof(window->loops))
		return 0;
	window->loops[window->count++] = stmt->var;
	return hi - lo > MAX_WINDOW ? 0 : (hi - lo) * window_terms(window, stmt->body);
}

/* How many rows to take at once: the body holds windows and nothing else that loops. */
static int
choose_rows(Kernel *kernel, const Stmt *row, int64_t extent, int64_t pieces)
{
	int64_t terms = 0;
	bool overlaps = false;
	for (const Stmt *stmt = row->body->body; stmt; stmt = stmt->next) {
		if (stmt->kind != STMT_FOR && stmt->kind != STMT_IF)
			continue;
		Stmt alone = *stmt;
		alone.next = NULL;
		Window window = {.kernel = kernel, .row = row->var};
		int64_t found = window_terms(&window, &alone);
		if (found == 0 || found > MAX_WINDOW)
			return 1;
		terms += found;
		overlaps |= window.overlaps;
	}
	for (size_t i = 0; overlaps && i < countof(ROWS); i++)
		if (extent % ROWS[i] == 0 && terms * ROWS[i] <= MAX_TERMS && pieces / ROWS[i] >= FEW_PIECES)
			return ROWS[i];
	return 1;
}

static void
take_rows(Kernel *kernel, Stmt *loop, int64_t extent, int rows)
{
	ExprCtx *ctx = kernel->ctx;
	const Expr *zero = expr_i64(ctx, 0), *count = expr_i64(ctx, rows);
	const Expr *tiles = expr_i64(ctx, extent / rows);
	const char *name = arena_printf(kernel->arena, "%s_tile", loop->var->name);
	const Var *tile = var_new(ctx, name, DT_I64, zero, tiles);
	const Var *row = var_new(ctx, "u", DT_I64, zero, count);
	const Expr *first = expr_mul(ctx, expr_var(ctx, tile), count);
	Stmt *lanes = loop->body;
	stmt_substitute(kernel, lanes->body, loop->var, expr_add(ctx, first, expr_var(ctx, row)));
	lanes->body = stmt_for(kernel, row, zero, count, BIND_UNROLL, lanes->body);
	loop->var = tile;
	loop->hi = tiles;
}

bool
pass_TileRows(Kernel *kernel, PassContext *context)
{
	(void)context;
	int64_t pieces = 1, extent = 0;
	Stmt *loop = kernel->body;
	for (; loop && loop->kind == STMT_FOR && loop->bind == BIND_PARALLEL; loop = loop->body) {
		bool is_constant = expr_is_zero(loop->lo) && expr_as_i64(loop->hi, &extent) && extent > 0;
		pieces *= is_constant ? extent : 1;
		Stmt *lanes = loop->body;
		int64_t length;
		if (loop->next || !is_constant || !lanes || lanes->next || lanes->kind != STMT_FOR ||
		    lanes->bind != BIND_VECTOR || !expr_is_zero(lanes->lo) ||
		    !expr_as_i64(lanes->hi, &length) || length > MAX_ROW)
			continue;
		int rows = choose_rows(kernel, loop, extent, pieces);
		if (rows > 1)
			take_rows(kernel, loop, extent, rows);
		kernel_finish(kernel);
		return rows > 1;
	}
	return false;
}
