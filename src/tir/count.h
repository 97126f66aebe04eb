/* What a kernel for a GPU does, counted by the interpreter of kernels on a few of its blocks. */
#ifndef TIR_COUNT_H
#define TIR_COUNT_H

#include "tir/stmt.h"

/* Of all blocks, as far as those that ran are like the others. A warp's access moves sectors of 32
 * bytes of memory, or words of 4 bytes of shared memory, of which one of each bank goes at once. */
typedef struct KernelCounts {
	double blocks;
	int threads;         /* of a block */
	int64_t shared;      /* bytes of a block's shared memory */
	double instructions; /* of threads: scalars, accesses */
	double operations;   /* of these on floats, by threads and by products of warps */
	double products;     /* those by products of warps */
	double barriers;     /* of blocks */
	double fetches; /* of these those that threads reach with what they read of arguments … */
	double ahead;   /* … and those with copies that are on their way */
	double asked;   /* bytes of arguments that threads name, each once for a warp's access */
	double sectors; /* that these lie in */
	double reused;  /* sectors that are new to their block: what comes from the second cache */
	double memory;  /* bytes of arguments, each once, as far as they are touched */
	double words;   /* rounds that accesses of shared memory would take without conflicts */
	double rounds;  /* that they take */
} KernelCounts;

/* Run the first block, the last, and one between them, of loops that are long their first two turns
 * and their last. Arguments are zeros. Fails as kernel_eval() does: where threads race, miss a
 * barrier, or read what nobody wrote. */
KernelCounts kernel_count(const Kernel *kernel, const Binding *binding);

/* What it takes. */
typedef struct KernelTime {
	double seconds, occupancy; /* of a unit's threads, those that are resident */
	int64_t resident;          /* blocks of a unit; 0: it does not fit */
	const char *bound;         /* what takes longest; NULL: it does not fit */
} KernelTime;

/* By the device's row, with so many registers for a thread, and products of warps of this type
 * (DT_NONE: none). (gpu_time.c) */
KernelTime kernel_time(const Device *device, const KernelCounts *counts, int64_t registers,
                       DType product);

#endif
