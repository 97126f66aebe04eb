/* Nodes of com.microsoft: of quantised numbers, and those that ONNX Runtime's optimiser makes. */
#include <stdio.h>

#include "gen.h"

enum { BYTES = BIT(DT_U8) | BIT(DT_I8) };

static void
microsoft_node(Gen *g, const Row *row, int ninput, Value *const *inputs)
{
	char name[100];
	snprintf(name, sizeof name, "com.microsoft.%s", row->op);
	gen_node(g, name, ninput, inputs, 1);
}

/* A scale and a zero point, at `at`. */
static void
put_parameters(Gen *g, DType type, double scale, Value **at)
{
	Trial *t = &g->dice;
	int64_t zero = PICK(t, 0, 0, 1, 3, type == DT_U8 ? 128 : -128, type == DT_U8 ? 255 : 127);
	at[0] = gen_scalar(g, DT_F32, scale * (double)PICK(t, 1, 2, 3, 5));
	at[1] = gen_scalar(g, type, (double)zero);
}

static Value *
bytes_of(Gen *g, int least, int most)
{
	Value *x = gen_take(g, BYTES, least, most);
	if (!x)
		gen_give_up();
	return x;
}

/* One tensor and its result, or two. */
void
make_qlinear(Gen *g, const Row *row)
{
	Trial *t = &g->dice;
	bool is_binary = row->code == OP_QLinearAdd || row->code == OP_QLinearMul;
	bool is_pool = row->code == OP_QLinearGlobalAveragePool || row->code == OP_QLinearAveragePool;
	Value *inputs[8] = {bytes_of(g, is_pool ? 4 : 1, 4)}, *x = inputs[0];
	DType type = gen_dtype(x);
	int count = 3;
	put_parameters(g, type, 1.0 / 32, &inputs[1]);
	if (is_binary) {
		inputs[3] = chance(t, 50) ? gen_like(g, x, type) : x;
		if (!inputs[3])
			gen_give_up();
		put_parameters(g, type, 1.0 / 64, &inputs[4]);
		count = 6;
	}
	if (row->code == OP_QLinearAveragePool) {
		if (gen_fixed(x, 2) < 2 || gen_fixed(x, 3) < 2)
			gen_give_up();
		trial_ints(t, "kernel_shape", 2, (int64_t[]){2, roll(t, 1, 2)});
		trial_int(t, "count_include_pad", chance(t, 50));
	}
	if (row->code == OP_QLinearLeakyRelu)
		trial_float(t, "alpha", 0.25);
	if (row->code == OP_QLinearSoftmax) {
		trial_int(t, "axis", gen_rank(x) - 1);
		trial_int(t, "opset", 13);
	}
	put_parameters(g, type, row->code == OP_QLinearSoftmax ? 1.0 / 256 : 1.0 / 16, &inputs[count]);
	microsoft_node(g, row, count + 2, inputs);
}

void
make_qlinear_where(Gen *g, const Row *row)
{
	Value *x = bytes_of(g, 1, 4), *inputs[9] = {gen_like(g, x, DT_BOOL), x};
	DType type = gen_dtype(x);
	inputs[4] = chance(&g->dice, 50) ? gen_like(g, x, type) : x;
	if (!inputs[0] || !inputs[4])
		gen_give_up();
	put_parameters(g, type, 1.0 / 32, &inputs[2]);
	put_parameters(g, type, 1.0 / 64, &inputs[5]);
	put_parameters(g, type, 1.0 / 16, &inputs[7]);
	microsoft_node(g, row, 9, inputs);
}

void
make_qlinear_concat(Gen *g, const Row *row)
{
	Value *inputs[8], *x = bytes_of(g, 1, 4);
	put_parameters(g, gen_dtype(x), 1.0 / 32, &inputs[0]);
	inputs[2] = inputs[5] = x;
	put_parameters(g, gen_dtype(x), 1.0 / 32, &inputs[3]);
	put_parameters(g, gen_dtype(x), 1.0 / 16, &inputs[6]);
	trial_int(&g->dice, "axis", gen_axis(g, (int)roll(&g->dice, 0, gen_rank(x) - 1), gen_rank(x)));
	microsoft_node(g, row, 8, inputs);
}

