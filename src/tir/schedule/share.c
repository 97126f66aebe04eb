/* cache_read … @shared: the threads of a block together copy what all of them read.
 *
 *     for tx in 32 @thread.x                  for tx in 32 @thread.x {
 *       for ko in 8 {                           c: f32[64] @shared
 *         for ki in 64                    =>    for ko in 8 {
 *           … X[64*ko + ki] …                     for c_0 in 1
 *       }                                           for c_1 in 2 @vector
 *                                                     c[tx*2 + c_1] = X[64*ko + tx*2 + c_1]
 *     cache_read X at ko @shared -> c             sync
 *                                                 for ki in 64
 *                                                   … c[ki] …
 *                                                 sync
 *                                               }
 *                                             }
 *
 * The box is that of all threads. Each copies up to 16 bytes at a time, side by side with its
 * neighbours. Copies of one loop share its barriers.
 */
#include "tir/schedule/grid.h"
#include "tir/text.h"

enum { WIDEST_COPY = 16, BANK = 4 /* bytes */, BANKS = 32 };

typedef struct Sharing {
	const Scheduling *s;
	const Grid *grid;
	Local *local;
	int64_t count, width; /* elements in all, and of one copy */
	bool is_by_columns;   /* lanes read it so */
} Sharing;

/* ---- copies ---------------------------------------------------------------------------------- */

static int64_t
size_of_part(const Sharing *sh, const Part *part)
{
	int64_t size = 0;
	if (!dim_is_const(sh->local->box.size[part->dim], &size))
		refuse_step(sh->s, "how much of dim %d of %s is used there is no number", part->dim,
		            sh->local->old->name);
	return size;
}

static bool
is_multiple(const Sharing *sh, const Expr *e, int64_t of)
{
	ExprCtx *ctx = sh->s->ctx;
	const Expr *rest = expr_floormod(ctx, e, expr_i64(ctx, of));
	return expr_is_zero(expr_simplify(sh->local->facts, rest));
}

/* How many elements go together: they lie side by side in both, from a multiple of their number on,
 * and either all of them are used or none. Rows that are read by columns lie one bank further each,
 * so several words of a row meet in one where it has more than there are banks. */
static int64_t
width_of(const Sharing *sh)
{
	const Local *l = sh->local;
	int last = l->old->rank - 1;
	const Part *part = l->parts.count > 0 ? &l->parts.data[l->parts.count - 1] : NULL;
	if (!part || part->dim != last || dtype_bits(l->old->type) < 8)
		return 1;
	int64_t bytes = dtype_bits(l->old->type) / 8;
	bool is_one_wave = size_of_part(sh, part) * bytes <= BANKS * BANK;
	int64_t width = (sh->is_by_columns && !is_one_wave ? BANK : WIDEST_COPY) / bytes;
	const Expr *const parts_of[] = {l->box.lo[last], l->box.extent[last], l->old->hi[last]};
	const Dim *const *stride = ((const Buffer *)l->old)->stride;
	if (stride && !dim_is(stride[last], 1))
		return 1;
	for (; width > 1; width /= 2) {
		bool fits = l->box.extent[last] == l->box.size[last];
		for (int d = 0; stride && d < last; d++)
			fits &= is_multiple(sh, stride[d], width);
		for (size_t i = 0; i < countof(parts_of); i++)
			fits &= is_multiple(sh, parts_of[i], width);
		if (fits)
			return width;
	}
	return 1;
}

/* Where a dim goes on behind its end, nobody looks at what lies there: it is a copy of what the dim
 * has last. */
static const Expr *
last_start(const Sharing *sh, int p)
{
	ExprCtx *ctx = sh->s->ctx;
	int64_t together = p == sh->local->parts.count - 1 ? sh->width : 1;
	return expr_sub(ctx, sh->local->old->hi[sh->local->parts.data[p].dim], expr_i64(ctx, together));
}

