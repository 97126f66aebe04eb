/* Inside of the walk from Stmt to CUDA C: what it has in place of C's, see codegen/c/emit.h.
 *
 *     dialect.c   functions, loops bound to blocks and threads, shared memory, the file
 *     warp_op.c   operations of threads, by the rows of warp.def
 *     vector.c    @vector loops: several elements in one access
 *     nvrtc.c     text to cubin
 *     cubin.c     what stands in a cubin
 *     artefact.c  cubin, PTX and text in a bundle
 *     simulation.c  the same text as an object for this machine: threads are fibers
 */
#ifndef CODEGEN_CUDA_EMIT_H
#define CODEGEN_CUDA_EMIT_H

#include "codegen/c/emit.h"
#include "codegen/cuda/cuda.h"

void emit_warp_op(Emit *em, const Stmt *stmt);
void emit_wide_loop(Emit *em, const Stmt *loop);
/* Bytes of shared memory that a launch says, because a function may not declare so much; 0: it
 * declares all. */
int64_t cuda_dynamic_shared(Arena *arena, const Kernel *kernel);

#endif
