/* Matrix products in all their forms, attention, Fourier transforms. */
#include "gen.h"

#include <string.h>

/* ---- products -------------------------------------------------------------------------------- */

/* Residuals as networks add them: full shapes, biases, several in a row. */
static void
random_residuals(Gen *g, Value *y)
{
	Trial *t = &g->dice;
	for (int more = (int)PICK(t, 0, 0, 0, 1, 1, 2, 2); more > 0; more--) {
		Value *z = chance(t, 60) ? gen_like(g, y, gen_dtype(y)) : NULL;
		Value *inputs[] = {y, z ? z : gen_mate(g, y, true)};
		if (chance(t, 40)) {
			Value *kept = inputs[0];
			inputs[0] = inputs[1];
			inputs[1] = kept;
		}
		y = gen_one(g, "Add", 2, inputs);
	}
	if (chance(t, 25))
		gen_one(g, dtype_is_float(gen_dtype(y)) && chance(t, 50) ? "Gelu" : "Neg", 1, &y);
}

/* What multiplies x from the right: its last dim is the inner one. */
static Value *
right_factor(Gen *g, const Value *x, DType type)
{
	Trial *t = &g->dice;
	int rank = gen_rank(x);
	int64_t dims[GRAPH_RANK], inner = rank ? gen_fixed(x, rank - 1) : 0;
	if (inner < 0 || inner > 70)
		gen_give_up();
	int more = rank > 2 && chance(t, 35) ? (int)roll(t, 1, rank - 2) : 0, count = 0;
	if (chance(t, 6)) /* a vector */
		return gen_weight_or_input(g, type, 1, &inner);
	for (int i = 0; i < more; i++) {
		int64_t dim = gen_fixed(x, rank - 2 - more + i);
		dims[count++] = dim < 0 || chance(t, 40) ? 1 : dim;
	}
	dims[count++] = inner;
	dims[count++] = gen_size(g);
	return gen_weight_or_input(g, type, count, dims);
}

/* x times itself transposed, as attention does. */
static Value *
transposed(Gen *g, Value *x)
{
	int64_t perm[GRAPH_RANK];
	int rank = gen_rank(x);
	for (int i = 0; i < rank; i++)
		perm[i] = i < rank - 2 ? i : 2 * rank - 3 - i;
	trial_ints(&g->dice, "perm", rank, perm);
	return gen_one(g, "Transpose", 1, &x);
}

void
make_matmul(Gen *g, const Row *row)
{
	Trial *t = &g->dice;
	const OpInfo *op = op_row(g->graph->ops, row->code);
	Value *x = gen_take(g, chance(t, 85) ? BIT(DT_F32) : op->inputs[0].types, 1, 5);
	bool is_self = gen_rank(x) >= 2 && chance(t, 20);
	Value *inputs[] = {x, is_self ? transposed(g, x) : right_factor(g, x, gen_dtype(x))};
	if (!is_self && gen_rank(x) == 2 && gen_rank(inputs[1]) == 2 && chance(t, 20)) {
		Value *a = transposed(g, inputs[1]); /* the pool's value on the right */
		inputs[1] = transposed(g, x);
		inputs[0] = a;
	}
	random_residuals(g, gen_one(g, row->op, 2, inputs));
}

void
make_gemm(Gen *g, const Row *row)
{
	Trial *t = &g->dice;
	const OpInfo *op = op_row(g->graph->ops, row->code);
	Value *x = gen_take(g, chance(t, 85) ? BIT(DT_F32) : op->inputs[0].types, 2, 2);
	bool is_left = chance(t, 30), is_right = chance(t, 50), has_c = chance(t, 65);
	int64_t inner = gen_fixed(x, is_left ? 0 : 1), rows = gen_fixed(x, is_left ? 1 : 0);
	int64_t columns = gen_size(g), b[] = {inner, columns};
	if (inner < 0)
		gen_give_up();
	if (is_right) {
		b[0] = columns;
		b[1] = inner;
	}
	int64_t c[] = {rows < 0 || chance(t, 50) ? 1 : rows, chance(t, 20) ? 1 : columns};
	int rank = (int)roll(t, 0, 2);
	Value *inputs[] = {x, gen_weight_or_input(g, gen_dtype(x), 2, b),
	                   has_c ? gen_weight_or_input(g, gen_dtype(x), rank, c + 2 - rank) : NULL};
	trial_int(t, "transA", is_left);
	trial_int(t, "transB", is_right);
	if (chance(t, 30))
		trial_float(t, "alpha", (double)roll(t, 1, 6) / 4);
	if (chance(t, 30))
		trial_float(t, "beta", (double)roll(t, 0, 6) / 4);
	random_residuals(g, gen_one(g, row->op, has_c ? 3 : 2, inputs));
}

