/* Where the time goes: per step, as a table or as a Chrome trace. */
#ifndef CLI_MEASURE_PROFILE_H
#define CLI_MEASURE_PROFILE_H

#include "cli/measure/speed.h"
#include "cli/report/report.h"
#include "runtime/tilewright.h"

typedef struct Profile Profile;

Profile *profile_new(Arena *arena);
void profile_begin(Profile *profile);                 /* before each run */
void profile_step(void *context, const TwStep *step); /* a TwProfile */
/* Run a bundle as often as --runs says, or half a second; *seconds is the mean of a run. */
const Profile *profile_bundle(const Options *options, Arena *arena, const char *path,
                              double *seconds);
/* Seconds of a step of a run, by what TwStep says of it, and how often a run has it (may be NULL);
 * NAN: it did not run. */
double profile_seconds(const Profile *profile, int depth, int index, const char *name,
                       double *times);
/* Add the table of steps, slowest first, with the share of the machine's peak that products reach.
 * The first run is left out where others follow. */
void profile_report(Profile *profile, Report *report, const Machine *machine);
/* The last run's steps as {"traceEvents": […]}. */
void profile_trace(const Profile *profile, Arena *arena, const char *path);

#endif
