/* Attention of groups of heads with states of the past, and rotary embedding, as exporters of
 * language models write them for ONNX Runtime.
 *
 *     %y, %k', %v' = com.microsoft.GroupQueryAttention(%q, %k, %v, %pastk, %pastv, %last, %total)
 *     =>
 *     %before = Max(%last + 1 - S, 0)                    of each sequence, as %last is
 *     %place  = j < %before ? j : P + Min(j - %before, S - 1)
 *     %k'     = GatherND(Concat(%pastk, %k), %place)     each sequence without gaps
 *     %seen   = j <= %before + s && j <= %last
 *     %y      = Attention(%q, %k', %v', %seen)
 *
 * The last of P keys of the past may be unused, and those of sequences that are shorter. There are
 * as many present keys as past ones, or as %total says, if that is more: a buffer that has room
 * keeps its size.
 */
#include <math.h>

#include "graph/expand.h"
#include "graph/inner.h"

enum {
	QUERY,
	KEY,
	VALUE,
	PAST_KEY,
	PAST_VALUE,
	LAST,
	TOTAL,
	COSINES,
	SINES,
	POSITIONS,
	BIAS,
	SINK,
};

enum { AXES = 4 };

static const int64_t HEADS_OUTSIDE[AXES] = {0, 2, 1, 3};

/* Elements of a head. */
static int64_t
head_size(const Node *node)
{
	int64_t heads = attr_int(node, "num_heads"), groups = attr_int(node, "kv_num_heads"), width;
	const Type *q = &node->inputs[QUERY]->type;
	int64_t parts = heads + (expander_input(node, KEY) ? 0 : 2 * groups);
	if (heads < 1 || groups < 1 || heads % groups != 0)
		fail(&node->loc, "%lld heads are no groups for %lld heads of keys", (long long)heads,
		     (long long)groups);
	if (!dim_is_const(q->dims[2], &width))
		fail_unsupported(&node->loc, "heads of a size that is not known");
	if (width < parts || width % parts != 0)
		fail(&node->loc, "%lld heads do not divide the width %lld", (long long)parts,
		     (long long)width);
	return width / parts;
}

static void
check_operands(const Infer *infer)
{
	const Loc *loc = &infer->node->loc;
	bool has_keys = infer_input(infer, KEY), has_past = infer_input(infer, PAST_KEY);
	if (has_keys != (infer_input(infer, VALUE) != NULL) ||
	    has_past != (infer_input(infer, PAST_VALUE) != NULL))
		fail(loc, "keys without values, or values without keys");
	for (int i = SINK + 1; i < infer->node->ninput; i++)
		if (infer_input(infer, i))
			fail_unsupported(loc, "quantised past states are not supported");
	if (attr_int(infer->node, "local_window_size") == 0)
		fail(loc, "local_window_size is 0, expected -1 or more than 0");
	if (infer_wants(infer, 3))
		fail_unsupported(loc, "the result output_qk is not supported");
}

void
infer_GroupQueryAttention(Infer *infer)
{
	ExprCtx *ctx = infer->ctx;
	infer_rank(infer, QUERY, 3);
	check_operands(infer);
	int64_t size = head_size(infer->node), groups = attr_int(infer->node, "kv_num_heads");
	const Type *q = infer_input(infer, QUERY), *past = infer_input(infer, PAST_KEY);
	const Dim *keys = dim_const(ctx, groups * size), *length = q->dims[1];
	const Dim *width = dim_const(ctx, attr_int(infer->node, "num_heads") * size);
	if (past)
		length = dim_max(ctx, past->dims[2], infer_dim_value(infer, TOTAL, 0));
	const Dim *state[] = {q->dims[0], dim_const(ctx, groups), length, dim_const(ctx, size)};
	for (int i = 0; i < 2; i++) {
		const Type *new = infer_input(infer, KEY + i), *old = infer_input(infer, PAST_KEY + i);
		infer_rank(infer, KEY + i, 3);
		infer_rank(infer, PAST_KEY + i, AXES);
		const Dim *whole[] = {q->dims[0], q->dims[1], keys};
		for (int d = 0; new &&d < 3; d++)
			infer_equal(infer, new->dims[d], whole[d], "dims of q and of k or v");
		for (int d = 0; old && d < AXES; d++)
			infer_equal(infer, old->dims[d], d == 2 ? past->dims[2] : state[d],
			            "dims of past and of present states");
		infer_set(infer, 1 + i, q->dtype, AXES, state);
	}
	infer_set(infer, 0, q->dtype, 3, (const Dim *[]){q->dims[0], q->dims[1], width});
}

