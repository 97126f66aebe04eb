/* Convolutions against plain loops: random ranks, groups, strides, dilations and paddings. */
#include "ops.h"

enum { MOST = 3 };

/* One convolution, spatial axes filled up to three with extents of 1 in front. */
typedef struct Shape {
	int spatial;
	int64_t n, group, c, m; /* channels of a group, in and out */
	int64_t in[MOST], k[MOST], out[MOST], stride[MOST], dilation[MOST], before[MOST], after[MOST];
	int64_t output_padding[MOST];
} Shape;

static Shape
random_shape(Dice *dice)
{
	Shape s = {.spatial = (int)roll(dice, 1, MOST),
	           .n = roll(dice, 1, 2),
	           .c = roll(dice, 1, 3),
	           .group = roll(dice, 1, 3),
	           .m = roll(dice, 1, 2)};
	for (int i = 0; i < MOST; i++) {
		bool real = i >= MOST - s.spatial;
		s.k[i] = real ? roll(dice, 1, 3) : 1;
		s.stride[i] = real ? roll(dice, 1, 3) : 1;
		s.dilation[i] = real ? roll(dice, 1, 2) : 1;
		s.in[i] = real ? roll(dice, 5, 7) : 1;
		s.before[i] = real ? roll(dice, 0, 2) : 0;
		s.after[i] = real ? roll(dice, 0, 2) : 0;
		s.output_padding[i] = real ? roll(dice, 0, s.stride[i] - 1) : 0;
	}
	return s;
}

static void
conv_attrs(OpTest *t, const Shape *s)
{
	int first = MOST - s->spatial;
	int64_t pads[2 * MOST];
	for (int i = 0; i < s->spatial; i++) {
		pads[i] = s->before[first + i];
		pads[s->spatial + i] = s->after[first + i];
	}
	test_attr_ints(t, "strides", s->spatial, s->stride + first);
	test_attr_ints(t, "dilations", s->spatial, s->dilation + first);
	test_attr_ints(t, "pads", 2 * s->spatial, pads);
	test_attr_int(t, "group", s->group);
}

static void
dims_of(const Shape *s, int64_t a, int64_t b, const int64_t *spatial, int64_t *dims)
{
	dims[0] = a;
	dims[1] = b;
	for (int i = 0; i < s->spatial; i++)
		dims[2 + i] = spatial[MOST - s->spatial + i];
}

/* Position of [a, b, p…] in a tensor of dims [A, B, extent…]. */
static int64_t
flat5(int64_t B, const int64_t *extent, int64_t a, int64_t b, const int64_t *p)
{
	int64_t flat = a * B + b;
	for (int i = 0; i < MOST; i++)
		flat = flat * extent[i] + p[i];
	return flat;
}

/* The digits of a number: the last `count` extents vary fastest. Returns what is left. */
static int64_t
digits(int64_t flat, int count, const int64_t *extent, int64_t *out)
{
	for (int i = count - 1; i >= 0; i--) {
		out[i] = flat % extent[i];
		flat /= extent[i];
	}
	return flat;
}

/* Add the products of one position p of the side that is walked (the result of a convolution, the
 * input of a transposed one) and all taps. */
static void
add_taps(const Shape *s, bool transposed, const Array *x, const Array *w, int64_t n, int64_t out_c,
         int64_t c, const int64_t *p, double *y)
{
	const int64_t *other = transposed ? s->out : s->in;
	int64_t in_c = out_c / s->m * s->c + c, q[MOST], r[MOST];
	for (int64_t tap = 0; tap < s->k[0] * s->k[1] * s->k[2]; tap++) {
		bool inside = true;
		digits(tap, MOST, s->k, r);
		for (int i = 0; i < MOST; i++) {
			q[i] = p[i] * s->stride[i] + r[i] * s->dilation[i] - s->before[i];
			inside = inside && q[i] >= 0 && q[i] < other[i];
		}
		if (!inside)
			continue;
		int64_t xi = flat5(s->group * s->c, s->in, n, in_c, transposed ? p : q);
		int64_t yi = flat5(s->group * s->m, s->out, n, out_c, transposed ? q : p);
		int64_t wi =
			transposed ? flat5(s->m, s->k, in_c, out_c % s->m, r) : flat5(s->c, s->k, out_c, c, r);
		y[yi] += value_at(x, xi) * value_at(w, wi);
	}
}

