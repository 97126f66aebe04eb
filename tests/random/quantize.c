/* Quantising alone, to every type and granularity, and in front of a quantised convolution. */
#include "random.h"

typedef struct Grain {
	int rank, nscale; /* of the scale */
	int axis;
	int64_t dims[4], scale[4], block;
} Grain;

/* One scale, one per element of an axis, or one per block along it. */
static Grain
random_grain(Trial *t)
{
	Grain g = {.rank = (int)roll(t, 1, 4)};
	for (int i = 0; i < g.rank; i++)
		g.dims[i] = roll(t, 1, i ? 9 : 4);
	g.axis = (int)roll(t, 0, g.rank - 1);
	int kind = (int)roll(t, 0, 2);
	if (kind == 1) {
		g.nscale = 1;
		g.scale[0] = g.dims[g.axis];
	} else if (kind == 2) {
		g.nscale = g.rank;
		g.block = roll(t, 1, 3);
		g.dims[g.axis] = g.block * roll(t, 1, 4);
		for (int i = 0; i < g.rank; i++)
			g.scale[i] = i == g.axis ? g.dims[i] / g.block : g.dims[i];
	}
	return g;
}

static Array *
random_zero(Trial *t, DType type, int rank, const int64_t *dims)
{
	Array *zero = array_new(t->arena, type, rank, dims);
	if (dtype_class(type) == DC_S && dtype_name(type)[0] == 'f')
		return zero;
	bool has_sign = dtype_name(type)[0] == 'i';
	int64_t lo = has_sign ? -6 : 0, hi = has_sign ? 6 : 13;
	for (int64_t i = 0; i < array_count(zero); i++)
		dtype_store_i64(type, zero->data, i, roll(t, lo, hi));
	return zero;
}

static void
quantize_alone(Trial *t)
{
	Grain g = random_grain(t);
	DType type = (DType)PICK(t, DT_U8, DT_U8, DT_I8, DT_I8, DT_U16, DT_I16, DT_U4, DT_I4, DT_U2,
	                         DT_I2, DT_F8E4M3FN, DT_F8E5M2, DT_F8E4M3FNUZ, DT_F8E5M2FNUZ);
	double span = type == DT_U16 || type == DT_I16 ? 3000 : 30;
	bool has_batch = g.nscale == 0 || (g.nscale == 1 && g.axis > 0);
	bool is_whole = dtype_bits(type) >= 8;
	Value *inputs[3] = {
		trial_input(t, "x", trial_array(t, DT_F32, g.rank, g.dims, -span, span),
	                has_batch && is_whole),
		trial_data(t, "scale",
	               chance(t, 30) ? trial_integers(t, DT_F32, g.nscale, g.scale, 1, 2)
	                             : trial_array(t, DT_F32, g.nscale, g.scale, 0.5, 1.5)),
		trial_data(t, "zero", random_zero(t, type, g.nscale, g.scale)),
	};
	trial_int(t, "axis", g.axis);
	if (g.block)
		trial_int(t, "block_size", g.block);
	Value *q = *trial_node(t, "QuantizeLinear", 3, inputs, 1);
	Value *outputs[2] = {q};
	trial_finish(t, 1, outputs);
}

/* x in steps of 0.05, weights of any zero point, one scale for all or one per output channel. */
static void
quantized_conv(Trial *t)
{
	DType xt = (DType)PICK(t, DT_U8, DT_I8);
	DType wt = xt == DT_U8 ? (DType)PICK(t, DT_U8, DT_I8) : DT_I8;
	int64_t in = roll(t, 1, 5), out = roll(t, 1, 5), group = 1, one = 1;
	if (chance(t, 25))
		group = in, out = in * roll(t, 1, 2);
	int64_t x[] = {roll(t, 1, 2), in, roll(t, 4, 9), roll(t, 4, 9)};
	int64_t w[] = {out, in / group, roll(t, 1, 3), roll(t, 1, 3)};
	bool per_channel = chance(t, 50);
	int nscale = per_channel ? 1 : 0;
	const int64_t *scales = per_channel ? &out : &one;
	Value *scale = trial_constant(t, "x_scale", trial_array(t, DT_F32, 0, NULL, 0.04, 0.06));
	Value *zero = trial_constant(t, "x_zero", random_zero(t, xt, 0, NULL));
	Value *first[] = {trial_input(t, "x", trial_array(t, DT_F32, 4, x, -4, 4), true), scale, zero};
	Value *q = *trial_node(t, "QuantizeLinear", 3, first, 1);
	Array *weights = trial_integers(t, wt, 4, w, wt == DT_U8 ? 0 : -60, wt == DT_U8 ? 120 : 60);
	Value *inputs[9] = {
		q,
		scale,
		zero,
		trial_constant(t, "w", weights),
		trial_constant(t, "w_scale", trial_array(t, DT_F32, nscale, scales, 0.01, 0.03)),
		trial_constant(t, "w_zero", random_zero(t, wt, nscale, scales)),
		trial_constant(t, "y_scale", trial_array(t, DT_F32, 0, NULL, 0.1, 0.4)),
		trial_constant(t, "y_zero", random_zero(t, xt, 0, NULL)),
		trial_constant(t, "bias", trial_integers(t, DT_I32, 1, &out, -500, 500)),
	};
	int64_t pads[] = {roll(t, 0, 2), roll(t, 0, 2), roll(t, 0, 2), roll(t, 0, 2)};
	int64_t strides[] = {roll(t, 1, 2), roll(t, 1, 2)};
	trial_ints(t, "pads", 4, pads);
	trial_ints(t, "strides", 2, strides);
	trial_int(t, "group", group);
	Value *y = *trial_node(t, "QLinearConv", chance(t, 60) ? 9 : 8, inputs, 1);
	Value *outputs[2] = {y, q};
	trial_finish(t, chance(t, 50) ? 2 : 1, outputs);
}

void
try_QuantizeLinear(Trial *t)
{
	if (chance(t, 50))
		quantize_alone(t);
	else
		quantized_conv(t);
}