/* Element number `first + lane` of the box. */
static void
locate(const Sharing *sh, const Expr *first, const Expr *lane, const Expr **place,
       const Expr **index)
{
	ExprCtx *ctx = sh->s->ctx;
	const Local *l = sh->local;
	int64_t inside = 1;
	for (int d = 0; d < l->old->rank; d++)
		index[d] = l->box.lo[d];
	for (int p = l->parts.count - 1; p >= 0; p--) {
		const Part *part = &l->parts.data[p];
		int64_t size = size_of_part(sh, part);
		const Expr *at = expr_floordiv(ctx, first, expr_i64(ctx, inside));
		if (p > 0)
			at = expr_floormod(ctx, at, expr_i64(ctx, size));
		const Expr *from = expr_add(ctx, index[part->dim], at);
		if (l->is_clamped[part->dim])
			from = expr_min(ctx, from, last_start(sh, p));
		if (p == l->parts.count - 1) {
			at = expr_add(ctx, at, lane);
			from = expr_add(ctx, from, lane);
		}
		place[p] = expr_simplify(l->facts, at);
		index[part->dim] = expr_simplify(l->facts, from);
		inside *= size;
	}
}

/* What is not certain of one element: that its part of the box is used, and inside the buffer. */
static const Expr *
guard_of(const Sharing *sh, const Expr *const *place, const Expr *const *index)
{
	ExprCtx *ctx = sh->s->ctx;
	const Local *l = sh->local;
	const Expr *guard = NULL;
	for (int p = 0; p < l->parts.count; p++) {
		const Expr *is_used = expr_lt(ctx, place[p], l->box.extent[l->parts.data[p].dim]);
		if (!facts_prove(l->facts, is_used))
			guard = expr_both(ctx, guard, is_used);
	}
	return expr_both(ctx, guard, read_range(l->facts, l->old, index));
}

/* for c_0 in rounds, c_1 in width @vector: c[…] = X[…] */
static Stmt *
copy_together(Sharing *sh)
{
	ExprCtx *ctx = sh->s->ctx;
	Kernel *kernel = sh->s->kernel;
	Local *l = sh->local;
	const char *name = l->buffer->tensor.name;
	const Expr **place = NEW_N(kernel->arena, const Expr *, l->parts.count + 1),
			   **index = NEW_N(kernel->arena, const Expr *, l->old->rank + 1);
	int mark = facts_mark(l->facts);
	int64_t at_once = sh->width * sh->grid->threads;
	const Expr *zero = expr_i64(ctx, 0), *width = expr_i64(ctx, sh->width),
			   *rounds = expr_i64(ctx, (sh->count + at_once - 1) / at_once);
	const Var *round =
				  var_new(ctx, arena_printf(kernel->arena, "%s_0", name), DT_I64, zero, rounds),
			  *lane = var_new(ctx, arena_printf(kernel->arena, "%s_1", name), DT_I64, zero, width);
	facts_var(l->facts, round, zero, rounds);
	const Expr *before = expr_mul(ctx, expr_var(ctx, round), expr_i64(ctx, sh->grid->threads));
	const Expr *number = expr_add(ctx, before, sh->grid->thread);
	const Expr *is_one = expr_lt(ctx, number, expr_i64(ctx, sh->count / sh->width));
	bool is_whole = sh->count % at_once == 0;
	if (!is_whole)
		facts_assume(l->facts, is_one);
	const Expr *first = expr_simplify(l->facts, expr_mul(ctx, number, width));
	locate(sh, first, zero, place, index);
	const Expr *guard = guard_of(sh, place, index); /* of the first, and so of all */
	if (sh->width > 1) {
		facts_var(l->facts, lane, zero, width);
		locate(sh, first, expr_var(ctx, lane), place, index);
	}
	Stmt *body = stmt_store(kernel, l->buffer, place, STORE_SET, expr_read(ctx, l->old, index));
	if (sh->width > 1)
		body = stmt_for(kernel, lane, zero, width, BIND_VECTOR, body);
	if (guard)
		body = stmt_if(kernel, guard, body, NULL);
	if (!is_whole)
		body = stmt_if(kernel, is_one, body, NULL);
	facts_release(l->facts, mark);
	return stmt_for(kernel, round, zero, rounds, BIND_SERIAL, body);
}

