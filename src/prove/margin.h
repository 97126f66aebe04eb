/* Writes outside: what lies around the results of a step is the same behind it.
 *
 *     … other values … | margin | result of the step | margin | … other values …
 *
 * A kernel that stores a vector too many does no harm that a value would show while nobody reads
 * what it destroyed; in another run, with other sizes, somebody does.
 */
#ifndef PROVE_MARGIN_H
#define PROVE_MARGIN_H

#include "base/vec.h"
#include "runtime/exec/exec.h"

enum { MARGIN = WATCH_ROOM }; /* bytes: some vectors */

typedef struct Margin {
	int buffer;              /* around this */
	const unsigned char *at; /* in the place of that */
	size_t bytes;
	unsigned char before[MARGIN];
} Margin;

/* Of one step; behind it they are looked at and forgotten. */
typedef struct Margins {
	VEC(Margin) list;
} Margins;

/* Memory for a result that the frame does not place, and behind it, before its first step runs.
 * Poisoned: a vector's unused lanes are often zeros, like fresh memory. */
void margins_reserve(Frame *frame, int buffer);

void margins_note(Arena *arena, Margins *margins, const Frame *frame, int step);

/* The buffer around which something was written, or -1. */
int margins_broken(Arena *scratch, const Margins *margins, const Frame *frame);

#endif
