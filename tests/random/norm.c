/* Softmax, batch normalisation, attention. */
#include "random.h"

#include <math.h>

static DType
random_float(Trial *t)
{
	DType type = chance(t, 85) ? DT_F32 : (DType)PICK(t, DT_F64, DT_F16, DT_BF16);
	if (type != DT_F32)
		t->no_ort = "element type";
	return type;
}

void
try_Softmax(Trial *t)
{
	int64_t dims[TRIAL_MAX_RANK];
	int rank = (int)roll(t, 1, 4), axis = (int)roll(t, 0, rank - 1);
	for (int i = 0; i < rank; i++)
		dims[i] = roll(t, 1, i ? 9 : 4);
	if (chance(t, 30))
		dims[axis] = roll(t, 10, 200);
	double span = (double)PICK(t, 1, 5, 80);
	DType type = random_float(t);
	Value *x = trial_input(t, "x", trial_array(t, type, rank, dims, -span, span), true);
	trial_int(t, "axis", chance(t, 30) ? axis - rank : axis);
	Value *y = *trial_node(t, "Softmax", 1, &x, 1);
	if (chance(t, 20))
		y = *trial_node(t, "Neg", 1, &y, 1);
	trial_finish(t, 1, &y);
}

void
try_BatchNormalization(Trial *t)
{
	int64_t dims[TRIAL_MAX_RANK];
	int rank = (int)roll(t, 2, 5);
	for (int i = 0; i < rank; i++)
		dims[i] = roll(t, i ? 1 : 2, i ? 8 : 4);
	bool is_training = chance(t, 40);
	DType type = random_float(t);
	int64_t *channels = &dims[1];
	Value *inputs[] = {
		trial_input(t, "x", trial_array(t, type, rank, dims, -3, 3), true),
		trial_data(t, "scale", trial_array(t, type, 1, channels, 0.5, 2)),
		trial_data(t, "bias", trial_array(t, type, 1, channels, -1, 1)),
		trial_data(t, "mean", trial_array(t, type, 1, channels, -1, 1)),
		trial_data(t, "var", trial_array(t, type, 1, channels, 0.5, 2)),
	};
	trial_float(t, "epsilon", uniform(t, 1e-5, 1e-2));
	if (is_training) {
		trial_int(t, "training_mode", 1);
		trial_float(t, "momentum", uniform(t, 0.1, 0.99));
	}
	t->ort_share = 2e-6; /* it multiplies the mean by the scale first, which loses digits */
	int noutput = is_training ? 3 : 1;
	Value **y = trial_node(t, "BatchNormalization", 5, inputs, noutput);
	Value *outputs[3] = {y[0], is_training ? y[1] : NULL, is_training ? y[2] : NULL};
	if (chance(t, 25))
		outputs[0] = *trial_node(t, "Relu", 1, outputs, 1);
	trial_finish(t, noutput, outputs);
}

/* ---- attention ---- */

typedef struct Heads {
	int64_t batch, q_heads, kv_heads, q_length, length, past, size, v_size;
	bool is_flat; /* rank 3: heads and their sizes in one axis */
	DType type;
} Heads;

static Value *
head_input(Trial *t, const Heads *h, const char *name, int64_t heads, int64_t length, int64_t size)
{
	int64_t four[] = {h->batch, heads, length, size}, three[] = {h->batch, length, heads * size};
	const int64_t *dims = h->is_flat ? three : four;
	return trial_input(t, name, trial_array(t, h->type, h->is_flat ? 3 : 4, dims, -2, 2), true);
}

/* Bool or float, of rank 2 to 4, broadcast over batch and heads or not. */
static Value *
random_mask(Trial *t, const Heads *h)
{
	int rank = (int)roll(t, 2, 4);
	int64_t total = h->past + h->length;
	int64_t all[] = {h->batch, h->q_heads, h->q_length, total};
	bool has_batch = rank == 4 && chance(t, 50);
	if (!has_batch)
		all[0] = 1;
	if (chance(t, 50))
		all[1] = 1;
	const int64_t *dims = all + 4 - rank;
	bool is_bool = chance(t, 50);
	Array *mask = is_bool ? trial_integers(t, DT_BOOL, rank, dims, 0, 1)
	                      : trial_array(t, h->type, rank, dims, -2, 2);
	for (int64_t i = 0, count = array_count(mask); i < count; i += total) {
		if (is_bool) /* no row without anything */
			dtype_store_i64(DT_BOOL, mask->data, i, 1);
		else if (chance(t, 30) && total > 1)
			dtype_store_f64(h->type, mask->data, i + 1, -INFINITY);
	}
	return trial_input(t, "mask", mask, has_batch);
}

static Heads
random_heads(Trial *t)
{
	Heads h = {.batch = roll(t, 1, 3), .kv_heads = roll(t, 1, 3), .is_flat = chance(t, 40)};
	h.q_heads = h.kv_heads * PICK(t, 1, 1, 1, 2, 3);
	h.q_length = roll(t, 1, 7);
	h.length = chance(t, 50) ? h.q_length : roll(t, 1, 9);
	h.size = roll(t, 1, 8);
	h.v_size = chance(t, 60) ? h.size : roll(t, 1, 8);
	h.past = chance(t, 30) ? roll(t, 1, 5) : 0;
	h.type = random_float(t);
	return h;
}

static void
attention_attrs(Trial *t, const Heads *h)
{
	if (h->is_flat) {
		trial_int(t, "q_num_heads", h->q_heads);
		trial_int(t, "kv_num_heads", h->kv_heads);
	}
	if (chance(t, 40)) {
		trial_int(t, "is_causal", 1);
		if (h->q_length == 1)
			t->no_ort = "a single query sees all keys there";
	}
	if (chance(t, 30))
		trial_float(t, "scale", uniform(t, 0.1, 1));
	if (chance(t, 25))
		trial_float(t, "softcap", uniform(t, 0.5, 5));
}

void
try_Attention(Trial *t)
{
	Heads h = random_heads(t);
	Value *inputs[6] = {
		head_input(t, &h, "q", h.q_heads, h.q_length, h.size),
		head_input(t, &h, "k", h.kv_heads, h.length, h.size),
		head_input(t, &h, "v", h.kv_heads, h.length, h.v_size),
	};
	if (chance(t, 50))
		inputs[3] = random_mask(t, &h);
	if (h.past) {
		Heads past = h;
		past.is_flat = false;
		inputs[4] = head_input(t, &past, "past_key", h.kv_heads, h.past, h.size);
		inputs[5] = head_input(t, &past, "past_value", h.kv_heads, h.past, h.v_size);
	}
	attention_attrs(t, &h);
	bool has_scores = chance(t, 30), has_present = h.past || chance(t, 30);
	if (has_scores) {
		int64_t mode = roll(t, 0, 3);
		trial_int(t, "qk_matmul_output_mode", mode);
		if (mode == 1 || mode == 2)
			t->no_ort = "it shows the lowest number where a mask says -inf";
	}
	int noutput = has_scores ? 4 : has_present ? 3 : 1;
	int ninput = h.past ? 6 : inputs[3] ? 4 : 3;
	Value **y = trial_node(t, "Attention", ninput, inputs, noutput);
	trial_finish(t, noutput, y);
}
