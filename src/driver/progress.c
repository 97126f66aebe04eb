/* One line that is written over; the time left is what the rest takes at the pace so far. */
#include "driver/progress.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"

Progress
progress_begin(const Options *options)
{
	bool is_on = !options->quiet && !options->json && isatty(STDERR_FILENO);
	return (Progress){.is_on = is_on, .what = ""};
}

void
progress_show(void *progress_, const char *what, int done, int total)
{
	Progress *progress = progress_;
	if (!progress->is_on)
		return;
	double t = now_seconds();
	bool is_new = strcmp(what, progress->what) != 0;
	if (is_new)
		progress->start = t;
	if (!is_new && t - progress->last < 0.1)
		return;
	progress->what = what;
	progress->last = t;
	fprintf(stderr, "\r\033[K%s", what);
	if (total > 0)
		fprintf(stderr, " %d/%d", done, total);
	if (total > 0 && done > 0 && t - progress->start > 1)
		fprintf(stderr, ", %.0f s left", (t - progress->start) / done * (total - done));
	fflush(stderr);
}

void
progress_end(Progress *progress)
{
	if (progress->is_on)
		progress_wipe();
	progress->is_on = false;
}

void
progress_wipe(void)
{
	if (isatty(STDERR_FILENO))
		fputs("\r\033[K", stderr);
}
