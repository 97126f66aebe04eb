/* Attention against plain loops: heads side by side or not, shared key heads, masks, caches. */
#include "ops.h"

enum { BATCH = 2, QUERY_HEADS = 4, KEY_HEADS = 2, ROWS = 3, KEYS = 4, HEAD = 2, VALUE = 3 };

typedef struct Case {
	bool flat, causal, bool_mask, float_mask, cached, padded;
	int64_t past;
	float softcap;
	int64_t left;
	const Array *q, *k, *v, *mask, *past_key, *past_value, *lengths;
} Case;

/* Element [b, h, s, d] of an input in either form. */
static double
element(const Case *c, const Array *x, int64_t heads, int64_t size, int64_t b, int64_t h, int64_t s,
        int64_t d)
{
	int64_t rows = c->flat ? x->dims[1] : x->dims[2];
	int64_t flat =
		c->flat ? ((b * rows + s) * heads + h) * size + d : ((b * heads + h) * rows + s) * size + d;
	return value_at(x, flat);
}

/* The same of a key or value with its past in front. */
static double
cached(const Case *c, const Array *x, const Array *past, int64_t size, int64_t b, int64_t h,
       int64_t s, int64_t d)
{
	if (s < c->past)
		return value_at(past, ((b * KEY_HEADS + h) * c->past + s) * size + d);
	return element(c, x, KEY_HEADS, size, b, h, s - c->past, d);
}

static double
bias_of(const Case *c, int64_t b, int64_t i, int64_t j)
{
	int64_t length = c->padded ? dtype_load_i64(DT_I64, c->lengths->data, b) : KEYS + c->past;
	int64_t at = i + (c->padded ? length - ROWS : c->past);
	int64_t columns = c->mask ? c->mask->dims[1] : 0;
	if (j >= length || (c->causal && j > at) || (c->left >= 0 && at - j > c->left))
		return -INFINITY;
	if (!c->mask)
		return 0;
	if (j >= columns)
		return -INFINITY;
	double value = value_at(c->mask, i * columns + j);
	return !c->bool_mask ? value : value != 0 ? 0 : -INFINITY;
}

/* Row [b, h, i] of the result. */
static void
expected_row(const Case *c, int64_t b, int64_t h, int64_t i, double *y)
{
	int64_t shared = h / (QUERY_HEADS / KEY_HEADS), total = KEYS + c->past;
	double p[16], sum = 0;
	for (int64_t j = 0; j < total; j++) {
		double s = 0;
		for (int64_t d = 0; d < HEAD; d++)
			s += element(c, c->q, QUERY_HEADS, HEAD, b, h, i, d) *
			     cached(c, c->k, c->past_key, HEAD, b, shared, j, d);
		s /= sqrt(HEAD);
		if (c->softcap > 0)
			s = c->softcap * tanh(s / c->softcap);
		p[j] = exp(s + bias_of(c, b, i, j));
		sum += p[j];
	}
	for (int64_t e = 0; e < VALUE; e++) {
		y[e] = 0;
		for (int64_t j = 0; sum > 0 && j < total; j++)
			y[e] += p[j] / sum * cached(c, c->v, c->past_value, VALUE, b, shared, j, e);
	}
}

static Array *
states(OpTest *t, Dice *dice, bool flat, int64_t heads, int64_t rows, int64_t size)
{
	int64_t four[] = {BATCH, heads, rows, size}, three[] = {BATCH, rows, heads * size};
	return random_array(t->arena, dice, DT_F32, flat ? 3 : 4, flat ? three : four, -2, 2);
}

