/* Points of programs: what is too large to be computed as a whole, limits, what is not asked for,
 * and that the spread of errors finds a lost term where bounds do not.
 *
 * That points are what bound mode says is tested with random programs (expr_interp_random.c) and
 * with every operator's test (ops.h).
 */
#include <math.h>
#include <string.h>

#include "points_check.h"
#include "random_number.h"

static Arena *arena;
static ExprCtx *ctx;
static uint64_t state;

static void
set_up(void)
{
	arena = arena_new("points test");
	ctx = expr_ctx_new(arena);
	state = 1;
}

static void
tear_down(void)
{
	arena_free(arena);
}

static Program *
parse(const char *text)
{
	return program_parse(ctx, "t", text);
}

static Array *
numbers(DType type, int rank, const int64_t *dims, double lo, double hi)
{
	Array *array = array_new(arena, type, rank, dims);
	for (int64_t i = 0; i < array_count(array); i++)
		dtype_store_f64(type, array->data, i,
		                lo + (hi - lo) * random_below(&state, 1 << 20) / (1 << 20));
	return array;
}

/* ---- much work for all points, little for some ----------------------------------------------- */

enum { ROWS = 16384, DEPTH = 4096 };
static const int64_t row[1] = {DEPTH}, wide[2] = {ROWS, DEPTH}, all_rows[2] = {0, 1};

/* Two matrices whose rows are all the same: their products are 10^12 multiply-adds. */
static PointResult
large(const char *body, PointSet *set, double limit)
{
	const char *text = arena_printf(arena,
	                                "expr e(A: f32[16384,4096], B: f32[16384,4096]) -> Y {\n"
	                                " P[m:16384, n:16384]: f32 = sum(k:4096) A[m,k] * B[n,k]\n"
	                                " %s\n}\n",
	                                body);
	PointInput a = {DT_F32, 2, wide, all_rows, numbers(DT_F32, 1, row, -1, 1)->data}, b = a;
	const PointInput *inputs[] = {&a, &b};
	PointResult result =
		program_eval_points(arena, parse(text), NULL, inputs, &set, limit, (PointWay){0});
	for (int64_t i = 0; result.is_done && i < set->count; i++) {
		double sum = 0;
		for (int k = 0; k < DEPTH; k++)
			sum += pow(((const float *)a.data)[k], 2);
		ck_assert_double_le(fabs(set->value[i] - fmax(sum - 1, 0)), set->bound[i]);
	}
	return result;
}

static const char relu[] = "Y[m:16384, n:16384]: f32 = max(P[m,n] - 1, 0)";
enum { CORNERS = 7 };
static const int64_t corners[CORNERS] = {0, 16383, 268435455, 268419072, 16384, 77, 123456789};

START_TEST(few_points_of_much)
{
	PointSet set = {.count = CORNERS, .at = corners};
	PointResult result = large(relu, &set, 1e8);
	ck_assert(result.is_done);
	ck_assert_double_le(result.operations, 10.0 * CORNERS * DEPTH);
	ck_assert_double_gt(set.deviation[0], 0);
	ck_assert_double_lt(10 * set.deviation[0], set.bound[0]);
}
END_TEST

START_TEST(too_much_is_not_done)
{
	PointSet set = {.count = CORNERS, .at = corners};
	PointResult result = large(relu, &set, 1e4);
	ck_assert(!result.is_done && result.operations > 1e4);
	ck_assert_ptr_nonnull(strstr(result.reason, "operations or more (1e+04 are allowed"));
	ck_assert_ptr_null(set.value);
	/* a row of products for each point */
	result = large("S[m:16384]: f32 = max(n:16384) P[m,n]\n"
	               " Y[m:16384, n:16384]: f32 = P[m,n] - S[m]",
	               &set, 1e8);
	ck_assert(!result.is_done && result.operations > 1e8);
	/* which products are read depends on products */
	result = large("Y[m:16384, n:16384]: f32 = P[m, at(i64(P[n,m]), 0..16384)]", &set, 1e8);
	ck_assert(!result.is_done);
	ck_assert_ptr_nonnull(strstr(result.reason, "elements of inner tensors"));
}
END_TEST

/* ---- what is not asked for ------------------------------------------------------------------- */

