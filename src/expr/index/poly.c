/* Polynomials over atoms: see poly.h. */
#include "expr/index/budget.h"
#include "expr/index/poly.h"

#include <string.h>

/* ---- the order of nodes ---------------------------------------------------------------------- */

static int
compare_numbers(int64_t a, int64_t b)
{
	return (a > b) - (a < b);
}

static int
compare_names(const char *a, const char *b)
{
	return strcmp(a ? a : "", b ? b : "");
}

/* Iterators first, then variables and symbols, then the rest by operation. */
static int
rank_of(const Expr *e)
{
	return e->op == EX_iter ? -3 : e->op == EX_var ? -2 : e->op == EX_symbol ? -1 : e->op;
}

static int
compare_leaves(const Expr *a, const Expr *b)
{
	int order;
	switch (a->op) {
	case EX_iter:
		return compare_numbers(a->iter, b->iter);
	case EX_symbol:
		return compare_names(a->symbol->name, b->symbol->name);
	case EX_var:
		order = compare_names(a->var->name, b->var->name);
		return order ? order : compare_numbers(a->var->id, b->var->id);
	case EX_read:
		order = compare_names(a->tensor->name, b->tensor->name);
		return order ? order : compare_numbers(a->tensor->id, b->tensor->id);
	default:
		return compare_numbers(a->value.i64, b->value.i64);
	}
}

static int
compare_heads(const Expr *a, const Expr *b)
{
	int order = compare_numbers(rank_of(a), rank_of(b));
	if (!order)
		order = compare_numbers(a->type, b->type);
	if (!order)
		order = compare_numbers(a->flags, b->flags);
	if (!order)
		order = compare_numbers(a->argc, b->argc);
	return order ? order : compare_leaves(a, b);
}

/* Different nodes with equal heads differ in an operand, and the first such one decides: one path
 * down, however much is shared. */
int
expr_compare(const Expr *a, const Expr *b)
{
	while (a != b) {
		int order = compare_heads(a, b);
		if (order)
			return order;
		int i = 0;
		while (i < a->argc && a->arg[i] == b->arg[i])
			i++;
		if (i == a->argc)
			break;
		const Expr *next = b->arg[i];
		a = a->arg[i];
		b = next;
	}
	return 0;
}

/* ---- terms ----------------------------------------------------------------------------------- */

static int
compare_terms(const Term *a, const Term *b)
{
	if (a->natom != b->natom)
		return b->natom - a->natom;
	for (int i = 0; i < a->natom; i++) {
		const Expr *x = a->atom[i], *y = b->atom[i];
		bool are_iters = x->op == EX_iter && y->op == EX_iter; /* mostly */
		int order = are_iters ? compare_numbers(x->iter, y->iter) : expr_compare(x, y);
		if (order)
			return order;
	}
	return 0;
}

bool
term_mul(Term *out, const Term *a, const Term *b)
{
	Term product = {.natom = a->natom + b->natom};
	if (product.natom > POLY_ATOMS || __builtin_mul_overflow(a->coef, b->coef, &product.coef))
		return false;
	for (int i = 0, j = 0; i + j < product.natom;) {
		bool take_a = j == b->natom || (i < a->natom && expr_compare(a->atom[i], b->atom[j]) <= 0);
		const Expr *atom = take_a ? a->atom[i] : b->atom[j];
		product.atom[i + j] = atom;
		i += take_a;
		j += !take_a;
	}
	*out = product;
	return true;
}

bool
term_div(Term *out, const Term *a, const Term *b)
{
	Term quotient = {0};
	if (b->coef == 0 || (b->coef == -1 && a->coef == INT64_MIN) || a->coef % b->coef != 0)
		return false;
	quotient.coef = a->coef / b->coef;
	int j = 0;
	for (int i = 0; i < a->natom; i++) {
		if (j < b->natom && a->atom[i] == b->atom[j])
			j++;
		else
			quotient.atom[quotient.natom++] = a->atom[i];
	}
	*out = quotient;
	return j == b->natom;
}

static uint64_t
gcd_u64(uint64_t a, uint64_t b)
{
	while (b) {
		uint64_t rest = a % b;
		a = b;
		b = rest;
	}
	return a;
}

static uint64_t
magnitude(int64_t value)
{
	return value < 0 ? 0 - (uint64_t)value : (uint64_t)value;
}

void
term_gcd(Term *out, const Term *a, const Term *b)
{
	Term common = {0};
	uint64_t divisor = gcd_u64(magnitude(a->coef), magnitude(b->coef));
	common.coef = divisor > INT64_MAX ? 1 : (int64_t)divisor;
	for (int i = 0, j = 0; i < a->natom && j < b->natom;) {
		int order = expr_compare(a->atom[i], b->atom[j]);
		if (order == 0)
			common.atom[common.natom++] = a->atom[i];
		i += order <= 0;
		j += order >= 0;
	}
	*out = common;
}

/* ---- polynomials ----------------------------------------------------------------------------- */

void
poly_const(Poly *out, int64_t value)
{
	poly_term(out, &(Term){.coef = value});
}

