/* Words of --target. */
#ifndef DRIVER_TARGETS_H
#define DRIVER_TARGETS_H

#include "driver/measure/trial.h"
#include "driver/options.h"
#include "target/target.h"

/* Fails on what a verb would look up only later, or not at all: devices, a data set's folder. */
void options_check(const Options *options);

/* The device of a --target word. Fails where there is none. */
const Device *known_device(const char *name);
/* The same, for which code can be made. Fails otherwise. */
const Device *device_of(const char *name);

/* How many targets --target names, and which; without it there is one, "cpu:native". */
int target_count(const Options *options);
const char *target_name(const Options *options, int index);

/* The target of a --target word: its device, the oracle that answers for the libraries, the sizes
 * to choose at. What is timed is compiled by `compile`. */
Target *target_at(const Options *options, Arena *arena, const char *name, const Binding *probe,
                  TrialCompile *compile);

#endif
