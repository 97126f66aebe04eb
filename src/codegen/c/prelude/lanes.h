/* Prelude K2: vectors of the kernels. A value of 4 bytes or less takes 4 bytes per lane (f16 and
 * bf16 as their bits), one of 8 takes 8; a mask has all bits of a lane set or none, and is as wide
 * as the values it chooses. What a machine does in one instruction stands under #if; the loops mean
 * the same. TW_X86_BYTES, which codegen defines, is the size of x86's vectors: 64 with AVX-512, 32
 * with AVX2, 0 elsewhere. CUDA C has no vectors of this kind, only what is done to their lanes.
 */

#if !TW_CUDA
#ifdef __clang__
#define TW_GCC(call, loop) loop
#else
#define TW_GCC(call, loop) call
#endif

#define TW_EACH(L) _Pragma("GCC unroll 16") for (int i = 0; i < L; i++)

/* ---- masked access to whole vectors ---------------------------------------------------------- */

#if TW_X86_BYTES == 64
#define TW_KMASK_i32x16(m) __builtin_ia32_cvtd2mask512((tw_i32x16)(m))
#define TW_KMASK_i32x8(m) __builtin_ia32_cvtd2mask256((tw_i32x8)(m))
#define TW_KMASK_i32x4(m) __builtin_ia32_cvtd2mask128((tw_i32x4)(m))
#define TW_KMASK_i64x8(m) __builtin_ia32_cvtq2mask512((tw_i64x8)(m))
#define TW_KMASK_i64x4(m) __builtin_ia32_cvtq2mask256((tw_i64x4)(m))
#define TW_KMASK_i64x2(m) __builtin_ia32_cvtq2mask128((tw_i64x2)(m))
#define TW_MLOAD_i32x16(p, m) \
	__builtin_ia32_loadups512_mask((const float *)(p), (tw_f32x16){0}, TW_KMASK_i32x16(m))
#define TW_MLOAD_i32x8(p, m) \
	__builtin_ia32_loadups256_mask((const float *)(p), (tw_f32x8){0}, TW_KMASK_i32x8(m))
#define TW_MLOAD_i32x4(p, m) \
	__builtin_ia32_loadups128_mask((const float *)(p), (tw_f32x4){0}, TW_KMASK_i32x4(m))
#define TW_MLOAD_i64x8(p, m) \
	__builtin_ia32_loadupd512_mask((const double *)(p), (tw_f64x8){0}, TW_KMASK_i64x8(m))
#define TW_MLOAD_i64x4(p, m) \
	__builtin_ia32_loadupd256_mask((const double *)(p), (tw_f64x4){0}, TW_KMASK_i64x4(m))
#define TW_MLOAD_i64x2(p, m) \
	__builtin_ia32_loadupd128_mask((const double *)(p), (tw_f64x2){0}, TW_KMASK_i64x2(m))
#define TW_MSTORE_i32x16(p, v, m) \
	__builtin_ia32_storeups512_mask((float *)(p), (tw_f32x16)(v), TW_KMASK_i32x16(m))
#define TW_MSTORE_i32x8(p, v, m) \
	__builtin_ia32_storeups256_mask((float *)(p), (tw_f32x8)(v), TW_KMASK_i32x8(m))
#define TW_MSTORE_i32x4(p, v, m) \
	__builtin_ia32_storeups128_mask((float *)(p), (tw_f32x4)(v), TW_KMASK_i32x4(m))
#define TW_MSTORE_i64x8(p, v, m) \
	__builtin_ia32_storeupd512_mask((double *)(p), (tw_f64x8)(v), TW_KMASK_i64x8(m))
#define TW_MSTORE_i64x4(p, v, m) \
	__builtin_ia32_storeupd256_mask((double *)(p), (tw_f64x4)(v), TW_KMASK_i64x4(m))
#define TW_MSTORE_i64x2(p, v, m) \
	__builtin_ia32_storeupd128_mask((double *)(p), (tw_f64x2)(v), TW_KMASK_i64x2(m))
#define TW_ANY(M) \
	TW_FN int tw_any_##M(tw_##M m) { return TW_KMASK_##M(m) != 0; }
