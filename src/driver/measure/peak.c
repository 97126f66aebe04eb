/* The roofs of one core. Compiled with -O3 and contraction, whatever the rest is compiled with. */
#include "driver/measure/peak.h"

#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/cpu.h"

enum { COUNT = 16 << 20, ROUNDS = 7, SHORT_ROUNDS = 50, CHAINS = 10, STEPS = 1000000 };

/* Chains that wait for nothing but themselves, one to a register. */
#define MULTIPLY_ADD(name, bytes, attributes) \
	attributes static float name(float start) \
	{ \
		typedef float Vector __attribute__((vector_size(bytes))); \
		Vector x[CHAINS], half = {0}; \
		half += 0.5f; \
		for (int i = 0; i < CHAINS; i++) \
			x[i] = half + start; \
		for (int step = 0; step < STEPS; step++) \
			for (int i = 0; i < CHAINS; i++) \
				x[i] = x[i] * half + half; \
		float sum = 0; \
		for (int i = 0; i < CHAINS; i++) \
			sum += x[i][0]; \
		return sum; \
	}

MULTIPLY_ADD(multiply_add_16, 16, )
#ifdef __x86_64__
MULTIPLY_ADD(multiply_add_32, 32, __attribute__((target("avx2,fma"))))
MULTIPLY_ADD(multiply_add_64, 64, __attribute__((target("avx512f"))))
#else
#define multiply_add_32 multiply_add_16
#define multiply_add_64 multiply_add_16
#endif

#ifdef __x86_64__
/* The same chains of dot products: each lane adds two products of bf16 to a sum of f32. */
__attribute__((target("avx512f"))) static float
add_dot_bf16(float start)
{
	typedef float Vector __attribute__((vector_size(64)));
	Vector x[CHAINS], factors = {0};
	for (int i = 0; i < CHAINS; i++)
		x[i] = factors + start + 1;
	for (int step = 0; step < STEPS; step++)
		for (int i = 0; i < CHAINS; i++)
			__asm__ volatile("vdpbf16ps %1, %1, %0" : "+v"(x[i]) : "v"(factors));
	float sum = 0;
	for (int i = 0; i < CHAINS; i++)
		sum += x[i][0];
	return sum;
}
#endif

/* The best rate of rounds that do so many operations each. */
static double
best_gflops(float (*run)(float), double operations)
{
	double best = 0;
	for (int round = 0; round < SHORT_ROUNDS; round++) {
		double start = thread_seconds();
		float sum = run((float)round);
		double rate = operations / (thread_seconds() - start);
		best = rate > best && sum > 0 ? rate : best;
	}
	return best * 1e-9;
}

double
peak_gflops(int vector_bytes)
{
	float (*run)(float) = vector_bytes == 64   ? multiply_add_64
	                      : vector_bytes == 32 ? multiply_add_32
	                                           : multiply_add_16;
	return best_gflops(run, 2.0 * CHAINS * STEPS * (vector_bytes / 4.0));
}

double
peak_bf16_gflops(void)
{
#ifdef __x86_64__
	if (cpu_supports("cooperlake"))
		return best_gflops(add_dot_bf16, 2.0 * CHAINS * STEPS * 64 / 2);
#endif
	return 0;
}

static void
add(float *restrict c, const float *a, const float *b)
{
	for (int i = 0; i < COUNT; i++)
		c[i] = a[i] + b[i];
}

/* Not 0: pages of zeros need not be there. */
static float *
new_array(void)
{
	float *array = malloc(sizeof *array * COUNT);
	if (array)
		memset(array, 1, sizeof *array * COUNT);
	return array;
}

double
peak_bandwidth(void)
{
	float *a = new_array(), *b = new_array(), *c = new_array();
	double best = 0;
	for (int round = 0; round < ROUNDS && a && b && c; round++) {
		double start = thread_seconds();
		add(c, a, b);
		double rate = 3.0 * sizeof *c * COUNT / (thread_seconds() - start);
		best = rate > best && c[COUNT / 2] > 0 ? rate : best;
	}
	free(a);
	free(b);
	free(c);
	return best * 1e-9;
}
