/* Resize: every output element is a weighted sum of input elements around its position.
 *
 *     x(p)   = (f32(p) + 0.5) / scale - 0.5          (half_pixel; other modes in `position`)
 *     Y[p]   = X[round(x(p))]                        nearest
 *     W[p,r] = kernel((r - (x(p) - base(p))) * s)    linear, cubic; s < 1 stretches (antialias)
 *     Y[p]   = sum(r:taps) W[p,r] * X[base(p) + r]   base(p) = ceil(x(p)) - 1, clamped positions
 *
 * One axis after the other; the weights of an axis are a small table. Positions are f32 in ONNX's
 * order of operations, so that borders between pixels fall where ONNX puts them. Where ties decide
 * and extents are given, x(p) is (f32(p) + 0.5) * in / out - 0.5: rounded twice, no tie is one.
 */
#include "graph/ops/helpers.h"

#include <math.h>
#include <string.h>

/* One axis to resize. */
typedef struct Axis {
	int axis, place; /* of x; of scales, sizes and roi */
	const Dim *in, *out;
	const Expr *scale, *width; /* f32; width: the result's extent before rounding */
	bool is_same;              /* every element stays in its place */
	bool is_ratio;             /* divides by out / in, where ties must stay ties */
} Axis;

typedef struct Resize {
	ExprCtx *ctx;
	const Node *node;
	int count; /* of scales, sizes: half of roi */
	const char *coordinates;
	const Tensor *roi;      /* NULL unless coordinates ask for it */
	const Array *known_roi; /* its numbers, where constant */
} Resize;

enum { ROI = 1, SCALES = 2, SIZES = 3 };

/* ---- attributes and extents ------------------------------------------------------------------ */

static bool
attr_is(const Node *node, const char *name, const char *value)
{
	return strcmp(attr_string(node, name), value) == 0;
}

/* Whether the nearest pixel is one that ties decide about. */
static bool
rounds(const Node *node)
{
	return attr_is(node, "nearest_mode", "round_prefer_floor") ||
	       attr_is(node, "nearest_mode", "round_prefer_ceil");
}

/* The axes attribute (all axes where it is absent); returns their number. */
static int
resized_axes(const Node *node, int rank, int *axes)
{
	int64_t count;
	const int64_t *values = attr_ints(node, "axes", &count);
	for (int i = 0; i < (count < 0 ? rank : count); i++) {
		int64_t axis = count < 0 ? i : values[i];
		if (axis < -rank || axis >= rank || i >= rank)
			fail(&node->loc, "axis %lld of rank %d", (long long)axis, rank);
		axes[i] = (int)(axis < 0 ? axis + rank : axis);
	}
	return count < 0 ? rank : (int)count;
}

/* Whether an optional input is there; older models write an absent one as an empty tensor. */
static bool
is_present(const Type *type)
{
	return type && !(type->rank == 1 && dim_is(type->dims[0], 0));
}

/* min or max over the axes of size / extent, as f32: the scale that keeps the aspect ratio. */
static const Expr *
common_scale(ExprCtx *ctx, const Node *node, int count, const int *axes, const Dim *const *in,
             const Dim *const *sizes)
{
	bool not_larger = attr_is(node, "keep_aspect_ratio_policy", "not_larger");
	const Expr *common = NULL;
	for (int k = 0; k < count; k++) {
		const Expr *scale =
			expr_div(ctx, dim_as(ctx, DT_F32, sizes[k]), dim_as(ctx, DT_F32, in[axes[k]]));
		common = !common      ? scale
		         : not_larger ? expr_min(ctx, common, scale)
		                      : expr_max(ctx, common, scale);
	}
	return common;
}

static bool
keeps_aspect_ratio(const Node *node)
{
	return !attr_is(node, "keep_aspect_ratio_policy", "stretch");
}

/* floor(scale * in + shift) as a dim. */
static const Dim *
scaled_extent(Infer *infer, const Dim *in, const Expr *scale, double shift)
{
	ExprCtx *ctx = infer->ctx;
	const Expr *width = expr_mul(ctx, dim_as(ctx, DT_F32, in), scale);
	if (shift != 0)
		width = expr_add(ctx, width, expr_number(ctx, DT_F32, shift));
	const Expr *extent = expr_cast(ctx, DT_I64, expr_floor(ctx, width));
	int64_t value;
	if (expr_as_i64(extent, &value))
		return dim_const(ctx, value);
	if (shift == 0 && expr_is_const(scale) && expr_const_f64(scale) == floor(expr_const_f64(scale)))
		return dim_mul_i64(ctx, in, (int64_t)expr_const_f64(scale));
	return infer_symbol(infer, "R", extent);
}

