/* Resize in all its modes. */
#include "random.h"

#include <string.h>

typedef struct Plan {
	int rank, naxis;
	int64_t dims[5], axes[4];
	const char *mode, *coordinates, *policy;
	bool by_scale, is_crop;
} Plan;

static Plan
random_plan(Trial *t)
{
	static const char *const modes[] = {"nearest", "linear", "cubic"};
	static const char *const coordinates[] = {"half_pixel",           "pytorch_half_pixel",
	                                          "half_pixel_symmetric", "asymmetric",
	                                          "align_corners",        "tf_crop_and_resize"};
	static const char *const policies[] = {"stretch", "not_larger", "not_smaller"};
	Plan p = {.rank = (int)PICK(t, 4, 4, 4, 3, 5)};
	p.mode = modes[roll(t, 0, 2)];
	p.coordinates = coordinates[roll(t, 0, 5)];
	p.is_crop = strcmp(p.coordinates, "tf_crop_and_resize") == 0;
	p.by_scale = chance(t, 50);
	p.policy = policies[p.by_scale || p.is_crop || chance(t, 60) ? 0 : roll(t, 1, 2)];
	p.naxis = p.rank - 2;
	for (int i = 0; i < p.rank; i++)
		p.dims[i] = roll(t, i < 2 ? 1 : 2, i < 2 ? 3 : 9);
	for (int i = 0; i < p.naxis; i++)
		p.axes[i] = 2 + i;
	return p;
}

/* Scales or sizes for the axes named, or for all of them (1 in front). */
static void
resize_sizes(Trial *t, const Plan *p, bool has_axes, Value **inputs)
{
	bool is_nearest = p->mode[0] == 'n';
	bool is_stretched = !p->by_scale && strcmp(p->policy, "stretch") == 0;
	if (p->is_crop)
		t->no_ort = "it takes the region otherwise than the standard's reference";
	else if (strcmp(p->coordinates, "align_corners") == 0 && !is_stretched)
		t->no_ort = "it rounds the width that the corners are aligned to";
	else if (is_nearest && (!is_stretched || strcmp(p->coordinates, "half_pixel_symmetric") == 0))
		t->no_ort = "it decides ties by other roundings";
	int64_t count = has_axes ? p->naxis : p->rank, roi_count = 2 * count;
	Array *scales = array_new(t->arena, DT_F32, 1, &count);
	Array *sizes = array_new(t->arena, DT_I64, 1, &count);
	Array *roi = array_new(t->arena, DT_F32, 1, &roi_count);
	bool is_same = true, is_scaled = false;
	for (int64_t i = 0; i < count; i++) {
		int64_t axis = has_axes ? p->axes[i] : i, to = p->dims[axis];
		bool is_resized = axis >= 2;
		if (is_resized)
			to = roll(t, 1, 2 * p->dims[axis]);
		double scale = is_resized ? PICK(t, 2, 3, 4, 5, 6, 8, 10, 12) / 4.0 : 1;
		is_same = is_same && (int64_t)(scale * (double)p->dims[axis]) == p->dims[axis];
		is_scaled = is_scaled || scale != 1;
		dtype_store_f64(DT_F32, scales->data, i, scale);
		dtype_store_i64(DT_I64, sizes->data, i, to);
		dtype_store_f64(DT_F32, roi->data, i, is_resized ? uniform(t, -0.1, 0.4) : 0);
		dtype_store_f64(DT_F32, roi->data, count + i, is_resized ? uniform(t, 0.5, 1.2) : 1);
	}
	if (p->by_scale && is_same && is_scaled)
		t->no_ort = "it copies where the extents stay, whatever the scales";
	inputs[1] = p->is_crop ? trial_constant(t, "roi", roi) : NULL;
	inputs[2] = p->by_scale ? trial_constant(t, "scales", scales) : NULL;
	inputs[3] = p->by_scale ? NULL : trial_constant(t, "sizes", sizes);
}

static void
resize_attrs(Trial *t, const Plan *p, bool has_axes)
{
	static const char *const roundings[] = {"round_prefer_floor", "round_prefer_ceil", "floor",
	                                        "ceil"};
	trial_string(t, "mode", p->mode);
	trial_string(t, "coordinate_transformation_mode", p->coordinates);
	if (p->mode[0] == 'n')
		trial_string(t, "nearest_mode", roundings[roll(t, 0, 3)]);
	else if (chance(t, 30) && !p->is_crop) {
		trial_int(t, "antialias", 1);
		if (p->by_scale || strcmp(p->policy, "stretch") != 0)
			t->no_ort = "it takes the rounded extents for its filters";
	}
	if (p->mode[0] == 'c')
		trial_float(t, "cubic_coeff_a", chance(t, 50) ? -0.75 : -0.5);
	if (p->mode[0] != 'n' && chance(t, 30) && !p->is_crop)
		trial_int(t, "exclude_outside", 1);
	if (p->is_crop)
		trial_float(t, "extrapolation_value", uniform(t, -5, 5));
	if (has_axes)
		trial_ints(t, "axes", p->naxis, p->axes);
	if (!p->by_scale)
		trial_string(t, "keep_aspect_ratio_policy", p->policy);
}

void
try_Resize(Trial *t)
{
	Plan p = random_plan(t);
	bool has_axes = strcmp(p.policy, "stretch") != 0 || t->is_symbolic || chance(t, 40);
	t->ort_share = p.mode[0] == 'n' ? 0 : 4e-6; /* it makes the weights in another order */
	DType type = p.mode[0] == 'n' && chance(t, 30) ? (DType)PICK(t, DT_U8, DT_I8) : DT_F32;
	Array *data = trial_array(t, type, p.rank, p.dims, type == DT_U8 ? 0 : -10, 10);
	Value *inputs[4] = {trial_input(t, "x", data, true)};
	resize_sizes(t, &p, has_axes, inputs);
	resize_attrs(t, &p, has_axes);
	Value *y = *trial_node(t, "Resize", p.by_scale ? 3 : 4, inputs, 1);
	trial_finish(t, 1, &y);
}
