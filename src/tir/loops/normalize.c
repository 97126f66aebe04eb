/* Normalize: operands in the order in which they change, so that what a loop leaves alone stands
 * together and can leave it.
 *
 *     for n in N                                      for n in N
 *       for i in 16 @vector(i32x16)                     for i in 16 @vector(i32x16)
 *         if (0 <= i+n-3)                       =>        if (-n+3 <= i)
 *           Y[i+n*16] = X[2*i+n*32-6]                       Y[n*16+i] = X[n*32-6+i*2]
 *
 * Sums are polynomials: products are distributed, like terms joined, and terms of one rank (see
 * ranks.c) put together. In an index, what changes seldom stands first; a constant stands last, as
 * machines add it for nothing; behind it only what counts the lanes: base + i*step is one element
 * for each lane at that step, and codegen looks for no other form of it. In a comparison the lanes
 * stand alone on a side: it is made in lanes as narrow as those of the loop, once.
 *
 * Operands of && || min max and the like are ordered by rank, too, and those of one rank joined
 * first. What may not run where it did not (reads, divisions by what varies, checks) keeps its
 * place among those of && and ||.
 * Selects with an arm in common become one, and so do ifs with one condition.
 * Sums of floats are left alone: their order is their result.
 *
 * needs    flat kernels
 * keeps    values
 * breaks   the order that simplifying gives sums: no pass that simplifies comes behind it
 * setting  Normalize.orders=sums or =nothing: the rest stays as it is found, to compare with
 */
#include <stdlib.h>
#include <string.h>

#include "expr/index/poly.h"
#include "tir/loops/loops.h"
#include "tir/loops/motion.h"
#include "tir/rewrite.h"

typedef struct Normalizer {
	Kernel *kernel;
	ExprCtx *ctx;
	Arena *arena;
	Ranks ranks;
	Traits traits;
	bool only_sums;
	bool changed;
	Stmt *loose; /* an if whose conjuncts are not in order yet, see join_nested(); or NULL */
} Normalizer;

/* ---- sums ------------------------------------------------------------------------------------ */

static int
term_rank(Normalizer *n, const Term *term)
{
	int rank = 0;
	for (int i = 0; i < term->natom; i++) {
		int its = ranks_of(&n->ranks, term->atom[i]);
		rank = its > rank ? its : rank;
	}
	return rank;
}

/* The atom that changes most often; NULL where symbols are all. */
static const Expr *
last_atom(Normalizer *n, const Poly *sum)
{
	const Expr *last = NULL;
	int most = 0;
	for (int t = 0; t < sum->count; t++)
		for (int i = 0; i < sum->term[t].natom; i++) {
			const Expr *atom = sum->term[t].atom[i];
			int rank = ranks_of(&n->ranks, atom);
			if (rank > most || (rank == most && rank > 0 && atom->op == EX_var))
				last = atom;
			most = rank > most ? rank : most;
		}
	return last;
}

/* The product with the opposite number as its factor; NULL where that is not a negative one. */
static const Expr *
negated(ExprCtx *ctx, const Expr *e)
{
	int64_t value;
	if (e->op != EX_mul || !expr_as_i64(e->arg[1], &value) || value >= 0 || value == INT64_MIN)
		return NULL;
	return value == -1 ? e->arg[0] : expr_mul(ctx, e->arg[0], expr_i64(ctx, -value));
}

static const Expr *
plus_constant(ExprCtx *ctx, const Expr *a, int64_t value)
{
	const Expr *less = value > 0 ? negated(ctx, a) : NULL;
	if (value == 0 || expr_is_zero(a))
		return value == 0 ? a : expr_i64(ctx, value);
	if (less)
		return expr_sub(ctx, expr_i64(ctx, value), less);
	return value < 0 && value > INT64_MIN ? expr_sub(ctx, a, expr_i64(ctx, -value))
	                                      : expr_add(ctx, a, expr_i64(ctx, value));
}

/* A sum; a difference where b is a negative product. Lanes are added, at their step. */
static const Expr *
plus(ExprCtx *ctx, const Expr *a, const Expr *b, bool is_lane)
{
	if (expr_is_zero(a) || expr_is_zero(b))
		return expr_is_zero(a) ? b : a;
	const Expr *less = is_lane ? NULL : negated(ctx, b);
	return less ? expr_sub(ctx, a, less) : expr_add(ctx, a, b);
}

static const Expr *
times(ExprCtx *ctx, const Expr *atom, const Poly *factor)
{
	const Expr *by = poly_build(ctx, factor);
	return expr_is_one(by) ? atom : expr_mul(ctx, atom, by);
}

