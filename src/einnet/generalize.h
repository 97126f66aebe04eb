/* A way that was found where symbols have values, as a way of the program with symbols.
 *
 * Steps name stages, iterators and factors of canonical programs, whose order depends on sizes:
 * what is called 0 where N is 512 may be called 1 where it is N.
 */
#ifndef EINNET_GENERALIZE_H
#define EINNET_GENERALIZE_H

#include "einnet/cost.h"
#include "einnet/derivation.h"

/* The way from `program` whose programs are, at the target's sizes, those of `found`, or cost the
 * same: each step is sought among all that its rule has there. Where none does, the step as it is
 * named, if it applies: what follows is an equal program all the same. Gives the program behind it;
 * NULL, with the reason, where a step does not apply. */
const Program *derivation_generalize(Arena *arena, const Target *target, const Program *program,
                                     const bool *constant, const Derivation *found, Derivation *way,
                                     Reason *why);

#endif
