/* Proving that an index expression is never negative, and conditions made of such claims.
 *
 * The claim p >= 0 is weakened step by step: an atom whose coefficient has a known sign is replaced
 * by its bound on the bad side (an iterator by its first or last value, floordiv(a, b) by what
 * follows from b*floordiv(a,b) <= a < b*floordiv(a,b) + b), until the interval of what is left
 * decides. Compound atoms go first, because their operands are the iterators still to come. A
 * proof that does not succeed quickly is given up: most guards that stay are not provable at all.
 */
#include "expr/index/facts.h"

enum { PROOF_DEPTH = 14 };

static bool nonneg(Facts *facts, const Poly *p, int depth);

/* p + scale * q with q an expression. */
static bool
add_expr(Poly *p, const Expr *q, int64_t scale)
{
	Poly other;
	return poly_of(q, &other) && poly_add_scaled(p, &other, scale);
}

static bool
is_positive(Facts *facts, const Expr *e)
{
	if (facts_interval(facts, e).lo >= 1)
		return true;
	Poly p;
	return e->op != EX_const && poly_of(e, &p) && poly_add_term(&p, &(Term){.coef = -1}) &&
	       nonneg(facts, &p, 4);
}

/* coef * value + scale * rest + scale - 1 >= 0: the claim with scale * atom replaced by value. */
static bool
with_value(Facts *facts, const Poly *coef, const Poly *rest, const Expr *value, int64_t scale,
           int depth)
{
	Poly v, sum;
	if (!poly_of(value, &v) || !poly_mul(&sum, coef, &v) || !poly_add_scaled(&sum, rest, scale) ||
	    !poly_add_term(&sum, &(Term){.coef = scale - 1}))
		return false;
	return nonneg(facts, &sum, depth - 1);
}

/* floordiv(a, b) with coefficient 1 or -1: the claim says b*rest + a >= 0 or b*(rest+1) > a. */
static bool
divide_exactly(Facts *facts, const Expr *atom, int64_t sign, const Poly *rest, int depth)
{
	Poly b, r, sum;
	poly_copy(&r, rest);
	if (sign < 0 && !poly_add_term(&r, &(Term){.coef = 1}))
		return false;
	if (!poly_of(atom->arg[1], &b) || !poly_mul(&sum, &b, &r) ||
	    !add_expr(&sum, atom->arg[0], sign))
		return false;
	if (sign < 0 && !poly_add_term(&sum, &(Term){.coef = -1}))
		return false;
	return nonneg(facts, &sum, depth - 1);
}

static bool
eliminate_floordiv(Facts *facts, const Expr *atom, const Poly *coef, const Poly *rest, bool upper,
                   int depth)
{
	int64_t k, divisor;
	ExprCtx *ctx = facts->ctx;
	if (!is_positive(facts, atom->arg[1]))
		return false;
	if (poly_is_const(coef, &k) && (k == 1 || k == -1))
		return divide_exactly(facts, atom, k, rest, depth);
	const Expr *low = expr_add(ctx, expr_sub(ctx, atom->arg[0], atom->arg[1]), expr_i64(ctx, 1));
	const Expr *value = upper ? atom->arg[0] : low;
	if (expr_as_i64(atom->arg[1], &divisor))
		return with_value(facts, coef, rest, value, divisor, depth);
	Poly b, quotient, left;
	if (!poly_of(atom->arg[1], &b) || !poly_divide(coef, &b, &quotient, &left) || left.count > 0)
		return false;
	return with_value(facts, &quotient, rest, value, 1, depth);
}

static bool
eliminate_floormod(Facts *facts, const Expr *atom, const Poly *coef, const Poly *rest, bool upper,
                   int depth)
{
	ExprCtx *ctx = facts->ctx;
	if (!is_positive(facts, atom->arg[1]))
		return false;
	if (!upper)
		return with_value(facts, coef, rest, expr_i64(ctx, 0), 1, depth);
	const Expr *last = expr_sub(ctx, atom->arg[1], expr_i64(ctx, 1));
	if (with_value(facts, coef, rest, last, 1, depth))
		return true;
	return facts_interval(facts, atom->arg[0]).lo >= 0 &&
	       with_value(facts, coef, rest, atom->arg[0], 1, depth);
}

