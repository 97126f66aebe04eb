/* RoiAlign: regions of a feature map, each brought to one size by samples between its elements.
 *
 *     Y[r,c,p,q] = mean (i:S, j:S) X[batch[r], c, y, x]     y = start + (p + (i + 1/2) / S) * bin
 *
 * bin is a region's height (or width) over the output's. A sample further than 1 outside is 0; one
 * beyond the last element lies on it. `max` is over all products of an element and its weight, as
 * the operator has always been computed.
 *
 * Where sampling_ratio is 0, data says S: ceil(bin), for each region and axis. Nodes in front count
 * them, and make tensors as long as the most of any region, over which the loops run; what is
 * beyond a region's own count is left out:
 *
 *     %rows = Cast(Ceil(bin))  %most_rows = ConstantOfShape(ReduceMax(%rows))  and of columns
 *     %y = RoiSamples(%x, %rois, %batch, %rows, %columns, %most_rows, %most_columns)
 */
#include <string.h>

#include "graph/expand.h"
#include "graph/ops/helpers.h"

enum { ROIS = 1, BATCH, COUNTS, MOST = COUNTS + 2 }; /* inputs; of both axes, rows first */

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

static bool
is_half_pixel(const Node *node)
{
	return strcmp(attr_string(node, "coordinate_transformation_mode"), "half_pixel") == 0;
}

