/* What the compiler may ask of this machine: target.h's Oracle, answered by the runtime. */
#ifndef DRIVER_MEASURE_ORACLE_H
#define DRIVER_MEASURE_ORACLE_H

#include "driver/measure/trial.h"
#include "driver/options.h"
#include "driver/progress.h"
#include "target/target.h"

/* The vendor libraries of this machine, opened at the first question and closed with the arena.
 * Of a target that does not run here nothing can be measured: NULL, but for a GPU whose driver's
 * version --config gives, for which a library says what it takes. What is timed is compiled by
 * `compile`. */
const Oracle *oracle_new(const Options *options, Arena *arena, const Target *target,
                         TrialCompile *compile);

/* What /proc/cpuinfo calls the first core; "": nothing says it. */
const char *processor_text(Arena *arena);

/* Why a vendor library that was asked for cannot be used, in words; NULL: nothing is wrong. Lives
 * as long as the oracle. */
const char *oracle_trouble(const Oracle *oracle);

/* Whom to show how far long measurements are; the oracle may be NULL. */
void oracle_watch(const Oracle *oracle, Progress *progress);

/* What to know about this compilation's measurements, one sentence; NULL: they were steady. */
const char *oracle_noise(const Oracle *oracle);

#endif
