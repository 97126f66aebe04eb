/* fission: one loop becomes two, and what one half makes for the other gets an element for each
 * iteration.
 *
 *     for u in 6 {                              acc: f32[6] @reg = 0
 *       acc: f32 @reg = 0                       for u in 6
 *       for k in K                  =>            for k in K
 *         acc[] += A[u, k] * B[k]                   acc[u] += A[u, k] * B[k]
 *       Y[u] = acc[]                            for u_1 in 6
 *     }                                           Y[u_1] = acc[u_1]
 *
 *     fission u acc @reg -> u_1
 *
 * So stages take turns over a tile, a sum's loop comes to stand outside the lanes (the halves of
 * its loop are reordered then), and rows are computed together. In memory, an initial value is
 * stored by a loop like the one that is cut, in front: what a short last piece does not use is not
 * touched.
 */
#include <string.h>

#include "tir/schedule/local.h"
#include "tir/text.h"

typedef struct Fission {
	Scheduling *s;
	Stmt *loop;
	const Expr *position; /* from 0 */
	const Dim *extent;    /* at most so many iterations; NULL: no bound is known */
	Stmt *front;          /* what comes to stand before the loop */
	VEC(const Tensor *) widened;
} Fission;

static bool
stores_named(const Scheduling *s, const Stmt *list)
{
	for (; list; list = list->next)
		if ((list->kind == STMT_STORE && is_named_buffer(s, &list->buffer->tensor)) ||
		    stores_named(s, list->body) || stores_named(s, list->other))
			return true;
	return false;
}

/* The last statement of the body that stores to a named buffer: the cut is behind it. */
static Stmt *
find_cut(const Scheduling *s, const Stmt *loop)
{
	Stmt *cut = NULL;
	for (Stmt *stmt = loop->body; stmt; stmt = stmt->next) {
		Stmt alone = *stmt;
		alone.next = NULL;
		cut = stores_named(s, &alone) ? stmt : cut;
	}
	if (!cut)
		refuse_step(s, "nothing in it stores to %s", s->step->buffers.data[0]);
	if (!cut->next)
		refuse_step(s, "nothing stands behind the last store to %s", s->step->buffers.data[0]);
	return cut;
}

/* ---- locals with a dim more ------------------------------------------------------------------ */

/* for u in E { S }, in front of the loop that is cut */
static void
put_in_front(Fission *f, Stmt *list)
{
	Kernel *kernel = f->s->kernel;
	const Stmt *loop = f->loop;
	const char *name = arena_printf(kernel->arena, "%s_init", loop->var->name);
	const Var *var = var_new(kernel->ctx, name, DT_I64, loop->lo, loop->hi);
	stmt_substitute(kernel, list, loop->var, expr_var(kernel->ctx, var));
	list = stmt_for(kernel, var, loop->lo, loop->hi, loop->bind, list);
	f->front = stmt_append(f->front, list);
}

/* Whether the statement gives all elements of the local a number: an earlier cut put it there. */
static bool
is_initial(const Stmt *stmt, const Tensor *tensor)
{
	while (stmt && stmt->kind == STMT_FOR && stmt->body && !stmt->body->next)
		stmt = stmt->body;
	return stmt && stmt->kind == STMT_STORE && &stmt->buffer->tensor == tensor &&
	       stmt->op == STORE_SET && expr_is_const(stmt->value);
}

/* The local and one dim more, for the iterations of the loop. */
static Local
with_dim(const Fission *f, const Tensor *old)
{
	Local l = {.s = f->s, .old = old, .type = old->type, .lane = f->position, .lanes = f->extent};
	for (int d = 0; d < old->rank; d++) {
		l.box.lo[d] = expr_i64(f->s->ctx, 0);
		l.box.size[d] = old->hi[d];
		vec_push(f->s->kernel->arena, &l.parts, (Part){PART_WHOLE, d, 0});
	}
	vec_push(f->s->kernel->arena, &l.parts, (Part){PART_LANE, 0, 0});
	return l;
}

static void
widen(Fission *f, Stmt *alloc)
{
	Kernel *kernel = f->s->kernel;
	const Tensor *old = &alloc->buffer->tensor;
	if (!f->extent)
		refuse_step(f->s, "%s is used on both sides, and there is no bound for its size",
		            old->name);
	if (old->rank == ARRAY_MAX_RANK)
		refuse_step(f->s, "%s has too many dims", old->name);
	Local l = with_dim(f, old);
	local_make(&l, old->name, alloc->buffer);
	bool is_reg = l.buffer->scope == SCOPE_REG;
	if (alloc->value && (!expr_is_const(alloc->value) || (old->rank > 0 && !is_reg)))
		refuse_step(f->s, "%s has an initial value that is no number", old->name);
	vec_push(kernel->arena, &f->widened, &l.buffer->tensor);
	f->front = stmt_append(f->front, stmt_alloc(kernel, l.buffer, is_reg ? alloc->value : NULL));
	if (alloc->value && !is_reg)
		put_in_front(f, stmt_store(kernel, l.buffer, &f->position, STORE_SET, alloc->value));
	local_redirect(&l, f->loop->body);
}

