/* Normalisation: mean and variance over some axes, then (x - mean) / deviation.
 *
 *     m[n]   = sum(c:C) X[n,c] / C
 *     v[n]   = sum(c:C) (X[n,c] - m[n])^2 / C
 *     Y[n,c] = (X[n,c] - m[n]) / sqrt(v[n] + epsilon) * scale[c] + bias[c]
 *
 * The variance is of deviations, not E[x^2] - E[x]^2: it does not cancel. Statistics of f16 and
 * bf16 are in f32.
 */
#include "graph/ops/helpers.h"

/* Mean and deviation sqrt(variance + epsilon) over `axes`, in type work. */
typedef struct Moments {
	Tensor *mean, *deviation;
} Moments;

static Tensor *
deviation_of(ExprCtx *ctx, const Tensor *variance, double epsilon)
{
	StageBuilder *d = stage_open(ctx, "deviation", variance->rank, variance->hi);
	const Expr *v = read_here(d, variance);
	if (epsilon != 0)
		v = expr_add(ctx, v, expr_number(ctx, variance->type, epsilon));
	return stage_map(d, variance->type, expr_sqrt(ctx, v));
}

static Moments
moments(ExprCtx *ctx, const Tensor *x, Axes axes, double epsilon, DType work)
{
	Tensor *mean = op_mean(ctx, x, axes, false, work);
	Tensor *variance = op_variance(ctx, x, mean, axes, work);
	return (Moments){mean, deviation_of(ctx, variance, epsilon)};
}

/* (x - mean) / deviation, as type `type`, where mean and deviation are scalars of type work. */
static const Expr *
standardised(ExprCtx *ctx, const Expr *x, const Expr *mean, const Expr *deviation, DType type)
{
	const Expr *d = expr_sub(ctx, scalar_as(ctx, (DType)mean->type, x), mean);
	return expr_cast(ctx, type, expr_div(ctx, d, deviation));
}

/* n * scale + bias; either may be NULL. */
static const Expr *
scaled(ExprCtx *ctx, const Expr *n, const Expr *scale, const Expr *bias)
{
	if (scale)
		n = expr_mul(ctx, n, scale);
	return bias ? expr_add(ctx, n, bias) : n;
}

/* ---- BatchNormalization ---------------------------------------------------------------------- */

/* Parameters are given per channel. */
static void
infer_channels(Infer *infer, const Type *x, int first, int last)
{
	const Dim *channels = x->rank > 1 ? x->dims[1] : dim_const(infer->ctx, 1);
	for (int k = first; k <= last; k++)
		if (infer_input(infer, k)->rank != 0)
			infer_vector(infer, k, channels);
}

void
infer_BatchNormalization(Infer *infer)
{
	const Type *x = infer_input(infer, 0), *mean = infer_input(infer, 3);
	bool is_training = attr_int(infer->node, "training_mode") != 0;
	infer_least_rank(infer, 0, 1);
	infer_channels(infer, x, 1, 4);
	for (int k = 3; k <= 4 && is_training; k++)
		infer_rank(infer, k, 1);
	infer_as_first(infer, 0, x->dtype);
	for (int k = 1; k < 3; k++) {
		if (infer_wants(infer, k) && !is_training)
			infer_fail(infer, "output %d exists in training mode only", k);
		infer_set_type(infer, k, mean);
	}
}

/* A parameter of the channel of this point, in type work; the first of a vector where x has no
 * channels. */
static const Expr *
read_channel(StageBuilder *y, ExprCtx *ctx, const Tensor *t, int rank, DType work)
{
	const Expr *c = rank > 1 ? stage_iter(y, 1) : expr_i64(ctx, 0);
	return scalar_as(ctx, work,
	                 t->rank == 0 ? stage_read_scalar(y, t) : stage_read_checked(y, t, &c));
}

/* old * momentum + new * (1 - momentum) */
static Tensor *
running(ExprCtx *ctx, const Tensor *old, const Tensor *now, float momentum)
{
	DType work = now->type;
	StageBuilder *y = stage_open(ctx, "running", old->rank, old->hi);
	const Expr *kept =
		expr_mul(ctx, scalar_as(ctx, work, read_here(y, old)), expr_number(ctx, work, momentum));
	const Expr *value = now->rank == 0 ? stage_read_scalar(y, now) : read_here(y, now);
	const Expr *added = expr_mul(ctx, value, expr_number(ctx, work, 1.0f - momentum));
	return stage_map(y, old->type, expr_cast(ctx, old->type, expr_add(ctx, kept, added)));
}