/* Extents from constant scales; unknown ones while scales are not folded yet. */
static void
extents_by_scales(Infer *infer, const Type *x, int count, const int *axes, const Dim **dims)
{
	const Array *scales = infer_constant(infer, SCALES);
	if (scales && array_count(scales) != count)
		infer_fail(infer, "%lld scales for %d axes", (long long)array_count(scales), count);
	for (int k = 0; k < count; k++) {
		double scale = scales ? dtype_load_f64(scales->type, scales->data, k) : 1;
		if (!(scale > 0))
			infer_fail(infer, "scale %g of axis %d must be positive", scale, axes[k]);
		const Expr *s = expr_number(infer->ctx, DT_F32, scale);
		dims[axes[k]] = scales ? scaled_extent(infer, x->dims[axes[k]], s, 0)
		                       : infer_output_dim(infer, 0, axes[k]);
	}
}

static void
extents_by_sizes(Infer *infer, const Type *x, int count, const int *axes, const Dim **dims)
{
	int given = infer_length(infer, SIZES);
	if (given != count)
		infer_fail(infer, "%d sizes for %d axes", given, count);
	const Dim *sizes[MAX_RANK] = {NULL};
	for (int k = 0; k < count; k++)
		sizes[k] = dims[axes[k]] = infer_dim_value(infer, SIZES, k);
	if (!keeps_aspect_ratio(infer->node))
		return;
	const Expr *scale = common_scale(infer->ctx, infer->node, count, axes, x->dims, sizes);
	for (int k = 0; k < count; k++)
		dims[axes[k]] = scaled_extent(infer, x->dims[axes[k]], scale, 0.5);
}

static void
check_roi(Infer *infer, int count)
{
	const Type *roi = infer_input(infer, ROI);
	if (!roi || roi->rank != 1)
		infer_fail(infer, "tf_crop_and_resize needs a vector roi");
	infer_equal(infer, roi->dims[0], dim_const(infer->ctx, 2 * count), "length of roi");
}

static void
check_elements(Infer *infer, const Type *x, const Dim *const *dims)
{
	int64_t extent;
	for (int i = 0; i < x->rank; i++)
		if (dim_is(x->dims[i], 0) && dim_is_const(dims[i], &extent) && extent > 0)
			infer_fail(infer, "axis %d has no elements, expected some to make %lld of", i,
			           (long long)extent);
}

void
infer_Resize(Infer *infer)
{
	const Type *x = infer_input(infer, 0);
	bool by_scales = is_present(infer_input(infer, SCALES));
	bool by_sizes = is_present(infer_input(infer, SIZES));
	if (by_scales == by_sizes)
		infer_fail(infer, "expected either scales or sizes");
	int axes[MAX_RANK], count = resized_axes(infer->node, x->rank, axes);
	const Dim *dims[MAX_RANK];
	type_dims(x, dims);
	if (attr_is(infer->node, "coordinate_transformation_mode", "tf_crop_and_resize"))
		check_roi(infer, count);
	if (by_scales)
		extents_by_scales(infer, x, count, axes, dims);
	else
		extents_by_sizes(infer, x, count, axes, dims);
	check_elements(infer, x, dims);
	infer_set(infer, 0, x->dtype, x->rank, dims);
}

/* ---- positions ------------------------------------------------------------------------------- */

static const Expr *
f32(ExprCtx *ctx, double value)
{
	return expr_number(ctx, DT_F32, value);
}

/* Element k of roi. */
static const Expr *
roi_element(const Resize *z, StageBuilder *y, int k)
{
	if (z->known_roi)
		return f32(z->ctx, dtype_load_f64(z->known_roi->type, z->known_roi->data, k));
	const Expr *index[] = {expr_i64(z->ctx, k)};
	return expr_cast(z->ctx, DT_F32, stage_read(y, z->roi, index));
}

