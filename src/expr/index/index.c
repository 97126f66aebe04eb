/* Normal form of integer quotients and remainders.
 *
 *     (8*i + 4*j + k) / 4   =>   2*i + j         when 0 <= k < 4
 *     (i*S + j) / S         =>   i               when 0 <= j < S
 *     (4*i + k) / 8         =>   i / 2           when 0 <= k < 4
 *     i/S/T, i%(S*T)/S      =>   i/(S*T), i/S%T
 *     max(0, i)/S           =>   max(0, i/S)
 *     i/S*S + i%S           =>   i
 *
 * The dividend is cut into a multiple of the divisor and a rest; the multiple comes out in front,
 * and the rest stays, is in range (then it is the remainder), or loses what is too small to matter.
 * Division is by floor throughout, so these hold for negative dividends too.
 */

#include "expr/index/facts.h"

/* ---- dividend = divisor * quotient + rest ---------------------------------------------------- */

/* Split one term by a constant divisor: the constant term by floor, so that its rest is 0..b-1,
 * others towards zero, so that a negative coefficient does not turn positive. */
static bool
split_term_const(const Term *t, int64_t b, Poly *quotient, Poly *rest)
{
	Term q = *t, r = *t;
	q.coef = t->coef / b;
	r.coef = t->coef % b;
	if (t->natom == 0 && r.coef < 0) {
		r.coef += b;
		q.coef--;
	}
	return poly_add_term(quotient, &q) && poly_add_term(rest, &r);
}

static bool
split_dividend(const Poly *a, const Poly *b, Poly *quotient, Poly *rest)
{
	int64_t divisor;
	quotient->count = rest->count = 0;
	if (!poly_is_const(b, &divisor))
		return poly_divide(a, b, quotient, rest);
	for (int i = 0; i < a->count; i++)
		if (!split_term_const(&a->term[i], divisor, quotient, rest))
			return false;
	return true;
}

/* 0 <= p < b */
static bool
is_remainder(Facts *facts, const Poly *p, const Poly *b)
{
	Poly gap;
	poly_copy(&gap, b);
	return prove_nonneg(facts, p) && poly_add_scaled(&gap, p, -1) &&
	       poly_add_term(&gap, &(Term){.coef = -1}) && prove_nonneg(facts, &gap);
}

static bool
is_positive_poly(Facts *facts, const Poly *b)
{
	Poly p;
	poly_copy(&p, b);
	return poly_add_term(&p, &(Term){.coef = -1}) && prove_nonneg(facts, &p);
}

/* ---- rests that lose their small part -------------------------------------------------------- */

/* Terms of p that g divides, divided by it, and the others. */
static bool
split_by_gcd(const Poly *p, const Term *g, Poly *multiple, Poly *others)
{
	multiple->count = others->count = 0;
	for (int i = 0; i < p->count; i++) {
		Term q;
		bool divides = term_div(&q, &p->term[i], g);
		if (!poly_add_term(divides ? multiple : others, divides ? &q : &p->term[i]))
			return false;
	}
	return true;
}

/* Find g > 1 dividing b such that p = g*multiple + others with 0 <= others < g. */
static bool
find_scale(Facts *facts, const Poly *p, const Poly *b, Term *g, Poly *multiple, Poly *others)
{
	if (b->count != 1)
		return false;
	for (int i = 0; i < p->count; i++) {
		Poly scale;
		term_gcd(g, &p->term[i], &b->term[0]);
		if (g->coef == 1 && g->natom == 0)
			continue;
		poly_term(&scale, g);
		if (g->natom > 0 && !is_positive_poly(facts, &scale) && !facts->divisors_nonzero)
			continue;
		if (split_by_gcd(p, g, multiple, others) && is_remainder(facts, others, &scale))
			return true;
	}
	return false;
}

static bool
divide_poly(Poly *out, const Poly *p, const Term *g)
{
	Poly others;
	return split_by_gcd(p, g, out, &others) && others.count == 0;
}

/* ---- nested quotients and remainders --------------------------------------------------------- */

