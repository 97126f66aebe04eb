/* How far two arrays are from each other, in the numbers that people ask for. */
#ifndef CLI_MEASURE_DISTANCE_H
#define CLI_MEASURE_DISTANCE_H

#include "driver/proof/compare.h"

typedef struct Distance {
	Comparison comparison; /* by the tolerance; or a reason, and then nothing else is filled in */
	double mean;           /* of |seen - base| */
	double median, most;   /* of the same: half, and 99 % of the elements, are at most so far */
	double relative;       /* the largest, as a share of the largest |base| */
	double cosine;         /* of the angle between both as vectors; NAN: one is all zeros */
	/* Along the last axis, where it has ten elements or more: the share of rows in which the
	 * largest element is the same one, and of the five largest those that are. NAN: there is no
	 * such axis. */
	double top1, top5;
} Distance;

/* Of numbers; of texts and complex numbers only the comparison. */
Distance distance_of(const Options *options, Arena *arena, const Array *base, const Array *seen);

/* Without quantiles and rows, which take long; floats of two types are compared as the shorter one,
 * since a compiler may compute f16 as f32. */
Distance distance_quick(const Options *options, Arena *arena, const Array *base, const Array *seen);

#endif
