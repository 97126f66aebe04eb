/* Scatter: a copy of the data with elements replaced or combined at positions that are data;
 * TensorScatter and MaxUnpool: positions that one number each says.
 *
 *     Y = scatter X, (i:K, j:M) in order: [at(I[i,j], 0..D, wrap, check), j] add= U[i,j]
 *
 * Updates happen in row-major order, so duplicate indices are defined: the last one wins, or all
 * are combined in turn.
 */
#include "graph/ops/helpers.h"

#include <string.h>

static int
scatter_combine(const Node *node)
{
	static const struct {
		const char *name;
		int combine;
	} table[] = {{"none", SCATTER_SET},
	             {"add", REDUCE_sum},
	             {"mul", REDUCE_prod},
	             {"max", REDUCE_max},
	             {"min", REDUCE_min}};
	const char *reduction = attr_string(node, "reduction");
	int i = 0;
	while (strcmp(reduction, table[i].name) != 0)
		i++;
	return table[i].combine;
}

static void
infer_like_data(Infer *infer)
{
	scatter_combine(infer->node);
	infer_least_rank(infer, 0, 1);
	infer_same(infer);
}

/* ---- ScatterElements ------------------------------------------------------------------------- */

void
infer_ScatterElements(Infer *infer)
{
	const Type *x = infer_input(infer, 0), *indices = infer_input(infer, 1);
	const Type *updates = infer_input(infer, 2);
	infer_like_data(infer);
	if (indices->rank != x->rank || updates->rank != x->rank)
		infer_fail(infer, "data, indices and updates of ranks %d, %d, %d: expected equal ranks",
		           x->rank, indices->rank, updates->rank);
	infer_axis(infer, attr_int(infer->node, "axis"), x->rank);
	for (int i = 0; i < x->rank; i++)
		infer_equal(infer, indices->dims[i], updates->dims[i], "dims of indices and updates");
}

void
build_ScatterElements(Build *b)
{
	ExprCtx *ctx = b->ctx;
	const Tensor *x = b->in[0], *indices = b->in[1], *updates = b->in[2];
	int axis = build_axis(b, "axis", x->rank);
	StageBuilder *y = stage_open(ctx, "y", indices->rank, indices->hi);
	const Expr *target[MAX_RANK], *from[MAX_RANK];
	for (int i = 0; i < x->rank; i++) {
		target[i] = index_within(ctx, stage_iter(y, i), indices->hi[i], x->hi[i]);
		from[i] = index_within(ctx, stage_iter(y, i), indices->hi[i], updates->hi[i]);
	}
	target[axis] = index_wrapped(ctx, read_here(y, indices), x->hi[axis]);
	b->out[0] = stage_scatter(y, x, target, scatter_combine(b->node), stage_read(y, updates, from));
}

/* ---- ScatterND ------------------------------------------------------------------------------- */

void
infer_ScatterND(Infer *infer)
{
	const Type *x = infer_input(infer, 0), *indices = infer_input(infer, 1);
	const Type *updates = infer_input(infer, 2);
	infer_like_data(infer);
	infer_least_rank(infer, 1, 1);
	int outer = indices->rank - 1;
	int length = index_tuple(&infer->node->loc, indices->dims[outer], x->rank);
	if (updates->rank != outer + x->rank - length)
		infer_fail(infer, "updates of rank %d, expected %d", updates->rank,
		           outer + x->rank - length);
	for (int i = 0; i < updates->rank; i++)
		infer_equal(infer, updates->dims[i],
		            i < outer ? indices->dims[i] : x->dims[i - outer + length],
		            "dims of updates and of indices or data");
}

/* [I[i…, 0], I[i…, 1], …, k…] add= U[i…, k…] */
void
build_ScatterND(Build *b)
{
	ExprCtx *ctx = b->ctx;
	const Tensor *x = b->in[0], *indices = b->in[1], *updates = b->in[2];
	int outer = indices->rank - 1;
	int length = index_tuple(&b->node->loc, indices->hi[outer], x->rank);
	StageBuilder *y = stage_open(ctx, "y", updates->rank, updates->hi);
	const Expr *at[MAX_RANK], *target[MAX_RANK];
	for (int i = 0; i < outer; i++)
		at[i] = index_within(ctx, stage_iter(y, i), updates->hi[i], indices->hi[i]);
	for (int k = 0; k < length; k++) {
		at[outer] = expr_i64(ctx, k);
		target[k] = index_wrapped(ctx, stage_read(y, indices, at), x->hi[k]);
	}
	for (int i = length, k = outer; i < x->rank; i++, k++)
		target[i] = index_within(ctx, stage_iter(y, k), updates->hi[k], x->hi[i]);
	b->out[0] = stage_scatter(y, x, target, scatter_combine(b->node), read_here(y, updates));
}