/* rest = floordiv(x, b1) + constant: floordiv(rest, b) = floordiv(x + constant*b1, b1*b). */
static const Expr *
merge_quotients(Facts *facts, const Poly *rest, const Expr *b)
{
	ExprCtx *ctx = facts->ctx;
	const Term *t = &rest->term[0];
	int64_t constant = poly_constant(rest);
	if (rest->count != 1 + (constant != 0) || t->natom != 1 || t->coef != 1 ||
	    t->atom[0]->op != EX_floordiv || !t->atom[0]->is_tame)
		return NULL;
	const Expr *inner = t->atom[0]->arg[1];
	Poly p, q;
	if (!poly_of(b, &p) || !poly_of(inner, &q) || !is_positive_poly(facts, &p) ||
	    !is_positive_poly(facts, &q))
		return NULL;
	const Expr *shift = expr_mul(ctx, expr_i64(ctx, constant), inner);
	const Expr *dividend = index_sum(facts, expr_add(ctx, t->atom[0]->arg[0], shift));
	return index_floordiv(facts, dividend, index_sum(facts, expr_mul(ctx, inner, b)));
}

/* rest = floormod(x, b1) with b | b1: floordiv(rest, b) = floormod(floordiv(x, b), b1/b). */
static const Expr *
divide_remainder(Facts *facts, const Poly *rest, const Expr *b)
{
	Poly divisor, inner;
	Term q;
	if (rest->count != 1 || rest->term[0].natom != 1 || rest->term[0].coef != 1)
		return NULL;
	const Expr *mod = rest->term[0].atom[0];
	if (mod->op != EX_floormod || !mod->is_tame || !poly_of(b, &divisor) ||
	    !poly_of(mod->arg[1], &inner) || divisor.count != 1 || inner.count != 1 ||
	    !term_div(&q, &inner.term[0], &divisor.term[0]) || q.coef <= 0 ||
	    !is_positive_poly(facts, &divisor) || !is_positive_poly(facts, &inner))
		return NULL;
	Poly ratio;
	poly_term(&ratio, &q);
	return index_floormod(facts, index_floordiv(facts, mod->arg[0], b),
	                      poly_build(facts->ctx, &ratio));
}

/* rest = max(x, number) + constant: floordiv(rest, b) = max(floordiv(x + constant, b), …), as
 * division does not change what is larger. Extents of windows are such maxima. */
static const Expr *
divide_minmax(Facts *facts, const Poly *rest, const Expr *b)
{
	ExprCtx *ctx = facts->ctx;
	Poly divisor;
	int64_t constant = poly_constant(rest), number;
	const Term *t = &rest->term[0];
	if (rest->count != 1 + (constant != 0) || t->natom != 1 || t->coef != 1)
		return NULL;
	const Expr *atom = t->atom[0];
	if ((atom->op != EX_max && atom->op != EX_min) || !atom->is_tame ||
	    !(expr_as_i64(atom->arg[0], &number) || expr_as_i64(atom->arg[1], &number)) ||
	    !poly_of(b, &divisor) || !is_positive_poly(facts, &divisor))
		return NULL;
	const Expr *side[2];
	for (int k = 0; k < 2; k++) {
		const Expr *sum = expr_add(ctx, atom->arg[k], expr_i64(ctx, constant));
		side[k] = index_floordiv(facts, index_sum(facts, sum), b);
	}
	return index_minmax(facts, (ExprOp)atom->op, side[0], side[1]);
}

/* Inside a remainder by b, floormod(x, b1) counts as x when b divides its coefficient times b1. */
static bool
drop_inner_mods(Facts *facts, Poly *rest, const Poly *b)
{
	if (b->count != 1)
		return false;
	for (int i = 0; i < rest->count; i++) {
		Term t = rest->term[i], minus = t;
		for (int k = 0; k < t.natom; k++) {
			const Expr *mod = t.atom[k];
			Poly b1, x;
			Term factor = {.coef = 1, .natom = 1, .atom = {mod}}, outer, product, q;
			if (mod->op != EX_floormod || !poly_of(mod->arg[1], &b1) || b1.count != 1 ||
			    !term_div(&outer, &t, &factor) || !term_mul(&product, &outer, &b1.term[0]) ||
			    !term_div(&q, &product, &b->term[0]) || !poly_of(mod->arg[0], &x) ||
			    !is_positive_poly(facts, &b1))
				continue;
			minus.coef = -t.coef;
			Poly joined;
			poly_copy(&joined, rest);
			if (!poly_add_term(&joined, &minus) || !poly_add_times(&joined, &x, &outer))
				continue;
			poly_copy(rest, &joined);
			return true;
		}
	}
	return false;
}

