/* The smallest part of a model that is still wrong: nodes cut away, sizes shrunk.
 *
 *     begin with nodes that are to blame; add their neighbours until what is there is wrong alone
 *     take nodes away, half of them, a quarter, … one, as long as it stays wrong
 *     make extents of inputs 1, a quarter, half
 *
 * What a part reads from outside becomes its input; integers (shapes, indices) are computed with it
 * as far as they can be, since made-up ones would mean something else.
 */
#ifndef CLI_BISECT_SMALLEST_H
#define CLI_BISECT_SMALLEST_H

#include "cli/bisect/attempt.h"
#include "driver/progress.h"

typedef struct Smallest {
	int nodes;        /* 0: no part is wrong alone */
	const char *text; /* what is wrong in it */
} Smallest;

/* Writes it to `path`. `blamed` are names of nodes of the suspect's model; `rewrites` is what the
 * whole is wrong with. */
Smallest smallest_part(const Suspect *suspect, const StrVec *blamed, int rewrites, const char *path,
                       Progress *progress);

#endif
