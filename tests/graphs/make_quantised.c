/* Graphs of quantised and of short numbers, as quantisers and exporters write them.
 *
 *     static: products between DequantizeLinear and QuantizeLinear, alone, in rows, with residuals
 *     dynamic: DynamicQuantizeLinear, an integer product, the scales behind it
 *     QLinear and Integer operators, zero points at both ends of their range
 *     weights in blocks of 4 and 8 bits; functions of bytes; bytes that are only moved
 *     halves: products, norms and functions of f16 and bf16
 *
 * Scales fit the data, or are too small, so that numbers saturate; powers of two make ties.
 */
#include "graphs.h"

#include <math.h>

/* Numbers as they are stored. */
typedef struct Bytes {
	Value *q, *scale, *zero; /* zero: NULL: 0 */
} Bytes;

/* ---- scales and zero points ------------------------------------------------------------------ */

static Value *
scale_for(Gen *g, const Value *x, DType type)
{
	Trial *t = &g->dice;
	double low, high;
	int64_t least, most;
	gen_range(g, x, &low, &high);
	graph_ends(type, &least, &most);
	double reach = fmax(fabs(low), fabs(high)), steps = (double)(most - least);
	double scale = isfinite(reach) && reach > 1e-3 ? 2 * reach / steps : 1.0 / 32;
	scale *= (double)PICK(t, 4, 4, 4, 2, 1, 9, 40) / 4;
	if (chance(t, 40))
		scale = exp2(ceil(log2(scale)));
	return gen_scalar(g, gen_dtype(x), scale);
}

static int64_t
any_zero(Gen *g, DType type)
{
	Trial *t = &g->dice;
	int64_t least, most, middle = dtype_is_signed(type) ? 0 : (int64_t)1 << (dtype_bits(type) - 1);
	graph_ends(type, &least, &most);
	return PICK(t, 0, 0, middle, middle, least, most, roll(t, least, most));
}

static Value *
zero_for(Gen *g, DType type)
{
	return gen_scalar(g, type, (double)any_zero(g, type));
}

static Bytes
quantised(Gen *g, Value *x)
{
	Trial *t = &g->dice;
	bool is_wide = chance(t, 3);
	DType type = is_wide ? (DType)PICK(t, DT_U16, DT_I16) : (DType)PICK(t, DT_U8, DT_I8);
	Bytes b = {.scale = scale_for(g, x, type)};
	b.zero = type != DT_U8 || chance(t, 80) ? zero_for(g, type) : NULL;
	Value *inputs[] = {x, b.scale, b.zero};
	b.q = gen_one(g, "QuantizeLinear", b.zero ? 3 : 2, inputs);
	return b;
}

static Value *
dequantised(Gen *g, Bytes b)
{
	Value *inputs[] = {b.q, b.scale, b.zero};
	return gen_one(g, "DequantizeLinear", b.zero ? 3 : 2, inputs);
}

static Value *
rounded(Gen *g, Value *x)
{
	return dequantised(g, quantised(g, x));
}

/* ---- weights --------------------------------------------------------------------------------- */

/* Scales for all or for each extent of `axis`, zero points mostly where quantisers set them. */
static Bytes
any_weights(Gen *g, DType scales, int rank, const int64_t *dims, int axis)
{
	Trial *t = &g->dice;
	DType type = chance(t, 80) ? DT_I8 : DT_U8;
	Bytes b = {.q = gen_weight(g, type, rank, dims)};
	bool is_by_channel = axis >= 0 && chance(t, 50);
	bool is_usual = chance(t, 85);
	if (is_by_channel) {
		b.scale = gen_scale_weight(g, scales, dims[axis]);
		if (!is_usual)
			b.zero = gen_weight(g, type, 1, &dims[axis]);
	} else {
		b.scale = gen_scalar(g, scales, (double)PICK(t, 1, 2, 3, 5) / 128);
		if (!is_usual)
			b.zero = zero_for(g, type);
	}
	if (is_usual && type == DT_U8 && !is_by_channel)
		b.zero = gen_scalar(g, type, 128);
	return b;
}

static Value *
dequantised_weights(Gen *g, Bytes b, int rank, int axis)
{
	if (gen_rank(b.scale))
		trial_int(&g->dice, "axis", gen_axis(g, axis, rank));
	return dequantised(g, b);
}

/* ---- products -------------------------------------------------------------------------------- */

static int64_t
any_count(Gen *g)
{
	return g->is_large ? PICK(&g->dice, 8, 16, 17, 24, 32, 64) : PICK(&g->dice, 1, 2, 3, 4, 7, 8);
}

