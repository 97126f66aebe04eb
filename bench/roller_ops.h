/* The operators of roller.def as expressions: images come with their border, as Roller's artifact
 * has them.
 */
#ifndef BENCH_ROLLER_OPS_H
#define BENCH_ROLLER_OPS_H

#include "base/arena.h"

typedef struct RollerOp {
	const char *id, *kind, *text;
	double library, first, best; /* published milliseconds */
} RollerOp;

enum { VALID, SAME, ROLLER_OPS = 119 };

static inline int
output_side(int side, int window, int stride, int padding)
{
	return padding == SAME ? (side + stride - 1) / stride : (side - window) / stride + 1;
}

static inline const char *
matmul_text(Arena *arena, int m, int n, int k)
{
	return arena_printf(arena,
	                    "expr matmul(A: f32[%d,%d], B: f32[%d,%d]) -> Y {\n"
	                    "  Y[m:%d, n:%d]: f32 = sum(k:%d) A[m,k] * B[k,n]\n}\n",
	                    m, k, k, n, m, n, k);
}

static inline const char *
conv_text(Arena *arena, int n, int c, int side, int f, int window, int stride, int padding)
{
	int out = output_side(side, window, stride, padding), in = (out - 1) * stride + window;
	if (window == 1 && stride == 1)
		return arena_printf(arena,
		                    "expr conv(X: f32[%d,%d,%d,%d], W: f32[%d,%d]) -> Y {\n"
		                    "  Y[n:%d, f:%d, p:%d, q:%d]: f32 = sum(c:%d) X[n,c,p,q] * W[f,c]\n}\n",
		                    n, c, in, in, f, c, n, f, out, out, c);
	return arena_printf(arena,
	                    "expr conv(X: f32[%d,%d,%d,%d], W: f32[%d,%d,%d,%d]) -> Y {\n"
	                    "  Y[n:%d, f:%d, p:%d, q:%d]: f32 = sum(c:%d, r:%d, s:%d) "
	                    "X[n,c,%d*p+r,%d*q+s] * W[f,c,r,s]\n}\n",
	                    n, c, in, in, f, c, window, window, n, f, out, out, c, window, window,
	                    stride, stride);
}

static inline const char *
depthwise_text(Arena *arena, int n, int c, int side, int window, int stride, int padding)
{
	int out = output_side(side, window, stride, padding), in = (out - 1) * stride + window;
	return arena_printf(arena,
	                    "expr depthwise(X: f32[%d,%d,%d,%d], W: f32[%d,%d,%d]) -> Y {\n"
	                    "  Y[n:%d, c:%d, p:%d, q:%d]: f32 = sum(r:%d, s:%d) "
	                    "X[n,c,%d*p+r,%d*q+s] * W[c,r,s]\n}\n",
	                    n, c, in, in, c, window, window, n, c, out, out, window, window, stride,
	                    stride);
}

static inline const char *
pool_text(Arena *arena, int n, int c, int side, int window, int stride, int padding)
{
	int out = output_side(side, window, stride, padding), in = (out - 1) * stride + window;
	return arena_printf(arena,
	                    "expr pool(X: f32[%d,%d,%d,%d]) -> Y {\n"
	                    "  Y[n:%d, c:%d, p:%d, q:%d]: f32 = sum(r:%d, s:%d) X[n,c,%d*p+r,%d*q+s]\n"
	                    "}\n",
	                    n, c, in, in, n, c, out, out, window, window, stride, stride);
}

static inline const char *
relu_text(Arena *arena, int count)
{
	return arena_printf(arena, "expr relu(X: f32[%d]) -> Y {\n  Y[i:%d]: f32 = max(X[i], 0.0)\n}\n",
	                    count, count);
}

static inline const char *
reduce_text(Arena *arena, int results, int terms)
{
	return arena_printf(arena,
	                    "expr reduce(X: f32[%d,%d]) -> Y {\n  Y[i:%d]: f32 = sum(k:%d) X[i,k]\n}\n",
	                    results, terms, results, terms);
}

#define ROLLER_TIMES(library_, first_, best_) .library = library_, .first = first_, .best = best_
#define MATMUL(id_, m, n, k, ...) \
	ops[i++] = (RollerOp){#id_, "matmul", matmul_text(arena, m, n, k), ROLLER_TIMES(__VA_ARGS__)};
#define CONV(id_, n, c, side, f, window, stride, padding, ...) \
	ops[i++] = (RollerOp){#id_, "conv", conv_text(arena, n, c, side, f, window, stride, padding), \
	                      ROLLER_TIMES(__VA_ARGS__)};
#define DEPTHWISE(id_, n, c, side, window, stride, padding, ...) \
	ops[i++] = \
		(RollerOp){#id_, "depthwise", depthwise_text(arena, n, c, side, window, stride, padding), \
	               ROLLER_TIMES(__VA_ARGS__)};
#define POOL(id_, n, c, side, window, stride, padding, ...) \
	ops[i++] = (RollerOp){#id_, "pool", pool_text(arena, n, c, side, window, stride, padding), \
	                      ROLLER_TIMES(__VA_ARGS__)};
#define RELU(id_, count, ...) \
	ops[i++] = (RollerOp){#id_, "relu", relu_text(arena, count), ROLLER_TIMES(__VA_ARGS__)};
#define REDUCE(id_, results, terms, ...) \
	ops[i++] = \
		(RollerOp){#id_, "reduce", reduce_text(arena, results, terms), ROLLER_TIMES(__VA_ARGS__)};

static inline int
roller_ops(Arena *arena, RollerOp ops[ROLLER_OPS])
{
	int i = 0;
#include "roller.def"
	return i;
}

/* Spearman's, of two lists of numbers; equal ones share their rank. */
static inline double
rank_correlation(int count, const double *a, const double *b)
{
	double apart = 0, n = count;
	for (int i = 0; i < count; i++) {
		double d = 0;
		for (int k = 0; k < count; k++)
			d += (a[k] < a[i]) - (a[k] > a[i]) - (b[k] < b[i]) + (b[k] > b[i]);
		apart += d * d / 4;
	}
	return 1 - 6 * apart / (n * (n * n - 1));
}

#undef ROLLER_TIMES
#undef MATMUL
#undef CONV
#undef DEPTHWISE
#undef POOL
#undef RELU
#undef REDUCE
#endif