static void
accumulate(const Shape *s, bool transposed, const Array *x, const Array *w, double *y)
{
	const int64_t *walked = transposed ? s->in : s->out;
	int64_t outs = s->group * s->m, all = s->n * outs * walked[0] * walked[1] * walked[2];
	for (int64_t i = 0; i < all; i++) {
		int64_t p[MOST], rest = digits(i, MOST, walked, p);
		for (int64_t c = 0; c < s->c; c++)
			add_taps(s, transposed, x, w, rest / outs, rest % outs, c, p, y);
	}
}

static void
check_case(Dice *dice, bool transposed, bool symbolic, DType type)
{
	Shape s = random_shape(dice);
	OpTest t = test_of(transposed ? "ConvTranspose" : "Conv");
	for (int i = 0; i < MOST; i++) {
		int64_t reach = s.dilation[i] * (s.k[i] - 1) + 1, pads = s.before[i] + s.after[i];
		s.out[i] = transposed ? s.stride[i] * (s.in[i] - 1) + reach + s.output_padding[i] - pads
		                      : (s.in[i] + pads - reach) / s.stride[i] + 1;
	}
	int64_t xd[5], wd[5], yd[5];
	dims_of(&s, s.n, s.group * s.c, s.in, xd);
	dims_of(&s, s.group * (transposed ? s.c : s.m), transposed ? s.m : s.c, s.k, wd);
	dims_of(&s, s.n, s.group * s.m, s.out, yd);
	int rank = 2 + s.spatial;
	Array *x = random_array(t.arena, dice, type, rank, xd, -2, 2);
	Array *w = random_array(t.arena, dice, type, rank, wd, -2, 2);
	Array *b = roll(dice, 0, 1) ? random_array(t.arena, dice, type, 1, yd + 1, -2, 2) : NULL;
	conv_attrs(&t, &s);
	if (transposed)
		test_attr_ints(&t, "output_padding", s.spatial, s.output_padding + MOST - s.spatial);
	test_input(&t, x);
	for (int i = 0; symbolic && i < rank; i++)
		if (i != 1)
			test_symbolic(&t, i);
	test_input(&t, w);
	if (b)
		test_input(&t, b);
	Array *y = test_run(&t);
	expect_dims(y, rank, yd);
	double *expected = NEW_N(t.arena, double, array_count(y));
	accumulate(&s, transposed, x, w, expected);
	int64_t plane = array_count(y) / (yd[0] * yd[1]);
	for (int64_t i = 0; i < array_count(y); i++) {
		double bias = b ? value_at(b, i / plane % yd[1]) : 0;
		expect_near(expected[i] + bias, value_at(y, i), type == DT_F16 ? 2e-3 : 1e-6);
	}
	arena_free(t.arena);
}

START_TEST(convolution)
{
	Dice dice = {1};
	for (int i = 0; i < 60; i++)
		check_case(&dice, false, i % 2, i % 5 == 4 ? DT_F16 : DT_F32);
}
END_TEST

START_TEST(transposed)
{
	Dice dice = {2};
	for (int i = 0; i < 60; i++)
		check_case(&dice, true, i % 2, i % 5 == 4 ? DT_F16 : DT_F32);
}
END_TEST