/* Iterators, variables and symbols by their bounds; the interval stands for all other atoms. */
static bool
eliminate_leaf(Facts *facts, const Expr *atom, const Poly *coef, const Poly *rest, bool upper,
               int depth)
{
	int count = facts->list.count;
	for (int i = count - 1; i >= 0; i--) {
		Fact fact = facts->list.data[i];
		if (fact.kind != FACT_BOUND || fact.atom != atom)
			continue;
		const Expr *end = upper ? fact.last : fact.lo;
		if (end && with_value(facts, coef, rest, end, 1, depth))
			return true;
	}
	if (atom->op == EX_var && atom->var->lo && atom->var->hi) {
		const Expr *one = expr_i64(facts->ctx, 1);
		const Expr *end = upper ? expr_sub(facts->ctx, atom->var->hi, one) : atom->var->lo;
		if (with_value(facts, coef, rest, end, 1, depth))
			return true;
	}
	Range range = facts_interval(facts, atom);
	int64_t end = upper ? range.hi : range.lo;
	if (end == INT64_MIN || end == INT64_MAX)
		return false;
	return with_value(facts, coef, rest, expr_i64(facts->ctx, end), 1, depth);
}

/* min, max and select: one of the two operands is the value. */
static bool
eliminate_choice(Facts *facts, const Expr *atom, const Poly *coef, const Poly *rest, bool upper,
                 int depth)
{
	const Expr *a = atom->arg[atom->op == EX_select], *b = atom->arg[1 + (atom->op == EX_select)];
	bool either_will_do = atom->op == (upper ? EX_min : EX_max);
	bool first = with_value(facts, coef, rest, a, 1, depth);
	if (first == either_will_do)
		return first;
	return with_value(facts, coef, rest, b, 1, depth);
}

/* The sign of a coefficient: 1, -1 or 0 when not known. */
static int
sign_of(Facts *facts, const Poly *coef, int depth)
{
	Range range = poly_interval(facts, coef);
	if (range.lo >= 0)
		return 1;
	if (range.hi <= 0)
		return -1;
	int64_t unused;
	if (poly_is_const(coef, &unused) || depth <= 1)
		return 0;
	Poly negative;
	poly_const(&negative, 0);
	if (nonneg(facts, coef, depth / 2))
		return 1;
	return poly_add_scaled(&negative, coef, -1) && nonneg(facts, &negative, depth / 2) ? -1 : 0;
}

/* Weaken the claim by removing one atom. *eligible says that its coefficient had a sign. */
static bool
eliminate(Facts *facts, const Poly *p, const Expr *atom, int depth, bool *eligible)
{
	Poly coef, rest;
	*eligible = false;
	if (!poly_split_atom(p, atom, &coef, &rest))
		return false;
	int sign = sign_of(facts, &coef, depth);
	if (sign == 0)
		return false;
	*eligible = true;
	bool upper = sign < 0;
	if (atom->op == EX_floordiv)
		return eliminate_floordiv(facts, atom, &coef, &rest, upper, depth);
	if (atom->op == EX_floormod)
		return eliminate_floormod(facts, atom, &coef, &rest, upper, depth);
	if (atom->op == EX_min || atom->op == EX_max || atom->op == EX_select)
		return eliminate_choice(facts, atom, &coef, &rest, upper, depth);
	if (atom->op == EX_at) {
		const Expr *last = expr_sub(facts->ctx, atom->arg[1], expr_i64(facts->ctx, 1));
		const Expr *end = upper ? last : expr_i64(facts->ctx, 0);
		return with_value(facts, &coef, &rest, end, 1, depth);
	}
	return eliminate_leaf(facts, atom, &coef, &rest, upper, depth);
}

/* Whether bounds of a loop's variable name others: they are still to come, as operands are. */
static bool
is_bound_by_others(const Facts *facts, const Expr *atom)
{
	for (int i = 0; i < facts->list.count && atom->op == EX_var; i++) {
		const Fact *fact = &facts->list.data[i];
		if (fact->kind == FACT_BOUND && fact->atom == atom &&
		    ((fact->lo && fact->lo->has_var) || (fact->last && fact->last->has_var)))
			return true;
	}
	return false;
}

/* Compound atoms over iterators, iterators, compound atoms over symbols, symbols. */
static int
class_of(const Facts *facts, const Expr *atom)
{
	bool is_leaf = atom->argc == 0 && !is_bound_by_others(facts, atom);
	bool is_local = atom->iters != 0 || atom->has_var || atom->has_read;
	if (atom->op == EX_symbol)
		return 3;
	return is_local ? is_leaf : 2;
}

/* Atoms in the order of elimination, each once. */
static int
list_atoms(const Facts *facts, const Poly *p, const Expr **atoms, int limit)
{
	int count = 0;
	for (int kind = 0; kind < 4; kind++)
		for (int i = 0; i < p->count; i++)
			for (int k = 0; k < p->term[i].natom; k++) {
				const Expr *atom = p->term[i].atom[k];
				bool is_listed = class_of(facts, atom) != kind || count == limit;
				for (int m = 0; m < count && !is_listed; m++)
					is_listed = atoms[m] == atom;
				if (!is_listed)
					atoms[count++] = atom;
			}
	return count;
}

