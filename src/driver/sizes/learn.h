/* Learning what a model demands of its sizes.
 *
 * Types say which dims are equal (Graph.assumptions). What an index may be says only the check that
 * fails when it is outside: so the integers that become indices are computed at a few small sizes,
 * and how far the largest stays from its end is written as a sum over the symbols.
 */
#ifndef DRIVER_SIZES_LEARN_H
#define DRIVER_SIZES_LEARN_H

#include "driver/sizes/demands.h"

/* Sizes that `fixed` binds (NULL: none) stay. Never fails: what cannot be computed is not known. */
Learnt demands_learn(Arena *arena, const Graph *graph, const Binding *fixed);

#endif
