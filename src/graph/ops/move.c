/* Operators that move elements: the result at a position is the input at another.
 *
 *     Transpose: Y[i,j] = X[j,i]         Slice: Y[i] = X[start + step*i]
 *     Concat:    Y[i] = i < A ? a[i] : b[i - A]
 */
#include "graph/ops/helpers.h"

#include <string.h>

/* ---- axes ------------------------------------------------------------------------------------ */

void
build_Transpose(Build *b)
{
	int rank = b->in_types[0]->rank;
	int64_t count;
	const int64_t *perm = attr_ints(b->node, "perm", &count);
	StageBuilder *y = output_open(b, 0);
	const Expr *index[MAX_RANK];
	for (int i = 0; i < rank; i++) {
		int axis = count < 0 ? rank - 1 - i : (int)(perm[i] < 0 ? perm[i] + rank : perm[i]);
		index[axis] = stage_iter(y, i);
	}
	b->out[0] = stage_map(y, b->out_types[0]->dtype, stage_read(y, b->in[0], index));
}

void
build_Expand(Build *b)
{
	StageBuilder *y = output_open(b, 0);
	const Tensor *x = b->in[0];
	const Expr *index[MAX_RANK];
	int shift = b->out_types[0]->rank - x->rank;
	for (int i = 0; i < x->rank; i++) {
		index[i] = dim_is(x->hi[i], 1) ? expr_i64(b->ctx, 0) : stage_iter(y, shift + i);
		if (x->hi[i] != b->out_types[0]->dims[shift + i])
			index[i] = index_mod(b->ctx, index[i], x->hi[i]); /* 1, or the same, at run time */
	}
	b->out[0] = stage_map(y, x->type, read_checked(y, b->ctx, b->out_types[0], x, index));
}

void
build_Tile(Build *b)
{
	const Type *type = b->out_types[0];
	const Tensor *x = b->in[0];
	StageBuilder *y = output_open(b, 0);
	const Expr *index[MAX_RANK];
	loops_of(y, x->rank, index);
	for (int i = 0; i < x->rank; i++)
		if (type->dims[i] != x->hi[i])
			index[i] = index_mod(b->ctx, index[i], x->hi[i]);
	b->out[0] = stage_map(y, x->type, read_checked(y, b->ctx, type, x, index));
}

/* ---- joining and cutting --------------------------------------------------------------------- */

/* Piece k of a Concat, beginning at `from`, read where the position is in it. */
static const Expr *
read_piece(Build *b, StageBuilder *y, int k, int axis, const Dim *from, const Dim *to)
{
	ExprCtx *ctx = b->ctx;
	const Tensor *x = b->in[k];
	const Type *type = b->out_types[0];
	const Expr *index[MAX_RANK];
	loops_of(y, x->rank, index);
	for (int i = 0; i < x->rank; i++)
		if (i != axis)
			index[i] = index_within(ctx, index[i], type->dims[i], x->hi[i]);
	const Expr *at = index[axis];
	stage_if(y, expr_and(ctx, expr_ge(ctx, at, from), expr_lt(ctx, at, to)));
	index[axis] = index_sub(ctx, at, from);
	const Expr *read = stage_read(y, x, index);
	stage_end_if(y);
	return read;
}

void
build_Concat(Build *b)
{
	ExprCtx *ctx = b->ctx;
	int axis = build_axis(b, "axis", b->out_types[0]->rank), n = b->nin;
	StageBuilder *y = output_open(b, 0);
	const Dim **from = NEW_N(expr_ctx_arena(ctx), const Dim *, n + 1);
	from[0] = dim_const(ctx, 0);
	for (int k = 0; k < n; k++)
		from[k + 1] = dim_add(ctx, from[k], b->in[k]->hi[axis]);
	if (!dim_is_polynomial(from[n]))
		build_fail(b, "the sum of the %d extents has more than %d terms", n, DIM_TERMS);
	const Expr *at = stage_iter(y, axis);
	const Expr *body = read_piece(b, y, n - 1, axis, from[n - 1], from[n]);
	for (int k = n - 2; k >= 0; k--)
		body = expr_select(ctx, expr_lt(ctx, at, from[k + 1]),
		                   read_piece(b, y, k, axis, from[k], from[k + 1]), body);
	b->out[0] = stage_map(y, b->out_types[0]->dtype, body);
}

