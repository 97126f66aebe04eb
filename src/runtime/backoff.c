/* Pauses that double while trying does not help. */
#include "runtime/backoff.h"

static const double LEAST = 5e-3, MOST = 0.5;

/* What was gained long ago does not count: seconds. */
static const double CREDIT = 6e-3;

static const double WARY = 2; /* seconds behind a stop */

/* Overdrawn again within so many pauses: the other process is still there. */
enum { SOON = 16 };

int
backoff_width(Backoff *backoff, int width, double now)
{
	if (backoff->fewer > 0 && now >= backoff->until) {
		backoff->fewer--;
		backoff->until = now + backoff->pause;
	}
	return width - backoff->fewer > 1 ? width - backoff->fewer : 1;
}

bool
backoff_is_wary(const Backoff *backoff, double now)
{
	return now - backoff->lost < WARY;
}

void
backoff_gained(Backoff *backoff, double seconds)
{
	double account = backoff->account + seconds;
	backoff->account = account < CREDIT ? account : CREDIT;
}

void
backoff_lost(Backoff *backoff, int width, double seconds, double now)
{
	backoff->lost = now;
	backoff->account -= seconds;
	if (backoff->account >= 0)
		return;
	backoff->account = 0;
	bool is_soon = now - backoff->last < SOON * backoff->pause;
	double pause = is_soon ? 2 * backoff->pause : LEAST;
	backoff->pause = pause < MOST ? pause : MOST;
	backoff->until = now + backoff->pause;
	backoff->last = now;
	backoff->fewer += backoff->fewer < width - 1;
}