static const char forms[] =
	"expr forms(X: f32[N,H], W: f16[3], I: i64[K], X0: f32[N], H0: f32[H])"
	" -> Y, V, A, P, G, C, S, B, Z, X {\n"
	"  Y[n:N, p:(H-1)/2+1]: f16 = sum f32 (r:3 where 0 <= 2*p+r-1, 2*p+r-1 < H) X[n,2*p+r-1]"
	" * f32(W[r])\n"
	"  (V: f32, A: i64)[n:N] = argmax first (h:H) X[n,h] with h\n"
	"  P[n:N, i:H+2]: f32 = X[n,i-1] else 0\n"
	"  G[i:K, h:H]: f32 = X[at(I[i], 0..N, wrap, check), h]\n"
	"  C[n:N, h:H]: f32 = scan n from H0: prev + X[n,h]\n"
	"  S = scatter X0, (i:K) in order: [at(I[i], 0..N)] add= 1\n"
	"  Z[n:N, h:1..H]: f32 = X[n,h-1] - X[n,h]\n"
	"  B[n:N]: f32 = sum(h:1..H) Z[n,h]\n"
	"}\n";
enum { FORM_INPUTS = 5, FORM_OUTPUTS = 10 };

static void
form_inputs(const Array **arrays, int64_t rows, int64_t columns, int64_t index)
{
	arrays[0] = numbers(DT_F32, 2, (int64_t[]){rows, columns}, -4, 4);
	arrays[1] = numbers(DT_F16, 1, (int64_t[]){3}, -4, 4);
	arrays[2] = array_vector_i64(arena, 4, (int64_t[]){1, -1, 0, index});
	arrays[3] = numbers(DT_F32, 1, (int64_t[]){rows}, -4, 4);
	arrays[4] = numbers(DT_F32, 1, (int64_t[]){columns}, -4, 4);
}

/* With symbols; an input that is an output; a result that begins at 1; no elements at all. */
START_TEST(every_form)
{
	static const int64_t columns[] = {9, 1, 300, 0};
	for (size_t i = 0; i < countof(columns); i++) {
		const Array *arrays[FORM_INPUTS];
		Array *outputs[FORM_OUTPUTS];
		Program *program = parse(forms);
		form_inputs(arrays, 5, columns[i], 2);
		program_eval(arena, program, NULL, arrays, outputs);
		check_program_points(arena, program, arrays, outputs);
		const PointInput *inputs[FORM_INPUTS];
		for (int k = 0; k < FORM_INPUTS; k++)
			inputs[k] = point_input(arena, arrays[k]);
		for (int k = 0; k < FORM_OUTPUTS; k++) {
			const int64_t *dims;
			ck_assert_int_eq(program_output_dims(arena, program, NULL, inputs, k, &dims),
			                 outputs[k]->rank);
			for (int d = 0; d < outputs[k]->rank; d++)
				ck_assert_int_eq(dims[d], outputs[k]->dims[d]);
		}
	}
}
END_TEST

typedef struct Asked {
	const PointInput *inputs[FORM_INPUTS];
	PointSet set, *sets[FORM_OUTPUTS];
	PointResult result;
} Asked;

static void
ask(void *arg)
{
	Asked *asked = arg;
	asked->result = program_eval_points(arena, parse(forms), NULL, asked->inputs, asked->sets, 1e6,
	                                    (PointWay){0});
}

/* An index that is out of range fails for the points that it is read for, and for no others. */
START_TEST(only_what_is_asked)
{
	enum { GATHERED = 4, POINTS = 4 };
	const Array *arrays[FORM_INPUTS];
	int64_t at[POINTS] = {0, 3, 6, 0};
	Asked asked = {.set = {.count = POINTS, .at = at}};
	Failure failure;
	form_inputs(arrays, 5, 3, 99);
	for (int k = 0; k < FORM_INPUTS; k++)
		asked.inputs[k] = point_input(arena, arrays[k]);
	asked.sets[GATHERED] = &asked.set;
	ck_assert(try_run(ask, &asked, &failure));
	ck_assert(asked.result.is_done && asked.result.operations < 20 * POINTS);
	ck_assert(asked.set.value[0] == asked.set.value[3]);
	at[1] = 9;
	ck_assert(!try_run(ask, &asked, &failure));
	ck_assert_ptr_nonnull(strstr(failure.text, "index 99 is outside of its range 0..4"));
}
END_TEST

