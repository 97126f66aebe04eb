/* Attention: softmax(scale * Q K^T + mask) V for each head.
 *
 *     S[b,h,i,j] = sum(d) (Q[b,h,i,d] * sqrt(scale)) * (K[b,h/g,j,d] * sqrt(scale))
 *     P[b,h,i,j] = softmax over j of (softcap(S) + bias)
 *     Y[b,h,i,e] = sum(j) P[b,h,i,j] * V[b,h/g,j,e]
 *
 * g query heads share a key head. K and V are past states followed by the new ones. The bias is the
 * mask (false or missing: -inf), and -inf where causality, window or padding forbid the key; a row
 * in which every key is forbidden gives zeros. Everything between the inputs and the outputs is in
 * f32 (f64 for f64 inputs).
 */
#include "graph/ops/helpers.h"

#include <math.h>

enum { MASK = 3, PAST_KEY = 4, PAST_VALUE = 5, NONPAD = 6 };

/* Extents of one attention. */
typedef struct Heads {
	const Dim *batch, *q, *kv;     /* numbers of heads */
	const Dim *rows, *keys, *past; /* sequence lengths; past: 0 without a cache */
	const Dim *head, *v_head;      /* sizes of a head; */
	const Dim *key_head;           /* of k, which must be as q's */
	const Dim *total;              /* past + keys */
} Heads;

/* Number and size of heads: dims 1 and 3 of rank 4, or dim 2 cut into `attribute` parts. */
static void
split_heads(ExprCtx *ctx, const Node *node, int rank, const Dim *const *dims, const char *attribute,
            const Dim **count, const Dim **size)
{
	if (rank == 4) {
		*count = dims[1];
		*size = dims[3];
		return;
	}
	if (!attr_has(node, attribute) || attr_int(node, attribute) < 1)
		fail(&node->loc, "inputs of rank 3 need a positive %s", attribute);
	*count = dim_const(ctx, attr_int(node, attribute));
	*size = dim_floordiv(ctx, dims[2], *count);
}

static Heads
heads_of(ExprCtx *ctx, const Node *node, int rank, const Dim *const *q, const Dim *const *k,
         const Dim *const *v, const Dim *const *past)
{
	const Dim *heads;
	int sequence = rank == 4 ? 2 : 1;
	Heads h = {.batch = q[0], .rows = q[sequence], .keys = k[sequence]};
	split_heads(ctx, node, rank, q, "q_num_heads", &h.q, &h.head);
	split_heads(ctx, node, rank, k, "kv_num_heads", &h.kv, &h.key_head);
	split_heads(ctx, node, rank, v, "kv_num_heads", &heads, &h.v_head);
	h.past = past ? past[2] : dim_const(ctx, 0);
	h.total = dim_add(ctx, h.past, h.keys);
	return h;
}

/* ---- infer ----------------------------------------------------------------------------------- */

static void
check_attention(Infer *infer, const Type *q, const Type *k, const Type *v, const Heads *h)
{
	int64_t heads, shared, width;
	const Type *operands[] = {q, k, v};
	const Dim *counts[] = {h->q, h->kv, h->kv};
	for (int i = 0; i < 3 && q->rank == 3; i++)
		if (dim_is_const(operands[i]->dims[2], &width) && dim_is_const(counts[i], &heads) &&
		    width % heads != 0)
			infer_fail(infer, "%lld heads do not divide a last dim of %lld", (long long)heads,
			           (long long)width);
	infer_equal(infer, h->head, h->key_head, "sizes of the heads of q and k");
	infer_equal(infer, q->dims[0], k->dims[0], "batches of q and k");
	infer_equal(infer, k->dims[0], v->dims[0], "batches of k and v");
	infer_equal(infer, h->keys, v->dims[q->rank == 4 ? 2 : 1], "lengths of k and v");
	if (dim_is_const(h->q, &heads) && dim_is_const(h->kv, &shared) && shared > 0 &&
	    heads % shared != 0)
		infer_fail(infer, "%lld key heads do not divide %lld query heads", (long long)shared,
		           (long long)heads);
	if (!infer_input(infer, PAST_KEY) != !infer_input(infer, PAST_VALUE))
		infer_fail(infer, "past_key and past_value belong together");
	if (infer_input(infer, PAST_KEY) && infer_input(infer, NONPAD))
		infer_fail(infer, "nonpad_kv_seqlen cannot be used with past_key");
	int64_t mode = attr_int(infer->node, "qk_matmul_output_mode");
	if (mode < 0 || mode > 3)
		infer_fail(infer, "qk_matmul_output_mode %lld, expected 0..3", (long long)mode);
	const Type *mask = infer_input(infer, MASK);
	if (mask && mask->rank > 4)
		infer_fail(infer, "attn_mask of rank %d, expected at most 4", mask->rank);
}