/* Weights by columns for the last dim of x. */
static Value *
matrix_for(Gen *g, const Value *x, DType type, int64_t *columns)
{
	int64_t terms = gen_fixed(x, gen_rank(x) - 1);
	if (terms < 1)
		gen_give_up();
	*columns = gen_size(g);
	return gen_weight(g, type, 2, (int64_t[]){terms, *columns});
}

void
make_qgemm(Gen *g, const Row *row)
{
	Trial *t = &g->dice;
	int64_t columns;
	Value *inputs[9] = {bytes_of(g, 2, 2)};
	DType type = gen_dtype(inputs[0]);
	put_parameters(g, type, 1.0 / 32, &inputs[1]);
	inputs[3] = matrix_for(g, inputs[0], DT_I8, &columns);
	put_parameters(g, DT_I8, 1.0 / 64, &inputs[4]);
	inputs[6] = chance(t, 50) ? gen_weight(g, DT_I32, 1, &columns) : NULL;
	put_parameters(g, type, 1.0 / 2, &inputs[7]);
	if (chance(t, 30))
		trial_float(t, "alpha", 0.5);
	microsoft_node(g, row, chance(t, 30) ? inputs[6] ? 7 : 6 : 9, inputs);
}

void
make_microsoft_product(Gen *g, const Row *row)
{
	Trial *t = &g->dice;
	bool is_dynamic = row->code == OP_DynamicQuantizeMatMul;
	int64_t columns;
	Value *x = gen_take(g, is_dynamic ? BIT(DT_F32) : BYTES, 2, 4), *a[2], *b[2];
	if (!x)
		gen_give_up();
	DType type = chance(t, 50) ? DT_I8 : DT_U8;
	Value *w = matrix_for(g, x, type, &columns);
	put_parameters(g, is_dynamic ? DT_U8 : gen_dtype(x), 1.0 / 32, a);
	put_parameters(g, type, 1.0 / 64, b);
	Value *bias = chance(t, 50) ? gen_weight(g, DT_F32, 1, &columns) : NULL;
	Value *dynamic[] = {x, w, b[0], b[1], bias}, *given[] = {x, w, a[0], b[0], a[1], b[1], bias};
	if (is_dynamic)
		microsoft_node(g, row, bias ? 5 : 4, dynamic);
	else
		microsoft_node(g, row, bias ? 7 : 6, given);
}

void
make_dynamic_lstm(Gen *g, const Row *row)
{
	static const char *const ways[] = {"forward", "reverse", "bidirectional"};
	Trial *t = &g->dice;
	Value *x = gen_take(g, BIT(DT_F32), 3, 3);
	const char *way = ways[roll(t, 0, 2)];
	int64_t count = way[0] == 'b' ? 2 : 1, hidden = roll(t, 1, 5), inner = x ? gen_fixed(x, 2) : -1;
	if (inner < 1 || inner > 70)
		gen_give_up();
	int64_t w[] = {count, inner, 4 * hidden}, r[] = {count, hidden, 4 * hidden};
	int64_t b[] = {count, 8 * hidden}, scales[] = {count, 4 * hidden};
	DType type = chance(t, 50) ? DT_I8 : DT_U8;
	int rank = chance(t, 50) ? 1 : 2; /* one scale, or one for each column */
	Value *inputs[12] = {x, gen_weight(g, type, 3, w), gen_weight(g, type, 3, r)};
	inputs[3] = chance(t, 70) ? gen_weight(g, DT_F32, 2, b) : NULL;
	for (int i = 8; i < 12; i += 2) {
		inputs[i] = gen_weight(g, DT_F32, rank, scales);
		inputs[i + 1] = gen_weight(g, type, rank, scales);
	}
	trial_string(t, "direction", way);
	trial_int(t, "hidden_size", hidden);
	microsoft_node(g, row, 12, inputs);
}

void
make_few_bits(Gen *g, const Row *row)
{
	enum { BLOCK = 16 };
	Trial *t = &g->dice;
	int64_t rows = gen_size(g), terms = roll(t, 1, 40), blocks = (terms + BLOCK - 1) / BLOCK;
	int64_t scales = rows * blocks, zeros = rows * ((blocks + 1) / 2);
	Value *inputs[] = {gen_input(g, DT_F32, 2, (int64_t[]){roll(t, 1, 5), terms}),
	                   gen_weight(g, DT_U8, 3, (int64_t[]){rows, blocks, BLOCK / 2}),
	                   gen_weight(g, DT_F32, 1, &scales),
	                   chance(t, 50) ? gen_weight(g, DT_U8, 1, &zeros) : NULL, NULL};
	if (chance(t, 30))
		inputs[3] = gen_weight(g, DT_F32, 2, (int64_t[]){rows, blocks});
	if (chance(t, 30)) /* g_idx */
		inputs[4] = gen_constant(g, trial_integers(t, DT_I32, 1, &terms, 0, blocks - 1));
	trial_int(t, "K", terms);
	trial_int(t, "N", rows);
	trial_int(t, "block_size", BLOCK);
	microsoft_node(g, row, inputs[4] ? 5 : inputs[3] ? 4 : 3, inputs);
}