/* ---- integers -------------------------------------------------------------------------------- */

static Value *
unsqueezed(const Expander *m, Value *x, int axis)
{
	return expander_binary(m, "Unsqueeze", x, expander_integer(m, 1, axis));
}

static Value *
extent(const Expander *m, Value *x, int axis)
{
	return expander_binary(m, "Gather", expander_unary(m, "Shape", x),
	                       expander_integer(m, 0, axis));
}

static Value *
up_to(const Expander *m, Value *count)
{
	Value *bounds[] = {expander_integer(m, 0, 0), count, expander_integer(m, 0, 1)};
	return expander_result(m, expander_node(m, "Range", 3, bounds, 1));
}

typedef struct Places {
	Value *last;      /* [B,1]: the last key that a sequence has */
	Value *before;    /* [B,1]: keys of the past */
	Value *positions; /* [B,S]: the keys at which queries stand */
	Value *key;       /* [L]: 0, 1 … */
} Places;

static Places
places_of(const Expander *m)
{
	Value *const *in = m->node->inputs;
	Value *rows = extent(m, in[QUERY], 1), *past = expander_input(m->node, PAST_KEY);
	Value *one = expander_integer(m, 0, 1), *zero = expander_integer(m, 0, 0);
	Places p;
	p.last = expander_binary(m, "Reshape", expander_cast(m, in[LAST], DT_I64),
	                         expander_integers(m, 2, (const int64_t[]){-1, 1}));
	Value *before = expander_binary(m, "Sub", expander_binary(m, "Add", p.last, one), rows);
	p.before = expander_binary(m, "Max", before, zero);
	p.positions = expander_binary(m, "Add", p.before, up_to(m, rows));
	Value *total = expander_binary(m, "Reshape", expander_cast(m, in[TOTAL], DT_I64),
	                               expander_integers(m, 0, NULL));
	p.key = up_to(m, past ? expander_binary(m, "Max", extent(m, past, 2), total) : rows);
	return p;
}

/* ---- keys and values ------------------------------------------------------------------------- */

/* [B,heads,rows,size] of [B,rows,heads*size]. */
static Value *
heads_outside(const Expander *m, Value *x, int64_t size)
{
	Value *dims = expander_integers(m, AXES, (const int64_t[]){0, 0, -1, size});
	return expander_transposed(m, expander_binary(m, "Reshape", x, dims), AXES, HEADS_OUTSIDE);
}

/* Where present key j of each sequence lies in the past and the new ones together: [B,L,1]. */
static Value *
places_in_both(const Expander *m, const Places *p, Value *past, Value *rows)
{
	Value *last = expander_binary(m, "Sub", rows, expander_integer(m, 0, 1));
	Value *behind = expander_binary(m, "Sub", p->key, p->before);
	Value *new =
		expander_binary(m, "Add", expander_binary(m, "Min", behind, last), extent(m, past, 2));
	Value *chosen[] = {expander_binary(m, "Less", p->key, p->before), p->key, new};
	return unsqueezed(m, expander_result(m, expander_node(m, "Where", 3, chosen, 1)), 2);
}

/* [B,heads,L,size] of what is new, [B,heads,S,size], and of the past. */
static Value *
present(const Expander *m, const Places *p, Value *past, Value *new)
{
	if (!past)
		return new;
	Node *both = expander_node(m, "Concat", 2, (Value *[]){past, new}, 1);
	node_set_int(both, "axis", 2);
	Value *parts[] = {
		expander_transposed(m, expander_result(m, both), AXES, HEADS_OUTSIDE),
		places_in_both(m, p, past, extent(m, m->node->inputs[QUERY], 1)),
	};
	Node *gather = expander_node(m, "GatherND", 2, parts, 1);
	node_set_int(gather, "batch_dims", 1);
	return expander_transposed(m, expander_result(m, gather), AXES, HEADS_OUTSIDE);
}

/* ---- the node -------------------------------------------------------------------------------- */