void
poly_term(Poly *out, const Term *term)
{
	out->count = term->coef != 0;
	out->term[0] = *term;
}

void
poly_copy(Poly *out, const Poly *p)
{
	out->count = p->count;
	memcpy(out->term, p->term, (size_t)p->count * sizeof *p->term);
}

bool
poly_is_const(const Poly *poly, int64_t *value)
{
	*value = poly_constant(poly);
	return poly->count == 0 || (poly->count == 1 && poly->term[0].natom == 0);
}

int64_t
poly_constant(const Poly *poly)
{
	const Term *last = &poly->term[poly->count - (poly->count > 0)];
	return poly->count > 0 && last->natom == 0 ? last->coef : 0;
}

/* Where the term stands or would stand: often at the end, because sums are read in their order. */
static int
find_place(const Poly *poly, const Term *term, bool *is_there)
{
	int from = 0, to = poly->count, probe = to - 1;
	*is_there = false;
	while (from < to) {
		int order = compare_terms(&poly->term[probe], term);
		*is_there |= order == 0;
		if (order < 0)
			from = probe + 1;
		else
			to = probe;
		probe = from + (to - from) / 2;
	}
	return from;
}

const Term *
poly_find(const Poly *p, const Term *like)
{
	bool is_there;
	int at = find_place(p, like, &is_there);
	return is_there ? &p->term[at] : NULL;
}

bool
poly_add_term(Poly *poly, const Term *term)
{
	if (term->coef == 0)
		return true;
	bool is_there;
	int at = find_place(poly, term, &is_there);
	size_t behind = (size_t)(poly->count - at) * sizeof *term;
	if (is_there) {
		Term *same = &poly->term[at];
		if (__builtin_add_overflow(same->coef, term->coef, &same->coef))
			return false;
		if (same->coef == 0) {
			memmove(same, same + 1, behind - sizeof *same);
			poly->count--;
		}
		return true;
	}
	if (poly->count == POLY_TERMS)
		return false;
	memmove(&poly->term[at + 1], &poly->term[at], behind);
	poly->term[at] = *term;
	poly->count++;
	return true;
}

bool
poly_add_times(Poly *out, const Poly *p, const Term *t)
{
	for (int i = 0; i < p->count; i++) {
		Term product;
		if (!term_mul(&product, &p->term[i], t) || !poly_add_term(out, &product))
			return false;
	}
	return true;
}

/* Both are sorted: a merge. */
bool
poly_add_scaled(Poly *out, const Poly *p, int64_t scale)
{
	Poly old;
	poly_copy(&old, out);
	out->count = 0;
	for (int i = 0, k = 0; i < old.count || k < p->count;) {
		int order = i == old.count  ? 1
		            : k == p->count ? -1
		                            : compare_terms(&old.term[i], &p->term[k]);
		Term sum = order <= 0 ? old.term[i] : p->term[k];
		int64_t added = 0;
		if (order >= 0 && __builtin_mul_overflow(p->term[k].coef, scale, &added))
			return false;
		if (__builtin_add_overflow(order <= 0 ? sum.coef : 0, added, &sum.coef))
			return false;
		if (sum.coef != 0 && out->count == POLY_TERMS)
			return false;
		if (sum.coef != 0)
			out->term[out->count++] = sum;
		i += order <= 0;
		k += order >= 0;
	}
	return true;
}

bool
poly_mul(Poly *out, const Poly *a, const Poly *b)
{
	out->count = 0;
	for (int i = 0; i < b->count; i++)
		if (!poly_add_times(out, a, &b->term[i]))
			return false;
	return true;
}

bool
poly_split_atom(const Poly *p, const Expr *atom, Poly *coef, Poly *rest)
{
	coef->count = rest->count = 0;
	Term factor = {.coef = 1, .natom = 1, .atom = {atom}};
	for (int i = 0; i < p->count; i++) {
		Term quotient, again;
		bool is_multiple = term_div(&quotient, &p->term[i], &factor);
		if (is_multiple && term_div(&again, &quotient, &factor))
			return false;
		if (is_multiple ? !poly_add_term(coef, &quotient) : !poly_add_term(rest, &p->term[i]))
			return false;
	}
	return true;
}

bool
poly_divide(const Poly *a, const Poly *b, Poly *quotient, Poly *rest)
{
	Poly left;
	poly_copy(&left, a);
	quotient->count = rest->count = 0;
	if (b->count == 0)
		return false;
	for (int steps = 0; left.count > 0; steps++) {
		Term lead = left.term[0], q;
		if (steps > 2 * POLY_TERMS)
			return false;
		if (term_div(&q, &lead, &b->term[0])) {
			Term minus = q;
			minus.coef = -q.coef;
			if (q.coef == INT64_MIN || !poly_add_term(quotient, &q) ||
			    !poly_add_times(&left, b, &minus))
				return false;
		} else {
			lead.coef = -lead.coef;
			if (lead.coef == INT64_MIN || !poly_add_term(rest, &left.term[0]) ||
			    !poly_add_term(&left, &lead))
				return false;
		}
	}
	return true;
}

