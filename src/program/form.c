/* See form.h. Terms and factors are in the order of hashes that leave out all numbers, so a meaning
 * with unknown numbers has its terms in the order of what it is compared with. */
#include "program/form_inner.h"

#include <math.h>

#include "expr/scalar/affine.h"

/* Numbers beyond these may be infinite or 0 in f32 on the way. */
static const double LEAST = 1e-30, MOST = 1e30;

typedef struct Former {
	Arena *arena;
	const FormLeaves *leaves;
} Former;

static uint64_t
mix(uint64_t hash, uint64_t value)
{
	hash = (hash ^ value) * 0x9e3779b97f4a7c15u;
	return hash ^ hash >> 29;
}

/* ---- equal atoms and terms, number by number ---- */

static bool same_form(const Form *a, const Form *b);

static bool
same_atom(const Atom *a, const Atom *b)
{
	if (a == b)
		return true;
	if (a->hash != b->hash || a->op != b->op || a->leaf != b->leaf || a->count != b->count)
		return false;
	for (int i = 0; i < a->count; i++)
		if (!same_form(a->args[i], b->args[i]))
			return false;
	return true;
}

/* But for the number. */
static bool
same_term(const Term *a, const Term *b)
{
	if (a->hash != b->hash || a->count != b->count)
		return false;
	for (int i = 0; i < FORM_UNKNOWNS; i++)
		if (a->unknown[i] != b->unknown[i])
			return false;
	for (int i = 0; i < a->count; i++)
		if (a->factors[i].power != b->factors[i].power ||
		    !same_atom(a->factors[i].atom, b->factors[i].atom))
			return false;
	return true;
}

static bool
same_form(const Form *a, const Form *b)
{
	if (a->count != b->count)
		return false;
	for (int i = 0; i < a->count; i++)
		if (a->terms[i].number != b->terms[i].number || !same_term(&a->terms[i], &b->terms[i]))
			return false;
	return true;
}

/* ---- sums and products ---- */

static bool
is_moderate(double number)
{
	return LEAST <= fabs(number) && fabs(number) <= MOST;
}

static Form *
new_form(const Former *f)
{
	return NEW(f->arena, Form);
}

static const Form *
number_form(const Former *f, double number)
{
	Form *form = new_form(f);
	form->count = number != 0;
	form->terms[0].number = number;
	return form;
}

/* A number, known or not. */
static bool
is_number(const Form *form)
{
	return form->count == 0 || (form->count == 1 && form->terms[0].count == 0);
}

bool
form_has_unknown(const Term *term)
{
	bool has = false;
	for (int i = 0; i < FORM_UNKNOWNS; i++)
		has |= term->unknown[i] != 0;
	return has;
}

static bool
is_known(const Form *form, double *number)
{
	*number = form->count ? form->terms[0].number : 0;
	return is_number(form) && (form->count == 0 || !form_has_unknown(&form->terms[0]));
}

/* Whether a number that is added may go with what follows it: another that is added, or a factor of
 * the sum. */
static bool
may_join(double summand, ExprOp op, double by)
{
	Affine joined;
	const AffineStep steps[] = {{EX_add, summand}, {op, by}};
	return affine_join(DT_F32, 2, steps, &joined);
}

/* False where it would cancel another, or there are too many. */
static bool
add_term(Form *sum, const Term *term)
{
	int at = 0;
	while (at < sum->count && sum->terms[at].hash < term->hash)
		at++;
	for (int i = at; i < sum->count && sum->terms[i].hash == term->hash; i++)
		if (same_term(&sum->terms[i], term)) {
			bool is_plain = term->count == 0 && !form_has_unknown(term);
			if (is_plain && !may_join(sum->terms[i].number, EX_add, term->number))
				return false;
			sum->terms[i].number += term->number;
			return sum->terms[i].number != 0;
		}
	if (sum->count == MAX_TERMS || !is_moderate(term->number))
		return false;
	for (int k = sum->count++; k > at; k--)
		sum->terms[k] = sum->terms[k - 1];
	sum->terms[at] = *term;
	return true;
}

static const Form *
add(const Former *f, const Form *a, const Form *b, double times)
{
	if (!a || !b)
		return NULL;
	Form *sum = new_form(f);
	*sum = *a;
	for (int i = 0; i < b->count; i++) {
		Term term = b->terms[i];
		term.number *= times;
		if (!add_term(sum, &term))
			return NULL;
	}
	return sum;
}

