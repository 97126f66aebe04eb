/* How many workers take part while the machine is not ours alone.
 *
 * A worker that another process stops in the midst of a piece holds up its step for some
 * milliseconds. Where pieces are long that is more than it computes: two threads are then slower
 * than one. Where there are many small ones the others do what is left meanwhile, and little is
 * lost. So there is an account: what workers gained in the steps of late, less what was lost by
 * waiting for one that was stopped. Where it is overdrawn one fewer is asked for a pause. Behind
 * the pause one more is tried; where the account is overdrawn again soon, the next pause is twice
 * as long.
 *
 *     workers  4 4 3 3 4 3 3 3 3 4 4 4
 *                 ^       ^              more lost than gained
 */
#ifndef RUNTIME_BACKOFF_H
#define RUNTIME_BACKOFF_H

#include <stdbool.h>

typedef struct Backoff {
	int fewer;           /* workers than asked for */
	double pause, until; /* seconds; when one more is tried, by now_seconds() */
	double last;         /* when one fewer was asked last */
	double account;      /* seconds gained of late, less those that were lost */
	double lost;         /* when a worker was stopped last */
} Backoff;

/* How many of `width` take part now, at least 1. */
int backoff_width(Backoff *backoff, int width, double now);

/* Whether a worker was stopped of late: who calls them may be stopped, too, so that its time is
 * that of its own clock of computing. */
bool backoff_is_wary(const Backoff *backoff, double now);

/* Workers computed so many seconds beside who called them. */
void backoff_gained(Backoff *backoff, double seconds);

/* One of `width` was stopped, and waited for so many seconds. */
void backoff_lost(Backoff *backoff, int width, double seconds, double now);

#endif