/* Keys or values with the past ones in front: dims as of those that come first. */
static void
infer_present(Infer *infer, int output, const Type *x, const Type *past, const Heads *h,
              const Dim *size)
{
	const Dim *dims[] = {x->dims[0], h->kv, h->total, size};
	for (int i = 0; past && i < 4; i++) {
		const Dim *now = i == 2 ? h->past : dims[i];
		infer_equal(infer, past->dims[i], now, "dims of past and new states");
		dims[i] = i == 2 ? dims[i] : past->dims[i];
	}
	infer_set(infer, output, x->dtype, 4, dims);
}

void
infer_Attention(Infer *infer)
{
	ExprCtx *ctx = infer->ctx;
	const Type *q = infer_input(infer, 0), *k = infer_input(infer, 1), *v = infer_input(infer, 2);
	const Type *past = infer_input(infer, PAST_KEY);
	if ((q->rank != 3 && q->rank != 4) || k->rank != q->rank || v->rank != q->rank)
		infer_fail(infer, "q, k, v of ranks %d, %d, %d: expected all 3 or all 4", q->rank, k->rank,
		           v->rank);
	infer_rank(infer, PAST_KEY, 4);
	infer_rank(infer, PAST_VALUE, 4);
	if (attr_has(infer->node, "softmax_precision"))
		infer_float_attr(infer, "softmax_precision");
	Heads h =
		heads_of(ctx, infer->node, q->rank, q->dims, k->dims, v->dims, past ? past->dims : NULL);
	check_attention(infer, q, k, v, &h);
	if (q->rank == 4)
		infer_set(infer, 0, q->dtype, 4, (const Dim *[]){h.batch, h.q, h.rows, h.v_head});
	else
		infer_set(infer, 0, q->dtype, 3,
		          (const Dim *[]){h.batch, h.rows, dim_mul(ctx, h.q, h.v_head)});
	infer_present(infer, 1, k, past, &h, h.head);
	infer_present(infer, 2, v, infer_input(infer, PAST_VALUE), &h, h.v_head);
	infer_set(infer, 3, q->dtype, 4, (const Dim *[]){h.batch, h.q, h.rows, h.total});
}

/* ---- parts of the formula -------------------------------------------------------------------- */

typedef struct Attention {
	ExprCtx *ctx;
	const Node *node;
	Heads h;
	DType work;
	const Tensor *mask, *nonpad; /* or NULL */
	bool has_past, is_causal;
	int64_t left, right; /* window; negative: unbounded */
} Attention;

/* A stage over [b, h, i, j]. */
static StageBuilder *
heads_open(ExprCtx *ctx, const char *name, const Dim *const *dims)
{
	static const char *const NAMES[] = {"b", "h", "i", "j"};
	StageBuilder *y = stage_open(ctx, name, 4, dims);
	for (int i = 0; i < 4; i++)
		stage_name_iter(y, i, NAMES[i]);
	return y;
}

/* [b, h, s, d] of an input of rank 4, or of rank 3 with its heads side by side. */
static const Tensor *
by_heads(ExprCtx *ctx, const Tensor *x, const Dim *heads, const Dim *size)
{
	if (x->rank == 4)
		return x;
	const Dim *dims[] = {x->hi[0], heads, x->hi[1], size};
	StageBuilder *y = heads_open(ctx, "heads", dims);
	const Expr *first = index_mul(ctx, stage_iter(y, 1), size);
	const Expr *index[] = {stage_iter(y, 0), stage_iter(y, 2),
	                       index_add(ctx, first, stage_iter(y, 3))};
	return stage_map(y, x->type, stage_read_checked(y, x, index));
}

/* The key head of query head h. */
static const Expr *
key_head(const Attention *a, const Expr *h)
{
	return index_div(a->ctx, h, dim_floordiv(a->ctx, a->h.q, a->h.kv));
}

/* S[b,h,i,j] */
static Tensor *
scores(const Attention *a, const Tensor *q, const Tensor *k)
{
	ExprCtx *ctx = a->ctx;
	const Dim *dims[] = {a->h.batch, a->h.q, a->h.rows, a->h.total};
	StageBuilder *s = heads_open(ctx, "scores", dims);
	const Expr *b = stage_iter(s, 0), *h = stage_iter(s, 1);
	const Expr *i = stage_iter(s, 2), *j = stage_iter(s, 3);
	const Expr *d = stage_over(s, "d", dim_const(ctx, 0), a->h.head);
	const Expr *scale;
	if (attr_has(a->node, "scale"))
		scale = expr_number(ctx, a->work, attr_float(a->node, "scale"));
	else
		scale = expr_div(ctx, expr_number(ctx, a->work, 1),
		                 expr_sqrt(ctx, dim_as(ctx, a->work, a->h.head)));
	scale = expr_sqrt(ctx, scale);
	const Expr *qv = stage_read(s, q, (const Expr *[]){b, h, i, d});
	const Expr *kv = stage_read(s, k, (const Expr *[]){b, key_head(a, h), j, d});
	const Expr *term = expr_mul(ctx, expr_mul(ctx, scalar_as(ctx, a->work, qv), scale),
	                            expr_mul(ctx, scalar_as(ctx, a->work, kv), scale));
	return stage_reduce_acc(s, REDUCE_sum, a->work, a->work, term);
}

