/* reorder, bind, unswitch, skew: the same iterations in another order, or at once, where depend.c
 * proves that none needs what another one leaves.
 */
#include "tir/schedule/grid.h"
#include "tir/text.h"

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
	refuse_step(s,
	            "these loops are not a nest of their own, each holding the next and nothing else");
}

void
primitive_reorder(Scheduling *s)
{
	int count = s->step->loops.count;
	Stmt **nest = NEW_N(s->kernel->arena, Stmt *, count),
		 *old = NEW_N(s->kernel->arena, Stmt, count);
	const Stmt **after = NEW_N(s->kernel->arena, const Stmt *, count);
	find_nest(s, count, nest);
	for (int i = 0; i < count; i++) {
		after[i] = named_loop(s, i);
		old[i] = *after[i];
	}
	check_order(s, count, (const Stmt *const *)nest, after);
	for (int i = 0; i < count; i++) {
		for (int k = i; k < count; k++)
			if (expr_uses_var(old[i].lo, old[k].var) || expr_uses_var(old[i].hi, old[k].var))
				refuse_step(s, "the bounds of loop %s depend on loop %s", old[i].var->name,
				            old[k].var->name);
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
		refuse_step(s, "how many pieces there are must be known before it runs");
	for (const Stmt *outer = s->kernel->body; outer != loop; outer = outer->body)
		if (outer->kind != STMT_FOR || outer->bind != BIND_PARALLEL || outer->next)
			refuse_step(s, "it does not stand in @parallel loops alone");
	if (s->kernel->body->next)
		refuse_step(s, "statements stand behind it");
}

static bool
moves(const Access *access, const Stmt *loop)
{
	for (int d = 0; d < access->tensor->rank; d++)
		if (expr_uses_var(access->index[d], loop->var))
			return true;
	return false;
}

void
check_apart(const Scheduling *s, const Stmt *loop, bool may_sum)
{
	AccessVec all = {0};
	find_accesses(s->kernel, loop->body, &all);
	for (int i = 0; i < all.count; i++)
		for (int k = i; k < all.count; k++) {
			const Access *a = &all.data[i], *b = &all.data[k];
			bool is_sum = may_sum && !must_keep_order(a, b);
			if (a->tensor == b->tensor && (a->is_store || b->is_store) &&
			    !(is_sum && !moves(a, loop) && !moves(b, loop)) && !are_apart(s, loop, a, b))
				refuse_meeting(s, a, b);
		}
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

/* A last piece may be shorter: PartitionLoops finds out how short, before Unroll asks. */
static bool
is_bounded(const Scheduling *s, const Stmt *loop)
{
	int64_t most;
	const Dim *bound = bound_of_loop(s, loop);
	return bound && dim_is_const(bound, &most);
}

void
primitive_bind(Scheduling *s)
{
	Stmt *loop = named_loop(s, 0);
	Bind bind = s->step->bind;
	if (bind == BIND_TURN)
		refuse_step(s, "@turn is what TurnLoops finds");
	if (bind >= BIND_BLOCK_X)
		check_in_grid(s, loop, bind);
	else if (bind == BIND_PARALLEL)
		check_outermost(s, loop);
	else if (bind == BIND_VECTOR &&
	         (holds_vector(loop->body) || stands_in_lanes(s->kernel->body, loop, false)))
		refuse_step(s, "lanes do not stand in lanes");
	else if (bind == BIND_UNROLL && !is_bounded(s, loop))
		refuse_step(s, "no number bounds it");
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
		refuse_step(s, "it holds more than a condition, or none");
	if (expr_uses_var(test->condition, loop->var))
		refuse_step(s, "the condition depends on it");
	if (test->condition->has_read)
		refuse_step(s, "the condition reads memory");
	if (stmt_reports(test) || stmt_reports(loop))
		refuse_step(s, "the condition or the loop's bounds check indices");
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
	VEC(const Stmt *) nest = {0}, after = {0};
	vec_push(s->kernel->arena, &nest, loop);
	vec_push(s->kernel->arena, &after, inner);
	vec_push(s->kernel->arena, &after, loop);
	for (at = only_loop(s, at); at != inner; at = only_loop(s, at)) {
		if (expr_uses_var(at->lo, loop->var) || expr_uses_var(at->hi, loop->var))
			refuse_step(s, "the bounds of loop %s depend on it", at->var->name);
		vec_push(s->kernel->arena, &nest, at);
		vec_push(s->kernel->arena, &after, at);
	}
	vec_push(s->kernel->arena, &nest, inner);
	const Var *old = loop->var;
	if (!expr_is_zero(inner->lo) || !dim_from_expr(ctx, inner->hi))
		refuse_step(s, "loop %s does not count from 0 to a bound of its own", inner->var->name);
	check_order(s, nest.count, nest.data, after.data);
	const Expr *more = expr_sub(ctx, inner->hi, expr_i64(ctx, 1));
	const Expr *hi = tidy_dim(ctx, expr_add(ctx, loop->hi, more));
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
