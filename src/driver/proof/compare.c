/* Element by element, in double; equal infinities agree. */
#include "driver/proof/compare.h"

#include <math.h>
#include <string.h>

#include "base/buf.h"

const char *
array_type_text(Arena *arena, const Array *array)
{
	Buf buf = {.arena = arena};
	buf_puts(&buf, dtype_name(array->type));
	buf_putc(&buf, '[');
	for (int d = 0; d < array->rank; d++)
		buf_printf(&buf, "%s%lld", d ? "," : "", (long long)array->dims[d]);
	buf_putc(&buf, ']');
	return buf_text(&buf);
}

static bool
is_text(const Array *array)
{
	return array->type == DT_STRING;
}

/* Whether elements are integers that a double may not hold. */
static bool
is_whole(const Array *array)
{
	return dtype_is_integer(array->type) || array->type == DT_BOOL;
}

static bool
agree(const Array *expected, const Array *seen, int64_t i, double rtol, double atol, double *error)
{
	if (is_text(expected)) {
		const char *const *a = expected->data, *const *b = seen->data;
		return strcmp(a[i] ? a[i] : "", b[i] ? b[i] : "") == 0;
	}
	double a = dtype_load_f64(expected->type, expected->data, i);
	double b = dtype_load_f64(seen->type, seen->data, i);
	if (is_whole(expected) && (rtol == 0 || dtype_bits(expected->type) == 64)) {
		*error = fabs(a - b);
		return dtype_load_i64(expected->type, expected->data, i) ==
		       dtype_load_i64(seen->type, seen->data, i);
	}
	if ((isnan(a) && isnan(b)) || a == b)
		return true;
	*error = fabs(a - b);
	return *error <= atol + rtol * fabs(a) && !isinf(a);
}

const char *
shape_difference(Arena *arena, const Array *expected, const Array *seen)
{
	bool same = expected->type == seen->type && expected->rank == seen->rank;
	for (int d = 0; same && d < expected->rank; d++)
		same = expected->dims[d] == seen->dims[d];
	return same ? NULL
	            : arena_printf(arena, "it is %s, expected %s", array_type_text(arena, seen),
	                           array_type_text(arena, expected));
}

Comparison
compare_arrays(Arena *arena, const Array *expected, const Array *seen, double rtol, double atol)
{
	Comparison c = {.first = -1, .reason = shape_difference(arena, expected, seen)};
	if (c.reason || dtype_class(expected->type) == DC_NONE)
		return c;
	c.count = array_count(expected);
	bool is_complex = expected->type == DT_C64 || expected->type == DT_C128;
	Array a = *expected, b = *seen;
	int64_t count = c.count;
	if (is_complex) {
		a.type = b.type = expected->type == DT_C64 ? DT_F32 : DT_F64;
		count *= 2;
	}
	for (int64_t i = 0; i < count; i++) {
		double error = 0;
		if (!agree(&a, &b, i, rtol, atol, &error)) {
			c.wrong++;
			c.first = c.first < 0 ? i : c.first;
		}
		c.worst = fmax(c.worst, error);
		if (!is_text(&a))
			c.largest = fmax(c.largest, fabs(dtype_load_f64(a.type, a.data, i)));
	}
	return c;
}

Tolerance
tolerance_given(const Options *options, double largest)
{
	return (Tolerance){
		.rtol = options->gives_rtol ? options->rtol : 1e-3,
		.atol = options->gives_atol ? options->atol : 1e-7 * (largest > 1 ? largest : 1),
	};
}

/* Some hundred units in the last place of the largest element, and one step of what was quantised:
 * as much as other orders of sums make in deep models, far less than a wrong weight does. */
Tolerance
tolerance_between(const Options *options, DType type, double largest)
{
	if (options->gives_rtol || options->gives_atol)
		return tolerance_given(options, largest);
	double share = type == DT_BF16 ? 5e-2 : type == DT_F16 ? 1e-2 : dtype_is_float(type) ? 1e-4 : 0;
	return (Tolerance){.atol = dtype_is_code(type) ? 1 : share * largest};
}

static void
print_element(Buf *buf, const Array *array, int64_t i)
{
	if (is_text(array))
		buf_quote(buf, ((const char *const *)array->data)[i]);
	else if (is_whole(array))
		buf_printf(buf, "%lld", (long long)dtype_load_i64(array->type, array->data, i));
	else if (dtype_class(array->type) == DC_X)
		buf_puts(buf, "complex");
	else
		buf_printf(buf, "%.9g", dtype_load_f64(array->type, array->data, i));
}

const char *
comparison_text(Arena *arena, const Comparison *comparison, const Array *expected,
                const Array *seen)
{
	Buf buf = {.arena = arena};
	if (comparison->reason)
		return comparison->reason;
	if (comparison->first < 0)
		return "equal";
	int64_t rest = comparison->first, index[ARRAY_MAX_RANK];
	for (int d = expected->rank - 1; d >= 0; d--) {
		index[d] = expected->dims[d] ? rest % expected->dims[d] : 0;
		rest = expected->dims[d] ? rest / expected->dims[d] : 0;
	}
	buf_puts(&buf, "element [");
	for (int d = 0; d < expected->rank; d++)
		buf_printf(&buf, "%s%lld", d ? "," : "", (long long)index[d]);
	buf_puts(&buf, "] is ");
	print_element(&buf, seen, comparison->first);
	buf_puts(&buf, ", expected ");
	print_element(&buf, expected, comparison->first);
	buf_printf(&buf, "; %lld of %lld are wrong, the largest error is %.3g",
	           (long long)comparison->wrong, (long long)comparison->count, comparison->worst);
	return buf_text(&buf);
}
