/* Convolutions over any number of spatial axes.
 *
 *     Y[n,f,p,q] = sum(c:C, r:R, s:S) X[n, g*C + c, 2*p+r-1, 2*q+s-1] * W[f,c,r,s]
 *     where g = f / (F/G) is the group
 *
 * Taps in the padding are outside X, so the reads' own guard omits them. The bias is a second
 * stage; the sum stays in its accumulator's type until it is added.
 */
#include "graph/ops/helpers.h"

#include <string.h>

/* ---- Conv ------------------------------------------------------------------------------------ */

/* The windows and the result's dims of a convolution. */
static void
conv_shape(ExprCtx *ctx, const Node *node, int rank, const Dim *const *x, const Dim *const *w,
           Window *windows, const Dim **dims)
{
	windows_of(ctx, node, rank - 2, x + 2, w + 2, false, windows);
	dims[0] = x[0];
	dims[1] = w[0];
	for (int i = 2; i < rank; i++)
		dims[i] = windows[i - 2].out;
}

static void
check_conv(Infer *infer, const Type *x, const Type *w)
{
	if (x->rank < 3 || x->rank != w->rank)
		infer_fail(infer, "input of rank %d and weight of rank %d: expected equal ranks from 3 up",
		           x->rank, w->rank);
	for (int i = 2; i < w->rank; i++) {
		int64_t k = attr_at(infer->node, "kernel_shape", w->rank - 2, i - 2, -1);
		if (k >= 0)
			infer_equal(infer, w->dims[i], dim_const(infer->ctx, k), "kernel_shape and weight");
	}
}

static int64_t
conv_group(Infer *infer, const Dim *divided, const char *what)
{
	int64_t group = attr_int(infer->node, "group"), count;
	if (group < 1)
		infer_fail(infer, "group %lld must be positive", (long long)group);
	if (dim_is_const(divided, &count) && count % group != 0)
		infer_fail(infer, "group %lld does not divide %lld %s", (long long)group, (long long)count,
		           what);
	return group;
}

void
infer_convolution(Infer *infer, const Type *x, const Type *w, DType type)
{
	check_conv(infer, x, w);
	int64_t group = conv_group(infer, w->dims[0], "output channels");
	const Dim *channels = dim_mul_i64(infer->ctx, w->dims[1], group);
	infer_equal(infer, x->dims[1], channels, "channels of the input and of the weight");
	Window windows[MAX_RANK];
	const Dim *dims[MAX_RANK];
	conv_shape(infer->ctx, infer->node, x->rank, x->dims, w->dims, windows, dims);
	infer_set(infer, 0, type, x->rank, dims);
}

void
infer_Conv(Infer *infer)
{
	const Type *x = infer_input(infer, 0), *w = infer_input(infer, 1);
	infer_convolution(infer, x, w, x->dtype);
	infer_vector(infer, 2, w->dims[0]);
}

/* x - zero in type acc; the zero point of an absent input is none. */
static const Expr *
less_zero(StageBuilder *y, ExprCtx *ctx, DType acc, const Expr *x, const Tensor *zero,
          const Expr *channel)
{
	x = scalar_as(ctx, acc, x);
	if (!zero)
		return x;
	return expr_sub(ctx, x, scalar_as(ctx, acc, read_scalar_or_vector(y, zero, channel)));
}

