/* TileRows: windows of neighbouring rows together, since they read nearly the same.
 *
 *     for p in 56 @parallel
 *       for q in 56 @vector { acc = 0; for r in 3, s in 3 { acc += X[p+r, q+s] * W[r, s] } ... }
 *   =>
 *     for p_tile in 14 @parallel
 *       for q in 56 @vector {
 *         acc: f32[4] @reg = 0
 *         for r_row in 6 @unroll, s in 3 @unroll, u in 4 @unroll     # X[...] serves up to 3 rows
 *           if (0 <= r_row - u && r_row - u < 3)
 *             acc[u] += X[4*p_tile + r_row, q + s] * W[r_row - u, s]
 *         for u in 4 @unroll { ... acc[u] ... }
 *       }
 *
 * A vector that crosses a cache line costs more to load than to use.
 *
 * keeps    the order of the terms of each row
 * not for  rows that share little, long reductions (lower/rows.c has their tiles)
 */
#include "tir/loops/loops.h"
#include "tir/rewrite.h"

enum {
	MAX_TERMS = 100,
	MAX_WINDOW = 32,
	MAX_ROW = 64,    /* longer rows wait for memory, not for loads from cache */
	FEW_PIECES = 16, /* left to run in parallel */
};

static const int ROWS[] = {4, 5, 3, 2}; /* in the order they are tried */

typedef struct Window {
	Kernel *kernel;
	const Var *row;
	const Stmt *loops[8]; /* of the reduction */
	int count;
	const Var *shared; /* the loop over rows: something is read at row + shared */
} Window;

/* ---- what windows share ---------------------------------------------------------------------- */

typedef struct Next {
	const Var *var;
} Next;

static const Expr *
next_value(ExprCtx *ctx, const Expr *e, void *arg)
{
	const Next *next = arg;
	return e->op == EX_var && e->var == next->var ? expr_add(ctx, e, expr_i64(ctx, 1)) : e;
}

static bool
moves_by_one(const Window *window, const Expr *index, const Var *var)
{
	ExprCtx *ctx = window->kernel->ctx;
	const Expr *next = expr_rewrite(ctx, index, next_value, &(Next){var});
	Facts *facts = facts_new(ctx, window->kernel->arena);
	return expr_is_one(expr_simplify(facts, expr_sub(ctx, next, index)));
}

static void
find_shared(const Expr *e, void *arg)
{
	Window *window = arg;
	for (int d = 0; e->op == EX_read && d < e->argc; d++)
		for (int i = 0; i < window->count && expr_uses_var(e->arg[d], window->row); i++)
			if (e->arg[d]->type == DT_I64 && expr_is_zero(window->loops[i]->lo) &&
			    moves_by_one(window, e->arg[d], window->row) &&
			    moves_by_one(window, e->arg[d], window->loops[i]->var))
				window->shared = window->loops[i]->var;
}

/* Terms of a nest of constant serial loops around one store, which may have a guard; 0 for anything
 * else. */
static int64_t
window_terms(Window *window, const Stmt *stmt)
{
	int64_t lo, hi;
	if (stmt->kind == STMT_IF && !stmt->other && !stmt->body->next)
		stmt = stmt->body;
	if (stmt->kind == STMT_STORE) {
		expr_visit(stmt->value, find_shared, window);
		return 1;
	}
	if (stmt->kind != STMT_FOR || stmt->bind != BIND_SERIAL || !expr_as_i64(stmt->lo, &lo) ||
	    !expr_as_i64(stmt->hi, &hi) || window->count == countof(window->loops))
		return 0;
	window->loops[window->count++] = stmt;
	return hi - lo > MAX_WINDOW || stmt->body->next ? 0
	                                                : (hi - lo) * window_terms(window, stmt->body);
}

static bool
is_accumulator(const Stmt *stmt)
{
	return stmt->kind == STMT_ALLOC && stmt->buffer->scope == SCOPE_REG &&
	       stmt->buffer->tensor.rank == 0;
}

/* How many rows to take at once: the body is accumulators and windows, then what holds no loops. */
static int
choose_rows(Kernel *kernel, const Stmt *row, int64_t extent, int64_t pieces)
{
	int64_t terms = 0;
	bool has_shared = false, is_behind = false;
	for (const Stmt *stmt = row->body->body; stmt; stmt = stmt->next) {
		if (stmt->kind != STMT_FOR) {
			is_behind |= !is_accumulator(stmt);
			continue;
		}
		Window window = {.kernel = kernel, .row = row->var};
		int64_t found = window_terms(&window, stmt);
		if (found == 0 || found > MAX_WINDOW || is_behind)
			return 1;
		terms += found;
		has_shared |= window.shared != NULL;
	}
	for (size_t i = 0; has_shared && i < countof(ROWS); i++)
		if (extent % ROWS[i] == 0 && terms * ROWS[i] <= MAX_TERMS && pieces / ROWS[i] >= FEW_PIECES)
			return ROWS[i];
	return 1;
}

/* ---- the tile -------------------------------------------------------------------------------- */

typedef struct Tile {
	Kernel *kernel;
	const Var *row;    /* stands for first + u */
	const Expr *first; /* row of the tile */
	const Expr *rows;
	VEC(const Buffer *) alone, wide; /* accumulators: of a row, of all rows */
	const Expr *u;
} Tile;

