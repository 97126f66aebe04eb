/* Operators with windows over spatial axes: convolutions, pools, Resize; quantised convolutions. */
#include "gen.h"

#include <string.h>

static Value *
take_image(Gen *g, uint64_t types, int least)
{
	Trial *t = &g->dice;
	int most = least == 2 ? 5 : (int)PICK(t, 4, 4, 4, 5);
	int64_t dims[] = {-1, PICK(t, 1, 2, 3, 4, 8, 16), gen_size(g), gen_size(g), 3};
	DType type = (DType)PICK(t, DT_F32, DT_F32, DT_F32, DT_F32, DT_F16, DT_F64, DT_BF16);
	if (g->focus || chance(t, 60))
		return gen_take(g, types, least, most);
	if (!(types & BIT(type)))
		type = DT_U8;
	return gen_input(g, type, (int)PICK(t, 3, 4, 4, 4, 5), dims);
}

static Window
random_window(Gen *g, const Value *x, bool is_pool)
{
	static const char *const autos[] = {"SAME_UPPER", "SAME_LOWER", "VALID"};
	Trial *t = &g->dice;
	Window w = {.rank = gen_rank(x) - 2};
	if (chance(t, 15))
		w.auto_pad = autos[roll(t, 0, 2)];
	bool is_same = w.auto_pad && w.auto_pad[0] == 'S';
	for (int i = 0; i < w.rank; i++) {
		int64_t extent = gen_dim(g, x, 2 + i);
		w.kernel[i] = roll(t, 1, 3);
		w.stride[i] = PICK(t, 1, 1, 1, 2, 3);
		w.dilation[i] = is_same || chance(t, 75) ? 1 : 2;
		int64_t reach = (w.kernel[i] - 1) * w.dilation[i] + 1;
		int64_t most = is_pool ? w.kernel[i] - 1 : reach - 1;
		for (int end = 0; end < 2 && !w.auto_pad; end++)
			w.pads[i + end * w.rank] = chance(t, 60) ? roll(t, 0, most) : 0;
		if (extent + w.pads[i] + w.pads[i + w.rank] < reach + (is_pool ? w.dilation[i] : 0))
			w.kernel[i] = w.dilation[i] = 1, w.pads[i] = w.pads[i + w.rank] = 0;
	}
	return w;
}

static void
window_attrs(Gen *g, const Window *w, bool has_kernel)
{
	Trial *t = &g->dice;
	if (has_kernel)
		trial_ints(t, "kernel_shape", w->rank, w->kernel);
	if (chance(t, 80))
		trial_ints(t, "strides", w->rank, w->stride);
	if (chance(t, 80))
		trial_ints(t, "dilations", w->rank, w->dilation);
	if (w->auto_pad)
		trial_string(t, "auto_pad", w->auto_pad);
	else
		trial_ints(t, "pads", 2 * w->rank, w->pads);
}

/* ---- convolutions ---------------------------------------------------------------------------- */

static int64_t
random_group(Gen *g, int64_t channels)
{
	Trial *t = &g->dice;
	if (chance(t, 70))
		return 1;
	if (chance(t, 50))
		return channels;
	return channels % 2 == 0 ? 2 : channels % 3 == 0 ? 3 : 1;
}

static int64_t
channels_of(const Value *x)
{
	int64_t channels = gen_fixed(x, 1);
	if (channels < 1 || channels > 33)
		gen_give_up();
	return channels;
}

/* Batch normalisation, a residual, an activation: what follows a convolution in a network. */
static void
random_epilogue(Gen *g, Value *y)
{
	static const char *const activations[] = {"Relu", "Sigmoid", "HardSwish", "Tanh", "LeakyRelu"};
	Trial *t = &g->dice;
	int64_t channels = gen_fixed(y, 1);
	if (chance(t, 25)) {
		Value *inputs[5] = {y};
		for (int i = 1; i < 5; i++)
			inputs[i] = gen_weight(g, gen_dtype(y), 1, &channels);
		inputs[4] = gen_bring(g, inputs[4], POSITIVE);
		y = gen_one(g, "BatchNormalization", 5, inputs);
	}
	for (int more = (int)PICK(t, 0, 0, 1, 2); more > 0; more--) {
		Value *inputs[] = {y, gen_mate(g, y, true)};
		y = gen_one(g, chance(t, 80) ? "Add" : "Mul", 2, inputs);
	}
	if (chance(t, 40))
		gen_one(g, activations[roll(t, 0, 4)], 1, &y);
}

