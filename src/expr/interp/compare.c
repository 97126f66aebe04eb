/* Arrays as bounded results, and whether an array, or some points of it, lies within bounds. */
#include <math.h>

#include "expr/interp/code.h"
#include "expr/interp/points.h"

BoundArray *
bound_from_array(Arena *arena, const Array *array)
{
	BoundArray *bounds = NEW(arena, BoundArray);
	int64_t count = array_count(array);
	bounds->type = array->type;
	bounds->rank = array->rank;
	bounds->dims = array->dims;
	bounds->sampled = -1;
	if (held_type(true, array->type) == DT_F64)
		bounds->value = NEW_N(arena, double, count + 1);
	else
		bounds->integer = NEW_N(arena, int64_t, count + 1);
	for (int64_t i = 0; i < count; i++)
		if (bounds->value)
			bounds->value[i] = dtype_load_f64(array->type, array->data, i);
		else
			bounds->integer[i] = dtype_load_i64(array->type, array->data, i);
	return bounds;
}

static bool
is_like(const BoundArray *a, DType type, int rank, const int64_t *dims)
{
	bool is_same = a->type == type && a->rank == rank;
	for (int d = 0; is_same && d < rank; d++)
		is_same = a->dims[d] == dims[d];
	return is_same;
}

const BoundArray *
bound_join(Arena *arena, const BoundArray *a, const BoundArray *b)
{
	if (!is_like(a, b->type, b->rank, b->dims))
		return a;
	BoundArray *both = arena_memdup(arena, a, sizeof *a);
	int64_t count = dims_count(a->rank, a->dims);
	both->sampled =
		a->sampled < 0 || (b->sampled >= 0 && b->sampled < a->sampled) ? b->sampled : a->sampled;
	both->bound = a->value ? NEW_N(arena, double, count + 1) : NULL;
	both->undecided = a->value ? NULL : NEW_N(arena, uint8_t, count + 1);
	for (int64_t i = 0; i < count; i++)
		if (a->value)
			both->bound[i] = (a->bound ? a->bound[i] : 0) + (b->bound ? b->bound[i] : 0);
		else
			both->undecided[i] =
				(a->undecided && a->undecided[i]) || (b->undecided && b->undecided[i]);
	return both;
}

static void
note_wrong(Agreement *a, int64_t point, double expected, double seen, double bound)
{
	a->special += !isfinite(expected);
	if (a->wrong++ > 0)
		return;
	a->first_wrong = point;
	a->expected = expected;
	a->seen = seen;
	a->bound = bound;
}

static void
compare_float(Agreement *a, int64_t point, double expected, double seen, double bound)
{
	if (expected == seen || (isnan(expected) && isnan(seen)))
		return;
	double error = fabs(expected - seen);
	if (!(error <= bound)) { /* NaN and infinities too */
		note_wrong(a, point, expected, seen, bound);
		a->worst = bound > 0 && error == error ? fmax(a->worst, error / bound) : INFINITY;
		return;
	}
	a->worst = fmax(a->worst, error / bound);
}

Agreement
bound_compare(const BoundArray *expected, const Array *seen, double slack)
{
	Agreement a = {.first_wrong = -1};
	if (!is_like(expected, seen->type, seen->rank, seen->dims)) { /* nothing can be right */
		a.points = a.wrong = 1;
		a.first_wrong = 0;
		return a;
	}
	for (int64_t i = 0, count = array_count(seen); i < count; i++) {
		double bound = expected->bound ? expected->bound[i] : 0;
		bool is_open =
			expected->value ? isinf(bound) : expected->undecided && expected->undecided[i];
		if (is_open && expected->sampled >= 0)
			continue;
		a.points++;
		a.undecided += is_open;
		if (is_open)
			continue;
		if (expected->value) {
			double value = dtype_load_f64(seen->type, seen->data, i);
			compare_float(&a, i, expected->value[i], value, bound * slack);
		} else if (expected->integer[i] != dtype_load_i64(seen->type, seen->data, i)) {
			note_wrong(&a, i, (double)expected->integer[i],
			           dtype_load_f64(seen->type, seen->data, i), 0);
			a.worst = INFINITY;
		}
	}
	return a;
}

/* Where element `at` in row-major order lies. */
static int64_t
address_of(const PointInput *seen, int64_t at)
{
	int64_t address = 0;
	for (int d = seen->rank - 1; seen->strides && d >= 0; d--) {
		address += at % seen->dims[d] * seen->strides[d];
		at /= seen->dims[d];
	}
	return seen->strides ? address : at;
}

/* The square of error / deviation, where there is one. */
static bool
square_of(const PointSet *expected, int64_t i, double seen, double *square)
{
	double error = expected->value[i] - seen, deviation = expected->deviation[i];
	*square = error / deviation * (error / deviation);
	return deviation > 0 && isfinite(*square);
}

Agreement
points_compare(const PointSet *expected, const PointInput *seen, double slack)
{
	Agreement a = {.first_wrong = -1};
	double squares = 0;
	int64_t count = 0;
	if (expected->type != seen->type) { /* nothing can be right */
		a.points = a.wrong = expected->count;
		a.first_wrong = expected->count ? expected->at[0] : -1;
		return a;
	}
	for (int64_t i = 0; i < expected->count; i++) {
		int64_t at = expected->at[i], address = address_of(seen, at);
		bool is_open = expected->value ? isinf(expected->bound[i]) : expected->undecided[i];
		double value = dtype_load_f64(seen->type, seen->data, address), square = 0;
		a.points++;
		a.undecided += is_open;
		if (is_open)
			continue;
		if (!expected->value) {
			if (expected->integer[i] == dtype_load_i64(seen->type, seen->data, address))
				continue;
			note_wrong(&a, at, (double)expected->integer[i], value, 0);
			a.worst = INFINITY;
			continue;
		}
		compare_float(&a, at, expected->value[i], value, expected->bound[i] * slack);
		if (square_of(expected, i, value, &square)) {
			squares += square;
			count++;
		}
	}
	a.spread = count ? sqrt(squares / (double)count) : 0;
	return a;
}
