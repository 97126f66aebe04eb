/* A graph through the whole compiler but the C compiler and the run, as far as it goes. */
#ifndef FUZZ_PIPELINE_H
#define FUZZ_PIPELINE_H

#include "graph/graph.h"

/* Check, passes at this level, lowering, loop passes, C, plan, the plan's own verifier. Fails as
 * these do; what they made must verify. */
void fuzz_compile(Arena *arena, Graph *graph, int level);

/* What `optimize` writes must read back. */
void fuzz_export(Arena *arena, Graph *graph);

#endif
