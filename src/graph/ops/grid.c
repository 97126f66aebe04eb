/* GridSample: X between its elements, at positions that are data; AffineGrid: such positions;
 * DeformConv: a convolution of elements at such positions.
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

#include "graph/expand.h"
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
	return scalar_text(g->ctx,
	                   "let range = hi - lo;"
	                   "let over = x < lo ? lo - x : x - hi;"
	                   "let times = floor(over / range);"
	                   "let rest = over - times * range;"
	                   "let is_even = times * 0.5 == floor(times * 0.5);"
	                   "let folded = is_even == (x < lo) ? lo + rest : hi - rest;"
	                   "x < lo || x > hi ? (range == 0 ? lo : folded) : x",
	                   "x lo hi", (const Expr *[]){x, axis->lo, axis->hi});
}

/* A position outside the borders, brought in as padding_mode says; zeros: left outside. */
static const Expr *
padded(const Grid *g, const Axis *axis, const Expr *x)
{
	if (g->is_zeros)
		return x;
	if (!g->is_border)
		return mirrored(g, axis, x);
	return scalar_text(g->ctx, "min(max(x, 0), last)", "x last",
	                   (const Expr *[]){x, last_position(g, axis)});
}

static void
place_taps(const Grid *g, Axis *axis, const Expr *x)
{
	if (axis->taps == 1) {
		axis->position[0] = x;
		axis->weight[0] = number(g, 1);
		return;
	}
	/* Keys' cubic with a = -0.75, at distances from 1 to 2 and below 1. */
	static const char *const linear[] = {"1 - t", "t"},
							 *const cubic[] = {
								 "let d = t + 1; ((-0.75 * d + 3.75) * d + -6) * d + 3",
								 "((1.25 * t + -2.25) * t + 0) * t + 1",
								 "let d = 1 - t; ((1.25 * d + -2.25) * d + 0) * d + 1",
								 "let d = 1 - t + 1; ((-0.75 * d + 3.75) * d + -6) * d + 3",
							 };
	const Expr *floor = expr_floor(g->ctx, x), *t = expr_sub(g->ctx, x, floor);
	for (int i = 0; i < axis->taps; i++) {
		axis->position[i] = expr_add(g->ctx, floor, number(g, axis->taps == 4 ? i - 1 : i));
		axis->weight[i] = scalar_text(g->ctx, axis->taps == 4 ? cubic[i] : linear[i], "t", &t);
	}
}

