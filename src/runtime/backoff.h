/* How many workers take part while the machine is not ours alone.
 *
 * A worker that another process stops in the midst of a piece holds up its step for some
 * milliseconds, which is more than it computes there: two threads are then slower than one. Who
 * waits for workers sees which of them do not run, and for a pause one fewer is asked. Behind the
 * pause one more is tried; where that one is stopped again soon, the next pause is twice as long.
 *
 *     workers  4 4 3 3 4 3 3 3 3 4 4 4
 *                 ^       ^              stopped
 */
#ifndef RUNTIME_BACKOFF_H
#define RUNTIME_BACKOFF_H

typedef struct Backoff {
	int fewer;           /* workers than asked for */
	double pause, until; /* seconds; when one more is tried, by now_seconds() */
	double last;         /* when one was stopped last */
} Backoff;

/* How many of `width` take part now, at least 1. */
int backoff_width(Backoff *backoff, int width, double now);

/* One of so many was stopped. */
void backoff_stopped(Backoff *backoff, int width, double now);

#endif
