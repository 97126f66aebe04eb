/* Operators of com.microsoft, which ONNX Runtime writes into models that it optimised.
 *
 *     %y = com.microsoft.Attention(%x, %w, %b, %mask) {num_heads=H}
 *     =>
 *     %q, %k, %v = Split(Add(MatMul(%x, %w), %b))
 *     %y = Attention(%q, %k, %v, %bias) {q_num_heads=H, kv_num_heads=H}
 *
 * The mask is of integers: how many of the first keys each sequence has, or which keys it sees by a
 * number above 0. A key that is not seen has mask_filter_value added to its score.
 *
 * MultiHeadAttention is the same of q, k and v that are there, and has past states.
 */
#include <string.h>

#include "graph/expand.h"
#include "graph/inner.h"

enum { X, W, B, MASK, PAST, BIAS, PAST_LENGTH };

/* Widths of q, k and v together. */
static void
widths_of(ExprCtx *ctx, const Node *node, const Type *w, const Dim *widths[3])
{
	int64_t count, heads = attr_int(node, "num_heads"), width;
	const int64_t *given = attr_ints(node, "qkv_hidden_sizes", &count);
	if (count >= 0 && count != 3)
		fail(&node->loc, "qkv_hidden_sizes has %lld numbers, expected 3", (long long)count);
	for (int i = 0; i < 3; i++) {
		widths[i] =
			count > 0 ? dim_const(ctx, given[i]) : dim_floordiv(ctx, w->dims[1], dim_const(ctx, 3));
		if (heads < 1 || (dim_is_const(widths[i], &width) && (width < 1 || width % heads != 0)))
			fail(&node->loc, "%lld heads do not divide the width of q, k or v", (long long)heads);
	}
}

/* A mask and a bias are for all keys: the standard's may have fewer, and hides the others. */
static void
check_keys(Infer *infer, int mask, int bias, const Dim *keys)
{
	const Type *given[] = {infer_input(infer, mask), infer_input(infer, bias)};
	for (int i = 0; i < 2; i++)
		if (given[i] && given[i]->rank > 1)
			infer_equal(infer, given[i]->dims[given[i]->rank - 1], keys,
			            "lengths of a mask and of the keys");
}

void
infer_microsoft_Attention(Infer *infer)
{
	ExprCtx *ctx = infer->ctx;
	const Dim *widths[3], *heads = dim_const(ctx, attr_int(infer->node, "num_heads"));
	infer_rank(infer, X, 3);
	infer_rank(infer, W, 2);
	infer_rank(infer, PAST, 5);
	const Type *x = infer_input(infer, X), *w = infer_input(infer, W);
	const Type *past = infer_input(infer, PAST);
	widths_of(ctx, infer->node, w, widths);
	infer_equal(infer, x->dims[2], w->dims[0], "dims of x and its weights");
	infer_equal(infer, widths[0], widths[1], "widths of q and k");
	infer_equal(infer, dim_add(ctx, dim_add(ctx, widths[0], widths[1]), widths[2]), w->dims[1],
	            "widths of q, k and v and the weights");
	const Dim *keys = past ? dim_add(ctx, past->dims[3], x->dims[1]) : x->dims[1];
	check_keys(infer, MASK, BIAS, keys);
	infer_set(infer, 0, x->dtype, 3, (const Dim *[]){x->dims[0], x->dims[1], widths[2]});
	infer_set(infer, 1, x->dtype, 5,
	          (const Dim *[]){dim_const(ctx, 2), x->dims[0], heads, keys,
	                          dim_floordiv(ctx, widths[1], heads)});
}

static void
check_mask(const Node *node, const Value *mask)
{
	if (mask && (mask->type.rank < 1 || mask->type.rank > 3))
		fail_unsupported(&node->loc, "a mask of rank %d is not supported", mask->type.rank);
	if (mask && mask->type.rank == 1 && mask->type.dims[0] != node->inputs[X]->type.dims[0])
		fail_unsupported(&node->loc, "a mask of where sequences begin is not supported");
}

static void
check_use(const Node *node)
{
	bool has_present = node->noutput > 1 && node->outputs[1] && node->outputs[1]->uses.count > 0;
	if (expander_input(node, PAST) || expander_input(node, PAST_LENGTH) || has_present)
		fail_unsupported(&node->loc, "past and present states are not supported");
	if (attr_int(node, "do_rotary"))
		fail_unsupported(&node->loc, "rotary embedding (do_rotary) is not supported");
	check_mask(node, expander_input(node, MASK));
}

static Value *
unsqueezed(const Expander *m, Value *x)
{
	return expander_binary(m, "Unsqueeze", x, expander_integer(m, 1, 1));
}

