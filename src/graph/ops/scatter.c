/* Scatter: a copy of the data with elements replaced or combined at positions that are data.
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
