/* compute_at: what a loop's body reads of a local is computed there, each time anew.
 *
 *     t: f32[64] @stack                      for j in 62 {
 *     for i in 64                              t: f32[3] @reg
 *       t[i] = exp(X[i])              =>       for i in 3
 *     for j in 62                                t[i] = exp(X[j + i])
 *       for r in 3                             for r in 3
 *         Y[j] += t[j + r]                       Y[j] += t[r]
 *                                            }
 *     compute_at t at j @reg
 *
 * The statement that computed it is copied, its loops narrowed to the box that the body reads, and
 * goes. So it may store to nothing else, nobody else may read the local, and what it reads must not
 * have changed until then.
 */
#include <string.h>

#include "tir/schedule/local.h"
#include "tir/text.h"

Stmt **
find_alloc(Stmt **list, const char *name)
{
	for (; *list; list = &(*list)->next) {
		Stmt *stmt = *list;
		if (stmt->kind == STMT_ALLOC && strcmp(stmt->buffer->tensor.name, name) == 0)
			return list;
		Stmt **inner = find_alloc(&stmt->body, name);
		inner = inner ? inner : find_alloc(&stmt->other, name);
		if (inner)
			return inner;
	}
	return NULL;
}

static int
count_accesses(const AccessVec *all, const Tensor *tensor, bool is_store)
{
	int count = 0;
	for (int i = 0; i < all->count; i++)
		count += all->data[i].tensor == tensor && all->data[i].is_store == is_store;
	return count;
}

/* The one statement behind the local that stores to it, alone of all in the list. */
static Stmt **
find_producer(const Scheduling *s, Stmt *alloc)
{
	const Tensor *tensor = &alloc->buffer->tensor;
	Stmt **found = NULL;
	for (Stmt **link = &alloc->next; *link; link = &(*link)->next) {
		AccessVec all = {0};
		Stmt alone = **link;
		alone.next = NULL;
		find_accesses(s->kernel, &alone, &all);
		if (count_accesses(&all, tensor, true) == 0)
			continue;
		if (found || count_accesses(&all, tensor, true) > 1 ||
		    count_accesses(&all, tensor, false) > 0)
			refuse_step(s, "%s is not stored by one statement alone", tensor->name);
		found = link;
	}
	if (!found || alloc->value)
		refuse_step(s, "%s is not computed by a statement behind it", tensor->name);
	return found;
}

/* Refuses unless the producer, moved behind what stands in `rest`, does what it did. */
static void
check_movable(const Scheduling *s, const AccessVec *made, const AccessVec *rest,
              const Tensor *tensor)
{
	for (int i = 0; i < made->count; i++) {
		const Access *access = &made->data[i];
		if (access->is_store && access->tensor != tensor)
			refuse_step(s, "what computes %s stores to %s too", tensor->name, access->tensor->name);
		if (count_accesses(rest, access->tensor, true) > 0 && access->tensor != tensor)
			refuse_step(s, "%s, which %s is computed from, is stored behind it",
			            access->tensor->name, tensor->name);
	}
}

/* The loop of the copy that counts dim d of what it stores; its index is the variable and a shift.
 * NULL: the index is that of the box, which has one. */
static const Stmt *
loop_of_dim(const Local *l, const Access *store, int d, const Expr **shift)
{
	ExprCtx *ctx = l->s->ctx;
	for (const Around *at = store->around; at; at = at->outer) {
		const Expr *var = expr_var(ctx, at->loop->var);
		*shift = expr_simplify(l->facts, expr_sub(ctx, store->index[d], var));
		bool is_free = !(*shift)->has_read;
		for (const Around *other = store->around; other; other = other->outer)
			is_free &= !expr_uses_var(*shift, other->loop->var);
		for (int k = 0; k < l->old->rank; k++)
			is_free &= k == d || !expr_uses_var(store->index[k], at->loop->var);
		if (is_free)
			return at->loop;
	}
	const Expr *from = expr_sub(ctx, store->index[d], l->box.lo[d]);
	if (!expr_is_zero(expr_simplify(l->facts, from)))
		refuse_step(l->s, "dim %d of %s is not counted by a loop of its own", d, l->old->name);
	return NULL;
}

/* for i in lo..hi { S(i) }  =>  for i in E { S(first + i) }, where that lies in lo..hi */
static void
narrow(const Local *l, Stmt *loop, int d, const Expr *shift)
{
	ExprCtx *ctx = l->s->ctx;
	const Expr *first = expr_simplify(l->facts, expr_sub(ctx, l->box.lo[d], shift));
	const Expr *lo = expr_i64(ctx, 0), *hi = l->box.extent[d];
	const Expr *begin = expr_sub(ctx, loop->lo, first), *end = expr_sub(ctx, loop->hi, first);
	if (!facts_prove(l->facts, expr_le(ctx, begin, lo)))
		lo = expr_max(ctx, lo, begin);
	if (!facts_prove(l->facts, expr_le(ctx, hi, end)))
		hi = expr_min(ctx, hi, end);
	const Var *var = var_new(ctx, loop->var->name, DT_I64, lo, hi);
	stmt_substitute(l->s->kernel, loop->body, loop->var, expr_add(ctx, first, expr_var(ctx, var)));
	loop->var = var;
	loop->lo = lo;
	loop->hi = hi;
}

/* The copy computes the box alone. */
static void
narrow_all(const Local *l, Stmt *copy)
{
	AccessVec all = {0};
	find_accesses(l->s->kernel, copy, &all);
	for (int i = 0; i < all.count; i++)
		for (int d = 0; d < l->old->rank && all.data[i].is_store; d++) {
			const Expr *shift;
			const Stmt *loop = loop_of_dim(l, &all.data[i], d, &shift);
			if (loop)
				narrow(l, (Stmt *)loop, d, shift);
		}
}

void
primitive_compute_at(Scheduling *s)
{
	Stmt *loop = named_loop(s, 0);
	const char *name = s->step->buffers.data[0];
	Stmt **alloc = find_alloc(&s->kernel->body, name);
	if (!alloc)
		refuse_step(s, "there is no local %s", name);
	const Tensor *tensor = &(*alloc)->buffer->tensor;
	Stmt **producer = find_producer(s, *alloc), *made = *producer, *rest = made->next;
	AccessVec in_made = {0}, in_rest = {0}, in_loop = {0};
	made->next = NULL;
	find_accesses(s->kernel, made, &in_made);
	find_accesses(s->kernel, rest, &in_rest);
	find_accesses(s->kernel, loop->body, &in_loop);
	check_movable(s, &in_made, &in_rest, tensor);
	bool has_checks = false;
	for (StmtWalk walk = stmt_walk(s->kernel->arena, made); stmt_step(&walk);)
		has_checks |= stmt_reports(walk.stmt); /* another index, or none */
	if (has_checks)
		refuse_step(s, "what computes %s checks indices", name);
	int reads = count_accesses(&in_loop, tensor, false);
	if (reads == 0 || reads < count_accesses(&in_rest, tensor, false))
		refuse_step(s, "%s is read elsewhere, or not there", name);
	Local l = local_plan(s, facts_at(s, loop->body), &in_loop, tensor);
	*producer = rest;
	local_make(&l, name, (*alloc)->buffer);
	Stmt *copy = stmt_copy(s->kernel, made, NULL, NULL);
	narrow_all(&l, copy);
	local_redirect(&l, copy);
	local_redirect(&l, loop->body);
	loop->body = stmt_append(stmt_append(stmt_alloc(s->kernel, l.buffer, NULL), copy), loop->body);
	*alloc = (*alloc)->next;
	kernel_name_apart(s->kernel);
}
