/* What depends on what: which iterations of a nest of loops may touch one element.
 *
 * Two accesses to a buffer, one of them a store, must stay in order, unless both add to what is
 * there: sums may be taken in any order, and so are those of a naive nest. Their place *tells* a
 * loop when they meet in one and the same iteration of it only. So iterations that depend on each
 * other differ in the loops that the place does not tell, and these must keep their order.
 *
 *     for lane in 64 { for k in K { acc[lane] = f(acc[lane], X[k, lane]) } }    lane is told, k not
 *     for q in 4 { for i in 16 { Y[q*16 + i] = … } }                            q is, then i too
 *
 * Told is what the index prover finds: for a later iteration q + 1 + t of the loop, any iterations
 * of the loops that are not told yet, and those around told ones as they are, it must show that one
 * index, or the address made of several, is larger or smaller than before.
 */
#include "base/map.h"
#include "tir/schedule/inner.h"

/* ---- accesses -------------------------------------------------------------------------------- */

typedef struct Finder {
	Kernel *kernel;
	AccessVec *accesses;
	const Around *around;
	int conditions;           /* around */
	VEC(const Tensor *) made; /* inside */
	Map lets;                 /* Var to its value, for integers */
} Finder;

static void
add_access(Finder *finder, Access access)
{
	for (int i = 0; i < finder->made.count; i++)
		if (finder->made.data[i] == access.tensor)
			return;
	access.around = finder->around;
	access.is_conditional = finder->conditions > 0;
	vec_push(finder->kernel->arena, finder->accesses, access);
}

/* Reads of a scalar, with lets put in their places; gives it so. */
static const Expr *
find_reads(Finder *finder, const Expr *e)
{
	if (!e)
		return NULL;
	e = expr_replace_vars(e, &finder->lets);
	for (ExprWalk walk = expr_walk(e); expr_step(&walk);)
		if (walk.e->op == EX_read)
			add_access(finder, (Access){.tensor = walk.e->tensor, .index = walk.e->arg});
	return e;
}

static void
find_in_store(Finder *finder, const Stmt *stmt)
{
	int rank = stmt->buffer->tensor.rank;
	const Expr **index = NEW_N(finder->kernel->arena, const Expr *, rank);
	for (int d = 0; d < rank; d++)
		index[d] = find_reads(finder, stmt->index[d]);
	add_access(finder, (Access){&stmt->buffer->tensor, index, true, stmt->op, false, NULL});
}

static void
find_in_list(Finder *finder, const Stmt *list)
{
	for (const Stmt *stmt = list; stmt; stmt = stmt->next) {
		const Around *outer = finder->around;
		find_reads(finder, stmt->lo);
		find_reads(finder, stmt->hi);
		find_reads(finder, stmt->condition);
		const Expr *value = find_reads(finder, stmt->value);
		if (stmt->kind == STMT_STORE)
			find_in_store(finder, stmt);
		if (stmt->kind == STMT_LET && dtype_is_integer(value->type))
			map_set_ptr(&finder->lets, stmt->var, (void *)value);
		if (stmt->kind == STMT_FOR) {
			Around *around = NEW(finder->kernel->arena, Around);
			*around = (Around){stmt, outer};
			finder->around = around;
		}
		finder->conditions += stmt->kind == STMT_IF;
		find_in_list(finder, stmt->body);
		find_in_list(finder, stmt->other);
		finder->conditions -= stmt->kind == STMT_IF;
		finder->around = outer;
	}
}

void
find_accesses(Kernel *kernel, Stmt *list, AccessVec *accesses)
{
	find_accesses_within(kernel, list, NULL, accesses);
}

void
find_accesses_within(Kernel *kernel, Stmt *list, const Around *around, AccessVec *accesses)
{
	Finder finder = {
		.kernel = kernel, .accesses = accesses, .around = around, .lets = {.arena = kernel->arena}};
	for (StmtWalk walk = stmt_walk(kernel->arena, list); stmt_step(&walk);)
		if (walk.stmt->kind == STMT_ALLOC)
			vec_push(kernel->arena, &finder.made, &walk.stmt->buffer->tensor);
	find_in_list(&finder, list);
}

/* ---- whether a place tells a loop ------------------------------------------------------------ */

