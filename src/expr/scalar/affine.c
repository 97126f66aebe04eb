#include "expr/scalar/affine.h"

#include <math.h>

/* What the steps up to one make of x. Wider than any type, so that only what is asked is lost. */
typedef struct Joining {
	FloatRange range;
	long double scale, shift;
	long double largest;  /* summand in size, scaled as the shift is */
	long double at_first; /* the scale when the first summand was added */
	int nround, nsummand; /* factors that round, summands */
} Joining;

static bool
is_power_of_two(double number)
{
	int exponent;
	return fabs(frexp(number, &exponent)) == 0.5;
}

static double
rounded_to(DType type, double number)
{
	double bits;
	dtype_store_f64(type, &bits, 0, number);
	return dtype_load_f64(type, &bits, 0);
}

bool
affine_holds(DType type, long double number)
{
	FloatRange range = dtype_float_range(type);
	double rounded = rounded_to(type, (double)number);
	return rounded == number || (range.least <= fabs(rounded) && fabs(rounded) <= range.most);
}

/* False where what is not 0 would become 0, or infinite. */
static bool
times(long double *product, long double factor)
{
	long double before = *product;
	*product *= factor;
	return isfinite(*product) && (*product != 0 || before == 0 || factor == 0);
}

static bool
multiply(Joining *j, double by, long double factor)
{
	j->nround += !is_power_of_two(by);
	return isfinite(factor) && times(&j->scale, factor) && times(&j->shift, factor) &&
	       times(&j->largest, fabsl(factor));
}

/* One that is small beside those before it would be lost in their sum, and is not where x cancels
 * them. One so large leaves x a third of its digits, or none, and often is there for that:
 * x + 1.5*2^23 - 1.5*2^23 is x rounded. */
static bool
add(Joining *j, double by, bool is_alone)
{
	if (by == 0)
		return true;
	bool is_huge = fabs(by) >= ldexp(1, 2 * j->range.digits / 3);
	if (!isfinite(by) || (is_huge && !is_alone) || fabs(by) < ldexpl(j->largest, -j->range.digits))
		return false;
	j->at_first = j->nsummand++ ? j->at_first : fabsl(j->scale);
	j->largest = fmaxl(j->largest, fabs(by));
	j->shift += by;
	return true;
}

/* Whether x * scale is finite where the chain is: that added before it scaled so far, and what it
 * added may have brought back what is too large. */
static bool
stays_finite(const Joining *j)
{
	bool grows = fabsl(j->scale) > fmaxl(1, j->at_first);
	return !j->nsummand || !grows ||
	       ldexpl(j->largest * j->nsummand, j->range.digits) < j->range.most;
}

/* Summands that cancel leave nothing of their digits, which x has lost. */
static bool
cancels(const Joining *j)
{
	return fabsl(j->shift) < ldexpl(j->largest, -j->range.digits);
}

bool
affine_join(DType type, int count, const AffineStep *steps, Affine *out)
{
	Joining j = {.range = dtype_float_range(type), .scale = 1, .at_first = 1};
	for (int i = 0; i < count; i++) {
		double by = steps[i].by;
		bool is = steps[i].op == EX_add   ? add(&j, by, count == 1)
		          : steps[i].op == EX_div ? multiply(&j, by, 1 / (long double)by)
		                                  : multiply(&j, by, by);
		if (!is)
			return false;
	}
	*out = (Affine){(double)j.scale, (double)j.shift};
	/* A rounded factor is an error more: it needs a rounding of the chain that it stands for. */
	if (rounded_to(type, out->scale) != j.scale && j.nround < 2 && j.nsummand == 0)
		return false;
	return affine_holds(type, j.scale) && affine_holds(type, j.shift) && !cancels(&j) &&
	       stays_finite(&j);
}
