/* Whether a derived program computes the values of the one before. */
#ifndef DERIVE_EQUAL_H
#define DERIVE_EQUAL_H

#include <math.h>

#include "derive_programs.h"

/* Relative error that is accepted: bilinear algorithms are not exact of integers. */
static double slack;

static void
check_output(const Array *wanted, const Array *seen, const Program *before, const Program *after)
{
	ck_assert_int_eq(array_count(seen), array_count(wanted));
	for (int64_t k = 0; k < array_count(seen); k++) {
		double x = dtype_load_f64(wanted->type, wanted->data, k);
		double y = dtype_load_f64(seen->type, seen->data, k);
		if (x != y && !(fabs(x - y) <= slack * (1 + fabs(x)))) /* Check notes each assertion */
			ck_abort_msg("element %d is %g, not %g\n%s%s", (int)k, y, x, text_of(before),
			             text_of(after));
	}
}

static void
check_equal(Array *const *wanted, const Program *before, const Program *after, const Sample *sample)
{
	program_check(after);
	Array **seen = values_of(after, sample);
	for (int i = 0; i < before->noutput; i++)
		check_output(wanted[i], seen[i], before, after);
}

#endif