/* ---- lost terms ------------------------------------------------------------------------------ */

enum { SUMS = 16, MOST = 4096, BLOCK = 16 };

static float
sequential(const float *a, const float *b, int n)
{
	float sum = 0;
	for (int k = 0; k < n; k++)
		sum += a[k] * b[k];
	return sum;
}

static float
with_fma(const float *a, const float *b, int n)
{
	float sum = 0;
	for (int k = n - 1; k >= 0; k--)
		sum = fmaf(a[k], b[k], sum);
	return sum;
}

static float
pairwise(const float *a, const float *b, int n)
{
	if (n == 1)
		return a[0] * b[0];
	return pairwise(a, b, n / 2) + pairwise(a + n / 2, b + n / 2, n - n / 2);
}

static float
blocked(const float *a, const float *b, int n)
{
	float lanes[BLOCK] = {0}, sum = 0;
	for (int k = 0; k < n; k++)
		lanes[k % BLOCK] += a[k] * b[k];
	for (int i = 0; i < BLOCK; i++)
		sum += lanes[i];
	return sum;
}

static float (*const orders[])(const float *, const float *, int) = {sequential, with_fma, pairwise,
                                                                     blocked};

/* Terms of one or of both signs, of about one size or of very different ones, or in waves. */
static void
make_terms(float *a, int n, unsigned kind)
{
	for (int k = 0; k < n; k++) {
		double x = (random_below(&state, 1 << 20) + 0.5) / (1 << 20);
		double size = kind == 2 ? exp(20 * x - 10) : kind == 3 ? x < 0.5 ? 0 : x : x;
		bool is_negative = (kind == 1 && random_below(&state, 2)) ||
		                   (kind == 2 && random_below(&state, 3) == 0) || (kind == 4 && k / 64 % 2);
		a[k] = (float)(is_negative ? -size : size);
	}
}

static const char products[] = "expr e(A: f32[S,N], B: f32[S,N]) -> Y {\n"
							   " Y[s:S]: f32 = sum(k:N) A[s,k] * B[s,k]\n}\n";

/* Sums of n products, computed by `order`, -1 a lost term in each. */
static Agreement
compare_sums(float *a, float *b, int n, int order)
{
	int64_t dims[2] = {SUMS, n}, at[SUMS];
	float seen[SUMS];
	PointSet set = {.count = SUMS, .at = at}, *sets = &set;
	PointInput left = {DT_F32, 2, dims, NULL, a}, right = {DT_F32, 2, dims, NULL, b};
	const PointInput *inputs[] = {&left, &right};
	for (int s = 0; s < SUMS; s++)
		at[s] = s;
	ck_assert(program_eval_points(arena, parse(products), NULL, inputs, &sets, 1e8, (PointWay){0})
	              .is_done);
	for (int s = 0; s < SUMS; s++) {
		float *row_of_a = a + (ptrdiff_t)s * n, *row_of_b = b + (ptrdiff_t)s * n;
		if (order < 0)
			row_of_a[random_below(&state, (unsigned)n)] = 0;
		seen[s] = orders[order < 0 ? 0 : order](row_of_a, row_of_b, n);
	}
	return points_compare(&set, &(PointInput){DT_F32, 1, dims, NULL, seen}, 1);
}

START_TEST(spread_of_right_sums)
{
	float *a = NEW_N(arena, float, SUMS *MOST), *b = NEW_N(arena, float, SUMS *MOST);
	double worst = 0;
	for (int i = 0; i < 30; i++) {
		int n = i % 3 == 0 ? MOST : 1 + (int)random_below(&state, 600);
		make_terms(a, SUMS * n, (unsigned)_i);
		make_terms(b, SUMS * n, random_below(&state, 4));
		for (int order = 0; order < (int)countof(orders); order++) {
			Agreement agreement = compare_sums(a, b, n, order);
			ck_assert_int_eq(agreement.wrong, 0);
			worst = fmax(worst, agreement.spread);
		}
	}
	ck_assert_msg(worst < POINTS_SPREAD / 4.0, "kind %d: spread %g", _i, worst);
}
END_TEST

