/* The interpreter's edges: checked indices, packed types, symbols, few points with many terms, and
 * what bound mode says of jumps and of samples.
 */
#include <math.h>
#include <string.h>

#include "expr/interp/interp.h"
#include "unit.h"

static Arena *arena;
static ExprCtx *ctx;

static void
set_up(void)
{
	arena = arena_new("interpreter test");
	ctx = expr_ctx_new(arena);
}

static void
tear_down(void)
{
	arena_free(arena);
}

static Array *
floats(int64_t count, const float *data)
{
	return array_from(arena, DT_F32, 1, &count, data);
}

static Array *
eval(const char *text, const Array *a, const Array *b)
{
	const Array *inputs[] = {a, b};
	Array *output;
	program_eval(arena, program_parse(ctx, "t", text), NULL, inputs, &output);
	return output;
}

static BoundArray *
eval_bound(const char *text, const Array *a, const Array *b, double sample)
{
	const BoundArray *inputs[] = {bound_from_array(arena, a),
	                              b ? bound_from_array(arena, b) : NULL};
	BoundArray *output;
	program_eval_bound(arena, program_parse(ctx, "t", text), NULL, inputs, &output,
	                   (BoundWay){.sample = sample});
	return output;
}

static void
expect(const Array *seen, int64_t count, const double *want)
{
	ck_assert_int_eq(array_count(seen), count);
	for (int64_t i = 0; i < count; i++)
		ck_assert_msg(dtype_load_f64(seen->type, seen->data, i) == want[i],
		              "element %d is %g, expected %g", (int)i,
		              dtype_load_f64(seen->type, seen->data, i), want[i]);
}

static const char *const GATHER =
	"expr g(X: f32[D], I: i64[K]) -> Y {\n Y[i:K]: f32 = X[at(I[i], 0..D, wrap, check)]\n}\n";

static void
gather_outside(void *arg)
{
	eval(GATHER, floats(3, (float[]){1, 2, 3}), arg);
}

START_TEST(indirect)
{
	const Array *x = floats(3, (float[]){1, 2, 3});
	expect(eval(GATHER, x, array_vector_i64(arena, 3, (int64_t[]){-1, 0, -3})), 3,
	       (double[]){3, 1, 1});
	Failure failure;
	ck_assert(!try_run(gather_outside, array_vector_i64(arena, 2, (int64_t[]){0, -4}), &failure));
	ck_assert_ptr_nonnull(strstr(failure.text, "index -4 is outside of its range 0..2"));
}
END_TEST

static void
wrong_shape(void *arg)
{
	(void)arg;
	eval("expr g(X: f32[N], Y: f32[N]) -> Z {\n Z[i:N]: f32 = X[i] + Y[i]\n}\n",
	     floats(2, (float[]){1, 2}), floats(1, (float[]){1}));
}

START_TEST(symbols_must_agree)
{
	Failure failure;
	ck_assert(!try_run(wrong_shape, NULL, &failure));
	ck_assert_msg(strstr(failure.text, "N = 1, but it is 2") != NULL, "%s", failure.text);
}
END_TEST

START_TEST(packed)
{
	int64_t four = 4;
	Array *x = array_new(arena, DT_I4, 1, &four);
	for (int i = 0; i < 4; i++)
		dtype_store_i64(DT_I4, x->data, i, i * 5 - 8); /* -8 -3 2 7 */
	expect(eval("expr g(X: i4[4]) -> Y {\n Y[i:4]: f32 = f32(X[3-i]) * 0.5\n}\n", x, NULL), 4,
	       (double[]){3.5, 1, -1.5, -4});
	Array *back = eval("expr g(X: f32[4]) -> Y {\n Y[i:4]: i4 = i4(X[i])\n}\n",
	                   floats(4, (float[]){100, -2.9f, NAN, -100}), NULL);
	ck_assert_int_eq(back->type, DT_I4);
	expect(back, 4, (double[]){7, -2, 0, -8});
}
END_TEST

