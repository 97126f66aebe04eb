/* Simplification: index arithmetic in normal form, conditions that are certain gone.
 *
 * Operands first, each distinct node once. The arms of a lazy operation are simplified under its
 * condition; that needs a memo of its own, because the same node may simplify further there, so
 * only conditions about indices open such a scope, and no more than a fixed number of them.
 *
 * A form that loses a check of an index is none, whatever is known of the value: 0*at(…) stays.
 */

#include "expr/index/facts.h"

enum { MAX_DEPTH = 600, MAX_LIGHTENED = 256 };

typedef struct Simplifier {
	Facts *facts;
	ExprCtx *ctx;
	Memo *memo;
	int depth;
} Simplifier;

static const Expr *simplify(Simplifier *s, const Expr *e);

bool
is_index_condition(const Expr *e)
{
	switch (e->op) {
	case EX_and:
	case EX_or:
		return is_index_condition(e->arg[0]) || is_index_condition(e->arg[1]);
	case EX_not:
		return is_index_condition(e->arg[0]);
	default:
		return is_index_compare(e);
	}
}

/* Simplify e where the condition holds (or does not). */
static const Expr *
simplify_under(Simplifier *s, const Expr *condition, bool holds, const Expr *e)
{
	if (e->argc == 0 || !is_index_condition(condition) || !budget_take(s->ctx))
		return simplify(s, e);
	Simplifier inner = {s->facts, s->ctx, memo_take(s->ctx), s->depth};
	int mark = facts_mark(s->facts);
	facts_assume(s->facts, holds ? condition : expr_not(s->ctx, condition));
	const Expr *result = simplify(&inner, e);
	facts_release(s->facts, mark);
	memo_give(s->ctx, inner.memo);
	return result;
}

/* ---- conditions ------------------------------------------------------------------------------ */

static const Expr *
certain(Simplifier *s, const Expr *e)
{
	if (e->op == EX_const || e->has_check)
		return e;
	bool is_junction = e->op == EX_and || e->op == EX_or; /* its operands have been asked */
	Certainty certainty = is_junction ? facts_say(s->facts, e) : facts_decide(s->facts, e);
	return certainty == UNDECIDED ? index_compare(s->facts, e)
	                              : expr_bool(s->ctx, certainty == CERTAIN);
}

/* a && b: b under a; then a goes when b alone implies it (and evaluating b needs no a). */
static const Expr *
simplify_junction(Simplifier *s, const Expr *e)
{
	bool is_and = e->op == EX_and;
	const Expr *a = simplify(s, e->arg[0]);
	const Expr *b = simplify_under(s, a, is_and, e->arg[1]);
	if (a->op == EX_const || b->op == EX_const || a == b)
		return a == b ? a : expr_op(s->ctx, e->op, (const Expr *[]){a, b});
	if (is_index_condition(b) && !b->has_read && !a->has_check) {
		int mark = facts_mark(s->facts);
		facts_assume(s->facts, is_and ? b : expr_not(s->ctx, b));
		bool is_implied = is_and ? facts_prove(s->facts, a) : facts_disprove(s->facts, a);
		facts_release(s->facts, mark);
		if (is_implied)
			return b;
	}
	return expr_op(s->ctx, e->op, (const Expr *[]){a, b});
}

static const Expr *
simplify_select(Simplifier *s, const Expr *e)
{
	const Expr *condition = certain(s, simplify(s, e->arg[0]));
	if (condition->op == EX_const)
		return simplify(s, e->arg[condition->value.u64 ? 1 : 2]);
	const Expr *a = simplify_under(s, condition, true, e->arg[1]);
	const Expr *b = simplify_under(s, condition, false, e->arg[2]);
	return a == b && !condition->has_check ? a : expr_select(s->ctx, condition, a, b);
}

static const Expr *
simplify_not(Simplifier *s, const Expr *a)
{
	return a->op == EX_not ? a->arg[0] : certain(s, expr_opposite(s->ctx, a));
}

/* ---- numbers --------------------------------------------------------------------------------- */

static const Expr *
simplify_index(Simplifier *s, const Expr *e, const Expr *const *args)
{
	const Expr *rebuilt = expr_with_args(s->ctx, e, args);
	if (rebuilt->op == EX_const)
		return rebuilt;
	switch (e->op) {
	case EX_add:
	case EX_sub:
	case EX_mul:
	case EX_neg:
		return index_sum(s->facts, rebuilt);
	case EX_floordiv:
		return index_floordiv(s->facts, args[0], args[1]);
	case EX_floormod:
		return index_floormod(s->facts, args[0], args[1]);
	case EX_min:
	case EX_max:
		return index_minmax(s->facts, e->op, args[0], args[1]);
	default:
		return rebuilt;
	}
}

/* An indirect index whose operand is certainly in range is that operand. */
static const Expr *
simplify_at(Simplifier *s, const Expr *e)
{
	ExprCtx *ctx = s->ctx;
	const Expr *index = simplify(s, e->arg[0]), *extent = simplify(s, e->arg[1]);
	const Expr *wide = expr_cast(ctx, DT_I64, index);
	if (wide->is_tame && facts_prove(s->facts, expr_le(ctx, expr_i64(ctx, 0), wide)) &&
	    facts_prove(s->facts, expr_lt(ctx, wide, extent)))
		return wide;
	return expr_at(ctx, index, extent, e->flags);
}

