/* Gather and its kin: reads at positions that are data.
 *
 *     Y[i:K, j:M] = X[at(I[i], 0..D, wrap, check), j]
 *
 * A negative index counts from behind; one outside fails the step.
 */
#include "graph/ops/helpers.h"

/* ---- Gather ---------------------------------------------------------------------------------- */

void
infer_Gather(Infer *infer)
{
	const Type *x = infer_input(infer, 0), *indices = infer_input(infer, 1);
	infer_least_rank(infer, 0, 1);
	int axis = infer_axis(infer, attr_int(infer->node, "axis"), x->rank), n = 0;
	if (x->rank + indices->rank - 1 > MAX_RANK)
		infer_fail(infer, "result of rank %d", x->rank + indices->rank - 1);
	const Dim *dims[MAX_RANK];
	for (int i = 0; i < axis; i++)
		dims[n++] = x->dims[i];
	for (int i = 0; i < indices->rank; i++)
		dims[n++] = indices->dims[i];
	for (int i = axis + 1; i < x->rank; i++)
		dims[n++] = x->dims[i];
	infer_set(infer, 0, x->dtype, n, dims);
}

/* Y[i…, j…, k…] = X[i…, I[j…], k…] */
void
build_Gather(Build *b)
{
	const Tensor *x = b->in[0], *indices = b->in[1];
	const Type *type = b->out_types[0];
	int axis = build_axis(b, "axis", x->rank), rank = indices->rank;
	StageBuilder *y = stage_open(b->ctx, "y", type->rank, type->dims);
	const Expr *at[MAX_RANK], *index[MAX_RANK];
	for (int i = 0; i < rank; i++)
		at[i] = stage_iter(y, axis + i);
	for (int i = 0; i < x->rank; i++)
		if (i != axis)
			index[i] = stage_iter(y, i < axis ? i : i + rank - 1);
	index[axis] = index_wrapped(b->ctx, stage_read(y, indices, at), x->hi[axis]);
	b->out[0] = stage_map(y, x->type, stage_read(y, x, index));
}

/* ---- GatherElements -------------------------------------------------------------------------- */

void
infer_GatherElements(Infer *infer)
{
	const Type *x = infer_input(infer, 0), *indices = infer_input(infer, 1);
	infer_least_rank(infer, 0, 1);
	if (x->rank != indices->rank)
		infer_fail(infer, "data of rank %d and indices of rank %d: expected equal ranks", x->rank,
		           indices->rank);
	infer_axis(infer, attr_int(infer->node, "axis"), x->rank);
	infer_set(infer, 0, x->dtype, x->rank, indices->dims);
}

/* Y[i,j] = X[I[i,j], j]: along the other axes, indices may be shorter than the data. */
void
build_GatherElements(Build *b)
{
	ExprCtx *ctx = b->ctx;
	const Tensor *x = b->in[0], *indices = b->in[1];
	int axis = build_axis(b, "axis", x->rank);
	StageBuilder *y = stage_open(ctx, "y", indices->rank, indices->hi);
	const Expr *index[MAX_RANK];
	for (int i = 0; i < x->rank; i++)
		index[i] = index_within(ctx, stage_iter(y, i), indices->hi[i], x->hi[i]);
	index[axis] = index_wrapped(ctx, read_here(y, indices), x->hi[axis]);
	b->out[0] = stage_map(y, x->type, stage_read(y, x, index));
}

/* ---- GatherND -------------------------------------------------------------------------------- */

void
infer_GatherND(Infer *infer)
{
	const Type *x = infer_input(infer, 0), *indices = infer_input(infer, 1);
	infer_least_rank(infer, 0, 1);
	infer_least_rank(infer, 1, 1);
	int batch = (int)attr_int(infer->node, "batch_dims"), n = 0;
	if (batch < 0 || batch >= x->rank || batch >= indices->rank)
		infer_fail(infer, "batch_dims %d, expected less than both ranks", batch);
	int length = index_tuple(&infer->node->loc, indices->dims[indices->rank - 1], x->rank - batch);
	const Dim *dims[2 * MAX_RANK];
	for (int i = 0; i < indices->rank - 1; i++)
		dims[n++] = i < batch ? infer_equal(infer, indices->dims[i], x->dims[i],
		                                    "batch dims of data and indices")
		                      : indices->dims[i];
	for (int i = batch + length; i < x->rank; i++)
		dims[n++] = x->dims[i];
	if (n > MAX_RANK)
		infer_fail(infer, "result of rank %d", n);
	infer_set(infer, 0, x->dtype, n, dims);
}

/* Y[b…, i…, k…] = X[b…, I[b…, i…, 0], I[b…, i…, 1], …, k…] */
void
build_GatherND(Build *b)
{
	ExprCtx *ctx = b->ctx;
	const Tensor *x = b->in[0], *indices = b->in[1];
	const Type *type = b->out_types[0];
	int batch = (int)attr_int(b->node, "batch_dims"), outer = indices->rank - 1;
	int length = index_tuple(&b->node->loc, indices->hi[outer], x->rank - batch);
	StageBuilder *y = stage_open(ctx, "y", type->rank, type->dims);
	const Expr *at[MAX_RANK], *index[MAX_RANK];
	for (int i = 0; i < outer; i++)
		at[i] = index_within(ctx, stage_iter(y, i), type->dims[i], indices->hi[i]);
	for (int i = 0; i < batch; i++)
		index[i] = index_within(ctx, stage_iter(y, i), type->dims[i], x->hi[i]);
	for (int k = 0; k < length; k++) {
		at[outer] = expr_i64(ctx, k);
		const Expr *value = stage_read(y, indices, at);
		index[batch + k] = index_wrapped(ctx, value, x->hi[batch + k]);
	}
	for (int i = batch + length, k = outer; i < x->rank; i++, k++)
		index[i] = stage_iter(y, k);
	b->out[0] = stage_map(y, x->type, stage_read(y, x, index));
}