/* One point, 20000 terms: lanes are terms, folded in row-major order, which f32 can tell. */
START_TEST(few_points)
{
	enum { COUNT = 20000 };
	static float data[COUNT];
	float sum = 0;
	for (int i = 0; i < COUNT; i++) {
		data[i] = (float)((i * 7919) % 1000) / 3 - 100;
		if (i % 3 != 1)
			sum += data[i];
	}
	Array *y = eval("expr g(X: f32[N]) -> Y {\n Y: f32 = sum(i:N where i % 3 != 1) X[i]\n}\n",
	                floats(COUNT, data), NULL);
	ck_assert(((float *)y->data)[0] == sum);
}
END_TEST

START_TEST(jumps_are_undecided)
{
	const Array *x = floats(2, (float[]){0.1f, 0.7f});
	const char *text = "expr g(X: f32[2]) -> Y {\n Y[i:2]: i32 = i32(X[i] * 10)\n}\n";
	BoundArray *y = eval_bound(text, x, NULL, 0);
	ck_assert_uint_eq(y->undecided[0], 1); /* 0.1f*10 is a little above 1, f32 says 1 */
	const char *twice = "expr g(X: f32[2]) -> Y {\n Y[i:2]: i32 = bitand(i32(X[i]*10), 3) * 2\n}\n";
	y = eval_bound(twice, x, NULL, 0);
	ck_assert_uint_eq(y->undecided[0], 1); /* nobody knows how far bits are off */
	const char *compare = "expr g(X: f32[2]) -> Y {\n Y[i:2]: bool = X[i] * 3 < 0.3\n}\n";
	y = eval_bound(compare, x, NULL, 0);
	ck_assert_uint_eq(y->undecided[0], 1);
	ck_assert_uint_eq(y->undecided[1], 0);
	Agreement a = bound_compare(y, eval(compare, x, NULL), 1);
	ck_assert_int_eq(a.undecided, 1);
	ck_assert_int_eq(a.wrong, 0);
}
END_TEST

/* x * sigmoid(x) is 0 in a library where the exponential is hardly a normal number, not before. */
START_TEST(reciprocals_vanish)
{
	const char *text = "expr g(X: f32[2]) -> Y {\n Y[i:2]: f32 = X[i] / (1 + exp(-X[i]))\n}\n";
	BoundArray *y = eval_bound(text, floats(2, (float[]){-87.2f, -86}), NULL, 0);
	Agreement a = bound_compare(y, floats(2, (float[]){0, 0}), 1);
	ck_assert_int_eq(a.wrong, 1);
	ck_assert_int_eq(a.first_wrong, 1);
}
END_TEST

START_TEST(argmax_ties)
{
	const char *text = "expr g(X: f32[3]) -> I {\n (V: f32, I: i64) = argmax first (i:3) "
					   "X[i]*0.1 with i\n}\n";
	BoundArray *sure = eval_bound(text, floats(3, (float[]){1, 3, 2}), NULL, 0);
	ck_assert_int_eq(sure->integer[0], 1);
	ck_assert_uint_eq(sure->undecided[0], 0);
	BoundArray *close = eval_bound(text, floats(3, (float[]){1, 3, 3.0000002f}), NULL, 0);
	ck_assert_uint_eq(close->undecided[0], 1);
}
END_TEST

/* What may be infinite or no number may be anything behind a function, too. */
START_TEST(unknown_stays_unknown)
{
	static const char *const bodies[] = {"sin(X[i])", "tanh(X[i])", "rem(X[i], 2.0)",
	                                     "rem(X[i], X[i])", "pow(Z[i], X[i])"};
	BoundArray *inputs[2], *output;
	for (int k = 0; k < 2; k++)
		inputs[k] = bound_from_array(arena, floats(1, (float[]){k ? NAN : 0}));
	inputs[0]->bound = NEW_N(arena, double, 1);
	inputs[0]->bound[0] = INFINITY;
	for (size_t i = 0; i < countof(bodies); i++) {
		const char *text = arena_printf(
			arena, "expr t(X: f32[1], Z: f32[1]) -> Y {\n Y[i:1]: f32 = %s\n}\n", bodies[i]);
		program_eval_bound(arena, program_parse(ctx, "t", text), NULL,
		                   (const BoundArray *const *)inputs, &output, (BoundWay){.sample = 0});
		ck_assert_msg(output->bound[0] == INFINITY, "%s +- %g", bodies[i], output->bound[0]);
	}
}
END_TEST

