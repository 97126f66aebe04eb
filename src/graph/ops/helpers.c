/* What builders share: index scalars, and operators applied to tensors. */
#include "graph/ops/helpers.h"

#include <string.h>

#include "expr/index/text.h"

/* ---- index scalars --------------------------------------------------------------------------- */

const Expr *
index_add(ExprCtx *ctx, const Expr *a, const Expr *b)
{
	if (expr_is_zero(a))
		return b;
	return expr_is_zero(b) ? a : expr_add(ctx, a, b);
}

const Expr *
index_sub(ExprCtx *ctx, const Expr *a, const Expr *b)
{
	return expr_is_zero(b) ? a : expr_sub(ctx, a, b);
}

const Expr *
index_mul(ExprCtx *ctx, const Expr *a, const Expr *b)
{
	if (expr_is_one(a))
		return b;
	return expr_is_one(b) ? a : expr_mul(ctx, a, b);
}

const Expr *
index_div(ExprCtx *ctx, const Expr *a, const Expr *b)
{
	return expr_is_one(b) ? a : expr_floordiv(ctx, a, b);
}

const Expr *
index_mod(ExprCtx *ctx, const Expr *a, const Expr *b)
{
	return expr_is_one(b) ? expr_i64(ctx, 0) : expr_floormod(ctx, a, b);
}

const Expr *
index_scale(ExprCtx *ctx, const Expr *a, int64_t factor)
{
	return index_mul(ctx, a, expr_i64(ctx, factor));
}

const Expr *
index_shift(ExprCtx *ctx, const Expr *a, int64_t offset)
{
	return index_add(ctx, a, expr_i64(ctx, offset));
}

const Expr *
index_within(ExprCtx *ctx, const Expr *i, const Dim *extent, const Dim *limit)
{
	if (extent == limit || dim_proves_le(ctx, extent, limit))
		return i;
	return expr_at(ctx, i, limit, AT_CHECK);
}

const Expr *
index_wrapped(ExprCtx *ctx, const Expr *value, const Dim *limit)
{
	return expr_at(ctx, expr_cast(ctx, DT_I64, value), limit, AT_WRAP | AT_CHECK);
}

int
index_tuple(const Loc *loc, const Dim *last, int most)
{
	int64_t length;
	if (!dim_is_const(last, &length))
		fail_unsupported(loc, "the last dim of indices must be known");
	if (length < 1 || length > most)
		fail(loc, "index tuples of length %lld, expected 1..%d", (long long)length, most);
	return (int)length;
}

/* ---- types ----------------------------------------------------------------------------------- */

DType
work_type(DType type)
{
	bool is_half = type == DT_F16 || type == DT_BF16;
	return is_half || dtype_class(type) == DC_S ? DT_F32 : type;
}

DType
work_type2(DType a, DType b)
{
	return a == DT_F64 || b == DT_F64 ? DT_F64 : DT_F32;
}

const Expr *
scalar_as(ExprCtx *ctx, DType type, const Expr *x)
{
	if (x->type == type)
		return x;
	if (dtype_class((DType)x->type) == DC_S && type != DT_I32)
		x = expr_cast(ctx, DT_F32, x);
	return expr_cast(ctx, type, x);
}

const Expr *
scalar_text(ExprCtx *ctx, const char *text, const char *names, const Expr *const *args)
{
	Arena *arena = expr_ctx_arena(ctx);
	Map scope = {.arena = arena};
	char *rest = arena_strdup(arena, names), *next;
	for (char *name = strtok_r(rest, " ", &next); name; name = strtok_r(NULL, " ", &next))
		map_set(&scope, name, (void *)(uintptr_t)*args++);
	Scanner scan;
	scan_open(&scan, arena, "a builder", text);
	return expr_parse(ctx, &scan, &scope);
}

const Expr *
dim_as(ExprCtx *ctx, DType type, const Dim *dim)
{
	return expr_cast(ctx, type, dim);
}

const Expr *
zero_of(ExprCtx *ctx, DType type)
{
	return scalar_as(ctx, type, expr_number(ctx, work_type(type), 0));
}

const Expr *
element_of_array(ExprCtx *ctx, const Array *array, int64_t index)
{
	DType type = array->type;
	if (dtype_is_integer(type) || type == DT_BOOL) {
		Scalar value = {.i64 = dtype_load_i64(type, array->data, index)};
		return expr_const(ctx, type, value);
	}
	double value = dtype_load_f64(type, array->data, index);
	return scalar_as(ctx, type, expr_number(ctx, work_type(type), value));
}

