/* Pooling: one value per sliding window, or over all spatial axes.
 *
 *     S[n,c,p,q] = sum(r:3, s:3) X[n, c, 2*p+r-1, 2*q+s-1]      taps in the padding are omitted
 *     Y[n,c,p,q] = S[n,c,p,q] / f32(taps(p) * taps(q))
 */
#include "graph/ops/helpers.h"

/* kernel_shape as dims, and the windows of the node's attributes. */
static void
pool_windows(ExprCtx *ctx, const Node *node, int rank, const Dim *const *in, Window *windows)
{
	const Dim *kernel[MAX_RANK];
	for (int i = 0; i < rank - 2; i++) {
		int64_t k = attr_at(node, "kernel_shape", rank - 2, i, 1);
		if (k < 1)
			fail(&node->loc, "kernel_shape %lld must be positive", (long long)k);
		kernel[i] = dim_const(ctx, k);
	}
	windows_of(ctx, node, rank - 2, in + 2, kernel, attr_int(node, "ceil_mode") != 0, windows);
}

static void
infer_pool(Infer *infer, int output, DType type)
{
	const Type *x = infer_input(infer, 0);
	infer_least_rank(infer, 0, 3);
	Window windows[MAX_RANK];
	const Dim *dims[MAX_RANK] = {x->dims[0], x->dims[1]};
	pool_windows(infer->ctx, infer->node, x->rank, x->dims, windows);
	for (int i = 2; i < x->rank; i++)
		dims[i] = windows[i - 2].out;
	infer_set(infer, output, type, x->rank, dims);
}

/* Open a stage over the windows of x: index[] becomes the position of a tap. */
static StageBuilder *
pool_open(ExprCtx *ctx, const char *name, const Tensor *x, const Window *windows,
          const Expr **index)
{
	const Dim *dims[MAX_RANK] = {x->hi[0], x->hi[1]};
	for (int i = 2; i < x->rank; i++)
		dims[i] = windows[i - 2].out;
	StageBuilder *y = stage_open(ctx, name, x->rank, dims);
	window_name_loops(y, x->rank, "c");
	index[0] = stage_iter(y, 0);
	index[1] = stage_iter(y, 1);
	for (int i = 2; i < x->rank; i++) {
		const Window *w = &windows[i - 2];
		const Expr *r = window_over(ctx, y, w, i - 2);
		index[i] = window_source(ctx, w, stage_iter(y, i), r);
	}
	return y;
}

/* ---- AveragePool ----------------------------------------------------------------------------- */

void
infer_AveragePool(Infer *infer)
{
	infer_pool(infer, 0, infer_input(infer, 0)->dtype);
}

/* Elements that the window at this point averages: those inside x, or inside x and its padding. */
static const Expr *
pool_count(ExprCtx *ctx, StageBuilder *y, int spatial, const Window *windows, bool ceil,
           bool with_padding)
{
	const Expr *count = expr_i64(ctx, 1);
	for (int i = 0; i < spatial; i++) {
		const Window *w = &windows[i];
		const Dim *zero = dim_const(ctx, 0);
		const Dim *lo = with_padding ? dim_sub(ctx, zero, w->before) : zero;
		const Dim *hi = with_padding ? dim_add(ctx, w->in, w->after) : w->in;
		bool inside = with_padding || (dim_is(w->before, 0) && dim_is(w->after, 0));
		const Expr *taps =
			inside && !ceil ? w->kernel : window_taps(ctx, w, stage_iter(y, i + 2), lo, hi);
		count = index_mul(ctx, count, taps);
	}
	return count;
}

void
build_AveragePool(Build *b)
{
	ExprCtx *ctx = b->ctx;
	const Tensor *x = b->in[0];
	DType work = work_type(x->type);
	Window windows[MAX_RANK];
	const Expr *index[MAX_RANK];
	pool_windows(ctx, b->node, x->rank, x->hi, windows);

	StageBuilder *s = pool_open(ctx, "sum", x, windows, index);
	const Expr *term = scalar_as(ctx, work, stage_read(s, x, index));
	Tensor *sum = stage_reduce_acc(s, REDUCE_sum, work, work, term);

	StageBuilder *y = stage_open(ctx, "y", sum->rank, sum->hi);
	window_name_loops(y, x->rank, "c");
	bool ceil = attr_int(b->node, "ceil_mode") != 0;
	bool with_padding = attr_int(b->node, "count_include_pad") != 0;
	const Expr *count = pool_count(ctx, y, x->rank - 2, windows, ceil, with_padding);
	const Expr *mean = expr_div(ctx, read_here(y, sum), expr_cast(ctx, work, count));
	b->out[0] = stage_map(y, x->type, expr_cast(ctx, x->type, mean));
}

/* ---- MaxPool --------------------------------------------------------------------------------- */

void
infer_MaxPool(Infer *infer)
{
	infer_pool(infer, 0, infer_input(infer, 0)->dtype);
	infer_pool(infer, 1, DT_I64);
}

/* The flat position of an element, as MaxPool counts: rows first, or spatial axes in reverse order
 * for storage_order = 1. */
static const Expr *
flat_position(ExprCtx *ctx, const Tensor *x, const Expr *const *index, bool reversed)
{
	const Expr *flat = index_add(ctx, index_mul(ctx, index[0], x->hi[1]), index[1]);
	for (int k = 2; k < x->rank; k++) {
		int i = reversed ? x->rank + 1 - k : k;
		flat = index_add(ctx, index_mul(ctx, flat, x->hi[i]), index[i]);
	}
	return flat;
}