/* ---- Einsum ---------------------------------------------------------------------------------- */

enum { LETTERS = 26, EINSUM_TERMS = 3 };

/* The extent of each letter as the operands so far say it; 0: free. */
typedef struct Letters {
	int64_t extent[LETTERS];
} Letters;

static Value *
einsum_operand(Gen *g, Letters *l, const char *term, int rank)
{
	int64_t dims[GRAPH_RANK];
	for (int i = 0; i < rank; i++) {
		int64_t *extent = &l->extent[term[i] - 'a'];
		if (*extent == 0)
			*extent = roll(&g->dice, 1, 6);
		dims[i] = *extent;
	}
	return gen_weight_or_input(g, DT_F32, rank, dims);
}

/* A value that is there as the first operand, where its extents are those of the letters. */
static Value *
first_operand(Gen *g, Letters *l, const char *term, int rank)
{
	Value *x = gen_take(g, BIT(DT_F32), rank, rank);
	Letters own = {.extent = {0}};
	for (int i = 0; i < rank; i++) {
		int64_t *extent = &own.extent[term[i] - 'a'], dim = gen_fixed(x, i);
		if (dim < 1 || dim > 16 || (*extent && *extent != dim))
			return NULL;
		*extent = dim;
	}
	*l = own;
	return x;
}

/* Letters once or twice in a term, in several terms, and those of the result in any order; without
 * an arrow the result has those that stand once, in order. */
static const char *
random_equation(Gen *g)
{
	Trial *t = &g->dice;
	int terms = (int)PICK(t, 1, 2, 2, 2, EINSUM_TERMS), most = (int)roll(t, 1, 6);
	Buf text = {.arena = g->arena};
	char kept[LETTERS];
	int nkept = 0;
	bool is_there[LETTERS] = {false};
	for (int i = 0; i < terms; i++) {
		if (i)
			buf_puts(&text, ",");
		for (int k = (int)roll(t, 0, 4); k > 0; k--) {
			int letter = (int)roll(t, 0, most - 1);
			is_there[letter] = true;
			buf_printf(&text, "%c", 'a' + letter);
		}
	}
	if (chance(t, 20))
		return buf_text(&text);
	for (int i = 0; i < most; i++)
		if (is_there[i] && chance(t, 55) && nkept < 5)
			kept[nkept++] = (char)('a' + i);
	buf_puts(&text, "->");
	for (; nkept > 0; nkept--) {
		int at = (int)roll(t, 0, nkept - 1);
		buf_printf(&text, "%c", kept[at]);
		kept[at] = kept[nkept - 1];
	}
	return buf_text(&text);
}

void
make_einsum(Gen *g, const Row *row)
{
	static const char *const equations[] = {
		"ij,jk->ik",       "bij,bjk->bik",    "bij,kj->bik",   "bhid,bhjd->bhij",
		"ij->ji",          "ii->i",           "ij->i",         "ij,ij->",
		"i,j->ij",         "abc,c->ab",       "bcij,cd->bdij", "ijk,ilk->jl",
		"ab,bc,cd->ad",    "abij,abji->ab",   "aab,ac->bc",    "ncij,oci->noj",
		"nchw,fcrs->nfhw", "nchw,fcrs->nfrs", "nchw,fchw->nf", "nch,fcr->nfh",
		"nchw,fchh->nfw",  "nchw,nchw->nhw",  "ii->",          ",ij->ji",
	};
	Trial *t = &g->dice;
	bool is_known = chance(t, 50);
	const char *equation =
		is_known ? equations[roll(t, 0, countof(equations) - 1)] : random_equation(g);
	Letters l = {.extent = {0}};
	Value *inputs[EINSUM_TERMS];
	int count = 0;
	for (const char *term = equation; count < EINSUM_TERMS;) {
		int rank = (int)strspn(term, "abcdefghijklmnopqrstuvwxyz");
		Value *x = count == 0 && chance(t, 70) ? first_operand(g, &l, term, rank) : NULL;
		inputs[count++] = x ? x : einsum_operand(g, &l, term, rank);
		term += rank;
		if (*term++ != ',')
			break;
	}
	trial_string(t, "equation", equation);
	gen_node(g, row->op, count, inputs, 1);
}