/* ---- stages and reads ------------------------------------------------------------------------ */

StageBuilder *
output_open(Build *b, int output)
{
	const Type *type = b->out_types[output];
	return stage_open(b->ctx, op_output(b->node->op, output)->name, type->rank, type->dims);
}

void
loops_of(StageBuilder *y, int rank, const Expr **index)
{
	for (int i = 0; i < rank; i++)
		index[i] = stage_iter(y, i);
}

const Expr *
read_checked(StageBuilder *y, ExprCtx *ctx, const Type *loops, const Tensor *x,
             const Expr *const *index)
{
	const Expr *safe[MAX_RANK];
	Facts *facts = facts_new(ctx, expr_ctx_arena(ctx));
	const Dim *zero = dim_const(ctx, 0);
	for (int i = 0; i < loops->rank; i++)
		facts_iter(facts, i, zero, loops->dims[i]);
	for (int i = 0; i < x->rank; i++) {
		bool is_certain = facts_prove(facts, expr_le(ctx, zero, index[i])) &&
		                  facts_prove(facts, expr_lt(ctx, index[i], x->hi[i]));
		safe[i] = is_certain ? index[i] : expr_at(ctx, index[i], x->hi[i], AT_CHECK);
	}
	facts_close(facts);
	return stage_read(y, x, safe);
}

const Expr *
read_broadcast(StageBuilder *y, ExprCtx *ctx, const Type *loops, const Tensor *x)
{
	const Expr *index[MAX_RANK];
	int shift = loops->rank - x->rank;
	for (int i = 0; i < x->rank; i++) {
		const Dim *loop = loops->dims[shift + i];
		index[i] = dim_stands(ctx, x->hi[i], loop)
		               ? index_within(ctx, expr_i64(ctx, 0), dim_const(ctx, 1), x->hi[i])
		               : index_within(ctx, stage_iter(y, shift + i), loop, x->hi[i]);
	}
	return stage_read(y, x, index);
}

const Expr *
read_here(StageBuilder *stage, const Tensor *x)
{
	return read_row(stage, x, x->rank, 0);
}

const Expr *
read_row(StageBuilder *stage, const Tensor *x, int rank, Axes axes)
{
	const Expr *index[MAX_RANK];
	int n = 0;
	for (int i = 0; i < rank; i++)
		if (!(axes & AXIS(i)))
			index[n++] = stage_iter(stage, i);
	must(n == x->rank);
	return stage_read_checked(stage, x, index);
}

bool
tensor_is_scalar(const Tensor *x)
{
	for (int i = 0; i < x->rank; i++)
		if (!dim_is(x->hi[i], 1))
			return false;
	return true;
}

const Expr *
read_scalar_or_vector(StageBuilder *stage, const Tensor *x, const Expr *i)
{
	if (tensor_is_scalar(x))
		return stage_read_scalar(stage, x);
	return stage_read_checked(stage, x, &i);
}

/* ---- sets of axes, broadcasting -------------------------------------------------------------- */

Axes
axes_from(int first, int rank)
{
	Axes axes = 0;
	for (int i = first; i < rank; i++)
		axes |= AXIS(i);
	return axes;
}

const Dim *
dims_over(ExprCtx *ctx, const Tensor *x, Axes axes)
{
	const Dim *count = dim_const(ctx, 1);
	for (int i = 0; i < x->rank; i++)
		if (axes & AXIS(i))
			count = dim_mul(ctx, count, x->hi[i]);
	return count;
}

const Dim *
broadcast_dim(const Dim *a, const Dim *b)
{
	return dim_is(a, 1) ? b : a;
}

int
build_axis(const Build *b, const char *name, int rank)
{
	int64_t axis = attr_int(b->node, name);
	return (int)(axis < 0 ? axis + rank : axis);
}

/* ---- operators on tensors -------------------------------------------------------------------- */

const Tensor *
op_cast(ExprCtx *ctx, const Tensor *x, DType type)
{
	if (x->type == type)
		return x;
	StageBuilder *y = stage_open(ctx, "cast", x->rank, x->hi);
	return stage_map(y, type, scalar_as(ctx, type, read_here(y, x)));
}

