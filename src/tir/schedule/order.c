/* reorder, bind, unswitch, skew: the same iterations in another order, or at once.
 *
 * What an iteration reads and another one stores must stay in order. A buffer that is only stored
 * is no obstacle: sums may be taken in any order, and so are those of a naive nest. One that is
 * read as well must be touched at one and the same index by every statement; then only iterations
 * of one element depend on each other, and these differ in the loops that the index does not name.
 *
 *     for lane in 64 { for k in K { acc[lane] = f(acc[lane], X[k, lane]) } }    lane and k: free
 */
#include "tir/schedule/inner.h"
#include "tir/text.h"

/* ---- what depends on what -------------------------------------------------------------------- */

typedef struct Finder {
	Arena *arena;
	AccessVec *accesses;
	VEC(const Tensor *) made; /* inside */
} Finder;

static void
find_made(Stmt *stmt, void *arg)
{
	Finder *finder = arg;
	if (stmt->kind == STMT_ALLOC)
		vec_push(finder->arena, &finder->made, &stmt->buffer->tensor);
}

static void
add_access(Finder *finder, Access access)
{
	for (int i = 0; i < finder->made.count; i++)
		if (finder->made.data[i] == access.tensor)
			return;
	vec_push(finder->arena, finder->accesses, access);
}

static void
find_read(const Expr *e, void *arg)
{
	if (e->op == EX_read)
		add_access(arg, (Access){.tensor = e->tensor, .index = e->arg});
}

static void
find_in_stmt(Stmt *stmt, void *arg)
{
	const Expr *fields[] = {stmt->lo, stmt->hi, stmt->condition, stmt->value};
	for (size_t i = 0; i < countof(fields); i++)
		if (fields[i])
			expr_visit(fields[i], find_read, arg);
	if (stmt->kind != STMT_STORE)
		return;
	for (int d = 0; d < stmt->buffer->tensor.rank; d++)
		expr_visit(stmt->index[d], find_read, arg);
	add_access(arg, (Access){&stmt->buffer->tensor, stmt->index, true, stmt->op});
}

void
find_accesses(Kernel *kernel, Stmt *list, AccessVec *accesses)
{
	Finder finder = {.arena = kernel->arena, .accesses = accesses};
	stmt_visit(list, find_made, &finder);
	stmt_visit(list, find_in_stmt, &finder);
}

bool
moves_with(const Scheduling *s, const Expr *e, const Var *var, int count, const Var *const *vars)
{
	if (e->op == EX_var)
		return e->var == var;
	if (e->type != DT_I64 || !expr_uses_var(e, var))
		return false;
	const Expr *rest = expr_sub(s->ctx, e, expr_var(s->ctx, var));
	rest = expr_simplify(facts_new(s->ctx, s->kernel->arena), rest);
	return !expr_uses_var(rest, var) && !expr_uses_any(rest, count, vars);
}

/* Whether `var` is told by the index alone, among `count` loops. */
static bool
is_told(const Scheduling *s, const Access *access, const Var *var, int count,
        const Var *const *vars)
{
	for (int d = 0; d < access->tensor->rank; d++)
		if (moves_with(s, access->index[d], var, count, vars))
			return true;
	return false;
}

static bool
is_same_place(const Access *a, const Access *b)
{
	for (int d = 0; d < a->tensor->rank; d++)
		if (a->index[d] != b->index[d])
			return false;
	return true;
}

/* A store that depends on what stood there: it, or another statement, reads the buffer, or sets
 * what this one adds to. */
static bool
is_dependent(const Scheduling *s, const AccessVec *all, const Access *store)
{
	bool is_mixed = false;
	for (int i = 0; i < all->count; i++) {
		const Access *other = &all->data[i];
		if (other->tensor != store->tensor)
			continue;
		is_mixed |= !other->is_store || other->op != store->op;
	}
	for (int i = 0; i < all->count && is_mixed; i++)
		if (all->data[i].tensor == store->tensor && !is_same_place(&all->data[i], store))
			refuse(s, "an iteration may read of %s what another stored", store->tensor->name);
	return is_mixed;
}

/* Refuses when the list, in `count` loops that stand as in `before` and are to stand as in `after`,
 * would read something before it is stored, or behind it. */
