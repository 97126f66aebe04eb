/* reindex: what a block's threads read of an input, by the loops that it depends on.
 *
 *     for s in 9 {                              for s in 9 {
 *       for m in 16, k in 16                      … k*16 + j of all threads:
 *         if (0 <= i(s,k,j))                        c[k, j] = 0 <= i ? X[i(s,k,j)] : 0
 *           acc[m] += W[m,s,k] * X[i(s,k,j)]  =>  sync
 *     }                                           for m in 16, k in 16
 *                                                   acc[m] += W[m,s,k] * c[k, j]
 *     reindex k, j 1 X at s @shared -> c        } sync
 *
 * The first so many loops (1 here) are the rows of c, the others its columns: j is a thread, or a
 * loop inside of s. Where cache_read copies a box of X, which an index like k / 9 has none of, this
 * copies each value as often as it is used, in the order of its uses: im2col, a tile at a time.
 *
 * A sum of products takes zeros where its conditions kept terms away, for those conditions that c
 * can answer; so products are of finite numbers. Up to 16 bytes go together where they lie so.
 */
#include "tir/schedule/reindex.h"
#include "tir/text.h"

enum { APART = 32 }; /* bytes */

/* ---- what reads it ------------------------------------------------------------------------- */

static void
find_read(Reindex *r, Stmt *stmt, const Expr *e)
{
	for (ExprWalk walk = expr_walk(e); expr_step(&walk);) {
		if (walk.e->op != EX_read || !is_named_buffer(r->s, walk.e->tensor))
			continue;
		if (stmt->kind != STMT_STORE || e != stmt->value || (r->store && r->store != stmt) ||
		    (r->read && r->read != walk.e))
			refuse_step(r->s, "%s is read there in more than one place", walk.e->tensor->name);
		r->store = stmt;
		r->read = walk.e;
	}
}

static bool
find_path(Reindex *r, Stmt *list)
{
	for (Stmt *stmt = list; stmt; stmt = stmt->next) {
		int count = r->path.count;
		vec_push(r->s->kernel->arena, &r->path, stmt);
		if (stmt == r->store || find_path(r, stmt->body))
			return true;
		r->path.count = count;
	}
	return false;
}

static void
find_reads(Reindex *r)
{
	for (StmtWalk walk = stmt_walk(r->s->kernel->arena, r->at->body); stmt_step(&walk);) {
		Stmt *stmt = walk.stmt;
		const Expr *const all[] = {stmt->lo, stmt->hi, stmt->condition, stmt->value};
		for (size_t i = 0; i < countof(all); i++)
			find_read(r, stmt, all[i]);
		for (int d = 0; stmt->index && d < stmt->buffer->tensor.rank; d++)
			find_read(r, stmt, stmt->index[d]);
		for (int i = 0; stmt->args && i < stmt->warp_op->nargs; i++)
			find_read(r, stmt, stmt->args[i]);
	}
	if (!r->read)
		refuse_step(r->s, "nothing in it reads %s", r->s->step->buffers.data[0]);
	check_only_read(r->s, r->read->tensor);
	if (!find_path(r, r->at->body))
		refuse_step(r->s, "%s is read under an else", r->read->tensor->name);
}

/* ---- the loops ----------------------------------------------------------------------------- */

static bool
is_listed(const Reindex *r, const Var *var)
{
	for (int i = 0; i < r->loops.count; i++)
		if (r->loops.data[i]->var == var)
			return true;
	return false;
}

/* Whether what stands inside of the loop, or a thread's number, decides about the scalar besides
 * the listed loops. */
static bool
depends_on_others(const Reindex *r, const Expr *e)
{
	for (const Around *at = r->grid.around; at; at = at->outer)
		if (!is_listed(r, at->loop->var) && expr_uses_var(e, at->loop->var))
			return true;
	for (StmtWalk walk = stmt_walk(r->s->kernel->arena, r->at->body); stmt_step(&walk);)
		if (walk.stmt->var && !is_listed(r, walk.stmt->var) && expr_uses_var(e, walk.stmt->var))
			return true;
	return false;
}

static bool
stands_around(const Reindex *r, const Stmt *loop)
{
	for (const Around *at = r->grid.around; at; at = at->outer)
		if (at->loop == loop)
			return true;
	for (int i = 0; i < r->path.count; i++)
		if (r->path.data[i] == loop)
			return true;
	return false;
}

/* A last piece may be short: of min(16, rest) iterations. */
static void
guard_end(Reindex *r, const Var *var, const Expr *hi)
{
	ExprCtx *ctx = r->s->ctx;
	int64_t exact;
	if (hi->op == EX_min) {
		guard_end(r, var, hi->arg[0]);
		guard_end(r, var, hi->arg[1]);
	} else if (!expr_as_i64(hi, &exact)) {
		r->guard = expr_both(ctx, r->guard, expr_lt(ctx, expr_var(ctx, var), hi));
	}
}

