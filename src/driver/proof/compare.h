/* How a result agrees with what was expected. */
#ifndef DRIVER_PROOF_COMPARE_H
#define DRIVER_PROOF_COMPARE_H

#include "base/array.h"
#include "driver/options.h"

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

/* What --rtol and --atol accept. Between two runs, where neither is given: a share of the largest
 * element by the type, since sums are rounded by the size of their terms. */
typedef struct Tolerance {
	double rtol, atol;
} Tolerance;
Tolerance tolerance_given(const Options *options, double largest);
Tolerance tolerance_between(const Options *options, DType type, double largest);

/* "element [0,3] of 1000 is 0.5, expected 0.25; 7 are wrong, the largest error is 0.3" */
const char *comparison_text(Arena *arena, const Comparison *comparison, const Array *expected,
                            const Array *seen);

/* "it is f32[3], expected f32[4]"; NULL: type and shape are equal. */
const char *shape_difference(Arena *arena, const Array *expected, const Array *seen);

/* "f32[1,3,224,224]" */
const char *array_type_text(Arena *arena, const Array *array);

#endif