void
make_conv(Gen *g, const Row *row)
{
	Trial *t = &g->dice;
	Value *x = take_image(g, TYPES(float), 3);
	int64_t channels = channels_of(x), group = random_group(g, channels);
	int64_t out = group * PICK(t, 1, 1, 2, 3, 5, 8), k[5] = {out, channels / group};
	Window w = random_window(g, x, false);
	for (int i = 0; i < w.rank; i++)
		k[2 + i] = w.kernel[i];
	bool has_bias = chance(t, 50);
	Value *inputs[3] = {x, gen_weight_or_input(g, gen_dtype(x), 2 + w.rank, k)};
	if (has_bias)
		inputs[2] = gen_weight_or_input(g, gen_dtype(x), 1, &out);
	if (group > 1)
		trial_int(t, "group", group);
	window_attrs(g, &w, chance(t, 50));
	random_epilogue(g, gen_one(g, row->op, has_bias ? 3 : 2, inputs));
}

void
make_deform_conv(Gen *g, const Row *row)
{
	Trial *t = &g->dice;
	Value *x = gen_take(g, BIT(DT_F32) | BIT(DT_F16), 4, 4);
	int64_t channels = channels_of(x), group = random_group(g, channels);
	int64_t moved = random_group(g, channels), out = group * roll(t, 1, 3), taps = 1;
	Window w = random_window(g, x, false);
	int64_t k[4] = {out, channels / group}, field[4] = {gen_fixed(x, 0)};
	for (int i = 0; i < 2; i++) {
		int64_t extent = gen_fixed(x, 2 + i), reach = (w.kernel[i] - 1) * w.dilation[i] + 1;
		if (w.auto_pad || extent < 1 || field[0] < 1)
			gen_give_up();
		k[2 + i] = w.kernel[i];
		taps *= w.kernel[i];
		field[2 + i] = (extent + w.pads[i] + w.pads[i + 2] - reach) / w.stride[i] + 1;
	}
	DType type = gen_dtype(x);
	field[1] = 2 * moved * taps;
	Value *inputs[5] = {x, gen_weight_or_input(g, type, 4, k), gen_input(g, type, 4, field)};
	inputs[3] = chance(t, 50) ? gen_weight_or_input(g, type, 1, &out) : NULL;
	field[1] = moved * taps;
	inputs[4] = gen_input(g, type, 4, field);
	trial_int(t, "group", group);
	trial_int(t, "offset_group", moved);
	trial_ints(t, "strides", 2, w.stride);
	trial_ints(t, "dilations", 2, w.dilation);
	trial_ints(t, "pads", 4, w.pads);
	int count = chance(t, 60) ? 5 : inputs[3] ? 4 : 3;
	random_epilogue(g, gen_one(g, row->op, count, inputs));
}

/* Back to where MaxPool found them: each has a place of its own. */
void
make_max_unpool(Gen *g, const Row *row)
{
	static const int64_t two[] = {2, 2};
	Trial *t = &g->dice;
	int64_t dims[] = {roll(t, 1, 2), roll(t, 1, 3), 2 * roll(t, 1, 4), 2 * roll(t, 1, 4)};
	Value *x = gen_input(g, (DType)PICK(t, DT_F32, DT_F32, DT_F16, DT_F64), 4, dims);
	trial_ints(t, "kernel_shape", 2, two);
	trial_ints(t, "strides", 2, two);
	Value **pooled = gen_node(g, "MaxPool", 1, &x, 2), *inputs[3] = {pooled[0], pooled[1]};
	for (int d = 2; d < 4; d++)
		dims[d] += roll(t, 0, 2);
	inputs[2] = gen_ints(g, DT_I64, 4, dims);
	trial_ints(t, "kernel_shape", 2, two);
	trial_ints(t, "strides", 2, two);
	gen_node(g, row->op, chance(t, 50) ? 3 : 2, inputs, 1);
}

