/* Col2Im: columns of blocks, added up where the blocks lie in the image.
 *
 *     Y[n,c,p…] = sum (r:K…) X[n, c*K + r, q / stride]     q = p + pad - r*dilation
 *                 where q % stride == 0, 0 <= q / stride < O…
 *
 * K and O are all block elements and all block positions, counted in row-major order.
 */
#include "graph/ops/helpers.h"

typedef struct Blocks {
	int count;
	int64_t stride, dilation, before, after;
} Blocks;

static Blocks
blocks_along(const Node *node, int count, int d)
{
	return (Blocks){count, attr_at(node, "strides", count, d, 1),
	                attr_at(node, "dilations", count, d, 1), attr_at(node, "pads", 2 * count, d, 0),
	                attr_at(node, "pads", 2 * count, d + count, 0)};
}

/* How many blocks stand side by side. */
static const Dim *
positions(ExprCtx *ctx, const Blocks *a, const Dim *image, const Dim *block)
{
	const Dim *span = dim_add(
		ctx, dim_mul(ctx, dim_sub(ctx, block, dim_const(ctx, 1)), dim_const(ctx, a->dilation)),
		dim_const(ctx, 1 - a->before - a->after));
	const Dim *steps = dim_floordiv(ctx, dim_sub(ctx, image, span), dim_const(ctx, a->stride));
	return dim_add(ctx, steps, dim_const(ctx, 1));
}

void
infer_Col2Im(Infer *infer)
{
	ExprCtx *ctx = infer->ctx;
	const Type *x = infer_input(infer, 0);
	int count = infer_length(infer, 1), nblock;
	const int64_t *block = infer_numbers(infer, 2, &nblock);
	if (x->rank != 3 || nblock != count)
		infer_fail(infer, "input of rank %d, %d dims of the image and %d of the block", x->rank,
		           count, nblock);
	int64_t elements = 1;
	for (int i = 0; i < count; i++)
		elements *= block[i];
	const Dim **dims = NEW_N(infer->graph->arena, const Dim *, count + 2);
	dims[0] = x->dims[0];
	dims[1] = dim_floordiv(ctx, x->dims[1], dim_const(ctx, elements));
	const Dim *all = dim_const(ctx, 1);
	for (int i = 0; i < count; i++) {
		Blocks a = blocks_along(infer->node, count, i);
		dims[i + 2] = infer_dim_value(infer, 1, i);
		all = dim_mul(ctx, all, positions(ctx, &a, dims[i + 2], dim_const(ctx, block[i])));
	}
	infer_equal(infer, x->dims[2], all, "the number of columns");
	infer_set(infer, 0, x->dtype, count + 2, dims);
}

void
build_Col2Im(Build *b)
{
	ExprCtx *ctx = b->ctx;
	const Tensor *x = b->in[0];
	const Type *type = b->out_types[0];
	DType work = work_type(x->type);
	int count = type->rank - 2;
	StageBuilder *y = stage_open(ctx, "sum", type->rank, type->dims);
	const Expr *taps[MAX_RANK], *index[3], *column = expr_i64(ctx, 0);
	for (int d = 0; d < count; d++) {
		const Dim *block = build_dim(b, 2, d);
		if (!block)
			build_fail(
				b, "element %d of block_shape is only known at run time; --fix makes it a constant",
				d);
		taps[d] = stage_over(y, "r", dim_const(ctx, 0), block);
	}
	index[0] = stage_iter(y, 0);
	index[1] = stage_iter(y, 1);
	for (int d = 0; d < count; d++) {
		Blocks a = blocks_along(b->node, count, d);
		const Dim *block = build_dim(b, 2, d);
		const Dim *across = positions(ctx, &a, type->dims[d + 2], block);
		const Expr *place = index_shift(ctx, stage_iter(y, d + 2), a.before);
		const Expr *q = index_sub(ctx, place, index_scale(ctx, taps[d], a.dilation));
		const Expr *step = expr_i64(ctx, a.stride), *at = index_div(ctx, q, step);
		stage_where(y, expr_eq(ctx, index_mod(ctx, q, step), expr_i64(ctx, 0)));
		stage_where(y, expr_le(ctx, expr_i64(ctx, 0), at));
		stage_where(y, expr_lt(ctx, at, across));
		column = index_add(ctx, index_mul(ctx, column, across), at);
		index[1] = index_add(ctx, index_mul(ctx, index[1], block), taps[d]);
	}
	index[2] = column;
	const Expr *term = scalar_as(ctx, work, stage_read_checked(y, x, index));
	b->out[0] = op_cast(ctx, stage_reduce_acc(y, REDUCE_sum, work, work, term), x->type);
}