/* Where output position p lies in the input, f32. */
static const Expr *
position(const Resize *z, StageBuilder *y, const Axis *a, const Expr *iter)
{
	/* P, C: p, and p + 0.5, over the scale. */
	static const struct {
		const char *name, *text;
	} modes[] = {
		{"asymmetric", "P"},
		{"half_pixel", "C - 0.5"},
		{"pytorch_half_pixel", "n > 1 ? C - 0.5 : 0"},
		{"half_pixel_symmetric", "in/2 * (1 - out/w) + C - 0.5"}, /* the images' centres coincide */
		{"align_corners", "w == 1 ? 0 : p * last / (w - 1)"},
		{"tf_crop_and_resize",
	     "(w == 1 ? (end - start) * last / 2 : p * (end - start) * last / (w - 1)) "
	     "+ start * last"}, /* the middle of the region for width 1 */
	};
	ExprCtx *ctx = z->ctx;
	const Expr *p = expr_cast(ctx, DT_F32, iter), *centre = expr_add(ctx, p, f32(ctx, 0.5));
	const Expr *in = dim_as(ctx, DT_F32, a->in), *out = dim_as(ctx, DT_F32, a->out);
	const char *unscaled = a->is_ratio ? "p * in / out" : "p / s";
	const Expr *args[] = {
		p,
		in,
		out,
		a->out,
		a->width,
		dim_as(ctx, DT_F32, dim_add_i64(ctx, a->in, -1)),
		scalar_text(ctx, unscaled, "p in out s", (const Expr *[]){p, in, out, a->scale}),
		scalar_text(ctx, unscaled, "p in out s", (const Expr *[]){centre, in, out, a->scale}),
		z->roi ? roi_element(z, y, a->place) : NULL,
		z->roi ? roi_element(z, y, a->place + z->count) : NULL,
	};
	int mode = 0;
	while (strcmp(modes[mode].name, z->coordinates) != 0)
		mode++;
	return scalar_text(ctx, modes[mode].text, "p in out n w last P C start end", args);
}

/* A pixel that an axis has; 0 where data may have left it none. */
static const Expr *
pixel_of(ExprCtx *ctx, const Axis *a, const Expr *value)
{
	const Dim *none = dim_const(ctx, 0);
	if (dim_proves_lt(ctx, none, a->in))
		return value;
	return expr_select(ctx, expr_lt(ctx, none, a->in), value, expr_number(ctx, value->type, 0));
}

static const Expr *
is_outside(ExprCtx *ctx, const Axis *a, const Expr *x)
{
	const Expr *last = dim_as(ctx, DT_F32, dim_add_i64(ctx, a->in, -1));
	return scalar_text(ctx, "x < 0 || x > last", "x last", (const Expr *[]){x, last});
}

/* ---- nearest --------------------------------------------------------------------------------- */

/* The pixel of position x; between two, nearest_mode decides. */
static const Expr *
nearest_pixel(ExprCtx *ctx, const Node *node, const Expr *x)
{
	const char *text = attr_is(node, "nearest_mode", "floor")  ? "floor(x)"
	                   : attr_is(node, "nearest_mode", "ceil") ? "ceil(x)"
	                   : attr_is(node, "nearest_mode", "round_prefer_ceil")
	                       ? "x - floor(x) >= 0.5 ? floor(x) + 1 : floor(x)"
	                       : "x - floor(x) > 0.5 ? floor(x) + 1 : floor(x)";
	return scalar_text(ctx, text, "x", &x);
}

static Tensor *
resize_nearest(const Resize *z, const Tensor *x, const Type *type, int count, const Axis *axes)
{
	ExprCtx *ctx = z->ctx;
	StageBuilder *y = stage_open(ctx, "y", type->rank, type->dims);
	const Expr *index[MAX_RANK], *outside = NULL;
	loops_of(y, x->rank, index);
	for (int k = 0; k < count; k++) {
		const Axis *a = &axes[k];
		const Expr *at = position(z, y, a, stage_iter(y, a->axis));
		const Expr *pixel = expr_cast(ctx, DT_I64, nearest_pixel(ctx, z->node, at));
		index[a->axis] = expr_at(ctx, pixel, a->in, 0);
		const Expr *beyond = z->roi ? is_outside(ctx, a, at) : NULL;
		outside = outside ? expr_or(ctx, outside, beyond) : beyond;
	}
	const Expr *body = stage_read(y, x, index);
	for (int k = 0; k < count; k++)
		body = pixel_of(ctx, &axes[k], body);
	if (outside) {
		const Expr *fill = expr_number(ctx, x->type, attr_float(z->node, "extrapolation_value"));
		body = expr_select(ctx, outside, fill, body);
	}
	return stage_map(y, x->type, body);
}

/* ---- linear and cubic ------------------------------------------------------------------------ */

/* First tap relative to base(p), where the kernel reaches `support` pixels, stretched by 1/scale
 * for antialias. Taps beyond the kernel have weight 0, so a symbolic extent may round up. */