Tensor *
op_formula(ExprCtx *ctx, const char *name, DType type, const char *text, const char *names,
           Axes axes, const Tensor *const *operands)
{
	const Tensor *x = operands[0];
	StageBuilder *y = stage_open(ctx, name, x->rank, x->hi);
	const Expr *args[MAX_RANK];
	int count = 0;
	for (const char *at = names; at; at = strchr(at + 1, ' '), count++) {
		const Tensor *t = operands[count];
		const Expr *read = read_row(y, t, x->rank, t->rank < x->rank ? axes : 0);
		args[count] = scalar_as(ctx, work_type(t->type), read);
	}
	return stage_map(y, type, expr_cast(ctx, type, scalar_text(ctx, text, names, args)));
}

/* Y[.., i, ..] = i < A ? a[.., i, ..] : b[.., i - A, ..] */
Tensor *
op_concat2(ExprCtx *ctx, const Tensor *a, const Tensor *b, int axis)
{
	const Dim *dims[MAX_RANK];
	for (int i = 0; i < a->rank; i++)
		dims[i] = a->hi[i];
	dims[axis] = dim_add(ctx, a->hi[axis], b->hi[axis]);
	StageBuilder *y = stage_open(ctx, "concat", a->rank, dims);
	const Expr *index[MAX_RANK];
	loops_of(y, a->rank, index);
	const Expr *i = index[axis], *is_first = expr_lt(ctx, i, a->hi[axis]);
	stage_if(y, is_first);
	const Expr *first = stage_read(y, a, index);
	stage_end_if(y);
	stage_if(y, expr_ge(ctx, i, a->hi[axis]));
	index[axis] = index_sub(ctx, i, a->hi[axis]);
	const Expr *second = stage_read(y, b, index);
	stage_end_if(y);
	return stage_map(y, a->type, expr_select(ctx, is_first, first, second));
}

StageBuilder *
reduction_open(ExprCtx *ctx, const char *name, const Tensor *x, Axes axes, bool keep,
               const Expr **index)
{
	const Dim *dims[MAX_RANK];
	int place[MAX_RANK], n = 0;
	for (int i = 0; i < x->rank; i++) {
		place[i] = n;
		if (!(axes & AXIS(i)))
			dims[n++] = x->hi[i];
		else if (keep)
			dims[n++] = dim_const(ctx, 1);
	}
	StageBuilder *y = stage_open(ctx, name, n, dims);
	for (int i = 0; i < x->rank; i++)
		index[i] = axes & AXIS(i) ? stage_over(y, "k", dim_const(ctx, 0), x->hi[i])
		                          : stage_iter(y, place[i]);
	return y;
}

Tensor *
op_reduce(ExprCtx *ctx, ReduceOp op, const Tensor *x, Axes axes, bool keep, DType acc, DType type)
{
	const Expr *index[MAX_RANK];
	StageBuilder *y = reduction_open(ctx, reduce_info(op)->name, x, axes, keep, index);
	const Expr *term = scalar_as(ctx, acc, stage_read(y, x, index));
	if (!axes)
		return stage_map(y, type, expr_cast(ctx, type, term));
	return stage_reduce_acc(y, op, type, acc, term);
}

/* sum / count, in work type */
static Tensor *
divided_by_count(ExprCtx *ctx, const char *name, const Tensor *sum, const Dim *count, DType type)
{
	StageBuilder *y = stage_open(ctx, name, sum->rank, sum->hi);
	const Expr *mean = expr_div(ctx, read_here(y, sum), dim_as(ctx, sum->type, count));
	return stage_map(y, type, expr_cast(ctx, type, mean));
}

Tensor *
op_mean(ExprCtx *ctx, const Tensor *x, Axes axes, bool keep, DType type)
{
	DType work = work_type2(x->type, type);
	Tensor *sum = op_reduce(ctx, REDUCE_sum, x, axes, keep, work, work);
	return divided_by_count(ctx, "mean", sum, dims_over(ctx, x, axes), type);
}

Tensor *
op_variance(ExprCtx *ctx, const Tensor *x, const Tensor *mean, Axes axes, DType type)
{
	DType work = work_type2(x->type, type);
	const Expr *index[MAX_RANK], *row[MAX_RANK];
	StageBuilder *y = reduction_open(ctx, "squares", x, axes, false, index);
	const Expr *d = scalar_as(ctx, work, stage_read(y, x, index));
	if (mean) {
		loops_of(y, mean->rank, row);
		d = expr_sub(ctx, d, scalar_as(ctx, work, stage_read(y, mean, row)));
	}
	const Expr *square = expr_mul(ctx, d, d);
	Tensor *sum =
		axes ? stage_reduce_acc(y, REDUCE_sum, work, work, square) : stage_map(y, work, square);
	return divided_by_count(ctx, "variance", sum, dims_over(ctx, x, axes), type);
}