/* p - k*fact >= 0, for the k that takes the fact's first term out of p; worth trying only when that
 * leaves less to prove. */
static bool
prove_by_fact(Facts *facts, const Poly *p, const Fact *fact, int depth)
{
	Poly known, rest;
	Term k;
	int64_t constant;
	const Term *like = poly_find(p, fact->first);
	if (!like || !term_div(&k, like, fact->first) || k.coef <= 0 || !poly_of(fact->atom, &known))
		return false;
	poly_copy(&rest, p);
	if (!poly_add_scaled(&rest, &known, -k.coef))
		return false;
	if (poly_is_const(&rest, &constant))
		return constant >= 0;
	return rest.count < p->count && nonneg(facts, &rest, depth - 1);
}

static bool
prove_by_facts(Facts *facts, const Poly *p, int depth)
{
	for (int i = facts->list.count - 1; i >= 0; i--)
		if (facts->list.data[i].kind == FACT_KNOWN &&
		    prove_by_fact(facts, p, &facts->list.data[i], depth))
			return true;
	return false;
}

/* Whether the atom is a leaf all of whose bounds are numbers, and not met before: then each of its
 * values goes with each of the others'. Where it has no value, everything is true. */
static bool
is_plain_leaf(Facts *facts, const Expr *atom, uint64_t *met)
{
	if ((atom->op != EX_iter && atom->op != EX_symbol) || (*met & atom->iters))
		return false;
	*met |= atom->iters;
	Range range = facts_interval(facts, atom);
	if (range.lo > range.hi)
		return false;
	for (int i = 0; i < facts->list.count; i++) {
		const Fact *fact = &facts->list.data[i];
		if (fact->kind == FACT_BOUND && fact->atom == atom &&
		    ((fact->lo && fact->lo->op != EX_const) || (fact->last && fact->last->op != EX_const)))
			return false;
	}
	return true;
}

/* Whether only its iterators' bounds say anything of the quotient or remainder of a plain sum. */
static bool
is_plain_quotient(Facts *facts, const Expr *atom, uint64_t *met)
{
	Poly p;
	int64_t divisor;
	if ((atom->op != EX_floordiv && atom->op != EX_floormod) ||
	    !expr_as_i64(atom->arg[1], &divisor) || divisor < 1 || !poly_of(atom->arg[0], &p))
		return false;
	for (int i = 0; i < facts->list.count; i++)
		if (facts->list.data[i].kind == FACT_KNOWN && facts->list.data[i].atom->iters & atom->iters)
			return false;
	for (int i = 0; i < p.count; i++)
		if (p.term[i].natom > 1 ||
		    (p.term[i].natom == 1 &&
		     (p.term[i].atom[0]->op != EX_iter || !is_plain_leaf(facts, p.term[i].atom[0], met))))
			return false;
	return true;
}

/* A sum of what lies between numbers, each on its own: when neither the interval nor a fact proves
 * it, no elimination does. */
static bool
is_decided_by_interval(Facts *facts, const Poly *p)
{
	uint64_t met = 0;
	for (int i = 0; i < p->count; i++) {
		const Term *t = &p->term[i];
		if (t->natom > 1 || (t->natom == 1 && !is_plain_leaf(facts, t->atom[0], &met) &&
		                     !is_plain_quotient(facts, t->atom[0], &met)))
			return false;
	}
	return true;
}

static bool
nonneg(Facts *facts, const Poly *p, int depth)
{
	int64_t constant;
	if (poly_is_const(p, &constant))
		return constant >= 0;
	if (depth <= 0 || !budget_take(facts->ctx))
		return false;
	facts->ctx->work += (uint64_t)facts->list.count + 1;
	if (poly_interval(facts, p).lo >= 0 || prove_by_facts(facts, p, depth))
		return true;
	if (is_decided_by_interval(facts, p))
		return false;
	const Expr *atoms[16];
	int natom = list_atoms(facts, p, atoms, 16);
	/* among iterators and symbols the order of elimination makes no difference */
	bool tries_all = depth == PROOF_DEPTH && natom > 0 && class_of(facts, atoms[0]) % 2 == 0;
	for (int i = 0; i < natom; i++) {
		bool eligible;
		if (eliminate(facts, p, atoms[i], depth, &eligible))
			return true;
		if (eligible && !tries_all)
			break;
	}
	return false;
}

/* ---- what was asked before ------------------------------------------------------------------- */