/* The terms of one rank: an atom with all its factors is one of them. */
static const Expr *
build_group(Normalizer *n, Poly *group)
{
	Poly factor, rest;
	const Expr *last = last_atom(n, group);
	if (!last || !poly_split_atom(group, last, &factor, &rest))
		return poly_build(n->ctx, group);
	bool is_lane = ranks_of(&n->ranks, last) == RANK_LANES;
	return plus(n->ctx, build_group(n, &rest), times(n->ctx, last, &factor), is_lane);
}

/* The terms in order; the constant stands before those that count lanes. */
static const Expr *
build_sum(Normalizer *n, const Poly *sum, int64_t constant)
{
	Poly group, rest;
	int most = 0;
	for (int t = 0; t < sum->count; t++) {
		int rank = term_rank(n, &sum->term[t]);
		most = rank > most ? rank : most;
	}
	if (constant && most < RANK_LANES)
		return plus_constant(n->ctx, build_sum(n, sum, 0), constant);
	poly_const(&group, 0);
	poly_const(&rest, 0);
	for (int t = 0; t < sum->count; t++) {
		bool is_last = term_rank(n, &sum->term[t]) == most;
		must(poly_add_term(is_last ? &group : &rest, &sum->term[t]));
	}
	const Expr *before = most > 0 ? build_sum(n, &rest, constant) : expr_i64(n->ctx, constant);
	return plus(n->ctx, before, build_group(n, &group), most == RANK_LANES);
}

static const Expr *
order_poly(Normalizer *n, Poly *sum)
{
	int64_t constant = poly_constant(sum);
	sum->count -= constant != 0; /* it is the last term */
	return build_sum(n, sum, constant);
}

/* A product of two sums of several terms, none of which meets a like one, takes more operations as
 * a sum than as it is, what changes more seldom first. NULL for others, and for lanes, which stand
 * in one term. */
static const Expr *
order_product(Normalizer *n, const Expr *e, const Poly *sum)
{
	Poly a, b;
	if (e->op != EX_mul || ranks_of(&n->ranks, e) == RANK_LANES)
		return NULL;
	poly_of_any(e->arg[0], &a);
	poly_of_any(e->arg[1], &b);
	if (a.count < 2 || b.count < 2 || sum->count < a.count * b.count)
		return NULL;
	const Expr *args[] = {order_poly(n, &a), order_poly(n, &b)};
	bool is_turned = ranks_of(&n->ranks, args[0]) > ranks_of(&n->ranks, args[1]);
	return expr_mul(n->ctx, args[is_turned], args[!is_turned]);
}

static const Expr *
order_sum(Normalizer *n, const Expr *e)
{
	Poly sum;
	poly_of_any(e, &sum);
	const Expr *ordered = order_product(n, e, &sum);
	ordered = ordered ? ordered : order_poly(n, &sum);
	return expr_keeps_checks(e, ordered) ? ordered : e; /* equal ones have met, and gone */
}

/* i + n < 3 for lanes i: i < 3 - n. */
static const Expr *
order_test(Normalizer *n, const Expr *e)
{
	Poly gap, factor, rest, other;
	int64_t step;
	if (!poly_gap(e->arg[1], e->arg[0], 0, &gap))
		return e;
	const Expr *lane = last_atom(n, &gap);
	if (!lane || lane->op != EX_var || ranks_of(&n->ranks, lane) != RANK_LANES ||
	    !poly_split_atom(&gap, lane, &factor, &rest) || !poly_is_const(&factor, &step))
		return e;
	bool is_left = step > 0;
	poly_const(&factor, is_left ? step : -step);
	poly_const(&other, 0);
	must(poly_add_scaled(&other, &rest, is_left ? -1 : 1));
	const Expr *sides[] = {times(n->ctx, lane, &factor), order_poly(n, &other)};
	const Expr *test = expr_op(n->ctx, e->op, (const Expr *[]){sides[!is_left], sides[is_left]});
	return expr_keeps_checks(e, test) ? test : e;
}

/* ---- other chains ---------------------------------------------------------------------------- */

typedef VEC(const Expr *) Operands;

/* The operator of which e is a chain; EX_add for sums of any kind, EX_COUNT for none. */
static ExprOp
chain_op(const Normalizer *n, const Expr *e)
{
	if (n->only_sums && e->type != DT_I64)
		return EX_COUNT;
	if (!dtype_is_integer(e->type) && e->type != DT_BOOL)
		return EX_COUNT;
	switch (e->op) {
	case EX_sub:
	case EX_neg:
		return e->type == DT_I64 ? EX_add : EX_COUNT;
	case EX_mul:
		return e->type == DT_I64 ? EX_add : EX_mul;
	case EX_add:
		return EX_add;
	case EX_min:
	case EX_max:
	case EX_and:
	case EX_or:
	case EX_bitand:
	case EX_bitor:
	case EX_bitxor:
		return n->only_sums ? EX_COUNT : (ExprOp)e->op;
	default:
		return EX_COUNT;
	}
}