/* ---- integers -------------------------------------------------------------------------------- */

static Value *
zero_point(Gen *g, DType type)
{
	return gen_scalar(g, type, (double)roll(&g->dice, type == DT_I8 ? -9 : 0, 9));
}

/* How parameters of a factor lie: one, one per row or column as a vector, or as a tensor with a 1
 * in the place of the inner dim (`axis` counts from behind, 1 or 2). */
typedef struct Spread {
	int rank;
	int64_t dims[GRAPH_RANK];
} Spread;

static Spread
random_spread(Gen *g, const Value *x, int inner)
{
	Trial *t = &g->dice;
	Spread s = {.rank = 0};
	int rank = gen_rank(x), own = inner == 1 ? rank - 2 : rank - 1;
	if (rank < 2 || chance(t, 50))
		return s;
	if (rank == 2 && chance(t, 60)) {
		s.rank = 1;
		s.dims[0] = gen_fixed(x, own);
	} else {
		s.rank = rank;
		for (int i = 0; i < rank; i++)
			s.dims[i] = i == rank - inner ? 1 : gen_fixed(x, i);
	}
	for (int i = 0; i < s.rank; i++)
		if (s.dims[i] < 1)
			return (Spread){.rank = 0};
	return s;
}

static Value *
zeros_of(Gen *g, DType type, const Spread *s)
{
	return s->rank ? gen_weight(g, type, s->rank, s->dims) : zero_point(g, type);
}

static Value *
scales_of(Gen *g, const Spread *s, double otherwise)
{
	return s->rank ? gen_scales(g, DT_F32, s->rank, s->dims) : gen_scalar(g, DT_F32, otherwise);
}

void
make_matmul_integer(Gen *g, const Row *row)
{
	Trial *t = &g->dice;
	Value *x = gen_take(g, BIT(DT_U8) | BIT(DT_I8), 2, 4);
	Value *w = right_factor(g, x, chance(t, 70) ? DT_I8 : DT_U8);
	Spread rows = random_spread(g, x, 1), columns = random_spread(g, w, 2);
	Value *inputs[] = {x, w, zeros_of(g, gen_dtype(x), &rows), zeros_of(g, gen_dtype(w), &columns)};
	gen_node(g, row->op, chance(t, 50) ? 4 : 2, inputs, 1);
}

void
make_qlinear_matmul(Gen *g, const Row *row)
{
	Value *x = gen_take(g, BIT(DT_U8) | BIT(DT_I8), 2, 4);
	Value *w = right_factor(g, x, chance(&g->dice, 70) ? DT_I8 : DT_U8);
	Spread rows = random_spread(g, x, 1), columns = random_spread(g, w, 2);
	Value *inputs[] = {x,
	                   scales_of(g, &rows, 0.125),
	                   zeros_of(g, gen_dtype(x), &rows),
	                   w,
	                   scales_of(g, &columns, 0.0625),
	                   zeros_of(g, gen_dtype(w), &columns),
	                   gen_scalar(g, DT_F32, 0.5),
	                   zero_point(g, gen_dtype(x))};
	gen_node(g, row->op, 8, inputs, 1);
}

/* ---- attention ------------------------------------------------------------------------------- */

/* Heads side by side (rank 3) or one by one; fewer of keys than of queries; lengths by symbols. */
typedef struct Heads {
	bool is_flat, has_past;
	int64_t queries, keys, size, width;
	const Dim *batch, *rows, *length, *past;
} Heads;

static Heads
random_heads(Gen *g)
{
	Trial *t = &g->dice;
	Heads h = {.is_flat = chance(t, 30), .has_past = chance(t, 40)};
	h.keys = roll(t, 1, 2);
	h.queries = h.keys * PICK(t, 1, 1, 2);
	h.size = roll(t, 1, 5);
	h.width = chance(t, 60) ? h.size : roll(t, 1, 5);
	h.batch = gen_extent(g, "N", 60, roll(t, 1, 3));
	h.rows = gen_extent(g, "S", 40, roll(t, 1, 5));
	h.length = chance(t, 40) ? h.rows : gen_extent(g, "S", 30, roll(t, 1, 5));
	h.past = gen_extent(g, chance(t, 50) ? "S" : "N", 50, roll(t, 1, 3));
	return h;
}

