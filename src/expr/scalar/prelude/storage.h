/* Prelude 3b: storage types, held as codes in a tw_u8. base/half.h says what each format is; a test
 * holds both to the same codes. Wider sources come through tw_f32_odd_of_f64, so that they are
 * rounded once.
 */

/* Nearest code of a f32 given by its bits, ties to even, without sign; huge when out of range. */
TW_FN tw_u32
tw_narrow(tw_u32 bits, int mantissa, int bias)
{
	int exponent = (int)(bits >> 23 & 0xFF) - 127, shift = 23 - mantissa;
	tw_u32 significand = (bits & 0x7FFFFF) | 0x800000;
	if (exponent == -127)
		return 0;
	if (exponent == 128)
		return 0xFFFFFFFFu;
	if (exponent < 1 - bias) {
		shift += 1 - bias - exponent;
		exponent = 1 - bias;
	}
	if (shift > 24)
		return 0;
	tw_u32 rounded = significand >> shift, rest = significand & ((1u << shift) - 1);
	tw_u32 half = 1u << (shift - 1);
	rounded += rest > half || (rest == half && (rounded & 1));
	return ((tw_u32)(exponent + bias - 1) << mantissa) + rounded;
}

TW_FN tw_f32
tw_widen(tw_u32 code, int mantissa, int bias)
{
	tw_u32 exponent = code >> mantissa, fraction = code & ((1u << mantissa) - 1);
	if (exponent == 0)
		return (tw_f32)fraction * tw_float_f32((tw_u32)(1 - bias - mantissa + 127) << 23);
	return tw_float_f32((tw_u32)((int)exponent - bias + 127) << 23 | fraction << (23 - mantissa));
}

/* largest: code of the largest finite value; infinity: 0 when there is none; fnuz: one zero, one
 * NaN (0x80). */
#define TW_FLOAT8(name, mantissa, bias, largest, nan, infinity, fnuz) \
	TW_FN tw_u8 tw_##name##_of_f32(tw_f32 x, int saturate) \
	{ \
		tw_u32 bits = tw_bits_f32(x), sign = bits >> 24 & 0x80; \
		tw_u32 nan_code = fnuz ? nan : nan | sign; \
		if (x != x) \
			return (tw_u8)nan_code; \
		tw_u32 code = tw_narrow(bits & 0x7FFFFFFF, mantissa, bias); \
		if (code > largest) \
			return (tw_u8)(saturate ? sign | largest : infinity ? sign | infinity : nan_code); \
		return (tw_u8)(code == 0 && fnuz ? 0 : sign | code); \
	} \
	TW_FN tw_f32 tw_f32_of_##name(tw_u8 bits) \
	{ \
		tw_u32 sign = (tw_u32)(bits >> 7) << 31, code = bits & 0x7F; \
		if (infinity && code == infinity) \
			return tw_float_f32(sign | 0x7F800000u); \
		if (fnuz ? bits == nan : code > largest) \
			return tw_float_f32((fnuz ? 0 : sign) | 0x7FC00000u); \
		return tw_float_f32(tw_bits_f32(tw_widen(code, mantissa, bias)) | sign); \
	}

TW_FLOAT8(f8e4m3fn, 3, 7, 0x7Eu, 0x7Fu, 0u, 0)
TW_FLOAT8(f8e4m3fnuz, 3, 8, 0x7Fu, 0x80u, 0u, 1)
TW_FLOAT8(f8e5m2, 2, 15, 0x7Bu, 0x7Eu, 0x7Cu, 0)
TW_FLOAT8(f8e5m2fnuz, 2, 16, 0x7Fu, 0x80u, 0u, 1)

/* No NaN here: it becomes -0. */
TW_FN tw_u8
tw_f4e2m1_of_f32(tw_f32 x)
{
	tw_u32 bits = tw_bits_f32(x), code = tw_narrow(bits & 0x7FFFFFFF, 1, 1);
	return x != x ? 8 : (tw_u8)(bits >> 31 << 3 | (code < 7 ? code : 7));
}

TW_FN tw_f32
tw_f32_of_f4e2m1(tw_u8 code)
{
	tw_u32 sign = (tw_u32)(code & 8) << 28;
	return tw_float_f32(tw_bits_f32(tw_widen(code & 7, 1, 1)) | sign);
}

/* mode: 0 up, 1 down, 2 nearest */
TW_FN tw_u8
tw_f8e8m0_of_f32(tw_f32 x, int saturate, int mode)
{
	tw_u32 bits = tw_bits_f32(x), exponent = bits >> 23 & 0xFF, fraction = bits & 0x7FFFFF;
	if (exponent == 0xFF)
		return 0xFF;
	int is_up = mode == 0   ? fraction > 0
	            : mode == 2 ? fraction > 0x400000 || (fraction == 0x400000 && exponent > 0)
	                        : 0;
	return (tw_u8)(exponent + (is_up && !(saturate && exponent == 0xFE)));
}

TW_FN tw_f32
tw_f32_of_f8e8m0(tw_u8 code)
{
	return tw_float_f32(code == 0xFF ? 0x7FC00000u : code ? (tw_u32)code << 23 : 1u << 22);
}

/* Small integers: from floats truncated and saturated, from integers wrapped. */
#define TW_SMALL(name, bits, lowest, highest) \
	TW_FN tw_u8 tw_##name##_of_i32(tw_i32 x) { return (tw_u8)((tw_u32)x & ((1u << bits) - 1)); } \
	TW_FN tw_u8 tw_##name##_of_f32(tw_f32 x) \
	{ \
		tw_i32 whole = tw_i32_of_f32(x); \
		return tw_##name##_of_i32(whole < lowest ? lowest : whole > highest ? highest : whole); \
	} \
	TW_FN tw_i32 tw_i32_of_##name(tw_u8 code) \
	{ \
		return lowest < 0 ? (tw_i32)(code ^ (1 << (bits - 1))) - (1 << (bits - 1)) : (tw_i32)code; \
	}

TW_SMALL(i4, 4, -8, 7)
TW_SMALL(u4, 4, 0, 15)
TW_SMALL(i2, 2, -2, 1)
TW_SMALL(u2, 2, 0, 3)
