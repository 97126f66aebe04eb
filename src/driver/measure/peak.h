/* What one core of this machine can do: the two roofs that kernels are compared with. Each is the
 * best of several rounds, on the processor's clock. */
#ifndef DRIVER_MEASURE_PEAK_H
#define DRIVER_MEASURE_PEAK_H

/* GFLOP/s of fused multiply-adds, in vectors of so many bytes. */
double peak_gflops(int vector_bytes);
/* GFLOP/s of AVX-512's dot products of bf16, for a processor that has them; 0: another one. */
double peak_bf16_gflops(void);
/* GB/s of adding two arrays that fit into no cache. */
double peak_bandwidth(void);

#endif
