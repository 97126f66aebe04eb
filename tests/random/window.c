/* Convolutions and pooling: windows with strides, dilations, asymmetric pads, auto_pad. */
#include "random.h"

typedef struct Window {
	int rank; /* spatial axes */
	int64_t size[3], kernel[3], stride[3], dilation[3], pads[6], reach[3];
	const char *auto_pad; /* NULL: pads */
} Window;

/* A window that fits into its input at least once; pads smaller than what it reaches over. */
static Window
random_window(Trial *t, bool is_pool)
{
	static const char *const autos[] = {"SAME_UPPER", "SAME_LOWER", "VALID"};
	Window w = {.rank = (int)PICK(t, 1, 2, 2, 2, 3)};
	if (chance(t, 20))
		w.auto_pad = autos[roll(t, 0, 2)];
	bool is_same = w.auto_pad && w.auto_pad[0] == 'S';
	for (int i = 0; i < w.rank; i++) {
		w.kernel[i] = roll(t, 1, w.rank == 3 ? 3 : 4);
		w.stride[i] = roll(t, 1, 3);
		w.dilation[i] = is_same || chance(t, 60) ? 1 : roll(t, 2, 3);
		w.reach[i] = (w.kernel[i] - 1) * w.dilation[i] + 1;
		int64_t most = is_pool ? w.kernel[i] - 1 : w.reach[i] - 1;
		for (int end = 0; end < 2 && !w.auto_pad; end++)
			w.pads[i + end * w.rank] = roll(t, 0, most);
		int64_t least = w.reach[i] - w.pads[i] - w.pads[i + w.rank];
		if (is_pool && least < w.dilation[i])
			least = w.dilation[i]; /* no window between the elements */
		w.size[i] = roll(t, least < 1 ? 1 : least, w.reach[i] + (w.rank == 3 ? 5 : 12));
	}
	return w;
}

static void
window_attrs(Trial *t, const Window *w, bool has_kernel)
{
	if (has_kernel)
		trial_ints(t, "kernel_shape", w->rank, w->kernel);
	trial_ints(t, "strides", w->rank, w->stride);
	trial_ints(t, "dilations", w->rank, w->dilation);
	if (w->auto_pad)
		trial_string(t, "auto_pad", w->auto_pad);
	else
		trial_ints(t, "pads", 2 * w->rank, w->pads);
}

/* Few channels, depthwise, whole blocks of channels. */
static void
random_channels(Trial *t, int64_t *group, int64_t *in, int64_t *out)
{
	*group = PICK(t, 1, 1, 1, 2, 3);
	*in = *group * roll(t, 1, 5);
	*out = *group * roll(t, 1, 5);
	if (chance(t, 15))
		*group = *in = *out = roll(t, 2, 20);
	else if (chance(t, 15))
		*group = 1, *in = PICK(t, 16, 32), *out = PICK(t, 16, 24, 32, 48);
}

static DType
random_float(Trial *t)
{
	DType type = chance(t, 88) ? DT_F32 : (DType)PICK(t, DT_F64, DT_F16, DT_BF16);
	if (type != DT_F32)
		t->no_ort = "element type";
	return type;
}

/* Relu, or a sum with another input, behind a convolution: what fusion takes in. */
static Value *
random_epilogue(Trial *t, Value *y)
{
	if (chance(t, 25))
		y = *trial_node(t, "Relu", 1, &y, 1);
	if (chance(t, 15)) {
		t->ort_share = 1e-6; /* its sigmoid is a polynomial of fewer terms */
		Value *both[] = {y, *trial_node(t, "Sigmoid", 1, &y, 1)};
		y = *trial_node(t, chance(t, 50) ? "Mul" : "Add", 2, both, 1);
	}
	return y;
}

void
try_Conv(Trial *t)
{
	Window w = random_window(t, false);
	int64_t group, in, out;
	random_channels(t, &group, &in, &out);
	DType type = random_float(t);
	int64_t x[5] = {roll(t, 1, 3), in}, k[5] = {out, in / group};
	for (int i = 0; i < w.rank; i++) {
		x[2 + i] = w.size[i];
		k[2 + i] = w.kernel[i];
	}
	Value *inputs[3] = {
		trial_input(t, "x", trial_array(t, type, 2 + w.rank, x, -2, 2), true),
		trial_data(t, "w", trial_array(t, type, 2 + w.rank, k, -1, 1)),
	};
	bool has_bias = chance(t, 50);
	if (has_bias)
		inputs[2] = trial_data(t, "b", trial_array(t, type, 1, &out, -1, 1));
	trial_int(t, "group", group);
	window_attrs(t, &w, chance(t, 50));
	Value *y = *trial_node(t, "Conv", has_bias ? 3 : 2, inputs, 1);
	y = random_epilogue(t, y);
	trial_finish(t, 1, &y);
}

