/* Block conversions between types and between tensors' memory and blocks. */
#include <string.h>

#include "base/dtype.h"
#include "expr/scalar/blocks.h"
#include "expr/scalar/math.h"

#define CAST(to, from, R, F, value) \
	static void to##_of_##from(int n, void *out, const Operand *args) \
	{ \
		const F *a = args[0].data; \
		R *y = out; \
		for (int i = 0; i < n; i++) { \
			const F x = a[i * args[0].step]; \
			y[i] = (R)(value); \
		} \
	}

/* clang-format off */
#define INTEGERS(X, ...) \
	X(i8, __VA_ARGS__) X(i16, __VA_ARGS__) X(i32, __VA_ARGS__) X(i64, __VA_ARGS__) \
	X(u8, __VA_ARGS__) X(u16, __VA_ARGS__) X(u32, __VA_ARGS__) X(u64, __VA_ARGS__)
/* clang-format on */

/* plain: what C's conversion says: integers wrap, to floats rounded once */
#define PLAIN(from, to) CAST(to, from, tw_##to, tw_##from, x)
#define FROM_FLOAT(to, from) CAST(to, from, tw_##to, tw_##from, tw_##to##_of_##from(x))
#define TO_BOOL(from, unused) CAST(bool, from, tw_u8, tw_##from, x != 0)
INTEGERS(PLAIN, i8)
INTEGERS(PLAIN, i16)
INTEGERS(PLAIN, i32)
INTEGERS(PLAIN, i64)
INTEGERS(PLAIN, u8)
INTEGERS(PLAIN, u16)
INTEGERS(PLAIN, u32)
INTEGERS(PLAIN, u64)
INTEGERS(PLAIN, f32)
INTEGERS(PLAIN, f64)
INTEGERS(FROM_FLOAT, f32)
INTEGERS(FROM_FLOAT, f64)
INTEGERS(TO_BOOL, 0)
TO_BOOL(f32, 0)
TO_BOOL(f64, 0)
PLAIN(f32, f32)
PLAIN(f32, f64)
PLAIN(f64, f32)
PLAIN(f64, f64)