void
build_BatchNormalization(Build *b)
{
	ExprCtx *ctx = b->ctx;
	const Tensor *x = b->in[0], *mean = b->in[3], *variance = b->in[4];
	DType work = work_type2(work_type2(x->type, b->in[1]->type), mean->type);
	if (attr_int(b->node, "training_mode")) {
		Axes axes = axes_from(0, x->rank) & ~AXIS(1);
		float momentum = attr_float(b->node, "momentum");
		mean = op_mean(ctx, x, axes, false, work);
		variance = op_variance(ctx, x, mean, axes, work);
		if (b->out_types[1])
			b->out[1] = running(ctx, b->in[3], mean, momentum);
		if (b->out_types[2])
			b->out[2] = running(ctx, b->in[4], variance, momentum);
	}
	Tensor *deviation =
		deviation_of(ctx, op_cast(ctx, variance, work), attr_float(b->node, "epsilon"));
	StageBuilder *y = stage_open(ctx, "y", x->rank, x->hi);
	const Expr *n = standardised(ctx, read_here(y, x), read_channel(y, ctx, mean, x->rank, work),
	                             read_channel(y, ctx, deviation, x->rank, work), work);
	const Expr *body = scaled(ctx, n, read_channel(y, ctx, b->in[1], x->rank, work),
	                          read_channel(y, ctx, b->in[2], x->rank, work));
	b->out[0] = stage_map(y, x->type, expr_cast(ctx, x->type, body));
}

/* ---- over trailing axes: LayerNormalization, RMSNormalization -------------------------------- */

/* Scale and bias broadcast to x, statistics are in a float type. */
static void
infer_scaled(Infer *infer, const Type *x, int first, int last)
{
	infer_float_attr(infer, "stash_type");
	for (int k = first; k <= last; k++)
		infer_broadcast_to(infer, k, x->rank, x->dims);
}

static DType
stash_type(const Node *node)
{
	return work_type((DType)attr_int(node, "stash_type"));
}

/* Outputs 1 and 2 of LayerNormalization: extent 1 in the normalised axes. */
static void
infer_statistics(Infer *infer, int output, const Type *x, int axis)
{
	const Dim *dims[MAX_RANK];
	for (int i = 0; i < x->rank; i++)
		dims[i] = i < axis ? x->dims[i] : dim_const(infer->ctx, 1);
	infer_set(infer, output, (DType)attr_int(infer->node, "stash_type"), x->rank, dims);
}

void
infer_LayerNormalization(Infer *infer)
{
	const Type *x = infer_input(infer, 0);
	infer_scaled(infer, x, 1, 2);
	infer_as_first(infer, 0, x->dtype);
	int axis = infer_axis(infer, attr_int(infer->node, "axis"), x->rank);
	for (int k = 1; k < 3; k++)
		infer_statistics(infer, k, x, axis);
}

/* A statistic with extent 1 in the normalised axes (inverted: one over it). */
static Tensor *
kept_statistic(ExprCtx *ctx, const Tensor *row, const Type *type, bool inverted)
{
	StageBuilder *y = stage_open(ctx, "statistic", type->rank, type->dims);
	const Expr *value = read_row(y, row, type->rank, axes_from(row->rank, type->rank));
	if (inverted)
		value = expr_div(ctx, expr_number(ctx, row->type, 1), value);
	return stage_map(y, type->dtype, expr_cast(ctx, type->dtype, value));
}

void
build_LayerNormalization(Build *b)
{
	ExprCtx *ctx = b->ctx;
	const Tensor *x = b->in[0], *scale = b->in[1], *bias = b->in[2];
	Axes axes = axes_from(build_axis(b, "axis", x->rank), x->rank);
	const Tensor *stashed = op_cast(ctx, x, stash_type(b->node));
	Moments row = moments(ctx, stashed, axes, attr_float(b->node, "epsilon"), stashed->type);
	StageBuilder *y = stage_open(ctx, "y", x->rank, x->hi);
	const Expr *n = standardised(ctx, read_here(y, stashed), read_row(y, row.mean, x->rank, axes),
	                             read_row(y, row.deviation, x->rank, axes), x->type);
	b->out[0] = stage_map(y, x->type,
	                      scaled(ctx, n, stage_read_broadcast(y, scale),
	                             bias ? stage_read_broadcast(y, bias) : NULL));
	if (b->out_types[1])
		b->out[1] = kept_statistic(ctx, row.mean, b->out_types[1], false);
	if (b->out_types[2])
		b->out[2] = kept_statistic(ctx, row.deviation, b->out_types[2], true);
}

void
infer_RMSNormalization(Infer *infer)
{
	const Type *x = infer_input(infer, 0);
	infer_scaled(infer, x, 1, 1);
	infer_as_first(infer, 0, infer_input(infer, 1)->dtype);
	infer_axis(infer, attr_int(infer->node, "axis"), x->rank);
}

