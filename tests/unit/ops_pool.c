/* Pooling against plain loops: ceil_mode, paddings, dilations, what an average counts. */
#include "ops.h"

enum { MOST = 2 };

typedef struct Shape {
	int64_t planes; /* batch 1 */
	int64_t in[MOST], k[MOST], out[MOST], stride[MOST], dilation[MOST], before[MOST], after[MOST];
	bool ceil, with_padding;
} Shape;

/* ONNX's rule, step by step: round up, then drop a last window that would start behind. */
static int64_t
extent(const Shape *s, int i)
{
	int64_t reach = s->dilation[i] * (s->k[i] - 1) + 1;
	int64_t room = s->in[i] + s->before[i] + s->after[i] - reach;
	int64_t out = (room + (s->ceil ? s->stride[i] - 1 : 0)) / s->stride[i] + 1;
	if (s->ceil && (out - 1) * s->stride[i] >= s->in[i] + s->before[i])
		out--;
	return out;
}

static Shape
random_shape(Dice *dice)
{
	Shape s = {
		.planes = roll(dice, 1, 3), .ceil = roll(dice, 0, 1), .with_padding = roll(dice, 0, 1)};
	for (int i = 0; i < MOST; i++) {
		s.k[i] = roll(dice, 2, 3);
		s.stride[i] = roll(dice, 1, 3);
		s.dilation[i] = roll(dice, 1, 2);
		s.in[i] = roll(dice, 5, 8);
		s.before[i] = roll(dice, 0, 1);
		s.after[i] = roll(dice, 0, 1);
		s.out[i] = extent(&s, i);
	}
	return s;
}

/* What one window holds. */
typedef struct Window2 {
	double sum, largest, powers;
	int64_t inside, padded, where; /* elements of the input, of input and padding; of the largest */
} Window2;

static Window2
look(const Shape *s, const Array *x, int64_t plane, int64_t p, int64_t q, bool columns_first)
{
	Window2 w = {.largest = -INFINITY};
	for (int64_t r = 0; r < s->k[0] * s->k[1]; r++) {
		int64_t h = p * s->stride[0] + r / s->k[1] * s->dilation[0] - s->before[0];
		int64_t v = q * s->stride[1] + r % s->k[1] * s->dilation[1] - s->before[1];
		w.padded += h < s->in[0] + s->after[0] && v < s->in[1] + s->after[1];
		if (h < 0 || h >= s->in[0] || v < 0 || v >= s->in[1])
			continue;
		double value = value_at(x, (plane * s->in[0] + h) * s->in[1] + v);
		w.inside++;
		w.sum += value;
		w.powers += fabs(value * value * value);
		if (value > w.largest) {
			w.largest = value;
			int64_t position = columns_first ? v * s->in[0] + h : h * s->in[1] + v;
			w.where = plane * s->in[0] * s->in[1] + position;
		}
	}
	return w;
}

static OpTest
pool_test(const char *op, const Shape *s, Dice *dice, bool symbolic)
{
	OpTest t = test_of(op);
	int64_t dims[] = {1, s->planes, s->in[0], s->in[1]};
	test_input(&t, random_array(t.arena, dice, DT_F32, 4, dims, -4, 4));
	for (int i = 0; symbolic && i < 4; i++)
		test_symbolic(&t, i);
	test_attr_ints(&t, "kernel_shape", MOST, s->k);
	test_attr_ints(&t, "strides", MOST, s->stride);
	test_attr_ints(&t, "dilations", MOST, s->dilation);
	test_attr_ints(&t, "pads", 2 * MOST,
	               (int64_t[]){s->before[0], s->before[1], s->after[0], s->after[1]});
	test_attr_int(&t, "ceil_mode", s->ceil);
	return t;
}

static void
each_window(const Shape *s, const OpTest *t, bool columns_first,
            void (*check)(const OpTest *t, const Shape *s, const Window2 *w, int64_t at))
{
	expect_dims(t->outputs[0], 4, (int64_t[]){1, s->planes, s->out[0], s->out[1]});
	for (int64_t i = 0; i < array_count(t->outputs[0]); i++) {
		int64_t q = i % s->out[1], p = i / s->out[1] % s->out[0];
		int64_t plane = i / s->out[1] / s->out[0];
		Window2 w = look(s, t->inputs[0], plane, p, q, columns_first);
		check(t, s, &w, i);
	}
}