static const Dim *
first_tap(ExprCtx *ctx, const Node *node, const Axis *a, int64_t support)
{
	if (!attr_int(node, "antialias"))
		return dim_const(ctx, 1 - support);
	if (expr_is_const(a->scale)) {
		double scale = fmin(expr_const_f64(a->scale), 1);
		double reach =
			fmax(floor(-(double)support / scale), -0x1p62); /* a tiny scale: any number */
		return dim_const(ctx, (int64_t)reach + 1);
	}
	const Dim *reach = dim_mul_i64(ctx, a->in, -2 * support);
	const Dim *width = dim_add_i64(ctx, dim_mul_i64(ctx, a->out, 2), -1);
	const Dim *stretched = dim_floordiv(ctx, reach, width);
	return dim_add_i64(ctx, dim_min(ctx, stretched, dim_const(ctx, -support)), 1);
}

/* The pixel left of position x; x itself belongs to the pixel before it. */
static const Expr *
base_pixel(ExprCtx *ctx, const Expr *x)
{
	return scalar_text(ctx, "ceil(x) - 1", "x", &x);
}

/* Of a pixel at distance t. */
static const char CUBIC[] = "t <= 1 ? ((a + 2) * t - (a + 3)) * t * t + 1 : "
							"t < 2 ? ((a * t - 5 * a) * t + 8 * a) * t - 4 * a : 0";

/* W[r,p]: how much pixel base(p) + first + r counts at output position p. Positions are last: they
 * are what loops run along. */
static Tensor *
weight_table(const Resize *z, const Axis *a, const Dim *first, const Dim *taps)
{
	ExprCtx *ctx = z->ctx;
	bool antialias = attr_int(z->node, "antialias") != 0;
	bool exclude = attr_int(z->node, "exclude_outside") != 0;
	StageBuilder *w = stage_open(ctx, "weight", 2, (const Dim *[]){taps, a->out});
	const Expr *x = position(z, w, a, stage_iter(w, 1)), *base = base_pixel(ctx, x);
	const Expr *tap = index_add(ctx, stage_iter(w, 0), first);
	const Expr *cubic = f32(ctx, attr_float(z->node, "cubic_coeff_a"));
	const Expr *args[] = {tap, x, base, a->scale, cubic};
	const char *distance =
		antialias ? "abs((f32(tap) - (x - base)) * min(s, 1))" : "abs(f32(tap) - (x - base))";
	args[0] = scalar_text(ctx, distance, "tap x base s", args);
	const Expr *weight = scalar_text(
		ctx, attr_is(z->node, "mode", "linear") ? "max(1 - t, 0)" : CUBIC, "t x base s a", args);
	if (exclude) {
		const Expr *seen[] = {expr_cast(ctx, DT_I64, base), tap, a->in, weight};
		weight = scalar_text(ctx, "base + tap >= 0 && base + tap < in ? weight : 0",
		                     "base tap in weight", seen);
	}
	Tensor *table = stage_map(w, DT_F32, weight);
	if (!antialias && !exclude)
		return table;
	Tensor *sum = op_reduce(ctx, REDUCE_sum, table, AXIS(0), false, DT_F32, DT_F32);
	return op_formula(ctx, "weight", DT_F32, "w / (sum == 0 ? 1 : sum)", "w sum", AXIS(0),
	                  (const Tensor *[]){table, sum});
}

/* Where the position on this axis is outside the input: extrapolation_value. */
static Tensor *
extrapolated(const Resize *z, const Axis *a, const Tensor *x)
{
	ExprCtx *ctx = z->ctx;
	StageBuilder *y = stage_open(ctx, "y", x->rank, x->hi);
	const Expr *outside = is_outside(ctx, a, position(z, y, a, stage_iter(y, a->axis)));
	const Expr *fill = expr_number(ctx, x->type, attr_float(z->node, "extrapolation_value"));
	return stage_map(y, x->type, expr_select(ctx, outside, fill, read_here(y, x)));
}

/* x resized along one axis, in type work. */
static Tensor *
resize_axis(const Resize *z, const Tensor *x, const Axis *a, DType work)
{
	ExprCtx *ctx = z->ctx;
	int64_t support = attr_is(z->node, "mode", "linear") ? 1 : 2;
	const Dim *first = first_tap(ctx, z->node, a, support);
	const Dim *taps = dim_sub(ctx, dim_const(ctx, 2), dim_mul_i64(ctx, first, 2));
	Tensor *weights = weight_table(z, a, first, taps);

	const Dim *dims[MAX_RANK];
	for (int i = 0; i < x->rank; i++)
		dims[i] = i == a->axis ? a->out : x->hi[i];
	StageBuilder *y = stage_open(ctx, "along", x->rank, dims);
	const Expr *p = stage_iter(y, a->axis), *r = stage_over(y, "r", dim_const(ctx, 0), taps);
	const Expr *base = expr_cast(ctx, DT_I64, base_pixel(ctx, position(z, y, a, p)));
	const Expr *index[MAX_RANK];
	loops_of(y, x->rank, index);
	index[a->axis] = expr_at(ctx, index_add(ctx, base, index_add(ctx, r, first)), a->in, 0);
	const Expr *weight = stage_read(y, weights, (const Expr *[]){r, p});
	const Expr *pixel = pixel_of(ctx, a, scalar_as(ctx, work, stage_read(y, x, index)));
	const Expr *term = expr_mul(ctx, expr_cast(ctx, work, weight), pixel);
	Tensor *sum = stage_reduce_acc(y, REDUCE_sum, work, work, term);
	return z->roi ? extrapolated(z, a, sum) : sum;
}