/* Y = T(X / sqrt(mean of X^2 + epsilon)) * scale */
void
build_RMSNormalization(Build *b)
{
	ExprCtx *ctx = b->ctx;
	const Tensor *x = b->in[0], *scale = b->in[1];
	Axes axes = axes_from(build_axis(b, "axis", x->rank), x->rank);
	const Tensor *stashed = op_cast(ctx, x, stash_type(b->node));
	Tensor *squares = op_variance(ctx, stashed, NULL, axes, stashed->type);
	Tensor *root = deviation_of(ctx, squares, attr_float(b->node, "epsilon"));
	StageBuilder *y = stage_open(ctx, "y", x->rank, x->hi);
	const Expr *n = expr_div(ctx, read_here(y, stashed), read_row(y, root, x->rank, axes));
	n = expr_cast(ctx, scale->type, expr_cast(ctx, x->type, n));
	b->out[0] = stage_map(y, scale->type, expr_mul(ctx, n, stage_read_broadcast(y, scale)));
}

/* ---- per channel or group of channels -------------------------------------------------------- */

void
infer_channelwise(Infer *infer)
{
	const Type *x = infer_input(infer, 0);
	infer_least_rank(infer, 0, 3);
	infer_channels(infer, x, 1, 2);
	infer_as_first(infer, 0, x->dtype);
}

void
build_InstanceNormalization(Build *b)
{
	ExprCtx *ctx = b->ctx;
	const Tensor *x = b->in[0];
	DType work = work_type(x->type);
	Axes axes = axes_from(2, x->rank);
	Moments row = moments(ctx, x, axes, attr_float(b->node, "epsilon"), work);
	StageBuilder *y = stage_open(ctx, "y", x->rank, x->hi);
	const Expr *n = standardised(ctx, read_here(y, x), read_row(y, row.mean, x->rank, axes),
	                             read_row(y, row.deviation, x->rank, axes), work);
	const Expr *body = scaled(ctx, n, read_channel(y, ctx, b->in[1], x->rank, work),
	                          read_channel(y, ctx, b->in[2], x->rank, work));
	b->out[0] = stage_map(y, x->type, expr_cast(ctx, x->type, body));
}

void
infer_GroupNormalization(Infer *infer)
{
	const Type *x = infer_input(infer, 0);
	int64_t groups = attr_int(infer->node, "num_groups"), channels;
	if (groups < 1)
		infer_fail(infer, "num_groups %lld must be positive", (long long)groups);
	if (x->rank > 1 && dim_is_const(x->dims[1], &channels) && channels % groups != 0)
		infer_fail(infer, "num_groups %lld does not divide %lld channels", (long long)groups,
		           (long long)channels);
	infer_float_attr(infer, "stash_type");
	infer_channelwise(infer);
}

/* V[n,g,c,…] = X[n, g*C + c, …] with C channels in each group, in type work. */
static Tensor *
grouped_channels(ExprCtx *ctx, const Tensor *x, int64_t groups, DType work)
{
	const Dim *per_group = dim_floordiv(ctx, x->hi[1], dim_const(ctx, groups));
	const Dim *dims[MAX_RANK + 1] = {x->hi[0], dim_const(ctx, groups), per_group};
	for (int i = 2; i < x->rank; i++)
		dims[i + 1] = x->hi[i];
	StageBuilder *v = stage_open(ctx, "grouped", x->rank + 1, dims);
	const Expr *first = index_mul(ctx, stage_iter(v, 1), per_group);
	const Expr *index[MAX_RANK] = {stage_iter(v, 0), index_add(ctx, first, stage_iter(v, 2))};
	for (int i = 2; i < x->rank; i++)
		index[i] = stage_iter(v, i + 1);
	return stage_map(v, work, scalar_as(ctx, work, stage_read_checked(v, x, index)));
}

void
build_GroupNormalization(Build *b)
{
	ExprCtx *ctx = b->ctx;
	const Tensor *x = b->in[0];
	Tensor *grouped =
		grouped_channels(ctx, x, attr_int(b->node, "num_groups"), stash_type(b->node));
	Moments group = moments(ctx, grouped, axes_from(2, grouped->rank),
	                        attr_float(b->node, "epsilon"), grouped->type);
	StageBuilder *y = stage_open(ctx, "y", x->rank, x->hi);
	const Expr *at[] = {stage_iter(y, 0), index_div(ctx, stage_iter(y, 1), grouped->hi[2])};
	const Expr *n = standardised(ctx, read_here(y, x), stage_read_checked(y, group.mean, at),
	                             stage_read_checked(y, group.deviation, at), x->type);
	b->out[0] = stage_map(y, x->type,
	                      scaled(ctx, n, read_channel(y, ctx, b->in[1], x->rank, x->type),
	                             read_channel(y, ctx, b->in[2], x->rank, x->type)));
}

