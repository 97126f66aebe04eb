/* Matrix products: MatMul in all combinations of ranks, and Gemm.
 *
 *     Y[b…, m, n] = sum(k:K) A[b…, m, k] * B[b…, k, n]
 *
 * A vector is a row on the left and a column on the right; its axis is absent from the result.
 */
#include <string.h>

#include "graph/ops/helpers.h"

/* How the loops of a product stand: batch…, then m unless a is a vector, n unless b is. */
typedef struct Product {
	int rank, batch;
	bool has_m, has_n;
	const Dim *dims[MAX_RANK];
} Product;

/* Extent of an operand's part in batch axis i of `batch`; 1 where it has none. */
static const Dim *
batch_dim(ExprCtx *ctx, int rank, const Dim *const *dims, int batch, int i)
{
	int axis = i - (batch - (rank - 2));
	return rank < 2 || axis < 0 ? dim_const(ctx, 1) : dims[axis];
}

static Product
product_shape(ExprCtx *ctx, int arank, const Dim *const *a, int brank, const Dim *const *b)
{
	int most = arank > brank ? arank : brank;
	Product p = {.batch = most > 2 ? most - 2 : 0, .has_m = arank > 1, .has_n = brank > 1};
	for (; p.rank < p.batch; p.rank++)
		p.dims[p.rank] = broadcast_dim(batch_dim(ctx, arank, a, p.batch, p.rank),
		                               batch_dim(ctx, brank, b, p.batch, p.rank));
	if (p.has_m)
		p.dims[p.rank++] = a[arank - 2];
	if (p.has_n)
		p.dims[p.rank++] = b[brank - 1];
	return p;
}

void
infer_product(Infer *infer, const Type *a, const Type *b, DType type)
{
	if (a->rank == 0 || b->rank == 0)
		infer_fail(infer, "operands of ranks %d and %d, expected 1 or more", a->rank, b->rank);
	ExprCtx *ctx = infer->ctx;
	infer_equal(infer, a->dims[a->rank - 1], b->dims[b->rank > 1 ? b->rank - 2 : 0],
	            "columns of a and rows of b");
	Product p = product_shape(ctx, a->rank, a->dims, b->rank, b->dims);
	for (int i = 0; i < p.batch; i++)
		p.dims[i] = infer_broadcast_dim(infer, batch_dim(ctx, a->rank, a->dims, p.batch, i),
		                                batch_dim(ctx, b->rank, b->dims, p.batch, i),
		                                "leading dims of a and b");
	infer_set(infer, 0, type, p.rank, p.dims);
}

void
infer_product_parameter(Infer *infer, int index, int of, bool is_row)
{
	const Type *t = infer_input(infer, index), *x = infer_input(infer, of);
	if (!t)
		return;
	if (t->rank <= 1 || x->rank < 2) {
		const Dim *one = dim_const(infer->ctx, 1);
		infer_single_or_vector(infer, index,
		                       x->rank < 2 ? one : x->dims[x->rank - (is_row ? 2 : 1)]);
		return;
	}
	const Dim *dims[MAX_RANK];
	type_dims(x, dims);
	dims[x->rank - (is_row ? 1 : 2)] = dim_const(infer->ctx, 1);
	infer_broadcast_to(infer, index, x->rank, dims);
}

void
infer_MatMul(Infer *infer)
{
	const Type *a = infer_input(infer, 0);
	infer_product(infer, a, infer_input(infer, 1), a->dtype);
}

/* The leading indices of an operand at the product's batch loops. */
static void
batch_index(ExprCtx *ctx, StageBuilder *y, const Tensor *t, int batch, const Expr **index)
{
	for (int i = 0; i + 2 < t->rank; i++)
		index[i] =
			dim_is(t->hi[i], 1) ? expr_i64(ctx, 0) : stage_iter(y, i + batch - (t->rank - 2));
}

/* Of two open dims the loop is one: whether the other is as large, a run tells. */
static void
operand_index(ExprCtx *ctx, StageBuilder *y, const Tensor *t, const Product *p, const Expr **index)
{
	batch_index(ctx, y, t, p->batch, index);
	for (int i = 0; i + 2 < t->rank; i++) {
		const Dim *loop = p->dims[i + p->batch - (t->rank - 2)];
		if (!dim_is(t->hi[i], 1))
			index[i] = index_within(ctx, index[i], loop, t->hi[i]);
	}
}

const Expr *
read_product_parameter(ExprCtx *ctx, StageBuilder *y, const Tensor *t, int batch, const Expr *m,
                       const Expr *n)
{
	if (tensor_is_scalar(t))
		return stage_read_scalar(y, t);
	const Expr *index[MAX_RANK];
	if (t->rank == 1) {
		index[0] = m ? m : n ? n : expr_i64(ctx, 0);
		return stage_read_checked(y, t, index);
	}
	batch_index(ctx, y, t, batch, index);
	index[t->rank - 2] = m ? m : expr_i64(ctx, 0);
	index[t->rank - 1] = n ? n : expr_i64(ctx, 0);
	return stage_read_checked(y, t, index);
}

/* v - zero in type acc. */
static const Expr *
without_zero(ExprCtx *ctx, const Expr *v, const Expr *zero, DType acc)
{
	return expr_sub(ctx, scalar_as(ctx, acc, v), scalar_as(ctx, acc, zero));
}