void
build_Split(Build *b)
{
	ExprCtx *ctx = b->ctx;
	const Tensor *x = b->in[0];
	int axis = build_axis(b, "axis", x->rank);
	bool is_given = b->in[1] != NULL;
	const Dim *from = dim_const(ctx, 0);
	const Dim *equal = dim_ceildiv(ctx, x->hi[axis], dim_const(ctx, b->nout));
	for (int k = 0; k < b->nout; k++) {
		if (b->out_types[k]) {
			StageBuilder *y = output_open(b, k);
			const Expr *index[MAX_RANK];
			loops_of(y, x->rank, index);
			index[axis] = index_add(ctx, index[axis], from);
			b->out[k] = stage_map(y, x->type, read_checked(y, ctx, b->out_types[k], x, index));
		}
		const Dim *length = is_given ? build_dim(b, 1, k) : equal;
		if (!length)
			build_fail(
				b, "element %d of split is only known at run time; --fix makes it a constant", k);
		from = dim_add(ctx, from, length);
	}
}

/* Element i of a vector of known numbers (axes, steps). */
static int64_t
known_number(const Build *b, int input, int i)
{
	const Dim *dim = build_dim(b, input, i);
	int64_t number;
	if (!dim || !dim_is_const(dim, &number))
		build_fail(b, "input %s is only known at run time; --fix makes it a constant",
		           op_input(b->node->op, input)->name);
	return number;
}

static int
known_axis(const Build *b, int input, int i, int rank)
{
	if (!b->in[input])
		return i;
	int64_t axis = known_number(b, input, i);
	return (int)(axis < 0 ? axis + rank : axis);
}

/* Number of elements of a vector input. */
static int
vector_length(const Build *b, int input)
{
	int64_t count = 1;
	const Type *type = b->in_types[input];
	if (type->rank == 1 && !dim_is_const(type->dims[0], &count))
		build_fail(b, "the length of input %s is only known at run time; --fix makes it a constant",
		           op_input(b->node->op, input)->name);
	return (int)count;
}

void
build_Slice(Build *b)
{
	ExprCtx *ctx = b->ctx;
	const Tensor *x = b->in[0];
	StageBuilder *y = output_open(b, 0);
	const Expr *index[MAX_RANK];
	loops_of(y, x->rank, index);
	int count = slice_count(b->in_types[1], b->in[3] ? b->in_types[3] : NULL);
	for (int i = 0; i < count; i++) {
		int axis = known_axis(b, 3, i, x->rank);
		int64_t by = b->in[4] ? known_number(b, 4, i) : 1;
		const Dim *from = build_bound(b, 1, i), *to = build_bound(b, 2, i), *start, *length;
		if (!from || !to)
			build_fail(b, "the bounds of axis %d are not known", axis);
		slice_range(ctx, x->hi[axis], from, to, by, &start, &length);
		index[axis] = index_add(ctx, start, index_scale(ctx, index[axis], by));
	}
	b->out[0] = stage_map(y, x->type, read_checked(y, ctx, b->out_types[0], x, index));
}

/* ---- borders --------------------------------------------------------------------------------- */

/* Where position p of a padded axis comes from; `mode` other than constant. */
static const Expr *
pad_source(ExprCtx *ctx, const char *mode, const Expr *p, const Dim *extent)
{
	const Expr *zero = expr_i64(ctx, 0);
	const Dim *last = dim_add_i64(ctx, extent, -1);
	if (mode[0] == 'e') /* edge */
		return expr_max(ctx, zero, expr_min(ctx, p, last));
	if (mode[0] == 'w') /* wrap */
		return expr_floormod(ctx, p, extent);
	const Dim *period = dim_mul_i64(ctx, last, 2); /* reflect: there and back */
	const Expr *phase = expr_floormod(ctx, p, period);
	return expr_min(ctx, phase, expr_sub(ctx, period, phase));
}