#elif TW_X86_BYTES == 32
#define TW_MLOAD_i32x8(p, m) __builtin_ia32_maskloadps256((const tw_f32x8 *)(p), (tw_i32x8)(m))
#define TW_MLOAD_i32x4(p, m) __builtin_ia32_maskloadps((const tw_f32x4 *)(p), (tw_i32x4)(m))
#define TW_MLOAD_i64x4(p, m) __builtin_ia32_maskloadpd256((const tw_f64x4 *)(p), (tw_i64x4)(m))
#define TW_MLOAD_i64x2(p, m) __builtin_ia32_maskloadpd((const tw_f64x2 *)(p), (tw_i64x2)(m))
#define TW_MSTORE_i32x8(p, v, m) \
	__builtin_ia32_maskstoreps256((tw_f32x8 *)(p), (tw_i32x8)(m), (tw_f32x8)(v))
#define TW_MSTORE_i32x4(p, v, m) \
	__builtin_ia32_maskstoreps((tw_f32x4 *)(p), (tw_i32x4)(m), (tw_f32x4)(v))
#define TW_MSTORE_i64x4(p, v, m) \
	__builtin_ia32_maskstorepd256((tw_f64x4 *)(p), (tw_i64x4)(m), (tw_f64x4)(v))
#define TW_MSTORE_i64x2(p, v, m) \
	__builtin_ia32_maskstorepd((tw_f64x2 *)(p), (tw_i64x2)(m), (tw_f64x2)(v))
#define TW_ANY_i32x8(m) __builtin_ia32_movmskps256((tw_f32x8)m)
#define TW_ANY_i32x4(m) __builtin_ia32_movmskps((tw_f32x4)m)
#define TW_ANY_i64x4(m) __builtin_ia32_movmskpd256((tw_f64x4)m)
#define TW_ANY_i64x2(m) __builtin_ia32_movmskpd((tw_f64x2)m)
#define TW_ANY(M) \
	TW_FN int tw_any_##M(tw_##M m) { return TW_ANY_##M(m) != 0; }
#else
#define TW_ANY(M) \
	TW_FN int tw_any_##M(tw_##M m) \
	{ \
		const unsigned char *bytes = (const unsigned char *)&m; \
		int any = 0; \
		for (unsigned i = 0; i < sizeof m; i++) \
			any |= bytes[i]; \
		return any; \
	}
#endif
#if TW_X86_BYTES
#define TW_MASKED(name, T, V, M, L) \
	TW_FN V tw_loadm_##name##x##L(const T *p, tw_##M m) { return (V)TW_MLOAD_##M(p, m); } \
	TW_FN void tw_storem_##name##x##L(T *p, V v, tw_##M m) { TW_MSTORE_##M(p, v, m); }
#else
#define TW_MASKED(name, T, V, M, L) TW_MASKED_LOOP(name, T, V, M, L)
#endif

/* Lanes read one by one under a mask, chosen from by a select: gcc 12 makes vectors of a loop of
 * these and reads zeros. It leaves a loop with an asm alone. */
#define TW_LANES_APART __asm__("")
#define TW_MASKED_LOOP(name, T, V, M, L) \
	TW_FN V tw_loadm_##name##x##L(const T *p, tw_##M m) \
	{ \
		V v = {0}; \
		TW_LANES_APART; \
		TW_EACH(L) \
			if (m[i]) \
				v[i] = p[i]; \
		return v; \
	} \
	TW_FN void tw_storem_##name##x##L(T *p, V v, tw_##M m) \
	{ \
		TW_EACH(L) \
			if (m[i]) \
				p[i] = (T)v[i]; \
	}

/* ---- memory of one element type -------------------------------------------------------------- */

/* Near enough to compare with small numbers in 32 bits. */
TW_FN tw_i32
tw_near(tw_i64 x)
{
	return x > 0x3FFFFFFF ? 0x3FFFFFFF : x < -0x3FFFFFFF ? -0x3FFFFFFF : (tw_i32)x;
}

/* Four-byte elements `step` apart. Every second one: two whole vectors and a shuffle; the second
 * load begins one element early, so that nothing behind the last one is touched. Pairs are the
 * same under a mask, whose lanes stand apart as far as the elements do. */
