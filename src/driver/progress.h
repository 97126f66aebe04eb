/* "compiling kernels 12/40, 3 s left" on standard error, when that is a terminal. */
#ifndef DRIVER_PROGRESS_H
#define DRIVER_PROGRESS_H

#include "driver/options.h"

typedef struct Progress {
	bool is_on;
	double start, last; /* seconds */
	const char *what;
} Progress;

Progress progress_begin(const Options *options);
/* A PassContext's progress(). total 0: not known. Cheap: prints at most ten times a second, or when
 * `what` changes. */
void progress_show(void *progress, const char *what, int done, int total);
void progress_end(Progress *progress); /* wipes the line */
void progress_wipe(void); /* what a failure has left of it, where standard error is a terminal */

#endif