void
build_Pad(Build *b)
{
	ExprCtx *ctx = b->ctx;
	const Tensor *x = b->in[0];
	const char *mode = attr_string(b->node, "mode");
	bool is_constant = mode[0] == 'c';
	StageBuilder *y = output_open(b, 0);
	const Expr *index[MAX_RANK];
	loops_of(y, x->rank, index);
	int count = vector_length(b, 1) / 2;
	for (int i = 0; i < count; i++) {
		int axis = known_axis(b, 3, i, x->rank);
		const Dim *before = build_dim(b, 1, i);
		if (!before)
			build_fail(b, "the padding of axis %d is not known", axis);
		if (b->out_types[0]->dims[axis] == x->hi[axis] && dim_is(before, 0))
			continue;
		index[axis] = index_sub(ctx, index[axis], before);
		if (!is_constant)
			index[axis] = pad_source(ctx, mode, index[axis], x->hi[axis]);
	}
	const Expr *body;
	if (is_constant) {
		const Expr *fill = b->in[2] ? stage_read_scalar(y, b->in[2]) : zero_of(ctx, x->type);
		body = stage_read_or(y, x, index, fill);
	} else {
		body = read_checked(y, ctx, b->out_types[0], x, index);
	}
	b->out[0] = stage_map(y, x->type, body);
}

/* Cropping begins (D-T)/2 inside, padding (T-D)/2 outside, both rounded down. */
void
build_CenterCropPad(Build *b)
{
	ExprCtx *ctx = b->ctx;
	const Tensor *x = b->in[0];
	const Type *type = b->out_types[0];
	const Dim *zero = dim_const(ctx, 0), *two = dim_const(ctx, 2);
	StageBuilder *y = output_open(b, 0);
	const Expr *index[MAX_RANK];
	loops_of(y, x->rank, index);
	for (int i = 0; i < x->rank; i++) {
		if (type->dims[i] == x->hi[i])
			continue;
		const Dim *less = dim_max(ctx, dim_sub(ctx, x->hi[i], type->dims[i]), zero);
		const Dim *more = dim_max(ctx, dim_sub(ctx, type->dims[i], x->hi[i]), zero);
		index[i] =
			index_add(ctx, index[i],
		              dim_sub(ctx, dim_floordiv(ctx, less, two), dim_floordiv(ctx, more, two)));
	}
	b->out[0] = stage_map(y, x->type, stage_read_or(y, x, index, zero_of(ctx, x->type)));
}

/* ---- blocks ---------------------------------------------------------------------------------- */

/* Depth, column, row: channels are all first elements of blocks, then all second ones. */
static bool
is_depth_first(const Node *node)
{
	return strcmp(attr_string(node, "mode"), "DCR") == 0;
}

void
build_DepthToSpace(Build *b)
{
	ExprCtx *ctx = b->ctx;
	const Type *type = b->out_types[0];
	int64_t block = attr_int(b->node, "blocksize");
	const Expr *size = expr_i64(ctx, block);
	StageBuilder *y = output_open(b, 0);
	const Expr *i[4];
	loops_of(y, 4, i);
	const Expr *in_block = index_add(ctx, index_scale(ctx, index_mod(ctx, i[2], size), block),
	                                 index_mod(ctx, i[3], size));
	const Expr *channel;
	if (is_depth_first(b->node))
		channel = index_add(ctx, index_mul(ctx, in_block, type->dims[1]), i[1]);
	else
		channel = index_add(ctx, index_scale(ctx, i[1], block * block), in_block);
	const Expr *index[4] = {i[0], channel, index_div(ctx, i[2], size), index_div(ctx, i[3], size)};
	b->out[0] = stage_map(y, type->dtype, read_checked(y, ctx, type, b->in[0], index));
}

void
build_SpaceToDepth(Build *b)
{
	ExprCtx *ctx = b->ctx;
	const Type *type = b->out_types[0];
	int64_t block = attr_int(b->node, "blocksize");
	const Expr *size = expr_i64(ctx, block);
	const Dim *channels = b->in[0]->hi[1];
	bool is_first = is_depth_first(b->node);
	StageBuilder *y = output_open(b, 0);
	const Expr *i[4];
	loops_of(y, 4, i);
	const Expr *inner = is_first ? channels : expr_i64(ctx, block * block);
	const Expr *slow = index_div(ctx, i[1], inner), *fast = index_mod(ctx, i[1], inner);
	const Expr *in_block = is_first ? slow : fast;
	const Expr *index[4] = {
		i[0], is_first ? fast : slow,
		index_add(ctx, index_scale(ctx, i[2], block), index_div(ctx, in_block, size)),
		index_add(ctx, index_scale(ctx, i[3], block), index_mod(ctx, in_block, size))};
	b->out[0] = stage_map(y, type->dtype, read_checked(y, ctx, type, b->in[0], index));
}
