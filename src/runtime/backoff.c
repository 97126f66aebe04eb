/* Pauses that double while trying does not help. */
#include "runtime/backoff.h"

#include <stdbool.h>

static const double LEAST = 5e-3, MOST = 0.5;

/* Stopped again within so many pauses: the other process is still there. */
enum { SOON = 8 };

int
backoff_width(Backoff *backoff, int width, double now)
{
	if (backoff->fewer > 0 && now >= backoff->until) {
		backoff->fewer--;
		backoff->until = now + backoff->pause;
	}
	return width - backoff->fewer > 1 ? width - backoff->fewer : 1;
}

void
backoff_stopped(Backoff *backoff, int width, double now)
{
	bool is_soon = now - backoff->last < SOON * backoff->pause;
	double pause = is_soon ? 2 * backoff->pause : LEAST;
	backoff->pause = pause < MOST ? pause : MOST;
	backoff->until = now + backoff->pause;
	backoff->last = now;
	backoff->fewer += backoff->fewer < width - 1;
}
