/* Measuring time. */
#include "base/clock.h"

#include <stdlib.h>
#include <sys/resource.h>
#include <time.h>

static double
seconds_by(clockid_t clock)
{
	struct timespec t;
	clock_gettime(clock, &t);
	return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

double
now_seconds(void)
{
	return seconds_by(CLOCK_MONOTONIC);
}

double
thread_seconds(void)
{
	return seconds_by(CLOCK_THREAD_CPUTIME_ID);
}

static double
seconds_in(struct timeval t)
{
	return (double)t.tv_sec + 1e-6 * (double)t.tv_usec;
}

double
used_seconds(void)
{
	static const int whose[] = {RUSAGE_SELF, RUSAGE_CHILDREN};
	double seconds = 0;
	for (int i = 0; i < 2; i++) {
		struct rusage usage;
		if (getrusage(whose[i], &usage) == 0)
			seconds += seconds_in(usage.ru_utime) + seconds_in(usage.ru_stime);
	}
	return seconds;
}

static int
order_doubles(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;
	return (x > y) - (x < y);
}

double
quantile_of(int count, double *values, double share)
{
	if (count == 0)
		return 0;
	qsort(values, (size_t)count, sizeof *values, order_doubles);
	double place = share * (count - 1);
	int below = (int)place, above = below + 1 < count ? below + 1 : below;
	return values[below] + (place - below) * (values[above] - values[below]);
}

double
median_of(int count, double *values)
{
	return quantile_of(count, values, 0.5);
}

Timing
timing_of(int count, double *seconds)
{
	double median = median_of(count, seconds);
	double between = quantile_of(count, seconds, 0.75) - quantile_of(count, seconds, 0.25);
	return (Timing){median, median > 0 ? between / median : 0};
}