static void
hash_term(Term *term)
{
	term->hash = (uint64_t)term->count;
	for (int i = 0; i < term->count; i++)
		term->hash = mix(mix(term->hash, term->factors[i].atom->hash),
		                 (uint64_t)(uint32_t)term->factors[i].power);
}

/* False where it would cancel a factor: x * (1 / x) is no number at 0. */
static bool
add_factor(Term *term, Factor factor)
{
	int at = 0;
	while (at < term->count && term->factors[at].atom->hash < factor.atom->hash)
		at++;
	for (int i = at; i < term->count && term->factors[i].atom->hash == factor.atom->hash; i++)
		if (same_atom(term->factors[i].atom, factor.atom)) {
			bool cancels = (term->factors[i].power < 0) != (factor.power < 0);
			term->factors[i].power += factor.power;
			return !cancels;
		}
	if (term->count == MAX_FACTORS)
		return false;
	for (int k = term->count++; k > at; k--)
		term->factors[k] = term->factors[k - 1];
	term->factors[at] = factor;
	return true;
}

static bool
multiply_terms(const Term *a, const Term *b, Term *product)
{
	*product = *a;
	product->number *= b->number;
	for (int i = 0; i < FORM_UNKNOWNS; i++)
		product->unknown[i] += b->unknown[i];
	for (int i = 0; i < b->count; i++)
		if (!add_factor(product, b->factors[i]))
			return false;
	hash_term(product);
	return is_moderate(product->number);
}

/* Whether a factor of the sum may be one of its terms: the number in it is not there to round. */
static bool
may_distribute(const Form *sum)
{
	bool may = true;
	for (int i = 0; i < sum->count && sum->count > 1; i++)
		may &= sum->terms[i].count > 0 || may_join(sum->terms[i].number, EX_mul, 1);
	return may;
}

static const Form *
multiply(const Former *f, const Form *a, const Form *b)
{
	if (!a || !b || a->count == 0 || b->count == 0) /* 0 * x is no 0 where x is infinite */
		return NULL;
	Form *product = new_form(f);
	if (!may_distribute(a) || !may_distribute(b))
		return NULL;
	for (int i = 0; i < a->count; i++)
		for (int k = 0; k < b->count; k++) {
			Term term;
			if (!multiply_terms(&a->terms[i], &b->terms[k], &term) || !add_term(product, &term))
				return NULL;
		}
	return product;
}

static const Form *
scale(const Former *f, const Form *a, double number)
{
	return multiply(f, a, number_form(f, number));
}

/* ---- atoms ---- */

static const Form *
atom_form(const Former *f, Atom atom, int power)
{
	/* Where there is an `any`, each read may stand for it: all have one hash. */
	const Expr *any = f->leaves->any;
	bool is_any = any && atom.leaf && (atom.leaf->op == EX_read || atom.leaf == any);
	atom.hash = mix(7, is_any ? EX_read : atom.op);
	if (atom.leaf && !is_any)
		atom.hash = mix(atom.hash, atom.leaf->id);
	for (int i = 0; i < atom.count; i++) {
		atom.hash = mix(atom.hash, 1);
		for (int k = 0; k < atom.args[i]->count; k++)
			if (atom.args[i]->terms[k].count > 0) /* an unknown number may be 0, which is no term */
				atom.hash = mix(atom.hash, atom.args[i]->terms[k].hash);
	}
	Atom *kept = NEW(f->arena, Atom);
	*kept = atom;
	Form *form = new_form(f);
	form->count = 1;
	form->terms[0].number = 1;
	add_factor(&form->terms[0], (Factor){kept, power});
	hash_term(&form->terms[0]);
	return form;
}

static const Form *
apply(const Former *f, ExprOp op, int count, const Form *a, const Form *b, const Form *c)
{
	if (!a || (count > 1 && !b) || (count > 2 && !c))
		return NULL;
	return atom_form(f, (Atom){.op = op, .count = count, .args = {a, b, c}}, 1);
}

double
form_leading(const Form *form)
{
	for (int i = 0; i < form->count; i++)
		if (form->terms[i].count > 0)
			return form_has_unknown(&form->terms[i]) ? 0 : form->terms[i].number;
	return 0;
}