void
make_gather_blocks(Gen *g, const Row *row)
{
	enum { BLOCK = 16 };
	Trial *t = &g->dice;
	int64_t rows = gen_size(g), blocks = roll(t, 1, 3), count = roll(t, 1, 5);
	DType type = (DType)PICK(t, DT_U8, DT_U8, DT_U4, DT_I4);
	int64_t many = type == DT_U8 ? 2 : 1; /* numbers in an element */
	Value *inputs[] = {gen_weight(g, type, 2, (int64_t[]){rows, blocks * BLOCK / many}),
	                   gen_constant(g, trial_integers(t, DT_I64, 1, &count, -rows, rows - 1)),
	                   gen_weight(g, DT_F32, 2, (int64_t[]){rows, blocks}), NULL};
	if (chance(t, 50))
		inputs[3] = gen_weight(g, type, 2, (int64_t[]){rows, (blocks + many - 1) / many});
	trial_int(t, "block_size", BLOCK);
	microsoft_node(g, row, inputs[3] ? 4 : 3, inputs);
}

/* A vector for the last dim of x. */
static Value *
vector_for(Gen *g, const Value *x)
{
	int64_t extent = gen_fixed(x, gen_rank(x) - 1);
	if (extent < 1)
		gen_give_up();
	return gen_weight(g, gen_dtype(x), 1, &extent);
}

void
make_biased(Gen *g, const Row *row)
{
	Value *x = gen_take(g, BIT(DT_F32), 1, 4);
	if (!x)
		gen_give_up();
	bool has_bias = row->code == OP_BiasGelu || (row->code == OP_FastGelu && chance(&g->dice, 70));
	Value *inputs[] = {x, has_bias ? vector_for(g, x) : NULL};
	if (row->code == OP_QuickGelu && chance(&g->dice, 50))
		trial_float(&g->dice, "alpha", 0.5);
	microsoft_node(g, row, has_bias ? 2 : 1, inputs);
}

void
make_microsoft_gelu(Gen *g, const Row *row)
{
	Value *x = gen_take(g, BIT(DT_F32), 1, 4);
	if (!x)
		gen_give_up();
	(void)row;
	gen_node(g, "com.microsoft.Gelu", 1, &x, 1);
}

void
make_microsoft_trilu(Gen *g, const Row *row)
{
	Trial *t = &g->dice;
	Value *inputs[] = {gen_take(g, BIT(DT_F32) | BIT(DT_I64) | BIT(DT_BOOL), 2, 4),
	                   gen_scalar(g, DT_I64, (double)roll(t, -3, 3))};
	if (!inputs[0])
		gen_give_up();
	(void)row;
	trial_int(t, "upper", chance(t, 50));
	gen_node(g, "com.microsoft.Trilu", chance(t, 60) ? 2 : 1, inputs, 1);
}

void
make_skip_norm(Gen *g, const Row *row)
{
	Trial *t = &g->dice;
	bool has_beta = row->code == OP_SkipLayerNormalization;
	Value *x = gen_take(g, BIT(DT_F32), 3, 3), *inputs[5] = {x};
	if (!x)
		gen_give_up();
	inputs[1] = chance(t, 70) ? gen_like(g, x, DT_F32) : x;
	inputs[2] = vector_for(g, x);
	inputs[3] = has_beta && chance(t, 70) ? vector_for(g, x) : NULL;
	inputs[3 + has_beta] = chance(t, 50) ? vector_for(g, x) : NULL;
	if (!inputs[1])
		gen_give_up();
	trial_float(t, "epsilon", 0.125);
	microsoft_node(g, row, 4 + has_beta, inputs);
}

