/* Prelude K4: vectors of f16, as their bits in lanes of 4 bytes, to f32 and back: exact one way,
 * half to even the other.
 */
#if !TW_CUDA
#define TW_F16_LOOP(L) \
	TW_FN tw_f32x##L tw_f32_of_f16x##L(tw_u32x##L h) \
	{ \
		tw_f32x##L v; \
		TW_EACH(L) v[i] = tw_f32_of_f16((tw_u16)h[i]); \
		return v; \
	} \
	TW_FN tw_u32x##L tw_f16_of_f32x##L(tw_f32x##L x) \
	{ \
		tw_u32x##L v; \
		TW_EACH(L) v[i] = tw_f16_of_f32(x[i]); \
		return v; \
	} \
	TW_FN tw_f32x##L tw_round_f16x##L(tw_f32x##L x) \
	{ \
		return tw_f32_of_f16x##L(tw_f16_of_f32x##L(x)); \
	}
#define TW_F16(L, wide, cut, round) \
	TW_FN tw_f32x##L tw_f32_of_f16x##L(tw_u32x##L h) \
	{ \
		tw_f32x##L v; \
		TW_GCC(v = wide, TW_EACH(L) v[i] = tw_f32_of_f16((tw_u16)h[i])); \
		return v; \
	} \
	TW_FN tw_u32x##L tw_f16_of_f32x##L(tw_f32x##L x) \
	{ \
		tw_u32x##L v; \
		TW_GCC(v = (tw_u32x##L)cut, TW_EACH(L) v[i] = tw_f16_of_f32(x[i])); \
		return v; \
	} \
	TW_FN tw_f32x##L tw_round_f16x##L(tw_f32x##L x) \
	{ \
		TW_GCC(return round, TW_EACH(L) x[i] = tw_f32_of_f16(tw_f16_of_f32(x[i])); return x); \
	}
#if TW_X86_BYTES == 64
#define TW_CVT_16(x) __builtin_ia32_vcvtps2ph512_mask(x, 0, (tw_v16hi){0}, -1)
#define TW_CVT_8(x) __builtin_ia32_vcvtps2ph256(x, 0)
TW_F16(16, __builtin_ia32_vcvtph2ps512_mask(TW_CUT_x2x16(h), (tw_f32x16){0}, -1, 4),
       TW_WIDEN_u16x16(TW_CVT_16(x)),
       __builtin_ia32_vcvtph2ps512_mask(TW_CVT_16(x), (tw_f32x16){0}, -1, 4))
TW_F16(8, __builtin_ia32_vcvtph2ps256(TW_CUT_x2x8(h)),
       TW_WIDEN_u16x8(TW_CVT_8(x)), __builtin_ia32_vcvtph2ps256(TW_CVT_8(x)))
#elif TW_X86_BYTES == 32
TW_F16_LOOP(16)
typedef short tw_v8hi __attribute__((vector_size(16)));
TW_F16(8, __builtin_ia32_vcvtph2ps256((tw_v8hi)__builtin_convertvector(h, tw_u16x8)),
       __builtin_convertvector((tw_u16x8)__builtin_ia32_vcvtps2ph256(x, 0), tw_u32x8),
       __builtin_ia32_vcvtph2ps256(__builtin_ia32_vcvtps2ph256(x, 0)))
#else
TW_F16_LOOP(16)
TW_F16_LOOP(8)
#endif
TW_F16_LOOP(4)
TW_F16_LOOP(2)
#endif
