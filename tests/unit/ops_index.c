/* Gather, scatter and the arg-reductions against plain loops and small known cases. */
#include "ops.h"

/* Indices in -extent..extent-1. */
static Array *
random_indices(Arena *arena, Dice *dice, int rank, const int64_t *dims, int64_t extent)
{
	return random_array(arena, dice, DT_I64, rank, dims, (int)-extent, (int)extent - 1);
}

static int64_t
wrapped(const Array *indices, int64_t at, int64_t extent)
{
	int64_t i = dtype_load_i64(indices->type, indices->data, at);
	return i < 0 ? i + extent : i;
}

START_TEST(gather)
{
	Dice dice = {1};
	int64_t dims[] = {2, 3, 4};
	for (int axis = -3; axis < 3; axis++)
		for (int rank = 0; rank < 3; rank++) {
			OpTest t = test_of("Gather");
			int64_t id[] = {2, 3};
			int along = axis < 0 ? axis + 3 : axis;
			Array *x = random_array(t.arena, &dice, DT_F32, 3, dims, -9, 9);
			Array *indices = random_indices(t.arena, &dice, rank, id, dims[along]);
			test_input(&t, x);
			for (int i = 0; i < 3; i++)
				test_symbolic(&t, i);
			test_input(&t, indices);
			test_attr_int(&t, "axis", axis);
			Array *y = test_run(&t);
			ck_assert_int_eq(y->rank, 2 + rank);
			for (int64_t i = 0; i < array_count(y); i++) {
				int64_t at[8], index[3];
				index_of(y, i, at);
				for (int k = 0; k < 3; k++)
					if (k != along)
						index[k] = at[k < along ? k : k + rank - 1];
				index[along] = wrapped(indices, flat_of(indices, at + along), dims[along]);
				ck_assert_double_eq(value_at(x, flat_of(x, index)), value_at(y, i));
			}
			arena_free(t.arena);
		}
}
END_TEST

START_TEST(gather_elements)
{
	Dice dice = {2};
	int64_t dims[] = {3, 4, 2}, shorter[] = {2, 3, 2};
	for (int axis = 0; axis < 3; axis++) {
		OpTest t = test_of("GatherElements");
		Array *x = random_array(t.arena, &dice, DT_I32, 3, dims, -9, 9);
		Array *indices = random_indices(t.arena, &dice, 3, shorter, dims[axis]);
		test_input(&t, x);
		test_symbolic(&t, 0);
		test_input(&t, indices);
		test_symbolic(&t, 0);
		test_attr_int(&t, "axis", axis);
		Array *y = test_run(&t);
		expect_dims(y, 3, shorter);
		for (int64_t i = 0; i < array_count(y); i++) {
			int64_t at[3];
			index_of(y, i, at);
			at[axis] = wrapped(indices, i, dims[axis]);
			ck_assert_double_eq(value_at(x, flat_of(x, at)), value_at(y, i));
		}
		arena_free(t.arena);
	}
}
END_TEST

START_TEST(gather_nd)
{
	Dice dice = {3};
	int64_t dims[] = {2, 3, 4}, id[] = {2, 5, 0};
	for (int batch = 0; batch < 2; batch++)
		for (int length = 1; length + batch <= 3; length++) {
			OpTest t = test_of("GatherND");
			id[2] = length;
			Array *x = random_array(t.arena, &dice, DT_F32, 3, dims, -9, 9);
			Array *indices = random_indices(t.arena, &dice, 3, id, 2);
			test_input(&t, x);
			test_symbolic(&t, 2);
			test_input(&t, indices);
			test_symbolic(&t, 1);
			test_attr_int(&t, "batch_dims", batch);
			Array *y = test_run(&t);
			ck_assert_int_eq(y->rank, 2 + 3 - batch - length);
			for (int64_t i = 0; i < array_count(y); i++) {
				int64_t at[8], index[3];
				index_of(y, i, at);
				for (int k = 0; k < batch; k++)
					index[k] = at[k];
				for (int k = batch + length; k < 3; k++)
					index[k] = at[k - batch - length + 2];
				int64_t tuple = (at[0] * id[1] + at[1]) * length;
				for (int k = 0; k < length; k++)
					index[batch + k] = wrapped(indices, tuple + k, dims[batch + k]);
				ck_assert_double_eq(value_at(x, flat_of(x, index)), value_at(y, i));
			}
			arena_free(t.arena);
		}
}
END_TEST

static const char *const REDUCTIONS[] = {"none", "add", "mul", "max", "min"};

static double
combined(int reduction, double old, double update)
{
	switch (reduction) {
	case 1:
		return old + update;
	case 2:
		return old * update;
	case 3:
		return fmax(old, update);
	case 4:
		return fmin(old, update);
	default:
		return update;
	}
}