/* A wrong element is seen, one within the bound is not. */
START_TEST(comparison)
{
	const Array *x = floats(3, (float[]){1, 2, 3});
	BoundArray *y =
		eval_bound("expr g(X: f32[3]) -> Y {\n Y[i:3]: f32 = X[i] / 3\n}\n", x, NULL, 0);
	float third = 1.0f / 3;
	Agreement a = bound_compare(y, floats(3, (float[]){third, 2 * third, 1}), 1);
	ck_assert_int_eq(a.wrong, 0);
	a = bound_compare(y, floats(3, (float[]){third, 2 * third, 1.000001f}), 1);
	ck_assert_int_eq(a.wrong, 1);
	ck_assert_int_eq(a.first_wrong, 2);
	a = bound_compare(y, floats(3, (float[]){NAN, 2 * third, 1}), 1);
	ck_assert_int_eq(a.wrong, 1);
	ck_assert_int_eq(a.first_wrong, 0);
}
END_TEST

START_TEST(sampling)
{
	enum { N = 4096 };
	static float data[N];
	for (int i = 0; i < N; i++)
		data[i] = (float)i / 64;
	const char *text = "expr g(X: f32[N]) -> Z {\n Y[i:N]: f32 = sum(k:16) X[k]*X[i]\n"
					   " Z[i:N]: f32 = max(Y[i], 0)\n}\n";
	Array *exact = eval(text, floats(N, data), NULL);
	BoundArray *all = eval_bound(text, floats(N, data), NULL, 1e9);
	ck_assert_int_eq(all->sampled, -1);
	BoundArray *some = eval_bound(text, floats(N, data), NULL, N * 4);
	ck_assert_int_gt(some->sampled, 0);
	ck_assert_int_lt(some->sampled, N);
	Agreement a = bound_compare(some, exact, 1);
	ck_assert_int_eq(a.points, some->sampled);
	ck_assert_int_eq(a.wrong, 0);
	ck_assert_int_eq(a.undecided, 0);
}
END_TEST

/* A rounding that may be left out: the value is as it was, both are within the bound, and what may
 * be infinite is not known. */
START_TEST(halves_may_be_kept)
{
	const char *text = "expr t(X: f32[2]) -> Y {\n Y[i:2]: f32 = f32(f16(X[i])) + 1\n}\n";
	const BoundArray *input = bound_from_array(arena, floats(2, (float[]){1.0004F, 1e6F}));
	BoundArray *kept, *rounded;
	const Program *program = program_parse(ctx, "t", text);
	program_eval_bound(arena, program, NULL, &input, &kept, (BoundWay){.keeps_halves = true});
	program_eval_bound(arena, program, NULL, &input, &rounded, (BoundWay){.keeps_halves = false});
	ck_assert(rounded->value[0] == 2 && fabs(kept->value[0] - 2.0004) < 1e-6);
	ck_assert(kept->bound[0] >= 1.0004 / 2048 && kept->bound[0] < 1.1 / 2048);
	ck_assert(isinf(kept->bound[1]) && isinf(rounded->value[1]));
}
END_TEST

int
main(void)
{
	TCase *t = tcase_create("interp");
	tcase_add_checked_fixture(t, set_up, tear_down);
	tcase_add_test(t, indirect);
	tcase_add_test(t, symbols_must_agree);
	tcase_add_test(t, packed);
	tcase_add_test(t, few_points);
	tcase_add_test(t, jumps_are_undecided);
	tcase_add_test(t, unknown_stays_unknown);
	tcase_add_test(t, reciprocals_vanish);
	tcase_add_test(t, argmax_ties);
	tcase_add_test(t, comparison);
	tcase_add_test(t, sampling);
	tcase_add_test(t, halves_may_be_kept);
	return unit_run(t);
}
