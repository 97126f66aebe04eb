/* Reading quantised numbers: what passes about them share. */
#ifndef PASSES_QUANTISED_H
#define PASSES_QUANTISED_H

#include "graph/expand.h"

/* A number of 8 bits and what it stands for. */
typedef struct Quantised {
	Value *q, *scale, *zero; /* scale NULL: its product is not scaled here; zero NULL: 0 */
} Quantised;

/* A tensor of numbers of 8 bits. */
bool quantised_are_bytes(const Value *value);
/* Whether it always is zero, or is not there. */
bool quantised_is_zero(const Value *value);
/* Whether it has one element. */
bool quantised_is_single(const Value *value);
/* Always the same number, so far from 0 and infinity that products with integers are normal. */
bool quantised_is_plain_scale(const Value *scale);
/* Whether the product of both scales, by a third that divides it (NULL: 1), is one of f32, wherever
 * they are known. */
bool quantised_scales_join(const Value *a, const Value *b, const Value *divisor);
/* Of f32 that a DequantizeLinear makes of numbers of 8 bits, not in blocks; false: of others. */
bool quantised_read(const Value *value, Quantised *quantised);
/* Whether x is a sum of products of integers as f32. */
bool quantised_is_sum(const Value *x);
/* What is added behind such a sum and its scales ([C], or [1]), in units of the sum, to be added
 * before them; NULL: some scale is as good as 0. */
Array *quantised_shift(Arena *arena, const Array *shift, const Array *scale);
/* The largest sum of products with these weights, in size, on the way from numbers as they are
 * stored to what they are above the zero point; `channel` is the dim of w that a sum has. */
double quantised_largest_sum(Arena *arena, const Quantised *x, const Array *w, int channel);

#endif
