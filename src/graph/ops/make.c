/* Operators whose result is made from positions and dims. */
#include "graph/ops/helpers.h"

/* ---- shapes ---------------------------------------------------------------------------------- */

void
build_Shape(Build *b)
{
	ExprCtx *ctx = b->ctx;
	const Tensor *x = b->in[0];
	int start, count;
	shape_range(b->node, x->rank, &start, &count);
	StageBuilder *y = output_open(b, 0);
	const Expr *at = stage_iter(y, 0);
	const Expr *body = count ? x->hi[start + count - 1] : expr_i64(ctx, 0);
	for (int i = count - 2; i >= 0; i--)
		body = expr_select(ctx, expr_eq(ctx, at, expr_i64(ctx, i)), x->hi[start + i], body);
	b->out[0] = stage_map(y, DT_I64, body);
}

void
build_Size(Build *b)
{
	StageBuilder *y = output_open(b, 0);
	b->out[0] = stage_map(y, DT_I64, dim_product(b->ctx, b->in[0]->rank, b->in[0]->hi));
}

void
build_ConstantOfShape(Build *b)
{
	const Attr *value = attr_find(b->node, "value");
	const Expr *body =
		value ? element_of_array(b->ctx, value->tensor, 0) : expr_number(b->ctx, DT_F32, 0);
	b->out[0] = stage_map(output_open(b, 0), b->out_types[0]->dtype, body);
}

/* ---- positions ------------------------------------------------------------------------------- */

/* start + i*delta, in f32 for the short floats */
void
build_Range(Build *b)
{
	ExprCtx *ctx = b->ctx;
	DType type = b->out_types[0]->dtype, work = work_type(type);
	StageBuilder *y = output_open(b, 0);
	const Expr *start = expr_cast(ctx, work, stage_read_scalar(y, b->in[0]));
	const Expr *delta = expr_cast(ctx, work, stage_read_scalar(y, b->in[2]));
	const Expr *i = expr_cast(ctx, work, stage_iter(y, 0));
	const Expr *body = expr_add(ctx, start, expr_mul(ctx, i, delta));
	b->out[0] = stage_map(y, type, expr_cast(ctx, type, body));
}

void
build_EyeLike(Build *b)
{
	ExprCtx *ctx = b->ctx;
	DType type = b->out_types[0]->dtype;
	StageBuilder *y = output_open(b, 0);
	const Expr *diagonal = index_shift(ctx, stage_iter(y, 0), attr_int(b->node, "k"));
	const Expr *is_one = expr_eq(ctx, stage_iter(y, 1), diagonal);
	b->out[0] = stage_map(y, type, expr_cast(ctx, type, is_one));
}

void
infer_Trilu(Infer *infer)
{
	infer_least_rank(infer, 0, 2);
	infer_single(infer, 1);
	infer_same(infer);
}

/* Which diagonal: any that lies outside is like those just outside, so that adding an index to it
 * does not overflow; extents are below these limits. */
static const Expr *
diagonal_offset(ExprCtx *ctx, const Expr *k)
{
	const Expr *most = expr_i64(ctx, (int64_t)1 << 31), *least = expr_i64(ctx, -((int64_t)1 << 31));
	return expr_min(ctx, expr_max(ctx, k, least), most);
}

void
build_Trilu(Build *b)
{
	ExprCtx *ctx = b->ctx;
	const Tensor *x = b->in[0];
	StageBuilder *y = output_open(b, 0);
	const Expr *column = stage_iter(y, x->rank - 1), *diagonal = stage_iter(y, x->rank - 2);
	if (b->in[1])
		diagonal = expr_add(ctx, diagonal, diagonal_offset(ctx, stage_read_scalar(y, b->in[1])));
	const Expr *is_kept = attr_int(b->node, "upper") ? expr_ge(ctx, column, diagonal)
	                                                 : expr_le(ctx, column, diagonal);
	const Expr *body = expr_select(ctx, is_kept, read_here(y, x), zero_of(ctx, x->type));
	b->out[0] = stage_map(y, x->type, body);
}

/* Y[…, d, …] = index == d ? values[1] : values[0]; a negative index counts from behind */
void
build_OneHot(Build *b)
{
	ExprCtx *ctx = b->ctx;
	const Type *type = b->out_types[0];
	const Tensor *x = b->in[0], *values = b->in[2];
	int axis = build_axis(b, "axis", type->rank);
	StageBuilder *y = output_open(b, 0);
	const Expr *index = expr_cast(ctx, DT_I64, read_row(y, x, type->rank, AXIS(axis)));
	const Expr *at = stage_iter(y, axis);
	const Expr *is_on = expr_or(ctx, expr_eq(ctx, index, at),
	                            expr_eq(ctx, expr_add(ctx, index, type->dims[axis]), at));
	const Expr *off = stage_read(y, values, (const Expr *[]){expr_i64(ctx, 0)});
	const Expr *on = stage_read(y, values, (const Expr *[]){expr_i64(ctx, 1)});
	b->out[0] = stage_map(y, type->dtype, expr_select(ctx, is_on, on, off));
}

void
infer_ReverseSequence(Infer *infer)
{
	const Type *x = infer_input(infer, 0);
	int64_t batch = attr_int(infer->node, "batch_axis"), time = attr_int(infer->node, "time_axis");
	infer_least_rank(infer, 0, 2);
	if (batch < 0 || batch > 1 || time != 1 - batch)
		infer_fail(infer, "batch_axis %lld and time_axis %lld, expected 0 and 1 or 1 and 0",
		           (long long)batch, (long long)time);
	infer_vector(infer, 1, x->dims[batch]);
	infer_same(infer);
}

/* Y[…t…] = t < length ? X[… length - 1 - t …] : X[…t…] */
void
build_ReverseSequence(Build *b)
{
	ExprCtx *ctx = b->ctx;
	const Tensor *x = b->in[0];
	int batch = build_axis(b, "batch_axis", x->rank), time = build_axis(b, "time_axis", x->rank);
	StageBuilder *y = output_open(b, 0);
	const Expr *index[MAX_RANK];
	loops_of(y, x->rank, index);
	const Expr *t = index[time], *as_is = stage_read(y, x, index);
	const Expr *at = index_within(ctx, index[batch], x->hi[batch], b->in[1]->hi[0]);
	const Expr *length = stage_read(y, b->in[1], &at);
	const Expr *mirrored = expr_sub(ctx, index_shift(ctx, length, -1), t);
	index[time] = expr_at(ctx, mirrored, x->hi[time], AT_CHECK);
	const Expr *body = expr_select(ctx, expr_lt(ctx, t, length), stage_read(y, x, index), as_is);
	b->out[0] = stage_map(y, x->type, body);
}
