/* The kernel ABI, version 2. This text is part of every emitted kernel file and of the runtime.
 *
 *     void k(const TwArgs *args, int64_t begin, int64_t end);
 *
 * begin..end is a part of the flat index over the kernel's @parallel loops; how it is cut never
 * changes a result. Freestanding C: no headers beyond the compiler's own.
 */
#ifndef TW_ABI_H
#define TW_ABI_H

#include <stdint.h>

#define TW_KERNEL_ABI 2u

/* What a failed check found; the first one of a run stays (status->code is set last). */
enum {
	TW_CHECK_NONE = 0,
	TW_CHECK_INDEX = 1, /* an index outside 0..D: value is the index, limit is D */
};

typedef struct TwStatus {
	int32_t code;
	int32_t step;
	int64_t value, limit;
} TwStatus;

typedef struct TwArgs {
	uint32_t size;          /* sizeof(TwArgs) of the caller */
	uint32_t abi;           /* TW_KERNEL_ABI */
	void *const *buffers;   /* in the order of the kernel's arguments */
	const int64_t *symbols; /* values, in the order of the kernel's symbols */
	void *scratch;          /* this worker's, 64-byte aligned */
	TwStatus *status;
	int32_t step; /* number reported in status */
} TwArgs;

typedef void TwKernel(const TwArgs *args, int64_t begin, int64_t end);

/* The one exported symbol of an object: `const TwKernels tw_kernels_v1`. */
typedef struct TwKernels {
	uint32_t abi;
	uint32_t count;
	TwKernel *const *table;
} TwKernels;

#endif
