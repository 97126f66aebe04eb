/* Infer functions of operators that make tensors from numbers: EyeLike, OneHot, Range. */
#include <math.h>

#include "graph/inner.h"

void
infer_EyeLike(Infer *infer)
{
	infer_rank(infer, 0, 2);
	infer_as_first(infer, 0, infer_type_attr(infer, "dtype", infer_input(infer, 0)->dtype));
}

/* max(ceil((limit - start) / by), 0). A step that is no number must be a size, and is taken as 1
 * where that comes to 0, which is no step. */
static const Dim *
range_length(Infer *infer, const Dim *start, const Dim *limit, const Dim *by)
{
	ExprCtx *ctx = infer->ctx;
	const Dim *none = dim_const(ctx, 0);
	bool falls = dim_proves_lt(ctx, by, none);
	if (dim_is(by, 0))
		infer_fail(infer, "delta is 0");
	if (!falls && !dim_proves_le(ctx, none, by))
		infer_wait(infer, 2, 0);
	const Dim *span = falls ? dim_sub(ctx, start, limit) : dim_sub(ctx, limit, start);
	const Dim *step = dim_max(ctx, falls ? dim_sub(ctx, none, by) : by, dim_const(ctx, 1));
	const Dim *count = dim_ceildiv(ctx, span, step);
	return dim_proves_le(ctx, none, count) ? count : dim_max(ctx, count, none);
}

/* A float as a dim, when it is whole: a number, or a dim converted, as rotary embeddings convert
 * the length of their sequence. f32 rounds what is above 2^24. NULL: not whole, or not known. */
static const Dim *
whole_number(Infer *infer, const Expr *e)
{
	ExprCtx *ctx = infer->ctx;
	if (expr_is_const(e)) {
		double value = expr_const_f64(e);
		bool is_whole = value == floor(value) && fabs(value) < 0x1p53;
		return is_whole ? dim_const(ctx, (int64_t)value) : NULL;
	}
	if (e->op != EX_cast || e->arg[0]->type != DT_I64 || (e->type != DT_F32 && e->type != DT_F64))
		return NULL;
	if (e->type == DT_F64 || dim_proves_le(ctx, e->arg[0], dim_const(ctx, 1 << 24)))
		return e->arg[0];
	const Expr *rounded = expr_mul(ctx, e, expr_number(ctx, DT_F32, 1));
	return infer_symbol(infer, "R", expr_cast(ctx, DT_I64, expr_floor(ctx, rounded)));
}

/* A float that says how many; what data decides has been converted when the model was read
 * (upgrade.c). */
static const Dim *
float_depth(Infer *infer)
{
	const Known *known = infer_known(infer, 1);
	const Expr *depth = known && known->count == 1 ? known->value[0] : NULL;
	int64_t number;
	if (!depth)
		infer_wait(infer, 1, 0);
	const Dim *whole = whole_number(infer, depth);
	const Expr *count = expr_cast(infer->ctx, DT_I64, depth);
	return whole                         ? whole
	       : expr_as_i64(count, &number) ? dim_const(infer->ctx, number)
	                                     : infer_symbol(infer, "D", count);
}

void
infer_OneHot(Infer *infer)
{
	const Type *x = infer_input(infer, 0);
	const Dim *dims[ARRAY_MAX_RANK];
	int axis = infer_axis(infer, attr_int(infer->node, "axis"), x->rank + 1), from = 0;
	infer_single(infer, 1);
	infer_vector(infer, 2, dim_const(infer->ctx, 2));
	bool is_float = dtype_is_float(infer_input(infer, 1)->dtype);
	const Dim *extent = is_float ? float_depth(infer) : infer_dim_value(infer, 1, 0);
	for (int i = 0; i <= x->rank && i < ARRAY_MAX_RANK; i++)
		dims[i] = i == axis ? extent : x->dims[from++];
	infer_set(infer, 0, infer_dtype(infer, 0), x->rank + 1, dims);
}

/* max(ceil((limit - start) / delta), 0) of float scalars, in f64 as ONNX Runtime computes it. */
static const Dim *
float_length(Infer *infer, const Expr *const *bound)
{
	ExprCtx *ctx = infer->ctx;
	const Expr *start = expr_cast(ctx, DT_F64, bound[0]), *zero = expr_number(ctx, DT_F64, 0);
	const Expr *limit = expr_cast(ctx, DT_F64, bound[1]), *by = expr_cast(ctx, DT_F64, bound[2]);
	const Expr *span = expr_sub(ctx, limit, start);
	if (by == zero)
		infer_fail(infer, "delta is 0");
	const Expr *count = expr_max(ctx, expr_ceil(ctx, expr_div(ctx, span, by)), zero);
	int64_t number;
	if (expr_is_const(count) && !(expr_const_f64(count) < 0x1p53))
		infer_fail(infer, "the range has no end");
	const Expr *length = expr_cast(ctx, DT_I64, count);
	return expr_as_i64(length, &number) ? dim_const(ctx, number) : infer_symbol(infer, "R", length);
}

/* Where all bounds are whole the length is made of dims. What data decides has been computed by
 * other nodes, when the model was read (upgrade.c). */
static const Dim *
float_range(Infer *infer)
{
	const Expr *bound[3];
	const Dim *whole[3];
	bool is_whole = true;
	for (int i = 0; i < 3; i++) {
		const Known *known = infer_known(infer, i);
		bound[i] = known && known->count == 1 ? known->value[0] : NULL;
		if (!bound[i])
			infer_wait(infer, i, 0);
		whole[i] = is_whole ? whole_number(infer, bound[i]) : NULL;
		is_whole = whole[i] != NULL;
	}
	if (is_whole && expr_is_const(whole[2]))
		return range_length(infer, whole[0], whole[1], whole[2]);
	return float_length(infer, bound);
}

void
infer_Range(Infer *infer)
{
	const Dim *count;
	for (int i = 0; i < 3; i++)
		infer_single(infer, i);
	if (dtype_is_float(infer_input(infer, 0)->dtype)) {
		count = float_range(infer);
	} else {
		const Dim *start = infer_index_value(infer, 0, 0), *limit = infer_index_value(infer, 1, 0);
		const Known *delta = infer_known(infer, 2);
		if (!delta || !delta->value[0])
			infer_wait(infer, 2, 0);
		count = range_length(infer, start, limit, delta->value[0]);
	}
	infer_set(infer, 0, infer_dtype(infer, 0), 1, &count);
}
