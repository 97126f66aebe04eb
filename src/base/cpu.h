/* CPUs by row of cpu.def, from least to most: which of them this machine is.
 *
 * Features are asked one by one: compilers that know the names of levels are newer than ours. The
 * environment variable TILEWRIGHT_CPU names a row, and then this machine is taken for that one and
 * no more: bundles can be made, run and looked at here as on a lesser machine.
 */
#ifndef BASE_CPU_H
#define BASE_CPU_H

#include <stdbool.h>
#include <stddef.h>

/* The row of a -march, -1: there is none. A later row of an architecture can do more. */
int cpu_row(const char *march);
bool cpu_runs(int row);        /* whether this machine can run its code; no row never */
const char *cpu_adds(int row); /* "AVX2 and FMA" */
bool cpu_supports(const char *march);
const char *cpu_march(void); /* the most that this machine can run */
const char *cpu_name(void);  /* its name: "x86-64-v3" */
bool cpu_has_kernels(void);  /* whether kernels can be made for it */
bool cpu_has_tiles(void);    /* AMX's products of bf16, which a library may use; not where capped */

/* The -march that TILEWRIGHT_CPU caps this machine to; NULL: it is not set. */
const char *cpu_cap(void);

/* False with a sentence where TILEWRIGHT_CPU names no row, or one that this machine cannot run:
 * then no row runs here. */
bool cpu_check_cap(char *error, size_t error_size);

#endif
