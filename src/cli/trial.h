/* What programs take, by compiling and running them: Oracle.time (target/target.h). */
#ifndef CLI_TRIAL_H
#define CLI_TRIAL_H

#include "cli/cli.h"
#include "graph/graph.h"
#include "expr/stage/stage.h"

/* The program as a model: inputs that are not known, made-up constants, a node for each stage.
 * NULL where it has symbols or cannot be. */
Graph *trial_graph(Arena *arena, const Program *program, const bool *constant);

/* Seconds of each, and of its relayouts; `target` is this machine, `arena` keeps nothing of it. */
void trial_seconds(const Options *options, Arena *arena, const char *target, int count,
                   const Program *const *programs, const bool *constant, double *seconds,
                   double *relayouts);

#endif
