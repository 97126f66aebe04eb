/* Short floats against slow references that search for the nearest value.
 *
 * Every code of every format is widened and compared with the formula of its value; narrowing is
 * tested at every representable value, at every middle between two neighbours (the tie) and one
 * step to each side of it, in f32 and f64, which are all the places where a wrong rule can differ.
 */
#include <math.h>
#include <stdlib.h>

#include "base/half.h"
#include "unit.h"

/* A format: `value` by its definition, independent of the code under test. */
typedef struct Format {
	int exponent_bits, mantissa, bias;
	int largest;  /* code of the largest finite value */
	int infinity; /* code, or -1 */
	double (*widen)(int code);
	int (*narrow)(double value, bool saturate);
	bool is_f32; /* narrow() takes f32 values only */
} Format;

static double
value_of(const Format *f, int code)
{
	int exponent = code >> f->mantissa, fraction = code & ((1 << f->mantissa) - 1);
	if (exponent == 0)
		return ldexp(fraction, 1 - f->bias - f->mantissa);
	return ldexp((1 << f->mantissa) + fraction, exponent - f->bias - f->mantissa);
}

#define FORMAT8(name) \
	static double widen_##name(int code) \
	{ \
		return (double)name##_to_f32((uint8_t)code); \
	} \
	static int narrow_##name(double value, bool saturate) \
	{ \
		return f32_to_##name((float)value, saturate); \
	}
FORMAT8(f8e4m3fn)
FORMAT8(f8e4m3fnuz)
FORMAT8(f8e5m2)
FORMAT8(f8e5m2fnuz)

static double
widen_f16(int code)
{
	return (double)f16_to_f32((uint16_t)code);
}

static int
narrow_f16(double value, bool saturate)
{
	(void)saturate;
	return f64_to_f16(value);
}

static double
widen_bf16(int code)
{
	return (double)bf16_to_f32((uint16_t)code);
}

static int
narrow_bf16(double value, bool saturate)
{
	(void)saturate;
	return f64_to_bf16(value);
}

static double
widen_f4(int code)
{
	return (double)f4e2m1_to_f32((uint8_t)code);
}

static int
narrow_f4(double value, bool saturate)
{
	(void)saturate;
	return f32_to_f4e2m1((float)value);
}

static const Format FORMATS[] = {
	{5, 10, 15, 0x7BFF, 0x7C00, widen_f16, narrow_f16, false},
	{8, 7, 127, 0x7F7F, 0x7F80, widen_bf16, narrow_bf16, false},
	{4, 3, 7, 0x7E, -1, widen_f8e4m3fn, narrow_f8e4m3fn, true},
	{4, 3, 8, 0x7F, -1, widen_f8e4m3fnuz, narrow_f8e4m3fnuz, true},
	{5, 2, 15, 0x7B, 0x7C, widen_f8e5m2, narrow_f8e5m2, true},
	{5, 2, 16, 0x7F, -1, widen_f8e5m2fnuz, narrow_f8e5m2fnuz, true},
	{2, 1, 1, 7, -1, widen_f4, narrow_f4, true},
};

static double
step(const Format *f, double value, double towards)
{
	return f->is_f32 ? (double)nextafterf((float)value, (float)towards) : nextafter(value, towards);
}

START_TEST(values_ties_and_neighbours)
{
	const Format *f = &FORMATS[_i];
	int sign = 1 << (f->exponent_bits + f->mantissa);
	for (int code = 0; code < f->largest; code++) {
		double low = value_of(f, code), high = value_of(f, code + 1), middle = (low + high) / 2;
		ck_assert_double_eq(f->widen(code), low);
		ck_assert_double_eq(f->widen(code + 1), high);
		ck_assert_int_eq(f->narrow(low, true), code);
		ck_assert_int_eq(f->narrow(middle, true), code & 1 ? code + 1 : code);
		ck_assert_int_eq(f->narrow(step(f, middle, low), true), code);
		ck_assert_int_eq(f->narrow(step(f, middle, high), true), code + 1);
		if (code > 0) {
			ck_assert_double_eq(f->widen(sign | code), -low);
			ck_assert_int_eq(f->narrow(-low, false), sign | code);
		}
	}
	ck_assert_int_eq(f->narrow(value_of(f, f->largest), false), f->largest);
}
END_TEST

/* Where the next value would be, were it finite: half way there decides between the largest value
 * and overflow. The tie goes to the even code. */
START_TEST(overflow)
{
	const Format *f = &FORMATS[_i];
	double last = value_of(f, f->largest), next = value_of(f, f->largest + 1);
	double middle = (last + next) / 2;
	int sign = 1 << (f->exponent_bits + f->mantissa);
	bool is_fnuz = f->widen(sign) != 0; /* minus zero is their NaN */
	if (f->narrow == narrow_f4) {
		ck_assert_int_eq(f->narrow(1e30, true), 7);
		ck_assert_int_eq(f->narrow(-INFINITY, true), 15);
		return;
	}
	ck_assert_int_eq(f->narrow(step(f, middle, last), false), f->largest);
	int beyond = f->narrow(step(f, middle, next), false);
	if (f->infinity >= 0) {
		ck_assert_int_eq(beyond, f->infinity);
		ck_assert_int_eq(f->narrow(-INFINITY, false), sign | f->infinity);
		ck_assert(isinf(f->widen(f->infinity)));
	} else {
		ck_assert(isnan(f->widen(beyond)));
		ck_assert(isnan(f->widen(f->narrow(INFINITY, false))));
	}
	if (!f->is_f32)
		return; /* f16 and bf16 do not saturate */
	ck_assert_int_eq(f->narrow(step(f, middle, next), true), f->largest);
	ck_assert_int_eq(f->narrow(-1e30, true), sign | f->largest);
	ck_assert_int_eq(f->narrow(INFINITY, true), f->largest);
	ck_assert_int_eq(f->narrow(-0.0, true), is_fnuz ? 0 : sign);
	ck_assert_int_eq(f->narrow(-1e-30, true), is_fnuz ? 0 : sign);
}
END_TEST