/* Whether neighbouring lanes read down a column: another dim than the last moves with them. */
static bool
reads_columns(const Sharing *sh, const AccessVec *all)
{
	const Expr *lane = sh->grid->number[BIND_THREAD_X - BIND_BLOCK_X];
	const Local *l = sh->local;
	bool is_down = false;
	for (int i = 0; lane && i < all->count; i++)
		for (int p = 0; p < l->parts.count && all->data[i].tensor == l->old; p++) {
			bool is_last = p == l->parts.count - 1;
			bool moves = expr_uses_var(all->data[i].index[l->parts.data[p].dim], lane->var);
			if (moves && is_last)
				return false;
			is_down |= moves;
		}
	return is_down;
}

/* Lanes that read by rows of a matrix would meet in the banks of shared memory where rows lie a
 * multiple of 32 bytes apart: 16 bytes more for each, and they are apart. Where they read down a
 * column, one bank more. */
static int64_t
padding_of(const Sharing *sh)
{
	enum { APART = 32 };
	int64_t bytes = dtype_bits(sh->local->old->type) / 8;
	int count = sh->local->parts.count;
	if (count < 2 || bytes == 0 ||
	    size_of_part(sh, &sh->local->parts.data[count - 1]) * bytes % APART != 0)
		return 0;
	return sh->is_by_columns ? (BANK + bytes - 1) / bytes : WIDEST_COPY / bytes;
}

/* ---- where they stand ------------------------------------------------------------------------ */

static bool
list_reads(const Scheduling *s, Stmt *stmt, const Tensor *tensor)
{
	AccessVec all = {0};
	Stmt alone = *stmt;
	alone.next = NULL;
	find_accesses(s->kernel, &alone, &all);
	for (int i = 0; i < all.count; i++)
		if (all.data[i].tensor == tensor)
			return true;
	return false;
}

/* Whether a barrier of the list stands before all that reads the buffer. */
static bool
waits_before(const Scheduling *s, Stmt *list, const Tensor *tensor)
{
	for (; list && list->kind != STMT_SYNC; list = list->next)
		if (list_reads(s, list, tensor))
			return false;
	return list != NULL;
}

static const Stmt *
last_of(const Stmt *list)
{
	while (list && list->next)
		list = list->next;
	return list;
}

static void
check_not_copied(const Scheduling *s, Stmt *list, const Tensor *tensor)
{
	for (StmtWalk walk = stmt_walk(s->kernel->arena, list); stmt_step(&walk);)
		for (int i = 0; walk.stmt->args && i < walk.stmt->warp_op->nargs; i++)
			if (expr_reads(walk.stmt->args[i], tensor))
				refuse_step(s, "%s reads %s there", walk.stmt->warp_op->name, tensor->name);
}

void
share_copy(Scheduling *s, const Grid *grid, Stmt *loop, const Buffer *buffer, Stmt *copy)
{
	Kernel *kernel = s->kernel;
	bool is_last = loop == grid->inner; /* it ends with the block */
	const Stmt *last = last_of(loop->body);
	if (!waits_before(s, loop->body, &buffer->tensor))
		copy = stmt_append(copy, stmt_sync(kernel));
	loop->body = stmt_append(copy, loop->body);
	if (!is_last && last->kind != STMT_SYNC)
		stmt_append(loop->body, stmt_sync(kernel));
	grid->inner->body = stmt_append(stmt_alloc(kernel, buffer, NULL), grid->inner->body);
	kernel_name_apart(kernel);
}

void
share_reads(Scheduling *s, Stmt *loop)
{
	Grid grid = find_grid(s);
	AccessVec all = {0};
	check_met_by_all(s, &grid, loop);
	find_accesses_within(s->kernel, loop->body, grid.around, &all);
	Local l = local_plan_reads(s, facts_at(s, loop->body), &all, named_tensor(s, &all));
	Sharing sh = {.s = s, .grid = &grid, .local = &l, .count = 1};
	check_only_read(s, l.old);
	check_not_copied(s, loop->body, l.old);
	for (int p = 0; p < l.parts.count; p++)
		sh.count *= size_of_part(&sh, &l.parts.data[p]);
	sh.is_by_columns = reads_columns(&sh, &all);
	sh.width = width_of(&sh);
	l.padding = padding_of(&sh);
	local_make(&l, made_name(s, 0), NULL);
	local_redirect(&l, loop->body);
	share_copy(s, &grid, loop, l.buffer, copy_together(&sh));
}
