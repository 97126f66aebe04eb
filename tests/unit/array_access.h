/* Elements of arrays as Scalars, for evaluators written in tests. */
#ifndef UNIT_ARRAY_ACCESS_H
#define UNIT_ARRAY_ACCESS_H

#include "base/array.h"

static inline Scalar
array_load(const Array *array, int64_t at)
{
	Scalar value = {.u64 = 0};
	if (array->type == DT_F64)
		value.f64 = ((double *)array->data)[at];
	else if (array->type == DT_F32)
		value.f32 = ((float *)array->data)[at];
	else if (dtype_is_float(array->type))
		value.bits16 = ((uint16_t *)array->data)[at];
	else
		value.i64 = dtype_load_i64(array->type, array->data, at);
	return value;
}

static inline void
array_store(Array *array, int64_t at, Scalar value)
{
	if (array->type == DT_F64)
		((double *)array->data)[at] = value.f64;
	else if (array->type == DT_F32)
		((float *)array->data)[at] = value.f32;
	else if (dtype_is_float(array->type))
		((uint16_t *)array->data)[at] = value.bits16;
	else
		dtype_store_i64(array->type, array->data, at, value.i64);
}

#endif