static void
check_order(const Scheduling *s, Stmt *list, int count, const Var *const *before,
            const Var *const *after)
{
	AccessVec all = {0};
	find_accesses(s->kernel, list, &all);
	for (int i = 0; i < all.count; i++) {
		const Access *store = &all.data[i];
		if (!store->is_store || !is_dependent(s, &all, store))
			continue;
		for (int b = 0, a = 0; b < count || a < count; a++, b++) {
			while (b < count && is_told(s, store, before[b], count, before))
				b++;
			while (a < count && is_told(s, store, after[a], count, before))
				a++;
			if (a < count && b < count && before[b] != after[a])
				refuse(s, "an iteration may read of %s what another stored", store->tensor->name);
		}
	}
}

/* Refuses when iterations of the loop cannot run at once. */
static void
check_apart(const Scheduling *s, const Stmt *loop, bool may_sum)
{
	AccessVec all = {0};
	find_accesses(s->kernel, loop->body, &all);
	for (int i = 0; i < all.count; i++) {
		const Access *store = &all.data[i];
		bool moves = false;
		if (!store->is_store)
			continue;
		for (int d = 0; d < store->tensor->rank; d++)
			moves |= expr_uses_var(store->index[d], loop->var);
		if (!moves && !(may_sum && store->op != STORE_SET))
			refuse(s, "all iterations store to one place of %s", store->tensor->name);
		if (is_dependent(s, &all, store) && !is_told(s, store, loop->var, 1, &loop->var))
			refuse(s, "an iteration may read of %s what another stored", store->tensor->name);
	}
}

/* ---- reorder --------------------------------------------------------------------------------- */

/* The named loops as they stand, outermost first. */
static void
find_nest(const Scheduling *s, int count, Stmt **nest)
{
	for (int start = 0; start < count; start++) {
		int depth = 0;
		Stmt *loop = named_loop(s, start);
		for (; loop && loop->kind == STMT_FOR && depth < count; loop = loop->body) {
			bool is_named = false;
			for (int i = 0; i < count; i++)
				is_named |= loop == named_loop(s, i);
			if (!is_named || (depth > 0 && loop->next))
				break;
			nest[depth++] = loop;
		}
		if (depth == count)
			return;
	}
	refuse(s, "these loops are not a nest of their own, each holding the next and nothing else");
}

void
primitive_reorder(Scheduling *s)
{
	int count = s->step->loops.count;
	Stmt **nest = NEW_N(s->kernel->arena, Stmt *, count),
		 *old = NEW_N(s->kernel->arena, Stmt, count);
	const Var **before = NEW_N(s->kernel->arena, const Var *, count);
	const Var **after = NEW_N(s->kernel->arena, const Var *, count);
	find_nest(s, count, nest);
	for (int i = 0; i < count; i++) {
		before[i] = nest[i]->var;
		after[i] = named_loop(s, i)->var;
	}
	for (int i = 0; i < count; i++)
		old[i] = *named_loop(s, i);
	check_order(s, nest[count - 1]->body, count, before, after);
	for (int i = 0; i < count; i++) {
		for (int k = i; k < count; k++)
			if (expr_uses_var(old[i].lo, after[k]) || expr_uses_var(old[i].hi, after[k]))
				refuse(s, "the bounds of loop %s depend on loop %s", after[i]->name,
				       after[k]->name);
		nest[i]->var = old[i].var;
		nest[i]->lo = old[i].lo;
		nest[i]->hi = old[i].hi;
		nest[i]->bind = old[i].bind;
		nest[i]->loc = old[i].loc;
	}
}

/* ---- bind ------------------------------------------------------------------------------------ */

/* Loops that are cut among workers are one flat index. */
static void
check_outermost(const Scheduling *s, const Stmt *loop)
{
	if (!dim_from_expr(s->ctx, loop_extent(s, loop)))
		refuse(s, "how many pieces there are must be known before it runs");
	for (const Stmt *outer = s->kernel->body; outer != loop; outer = outer->body)
		if (outer->kind != STMT_FOR || outer->bind != BIND_PARALLEL || outer->next)
			refuse(s, "it does not stand in @parallel loops alone");
	if (s->kernel->body->next)
		refuse(s, "statements stand behind it");
}

