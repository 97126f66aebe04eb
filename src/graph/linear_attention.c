/* LinearAttention: attention whose past is one matrix per head, and the convolution before it.
 *
 *     S[t] = exp(g[t]) S[t-1] + k[t] w[t]'      w = v, or b[t] (v[t] - exp(g[t]) S[t-1]' k[t])
 *     o[t] = scale S[t]' q[t]
 *
 * exp(g) is 1 where update_rule has no gate, and w is v where it has no delta. Some query heads
 * share the matrix of one key head. As nodes, in f32, with a batch of matrices:
 *
 *     %s, %o = Scan(%past, %q, %k, %v, %g, %b) {
 *       body(%S: [B,H,dk,dv], %q: [B,H,G,dk], %k: [B,H,dk,1], %v: [B,H,1,dv], …) { … } }
 */
#include <string.h>

#include "graph/expand.h"
#include "graph/inner.h"

enum { QUERY, KEY, VALUE, PAST, DECAY, BETA, OPERANDS };

static bool
rule_has(const Node *node, const char *word)
{
	return strstr(attr_string(node, "update_rule"), word) != NULL;
}

static void
check_field(Infer *infer, int index, bool is_wanted)
{
	const Type *field = infer_input(infer, index), *query = infer_input(infer, QUERY);
	if (is_wanted && !field)
		infer_fail(infer, "update_rule %s takes %s: expected one",
		           attr_string(infer->node, "update_rule"), op_input(infer->node->op, index)->name);
	if (!field)
		return;
	infer_rank(infer, index, 3);
	for (int d = 0; d < 2; d++)
		infer_equal(infer, field->dims[d], query->dims[d], "batch and length of all operands");
}

void
infer_LinearAttention(Infer *infer)
{
	ExprCtx *ctx = infer->ctx;
	const Node *node = infer->node;
	int64_t heads = attr_int(node, "q_num_heads"), shared = attr_int(node, "kv_num_heads");
	if (heads < 1 || shared < 1 || heads % shared != 0)
		infer_fail(infer, "%lld query heads for %lld heads: expected a multiple", (long long)heads,
		           (long long)shared);
	for (int i = 0; i < OPERANDS; i++)
		if (i != PAST)
			check_field(infer, i, i < PAST || rule_has(node, i == DECAY ? "gated" : "delta"));
	const Type *q = infer_input(infer, QUERY), *k = infer_input(infer, KEY);
	const Type *v = infer_input(infer, VALUE), *past = infer_input(infer, PAST);
	const Dim *dk = dim_floordiv(ctx, q->dims[2], dim_const(ctx, heads));
	const Dim *dv = dim_floordiv(ctx, v->dims[2], dim_const(ctx, shared));
	infer_equal(infer, k->dims[2], dim_mul_i64(ctx, dk, shared), "numbers of a query and of a key");
	const Dim *out[] = {q->dims[0], q->dims[1], dim_mul_i64(ctx, dv, heads)};
	const Dim *state[] = {q->dims[0], dim_const(ctx, shared), dk, dv};
	if (past)
		infer_rank(infer, PAST, 4);
	for (int d = 0; past && d < 4; d++)
		infer_equal(infer, past->dims[d], state[d], "dims of past_state");
	infer_set(infer, 0, q->dtype, 3, out);
	if (node->noutput > 1)
		infer_set(infer, 1, past ? past->dtype : q->dtype, 4, state);
}

static Value *
cast_to(const Expander *m, Value *x, DType type)
{
	if (x->type.dtype == type)
		return x;
	Node *cast = expander_node(m, "Cast", 1, &x, 1);
	node_set_int(cast, "to", type);
	return expander_result(m, cast);
}

/* [B,T,H*D] as [B,T,…] in f32: 0 keeps a dim, -1 is what is left. */
static Value *
by_heads(const Expander *m, int input, const int64_t *dims)
{
	Value *given = expander_input(m->node, input);
	if (!given)
		return NULL;
	Value *shaped = expander_binary(m, "Reshape", given, expander_integers(m, 5, dims));
	return cast_to(m, shaped, DT_F32);
}