/* Two accesses in a nest: `a` in one iteration, `b` in another. */
typedef struct Pair {
	const Scheduling *s;
	int count;
	const Stmt *const *nest; /* outermost first */
	bool *is_told;           /* per loop */
	const Access *a, *b;
	Facts *facts;
	Map other; /* Var to what it is in b's iteration; absent: the same */
} Pair;

bool
enter_facts(Facts *facts, const Stmt *list, const Stmt *inner)
{
	for (; list; list = list->next) {
		bool in_other = enter_facts(facts, list->other, inner);
		if (list != inner && !in_other && !enter_facts(facts, list->body, inner))
			continue;
		if (list->kind == STMT_FOR && list != inner)
			facts_var(facts, list->var, list->lo, list->hi);
		if (list->kind == STMT_IF && !in_other && list != inner)
			facts_assume(facts, list->condition);
		return true;
	}
	return false;
}

Facts *
facts_at(const Scheduling *s, const Stmt *place)
{
	Facts *facts = facts_new(s->ctx, expr_ctx_arena(s->ctx));
	enter_facts(facts, s->kernel->body, place);
	return facts;
}

bool
is_certain_at(const Scheduling *s, const Stmt *place, const Expr *condition)
{
	Facts *facts = facts_at(s, place);
	bool is_certain = facts_prove(facts, condition);
	facts_close(facts);
	return is_certain;
}

static const Expr *
in_other(Pair *p, const Expr *e)
{
	return expr_replace_vars(e, &p->other);
}

/* The loop runs in b's iteration by a counter of its own. */
static void
enter_other(Pair *p, const Stmt *loop)
{
	const Expr *lo = in_other(p, loop->lo), *hi = in_other(p, loop->hi);
	const Var *var = var_new(p->s->ctx, loop->var->name, DT_I64, lo, hi);
	facts_var(p->facts, var, lo, hi);
	map_set_ptr(&p->other, loop->var, (void *)expr_var(p->s->ctx, var));
}

/* Loops around an access, outermost first. */
static void
enter_around(Pair *p, const Around *around, bool is_other)
{
	if (!around)
		return;
	enter_around(p, around->outer, is_other);
	for (int i = 0; i < p->count; i++)
		if (p->nest[i] == around->loop)
			return;
	if (is_other)
		enter_other(p, around->loop);
	else
		facts_var(p->facts, around->loop->var, around->loop->lo, around->loop->hi);
}

/* b's iteration of the loop is a later one, or (step -1) an earlier one. */
static void
enter_later(Pair *p, const Stmt *loop, int step)
{
	ExprCtx *ctx = p->s->ctx;
	const Expr *more = expr_sub(ctx, loop->hi, loop->lo);
	const Var *var = var_new(ctx, "t", DT_I64, expr_i64(ctx, 0), more);
	facts_var(p->facts, var, expr_i64(ctx, 0), more);
	const Expr *distance = expr_add(ctx, expr_var(ctx, var), expr_i64(ctx, 1));
	const Expr *mine = expr_var(ctx, loop->var);
	const Expr *value = (step > 0 ? expr_add : expr_sub)(ctx, mine, distance);
	facts_assume(p->facts,
	             step > 0 ? expr_lt(ctx, value, loop->hi) : expr_le(ctx, loop->lo, value));
	map_set_ptr(&p->other, loop->var, (void *)value);
}

static bool
is_proven_apart(Pair *p, const Expr *a, const Expr *b)
{
	ExprCtx *ctx = p->s->ctx;
	return facts_prove(p->facts, expr_lt(ctx, a, b)) || facts_prove(p->facts, expr_lt(ctx, b, a));
}

/* A part of a number, as an index that a loop made of several has: e / below % count. No count: all
 * that is left. */
typedef struct Digit {
	const Expr *e;
	const Dim *below, *count;
} Digit;

static Digit
digit_of(ExprCtx *ctx, const Expr *e)
{
	Digit digit = {.below = dim_const(ctx, 1)};
	if (e->op == EX_floormod) {
		digit.count = dim_from_expr(ctx, e->arg[1]);
		e = digit.count ? e->arg[0] : e;
	}
	for (const Dim *by; e->op == EX_floordiv && (by = dim_from_expr(ctx, e->arg[1])); e = e->arg[0])
		digit.below = dim_mul(ctx, digit.below, by);
	digit.e = e;
	return digit;
}

