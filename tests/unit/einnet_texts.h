/* Texts of convolutions, transposed ones and products in bands, by their sizes, in `arena`. */
#ifndef EINNET_TEXTS_H
#define EINNET_TEXTS_H

#include "base/arena.h"

static Arena *arena;

/* One dim of a window over `in` places. */
typedef struct Window {
	int in, taps, stride, dilation, before, after;
} Window;

static int
conv_out(const Window *w)
{
	return (w->in + w->before + w->after - w->dilation * (w->taps - 1) - 1) / w->stride + 1;
}

/* `after` is what ONNX calls output_padding. */
static int
transposed_out(const Window *w)
{
	return (w->in - 1) * w->stride - 2 * w->before + w->dilation * (w->taps - 1) + 1 + w->after;
}

static const char *
index_of(const Window *w, const char *loop, const char *tap)
{
	return arena_printf(arena, "%d*%s+%d*%s-%d", w->stride, loop, w->dilation, tap, w->before);
}

/* Images, channels in and out, sides. */
typedef struct Conv {
	int n, c, f;
	Window h, w;
} Conv;

static const char *
conv_text(const Conv *v)
{
	const char *h = index_of(&v->h, "p", "r"), *w = index_of(&v->w, "q", "s");
	return arena_printf(arena,
	                    "expr f(X: f32[%d,%d,%d,%d], W: f32[%d,%d,%d,%d]) -> Y {\n"
	                    " Y[n:%d, f:%d, p:%d, q:%d]: f32 = sum(c:%d, r:%d, s:%d where 0 <= %s,"
	                    " %s < %d, 0 <= %s, %s < %d) X[n, c, %s, %s] * W[f, c, r, s]\n}\n",
	                    v->n, v->c, v->h.in, v->w.in, v->f, v->c, v->h.taps, v->w.taps, v->n, v->f,
	                    conv_out(&v->h), conv_out(&v->w), v->c, v->h.taps, v->w.taps, h, h, v->h.in,
	                    w, w, v->w.in, h, w);
}

static const char *
transposed_limits(const Window *w, const char *loop, const char *tap, const char **index)
{
	const char *from = arena_printf(arena, "(%s+%d-%d*%s)", loop, w->before, w->dilation, tap);
	*index = arena_printf(arena, "%s/%d", from, w->stride);
	return arena_printf(arena, "%s%%%d == 0, 0 <= %s, %s < %d", from, w->stride, *index, *index,
	                    w->in);
}

static const char *
transposed_text(const Conv *v)
{
	const char *h, *w, *limits = transposed_limits(&v->h, "p", "r", &h);
	limits = arena_printf(arena, "%s, %s", limits, transposed_limits(&v->w, "q", "s", &w));
	return arena_printf(arena,
	                    "expr f(X: f32[%d,%d,%d,%d], W: f32[%d,%d,%d,%d]) -> Y {\n"
	                    " Y[n:%d, f:%d, p:%d, q:%d]: f32 = sum(c:%d, r:%d, s:%d where %s)"
	                    " X[n, c, %s, %s] * W[c, f, r, s]\n}\n",
	                    v->n, v->c, v->h.in, v->w.in, v->c, v->f, v->h.taps, v->w.taps, v->n, v->f,
	                    transposed_out(&v->h), transposed_out(&v->w), v->c, v->h.taps, v->w.taps,
	                    limits, h, w);
}

/* A band of W places to each side, every d-th. */
static const char *
band_text(int b, int m, int k, int side, int d)
{
	const char *at = arena_printf(arena, "m+%d*w-%d", d, d * side);
	return arena_printf(arena,
	                    "expr f(X: f32[%d,%d,%d], W: f32[%d,%d,%d]) -> Y {\n"
	                    " Y[b:%d, m:%d, w:%d]: f32 = sum(k:%d where 0 <= %s, %s < %d)"
	                    " X[b, m, k] * W[b, %s, k]\n}\n",
	                    b, m, k, b, m, k, b, m, 2 * side + 1, k, at, at, m, at);
}

/* Such a band of weights, and the sums of n values that it weighs. */
static inline const char *
band_sum_text(int b, int m, int n, int side, int d)
{
	const char *at = arena_printf(arena, "m+%d*w-%d", d, d * side);
	return arena_printf(arena,
	                    "expr f(X: f32[%d,%d,%d], V: f32[%d,%d,%d]) -> Y {\n"
	                    " Y[b:%d, m:%d, n:%d]: f32 = sum(w:%d where 0 <= %s, %s < %d)"
	                    " X[b, m, w] * V[b, %s, n]\n}\n",
	                    b, m, 2 * side + 1, b, m, n, b, m, n, 2 * side + 1, at, at, m, at);
}

#endif
