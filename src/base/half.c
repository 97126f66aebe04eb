/* Short floats by one rule: every narrow format is (mantissa bits, exponent bias), and narrowing
 * starts from the bits of a double, which hold every f32 exactly. So a value is rounded once, and
 * a carry out of the mantissa moves into the exponent by plain addition:
 *
 *     code = ((exponent + bias - 1) << mantissa) + rounded significand      (hidden bit included)
 *
 * Subnormal results have exponent 1 - bias and no hidden bit, and the same sum is right for them.
 */
#include "base/half.h"

#include <string.h>

static uint64_t
double_bits(double value)
{
	uint64_t bits;
	memcpy(&bits, &value, sizeof bits);
	return bits;
}

static float
float_of(uint32_t bits)
{
	float value;
	memcpy(&value, &bits, sizeof value);
	return value;
}

enum { DOUBLE_NAN = 0x7FF };

static bool
is_nan_bits(uint64_t bits)
{
	return (bits << 1) > (uint64_t)DOUBLE_NAN << 53;
}

/* Nearest code, ties to even, of a double given by its bits (sign ignored, not NaN). Codes beyond
 * the largest finite one mean overflow; infinity gives a very large code. */
static uint32_t
narrow(uint64_t bits, int mantissa, int bias)
{
	int exponent = (int)(bits >> 52 & 0x7FF) - 1023;
	uint64_t significand = (bits & ((1ull << 52) - 1)) | 1ull << 52;
	if (exponent == -1023)
		return 0; /* zero, or a subnormal double: far below half of any format's least value */
	if (exponent > 256)
		return UINT32_MAX;
	int shift = 52 - mantissa;
	if (exponent < 1 - bias) {
		shift += 1 - bias - exponent;
		exponent = 1 - bias;
	}
	if (shift > 53)
		return 0; /* less than half of the least value */
	uint64_t rounded = significand >> shift;
	uint64_t rest = significand & ((1ull << shift) - 1), half = 1ull << (shift - 1);
	rounded += rest > half || (rest == half && (rounded & 1));
	return ((uint32_t)(exponent + bias - 1) << mantissa) + (uint32_t)rounded;
}

/* The value of a finite code without sign. Not for bf16, whose least values are f32 subnormals. */
static float
widen(uint32_t code, int mantissa, int bias)
{
	uint32_t exponent = code >> mantissa, fraction = code & ((1u << mantissa) - 1);
	if (exponent == 0)
		return (float)fraction * float_of((uint32_t)(1 - bias - mantissa + 127) << 23);
	return float_of((uint32_t)((int)exponent - bias + 127) << 23 | fraction << (23 - mantissa));
}

/* To a format with infinities and NaNs as IEEE has them; a NaN keeps its leading bits. */
static uint16_t
narrow_ieee(double value, int mantissa, int exponent_bits)
{
	uint64_t bits = double_bits(value);
	int bias = (1 << (exponent_bits - 1)) - 1;
	uint32_t infinity = ((1u << exponent_bits) - 1) << mantissa;
	uint32_t sign = (uint32_t)(bits >> 63) << (mantissa + exponent_bits);
	if (is_nan_bits(bits)) {
		uint64_t payload = (bits & ((1ull << 52) - 1)) >> (52 - mantissa);
		return (uint16_t)(sign | infinity | 1u << (mantissa - 1) | payload);
	}
	uint32_t code = narrow(bits, mantissa, bias);
	return (uint16_t)(sign | (code < infinity ? code : infinity));
}

uint16_t
f64_to_f16(double value)
{
	return narrow_ieee(value, 10, 5);
}

float
f16_to_f32(uint16_t bits)
{
	uint32_t sign = (uint32_t)(bits >> 15) << 31, code = bits & 0x7FFF;
	if (code >= 0x7C00)
		return float_of(sign | 0x7F800000 | (code & 0x3FF) << 13);
	float value = widen(code, 10, 15);
	return sign ? -value : value;
}

uint16_t
f64_to_bf16(double value)
{
	return narrow_ieee(value, 7, 8);
}

