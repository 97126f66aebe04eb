/* CPUs by row of cpu.def, from least to most: which of them this machine is.
 *
 * Features are asked one by one: compilers that know the names of levels are newer than ours.
 */
#ifndef BASE_CPU_H
#define BASE_CPU_H

#include <stdbool.h>

/* The row of a -march, -1: there is none. A later row of an architecture can do more. */
int cpu_row(const char *march);
bool cpu_runs(int row);        /* whether this machine can run its code; no row never */
const char *cpu_adds(int row); /* "AVX2 and FMA" */
bool cpu_supports(const char *march);
const char *cpu_march(void); /* the most that this machine can run */

#endif
