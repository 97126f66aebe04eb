/* Things to be put on two sides, so that as few nets as there can be have things on both. */
#ifndef PASSES_MIN_CUT_H
#define PASSES_MIN_CUT_H

#include <stdbool.h>

#include "base/arena.h"

typedef struct Cut Cut;

/* The first two things are the ends: each is a side of its own. */
enum { CUT_NEAR, CUT_FAR };

Cut *cut_new(Arena *arena);
int cut_thing(Cut *cut);
void cut_net(Cut *cut, int count, const int *things);
/* Whether each is on the far side. Of several best ways that with the most on it. */
const bool *cut_solve(Cut *cut);

#endif