static const Expr *
simplify_plain(Simplifier *s, const Expr *e)
{
	const Expr *local[8];
	const Expr **args = e->argc <= 8 ? local : NEW_N(s->ctx->arena, const Expr *, e->argc);
	for (int i = 0; i < e->argc; i++)
		args[i] = simplify(s, e->arg[i]);
	if (e->op == EX_not)
		return simplify_not(s, args[0]);
	const Expr *rebuilt = expr_with_args(s->ctx, e, args);
	if (e->type == DT_I64 && e->op != EX_read) {
		const Expr *index = simplify_index(s, e, args);
		return expr_keeps_checks(rebuilt, index) ? index : rebuilt;
	}
	return e->type == DT_BOOL && e->op != EX_read ? certain(s, rebuilt) : rebuilt;
}

static const Expr *
simplify(Simplifier *s, const Expr *e)
{
	if (e->argc == 0 || e->is_sum || s->depth >= MAX_DEPTH)
		return e;
	const Expr *known = memo_find_expr(s->memo, e);
	if (known)
		return known;
	const Expr *result;
	s->depth++;
	if (e->op == EX_and || e->op == EX_or)
		result = simplify_junction(s, e);
	else if (e->op == EX_select)
		result = simplify_select(s, e);
	else if (e->op == EX_at)
		result = simplify_at(s, e);
	else
		result = simplify_plain(s, e);
	s->depth--;
	memo_set_expr(s->memo, e, result);
	return result;
}

const Expr *
expr_simplify(Facts *facts, const Expr *e)
{
	Simplifier s = {facts, facts->ctx, memo_take(facts->ctx), 0};
	int outside = budget_begin(s.ctx, BUDGET_simplify);
	const Expr *result = simplify(&s, e);
	budget_end(s.ctx, outside);
	if (result->type == DT_BOOL && !expr_is_compare(result)) /* of these it has been asked */
		result = certain(&s, result);
	memo_give(facts->ctx, s.memo);
	return result;
}

const Expr *
expr_simplify_alone(ExprCtx *ctx, const Expr *e)
{
	Facts *facts = facts_new(ctx, ctx->arena);
	const Expr *result = expr_simplify(facts, e);
	facts_close(facts);
	return result;
}

/* ---- forms that cost no more ----------------------------------------------------------------- */

/* The normal form, or the operation on such operands where that costs less; of what is large, as a
 * whole. */
static const Expr *
lighten(Facts *facts, Memo *memo, const Expr *e)
{
	int cost = expr_cost(e);
	const Expr *known = memo_find_expr(memo, e), *least = known ? known : expr_simplify(facts, e);
	if (known || e->argc == 0 || expr_cost(least) <= cost)
		return least;
	const Expr *kept = e;
	if (cost <= MAX_LIGHTENED && !e->is_sum) {
		const Expr *local[8];
		const Expr **args = e->argc <= 8 ? local : NEW_N(facts->ctx->arena, const Expr *, e->argc);
		for (int i = 0; i < e->argc; i++)
			args[i] = lighten(facts, memo, e->arg[i]);
		kept = expr_with_args(facts->ctx, e, args);
		kept = expr_cost(kept) < cost ? kept : e;
	}
	memo_set_expr(memo, e, kept);
	return kept;
}

const Expr *
expr_lighten(Facts *facts, const Expr *e)
{
	Memo *memo = memo_take(facts->ctx);
	const Expr *result = lighten(facts, memo, e);
	memo_give(facts->ctx, memo);
	return result;
}

/* ---- affine forms ---------------------------------------------------------------------------- */

/* Take the one iterator below `count` out of the term; -1: none, -2: more than a linear use. */
static int
take_iter(Term *t, uint64_t mask)
{
	int found = -1;
	Term rest = {.coef = t->coef};
	for (int i = 0; i < t->natom; i++) {
		if (!(t->atom[i]->iters & mask)) {
			rest.atom[rest.natom++] = t->atom[i];
		} else if (found >= 0 || t->atom[i]->op != EX_iter) {
			return -2;
		} else {
			found = t->atom[i]->iter;
		}
	}
	*t = rest;
	return found;
}

static bool
is_dim_term(const Term *t)
{
	for (int i = 0; i < t->natom; i++)
		if (t->atom[i]->iters || t->atom[i]->has_read || t->atom[i]->op == EX_var)
			return false;
	return true;
}

bool
expr_affine(ExprCtx *ctx, const Expr *e, int count, const Dim **coefficient, const Expr **rest)
{
	Poly p, left, part;
	poly_const(&left, 0);
	must(count < 63);
	uint64_t mask = (UINT64_C(1) << count) - 1;
	for (int i = 0; i < count; i++)
		coefficient[i] = dim_const(ctx, 0);
	if (!poly_of(e, &p))
		return false;
	for (int i = 0; i < p.count; i++) {
		Term t = p.term[i];
		int iter = take_iter(&t, mask);
		if (iter == -2 || (iter >= 0 && !is_dim_term(&t)))
			return false;
		part.count = 0;
		if (!poly_add_term(iter < 0 ? &left : &part, &t))
			return false;
		if (iter >= 0)
			coefficient[iter] = dim_add(ctx, coefficient[iter], poly_build(ctx, &part));
	}
	*rest = poly_build(ctx, &left);
	return true;
}

const Expr *
read_range(Facts *facts, const Tensor *tensor, const Expr *const *index)
{
	const Expr *range = NULL;
	for (int i = 0; i < tensor->rank; i++) {
		ExprCtx *ctx = index[i]->ctx;
		const Expr *position = expr_cast(ctx, DT_I64, index[i]);
		const Expr *lo = tensor->lo ? tensor->lo[i] : expr_i64(ctx, 0);
		const Expr *from = expr_le(ctx, lo, position);
		const Expr *to = expr_lt(ctx, position, tensor->hi[i]);
		if (!facts_prove(facts, from))
			range = expr_both(ctx, range, from);
		if (!facts_prove(facts, to))
			range = expr_both(ctx, range, to);
	}
	return range;
}