/* ---- TensorScatter --------------------------------------------------------------------------- */

void
infer_TensorScatter(Infer *infer)
{
	const Type *past = infer_input(infer, 0), *update = infer_input(infer, 1);
	infer_least_rank(infer, 0, 2);
	infer_rank(infer, 1, past->rank);
	int axis = infer_axis(infer, attr_int(infer->node, "axis"), past->rank);
	if (axis == 0)
		infer_fail(infer, "axis 0 is the batch: expected another");
	for (int d = 0; d < past->rank; d++)
		if (d != axis)
			infer_equal(infer, update->dims[d], past->dims[d], "dims of cache and update");
	infer_vector(infer, 2, past->dims[0]);
	infer_same(infer);
}

/* [n, …, first[n] + s, …] = U[n, …, s, …], around the end where that is asked for */
void
build_TensorScatter(Build *b)
{
	ExprCtx *ctx = b->ctx;
	const Tensor *past = b->in[0], *update = b->in[1], *first = b->in[2];
	int axis = build_axis(b, "axis", past->rank);
	StageBuilder *y = stage_open(ctx, "y", update->rank, update->hi);
	const Expr *target[MAX_RANK];
	for (int d = 0; d < past->rank; d++)
		target[d] = index_within(ctx, stage_iter(y, d), update->hi[d], past->hi[d]);
	const Expr *at = stage_iter(y, axis);
	if (first)
		at = index_add(ctx, at, stage_read(y, first, target));
	if (strcmp(attr_string(b->node, "mode"), "circular") == 0)
		at = index_mod(ctx, at, past->hi[axis]);
	target[axis] = expr_at(ctx, at, past->hi[axis], AT_CHECK);
	b->out[0] = stage_scatter(y, past, target, SCATTER_SET, read_here(y, update));
}

/* ---- MaxUnpool ------------------------------------------------------------------------------- */

/* The dims of what MaxPool took, as far as its windows say: indices count in these. */
static void
pooled_dims(ExprCtx *ctx, const Node *node, int rank, const Dim *const *x, const Dim **dims)
{
	int count = rank - 2;
	for (int d = 0; d < rank; d++)
		dims[d] = x[d];
	for (int i = 0; i < count; i++) {
		int64_t pads =
			attr_at(node, "pads", 2 * count, i, 0) + attr_at(node, "pads", 2 * count, count + i, 0);
		const Dim *steps =
			dim_mul_i64(ctx, dim_add_i64(ctx, x[2 + i], -1), attr_at(node, "strides", count, i, 1));
		dims[2 + i] = dim_add_i64(ctx, steps, attr_at(node, "kernel_shape", count, i, 1) - pads);
	}
}

void
infer_MaxUnpool(Infer *infer)
{
	const Type *x = infer_input(infer, 0), *indices = infer_input(infer, 1);
	const Dim *dims[MAX_RANK];
	infer_least_rank(infer, 0, 3);
	infer_rank(infer, 1, x->rank);
	for (int d = 0; d < x->rank; d++)
		infer_equal(infer, indices->dims[d], x->dims[d], "dims of X and of indices");
	pooled_dims(infer->ctx, infer->node, x->rank, x->dims, dims);
	if (infer_input(infer, 2) && infer_length(infer, 2) != x->rank)
		infer_fail(infer, "output_shape has %d elements, expected %d", infer_length(infer, 2),
		           x->rank);
	for (int d = 0; infer_input(infer, 2) && d < x->rank; d++)
		dims[d] = infer_dim_value(infer, 2, d);
	infer_set(infer, 0, x->dtype, x->rank, dims);
}

/* Y = 0; [of I[n, c, p, q] in dims of MaxPool's input] = X[n, c, p, q] */
void
build_MaxUnpool(Build *b)
{
	ExprCtx *ctx = b->ctx;
	const Tensor *x = b->in[0], *indices = b->in[1];
	const Type *out = b->out_types[0];
	StageBuilder *zeros = stage_open(ctx, "zeros", out->rank, out->dims);
	const Tensor *init = stage_map(zeros, x->type, zero_of(ctx, x->type));
	StageBuilder *y = stage_open(ctx, "y", x->rank, x->hi);
	const Expr *target[MAX_RANK], *flat = read_here(y, indices);
	const Dim *dims[MAX_RANK];
	pooled_dims(ctx, b->node, x->rank, x->hi, dims);
	for (int d = x->rank - 1; d >= 0; d--) {
		const Expr *at = d ? index_mod(ctx, flat, dims[d]) : flat;
		target[d] = expr_at(ctx, at, out->dims[d], AT_CHECK);
		flat = index_div(ctx, flat, dims[d]);
	}
	b->out[0] = stage_scatter(y, init, target, SCATTER_SET, read_here(y, x));
}