/* ---- quotient and remainder ------------------------------------------------------------------ */

/* k with k*b <= p < k*b + b at every point, p less k*b then; false when there is none or b is no
 * number. The constant of p is already less than b, so k is mostly 0. */
static bool
find_multiple(Facts *facts, const Poly *p, const Poly *divisor, int64_t *k, Poly *less)
{
	int64_t b;
	*k = 0;
	poly_copy(less, p);
	if (poly_is_const(divisor, &b) && b > 0) {
		Range range = poly_interval(facts, p);
		if (range.lo != INT64_MIN)
			*k = range.lo / b - (range.lo % b < 0);
		if (*k != 0 && !poly_add_term(less, &(Term){.coef = -*k * b}))
			return false;
	}
	return is_remainder(facts, less, divisor);
}

/* The part of floordiv(p, b) that is left when no multiple of b can be taken out. */
static const Expr *
quotient_of_rest(Facts *facts, const Poly *p, const Expr *b, const Poly *divisor)
{
	ExprCtx *ctx = facts->ctx;
	Poly multiple, others, smaller;
	Term g;
	int64_t k;
	if (find_multiple(facts, p, divisor, &k, &others))
		return expr_i64(ctx, k);
	if (find_scale(facts, p, divisor, &g, &multiple, &others) && divide_poly(&smaller, divisor, &g))
		return index_floordiv(facts, poly_build(ctx, &multiple), poly_build(ctx, &smaller));
	const Expr *nested = merge_quotients(facts, p, b);
	if (!nested)
		nested = divide_remainder(facts, p, b);
	if (!nested)
		nested = divide_minmax(facts, p, b);
	return nested ? nested : expr_floordiv(ctx, poly_build(ctx, p), b);
}

/* Whether multiples of the divisor may be taken out: x/0 is 0, so only when it is not 0. */
static bool
may_divide(Facts *facts, const Expr *a, const Expr *b, const Poly *divisor)
{
	if (!a->is_tame || !b->is_tame)
		return false;
	return facts->divisors_nonzero || is_positive_poly(facts, divisor);
}

const Expr *
index_floordiv(Facts *facts, const Expr *a, const Expr *b)
{
	ExprCtx *ctx = facts->ctx;
	Poly dividend, divisor, quotient, rest;
	int64_t constant;
	if (!poly_of(a, &dividend) || !poly_of(b, &divisor) || !may_divide(facts, a, b, &divisor))
		return expr_floordiv(ctx, a, b);
	if (poly_is_const(&divisor, &constant) && constant < 0) {
		const Expr *zero = expr_i64(ctx, 0);
		if (constant == INT64_MIN)
			return expr_floordiv(ctx, a, b);
		return index_floordiv(facts, index_sum(facts, expr_sub(ctx, zero, a)),
		                      expr_i64(ctx, -constant));
	}
	if (divisor.count == 0 || !split_dividend(&dividend, &divisor, &quotient, &rest))
		return expr_floordiv(ctx, a, b);
	if (rest.count == 0)
		return poly_build(ctx, &quotient);
	const Expr *left = quotient_of_rest(facts, &rest, b, &divisor);
	return index_sum(facts, expr_add(ctx, poly_build(ctx, &quotient), left));
}

static const Expr *
remainder_of_rest(Facts *facts, const Poly *p, const Expr *b, const Poly *divisor)
{
	ExprCtx *ctx = facts->ctx;
	Poly multiple, others, smaller;
	Term g;
	int64_t k;
	if (find_multiple(facts, p, divisor, &k, &others))
		return poly_build(ctx, &others);
	if (!find_scale(facts, p, divisor, &g, &multiple, &others) ||
	    !divide_poly(&smaller, divisor, &g))
		return expr_floormod(ctx, poly_build(ctx, p), b);
	const Expr *inner =
		index_floormod(facts, poly_build(ctx, &multiple), poly_build(ctx, &smaller));
	Poly scale;
	poly_term(&scale, &g);
	const Expr *scaled = expr_mul(ctx, inner, poly_build(ctx, &scale));
	return index_sum(facts, expr_add(ctx, scaled, poly_build(ctx, &others)));
}

