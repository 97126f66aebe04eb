/* Graphs to derive from: what DeriveExpressions asks about, with what stands around it in networks.
 *
 *     windows over one to three axes: strided, dilated, transposed, in groups, with pools behind
 *     siblings: products that read one value, alone or with windows
 *     chains: products of products, with sums and scales between, of weights or of activations
 *
 * Batches, lengths and sides may be symbols. Every graph comes in a small and in a larger size.
 */
#include "gen.h"

static Value *
convolve(Gen *g, Value *x, const Window *w, int64_t out)
{
	Trial *t = &g->dice;
	int64_t channels = gen_fixed(x, 1);
	int64_t group = chance(t, 85) || channels % 2 || out % 2 ? 1 : 2;
	int64_t dims[5] = {out, channels / group};
	for (int i = 0; i < w->rank; i++)
		dims[2 + i] = w->kernel[i];
	Value *inputs[3] = {x, gen_weight_or_input(g, DT_F32, 2 + w->rank, dims)};
	bool has_bias = chance(t, 40);
	if (has_bias)
		inputs[2] = gen_weight(g, DT_F32, 1, &out);
	trial_int(t, "group", group);
	gen_window_attrs(g, w);
	return gen_one(g, "Conv", has_bias ? 3 : 2, inputs);
}

static Value *
a_window(Gen *g)
{
	Trial *t = &g->dice;
	Value *x = gen_image(g, DT_F32, (int)PICK(t, 1, 2, 2, 3));
	Window w = gen_window(g, x, chance(t, 30));
	return convolve(g, x, &w, gen_channels(g));
}

static Value *
a_transposed(Gen *g)
{
	Trial *t = &g->dice;
	Value *x = gen_image(g, DT_F32, (int)PICK(t, 1, 2, 2, 3));
	Window w = gen_window(g, x, true);
	int64_t dims[5] = {gen_fixed(x, 1), gen_channels(g)};
	for (int i = 0; i < w.rank; i++) {
		dims[2 + i] = w.kernel[i];
		int64_t reach = (w.kernel[i] - 1) * w.dilation[i];
		for (int end = 0; end < 2; end++)
			if (w.pads[i + end * w.rank] > reach / 2)
				w.pads[i + end * w.rank] = reach / 2;
	}
	Value *inputs[] = {x, gen_weight_or_input(g, DT_F32, 2 + w.rank, dims)};
	gen_window_attrs(g, &w);
	return gen_one(g, "ConvTranspose", 2, inputs);
}

static Value *
a_pooled(Gen *g)
{
	Trial *t = &g->dice;
	Value *x = a_window(g);
	int rank = gen_rank(x) - 2;
	int64_t two[] = {2, 2, 2};
	for (int i = 0; i < rank; i++)
		if (gen_dim(g, x, 2 + i) < 2)
			return x;
	trial_ints(t, "kernel_shape", rank, two);
	trial_ints(t, "strides", rank, two);
	return gen_one(g, chance(t, 50) ? "MaxPool" : "AveragePool", 1, &x);
}

/* What a residual network repeats. */
static Value *
a_block(Gen *g)
{
	static const char *const activations[] = {"Relu", "Sigmoid", "Tanh"};
	Trial *t = &g->dice;
	Value *x = gen_image(g, DT_F32, (int)PICK(t, 1, 2, 2)), *y = x;
	Window w = {.rank = gen_rank(x) - 2};
	for (int i = 0; i < w.rank; i++) {
		w.kernel[i] = PICK(t, 1, 3, 3, 5);
		w.stride[i] = 1;
		w.dilation[i] = PICK(t, 1, 1, 2);
		w.pads[i] = w.pads[i + w.rank] = (w.kernel[i] - 1) / 2 * w.dilation[i];
	}
	y = convolve(g, y, &w, gen_channels(g));
	y = gen_one(g, activations[roll(t, 0, 2)], 1, &y);
	y = convolve(g, y, &w, gen_fixed(x, 1));
	Value *inputs[] = {y, x};
	return gen_one(g, "Add", 2, inputs);
}

/* ---- siblings -------------------------------------------------------------------------------- */