START_TEST(scatter_elements)
{
	Dice dice = {4};
	int64_t dims[] = {3, 4}, shorter[] = {3, 3};
	for (int round = 0; round < 20; round++) {
		OpTest t = test_of("ScatterElements");
		int axis = round % 2, reduction = round % 5;
		Array *x = random_array(t.arena, &dice, DT_F32, 2, dims, -3, 3);
		Array *indices = random_indices(t.arena, &dice, 2, shorter, dims[axis]);
		Array *updates = random_array(t.arena, &dice, DT_F32, 2, shorter, -3, 3);
		test_input(&t, x);
		test_symbolic(&t, 1);
		test_input(&t, indices);
		test_symbolic(&t, 0);
		test_input(&t, updates);
		test_attr_int(&t, "axis", axis);
		test_attr_string(&t, "reduction", REDUCTIONS[reduction]);
		Array *y = test_run(&t);
		double *expected = NEW_N(t.arena, double, 12);
		for (int i = 0; i < 12; i++)
			expected[i] = value_at(x, i);
		for (int64_t i = 0; i < 9; i++) {
			int64_t at[2];
			index_of(updates, i, at);
			at[axis] = wrapped(indices, i, dims[axis]);
			double *old = &expected[flat_of(x, at)];
			*old = combined(reduction, *old, value_at(updates, i));
		}
		for (int i = 0; i < 12; i++)
			expect_near(expected[i], value_at(y, i), 1e-6);
		arena_free(t.arena);
	}
}
END_TEST

START_TEST(scatter_nd)
{
	Dice dice = {5};
	int64_t dims[] = {3, 4}, id[] = {5, 0};
	for (int round = 0; round < 20; round++) {
		OpTest t = test_of("ScatterND");
		int length = 1 + round % 2, reduction = round % 5;
		id[1] = length;
		Array *x = random_array(t.arena, &dice, DT_F32, 2, dims, -3, 3);
		Array *indices = random_indices(t.arena, &dice, 2, id, 3);
		Array *updates = random_array(t.arena, &dice, DT_F32, 3 - length, (int64_t[]){5, 4}, -3, 3);
		test_input(&t, x);
		test_input(&t, indices);
		test_symbolic(&t, 0);
		test_input(&t, updates);
		test_attr_string(&t, "reduction", REDUCTIONS[reduction]);
		Array *y = test_run(&t);
		double *expected = NEW_N(t.arena, double, 12);
		for (int i = 0; i < 12; i++)
			expected[i] = value_at(x, i);
		for (int64_t i = 0; i < array_count(updates); i++) {
			int64_t k = length == 2 ? i : i / 4;
			int64_t row = wrapped(indices, k * length, 3);
			int64_t column = length == 2 ? wrapped(indices, k * 2 + 1, 4) : i % 4;
			double *old = &expected[row * 4 + column];
			*old = combined(reduction, *old, value_at(updates, i));
		}
		for (int i = 0; i < 12; i++)
			expect_near(expected[i], value_at(y, i), 1e-6);
		arena_free(t.arena);
	}
}
END_TEST

static int64_t
arg_of(const char *op, bool last, int count, const float *x)
{
	OpTest t = test_of(op);
	test_input(&t, array_from(t.arena, DT_F32, 2, (int64_t[]){1, count}, x));
	test_symbolic(&t, 1);
	test_attr_int(&t, "axis", -1);
	test_attr_int(&t, "keepdims", 0);
	test_attr_int(&t, "select_last_index", last);
	Array *y = test_run(&t);
	expect_dims(y, 1, (int64_t[]){1});
	int64_t where = dtype_load_i64(y->type, y->data, 0);
	arena_free(t.arena);
	return where;
}

START_TEST(arg_reductions)
{
	float ties[] = {1, 3, 3, 1, 2}, nan[] = {1, NAN, 3, NAN};
	ck_assert_int_eq(arg_of("ArgMax", false, 5, ties), 1);
	ck_assert_int_eq(arg_of("ArgMax", true, 5, ties), 2);
	ck_assert_int_eq(arg_of("ArgMin", false, 5, ties), 0);
	ck_assert_int_eq(arg_of("ArgMin", true, 5, ties), 3);
	ck_assert_int_eq(arg_of("ArgMax", false, 4, nan), 1);
	ck_assert_int_eq(arg_of("ArgMin", false, 4, nan), 1);
}
END_TEST

START_TEST(refusals)
{
	OpTest t = test_of("Gather");
	float x[] = {1, 2};
	int64_t i[] = {0};
	test_input(&t, array_from(t.arena, DT_F32, 1, (int64_t[]){2}, x));
	test_input(&t, array_from(t.arena, DT_I64, 1, (int64_t[]){1}, i));
	test_attr_int(&t, "axis", 1);
	ck_assert_str_ne(test_refusal(&t), "");
	arena_free(t.arena);
}
END_TEST

int
main(void)
{
	TCase *t = tcase_create("index");
	tcase_add_test(t, gather);
	tcase_add_test(t, gather_elements);
	tcase_add_test(t, gather_nd);
	tcase_add_test(t, scatter_elements);
	tcase_add_test(t, scatter_nd);
	tcase_add_test(t, arg_reductions);
	tcase_add_test(t, refusals);
	return unit_run(t);
}