/* What all axes share, and one of them at a sample: the two elements that it lies between. */
typedef struct Samples {
	ExprCtx *ctx;
	StageBuilder *y;
	const Tensor *rois;
	DType work;
	double scale;
	bool is_half_pixel;
	int64_t ratio;         /* samples along an axis of a bin; 0: data says how many */
	Tensor *const *counts; /* that data, of both axes */
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

/* How many samples a bin of the region that the stage is at has along axis d. */
static const Expr *
sample_count(const Samples *s, int d)
{
	if (s->ratio > 0)
		return expr_i64(s->ctx, s->ratio);
	return stage_read(s->y, s->counts[d],
	                  (const Expr *[]){stage_iter(s->y, 0), expr_i64(s->ctx, 0)});
}

/* Where sample i of output position p lies along axis d. */
static const Expr *
sample_place(const Samples *s, int d, const Dim *out, const Expr *p, const Expr *i)
{
	ExprCtx *ctx = s->ctx;
	const Expr *start = corner(s, 1 - d), *size = expr_sub(ctx, corner(s, 3 - d), start);
	if (!s->is_half_pixel)
		size = expr_max(ctx, size, number(s, 1));
	const Expr *bin = expr_div(ctx, size, dim_as(ctx, s->work, out));
	const Expr *half = expr_add(ctx, expr_cast(ctx, s->work, i), number(s, 0.5));
	const Expr *count = expr_cast(ctx, s->work, sample_count(s, d));
	const Expr *within = expr_div(ctx, expr_mul(ctx, half, bin), count);
	const Expr *before = expr_mul(ctx, expr_cast(ctx, s->work, p), bin);
	return expr_add(ctx, expr_add(ctx, start, before), within);
}

/* The mean, or 0 where a region has no samples. */
static const Expr *
of_samples(const Samples *s, bool is_max, const Expr *value)
{
	ExprCtx *ctx = s->ctx;
	const Expr *count = expr_mul(ctx, sample_count(s, 0), sample_count(s, 1));
	count = expr_max(ctx, count, expr_i64(ctx, 1));
	if (!is_max)
		return expr_div(ctx, value, expr_cast(ctx, s->work, count));
	for (int d = 0; d < 2 && s->ratio < 1; d++) {
		const Expr *is_any = expr_gt(ctx, sample_count(s, d), expr_i64(ctx, 0));
		value = expr_select(ctx, is_any, value, number(s, 0));
	}
	return value;
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

/* The four elements around a sample by their weights: their sum, or the largest. */
static const Expr *
sample_value(const Samples *s, const Build *b, bool is_max, const Axis *rows, const Axis *columns)
{
	ExprCtx *ctx = s->ctx;
	const Tensor *x = b->in[0];
	const Expr *value = NULL;
	const Expr *image = stage_read(s->y, b->in[BATCH], (const Expr *[]){stage_iter(s->y, 0)});
	image = expr_at(ctx, expr_cast(ctx, DT_I64, image), x->hi[0], AT_CHECK);
	for (int k = 0; k < 4; k++) {
		const Expr *at[] = {image, stage_iter(s->y, 1), rows->index[k / 2], columns->index[k % 2]};
		const Expr *weight = expr_mul(ctx, rows->weight[k / 2], columns->weight[k % 2]);
		const Expr *term = expr_mul(ctx, weight, scalar_as(ctx, s->work, stage_read(s->y, x, at)));
		value = !value ? term : is_max ? expr_max(ctx, value, term) : expr_add(ctx, value, term);
	}
	const Expr *is_inside = expr_and(ctx, rows->is_inside, columns->is_inside);
	return expr_select(ctx, is_inside, value, number(s, 0));
}

void
build_RoiSamples(Build *b)
{
	ExprCtx *ctx = b->ctx;
	const Tensor *x = b->in[0];
	const Type *out = b->out_types[0];
	bool is_max = strcmp(attr_string(b->node, "mode"), "max") == 0;
	StageBuilder *y = output_open(b, 0);
	Samples s = {ctx,
	             y,
	             b->in[ROIS],
	             work_type2(x->type, b->in[ROIS]->type),
	             (double)attr_float(b->node, "spatial_scale"),
	             is_half_pixel(b->node),
	             attr_int(b->node, "sampling_ratio"),
	             b->in + COUNTS};
	Axis axes[2];
	const Expr *is_sample = expr_bool(ctx, true);
	for (int d = 0; d < 2; d++) {
		const Dim *most = s.ratio > 0 ? dim_const(ctx, s.ratio) : b->in[MOST + d]->hi[0];
		const Expr *i = stage_over(y, d ? "j" : "i", dim_const(ctx, 0), most);
		if (s.ratio < 1)
			is_sample = expr_and(ctx, is_sample, expr_lt(ctx, i, sample_count(&s, d)));
		const Expr *place = sample_place(&s, d, out->dims[2 + d], stage_iter(y, 2 + d), i);
		axes[d] = axis_at(&s, x->hi[2 + d], place);
	}
	const Expr *value = sample_value(&s, b, is_max, &axes[0], &axes[1]);
	const Expr *none = is_max ? expr_lowest(ctx, s.work) : number(&s, 0);
	value = expr_select(ctx, is_sample, value, none);
	const Tensor *all = stage_reduce(y, is_max ? REDUCE_max : REDUCE_sum, s.work, value);
	s.y = output_open(b, 0);
	value = of_samples(&s, is_max, read_here(s.y, all));
	b->out[0] = stage_map(s.y, x->type, expr_cast(ctx, x->type, value));
}

/* ---- how many samples data says -------------------------------------------------------------- */

/* Of each region along axis d, and a tensor as long as the most of them. */
static void
count_samples(const Expander *m, Value *const *corners, int d, Value **inputs)
{
	DType type = corners[0]->type.dtype;
	double out = (double)attr_int(m->node, d ? "output_width" : "output_height");
	Value *size = expander_binary(m, "Sub", corners[3 - d], corners[1 - d]);
	if (!is_half_pixel(m->node))
		size = expander_binary(m, "Max", size, expander_number(m, type, 1));
	Value *bin = expander_binary(m, "Div", size, expander_number(m, type, out));
	bin = expander_unary(m, "Ceil", bin);
	inputs[COUNTS + d] = expander_cast(m, bin, DT_I64);
	Value *of[] = {inputs[COUNTS + d], expander_integer(m, 1, 0)};
	Node *most = expander_node(m, "ReduceMax", 2, of, 1);
	node_set_int(most, "keepdims", 0);
	Value *length = expander_binary(m, "Max", expander_result(m, most), expander_integer(m, 1, 0));
	inputs[MOST + d] = expander_unary(m, "ConstantOfShape", length);
}

void
expand_RoiAlign(Node *node)
{
	Expander m = {node->parent, node, node};
	Value *inputs[MOST + 2] = {node->inputs[0], node->inputs[ROIS], node->inputs[BATCH]};
	int count = BATCH + 1;
	if (attr_int(node, "sampling_ratio") < 1) {
		Value *corners[4], *rois = inputs[ROIS];
		DType type = work_type(rois->type.dtype);
		Value *scale = expander_number(&m, type, (double)attr_float(node, "spatial_scale"));
		rois = expander_binary(&m, "Mul", expander_cast(&m, rois, type), scale);
		if (is_half_pixel(node)) /* rounds as the corners do */
			rois = expander_binary(&m, "Sub", rois, expander_number(&m, type, 0.5));
		expander_split(&m, rois, 4, (const int64_t[]){1, 1, 1, 1}, corners);
		for (int d = 0; d < 2; d++)
			count_samples(&m, corners, d, inputs);
		count = MOST + 2;
	}
	Node *made = expander_node(&m, "RoiSamples", count, inputs, 1);
	for (int i = 0; i < node->nattr; i++)
		node_add_attr(made, &node->attrs[i]);
	node_become(node, expander_result(&m, made));
}
