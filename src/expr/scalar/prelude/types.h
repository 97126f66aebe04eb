/* Prelude 1: types and bits. The files of this folder are compiled into the interpreter and pasted
 * in front of every emitted kernel, so both compute with the same text. They use basic IEEE
 * operations and integers only: no library, no fma, no contraction. They may include nothing. Into
 * a kernel file go the items that it uses, with the macros put in (tools/prelude).
 */

#ifdef __CUDACC__
#define TW_FN static __device__ __forceinline__
#define TW_SLOW static __device__ __noinline__
#define TW_TABLE static __constant__ const
#else
#define TW_FN static inline __attribute__((unused))
#define TW_SLOW static __attribute__((noinline, unused))
#define TW_TABLE static const
#endif

/* Of tens of operations: a kernel that calls them in many places has them as TW_SLOW. */
#ifndef TW_MATH
#define TW_MATH TW_FN
#endif

typedef signed char tw_i8;
typedef unsigned char tw_u8;
typedef short tw_i16;
typedef unsigned short tw_u16;
typedef int tw_i32;
typedef unsigned tw_u32;
typedef long long tw_i64;
typedef unsigned long long tw_u64;
typedef float tw_f32;
typedef double tw_f64;

#if !TW_CUDA
/* Vectors of L lanes. */
#define TW_TYPES4(L) \
	typedef tw_f32 tw_f32x##L __attribute__((vector_size(4 * L))); \
	typedef tw_i32 tw_i32x##L __attribute__((vector_size(4 * L))); \
	typedef tw_u32 tw_u32x##L __attribute__((vector_size(4 * L))); \
	typedef tw_i16 tw_i16x##L __attribute__((vector_size(2 * L))); \
	typedef tw_u16 tw_u16x##L __attribute__((vector_size(2 * L))); \
	typedef tw_i8 tw_i8x##L __attribute__((vector_size(L))); \
	typedef tw_u8 tw_u8x##L __attribute__((vector_size(L)));
#define TW_TYPES8(L) \
	typedef tw_f64 tw_f64x##L __attribute__((vector_size(8 * L))); \
	typedef tw_i64 tw_i64x##L __attribute__((vector_size(8 * L))); \
	typedef tw_u64 tw_u64x##L __attribute__((vector_size(8 * L)));
TW_TYPES4(2)
TW_TYPES4(4)
TW_TYPES4(8)
TW_TYPES4(16)
TW_TYPES8(2)
TW_TYPES8(4)
TW_TYPES8(8)
#endif

TW_FN tw_u32
tw_bits_f32(tw_f32 x)
{
	union {
		tw_f32 f;
		tw_u32 u;
	} both = {.f = x};
	return both.u;
}

TW_FN tw_f32
tw_float_f32(tw_u32 bits)
{
	union {
		tw_u32 u;
		tw_f32 f;
	} both = {.u = bits};
	return both.f;
}

TW_FN tw_u64
tw_bits_f64(tw_f64 x)
{
	union {
		tw_f64 f;
		tw_u64 u;
	} both = {.f = x};
	return both.u;
}

TW_FN tw_f64
tw_float_f64(tw_u64 bits)
{
	union {
		tw_u64 u;
		tw_f64 f;
	} both = {.u = bits};
	return both.f;
}

#define TW_INF_F32 (tw_float_f32(0x7F800000u))
#define TW_NAN_F32 (tw_float_f32(0x7FC00000u))
#define TW_INF_F64 (tw_float_f64(0x7FF0000000000000ull))
#define TW_NAN_F64 (tw_float_f64(0x7FF8000000000000ull))
