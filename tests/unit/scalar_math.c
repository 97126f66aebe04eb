/* The transcendental functions of the prelude: within the bounds of scalar.def of the true values
 * (long double libm for f64, double libm for f32), and the same bits in vectors as in scalars.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "unit.h"
#include "base/arena.h"
#include "expr/scalar/math.h"

#define TW_WIDTH 64
#define TW_LANES 2
#include "expr/scalar/prelude/lanes_open.h"
#include "expr/scalar/prelude/float.h"
#include "expr/scalar/prelude/math64.h"
#include "expr/scalar/prelude/lanes_close.h"
#define TW_WIDTH 32
#define TW_LANES 4
#include "expr/scalar/prelude/lanes_open.h"
#include "expr/scalar/prelude/float.h"
#include "expr/scalar/prelude/math32.h"
#include "expr/scalar/prelude/lanes_close.h"

#ifdef __x86_64__
#pragma GCC push_options
#pragma GCC target("avx2")
#define TW_WIDTH 64
#define TW_LANES 4
#include "expr/scalar/prelude/lanes_open.h"
#include "expr/scalar/prelude/float.h"
#include "expr/scalar/prelude/math64.h"
#include "expr/scalar/prelude/lanes_close.h"
#define TW_WIDTH 32
#define TW_LANES 8
#include "expr/scalar/prelude/lanes_open.h"
#include "expr/scalar/prelude/float.h"
#include "expr/scalar/prelude/math32.h"
#include "expr/scalar/prelude/lanes_close.h"
#pragma GCC target("avx512f,avx512dq,avx512vl,avx512bw,prefer-vector-width=512")
#define TW_WIDTH 64
#define TW_LANES 8
#include "expr/scalar/prelude/lanes_open.h"
#include "expr/scalar/prelude/float.h"
#include "expr/scalar/prelude/math64.h"
#include "expr/scalar/prelude/lanes_close.h"
#define TW_WIDTH 32
#define TW_LANES 16
#include "expr/scalar/prelude/lanes_open.h"
#include "expr/scalar/prelude/float.h"
#include "expr/scalar/prelude/math32.h"
#include "expr/scalar/prelude/lanes_close.h"
#pragma GCC pop_options
#endif

/* name, largest argument worth much testing, exponent range */
#define FUNCTIONS(X) \
	X(exp, 100) \
	X(log, 1000) \
	X(log1p, 10) \
	X(expm1, 20) \
	X(sin, 100000) \
	X(cos, 100000) \
	X(tan, 100000) \
	X(asin, 1) \
	X(acos, 1) \
	X(atan, 20) \
	X(sinh, 20) \
	X(cosh, 20) \
	X(tanh, 20) \
	X(asinh, 1000) \
	X(acosh, 1000) \
	X(atanh, 1) \
	X(erf, 6)

#define EXACT(X) \
	X(abs, 10) \
	X(neg, 10) X(sign, 10) X(floor, 1e6) X(ceil, 1e6) X(trunc, 1e6) X(round, 1e6) X(sqrt, 1e6)

enum { COUNT = 1 << 17 };

typedef struct Random {
	uint64_t state;
} Random;

static uint64_t
next(Random *r)
{
	r->state += 0x9E3779B97F4A7C15u;
	uint64_t z = r->state;
	z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
	z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
	return z ^ (z >> 31);
}

/* Edges first, then uniform in the range, near 0, near 1, and any bits. */
static double
argument64(Random *r, int i, double range)
{
	static const double edges[] = {0.0,
	                               -0.0,
	                               1.0,
	                               -1.0,
	                               0.5,
	                               -0.5,
	                               INFINITY,
	                               -INFINITY,
	                               NAN,
	                               2.0,
	                               1e300,
	                               -1e300,
	                               5e-324,
	                               -5e-324,
	                               2.2250738585072014e-308,
	                               709.782712893384,
	                               -745.1,
	                               710.4758,
	                               0.6,
	                               0.9,
	                               1e22,
	                               0x1p20,
	                               88.72283,
	                               -103.97,
	                               4503599627370496.5,
	                               2.5,
	                               3.5,
	                               -0.7,
	                               1e16};
	if (i < (int)countof(edges))
		return edges[i];
	double unit = (double)(int64_t)next(r) * 0x1p-63;
	switch (i & 7) {
	case 0:
	case 1:
	case 2:
		return unit * range;
	case 3:
		return unit * 4;
	case 4:
		return ldexp(unit, -(int)(next(r) % 70));
	case 5:
		return 1 + ldexp(unit, -(int)(next(r) % 50));
	case 6:
		return ldexp(unit, (int)(next(r) % 1000));
	default:
		return tw_float_f64(next(r));
	}
}