/* As the result's type: integers are rounded, and saturate. */
static const Tensor *
as_result(ExprCtx *ctx, const Tensor *x, DType type)
{
	if (dtype_is_float(type))
		return op_cast(ctx, x, type);
	StageBuilder *y = stage_open(ctx, "y", x->rank, x->hi);
	return stage_map(y, type, expr_cast(ctx, type, expr_round(ctx, read_here(y, x))));
}

/* ---- the builder ----------------------------------------------------------------------------- */

/* The scale of axis a and the extent it asks for, from constant scales or from sizes. */
static void
axis_scale(const Build *b, Axis *a, const Expr *common)
{
	ExprCtx *ctx = b->ctx;
	const Expr *in = dim_as(ctx, DT_F32, a->in), *out = dim_as(ctx, DT_F32, a->out);
	if (is_present(b->in_types[SCALES])) {
		const Array *scales = b->constant[SCALES];
		if (!scales)
			build_fail(b, "scales must be constant");
		a->scale = f32(ctx, dtype_load_f64(scales->type, scales->data, a->place));
		a->width = expr_mul(ctx, a->scale, in);
		a->is_same = expr_is_one(a->scale);
	} else if (common) {
		a->scale = common;
		a->width = expr_mul(ctx, a->scale, in);
		a->is_same = expr_is_one(a->scale);
	} else {
		a->scale = expr_div(ctx, out, in);
		a->width = out;
		a->is_same = a->in == a->out;
		a->is_ratio = attr_is(b->node, "mode", "nearest") && rounds(b->node);
	}
}

/* Whether the region of axis k is the whole axis: always, without a roi. */
static bool
takes_all(const Resize *z, int k)
{
	if (!z->roi)
		return true;
	const Array *roi = z->known_roi;
	return roi && dtype_load_f64(roi->type, roi->data, k) == 0 &&
	       dtype_load_f64(roi->type, roi->data, k + z->count) == 1;
}

/* The axes of x that change, with their scales; returns their number. */
static int
axes_to_resize(const Build *b, Resize *z, Axis *changed)
{
	const Tensor *x = b->in[0];
	int axes[MAX_RANK], n = 0;
	const Dim *sizes[MAX_RANK] = {NULL};
	const Expr *common = NULL;
	z->count = resized_axes(b->node, x->rank, axes);
	if (is_present(b->in_types[SIZES]) && keeps_aspect_ratio(b->node)) {
		for (int k = 0; k < z->count; k++)
			sizes[k] = build_dim(b, SIZES, k);
		common = common_scale(b->ctx, b->node, z->count, axes, x->hi, sizes);
	}
	for (int k = 0; k < z->count; k++) {
		Axis a = {.axis = axes[k], .place = k, .in = x->hi[axes[k]]};
		a.out = b->out_types[0]->dims[axes[k]];
		axis_scale(b, &a, common);
		if (!a.is_same || !takes_all(z, k))
			changed[n++] = a;
	}
	return n;
}

void
build_Resize(Build *b)
{
	const Tensor *x = b->in[0];
	Resize z = {.ctx = b->ctx, .node = b->node};
	Axis axes[MAX_RANK];
	z.coordinates = attr_string(b->node, "coordinate_transformation_mode");
	if (strcmp(z.coordinates, "tf_crop_and_resize") == 0) {
		z.roi = b->in[ROI];
		z.known_roi = b->constant[ROI];
	}
	int count = axes_to_resize(b, &z, axes);
	if (attr_is(b->node, "mode", "nearest") || count == 0) {
		b->out[0] = resize_nearest(&z, x, b->out_types[0], count, axes);
		return;
	}
	DType work = dtype_bits(x->type) > 16 && x->type != DT_F32 ? DT_F64 : DT_F32;
	const Tensor *y = x;
	for (int k = 0; k < count; k++)
		y = resize_axis(&z, y, &axes[k], work);
	b->out[0] = as_result(b->ctx, y, x->type);
}