Tensor *
op_conv(ExprCtx *ctx, const Node *node, const Tensor *x, const Tensor *w, const Tensor *x_zero,
        const Tensor *w_zero, DType acc, DType type)
{
	Window windows[MAX_RANK];
	const Dim *dims[MAX_RANK], *zero = dim_const(ctx, 0);
	conv_shape(ctx, node, x->rank, x->hi, w->hi, windows, dims);
	StageBuilder *y = stage_open(ctx, "conv", x->rank, dims);
	window_name_loops(y, x->rank, "f");
	const Expr *xi[MAX_RANK], *wi[MAX_RANK];
	const Expr *f = stage_iter(y, 1), *c = stage_over(y, "c", zero, w->hi[1]);

	xi[0] = stage_iter(y, 0);
	xi[1] = c;
	wi[0] = f;
	wi[1] = c;
	int64_t group = attr_int(node, "group");
	if (group > 1) {
		const Expr *g = index_div(ctx, f, dim_floordiv(ctx, w->hi[0], dim_const(ctx, group)));
		xi[1] = index_add(ctx, index_mul(ctx, g, w->hi[1]), c);
	}
	for (int i = 2; i < x->rank; i++) {
		wi[i] = window_over(ctx, y, &windows[i - 2], i - 2);
		xi[i] = window_source(ctx, &windows[i - 2], stage_iter(y, i), wi[i]);
	}
	const Expr *xv = less_zero(y, ctx, acc, stage_read(y, x, xi), x_zero, expr_i64(ctx, 0));
	const Expr *wv = less_zero(y, ctx, acc, stage_read(y, w, wi), w_zero, f);
	return stage_reduce_acc(y, REDUCE_sum, type, acc, expr_mul(ctx, xv, wv));
}

/* sum + B[f], rounded to the result's type. */
static Tensor *
with_bias(ExprCtx *ctx, const Tensor *sum, const Tensor *bias, DType type)
{
	StageBuilder *y = stage_open(ctx, "y", sum->rank, sum->hi);
	window_name_loops(y, sum->rank, "f");
	const Expr *f = stage_iter(y, 1);
	const Expr *b = scalar_as(ctx, sum->type, stage_read_checked(y, bias, &f));
	return stage_map(y, type, expr_cast(ctx, type, expr_add(ctx, read_here(y, sum), b)));
}

void
build_Conv(Build *b)
{
	const Tensor *x = b->in[0], *w = b->in[1], *bias = b->in[2];
	DType acc = work_type(x->type);
	Tensor *sum = op_conv(b->ctx, b->node, x, w, NULL, NULL, acc, bias ? acc : x->type);
	b->out[0] = bias ? with_bias(b->ctx, sum, bias, x->type) : sum;
}

/* ---- ConvTranspose ---------------------------------------------------------------------------
 *
 *     Y[n,o,h] = sum(c, r where t % stride == 0) X[n, g*C + c, t / stride] * W[g*C + c, o % M, r]
 *     where t = h + before - dilation*r, g = o / M
 */

/* stride*(in - 1) + output_padding + dilation*(kernel - 1) + 1: the result without cropping. */
static const Dim *
transposed_extent(ExprCtx *ctx, const Window *w, int64_t output_padding)
{
	const Dim *steps = dim_mul_i64(ctx, dim_add_i64(ctx, w->in, -1), w->stride);
	const Dim *reach = dim_mul_i64(ctx, dim_add_i64(ctx, w->kernel, -1), w->dilation);
	return dim_add_i64(ctx, dim_add(ctx, steps, reach), output_padding + 1);
}

/* Crop `full` to `out`, an odd element in front unless `upper`. */
static void
transposed_crop(ExprCtx *ctx, Window *w, const Dim *full, const Dim *out, bool upper)
{
	const Dim *total = dim_max(ctx, dim_sub(ctx, full, out), dim_const(ctx, 0));
	const Dim *half = dim_floordiv(ctx, total, dim_const(ctx, 2));
	const Dim *rest = dim_sub(ctx, total, half);
	w->out = out;
	w->before = upper ? half : rest;
	w->after = upper ? rest : half;
}

/* The windows of a transposed convolution: in and out as the operator's, padding = cropping. */
static void
transposed_windows(ExprCtx *ctx, const Node *node, int count, const Dim *const *in,
                   const Dim *const *kernel, Window *windows)
{
	const char *auto_pad = attr_string(node, "auto_pad");
	bool upper = strcmp(auto_pad, "SAME_UPPER") == 0;
	bool same = upper || strcmp(auto_pad, "SAME_LOWER") == 0;
	windows_of(ctx, node, count, in, kernel, false, windows);
	for (int i = 0; i < count; i++) {
		Window *w = &windows[i];
		int64_t shape = attr_at(node, "output_shape", count, i, -1);
		const Dim *full = transposed_extent(ctx, w, attr_at(node, "output_padding", count, i, 0));
		if (shape >= 0)
			transposed_crop(ctx, w, full, dim_const(ctx, shape), upper);
		else if (same)
			transposed_crop(ctx, w, full, dim_mul_i64(ctx, in[i], w->stride), upper);
		else
			w->out = dim_sub(ctx, full, dim_add(ctx, w->before, w->after));
	}
}