static float
argument32(Random *r, int i, double range)
{
	return (i & 7) == 7 ? tw_float_f32((uint32_t)next(r)) : (float)argument64(r, i, range);
}

/* Distance in ulp of the true value's binade; 0 for two NaNs or equal infinities. */
static double
ulps64(double got, long double want)
{
	if (isnan(got) || isnan(want))
		return isnan(got) && isnan(want) ? 0 : INFINITY;
	if (got == (double)want)
		return 0;
	if (isinf(got) && fabsl(want) >= 0x1.fffffffffffffp1023L)
		return 0;
	int e;
	frexpl(want, &e);
	e = e < -1021 ? -1021 : e;
	return (double)(fabsl((long double)got - want) * ldexpl(1, 53 - e));
}

static double
ulps32(float got, double want)
{
	if (isnan(got) || isnan(want))
		return isnan(got) && isnan(want) ? 0 : INFINITY;
	if (got == (float)want)
		return 0;
	if (isinf(got) && fabs(want) >= 0x1.fffffep127)
		return 0;
	int e;
	frexp(want, &e);
	e = e < -125 ? -125 : e;
	return fabs((double)got - want) * ldexp(1, 24 - e);
}

static int
bound_of(const char *name)
{
	static const struct {
		const char *name;
		int ulp;
	} rows[] = {
#define SCALAR(n, text, prec, arity, types, cost, ulp, doc) {#n, ulp},
#include "expr/scalar/scalar.def"
#undef SCALAR
	};
	for (size_t i = 0; i < countof(rows); i++)
		if (strcmp(rows[i].name, name) == 0)
			return rows[i].ulp;
	return -1;
}

static int
judge(const char *name, const char *type, double worst, double where)
{
	int bound = bound_of(name);
	printf("  %-6s %s %.3f ulp of %d (at %.17g)\n", name, type, worst, bound, where);
	return worst > (bound ? bound : 0.5001);
}

