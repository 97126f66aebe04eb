/* Element types: the table dtype.def as functions, and access to packed elements. */
#include "base/dtype.h"

#include <math.h>
#include <string.h>

#include "base/half.h"

const DTypeInfo dtype_table[DT_COUNT] = {
	[DT_NONE] = {"none", DC_NONE, 0},
#define DTYPE(NAME, text, onnx, class, bits) [DT_##NAME] = {text, DC_##class, bits},
#include "base/dtype.def"
#undef DTYPE
};

const char *
dtype_name(DType type)
{
	return (unsigned)type < DT_COUNT ? dtype_table[type].name : "unknown";
}

DType
dtype_find(const char *name)
{
	for (int type = 1; type < DT_COUNT; type++)
		if (strcmp(dtype_table[type].name, name) == 0)
			return (DType)type;
	return DT_NONE;
}

bool
dtype_is_among(DType type, const char *list)
{
	const char *name = dtype_name(type);
	size_t length = strlen(name);
	while (*list) {
		size_t each = strcspn(list, "|");
		if (each == length && strncmp(list, name, length) == 0)
			return true;
		list += each + (list[each] == '|');
	}
	return false;
}

FloatRange
dtype_float_range(DType type)
{
	return type == DT_F16    ? (FloatRange){11, 0x1p-14, 65504}
	       : type == DT_BF16 ? (FloatRange){8, 0x1p-126, 0x1.fep127}
	       : type == DT_F32  ? (FloatRange){24, 0x1p-126, 0x1.fffffep127}
	                         : (FloatRange){53, 0x1p-1022, 0x1.fffffffffffffp1023};
}

bool
dtype_bytes(DType type, int64_t count, size_t *bytes)
{
	int bits = dtype_bits(type);
	int64_t total;
	if (bits == 0 || count < 0 || __builtin_mul_overflow(count, (int64_t)bits, &total) ||
	    total > INT64_MAX - 7)
		return false;
	*bytes = (size_t)((total + 7) / 8);
	return true;
}

/* An element of less than a byte: the first is in the lowest bits. */
static unsigned
load_bits(DType type, const void *data, int64_t index)
{
	int bits = dtype_bits(type), per_byte = 8 / bits;
	unsigned byte = ((const unsigned char *)data)[index / per_byte];
	return byte >> (index % per_byte * bits) & ((1u << bits) - 1);
}

static void
store_bits(DType type, void *data, int64_t index, unsigned value)
{
	int bits = dtype_bits(type), per_byte = 8 / bits;
	int shift = (int)(index % per_byte) * bits;
	unsigned mask = ((1u << bits) - 1) << shift;
	unsigned char *byte = (unsigned char *)data + index / per_byte;
	*byte = (unsigned char)((*byte & ~mask) | (value << shift & mask));
}

/* Types that are C types, and the float8 forms with their conversions. */
#define INTEGERS(ROW) \
	ROW(U8, uint8_t) \
	ROW(I8, int8_t) \
	ROW(U16, uint16_t) \
	ROW(I16, int16_t) \
	ROW(I32, int32_t) \
	ROW(I64, int64_t) \
	ROW(U32, uint32_t) \
	ROW(U64, uint64_t)

#define FLOATS8(ROW) \
	ROW(F8E4M3FN, f8e4m3fn) \
	ROW(F8E4M3FNUZ, f8e4m3fnuz) \
	ROW(F8E5M2, f8e5m2) \
	ROW(F8E5M2FNUZ, f8e5m2fnuz)

/* A float: rounds towards zero, saturates, NaN is 0. `least` and `most` are of the target. */
static int64_t
saturate_i64(double value, int64_t least, int64_t most)
{
	if (isnan(value))
		return 0;
	if (value <= (double)least)
		return least;
	return value >= (double)most ? most : (int64_t)value;
}

static uint64_t
saturate_u64(double value)
{
	if (!(value > 0))
		return 0;
	return value >= 0x1p64 ? UINT64_MAX : (uint64_t)value;
}

/* The value as an integer of `bits` bits, signed or not, rounded towards zero and saturated. */
static uint64_t
saturate(DType type, double value)
{
	int bits = dtype_bits(type);
	bool is_signed = type == DT_I4 || type == DT_I2 || dtype_is_signed(type);
	if (!is_signed && bits == 64)
		return saturate_u64(value);
	int64_t most = is_signed ? INT64_MAX >> (64 - bits) : (int64_t)((1ull << bits) - 1);
	return (uint64_t)saturate_i64(value, is_signed ? -most - 1 : 0, most);
}

