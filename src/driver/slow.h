/* Steps that run far from what the machine allows. */
#ifndef DRIVER_SLOW_H
#define DRIVER_SLOW_H

#include "base/pass.h"
#include "tir/module.h"

/* "conv1 (Conv, 12 % of the work): no library call does this": heavy steps, of the module and its
 * bodies, that a library could not be asked for; the heaviest first, at most three, then how many
 * more. NULL: there is none, or the target has no library. */
const char *slow_steps(Arena *arena, PassContext *context, const Module *module);

#endif
