/* Element types and their bytes (dtype.def is the table). */
#ifndef BASE_DTYPE_H
#define BASE_DTYPE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef enum DType {
	DT_NONE = 0, /* no type: an absent optional value */
#define DTYPE(NAME, text, onnx, class, bits) DT_##NAME = onnx,
#include "base/dtype.def"
#undef DTYPE
	DT_COUNT
} DType; /* the numbers are ONNX's TensorProto.DataType */

typedef enum DTypeClass { DC_NONE, DC_F, DC_I, DC_U, DC_B, DC_S, DC_X } DTypeClass;

typedef struct DTypeInfo {
	const char *name;
	DTypeClass class;
	int bits;
} DTypeInfo;

extern const DTypeInfo dtype_table[DT_COUNT];

const char *dtype_name(DType type); /* "f32" */
DType dtype_find(const char *name); /* DT_NONE when there is none of this name */

static inline DTypeClass
dtype_class(DType type)
{
	return (unsigned)type < DT_COUNT ? dtype_table[type].class : DC_NONE;
}

/* Of one element, 4 for i4. */
static inline int
dtype_bits(DType type)
{
	return (unsigned)type < DT_COUNT ? dtype_table[type].bits : 0;
}

/* f64 f32 f16 bf16 */
static inline bool
dtype_is_float(DType type)
{
	return dtype_class(type) == DC_F;
}

/* I or U, not bool, not storage. */
static inline bool
dtype_is_integer(DType type)
{
	return dtype_class(type) == DC_I || dtype_class(type) == DC_U;
}

static inline bool
dtype_is_signed(DType type)
{
	return dtype_class(type) == DC_I || dtype_class(type) == DC_F;
}

/* F, I, U or B */
static inline bool
dtype_is_arithmetic(DType type)
{
	return dtype_is_float(type) || dtype_is_integer(type) || dtype_class(type) == DC_B;
}

/* Bytes of `count` packed elements; false when it overflows or the type has no bytes. */
bool dtype_bytes(DType type, int64_t count, size_t *bytes);

/* One element of an arithmetic type as C holds it: float for f32, double for f64, bits for f16 and
 * bf16, int64_t/uint64_t for the others. */
typedef union Scalar {
	double f64;
	float f32;
	uint16_t bits16;
	int64_t i64;
	uint64_t u64;
} Scalar;

/* Element access by index, storage types unpacked to f32 or i32 values. `data` is packed. */
double dtype_load_f64(DType type, const void *data, int64_t index);
int64_t dtype_load_i64(DType type, const void *data, int64_t index);
void dtype_store_f64(DType type, void *data, int64_t index, double value); /* rounds, saturates */
void dtype_store_i64(DType type, void *data, int64_t index, int64_t value);

#endif