void
make_qattention(Gen *g, const Row *row)
{
	Trial *t = &g->dice;
	int64_t heads = roll(t, 1, 3), width = heads * roll(t, 1, 4), sides[] = {2, roll(t, 1, 5), 7};
	int64_t three = 3 * width;
	Value *inputs[8] = {gen_input(g, DT_U8, 3, sides),
	                    gen_weight(g, DT_I8, 2, (int64_t[]){sides[2], three}),
	                    gen_weight(g, DT_F32, 1, &three)};
	inputs[3] = gen_scalar(g, DT_F32, 1.0 / 64);
	inputs[4] = gen_scalar(g, DT_F32, 1.0 / 64);
	inputs[6] = gen_scalar(g, DT_U8, 128);
	inputs[7] = gen_scalar(g, DT_I8, 0);
	trial_int(t, "num_heads", heads);
	trial_int(t, "unidirectional", chance(t, 40));
	microsoft_node(g, row, 8, inputs);
}

/* An operator of the standard's with an activation, and for Conv what is added before. */
static void
joined(Gen *g, const char *op, void (*make)(Gen *, const Row *), const Row *row)
{
	static const char *const names[] = {"Relu", "Tanh", "Sigmoid", "LeakyRelu", "HardSigmoid"};
	Row named = *row;
	Trial *t = &g->dice;
	named.op = op;
	if (chance(t, 80))
		trial_string(t, "activation", names[roll(t, 0, countof(names) - 1)]);
	make(g, &named);
}

void
make_fused_gemm(Gen *g, const Row *row)
{
	joined(g, "com.microsoft.FusedGemm", make_gemm, row);
}

void
make_fused_conv(Gen *g, const Row *row)
{
	joined(g, "com.microsoft.FusedConv", make_conv, row);
}

/* The second operand has the first's batch, or none. */
void
make_fused_matmul(Gen *g, const Row *row)
{
	Trial *t = &g->dice;
	Value *x = gen_take(g, BIT(DT_F32), 2, 4);
	int rank = gen_rank(x);
	bool turns[] = {chance(t, 50), chance(t, 50)};
	bool leads[] = {rank > 2 && chance(t, 40), rank > 2 && chance(t, 40)};
	int first = leads[0] ? 0 : rank - 2, count = chance(t, 60) || leads[1] ? rank : 2;
	int64_t terms = gen_fixed(x, turns[0] ? first : rank - 1), columns = gen_size(g), dims[4];
	if (terms < 0)
		gen_give_up();
	for (int d = 0; d < count - 2; d++) {
		int64_t batch = gen_fixed(x, leads[0] ? d + 1 : d);
		dims[leads[1] ? d + 1 : d] = batch < 0 ? 1 : batch;
	}
	dims[leads[1] ? 0 : count - 2] = turns[1] ? columns : terms;
	dims[count - 1] = turns[1] ? terms : columns;
	trial_int(t, "transA", turns[0]);
	trial_int(t, "transB", turns[1]);
	trial_int(t, "transBatchA", leads[0]);
	trial_int(t, "transBatchB", leads[1]);
	if (chance(t, 50))
		trial_float(t, "alpha", 0.75);
	microsoft_node(g, row, 2, (Value *[]){x, gen_weight_or_input(g, DT_F32, count, dims)});
}

/* All sequences are as long as the past and what is new; ONNX Runtime wants heads of 16. */
void
make_group_query(Gen *g, const Row *row)
{
	enum { SIZE = 16 };
	Trial *t = &g->dice;
	int64_t batch = roll(t, 1, 3), rows = batch > 1 ? 1 : roll(t, 1, 4), past = roll(t, 0, 5);
	int64_t groups = roll(t, 1, 2), heads = groups * roll(t, 1, 2), total = past + rows;
	int64_t last[] = {total - 1, total - 1, total - 1}, table[] = {total, SIZE / 2};
	int64_t q[] = {batch, rows, heads * SIZE}, k[] = {batch, rows, groups * SIZE};
	int64_t state[] = {batch, groups, past, SIZE}, bias[] = {1, heads, rows, total};
	bool is_packed = chance(t, 30), has_tables = chance(t, 60);
	q[2] += is_packed ? 2 * k[2] : 0;
	Value *inputs[12] = {gen_input(g, DT_F32, 3, q)};
	for (int i = 1; i < 3; i++) {
		inputs[i] = is_packed ? NULL : gen_input(g, DT_F32, 3, k);
		inputs[2 + i] = past > 0 ? gen_input(g, DT_F32, 4, state) : NULL;
		inputs[6 + i] = has_tables ? gen_weight(g, DT_F32, 2, table) : NULL;
	}
	inputs[5] = gen_ints(g, DT_I32, (int)batch, last);
	inputs[6] = gen_ints(g, DT_I32, 1, &total);
	inputs[10] = chance(t, 30) ? gen_input(g, DT_F32, 4, bias) : NULL;
	inputs[11] = chance(t, 30) ? gen_weight(g, DT_F32, 1, &heads) : NULL;
	trial_int(t, "num_heads", heads);
	trial_int(t, "kv_num_heads", groups);
	trial_int(t, "do_rotary", has_tables);
	trial_int(t, "rotary_interleaved", chance(t, 30));
	if (chance(t, 30))
		trial_int(t, "local_window_size", roll(t, 1, 4));
	if (chance(t, 30))
		trial_float(t, "softcap", 1.5);
	(void)row;
	gen_node(g, "com.microsoft.GroupQueryAttention", 12, inputs, 3);
}

