/* Measuring time. */
#ifndef BASE_CLOCK_H
#define BASE_CLOCK_H

/* A clock that only goes forward. */
double now_seconds(void);

/* Of several measurements, which are sorted; 0 of none. */
double median_of(int count, double *values);

#endif
