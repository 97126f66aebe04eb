/* Polynomials over atoms: the normal form of integer index arithmetic, dims included.
 *
 *     2*p + r - 3          terms {2, p}, {1, r}, {-3}
 *     N*S + (H + 1)/2      terms {1, N*S}, {1, (H+1)/2}
 *
 * An atom is any i64 scalar that is not a sum, difference, product or constant. Terms are sorted by
 * degree (highest first), then by atoms, so equal polynomials are equal arrays and the constant
 * stands last. They have a fixed room, live on the stack, and every operation says false when the
 * room or 64 bits do not suffice: callers then keep the expression as it is. The room is for a
 * detector that joins what each of its 91 classes found; most polynomials have a few terms, so
 * they are copied by poly_copy() and made empty by poly_const(), not by assignment.
 */
#ifndef EXPR_INDEX_POLY_H
#define EXPR_INDEX_POLY_H

#include "expr/index/dim.h"
#include "expr/scalar/ctx.h"

enum { POLY_TERMS = DIM_TERMS, POLY_ATOMS = 8 };

typedef struct Term {
	int64_t coef;
	int natom;
	const Expr *atom[POLY_ATOMS]; /* sorted, with repetitions */
} Term;

typedef struct Poly {
	int count;
	Term term[POLY_TERMS];
} Poly;

/* The polynomial of e by sums, differences, products and constants. */
bool poly_of(const Expr *e, Poly *out);
/* The same with what does not fit taken as one atom: never fails. */
void poly_of_any(const Expr *e, Poly *out);
const Expr *poly_build(ExprCtx *ctx, const Poly *poly);

void poly_const(Poly *out, int64_t value);
void poly_term(Poly *out, const Term *term);
void poly_copy(Poly *out, const Poly *p); /* the terms there are */
bool poly_is_const(const Poly *poly, int64_t *value);
int64_t poly_constant(const Poly *poly); /* the constant term */

/* The term of p with the atoms of `like`; NULL when there is none. */
const Term *poly_find(const Poly *p, const Term *like);
bool poly_add_term(Poly *poly, const Term *term);
/* out += scale * p; out and p are different. What out holds is lost where it says false. */
bool poly_add_scaled(Poly *out, const Poly *p, int64_t scale);
/* b + extra - a, of expressions */
bool poly_gap(const Expr *a, const Expr *b, int64_t extra, Poly *out);
/* out += t * p */
bool poly_add_times(Poly *out, const Poly *p, const Term *t);
bool poly_mul(Poly *out, const Poly *a, const Poly *b);

/* Products of terms, and quotients where exact. */
bool term_mul(Term *out, const Term *a, const Term *b);
bool term_div(Term *out, const Term *a, const Term *b);
/* Greatest common divisor: of coefficients (positive) and of atoms. */
void term_gcd(Term *out, const Term *a, const Term *b);

/* p = coef * atom + rest, where neither part has the atom as a factor; false when p holds a higher
 * power of it. */
bool poly_split_atom(const Poly *p, const Expr *atom, Poly *coef, Poly *rest);

/* a = b * quotient + rest, by the leading term of b: each step takes one term off a, and what that
 * term does not divide goes to the rest. */
bool poly_divide(const Poly *a, const Poly *b, Poly *quotient, Poly *rest);

/* The terms of p that are added, and those that are taken away, positive; false: a number is too
 * large for that. */
bool poly_split_signs(ExprCtx *ctx, const Poly *p, const Expr *sides[2]);

#endif