/* Where elements are the least there are, none is larger than what the reduction begins with: then
 * the first element of the window is meant. */
static Tensor *
first_where_least(ExprCtx *ctx, const Tensor *x, const Window *windows, Tensor *const *results,
                  bool reversed)
{
	const Tensor *largest = results[0], *where = results[1];
	StageBuilder *y = stage_open(ctx, "where", x->rank, where->hi);
	const Expr *index[MAX_RANK] = {stage_iter(y, 0), stage_iter(y, 1)}, *zero = expr_i64(ctx, 0);
	for (int i = 2; i < x->rank; i++) {
		const Expr *start = window_source(ctx, &windows[i - 2], stage_iter(y, i), zero);
		const Expr *step = expr_i64(ctx, windows[i - 2].dilation);
		index[i] = expr_select(ctx, expr_lt(ctx, start, zero), index_mod(ctx, start, step), start);
	}
	const Expr *is_least = expr_eq(ctx, read_here(y, largest), expr_lowest(ctx, x->type));
	const Expr *first = flat_position(ctx, x, index, reversed);
	return stage_map(y, DT_I64, expr_select(ctx, is_least, first, read_here(y, where)));
}

void
build_MaxPool(Build *b)
{
	ExprCtx *ctx = b->ctx;
	const Tensor *x = b->in[0];
	Window windows[MAX_RANK];
	const Expr *index[MAX_RANK];
	pool_windows(ctx, b->node, x->rank, x->hi, windows);
	StageBuilder *y = pool_open(ctx, "y", x, windows, index);
	const Expr *value = stage_read(y, x, index);
	if (!b->out_types[1]) {
		b->out[0] = stage_reduce(y, REDUCE_max, x->type, value);
		return;
	}
	bool reversed = attr_int(b->node, "storage_order") != 0;
	const Expr *where = flat_position(ctx, x, index, reversed);
	Tensor *results[2];
	stage_reduce_tuple(y, REDUCE_argmax_first, 2, (const DType[]){x->type, DT_I64},
	                   (const Expr *[]){value, where}, results);
	b->out[0] = results[0];
	b->out[1] = first_where_least(ctx, x, windows, results, reversed);
}

/* ---- LpPool: the p-norm of each window ------------------------------------------------------- */

/* |x|^p and its inverse x^(1/p), without pow where p is 1 or 2. */
static const Expr *
to_power(ExprCtx *ctx, const Expr *x, int64_t p)
{
	if (p == 2)
		return expr_mul(ctx, x, x);
	x = expr_abs(ctx, x);
	return p == 1 ? x : expr_pow(ctx, x, expr_number(ctx, (DType)x->type, (double)p));
}

static const Expr *
to_root(ExprCtx *ctx, const Expr *x, int64_t p)
{
	if (p == 2)
		return expr_sqrt(ctx, x);
	return p == 1 ? x : expr_pow(ctx, x, expr_number(ctx, (DType)x->type, 1.0 / (double)p));
}

static Tensor *
root_of(ExprCtx *ctx, const Tensor *sum, int64_t p, DType type)
{
	StageBuilder *y = stage_open(ctx, "y", sum->rank, sum->hi);
	const Expr *root = to_root(ctx, read_here(y, sum), p);
	return stage_map(y, type, expr_cast(ctx, type, root));
}

void
build_LpPool(Build *b)
{
	ExprCtx *ctx = b->ctx;
	const Tensor *x = b->in[0];
	DType work = work_type(x->type);
	int64_t p = attr_int(b->node, "p");
	Window windows[MAX_RANK];
	const Expr *index[MAX_RANK];
	pool_windows(ctx, b->node, x->rank, x->hi, windows);
	StageBuilder *s = pool_open(ctx, "sum", x, windows, index);
	const Expr *term = to_power(ctx, scalar_as(ctx, work, stage_read(s, x, index)), p);
	b->out[0] = root_of(ctx, stage_reduce_acc(s, REDUCE_sum, work, work, term), p, x->type);
}

/* ---- over all spatial axes ------------------------------------------------------------------- */

void
infer_global_pool(Infer *infer)
{
	const Type *x = infer_input(infer, 0);
	infer_least_rank(infer, 0, 3);
	const Dim *dims[MAX_RANK] = {x->dims[0], x->dims[1]};
	for (int i = 2; i < x->rank; i++)
		dims[i] = dim_const(infer->ctx, 1);
	infer_set(infer, 0, x->dtype, x->rank, dims);
}

void
build_GlobalAveragePool(Build *b)
{
	const Tensor *x = b->in[0];
	b->out[0] = op_mean(b->ctx, x, axes_from(2, x->rank), true, x->type);
}

void
build_GlobalMaxPool(Build *b)
{
	const Tensor *x = b->in[0];
	Axes spatial = axes_from(2, x->rank);
	b->out[0] = op_reduce(b->ctx, REDUCE_max, x, spatial, true, x->type, x->type);
}

void
build_GlobalLpPool(Build *b)
{
	ExprCtx *ctx = b->ctx;
	const Tensor *x = b->in[0];
	DType work = work_type(x->type);
	int64_t p = attr_int(b->node, "p");
	Axes spatial = axes_from(2, x->rank);
	const Expr *index[MAX_RANK];
	StageBuilder *s = reduction_open(ctx, "sum", x, spatial, true, index);
	const Expr *term = to_power(ctx, scalar_as(ctx, work, stage_read(s, x, index)), p);
	Tensor *sum = stage_reduce_acc(s, REDUCE_sum, work, work, term);
	b->out[0] = root_of(ctx, sum, p, x->type);
}
