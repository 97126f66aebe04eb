/* Sums of products with constant weights, whose channels can run in vector lanes: what layouts and
 * lowering ask of them. (weights.c)
 */
#ifndef LOWER_WEIGHTS_H
#define LOWER_WEIGHTS_H

#include "expr/stage/stage.h"

typedef struct Weighted {
	const Expr *x, *w; /* reads: the sum is of their products */
	int weight;        /* input number of w's tensor */
	int channel;       /* loop that stands alone at one dim of w */
	int dim;           /* that dim */
	bool is_apart;     /* x does not move with the channel */
} Weighted;

/* Whether the program's first stage is one; is_constant[i] of input i. Of the loops at dims of w,
 * the first that is apart, else the first. */
bool weighted_sum(const Program *p, const bool *is_constant, Weighted *sum);

#endif
