/* A bundle for a GPU as one that runs here, its kernels simulated. */
#ifndef DRIVER_SIMULATED_H
#define DRIVER_SIMULATED_H

#include "driver/options.h"

/* A copy of the bundle, in a file that goes with the arena, whose GPU target (the first, or that of
 * --target) is the device that simulates it: the same plan, and the CUDA C that the bundle holds,
 * compiled for this machine by the C++ compiler. The copy's device goes into `device`. Fails where
 * there is no such target, no source or no compiler. */
const char *simulated_bundle(const Options *options, Arena *arena, const char *path,
                             const char **device);

#endif