double
dtype_load_f64(DType type, const void *data, int64_t index)
{
	const unsigned char *bytes = data;
	switch (type) {
	case DT_F64: {
		double value;
		memcpy(&value, bytes + index * 8, sizeof value);
		return value;
	}
	case DT_F32: {
		float value;
		memcpy(&value, bytes + index * 4, sizeof value);
		return (double)value;
	}
	case DT_F16:
	case DT_BF16: {
		uint16_t bits;
		memcpy(&bits, bytes + index * 2, sizeof bits);
		return (double)(type == DT_F16 ? f16_to_f32(bits) : bf16_to_f32(bits));
	}
#define ROW(NAME, name) \
	case DT_##NAME: \
		return (double)name##_to_f32(bytes[index]);
		FLOATS8(ROW)
		ROW(F8E8M0, f8e8m0)
#undef ROW
	case DT_F4E2M1:
		return (double)f4e2m1_to_f32((uint8_t)load_bits(type, data, index));
	case DT_U64:
		return (double)(uint64_t)dtype_load_i64(type, data, index);
	default:
		return (double)dtype_load_i64(type, data, index);
	}
}

int64_t
dtype_load_i64(DType type, const void *data, int64_t index)
{
	switch (type) {
#define ROW(NAME, ctype) \
	case DT_##NAME: { \
		ctype value; \
		memcpy(&value, (const char *)data + index * (int64_t)sizeof value, sizeof value); \
		return (int64_t)value; \
	}
		INTEGERS(ROW)
#undef ROW
	case DT_BOOL:
		return ((const unsigned char *)data)[index] != 0;
	case DT_U4:
	case DT_U2:
		return load_bits(type, data, index);
	case DT_I4:
	case DT_I2: {
		int64_t value = load_bits(type, data, index);
		int64_t half = 1 << (dtype_bits(type) - 1);
		return (value ^ half) - half;
	}
	case DT_NONE:
	case DT_STRING:
	case DT_C64:
	case DT_C128:
	case DT_COUNT:
		return 0;
	default:
		return saturate_i64(dtype_load_f64(type, data, index), INT64_MIN, INT64_MAX);
	}
}

void
dtype_store_f64(DType type, void *data, int64_t index, double value)
{
	unsigned char *bytes = data;
	switch (type) {
	case DT_F64:
		memcpy(bytes + index * 8, &value, sizeof value);
		return;
	case DT_F32: {
		float narrow = (float)value;
		memcpy(bytes + index * 4, &narrow, sizeof narrow);
		return;
	}
	case DT_F16:
	case DT_BF16: {
		uint16_t bits = type == DT_F16 ? f64_to_f16(value) : f64_to_bf16(value);
		memcpy(bytes + index * 2, &bits, sizeof bits);
		return;
	}
#define ROW(NAME, name) \
	case DT_##NAME: \
		bytes[index] = f32_to_##name((float)value, true); \
		return;
		FLOATS8(ROW)
#undef ROW
	case DT_F8E8M0:
		bytes[index] = f32_to_f8e8m0((float)value, true, 0);
		return;
	case DT_F4E2M1:
		store_bits(type, data, index, f32_to_f4e2m1((float)value));
		return;
	case DT_BOOL:
		bytes[index] = value != 0;
		return;
	default:
		dtype_store_i64(type, data, index, (int64_t)saturate(type, value));
	}
}

void
dtype_store_i64(DType type, void *data, int64_t index, int64_t value)
{
	switch (type) {
#define ROW(NAME, ctype) \
	case DT_##NAME: { \
		ctype narrow = (ctype)value; \
		memcpy((char *)data + index * (int64_t)sizeof narrow, &narrow, sizeof narrow); \
		return; \
	}
		INTEGERS(ROW)
#undef ROW
	case DT_BOOL:
		((unsigned char *)data)[index] = value != 0;
		return;
	case DT_U4:
	case DT_I4:
	case DT_U2:
	case DT_I2:
		store_bits(type, data, index, (unsigned)value);
		return;
	case DT_NONE:
	case DT_STRING:
	case DT_C64:
	case DT_C128:
	case DT_COUNT:
		return;
	default:
		dtype_store_f64(type, data, index, (double)value);
	}
}
