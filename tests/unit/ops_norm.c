/* Softmax and normalisations against plain loops in double. */
#include "ops.h"

/* Mean and population variance of the elements with these first coordinates. */
static void
statistics(const Array *x, int64_t first, int64_t step, int64_t count, double *mean,
           double *variance)
{
	*mean = *variance = 0;
	for (int64_t i = 0; i < count; i++)
		*mean += value_at(x, first + i * step) / (double)count;
	for (int64_t i = 0; i < count; i++)
		*variance += pow(value_at(x, first + i * step) - *mean, 2) / (double)count;
}

static void
check_softmax(Dice *dice, bool is_log, int axis, DType type)
{
	OpTest t = test_of(is_log ? "LogSoftmax" : "Softmax");
	int64_t dims[] = {2, 3, 4}, inner = 1;
	Array *x = random_array(t.arena, dice, type, 3, dims, -9, 9);
	test_input(&t, x);
	for (int i = 0; i < 3; i++)
		test_symbolic(&t, i);
	test_attr_int(&t, "axis", axis);
	Array *y = test_run(&t);
	for (int i = axis + 1; i < 3; i++)
		inner *= dims[i];
	for (int64_t i = 0; i < 24; i++) {
		int64_t first = i - i / inner % dims[axis] * inner;
		double sum = 0;
		for (int64_t k = 0; k < dims[axis]; k++)
			sum += exp(value_at(x, first + k * inner));
		double expected = is_log ? value_at(x, i) - log(sum) : exp(value_at(x, i)) / sum;
		expect_near(expected, value_at(y, i), type == DT_F16 ? 1e-3 : 1e-6);
	}
	arena_free(t.arena);
}

START_TEST(softmax)
{
	Dice dice = {1};
	for (int axis = 0; axis < 3; axis++) {
		check_softmax(&dice, false, axis, DT_F32);
		check_softmax(&dice, true, axis, DT_F32);
		check_softmax(&dice, false, axis, DT_F16);
	}
}
END_TEST

/* Large numbers overflow nothing; equal largest ones share. */
START_TEST(softmax_large)
{
	OpTest t = test_of("Softmax");
	float x[] = {1e30f, 1e30f, -1e30f};
	test_input(&t, array_from(t.arena, DT_F32, 1, (int64_t[]){3}, x));
	Array *y = test_run(&t);
	double expected[] = {0.5, 0.5, 0};
	for (int i = 0; i < 3; i++)
		ck_assert_double_eq(value_at(y, i), expected[i]);
	arena_free(t.arena);
}
END_TEST

START_TEST(batch_norm)
{
	Dice dice = {2};
	for (int training = 0; training < 2; training++) {
		OpTest t = test_of("BatchNormalization");
		int64_t dims[] = {2, 3, 2, 2}, channels[] = {3};
		Array *x = random_array(t.arena, &dice, DT_F32, 4, dims, -4, 4), *p[4];
		test_input(&t, x);
		test_symbolic(&t, 0);
		test_symbolic(&t, 1);
		for (int k = 0; k < 4; k++)
			test_input(&t, p[k] = random_array(t.arena, &dice, DT_F32, 1, channels, 1, 3));
		test_attr_int(&t, "training_mode", training);
		test_attr_float(&t, "momentum", 0.75f);
		t.noutput = training ? 3 : 1;
		Array *y = test_run(&t);
		for (int64_t i = 0; i < 24; i++) {
			int64_t c = i / 4 % 3;
			double mean = value_at(p[2], c), variance = value_at(p[3], c), m[2], v[2];
			for (int n = 0; training && n < 2; n++)
				statistics(x, (n * 3 + c) * 4, 1, 4, &m[n], &v[n]);
			if (training) {
				mean = (m[0] + m[1]) / 2;
				variance = (v[0] + v[1]) / 2 + pow((m[0] - m[1]) / 2, 2);
				expect_near(value_at(p[2], c) * 0.75 + mean * 0.25, value_at(t.outputs[1], c),
				            1e-6);
				expect_near(value_at(p[3], c) * 0.75 + variance * 0.25, value_at(t.outputs[2], c),
				            1e-6);
			}
			double n = (value_at(x, i) - mean) / sqrt(variance + 1e-5);
			expect_near(n * value_at(p[0], c) + value_at(p[1], c), value_at(y, i), 1e-5);
		}
		arena_free(t.arena);
	}
}
END_TEST

