/* Softmax and its kin: a maximum, exponentials, their sum.
 *
 *     m[n]   = max(c:C) X[n,c]
 *     e[n,c] = exp(X[n,c] - m[n])
 *     s[n]   = sum(c:C) e[n,c]
 *     Y[n,c] = e[n,c] / s[n]
 */
#include "graph/ops/helpers.h"

/* Output 0 as input 0, whose axis attribute must fit. */
void
infer_along_axis(Infer *infer)
{
	infer_axis(infer, attr_int(infer->node, "axis"), infer_input(infer, 0)->rank);
	infer_same(infer);
}

/* m, e and s of above, in type work. */
typedef struct Exponentials {
	Tensor *largest, *e, *sum;
} Exponentials;

static Exponentials
exponentials(ExprCtx *ctx, const Tensor *x, Axes axis)
{
	Exponentials s;
	DType work = work_type(x->type);
	s.largest = op_reduce(ctx, REDUCE_max, x, axis, false, work, work);
	s.e = op_formula(ctx, "e", work, "exp(x - m)", "x m", axis, (const Tensor *[]){x, s.largest});
	s.sum = op_reduce(ctx, REDUCE_sum, s.e, axis, false, work, work);
	return s;
}

Tensor *
op_softmax(ExprCtx *ctx, const Tensor *x, int axis, DType type)
{
	Exponentials s = exponentials(ctx, x, AXIS(axis));
	return op_formula(ctx, "y", type, "e / s", "e s", AXIS(axis), (const Tensor *[]){s.e, s.sum});
}

void
build_Softmax(Build *b)
{
	const Tensor *x = b->in[0];
	b->out[0] = op_softmax(b->ctx, x, build_axis(b, "axis", x->rank), x->type);
}

/* Y[n,c] = X[n,c] - m[n] - log(s[n]) */
Tensor *
op_log_softmax(ExprCtx *ctx, const Tensor *x, int axis, DType type)
{
	Exponentials s = exponentials(ctx, x, AXIS(axis));
	Tensor *log = op_formula(ctx, "log", s.sum->type, "log(s)", "s", 0, (const Tensor *[]){s.sum});
	const Tensor *const operands[] = {x, s.largest, log};
	return op_formula(ctx, "y", type, "x - m - l", "x m l", AXIS(axis), operands);
}

void
build_LogSoftmax(Build *b)
{
	const Tensor *x = b->in[0];
	b->out[0] = op_log_softmax(b->ctx, x, build_axis(b, "axis", x->rank), x->type);
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
