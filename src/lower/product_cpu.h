/* Register tiles of sums of products: matrix products and convolutions whose channels lie side by
 * side, which run in lanes. (product_cpu.c)
 */
#ifndef LOWER_PRODUCT_CPU_H
#define LOWER_PRODUCT_CPU_H

#include "lower/schedule_cpu.h"

/* The script for a group that is one; NULL: it is none, or no tile fits. */
const Script *product_script(Arena *arena, const Group *group, const Target *target,
                             const Nest *nest);

#endif
