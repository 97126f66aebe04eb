/* Loops bound to blocks and threads: one nest, outermost, which holds all of a kernel.
 *
 *     for bm in 8 {                             for bm in 8 @block.x {
 *       for tm in 16 { S }               =>       for tm in 16 @thread.x { S }
 *     }                                         }
 *
 *     bind bm @block.x
 *     bind tm @thread.x
 *
 * So each statement is of one thread, a local is a thread's own, and nobody needs a barrier until
 * threads give each other something (share.c).
 */
#include "tir/schedule/grid.h"

#include "tir/text.h"

static bool
is_of_grid(const Stmt *stmt)
{
	return stmt && stmt->kind == STMT_FOR && stmt->bind >= BIND_BLOCK_X;
}

static void
add_axis(const Scheduling *s, Grid *grid, Stmt *loop)
{
	ExprCtx *ctx = s->ctx;
	int axis = loop->bind - BIND_BLOCK_X;
	int64_t extent = 0;
	grid->inner = loop;
	grid->is_bound[axis] = true;
	if (loop->bind < BIND_THREAD_X)
		return;
	Around *around = NEW(s->kernel->arena, Around);
	*around = (Around){loop, grid->around};
	grid->around = around;
	grid->number[axis] = expr_var(ctx, loop->var);
	must(expr_as_i64(loop->hi, &extent));
	grid->extent[axis] = extent;
	grid->threads *= extent;
}

Grid
find_grid(const Scheduling *s)
{
	ExprCtx *ctx = s->ctx;
	Grid grid = {.threads = 1, .thread = expr_i64(ctx, 0)};
	for (Stmt *loop = s->kernel->body; is_of_grid(loop); loop = loop->body)
		add_axis(s, &grid, loop);
	for (int axis = BOUND_AXES - 1; axis >= GRID_AXES; axis--)
		if (grid.number[axis]) {
			const Expr *before = expr_mul(ctx, grid.thread, expr_i64(ctx, grid.extent[axis]));
			grid.thread = expr_add(ctx, before, grid.number[axis]);
		}
	return grid;
}

void
check_in_grid(const Scheduling *s, const Stmt *loop, Bind bind)
{
	Grid grid = find_grid(s);
	int64_t extent;
	const Stmt *next = grid.inner ? grid.inner->body : s->kernel->body;
	if (loop != next || loop->next)
		refuse_step(s, "it does not stand in loops of blocks and threads alone");
	if (!expr_is_zero(loop->lo) || !dim_from_expr(s->ctx, loop->hi))
		refuse_step(s, "it does not run from 0 to a bound that is known before it runs");
	if (bind < BIND_THREAD_X && grid.around)
		refuse_step(s, "blocks do not stand in threads");
	if (bind >= BIND_THREAD_X && !expr_as_i64(loop->hi, &extent))
		refuse_step(s, "how many threads there are is no number");
	if (grid.is_bound[bind - BIND_BLOCK_X])
		refuse_step(s, "@%s is another loop's", bind_name(bind));
	if (loop->body && loop->body->kind == STMT_FOR && loop->body->bind == BIND_PARALLEL)
		refuse_step(s, "@parallel loop %s stands in it", loop->body->var->name);
}

/* ---- barriers -------------------------------------------------------------------------------- */

bool
has_barriers(const Scheduling *s, Stmt *list)
{
	for (StmtWalk walk = stmt_walk(s->kernel->arena, list); stmt_step(&walk);)
		if (stmt_is_barrier(walk.stmt))
			return true;
	return false;
}

/* Whether the list holds the loop, inside of loops alone that are the same for all threads. */
static bool
holds_for_all(const Scheduling *s, const Grid *grid, const Stmt *list, const Stmt *loop)
{
	for (; list; list = list->next) {
		if (list == loop)
			return true;
		if (list->kind == STMT_FOR && list->bind == BIND_SERIAL &&
		    holds_for_all(s, grid, list->body, loop))
			return true;
	}
	return false;
}

static bool
is_same_for_all(const Grid *grid, const Stmt *loop)
{
	for (const Around *at = grid->around; at; at = at->outer)
		if (expr_uses_var(loop->lo, at->loop->var) || expr_uses_var(loop->hi, at->loop->var))
			return false;
	return !loop->lo->has_read && !loop->hi->has_read;
}

void
check_met_by_all(const Scheduling *s, const Grid *grid, Stmt *loop)
{
	if (!grid->around)
		refuse_step(s, "no loop is bound to threads");
	if (loop == grid->inner)
		return;
	if (!holds_for_all(s, grid, grid->inner->body, loop))
		refuse_step(s, "not all threads come there together");
	for (StmtWalk walk = stmt_walk(s->kernel->arena, grid->inner->body); stmt_step(&walk);) {
		Stmt *at = walk.stmt;
		Stmt alone = *at;
		alone.next = NULL;
		if (at->kind == STMT_FOR && holds_for_all(s, grid, &alone, loop) + (at == loop) > 0 &&
		    !is_same_for_all(grid, at))
			refuse_step(s, "how often loop %s runs differs between threads", at->var->name);
	}
}