void
make_microsoft_rotary(Gen *g, const Row *row)
{
	Trial *t = &g->dice;
	int64_t batch = roll(t, 1, 3), rows = roll(t, 1, 5), pairs = roll(t, 1, 3),
			most = roll(t, 5, 7);
	int64_t heads = roll(t, 1, 3), outer[] = {batch, heads, rows, 2 * pairs}, first = most - rows;
	int64_t flat[] = {batch, rows, heads * 2 * pairs}, table[] = {most, pairs};
	Value *inputs[] = {
		chance(t, 50) ? gen_input(g, DT_F32, 4, outer) : gen_input(g, DT_F32, 3, flat),
		chance(t, 50) ? gen_ints(g, DT_I64, 1, &first) : gen_indices(g, DT_I64, 2, flat, most),
		gen_weight_or_input(g, DT_F32, 2, table), gen_weight_or_input(g, DT_F32, 2, table)};
	trial_int(t, "interleaved", chance(t, 40));
	(void)row;
	gen_node(g, "com.microsoft.RotaryEmbedding", 4, inputs, 1);
}

void
make_embed_norm(Gen *g, const Row *row)
{
	Trial *t = &g->dice;
	int64_t width = roll(t, 1, 9), rows = roll(t, 1, 5), ids[] = {roll(t, 1, 3), rows};
	int64_t words[] = {roll(t, 1, 7), width}, places[] = {rows + roll(t, 0, 2), width};
	int64_t segments[] = {2, width};
	bool has_segments = chance(t, 60), has_places = chance(t, 40);
	Value *inputs[] = {gen_indices(g, DT_I32, 2, ids, words[0]),
	                   has_segments ? gen_indices(g, DT_I32, 2, ids, segments[0]) : NULL,
	                   gen_weight(g, DT_F32, 2, words),
	                   gen_weight(g, DT_F32, 2, places),
	                   has_segments ? gen_weight(g, DT_F32, 2, segments) : NULL,
	                   gen_weight(g, DT_F32, 1, &width),
	                   gen_weight(g, DT_F32, 1, &width),
	                   chance(t, 50) ? gen_indices(g, DT_I32, 2, ids, 2) : NULL,
	                   has_places ? gen_indices(g, DT_I32, 2, ids, places[0]) : NULL};
	trial_float(t, "epsilon", 0.125);
	microsoft_node(g, row, has_places ? 9 : 8, inputs);
}

static DType
few_bits_type(Gen *g)
{
	return (DType)PICK(&g->dice, DT_I8, DT_U8, DT_I16, DT_U16);
}

void
make_microsoft_quantize(Gen *g, const Row *row)
{
	Value *inputs[3] = {gen_take(g, BIT(DT_F32), 0, 4)};
	put_parameters(g, few_bits_type(g), 1.0 / 32, &inputs[1]);
	(void)row;
	gen_node(g, "com.microsoft.QuantizeLinear", 3, inputs, 1);
}

void
make_microsoft_dequantize(Gen *g, const Row *row)
{
	Value *inputs[3] = {gen_take(g, BYTES | BIT(DT_I16) | BIT(DT_U16), 0, 4)};
	if (!inputs[0])
		gen_give_up();
	put_parameters(g, gen_dtype(inputs[0]), 1.0 / 32, &inputs[1]);
	(void)row;
	gen_node(g, "com.microsoft.DequantizeLinear", 3, inputs, 1);
}