/* Rows or an image. */
static Value *
any_source(Gen *g, DType type)
{
	Trial *t = &g->dice;
	if (chance(t, 50))
		return gen_rows(g, type, 1, 9, any_count(g));
	return gen_image(g, type, (int)PICK(t, 1, 2, 2, 2, 3));
}

/* The factor of a product with x: dims, and where its output channels lie. */
typedef struct Factor {
	bool is_window, is_turned;
	int rank, axis;
	int64_t dims[5], group, out;
	Window window;
} Factor;

static Factor
factor_for(Gen *g, const Value *x, bool is_window, bool may_turn)
{
	Trial *t = &g->dice;
	if (gen_rank(x) < 2)
		gen_give_up();
	Factor f = {.is_window = is_window, .rank = 2, .axis = 1, .group = 1, .out = any_count(g)};
	int64_t terms = gen_fixed(x, is_window ? 1 : gen_rank(x) - 1);
	if (terms < 1)
		gen_give_up();
	if (!is_window) {
		f.is_turned = may_turn && chance(t, 50);
		f.axis = !f.is_turned;
		f.dims[f.axis] = f.out;
		f.dims[!f.axis] = terms;
		return f;
	}
	f.window = gen_window(g, x, chance(t, 30));
	f.axis = 0;
	f.rank = gen_rank(x);
	if (chance(t, 25))
		f.group = f.out = terms; /* depthwise */
	f.dims[0] = f.out;
	f.dims[1] = terms / f.group;
	for (int i = 0; i < f.window.rank; i++)
		f.dims[2 + i] = f.window.kernel[i];
	return f;
}

static void
factor_attrs(Gen *g, const Factor *f)
{
	if (!f->is_window)
		return;
	trial_int(&g->dice, "group", f->group);
	gen_window_attrs(g, &f->window);
}

/* An image stays one as long as it has its dims. */
static bool
is_image(Gen *g, const Value *x)
{
	return gen_rank(x) > 3 || (gen_rank(x) == 3 && chance(&g->dice, 50));
}

static Value *
a_bias(Gen *g, DType type, int64_t out)
{
	Trial *t = &g->dice;
	if (chance(t, 50))
		return gen_weight(g, type, 1, &out);
	Bytes b = {gen_weight(g, DT_I32, 1, &out), gen_scalar(g, type, 0.015625), NULL};
	return dequantised(g, b);
}

/* Conv, Gemm or MatMul of x and a factor that is made already. */
static Value *
product(Gen *g, Value *x, Value *w, const Factor *f)
{
	Trial *t = &g->dice;
	Value *bias = chance(t, 50) ? a_bias(g, gen_dtype(x), f->out) : NULL;
	Value *inputs[] = {x, w, bias};
	bool is_gemm = !f->is_window && gen_rank(x) == 2 && (f->is_turned || chance(t, 50));
	factor_attrs(g, f);
	if (is_gemm)
		trial_int(t, "transB", f->is_turned);
	if (is_gemm || f->is_window)
		return gen_one(g, is_gemm ? "Gemm" : "Conv", bias ? 3 : 2, inputs);
	Value *y = gen_one(g, "MatMul", 2, inputs), *sum[] = {y, bias};
	return bias ? gen_one(g, "Add", 2, sum) : y;
}

static Value *
activated(Gen *g, Value *x)
{
	static const char *const names[] = {"Relu", "Sigmoid", "HardSwish",
	                                    "Tanh", "Gelu",    "LeakyRelu"};
	Trial *t = &g->dice;
	if (chance(t, 30))
		return x;
	if (chance(t, 20)) {
		Value *inputs[] = {x, gen_scalar(g, gen_dtype(x), 0), gen_scalar(g, gen_dtype(x), 6)};
		return gen_one(g, "Clip", 3, inputs);
	}
	return gen_one(g, chance(t, 50) ? "Relu" : names[roll(t, 0, 5)], 1, &x);
}

static Value *
static_product(Gen *g, Value *x)
{
	Factor f = factor_for(g, x, is_image(g, x), gen_rank(x) == 2);
	Bytes w = any_weights(g, gen_dtype(x), f.rank, f.dims, f.axis);
	Value *y = product(g, x, dequantised_weights(g, w, f.rank, f.axis), &f);
	return activated(g, y);
}

/* ---- makers ---------------------------------------------------------------------------------- */

static Value *
a_static(Gen *g)
{
	Trial *t = &g->dice;
	Value *x = any_source(g, chance(t, 95) ? DT_F32 : DT_F16);
	for (int count = (int)roll(t, 1, 2); count > 0; count--)
		x = static_product(g, rounded(g, x));
	return chance(t, 80) ? rounded(g, x) : x;
}

