/* Normalisations, quantising, dequantising. */
#include "gen.h"

#include <math.h>

static Value *
positive_weight(Gen *g, DType type, int64_t count)
{
	Array *data = array_new(g->arena, type, 1, &count);
	if (count <= 2) {
		for (int64_t i = 0; i < count; i++)
			dtype_store_f64(type, data->data, i, (double)roll(&g->dice, 2, 9) / 4);
		return gen_constant(g, data);
	}
	return gen_bring(g, gen_weight(g, type, 1, &count), POSITIVE);
}

static int64_t
channels_of(const Value *x)
{
	int64_t channels = gen_fixed(x, 1);
	if (channels < 1)
		gen_give_up();
	return channels;
}

void
make_along_axis(Gen *g, const Row *row)
{
	Trial *t = &g->dice;
	Value *x = gen_take(g, TYPES(float), 1, 5);
	int rank = gen_rank(x);
	if (row->code == OP_LpNormalization) {
		x = gen_bring(g, x, POSITIVE);
		trial_int(t, "p", roll(t, 1, 2));
	}
	if (chance(t, 85))
		trial_int(t, "axis", gen_axis(g, (int)roll(t, 0, rank - 1), rank));
	gen_node(g, row->op, 1, &x, 1);
}

void
make_batch_norm(Gen *g, const Row *row)
{
	Trial *t = &g->dice;
	Value *x = gen_take(g, TYPES(float), 2, 5);
	int64_t channels = channels_of(x);
	DType type = gen_dtype(x);
	Value *inputs[] = {
		x, gen_weight_or_input(g, type, 1, &channels), gen_weight_or_input(g, type, 1, &channels),
		gen_weight_or_input(g, type, 1, &channels), positive_weight(g, type, channels)};
	bool is_training = chance(t, 15);
	if (is_training)
		trial_int(t, "training_mode", 1);
	gen_node(g, row->op, 5, inputs, is_training ? 3 : 1);
}

void
make_group_norm(Gen *g, const Row *row)
{
	Trial *t = &g->dice;
	Value *x = gen_take(g, TYPES(float), 3, 5);
	int64_t channels = channels_of(x), groups = 1;
	for (int64_t i = 2; i <= channels; i++)
		if (channels % i == 0 && chance(t, 40))
			groups = i;
	Value *inputs[] = {x, gen_weight_or_input(g, gen_dtype(x), 1, &channels),
	                   gen_weight_or_input(g, gen_dtype(x), 1, &channels)};
	trial_int(t, "num_groups", groups);
	trial_float(t, "epsilon", 0.125);
	gen_node(g, row->op, 3, inputs, 1);
}

void
make_instance_norm(Gen *g, const Row *row)
{
	Value *x = gen_take(g, TYPES(float), 3, 5);
	int64_t channels = channels_of(x);
	Value *inputs[] = {x, gen_weight_or_input(g, gen_dtype(x), 1, &channels),
	                   gen_weight_or_input(g, gen_dtype(x), 1, &channels)};
	trial_float(&g->dice, "epsilon", 0.125);
	gen_node(g, row->op, 3, inputs, 1);
}

void
make_lrn(Gen *g, const Row *row)
{
	Trial *t = &g->dice;
	Value *x = gen_take(g, TYPES(float), 3, 4);
	trial_int(t, "size", PICK(t, 1, 3, 5));
	trial_float(t, "alpha", 0.25);
	gen_node(g, row->op, 1, &x, 1);
}

/* What broadcasts to x: the dims from `first` on, or any number of them with ones among them. */
static Value *
broadcast_weight(Gen *g, const Value *x, int first)
{
	Trial *t = &g->dice;
	int rank = gen_rank(x), count = 0;
	bool is_odd = chance(t, 35);
	int64_t dims[GRAPH_RANK];
	for (int i = is_odd ? (int)roll(t, 0, rank) : first; i < rank; i++) {
		int64_t dim = gen_fixed(x, i);
		if (dim < 1 && !is_odd)
			gen_give_up();
		dims[count++] = dim < 1 || (is_odd && chance(t, 35)) ? 1 : dim;
	}
	return gen_weight_or_input(g, gen_dtype(x), count, dims);
}

