/* Inside of forms: what they are made of (form.c), which is solved for numbers (form_solve.c). */
#ifndef PROGRAM_FORM_INNER_H
#define PROGRAM_FORM_INNER_H

#include "program/form.h"

enum { MAX_TERMS = 12, MAX_FACTORS = 6, MAX_ARGS = 3 };

typedef struct Atom {
	ExprOp op;        /* EX_add: a sum, which is a factor only with another power than 1 */
	const Expr *leaf; /* of a read or variable, or what has no form */
	int count;
	const Form *args[MAX_ARGS];
	uint64_t hash;
} Atom;

typedef struct Factor {
	const Atom *atom;
	int power;
} Factor;

typedef struct Term {
	double number;
	int unknown[FORM_UNKNOWNS]; /* powers of those, part of the number */
	int count;
	Factor factors[MAX_FACTORS];
	uint64_t hash;
} Term;

struct Form {
	int count;
	Term terms[MAX_TERMS];
};

bool form_has_unknown(const Term *term);

/* The number before the first term that is none: what forms are divided by, so that they begin with
 * 1. 0 if it is not known. */
double form_leading(const Form *form);

#endif
