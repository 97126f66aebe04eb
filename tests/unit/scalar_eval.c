/* Single values: integer edges, conversions, short floats and storage types. */
#include <math.h>

#include "unit.h"
#include "base/half.h"
#include "expr/scalar/expr.h"
#include "expr/scalar/math.h"

static Scalar
of_i64(int64_t value)
{
	return (Scalar){.i64 = value};
}

static int64_t
int_op(ExprOp op, DType type, int64_t a, int64_t b)
{
	DType result = scalar_info(op)->rule == RULE_cmp ? DT_BOOL : type;
	return scalar_eval(op, result, (Scalar[]){of_i64(a), of_i64(b)}, type).i64;
}

START_TEST(integers)
{
	ck_assert_int_eq(int_op(EX_floordiv, DT_I64, -7, 2), -4);
	ck_assert_int_eq(int_op(EX_floormod, DT_I64, -7, 2), 1);
	ck_assert_int_eq(int_op(EX_floormod, DT_I32, 7, -2), -1);
	ck_assert_int_eq(int_op(EX_quot, DT_I64, -7, 2), -3);
	ck_assert_int_eq(int_op(EX_rem, DT_I64, -7, 2), -1);
	ck_assert_int_eq(int_op(EX_floordiv, DT_I32, 5, 0), 0);
	ck_assert_int_eq(int_op(EX_floormod, DT_U8, 5, 0), 0);
	ck_assert_int_eq(int_op(EX_quot, DT_I32, INT32_MIN, -1), INT32_MIN);
	ck_assert_int_eq(int_op(EX_quot, DT_I64, INT64_MIN, -1), INT64_MIN);
	ck_assert_int_eq(int_op(EX_rem, DT_I64, INT64_MIN, -1), 0);
	ck_assert_int_eq(int_op(EX_add, DT_I8, 127, 1), -128);
	ck_assert_int_eq(int_op(EX_mul, DT_U8, 16, 17), 16);
	ck_assert_int_eq(int_op(EX_sub, DT_U16, 0, 1), 65535);
	ck_assert_int_eq(int_op(EX_shl, DT_I32, 1, 32), 0);
	ck_assert_int_eq(int_op(EX_shl, DT_I32, 1, 31), INT32_MIN);
	ck_assert_int_eq(int_op(EX_shr, DT_I8, -128, 7), -1);
	ck_assert_int_eq(int_op(EX_shr, DT_I64, -1, 64), 0);
	ck_assert_int_eq(int_op(EX_pow, DT_I32, 3, 5), 243);
	ck_assert_int_eq(int_op(EX_pow, DT_I32, -1, -3), -1);
	ck_assert_int_eq(int_op(EX_pow, DT_I32, 2, -1), 0);
	ck_assert_int_eq(int_op(EX_abs, DT_I8, -128, 0), -128);
	ck_assert_int_eq(int_op(EX_lt, DT_U64, -1, 1), 0);
	ck_assert_int_eq(int_op(EX_lt, DT_I64, -1, 1), 1);
}
END_TEST

static int64_t
to_int(DType type, double value)
{
	return scalar_cast(type, 0, DT_F64, (Scalar){.f64 = value}).i64;
}

START_TEST(floats_to_integers)
{
	ck_assert_int_eq(to_int(DT_I8, 127.9), 127);
	ck_assert_int_eq(to_int(DT_I8, 300), 127);
	ck_assert_int_eq(to_int(DT_I8, -128.9), -128);
	ck_assert_int_eq(to_int(DT_U8, -0.9), 0);
	ck_assert_int_eq(to_int(DT_U8, -5), 0);
	ck_assert_int_eq(to_int(DT_I32, NAN), 0);
	ck_assert_int_eq(to_int(DT_I32, -2147483648.5), INT32_MIN);
	ck_assert_int_eq(to_int(DT_I64, 1e30), INT64_MAX);
	ck_assert_int_eq(to_int(DT_I64, -INFINITY), INT64_MIN);
	ck_assert_int_eq(to_int(DT_U64, 1e30), -1);
	ck_assert_int_eq(to_int(DT_BOOL, NAN), 1);
	ck_assert_int_eq(scalar_cast(DT_I8, 0, DT_I64, of_i64(200)).i64, -56);
	ck_assert_int_eq(scalar_cast(DT_U32, 0, DT_I64, of_i64(-1)).i64, 0xFFFFFFFF);
	ck_assert_int_eq(scalar_cast(DT_I4, 0, DT_F64, (Scalar){.f64 = 2.9999999999}).u64, 2);
	ck_assert_int_eq(scalar_cast(DT_I4, 0, DT_F32, (Scalar){.f32 = -100}).u64, 8);
	ck_assert_int_eq(scalar_cast(DT_U4, 0, DT_I64, of_i64(-1)).u64, 15);
	ck_assert_int_eq(scalar_cast(DT_I64, 0, DT_I4, (Scalar){.u64 = 9}).i64, -7);
}
END_TEST