void
make_layer_norm(Gen *g, const Row *row)
{
	Trial *t = &g->dice;
	Value *x = gen_take(g, TYPES(float), 1, 4);
	int rank = gen_rank(x), axis = chance(t, 60) ? rank - 1 : (int)roll(t, 0, rank - 1);
	bool is_rms = row->code != OP_LayerNormalization, has_bias = !is_rms && chance(t, 50);
	Value *inputs[] = {x, broadcast_weight(g, x, axis),
	                   has_bias ? broadcast_weight(g, x, axis) : NULL};
	trial_int(t, "axis", gen_axis(g, axis, rank));
	trial_float(t, "epsilon", 0.125);
	gen_node(g, row->op, has_bias ? 3 : 2, inputs, !is_rms && chance(t, 30) ? 3 : 1);
}

void
make_mean_variance(Gen *g, const Row *row)
{
	Trial *t = &g->dice;
	Value *x = gen_take(g, TYPES(float), 2, 4);
	int64_t axes[GRAPH_RANK];
	int count = 0;
	for (int i = 0; i < gen_rank(x); i++)
		if (chance(t, 60) || (count == 0 && i == gen_rank(x) - 1))
			axes[count++] = i;
	trial_ints(t, "axes", count, axes);
	gen_node(g, row->op, 1, &x, 1);
}

/* ---- quantising ------------------------------------------------------------------------------ */

/* One scale, or one per element of an axis: the attribute of the next node says which. */
static Value *
random_scale(Gen *g, const Value *x, DType type, int64_t *extent)
{
	Trial *t = &g->dice;
	int axis = gen_rank(x) && chance(t, 40) ? (int)roll(t, 0, gen_rank(x) - 1) : -1;
	*extent = axis < 0 ? -1 : gen_fixed(x, axis);
	if (*extent < 1)
		return gen_scalar(g, type, (double)PICK(t, 1, 2, 4, 3) / 32);
	Value *scales = gen_scales(g, type, 1, extent);
	trial_int(t, "axis", gen_axis(g, axis, gen_rank(x)));
	return scales;
}

static Value *
random_zeros(Gen *g, DType type, int64_t extent)
{
	return extent > 0 ? gen_weight(g, type, 1, &extent)
	                  : gen_scalar(g, type, (double)roll(&g->dice, 0, 3));
}

void
make_quantize(Gen *g, const Row *row)
{
	Trial *t = &g->dice;
	Value *x = gen_take(g, BIT(DT_F32) | BIT(DT_F16) | BIT(DT_BF16), 0, 4);
	int64_t extent;
	DType type = (DType)PICK(t, DT_U8, DT_U8, DT_I8, DT_I8, DT_U16, DT_I16, DT_I4, DT_U4);
	Value *scale = random_scale(g, x, gen_dtype(x), &extent);
	bool has_zeros = chance(t, 75) && (extent < 1 || dtype_bits(type) >= 8);
	if (!has_zeros)
		trial_int(t, "output_dtype", type);
	Value *inputs[] = {x, scale, has_zeros ? random_zeros(g, type, extent) : NULL};
	Value *y = *gen_node(g, row->op, has_zeros ? 3 : 2, inputs, 1);
	if (chance(t, 60) || dtype_bits(type) < 8) {
		Value *back[] = {y, gen_scalar(g, DT_F32, 0.125)};
		gen_node(g, "DequantizeLinear", 2, back, 1);
	}
}

void
make_dequantize(Gen *g, const Row *row)
{
	Trial *t = &g->dice;
	Value *x = gen_take(g, BIT(DT_U8) | BIT(DT_I8) | BIT(DT_I32), 0, 4);
	int64_t extent;
	Value *scale = random_scale(g, x, chance(t, 85) ? DT_F32 : DT_F16, &extent);
	bool has_zeros = chance(t, 60) && gen_dtype(x) != DT_I32;
	Value *inputs[] = {x, scale, has_zeros ? random_zeros(g, gen_dtype(x), extent) : NULL};
	gen_node(g, row->op, has_zeros ? 3 : 2, inputs, 1);
}

void
make_dynamic_quantize(Gen *g, const Row *row)
{
	Value *x = gen_take(g, BIT(DT_F32), 1, 4);
	gen_node(g, row->op, 1, &x, 3);
}