/* The question by what it says, in any ctx: the facts, and the terms. */
static Hash128
question_of(const Facts *facts, const Poly *p)
{
	uint64_t words[1 + POLY_TERMS * (2 + POLY_ATOMS)];
	int count = 0, nfact = facts->list.count;
	words[count++] = nfact > 0 ? facts->list.data[nfact - 1].key : 0;
	for (int i = 0; i < p->count; i++) {
		const Term *t = &p->term[i];
		words[count++] = (uint64_t)t->coef;
		words[count++] = (uint64_t)t->natom;
		for (int k = 0; k < t->natom; k++)
			words[count++] = t->atom[k]->hash;
	}
	return hash128(words, (size_t)count * sizeof *words);
}

bool
prove_nonneg(Facts *facts, const Poly *p)
{
	int64_t constant;
	if (poly_is_const(p, &constant))
		return constant >= 0;
	Hash128 question = question_of(facts, p);
	Hash128 *slot = proof_slot(facts->ctx, question);
	/* the last bit of what a slot holds is the answer */
	if (slot->low == question.low && (slot->high | 1) == (question.high | 1))
		return slot->high & 1;
	int outside = budget_begin(facts->ctx, BUDGET_proof);
	bool holds = nonneg(facts, p, PROOF_DEPTH);
	budget_end(facts->ctx, outside);
	*slot = (Hash128){question.low, (question.high & ~UINT64_C(1)) | holds};
	return holds;
}

/* ---- conditions ------------------------------------------------------------------------------ */

static bool
has_remainder(const Poly *p)
{
	for (int i = 0; i < p->count; i++)
		for (int k = 0; k < p->term[i].natom; k++)
			if (p->term[i].atom[k]->op == EX_floormod)
				return true;
	return false;
}

/* b + extra - a */
static bool
find_gap(Facts *facts, const Expr *a, const Expr *b, int64_t extra, Poly *p)
{
	if (!poly_gap(a, b, 0, p))
		return false;
	if (has_remainder(p)) /* x/k*k + x%k is x */
		poly_of_any(index_sum(facts, poly_build(facts->ctx, p)), p);
	return poly_add_term(p, &(Term){.coef = extra});
}

/* a <= b + extra */
static bool
prove_le(Facts *facts, const Expr *a, const Expr *b, int64_t extra)
{
	Poly p;
	return find_gap(facts, a, b, extra, &p) && prove_nonneg(facts, &p);
}

/* An index, an iterator, a variable is below the end it was declared with, however many terms that
 * has: more than a polynomial holds, where a model joins what each of its classes found. */
static bool
is_declared_below(const Facts *facts, const Expr *a, const Expr *b)
{
	if (a->op == EX_at)
		return a->arg[1] == b;
	if (a->op != EX_iter && a->op != EX_var)
		return false;
	const Expr *last = expr_sub(facts->ctx, b, expr_i64(facts->ctx, 1));
	for (int i = facts->list.count - 1; i >= 0; i--) {
		const Fact *fact = &facts->list.data[i];
		if (fact->kind == FACT_BOUND && fact->atom == a && fact->last == last)
			return true;
	}
	return false;
}

static bool
prove_compare(Facts *facts, ExprOp op, const Expr *a, const Expr *b)
{
	switch (op) {
	case EX_lt:
		return is_declared_below(facts, a, b) || prove_le(facts, a, b, -1);
	case EX_le:
		return prove_le(facts, a, b, 0);
	case EX_gt:
		return is_declared_below(facts, b, a) || prove_le(facts, b, a, -1);
	case EX_ge:
		return prove_le(facts, b, a, 0);
	case EX_eq:
		return prove_le(facts, a, b, 0) && prove_le(facts, b, a, 0);
	case EX_ne:
		return prove_le(facts, a, b, -1) || prove_le(facts, b, a, -1);
	default:
		return false;
	}
}

/* Whether a fact says that e holds, or !e; != is known as ! of ==. */
static bool
is_known(const Facts *facts, const Expr *e, bool holds)
{
	if (e->op == EX_ne)
		return is_known(facts, expr_op(facts->ctx, EX_eq, e->arg), !holds);
	for (int i = facts->list.count - 1; i >= 0; i--) {
		const Expr *fact = facts->list.data[i].atom;
		if (facts->list.data[i].kind == FACT_TRUE &&
		    (holds ? fact == e : fact->op == EX_not && fact->arg[0] == e))
			return true;
	}
	return false;
}

