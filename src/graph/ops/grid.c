/* GridSample: X between its elements, at positions that are data; AffineGrid: such positions.
 *
 *     Y[n, c, p…] = sum over the neighbours i… of x…   w(x - i)… * X[n, c, i…]
 *     x = ((g + 1) * D - 1) / 2           or, from corner to corner, (g + 1) / 2 * (D - 1)
 *
 *     grid[n, p…, j] = theta[n, j, r] + sum over spatial axes k of   theta[n, j, k] * x(p[r-1-k])
 *     x(i) = (2*i + 1) / D - 1            or, from corner to corner, 2*i / (D - 1) - 1
 *
 * The grid's last axis holds one number per spatial axis, the last axis first. A neighbour outside
 * is 0, the nearest element inside, or the one that a mirror at the border shows.
 */
#include <string.h>

#include "graph/ops/helpers.h"

enum { MAX_TAPS = 4 };

void
infer_GridSample(Infer *infer)
{
	const Type *x = infer_input(infer, 0), *grid = infer_input(infer, 1);
	int64_t count;
	if (x->rank < 3 || grid->rank != x->rank)
		infer_fail(infer, "input of rank %d and grid of rank %d: expected equal ranks from 3",
		           x->rank, grid->rank);
	if (!dim_is_const(grid->dims[x->rank - 1], &count) || count != x->rank - 2)
		infer_fail(infer, "the last dim of grid must be %d", x->rank - 2);
	const Dim **dims = NEW_N(infer->graph->arena, const Dim *, x->rank);
	dims[0] = infer_equal(infer, x->dims[0], grid->dims[0], "dim 0 of input and grid");
	dims[1] = x->dims[1];
	for (int i = 2; i < x->rank; i++)
		dims[i] = grid->dims[i - 1];
	infer_set(infer, 0, x->dtype, x->rank, dims);
}

/* One spatial axis at an output position. */
typedef struct Axis {
	const Dim *extent;
	const Expr *lo, *hi; /* the borders a mirror stands at */
	int taps;
	const Expr *position[MAX_TAPS], *weight[MAX_TAPS]; /* in the work type */
} Axis;

typedef struct Grid {
	ExprCtx *ctx;
	DType work;
	bool is_aligned, is_zeros, is_border;
} Grid;

static const Expr *
number(const Grid *g, double value)
{
	return expr_number(g->ctx, g->work, value);
}

static const Expr *
last_position(const Grid *g, const Axis *axis)
{
	return expr_sub(g->ctx, dim_as(g->ctx, g->work, axis->extent), number(g, 1));
}

/* x folded back into lo..hi, as often as it takes; lo where that is all there is. */
static const Expr *
mirrored(const Grid *g, const Axis *axis, const Expr *x)
{
	ExprCtx *ctx = g->ctx;
	const Expr *range = expr_sub(ctx, axis->hi, axis->lo);
	const Expr *is_below = expr_lt(ctx, x, axis->lo), *is_above = expr_gt(ctx, x, axis->hi);
	const Expr *over =
		expr_select(ctx, is_below, expr_sub(ctx, axis->lo, x), expr_sub(ctx, x, axis->hi));
	const Expr *times = expr_floor(ctx, expr_div(ctx, over, range));
	const Expr *rest = expr_sub(ctx, over, expr_mul(ctx, times, range));
	const Expr *half = expr_mul(ctx, times, number(g, 0.5));
	const Expr *is_even = expr_eq(ctx, half, expr_floor(ctx, half));
	const Expr *from_lo = expr_add(ctx, axis->lo, rest), *from_hi = expr_sub(ctx, axis->hi, rest);
	const Expr *folded = expr_select(ctx, expr_eq(ctx, is_even, is_below), from_lo, from_hi);
	const Expr *is_point = expr_eq(ctx, range, number(g, 0));
	folded = expr_select(ctx, is_point, axis->lo, folded);
	return expr_select(ctx, expr_or(ctx, is_below, is_above), folded, x);
}

/* A position outside the borders, brought in as padding_mode says; zeros: left outside. */
static const Expr *
padded(const Grid *g, const Axis *axis, const Expr *x)
{
	ExprCtx *ctx = g->ctx;
	if (g->is_zeros)
		return x;
	if (g->is_border)
		return expr_min(ctx, expr_max(ctx, x, number(g, 0)), last_position(g, axis));
	return mirrored(g, axis, x);
}