static const Buffer *
wide_of(const Tile *tile, const Tensor *tensor)
{
	for (int i = 0; i < tile->alone.count; i++)
		if (&tile->alone.data[i]->tensor == tensor)
			return tile->wide.data[i];
	return NULL;
}

static const Expr *
widen_read(ExprCtx *ctx, const Expr *e, void *arg)
{
	const Tile *tile = arg;
	const Buffer *wide = e->op == EX_read ? wide_of(tile, e->tensor) : NULL;
	return wide ? expr_read(ctx, &wide->tensor, &tile->u) : e;
}

static void
widen_store(Stmt *stmt, void *arg)
{
	const Tile *tile = arg;
	const Buffer *wide = stmt->kind == STMT_STORE ? wide_of(tile, &stmt->buffer->tensor) : NULL;
	if (!wide)
		return;
	stmt->buffer = wide;
	stmt->index = arena_memdup(tile->kernel->arena, &tile->u, sizeof tile->u);
}

/* A loop over the rows of the tile around what `list` does for one row. */
static Stmt *
for_rows(Tile *tile, Stmt *list)
{
	Kernel *kernel = tile->kernel;
	const Expr *zero = expr_i64(kernel->ctx, 0);
	const Var *var = var_new(kernel->ctx, "u", DT_I64, zero, tile->rows);
	tile->u = expr_var(kernel->ctx, var);
	stmt_substitute(kernel, list, tile->row, expr_add(kernel->ctx, tile->first, tile->u));
	stmt_rewrite_exprs(kernel, list, widen_read, tile);
	stmt_visit(list, widen_store, tile);
	return stmt_for(kernel, var, zero, tile->rows, BIND_UNROLL, list);
}

/* Count the shared loop by rows that are read, and let each serve all rows of the tile. */
static Stmt *
share_rows(Tile *tile, Stmt *nest)
{
	ExprCtx *ctx = tile->kernel->ctx;
	Window window = {.kernel = tile->kernel, .row = tile->row};
	window_terms(&window, nest);
	if (!window.shared)
		return for_rows(tile, nest);
	Stmt *innermost = nest, *shared = NULL;
	for (Stmt *loop = nest; loop->kind == STMT_FOR; loop = loop->body) {
		loop->bind = BIND_UNROLL;
		innermost = loop;
		shared = loop->var == window.shared ? loop : shared;
	}
	const Expr *zero = expr_i64(ctx, 0), *count = shared->hi;
	const Expr *read = expr_add(ctx, count, expr_sub(ctx, tile->rows, expr_i64(ctx, 1)));
	read = expr_simplify(facts_new(ctx, tile->kernel->arena), read);
	const char *name = arena_printf(tile->kernel->arena, "%s_row", shared->var->name);
	const Var *row = var_new(ctx, name, DT_I64, zero, read);
	Stmt *rows = for_rows(tile, innermost->body);
	const Expr *tap = expr_sub(ctx, expr_var(ctx, row), tile->u);
	stmt_substitute(tile->kernel, rows->body, shared->var, tap);
	const Expr *is_tap = expr_and(ctx, expr_le(ctx, zero, tap), expr_lt(ctx, tap, count));
	if (rows->body->kind == STMT_IF) /* the window's guard */
		rows->body->condition = expr_and(ctx, is_tap, rows->body->condition);
	else
		rows->body = stmt_if(tile->kernel, is_tap, rows->body, NULL);
	innermost->body = rows;
	shared->var = row;
	shared->hi = read;
	return nest;
}

static Stmt *
widen(Tile *tile, const Stmt *alloc)
{
	Kernel *kernel = tile->kernel;
	const Tensor *tensor = &alloc->buffer->tensor;
	const Dim *rows = tile->rows;
	Buffer *wide = kernel_local(kernel, tensor->name, tensor->type, 1, &rows, SCOPE_REG);
	vec_push(kernel->arena, &tile->alone, alloc->buffer);
	vec_push(kernel->arena, &tile->wide, wide);
	return stmt_alloc(kernel, wide, alloc->value);
}

static void
take_rows(Kernel *kernel, Stmt *loop, int64_t extent, int count)
{
	ExprCtx *ctx = kernel->ctx;
	const Expr *tiles = expr_i64(ctx, extent / count);
	const char *name = arena_printf(kernel->arena, "%s_tile", loop->var->name);
	const Var *var = var_new(ctx, name, DT_I64, expr_i64(ctx, 0), tiles);
	Tile tile = {.kernel = kernel, .row = loop->var, .rows = expr_i64(ctx, count)};
	tile.first = expr_mul(ctx, expr_var(ctx, var), tile.rows);
	Stmt *list = NULL, *stmt = loop->body->body, *last_window = NULL;
	for (Stmt *s = stmt; s; s = s->next)
		last_window = s->kind == STMT_FOR ? s : last_window;
	for (bool is_behind = false; stmt && !is_behind;) {
		Stmt *next = stmt->next;
		is_behind = stmt == last_window;
		stmt->next = NULL;
		list = stmt_append(list,
		                   stmt->kind == STMT_FOR ? share_rows(&tile, stmt) : widen(&tile, stmt));
		stmt = next;
	}
	if (stmt)
		list = stmt_append(list, for_rows(&tile, stmt));
	loop->body->body = list;
	loop->var = var;
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
		tir_simplify(kernel); /* the row of a tap no longer depends on u */
		return rows > 1;
	}
	return false;
}
