/* In double, element by element. Equal infinities are 0 apart, and so are two NaN; a NaN is
 * infinitely far from a number. */
#include "cli/measure/distance.h"

#include <limits.h>
#include <math.h>
#include <string.h>

#include "base/clock.h"

enum { TOP = 5, ROW_LEAST = 10 };

static double
apart(double a, double b)
{
	if (a == b || (isnan(a) && isnan(b)))
		return 0;
	double distance = fabs(a - b);
	return isnan(distance) ? INFINITY : distance;
}

static double
number_at(const Array *array, int64_t i)
{
	return dtype_load_f64(array->type, array->data, i);
}

static double
largest_of(const Array *array)
{
	double largest = 0;
	for (int64_t i = 0, count = array_count(array); i < count; i++) {
		double size = fabs(number_at(array, i));
		largest = isfinite(size) && size > largest ? size : largest;
	}
	return largest;
}

/* Whole numbers of 64 bits must be equal: a double does not hold them. */
static bool
is_accepted(const Array *a, const Array *b, int64_t i, double distance, Tolerance t)
{
	if (dtype_bits(a->type) == 64 && dtype_is_integer(a->type))
		return dtype_load_i64(a->type, a->data, i) == dtype_load_i64(b->type, b->data, i);
	return distance == 0 ||
	       (isfinite(distance) && distance <= t.atol + t.rtol * fabs(number_at(a, i)));
}

/* The places of a row's largest elements, the first of equal ones first; NaN is below all. */
static void
find_top(const Array *array, int64_t from, int64_t count, int64_t top[TOP])
{
	double values[TOP];
	int found = 0;
	for (int64_t i = 0; i < count; i++) {
		double value = number_at(array, from + i);
		int at = found;
		while (at > 0 && value > values[at - 1])
			at--;
		if (at == TOP || isnan(value))
			continue;
		found += found < TOP;
		memmove(values + at + 1, values + at, (size_t)(found - 1 - at) * sizeof *values);
		memmove(top + at + 1, top + at, (size_t)(found - 1 - at) * sizeof *top);
		values[at] = value;
		top[at] = i;
	}
	for (; found < TOP; found++)
		top[found] = -1;
}

static void
compare_rows(Distance *d, const Array *a, const Array *b)
{
	int64_t last = a->rank ? a->dims[a->rank - 1] : 0, count = array_count(a);
	d->top1 = d->top5 = NAN;
	if (last < ROW_LEAST || count == 0)
		return;
	double first = 0, among = 0;
	for (int64_t from = 0; from < count; from += last) {
		int64_t x[TOP], y[TOP];
		find_top(a, from, last, x);
		find_top(b, from, last, y);
		first += x[0] == y[0];
		for (int i = 0; i < TOP; i++)
			for (int k = 0; k < TOP; k++)
				among += x[i] == y[k];
	}
	d->top1 = first / ((double)count / (double)last);
	d->top5 = among / ((double)count / (double)last * TOP);
}

static void
find_quantiles(Distance *d, Arena *arena, const Array *a, const Array *b)
{
	int64_t count = array_count(a);
	if (count > INT_MAX)
		return;
	ArenaMark mark = arena_mark(arena);
	double *all = NEW_N(arena, double, count + 1);
	for (int64_t i = 0; i < count; i++)
		all[i] = apart(number_at(a, i), number_at(b, i));
	d->median = median_of((int)count, all);
	d->most = quantile_of((int)count, all, 0.99);
	arena_release(arena, mark);
}

Distance
distance_quick(const Options *options, Arena *arena, const Array *base, const Array *seen)
{
	Distance d = {.cosine = NAN, .top1 = NAN, .top5 = NAN, .median = NAN, .most = NAN};
	Comparison *c = &d.comparison;
	if (!dtype_is_arithmetic(base->type)) {
		*c = compare_arrays(arena, base, seen, 0, 0);
		d.mean = d.relative = NAN;
		return d;
	}
	bool are_floats = dtype_is_float(base->type) && dtype_is_float(seen->type);
	Array alike = *seen;
	alike.type = are_floats ? base->type : seen->type;
	*c = (Comparison){.first = -1, .reason = shape_difference(arena, base, &alike)};
	if (c->reason)
		return d;
	c->count = array_count(base);
	c->largest = largest_of(base);
	bool is_shorter = dtype_bits(seen->type) < dtype_bits(base->type);
	Tolerance t = tolerance_between(options, is_shorter ? seen->type : base->type, c->largest);
	double sum = 0, product = 0, squares[2] = {0};
	for (int64_t i = 0; i < c->count; i++) {
		double a = number_at(base, i), b = number_at(seen, i), distance = apart(a, b);
		if (!is_accepted(base, seen, i, distance, t)) {
			c->first = c->wrong++ ? c->first : i;
		}
		c->worst = fmax(c->worst, distance);
		sum += distance;
		product += a * b;
		squares[0] += a * a;
		squares[1] += b * b;
	}
	d.mean = c->count ? sum / (double)c->count : 0;
	d.relative = c->largest > 0 ? c->worst / c->largest : c->worst;
	d.cosine =
		squares[0] > 0 && squares[1] > 0 ? product / sqrt(squares[0]) / sqrt(squares[1]) : NAN;
	return d;
}

Distance
distance_of(const Options *options, Arena *arena, const Array *base, const Array *seen)
{
	Distance d = distance_quick(options, arena, base, seen);
	if (!d.comparison.reason)
		d.comparison.reason = shape_difference(arena, base, seen);
	if (d.comparison.reason || !dtype_is_arithmetic(base->type))
		return d;
	find_quantiles(&d, arena, base, seen);
	compare_rows(&d, base, seen);
	return d;
}
