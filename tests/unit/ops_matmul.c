/* Matrix products against plain loops: all combinations of ranks, broadcasting, Gemm. */
#include "ops.h"

/* Element [batch of y at `flat`, row, column] of an operand of any rank. */
static double
operand(const Array *a, const Array *y, int64_t flat, int batch, int64_t row, int64_t column,
        bool is_left)
{
	int64_t at[8], index[8];
	index_of(y, flat, at);
	if (a->rank == 1)
		return value_at(a, is_left ? column : row);
	for (int i = 0; i < a->rank - 2; i++) {
		index[i] = at[i + batch - (a->rank - 2)];
		index[i] = a->dims[i] == 1 ? 0 : index[i];
	}
	index[a->rank - 2] = row;
	index[a->rank - 1] = column;
	return value_at(a, flat_of(a, index));
}

static void
check_product(Dice *dice, int arank, int brank, bool symbolic)
{
	int64_t ad[4], bd[4], k = roll(dice, 1, 4), m = roll(dice, 1, 4), n = roll(dice, 1, 4);
	int batch = (arank > brank ? arank : brank) - 2;
	for (int i = 0; i < batch; i++) {
		int64_t extent = roll(dice, 1, 3);
		int ia = i - (batch - (arank - 2)), ib = i - (batch - (brank - 2));
		if (ia >= 0)
			ad[ia] = roll(dice, 0, 1) ? 1 : extent;
		if (ib >= 0)
			bd[ib] = ia >= 0 && ad[ia] == extent ? roll(dice, 0, 1) ? 1 : extent : extent;
	}
	if (arank > 1)
		ad[arank - 2] = m;
	ad[arank - 1] = k;
	bd[brank > 1 ? brank - 2 : 0] = k;
	if (brank > 1)
		bd[brank - 1] = n;
	OpTest t = test_of("MatMul");
	Array *a = random_array(t.arena, dice, DT_F32, arank, ad, -3, 3);
	Array *b = random_array(t.arena, dice, DT_F32, brank, bd, -3, 3);
	test_input(&t, a);
	if (symbolic && arank > 1)
		test_symbolic(&t, arank - 2);
	test_input(&t, b);
	Array *y = test_run(&t);
	batch = batch < 0 ? 0 : batch;
	ck_assert_int_eq(y->rank, batch + (arank > 1) + (brank > 1));
	for (int64_t i = 0; i < array_count(y); i++) {
		double sum = 0;
		int64_t column = brank > 1 ? i % n : 0;
		int64_t row = arank > 1 ? i / (brank > 1 ? n : 1) % m : 0;
		for (int64_t l = 0; l < k; l++)
			sum +=
				operand(a, y, i, batch, row, l, true) * operand(b, y, i, batch, l, column, false);
		expect_near(sum, value_at(y, i), 1e-6);
	}
	arena_free(t.arena);
}

START_TEST(products)
{
	Dice dice = {1};
	for (int i = 0; i < 4; i++)
		for (int arank = 1; arank <= 4; arank++)
			for (int brank = 1; brank <= 4; brank++)
				check_product(&dice, arank, brank, i % 2);
}
END_TEST

START_TEST(gemm)
{
	Dice dice = {2};
	for (int i = 0; i < 32; i++) {
		int64_t m = roll(&dice, 1, 4), k = roll(&dice, 1, 4), n = roll(&dice, 1, 4);
		int ta = i & 1, tb = i >> 1 & 1, form = i >> 2 & 3;
		int64_t cd[4][2] = {{m, n}, {1, n}, {m, 1}, {n, 0}};
		OpTest t = test_of("Gemm");
		Array *a =
			random_array(t.arena, &dice, DT_F32, 2, (int64_t[]){ta ? k : m, ta ? m : k}, -3, 3);
		Array *b =
			random_array(t.arena, &dice, DT_F32, 2, (int64_t[]){tb ? n : k, tb ? k : n}, -3, 3);
		Array *c = random_array(t.arena, &dice, DT_F32, form == 3 ? 1 : 2, cd[form], -3, 3);
		test_input(&t, a);
		test_symbolic(&t, ta);
		test_input(&t, b);
		test_input(&t, c);
		test_attr_int(&t, "transA", ta);
		test_attr_int(&t, "transB", tb);
		test_attr_float(&t, "alpha", 0.5f);
		test_attr_float(&t, "beta", 2);
		Array *y = test_run(&t);
		for (int64_t j = 0; j < m * n; j++) {
			int64_t row = j / n, column = j % n;
			double sum = 0;
			for (int64_t l = 0; l < k; l++)
				sum += value_at(a, ta ? l * m + row : row * k + l) *
				       value_at(b, tb ? column * k + l : l * n + column);
			int64_t at[] = {row * n + column, column, row, column};
			expect_near(0.5 * sum + 2 * value_at(c, at[form]), value_at(y, j), 1e-6);
		}
		arena_free(t.arena);
	}
}
END_TEST

/* Zero points per row of a and per column of b. */
START_TEST(zero_points)
{
	OpTest t = test_of("MatMulInteger");
	uint8_t a[] = {11, 7, 3, 10, 6, 2}, az[] = {12, 1};
	int8_t b[] = {1, 4, 2, 5, 3, 6}, bz[] = {0, -2};
	test_input(&t, array_from(t.arena, DT_U8, 2, (int64_t[]){2, 3}, a));
	test_input(&t, array_from(t.arena, DT_I8, 2, (int64_t[]){3, 2}, b));
	test_input(&t, array_from(t.arena, DT_U8, 1, (int64_t[]){2}, az));
	test_input(&t, array_from(t.arena, DT_I8, 1, (int64_t[]){2}, bz));
	Array *y = test_run(&t);
	for (int i = 0; i < 2; i++)
		for (int j = 0; j < 2; j++) {
			int sum = 0;
			for (int k = 0; k < 3; k++)
				sum += (a[i * 3 + k] - az[i]) * (b[k * 2 + j] - bz[j]);
			ck_assert_int_eq(sum, (int)value_at(y, i * 2 + j));
		}
	arena_free(t.arena);
}
END_TEST

int
main(void)
{
	TCase *t = tcase_create("matmul");
	tcase_add_test(t, products);
	tcase_add_test(t, gemm);
	tcase_add_test(t, zero_points);
	return unit_run(t);
}
