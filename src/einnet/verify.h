/* Whether a derived program computes what the one it was derived from does. */
#ifndef EINNET_VERIFY_H
#define EINNET_VERIFY_H

#include "expr/stage/stage.h"

/* NULL where both agree at points of their outputs (corners, borders, anywhere else) on made-up
 * inputs, else a sentence that says where they do not. Symbols have the values of `binding`. */
const char *einnet_difference(Arena *arena, const Program *given, const Program *derived,
                              const Binding *binding);

#endif
