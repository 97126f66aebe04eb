/* Prelude K2a: elements of 1 or 2 bytes in lanes of 4; lanes.h makes the instances. N is the vector
 * as stored, H one of 16 bits. A few lanes of a byte are no vector of any machine; more go through
 * 16 bits, by steps that machines have.
 */
#if !TW_CUDA
#define TW_LOAD_EACH(T, V, L) \
	V v; \
	TW_EACH(L) v[i] = p[i]; \
	return v;
#define TW_STORE_EACH(T, L) TW_EACH(L) p[i] = (T)v[i];
#define TW_LOAD_WHOLE(V, N, H) \
	N n; \
	__builtin_memcpy(&n, p, sizeof n); \
	return __builtin_convertvector(__builtin_convertvector(n, H), V);
#define TW_STORE_WHOLE(N, H) \
	N n = __builtin_convertvector(__builtin_convertvector(v, H), N); \
	__builtin_memcpy(p, &n, sizeof n);
#define TW_NARROW(name, T, V, M, L, load, store) \
	TW_FN V tw_load_##name##x##L(const T *p) \
	{ \
		load \
	} \
	TW_FN void tw_store_##name##x##L(T *p, V v) \
	{ \
		store \
	} \
	TW_STRIDED(name, T, V, M, L) \
	TW_GATHER_##name(name, T, V, M, L)
/* Every second element: of elements twice as wide the lower halves, in the first half of the lanes;
 * in the others the upper halves of what begins one element early, so that nothing behind the last
 * one is touched. */
#define TW_GATHER_u8(...) TW_GATHER_NARROW(8, (v), __VA_ARGS__)
#define TW_GATHER_i8(...) TW_GATHER_NARROW(8, (v << 24 >> 24), __VA_ARGS__)
#define TW_GATHER_u16(...) TW_GATHER_NARROW(16, (v), __VA_ARGS__)
#define TW_GATHER_i16(...) TW_GATHER_NARROW(16, (v << 16 >> 16), __VA_ARGS__)
#define TW_GATHER_NARROW(bits, number, name, T, V, M, L) \
	TW_FN V tw_gather_##name##x##L(const T *p, tw_i64 step) \
	{ \
		V v; \
		if (TW_HAS_SECOND_##L && __builtin_constant_p(step) && step == 2) { \
			v = (V)tw_second_##bits##x##L(p); \
			return number; \
		} \
		TW_EACH(L) v[i] = p[i * step]; \
		return v; \
	} \
	TW_GATHERM(name, T, V, M, L)
#if TW_X86_BYTES
#define TW_HAS_SECOND_8 1
TW_FN tw_i32x8
tw_second_8x8(const void *p)
{
	tw_u64 a, b, lower = 0x00FF00FF00FF00FF;
	__builtin_memcpy(&a, p, sizeof a);
	__builtin_memcpy(&b, (const char *)p + 7, sizeof b);
	tw_u64x2 both = {a & lower, b >> 8 & lower};
	return __builtin_convertvector((tw_u16x8)both, tw_i32x8);
}
TW_FN tw_u32x8
tw_second_16x8(const void *p)
{
	tw_u32x4 a, b;
	__builtin_memcpy(&a, p, sizeof a);
	__builtin_memcpy(&b, (const char *)p + 14, sizeof b);
	return __builtin_shufflevector(a & 0xFFFF, b >> 16, 0, 1, 2, 3, 4, 5, 6, 7);
}
#else
#define TW_HAS_SECOND_8 0
#define tw_second_8x8(p) ((tw_i32x8){0})
#define tw_second_16x8(p) ((tw_i32x8){0})
#endif
#if TW_X86_BYTES == 64
#define TW_HAS_SECOND_16 1
TW_FN tw_i32x16
tw_second_8x16(const void *p)
{
	tw_u16x8 a, b;
	__builtin_memcpy(&a, p, sizeof a);
	__builtin_memcpy(&b, (const char *)p + 15, sizeof b);
	tw_u16x16 both = __builtin_shufflevector(a & 0xFF, b >> 8, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11,
	                                         12, 13, 14, 15);
	return __builtin_convertvector(both, tw_i32x16);
}
TW_FN tw_u32x16
tw_second_16x16(const void *p)
{
	tw_u32x8 a, b;
	__builtin_memcpy(&a, p, sizeof a);
	__builtin_memcpy(&b, (const char *)p + 30, sizeof b);
	return __builtin_shufflevector(a & 0xFFFF, b >> 16, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12,
	                               13, 14, 15);
}
#else
#define TW_HAS_SECOND_16 0
#define tw_second_8x16(p) ((tw_i32x16){0})
#define tw_second_16x16(p) ((tw_i32x16){0})
#endif
#define TW_HAS_SECOND_4 0
#define TW_HAS_SECOND_2 0
#define tw_second_8x4(p) ((tw_i32x4){0})
#define tw_second_8x2(p) ((tw_i32x2){0})
#define tw_second_16x4(p) ((tw_i32x4){0})
#define tw_second_16x2(p) ((tw_i32x2){0})
#define TW_NARROW_2(name, T, V, N, H, M, L) \
	TW_NARROW(name, T, V, M, L, TW_LOAD_EACH(T, V, L), TW_STORE_EACH(T, L)) \
	TW_MASKED_LOOP(name, T, V, M, L)
#define TW_NARROW_4(name, T, V, N, H, M, L) TW_NARROW_2(name, T, V, N, H, M, L)
#if TW_X86_BYTES == 64
/* gcc makes many instructions of a conversion of vectors where AVX-512 has one, and does not see
 * that one back and one forth are nothing; of these it does: a load of f16 whose lanes become f32
 * is one in all. A vector of bytes has 16 of them, of which 8 may count. */
