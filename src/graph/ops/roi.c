/* RoiAlign: regions of a feature map, each brought to one size by samples between its elements.
 *
 *     Y[r,c,p,q] = mean (i:S, j:S) X[batch[r], c, y, x]     y = start + (p + (i + 1/2) / S) * bin
 *
 * bin is a region's height (or width) over the output's. A sample further than 1 outside is 0; one
 * beyond the last element lies on it. `max` is over all products of an element and its weight, as
 * the operator has always been computed.
 */
#include <string.h>

#include "graph/ops/helpers.h"

void
infer_RoiAlign(Infer *infer)
{
	ExprCtx *ctx = infer->ctx;
	const Type *x = infer_input(infer, 0), *rois = infer_input(infer, 1);
	const Type *batch = infer_input(infer, 2);
	if (x->rank != 4 || rois->rank != 2 || batch->rank != 1)
		infer_fail(infer, "inputs of ranks %d, %d and %d: expected 4, 2 and 1", x->rank, rois->rank,
		           batch->rank);
	if (!dim_is(rois->dims[1], 4))
		infer_fail(infer, "rois must have 4 numbers each");
	const int64_t height = attr_int(infer->node, "output_height");
	const int64_t width = attr_int(infer->node, "output_width");
	if (height < 1 || width < 1)
		infer_fail(infer, "an output of %lldx%lld", (long long)height, (long long)width);
	const Dim *dims[] = {infer_equal(infer, rois->dims[0], batch->dims[0], "the number of rois"),
	                     x->dims[1], dim_const(ctx, height), dim_const(ctx, width)};
	infer_set(infer, 0, x->dtype, 4, dims);
}

/* What all axes share, and one of them at a sample: the two elements that it lies between. */
typedef struct Samples {
	ExprCtx *ctx;
	StageBuilder *y;
	const Tensor *rois;
	DType work;
	double scale;
	bool is_half_pixel;
	int64_t count; /* along an axis of a bin */
} Samples;

typedef struct Axis {
	const Expr *index[2], *weight[2];
	const Expr *is_inside;
} Axis;

static const Expr *
number(const Samples *s, double value)
{
	return expr_number(s->ctx, s->work, value);
}

/* Number `k` of the region that the stage is at, in elements of the map. */
static const Expr *
corner(const Samples *s, int k)
{
	const Expr *at[] = {stage_iter(s->y, 0), expr_i64(s->ctx, k)};
	const Expr *value = scalar_as(s->ctx, s->work, stage_read(s->y, s->rois, at));
	return expr_sub(s->ctx, expr_mul(s->ctx, value, number(s, s->scale)),
	                number(s, s->is_half_pixel ? 0.5 : 0));
}

/* Where sample i of output position p lies: `first` is the corner's number along the axis. */
static const Expr *
sample_place(const Samples *s, int first, const Dim *out, const Expr *p, const Expr *i)
{
	ExprCtx *ctx = s->ctx;
	const Expr *start = corner(s, first), *size = expr_sub(ctx, corner(s, first + 2), start);
	if (!s->is_half_pixel)
		size = expr_max(ctx, size, number(s, 1));
	const Expr *bin = expr_div(ctx, size, dim_as(ctx, s->work, out));
	const Expr *half = expr_add(ctx, expr_cast(ctx, s->work, i), number(s, 0.5));
	const Expr *within = expr_div(ctx, expr_mul(ctx, half, bin), number(s, (double)s->count));
	const Expr *before = expr_mul(ctx, expr_cast(ctx, s->work, p), bin);
	return expr_add(ctx, expr_add(ctx, start, before), within);
}

static Axis
axis_at(const Samples *s, const Dim *extent, const Expr *place)
{
	ExprCtx *ctx = s->ctx;
	Axis axis;
	const Expr *size = dim_as(ctx, s->work, extent), *last = expr_sub(ctx, size, number(s, 1));
	axis.is_inside = expr_and(ctx, expr_ge(ctx, place, number(s, -1)), expr_le(ctx, place, size));
	place = expr_min(ctx, expr_max(ctx, place, number(s, 0)), last);
	const Expr *low = expr_floor(ctx, place), *high = expr_add(ctx, low, number(s, 1));
	axis.weight[1] = expr_sub(ctx, place, low);
	axis.weight[0] = expr_sub(ctx, number(s, 1), axis.weight[1]);
	axis.index[0] = expr_at(ctx, expr_cast(ctx, DT_I64, low), extent, 0);
	axis.index[1] = expr_at(ctx, expr_cast(ctx, DT_I64, expr_min(ctx, high, last)), extent, 0);
	return axis;
}

void
build_RoiAlign(Build *b)
{
	ExprCtx *ctx = b->ctx;
	const Tensor *x = b->in[0];
	bool is_max = strcmp(attr_string(b->node, "mode"), "max") == 0;
	const char *transform = attr_string(b->node, "coordinate_transformation_mode");
	StageBuilder *y = output_open(b, 0);
	Samples s = {ctx,
	             y,
	             b->in[1],
	             work_type2(x->type, b->in[1]->type),
	             (double)attr_float(b->node, "spatial_scale"),
	             strcmp(transform, "half_pixel") == 0,
	             attr_int(b->node, "sampling_ratio")};
	if (s.count < 1)
		build_fail(b, "sampling_ratio 0 lets data decide the number of samples");
	const Expr *place[2], *value = NULL, *is_inside;
	for (int d = 0; d < 2; d++) {
		const Expr *i = stage_over(y, d ? "j" : "i", dim_const(ctx, 0), dim_const(ctx, s.count));
		place[d] = sample_place(&s, 1 - d, b->out_types[0]->dims[2 + d], stage_iter(y, 2 + d), i);
	}
	Axis rows = axis_at(&s, x->hi[2], place[0]), columns = axis_at(&s, x->hi[3], place[1]);
	const Expr *image = stage_read(y, b->in[2], (const Expr *[]){stage_iter(y, 0)});
	image = expr_at(ctx, expr_cast(ctx, DT_I64, image), x->hi[0], AT_CHECK);
	for (int k = 0; k < 4; k++) {
		const Expr *at[] = {image, stage_iter(y, 1), rows.index[k / 2], columns.index[k % 2]};
		const Expr *weight = expr_mul(ctx, rows.weight[k / 2], columns.weight[k % 2]);
		const Expr *term = expr_mul(ctx, weight, scalar_as(ctx, s.work, stage_read(y, x, at)));
		value = !value ? term : is_max ? expr_max(ctx, value, term) : expr_add(ctx, value, term);
	}
	is_inside = expr_and(ctx, rows.is_inside, columns.is_inside);
	value = expr_select(ctx, is_inside, value, number(&s, 0));
	if (is_max) {
		b->out[0] = stage_reduce(y, REDUCE_max, x->type, value);
		return;
	}
	const Tensor *sum = stage_reduce(y, REDUCE_sum, s.work, value);
	StageBuilder *mean = output_open(b, 0);
	const Expr *samples = number(&s, (double)s.count * (double)s.count);
	b->out[0] = stage_map(mean, x->type,
	                      expr_cast(ctx, x->type, expr_div(ctx, read_here(mean, sum), samples)));
}