float
bf16_to_f32(uint16_t bits)
{
	return float_of((uint32_t)bits << 16);
}

/* The float8 forms of ONNX (technical/float8 in its docs): where they differ. */
typedef struct Float8 {
	int mantissa, bias;
	uint8_t largest;  /* code of the largest finite value */
	uint8_t nan;      /* written with the sign in front, except in the FNUZ forms */
	uint8_t infinity; /* 0 when there is none */
	bool is_fnuz;     /* one zero, one NaN (0x80) */
} Float8;

static uint8_t
narrow8(float value, bool saturate, const Float8 *form)
{
	uint64_t bits = double_bits((double)value);
	uint8_t sign = bits >> 63 ? 0x80 : 0;
	uint8_t nan = form->nan | (form->is_fnuz ? 0 : sign);
	if (is_nan_bits(bits))
		return nan;
	uint32_t code = narrow(bits, form->mantissa, form->bias);
	if (code > form->largest && saturate)
		return sign | form->largest;
	if (code > form->largest)
		return form->infinity ? sign | form->infinity : nan;
	if (code == 0 && form->is_fnuz)
		return 0;
	return sign | (uint8_t)code;
}

static float
widen8(uint8_t bits, const Float8 *form)
{
	uint32_t sign = (uint32_t)(bits >> 7) << 31;
	uint8_t code = bits & 0x7F;
	if (form->infinity && code == form->infinity)
		return float_of(sign | 0x7F800000);
	if (form->is_fnuz ? bits == form->nan : code > form->largest)
		return float_of((form->is_fnuz ? 0 : sign) | 0x7FC00000);
	float value = widen(code, form->mantissa, form->bias);
	return sign ? -value : value;
}

#define FLOAT8(name, ...) \
	static const Float8 name = {__VA_ARGS__}; \
	float name##_to_f32(uint8_t bits) \
	{ \
		return widen8(bits, &name); \
	} \
	uint8_t f32_to_##name(float value, bool saturate) \
	{ \
		return narrow8(value, saturate, &name); \
	}

FLOAT8(f8e4m3fn, 3, 7, 0x7E, 0x7F, 0, false)
FLOAT8(f8e4m3fnuz, 3, 8, 0x7F, 0x80, 0, true)
FLOAT8(f8e5m2, 2, 15, 0x7B, 0x7E, 0x7C, false)
FLOAT8(f8e5m2fnuz, 2, 16, 0x7F, 0x80, 0, true)

float
f4e2m1_to_f32(uint8_t nibble)
{
	float value = widen(nibble & 7, 1, 1);
	return nibble & 8 ? -value : value;
}

/* There is no NaN: it becomes -0, as in ONNX's test data. */
uint8_t
f32_to_f4e2m1(float value)
{
	uint64_t bits = double_bits((double)value);
	if (is_nan_bits(bits))
		return 8;
	uint32_t code = narrow(bits, 1, 1);
	return (uint8_t)((bits >> 63) << 3 | (code < 7 ? code : 7));
}

float
f8e8m0_to_f32(uint8_t bits)
{
	if (bits == 0xFF)
		return float_of(0x7FC00000);
	return float_of(bits ? (uint32_t)bits << 23 : 1u << 22);
}

/* As ONNX's own conversion: the sign is dropped, zero becomes the least value, NaN and infinities
 * NaN; `nearest` compares fractions, with ties going up (down only from a subnormal). */
uint8_t
f32_to_f8e8m0(float value, bool saturate, int mode)
{
	uint32_t bits;
	memcpy(&bits, &value, sizeof bits);
	uint32_t exponent = bits >> 23 & 0xFF, fraction = bits & 0x7FFFFF, half = 0x400000;
	if (exponent == 0xFF)
		return 0xFF;
	bool is_up = mode == 0   ? fraction > 0
	             : mode == 2 ? fraction > half || (fraction == half && exponent > 0)
	                         : false;
	if (is_up && !(saturate && exponent == 0xFE))
		exponent++;
	return (uint8_t)exponent;
}