/* bool[B, keys]: the first keys, as many as each sequence has. */
static Value *
within_length(const Expander *m, Value *lengths, Value *keys_of)
{
	Node *shape = expander_node(m, "Shape", 1, &keys_of, 1);
	node_set_int(shape, "start", 1);
	node_set_int(shape, "end", 2);
	Value *count =
		expander_binary(m, "Gather", expander_result(m, shape), expander_integer(m, 0, 0));
	Value *bounds[] = {expander_integer(m, 0, 0), count, expander_integer(m, 0, 1)};
	Value *keys = expander_result(m, expander_node(m, "Range", 3, bounds, 1));
	return expander_binary(m, "Less", keys, unsqueezed(m, expander_cast(m, lengths, DT_I64)));
}

/* What is added to the scores, over [B, heads, rows, keys] or what broadcasts to that; NULL:
 * nothing. */
static Value *
score_bias(const Expander *m, Value *mask, Value *bias, Value *keys)
{
	DType type = m->node->inputs[X]->type.dtype;
	if (!mask)
		return bias;
	Value *seen = mask->type.rank == 1
	                  ? within_length(m, mask, keys)
	                  : expander_binary(m, "Greater", mask, expander_number(m, DT_I32, 0));
	double hidden = (double)attr_float(m->node, "mask_filter_value");
	Value *chosen[] = {seen, expander_number(m, type, 0), expander_number(m, type, hidden)};
	Value *added = expander_result(m, expander_node(m, "Where", 3, chosen, 1));
	while (added->type.rank < 4)
		added = unsqueezed(m, added);
	return bias ? expander_binary(m, "Add", added, bias) : added;
}

static void
split_widths(const Expander *m, Value *all, const Dim *const widths[3], Value *parts[3])
{
	int64_t sizes[3];
	for (int i = 0; i < 3; i++)
		if (!dim_is_const(widths[i], &sizes[i]))
			fail_unsupported(&m->node->loc, "weights of a width that is not known");
	expander_split(m, all, 3, sizes, parts);
}

/* The standard's in place of the node; its last operands and results may be missing. */
static void
become_attention(const Expander *m, int count, Value *const *operands, int nresult)
{
	Node *node = (Node *)(uintptr_t)m->node;
	while (!operands[count - 1])
		count--;
	while (nresult > node->noutput || !node->outputs[nresult - 1])
		nresult--;
	Node *attention = expander_node(m, "Attention", count, operands, nresult);
	node_set_int(attention, "q_num_heads", attr_int(node, "num_heads"));
	node_set_int(attention, "kv_num_heads", attr_int(node, "num_heads"));
	node_set_int(attention, "is_causal", attr_int(node, "unidirectional"));
	if (attr_has(node, "scale"))
		node_add_attr(attention,
		              &(Attr){.name = "scale", .kind = ATTR_FLOAT, .f = attr_float(node, "scale")});
	expander_result(m, attention);
	for (int i = 0; i < nresult; i++)
		if (node->outputs[i])
			value_replace_uses(node->outputs[i], attention->outputs[i]);
	node_remove(node);
}

void
expand_microsoft_Attention(Node *node)
{
	Expander m = {node->parent, node, node};
	const Dim *widths[3];
	Value *operands[4], *bias = expander_input(node, B), *x = node->inputs[X];
	check_use(node);
	widths_of(node->parent->graph->ctx, node, &node->inputs[W]->type, widths);
	Value *all = expander_binary(&m, "MatMul", x, node->inputs[W]);
	split_widths(&m, bias ? expander_binary(&m, "Add", all, bias) : all, widths, operands);
	operands[3] = score_bias(&m, expander_input(node, MASK), expander_input(node, BIAS), x);
	become_attention(&m, 4, operands, 1);
}

/* ---- MultiHeadAttention ---------------------------------------------------------------------- */

enum {
	QUERY,
	KEY,
	VALUE,
	QKV_BIAS,
	KEY_MASK,
	SCORE_BIAS,
	PAST_KEY,
	PAST_VALUE,
	SHARED_LENGTH,
	BEAMS,
};

/* Of k or v, [B, keys, width] or [B, heads, keys, size]. */
static const Dim *
length_of(const Type *x)
{
	return x->dims[x->rank == 4 ? 2 : 1];
}

static const Dim *
width_of(ExprCtx *ctx, const Type *x)
{
	return x->rank == 4 ? dim_mul(ctx, x->dims[1], x->dims[3]) : x->dims[2];
}

static void
check_operands(const Infer *infer)
{
	const Loc *loc = &infer->node->loc;
	const Type *k = infer_input(infer, KEY), *v = infer_input(infer, VALUE);
	if (!k || !v || infer_input(infer, QUERY)->rank == 5)
		fail_unsupported(loc, "q, k and v in one tensor are not supported");
	if (infer_input(infer, SHARED_LENGTH) || infer_input(infer, BEAMS))
		fail_unsupported(loc, "buffers of past states that are written in place are not supported");
	if (infer_wants(infer, 3))
		fail_unsupported(loc, "the result qk is not supported");
	if (k->rank != v->rank || k->rank < 3 || k->rank > 4)
		fail(loc, "k and v have ranks %d and %d, expected both 3 or both 4", k->rank, v->rank);
	if (k->rank == 4 && (infer_input(infer, PAST_KEY) || infer_input(infer, QKV_BIAS)))
		fail(loc, "k and v of rank 4 have neither a bias nor past states");
}