#if TW_X86_BYTES == 64
#ifdef __clang__
#define TW_EACH_i32x16 0
#define tw_each_i32x16(p, step) ((tw_f32x16){0})
#define tw_pairs_i32x16(p, m) ((tw_f32x16){0})
#else
#define TW_EACH_i32x16 1
TW_FN tw_f32x16
tw_each_i32x16(const void *p, tw_i64 step)
{
	tw_f32x16 a, b;
	if (__builtin_constant_p(step) && step == 2) {
		__builtin_memcpy(&a, p, sizeof a);
		__builtin_memcpy(&b, (const char *)p + 60, sizeof b);
		return __builtin_shufflevector(a, b, 0, 2, 4, 6, 8, 10, 12, 14, 17, 19, 21, 23, 25, 27, 29,
		                               31);
	}
	tw_i32x16 at = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};
	return __builtin_ia32_gathersiv16sf((tw_f32x16){0}, p, at * (tw_i32)step, -1, 4);
}
TW_FN tw_f32x16
tw_pairs_i32x16(const void *p, tw_i32x16 m)
{
	tw_i32x16 none = {0};
	tw_i32x16 low = __builtin_shufflevector(m, none, 0, 16, 1, 16, 2, 16, 3, 16, 4, 16, 5, 16, 6,
	                                        16, 7, 16);
	tw_i32x16 high = __builtin_shufflevector(m, none, 8, 16, 9, 16, 10, 16, 11, 16, 12, 16, 13, 16,
	                                         14, 16, 15, 16);
	return __builtin_shufflevector((tw_f32x16)TW_MLOAD_i32x16(p, low),
	                               (tw_f32x16)TW_MLOAD_i32x16((const char *)p + 64, high), 0, 2, 4,
	                               6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30);
}
#endif
#else
#define TW_EACH_i32x16 0
#define tw_each_i32x16(p, step) ((tw_f32x16){0})
#define tw_pairs_i32x16(p, m) ((tw_f32x16){0})
#endif
#if TW_X86_BYTES
#ifdef __clang__
#define TW_EACH_i32x8 0
#define tw_each_i32x8(p, step) ((tw_f32x8){0})
#define tw_pairs_i32x8(p, m) ((tw_f32x8){0})
#else
#define TW_EACH_i32x8 1
TW_FN tw_f32x8
tw_each_i32x8(const void *p, tw_i64 step)
{
	tw_f32x8 a, b;
	if (__builtin_constant_p(step) && step == 2) {
		__builtin_memcpy(&a, p, sizeof a);
		__builtin_memcpy(&b, (const char *)p + 28, sizeof b);
		return __builtin_shufflevector(a, b, 0, 2, 4, 6, 9, 11, 13, 15);
	}
	tw_i32x8 at = {0, 1, 2, 3, 4, 5, 6, 7}, all = ~(at ^ at);
	return __builtin_ia32_gathersiv8sf((tw_f32x8){0}, p, at * (tw_i32)step, (tw_f32x8)all, 4);
}
TW_FN tw_f32x8
tw_pairs_i32x8(const void *p, tw_i32x8 m)
{
	tw_i32x8 none = {0};
	tw_i32x8 low = __builtin_shufflevector(m, none, 0, 8, 1, 8, 2, 8, 3, 8);
	tw_i32x8 high = __builtin_shufflevector(m, none, 4, 8, 5, 8, 6, 8, 7, 8);
	return __builtin_shufflevector((tw_f32x8)TW_MLOAD_i32x8(p, low),
	                               (tw_f32x8)TW_MLOAD_i32x8((const char *)p + 32, high), 0, 2, 4, 6,
	                               8, 10, 12, 14);
}
#endif
#else
#define TW_EACH_i32x8 0
#define tw_each_i32x8(p, step) ((tw_f32x8){0})
#define tw_pairs_i32x8(p, m) ((tw_f32x8){0})
#endif
#define TW_EACH_i32x4 0
#define TW_EACH_i32x2 0
#define tw_each_i32x4(p, step) ((tw_f32x4){0})
#define tw_each_i32x2(p, step) ((tw_f32x2){0})
#define tw_pairs_i32x4(p, m) ((tw_f32x4){0})
#define tw_pairs_i32x2(p, m) ((tw_f32x2){0})

