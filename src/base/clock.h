/* Measuring time. */
#ifndef BASE_CLOCK_H
#define BASE_CLOCK_H

/* A clock that only goes forward. */
double now_seconds(void);

/* Of processors, this process's and those of its children that have ended: other work on the
 * machine does not count. */
double used_seconds(void);

/* Of a processor, this thread's alone: what it computes takes as long on a busy machine. */
double thread_seconds(void);

/* Of several measurements, which are sorted; 0 of none. The quantile of 0.25 is the lower quartile;
 * between two measurements it is interpolated. */
double median_of(int count, double *values);
double quantile_of(int count, double *values, double share);

/* A time by repeated runs. */
typedef struct Timing {
	double seconds; /* the median */
	double spread;  /* from quartile to quartile, as a share of the median */
} Timing;
Timing timing_of(int count, double *seconds);

/* From this spread on, something else than what is measured decides about a time. */
#define TIMING_NOISY 0.1

#endif