START_TEST(nan_stays_nan)
{
	const Format *f = &FORMATS[_i];
	bool has_nan = f->narrow != narrow_f4;
	int sign = 1 << (f->exponent_bits + f->mantissa);
	ck_assert_int_eq(isnan(f->widen(f->narrow(NAN, true))) != 0, has_nan);
	ck_assert_int_eq(isnan(f->widen(f->narrow(NAN, false))) != 0, has_nan);
	if (!has_nan)
		ck_assert_int_eq(f->narrow(NAN, true), 8);
	/* Every code is finite, infinite or NaN as its format says. */
	for (int code = 0; code < 2 * sign; code++) {
		int magnitude = code & (sign - 1);
		double value = f->widen(code);
		if (f->widen(sign) != 0 && code == sign)
			ck_assert(isnan(value));
		else if (magnitude <= f->largest)
			ck_assert(isfinite(value));
		else if (magnitude == f->infinity)
			ck_assert(isinf(value) && (value < 0) == (code >= sign));
		else
			ck_assert(isnan(value));
	}
}
END_TEST

/* All 2^32 floats would take a minute: a stride that is prime to everything takes 2^22 of them. */
START_TEST(f32_and_f64_agree)
{
	uint32_t bits = 0;
	for (int i = 0; i < 1 << 22; i++, bits += 1021u * 1031u - 2u) {
		union {
			uint32_t bits;
			float value;
		} u = {bits};
		if (isnan(u.value))
			continue;
		/* bf16 by integer arithmetic on the f32 bits, a different method. */
		uint32_t rounded = (bits + 0x7FFF + (bits >> 16 & 1)) >> 16;
		ck_assert_uint_eq(f64_to_bf16(u.value), rounded);
	}
}
END_TEST

/* f64 to f32 to f16 would round twice: 1 + 2^-11 + 2^-40 is above the tie, its f32 is on it. */
START_TEST(rounded_once)
{
	ck_assert_uint_eq(f64_to_f16(1 + 0x1p-11 + 0x1p-40), 0x3C01);
	ck_assert_uint_eq(f64_to_f16((float)(1 + 0x1p-11 + 0x1p-40)), 0x3C00);
	ck_assert_uint_eq(f64_to_bf16(1 + 0x1p-8 + 0x1p-40), 0x3F81);
	ck_assert_uint_eq(f64_to_f16(0x1p-25), 0);
	ck_assert_uint_eq(f64_to_f16(0x1.0000000000001p-25), 1);
	ck_assert_uint_eq(f64_to_f16(0x1p-1074), 0);
}
END_TEST

START_TEST(powers_of_two)
{
	for (int code = 0; code < 255; code++) {
		float value = ldexpf(1, code - 127);
		ck_assert_float_eq(f8e8m0_to_f32((uint8_t)code), value);
		for (int mode = 0; mode < 3; mode++)
			ck_assert_uint_eq(f32_to_f8e8m0(value, true, mode), code ? code : mode == 0);
		if (code == 0 || code == 254)
			continue;
		ck_assert_uint_eq(f32_to_f8e8m0(value * 1.25f, true, 0), code + 1);
		ck_assert_uint_eq(f32_to_f8e8m0(value * 1.75f, true, 1), code);
		ck_assert_uint_eq(f32_to_f8e8m0(value * 1.25f, true, 2), code);
		ck_assert_uint_eq(f32_to_f8e8m0(value * 1.5f, true, 2), code + 1);
		ck_assert_uint_eq(f32_to_f8e8m0(value * 1.75f, true, 2), code + 1);
	}
	ck_assert(isnan(f8e8m0_to_f32(255)));
	ck_assert_uint_eq(f32_to_f8e8m0(NAN, true, 0), 255);
	ck_assert_uint_eq(f32_to_f8e8m0(INFINITY, true, 0), 255);
	ck_assert_uint_eq(f32_to_f8e8m0(3e38f, true, 0), 254);
	ck_assert_uint_eq(f32_to_f8e8m0(3e38f, false, 0), 255);
	ck_assert_uint_eq(f32_to_f8e8m0(0, true, 2), 0);
}
END_TEST

int
main(void)
{
	int count = sizeof FORMATS / sizeof FORMATS[0];
	TCase *tcase = tcase_create("half");
	tcase_add_loop_test(tcase, values_ties_and_neighbours, 0, count);
	tcase_add_loop_test(tcase, overflow, 0, count);
	tcase_add_loop_test(tcase, nan_stays_nan, 0, count);
	tcase_add_test(tcase, f32_and_f64_agree);
	tcase_add_test(tcase, rounded_once);
	tcase_add_test(tcase, powers_of_two);
	return unit_run(tcase);
}