static Value *
head_input(Gen *g, const Heads *h, bool is_flat, int64_t heads, const Dim *length, int64_t size)
{
	ExprCtx *ctx = g->graph->ctx;
	const Dim *flat[] = {h->batch, length, dim_const(ctx, heads * size)};
	const Dim *dims[] = {h->batch, dim_const(ctx, heads), length, dim_const(ctx, size)};
	return gen_input_of(g, DT_F32, is_flat ? 3 : 4, is_flat ? flat : dims);
}

/* Added to the scores, or where they count; of fewer dims, or for all queries. */
static Value *
random_mask(Gen *g, const Heads *h)
{
	Trial *t = &g->dice;
	ExprCtx *ctx = g->graph->ctx;
	const Dim *total = h->has_past ? dim_add(ctx, h->past, h->length) : h->length;
	const Dim *one = dim_const(ctx, 1), *dims[] = {h->batch, one, h->rows, total};
	int64_t size;
	int rank = (int)roll(t, 2, 4);
	if (h->has_past && !dim_is_const(total, &size))
		return NULL;
	if (chance(t, 25))
		dims[2] = one;
	return gen_input_of(g, chance(t, 50) ? DT_F32 : DT_BOOL, rank, dims + 4 - rank);
}

void
make_attention(Gen *g, const Row *row)
{
	Trial *t = &g->dice;
	Heads h = random_heads(g);
	Value *inputs[6] = {head_input(g, &h, h.is_flat, h.queries, h.rows, h.size),
	                    head_input(g, &h, h.is_flat, h.keys, h.length, h.size),
	                    head_input(g, &h, h.is_flat, h.keys, h.length, h.width)};
	inputs[3] = chance(t, 35) ? random_mask(g, &h) : NULL;
	if (h.has_past) {
		inputs[4] = head_input(g, &h, false, h.keys, h.past, h.size);
		inputs[5] = head_input(g, &h, false, h.keys, h.past, h.width);
	}
	if (h.is_flat) {
		trial_int(t, "q_num_heads", h.queries);
		trial_int(t, "kv_num_heads", h.keys);
	}
	if (chance(t, 40))
		trial_int(t, "is_causal", 1);
	if (chance(t, 30))
		trial_float(t, "scale", 0.5);
	if (chance(t, 20))
		trial_float(t, "softcap", 2);
	bool has_scores = chance(t, 25);
	if (has_scores)
		trial_int(t, "qk_matmul_output_mode", roll(t, 0, 3));
	gen_node(g, row->op,
	         h.has_past  ? 6
	         : inputs[3] ? 4
	                     : 3,
	         inputs,
	         has_scores   ? 4
	         : h.has_past ? 3
	                      : 1);
}

void
make_rotary(Gen *g, const Row *row)
{
	Trial *t = &g->dice;
	int64_t length = roll(t, 1, 5), half = roll(t, 1, 3), most = roll(t, 5, 7);
	int64_t dims[] = {roll(t, 1, 3), roll(t, 1, 3), length, 2 * half}, at[] = {dims[0], length};
	int64_t cache[] = {most, half};
	Value *inputs[] = {gen_input(g, DT_F32, 4, dims), gen_weight_or_input(g, DT_F32, 2, cache),
	                   gen_weight_or_input(g, DT_F32, 2, cache),
	                   gen_indices(g, DT_I64, 2, at, most)};
	if (chance(t, 40))
		trial_int(t, "interleaved", 1);
	gen_node(g, row->op, 4, inputs, 1);
}

void
make_dft(Gen *g, const Row *row)
{
	Trial *t = &g->dice;
	int64_t dims[] = {-1, roll(t, 1, 9), PICK(t, 1, 2)};
	Value *x = gen_input(g, DT_F32, 3, dims);
	Value *inputs[] = {x, NULL, gen_scalar(g, DT_I64, 1)};
	if (dims[2] == 2 && chance(t, 40))
		trial_int(t, "inverse", 1);
	else if (dims[2] == 1 && chance(t, 40))
		trial_int(t, "onesided", 1);
	gen_node(g, row->op, 3, inputs, 1);
}

