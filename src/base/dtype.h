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

const char *dtype_name(DType type);                /* "f32" */
DType dtype_find(const char *name);                /* DT_NONE when there is none of this name */
bool dtype_is_among(DType type, const char *list); /* of names: "u8|i8" */

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

/* An integer of 8 bits. */
static inline bool
dtype_is_byte(DType type)
{
	return type == DT_I8 || type == DT_U8;
}

/* f16 bf16: stored so, computed through f32 */
static inline bool
dtype_is_short_float(DType type)
{
	return type == DT_F16 || type == DT_BF16;
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

/* Storage of 2 or 4 bits that are whole numbers. */
static inline bool
dtype_is_code_integer(DType type)
{
	return type == DT_I4 || type == DT_U4 || type == DT_I2 || type == DT_U2;
}

/* Whole numbers of at most 8 bits: what quantised numbers are stored as. */
static inline bool
dtype_is_code(DType type)
{
	return dtype_is_byte(type) || dtype_is_code_integer(type);
}

/* F, I, U or B */
static inline bool
dtype_is_arithmetic(DType type)
{
	return dtype_is_float(type) || dtype_is_integer(type) || dtype_class(type) == DC_B;
}

/* What a float holds: binary digits, the least number with all of them, the largest. */
typedef struct FloatRange {
	int digits;
	double least, most;
} FloatRange;

FloatRange dtype_float_range(DType type); /* of a float */

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

/* Names of blocked storage: letters stand for dims, in order, and a number behind one is its block.
 *
 *     "nc16hw":  element [n,c,h,w] lies at [n, c/16, h, w, c%16]
 *     "o16ihw":  element [o,i,h,w] lies at [o/16, i, h, w, o%16]
 */

/* The block of a layout; 0 for NULL and for unblocked ones. */
int64_t layout_block(const char *layout);

/* The dim that is blocked; -1 where none is. */
int layout_dim(const char *layout);

#endif
