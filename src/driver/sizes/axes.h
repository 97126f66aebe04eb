/* Axes: in which ways a size moves by itself.
 *
 *     S                 one axis, S
 *     S, and S/4, S/8   three: S - 4*(S/4), S/4 - 2*(S/8) and S/8, which steps of 1, 4 and 8 raise
 *
 * A model that cuts a length into windows, or rounds it up to whole ones, divides it. What it
 * computes is then no sum over the length, but one over the axes, which are the digits of the
 * length: from a size that leaves room for it a step raises one of them and keeps the others.
 */
#ifndef DRIVER_SIZES_AXES_H
#define DRIVER_SIZES_AXES_H

#include "driver/sizes/rooms.h"

/* floor((size + plus) / step), and of that the remainder by `end`. */
typedef struct Axis {
	const Symbol *symbol;
	const Dim *at;            /* where a size stands on it */
	int64_t plus, step, most; /* steps are taken once or twice: a remainder by 2 has but one */
	int64_t end;              /* INT64_MAX: it is no remainder */
} Axis;

typedef VEC(Axis) Axes;

/* floor((symbol + plus) / by) stands somewhere in the model. */
typedef struct Divisor {
	const Symbol *symbol;
	int64_t plus, by;
} Divisor;

typedef VEC(Divisor) Divisors;

/* What divides inputs' sizes where checks look, small divisors first. */
Divisors divisors_of(Arena *arena, const Rooms *rooms);

/* The symbol's axes: itself, where it is divided by nothing, or `divisors` is NULL. */
Axes symbol_axes(Arena *arena, ExprCtx *ctx, const Divisors *divisors, const Symbol *symbol);

/* The first size from `size` on that leaves all of them room for their steps. */
int64_t axes_level(const Axes *axes, int64_t size);

#endif