void
make_stft(Gen *g, const Row *row)
{
	Trial *t = &g->dice;
	int64_t length = roll(t, 1, 6), dims[] = {-1, length + roll(t, 0, 9), PICK(t, 1, 2)};
	Value *inputs[] = {gen_input(g, DT_F32, 3, dims), gen_scalar(g, DT_I64, roll(t, 1, 4)), NULL,
	                   gen_scalar(g, DT_I64, length)};
	if (chance(t, 50))
		inputs[2] = gen_input(g, DT_F32, 1, &length);
	trial_int(t, "onesided", dims[2] == 1 && chance(t, 50));
	gen_node(g, row->op, 4, inputs, 1);
}

/* Lengths of the sequences, some of them shorter than there are steps; or none. */
static Value *
sequence_lengths(Gen *g, int64_t steps, int64_t batch)
{
	int64_t lengths[GRAPH_ELEMENTS];
	if (steps < 0 || batch < 0 || batch > GRAPH_ELEMENTS || chance(&g->dice, 60))
		return NULL;
	for (int64_t i = 0; i < batch; i++)
		lengths[i] = roll(&g->dice, 0, steps);
	return gen_ints(g, DT_I32, (int)batch, lengths);
}

/* ONNX Runtime's own, of one input; its masks are of i32. */
void
make_microsoft_attention(Gen *g, const Row *row)
{
	Trial *t = &g->dice;
	Heads h = random_heads(g);
	int64_t width = roll(t, 1, 9), q = h.queries * h.size, v = h.queries * h.width;
	bool has_widths = h.size != h.width;
	const Dim *x[] = {h.batch, h.rows, dim_const(g->graph->ctx, width)};
	const Dim *seen[] = {h.batch, h.rows, h.rows};
	Value *inputs[6] = {gen_input_of(g, DT_F32, 3, x),
	                    gen_weight(g, DT_F32, 2, (int64_t[]){width, 2 * q + v}),
	                    gen_weight(g, DT_F32, 1, (int64_t[]){2 * q + v})};
	if (chance(t, 60))
		inputs[3] = gen_input_of(g, DT_I32, (int)roll(t, 2, 3), seen);
	else if (chance(t, 50)) /* ONNX Runtime writes beyond its memory for any number */
		inputs[3] = sequence_lengths(g, gen_fixed(inputs[0], 1), gen_fixed(inputs[0], 0));
	if (has_widths)
		trial_ints(t, "qkv_hidden_sizes", 3, (int64_t[]){q, q, v});
	trial_int(t, "num_heads", h.queries);
	trial_int(t, "unidirectional", chance(t, 40));
	if (chance(t, 30))
		trial_float(t, "scale", 0.5);
	(void)row;
	gen_node(g, "com.microsoft.Attention", inputs[3] ? 4 : 3, inputs, 1);
}

void
make_multi_head(Gen *g, const Row *row)
{
	Trial *t = &g->dice;
	Heads h = random_heads(g);
	bool has_past = h.has_past && h.size == h.width, is_cross = !has_past && chance(t, 40);
	bool is_causal = chance(t, 40);
	h.length = is_causal ? h.rows : h.length;
	int64_t q = h.queries * h.size, v = h.queries * h.width;
	const Dim *total = has_past ? dim_add(g->graph->ctx, h.past, h.length) : h.length;
	const Dim *seen[] = {h.batch, chance(t, 50) ? total : h.rows, total};
	Value *inputs[8] = {head_input(g, &h, true, h.queries, h.rows, h.size),
	                    head_input(g, &h, !is_cross, h.queries, h.length, h.size),
	                    head_input(g, &h, !is_cross, h.queries, h.length, h.width)};
	if (!is_cross && chance(t, 50))
		inputs[3] = gen_weight(g, DT_F32, 1, (int64_t[]){2 * q + v});
	if (chance(t, 50))
		inputs[4] = gen_input_of(g, DT_I32, seen[1] == total ? 2 : 3, seen);
	if (has_past) {
		inputs[6] = head_input(g, &h, false, h.queries, h.past, h.size);
		inputs[7] = head_input(g, &h, false, h.queries, h.past, h.width);
	}
	trial_int(t, "num_heads", h.queries);
	trial_int(t, "unidirectional", is_causal);
	if (chance(t, 30))
		trial_float(t, "scale", 0.5);
	(void)row;
	gen_node(g, "com.microsoft.MultiHeadAttention", 8, inputs, has_past ? 3 : 1);
}