/* Keys' cubic with a = -0.75 at a distance t below 1, or from 1 to 2; highest power first. */
static const Expr *
cubic(const Grid *g, const Expr *t, bool is_near)
{
	static const double NEAR[] = {1.25, -2.25, 0, 1}, FAR[] = {-0.75, 3.75, -6, 3};
	const double *c = is_near ? NEAR : FAR;
	const Expr *sum = number(g, c[0]);
	for (int i = 1; i < 4; i++)
		sum = expr_add(g->ctx, expr_mul(g->ctx, sum, t), number(g, c[i]));
	return sum;
}

static void
place_taps(const Grid *g, Axis *axis, const Expr *x)
{
	ExprCtx *ctx = g->ctx;
	if (axis->taps == 1) {
		axis->position[0] = x;
		axis->weight[0] = number(g, 1);
		return;
	}
	const Expr *floor = expr_floor(ctx, x), *t = expr_sub(ctx, x, floor), *one = number(g, 1);
	int first = axis->taps == 4 ? -1 : 0;
	for (int i = 0; i < axis->taps; i++)
		axis->position[i] = expr_add(ctx, floor, number(g, first + i));
	const Expr *rest = expr_sub(ctx, one, t);
	if (axis->taps == 2) {
		axis->weight[0] = rest;
		axis->weight[1] = t;
		return;
	}
	axis->weight[0] = cubic(g, expr_add(ctx, t, one), false);
	axis->weight[1] = cubic(g, t, true);
	axis->weight[2] = cubic(g, rest, true);
	axis->weight[3] = cubic(g, expr_add(ctx, rest, one), false);
}

/* The axis at the grid's number `coordinate`. */
static Axis
axis_at(const Grid *g, const Dim *extent, int taps, const Expr *coordinate)
{
	ExprCtx *ctx = g->ctx;
	Axis axis = {.extent = extent, .taps = taps};
	const Expr *half = number(g, 0.5), *last = last_position(g, &axis), *x;
	const Expr *shifted = expr_add(ctx, coordinate, number(g, 1));
	axis.lo = g->is_aligned ? number(g, 0) : number(g, -0.5);
	axis.hi = g->is_aligned ? last : expr_add(ctx, last, half);
	if (g->is_aligned) {
		x = expr_mul(ctx, expr_mul(ctx, shifted, half), last);
	} else {
		const Expr *scaled = expr_mul(ctx, shifted, dim_as(ctx, g->work, extent));
		x = expr_mul(ctx, expr_sub(ctx, scaled, number(g, 1)), half);
	}
	if (taps == 1)
		x = expr_round(ctx, x);
	place_taps(g, &axis, taps == 4 ? x : padded(g, &axis, x)); /* a cubic pads each tap alone */
	return axis;
}

/* The neighbour at taps[d] of each axis, times its weights. */
static const Expr *
neighbour(const Grid *g, StageBuilder *y, const Tensor *x, const Axis *axes, const int *taps)
{
	ExprCtx *ctx = g->ctx;
	const Expr *index[MAX_RANK], *weight = NULL, *is_inside = NULL;
	loops_of(y, 2, index);
	for (int d = 0; d < x->rank - 2; d++) {
		const Axis *axis = &axes[d];
		const Expr *w = axis->weight[taps[d]], *at = padded(g, axis, axis->position[taps[d]]);
		const Expr *i = expr_cast(ctx, DT_I64, at);
		const Expr *inside =
			expr_and(ctx, expr_ge(ctx, at, number(g, 0)), expr_le(ctx, at, last_position(g, axis)));
		index[d + 2] = expr_at(ctx, i, axis->extent, 0);
		weight = weight ? expr_mul(ctx, weight, w) : w;
		is_inside = expr_both(ctx, is_inside, inside);
	}
	const Expr *value = scalar_as(ctx, g->work, stage_read(y, x, index));
	if (g->is_zeros)
		value = expr_select(ctx, is_inside, value, number(g, 0));
	return axes[0].taps == 1 ? value : expr_mul(ctx, weight, value);
}

