/* Whether two arrays hold the same bits, but for what a NaN carries. */
#ifndef SAME_NUMBERS_H
#define SAME_NUMBERS_H

#include <math.h>
#include <string.h>

#include "base/array.h"

static inline bool
same_element(const Array *a, const Array *b, int64_t i)
{
	size_t size = (size_t)dtype_bits(a->type) / 8;
	const char *x = a->data, *y = b->data;
	return !memcmp(x + (size_t)i * size, y + (size_t)i * size, size) ||
	       (dtype_is_float(a->type) && isnan(dtype_load_f64(a->type, x, i)) &&
	        isnan(dtype_load_f64(b->type, y, i)));
}

static inline bool
array_same_numbers(const Array *a, const Array *b)
{
	bool is = a->type == b->type && a->rank == b->rank && array_count(a) == array_count(b);
	for (int64_t i = 0; is && i < array_count(a); i++)
		is = same_element(a, b, i);
	return is;
}

#endif
