/* What printer and parser of graphs agree on. */
#ifndef GRAPH_TEXT_H
#define GRAPH_TEXT_H

#include "base/array.h"

/* Constants of at most so many elements stand in the text; larger are weights by number. Shapes
 * and axes are worth reading, four numbers of a weight are not. */
enum { TEXT_INLINE_MAX = 16, TEXT_INLINE_FLOATS = 2 };

/* Values for weights that a text has no data for: a fixed sequence of numbers by seed. */
Array *array_seeded(Arena *arena, DType dtype, int rank, const int64_t *dims, uint64_t seed);

#endif
