/* CumSum and CumProd: Y[i] = scan i from 0: prev + X[i]. */
#include "graph/ops/helpers.h"

static int
scan_axis(const Build *b, int rank)
{
	const Dim *axis = build_dim(b, 1, 0);
	int64_t number;
	if (!axis || !dim_is_const(axis, &number))
		build_fail(b, "the axis is only known at run time; --fix makes it a constant");
	return (int)(number < 0 ? number + rank : number);
}

/* A tensor of the identity in the dims that the scan does not run over. */
static const Tensor *
identity(ExprCtx *ctx, const Tensor *x, int axis, DType work, double value)
{
	const Dim *dims[MAX_RANK];
	int rank = 0;
	for (int i = 0; i < x->rank; i++)
		if (i != axis)
			dims[rank++] = x->hi[i];
	StageBuilder *y = stage_open(ctx, "identity", rank, dims);
	return stage_map(y, work, expr_number(ctx, work, value));
}

static void
build_scan(Build *b, ExprOp op, double neutral)
{
	ExprCtx *ctx = b->ctx;
	const Tensor *x = b->in[0];
	DType type = x->type, work = work_type(type);
	int axis = scan_axis(b, x->rank);
	bool is_reverse = attr_int(b->node, "reverse") != 0;
	const Tensor *init = neutral == 0 ? NULL : identity(ctx, x, axis, work, neutral);
	StageBuilder *y = output_open(b, 0);
	const Expr *index[MAX_RANK];
	loops_of(y, x->rank, index);
	if (attr_int(b->node, "exclusive"))
		index[axis] = index_shift(ctx, index[axis], is_reverse ? 1 : -1);
	const Expr *fill = expr_number(ctx, type, neutral);
	const Expr *term = expr_cast(ctx, work, stage_read_or(y, x, index, fill));
	const Expr *prev = stage_prev(y, axis, init, is_reverse, work);
	Tensor *result = stage_scan(y, work, expr_op(ctx, op, (const Expr *[]){prev, term}));
	b->out[0] = op_cast(ctx, result, type);
}

void
build_CumSum(Build *b)
{
	build_scan(b, EX_add, 0);
}

void
build_CumProd(Build *b)
{
	build_scan(b, EX_mul, 1);
}
