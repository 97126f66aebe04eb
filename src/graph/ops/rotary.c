/* RotaryEmbedding: pairs of elements of a head, turned by angles of their position.
 *
 *     Y[b,h,s,d]       = cos[p,d] * X[d] - sin[p,d] * X[d + R/2]      d < R/2, p: position of s
 *     Y[b,h,s,d + R/2] = cos[p,d] * X[d + R/2] + sin[p,d] * X[d]
 *
 * Interleaved, the pairs are 2d and 2d + 1. What lies behind the first R elements stays. An input
 * of rank 3 holds the heads side by side in its last axis.
 */
#include "graph/ops/helpers.h"

void
infer_RotaryEmbedding(Infer *infer)
{
	const Type *x = infer_input(infer, 0);
	int caches = infer_input(infer, 3) ? 2 : 3;
	if (x->rank != 3 && x->rank != 4)
		infer_fail(infer, "input of rank %d, expected 3 or 4", x->rank);
	if (x->rank == 3 && attr_int(infer->node, "num_heads") < 1)
		infer_fail(infer, "an input of rank 3 needs num_heads");
	for (int i = 1; i < 3; i++)
		if (infer_input(infer, i)->rank != caches)
			infer_fail(infer, "cos_cache and sin_cache must have rank %d", caches);
	infer_same(infer);
}

typedef struct Rotary {
	Build *b;
	ExprCtx *ctx;
	StageBuilder *y;
	DType work;
	const Expr *in_head; /* this element's place in its head */
} Rotary;

/* The cosine or sine of pair `pair` at this position. */
static const Expr *
read_cache(const Rotary *r, int input, const Expr *pair)
{
	const Build *b = r->b;
	const Expr *place[2] = {stage_iter(r->y, 0), stage_iter(r->y, b->in[0]->rank - 2)};
	const Expr *index[3] = {place[0], place[1], pair};
	if (b->in[3]) {
		const Expr *position = stage_read_checked(r->y, b->in[3], place);
		index[0] = index_wrapped(r->ctx, position, b->in[input]->hi[0]);
		index[1] = pair;
	}
	return scalar_as(r->ctx, r->work, stage_read_checked(r->y, b->in[input], index));
}

/* X at this place, `shift` elements further. */
static const Expr *
read_shifted(const Rotary *r, const Dim *shift)
{
	const Tensor *x = r->b->in[0];
	const Expr *index[MAX_RANK];
	loops_of(r->y, x->rank, index);
	index[x->rank - 1] = index_add(r->ctx, index[x->rank - 1], shift);
	return scalar_as(r->ctx, r->work, stage_read_checked(r->y, x, index));
}

/* cos * X - sin * X' (first of the pair) or cos * X + sin * X', where `condition` holds. */
static const Expr *
turned(const Rotary *r, const Expr *condition, const Expr *pair, const Dim *partner, bool is_first)
{
	ExprCtx *ctx = r->ctx;
	stage_if(r->y, condition);
	const Expr *own = expr_mul(ctx, read_cache(r, 1, pair), read_shifted(r, dim_const(ctx, 0)));
	const Expr *other = expr_mul(ctx, read_cache(r, 2, pair), read_shifted(r, partner));
	stage_end_if(r->y);
	return is_first ? expr_sub(ctx, own, other) : expr_add(ctx, own, other);
}

void
build_RotaryEmbedding(Build *b)
{
	ExprCtx *ctx = b->ctx;
	const Tensor *x = b->in[0];
	const Dim *head = x->hi[x->rank - 1], *zero = dim_const(ctx, 0), *two = dim_const(ctx, 2);
	Rotary r = {b, ctx, output_open(b, 0), work_type(x->type), NULL};
	r.in_head = stage_iter(r.y, x->rank - 1);
	if (x->rank == 3) {
		head = dim_floordiv(ctx, head, dim_const(ctx, attr_int(b->node, "num_heads")));
		r.in_head = index_mod(ctx, r.in_head, head);
	}
	int64_t given = attr_int(b->node, "rotary_embedding_dim");
	const Dim *all = given ? dim_const(ctx, given) : head, *half = dim_floordiv(ctx, all, two);
	const Dim *apart = half;
	const Expr *is_first = expr_lt(ctx, r.in_head, half);
	const Expr *first_pair = r.in_head, *second_pair = index_sub(ctx, r.in_head, half);
	if (attr_int(b->node, "interleaved")) {
		apart = dim_const(ctx, 1);
		first_pair = second_pair = index_div(ctx, r.in_head, two);
		is_first = expr_eq(ctx, index_mod(ctx, r.in_head, two), zero);
	}
	const Expr *is_turned = expr_lt(ctx, r.in_head, all);
	const Expr *when_first = expr_and(ctx, is_turned, is_first);
	const Expr *when_second = expr_and(ctx, is_turned, expr_not(ctx, is_first));
	const Expr *first = turned(&r, when_first, first_pair, apart, true);
	const Expr *second = turned(&r, when_second, second_pair, dim_sub(ctx, zero, apart), false);
	const Expr *rest = expr_select(ctx, when_second, second, read_shifted(&r, zero));
	const Expr *body = expr_select(ctx, when_first, first, rest);
	b->out[0] = stage_map(r.y, x->type, expr_cast(ctx, x->type, body));
}
