/* Scalars of f32 in a normal form, and equality with a given meaning for solved numbers.
 *
 * A form is a sum of terms, a term a number times powers of atoms; an atom is a read, a variable or
 * an operation on forms. So one form stands for all spellings that the laws of sums, products and
 * bounds lead to:
 *
 *     x * (erf(x / 1.41421356) + 1.0) * 0.5      0.5*x + 0.5*x*erf(0.70710678*x)
 *     max(0.0, min(6.0, x + 3.0)) / 6.0          0.5 + 0.16666667*min(max(x, -3), 3)
 *
 * What is equal by its form is equal in exact arithmetic wherever both are finite, so a match is
 * reassociating, never exact. Laws that lose a value are not used: nothing is cancelled (x - x,
 * x/x) and no condition is turned round when an arm is a number, for what it gives a NaN would
 * change.
 */
#ifndef PROGRAM_FORM_H
#define PROGRAM_FORM_H

#include "expr/scalar/expr.h"

enum { FORM_UNKNOWNS = 2, FORM_SIZE = 64 };

typedef struct Form Form;

/* The leaves of a meaning. Those of `unknown` are numbers to be solved, `any` is a read of whatever
 * tensor; all other variables and reads stand for themselves. */
typedef struct FormLeaves {
	const Expr *unknown[FORM_UNKNOWNS], *any;
	double within; /* so much of their size may numbers be off; 0: as form_same_number() says */
} FormLeaves;

/* NULL where there is none: of another type, longer than FORM_SIZE nodes, or with terms that cancel
 * each other. */
const Form *form_of(Arena *arena, const FormLeaves *leaves, const Expr *e);

typedef struct Solved {
	bool is_known[FORM_UNKNOWNS];
	double value[FORM_UNKNOWNS];
	const Expr *any;
} Solved;

/* Within 1e-6 of their size, since exporters write few digits; 0 is 0 alone. */
bool form_same_number(double a, double b);

/* How often the first term of the meaning is that of `form`, but for what stands in them; 1 where
 * one has no term but a number, or a number to be solved. */
double form_times(const Form *meaning, const Form *form);

/* Whether `form` is the meaning for some numbers, and has the same others. Each occurrence of an
 * unknown must give the same number. */
bool form_solve(const FormLeaves *leaves, const Form *meaning, const Form *form, Solved *solved);

#endif
