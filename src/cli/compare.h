/* How a result agrees with what was expected. */
#ifndef CLI_COMPARE_H
#define CLI_COMPARE_H

#include "base/array.h"

typedef struct Comparison {
	int64_t count, wrong; /* elements */
	int64_t first;        /* flat index of the first wrong one; -1: none */
	double worst;         /* largest |seen - expected| */
	double largest;       /* largest |expected| */
	const char *reason;   /* another type or shape; NULL: elements were compared */
} Comparison;

/* |seen - expected| <= atol + rtol * |expected|, NaN equal to NaN, integers, bools and strings
 * equal. rtol and atol 0: the same values. */
Comparison compare_arrays(Arena *arena, const Array *expected, const Array *seen, double rtol,
                          double atol);

/* "element [0,3] of 1000 is 0.5, expected 0.25; 7 are wrong, the largest error is 0.3" */
const char *comparison_text(Arena *arena, const Comparison *comparison, const Array *expected,
                            const Array *seen);

/* "it is f32[3], expected f32[4]"; NULL: type and shape are equal. */
const char *shape_difference(Arena *arena, const Array *expected, const Array *seen);

/* "f32[1,3,224,224]" */
const char *array_type_text(Arena *arena, const Array *array);

#endif