/* Pads so that something is left; output_padding below the stride; or the output's shape. */
static void
transpose_attrs(Trial *t, Window *w)
{
	int64_t more[3], shape[3];
	bool by_shape = chance(t, 20), by_auto = !by_shape && chance(t, 15);
	for (int i = 0; i < w->rank; i++) {
		if (by_auto && w->reach[i] < w->stride[i])
			t->no_ort = "it makes less than stride times the input";
		w->size[i] = roll(t, 1, w->rank == 3 ? 4 : 8);
		more[i] = roll(t, 0, w->stride[i] - 1);
		int64_t full = w->stride[i] * (w->size[i] - 1) + w->reach[i] + more[i];
		w->pads[i] = roll(t, 0, (full - 1) / 2 < w->reach[i] ? (full - 1) / 2 : w->reach[i] - 1);
		w->pads[i + w->rank] = roll(t, 0, w->pads[i]);
		shape[i] = roll(t, full - more[i] > 2 ? full - more[i] - 2 : 1, full);
	}
	trial_ints(t, "strides", w->rank, w->stride);
	trial_ints(t, "dilations", w->rank, w->dilation);
	if (by_shape)
		trial_ints(t, "output_shape", w->rank, shape);
	else if (!by_auto)
		trial_ints(t, "pads", 2 * w->rank, w->pads);
	if (by_auto || (by_shape && chance(t, 50)))
		trial_string(t, "auto_pad", chance(t, 50) ? "SAME_UPPER" : "SAME_LOWER");
	if (!by_shape && !by_auto)
		trial_ints(t, "output_padding", w->rank, more);
}

void
try_ConvTranspose(Trial *t)
{
	Window w = random_window(t, false);
	int64_t group, in, out;
	random_channels(t, &group, &in, &out);
	transpose_attrs(t, &w);
	DType type = random_float(t);
	int64_t x[5] = {roll(t, 1, 3), in}, k[5] = {in, out / group};
	for (int i = 0; i < w.rank; i++) {
		x[2 + i] = w.size[i];
		k[2 + i] = w.kernel[i];
	}
	Value *inputs[3] = {
		trial_input(t, "x", trial_array(t, type, 2 + w.rank, x, -2, 2), true),
		trial_data(t, "w", trial_array(t, type, 2 + w.rank, k, -1, 1)),
	};
	bool has_bias = chance(t, 50);
	if (has_bias)
		inputs[2] = trial_data(t, "b", trial_array(t, type, 1, &out, -1, 1));
	trial_int(t, "group", group);
	if (chance(t, 50))
		trial_ints(t, "kernel_shape", w.rank, w.kernel);
	Value *y = *trial_node(t, "ConvTranspose", has_bias ? 3 : 2, inputs, 1);
	y = random_epilogue(t, y);
	trial_finish(t, 1, &y);
}

static Value *
pool_input(Trial *t, const Window *w, DType type)
{
	for (int i = 0; i < w->rank; i++)
		if (w->auto_pad && w->kernel[i] < w->stride[i])
			t->no_ort = "its pads may be negative there";
	int64_t x[5] = {roll(t, 1, 3), chance(t, 20) ? 16 : roll(t, 1, 5)};
	for (int i = 0; i < w->rank; i++)
		x[2 + i] = w->size[i];
	return trial_input(t, "x", trial_array(t, type, 2 + w->rank, x, -3, 3), true);
}

void
try_AveragePool(Trial *t)
{
	Window w = random_window(t, true);
	Value *x = pool_input(t, &w, random_float(t));
	window_attrs(t, &w, true);
	trial_int(t, "ceil_mode", !w.auto_pad && chance(t, 50));
	trial_int(t, "count_include_pad", chance(t, 50));
	Value *y = *trial_node(t, "AveragePool", 1, &x, 1);
	trial_finish(t, 1, &y);
}

void
try_MaxPool(Trial *t)
{
	Window w = random_window(t, true);
	DType type = chance(t, 25) ? (DType)PICK(t, DT_I8, DT_U8) : random_float(t);
	bool has_indices = chance(t, 60);
	Value *x = pool_input(t, &w, type);
	window_attrs(t, &w, true);
	trial_int(t, "ceil_mode", !w.auto_pad && chance(t, 50));
	trial_int(t, "storage_order", has_indices && chance(t, 40));
	Value **y = trial_node(t, "MaxPool", 1, &x, has_indices ? 2 : 1);
	bool only_indices = has_indices && chance(t, 30);
	trial_finish(t, has_indices && !only_indices ? 2 : 1, y + only_indices);
}