#define ACCURACY(name, range) \
	{ \
		Random r = {1}; \
		double worst = 0, where = 0, worst32 = 0, where32 = 0; \
		for (int i = 0; i < COUNT; i++) { \
			double x = argument64(&r, i, range), u = ulps64(tw_##name##_f64(x), name##l(x)); \
			if (u > worst) \
				worst = u, where = x; \
			float y = argument32(&r, i, range); \
			u = ulps32(tw_##name##_f32(y), name((double)y)); \
			if (u > worst32) \
				worst32 = u, where32 = (double)y; \
		} \
		bad += judge(#name, "f64", worst, where); \
		bad += judge(#name, "f32", worst32, where32); \
	}

START_TEST(accuracy)
{
	int bad = 0;
	FUNCTIONS(ACCURACY)
	ck_assert_int_eq(bad, 0);
}
END_TEST

START_TEST(accuracy_of_pow)
{
	Random r = {7};
	double worst = 0, worst32 = 0, at[4] = {0};
	for (int i = 0; i < COUNT * 2; i++) {
		int edge = i % 900, which = edge / 30;
		double x = argument64(&r, i < 900 ? edge % 30 : 100 + i, 50);
		double y = argument64(&r, i < 900 ? which : 100 + (i >> 3), 50);
		y = i & 1 && i > 900 ? floor(y) : y;
		x = i > 900 && i & 2 ? fabs(x) : x;
		double u = ulps64(tw_pow_f64(x, y), powl(x, y));
		if (u > worst)
			worst = u, at[0] = x, at[1] = y;
		u = ulps32(tw_pow_f32((float)x, (float)y), pow((double)(float)x, (double)(float)y));
		if (u > worst32)
			worst32 = u, at[2] = x, at[3] = y;
	}
	printf("  pow    f64 %.3f (%.17g, %.17g) f32 %.3f (%.17g, %.17g)\n", worst, at[0], at[1],
	       worst32, at[2], at[3]);
	ck_assert(worst <= bound_of("pow") && worst32 <= bound_of("pow"));
}
END_TEST

/* C's functions define the exact ones; fmod and the zero and NaN rules of min and max. */
START_TEST(exact_operations)
{
	Random r = {3};
	int bad = 0;
#define SAME(a, b) ((a) == (b) ? signbit(a) == signbit(b) : isnan(a) && isnan(b))
	for (int i = 0; i < COUNT; i++) {
		double x = argument64(&r, i, 1e6), y = argument64(&r, i * 7 % 90, 100);
		float f = argument32(&r, i, 1e6), g = argument32(&r, i * 7 % 90, 100);
		bad += !SAME(tw_floor_f64(x), floor(x)) + !SAME(tw_floor_f32(f), floorf(f));
		bad += !SAME(tw_ceil_f64(x), ceil(x)) + !SAME(tw_ceil_f32(f), ceilf(f));
		bad += !SAME(tw_trunc_f64(x), trunc(x)) + !SAME(tw_trunc_f32(f), truncf(f));
		bad += !SAME(tw_round_f64(x), nearbyint(x)) + !SAME(tw_round_f32(f), nearbyintf(f));
		bad += !SAME(tw_sqrt_f64(x), sqrt(x)) + !SAME(tw_sqrt_f32(f), sqrtf(f));
		bad += !SAME(tw_rem_f64(x, y), fmod(x, y)) + !SAME(tw_rem_f32(f, g), fmodf(f, g));
		bad += !SAME(tw_rem_f64(y, x), fmod(y, x)) + !SAME(tw_rem_f32(g, f), fmodf(g, f));
		if (!isnan(x) && !isnan(y) && x != y)
			bad += tw_min_f64(x, y) != fmin(x, y) || tw_max_f64(x, y) != fmax(x, y);
	}
	ck_assert_int_eq(bad, 0);
	ck_assert(isnan(tw_max_f32(NAN, 1)) && isnan(tw_max_f32(1, NAN)) && isnan(tw_min_f64(NAN, 1)));
	ck_assert(!signbit(tw_max_f32(-0.0f, 0.0f)) && !signbit(tw_max_f32(0.0f, -0.0f)));
	ck_assert(signbit(tw_min_f32(-0.0f, 0.0f)) && signbit(tw_min_f32(0.0f, -0.0f)));
	ck_assert(signbit(tw_neg_f64(0.0)) && isnan(tw_sign_f32(NAN)));
}
END_TEST

/* Equal bits lane by lane; two NaNs are equal whatever their bits. */
#define LANES(name, range, width, lanes) \
	{ \
		Random r = {11}; \
		for (int i = 0; i < LANE_COUNT; i += lanes) { \
			tw_f##width##x##lanes x = {0}; \
			for (int k = 0; k < lanes; k++) \
				x[k] = argument##width(&r, i + k, range); \
			tw_f##width##x##lanes y = tw_##name##_f##width##x##lanes(x); \
			for (int k = 0; k < lanes; k++) { \
				tw_f##width want = tw_##name##_f##width(x[k]); \
				if (tw_bits_f##width(y[k]) != tw_bits_f##width(want) && \
				    !(y[k] != y[k] && want != want)) \
					bad++; \
			} \
		} \
	}
#ifdef FULL
enum { LANE_COUNT = 1 << 20 };
#else
enum { LANE_COUNT = 1 << 16 };
#endif
#define LANES128(name, range) LANES(name, range, 64, 2) LANES(name, range, 32, 4)
#define LANES256(name, range) LANES(name, range, 64, 4) LANES(name, range, 32, 8)
#define LANES512(name, range) LANES(name, range, 64, 8) LANES(name, range, 32, 16)

START_TEST(lanes_of_128_bits)
{
	int bad = 0;
	FUNCTIONS(LANES128)
	EXACT(LANES128)
	ck_assert_int_eq(bad, 0);
}
END_TEST

#ifdef __x86_64__
__attribute__((target("avx2"))) static int
run256(void)
{
	int bad = 0;
	FUNCTIONS(LANES256)
	EXACT(LANES256)
	return bad;
}

__attribute__((target("avx512f,avx512dq,avx512vl,avx512bw"))) static int
run512(void)
{
	int bad = 0;
	FUNCTIONS(LANES512)
	EXACT(LANES512)
	return bad;
}

START_TEST(wider_lanes)
{
	if (__builtin_cpu_supports("avx2"))
		ck_assert_int_eq(run256(), 0);
	if (__builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl"))
		ck_assert_int_eq(run512(), 0);
}
END_TEST
#endif

int
main(void)
{
	TCase *tc = tcase_create("scalar_math");
	tcase_add_test(tc, accuracy);
	tcase_add_test(tc, accuracy_of_pow);
	tcase_add_test(tc, exact_operations);
	tcase_add_test(tc, lanes_of_128_bits);
#ifdef __x86_64__
	tcase_add_test(tc, wider_lanes);
#endif
	return unit_run(tc);
}