static void
find_loops(Reindex *r)
{
	Scheduling *s = r->s;
	r->count = 1;
	for (int i = 0; i + 1 < s->step->loops.count; i++) {
		const Stmt *loop = named_loop(s, i);
		const Dim *bound = bound_of_loop(s, loop);
		int64_t size = 0;
		if (!stands_around(r, loop) || !expr_is_zero(loop->lo) || is_listed(r, loop->var))
			refuse_step(s, "loop %s does not stand around the read, in loop %s or as a thread",
			            loop->var->name, r->at->var->name);
		if (!bound || !dim_is_const(bound, &size) || size < 1)
			refuse_step(s, "how often loop %s runs has no number", loop->var->name);
		vec_push(s->kernel->arena, &r->loops, loop);
		vec_push(s->kernel->arena, &r->sizes, size);
		r->count *= size;
		guard_end(r, loop->var, loop->hi);
	}
	if (s->step->number < 0 || s->step->number >= r->loops.count)
		refuse_step(s, "the columns have no loop");
	for (int d = 0; d < r->read->argc; d++)
		if (depends_on_others(r, r->read->arg[d]))
			refuse_step(s, "%s is read by other loops, too", r->read->tensor->name);
}

/* ---- conditions ---------------------------------------------------------------------------- */

/* A sum of products, of which the read is a factor: with zero for it, the term is none. */
static bool
is_factor(const Reindex *r)
{
	const Expr *value = r->store->value;
	if (r->store->op != REDUCE_sum || value->op != EX_mul)
		return false;
	return expr_without_casts(value->arg[0]) == r->read ||
	       expr_without_casts(value->arg[1]) == r->read;
}

/* Whether the store may run without the conditions in front: all else that it reads is inside. */
static bool
reads_inside(const Reindex *r)
{
	const Scheduling *s = r->s;
	Facts *facts = facts_at(s, r->at->body);
	bool is_inside = true;
	for (int i = 0; i < r->path.count; i++)
		if (r->path.data[i]->kind == STMT_FOR)
			facts_var(facts, r->path.data[i]->var, r->path.data[i]->lo, r->path.data[i]->hi);
	for (ExprWalk walk = expr_walk(r->store->value); expr_step(&walk);)
		if (walk.e->op == EX_read && walk.e != r->read)
			is_inside &= !read_range(facts, walk.e->tensor, walk.e->arg);
	facts_close(facts);
	return is_inside;
}

/* The part of a condition that c can answer becomes its guard; what is left, or NULL. */
static const Expr *
take_conditions(Reindex *r, const Expr *condition, bool is_zero)
{
	if (condition->op == EX_and) {
		const Expr *a = take_conditions(r, condition->arg[0], is_zero);
		return expr_both(r->s->ctx, a, take_conditions(r, condition->arg[1], is_zero));
	}
	if (condition->has_read || depends_on_others(r, condition))
		return condition;
	r->guard = expr_both(r->s->ctx, r->guard, condition);
	return is_zero ? NULL : condition;
}

/* What a condition guards of which nothing is left stands in its place. */
static void
take_guards(Reindex *r)
{
	bool is_zero = is_factor(r) && reads_inside(r);
	Stmt **list = &r->at->body;
	for (int i = 0; i < r->path.count; i++) {
		Stmt *stmt = r->path.data[i];
		if (stmt->kind == STMT_IF)
			stmt->condition = take_conditions(r, stmt->condition, is_zero && !stmt->other);
		if (stmt->kind != STMT_IF || stmt->condition) {
			list = &stmt->body;
			continue;
		}
		while (*list != stmt)
			list = &(*list)->next;
		*list = stmt_append(stmt->body, stmt->next);
	}
}

/* ---- the copy and its reader ---------------------------------------------------------------- */

/* Rows of c that begin in one bank would meet there when lanes read down a column. */
static void
make_buffer(Reindex *r)
{
	Scheduling *s = r->s;
	int bytes = (dtype_bits(r->read->tensor->type) + 7) / 8, rank = 0;
	int64_t columns = 1, rows = 1;
	const Dim *dims[2];
	for (int i = 0; i < r->loops.count; i++)
		*(i < s->step->number ? &rows : &columns) *= r->sizes.data[i];
	if (s->step->number > 0) {
		dims[rank++] = dim_const(s->ctx, rows);
		columns += columns * bytes % APART == 0 ? WIDEST_COPY / bytes : 0;
	}
	dims[rank++] = dim_const(s->ctx, columns);
	r->buffer =
		kernel_local(s->kernel, made_name(s, 0), r->read->tensor->type, rank, dims, SCOPE_SHARED);
}

static const Buffer *
redirect(Kernel *kernel, const Buffer *buffer, const Expr *const **index, void *arg)
{
	const Reindex *r = arg;
	(void)kernel;
	if (&buffer->tensor != r->read->tensor)
		return NULL;
	*index = reindex_place(r, NULL, &(Map){.arena = kernel->arena});
	return r->buffer;
}

void
primitive_reindex(Scheduling *s)
{
	Reindex r = {.s = s, .grid = find_grid(s), .at = named_loop(s, s->step->loops.count - 1)};
	if (s->step->scope != SCOPE_SHARED)
		refuse_step(s, "it copies to @shared memory");
	check_met_by_all(s, &r.grid, r.at);
	find_reads(&r);
	find_loops(&r);
	take_guards(&r);
	Facts *facts = facts_at(s, r.at->body);
	reindex_settle(&r, facts);
	make_buffer(&r);
	r.width = reindex_width(&r, facts);
	Stmt *front = reindex_copy(&r, facts);
	facts_close(facts);
	stmt_redirect(s->kernel, r.store, redirect, &r);
	share_copy(s, &r.grid, r.at, r.buffer, front);
}
