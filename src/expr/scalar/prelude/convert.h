/* Prelude 3: conversions. Names read tw_TO_of_FROM. Float to integer truncates and saturates, NaN
 * becomes 0. f16 and bf16 are held as their bits (tw_u16) and rounded once, to even, also from f64
 * and from 64-bit integers: what f32 cannot hold goes through a step that keeps a sticky last bit
 * (round to odd), which makes the second rounding exact. A GPU has an instruction for f16 and for
 * bf16 of f32, CPUs that have F16C or are Arm's one for f16.
 */
#define TW_SATURATE(F, f, T, name, lowest, highest, below, above) \
	TW_FN T tw_##name##_of_##f(F x) \
	{ \
		return x >= above ? highest : x > below ? (T)x : x == x ? lowest : (T)0; \
	}
/* `above`: the least float out of range; `below`: at or under it the result is the lowest. */
#define TW_SATURATE_ALL(F, f, below32) \
	TW_SATURATE(F, f, tw_i8, i8, -128, 127, (F)-129, (F)128) \
	TW_SATURATE(F, f, tw_i16, i16, -32768, 32767, (F)-32769, (F)32768) \
	TW_SATURATE(F, f, tw_i32, i32, -2147483647 - 1, 2147483647, (F)below32, (F)2147483648.0) \
	TW_SATURATE(F, f, tw_i64, i64, -9223372036854775807ll - 1, 9223372036854775807ll, \
	            (F)-9223372036854775808.0, (F)9223372036854775808.0) \
	TW_SATURATE(F, f, tw_u8, u8, 0, 255, (F)-1, (F)256) \
	TW_SATURATE(F, f, tw_u16, u16, 0, 65535, (F)-1, (F)65536) \
	TW_SATURATE(F, f, tw_u32, u32, 0, 4294967295u, (F)-1, (F)4294967296.0) \
	TW_SATURATE(F, f, tw_u64, u64, 0, 18446744073709551615ull, (F)-1, (F)18446744073709551616.0)

TW_SATURATE_ALL(tw_f32, f32, -2147483648.0)
TW_SATURATE_ALL(tw_f64, f64, -2147483649.0)

/* f64 to f32 rounded to odd: inexact results get a last bit of 1. */
TW_FN tw_f32
tw_f32_odd_of_f64(tw_f64 x)
{
	tw_f32 near = (tw_f32)x;
	tw_f64 back = (tw_f64)near;
	tw_u32 bits = tw_bits_f32(near);
	if (back == x || x != x || (bits & 1))
		return near;
	tw_f64 size = x < 0 ? -x : x, back_size = back < 0 ? -back : back;
	return tw_float_f32(back_size > size ? bits - 1 : bits + 1);
}

TW_FN tw_f64
tw_f64_odd_of_u64(tw_u64 x)
{
	if (x >> 53)
		x = (x >> 11 | ((x & 0x7FF) != 0)) << 11;
	return (tw_f64)x;
}

TW_FN tw_f32
tw_f32_of_f16(tw_u16 h)
{
#if TW_CUDA
#ifdef __CUDA_ARCH__
	tw_f32 x;
	asm("cvt.f32.f16 %0, %1;" : "=f"(x) : "h"(h));
	return x;
#endif
#endif
#ifdef __F16C__
	typedef short tw_halves __attribute__((vector_size(16)));
	typedef tw_f32 tw_floats __attribute__((vector_size(16)));
	tw_floats v = __builtin_ia32_vcvtph2ps((tw_halves){(short)h});
	return v[0];
#elif defined __ARM_FP16_FORMAT_IEEE
	__fp16 x;
	__builtin_memcpy(&x, &h, sizeof x);
	return (tw_f32)x;
#endif
	tw_u32 sign = (tw_u32)(h & 0x8000) << 16, code = h & 0x7FFF;
	/* exponent bias 15 to 127 by an exact product, right for subnormals too */
	tw_f32 value = tw_float_f32(code << 13) * 0x1p112f;
	tw_u32 special = code >= 0x7C00 ? 0x7F800000u : 0;
	return tw_float_f32(tw_bits_f32(value) | special | sign);
}

TW_FN tw_u16
tw_f16_of_f32(tw_f32 x)
{
#if TW_CUDA
#ifdef __CUDA_ARCH__
	tw_u16 h;
	asm("cvt.rn.f16.f32 %0, %1;" : "=h"(h) : "f"(x));
	return h;
#endif
#endif
#ifdef __F16C__
	typedef short tw_halves __attribute__((vector_size(16)));
	typedef tw_f32 tw_floats __attribute__((vector_size(16)));
	tw_halves v = __builtin_ia32_vcvtps2ph((tw_floats){x}, 0);
	return (tw_u16)v[0];
#elif defined __ARM_FP16_FORMAT_IEEE
	__fp16 near = (__fp16)x;
	tw_u16 h;
	__builtin_memcpy(&h, &near, sizeof h);
	return h;
#endif
	tw_u32 bits = tw_bits_f32(x), sign = bits >> 16 & 0x8000, size = bits & 0x7FFFFFFF;
	/* normal: rebias, round half to even by addition; a carry moves into the exponent */
	tw_u32 normal = (size - 0x38000000 + 0xFFF + (size >> 13 & 1)) >> 13;
	/* subnormal: the addition of 0.5 rounds at bit 2^-24 */
	tw_u32 small = tw_bits_f32(tw_float_f32(size) + 0.5f) - 0x3F000000;
	tw_u32 nan = 0x7E00 | (size >> 13 & 0x3FF);
	tw_u32 code = size > 0x7F800000   ? nan
	              : size >= 0x477FF000 ? 0x7C00
	              : size < 0x38800000  ? small
	                                   : normal;
	return (tw_u16)(sign | code);
}

TW_FN tw_f32
tw_f32_of_bf16(tw_u16 h)
{
	return tw_float_f32((tw_u32)h << 16);
}

TW_FN tw_u16
tw_bf16_of_f32(tw_f32 x)
{
#if TW_CUDA
#if __CUDA_ARCH__ >= 800
	tw_u16 h;
	asm("cvt.rn.bf16.f32 %0, %1;" : "=h"(h) : "f"(x));
	return h;
#endif
#endif
	tw_u32 bits = tw_bits_f32(x);
	tw_u32 rounded = bits + 0x7FFF + (bits >> 16 & 1);
	return (tw_u16)((bits & 0x7FFFFFFF) > 0x7F800000 ? bits >> 16 | 0x40 : rounded >> 16);
}

#define TW_SHORT(name) \
	TW_FN tw_u16 tw_##name##_of_f64(tw_f64 x) \
	{ \
		return tw_##name##_of_f32(tw_f32_odd_of_f64(x)); \
	} \
	TW_FN tw_u16 tw_##name##_of_u64(tw_u64 x) { return tw_##name##_of_f64(tw_f64_odd_of_u64(x)); } \
	TW_FN tw_u16 tw_##name##_of_i64(tw_i64 x) \
	{ \
		tw_f64 size = tw_f64_odd_of_u64(x < 0 ? 0 - (tw_u64)x : (tw_u64)x); \
		return tw_##name##_of_f64(x < 0 ? -size : size); \
	} \
	TW_FN tw_f64 tw_f64_of_##name(tw_u16 h) { return (tw_f64)tw_f32_of_##name(h); }

TW_SHORT(f16)
TW_SHORT(bf16)