/* Convolutions of one image by windows of one size each, or as high as wide; their sum, perhaps. */
static Value *
a_window_siblings(Gen *g)
{
	Trial *t = &g->dice;
	Value *x = gen_image(g, DT_F32, (int)PICK(t, 1, 2, 2)), *y = NULL;
	int64_t out = gen_channels(g);
	bool is_flat = chance(t, 50);
	for (int count = (int)roll(t, 2, 3); count > 0; count--) {
		Window w = {.rank = gen_rank(x) - 2};
		for (int i = 0; i < w.rank; i++) {
			w.kernel[i] = is_flat ? (i == count % w.rank ? PICK(t, 1, 3, 5) : 1) : 3;
			w.stride[i] = w.dilation[i] = 1;
			w.pads[i] = w.pads[i + w.rank] = w.kernel[i] / 2;
		}
		Value *z = convolve(g, x, &w, out);
		Value *inputs[] = {z, y};
		y = y && chance(t, 60) ? gen_one(g, "Add", 2, inputs) : z;
	}
	return y;
}

/* Projections of one input. */
static Value *
a_projections(Gen *g)
{
	Trial *t = &g->dice;
	int64_t dims[] = {gen_channels(g), 0};
	Value *x = gen_rows(g, DT_F32, 3, 9, dims[0]), *y = NULL;
	bool is_gemm = gen_rank(x) == 2 && chance(t, 40);
	for (int count = (int)roll(t, 2, 4); count > 0; count--) {
		dims[1] = gen_channels(g);
		Value *inputs[] = {x, gen_weight_or_input(g, DT_F32, 2, dims)};
		y = gen_one(g, is_gemm ? "Gemm" : "MatMul", 2, inputs);
		if (chance(t, 40))
			y = gen_one(g, chance(t, 50) ? "Relu" : "Neg", 1, &y);
	}
	return y;
}

/* ---- chains ---------------------------------------------------------------------------------- */

static Value *
scaled(Gen *g, Value *x)
{
	static const char *const ops[] = {"Div", "Mul", "Add"};
	Trial *t = &g->dice;
	if (chance(t, 50))
		return x;
	Value *inputs[] = {x, gen_scalar(g, DT_F32, (double)PICK(t, 1, 2, 3, 4) / 2)};
	return gen_one(g, ops[roll(t, 0, 2)], 2, inputs);
}

/* x times weights, again and again: what the weights are together is known when compiling. */
static Value *
a_weight_chain(Gen *g)
{
	Trial *t = &g->dice;
	int64_t dims[] = {gen_channels(g), 0};
	Value *x = gen_rows(g, DT_F32, 4, 9, dims[0]);
	for (int count = (int)roll(t, 2, 3); count > 0; count--) {
		dims[1] = count == 1 ? PICK(t, 1, 2, 4) : 4 * gen_channels(g);
		Value *inputs[] = {x, gen_weight(g, DT_F32, 2, dims)};
		x = gen_one(g, "MatMul", 2, inputs);
		if (count > 1)
			x = scaled(g, x);
		dims[0] = dims[1];
	}
	return x;
}

/* Linear attention: (q k) v with more rows than columns. */
static Value *
a_attention_chain(Gen *g)
{
	Trial *t = &g->dice;
	ExprCtx *ctx = g->graph->ctx;
	const Dim *length = gen_extent(g, "S", 60, (g->is_large ? 6 : 1) * roll(t, 8, 16));
	const Dim *width = dim_const(ctx, PICK(t, 1, 2, 3, 4));
	const Dim *q[] = {length, width}, *k[] = {width, length};
	const Dim *v[] = {length, dim_const(ctx, PICK(t, 1, 2, 4))};
	Value *inputs[] = {gen_input_of(g, DT_F32, 2, q), gen_input_of(g, DT_F32, 2, k)};
	Value *scores = scaled(g, gen_one(g, "MatMul", 2, inputs));
	Value *mix[] = {scores, gen_input_of(g, DT_F32, 2, v)};
	return gen_one(g, "MatMul", 2, mix);
}

/* ---- all ------------------------------------------------------------------------------------- */

void
gen_derived(Gen *g, int number)
{
	static Value *(*const makers[])(Gen * g) = {
		a_window,          a_transposed,  a_pooled,       a_block,
		a_window_siblings, a_projections, a_weight_chain, a_attention_chain,
	};
	gen_theme(g, makers[number % countof(makers)], number / (int)countof(makers) % 2);
}