/* softcap * tanh(S / softcap) */
static Tensor *
soft_capped(const Attention *a, Tensor *s)
{
	ExprCtx *ctx = a->ctx;
	float softcap = attr_float(a->node, "softcap");
	if (!(softcap > 0))
		return s;
	const Expr *cap = expr_number(ctx, a->work, softcap);
	StageBuilder *y = heads_open(ctx, "capped", s->hi);
	const Expr *part = expr_tanh(ctx, expr_div(ctx, read_here(y, s), cap));
	return stage_map(y, a->work, expr_mul(ctx, part, cap));
}

/* Whether query i may see key j of batch b, as far as causality, window and padding decide; NULL:
 * always. Row i stands at position i + offset among the keys. */
static const Expr *
is_allowed(const Attention *a, StageBuilder *y, const Expr *b, const Expr *i, const Expr *j)
{
	ExprCtx *ctx = a->ctx;
	const Expr *allowed = NULL, *length = NULL, *at = index_add(ctx, i, a->h.past);
	if (a->nonpad) {
		length = stage_read_checked(y, a->nonpad, &b);
		at = expr_add(ctx, i, expr_sub(ctx, length, a->h.rows));
	}
	if (a->is_causal)
		allowed = expr_both(ctx, allowed, expr_le(ctx, j, at));
	if (a->left >= 0)
		allowed =
			expr_both(ctx, allowed, expr_le(ctx, expr_sub(ctx, at, j), expr_i64(ctx, a->left)));
	if (a->right >= 0)
		allowed =
			expr_both(ctx, allowed, expr_le(ctx, expr_sub(ctx, j, at), expr_i64(ctx, a->right)));
	return length ? expr_both(ctx, allowed, expr_lt(ctx, j, length)) : allowed;
}

/* The mask at b, h, i, j: right-aligned, extent 1 broadcasts except along the keys, and keys beyond
 * its end are forbidden. NULL without a mask. */
static const Expr *
mask_bias(const Attention *a, StageBuilder *y, const Expr *const *at)
{
	ExprCtx *ctx = a->ctx;
	const Tensor *mask = a->mask;
	const Expr *index[4], *never = expr_lowest(ctx, a->work);
	if (!mask)
		return NULL;
	for (int k = 0; k < mask->rank; k++) {
		bool is_keys = k == mask->rank - 1;
		index[k] = !is_keys && dim_is(mask->hi[k], 1) ? expr_i64(ctx, 0) : at[4 - mask->rank + k];
	}
	bool is_bool = mask->type == DT_BOOL;
	const Expr *value = stage_read_or(
		y, mask, index, is_bool ? expr_bool(ctx, false) : expr_lowest(ctx, mask->type));
	return is_bool ? expr_select(ctx, value, expr_number(ctx, a->work, 0), never)
	               : scalar_as(ctx, a->work, value);
}

/* What is added to the score at b, h, i, j; NULL: nothing. */
static const Expr *
bias_at(const Attention *a, StageBuilder *y, const Expr *const *at)
{
	ExprCtx *ctx = a->ctx;
	const Expr *allowed = is_allowed(a, y, at[0], at[2], at[3]);
	const Expr *bias = mask_bias(a, y, at);
	if (!allowed)
		return bias;
	return expr_select(ctx, allowed, bias ? bias : expr_number(ctx, a->work, 0),
	                   expr_lowest(ctx, a->work));
}

static const Tensor *
biased(const Attention *a, const Tensor *s)
{
	StageBuilder *y = heads_open(a->ctx, "biased", s->hi);
	const Expr *at[4];
	loops_of(y, 4, at);
	const Expr *bias = bias_at(a, y, at);
	if (!bias)
		return s;
	return stage_map(y, a->work, expr_add(a->ctx, read_here(y, s), bias));
}

/* P where some key of the row is allowed, else 0. Only a mask, a window or padding can forbid all:
 * causality alone allows key 0. */