START_TEST(layer_norm)
{
	Dice dice = {3};
	for (int axis = 1; axis < 3; axis++) {
		OpTest t = test_of("LayerNormalization");
		int64_t dims[] = {2, 3, 4}, count = axis == 1 ? 12 : 4;
		Array *x = random_array(t.arena, &dice, DT_F32, 3, dims, -4, 4);
		Array *scale = random_array(t.arena, &dice, DT_F32, 3 - axis, dims + axis, 1, 3);
		Array *bias = random_array(t.arena, &dice, DT_F32, 3 - axis, dims + axis, 1, 3);
		test_input(&t, x);
		test_symbolic(&t, 0);
		test_input(&t, scale);
		test_input(&t, bias);
		test_attr_int(&t, "axis", axis);
		t.noutput = 3;
		Array *y = test_run(&t);
		for (int64_t i = 0; i < 24; i++) {
			double mean, variance;
			statistics(x, i / count * count, 1, count, &mean, &variance);
			double n = (value_at(x, i) - mean) / sqrt(variance + 1e-5);
			expect_near(n * value_at(scale, i % count) + value_at(bias, i % count), value_at(y, i),
			            1e-5);
			expect_near(mean, value_at(t.outputs[1], i / count), 1e-6);
			expect_near(1 / sqrt(variance + 1e-5), value_at(t.outputs[2], i / count), 1e-5);
		}
		arena_free(t.arena);
	}
}
END_TEST

/* Groups of channels: one group, two, one for each channel (InstanceNormalization). */
START_TEST(group_norm)
{
	Dice dice = {4};
	for (int groups = 1; groups <= 8; groups *= 2) {
		OpTest t = test_of(groups == 8 ? "InstanceNormalization" : "GroupNormalization");
		int64_t dims[] = {2, 4, 3}, count = groups == 8 ? 3 : 12 / groups;
		Array *x = random_array(t.arena, &dice, DT_F32, 3, dims, -4, 4);
		Array *scale = random_array(t.arena, &dice, DT_F32, 1, dims + 1, 1, 3);
		Array *bias = random_array(t.arena, &dice, DT_F32, 1, dims + 1, 1, 3);
		test_input(&t, x);
		test_symbolic(&t, 0);
		test_symbolic(&t, 2);
		test_input(&t, scale);
		test_input(&t, bias);
		if (groups < 8)
			test_attr_int(&t, "num_groups", groups);
		Array *y = test_run(&t);
		for (int64_t i = 0; i < 24; i++) {
			double mean, variance;
			int64_t c = i / 3 % 4;
			statistics(x, i / count * count, 1, count, &mean, &variance);
			double n = (value_at(x, i) - mean) / sqrt(variance + 1e-5);
			expect_near(n * value_at(scale, c) + value_at(bias, c), value_at(y, i), 1e-5);
		}
		arena_free(t.arena);
	}
}
END_TEST

START_TEST(by_norms)
{
	double expected[3][4] = {{0.6, 0.8, 0, 0}, {3.0 / 7, 4.0 / 7, 0, 0}, {0.0}};
	for (int p = 1; p < 3; p++) {
		OpTest t = test_of("LpNormalization");
		float x[] = {3, 4, 0, 0};
		test_input(&t, array_from(t.arena, DT_F32, 2, (int64_t[]){2, 2}, x));
		test_attr_int(&t, "p", p);
		Array *y = test_run(&t);
		for (int i = 0; i < 4; i++)
			expect_near(expected[p == 1][i], value_at(y, i), 1e-6);
		arena_free(t.arena);
	}
	OpTest t = test_of("RMSNormalization");
	float x[] = {3, 4}, scale[] = {2, 10};
	test_input(&t, array_from(t.arena, DT_F32, 2, (int64_t[]){1, 2}, x));
	test_input(&t, array_from(t.arena, DT_F32, 1, (int64_t[]){2}, scale));
	test_attr_float(&t, "epsilon", 0);
	Array *y = test_run(&t);
	expect_near(2 * 3 / sqrt(12.5), value_at(y, 0), 1e-6);
	expect_near(10 * 4 / sqrt(12.5), value_at(y, 1), 1e-6);
	arena_free(t.arena);
}
END_TEST

START_TEST(local_response)
{
	for (int size = 1; size < 5; size++) {
		OpTest t = test_of("LRN");
		float x[] = {1, 2, 3, 4, 5};
		test_input(&t, array_from(t.arena, DT_F32, 3, (int64_t[]){1, 5, 1}, x));
		test_symbolic(&t, 1);
		test_attr_int(&t, "size", size);
		test_attr_float(&t, "alpha", 0.5f);
		test_attr_float(&t, "beta", 2);
		Array *y = test_run(&t);
		for (int c = 0; c < 5; c++) {
			double squares = 0;
			for (int k = c - (size - 1) / 2; k <= c + size / 2; k++)
				squares += k < 0 || k > 4 ? 0 : (double)(x[k] * x[k]);
			expect_near(x[c] / pow(1 + 0.5 / size * squares, 2), value_at(y, c), 1e-5);
		}
		arena_free(t.arena);
	}
}
END_TEST

int
main(void)
{
	TCase *t = tcase_create("norm");
	tcase_add_test(t, softmax);
	tcase_add_test(t, softmax_large);
	tcase_add_test(t, batch_norm);
	tcase_add_test(t, layer_norm);
	tcase_add_test(t, group_norm);
	tcase_add_test(t, by_norms);
	tcase_add_test(t, local_response);
	return unit_run(t);
}
