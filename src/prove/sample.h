/* Large kernels of a device that is simulated: some blocks are run, and proved.
 *
 *     before the step   corners, borders and a few blocks anywhere are chosen (BlockSample)
 *     behind these      what they wrote is what the value's points are taken from, and other
 *                       elements become as those, so that steps behind have numbers to work with
 *     as always         the points are compared with what is meant
 */
#ifndef PROVE_SAMPLE_H
#define PROVE_SAMPLE_H

#include "prove/expect.h"

/* Choose blocks of a step of at least so many operations that makes one node's floats of whole
 * values; all are run of any other. */
void sample_blocks(Arena *arena, Proof *proof, const PlanFacts *facts, const Frame *frame,
                   int index, double least, uint64_t seed);

/* Behind the blocks: expect points of what they wrote, and fill the rest. */
void sample_fill(Arena *arena, Arena *scratch, const Graph *graph, const PlanFacts *facts,
                 const Frame *frame, int index, uint64_t seed, Expected **expected);

#endif
