/* Quantisation: to and from low-precision numbers by a scale and a zero point.
 *
 *     Y[n,c] = T(round(X[n,c] / scale[c]) + zero[c])        QuantizeLinear
 *     Y[n,c] = (X[n,c] - zero[c]) * scale[c]                DequantizeLinear
 *
 * The conversion to an integer type saturates. Zero points of the float8 and float4 types are zero
 * by ONNX's rules and are not read. Quantised products subtract zero points before multiplying, so
 * that taps in the padding are worth nothing.
 */
#include "graph/ops/helpers.h"

static bool
is_storage_float(DType type)
{
	static const DType floats[] = {DT_F8E4M3FN, DT_F8E4M3FNUZ, DT_F8E5M2, DT_F8E5M2FNUZ, DT_F4E2M1};
	for (size_t i = 0; i < countof(floats); i++)
		if (type == floats[i])
			return true;
	return false;
}

/* A scale or zero point at this point of x: per tensor, per element of the axis, or one for each
 * block of the axis. */
static const Expr *
read_parameter(ExprCtx *ctx, StageBuilder *y, const Tensor *t, int rank, int axis, int64_t block)
{
	if (tensor_is_scalar(t))
		return stage_read_scalar(y, t);
	const Expr *index[MAX_RANK] = {NULL};
	if (block == 0) {
		index[0] = stage_iter(y, axis);
		return stage_read_checked(y, t, index);
	}
	loops_of(y, rank, index);
	index[axis] = index_div(ctx, index[axis], expr_i64(ctx, block));
	return stage_read_checked(y, t, index);
}

/* Parameter `k` must fit input 0: a scalar, a vector along the axis, or blocks along it. */
static void
infer_parameter(Infer *infer, int k)
{
	const Type *x = infer_input(infer, 0), *t = infer_input(infer, k);
	int64_t block = attr_int(infer->node, "block_size");
	if (!t || t->rank == 0 || (t->rank == 1 && dim_is(t->dims[0], 1)))
		return;
	if (block < 0)
		infer_fail(infer, "block_size %lld must not be negative", (long long)block);
	int axis = infer_axis(infer, attr_int(infer->node, "axis"), x->rank);
	if (t->rank != (block ? x->rank : 1))
		infer_fail(infer, "scale or zero point of rank %d, expected %d", t->rank,
		           block ? x->rank : 1);
	for (int i = 0; i < t->rank; i++) {
		const Dim *d = block ? x->dims[i] : x->dims[axis];
		if (block && i == axis)
			d = dim_ceildiv(infer->ctx, d, dim_const(infer->ctx, block));
		infer_equal(infer, t->dims[i], d, "dims of the scale or zero point and of x");
	}
}

static void
infer_quantised(Infer *infer, DType type)
{
	infer_parameter(infer, 1);
	infer_parameter(infer, 2);
	infer_as_first(infer, 0, type);
}

/* The axis attribute where the parameters need it: x of rank 0 or 1 has no other. */
static int
quantised_axis(const Build *b)
{
	return b->in[0]->rank < 2 ? 0 : build_axis(b, "axis", b->in[0]->rank);
}

/* ---- QuantizeLinear -------------------------------------------------------------------------- */

void
infer_QuantizeLinear(Infer *infer)
{
	const Type *zero = infer_input(infer, 2);
	DType asked = (DType)attr_int(infer->node, "output_dtype");
	DType type = zero ? zero->dtype : asked ? asked : DT_U8;
	if (attr_int(infer->node, "precision"))
		infer_float_attr(infer, "precision");
	if (zero && asked && asked != zero->dtype)
		infer_fail(infer, "output_dtype %s and zero point of type %s", dtype_name(asked),
		           dtype_name(zero->dtype));
	infer_quantised(infer, type);
}

/* x / scale as a number of the type: rounded half to even, moved by the zero point (NULL: none),
 * saturated. */
static const Expr *
quantised(ExprCtx *ctx, DType type, const Expr *ratio, const Expr *zero, int flags)
{
	if (is_storage_float(type))
		return expr_cast_flags(ctx, type, expr_cast(ctx, DT_F32, ratio), flags);
	const Expr *q = expr_cast(ctx, DT_F32, expr_round(ctx, ratio));
	if (zero)
		q = expr_add(ctx, q, scalar_as(ctx, DT_F32, zero));
	return expr_cast(ctx, type, q);
}

void
build_QuantizeLinear(Build *b)
{
	ExprCtx *ctx = b->ctx;
	const Tensor *x = b->in[0], *scale = b->in[1], *zero = b->in[2];
	int axis = quantised_axis(b);
	int64_t block = attr_int(b->node, "block_size");
	DType precision = (DType)attr_int(b->node, "precision");
	DType work = precision ? precision : dtype_is_float(scale->type) ? scale->type : DT_F32;
	StageBuilder *y = stage_open(ctx, "y", x->rank, x->hi);
	const Expr *s = read_parameter(ctx, y, scale, x->rank, axis, block);
	const Expr *z = zero ? read_parameter(ctx, y, zero, x->rank, axis, block) : NULL;
	const Expr *ratio =
		expr_div(ctx, scalar_as(ctx, work, read_here(y, x)), scalar_as(ctx, work, s));
	int flags = attr_int(b->node, "saturate") ? 0 : CAST_NOSAT;
	DType type = b->out_types[0]->dtype;
	b->out[0] = stage_map(y, type, quantised(ctx, type, ratio, z, flags));
}