/* Integers other than i64, and data: by their intervals, which know about wrapping. */
static bool
compare_intervals(Facts *facts, ExprOp op, const Expr *a, const Expr *b)
{
	if (dtype_is_float(a->type) || a->type == DT_U64)
		return false;
	Range x = facts_interval(facts, a), y = facts_interval(facts, b);
	switch (op) {
	case EX_lt:
		return x.hi < y.lo;
	case EX_le:
		return x.hi <= y.lo;
	case EX_gt:
		return x.lo > y.hi;
	case EX_ge:
		return x.lo >= y.hi;
	case EX_eq:
		return x.lo == x.hi && y.lo == y.hi && x.lo == y.lo;
	case EX_ne:
		return x.hi < y.lo || x.lo > y.hi;
	default:
		return false;
	}
}

static bool
decide(Facts *facts, const Expr *e, bool wanted)
{
	if (e->op == EX_const)
		return (e->value.u64 != 0) == wanted;
	if (is_known(facts, e, wanted))
		return true;
	bool is_junction = e->op == EX_and || e->op == EX_or;
	if ((is_junction || e->op == EX_not) && !budget_take(facts->ctx))
		return false;
	if (e->op == EX_not)
		return decide(facts, e->arg[0], !wanted);
	if (is_junction) {
		bool both = (e->op == EX_and) == wanted;
		bool first = decide(facts, e->arg[0], wanted);
		return first == both ? decide(facts, e->arg[1], wanted) : first;
	}
	if (!expr_is_compare(e))
		return false;
	if (!wanted && dtype_is_float(e->arg[0]->type))
		return false; /* NaN: the opposite of < is not >= */
	ExprOp op = wanted ? (ExprOp)e->op : scalar_opposite(e->op);
	if (e->arg[0]->is_tame && e->arg[1]->is_tame)
		return prove_compare(facts, op, e->arg[0], e->arg[1]);
	return compare_intervals(facts, op, e->arg[0], e->arg[1]);
}

static bool
ask(Facts *facts, const Expr *condition, bool wanted)
{
	int outside = budget_begin(facts->ctx, BUDGET_condition);
	bool holds = decide(facts, condition, wanted);
	budget_end(facts->ctx, outside);
	return holds;
}

bool
facts_prove(Facts *facts, const Expr *condition)
{
	return ask(facts, condition, true);
}

bool
facts_disprove(Facts *facts, const Expr *condition)
{
	return ask(facts, condition, false);
}

Certainty
facts_say(const Facts *facts, const Expr *e)
{
	return is_known(facts, e, true) ? CERTAIN : is_known(facts, e, false) ? IMPOSSIBLE : UNDECIDED;
}

/* -p - by */
static bool
negate(const Poly *p, int64_t by, Poly *out)
{
	out->count = 0;
	return poly_add_scaled(out, p, -1) && poly_add_term(out, &(Term){.coef = -by});
}

/* Whether p, which is lost, is 0 everywhere, or nowhere. */
static Certainty
decide_zero(Facts *facts, Poly *p)
{
	Poly other;
	if (prove_nonneg(facts, p) && negate(p, 0, &other) && prove_nonneg(facts, &other))
		return CERTAIN;
	bool is_never = (negate(p, 1, &other) && prove_nonneg(facts, &other)) ||
	                (poly_add_term(p, &(Term){.coef = -1}) && prove_nonneg(facts, p));
	return is_never ? IMPOSSIBLE : UNDECIDED;
}

/* All questions about one difference; most comparisons of indices are undecided. */
Certainty
facts_decide(Facts *facts, const Expr *e)
{
	bool is_index = e->op >= EX_lt && e->op <= EX_eq && e->arg[0]->is_tame && e->arg[1]->is_tame;
	bool is_below = e->op == EX_lt || e->op == EX_le;
	const Expr *a = is_index ? e->arg[!is_below] : NULL, *b = is_index ? e->arg[is_below] : NULL;
	bool is_strict = e->op == EX_lt || e->op == EX_gt;
	Poly p, negative;
	if (!is_index)
		return facts_prove(facts, e) ? CERTAIN : facts_disprove(facts, e) ? IMPOSSIBLE : UNDECIDED;
	if (is_known(facts, e, true) || (is_strict && is_declared_below(facts, a, b)))
		return CERTAIN;
	if (is_known(facts, e, false))
		return IMPOSSIBLE;
	if (!find_gap(facts, a, b, -is_strict, &p))
		return UNDECIDED;
	if (e->op == EX_eq)
		return decide_zero(facts, &p);
	if (prove_nonneg(facts, &p))
		return CERTAIN;
	return negate(&p, 1, &negative) && prove_nonneg(facts, &negative) ? IMPOSSIBLE : UNDECIDED;
}