/* The operands from left to right; a part that stands there again is one. */
static void
flatten_chain(Normalizer *n, ExprOp op, const Expr *e, Operands *out)
{
	Operands ahead = {0};
	Map met = {.arena = n->arena};
	vec_push(n->arena, &ahead, e);
	while (ahead.count > 0) {
		e = ahead.data[--ahead.count];
		if (e->op == op && !map_find_ptr(&met, e)) {
			map_set_ptr(&met, e, n);
			vec_push(n->arena, &ahead, e->arg[1]);
			vec_push(n->arena, &ahead, e->arg[0]);
		} else {
			vec_push(n->arena, out, e);
		}
	}
}

typedef struct Ranked {
	const Expr *e;
	int barriers, rank, at; /* before it: unsafe operands; its place */
} Ranked;

static int
compare_ranked(const void *left, const void *right)
{
	const Ranked *a = left, *b = right;
	if (a->barriers != b->barriers)
		return a->barriers < b->barriers ? -1 : 1;
	if (a->rank != b->rank)
		return a->rank < b->rank ? -1 : 1;
	return a->at < b->at ? -1 : a->at > b->at;
}

/* Stable, by rank; in && and || nothing passes what must stay. */
static void
sort_operands(Normalizer *n, bool is_lazy, Operands *list)
{
	Ranked *sorted = NEW_N(n->arena, Ranked, list->count);
	int barriers = 0;
	for (int i = 0; i < list->count; i++) {
		const Expr *e = list->data[i];
		bool is_barrier = is_lazy && (trait_of(&n->traits, e)->is_unsafe || e->has_check);
		barriers += is_barrier;
		sorted[i] = (Ranked){e, barriers, is_barrier ? 0 : ranks_of(&n->ranks, e), i};
		barriers += is_barrier;
	}
	qsort(sorted, (size_t)list->count, sizeof *sorted, compare_ranked);
	for (int i = 0; i < list->count; i++)
		list->data[i] = sorted[i].e;
}

/* Those of one rank first among each other: (g0 op g1) op g2. */
static const Expr *
join_operands(Normalizer *n, ExprOp op, const Operands *list)
{
	const Expr *whole = NULL;
	for (int i = 0; i < list->count;) {
		const Expr *group = list->data[i];
		int rank = ranks_of(&n->ranks, group);
		for (i++; i < list->count && ranks_of(&n->ranks, list->data[i]) == rank; i++)
			group = expr_op(n->ctx, op, (const Expr *[]){group, list->data[i]});
		whole = whole ? expr_op(n->ctx, op, (const Expr *[]){whole, group}) : group;
	}
	return whole;
}

static const Expr *
order_chain(Normalizer *n, const Expr *e)
{
	ExprOp op = chain_op(n, e);
	if (op == EX_COUNT)
		return e;
	if (op == EX_add && e->type == DT_I64)
		return order_sum(n, e);
	Operands list = {0};
	flatten_chain(n, op, e, &list);
	sort_operands(n, op == EX_and || op == EX_or, &list);
	return join_operands(n, op, &list);
}

/* ---- selects --------------------------------------------------------------------------------- */

/* Selects with an arm in common are one select of both conditions, the inner one to the right. */
static const Expr *
collapse_select(Normalizer *n, const Expr *e)
{
	ExprCtx *ctx = n->ctx;
	while (e->op == EX_select) {
		const Expr *c = e->arg[0], *yes = e->arg[1], *no = e->arg[2], *both, *other;
		if (yes == no && !c->has_check)
			return yes;
		if (yes->op == EX_select && (yes->arg[2] == no || yes->arg[1] == no)) {
			bool is_other = yes->arg[2] == no;
			both = expr_and(ctx, c, is_other ? yes->arg[0] : expr_opposite(ctx, yes->arg[0]));
			other = no;
			yes = yes->arg[is_other ? 1 : 2];
		} else if (no->op == EX_select && (no->arg[1] == yes || no->arg[2] == yes)) {
			bool is_other = no->arg[1] == yes;
			both = expr_or(ctx, c, is_other ? no->arg[0] : expr_opposite(ctx, no->arg[0]));
			other = no->arg[is_other ? 2 : 1];
		} else {
			return e;
		}
		e = expr_select(ctx, order_chain(n, both), yes, other);
	}
	return e;
}

/* ---- scalars --------------------------------------------------------------------------------- */