typedef char tw_v16qi __attribute__((vector_size(16)));
#define TW_RAW_i16_16 x2, tw_v16hi
#define TW_RAW_u16_16 x2, tw_v16hi
#define TW_RAW_i8_16 x1, tw_v16qi
#define TW_RAW_u8_16 x1, tw_v16qi
#define TW_RAW_i16_8 x2, tw_v8hi
#define TW_RAW_u16_8 x2, tw_v8hi
#define TW_RAW_i8_8 x1, tw_v16qi
#define TW_RAW_u8_8 x1, tw_v16qi
typedef short tw_v16hi __attribute__((vector_size(32)));
typedef short tw_v8hi __attribute__((vector_size(16)));
#define TW_WIDEN_i16x16(n) __builtin_ia32_pmovsxwd512_mask(n, (tw_i32x16){0}, -1)
#define TW_WIDEN_u16x16(n) __builtin_ia32_pmovzxwd512_mask(n, (tw_i32x16){0}, -1)
#define TW_WIDEN_i8x16(n) __builtin_ia32_pmovsxbd512_mask(n, (tw_i32x16){0}, -1)
#define TW_WIDEN_u8x16(n) __builtin_ia32_pmovzxbd512_mask(n, (tw_i32x16){0}, -1)
#define TW_WIDEN_i16x8(n) __builtin_ia32_pmovsxwd256(n)
#define TW_WIDEN_u16x8(n) __builtin_ia32_pmovzxwd256(n)
#define TW_WIDEN_i8x8(n) __builtin_ia32_pmovsxbd256(n)
#define TW_WIDEN_u8x8(n) __builtin_ia32_pmovzxbd256(n)
#define TW_CUT_x2x16(v) __builtin_ia32_pmovdw512_mask((tw_i32x16)v, (tw_v16hi){0}, -1)
#define TW_CUT_x1x16(v) __builtin_ia32_pmovdb512_mask((tw_i32x16)v, (tw_v16qi){0}, -1)
#define TW_CUT_x2x8(v) __builtin_ia32_pmovdw256_mask((tw_i32x8)v, (tw_v8hi){0}, -1)
#define TW_CUT_x1x8(v) __builtin_ia32_pmovdb256_mask((tw_i32x8)v, (tw_v16qi){0}, -1)
#define TW_SOME_x2x16(p, m) __builtin_ia32_loaddquhi256_mask((const short *)p, (tw_v16hi){0}, m)
#define TW_SOME_x2x8(p, m) __builtin_ia32_loaddquhi128_mask((const short *)p, (tw_v8hi){0}, m)
#define TW_SOME_x1x16(p, m) __builtin_ia32_loaddquqi128_mask((const char *)p, (tw_v16qi){0}, m)
#define TW_SOME_x1x8 TW_SOME_x1x16
#define TW_PUT_x2x16(p, n, m) __builtin_ia32_storedquhi256_mask((short *)p, n, m)
#define TW_PUT_x2x8(p, n, m) __builtin_ia32_storedquhi128_mask((short *)p, n, m)
#define TW_PUT_x1x16(p, n, m) __builtin_ia32_storedquqi128_mask((char *)p, n, m)
#define TW_PUT_x1x8 TW_PUT_x1x16
#define TW_NARROW_CPU(...) TW_NARROW_OF(__VA_ARGS__)
#define TW_NARROW_OF(name, T, V, N, H, M, L, size, R) \
	TW_NARROW(name, T, V, M, L, \
	          TW_GCC(R n = {0}; __builtin_memcpy(&n, p, sizeof(N)); \
	                 return (V)TW_WIDEN_##name##x##L(n); \
	                 , TW_LOAD_WHOLE(V, N, H)), \
	          TW_GCC(R n = TW_CUT_##size##x##L(v); __builtin_memcpy(p, &n, sizeof(N)); \
	                 , TW_STORE_WHOLE(N, H))) \
	TW_FN V tw_loadm_##name##x##L(const T *p, tw_##M m) \
	{ \
		TW_GCC(return (V)TW_WIDEN_##name##x##L(TW_SOME_##size##x##L(p, TW_KMASK_##M(m))); \
		       , V v = {0}; TW_EACH(L) if (m[i]) v[i] = p[i]; return v;) \
	} \
	TW_FN void tw_storem_##name##x##L(T *p, V v, tw_##M m) \
	{ \
		TW_GCC(TW_PUT_##size##x##L(p, TW_CUT_##size##x##L(v), TW_KMASK_##M(m)); \
		       , TW_EACH(L) if (m[i]) p[i] = (T)v[i];) \
	}
#define TW_NARROW_16(name, T, V, N, H, M, L) \
	TW_NARROW_CPU(name, T, V, N, H, M, L, TW_RAW_##name##_16)
#define TW_NARROW_8(name, T, V, N, H, M, L) TW_NARROW_CPU(name, T, V, N, H, M, L, TW_RAW_##name##_8)
#else
/* Most masks have all lanes: those of a border that a vector may touch. */
#define TW_NARROW_8(name, T, V, N, H, M, L) \
	TW_NARROW(name, T, V, M, L, TW_LOAD_WHOLE(V, N, H), TW_STORE_WHOLE(N, H)) \
	TW_FN V tw_loadm_##name##x##L(const T *p, tw_##M m) \
	{ \
		V v = {0}; \
		if (!tw_any_##M(~m)) \
			return tw_load_##name##x##L(p); \
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
#define TW_NARROW_16(name, T, V, N, H, M, L) TW_NARROW_8(name, T, V, N, H, M, L)
#endif
#endif