static void
attention_inputs(OpTest *t, Dice *dice, Case *c)
{
	c->past = c->cached ? 2 : 0;
	test_input(t, c->q = states(t, dice, c->flat, QUERY_HEADS, ROWS, HEAD));
	test_symbolic(t, 0);
	test_input(t, c->k = states(t, dice, c->flat, KEY_HEADS, KEYS, HEAD));
	test_input(t, c->v = states(t, dice, c->flat, KEY_HEADS, KEYS, VALUE));
	int64_t md[] = {ROWS, KEYS + c->past - 1};
	if (c->bool_mask)
		c->mask = random_array(t->arena, dice, DT_BOOL, 2, md, 0, 1);
	else if (c->float_mask)
		c->mask = random_array(t->arena, dice, DT_F32, 2, md, -2, 2);
	test_input(t, c->mask);
	if (c->cached) {
		c->past_key = states(t, dice, false, KEY_HEADS, c->past, HEAD);
		c->past_value = states(t, dice, false, KEY_HEADS, c->past, VALUE);
	}
	test_input(t, c->past_key);
	test_input(t, c->past_value);
	if (c->padded)
		c->lengths = array_vector_i64(t->arena, BATCH, (int64_t[]){3, 2});
	test_input(t, c->lengths);
}

static void
check_case(Dice *dice, Case c)
{
	OpTest t = test_of("Attention");
	attention_inputs(&t, dice, &c);
	test_attr_int(&t, "is_causal", c.causal);
	test_attr_float(&t, "softcap", c.softcap);
	test_attr_int(&t, "left_window_size", c.left);
	if (c.flat) {
		test_attr_int(&t, "q_num_heads", QUERY_HEADS);
		test_attr_int(&t, "kv_num_heads", KEY_HEADS);
	}
	t.noutput = 3;
	Array *y = test_run(&t);
	for (int64_t k = 0; k < BATCH * QUERY_HEADS * ROWS; k++) {
		int64_t i = k % ROWS, h = k / ROWS % QUERY_HEADS, b = k / ROWS / QUERY_HEADS;
		double row[VALUE];
		expected_row(&c, b, h, i, row);
		for (int64_t e = 0; e < VALUE; e++)
			expect_near(row[e], element(&c, y, QUERY_HEADS, VALUE, b, h, i, e), 1e-5);
	}
	int64_t total = KEYS + c.past;
	expect_dims(t.outputs[1], 4, (int64_t[]){BATCH, KEY_HEADS, total, HEAD});
	for (int64_t k = 0; k < array_count(t.outputs[2]); k++) {
		int64_t at[4];
		index_of(t.outputs[2], k, at);
		double value = cached(&c, c.v, c.past_value, VALUE, at[0], at[1], at[2], at[3]);
		ck_assert_double_eq(value, value_at(t.outputs[2], k));
	}
	arena_free(t.arena);
}

START_TEST(attention)
{
	Dice dice = {1};
	for (int i = 0; i < 64; i++)
		check_case(&dice, (Case){.flat = i & 1,
		                         .causal = i & 2,
		                         .bool_mask = (i & 12) == 4,
		                         .float_mask = (i & 12) == 8,
		                         .cached = (i & 48) == 16,
		                         .padded = (i & 48) == 32,
		                         .softcap = i & 8 ? 1.5f : 0,
		                         .left = i % 5 == 4 ? 1 : -1});
}
END_TEST

/* A row in which every key is forbidden gives zeros, not NaN. */
START_TEST(dead_rows)
{
	OpTest t = test_of("Attention");
	Dice dice = {2};
	uint8_t mask[] = {0, 0, 1, 1};
	int64_t dims[] = {1, 1, 2, 2};
	for (int i = 0; i < 3; i++)
		test_input(&t, random_array(t.arena, &dice, DT_F32, 4, dims, 1, 2));
	test_input(&t, array_from(t.arena, DT_BOOL, 2, dims + 2, mask));
	Array *y = test_run(&t);
	ck_assert_double_eq(value_at(y, 0), 0);
	ck_assert_double_eq(value_at(y, 1), 0);
	ck_assert_double_gt(value_at(y, 2), 0.9);
	arena_free(t.arena);
}
END_TEST

int
main(void)
{
	TCase *t = tcase_create("attention");
	tcase_add_test(t, attention);
	tcase_add_test(t, dead_rows);
	return unit_run(t);
}