static const Form *
reciprocal(const Former *f, const Form *a)
{
	if (!a || a->count == 0)
		return NULL;
	if (a->count > 1) {
		double first = form_leading(a);
		const Form *sum = first != 0 ? scale(f, a, 1 / first) : NULL;
		return sum ? scale(f, atom_form(f, (Atom){.op = EX_add, .count = 1, .args = {sum}}, -1),
		                   1 / first)
		           : NULL;
	}
	Form *inverse = new_form(f);
	*inverse = *a;
	Term *term = &inverse->terms[0];
	term->number = 1 / term->number;
	for (int i = 0; i < FORM_UNKNOWNS; i++)
		term->unknown[i] = -term->unknown[i];
	for (int i = 0; i < term->count; i++)
		term->factors[i].power = -term->factors[i].power;
	hash_term(term);
	return is_moderate(term->number) ? inverse : NULL;
}

static const Form *
square_root(const Former *f, const Form *a)
{
	double number;
	if (a && is_known(a, &number) && number >= 0)
		return number_form(f, sqrt(number));
	return apply(f, EX_sqrt, 1, a, NULL, NULL);
}

static const Form *
power(const Former *f, const Form *a, const Form *b)
{
	double n;
	if (!a || !b || !is_known(b, &n))
		return apply(f, EX_pow, 2, a, b, NULL);
	if (n == 0.5) /* of -inf the power is inf, the root no number: finite ones count */
		return square_root(f, a);
	if (n == 1)
		return a;
	if (n == -1)
		return reciprocal(f, a);
	if (n == -0.5)
		return reciprocal(f, square_root(f, a));
	if (n == 2)
		return multiply(f, a, a);
	if (n == 3)
		return multiply(f, multiply(f, a, a), a);
	return apply(f, EX_pow, 2, a, b, NULL);
}

/* ---- bounds ---- */

static const Form *bound(const Former *f, ExprOp op, const Form *a, const Form *limit);

/* The atom, when the form is one max or min with a limit, and nothing else. */
static const Atom *
is_bound(const Form *a)
{
	bool is_one = a->count == 1 && a->terms[0].count == 1 && a->terms[0].number == 1 &&
	              !form_has_unknown(&a->terms[0]) && a->terms[0].factors[0].power == 1;
	const Atom *atom = is_one ? a->terms[0].factors[0].atom : NULL;
	bool is_limit = atom && (atom->op == EX_max || atom->op == EX_min) && is_number(atom->args[1]);
	return is_limit ? atom : NULL;
}

/* Of a form that begins with 1 and has no number: min(max(v, a), b) with a <= b. */
static const Form *
bound_plain(const Former *f, ExprOp op, const Form *a, const Form *limit)
{
	const Atom *inner = is_bound(a);
	double is, was;
	if (!inner || !is_known(limit, &is) || !is_known(inner->args[1], &was))
		return apply(f, op, 2, a, limit, NULL);
	if (inner->op == op)
		return bound(f, op, inner->args[0], (op == EX_max) == (is > was) ? limit : inner->args[1]);
	if (op == EX_max && is <= was)
		return apply(f, EX_min, 2, apply(f, EX_max, 2, inner->args[0], limit, NULL), inner->args[1],
		             NULL);
	return apply(f, op, 2, a, limit, NULL);
}

/* max(s*v + o, c) = s*max(v, (c - o)/s) + o, for a negative s a min. */
static const Form *
bound(const Former *f, ExprOp op, const Form *a, const Form *limit)
{
	double s = form_leading(a);
	if (s == 0)
		return NULL;
	Form *rest = new_form(f), *offset = new_form(f);
	for (int i = 0; i < a->count; i++)
		if (!add_term(a->terms[i].count ? rest : offset, &a->terms[i]))
			return NULL;
	const Form *apart = add(f, limit, offset, -1);
	apart = apart && apart->count ? scale(f, apart, 1 / s) : apart;
	if (!apart || !is_number(apart))
		return NULL;
	if (s < 0)
		op = op == EX_max ? EX_min : EX_max;
	const Form *plain = bound_plain(f, op, scale(f, rest, 1 / s), apart);
	return plain ? add(f, scale(f, plain, s), offset, 1) : NULL;
}