void
make_causal_conv(Gen *g, const Row *row)
{
	static const char *const activations[] = {"none", "silu", "swish"};
	Trial *t = &g->dice;
	Value *x = gen_take(g, BIT(DT_F32) | BIT(DT_F16) | BIT(DT_BF16), 3, 3);
	DType type = gen_dtype(x);
	int64_t channels = channels_of(x), taps = roll(t, 1, 4);
	int64_t k[] = {channels, 1, taps}, past[] = {gen_fixed(x, 0), channels, taps - 1};
	Value *inputs[4] = {x, gen_weight_or_input(g, type, 3, k)};
	inputs[2] = chance(t, 50) ? gen_weight_or_input(g, type, 1, &channels) : NULL;
	bool has_past = past[0] > 0 && taps > 1 && chance(t, 50);
	inputs[3] = has_past ? gen_input(g, type, 3, past) : NULL;
	trial_string(t, "activation", activations[roll(t, 0, 2)]);
	gen_node(g, row->op, has_past ? 4 : inputs[2] ? 3 : 2, inputs, taps > 1 ? 2 : 1);
}

void
make_conv_transpose(Gen *g, const Row *row)
{
	Trial *t = &g->dice;
	Value *x = take_image(g, TYPES(float), 3);
	int64_t channels = channels_of(x), group = random_group(g, channels), more[3];
	int64_t out = PICK(t, 1, 2, 3, 4), k[5] = {channels, out}, bias = out * group;
	Window w = random_window(g, x, false);
	for (int i = 0; i < w.rank; i++) {
		k[2 + i] = w.kernel[i];
		more[i] = roll(t, 0, w.stride[i] - 1);
		int64_t full = w.stride[i] * (gen_dim(g, x, 2 + i) - 1) + w.kernel[i];
		if (w.pads[i] + w.pads[i + w.rank] >= full)
			w.pads[i] = w.pads[i + w.rank] = 0;
	}
	w.auto_pad = NULL;
	bool has_bias = chance(t, 50);
	Value *inputs[3] = {x, gen_weight_or_input(g, gen_dtype(x), 2 + w.rank, k)};
	if (has_bias)
		inputs[2] = gen_weight_or_input(g, gen_dtype(x), 1, &bias);
	trial_int(t, "group", group);
	trial_ints(t, "strides", w.rank, w.stride);
	trial_ints(t, "dilations", w.rank, w.dilation);
	trial_ints(t, "pads", 2 * w.rank, w.pads);
	if (chance(t, 40))
		trial_ints(t, "output_padding", w.rank, more);
	random_epilogue(g, gen_one(g, row->op, has_bias ? 3 : 2, inputs));
}

/* ---- pools ----------------------------------------------------------------------------------- */

void
make_pool(Gen *g, const Row *row)
{
	Trial *t = &g->dice;
	const OpInfo *op = op_row(g->graph->ops, row->code);
	bool is_max = row->code == OP_MaxPool, is_lp = row->code == OP_LpPool;
	Value *x = take_image(g, op->inputs[0].types, 3);
	Window w = random_window(g, x, true);
	window_attrs(g, &w, true);
	if (!w.auto_pad)
		trial_int(t, "ceil_mode", chance(t, 35));
	if (row->code == OP_AveragePool)
		trial_int(t, "count_include_pad", chance(t, 50));
	if (is_lp)
		trial_int(t, "p", roll(t, 1, 3));
	bool has_indices = is_max && chance(t, 40);
	if (has_indices)
		trial_int(t, "storage_order", chance(t, 25));
	gen_node(g, row->op, 1, &x, has_indices ? 2 : 1);
}

void
make_global_pool(Gen *g, const Row *row)
{
	Value *x = take_image(g, TYPES(float), 3);
	gen_node(g, row->op, 1, &x, 1);
}

/* ---- Resize ---------------------------------------------------------------------------------- */

