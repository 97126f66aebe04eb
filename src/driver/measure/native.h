/* The row of devices.def that "cpu:native" is, as this machine has it: its nearest caches, and one
 * measurement of its arithmetic and its memory.
 *
 *     {"device": "cpu:x86-64-v4-dot", "gflops": 176, "bf16": 352, "bandwidth": 11.2,
 *      "l1": 49152, "l1_ways": 12, "l2": 2097152, "l2_ways": 16}
 *
 * Rates are the row's times a power of the square root of two: the same for machines that are
 * alike, and for a machine that is now idle, now busy.
 */
#ifndef DRIVER_MEASURE_NATIVE_H
#define DRIVER_MEASURE_NATIVE_H

#include "driver/options.h"
#include "target/target.h"

/* The level from which on compilations measure. */
enum { LEVEL_MEASURED = 3 };

/* Of a target that is named `name`, at such a level: the text of --choices; else what was measured
 * once and is in the cache; else it is measured. Another target stays as it is. */
void native_correct(const Options *options, Arena *arena, const char *name, int level,
                    Target *target);

/* A row with the numbers of a text; false, and nothing is done, where it is of another device, or
 * says what no machine has. */
bool native_read(const char *text, size_t size, Device *row);

#endif
