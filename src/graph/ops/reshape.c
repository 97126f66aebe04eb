/* Reshape, Flatten, Squeeze, Unsqueeze: one stage that finds each element by its place in row-major
 * order, axis group by axis group.
 *
 *     [N, S, 768] -> [N, S, 12, 64]     Y[n,s,h,d] = X[n, s, 64*h + d]
 *
 * Groups are the shortest runs of dims on both sides with equal products, so that axes that stay as
 * they are keep plain indices whatever their extents.
 */
#include "graph/ops/helpers.h"

typedef struct Group {
	int x0, x1, y0, y1; /* dims x0 .. x1-1 of the input are y0 .. y1-1 of the output */
} Group;

/* The shortest group that begins at x0 and y0; the rest of both when there is none. */
static Group
next_group(ExprCtx *ctx, const Tensor *x, const Type *y, int x0, int y0)
{
	Group group = {x0, x->rank, y0, y->rank};
	const Dim *px = dim_const(ctx, 1);
	for (int x1 = x0; x1 < x->rank; x1++) {
		px = dim_mul(ctx, px, x->hi[x1]);
		const Dim *py = dim_const(ctx, 1);
		for (int y1 = y0; y1 < y->rank; y1++) {
			py = dim_mul(ctx, py, y->dims[y1]);
			if (px == py)
				return (Group){x0, x1 + 1, y0, y1 + 1};
		}
	}
	return group;
}

/* Indices of the input's dims of a group from the loops of the output's. */
static void
group_index(ExprCtx *ctx, StageBuilder *y, const Tensor *x, const Type *type, Group group,
            const Expr **index)
{
	const Expr *flat = expr_i64(ctx, 0);
	for (int i = group.y0; i < group.y1; i++) {
		if (dim_is(type->dims[i], 1))
			continue;
		const Expr *at = stage_iter(y, i);
		flat = expr_is_zero(flat) ? at : expr_add(ctx, index_mul(ctx, flat, type->dims[i]), at);
	}
	int first = group.x0; /* the outermost dim that is not 1 takes what is left */
	while (first < group.x1 - 1 && dim_is(x->hi[first], 1))
		index[first++] = expr_i64(ctx, 0);
	for (int i = group.x1 - 1; i > first; i--) {
		index[i] = index_mod(ctx, flat, x->hi[i]);
		flat = index_div(ctx, flat, x->hi[i]);
	}
	if (first < group.x1)
		index[first] = dim_is(x->hi[first], 1) ? expr_i64(ctx, 0) : flat;
}

void
build_Reshape(Build *b)
{
	const Tensor *x = b->in[0];
	const Type *type = b->out_types[0];
	StageBuilder *y = output_open(b, 0);
	const Expr *index[MAX_RANK];
	Group group = {0, 0, 0, 0};
	while (group.x1 < x->rank || group.y1 < type->rank) {
		group = next_group(b->ctx, x, type, group.x1, group.y1);
		group_index(b->ctx, y, x, type, group, index);
	}
	b->out[0] = stage_map(y, x->type, read_checked(y, b->ctx, type, x, index));
}