/* ---- recurrent cells ------------------------------------------------------------------------- */

void
make_recurrent(Gen *g, const Row *row)
{
	static const char *const ways[] = {"forward", "reverse", "bidirectional"};
	Trial *t = &g->dice;
	int gates = row->code == OP_LSTM ? 4 : row->code == OP_GRU ? 3 : 1;
	const char *way = ways[roll(t, 0, 2)];
	int64_t count = strcmp(way, "bidirectional") == 0 ? 2 : 1, hidden = roll(t, 1, 5);
	bool is_batch_first = chance(t, 25);
	Value *x = gen_bring(g, gen_take(g, BIT(DT_F32), 3, 3), SMALL);
	int64_t inner = gen_fixed(x, 2), batch = gen_fixed(x, is_batch_first ? 0 : 1);
	if (inner < 0 || inner > 70)
		gen_give_up();
	int64_t w[] = {count, gates * hidden, inner}, r[] = {count, gates * hidden, hidden};
	int64_t b[] = {count, 2 * gates * hidden}, p[] = {count, 3 * hidden};
	int64_t h[] = {is_batch_first ? batch : count, is_batch_first ? count : batch, hidden};
	Value *inputs[8] = {x, gen_weight(g, DT_F32, 3, w), gen_weight(g, DT_F32, 3, r)};
	inputs[3] = chance(t, 70) ? gen_weight(g, DT_F32, 2, b) : NULL;
	inputs[4] = sequence_lengths(g, gen_fixed(x, is_batch_first ? 1 : 0), batch);
	inputs[5] = batch >= 0 && chance(t, 40) ? gen_weight_or_input(g, DT_F32, 3, h) : NULL;
	bool is_lstm = row->code == OP_LSTM;
	inputs[6] = is_lstm && inputs[5] ? gen_weight_or_input(g, DT_F32, 3, h) : NULL;
	inputs[7] = is_lstm && chance(t, 30) ? gen_weight(g, DT_F32, 2, p) : NULL;
	trial_string(t, "direction", way);
	trial_int(t, "hidden_size", hidden);
	trial_int(t, "layout", is_batch_first);
	if (row->code == OP_GRU)
		trial_int(t, "linear_before_reset", chance(t, 50));
	gen_node(g, row->op, is_lstm ? 8 : 6, inputs, is_lstm ? 3 : 2);
}

void
make_linear_attention(Gen *g, const Row *row)
{
	static const char *const rules[] = {"linear", "gated", "delta", "gated_delta"};
	Trial *t = &g->dice;
	int rule = (int)roll(t, 0, 3);
	int64_t heads = roll(t, 1, 2), group = roll(t, 1, 2), dk = roll(t, 1, 4), dv = roll(t, 1, 4);
	DType type = (DType)PICK(t, DT_F32, DT_F32, DT_F16, DT_BF16);
	int64_t q[] = {roll(t, 1, 2), roll(t, 1, 4), heads * group * dk},
			k[] = {q[0], q[1], heads * dk};
	int64_t v[] = {q[0], q[1], heads * dv}, past[] = {q[0], heads, dk, dv};
	int64_t decay[] = {q[0], q[1], chance(t, 50) ? heads : heads * dk};
	int64_t beta[] = {q[0], q[1], chance(t, 50) ? heads : 1};
	Value *inputs[6] = {gen_input(g, type, 3, q), gen_input(g, type, 3, k),
	                    gen_input(g, type, 3, v)};
	inputs[3] = chance(t, 60) ? gen_input(g, DT_F32, 4, past) : NULL;
	inputs[4] = rule % 2 ? gen_bring(g, gen_input(g, type, 3, decay), SMALL) : NULL;
	inputs[5] = rule > 1 ? gen_input(g, type, 3, beta) : NULL;
	trial_string(t, "update_rule", rules[rule]);
	trial_int(t, "q_num_heads", heads * group);
	trial_int(t, "kv_num_heads", heads);
	gen_node(g, row->op, inputs[5] ? 6 : inputs[4] ? 5 : inputs[3] ? 4 : 3, inputs, 2);
}