/* auto_pad SAME: as many outputs as strides, an odd pad behind (UPPER) or in front (LOWER). */
START_TEST(same_padding)
{
	for (int lower = 0; lower < 2; lower++) {
		OpTest t = test_of("Conv");
		float x[] = {1, 2, 3, 4}, w[] = {1, 10};
		test_input(&t, array_from(t.arena, DT_F32, 3, (int64_t[]){1, 1, 4}, x));
		test_symbolic(&t, 2);
		test_input(&t, array_from(t.arena, DT_F32, 3, (int64_t[]){1, 1, 2}, w));
		test_attr_string(&t, "auto_pad", lower ? "SAME_LOWER" : "SAME_UPPER");
		Array *y = test_run(&t);
		expect_dims(y, 3, (int64_t[]){1, 1, 4});
		double expected[2][4] = {{21, 32, 43, 4}, {10, 21, 32, 43}};
		for (int i = 0; i < 4; i++)
			ck_assert_double_eq(value_at(y, i), expected[lower][i]);
		arena_free(t.arena);
	}
}
END_TEST

/* output_shape decides the cropping: of 5 elements 4 stay, the odd one goes in front. */
START_TEST(output_shape)
{
	OpTest t = test_of("ConvTranspose");
	float x[] = {1, 2}, w[] = {1, 10, 100};
	test_input(&t, array_from(t.arena, DT_F32, 3, (int64_t[]){1, 1, 2}, x));
	test_input(&t, array_from(t.arena, DT_F32, 3, (int64_t[]){1, 1, 3}, w));
	test_attr_ints(&t, "strides", 1, (int64_t[]){2});
	test_attr_ints(&t, "output_shape", 1, (int64_t[]){4});
	Array *y = test_run(&t);
	expect_dims(y, 3, (int64_t[]){1, 1, 4});
	double expected[] = {10, 102, 20, 200};
	for (int i = 0; i < 4; i++)
		ck_assert_double_eq(value_at(y, i), expected[i]);
	arena_free(t.arena);
}
END_TEST

/* Zero points are taken off before the product, so padding is worth nothing. */
START_TEST(zero_points)
{
	OpTest t = test_of("ConvInteger");
	uint8_t x[] = {3, 4, 5}, w[] = {2, 3}, zx = 3, zw = 1;
	test_input(&t, array_from(t.arena, DT_U8, 3, (int64_t[]){1, 1, 3}, x));
	test_input(&t, array_from(t.arena, DT_U8, 3, (int64_t[]){1, 1, 2}, w));
	test_input(&t, array_from(t.arena, DT_U8, 0, NULL, &zx));
	test_input(&t, array_from(t.arena, DT_U8, 0, NULL, &zw));
	test_attr_ints(&t, "pads", 2, (int64_t[]){1, 1});
	Array *y = test_run(&t);
	double expected[] = {0, 2, 5, 2};
	expect_dims(y, 3, (int64_t[]){1, 1, 4});
	for (int i = 0; i < 4; i++)
		ck_assert_double_eq(value_at(y, i), expected[i]);
	arena_free(t.arena);
}
END_TEST

START_TEST(refusals)
{
	Dice dice = {3};
	OpTest t = test_of("Conv");
	test_input(&t, random_array(t.arena, &dice, DT_F32, 4, (int64_t[]){1, 4, 5, 5}, 0, 1));
	test_input(&t, random_array(t.arena, &dice, DT_F32, 4, (int64_t[]){8, 4, 3, 3}, 0, 1));
	test_attr_int(&t, "group", 3);
	ck_assert_ptr_nonnull(strstr(test_refusal(&t), "group 3 does not divide 8 output channels"));
	arena_free(t.arena);
	t = test_of("Conv");
	test_input(&t, random_array(t.arena, &dice, DT_F32, 4, (int64_t[]){1, 4, 5, 5}, 0, 1));
	test_input(&t, random_array(t.arena, &dice, DT_F32, 4, (int64_t[]){8, 3, 3, 3}, 0, 1));
	ck_assert_str_ne(test_refusal(&t), "");
	arena_free(t.arena);
}
END_TEST

int
main(void)
{
	TCase *t = tcase_create("conv");
	tcase_add_test(t, convolution);
	tcase_add_test(t, transposed);
	tcase_add_test(t, same_padding);
	tcase_add_test(t, output_shape);
	tcase_add_test(t, zero_points);
	tcase_add_test(t, refusals);
	return unit_run(t);
}