static bool
holds_vector(const Stmt *list)
{
	for (; list; list = list->next)
		if ((list->kind == STMT_FOR && list->bind == BIND_VECTOR) || holds_vector(list->body) ||
		    holds_vector(list->other))
			return true;
	return false;
}

static bool
stands_in_lanes(const Stmt *list, const Stmt *loop, bool is_in_lanes)
{
	for (; list; list = list->next) {
		if (list == loop)
			return is_in_lanes;
		bool inside = is_in_lanes || (list->kind == STMT_FOR && list->bind == BIND_VECTOR);
		if (stands_in_lanes(list->body, loop, inside) || stands_in_lanes(list->other, loop, inside))
			return true;
	}
	return false;
}

void
primitive_bind(Scheduling *s)
{
	Stmt *loop = named_loop(s, 0);
	int64_t lo, hi;
	Bind bind = s->step->bind;
	if (bind == BIND_PARALLEL)
		check_outermost(s, loop);
	else if (bind == BIND_VECTOR &&
	         (holds_vector(loop->body) || stands_in_lanes(s->kernel->body, loop, false)))
		refuse(s, "lanes do not stand in lanes");
	else if (bind == BIND_UNROLL && !(expr_as_i64(loop->lo, &lo) && expr_as_i64(loop->hi, &hi)))
		refuse(s, "its bounds are no constants");
	if (bind != BIND_UNROLL)
		check_apart(s, loop, bind == BIND_VECTOR);
	loop->bind = bind;
}

/* ---- unswitch, skew -------------------------------------------------------------------------- */

/* for u in E { if (c) S }  =>  if (c) { for u in E { S } } */
void
primitive_unswitch(Scheduling *s)
{
	Stmt *loop = named_loop(s, 0), *test = loop->body;
	if (!test || test->kind != STMT_IF || test->next || test->other)
		refuse(s, "it holds more than a condition, or none");
	if (expr_uses_var(test->condition, loop->var))
		refuse(s, "the condition depends on it");
	if (test->condition->has_read)
		refuse(s, "the condition reads memory");
	const Expr *condition = test->condition;
	Stmt *next = loop->next;
	*test = (Stmt){.kind = STMT_FOR,
	               .loc = loop->loc,
	               .var = loop->var,
	               .lo = loop->lo,
	               .hi = loop->hi,
	               .bind = loop->bind,
	               .op = STORE_SET,
	               .body = test->body};
	*loop = *stmt_if(s->kernel, condition, test, NULL);
	loop->next = next;
}

/* for r in R { for u in U { S(r, u) } }  =>
 * for r_row in R+U-1 { for u in U { if (0 <= r_row-u && r_row-u < R) S(r_row-u, u) } } */
void
primitive_skew(Scheduling *s)
{
	ExprCtx *ctx = s->ctx;
	Stmt *loop = named_loop(s, 0), *inner = named_loop(s, 1), *at = loop;
	for (at = only_loop(s, at); at != inner; at = only_loop(s, at))
		if (expr_uses_var(at->lo, loop->var) || expr_uses_var(at->hi, loop->var))
			refuse(s, "the bounds of loop %s depend on it", at->var->name);
	const Var *old = loop->var, *both[] = {old, inner->var};
	if (!expr_is_zero(inner->lo) || !dim_from_expr(ctx, inner->hi))
		refuse(s, "loop %s does not count from 0 to a bound of its own", inner->var->name);
	check_order(s, inner->body, 2, both, (const Var *[]){inner->var, old});
	const Expr *more = expr_sub(ctx, inner->hi, expr_i64(ctx, 1));
	const Expr *hi = tidy(ctx, expr_add(ctx, loop->hi, more));
	const Var *row = new_counter(s, 0, loop->lo, hi);
	const Expr *value = expr_sub(ctx, expr_var(ctx, row), expr_var(ctx, inner->var));
	const Expr *is_one =
		expr_and(ctx, expr_le(ctx, loop->lo, value), expr_lt(ctx, value, loop->hi));
	stmt_substitute(s->kernel, inner->body, old, value);
	Stmt *test = inner->body;
	if (test && test->kind == STMT_IF && !test->next && !test->other)
		test->condition = expr_and(ctx, is_one, test->condition);
	else
		inner->body = stmt_if(s->kernel, is_one, inner->body, NULL);
	loop->var = row;
	loop->hi = hi;
}
