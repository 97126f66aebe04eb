/* Pointwise operators whose formula has cases, and blocks of channels, against known values. */
#include "ops.h"

#include <math.h>

/* op(a, b) of five elements each. */
static void
check_pair(const char *op, const char *attr, const char *word, int64_t number, DType type,
           const double *a, const double *b, const double *expected)
{
	OpTest t = test_of(op);
	int64_t count = 5;
	Array *x = array_new(t.arena, type, 1, &count), *y = array_new(t.arena, type, 1, &count);
	for (int64_t i = 0; i < count; i++) {
		dtype_store_f64(type, x->data, i, a[i]);
		dtype_store_f64(type, y->data, i, b[i]);
	}
	test_input(&t, x);
	test_input(&t, y);
	if (word)
		test_attr_string(&t, attr, word);
	else
		test_attr_int(&t, attr, number);
	Array *z = test_run(&t);
	for (int64_t i = 0; i < count; i++) {
		if (isnan(expected[i]))
			ck_assert_double_nan(value_at(z, i));
		else
			ck_assert_double_eq(expected[i], value_at(z, i));
	}
	arena_free(t.arena);
}

/* To the right signs come in; a count below 0 or of the width and more leaves nothing else. */
START_TEST(bit_shifts)
{
	double a[] = {-8, -8, 5, -1, 100}, b[] = {1, -1, 40, 31, 2};
	check_pair("BitShift", "direction", "RIGHT", 0, DT_I32, a, b, (double[]){-4, -1, 0, -1, 25});
	check_pair("BitShift", "direction", "LEFT", 0, DT_I32, a, b,
	           (double[]){-16, 0, 0, -2147483648.0, 400});
	double c[] = {200, 1, 255, 129, 7}, d[] = {1, 8, 7, 0, 9};
	check_pair("BitShift", "direction", "RIGHT", 0, DT_U8, c, d, (double[]){100, 0, 1, 129, 0});
	check_pair("BitShift", "direction", "LEFT", 0, DT_U8, c, d, (double[]){144, 0, 128, 129, 0});
}
END_TEST

/* The sign of b, or of a; what is infinite stays what it is, or becomes b. */
START_TEST(remainders)
{
	double a[] = {7, -7, 7, -7, 0}, b[] = {3, 3, -3, -3, -5};
	check_pair("Mod", "fmod", NULL, 0, DT_I64, a, b, (double[]){1, 2, -2, -1, 0});
	check_pair("Mod", "fmod", NULL, 0, DT_F32, a, b, (double[]){1, 2, -2, -1, 0});
	check_pair("Mod", "fmod", NULL, 1, DT_F32, a, b, (double[]){1, -1, 1, -1, 0});
	double c[] = {3, -3, 3, INFINITY, 1}, d[] = {INFINITY, INFINITY, -INFINITY, 2, 0};
	check_pair("Mod", "fmod", NULL, 0, DT_F64, c, d, (double[]){3, INFINITY, -INFINITY, NAN, NAN});
	check_pair("Mod", "fmod", NULL, 1, DT_F64, c, d, (double[]){3, -3, 3, NAN, NAN});
}
END_TEST

START_TEST(gates)
{
	OpTest t = test_of("SwiGLU");
	int64_t dims[] = {2, 3};
	Dice dice = {3};
	Array *a = random_array(t.arena, &dice, DT_F32, 2, dims, -3, 3);
	Array *b = random_array(t.arena, &dice, DT_F32, 2, dims, -3, 3);
	test_input(&t, a);
	test_input(&t, b);
	test_attr_float(&t, "alpha", 0.5f);
	Array *y = test_run(&t);
	for (int64_t i = 0; i < 6; i++) {
		double x = value_at(a, i);
		expect_near(x / (1 + exp(-0.5 * x)) * value_at(b, i), value_at(y, i), 1e-5);
	}
	arena_free(t.arena);
}
END_TEST

/* Channel c of the input at row r, column s of its block goes to channel (r*2 + s)*C + c, or to
 * c*4 + r*2 + s, and back. */
static void
check_blocks(const char *mode, bool is_depth_first)
{
	int64_t dims[] = {1, 3, 4, 2}, channels = 3;
	OpTest t = test_of("SpaceToDepth"), back = test_of("DepthToSpace");
	Array *x = array_new(t.arena, DT_F32, 4, dims);
	for (int64_t i = 0; i < 24; i++)
		dtype_store_f64(DT_F32, x->data, i, (double)i);
	test_input(&t, x);
	test_attr_int(&t, "blocksize", 2);
	test_attr_string(&t, "mode", mode);
	Array *y = test_run(&t);
	expect_dims(y, 4, (int64_t[]){1, 12, 2, 1});
	for (int64_t c = 0; c < channels; c++)
		for (int64_t at = 0; at < 8; at++) {
			int64_t row = at / 2, in_block = row % 2 * 2 + at % 2;
			int64_t to = is_depth_first ? in_block * channels + c : c * 4 + in_block;
			ck_assert_double_eq((double)(c * 8 + at), value_at(y, to * 2 + row / 2));
		}
	test_input(&back, y);
	test_attr_int(&back, "blocksize", 2);
	test_attr_string(&back, "mode", mode);
	Array *again = test_run(&back);
	for (int64_t i = 0; i < 24; i++)
		ck_assert_double_eq((double)i, value_at(again, i));
	arena_free(back.arena);
	arena_free(t.arena);
}

START_TEST(blocks_of_channels)
{
	check_blocks("DCR", true);
	check_blocks("CRD", false);
}
END_TEST

int
main(void)
{
	TCase *t = tcase_create("pointwise");
	tcase_add_test(t, bit_shifts);
	tcase_add_test(t, remainders);
	tcase_add_test(t, gates);
	tcase_add_test(t, blocks_of_channels);
	return unit_run(t);
}
