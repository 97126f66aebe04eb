/* Quantisation: rounding, saturation, granularity, storage types, quantised products. */
#include "ops.h"

/* Half to even, then the zero point, then saturation. */
static double
quantised(double x, double scale, double zero, double lo, double hi)
{
	return fmin(fmax(nearbyint(x / scale) + zero, lo), hi);
}

START_TEST(ties_and_limits)
{
	OpTest t = test_of("QuantizeLinear");
	float x[] = {0.5f, 1.5f, 2.5f, -0.5f, -1.5f, 1000, -1000, 126.5f}, scale = 1;
	int8_t zero = 1;
	test_input(&t, array_from(t.arena, DT_F32, 1, (int64_t[]){8}, x));
	test_symbolic(&t, 0);
	test_input(&t, array_from(t.arena, DT_F32, 0, NULL, &scale));
	test_input(&t, array_from(t.arena, DT_I8, 0, NULL, &zero));
	Array *y = test_run(&t);
	ck_assert_int_eq(y->type, DT_I8);
	double expected[] = {1, 3, 3, 1, -1, 127, -128, 127};
	for (int i = 0; i < 8; i++)
		ck_assert_double_eq(expected[i], value_at(y, i));
	arena_free(t.arena);
}
END_TEST

typedef struct Range {
	DType type;
	double lo, hi;
} Range;

static const Range RANGES[] = {
	{DT_U8, 0, 255},         {DT_I8, -128, 127}, {DT_U4, 0, 15}, {DT_I4, -8, 7},
	{DT_I16, -32768, 32767}, {DT_U16, 0, 65535}, {DT_I2, -2, 1}, {DT_U2, 0, 3}};

/* Dims [2, 6]: per tensor, per column (axis 1), blocks of 2 along axis 1. */
static void
check_round_trip(Dice *dice, const Range *range, int form)
{
	int64_t dims[] = {2, 6}, sd[3][2] = {{0}, {6}, {2, 3}};
	int rank = form;
	OpTest t = test_of("QuantizeLinear");
	Array *x = random_array(t.arena, dice, DT_F32, 2, dims, -4, 4);
	Array *scale = random_array(t.arena, dice, DT_F32, rank, sd[form], 1, 3);
	Array *zero = random_array(t.arena, dice, range->type, rank, sd[form], 0, 1);
	test_input(&t, x);
	test_symbolic(&t, 0);
	test_input(&t, scale);
	test_input(&t, zero);
	test_attr_int(&t, "axis", -1);
	test_attr_int(&t, "block_size", form == 2 ? 2 : 0);
	Array *y = test_run(&t);

	OpTest back = test_of("DequantizeLinear");
	test_input(&back, y);
	test_input(&back, scale);
	test_input(&back, zero);
	test_attr_int(&back, "axis", 1);
	test_attr_int(&back, "block_size", form == 2 ? 2 : 0);
	Array *z = test_run(&back);
	for (int64_t i = 0; i < 12; i++) {
		int64_t k[] = {0, i % 6, i / 2};
		double s = value_at(scale, k[form]), o = value_at(zero, k[form]);
		double q = quantised(value_at(x, i), s, o, range->lo, range->hi);
		ck_assert_double_eq(q, value_at(y, i));
		ck_assert_double_eq((q - o) * s, value_at(z, i));
	}
	arena_free(back.arena);
	arena_free(t.arena);
}

START_TEST(types_and_granularity)
{
	Dice dice = {1};
	for (size_t i = 0; i < countof(RANGES); i++)
		for (int form = 0; form < 3; form++)
			check_round_trip(&dice, &RANGES[i], form);
}
END_TEST