void
make_resize(Gen *g, const Row *row)
{
	static const char *const modes[] = {"nearest", "nearest", "linear", "cubic"};
	static const char *const places[] = {"half_pixel", "asymmetric", "align_corners",
	                                     "pytorch_half_pixel"};
	static const char *const rounds[] = {"round_prefer_floor", "round_prefer_ceil", "floor",
	                                     "ceil"};
	Trial *t = &g->dice;
	Value *x = take_image(g, TYPES(float), 3);
	int rank = gen_rank(x), count = rank > 3 ? 2 : 1; /* a text holds two floats */
	int64_t sizes[2], axes[] = {rank - count, rank - 1}, length = count;
	bool by_sizes = chance(t, 50);
	Array *scales = array_new(g->arena, DT_F32, 1, &length);
	for (int i = 0; i < count; i++) {
		sizes[i] = roll(t, 1, 9);
		dtype_store_f64(DT_F32, scales->data, i, (double)PICK(t, 2, 4, 6, 8, 10) / 4);
	}
	const char *mode = modes[roll(t, 0, 3)];
	trial_string(t, "mode", mode);
	trial_string(t, "coordinate_transformation_mode", places[roll(t, 0, 3)]);
	if (mode[0] == 'n')
		trial_string(t, "nearest_mode", rounds[roll(t, 0, 3)]);
	trial_ints(t, "axes", count, axes);
	Value *inputs[] = {x, NULL, by_sizes ? NULL : gen_constant(g, scales),
	                   by_sizes ? gen_ints(g, DT_I64, count, sizes) : NULL};
	gen_node(g, row->op, by_sizes ? 4 : 3, inputs, 1);
}

/* ---- quantised convolutions ------------------------------------------------------------------ */

static Value *
zero_point(Gen *g, DType type)
{
	return gen_scalar(g, type, (double)roll(&g->dice, type == DT_I8 ? -9 : 0, 9));
}

typedef struct Integers {
	Value *x, *w;
	Window window;
	int64_t out, group;
} Integers;

static Integers
random_integers(Gen *g)
{
	Trial *t = &g->dice;
	Integers c = {.x = take_image(g, BIT(DT_U8) | BIT(DT_I8), 3)};
	int64_t channels = channels_of(c.x), k[5];
	c.group = random_group(g, channels);
	c.out = c.group * PICK(t, 1, 2, 3, 8);
	c.window = random_window(g, c.x, false);
	k[0] = c.out;
	k[1] = channels / c.group;
	for (int i = 0; i < c.window.rank; i++)
		k[2 + i] = c.window.kernel[i];
	c.w = gen_weight_or_input(g, chance(t, 70) ? DT_I8 : DT_U8, gen_rank(c.x), k);
	return c;
}

static void
integer_attrs(Gen *g, const Integers *c)
{
	trial_int(&g->dice, "group", c->group);
	window_attrs(g, &c->window, chance(&g->dice, 50));
}

void
make_conv_integer(Gen *g, const Row *row)
{
	Trial *t = &g->dice;
	Integers c = random_integers(g);
	bool has_zeros = chance(t, 60);
	Value *inputs[] = {c.x, c.w, zero_point(g, gen_dtype(c.x)), zero_point(g, gen_dtype(c.w))};
	integer_attrs(g, &c);
	gen_node(g, row->op, has_zeros ? 4 : 2, inputs, 1);
}

/* Scales of the weights may be one per output channel. */
void
make_qlinear_conv(Gen *g, const Row *row)
{
	Trial *t = &g->dice;
	Integers c = random_integers(g);
	DType out = gen_dtype(c.x);
	Array *zeros = array_new(g->arena, gen_dtype(c.w), 1, &c.out);
	bool is_per_channel = chance(t, 40);
	Value *inputs[] = {c.x,
	                   gen_scalar(g, DT_F32, 0.125),
	                   zero_point(g, gen_dtype(c.x)),
	                   c.w,
	                   is_per_channel ? gen_scales(g, DT_F32, 1, &c.out)
	                                  : gen_scalar(g, DT_F32, 0.0625),
	                   is_per_channel ? gen_constant(g, zeros) : zero_point(g, gen_dtype(c.w)),
	                   gen_scalar(g, DT_F32, 0.5),
	                   zero_point(g, out),
	                   chance(t, 50) ? gen_weight(g, DT_I32, 1, &c.out) : NULL};
	integer_attrs(g, &c);
	gen_node(g, row->op, inputs[8] ? 9 : 8, inputs, 1);
}
