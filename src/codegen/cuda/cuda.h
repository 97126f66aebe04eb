/* CUDA C of kernels whose loops are bound to blocks and threads, its compilation by NVRTC, and what
 * stands in the cubin that comes of it. Nothing here needs a GPU.
 */
#ifndef CODEGEN_CUDA_CUDA_H
#define CODEGEN_CUDA_CUDA_H

#include "base/file.h"
#include "bundle/plan.h"
#include "target/target.h"
#include "tir/module.h"

/* The text of one file with what it needs of the prelude and all kernels (flat from then on), for a
 * target whose device is a GPU. Kernel i is `k<i>_<name>`; equal ones share a function. Fails
 * (FAIL_UNSUPPORTED) where a kernel is not made for blocks and threads. Deterministic.
 *
 *     extern "C" __global__ void __launch_bounds__(64)
 *     k0_sums(const tw_f32 *__restrict__ X, …, const tw_i64 N, struct TwStatus *status, int step)
 *
 * Arguments begin at multiples of 16 bytes. */
const char *codegen_cuda(Arena *arena, const Target *target, int count, Kernel *const *kernels);

/* Compile CUDA C for sm_<capability>; cached by text, capability and compiler. Fails
 * (FAIL_ENVIRONMENT) without NVRTC, and with its words. The bytes live in the arena. */
Bytes cuda_compile(Arena *arena, const char *text, int capability);
/* The same to PTX, which drivers of later chips compile. */
Bytes cuda_compile_ptx(Arena *arena, const char *text, int capability);
/* The kernels as C++ of fibers for this machine (simulation/fibers.hpp), with a table as C's have:
 * the text of codegen_cuda() word for word, and around it what runs it. */
const char *codegen_simulation(Arena *arena, const Target *target, int count,
                               Kernel *const *kernels);
/* The same of a bundle, by its plan and the CUDA C that it holds, as an object for this machine.
 * Fails (FAIL_INVALID) where they do not belong together, (FAIL_ENVIRONMENT) without a C++
 * compiler. */
Bytes cuda_simulate(Arena *arena, const Target *target, const Plan *plan, const char *cuda);
/* What is known of each kernel, whose machine code this is, without a GPU: registers, what blocks
 * do, modelled times (modelled.c). Fails (FAIL_BUG) where threads race, or read what nobody
 * wrote. */
const char *cuda_modelled(Arena *arena, const Target *target, int count, Kernel *const *kernels,
                          Bytes cubin);
/* What compiles, "NVRTC 13.0", or false, and why there is nothing. */
bool cuda_compiler(char *text, size_t size);

/* A kernel as machine code. */
typedef struct CubinKernel {
	int capability;
	int64_t registers, local_bytes; /* of a thread */
	int64_t shared_bytes;           /* of a block, but for what a launch adds */
	Bytes code;                     /* in the cubin's bytes */
} CubinKernel;

/* A kernel by the name of its function. Fails (FAIL_INVALID) where the bytes are no cubin of sm_70
 * or later, or have no such kernel. */
CubinKernel cubin_kernel(Arena *arena, Bytes bytes, const char *kernel);
StrVec cubin_kernels(Arena *arena, Bytes bytes); /* names, in the order of the file */

#endif