static void
transposed_shape(ExprCtx *ctx, const Node *node, int rank, const Dim *const *x, const Dim *const *w,
                 Window *windows, const Dim **dims)
{
	transposed_windows(ctx, node, rank - 2, x + 2, w + 2, windows);
	dims[0] = x[0];
	dims[1] = dim_mul_i64(ctx, w[1], attr_int(node, "group"));
	for (int i = 2; i < rank; i++)
		dims[i] = windows[i - 2].out;
}

void
infer_ConvTranspose(Infer *infer)
{
	const Type *x = infer_input(infer, 0), *w = infer_input(infer, 1);
	check_conv(infer, x, w);
	conv_group(infer, w->dims[0], "input channels");
	infer_equal(infer, x->dims[1], w->dims[0], "channels of the input and of the weight");
	Window windows[MAX_RANK];
	const Dim *dims[MAX_RANK];
	transposed_shape(infer->ctx, infer->node, x->rank, x->dims, w->dims, windows, dims);
	infer_vector(infer, 2, dims[1]);
	infer_set(infer, 0, x->dtype, x->rank, dims);
}

static Tensor *
transposed_sum(ExprCtx *ctx, const Node *node, const Tensor *x, const Tensor *w, DType type)
{
	Window windows[MAX_RANK];
	const Dim *dims[MAX_RANK], *zero = dim_const(ctx, 0);
	transposed_shape(ctx, node, x->rank, x->hi, w->hi, windows, dims);
	StageBuilder *y = stage_open(ctx, "conv", x->rank, dims);
	window_name_loops(y, x->rank, "f");
	const Dim *group = dim_const(ctx, attr_int(node, "group"));
	const Dim *per_group = dim_floordiv(ctx, w->hi[0], group);
	const Expr *xi[MAX_RANK], *wi[MAX_RANK];
	const Expr *o = stage_iter(y, 1), *c = stage_over(y, "c", zero, per_group);

	bool grouped = !dim_is(group, 1);
	if (grouped)
		c = index_add(ctx, index_mul(ctx, index_div(ctx, o, w->hi[1]), per_group), c);
	xi[0] = stage_iter(y, 0);
	xi[1] = c;
	wi[0] = c;
	wi[1] = grouped ? index_mod(ctx, o, w->hi[1]) : o;
	for (int i = 2; i < x->rank; i++) {
		const Window *v = &windows[i - 2];
		const Expr *stride = expr_i64(ctx, v->stride);
		wi[i] = window_over(ctx, y, v, i - 2);
		const Expr *h = index_add(ctx, stage_iter(y, i), v->before);
		const Expr *from = expr_sub(ctx, h, index_scale(ctx, wi[i], v->dilation));
		if (v->stride > 1)
			stage_where(y, expr_eq(ctx, index_mod(ctx, from, stride), expr_i64(ctx, 0)));
		xi[i] = index_div(ctx, from, stride);
	}
	DType acc = work_type(x->type);
	const Expr *term = expr_mul(ctx, scalar_as(ctx, acc, stage_read(y, x, xi)),
	                            scalar_as(ctx, acc, stage_read(y, w, wi)));
	return stage_reduce_acc(y, REDUCE_sum, type, acc, term);
}

void
build_ConvTranspose(Build *b)
{
	const Tensor *x = b->in[0], *w = b->in[1], *bias = b->in[2];
	Tensor *sum = transposed_sum(b->ctx, b->node, x, w, bias ? work_type(x->type) : x->type);
	b->out[0] = bias ? with_bias(b->ctx, sum, bias, x->type) : sum;
}
