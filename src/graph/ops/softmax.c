/* Softmax and its kin: a maximum, exponentials, their sum.
 *
 *     m[n]   = max(c:C) X[n,c]
 *     e[n,c] = exp(X[n,c] - m[n])
 *     s[n]   = sum(c:C) e[n,c]
 *     Y[n,c] = e[n,c] / s[n]
 */
#include "graph/ops/helpers.h"

/* Output 0 as input 0, whose axis attribute must fit. */
static void
infer_along_axis(Infer *infer)
{
	const Type *x = infer_input(infer, 0);
	if (x->rank < 0) {
		infer_set_unknown(infer, 0, x->dtype);
		return;
	}
	infer_axis(infer, attr_int(infer->node, "axis"), x->rank);
	infer_set(infer, 0, x->dtype, x->rank, x->dims);
}

void
infer_Softmax(Infer *infer)
{
	infer_along_axis(infer);
}

void
infer_LogSoftmax(Infer *infer)
{
	infer_along_axis(infer);
}

void
infer_Hardmax(Infer *infer)
{
	infer_along_axis(infer);
}

/* x - max of x along the axis, in type work. */
static Tensor *
below_largest(ExprCtx *ctx, const Tensor *x, int axis, DType work)
{
	Tensor *largest = op_reduce(ctx, REDUCE_max, x, AXIS(axis), false, work, work);
	StageBuilder *d = stage_open(ctx, "d", x->rank, x->hi);
	const Expr *m = read_row(d, largest, x->rank, AXIS(axis));
	return stage_map(d, work, expr_sub(ctx, scalar_as(ctx, work, read_here(d, x)), m));
}

Tensor *
op_softmax(ExprCtx *ctx, const Tensor *x, int axis, DType type)
{
	DType work = work_type(x->type);
	Tensor *e = op_unary(ctx, EX_exp, below_largest(ctx, x, axis, work));
	Tensor *s = op_reduce(ctx, REDUCE_sum, e, AXIS(axis), false, work, work);
	StageBuilder *y = stage_open(ctx, "y", x->rank, x->hi);
	const Expr *row = read_row(y, s, x->rank, AXIS(axis));
	return stage_map(y, type, expr_cast(ctx, type, expr_div(ctx, read_here(y, e), row)));
}

void
build_Softmax(Build *b)
{
	const Tensor *x = b->in[0];
	b->out[0] = op_softmax(b->ctx, x, build_axis(b, "axis", x->rank), x->type);
}

void
build_LogSoftmax(Build *b)
{
	ExprCtx *ctx = b->ctx;
	const Tensor *x = b->in[0];
	int axis = build_axis(b, "axis", x->rank);
	DType work = work_type(x->type);
	Tensor *d = below_largest(ctx, x, axis, work);
	Tensor *e = op_unary(ctx, EX_exp, d);
	Tensor *s = op_reduce(ctx, REDUCE_sum, e, AXIS(axis), false, work, work);
	Tensor *l = op_unary(ctx, EX_log, s);
	StageBuilder *y = stage_open(ctx, "y", x->rank, x->hi);
	const Expr *row = read_row(y, l, x->rank, AXIS(axis));
	const Expr *body = expr_sub(ctx, read_here(y, d), row);
	b->out[0] = stage_map(y, x->type, expr_cast(ctx, x->type, body));
}

/* Y[n,c] = c == argmax first (k:C) X[n,k] ? 1 : 0 */
void
build_Hardmax(Build *b)
{
	ExprCtx *ctx = b->ctx;
	const Tensor *x = b->in[0];
	int axis = build_axis(b, "axis", x->rank);
	const Expr *index[MAX_RANK];
	StageBuilder *m = reduction_open(ctx, "largest", x, AXIS(axis), false, index);
	Tensor *largest[2];
	stage_reduce_tuple(m, REDUCE_argmax_first, 2, (const DType[]){x->type, DT_I64},
	                   (const Expr *[]){stage_read(m, x, index), index[axis]}, largest);
	StageBuilder *y = stage_open(ctx, "y", x->rank, x->hi);
	const Expr *first = read_row(y, largest[1], x->rank, AXIS(axis));
	const Expr *is_first = expr_eq(ctx, stage_iter(y, axis), first);
	b->out[0] = stage_map(
		y, x->type,
		expr_select(ctx, is_first, expr_number(ctx, x->type, 1), expr_number(ctx, x->type, 0)));
}