/* What comes back to where it began, as residual networks have it: added, or side by side. */
static Value *
a_residual(Gen *g)
{
	Trial *t = &g->dice;
	Value *x = rounded(g, any_source(g, DT_F32)), *y = static_product(g, x);
	if (chance(t, 80))
		y = rounded(g, y);
	Value *mate = gen_like(g, y, DT_F32);
	if (!mate)
		gen_give_up();
	Value *inputs[] = {y, chance(t, 60) ? rounded(g, mate) : static_product(g, mate)};
	if (chance(t, 60))
		return rounded(g, activated(g, gen_one(g, "Add", 2, inputs)));
	trial_int(t, "axis", gen_rank(y) > 2 ? 1 : gen_rank(y) - 1);
	return rounded(g, gen_one(g, "Concat", 2, inputs));
}

/* An integer product, of i32. */
static Value *
integer_product(Gen *g, Bytes x, Bytes w, const Factor *f)
{
	Value *inputs[] = {x.q, w.q, x.zero, w.zero};
	factor_attrs(g, f);
	return gen_one(g, f->is_window ? "ConvInteger" : "MatMulInteger",
	               w.zero   ? 4
	               : x.zero ? 3
	                        : 2,
	               inputs);
}

static Value *
a_dynamic(Gen *g)
{
	Trial *t = &g->dice;
	Value *x = any_source(g, DT_F32);
	Factor f = factor_for(g, x, is_image(g, x), false);
	Value **outputs = gen_node(g, "DynamicQuantizeLinear", 1, &x, 3);
	Bytes q = {outputs[0], outputs[1], outputs[2]};
	Bytes w = any_weights(g, DT_F32, f.rank, f.dims, f.is_window ? -1 : f.axis);
	if (w.zero && gen_rank(w.zero))
		w.zero = NULL;
	Value *y = gen_cast(g, integer_product(g, q, w, &f), DT_F32);
	Value *scales[] = {q.scale, w.scale}, *scaled[] = {y, gen_one(g, "Mul", 2, scales)};
	y = gen_one(g, "Mul", 2, scaled);
	Value *sum[] = {y, f.is_window ? gen_mate(g, y, true) : gen_weight(g, DT_F32, 1, &f.out)};
	return activated(g, chance(t, 60) ? gen_one(g, "Add", 2, sum) : y);
}

static Value *
an_integer(Gen *g)
{
	Value *x = any_source(g, chance(&g->dice, 60) ? DT_U8 : DT_I8);
	Factor f = factor_for(g, x, is_image(g, x), false);
	Bytes q = {x, NULL, zero_for(g, gen_dtype(x))};
	Bytes w = any_weights(g, DT_F32, f.rank, f.dims, f.is_window ? -1 : f.axis);
	return integer_product(g, q, w, &f);
}

/* QLinearConv or QLinearMatMul; the result's scale suits sums of so many products. */
static Value *
a_qlinear(Gen *g)
{
	Trial *t = &g->dice;
	Value *x = any_source(g, chance(t, 60) ? DT_U8 : DT_I8);
	for (int count = (int)roll(t, 1, 2); count > 0; count--) {
		Factor f = factor_for(g, x, is_image(g, x), false);
		DType type = gen_dtype(x);
		Bytes w = any_weights(g, DT_F32, f.rank, f.dims, f.axis);
		double scale = (double)PICK(t, 1, 2, 3, 16) / 2;
		if (!w.zero)
			w.zero = gen_rank(w.scale) ? gen_weight(g, gen_dtype(w.q), 1, &f.out)
			                           : gen_scalar(g, gen_dtype(w.q), 0);
		if (gen_rank(w.scale) != gen_rank(w.zero))
			gen_give_up();
		Value *bias = f.is_window && chance(t, 50) ? gen_weight(g, DT_I32, 1, &f.out) : NULL;
		Value *inputs[] = {x,
		                   gen_scalar(g, DT_F32, (double)PICK(t, 1, 2, 3) / 16),
		                   zero_for(g, type),
		                   w.q,
		                   w.scale,
		                   w.zero,
		                   gen_scalar(g, DT_F32, scale),
		                   zero_for(g, type),
		                   bias};
		factor_attrs(g, &f);
		x = gen_one(g, f.is_window ? "QLinearConv" : "QLinearMatMul", bias ? 9 : 8, inputs);
	}
	Bytes b = {x, gen_scalar(g, DT_F32, 0.125), zero_for(g, gen_dtype(x))};
	return dequantised(g, b);
}