/* ---- the halves ------------------------------------------------------------------------------ */

static bool
touches(const Fission *f, Stmt *list, const Tensor *tensor)
{
	AccessVec all = {0};
	find_accesses(f->s->kernel, list, &all);
	for (int i = 0; i < all.count; i++)
		if (all.data[i].tensor == tensor)
			return true;
	return false;
}

/* Whether a scalar of the list is made with the variable. */
static bool
list_uses(const Fission *f, Stmt *list, const Var *var)
{
	bool is_used = false;
	for (StmtWalk walk = stmt_walk(f->s->kernel->arena, list); stmt_step(&walk);) {
		const Stmt *stmt = walk.stmt;
		const Expr *scalars[] = {stmt->lo, stmt->hi, stmt->condition, stmt->value};
		for (size_t i = 0; i < countof(scalars); i++)
			is_used |= scalars[i] && expr_uses_var(scalars[i], var);
		for (int d = 0; stmt->index && d < stmt->buffer->tensor.rank; d++)
			is_used |= expr_uses_var(stmt->index[d], var);
	}
	return is_used;
}

/* Give definitions of the first half to the half that uses them; widen what both use. */
static void
sort_definitions(Fission *f, Stmt **first, Stmt **second)
{
	Stmt *rest = *first, *head = NULL, *moved = NULL;
	while (rest) {
		Stmt *stmt = rest;
		rest = rest->next;
		stmt->next = NULL;
		bool is_alloc = stmt->kind == STMT_ALLOC;
		const Tensor *tensor = is_alloc ? &stmt->buffer->tensor : NULL;
		if (stmt->kind == STMT_LET && list_uses(f, *second, stmt->var))
			refuse_step(f->s, "%s is defined before the cut", stmt->var->name);
		bool is_wide = is_alloc && (is_named_buffer(f->s, tensor) || touches(f, *second, tensor));
		if (!is_wide)
			head = stmt_append(head, stmt);
		else if (!touches(f, rest, tensor)) /* it is the second half's alone */
			moved = stmt_append(moved, stmt);
		else {
			f->loop->body = rest;
			Stmt *last = rest;
			while (last->next)
				last = last->next;
			last->next = *second;
			bool has_initial = is_initial(rest, tensor);
			widen(f, stmt);
			last->next = NULL;
			if (!has_initial)
				continue;
			Stmt *initial = rest;
			rest = rest->next;
			initial->next = NULL;
			put_in_front(f, initial);
		}
	}
	*first = head;
	*second = stmt_append(moved, *second);
}

/* Whether an iteration finds there only what it stored itself. */
static bool
is_own(const Fission *f, const Access *a, const Access *b)
{
	for (int i = 0; i < f->widened.count; i++)
		if (f->widened.data[i] == a->tensor)
			return true;
	return are_apart(f->s, f->loop, a, b);
}

/* All iterations of the first half come before the second's: neither may wait for the other. */
static void
check_halves(const Fission *f, Stmt *first, Stmt *second)
{
	AccessVec a = {0}, b = {0};
	find_accesses(f->s->kernel, first, &a);
	find_accesses(f->s->kernel, second, &b);
	for (int i = 0; i < a.count; i++)
		for (int k = 0; k < b.count; k++)
			if (must_keep_order(&a.data[i], &b.data[k]) && !is_own(f, &a.data[i], &b.data[k]))
				refuse_step(f->s, "%s is stored on one side of the cut and used on the other",
				            a.data[i].tensor->name);
}

void
primitive_fission(Scheduling *s)
{
	Stmt *loop = named_loop(s, 0), *first = loop->body, *next = loop->next;
	if (loop->bind == BIND_PARALLEL)
		refuse_step(s, "a @parallel loop is not cut");
	Stmt *cut = find_cut(s, loop), *second = cut->next;
	Fission f = {.s = s, .loop = loop, .extent = bound_of_loop(s, loop)};
	f.position = expr_var(s->ctx, loop->var);
	if (!expr_is_zero(loop->lo))
		f.position = expr_sub(s->ctx, f.position, loop->lo);
	const Var *var = new_counter(s, 0, loop->lo, loop->hi);
	cut->next = NULL;
	sort_definitions(&f, &first, &second);
	check_halves(&f, first, second);
	stmt_substitute(s->kernel, second, loop->var, expr_var(s->ctx, var));
	Stmt *halves = NEW(s->kernel->arena, Stmt);
	*halves = *loop;
	halves->body = first;
	halves->next = stmt_for(s->kernel, var, loop->lo, loop->hi, loop->bind, second);
	halves->next->next = next;
	*loop = *stmt_append(f.front, halves);
	kernel_name_apart(s->kernel);
}
