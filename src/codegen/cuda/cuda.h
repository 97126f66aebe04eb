/* CUDA C of kernels whose loops are bound to blocks and threads. Nothing here needs a GPU. */
#ifndef CODEGEN_CUDA_CUDA_H
#define CODEGEN_CUDA_CUDA_H

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

#endif
