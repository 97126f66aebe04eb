/* lower_take_quads: sums of products of bytes as sums of dot products of four, where x has their
 * terms side by side and constant weights can be stored so.
 *
 *     Y[m,n] = sum(k:K) i32(X[m,k]) * i32(W[k,n])
 *     => Y[m,n] = sum(k:K/4) dotus(X'[m,k], W'[k,n])       X' are the words of X, W'[k,n] holds
 *                                                          W[4*k .. 4*k+3, n]
 *
 * What a program computes of words is what any kernel does: tiles, lanes and panels are the same. A
 * dot product takes as long as one product of f32, and reads as much.
 */
#include "lower/weights.h"
#include "program/reindex.h"
#include "target/maker.h"

enum { QUAD = 4 };

typedef struct Quads {
	const Program *p;
	const Stage *main;
	Weighted sum;
	int iter;         /* of the sum: its terms are taken four at a time */
	int x_dim, w_dim; /* where it counts */
	int64_t terms;
	ExprOp dot;
	bool is_swapped; /* its first operand is w */
} Quads;

static bool
find_dot(Quads *q)
{
	DType x = q->sum.x->tensor->type, w = q->sum.w->tensor->type;
	q->is_swapped = x == DT_I8 && w == DT_U8;
	q->dot = x == DT_I8 && w == DT_I8 ? EX_dotss : EX_dotus;
	return q->sum.type == DT_I32 && q->main->acc == DT_I32 && dtype_is_byte(x) &&
	       dtype_is_byte(w) && !(x == DT_U8 && w == DT_U8);
}

/* The dim of a read whose index is the iterator, which no other index holds; -1: none. */
static int
dim_of(const Expr *read, int iter)
{
	int found = -1;
	for (int d = 0; d < read->argc; d++) {
		if (!expr_uses_iter(read->arg[d], iter))
			continue;
		if (found >= 0 || read->arg[d]->op != EX_iter)
			return -1;
		found = d;
	}
	return found;
}

/* Terms that lie side by side in x, in whole words. */
static bool
find_terms(Quads *q)
{
	const Expr *x = q->sum.x, *w = q->sum.w;
	q->x_dim = x->argc - 1;
	if (x->argc == 0 || x->arg[q->x_dim]->op != EX_iter)
		return false;
	q->iter = x->arg[q->x_dim]->iter;
	q->w_dim = dim_of(w, q->iter);
	return q->iter >= q->main->nloop && dim_of(x, q->iter) == q->x_dim && q->w_dim >= 0 &&
	       dim_is(q->main->iters[q->iter].lo, 0) &&
	       dim_is_const(q->main->iters[q->iter].hi, &q->terms) && q->terms % QUAD == 0 &&
	       dim_is(x->tensor->hi[q->x_dim], q->terms) && dim_is(w->tensor->hi[q->w_dim], q->terms) &&
	       !(q->main->guard && expr_uses_iter(q->main->guard, q->iter));
}

/* Nothing else reads either of them as bytes. */
static bool
are_read_once(const Quads *q)
{
	int reads = 0;
	for (int s = 0; s < q->p->nstage; s++)
		reads += stage_reads(q->p->stages[s], q->sum.x->tensor) +
		         stage_reads(q->p->stages[s], q->sum.w->tensor);
	return reads == 2;
}

/* ---- the program over words ---- */

static int
word_dims(void *self, const Tensor *tensor, NewDim *dims)
{
	const Quads *q = self;
	int quad = tensor == q->sum.x->tensor ? q->x_dim : tensor == q->sum.w->tensor ? q->w_dim : -1;
	for (int d = 0; d < tensor->rank && quad >= 0; d++) {
		dims[d] = (NewDim){.dim = d, .lo = dim_const(q->p->ctx, 0), .hi = tensor->hi[d]};
		if (d == quad) {
			dims[d].block = QUAD;
			dims[d].hi = dim_const(q->p->ctx, q->terms / QUAD);
		}
	}
	return quad < 0 ? -1 : tensor->rank;
}

static void
word_iters(void *self, const Stage *stage, NewStage *to)
{
	const Quads *q = self;
	ExprCtx *ctx = q->p->ctx;
	if (stage != q->main)
		return;
	to->iters[q->iter].hi = dim_const(ctx, q->terms / QUAD);
	to->old[q->iter] = expr_mul(ctx, to->old[q->iter], expr_i64(ctx, QUAD));
}

static DType
word_type(void *self, const Tensor *input)
{
	const Quads *q = self;
	return input == q->sum.x->tensor || input == q->sum.w->tensor ? DT_U32 : input->type;
}

static const Expr *
dot_body(void *self, const Stage *stage, const Expr *body)
{
	const Quads *q = self;
	if (stage != q->main)
		return body;
	body = expr_without_casts(body);
	bool is_first = expr_without_casts(stage_summed_product(stage)->arg[0]) == q->sum.x;
	const Expr *x = expr_without_casts(body->arg[!is_first]);
	const Expr *w = expr_without_casts(body->arg[is_first]);
	return expr_op(q->p->ctx, q->dot,
	               q->is_swapped ? (const Expr *[]){w, x} : (const Expr *[]){x, w});
}

/* The bytes of dim d as words, each of four that lie along it. */
static Array *
words_of(Arena *arena, const Array *data, int dim)
{
	int64_t dims[ARRAY_MAX_RANK], inner = 1, count = array_count(data);
	for (int d = 0; d < data->rank; d++) {
		dims[d] = d == dim ? data->dims[d] / QUAD : data->dims[d];
		inner *= d > dim ? data->dims[d] : 1;
	}
	Array *out = array_new(arena, DT_U32, data->rank, dims);
	const uint8_t *from = data->data;
	uint32_t *to = out->data;
	for (int64_t i = 0; i < count; i++) {
		int64_t k = i / inner, word = k / QUAD * inner + i % inner;
		to[word] |= (uint32_t)from[i] << 8 * (k % QUAD);
	}
	return out;
}

const Program *
lower_take_quads(Lowering *low, const Program *p, const bool *is_constant, MBuffer **args)
{
	const Target *target = low->context->target;
	Quads q = {.p = p, .main = p->stages[0]};
	if (!maker_of(target)->takes_quads || !weighted_sum(p, target, is_constant, &q.sum) ||
	    !find_dot(&q) || !find_terms(&q) || !are_read_once(&q))
		return p;
	const MBuffer *weight = args[q.sum.weight];
	int64_t dims[ARRAY_MAX_RANK];
	for (int d = 0; d < q.sum.w->argc; d++)
		if (!dim_is_const(q.sum.w->tensor->hi[d], &dims[d]))
			return p;
	Array same = {weight->data->type, q.sum.w->argc, dims, weight->data->data};
	args[q.sum.weight] = lower_weight(low, weight, "words", words_of(low->arena, &same, q.w_dim));
	return program_reindex(&(Reindex){.arena = low->arena,
	                                  .program = p,
	                                  .tensor = word_dims,
	                                  .stage = word_iters,
	                                  .type = word_type,
	                                  .body = dot_body,
	                                  .self = &q,
	                                  .is_simplified = true});
}