/* What each query sees, or what is added to its scores: [B,1,S,L], with a bias [B,heads,S,L]. */
static Value *
mask_of(const Expander *m, const Places *p)
{
	Value *at = unsqueezed(m, p->positions, 2), *bias = expander_input(m->node, BIAS);
	Value *seen =
		expander_binary(m, "And", expander_binary(m, "LessOrEqual", p->key, at),
	                    expander_binary(m, "LessOrEqual", p->key, unsqueezed(m, p->last, 2)));
	int64_t window = attr_int(m->node, "local_window_size");
	if (window >= 0) {
		Value *first = expander_binary(m, "Sub", at, expander_integer(m, 0, window - 1));
		seen = expander_binary(m, "And", seen, expander_binary(m, "GreaterOrEqual", p->key, first));
	}
	seen = unsqueezed(m, seen, 1);
	if (!bias)
		return seen;
	Value *hidden = expander_number(m, bias->type.dtype, (double)-INFINITY);
	return expander_result(m, expander_node(m, "Where", 3, (Value *[]){seen, bias, hidden}, 1));
}

/* With one more along an axis, which holds zeros. */
static Value *
extended(const Expander *m, Value *x, int axis)
{
	Value *parts[] = {x, expander_integers(m, 2, (const int64_t[]){0, 1}), NULL,
	                  expander_integer(m, 1, axis)};
	return expander_result(m, expander_node(m, "Pad", 4, parts, 1));
}

/* A sink is a key more, whose score is given for each head (smooth_softmax: 0) and whose value is
 * 0: so it takes a share of the weights and adds nothing. */
static void
add_sink(const Expander *m, const Places *p, Value **operands)
{
	Value *sink = expander_input(m->node, SINK), *mask = operands[3];
	DType type = operands[0]->type.dtype;
	if (!sink && attr_int(m->node, "smooth_softmax") <= 0)
		return;
	sink = sink ? expander_binary(m, "Reshape", sink,
	                              expander_integers(m, 3, (const int64_t[]){-1, 1, 1}))
	            : expander_number(m, type, 0);
	Value *scores[] = {mask, expander_number(m, type, 0),
	                   expander_number(m, type, (double)-INFINITY)};
	if (mask->type.dtype == DT_BOOL)
		mask = expander_result(m, expander_node(m, "Where", 3, scores, 1));
	Value *count = extent(m, p->key, 0);
	Value *key = up_to(m, expander_binary(m, "Add", count, expander_integer(m, 0, 1)));
	Value *chosen[] = {expander_binary(m, "Less", key, count), extended(m, mask, 3), sink};
	operands[3] = expander_result(m, expander_node(m, "Where", 3, chosen, 1));
	for (int i = 1; i < 3; i++)
		operands[i] = extended(m, operands[i], 2);
}

static Value *
rotated(const Expander *m, const Places *p, Value *x, int64_t heads, int64_t size)
{
	const Node *node = m->node;
	Value *cosines = expander_input(node, COSINES), *sines = expander_input(node, SINES);
	Value *positions = expander_input(node, POSITIONS);
	int64_t pairs;
	if (!attr_int(node, "do_rotary"))
		return x;
	if (!cosines || !sines || cosines->type.rank != 2 ||
	    !dim_is_const(cosines->type.dims[1], &pairs))
		fail(&node->loc, "do_rotary needs tables of cosines and sines");
	Value *inputs[] = {x, cosines, sines, positions ? positions : p->positions};
	Node *made = expander_node(m, "RotaryEmbedding", 4, inputs, 1);
	node_set_int(made, "num_heads", heads);
	node_set_int(made, "interleaved", attr_int(node, "rotary_interleaved"));
	node_set_int(made, "rotary_embedding_dim", 2 * pairs == size ? 0 : 2 * pairs);
	return expander_result(m, made);
}