static const Expr *
digit_value(ExprCtx *ctx, const Digit *digit)
{
	const Expr *e = digit->e;
	if (!dim_is(digit->below, 1))
		e = expr_floordiv(ctx, e, digit->below);
	return digit->count ? expr_floormod(ctx, e, digit->count) : e;
}

/* Make one of two that stand beside each other; false: they do not. */
static bool
join_digits(ExprCtx *ctx, const Digit *high, Digit *low)
{
	if (!low->count || high->e != low->e || high->below != dim_mul(ctx, low->below, low->count))
		return false;
	low->count = high->count ? dim_mul(ctx, low->count, high->count) : NULL;
	return true;
}

/* The same of indices that say parts of one number: put together, of both accesses alike, they
 * differ where it does. */
static bool
is_elsewhere_joined(Pair *p)
{
	ExprCtx *ctx = p->s->ctx;
	int rank = p->a->tensor->rank;
	Digit a[ARRAY_MAX_RANK], b[ARRAY_MAX_RANK];
	for (int d = 0; d < rank; d++) {
		a[d] = digit_of(ctx, p->a->index[d]);
		b[d] = digit_of(ctx, in_other(p, p->b->index[d]));
	}
	for (int low = rank - 1; low >= 0; low--)
		for (int high = 0; high < rank; high++) {
			Digit x = a[low], y = b[low];
			if (x.e->has_read || y.e->has_read || high == low || !join_digits(ctx, &a[high], &x) ||
			    !join_digits(ctx, &b[high], &y))
				continue;
			if (is_proven_apart(p, digit_value(ctx, &x), digit_value(ctx, &y)))
				return true;
			a[low] = x;
			b[low] = y;
			a[high] = b[high] = (Digit){expr_i64(ctx, 0), dim_const(ctx, 1), NULL};
			high = -1;
		}
	return false;
}

/* Each index alone, then the address made of all that name the loop. */
static bool
is_elsewhere(Pair *p, const Var *var)
{
	ExprCtx *ctx = p->s->ctx;
	const Tensor *tensor = p->a->tensor;
	const Expr *a = expr_i64(ctx, 0), *b = a;
	int names = 0;
	for (int d = 0; d < tensor->rank; d++) {
		const Expr *x = p->a->index[d], *y = in_other(p, p->b->index[d]);
		if (x->has_read || y->has_read || x->type != DT_I64 || y->type != DT_I64)
			continue;
		if (is_proven_apart(p, x, y))
			return true;
		if (!expr_uses_var(x, var))
			continue;
		a = expr_add(ctx, expr_mul(ctx, a, tensor->hi[d]), x);
		b = expr_add(ctx, expr_mul(ctx, b, tensor->hi[d]), y);
		names++;
	}
	return names > 1 && (is_proven_apart(p, a, b) || is_elsewhere_joined(p));
}

static bool
is_elsewhere_after(Pair *p, int q, int step)
{
	Arena *arena = arena_new_in(p->s->kernel->arena, "telling iterations apart");
	p->facts = facts_new(p->s->ctx, arena);
	p->other = (Map){.arena = arena};
	enter_facts(p->facts, p->s->kernel->body, p->nest[0]);
	for (int i = 0; i < p->count; i++) {
		facts_var(p->facts, p->nest[i]->var, p->nest[i]->lo, p->nest[i]->hi);
		if (i == q)
			enter_later(p, p->nest[i], step);
		else if (!p->is_told[i])
			enter_other(p, p->nest[i]);
	}
	enter_around(p, p->a->around, false);
	enter_around(p, p->b->around, true);
	bool is_apart = is_elsewhere(p, p->nest[q]->var);
	facts_close(p->facts);
	arena_reset(arena);
	return is_apart;
}

static bool
is_same_place(const Access *a, const Access *b)
{
	for (int d = 0; d < a->tensor->rank; d++)
		if (a->index[d] != b->index[d])
			return false;
	return true;
}

