/* Sliding windows: how convolution and pooling walk over an axis.
 *
 *     out = (in + before + after - dilation*(kernel - 1) - 1) / stride + 1
 *     source(p, r) = stride*p + dilation*r - before
 */
#include "graph/ops/helpers.h"

#include <string.h>

int64_t
attr_at(const Node *node, const char *name, int count, int i, int64_t fallback)
{
	int64_t have;
	const int64_t *values = attr_ints(node, name, &have);
	if (have <= 0)
		return fallback;
	if (have != count)
		fail(&node->loc, "%s has %lld entries, expected %d", name, (long long)have, count);
	return values[i];
}

/* dilation*(kernel - 1) + 1: how far a window reaches. */
static const Dim *
window_reach(ExprCtx *ctx, const Window *w)
{
	const Dim *steps = dim_add_i64(ctx, w->kernel, -1);
	return dim_add_i64(ctx, dim_mul_i64(ctx, steps, w->dilation), 1);
}

/* auto_pad SAME: as many windows as strides, with the padding that needs; an odd one stands behind
 * (UPPER) or in front (LOWER). */
static void
window_same(ExprCtx *ctx, Window *w, bool lower)
{
	w->out = dim_ceildiv(ctx, w->in, dim_const(ctx, w->stride));
	const Dim *last = dim_mul_i64(ctx, dim_add_i64(ctx, w->out, -1), w->stride);
	const Dim *needed = dim_sub(ctx, dim_add(ctx, last, window_reach(ctx, w)), w->in);
	const Dim *total = dim_max(ctx, needed, dim_const(ctx, 0));
	const Dim *half = dim_floordiv(ctx, total, dim_const(ctx, 2));
	const Dim *rest = dim_sub(ctx, total, half);
	w->before = lower ? rest : half;
	w->after = lower ? half : rest;
}

static void
window_explicit(ExprCtx *ctx, Window *w, bool ceil)
{
	const Dim *stride = dim_const(ctx, w->stride);
	const Dim *padded = dim_add(ctx, w->in, dim_add(ctx, w->before, w->after));
	const Dim *room = dim_sub(ctx, padded, window_reach(ctx, w));
	if (!ceil) {
		w->out = dim_add_i64(ctx, dim_floordiv(ctx, room, stride), 1);
		return;
	}
	const Dim *hanging = dim_add_i64(ctx, dim_ceildiv(ctx, room, stride), 1);
	const Dim *starting = dim_ceildiv(ctx, dim_add(ctx, w->in, w->before), stride);
	w->out = dim_min(ctx, hanging, starting);
}

void
windows_of(ExprCtx *ctx, const Node *node, int count, const Dim *const *in,
           const Dim *const *kernel, bool ceil, Window *windows)
{
	const char *auto_pad = op_attr(node->op, "auto_pad") ? attr_string(node, "auto_pad") : "NOTSET";
	bool same_upper = strcmp(auto_pad, "SAME_UPPER") == 0;
	bool same_lower = strcmp(auto_pad, "SAME_LOWER") == 0;
	bool valid = strcmp(auto_pad, "VALID") == 0;
	for (int i = 0; i < count; i++) {
		Window *w = &windows[i];
		*w = (Window){.in = in[i], .kernel = kernel[i]};
		w->stride = attr_at(node, "strides", count, i, 1);
		w->dilation = attr_at(node, "dilations", count, i, 1);
		if (w->stride < 1 || w->dilation < 1)
			fail(&node->loc, "stride %lld and dilation %lld of axis %d must be positive",
			     (long long)w->stride, (long long)w->dilation, i);
		int64_t before = valid ? 0 : attr_at(node, "pads", 2 * count, i, 0);
		int64_t after = valid ? 0 : attr_at(node, "pads", 2 * count, count + i, 0);
		w->before = dim_const(ctx, before);
		w->after = dim_const(ctx, after);
		if (same_upper || same_lower)
			window_same(ctx, w, same_lower);
		else
			window_explicit(ctx, w, ceil && !valid);
	}
}

void
window_name_loops(StageBuilder *stage, int rank, const char *channel)
{
	const char *const names[] = {"n", channel, "p", "q", "o"};
	for (int i = 0; i < rank && i < (int)countof(names); i++)
		stage_name_iter(stage, i, names[i]);
}

const Expr *
window_over(ExprCtx *ctx, StageBuilder *stage, const Window *w, int axis)
{
	static const char *const NAMES[] = {"r", "s", "t"};
	const char *name = axis < (int)countof(NAMES) ? NAMES[axis] : "k";
	return stage_over(stage, name, dim_const(ctx, 0), w->kernel);
}

const Expr *
window_source(ExprCtx *ctx, const Window *w, const Expr *p, const Expr *r)
{
	const Expr *start = index_scale(ctx, p, w->stride);
	const Expr *tap = index_scale(ctx, r, w->dilation);
	return index_sub(ctx, index_add(ctx, start, tap), w->before);
}

/* Taps r with r*dilation < length: ceil(length / dilation). */
static const Expr *
taps_below(ExprCtx *ctx, const Window *w, const Expr *length)
{
	const Expr *d = expr_i64(ctx, w->dilation);
	return index_div(ctx, index_shift(ctx, length, w->dilation - 1), d);
}

const Expr *
window_taps(ExprCtx *ctx, const Window *w, const Expr *p, const Dim *lo, const Dim *hi)
{
	const Expr *start = index_scale(ctx, p, w->stride);
	const Expr *to_hi = expr_sub(ctx, dim_add(ctx, hi, w->before), start);
	const Expr *to_lo = expr_sub(ctx, dim_add(ctx, lo, w->before), start);
	return expr_sub(ctx, expr_min(ctx, w->kernel, taps_below(ctx, w, to_hi)),
	                expr_max(ctx, expr_i64(ctx, 0), taps_below(ctx, w, to_lo)));
}