/* Dim `axis` of x: i64[1]. */
static Value *
extent(const Expander *m, Value *x, int axis)
{
	Node *shape = expander_node(m, "Shape", 1, &x, 1);
	node_set_int(shape, "start", axis);
	node_set_int(shape, "end", axis + 1);
	return expander_result(m, shape);
}

static Value *
concat(const Expander *m, int axis, int count, Value *const *parts)
{
	Node *made = expander_node(m, "Concat", count, parts, 1);
	node_set_int(made, "axis", axis);
	return expander_result(m, made);
}

static Value *
first_state(const Expander *m, Value *k, Value *v)
{
	Value *past = expander_input(m->node, PAST);
	if (past)
		return cast_to(m, past, DT_F32);
	Value *dims[] = {extent(m, k, 0), extent(m, k, 2), extent(m, k, 3), extent(m, v, 4)};
	return expander_unary(m, "ConstantOfShape", concat(m, 0, 4, dims));
}

/* One step of the Scan: the state, then slices of what is there of q, k, v, g and b. */
static void
make_step(const Expander *outer, Node *scan, bool is_gated, bool is_delta)
{
	static const int64_t turned[] = {0, 1, 3, 2};
	Region *body = region_new(scan, "body");
	Expander m = {body, NULL, outer->node};
	Value *state = region_param(body, "S", NULL), *q = region_param(body, "q", NULL);
	Value *k = region_param(body, "k", NULL), *w = region_param(body, "v", NULL);
	if (is_gated) {
		Value *gate = expander_unary(&m, "Exp", region_param(body, "g", NULL));
		state = expander_binary(&m, "Mul", state, gate);
	}
	if (is_delta) {
		Value *row = expander_transposed(&m, k, 4, turned);
		Value *known = expander_binary(&m, "MatMul", row, state);
		Value *rate = region_param(body, "b", NULL);
		w = expander_binary(&m, "Mul", rate, expander_binary(&m, "Sub", w, known));
	}
	state = expander_binary(&m, "Add", state, expander_binary(&m, "Mul", k, w));
	Value *results[] = {state, expander_binary(&m, "MatMul", q, state)};
	region_set_results(body, 2, results);
}

static void
set_axes(Node *scan, const char *name, int count)
{
	int64_t *axes = NEW_N(scan->parent->graph->arena, int64_t, count);
	for (int i = 0; i < count; i++)
		axes[i] = 1;
	node_add_attr(scan, &(Attr){.name = name, .kind = ATTR_INTS, .count = count, .ints = axes});
}

/* scale, or 1 / sqrt(dk) */
static Value *
scaled(const Expander *m, Value *x, Value *q)
{
	double scale = (double)attr_float(m->node, "scale");
	if (scale != 0)
		return expander_binary(m, "Mul", x, expander_number(m, DT_F32, scale));
	Value *root = expander_unary(m, "Sqrt", cast_to(m, extent(m, q, 4), DT_F32));
	return expander_binary(m, "Div", x, root);
}

void
expand_LinearAttention(Node *node)
{
	Expander m = {node->parent, node, node};
	int64_t shared = attr_int(node, "kv_num_heads");
	int64_t group = attr_int(node, "q_num_heads") / shared;
	bool is_gated = rule_has(node, "gated"), is_delta = rule_has(node, "delta");
	Value *q = by_heads(&m, QUERY, (int64_t[]){0, 0, shared, group, -1});
	Value *k = by_heads(&m, KEY, (int64_t[]){0, 0, shared, -1, 1});
	Value *v = by_heads(&m, VALUE, (int64_t[]){0, 0, shared, 1, -1});
	Value *inputs[OPERANDS] = {first_state(&m, k, v), q, k, v};
	int count = 4;
	if (is_gated)
		inputs[count++] = by_heads(&m, DECAY, (int64_t[]){0, 0, shared, -1, 1});
	if (is_delta)
		inputs[count++] = by_heads(&m, BETA, (int64_t[]){0, 0, -1, 1, 1});
	Node *scan = expander_node(&m, "Scan", count, inputs, 2);
	node_set_int(scan, "num_scan_inputs", count - 1);
	set_axes(scan, "scan_input_axes", count - 1);
	set_axes(scan, "scan_output_axes", 1);
	make_step(&m, scan, is_gated, is_delta);
	region_update_captures(scan->regions[0]);
	expander_result(&m, scan);
	Value *y = scaled(&m, scan->outputs[1], q);
	y = expander_binary(&m, "Reshape", y, expander_integers(&m, 3, (int64_t[]){0, 0, -1}));
	if (node->noutput > 1 && node->outputs[1])
		value_replace_uses(node->outputs[1],
		                   cast_to(&m, scan->outputs[0], node->outputs[1]->type.dtype));
	node_become(node, cast_to(&m, y, node->outputs[0]->type.dtype));
}