/* Short floats are held as f32: of smaller integers through f64, which holds them exactly. */
#define TO_SHORT(from, half) \
	CAST(half, from, tw_f32, tw_##from, tw_f32_of_##half(tw_##half##_of_f64((tw_f64)x)))
/* clang-format off */
#define SHORT(half) \
	TO_SHORT(i8, half) TO_SHORT(i16, half) TO_SHORT(i32, half) \
	TO_SHORT(u8, half) TO_SHORT(u16, half) TO_SHORT(u32, half) TO_SHORT(f64, half) \
	CAST(half, i64, tw_f32, tw_i64, tw_f32_of_##half(tw_##half##_of_i64(x))) \
	CAST(half, u64, tw_f32, tw_u64, tw_f32_of_##half(tw_##half##_of_u64(x))) \
	CAST(half, f32, tw_f32, tw_f32, tw_f32_of_##half(tw_##half##_of_f32(x)))
/* clang-format on */
SHORT(f16)
SHORT(bf16)

/* Storage types: from f32 and f64 (a float8) or f64 and i32 (a small integer). */
#define WIDEN(name) CAST(f32, name, tw_f32, tw_u8, tw_f32_of_##name(x))
#define STORAGE_FLOAT(name, saturated, unsaturated) \
	CAST(name, f32, tw_u8, tw_f32, saturated) \
	CAST(name##_nosat, f32, tw_u8, tw_f32, unsaturated)
#define FLOAT8(name) \
	WIDEN(name) \
	STORAGE_FLOAT(name, tw_##name##_of_f32(x, 1), tw_##name##_of_f32(x, 0))
FLOAT8(f8e4m3fn)
FLOAT8(f8e4m3fnuz)
FLOAT8(f8e5m2)
FLOAT8(f8e5m2fnuz)
WIDEN(f4e2m1)
WIDEN(f8e8m0)
CAST(f4e2m1, f32, tw_u8, tw_f32, tw_f4e2m1_of_f32(x))
STORAGE_FLOAT(f8e8m0, tw_f8e8m0_of_f32(x, 1, 0), tw_f8e8m0_of_f32(x, 0, 0))
STORAGE_FLOAT(f8e8m0_down, tw_f8e8m0_of_f32(x, 1, 1), tw_f8e8m0_of_f32(x, 0, 1))
STORAGE_FLOAT(f8e8m0_near, tw_f8e8m0_of_f32(x, 1, 2), tw_f8e8m0_of_f32(x, 0, 2))
CAST(f32odd, f64, tw_f32, tw_f64, tw_f32_odd_of_f64(x))

#define STORAGE_INT(name) \
	CAST(i32, name, tw_i32, tw_u8, tw_i32_of_##name(x)) \
	CAST(name, i32, tw_u8, tw_i32, tw_##name##_of_i32(x)) \
	CAST(name, f32, tw_u8, tw_f32, tw_##name##_of_f32(x))
STORAGE_INT(i4)
STORAGE_INT(u4)
STORAGE_INT(i2)
STORAGE_INT(u2)

/* Row: the source's C type; column: the target. */
#define ENTRY(TO, to, from) [DT_##TO] = to##_of_##from,
/* clang-format off */
#define NUMBERS(from) \
	ENTRY(I8, i8, from) ENTRY(I16, i16, from) ENTRY(I32, i32, from) ENTRY(I64, i64, from) \
	ENTRY(U8, u8, from) ENTRY(U16, u16, from) ENTRY(U32, u32, from) ENTRY(U64, u64, from) \
	ENTRY(F32, f32, from) ENTRY(F64, f64, from) ENTRY(BOOL, bool, from) \
	ENTRY(F16, f16, from) ENTRY(BF16, bf16, from)
#define SMALL(from) ENTRY(I4, i4, from) ENTRY(U4, u4, from) ENTRY(I2, i2, from) ENTRY(U2, u2, from)
/* clang-format on */

static const BlockFn casts[DT_COUNT][DT_COUNT] = {
	[DT_I8] = {NUMBERS(i8)},
	[DT_I16] = {NUMBERS(i16)},
	[DT_I32] = {NUMBERS(i32) SMALL(i32)},
	[DT_I64] = {NUMBERS(i64)},
	[DT_U8] = {NUMBERS(u8)},
	[DT_U16] = {NUMBERS(u16)},
	[DT_U32] = {NUMBERS(u32)},
	[DT_U64] = {NUMBERS(u64)},
	[DT_F64] = {NUMBERS(f64)},
	[DT_F32] = {NUMBERS(f32) SMALL(f32) ENTRY(F8E4M3FN, f8e4m3fn, f32) ENTRY(
		F8E4M3FNUZ, f8e4m3fnuz, f32) ENTRY(F8E5M2, f8e5m2, f32) ENTRY(F8E5M2FNUZ, f8e5m2fnuz, f32)
                    ENTRY(F4E2M1, f4e2m1, f32) ENTRY(F8E8M0, f8e8m0, f32)},
	[DT_F8E4M3FN] = {ENTRY(F32, f32, f8e4m3fn)},
	[DT_F8E4M3FNUZ] = {ENTRY(F32, f32, f8e4m3fnuz)},
	[DT_F8E5M2] = {ENTRY(F32, f32, f8e5m2)},
	[DT_F8E5M2FNUZ] = {ENTRY(F32, f32, f8e5m2fnuz)},
	[DT_F4E2M1] = {ENTRY(F32, f32, f4e2m1)},
	[DT_F8E8M0] = {ENTRY(F32, f32, f8e8m0)},
	[DT_I4] = {ENTRY(I32, i32, i4)},
	[DT_U4] = {ENTRY(I32, i32, u4)},
	[DT_I2] = {ENTRY(I32, i32, i2)},
	[DT_U2] = {ENTRY(I32, i32, u2)},
};

/* The columns that flags choose among. */
static BlockFn
cast_by_flags(DType to, int flags)
{
	bool is_nosat = flags & CAST_NOSAT;
	switch (to) {
	case DT_F8E4M3FN:
		return is_nosat ? f8e4m3fn_nosat_of_f32 : f8e4m3fn_of_f32;
	case DT_F8E4M3FNUZ:
		return is_nosat ? f8e4m3fnuz_nosat_of_f32 : f8e4m3fnuz_of_f32;
	case DT_F8E5M2:
		return is_nosat ? f8e5m2_nosat_of_f32 : f8e5m2_of_f32;
	case DT_F8E5M2FNUZ:
		return is_nosat ? f8e5m2fnuz_nosat_of_f32 : f8e5m2fnuz_of_f32;
	case DT_F8E8M0:
		if (flags & CAST_ROUND_NEAREST)
			return is_nosat ? f8e8m0_near_nosat_of_f32 : f8e8m0_near_of_f32;
		if (flags & CAST_ROUND_DOWN)
			return is_nosat ? f8e8m0_down_nosat_of_f32 : f8e8m0_down_of_f32;
		return is_nosat ? f8e8m0_nosat_of_f32 : f8e8m0_of_f32;
	default:
		return casts[DT_F32][to];
	}
}

/* The row of a type in the table: what its blocks hold, but storage types have their own. */
static DType
source_row(DType from)
{
	return dtype_class(from) == DC_S ? from : block_type(from);
}

static BlockFn
find_cast(DType to, DType from, int flags)
{
	if (source_row(from) == DT_F32 && flags)
		return cast_by_flags(to, flags);
	return casts[source_row(from)][to];
}

/* The type between two that no single function converts. */
static DType
cast_via(DType to, DType from)
{
	if (dtype_class(from) == DC_S)
		return dtype_is_code_integer(from) ? DT_I32 : DT_F32;
	return dtype_is_code_integer(to) && !dtype_is_float(from) ? DT_I32 : DT_F32;
}

int
block_cast_steps(DType to, DType from, int flags, BlockCast *steps)
{
	int count = 0;
	for (BlockFn fn; !(fn = find_cast(to, from, flags)); count++) {
		DType via = cast_via(to, from);
		/* one rounding in all: the first one keeps a sticky bit */
		bool is_narrowing = from == DT_F64 && via == DT_F32;
		steps[count] = (BlockCast){is_narrowing ? f32odd_of_f64 : find_cast(via, from, 0), via};
		from = via;
	}
	steps[count++] = (BlockCast){find_cast(to, from, flags), to};
	return count;
}

/* ---- memory ---------------------------------------------------------------------------------- */

static bool
is_packed(DType type)
{
	return dtype_bits(type) < 8;
}

static tw_u8
load_packed(DType type, const void *data, int64_t index)
{
	int bits = dtype_bits(type), per_byte = 8 / bits;
	tw_u8 byte = ((const tw_u8 *)data)[index / per_byte];
	return (tw_u8)(byte >> (index % per_byte * bits) & ((1 << bits) - 1));
}

static void
store_packed(DType type, void *data, int64_t index, tw_u8 code)
{
	int bits = dtype_bits(type), per_byte = 8 / bits;
	int shift = (int)(index % per_byte) * bits, mask = ((1 << bits) - 1) << shift;
	tw_u8 *byte = (tw_u8 *)data + index / per_byte;
	*byte = (tw_u8)((*byte & ~mask) | (code << shift & mask));
}

/* Elements are moved as bits of their size, whatever their type. */
typedef tw_u64 __attribute__((may_alias)) word64;
typedef tw_u32 __attribute__((may_alias)) word32;
typedef tw_u16 __attribute__((may_alias)) word16;

/* `value` is the element `at` of the lane i. */
#define LOAD(T, value) \
	{ \
		T *y = out; \
		for (int i = 0; i < n; i++) { \
			const int64_t at = index ? index[i] : first + i * stride; \
			y[i] = value; \
		} \
		return; \
	}
#define STORE(T, value) \
	{ \
		T *memory = data; \
		for (int i = 0; i < n; i++) { \
			const int64_t at = index ? index[i] : first + i * stride; \
			memory[at] = value; \
		} \
		return; \
	}

/* Inlined twice, so that the test of `index` leaves the loops. */
static inline __attribute__((always_inline)) void
load_any(DType type, int n, void *out, const void *data, const int64_t *index, int64_t first,
         int64_t stride)
{
	if (type == DT_F16)
		LOAD(tw_f32, tw_f32_of_f16(((const tw_u16 *)data)[at]))
	if (type == DT_BF16)
		LOAD(tw_f32, tw_f32_of_bf16(((const tw_u16 *)data)[at]))
	if (type == DT_BOOL)
		LOAD(tw_u8, ((const tw_u8 *)data)[at] != 0)
	if (is_packed(type))
		LOAD(tw_u8, load_packed(type, data, at))
	switch (block_size(type)) {
	case 8:
		LOAD(word64, ((const word64 *)data)[at])
	case 4:
		LOAD(word32, ((const word32 *)data)[at])
	case 2:
		LOAD(word16, ((const word16 *)data)[at])
	default:
		LOAD(tw_u8, ((const tw_u8 *)data)[at])
	}
}

static inline __attribute__((always_inline)) void
store_any(DType type, int n, void *data, const int64_t *index, int64_t first, int64_t stride,
          const void *in)
{
	if (type == DT_F16)
		STORE(tw_u16, tw_f16_of_f32(((const tw_f32 *)in)[i]))
	if (type == DT_BF16)
		STORE(tw_u16, tw_bf16_of_f32(((const tw_f32 *)in)[i]))
	if (is_packed(type)) {
		for (int i = 0; i < n; i++)
			store_packed(type, data, index ? index[i] : first + i * stride, ((const tw_u8 *)in)[i]);
		return;
	}
	switch (block_size(type)) {
	case 8:
		STORE(word64, ((const word64 *)in)[i])
	case 4:
		STORE(word32, ((const word32 *)in)[i])
	case 2:
		STORE(word16, ((const word16 *)in)[i])
	default:
		STORE(tw_u8, ((const tw_u8 *)in)[i])
	}
}

void
block_load(DType type, int n, void *out, const void *data, const int64_t *index)
{
	load_any(type, n, out, data, index, 0, 0);
}

void
block_load_stride(DType type, int n, void *out, const void *data, int64_t first, int64_t stride)
{
	if (stride == 1 && block_size(type) * 8 == (size_t)dtype_bits(type) && type != DT_BOOL)
		memcpy(out, (const char *)data + first * (int64_t)block_size(type),
		       (size_t)n * block_size(type));
	else
		load_any(type, n, out, data, NULL, first, stride);
}

void
block_store(DType type, int n, void *data, const int64_t *index, const void *in)
{
	store_any(type, n, data, index, 0, 0, in);
}

void
block_store_stride(DType type, int n, void *data, int64_t first, int64_t stride, const void *in)
{
	store_any(type, n, data, NULL, first, stride, in);
}

void
block_put(DType type, void *out, Scalar value)
{
	if (type == DT_F16 || type == DT_BF16) {
		float wide = type == DT_F16 ? tw_f32_of_f16(value.bits16) : tw_f32_of_bf16(value.bits16);
		memcpy(out, &wide, sizeof wide);
		return;
	}
	/* the low bytes hold a narrower integer on the machines we build for */
	memcpy(out, &value, block_size(type));
}

Scalar
block_get(DType type, const void *in)
{
	Scalar value = {.u64 = 0};
	if (block_rounds(type)) {
		float wide;
		memcpy(&wide, in, sizeof wide);
		value.bits16 = type == DT_F16 ? tw_f16_of_f32(wide) : tw_bf16_of_f32(wide);
	} else if (dtype_is_integer(type)) {
		value.i64 = dtype_load_i64(type, in, 0);
	} else {
		memcpy(&value, in, block_size(type));
	}
	return value;
}
