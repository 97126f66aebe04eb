/* Made-up inputs: the same for every verb, subject and machine, from a seed and the input's name.
 *
 * Floats are in -1..1, masks (bool) are 0 and 1, integers that select elements lie within the axis
 * they select from, other integers are 0 and 1 (8-bit ones -64..63, or 0..255). The ranges come
 * from the model's meaning, and travel in bundles as the entry inputs.json:
 *
 *     {"input_ids": 30522, "token_type_ids": 2, "mask": [1, 2]}
 *
 * from 0, or from the first number, to below the other: a mask that must be 1 everywhere.
 */
#ifndef DRIVER_SIZES_INPUTS_H
#define DRIVER_SIZES_INPUTS_H

#include "driver/options.h"
#include "graph/graph.h"

#define INPUTS_ENTRY "inputs.json"

/* Integer input `name` is meant to be in low..extent-1. */
typedef struct InputRange {
	const char *name;
	int64_t extent;
	const Dim *dim; /* extent at any sizes; NULL: it is a number */
	int64_t low;
} InputRange;

typedef VEC(InputRange) InputRanges;

/* The ranges of a graph's inputs, as far as its expressions tell, extents at the probe sizes,
 * unless `known` (NULL: nothing) says others. */
InputRanges input_ranges(Arena *arena, const Graph *graph, const Binding *probe,
                         const InputRanges *known);
/* The range of one input at these sizes; false: none is known. */
bool input_range_at(const InputRanges *ranges, const char *name, const Binding *sizes,
                    InputRange *range);
/* Add others, in the place of those that have their names. */
void input_ranges_add(Arena *arena, InputRanges *ranges, const InputRanges *more);
const char *input_ranges_text(Arena *arena, const InputRanges *ranges);
InputRanges input_ranges_parse(Arena *arena, const char *text, size_t size);

Array *input_make(Arena *arena, uint64_t seed, const InputRanges *ranges, const char *name,
                  DType type, int rank, const int64_t *dims);

/* The same for an input of a graph, at these sizes and 1 elsewhere. Fails (unsupported) where it is
 * no tensor of known rank. */
Array *input_make_for(Arena *arena, uint64_t seed, const InputRanges *ranges, const Value *input,
                      const Binding *sizes);

/* The array that --input or --data-set gives to input `index` called `name`; NULL: none. Numbers
 * are of this type and rank (DT_NONE, -1: not known). */
Array *input_given(const Options *options, Arena *arena, int index, const char *name, DType type,
                   int rank);

#endif