/* ---- DequantizeLinear ------------------------------------------------------------------------ */

void
infer_DequantizeLinear(Infer *infer)
{
	DType asked = (DType)attr_int(infer->node, "output_dtype");
	DType type = asked ? asked : infer_input(infer, 1)->dtype;
	if (!dtype_is_float(type))
		infer_fail(infer, "a scale of type %s needs output_dtype", dtype_name(type));
	infer_quantised(infer, type);
}

void
build_DequantizeLinear(Build *b)
{
	ExprCtx *ctx = b->ctx;
	const Tensor *x = b->in[0], *scale = b->in[1], *zero = b->in[2];
	int axis = quantised_axis(b);
	int64_t block = attr_int(b->node, "block_size");
	DType type = b->out_types[0]->dtype;
	StageBuilder *y = stage_open(ctx, "y", x->rank, x->hi);
	const Expr *v = scalar_as(ctx, DT_F32, read_here(y, x));
	if (zero && !is_storage_float(x->type)) {
		const Expr *z = read_parameter(ctx, y, zero, x->rank, axis, block);
		v = expr_sub(ctx, v, scalar_as(ctx, DT_F32, z));
	}
	const Expr *s = read_parameter(ctx, y, scale, x->rank, axis, block);
	v = expr_mul(ctx, v, scalar_as(ctx, DT_F32, s));
	b->out[0] = stage_map(y, type, expr_cast(ctx, type, v));
}

/* ---- DynamicQuantizeLinear ------------------------------------------------------------------- */

void
infer_DynamicQuantizeLinear(Infer *infer)
{
	infer_as_first(infer, 0, DT_U8);
	infer_set(infer, 1, DT_F32, 0, NULL);
	infer_set(infer, 2, DT_U8, 0, NULL);
}

/* The largest number, and the largest of all that are negated: first of each row, or of all
 * channels of an image, so that both are found while a row is at hand. */
static Tensor *
ends_of(ExprCtx *ctx, const Tensor *x)
{
	const Tensor *high = x, *low = x;
	if (x->rank > 0) {
		Axes axes = AXIS(x->rank > 3 ? 1 : x->rank - 1);
		high = op_reduce(ctx, REDUCE_max, x, axes, false, DT_F32, DT_F32);
		low = op_reduce(ctx, REDUCE_min, x, axes, false, DT_F32, DT_F32);
	}
	StageBuilder *ends = stage_open(ctx, "ends", 1, (const Dim *[]){dim_const(ctx, 2)});
	const Expr *index[MAX_RANK];
	for (int d = 0; d < high->rank; d++)
		index[d] = stage_over(ends, "r", dim_const(ctx, 0), high->hi[d]);
	const Expr *is_high = expr_eq(ctx, stage_iter(ends, 0), expr_i64(ctx, 0));
	const Expr *least = expr_neg(ctx, stage_read(ends, low, index));
	const Expr *end = expr_select(ctx, is_high, stage_read(ends, high, index), least);
	return high->rank ? stage_reduce(ends, REDUCE_max, DT_F32, end) : stage_map(ends, DT_F32, end);
}

/* One of them, and 0. */
static Tensor *
extreme(ExprCtx *ctx, const Tensor *ends, int which, const char *text)
{
	StageBuilder *y = stage_open(ctx, "extreme", 0, NULL);
	const Expr *x = stage_read(y, ends, (const Expr *[]){expr_i64(ctx, which)});
	return stage_map(y, DT_F32, scalar_text(ctx, text, "x", &x));
}

void
build_DynamicQuantizeLinear(Build *b)
{
	ExprCtx *ctx = b->ctx;
	const Tensor *x = b->in[0], *ends = ends_of(ctx, x);
	Tensor *high = extreme(ctx, ends, 0, "max(x, 0)");
	Tensor *low = extreme(ctx, ends, 1, "min(-x, 0)");
	Tensor *scale = op_formula(ctx, "scale", DT_F32, "(hi == lo ? 1 : hi - lo) / 255", "hi lo", 0,
	                           (const Tensor *[]){high, low});

	/* zero = u8(round(0 - low / scale)) */
	StageBuilder *z = stage_open(ctx, "zero", 0, NULL);
	const Expr *shift = expr_div(ctx, stage_read_scalar(z, low), stage_read_scalar(z, scale));
	shift = expr_sub(ctx, expr_number(ctx, DT_F32, 0), shift);
	Tensor *zero = stage_map(z, DT_U8, quantised(ctx, DT_U8, shift, NULL, 0));

	StageBuilder *y = stage_open(ctx, "y", x->rank, x->hi);
	const Expr *ratio = expr_div(ctx, read_here(y, x), stage_read_scalar(y, scale));
	if (b->out_types[0])
		b->out[0] =
			stage_map(y, DT_U8, quantised(ctx, DT_U8, ratio, stage_read_scalar(y, zero), 0));
	if (b->out_types[1])
		b->out[1] = scale;
	if (b->out_types[2])
		b->out[2] = zero;
}

