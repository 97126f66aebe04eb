/* Instructions of a kernel's machine code for a GPU, counted by operation. */
#ifndef BENCH_LICM_SASS_H
#define BENCH_LICM_SASS_H

#include "codegen/cuda/cuda.h"

enum { SASS_CODES = 512 };

/* Instructions of the padding behind a kernel's end do not count. `weighted` counts one ten times
 * for each loop around it, which a branch backwards closes. */
typedef struct SassCount {
	int64_t instructions, weighted;
	int64_t predicated, branches, loops;
	int64_t count[SASS_CODES], weight[SASS_CODES]; /* by operation: sass.def */
} SassCount;

void sass_count(Arena *arena, const CubinKernel *kernel, SassCount *count);
const char *sass_name(int code); /* NULL: in no row */

#endif