void
expand_GroupQueryAttention(Node *node)
{
	Expander m = {node->parent, node, node};
	int64_t heads = attr_int(node, "num_heads"), groups = attr_int(node, "kv_num_heads");
	int64_t size = head_size(node), widths[] = {heads * size, groups * size, groups * size};
	Value *new[] = {node->inputs[QUERY], expander_input(node, KEY), expander_input(node, VALUE)};
	if (!new[KEY])
		expander_split(&m, new[QUERY], 3, widths, new);
	Places p = places_of(&m);
	Value *operands[] = {
		heads_outside(&m, rotated(&m, &p, new[QUERY], heads, size), size),
		present(&m, &p, expander_input(node, PAST_KEY),
	            heads_outside(&m, rotated(&m, &p, new[KEY], groups, size), size)),
		present(&m, &p, expander_input(node, PAST_VALUE), heads_outside(&m, new[VALUE], size)),
		mask_of(&m, &p),
	};
	Value *states[] = {operands[1], operands[2]};
	add_sink(&m, &p, operands);
	Node *attention = expander_node(&m, "Attention", 4, operands, 1);
	if (attr_has(node, "scale") && attr_float(node, "scale") != 0)
		node_add_attr(attention, attr_find(node, "scale"));
	node_add_attr(attention, attr_find(node, "softcap"));
	Value *y = expander_transposed(&m, expander_result(&m, attention), AXES, HEADS_OUTSIDE);
	for (int i = 1; i < node->noutput && i < 3; i++)
		if (node->outputs[i])
			value_replace_uses(node->outputs[i], states[i - 1]);
	node_become(node, expander_binary(&m, "Reshape", y,
	                                  expander_integers(&m, 3, (const int64_t[]){0, 0, -1})));
}

/* ---- RotaryEmbedding ------------------------------------------------------------------------- */

enum { ROTATED, AT, TABLE };

void
infer_microsoft_RotaryEmbedding(Infer *infer)
{
	const Node *node = infer->node;
	const Type *x = infer_input(infer, ROTATED), *at = infer_input(infer, AT);
	if (x->rank != 3 && x->rank != 4)
		infer_fail(infer, "input of rank %d, expected 3 or 4", x->rank);
	if (at->rank == 2)
		infer_equal(infer, at->dims[1], x->dims[x->rank - 2], "lengths of the input and positions");
	else
		infer_single(infer, AT);
	infer_rank(infer, TABLE, 2);
	infer_rank(infer, TABLE + 1, 2);
	if (attr_int(node, "is_packed_batching") || attr_float(node, "scale") != 1)
		fail_unsupported(&node->loc, "packed batches and a scale are not supported");
	infer_same(infer);
}

/* Heads that lie side by side in the last axis. */
static int64_t
heads_of(const Node *node)
{
	const Type *x = &node->inputs[ROTATED]->type, *table = &node->inputs[TABLE]->type;
	int64_t heads = attr_int(node, "num_heads"), width, pairs;
	if (heads > 0 || x->rank == 4)
		return heads;
	if (dim_is_const(x->dims[2], &width) && dim_is_const(table->dims[1], &pairs) && pairs > 0)
		return width / (2 * pairs);
	fail_unsupported(&node->loc, "heads of a size that is not known");
}

/* [B,S]: those given, or from the one that is given on. */
static Value *
positions_of(const Expander *m)
{
	Value *x = m->node->inputs[ROTATED], *at = m->node->inputs[AT];
	if (at->type.rank == 2)
		return at;
	Value *rows = extent(m, x, x->type.rank - 2), *one = expander_integers(m, 1, (int64_t[]){-1});
	Value *dims[] = {expander_binary(m, "Reshape", extent(m, x, 0), one),
	                 expander_binary(m, "Reshape", rows, one)};
	Node *both = expander_node(m, "Concat", 2, dims, 1);
	node_set_int(both, "axis", 0);
	return expander_binary(m, "Expand", expander_binary(m, "Add", at, up_to(m, rows)),
	                       expander_result(m, both));
}

void
expand_microsoft_RotaryEmbedding(Node *node)
{
	Expander m = {node->parent, node, node};
	Value *inputs[] = {node->inputs[ROTATED], node->inputs[TABLE], node->inputs[TABLE + 1],
	                   positions_of(&m)};
	Node *made = expander_node(&m, "RotaryEmbedding", 4, inputs, 1);
	node_set_int(made, "num_heads", heads_of(node));
	node_set_int(made, "interleaved", attr_int(node, "interleaved"));
	node_set_int(made, "rotary_embedding_dim", attr_int(node, "rotary_embedding_dim"));
	node_become(node, expander_result(&m, made));
}