/* ---- products of integers -------------------------------------------------------------------- */

void
infer_ConvInteger(Infer *infer)
{
	const Type *w = infer_input(infer, 1);
	infer_convolution(infer, infer_input(infer, 0), w, DT_I32);
	infer_single(infer, 2);
	infer_single_or_vector(infer, 3, w->dims[0]);
}

void
build_ConvInteger(Build *b)
{
	b->out[0] = op_conv(b->ctx, b->node, b->in[0], b->in[1], b->in[2], b->in[3], DT_I32, DT_I32);
}

void
infer_MatMulInteger(Infer *infer)
{
	infer_product(infer, infer_input(infer, 0), infer_input(infer, 1), DT_I32);
	infer_product_parameter(infer, 2, 0, true);
	infer_product_parameter(infer, 3, 1, false);
}

void
build_MatMulInteger(Build *b)
{
	b->out[0] = op_matmul_zero(b->ctx, b->in[0], b->in[1], b->in[2], b->in[3], b->out_types[0],
	                           DT_I32, DT_I32);
}

/* ---- products of quantised tensors -----------------------------------------------------------
 *
 *     Y = T(round(f32(product) * (x_scale * w_scale / y_scale)) + y_zero)
 */

static const Expr *
requantised(ExprCtx *ctx, StageBuilder *y, const Expr *product, const Expr *x_scale,
            const Expr *w_scale, const Tensor *y_scale, const Tensor *y_zero)
{
	const Expr *factor =
		expr_mul(ctx, scalar_as(ctx, DT_F32, x_scale), scalar_as(ctx, DT_F32, w_scale));
	factor = expr_div(ctx, factor, scalar_as(ctx, DT_F32, stage_read_scalar(y, y_scale)));
	const Expr *real = expr_mul(ctx, scalar_as(ctx, DT_F32, product), factor);
	return quantised(ctx, y_zero->type, real, stage_read_scalar(y, y_zero), 0);
}

void
infer_QLinearConv(Infer *infer)
{
	static const int singles[] = {1, 2, 6, 7};
	const Type *w = infer_input(infer, 3);
	infer_convolution(infer, infer_input(infer, 0), w, infer_input(infer, 7)->dtype);
	for (size_t i = 0; i < countof(singles); i++)
		infer_single(infer, singles[i]);
	for (int k = 4; k <= 5; k++)
		infer_single_or_vector(infer, k, w->dims[0]);
	infer_vector(infer, 8, w->dims[0]);
}

void
build_QLinearConv(Build *b)
{
	ExprCtx *ctx = b->ctx;
	const Tensor *const *in = (const Tensor *const *)b->in;
	Tensor *sum = op_conv(ctx, b->node, in[0], in[3], in[2], in[5], DT_I32, DT_I32);
	StageBuilder *y = stage_open(ctx, "y", sum->rank, sum->hi);
	const Expr *f = stage_iter(y, 1), *product = read_here(y, sum);
	if (in[8])
		product = expr_add(ctx, product, stage_read_checked(y, in[8], &f));
	const Expr *body = requantised(ctx, y, product, stage_read_scalar(y, in[1]),
	                               read_scalar_or_vector(y, in[4], f), in[6], in[7]);
	b->out[0] = stage_map(y, in[7]->type, body);
}

void
infer_QLinearMatMul(Infer *infer)
{
	infer_product(infer, infer_input(infer, 0), infer_input(infer, 3),
	              infer_input(infer, 7)->dtype);
	for (int k = 1; k <= 2; k++)
		infer_product_parameter(infer, k, 0, true);
	for (int k = 4; k <= 5; k++)
		infer_product_parameter(infer, k, 3, false);
	for (int k = 6; k <= 7; k++)
		infer_single(infer, k);
}

void
build_QLinearMatMul(Build *b)
{
	ExprCtx *ctx = b->ctx;
	const Tensor *const *in = (const Tensor *const *)b->in;
	bool is_float = is_storage_float(in[0]->type) || is_storage_float(in[3]->type);
	DType acc = is_float ? DT_F32 : DT_I32;
	Tensor *sum = op_matmul_zero(ctx, in[0], in[3], in[2], in[5], b->out_types[0], acc, acc);
	StageBuilder *y = stage_open(ctx, "y", sum->rank, sum->hi);
	int columns = in[3]->rank > 1, rows = in[0]->rank > 1, batch = sum->rank - rows - columns;
	const Expr *m = rows ? stage_iter(y, batch) : NULL;
	const Expr *n = columns ? stage_iter(y, sum->rank - 1) : NULL;
	const Expr *a_scale = read_product_parameter(ctx, y, in[1], batch, m, NULL);
	const Expr *b_scale = read_product_parameter(ctx, y, in[4], batch, NULL, n);
	const Expr *body = requantised(ctx, y, read_here(y, sum), a_scale, b_scale, in[6], in[7]);
	b->out[0] = stage_map(y, in[7]->type, body);
}