/* The common case, told without a proof: an index is the variable, and nothing else that moves. */
static bool
is_named(const Pair *p, int q)
{
	const Expr *var = expr_var(p->s->ctx, p->nest[q]->var);
	for (int d = 0; d < p->a->tensor->rank; d++)
		if (p->a->index[d] == var)
			return true;
	return false;
}

static bool
tells(Pair *p, int q)
{
	if (is_same_place(p->a, p->b))
		return is_named(p, q) || is_elsewhere_after(p, q, 1);
	return is_elsewhere_after(p, q, 1) && is_elsewhere_after(p, q, -1);
}

/* One that is told helps to tell the next. */
static void
find_told(Pair *p)
{
	for (bool is_new = true; is_new;) {
		is_new = false;
		for (int q = 0; q < p->count; q++)
			if (!p->is_told[q])
				is_new |= p->is_told[q] = tells(p, q);
	}
}

/* Loops of `around`, outermost first, up to where `other` stands in another one. */
static void
add_common(Pair *p, const Stmt **nest, const Around *around, const Around *other)
{
	if (!around)
		return;
	add_common(p, nest, around->outer, other);
	for (; other; other = other->outer)
		if (other->loop == around->loop)
			nest[p->count++] = around->loop;
}

bool
are_apart(const Scheduling *s, const Stmt *loop, const Access *a, const Access *b)
{
	int depth = 1;
	Arena *arena = s->kernel->arena;
	Pair p = {.s = s, .count = 1, .nest = &loop, .a = a, .b = b};
	for (const Around *at = a->around; at; at = at->outer)
		depth++;
	p.is_told = NEW_N(arena, bool, depth);
	if (tells(&p, 0))
		return true;
	const Stmt **nest = NEW_N(arena, const Stmt *, depth); /* loops inside may tell it */
	nest[0] = loop;
	p.nest = nest;
	add_common(&p, nest, a->around, b->around);
	find_told(&p);
	return p.is_told[0];
}

bool
is_injective(const Scheduling *s, int count, const Stmt *const *loops, const Access *access)
{
	bool *is_told = NEW_N(s->kernel->arena, bool, count), is_all = true;
	find_told(&(Pair){s, count, loops, is_told, access, access, NULL, {0}});
	for (int i = 0; i < count; i++)
		is_all &= is_told[i];
	return is_all;
}

/* ---- orders ---------------------------------------------------------------------------------- */

bool
must_keep_order(const Access *a, const Access *b)
{
	bool is_sum = a->is_store && b->is_store && a->op == b->op && a->op != STORE_SET;
	return a->tensor == b->tensor && (a->is_store || b->is_store) && !is_sum;
}

void
refuse_meeting(const Scheduling *s, const Access *a, const Access *b)
{
	if (a->is_store && b->is_store)
		refuse_step(s, "iterations may store to one place of %s", a->tensor->name);
	refuse_step(s, "an iteration may read of %s what another stored", a->tensor->name);
}

static bool
is_told(const Pair *p, const Stmt *loop)
{
	for (int i = 0; i < p->count; i++)
		if (p->nest[i] == loop)
			return p->is_told[i];
	return false;
}

/* Whether loops that are not told come in another order. */
static bool
is_moved(const Pair *p, const Stmt *const *after)
{
	for (int b = 0, a = 0; b < p->count || a < p->count; a++, b++) {
		while (b < p->count && p->is_told[b])
			b++;
		while (a < p->count && is_told(p, after[a]))
			a++;
		if (a < p->count && b < p->count && p->nest[b] != after[a])
			return true;
	}
	return false;
}

void
check_order(const Scheduling *s, int count, const Stmt *const *nest, const Stmt *const *after)
{
	AccessVec all = {0};
	find_accesses(s->kernel, nest[count - 1]->body, &all);
	for (int i = 0; i < all.count; i++)
		for (int k = i; k < all.count; k++) {
			Pair p = {.s = s, .count = count, .nest = nest, .a = &all.data[i], .b = &all.data[k]};
			if (!must_keep_order(p.a, p.b))
				continue;
			p.is_told = NEW_N(s->kernel->arena, bool, count);
			find_told(&p);
			if (is_moved(&p, after))
				refuse_meeting(s, p.a, p.b);
		}
}
