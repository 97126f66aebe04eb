/* Chains of constant factors and summands as one factor and one summand: the one place that says
 * whether a rewrite may join constants, or put one in the place of another.
 *
 *     x * 300 * 300      of f16: no, 90000 is no f16           x / 8       x * 0.125
 *     (x - 2) * 3 + 1    x * 3 + -5                            x / 3       no, that rounds once
 *     x + C - C          no: to lose digits may be its sense   x / 2^-20   of f16: no, 2^20 is none
 *
 * The answer holds for every finite x of the type: what the chain keeps finite stays finite, and
 * what is joined rounds no more often than the chain, in units of its largest term. */
#ifndef EXPR_SCALAR_AFFINE_H
#define EXPR_SCALAR_AFFINE_H

#include "base/dtype.h"
#include "expr/scalar/expr.h"

/* x + by, x * by, or x / by; by is a number of the type. */
typedef struct AffineStep {
	ExprOp op; /* EX_add, EX_mul, EX_div */
	double by;
} AffineStep;

/* x * scale + shift, where both are still to be rounded to the type; 1 and 0: nothing to do. */
typedef struct Affine {
	double scale, shift;
} Affine;

/* Whether the steps on x, one after the other, may be one product and one sum, which `out` then
 * is. */
bool affine_join(DType type, int count, const AffineStep *steps, Affine *out);

/* Whether a constant of the type can stand for `number`: it is it, or has all digits of it. */
bool affine_holds(DType type, long double number);

#endif