/* A chain is ordered where it is used as a whole. */
static const Expr *
normalize_node(ExprCtx *ctx, const Expr *e, void *arg)
{
	Normalizer *n = arg;
	ExprOp op = chain_op(n, e);
	if (expr_is_compare(e) && e->arg[0]->type == DT_I64) {
		const Expr *test = order_test(n, e);
		if (test != e)
			return test;
	}
	const Expr *local[8];
	const Expr **args = e->argc <= 8 ? local : NEW_N(n->arena, const Expr *, e->argc);
	bool changed = false;
	for (int i = 0; i < e->argc; i++) {
		args[i] = chain_op(n, e->arg[i]) == op ? e->arg[i] : order_chain(n, e->arg[i]);
		changed |= args[i] != e->arg[i];
	}
	e = changed ? expr_with_args(ctx, e, args) : e;
	return e->op == EX_select && !n->only_sums ? collapse_select(n, e) : e;
}

static const Expr *
normalize(Normalizer *n, const Expr *e)
{
	if (!e || e->argc == 0)
		return e;
	const Expr *result = order_chain(n, expr_rewrite(n->ctx, e, normalize_node, n));
	n->changed |= result != e;
	return result;
}

/* ---- statements ------------------------------------------------------------------------------ */

static void
settle(Normalizer *n)
{
	if (n->loose)
		n->loose->condition = order_chain(n, n->loose->condition);
	n->loose = NULL;
}

/* if (a) if (b) S  =>  if (a && b) S, where both change alike, and no lanes take part: masks may be
 * known when the code is made
 *
 * From inside: the conjuncts of a whole nest are put in order once, when nothing more is added. */
static void
join_nested(Normalizer *n, Stmt *stmt)
{
	const Stmt *inner = stmt->body;
	int rank = ranks_of(&n->ranks, stmt->condition);
	if (!inner || rank == RANK_LANES || inner->kind != STMT_IF || inner->next || inner->other ||
	    stmt->other || ranks_of(&n->ranks, inner->condition) != rank) {
		settle(n);
		return;
	}
	stmt->condition = expr_and(n->ctx, stmt->condition, inner->condition);
	stmt->body = inner->body;
	n->loose = stmt;
	n->changed = true;
}

static const Expr *const *
normalize_each(Normalizer *n, int count, const Expr *const *list)
{
	const Expr **made = NEW_N(n->kernel->arena, const Expr *, count + 1);
	for (int i = 0; i < count; i++)
		made[i] = normalize(n, list[i]);
	return made;
}

static void normalize_list(Normalizer *n, Stmt *list);

static void
normalize_loop(Normalizer *n, Stmt *loop)
{
	if (loop->bind != BIND_PARALLEL) { /* the extent of the others is a dim */
		loop->lo = normalize(n, loop->lo);
		loop->hi = normalize(n, loop->hi);
	}
	ranks_enter(&n->ranks, loop);
	normalize_list(n, loop->body);
	settle(n);
	ranks_leave(&n->ranks);
}

static void
normalize_stmt(Normalizer *n, Stmt *stmt)
{
	if (stmt->kind == STMT_FOR) {
		normalize_loop(n, stmt);
		return;
	}
	stmt->condition = normalize(n, stmt->condition);
	stmt->value = normalize(n, stmt->value);
	if (stmt->kind == STMT_LET)
		ranks_let(&n->ranks, stmt->var, ranks_of(&n->ranks, stmt->value));
	if (stmt->index)
		stmt->index = normalize_each(n, stmt->buffer->tensor.rank, stmt->index);
	if (stmt->args)
		stmt->args = normalize_each(n, stmt->warp_op->nargs, stmt->args);
	if (stmt->kind != STMT_IF)
		return;
	normalize_list(n, stmt->body);
	if (stmt->other) {
		settle(n);
		normalize_list(n, stmt->other);
	}
	if (!n->only_sums)
		join_nested(n, stmt);
}

static void
normalize_list(Normalizer *n, Stmt *list)
{
	for (Stmt *stmt = list; stmt; stmt = stmt->next) {
		normalize_stmt(n, stmt);
		if (stmt != list || stmt->next)
			settle(n);
	}
	if (!n->only_sums)
		n->changed |= join_ifs(n->arena, list);
}

bool
pass_Normalize(Kernel *kernel, PassContext *context)
{
	const char *orders = context ? pass_config_text(context, "Normalize.orders", "all") : "all";
	Arena *arena = arena_new_in(kernel->arena, "Normalize");
	Normalizer n = {.kernel = kernel,
	                .ctx = kernel->ctx,
	                .arena = arena,
	                .ranks = ranks_new(arena, kernel),
	                .traits = {.arena = arena, .known.arena = arena},
	                .only_sums = strcmp(orders, "sums") == 0};
	if (strcmp(orders, "nothing") != 0)
		normalize_list(&n, kernel->body);
	settle(&n);
	kernel->is_normal = true;
	arena_reset(arena);
	return n.changed;
}