static const Form *
extreme(const Former *f, ExprOp op, const Form *a, const Form *b)
{
	if (!a || !b)
		return NULL;
	if (is_number(a) && is_number(b))
		return NULL; /* the caller folds constants */
	if (is_number(a) || is_number(b))
		return is_number(a) ? bound(f, op, b, a) : bound(f, op, a, b);
	uint64_t first = a->terms[0].hash, second = b->terms[0].hash;
	return first <= second ? apply(f, op, 2, a, b, NULL) : apply(f, op, 2, b, a, NULL);
}

/* ---- conditions ---- */

/* c ? p : q with c a comparison: as a - b < 0 or <= 0 where a - b begins with 1, or with -1. */
static const Form *
choose(const Former *f, const Expr *c, const Form *a, const Form *b, const Form *p, const Form *q)
{
	ExprOp op = c->op;
	bool is_swapped = op == EX_gt || op == EX_ge;
	const Form *apart = is_swapped ? add(f, b, a, -1) : add(f, a, b, -1);
	double first = apart ? form_leading(apart) : 0;
	if (first == 0 || !p || !q || op == EX_eq || op == EX_ne)
		return NULL;
	op = op == EX_gt ? EX_lt : op == EX_ge ? EX_le : op;
	apart = scale(f, apart, 1 / fabs(first));
	if (first < 0 && !is_number(p) && !is_number(q)) { /* -v < 0 ? p : q is v <= 0 ? q : p */
		const Form *other = p;
		apart = scale(f, apart, -1);
		op = op == EX_lt ? EX_le : EX_lt;
		p = q;
		q = other;
	}
	const Form *given[] = {apart, p, q};
	Atom atom = {.op = op == EX_lt ? EX_lt : EX_le, .count = 3};
	for (int i = 0; i < 3; i++)
		atom.args[i] = given[i];
	return atom_form(f, atom, 1);
}

/* ---- an expression ---- */

static const Form *
odd(const Former *f, ExprOp op, const Form *a)
{
	if (!a || form_leading(a) >= 0)
		return apply(f, op, 1, a, NULL, NULL);
	return scale(f, apply(f, op, 1, scale(f, a, -1), NULL, NULL), -1);
}

static const Form *
leaf_form(const Former *f, const Expr *e)
{
	for (int i = 0; i < FORM_UNKNOWNS; i++)
		if (e == f->leaves->unknown[i]) {
			Form *form = new_form(f);
			form->count = 1;
			form->terms[0].number = 1;
			form->terms[0].unknown[i] = 1;
			return form;
		}
	if (e->op == EX_const) {
		double number = expr_const_f64(e);
		return number == 0 || is_moderate(number) ? number_form(f, number) : NULL;
	}
	return atom_form(f, (Atom){.op = e->op, .leaf = e}, 1);
}

static const Form *
form(const Former *f, const Expr *e)
{
	if (e->type != DT_F32)
		return NULL;
	if (e->op == EX_const || e->op == EX_read || e->op == EX_var)
		return leaf_form(f, e);
	if (e->op == EX_select) {
		const Expr *c = e->arg[0];
		if (c->op == EX_eq && c->arg[1]->op == EX_const && isinf(expr_const_f64(c->arg[1])))
			return form(f, e->arg[2]); /* a power of 1/2: finite ones count */
		return expr_is_compare(c) ? choose(f, c, form(f, c->arg[0]), form(f, c->arg[1]),
		                                   form(f, e->arg[1]), form(f, e->arg[2]))
		                          : NULL;
	}
	if (!scalar_info(e->op) || e->argc > 2)
		return NULL;
	const Form *a = form(f, e->arg[0]), *b = e->argc == 2 ? form(f, e->arg[1]) : NULL;
	switch (e->op) {
	case EX_add:
		return add(f, a, b, 1);
	case EX_sub:
		return add(f, a, b, -1);
	case EX_mul:
		return multiply(f, a, b);
	case EX_div:
		return multiply(f, a, reciprocal(f, b));
	case EX_neg:
		return a ? scale(f, a, -1) : NULL;
	case EX_pow:
		return power(f, a, b);
	case EX_sqrt:
		return square_root(f, a);
	case EX_max:
	case EX_min:
		return extreme(f, e->op, a, b);
	case EX_erf:
	case EX_tanh:
		return odd(f, e->op, a);
	default:
		return apply(f, e->op, e->argc, a, b, NULL);
	}
}

const Form *
form_of(Arena *arena, const FormLeaves *leaves, const Expr *e)
{
	return e->size <= FORM_SIZE ? form(&(Former){arena, leaves}, e) : NULL;
}