/* ---- CausalConvWithState --------------------------------------------------------------------- */

/*     %x = Concat(%past_state, %input), or zeros in front
 *     %output = Conv(%x, %weight, %bias) {group=C}, and its activation
 *     %present_state = the last k - 1 of %x */

enum { INPUT, WEIGHT, BIAS, PAST_INPUT };

void
infer_CausalConvWithState(Infer *infer)
{
	const Type *x = infer_input(infer, INPUT), *w = infer_input(infer, WEIGHT);
	const Type *past = infer_input(infer, PAST_INPUT);
	infer_rank(infer, INPUT, 3);
	infer_rank(infer, WEIGHT, 3);
	infer_equal(infer, w->dims[0], x->dims[1], "channels of input and weight");
	infer_equal(infer, w->dims[1], dim_const(infer->ctx, 1), "dim 1 of weight and 1");
	infer_vector(infer, BIAS, x->dims[1]);
	const Dim *dims[] = {x->dims[0], x->dims[1], dim_add_i64(infer->ctx, w->dims[2], -1)};
	if (past)
		infer_rank(infer, PAST_INPUT, 3);
	for (int d = 0; past && d < 3; d++)
		infer_equal(infer, past->dims[d], dims[d], "dims of past_state");
	infer_set(infer, 0, x->dtype, 3, x->dims);
	if (infer->node->noutput > 1)
		infer_set(infer, 1, x->dtype, 3, dims);
}

static Value *
with_past(const Expander *m, int64_t count)
{
	Value *x = m->node->inputs[INPUT], *past = expander_input(m->node, PAST_INPUT);
	if (past)
		return concat(m, 2, 2, (Value *[]){past, x});
	return expander_binary(m, "Pad", x, expander_integers(m, 6, (int64_t[]){0, 0, count, 0, 0, 0}));
}

void
expand_CausalConvWithState(Node *node)
{
	Expander m = {node->parent, node, node};
	const Type *w = &node->inputs[WEIGHT]->type;
	int64_t channels, taps;
	if (!dim_is_const(w->dims[0], &channels) || !dim_is_const(w->dims[2], &taps))
		fail_unsupported(&node->loc, "a weight of a size that only a run knows");
	Value *x = with_past(&m, taps - 1);
	Value *operands[] = {x, node->inputs[WEIGHT], expander_input(node, BIAS)};
	Node *conv = expander_node(&m, "Conv", operands[2] ? 3 : 2, operands, 1);
	node_set_int(conv, "group", channels);
	Value *y = expander_result(&m, conv);
	if (strcmp(attr_string(node, "activation"), "none") != 0)
		y = expander_unary(&m, "Swish", y);
	if (node->noutput > 1 && node->outputs[1]) {
		Value *first = expander_integer(&m, 1, taps > 1 ? 1 - taps : INT64_MAX);
		Value *bounds[] = {x, first, expander_integer(&m, 1, INT64_MAX),
		                   expander_integer(&m, 1, 2)};
		value_replace_uses(node->outputs[1],
		                   expander_result(&m, expander_node(&m, "Slice", 4, bounds, 1)));
	}
	node_become(node, y);
}