Tensor *
op_matmul_zero(ExprCtx *ctx, const Tensor *a, const Tensor *b, const Tensor *a_zero,
               const Tensor *b_zero, const Type *out, DType acc, DType type)
{
	Product p = product_shape(ctx, a->rank, a->hi, b->rank, b->hi);
	memcpy(p.dims, out->dims, (size_t)p.batch * sizeof *p.dims);
	StageBuilder *y = stage_open(ctx, "product", p.rank, p.dims);
	const Expr *k = stage_over(y, "k", dim_const(ctx, 0), a->hi[a->rank - 1]);
	const Expr *m = p.has_m ? stage_iter(y, p.batch) : NULL;
	const Expr *n = p.has_n ? stage_iter(y, p.rank - 1) : NULL;
	if (m)
		stage_name_iter(y, p.batch, "m");
	if (n)
		stage_name_iter(y, p.rank - 1, "n");
	const Expr *ai[MAX_RANK], *bi[MAX_RANK];
	operand_index(ctx, y, a, &p, ai);
	operand_index(ctx, y, b, &p, bi);
	if (m)
		ai[a->rank - 2] = m;
	ai[a->rank - 1] = k;
	bi[b->rank > 1 ? b->rank - 2 : 0] = k;
	if (n)
		bi[b->rank - 1] = n;
	const Expr *av = scalar_as(ctx, acc, stage_read(y, a, ai));
	const Expr *bv = scalar_as(ctx, acc, stage_read(y, b, bi));
	if (a_zero)
		av = without_zero(ctx, av, read_product_parameter(ctx, y, a_zero, p.batch, m, NULL), acc);
	if (b_zero)
		bv = without_zero(ctx, bv, read_product_parameter(ctx, y, b_zero, p.batch, NULL, n), acc);
	return stage_reduce_acc(y, REDUCE_sum, type, acc, expr_mul(ctx, av, bv));
}

void
build_MatMul(Build *b)
{
	DType type = b->in[0]->type;
	b->out[0] = op_matmul_zero(b->ctx, b->in[0], b->in[1], NULL, NULL, b->out_types[0],
	                           work_type(type), type);
}

/* ---- Gemm ------------------------------------------------------------------------------------ */

void
infer_Gemm(Infer *infer)
{
	const Type *a = infer_input(infer, 0), *b = infer_input(infer, 1);
	const Type *c = infer_input(infer, 2);
	infer_rank(infer, 0, 2);
	infer_rank(infer, 1, 2);
	int ta = attr_int(infer->node, "transA") != 0, tb = attr_int(infer->node, "transB") != 0;
	infer_equal(infer, a->dims[!ta], b->dims[tb], "inner dims of a and b");
	const Dim *dims[] = {a->dims[ta], b->dims[!tb]};
	if (c && c->rank > 2)
		infer_fail(infer, "c of rank %d, expected at most 2", c->rank);
	for (int i = 0; c && i < c->rank; i++)
		if (!dim_is(c->dims[i], 1))
			infer_equal(infer, c->dims[i], dims[2 - c->rank + i], "dims of c and of the product");
	infer_set(infer, 0, a->dtype, 2, dims);
}

/* x times a float factor; integers through f64, where the product is not exact in their type. */
static const Expr *
times(ExprCtx *ctx, const Expr *x, float factor)
{
	DType type = (DType)x->type, work = dtype_is_float(type) ? type : DT_F64;
	if (factor == 1)
		return x;
	const Expr *y = expr_mul(ctx, expr_number(ctx, work, factor), expr_cast(ctx, work, x));
	return expr_cast(ctx, type, y);
}

/* Y[m,n] = alpha * sum(k:K) A[m,k] * B[k,n] + beta * C[m,n], with A and B perhaps transposed. */
void
build_Gemm(Build *b)
{
	ExprCtx *ctx = b->ctx;
	const Tensor *a = b->in[0], *w = b->in[1], *c = b->in[2];
	int ta = attr_int(b->node, "transA") != 0, tb = attr_int(b->node, "transB") != 0;
	float alpha = attr_float(b->node, "alpha"), beta = attr_float(b->node, "beta");
	DType work = work_type(a->type);
	const Dim *dims[] = {a->hi[ta], w->hi[!tb]};
	StageBuilder *s = stage_open(ctx, "product", 2, dims);
	stage_name_iter(s, 0, "m");
	stage_name_iter(s, 1, "n");
	const Expr *m = stage_iter(s, 0), *n = stage_iter(s, 1);
	const Expr *k = stage_over(s, "k", dim_const(ctx, 0), a->hi[!ta]);
	const Expr *av = stage_read(s, a, ta ? (const Expr *[]){k, m} : (const Expr *[]){m, k});
	const Expr *bv = stage_read(s, w, tb ? (const Expr *[]){n, k} : (const Expr *[]){k, n});
	const Expr *term = expr_mul(ctx, scalar_as(ctx, work, av), scalar_as(ctx, work, bv));
	bool is_plain = !c && alpha == 1;
	Tensor *sum = stage_reduce_acc(s, REDUCE_sum, is_plain ? a->type : work, work, term);
	if (is_plain) {
		b->out[0] = sum;
		return;
	}
	StageBuilder *y = stage_open(ctx, "y", 2, dims);
	const Expr *body = times(ctx, read_here(y, sum), alpha);
	if (c) {
		const Expr *cv = scalar_as(ctx, work, stage_read_broadcast(y, c));
		body = expr_add(ctx, body, times(ctx, cv, beta));
	}
	b->out[0] = stage_map(y, a->type, expr_cast(ctx, a->type, body));
}