/* float8: above the largest, 448 with saturation and NaN without. */
START_TEST(float8)
{
	for (int saturate = 0; saturate < 2; saturate++) {
		OpTest t = test_of("QuantizeLinear");
		float x[] = {1, 900, 1.0625f}, scale = 1;
		test_input(&t, array_from(t.arena, DT_F32, 1, (int64_t[]){3}, x));
		test_input(&t, array_from(t.arena, DT_F32, 0, NULL, &scale));
		test_attr_int(&t, "output_dtype", DT_F8E4M3FN);
		test_attr_int(&t, "saturate", saturate);
		Array *y = test_run(&t);
		ck_assert_int_eq(y->type, DT_F8E4M3FN);
		expect_near(1, value_at(y, 0), 0);
		expect_near(saturate ? 448 : NAN, value_at(y, 1), 0);
		expect_near(1, value_at(y, 2), 0); /* a tie goes to the even one */
		arena_free(t.arena);
	}
}
END_TEST

START_TEST(dynamic)
{
	OpTest t = test_of("DynamicQuantizeLinear");
	float x[] = {0, 2, -3, -2.5f, 1.34f, 0.61f};
	test_input(&t, array_from(t.arena, DT_F32, 1, (int64_t[]){6}, x));
	test_symbolic(&t, 0);
	t.noutput = 3;
	Array *y = test_run(&t);
	double scale = 5.0 / 255, zero = nearbyint(3 / scale);
	expect_near(scale, value_at(t.outputs[1], 0), 1e-7);
	ck_assert_double_eq(zero, value_at(t.outputs[2], 0));
	for (int i = 0; i < 6; i++)
		ck_assert_double_eq(quantised(x[i], (float)scale, zero, 0, 255), value_at(y, i));
	arena_free(t.arena);
}
END_TEST

/* QLinearConv with one tap per channel: scales and zero points per output channel. */
START_TEST(quantised_convolution)
{
	OpTest t = test_of("QLinearConv");
	uint8_t x[] = {10, 20, 30, 40}, xz = 5, yz = 3;
	int8_t w[] = {2, -3}, wz[] = {0, 1};
	int32_t bias[] = {7, -7};
	float xs = 0.5f, ws[] = {0.25f, 0.5f}, ys = 2;
	test_input(&t, array_from(t.arena, DT_U8, 3, (int64_t[]){1, 1, 4}, x));
	test_symbolic(&t, 2);
	test_input(&t, array_from(t.arena, DT_F32, 0, NULL, &xs));
	test_input(&t, array_from(t.arena, DT_U8, 0, NULL, &xz));
	test_input(&t, array_from(t.arena, DT_I8, 3, (int64_t[]){2, 1, 1}, w));
	test_input(&t, array_from(t.arena, DT_F32, 1, (int64_t[]){2}, ws));
	test_input(&t, array_from(t.arena, DT_I8, 1, (int64_t[]){2}, wz));
	test_input(&t, array_from(t.arena, DT_F32, 0, NULL, &ys));
	test_input(&t, array_from(t.arena, DT_U8, 0, NULL, &yz));
	test_input(&t, array_from(t.arena, DT_I32, 1, (int64_t[]){2}, bias));
	Array *y = test_run(&t);
	for (int f = 0; f < 2; f++)
		for (int p = 0; p < 4; p++) {
			double sum = (x[p] - xz) * (w[f] - wz[f]) + bias[f];
			double expected = quantised(sum * (xs * ws[f]), ys, yz, 0, 255);
			ck_assert_double_eq(expected, value_at(y, f * 4 + p));
		}
	arena_free(t.arena);
}
END_TEST

START_TEST(refusals)
{
	OpTest t = test_of("QuantizeLinear");
	float x = 1, scale[] = {1, 2};
	test_input(&t, array_from(t.arena, DT_F32, 2, (int64_t[]){1, 1}, &x));
	test_input(&t, array_from(t.arena, DT_F32, 1, (int64_t[]){2}, scale));
	ck_assert_str_ne(test_refusal(&t), "");
	arena_free(t.arena);
}
END_TEST

int
main(void)
{
	TCase *t = tcase_create("quantize");
	tcase_add_test(t, ties_and_limits);
	tcase_add_test(t, types_and_granularity);
	tcase_add_test(t, float8);
	tcase_add_test(t, dynamic);
	tcase_add_test(t, quantised_convolution);
	tcase_add_test(t, refusals);
	return unit_run(t);
}
