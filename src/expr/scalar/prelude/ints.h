/* Prelude 2: integers. They wrap; x/0 = 0, x%0 = 0, INT_MIN/-1 = INT_MIN; shifts of the width or
 * more give 0. Arithmetic goes through tw_u64, where nothing is undefined.
 */
#define TW_INTS(T, U, name, width) \
	TW_FN T tw_add_##name(T a, T b) { return (T)((tw_u64)a + (tw_u64)b); } \
	TW_FN T tw_sub_##name(T a, T b) { return (T)((tw_u64)a - (tw_u64)b); } \
	TW_FN T tw_mul_##name(T a, T b) { return (T)((tw_u64)a * (tw_u64)b); } \
	TW_FN T tw_neg_##name(T a) { return (T)(0 - (tw_u64)a); } \
	TW_FN T tw_min_##name(T a, T b) { return a < b ? a : b; } \
	TW_FN T tw_max_##name(T a, T b) { return a > b ? a : b; } \
	TW_FN T tw_bitand_##name(T a, T b) { return (T)(a & b); } \
	TW_FN T tw_bitor_##name(T a, T b) { return (T)(a | b); } \
	TW_FN T tw_bitxor_##name(T a, T b) { return (T)(a ^ b); } \
	TW_FN T tw_bitnot_##name(T a) { return (T)~a; } \
	TW_FN T tw_shl_##name(T a, T b) \
	{ \
		return (tw_u64)b < width ? (T)((tw_u64)a << (tw_u64)b) : (T)0; \
	} \
	TW_FN T tw_shr_##name(T a, T b) { return (tw_u64)b < width ? (T)(a >> (int)b) : (T)0; } \
	/* by repeated squaring, wrapping */ \
	TW_FN T tw_power_##name(T x, U count) \
	{ \
		tw_u64 result = 1, square = (tw_u64)x; \
		for (; count; count = (U)(count >> 1), square *= square) \
			if (count & 1) \
				result *= square; \
		return (T)result; \
	}

#define TW_SIGNED(T, U, name, width) \
	TW_INTS(T, U, name, width) \
	TW_FN T tw_abs_##name(T a) { return a < 0 ? tw_neg_##name(a) : a; } \
	TW_FN T tw_sign_##name(T a) { return (T)((a > 0) - (a < 0)); } \
	TW_FN T tw_quot_##name(T a, T b) \
	{ \
		return b == 0 ? (T)0 : b == -1 ? tw_neg_##name(a) : (T)(a / b); \
	} \
	TW_FN T tw_rem_##name(T a, T b) { return b == 0 || b == -1 ? (T)0 : (T)(a % b); } \
	TW_FN T tw_floordiv_##name(T a, T b) \
	{ \
		T q = tw_quot_##name(a, b), r = tw_rem_##name(a, b); \
		return r != 0 && (r < 0) != (b < 0) ? (T)(q - 1) : q; \
	} \
	TW_FN T tw_floormod_##name(T a, T b) \
	{ \
		T r = tw_rem_##name(a, b); \
		return r != 0 && (r < 0) != (b < 0) ? (T)(r + b) : r; \
	} \
	TW_FN T tw_pow_##name(T x, T y) \
	{ \
		if (y >= 0) \
			return tw_power_##name(x, (U)y); \
		return x == 1 || x == -1 ? tw_power_##name(x, (U)(y & 1)) : (T)0; \
	}

#define TW_UNSIGNED(T, name, width) \
	TW_INTS(T, T, name, width) \
	TW_FN T tw_abs_##name(T a) { return a; } \
	TW_FN T tw_sign_##name(T a) { return a > 0; } \
	TW_FN T tw_quot_##name(T a, T b) { return b == 0 ? (T)0 : (T)(a / b); } \
	TW_FN T tw_rem_##name(T a, T b) { return b == 0 ? (T)0 : (T)(a % b); } \
	TW_FN T tw_floordiv_##name(T a, T b) { return tw_quot_##name(a, b); } \
	TW_FN T tw_floormod_##name(T a, T b) { return tw_rem_##name(a, b); } \
	TW_FN T tw_pow_##name(T x, T y) { return tw_power_##name(x, y); }

TW_SIGNED(tw_i8, tw_u8, i8, 8)
TW_SIGNED(tw_i16, tw_u16, i16, 16)
TW_SIGNED(tw_i32, tw_u32, i32, 32)
TW_SIGNED(tw_i64, tw_u64, i64, 64)
TW_UNSIGNED(tw_u8, u8, 8)
TW_UNSIGNED(tw_u16, u16, 16)
TW_UNSIGNED(tw_u32, u32, 32)
TW_UNSIGNED(tw_u64, u64, 64)

/* Sums of products of the four bytes in a word, the first in the low bits. */
#define TW_DOT(name, T) \
	TW_FN tw_i32 tw_##name##_u32(tw_u32 a, tw_u32 b) \
	{ \
		tw_i32 sum = 0; \
		for (int i = 0; i < 32; i += 8) \
			sum += (tw_i32)(T)(a >> i) * (tw_i32)(tw_i8)(b >> i); \
		return sum; \
	}
TW_DOT(dotus, tw_u8)
TW_DOT(dotss, tw_i8)
