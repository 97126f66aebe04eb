/* Prelude K3: vectors that lie across rows, loaded along them and turned: what codegen writes for a
 * loop @turn (tir/loops/turn_loops.c). Elements have 4 bytes.
 */
#if !TW_CUDA
/* Of each four lanes: those that a, b, c, d number, 0 to 3 from v, 4 to 7 from w. */
#define TW_FOUR_AT(x, k, L) ((x) % 4 + 4 * (k) + (x) / 4 * (L))
#define TW_FOUR(k, L, a, b, c, d) \
	TW_FOUR_AT(a, k, L), TW_FOUR_AT(b, k, L), TW_FOUR_AT(c, k, L), TW_FOUR_AT(d, k, L)
#define TW_FOURS_4(v, w, a, b, c, d) __builtin_shufflevector(v, w, TW_FOUR(0, 4, a, b, c, d))
#define TW_FOURS_8(v, w, a, b, c, d) \
	__builtin_shufflevector(v, w, TW_FOUR(0, 8, a, b, c, d), TW_FOUR(1, 8, a, b, c, d))
#define TW_FOURS_16(v, w, a, b, c, d) \
	__builtin_shufflevector(v, w, TW_FOUR(0, 16, a, b, c, d), TW_FOUR(1, 16, a, b, c, d), \
	                        TW_FOUR(2, 16, a, b, c, d), TW_FOUR(3, 16, a, b, c, d))
/* Four elements of each fourth row, one behind the other. */
#define TW_ROWS_4(p, step) tw_load_f32x4(p)
#define TW_ROWS_8(p, step) \
	__builtin_shufflevector(tw_load_f32x4(p), tw_load_f32x4((p) + 4 * (step)), 0, 1, 2, 3, 4, 5, \
	                        6, 7)
#define TW_ROWS_16(p, step) tw_rows_f32x16(p, step)
/* gcc tries to make one shuffle of several for two thirds of the time that it takes for such a
 * kernel, and finds none: values that are made apart it leaves alone. */
#if TW_X86_BYTES
#define TW_APART(v) __asm__("" : "+v"(v))
#else
#define TW_APART(v) (void)0
#endif
TW_FN tw_f32x16
tw_rows_f32x16(const tw_f32 *p, tw_i64 step)
{
#if TW_X86_BYTES == 64
#ifndef __clang__
	tw_f32x16 v = __builtin_ia32_broadcastf32x4_512(tw_load_f32x4(p), (tw_f32x16){0}, -1);
	TW_APART(v);
	v = __builtin_ia32_insertf32x4_mask(v, tw_load_f32x4(p + 4 * step), 1, v, -1);
	TW_APART(v);
	v = __builtin_ia32_insertf32x4_mask(v, tw_load_f32x4(p + 8 * step), 2, v, -1);
	TW_APART(v);
	v = __builtin_ia32_insertf32x4_mask(v, tw_load_f32x4(p + 12 * step), 3, v, -1);
	TW_APART(v);
	return v;
#endif
#endif
	return __builtin_shufflevector(TW_ROWS_8(p, step), TW_ROWS_8(p + 8 * step, step), 0, 1, 2, 3, 4,
	                               5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
}

/* to[u*width + i] = from[i*step + u], for u below `rows` and i below `count`. */
#define TW_TURN(L) \
	TW_FN void tw_turn_whole_x##L(tw_f32 *to, tw_i64 width, const tw_f32 *from, tw_i64 step) \
	{ \
		_Pragma("GCC unroll 16") for (int b = 0; b < L; b += 4) \
		{ \
			tw_f32x##L r0 = TW_ROWS_##L(from + b, step), r1 = TW_ROWS_##L(from + b + step, step); \
			tw_f32x##L r2 = TW_ROWS_##L(from + b + 2 * step, step); \
			tw_f32x##L r3 = TW_ROWS_##L(from + b + 3 * step, step); \
			tw_f32x##L q0 = TW_FOURS_##L(r0, r1, 0, 4, 1, 5); \
			tw_f32x##L q1 = TW_FOURS_##L(r0, r1, 2, 6, 3, 7); \
			tw_f32x##L q2 = TW_FOURS_##L(r2, r3, 0, 4, 1, 5); \
			tw_f32x##L q3 = TW_FOURS_##L(r2, r3, 2, 6, 3, 7); \
			TW_APART(q0); \
			TW_APART(q1); \
			TW_APART(q2); \
			TW_APART(q3); \
			tw_store_f32x##L(to + b * width, TW_FOURS_##L(q0, q2, 0, 1, 4, 5)); \
			tw_store_f32x##L(to + (b + 1) * width, TW_FOURS_##L(q0, q2, 2, 3, 6, 7)); \
			tw_store_f32x##L(to + (b + 2) * width, TW_FOURS_##L(q1, q3, 0, 1, 4, 5)); \
			tw_store_f32x##L(to + (b + 3) * width, TW_FOURS_##L(q1, q3, 2, 3, 6, 7)); \
		} \
	} \
	TW_FN void tw_turn_part_x##L(tw_f32 *to, tw_i64 width, const tw_f32 *from, tw_i64 step, \
	                             tw_i64 rows, tw_i64 count) \
	{ \
		tw_f32 in[L * L] __attribute__((aligned(64))), out[L * L] __attribute__((aligned(64))); \
		tw_i32x##L across = (tw_i32x##L)(tw_iota_i32x##L() < tw_set_i32x##L((tw_i32)rows)); \
		tw_i32x##L along = (tw_i32x##L)(tw_iota_i32x##L() < tw_set_i32x##L((tw_i32)count)); \
		for (int i = 0; i < L; i++) \
			tw_store_f32x##L(in + i * L, i < count ? tw_loadm_f32x##L(from + i * step, across) \
			                                       : (tw_f32x##L){0}); \
		tw_turn_whole_x##L(out, L, in, L); \
		for (int u = 0; u < rows; u++) \
			tw_storem_f32x##L(to + u * width, tw_load_f32x##L(out + u * L), along); \
	} \
	TW_FN void tw_turn_x##L(void *to, tw_i64 width, const void *from, tw_i64 step, tw_i64 rows, \
	                        tw_i64 count) \
	{ \
		for (tw_i64 u = 0; u < rows; u += L) { \
			if (rows - u >= L && count == L) \
				tw_turn_whole_x##L((tw_f32 *)to + u * width, width, (const tw_f32 *)from + u, \
				                   step); \
			else \
				tw_turn_part_x##L((tw_f32 *)to + u * width, width, (const tw_f32 *)from + u, step, \
				                  rows - u < L ? rows - u : L, count); \
		} \
	}
TW_TURN(4)
TW_TURN(8)
TW_TURN(16)
#endif
