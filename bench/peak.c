/* What one core of this machine can do: the two roofs that kernels are compared with.
 *
 * usage: build/bench-peak      prints GB/s of adding two large arrays, then GFLOP/s of fused
 *                              multiply-adds in registers; the best of several rounds each
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { COUNT = 16 << 20, ROUNDS = 7, LANES = 16, CHAINS = 12, STEPS = 2000000 };

#define WIDEST __attribute__((target_clones("avx512f", "avx2,fma", "default")))

typedef float Vector __attribute__((vector_size(LANES * sizeof(float))));

static double
now(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

WIDEST static void
add(float *restrict c, const float *a, const float *b)
{
	for (int i = 0; i < COUNT; i++)
		c[i] = a[i] + b[i];
}

WIDEST static float
multiply_add(float start)
{
	Vector x[CHAINS], half = {0};
	half += 0.5f;
	for (int i = 0; i < CHAINS; i++)
		x[i] = half + start;
	for (int step = 0; step < STEPS; step++)
		for (int i = 0; i < CHAINS; i++)
			x[i] = x[i] * half + half;
	float sum = 0;
	for (int i = 0; i < CHAINS; i++)
		sum += x[i][0];
	return sum;
}

static double
memory_rate(void)
{
	size_t bytes = sizeof(float) * COUNT;
	float *a = malloc(bytes), *b = malloc(bytes), *c = malloc(bytes);
	double best = 0;
	if (!a || !b || !c)
		exit(1);
	memset(a, 1, bytes); /* not 0: memory of zeros need not be there */
	memset(b, 1, bytes);
	memset(c, 1, bytes);
	for (int round = 0; round < ROUNDS; round++) {
		double start = now();
		add(c, a, b);
		double rate = 3.0 * (double)bytes / (now() - start);
		best = rate > best ? rate : best;
	}
	if (c[COUNT / 2] == b[0])
		exit(1);
	free(a);
	free(b);
	free(c);
	return best;
}

static double
compute_rate(void)
{
	double best = 0;
	for (int round = 0; round < ROUNDS; round++) {
		double start = now();
		float sum = multiply_add((float)round);
		double rate = 2.0 * CHAINS * STEPS * LANES / (now() - start);
		best = rate > best && sum > 0 ? rate : best;
	}
	return best;
}

int
main(void)
{
	printf("%.2f GB/s\n%.1f GFLOP/s\n", memory_rate() * 1e-9, compute_rate() * 1e-9);
	return 0;
}
