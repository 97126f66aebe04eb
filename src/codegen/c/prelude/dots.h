/* Prelude K5: what four products of bytes in each lane add up to, and add to a sum: the dotus and
 * dotss of scalar.def. VNNI multiplies unsigned by signed bytes, so for two signed ones 128 is
 * added to the first, and 128 times the second taken off again: once for all lines of a tile that
 * share it. Else bytes are widened, even and odd ones apart, and multiplied in pairs, whose sums
 * fit: the pairs of bytes that x86 multiplies as they are (vpmaddubsw) saturate. Arm multiplies
 * signed bytes: of unsigned ones 128 is taken off first, and twice 64 times the second added.
 *
 * And sum + a * b of numbers that 16 bits hold, a (us) not negative: x86 multiplies them as pairs
 * of 16 bits, of which one factor's upper number is 0, in a third of the time of 32 bits.
 */
#if !TW_CUDA
#ifdef __AVX512VNNI__
#define TW_VNNI(call, pairs) call
#else
#define TW_VNNI(call, pairs) pairs
#endif
#ifdef __ARM_FEATURE_DOTPROD
#define TW_SDOT(each, dots) dots
#else
#define TW_SDOT(each, dots) each
#endif
#define TW_DOT_EACH(L, name) \
	TW_FN tw_i32x##L tw_dot##name##_add_u32x##L(tw_i32x##L sum, tw_u32x##L a, tw_u32x##L b) \
	{ \
		TW_EACH(L) sum[i] = (tw_i32)((tw_u32)sum[i] + (tw_u32)tw_dot##name##_u32(a[i], b[i])); \
		return sum; \
	}
#define TW_DOT_OF(L, name) \
	TW_FN tw_i32x##L tw_dot##name##_u32x##L(tw_u32x##L a, tw_u32x##L b) \
	{ \
		return tw_dot##name##_add_u32x##L((tw_i32x##L){0}, a, b); \
	}
#define TW_SHORT_SUM(L, name, call) \
	TW_FN tw_i32x##L tw_short##name##_add_i32x##L(tw_i32x##L sum, tw_i32x##L a, tw_i32x##L b) \
	{ \
		TW_GCC(return call, return sum + a * b); \
	}
#define TW_SHORT_SUMS(L, call) TW_SHORT_SUM(L, us, call) TW_SHORT_SUM(L, ss, call)
#if TW_X86_BYTES
/* Pairs of two bytes: H has twice the lanes, of 16 bits. */
#define TW_EVEN_us(H, a) ((H)((a) & 0x00FF00FFu))
#define TW_ODD_us(H, a) ((H)((a) >> 8 & 0x00FF00FFu))
#define TW_EVEN_ss(H, a) (((H)(a) << 8) >> 8)
#define TW_ODD_ss(H, a) ((H)(a) >> 8)
#define TW_PAIRS_16(a, b) __builtin_ia32_pmaddwd512_mask(a, b, (tw_i32x16){0}, -1)
#define TW_PAIRS_8(a, b) __builtin_ia32_pmaddwd256(a, b)
#define TW_PAIRS_4(a, b) __builtin_ia32_pmaddwd128(a, b)
#define TW_DOT_PAIRS(L, H, name) \
	(sum + TW_PAIRS_##L(TW_EVEN_##name(H, a), TW_EVEN_ss(H, b)) + \
	 TW_PAIRS_##L(TW_ODD_##name(H, a), TW_ODD_ss(H, b)))
#define TW_VNNI_us(L, call) call(sum, (tw_i32x##L)a, (tw_i32x##L)b)
#define TW_VNNI_ss(L, call) \
	(call(sum, (tw_i32x##L)(a ^ 0x80808080u), (tw_i32x##L)b) - \
	 call((tw_i32x##L){0}, (tw_i32x##L)((tw_u32x##L){0} + 0x80808080u), (tw_i32x##L)b))
#define TW_DOT_CPU(L, H, name, call) \
	TW_FN tw_i32x##L tw_dot##name##_add_u32x##L(tw_i32x##L sum, tw_u32x##L a, tw_u32x##L b) \
	{ \
		TW_GCC(return TW_VNNI(TW_VNNI_##name(L, call), TW_DOT_PAIRS(L, H, name)); \
		       , TW_EACH(L) sum[i] = \
		                 (tw_i32)((tw_u32)sum[i] + (tw_u32)tw_dot##name##_u32(a[i], b[i])); \
		       return sum;) \
	}
#define TW_SHORT_PAIRS(L, H, call) \
	TW_SHORT_SUM(L, us, TW_VNNI(call(sum, a, b), sum + TW_PAIRS_##L((H)a, (H)b))) \
	TW_SHORT_SUM(L, ss, \
	             TW_VNNI(call(sum, a, b & 0xFFFF), sum + TW_PAIRS_##L((H)a, (H)(b & 0xFFFF))))
typedef short tw_i16x32 __attribute__((vector_size(64)));
typedef short tw_h16 __attribute__((vector_size(32)));
typedef short tw_h8 __attribute__((vector_size(16)));
#endif
#if TW_X86_BYTES == 64
TW_DOT_CPU(16, tw_i16x32, us, __builtin_ia32_vpdpbusd_v16si)
TW_DOT_CPU(16, tw_i16x32, ss, __builtin_ia32_vpdpbusd_v16si)
TW_DOT_CPU(8, tw_h16, us, __builtin_ia32_vpdpbusd_v8si)
TW_DOT_CPU(8, tw_h16, ss, __builtin_ia32_vpdpbusd_v8si)
TW_SHORT_PAIRS(16, tw_i16x32, __builtin_ia32_vpdpwssd_v16si)
TW_SHORT_PAIRS(8, tw_h16, __builtin_ia32_vpdpwssd_v8si)
TW_SHORT_PAIRS(4, tw_h8, __builtin_ia32_vpdpwssd_v4si)
#elif TW_X86_BYTES == 32
TW_DOT_EACH(16, us)
TW_DOT_EACH(16, ss)
TW_SHORT_SUMS(16, sum + a * b)
TW_SHORT_PAIRS(8, tw_h16, __builtin_ia32_vpdpwssd_v8si)
TW_SHORT_PAIRS(4, tw_h8, __builtin_ia32_vpdpwssd_v4si)
TW_DOT_CPU(8, tw_h16, us, __builtin_ia32_vpdpbusd_v8si)
TW_DOT_CPU(8, tw_h16, ss, __builtin_ia32_vpdpbusd_v8si)
#else
TW_DOT_EACH(16, us)
TW_DOT_EACH(16, ss)
TW_DOT_EACH(8, us)
TW_DOT_EACH(8, ss)
TW_SHORT_SUMS(16, sum + a * b)
TW_SHORT_SUMS(8, sum + a * b)
TW_SHORT_SUMS(4, sum + a * b)
#endif
#define TW_SDOT_OF(a) __asm__("sdot %0.4s, %1.16b, %2.16b" : "+w"(sum) : "w"(a), "w"(b))
#define TW_DOT_ARM(name, dots) \
	TW_FN tw_i32x4 tw_dot##name##_add_u32x4(tw_i32x4 sum, tw_u32x4 a, tw_u32x4 b) \
	{ \
		TW_SDOT(TW_EACH(4) sum[i] = \
		            (tw_i32)((tw_u32)sum[i] + (tw_u32)tw_dot##name##_u32(a[i], b[i])); \
		        , dots) \
		return sum; \
	}
TW_DOT_ARM(ss, TW_SDOT_OF(a);)
TW_DOT_ARM(us, tw_u32x4 half = (tw_u32x4){0} + 0x40404040u; TW_SDOT_OF(a ^ 0x80808080u);
           TW_SDOT_OF(half); TW_SDOT_OF(half);)
TW_DOT_OF(16, us)
TW_DOT_OF(16, ss)
TW_DOT_OF(8, us)
TW_DOT_OF(8, ss)
TW_DOT_OF(4, us)
TW_DOT_OF(4, ss)
#endif
