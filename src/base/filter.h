/* A program that makes one text of another. */
#ifndef BASE_FILTER_H
#define BASE_FILTER_H

#include "base/arena.h"

typedef struct Filtered {
	const char *text; /* its standard output; NULL: it did not end well, */
	const char *why;  /* and this is what happened: "it ended with exit code 3" */
	const char *said; /* the beginning of its standard error in one line; "": nothing */
} Filtered;

/* Run the program of this path, or of this name in $PATH, with the text on its standard input, for
 * so many seconds at most. Nothing that it started stays. Fails only where no file can be made. */
Filtered filter_run(Arena *arena, const char *program, const char *text, double seconds);

#endif