void
build_GridSample(Build *b)
{
	ExprCtx *ctx = b->ctx;
	const Tensor *x = b->in[0], *grid = b->in[1];
	const char *mode = attr_string(b->node, "mode");
	const char *padding = attr_string(b->node, "padding_mode");
	Grid g = {ctx, work_type2(x->type, grid->type), attr_int(b->node, "align_corners") != 0,
	          strcmp(padding, "zeros") == 0, strcmp(padding, "border") == 0};
	int spatial = x->rank - 2, combinations = 1;
	int taps = strcmp(mode, "nearest") == 0 ? 1 : strcmp(mode, "cubic") == 0 ? 4 : 2;
	if (spatial > 3)
		build_fail(b, "more than three spatial axes");
	StageBuilder *y = output_open(b, 0);
	const Expr *at[MAX_RANK], *sum = NULL;
	Axis axes[3];
	at[0] = stage_iter(y, 0);
	for (int d = 0; d < spatial; d++)
		at[d + 1] = stage_iter(y, d + 2);
	for (int d = 0; d < spatial; d++) {
		at[spatial + 1] = expr_i64(ctx, spatial - 1 - d);
		const Expr *coordinate = scalar_as(ctx, g.work, stage_read(y, grid, at));
		axes[d] = axis_at(&g, x->hi[d + 2], taps, coordinate);
		combinations *= taps;
	}
	for (int k = 0; k < combinations; k++) {
		int chosen[3] = {k % taps, k / taps % taps, k / taps / taps};
		const Expr *term = neighbour(&g, y, x, axes, chosen);
		sum = sum ? expr_add(ctx, sum, term) : term;
	}
	b->out[0] = stage_map(y, x->type, expr_cast(ctx, x->type, sum));
}

void
infer_AffineGrid(Infer *infer)
{
	const Type *theta = infer_input(infer, 0);
	const Dim *dims[MAX_RANK];
	int64_t rows = 0, columns = 0;
	bool is_known = theta->rank == 3 && dim_is_const(theta->dims[1], &rows) &&
	                dim_is_const(theta->dims[2], &columns);
	if (!is_known || rows < 2 || rows > 3 || columns != rows + 1)
		infer_fail(infer, "theta must be [N,2,3] or [N,3,4]");
	if (infer_length(infer, 1) != rows + 2)
		infer_fail(infer, "size has %d elements, expected %lld", infer_length(infer, 1),
		           (long long)rows + 2);
	dims[0] = infer_equal(infer, theta->dims[0], infer_dim_value(infer, 1, 0),
	                      "dim 0 of theta and element 0 of size");
	for (int d = 1; d <= rows; d++)
		dims[d] = infer_dim_value(infer, 1, d + 1);
	dims[rows + 1] = dim_const(infer->ctx, rows);
	infer_set(infer, 0, theta->dtype, (int)rows + 2, dims);
}

/* Position i of an axis between -1 and 1; an axis of one element from corner to corner is at -1
 * (the standard's reference; PyTorch has 0, ONNX Runtime 1). */
static const Expr *
between_corners(const Grid *g, const Expr *i, const Dim *extent)
{
	ExprCtx *ctx = g->ctx;
	const Expr *twice = index_scale(ctx, i, 2);
	if (g->is_aligned)
		extent = dim_max(ctx, dim_add_i64(ctx, extent, -1), dim_const(ctx, 1));
	else
		twice = index_shift(ctx, twice, 1);
	const Expr *share = expr_div(ctx, scalar_as(ctx, g->work, twice), dim_as(ctx, g->work, extent));
	return expr_sub(ctx, share, number(g, 1));
}

void
build_AffineGrid(Build *b)
{
	ExprCtx *ctx = b->ctx;
	const Tensor *theta = b->in[0];
	const Type *type = b->out_types[0];
	Grid g = {ctx, work_type(theta->type), attr_int(b->node, "align_corners") != 0, false, false};
	int spatial = type->rank - 2;
	StageBuilder *y = output_open(b, 0);
	const Expr *at[] = {stage_iter(y, 0), stage_iter(y, spatial + 1), expr_i64(ctx, spatial)};
	const Expr *sum = scalar_as(ctx, g.work, stage_read(y, theta, at));
	for (int k = 0; k < spatial; k++) {
		int d = spatial - k;
		at[2] = expr_i64(ctx, k);
		const Expr *factor = scalar_as(ctx, g.work, stage_read(y, theta, at));
		const Expr *x = between_corners(&g, stage_iter(y, d), type->dims[d]);
		sum = expr_add(ctx, sum, expr_mul(ctx, factor, x));
	}
	b->out[0] = stage_map(y, type->dtype, scalar_as(ctx, type->dtype, sum));
}