/* Some are inside of their bounds. */
START_TEST(spread_of_a_lost_term)
{
	float *a = NEW_N(arena, float, SUMS *MOST), *b = NEW_N(arena, float, SUMS *MOST);
	make_terms(a, SUMS * MOST, (unsigned)_i);
	make_terms(b, SUMS * MOST, 0);
	Agreement agreement = compare_sums(a, b, MOST, -1);
	ck_assert_int_lt(agreement.wrong, SUMS);
	ck_assert_msg(agreement.spread > POINTS_SPREAD, "kind %d: spread %g", _i, agreement.spread);
}
END_TEST

/* A sum that begins with a bias of 1, as a library's may, beside what a text says. */
static Agreement
compare_biased(const char *text, float *a, float *b, int n, PointWay way)
{
	int64_t dims[2] = {SUMS, n}, at[SUMS];
	float seen[SUMS];
	PointSet set = {.count = SUMS, .at = at}, *sets = &set;
	PointInput left = {DT_F32, 2, dims, NULL, a}, right = {DT_F32, 2, dims, NULL, b};
	const PointInput *inputs[] = {&left, &right};
	for (int s = 0; s < SUMS; s++) {
		at[s] = s;
		seen[s] = 1;
		for (int k = 0; k < n; k++)
			seen[s] += a[s * n + k] * b[s * n + k];
	}
	program_eval_points(arena, parse(text), NULL, inputs, &sets, 1e8, way);
	return points_compare(&set, &(PointInput){DT_F32, 1, dims, NULL, seen}, 1);
}

/* Its terms are small beside the bias. */
START_TEST(bias_among_the_terms)
{
	static const char text[] = "expr e(A: f32[S,N], B: f32[S,N]) -> Y {\n"
							   " P[s:S]: f32 = sum(k:N) A[s,k] * B[s,k]\n"
							   " Y[s:S]: f32 = P[s] + 1\n}\n";
	const PointWay joins_sums = {.joins_sums = true};
	enum { N = 600 };
	float *a = NEW_N(arena, float, SUMS *N), *b = NEW_N(arena, float, SUMS *N);
	make_terms(a, SUMS * N, 1);
	make_terms(b, SUMS * N, 0);
	for (int i = 0; i < SUMS * N; i++)
		a[i] *= 1e-4f;
	ck_assert_int_gt(compare_biased(text, a, b, N, (PointWay){0}).wrong, 0);
	Agreement agreement = compare_biased(text, a, b, N, joins_sums);
	ck_assert_int_eq(agreement.wrong, 0);
	ck_assert_msg(agreement.spread < POINTS_SPREAD / 4.0, "spread %g", agreement.spread);
}
END_TEST

/* A sum that is rounded to bf16 before the bias, which a library leaves out. */
START_TEST(rounding_of_a_sum)
{
	static const char text[] = "expr e(A: f32[S,N], B: f32[S,N]) -> Y {\n"
							   " P[s:S]: f32 = sum(k:N) A[s,k] * B[s,k]\n"
							   " Y[s:S]: f32 = f32(bf16(P[s])) + 1\n}\n";
	enum { N = 60 };
	float *a = NEW_N(arena, float, SUMS *N), *b = NEW_N(arena, float, SUMS *N);
	make_terms(a, SUMS * N, 1);
	make_terms(b, SUMS * N, 0);
	PointWay way = {.joins_sums = true};
	ck_assert_int_gt(compare_biased(text, a, b, N, way).wrong, 0);
	way.keeps_halves = true;
	ck_assert_int_eq(compare_biased(text, a, b, N, way).wrong, 0);
}
END_TEST

int
main(void)
{
	TCase *t = tcase_create("expr_points");
	tcase_add_checked_fixture(t, set_up, tear_down);
	tcase_add_test(t, few_points_of_much);
	tcase_add_test(t, too_much_is_not_done);
	tcase_add_test(t, every_form);
	tcase_add_test(t, only_what_is_asked);
	tcase_add_loop_test(t, spread_of_right_sums, 0, 5);
	tcase_add_loop_test(t, spread_of_a_lost_term, 0, 2);
	tcase_add_test(t, bias_among_the_terms);
	tcase_add_test(t, rounding_of_a_sum);
	return unit_run(t);
}