/* Past states and new ones: [B, heads, past + keys, size]; returns how many. */
static const Dim *
set_present(Infer *infer, int output, const Type *x, const Type *past)
{
	ExprCtx *ctx = infer->ctx;
	const Dim *heads = dim_const(ctx, attr_int(infer->node, "num_heads"));
	const Dim *size = dim_floordiv(ctx, width_of(ctx, x), heads), *length = length_of(x);
	if (past) {
		infer_equal(infer, past->dims[0], x->dims[0], "batches of past and new states");
		infer_equal(infer, past->dims[1], heads, "heads of past and new states");
		infer_equal(infer, past->dims[3], size, "sizes of heads of past and new states");
		length = dim_add(ctx, past->dims[2], length);
	}
	infer_set(infer, output, x->dtype, 4, (const Dim *[]){x->dims[0], heads, length, size});
	return length;
}

void
infer_MultiHeadAttention(Infer *infer)
{
	ExprCtx *ctx = infer->ctx;
	check_operands(infer);
	infer_rank(infer, QUERY, 3);
	infer_rank(infer, PAST_KEY, 4);
	infer_rank(infer, PAST_VALUE, 4);
	const Type *q = infer_input(infer, QUERY);
	const Type *states[] = {infer_input(infer, KEY), infer_input(infer, VALUE)};
	const Dim *widths = q->dims[2], *keys = NULL;
	for (int i = 0; i < 2; i++) {
		const Dim *width = width_of(ctx, states[i]);
		int64_t number, heads = attr_int(infer->node, "num_heads");
		if (heads < 1 || (dim_is_const(width, &number) && number % heads != 0))
			infer_fail(infer, "%lld heads do not divide the width of k or v", (long long)heads);
		infer_equal(infer, q->dims[0], states[i]->dims[0], "batches of q, k and v");
		widths = dim_add(ctx, widths, width);
		keys = set_present(infer, 1 + i, states[i], infer_input(infer, PAST_KEY + i));
	}
	infer_equal(infer, q->dims[2], width_of(ctx, states[0]), "widths of q and k");
	infer_equal(infer, length_of(states[0]), length_of(states[1]), "lengths of k and v");
	/* Of fewer queries than keys ONNX Runtime hides keys from all but a single one. */
	if (attr_int(infer->node, "unidirectional"))
		infer_equal(infer, q->dims[1], length_of(states[0]), "lengths of unidirectional q and k");
	check_keys(infer, KEY_MASK, SCORE_BIAS, keys);
	infer_vector(infer, QKV_BIAS, widths);
	infer_set(infer, 0, q->dtype, 3,
	          (const Dim *[]){q->dims[0], q->dims[1], width_of(ctx, states[1])});
}

/* [B, keys, width] of [B, heads, keys, size]. */
static Value *
heads_joined(const Expander *m, Value *x)
{
	if (x->type.rank == 3)
		return x;
	static const int64_t heads_inside[] = {0, 2, 1, 3}, dims[] = {0, 0, -1};
	return expander_binary(m, "Reshape", expander_transposed(m, x, 4, heads_inside),
	                       expander_integers(m, 3, dims));
}

void
expand_MultiHeadAttention(Node *node)
{
	Expander m = {node->parent, node, node};
	ExprCtx *ctx = node->parent->graph->ctx;
	Value *bias = expander_input(node, QKV_BIAS), *mask = expander_input(node, KEY_MASK);
	Value *operands[6], *added[3];
	const Dim *widths[3];
	check_mask(node, mask);
	if (mask && mask->type.rank == 1 && expander_input(node, PAST_KEY))
		fail_unsupported(&node->loc, "lengths of sequences and past states are not supported");
	for (int i = 0; i < 3; i++) {
		operands[i] = heads_joined(&m, node->inputs[QUERY + i]);
		widths[i] = width_of(ctx, &node->inputs[QUERY + i]->type);
	}
	if (bias)
		split_widths(&m, bias, widths, added);
	for (int i = 0; i < 3 && bias; i++)
		operands[i] = expander_binary(&m, "Add", operands[i], added[i]);
	operands[3] = score_bias(&m, mask, expander_input(node, SCORE_BIAS), operands[KEY]);
	operands[4] = expander_input(node, PAST_KEY);
	operands[5] = expander_input(node, PAST_VALUE);
	become_attention(&m, 6, operands, 3);
}
