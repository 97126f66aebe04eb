/* The Reduce family: a term of each element, a reduction over the axes, a step behind it.
 *
 *     L2:         sqrt(sum(x*x))         LogSumExp:  m + log(sum(exp(x - m))), m = max(x)
 *
 * Sums of f16 and bf16 run in f32 and are rounded once. Over no elements a sum is 0, a product 1, a
 * maximum -inf (or the least integer), a minimum inf.
 */
#include "graph/ops/helpers.h"

typedef const Expr *(*Step)(ExprCtx *ctx, const Expr *x);

static Axes
node_axes(const Build *b)
{
	if (b->in[1] && !b->known[1] && !dim_is(b->in[1]->hi[0], 0))
		build_fail(b, "input axes is only known at run time; --fix makes it a constant");
	return reduce_axes(b->node, b->known[1], b->in[0]->rank);
}

/* One reduction of the node: x through `before` into `op`, in type `work`. */
static Tensor *
reduce_node(Build *b, ReduceOp op, Step before, const Tensor *shift, DType work)
{
	ExprCtx *ctx = b->ctx;
	const Tensor *x = b->in[0];
	Axes axes = node_axes(b);
	bool keeps = attr_int(b->node, "keepdims") != 0;
	const Expr *index[MAX_RANK];
	StageBuilder *y = reduction_open(ctx, reduce_info(op)->name, x, axes, keeps, index);
	const Expr *term = expr_cast(ctx, work, stage_read(y, x, index));
	if (shift) {
		const Expr *here[MAX_RANK];
		loops_of(y, shift->rank, here);
		term = expr_sub(ctx, term, stage_read(y, shift, here));
	}
	if (before)
		term = before(ctx, term);
	return axes ? stage_reduce_acc(y, op, work, work, term) : stage_map(y, work, term);
}

/* `after` applied to the reduced tensor, in the output's type. */
static void
finish(Build *b, const Tensor *reduced, Step after)
{
	ExprCtx *ctx = b->ctx;
	DType type = b->out_types[0]->dtype;
	if (!after && reduced->type == type) {
		b->out[0] = reduced;
		return;
	}
	StageBuilder *y = output_open(b, 0);
	const Expr *body = read_here(y, reduced);
	if (after)
		body = after(ctx, body);
	b->out[0] = stage_map(y, type, expr_cast(ctx, type, body));
}

static void
reduce_simple(Build *b, ReduceOp op, Step before, Step after)
{
	DType work = work_type(b->in[0]->type);
	if (work == DT_BOOL) /* compared as numbers */
		work = DT_U8;
	if (after && !dtype_is_float(work)) /* roots and logarithms of integers */
		work = DT_F64;
	finish(b, reduce_node(b, op, before, NULL, work), after);
}

static const Expr *
square(ExprCtx *ctx, const Expr *x)
{
	return expr_mul(ctx, x, x);
}

/* What is reduced by: of which term of each element, and what of the result (NULL: itself). */
#define SIMPLE(name, op, term, finish) \
	void build_##name(Build *b) \
	{ \
		reduce_simple(b, REDUCE_##op, term, finish); \
	}

SIMPLE(ReduceSum, sum, NULL, NULL)
SIMPLE(ReduceProd, prod, NULL, NULL)
SIMPLE(ReduceL1, sum, expr_abs, NULL)
SIMPLE(ReduceSumSquare, sum, square, NULL)
SIMPLE(ReduceL2, sum, square, expr_sqrt)
SIMPLE(ReduceLogSum, sum, NULL, expr_log)
SIMPLE(ReduceMax, max, NULL, NULL)
SIMPLE(ReduceMin, min, NULL, NULL)

void
build_ReduceMean(Build *b)
{
	ExprCtx *ctx = b->ctx;
	const Tensor *x = b->in[0];
	DType type = b->out_types[0]->dtype, work = work_type(x->type);
	const Tensor *sum = reduce_node(b, REDUCE_sum, NULL, NULL, work);
	StageBuilder *y = output_open(b, 0);
	const Expr *n = dim_as(ctx, work, dims_over(ctx, x, node_axes(b))), *total = read_here(y, sum);
	const Expr *mean = dtype_is_float(work) ? expr_div(ctx, total, n) : expr_quot(ctx, total, n);
	b->out[0] = stage_map(y, type, expr_cast(ctx, type, mean));
}

/* An infinite maximum is not subtracted: inf - inf would hide it. */
void
build_ReduceLogSumExp(Build *b)
{
	ExprCtx *ctx = b->ctx;
	DType type = b->out_types[0]->dtype, work = work_type(b->in[0]->type);
	if (!dtype_is_float(work))
		work = DT_F64;
	const Tensor *top = reduce_node(b, REDUCE_max, NULL, NULL, work);
	StageBuilder *s = stage_open(ctx, "shift", top->rank, top->hi);
	const Expr *m = read_here(s, top);
	const Expr *finite = expr_select(ctx, expr_isinf(ctx, m), expr_number(ctx, work, 0), m);
	const Tensor *shift = stage_map(s, work, finite);
	/* keepdims = 0 leaves the shift without the reduced axes, as the sum has it */
	const Tensor *sum = reduce_node(b, REDUCE_sum, expr_exp, shift, work);
	StageBuilder *y = output_open(b, 0);
	const Expr *body = expr_add(ctx, expr_log(ctx, read_here(y, sum)), read_here(y, shift));
	b->out[0] = stage_map(y, type, expr_cast(ctx, type, body));
}
