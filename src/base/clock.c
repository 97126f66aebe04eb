/* Measuring time. */
#include "base/clock.h"

#include <stdlib.h>
#include <time.h>

double
now_seconds(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static int
order_doubles(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;
	return (x > y) - (x < y);
}

double
median_of(int count, double *values)
{
	if (count == 0)
		return 0;
	qsort(values, (size_t)count, sizeof *values, order_doubles);
	return count % 2 ? values[count / 2] : (values[count / 2 - 1] + values[count / 2]) / 2;
}