/* Weights whose scales hold for a few terms each, of 4 or 8 bits. */
static Value *
a_blocked(Gen *g)
{
	Trial *t = &g->dice;
	int64_t block = PICK(t, 2, 4, 16, 32), blocks = g->is_large ? roll(t, 1, 4) : roll(t, 1, 2);
	int64_t out = any_count(g), dims[] = {block * blocks, out}, sides[] = {blocks, out};
	DType type = (DType)PICK(t, DT_U4, DT_I4, DT_U8, DT_I8), real = chance(t, 75) ? DT_F32 : DT_F16;
	Value *x = gen_rows(g, real, 1, 5, dims[0]);
	Value *inputs[] = {gen_weight(g, type, 2, dims), gen_scales(g, real, 2, sides),
	                   chance(t, 60) ? gen_weight(g, type, 2, sides) : NULL};
	trial_int(t, "axis", 0);
	trial_int(t, "block_size", block);
	Value *w = gen_one(g, "DequantizeLinear", inputs[2] ? 3 : 2, inputs);
	Factor f = {.rank = 2, .axis = 1, .out = out};
	return activated(g, product(g, x, w, &f));
}

/* Functions between bytes and bytes. */
static Value *
a_table(Gen *g)
{
	Trial *t = &g->dice;
	Value *x = rounded(g, any_source(g, chance(t, 85) ? DT_F32 : DT_BF16));
	for (int count = (int)roll(t, 1, 3); count > 0; count--)
		x = activated(g, x);
	if (chance(t, 40)) {
		Value *inputs[] = {x, gen_mate(g, x, true)};
		x = gen_one(g, chance(t, 50) ? "Mul" : "Add", 2, inputs);
	}
	return rounded(g, x);
}

/* What moves elements, or takes the largest, between bytes and bytes of perhaps the same scale. */
static Value *
a_moved(Gen *g)
{
	static const char *const ops[] = {"Reshape",   "Transpose", "Slice",   "Squeeze",  "Expand",
	                                  "Unsqueeze", "MaxPool",   "Flatten", "Concat",   "Gather",
	                                  "Pad",       "Split",     "Tile",    "ReduceMax"};
	Trial *t = &g->dice;
	Bytes b = quantised(g, any_source(g, DT_F32));
	Value *x = dequantised(g, b);
	const OpInfo *op = op_find(g->graph->ops, "", ops[roll(t, 0, countof(ops) - 1)]);
	if (!op)
		gen_give_up();
	g->focus = x;
	row_of(op->code)->make(g, row_of(op->code));
	g->focus = NULL;
	Value *y = g->region->last->outputs[0];
	if (gen_dtype(y) != DT_F32 || chance(t, 40))
		return y;
	Value *inputs[] = {y, b.scale, b.zero};
	return gen_one(g, "QuantizeLinear", b.zero ? 3 : 2, inputs);
}

/* ---- halves ---------------------------------------------------------------------------------- */

static Value *
normed(Gen *g, Value *x)
{
	static const char *const ops[] = {"Softmax", "LayerNormalization", "ReduceMean",
	                                  "RMSNormalization"};
	Trial *t = &g->dice;
	const OpInfo *op = op_find(g->graph->ops, "", ops[roll(t, 0, 3)]);
	if (!op || chance(t, 50))
		return x;
	g->focus = x;
	row_of(op->code)->make(g, row_of(op->code));
	g->focus = NULL;
	Value *y = g->region->last->outputs[0];
	return gen_dtype(y) == gen_dtype(x) ? y : x;
}

static Value *
a_half(Gen *g)
{
	Trial *t = &g->dice;
	DType type = chance(t, 50) ? DT_F16 : DT_BF16;
	Value *x = any_source(g, chance(t, 50) ? type : DT_F32);
	x = gen_cast(g, x, type);
	for (int count = (int)roll(t, 1, 3); count > 0; count--) {
		Factor f = factor_for(g, x, is_image(g, x), gen_rank(x) == 2);
		x = activated(g, product(g, x, gen_weight_or_input(g, type, f.rank, f.dims), &f));
		x = normed(g, x);
		Value *inputs[] = {x, gen_mate(g, x, true)};
		if (chance(t, 40))
			x = gen_one(g, "Add", 2, inputs);
	}
	return chance(t, 50) ? gen_cast(g, x, DT_F32) : x;
}

/* ---- all ------------------------------------------------------------------------------------- */

void
gen_quantised(Gen *g, int number)
{
	static Value *(*const makers[])(Gen * g) = {
		a_static, a_residual, a_dynamic, a_static,   an_integer, a_half,
		a_static, a_qlinear,  a_blocked, a_residual, a_table,    a_moved,
	};
	gen_theme(g, makers[number % countof(makers)], number / (int)countof(makers) % 2);
}