/* The axis at the grid's number `coordinate`. */
static Axis
axis_at(const Grid *g, const Dim *extent, int taps, const Expr *coordinate)
{
	ExprCtx *ctx = g->ctx;
	Axis axis = {.extent = extent, .taps = taps};
	const Expr *args[] = {coordinate, dim_as(ctx, g->work, extent), last_position(g, &axis)};
	const char *text = g->is_aligned ? "(g + 1) * 0.5 * last" : "((g + 1) * n - 1) * 0.5";
	const Expr *x = scalar_text(ctx, text, "g n last", args);
	axis.lo = g->is_aligned ? number(g, 0) : number(g, -0.5);
	axis.hi = scalar_text(ctx, g->is_aligned ? "last" : "last + 0.5", "g n last", args);
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
		const Expr *inside = scalar_text(ctx, "x >= 0 && x <= last", "x last",
		                                 (const Expr *[]){at, last_position(g, axis)});
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
	const Expr *args[] = {scalar_as(ctx, g->work, twice), dim_as(ctx, g->work, extent)};
	return scalar_text(ctx, "twice / n - 1", "twice n", args);
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

/* ---- DeformConv ------------------------------------------------------------------------------ */

/* Each tap of a window at a place of its own, all of a window side by side, times their mask. What
 * is outside is 0. A convolution whose windows do not overlap is the rest:
 *
 *     S[n, c, p*KH + r, q*KW + s] = mask[n, g*K + k, p, q] * X[n, c, y, x]      k = r*KW + s
 *     y = p*stride - pad + r*dilation + offset[n, (g*K + k)*2, p, q], x likewise
 *     Y = Conv(S, W, B), strides = kernel_shape
 */
enum { OFFSET = 2, BIAS, MASK }; /* inputs of DeformConv */

static void
infer_field(Infer *infer, int index, const Dim *channels, const Type *y)
{
	const Type *field = infer_input(infer, index);
	if (!field)
		return;
	const char *name = op_input(infer->node->op, index)->name;
	infer_rank(infer, index, 4);
	const Dim *dims[] = {y->dims[0], channels, y->dims[2], y->dims[3]};
	for (int d = 0; d < 4; d++)
		infer_equal(infer, field->dims[d], dims[d],
		            arena_printf(infer->graph->arena, "dim %d of %s", d, name));
}

void
infer_DeformConv(Infer *infer)
{
	const Type *x = infer_input(infer, 0), *w = infer_input(infer, 1);
	int64_t groups = attr_int(infer->node, "offset_group"), channels;
	infer_rank(infer, 0, 4);
	infer_convolution(infer, x, w, x->dtype);
	infer_vector(infer, BIAS, w->dims[0]);
	bool is_known = dim_is_const(infer_assumed(infer, x->dims[1]), &channels);
	if (groups > 1 && !is_known)
		fail_unsupported(&infer->node->loc,
		                 "several offset groups of channels that only a run knows");
	if (groups < 1 || (groups > 1 && (channels < groups || channels % groups != 0)))
		infer_fail(infer, "offset_group %lld must divide the channels", (long long)groups);
	const Dim *taps = dim_mul(infer->ctx, w->dims[2], w->dims[3]);
	infer_field(infer, OFFSET, dim_mul_i64(infer->ctx, taps, 2 * groups),
	            &infer->node->outputs[0]->type);
	infer_field(infer, MASK, dim_mul_i64(infer->ctx, taps, groups), &infer->node->outputs[0]->type);
}

void
expand_DeformConv(Node *node)
{
	Expander m = {node->parent, node, node};
	const Type *w = &node->inputs[1]->type;
	int64_t *kernel = NEW_N(node->parent->graph->arena, int64_t, 2);
	for (int d = 0; d < 2; d++)
		if (!dim_is_const(w->dims[2 + d], &kernel[d]))
			fail_unsupported(&node->loc, "windows of a size that only a run knows");
	const Attr size = {.name = "kernel_shape", .kind = ATTR_INTS, .count = 2, .ints = kernel};
	Value *mask = expander_input(node, MASK), *bias = expander_input(node, BIAS);
	Value *fields[] = {node->inputs[0], node->inputs[OFFSET], mask};
	Node *samples = expander_node(&m, "DeformSamples", mask ? 3 : 2, fields, 1);
	node_add_attr(samples, &size);
	static const char *const taken[] = {"dilations", "offset_group", "pads", "strides"};
	for (size_t i = 0; i < countof(taken); i++)
		if (attr_find(node, taken[i]))
			node_add_attr(samples, attr_find(node, taken[i]));
	Value *operands[] = {expander_result(&m, samples), node->inputs[1], bias};
	Node *conv = expander_node(&m, "Conv", bias ? 3 : 2, operands, 1);
	node_set_int(conv, "group", attr_int(node, "group"));
	node_add_attr(conv, &(Attr){"strides", .kind = ATTR_INTS, .count = 2, .ints = kernel});
	node_become(node, expander_result(&m, conv));
}

void
infer_DeformSamples(Infer *infer)
{
	ExprCtx *ctx = infer->ctx;
	const Type *x = infer_input(infer, 0), *offset = infer_input(infer, 1);
	infer_rank(infer, 0, 4);
	infer_rank(infer, 1, 4);
	const Dim *dims[4] = {infer_equal(infer, x->dims[0], offset->dims[0], "batch"), x->dims[1]};
	const Dim *fields = dim_const(ctx, attr_int(infer->node, "offset_group"));
	for (int d = 2; d < 4; d++) {
		const Dim *kernel = dim_const(ctx, attr_at(infer->node, "kernel_shape", 2, d - 2, 1));
		dims[d] = dim_mul(ctx, offset->dims[d], kernel);
		fields = dim_mul(ctx, fields, kernel);
	}
	infer_field(infer, 1, dim_mul_i64(ctx, fields, 2), offset);
	infer_field(infer, 2, fields, offset);
	infer_set(infer, 0, x->dtype, 4, dims);
}

void
build_DeformSamples(Build *b)
{
	ExprCtx *ctx = b->ctx;
	const Tensor *x = b->in[0], *offset = b->in[1], *mask = b->in[2];
	Grid g = {ctx, work_type2(x->type, offset->type), .is_zeros = true};
	StageBuilder *y = output_open(b, 0);
	Window windows[2];
	const Dim *kernel[2], *taps = dim_const(ctx, 1);
	for (int d = 0; d < 2; d++) {
		kernel[d] = dim_const(ctx, attr_at(b->node, "kernel_shape", 2, d, 1));
		taps = dim_mul(ctx, taps, kernel[d]);
	}
	windows_of(ctx, b->node, 2, x->hi + 2, kernel, false, windows);
	const Dim *groups = dim_const(ctx, attr_int(b->node, "offset_group"));
	const Expr *group = expr_i64(ctx, 0);
	if (!dim_is(groups, 1))
		group = index_div(ctx, stage_iter(y, 1), dim_floordiv(ctx, x->hi[1], groups));
	const Expr *at[] = {stage_iter(y, 0), NULL, NULL, NULL}, *source[2], *tap = expr_i64(ctx, 0);
	for (int d = 0; d < 2; d++) {
		const Expr *r = index_mod(ctx, stage_iter(y, 2 + d), kernel[d]);
		at[2 + d] = index_div(ctx, stage_iter(y, 2 + d), kernel[d]);
		source[d] = window_source(ctx, &windows[d], at[2 + d], r);
		tap = index_add(ctx, index_mul(ctx, tap, kernel[d]), r);
	}
	const Expr *field = index_add(ctx, index_mul(ctx, group, taps), tap), *sum = NULL;
	Axis axes[2];
	for (int d = 0; d < 2; d++) {
		at[1] = index_shift(ctx, index_scale(ctx, field, 2), d);
		const Expr *moved = scalar_as(ctx, g.work, stage_read(y, offset, at));
		axes[d] = (Axis){.extent = x->hi[2 + d], .taps = 2};
		place_taps(&g, &axes[d], expr_add(ctx, expr_cast(ctx, g.work, source[d]), moved));
	}
	for (int k = 0; k < 4; k++) {
		const Expr *term = neighbour(&g, y, x, axes, (int[]){k % 2, k / 2});
		sum = sum ? expr_add(ctx, sum, term) : term;
	}
	at[1] = field;
	if (mask)
		sum = expr_mul(ctx, sum, scalar_as(ctx, g.work, stage_read(y, mask, at)));
	b->out[0] = stage_map(y, x->type, expr_cast(ctx, x->type, sum));
}