/* ---- over an axis or a set of axes ----------------------------------------------------------- */

void
infer_LpNormalization(Infer *infer)
{
	infer_along_axis(infer);
	int64_t p = attr_int(infer->node, "p");
	if (p != 1 && p != 2)
		infer_fail(infer, "p = %lld, expected 1 or 2", (long long)p);
}

/* Y[n,c] = norm[n] == 0 ? 0 : X[n,c] / norm[n] */
void
build_LpNormalization(Build *b)
{
	ExprCtx *ctx = b->ctx;
	const Tensor *x = b->in[0];
	DType work = work_type(x->type);
	Axes axis = AXIS(build_axis(b, "axis", x->rank));
	bool is_l2 = attr_int(b->node, "p") == 2;
	const Expr *index[MAX_RANK];
	StageBuilder *s = reduction_open(ctx, "sum", x, axis, false, index);
	const Expr *value = scalar_as(ctx, work, stage_read(s, x, index));
	const Expr *term = is_l2 ? expr_mul(ctx, value, value) : expr_abs(ctx, value);
	Tensor *norm = stage_reduce_acc(s, REDUCE_sum, work, work, term);
	if (is_l2)
		norm = op_formula(ctx, "sqrt", work, "sqrt(x)", "x", 0, (const Tensor *[]){norm});
	b->out[0] = op_formula(ctx, "y", x->type, "norm == 0 ? 0 : x / norm", "x norm", axis,
	                       (const Tensor *[]){x, norm});
}

/* The axes attribute as a set. */
static Axes
axes_attribute(const Node *node, int rank)
{
	int64_t count;
	const int64_t *values = attr_ints(node, "axes", &count);
	Axes axes = 0;
	for (int64_t i = 0; i < count; i++)
		axes |= AXIS(values[i] < 0 ? values[i] + rank : values[i]);
	return axes;
}

void
infer_MeanVarianceNormalization(Infer *infer)
{
	const Type *x = infer_input(infer, 0);
	infer_as_first(infer, 0, x->dtype);
	int64_t count;
	const int64_t *values = attr_ints(infer->node, "axes", &count);
	for (int64_t i = 0; i < count; i++)
		infer_axis(infer, values[i], x->rank);
}

/* Y = (X - mean) / (sqrt(variance) + 1e-9) */
void
build_MeanVarianceNormalization(Build *b)
{
	ExprCtx *ctx = b->ctx;
	const Tensor *x = b->in[0];
	Axes axes = axes_attribute(b->node, x->rank);
	Moments row = moments(ctx, x, axes, 0, work_type(x->type));
	b->out[0] = op_formula(ctx, "y", x->type, "(x - mean) / (deviation + 1e-9)", "x mean deviation",
	                       axes, (const Tensor *[]){x, row.mean, row.deviation});
}

/* ---- LRN ------------------------------------------------------------------------------------- */

void
infer_LRN(Infer *infer)
{
	infer_least_rank(infer, 0, 3);
	if (attr_int(infer->node, "size") < 1)
		infer_fail(infer, "size must be positive");
	infer_same(infer);
}

/* S[n,c,…] = sum(k:size) X[n, c+k-(size-1)/2, …]^2;  Y = X / (bias + alpha/size * S)^beta */
void
build_LRN(Build *b)
{
	ExprCtx *ctx = b->ctx;
	const Tensor *x = b->in[0];
	DType work = work_type(x->type);
	int64_t size = attr_int(b->node, "size");
	StageBuilder *s = stage_open(ctx, "squares", x->rank, x->hi);
	const Expr *k = stage_over(s, "k", dim_const(ctx, 0), dim_const(ctx, size));
	const Expr *index[MAX_RANK];
	loops_of(s, x->rank, index);
	index[1] = index_shift(ctx, index_add(ctx, index[1], k), -((size - 1) / 2));
	const Expr *v = scalar_as(ctx, work, stage_read(s, x, index));
	Tensor *squares = stage_reduce_acc(s, REDUCE_sum, work, work, expr_mul(ctx, v, v));

	StageBuilder *y = stage_open(ctx, "y", x->rank, x->hi);
	const Expr *alpha = expr_number(ctx, work, attr_float(b->node, "alpha") / (float)size);
	const Expr *base = expr_add(ctx, expr_number(ctx, work, attr_float(b->node, "bias")),
	                            expr_mul(ctx, alpha, read_here(y, squares)));
	const Expr *power = expr_pow(ctx, base, expr_number(ctx, work, attr_float(b->node, "beta")));
	const Expr *body = expr_div(ctx, scalar_as(ctx, work, read_here(y, x)), power);
	b->out[0] = stage_map(y, x->type, expr_cast(ctx, x->type, body));
}
