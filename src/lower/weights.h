/* Sums of products with constant weights, whose channels can run in vector lanes: what layouts and
 * lowering ask of them. (weights.c)
 */
#ifndef LOWER_WEIGHTS_H
#define LOWER_WEIGHTS_H

#include "lower/steps.h"

typedef struct Weighted {
	const Expr *x, *w; /* reads: the sum is of their products */
	int weight;        /* input number of w's tensor */
	int channel;       /* loop that stands alone at one dim of w */
	int dim;           /* that dim */
	int64_t terms;     /* of the sum; many where that is not known */
	int64_t share; /* so many channels, one after the other, have the same x: all, or a group's */
} Weighted;

/* Whether the program's first stage is one; is_constant[i] of input i. Of the loops at dims of w,
 * the one of which most share. */
bool weighted_sum(const Program *p, const bool *is_constant, Weighted *sum);

/* Whether its last loop, which counts positions, has a known number of them: tiles need one. */
bool weighted_has_rows(const Program *p);

/* Rearranges constant weights where channels should run in lanes: replaces the argument and
 * gives the program that reads it, or `part` itself. */
const Program *lower_block_weights(Lowering *low, const Program *part, MBuffer **args);

#endif