/* ---- from and to expressions ----------------------------------------------------------------- */

static void
poly_atom(Poly *out, const Expr *e)
{
	poly_term(out, &(Term){.coef = 1, .natom = 1, .atom = {e}});
}

static bool add_scaled_expr(Poly *out, const Expr *e, int64_t scale);

static bool
add_product(Poly *out, const Expr *e, int64_t scale)
{
	int64_t value;
	if (expr_as_i64(e->arg[1], &value) || expr_as_i64(e->arg[0], &value)) {
		const Expr *other = e->arg[1]->op == EX_const ? e->arg[0] : e->arg[1];
		return !__builtin_mul_overflow(scale, value, &scale) && add_scaled_expr(out, other, scale);
	}
	Poly a, b;
	poly_const(&a, 0);
	poly_const(&b, 0);
	if (!add_scaled_expr(&a, e->arg[0], scale) || !add_scaled_expr(&b, e->arg[1], 1))
		return false;
	for (int i = 0; i < b.count; i++)
		if (!poly_add_times(out, &a, &b.term[i]))
			return false;
	return true;
}

static bool
add_scaled_expr(Poly *out, const Expr *e, int64_t scale)
{
	int64_t value;
	if (!budget_take(e->ctx))
		return false;
	if (expr_as_i64(e, &value))
		return !__builtin_mul_overflow(scale, value, &value) &&
		       poly_add_term(out, &(Term){.coef = value});
	bool is_negated = e->op == EX_sub || e->op == EX_neg;
	int64_t last = scale;
	if (is_negated && __builtin_sub_overflow(0, scale, &last))
		return false;
	if (e->op == EX_add || e->op == EX_sub)
		return add_scaled_expr(out, e->arg[0], scale) && add_scaled_expr(out, e->arg[1], last);
	if (e->op == EX_neg)
		return add_scaled_expr(out, e->arg[0], last);
	if (e->op == EX_mul)
		return add_product(out, e, scale);
	return poly_add_term(out, &(Term){.coef = scale, .natom = 1, .atom = {e}});
}

bool
poly_of(const Expr *e, Poly *out)
{
	int outside = budget_begin(e->ctx, BUDGET_sum);
	out->count = 0;
	bool is_sum = e->type == DT_I64 && add_scaled_expr(out, e, 1);
	budget_end(e->ctx, outside);
	return is_sum;
}

void
poly_of_any(const Expr *e, Poly *out)
{
	if (!poly_of(e, out))
		poly_atom(out, e);
}

bool
poly_gap(const Expr *a, const Expr *b, int64_t extra, Poly *out)
{
	Poly other;
	return poly_of(b, out) && poly_of(a, &other) && poly_add_scaled(out, &other, -1) &&
	       poly_add_term(out, &(Term){.coef = extra});
}

static const Expr *
build_term(ExprCtx *ctx, const Term *term, int64_t coef)
{
	if (term->natom == 0)
		return expr_i64(ctx, coef);
	const Expr *product = term->atom[0];
	for (int i = 1; i < term->natom; i++)
		product = expr_mul(ctx, product, term->atom[i]);
	return coef == 1 ? product : expr_mul(ctx, product, expr_i64(ctx, coef));
}

static void
note_sum(const Expr *e, const Poly *poly)
{
	for (int i = 0; i < poly->count; i++)
		for (int k = 0; k < poly->term[i].natom; k++)
			if (poly->term[i].atom[k]->argc > 0)
				return;
	((Expr *)(uintptr_t)e)->is_sum = true;
}

/* The sum begins with a positive term where there is one, and negative ones are subtracted. */
const Expr *
poly_build(ExprCtx *ctx, const Poly *poly)
{
	if (poly->count == 0)
		return expr_i64(ctx, 0);
	int first = 0;
	for (int i = poly->count - 1; i >= 0; i--)
		if (poly->term[i].coef > 0)
			first = i;
	const Expr *sum = build_term(ctx, &poly->term[first], poly->term[first].coef);
	for (int i = 0; i < poly->count; i++) {
		int64_t coef = poly->term[i].coef;
		if (i == first)
			continue;
		if (coef < 0 && coef > INT64_MIN)
			sum = expr_sub(ctx, sum, build_term(ctx, &poly->term[i], -coef));
		else
			sum = expr_add(ctx, sum, build_term(ctx, &poly->term[i], coef));
	}
	note_sum(sum, poly);
	return sum;
}

bool
poly_split_signs(ExprCtx *ctx, const Poly *p, const Expr *sides[2])
{
	Poly added, taken;
	poly_const(&added, 0);
	poly_const(&taken, 0);
	for (int k = 0; k < p->count; k++) {
		Term t = p->term[k];
		bool is_taken = t.coef < 0;
		if (t.coef == INT64_MIN)
			return false;
		t.coef = is_taken ? -t.coef : t.coef;
		if (!poly_add_term(is_taken ? &taken : &added, &t))
			return false;
	}
	sides[0] = poly_build(ctx, &added);
	sides[1] = poly_build(ctx, &taken);
	return true;
}
