/* What programs and models take, by compiling and running them: Oracle.time and Oracle.time_pass
 * (target/target.h). */
#ifndef CLI_MEASURE_TRIAL_H
#define CLI_MEASURE_TRIAL_H

#include "cli/cli.h"
#include "cli/report/progress.h"
#include "graph/graph.h"
#include "expr/stage/stage.h"

/* The program as a model: inputs that are not known, made-up constants, a node for each stage.
 * NULL where it has symbols or cannot be. A trial asks for its time, and values that follow from
 * constants are made up, too. */
Graph *trial_graph(Arena *arena, const Program *program, const bool *constant, bool is_trial);

/* Seconds of each, and of its relayouts; `target` is this machine, `arena` keeps nothing of it.
 * Whether repeated turns of the fastest differ by more than it and the next do. */
bool trial_seconds(const Options *options, Arena *arena, const char *target, int count,
                   const Program *const *programs, const bool *constant, double *seconds,
                   double *relayouts);

typedef struct TrialModel {
	const Graph *graph;
	const Binding *sizes; /* of its symbols; NULL: it has none */
	const char *pass;
	const Map *choices; /* key -> chosen, of that pass */
	Progress *progress; /* NULL: nobody looks on */
} TrialModel;

/* Oracle.time_pass. */
bool trial_pass(const Options *options, Arena *arena, const char *target, const TrialModel *model,
                double without[2], double with[2], bool *noisy);

/* Which bundle is the fastest: another one than the first only where it is so by more than noise,
 * with one thread and as runs have by default. `seconds` of a run of each, half-way between the
 * two; 0: it does not run. `noisy` as trial_seconds() says it. Sizes and inputs are those of the
 * options. */
int trial_fastest(const Options *options, Arena *arena, int count, const char *const *paths,
                  double *seconds, bool *noisy, Progress *progress);

#endif