static Tensor *
without_dead_rows(const Attention *a, Tensor *p)
{
	ExprCtx *ctx = a->ctx;
	if (!a->mask && !a->nonpad && a->left < 0 && a->right < 0)
		return p;
	StageBuilder *m = stage_open(ctx, "best", 3, p->hi);
	const Expr *at[] = {stage_iter(m, 0), stage_iter(m, 1), stage_iter(m, 2),
	                    stage_over(m, "j", dim_const(ctx, 0), p->hi[3])};
	Tensor *best = stage_reduce_acc(m, REDUCE_max, a->work, a->work, bias_at(a, m, at));
	StageBuilder *y = heads_open(ctx, "probability", p->hi);
	const Expr *is_dead = expr_eq(ctx, read_row(y, best, 4, AXIS(3)), expr_lowest(ctx, a->work));
	const Expr *zero = expr_number(ctx, p->type, 0);
	return stage_map(y, p->type, expr_select(ctx, is_dead, zero, read_here(y, p)));
}

static Tensor *
probabilities(const Attention *a, const Tensor *logits)
{
	DType work = a->work;
	if (attr_has(a->node, "softmax_precision")) {
		DType precision = (DType)attr_int(a->node, "softmax_precision");
		logits = op_cast(a->ctx, logits, precision);
		work = work_type2(precision, a->work);
	}
	return without_dead_rows(a, op_softmax(a->ctx, logits, 3, work));
}

/* Y[b,h,i,e] = sum(j) P[b,h,i,j] * V[b,h/g,j,e] */
static Tensor *
weighted_values(const Attention *a, const Tensor *p, const Tensor *v, DType type)
{
	ExprCtx *ctx = a->ctx;
	const Dim *dims[] = {a->h.batch, a->h.q, a->h.rows, a->h.v_head};
	StageBuilder *y = heads_open(ctx, "y", dims);
	const Expr *b = stage_iter(y, 0), *h = stage_iter(y, 1);
	const Expr *i = stage_iter(y, 2), *e = stage_iter(y, 3);
	const Expr *j = stage_over(y, "j", dim_const(ctx, 0), a->h.total);
	const Expr *pv = stage_read(y, p, (const Expr *[]){b, h, i, j});
	const Expr *vv = stage_read(y, v, (const Expr *[]){b, key_head(a, h), j, e});
	return stage_reduce_acc(y, REDUCE_sum, type, p->type,
	                        expr_mul(ctx, pv, scalar_as(ctx, p->type, vv)));
}

/* Y[b,i,h*E+e]: the heads side by side. */
static Tensor *
joined_heads(const Attention *a, const Tensor *y4)
{
	ExprCtx *ctx = a->ctx;
	const Dim *dims[] = {a->h.batch, a->h.rows, dim_mul(ctx, a->h.q, a->h.v_head)};
	StageBuilder *y = stage_open(ctx, "y", 3, dims);
	const Expr *c = stage_iter(y, 2);
	const Expr *index[] = {stage_iter(y, 0), index_div(ctx, c, a->h.v_head), stage_iter(y, 1),
	                       index_mod(ctx, c, a->h.v_head)};
	return stage_map(y, y4->type, stage_read_checked(y, y4, index));
}

/* ---- the builder ----------------------------------------------------------------------------- */

/* New states behind the past ones. */
static const Tensor *
with_past(ExprCtx *ctx, const Tensor *past, const Tensor *x)
{
	return past ? op_concat2(ctx, past, x, 2) : x;
}

void
build_Attention(Build *b)
{
	ExprCtx *ctx = b->ctx;
	const Tensor *q = b->in[0], *past = b->in[PAST_KEY];
	Attention a = {.ctx = ctx, .node = b->node, .work = work_type(q->type)};
	a.h =
		heads_of(ctx, b->node, q->rank, q->hi, b->in[1]->hi, b->in[2]->hi, past ? past->hi : NULL);
	a.mask = b->in[MASK];
	a.nonpad = b->in[NONPAD];
	a.is_causal = attr_int(b->node, "is_causal") != 0;
	a.left = attr_int(b->node, "left_window_size");
	a.right = attr_int(b->node, "right_window_size");

	const Tensor *q4 = by_heads(ctx, q, a.h.q, a.h.head);
	const Tensor *k4 = by_heads(ctx, b->in[1], a.h.kv, a.h.head);
	const Tensor *v4 = by_heads(ctx, b->in[2], a.h.kv, a.h.v_head);
	const Tensor *k = with_past(ctx, past, k4);
	const Tensor *v = with_past(ctx, b->in[PAST_VALUE], v4);

	Tensor *raw = scores(&a, q4, k), *capped = soft_capped(&a, raw);
	const Tensor *logits = biased(&a, capped);
	Tensor *p = probabilities(&a, logits);
	Tensor *y = weighted_values(&a, p, v, q->type);
	b->out[0] = q->rank == 4 ? y : joined_heads(&a, y);
	b->out[1] = k;
	b->out[2] = v;
	if (b->out_types[3]) {
		const Tensor *steps[] = {raw, capped, logits, p};
		b->out[3] = op_cast(ctx, steps[attr_int(b->node, "qk_matmul_output_mode")], q->type);
	}
}
