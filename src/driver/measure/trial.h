/* What programs and models take, by compiling and running them: Oracle.time and Oracle.time_pass
 * (target/target.h). */
#ifndef DRIVER_MEASURE_TRIAL_H
#define DRIVER_MEASURE_TRIAL_H

#include "driver/options.h"
#include "driver/progress.h"
#include "expr/stage/stage.h"
#include "graph/graph.h"

/* The program as a model: inputs that are not known, made-up constants, a node for each stage.
 * NULL where it has symbols or cannot be. A trial asks for its time, and values that follow from
 * constants are made up, too. */
Graph *trial_graph(Arena *arena, const Program *program, const bool *constant, bool is_trial);

/* Compiles a graph into a bundle at `output`, only to be timed: compile_given(), which the driver
 * hands down, since it asks for trials itself. */
typedef void TrialCompile(const Options *options, Arena *arena, const Graph *graph,
                          const char *output);

/* Seconds of each, and of its relayouts; `target` is this machine, `arena` keeps nothing of it.
 * Whether repeated turns of the fastest differ by more than it and the next do. */
bool trial_seconds(const Options *options, Arena *arena, const char *target, TrialCompile *compile,
                   int count, const Program *const *programs, const bool *constant, double *seconds,
                   double *relayouts);

typedef struct TrialModel {
	const Graph *graph;
	const Binding *sizes; /* of its symbols; NULL: it has none */
	const char *pass;
	const Map *choices; /* key -> chosen, of that pass */
	Progress *progress; /* NULL: nobody looks on */
} TrialModel;

/* Oracle.time_pass. */
bool trial_pass(const Options *options, Arena *arena, const char *target, TrialCompile *compile,
                const TrialModel *model, double without[2], double with[2], bool *noisy);

/* Which bundle is the fastest: another one than the first only where it is so by more than noise,
 * with one thread and as runs have by default. `seconds` of a run of each, half-way between the
 * two; 0: it does not run. `noisy` as trial_seconds() says it. Sizes and inputs are those of the
 * options. */
int trial_fastest(const Options *options, Arena *arena, int count, const char *const *paths,
                  double *seconds, bool *noisy, Progress *progress);

#endif