/* Strided access and choice: name is the element type's, V the vector its values take. */
#define TW_STRIDED(name, T, V, M, L) \
	TW_FN void tw_scatter_##name##x##L(T *p, tw_i64 step, V v) \
	{ \
		TW_EACH(L) p[i * step] = (T)v[i]; \
	} \
	TW_FN void tw_scatterm_##name##x##L(T *p, tw_i64 step, V v, tw_##M m) \
	{ \
		TW_EACH(L) \
			if (m[i]) \
				p[i * step] = (T)v[i]; \
	}

/* Elements as wide as their lanes. */
#define TW_WIDE(name, T, V, M, L) \
	TW_FN V tw_load_##name##x##L(const T *p) \
	{ \
		V v; \
		__builtin_memcpy(&v, p, sizeof v); \
		return v; \
	} \
	TW_FN void tw_store_##name##x##L(T *p, V v) { __builtin_memcpy(p, &v, sizeof v); } \
	TW_FN V tw_set_##name##x##L(T x) { return x - (V){0}; } \
	TW_FN V tw_pick_##name##x##L(tw_##M m, V a, V b) \
	{ \
		return (V)(((tw_##M)a & m) | ((tw_##M)b & ~m)); \
	} \
	TW_MASKED(name, T, V, M, L) \
	TW_STRIDED(name, T, V, M, L)
#define TW_WIDE_LOOP(name, T, V, M, L) \
	TW_FN V tw_gather_##name##x##L(const T *p, tw_i64 step) \
	{ \
		V v; \
		TW_EACH(L) v[i] = p[i * step]; \
		return v; \
	} \
	TW_GATHERM(name, T, V, M, L)
#define TW_GATHERM(name, T, V, M, L) \
	TW_FN V tw_gatherm_##name##x##L(const T *p, tw_i64 step, tw_##M m) \
	{ \
		V v = {0}; \
		TW_LANES_APART; \
		TW_EACH(L) \
			if (m[i]) \
				v[i] = p[i * step]; \
		return v; \
	}
#define TW_WIDE_EACH(name, T, V, M, L) \
	TW_FN V tw_gather_##name##x##L(const T *p, tw_i64 step) \
	{ \
		V v; \
		if (TW_EACH_i32x##L && step < 1 << 26 && step > -(1 << 26)) \
			return (V)tw_each_i32x##L(p, step); \
		TW_EACH(L) v[i] = p[i * step]; \
		return v; \
	} \
	TW_FN V tw_gatherm_##name##x##L(const T *p, tw_i64 step, tw_##M m) \
	{ \
		V v = {0}; \
		TW_LANES_APART; \
		if (TW_EACH_i32x##L && __builtin_constant_p(step) && step == 2) \
			return (V)tw_pairs_i32x##L(p, m); \
		TW_EACH(L) \
			if (m[i]) \
				v[i] = p[i * step]; \
		return v; \
	}

/* The instances for L lanes. */
#define TW_LANES4(L) \
	TW_ANY(i32x##L) \
	TW_WIDE(f32, tw_f32, tw_f32x##L, i32x##L, L) \
	TW_WIDE_EACH(f32, tw_f32, tw_f32x##L, i32x##L, L) \
	TW_WIDE(i32, tw_i32, tw_i32x##L, i32x##L, L) \
	TW_WIDE_EACH(i32, tw_i32, tw_i32x##L, i32x##L, L) \
	TW_WIDE(u32, tw_u32, tw_u32x##L, i32x##L, L) \
	TW_WIDE_EACH(u32, tw_u32, tw_u32x##L, i32x##L, L) \
	TW_NARROW_##L(i16, tw_i16, tw_i32x##L, tw_i16x##L, tw_i16x##L, i32x##L, L) \
	TW_NARROW_##L(u16, tw_u16, tw_u32x##L, tw_u16x##L, tw_u16x##L, i32x##L, L) \
	TW_NARROW_##L(i8, tw_i8, tw_i32x##L, tw_i8x##L, tw_i16x##L, i32x##L, L) \
	TW_NARROW_##L(u8, tw_u8, tw_u32x##L, tw_u8x##L, tw_u16x##L, i32x##L, L) \
	TW_FN tw_i32x##L tw_iota_i32x##L(void) \
	{ \
		tw_i32x##L v; \
		TW_EACH(L) v[i] = i; \
		return v; \
	} \
	TW_FN tw_f32x##L tw_f32_of_bf16x##L(tw_u32x##L h) { return (tw_f32x##L)(h << 16); } \
	TW_FN tw_u32x##L tw_bf16_of_f32x##L(tw_f32x##L x) \
	{ \
		tw_u32x##L bits = (tw_u32x##L)x, even = bits + 0x7FFFu + (bits >> 16 & 1u); \
		tw_i32x##L nan = (tw_i32x##L)(x != x); \
		return tw_pick_u32x##L(nan, bits >> 16 | 0x40u, even >> 16); \
	} \
	TW_FN tw_f32x##L tw_round_bf16x##L(tw_f32x##L x) \
	{ \
		return tw_f32_of_bf16x##L(tw_bf16_of_f32x##L(x)); \
	} \
	/* truncated, saturated, NaN to 0 */ \
	TW_FN tw_i32x##L tw_i32_of_f32x##L(tw_f32x##L x) \
	{ \
		tw_i32x##L high = (tw_i32x##L)(x >= 0x1p31f), same = (tw_i32x##L)(x == x); \
		tw_i32x##L whole = __builtin_convertvector(tw_pick_f32x##L(high, x - x, x), tw_i32x##L); \
		return tw_pick_i32x##L(high, tw_set_i32x##L(0x7FFFFFFF), whole & same); \
	} \
	TW_FN tw_i32x##L tw_clamp_i32x##L(tw_i32x##L x, tw_i32 low, tw_i32 high) \
	{ \
		tw_i32x##L a = tw_set_i32x##L(low), b = tw_set_i32x##L(high); \
		x = tw_pick_i32x##L((tw_i32x##L)(x < a), a, x); \
		return tw_pick_i32x##L((tw_i32x##L)(x > b), b, x); \
	}
#define TW_LANES8(L) \
	TW_WIDE(f64, tw_f64, tw_f64x##L, i64x##L, L) \
	TW_WIDE_LOOP(f64, tw_f64, tw_f64x##L, i64x##L, L) \
	TW_WIDE(i64, tw_i64, tw_i64x##L, i64x##L, L) \
	TW_WIDE_LOOP(i64, tw_i64, tw_i64x##L, i64x##L, L) \
	TW_WIDE(u64, tw_u64, tw_u64x##L, i64x##L, L) \
	TW_WIDE_LOOP(u64, tw_u64, tw_u64x##L, i64x##L, L) \
	TW_FN tw_i64x##L tw_iota_i64x##L(void) \
	{ \
		tw_i64x##L v; \
		TW_EACH(L) v[i] = i; \
		return v; \
	}

#endif
/* bound > x ? bound : x, and bound < x ? bound : x: what a machine's max and min do, NaN of x kept.
 * */
TW_FN tw_f32 tw_atleast_f32(tw_f32 bound, tw_f32 x) { return bound > x ? bound : x; }
TW_FN tw_f32 tw_atmost_f32(tw_f32 bound, tw_f32 x) { return bound < x ? bound : x; }
TW_FN tw_f64 tw_atleast_f64(tw_f64 bound, tw_f64 x) { return bound > x ? bound : x; }
TW_FN tw_f64 tw_atmost_f64(tw_f64 bound, tw_f64 x) { return bound < x ? bound : x; }
#if !TW_CUDA
#define TW_BOUNDS(name, V, M, L, atleast, atmost) \
	TW_FN V tw_atleast_##name##x##L(V a, V b) { return atleast; } \
	TW_FN V tw_atmost_##name##x##L(V a, V b) { return atmost; } \
	TW_MOST(name, V, M, L)
#define TW_BOUNDS_LOOP(name, V, M, L) \
	TW_BOUNDS(name, V, M, L, tw_pick_##name##x##L((tw_##M)(a > b), a, b), \
	          tw_pick_##name##x##L((tw_##M)(a < b), a, b))
/* max and min as scalars have them (prelude float.h), from the two bounds with operands both ways.
 * They differ only for zeros of different sign and for a NaN beside a number. The bits of both
 * joined are the zero that min wants, or a NaN; max wants the other zero, of another sign. */
#define TW_MOST(name, V, M, L) \
	TW_FN V tw_most_##name##x##L(V a, V b) \
	{ \
		tw_##M m = (tw_##M)tw_atleast_##name##x##L(a, b); \
		tw_##M n = (tw_##M)tw_atleast_##name##x##L(b, a); \
		return (V)TW_ZEROS_##M(m, n); \
	} \
	TW_FN V tw_least_##name##x##L(V a, V b) \
	{ \
		tw_##M m = (tw_##M)tw_atmost_##name##x##L(a, b); \
		tw_##M n = (tw_##M)tw_atmost_##name##x##L(b, a); \
		return (V)(m | n); \
	}
/* m | n, but of the signs m & n. */
#define TW_SIGNS(m) ((m ^ m) + (-0x7FFFFFFF - 1))
#define TW_ZEROS_LOOP(m, n) (((m | n) & 0x7FFFFFFF) | (m & n))
#if TW_X86_BYTES == 64
#define TW_ZEROS(bits, m, n) \
	TW_GCC(__builtin_ia32_pternlogd##bits##_mask(m, n, TW_SIGNS(m), 0xD4, -1), TW_ZEROS_LOOP(m, n))
#else
#define TW_ZEROS(bits, m, n) TW_ZEROS_LOOP(m, n)
#endif
#define TW_ZEROS_i32x16(m, n) TW_ZEROS(512, m, n)
#define TW_ZEROS_i32x8(m, n) TW_ZEROS(256, m, n)
#define TW_ZEROS_i32x4(m, n) TW_ZEROS(128, m, n)
#define TW_ZEROS_i32x2(m, n) TW_ZEROS_LOOP(m, n)
#define TW_ZEROS_i64x8(m, n) (((m | n) & 0x7FFFFFFFFFFFFFFF) | (m & n))
#define TW_ZEROS_i64x4(m, n) TW_ZEROS_i64x8(m, n)
#define TW_ZEROS_i64x2(m, n) TW_ZEROS_i64x8(m, n)
#define TW_BOUNDS_GCC(name, V, M, L, suffix) \
	TW_BOUNDS(name, V, M, L, \
	          TW_GCC(__builtin_ia32_max##suffix, tw_pick_##name##x##L((tw_##M)(a > b), a, b)), \
	          TW_GCC(__builtin_ia32_min##suffix, tw_pick_##name##x##L((tw_##M)(a < b), a, b)))
#if TW_X86_BYTES
#define TW_BOUNDS_f32x16 TW_BOUNDS_GCC(f32, tw_f32x16, i32x16, 16, ps512_mask(a, b, a, -1, 4))
#define TW_BOUNDS_f64x8 TW_BOUNDS_GCC(f64, tw_f64x8, i64x8, 8, pd512_mask(a, b, a, -1, 4))
#define TW_BOUNDS_f32x8 TW_BOUNDS_GCC(f32, tw_f32x8, i32x8, 8, ps256(a, b))
#define TW_BOUNDS_f32x4 TW_BOUNDS_GCC(f32, tw_f32x4, i32x4, 4, ps(a, b))
#define TW_BOUNDS_f64x4 TW_BOUNDS_GCC(f64, tw_f64x4, i64x4, 4, pd256(a, b))
#define TW_BOUNDS_f64x2 TW_BOUNDS_GCC(f64, tw_f64x2, i64x2, 2, pd(a, b))
#else
#define TW_BOUNDS_f32x16 TW_BOUNDS_LOOP(f32, tw_f32x16, i32x16, 16)
#define TW_BOUNDS_f32x8 TW_BOUNDS_LOOP(f32, tw_f32x8, i32x8, 8)
#define TW_BOUNDS_f32x4 TW_BOUNDS_LOOP(f32, tw_f32x4, i32x4, 4)
#define TW_BOUNDS_f64x8 TW_BOUNDS_LOOP(f64, tw_f64x8, i64x8, 8)
#define TW_BOUNDS_f64x4 TW_BOUNDS_LOOP(f64, tw_f64x4, i64x4, 4)
#define TW_BOUNDS_f64x2 TW_BOUNDS_LOOP(f64, tw_f64x2, i64x2, 2)
#endif
#define TW_BOUNDS_f32x2 TW_BOUNDS_LOOP(f32, tw_f32x2, i32x2, 2)

/* ---- reductions: a fixed tree of halves --------------------------------------------------------
 * */

#define TW_LOW_8(v) __builtin_shufflevector(v, v, 0, 1, 2, 3)
#define TW_HIGH_8(v) __builtin_shufflevector(v, v, 4, 5, 6, 7)
#define TW_LOW_16(v) __builtin_shufflevector(v, v, 0, 1, 2, 3, 4, 5, 6, 7)
#define TW_HIGH_16(v) __builtin_shufflevector(v, v, 8, 9, 10, 11, 12, 13, 14, 15)
#define TW_TREE_2(op, name, T, L, H, join, joins) \
	TW_FN T tw_##op##_lanes_##name##x2(tw_##name##x2 v) \
	{ \
		T x = v[0], y = v[1]; \
		return join; \
	}
#define TW_TREE(op, name, T, L, H, join, joins) \
	TW_FN T tw_##op##_lanes_##name##x##L(tw_##name##x##L v) \
	{ \
		tw_##name##x##H x = TW_LOW_##L(v), y = TW_HIGH_##L(v); \
		return tw_##op##_lanes_##name##x##H(joins); \
	}
/* As scalars: two lanes of 32 bits are no vector that each CPU can multiply. */
#define TW_TREE_4(op, name, T, L, H, join, joins) \
	TW_FN T tw_##op##_lanes_##name##x4(tw_##name##x4 v) \
	{ \
		tw_##name##x2 halves; \
		TW_EACH(2) \
		{ \
			T x = v[i], y = v[i + 2]; \
			halves[i] = join; \
		} \
		return tw_##op##_lanes_##name##x2(halves); \
	}
#define TW_TREE_8 TW_TREE
#define TW_TREE_16 TW_TREE
#define TW_TREES(name, T, L, H, least, most) \
	TW_TREE_##L(add, name, T, L, H, (x + y), (x + y)) \
	TW_TREE_##L(mul, name, T, L, H, (x * y), (x * y)) \
	TW_TREE_##L(min, name, T, L, H, tw_min_##name(x, y), least) \
	TW_TREE_##L(max, name, T, L, H, tw_max_##name(x, y), most)
#define TW_TREES_FLOAT(name, T, L, H) \
	TW_TREES(name, T, L, H, tw_least_##name##x##H(x, y), tw_most_##name##x##H(x, y))
#define TW_TREES_INT(name, T, M, L, H) \
	TW_TREES(name, T, L, H, tw_pick_##name##x##H((tw_##M##x##H)(x < y), x, y), \
	         tw_pick_##name##x##H((tw_##M##x##H)(x > y), x, y))
/* Four floats are a vector of each machine. */
#define TW_FOLD_F32(op, join) \
	TW_FN tw_f32 tw_##op##_lanes_f32x4(tw_f32x4 x) \
	{ \
		tw_f32x4 y = __builtin_shufflevector(x, x, 2, 3, 0, 1); \
		x = join; \
		y = __builtin_shufflevector(x, x, 1, 0, 3, 2); \
		x = join; \
		return x[0]; \
	}
#define TW_TREES_F32_2 TW_TREES_FLOAT(f32, tw_f32, 2, 1)
#define TW_TREES_F32_4 \
	TW_FOLD_F32(add, x + y) \
	TW_FOLD_F32(mul, x *y) \
	TW_FOLD_F32(min, tw_least_f32x4(x, y)) \
	TW_FOLD_F32(max, tw_most_f32x4(x, y))
#define TW_TREES_F32_8 TW_TREES_FLOAT(f32, tw_f32, 8, 4)
#define TW_TREES_F32_16 TW_TREES_FLOAT(f32, tw_f32, 16, 8)
#define TW_TREES4(L, H) \
	TW_TREES_F32_##L \
	TW_TREES_INT(i32, tw_i32, i32, L, H) \
	TW_TREES_INT(u32, tw_u32, i32, L, H)
#define TW_TREES8(L, H) \
	TW_TREES_FLOAT(f64, tw_f64, L, H) \
	TW_TREES_INT(i64, tw_i64, i64, L, H) \
	TW_TREES_INT(u64, tw_u64, i64, L, H)

/* a*b + c rounded once. Codegen asks for it only where the machine has the instruction. */
#define TW_FMA_LOOP(name, one, V, L) \
	TW_FN V tw_fma_##name##x##L(V a, V b, V c) \
	{ \
		V v; \
		TW_EACH(L) v[i] = one(a[i], b[i], c[i]); \
		return v; \
	}
#if TW_X86_BYTES
#define TW_FMA(name, one, V, L, call) \
	TW_FN V tw_fma_##name##x##L(V a, V b, V c) \
	{ \
		V v; \
		TW_GCC(v = call, TW_EACH(L) v[i] = one(a[i], b[i], c[i])); \
		return v; \
	}
#define TW_FMA_f32x16 \
	TW_FMA(f32, __builtin_fmaf, tw_f32x16, 16, __builtin_ia32_vfmaddps512_mask(a, b, c, -1, 4))
#define TW_FMA_f64x8 \
	TW_FMA(f64, __builtin_fma, tw_f64x8, 8, __builtin_ia32_vfmaddpd512_mask(a, b, c, -1, 4))
#define TW_FMA_f32x8 TW_FMA(f32, __builtin_fmaf, tw_f32x8, 8, __builtin_ia32_vfmaddps256(a, b, c))
#define TW_FMA_f32x4 TW_FMA(f32, __builtin_fmaf, tw_f32x4, 4, __builtin_ia32_vfmaddps(a, b, c))
#define TW_FMA_f64x4 TW_FMA(f64, __builtin_fma, tw_f64x4, 4, __builtin_ia32_vfmaddpd256(a, b, c))
#define TW_FMA_f64x2 TW_FMA(f64, __builtin_fma, tw_f64x2, 2, __builtin_ia32_vfmaddpd(a, b, c))
#else
#define TW_FMA_f32x16 TW_FMA_LOOP(f32, __builtin_fmaf, tw_f32x16, 16)
#define TW_FMA_f32x8 TW_FMA_LOOP(f32, __builtin_fmaf, tw_f32x8, 8)
#define TW_FMA_f32x4 TW_FMA_LOOP(f32, __builtin_fmaf, tw_f32x4, 4)
#define TW_FMA_f64x8 TW_FMA_LOOP(f64, __builtin_fma, tw_f64x8, 8)
#define TW_FMA_f64x4 TW_FMA_LOOP(f64, __builtin_fma, tw_f64x4, 4)
#define TW_FMA_f64x2 TW_FMA_LOOP(f64, __builtin_fma, tw_f64x2, 2)
#endif
#define TW_FMA_f32x2 TW_FMA_LOOP(f32, __builtin_fmaf, tw_f32x2, 2)

/* ---- the instances --------------------------------------------------------------------------- */

#define TW_ALL4(L, H) \
	TW_LANES4(L) \
	TW_BOUNDS_f32x##L \
	TW_TREES4(L, H) \
	TW_FMA_f32x##L
#define TW_ALL8(L, H) \
	TW_LANES8(L) \
	TW_ANY(i64x##L) \
	TW_TREES8(L, H) \
	TW_FMA_f64x##L \
	TW_BOUNDS_f64x##L
TW_ALL4(2, 1)
TW_ALL4(4, 2)
TW_ALL4(8, 4)
TW_ALL4(16, 8)
TW_ALL8(2, 1)
TW_ALL8(4, 2)
TW_ALL8(8, 4)
#endif