/* The prelude's conversions are those of base/half.h, code by code and for the values between. */
START_TEST(short_floats)
{
	int bad = 0;
	for (uint32_t bits = 0; bits < 65536; bits++) {
		uint16_t h = (uint16_t)bits;
		float wide = f16_to_f32(h), brain = bf16_to_f32(h);
		bad += tw_bits_f32(tw_f32_of_f16(h)) != tw_bits_f32(wide);
		bad += tw_bits_f32(tw_f32_of_bf16(h)) != tw_bits_f32(brain);
	}
	ck_assert_int_eq(bad, 0);
	uint64_t state = 1;
	for (int i = 0; i < 1 << 20; i++) {
		state = state * 6364136223846793005u + 1442695040888963407u;
		uint64_t z = state ^ state >> 29;
		float x = tw_float_f32((uint32_t)z);
		double y = i & 1 ? (double)x + tw_float_f64(z) : tw_float_f64(z << 8 | z >> 56);
		if (i & 2) /* the range of f16, with few bits and ties */
			y = (double)(int32_t)z / 0x1p15 * (z >> 60 & 1 ? 1 : 0x1p-24);
		bad += tw_f16_of_f32(x) != f64_to_f16(x) || tw_bf16_of_f32(x) != f64_to_bf16(x);
		bad +=
			!isnan(y) && (tw_f16_of_f64(y) != f64_to_f16(y) || tw_bf16_of_f64(y) != f64_to_bf16(y));
#define SAME(name) \
	bad += tw_##name##_of_f32(x, 1) != f32_to_##name(x, true); \
	bad += tw_##name##_of_f32(x, 0) != f32_to_##name(x, false); \
	bad += tw_bits_f32(tw_f32_of_##name((tw_u8)z)) != tw_bits_f32(name##_to_f32((uint8_t)z));
		x = i & 4 ? (float)y : x;
		SAME(f8e4m3fn)
		SAME(f8e4m3fnuz)
		SAME(f8e5m2)
		SAME(f8e5m2fnuz)
		bad += tw_f4e2m1_of_f32(x) != f32_to_f4e2m1(x);
		for (int mode = 0; mode < 3; mode++)
			bad += tw_f8e8m0_of_f32(x, i & 8, mode) != f32_to_f8e8m0(x, i & 8, mode);
	}
	ck_assert_int_eq(bad, 0);
	for (int i = 0; i < 16; i++)
		ck_assert(tw_f32_of_f4e2m1((tw_u8)i) == f4e2m1_to_f32((uint8_t)i));
	ck_assert_uint_eq(tw_f16_of_i64(65519), 0x7BFF);
	ck_assert_uint_eq(tw_f16_of_i64(65520), 0x7C00);
	ck_assert_uint_eq(tw_bf16_of_i64((1ll << 55) + (1ll << 47) + 1), 0x5B01);
	ck_assert_uint_eq(tw_bf16_of_i64(-(1ll << 55) - (1ll << 47)), 0xDB00);
}
END_TEST

START_TEST(arithmetic_of_f16)
{
	/* 2048 + 1 is a tie in f16; 1/3 is rounded once */
	Scalar a = {.bits16 = f64_to_f16(2048)}, b = {.bits16 = f64_to_f16(1)};
	ck_assert_uint_eq(scalar_eval(EX_add, DT_F16, (Scalar[]){a, b}, DT_F16).bits16, a.bits16);
	Scalar three = {.bits16 = f64_to_f16(3)};
	ck_assert_uint_eq(scalar_eval(EX_div, DT_F16, (Scalar[]){b, three}, DT_F16).bits16, 0x3555);
	ck_assert_uint_eq(scalar_eval(EX_lt, DT_BOOL, (Scalar[]){b, three}, DT_F16).u64, 1);
	Scalar pick[] = {{.u64 = 0}, a, b};
	ck_assert_uint_eq(scalar_eval(EX_select, DT_F16, pick, DT_BOOL).bits16, b.bits16);
}
END_TEST

int
main(void)
{
	TCase *tcase = tcase_create("scalar_eval");
	tcase_add_test(tcase, integers);
	tcase_add_test(tcase, floats_to_integers);
	tcase_add_test(tcase, short_floats);
	tcase_add_test(tcase, arithmetic_of_f16);
	return unit_run(tcase);
}