const Expr *
index_floormod(Facts *facts, const Expr *a, const Expr *b)
{
	ExprCtx *ctx = facts->ctx;
	Poly dividend, divisor, quotient, rest;
	if (!poly_of(a, &dividend) || !poly_of(b, &divisor) || !may_divide(facts, a, b, &divisor))
		return expr_floormod(ctx, a, b);
	int64_t constant;
	if (divisor.count == 0 || (poly_is_const(&divisor, &constant) && constant < 0))
		return expr_floormod(ctx, a, b);
	if (!split_dividend(&dividend, &divisor, &quotient, &rest))
		return expr_floormod(ctx, a, b);
	for (int i = 0; i < 8 && drop_inner_mods(facts, &rest, &divisor); i++) {
		Poly again;
		poly_copy(&again, &rest);
		if (!split_dividend(&again, &divisor, &quotient, &rest))
			return expr_floormod(ctx, a, b);
	}
	if (rest.count == 0)
		return expr_i64(ctx, 0);
	return remainder_of_rest(facts, &rest, b, &divisor);
}

/* ---- sums ------------------------------------------------------------------------------------ */

/* What c*b*X + c*floormod(a, b) joins to: c*a for X = floordiv(a, b), and c*floormod(a, b*m) for
 * X = floormod(floordiv(a, b), m); NULL when X is neither. */
static const Expr *
joined_value(Facts *facts, const Expr *x, const Expr *mod)
{
	const Expr *a = mod->arg[0], *b = mod->arg[1];
	Poly p;
	if (!poly_of(b, &p) || !(facts->divisors_nonzero || is_positive_poly(facts, &p)))
		return NULL;
	if (x == index_floordiv(facts, a, b))
		return a;
	if (x->op != EX_floormod || x->arg[0] != index_floordiv(facts, a, b))
		return NULL;
	const Expr *product = index_sum(facts, expr_mul(facts->ctx, b, x->arg[1]));
	Poly m;
	if (!poly_of(x->arg[1], &m) || !is_positive_poly(facts, &m))
		return NULL;
	return index_floormod(facts, a, product);
}

/* Find a term c*rest*b*X beside term `at` = c*rest*mod and join the two. */
static bool
join_pair(Facts *facts, Poly *p, int at, const Expr *mod)
{
	Term t = p->term[at], factor = {.coef = 1, .natom = 1, .atom = {mod}}, outer, wanted;
	Poly b, value;
	if (!mod->is_tame || !poly_of(mod->arg[1], &b) || b.count != 1 ||
	    !term_div(&outer, &t, &factor) || !term_mul(&wanted, &outer, &b.term[0]))
		return false;
	for (int i = 0; i < p->count; i++) {
		Term x, other = p->term[i];
		if (i == at || !term_div(&x, &other, &wanted) || x.coef != 1 || x.natom != 1)
			continue;
		const Expr *joined = joined_value(facts, x.atom[0], mod);
		Poly next;
		poly_copy(&next, p);
		t.coef = -t.coef;
		other.coef = -other.coef;
		if (!joined || !poly_of(joined, &value) || !poly_add_term(&next, &t) ||
		    !poly_add_term(&next, &other) || !poly_add_times(&next, &value, &outer))
			return false;
		poly_copy(p, &next);
		return true;
	}
	return false;
}

static bool
join_remainders(Facts *facts, Poly *p)
{
	for (int i = 0; i < p->count; i++)
		for (int k = 0; k < p->term[i].natom; k++) {
			const Expr *atom = p->term[i].atom[k];
			if (atom->op == EX_floormod && join_pair(facts, p, i, atom))
				return true;
		}
	return false;
}

const Expr *
index_sum(Facts *facts, const Expr *e)
{
	Poly p;
	if (e->is_sum || !poly_of(e, &p))
		return e;
	for (int i = 0; i < 16 && p.count > 1 && join_remainders(facts, &p); i++) {
	}
	return poly_build(facts->ctx, &p);
}

const Expr *
index_minmax(Facts *facts, ExprOp op, const Expr *a, const Expr *b)
{
	ExprCtx *ctx = facts->ctx;
	if (a == b)
		return a;
	if (a->is_tame && b->is_tame) {
		bool is_min = op == EX_min;
		if (facts_prove(facts, expr_le(ctx, a, b)))
			return is_min ? a : b;
		if (facts_prove(facts, expr_le(ctx, b, a)))
			return is_min ? b : a;
	}
	bool in_order = expr_compare(a, b) <= 0;
	return expr_op(ctx, op, (const Expr *[]){in_order ? a : b, in_order ? b : a});
}
