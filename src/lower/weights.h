/* Sums of products with constant weights, whose channels can run in vector lanes: what layouts and
 * lowering ask of them. (weights.c)
 */
#ifndef LOWER_WEIGHTS_H
#define LOWER_WEIGHTS_H

#include "lower/steps.h"

typedef struct Weighted {
	const Expr *x, *w; /* reads: the sum is of their products */
	DType type;        /* that in which they are made */
	bool is_widened;   /* w is of f16 or bf16, and read through a cast to f32 */
	int weight;        /* input number of w's tensor */
	int channel;       /* loop that stands alone at one dim of w */
	int dim;           /* that dim */
	int64_t terms;     /* of the sum; many where that is not known */
	int64_t row;       /* of x so many elements lie side by side along a loop; 0: no loop */
	bool has_rows;     /* the last loop, which counts positions, has a known number of them */
	bool is_matrix;    /* no dim of x is a window's, and one iterator is summed over */
	int64_t share; /* so many channels, one after the other, have the same x: all, or a group's */
} Weighted;

/* Whether the program's first stage is one; is_constant[i] of input i. Of the loops at dims of w,
 * the one of which most share. */
bool weighted_sum(const Program *p, const Target *target, const bool *is_constant, Weighted *sum);

/* A constant in the place of a weight: the weight's name, a word, what it holds. */
MBuffer *lower_weight(Lowering *low, const MBuffer *weight, const char *word, Array *data);

/* A plain weight in another storage: in blocks of one dim. */
MBuffer *lower_weight_in_layout(Lowering *low, const MBuffer *weight, const char *layout);

/* Sums of products of bytes as dot products of four: replaces the weight, or gives p. (quads.c) */
const Program *lower_take_quads(Lowering *low, const Program *p, const bool *is_constant,
                                MBuffer **args);

/* Weights of few bits that a product would make f32 of: stored so that it unpacks them in lanes
 * (codes.c). Gives the program that does, and what its inputs are in *args; or `program`. */
const Program *lower_take_codes(Lowering *low, const Program *program, MBuffer ***args);

/* Rearranges constant weights where channels should run in lanes: replaces the argument and
 * gives the program that reads it, or `part` itself. */
const Program *lower_block_weights(Lowering *low, const Program *part, MBuffer **args);

#endif
