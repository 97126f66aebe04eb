/* Prelude 4: one text for scalars and vectors. Before it stand
 *
 *     #define TW_WIDTH 32      32 or 64: the floats' width
 *     #define TW_LANES 16      0 for scalars, else the number of lanes
 *
 * and after it float.h, math64.h or math32.h, lanes_close.h. Functions are named tw_exp_f32,
 * tw_exp_f64x8. Everything is branch-free: TW_SEL(mask, a, b) chooses lane by lane. math32.h needs
 * the f64 functions of half the lanes (of a scalar: the scalar ones) before it.
 */
#define TW_JOIN_(a, b, c) tw_##a##_##b##c
#define TW_JOIN(a, b, c) TW_JOIN_(a, b, c)
#define TW_TYPE_(a, b) tw_##a##b
#define TW_TYPE(a, b) TW_TYPE_(a, b)

#if TW_LANES == 0
#define TW_X
#define TW_HALF_X
#elif TW_LANES == 2
#define TW_X x2
#elif TW_LANES == 4
#define TW_X x4
#define TW_HALF_X x2
#elif TW_LANES == 8
#define TW_X x8
#define TW_HALF_X x4
#elif TW_LANES == 16
#define TW_X x16
#define TW_HALF_X x8
#endif

#if TW_WIDTH == 64
#define TW_F TW_TYPE(f64, TW_X)
#define TW_U TW_TYPE(u64, TW_X)
#define TW_N(name) TW_JOIN(name, f64, TW_X)
#define TW_C(x) (x)
#define TW_SIGN_BIT 0x8000000000000000ull
#define TW_INF_BITS 0x7FF0000000000000ull
/* From TW_WHOLE on every float is an integer. */
#define TW_WHOLE 0x1p52
#define TW_BITS_OF tw_bits_f64
#define TW_FLOAT_OF tw_float_f64
#else
#define TW_F TW_TYPE(f32, TW_X)
#define TW_U TW_TYPE(u32, TW_X)
#define TW_N(name) TW_JOIN(name, f32, TW_X)
#define TW_C(x) (x##f)
#define TW_SIGN_BIT 0x80000000u
#define TW_INF_BITS 0x7F800000u
#define TW_WHOLE 0x1p23f
#define TW_BITS_OF tw_bits_f32
#define TW_FLOAT_OF tw_float_f32
#endif

#if TW_LANES == 0
#define TW_M int
#define TW_BITS(x) TW_BITS_OF(x)
#define TW_FLOAT(u) TW_FLOAT_OF(u)
#define TW_K(c) (c)
#define TW_SEL(m, a, b) ((m) ? (a) : (b))
#define TW_NOT(m) (!(m))
#else
#if TW_WIDTH == 64
#define TW_M TW_TYPE(i64, TW_X)
#else
#define TW_M TW_TYPE(i32, TW_X)
#endif
#define TW_BITS(x) ((TW_U)(x))
#define TW_FLOAT(u) ((TW_F)(u))
#define TW_K(c) ((c) - (TW_F){0})
#define TW_SEL(m, a, b) TW_N(sel)(m, a, b)
#define TW_NOT(m) (~(m))

TW_FN TW_F
TW_N(sel)(TW_M m, TW_F a, TW_F b)
{
	return (TW_F)(((TW_U)a & (TW_U)m) | ((TW_U)b & ~(TW_U)m));
}
#endif

/* x as whole numbers, where x86 has an instruction for it: how is 8 for the nearest, the even one
 * of two, 9 for the one below, 10 for the one above, 11 for the one nearer to zero. */
#if defined TW_X86_BYTES && TW_WIDTH == 32 && TW_LANES == 16 && TW_X86_BYTES == 64
#define TW_TO_WHOLE(x, how) __builtin_ia32_rndscaleps_mask(x, how, x, -1, 4)
#elif defined TW_X86_BYTES && TW_WIDTH == 32 && TW_LANES == 8 && TW_X86_BYTES
#define TW_TO_WHOLE(x, how) __builtin_ia32_roundps256(x, how)
#elif defined TW_X86_BYTES && TW_WIDTH == 32 && TW_LANES == 4 && TW_X86_BYTES
#define TW_TO_WHOLE(x, how) __builtin_ia32_roundps(x, how)
#endif