static void
is_average(const OpTest *t, const Shape *s, const Window2 *w, int64_t at)
{
	double count = (double)(s->with_padding ? w->padded : w->inside);
	expect_near(w->sum / count, value_at(t->outputs[0], at), 1e-6);
}

static void
is_largest(const OpTest *t, const Shape *s, const Window2 *w, int64_t at)
{
	(void)s;
	ck_assert_double_eq(w->largest, value_at(t->outputs[0], at));
	ck_assert_int_eq(w->where, (int64_t)value_at(t->outputs[1], at));
}

static void
is_norm(const OpTest *t, const Shape *s, const Window2 *w, int64_t at)
{
	(void)s;
	expect_near(cbrt(w->powers), value_at(t->outputs[0], at), 1e-5);
}

START_TEST(average)
{
	Dice dice = {1};
	for (int i = 0; i < 60; i++) {
		Shape s = random_shape(&dice);
		OpTest t = pool_test("AveragePool", &s, &dice, i % 2);
		test_attr_int(&t, "count_include_pad", s.with_padding);
		test_run(&t);
		each_window(&s, &t, false, is_average);
		arena_free(t.arena);
	}
}
END_TEST

START_TEST(largest)
{
	Dice dice = {2};
	for (int i = 0; i < 60; i++) {
		Shape s = random_shape(&dice);
		OpTest t = pool_test("MaxPool", &s, &dice, i % 2);
		bool columns_first = i % 3 == 0;
		test_attr_int(&t, "storage_order", columns_first);
		t.noutput = 2;
		test_run(&t);
		each_window(&s, &t, columns_first, is_largest);
		arena_free(t.arena);
	}
}
END_TEST

/* Windows in which every element is the least of its type: the first one is meant. */
START_TEST(least_of_type)
{
	OpTest t = test_of("MaxPool");
	int64_t dims[] = {1, 2, 5};
	test_input(&t, array_new(t.arena, DT_U8, 3, dims));
	test_attr_ints(&t, "kernel_shape", 1, (int64_t[]){3});
	test_attr_ints(&t, "dilations", 1, (int64_t[]){2});
	test_attr_ints(&t, "pads", 2, (int64_t[]){1, 1});
	t.noutput = 2;
	test_run(&t);
	static const int64_t expected[] = {1, 0, 1, 6, 5, 6};
	for (int i = 0; i < 6; i++)
		ck_assert_int_eq((int64_t)value_at(t.outputs[1], i), expected[i]);
	arena_free(t.arena);
}
END_TEST

START_TEST(norm)
{
	Dice dice = {3};
	for (int i = 0; i < 20; i++) {
		Shape s = random_shape(&dice);
		OpTest t = pool_test("LpPool", &s, &dice, i % 2);
		test_attr_int(&t, "p", 3);
		test_run(&t);
		each_window(&s, &t, false, is_norm);
		arena_free(t.arena);
	}
}
END_TEST

START_TEST(global)
{
	const char *ops[] = {"GlobalAveragePool", "GlobalMaxPool", "GlobalLpPool"};
	double expected[] = {0.5, 4, sqrt(1 + 16 + 9 + 4)};
	for (size_t i = 0; i < countof(ops); i++) {
		OpTest t = test_of(ops[i]);
		float x[] = {1, 4, -3, 0, 0, 2, 0, 0};
		test_input(&t, array_from(t.arena, DT_F32, 4, (int64_t[]){1, 1, 2, 4}, x));
		test_symbolic(&t, 0);
		test_symbolic(&t, 3);
		Array *y = test_run(&t);
		expect_dims(y, 4, (int64_t[]){1, 1, 1, 1});
		expect_near(expected[i], value_at(y, 0), 1e-6);
		arena_free(t.arena);
	}
}
END_TEST

int
main(void)
{
	TCase *t = tcase_create("pool");
	tcase_add_test(t, average);
	tcase_add_test(t, largest);
	tcase_add_test(t, least_of_type);
	tcase_add_test(t, norm);
	tcase_add_test(t, global);
	return unit_run(t);
}
