/* Opset adapters, upwards: from the version a model is written in to the dialect, opset 27.
 *
 *     {20, "DFT", dft_to_input}     below opset 20, DFT's axis is an attribute
 *
 * A row says: where the model's opset is below the number, the operator meant something else, and
 * the function rewrites the draft to the meaning from there on. Rows stand by rising version and
 * all that apply are run in order, so that each knows one step only; a function may rename the
 * operator, and later rows of the new name then apply. Before them, attributes become the inputs
 * that moved.def says. downgrade.c is the way back. Versions that only added types need no row.
 */
#include <math.h>
#include <string.h>

#include "onnx/import.h"
#include "onnx/names.h"

/* ---- attributes that became inputs ---- */

/* Move a list of integers from an attribute to input `index`, if it is there. */
static void
ints_to_input(Draft *draft, const char *name, int index)
{
	int64_t count;
	const int64_t *values = draft_ints(draft, name, &count);
	if (!values)
		return;
	draft_set_input(draft, index, draft_ints_constant(draft, name, count, values));
	draft_remove(draft, name);
}

/* The same for a float, as a scalar of the first input's type. */
static void
float_to_input(Draft *draft, const char *name, int index)
{
	if (!draft_find(draft, name))
		return;
	DType type = draft_dtype(draft, 0) == DT_NONE ? DT_F32 : draft_dtype(draft, 0);
	double value = (double)draft_float(draft, name, 0);
	draft_set_input(draft, index, draft_number(draft, name, type, value));
	draft_remove(draft, name);
}

/* The same for one integer, as a list of one. */
static void
int_to_input(Draft *draft, const char *name, int index)
{
	if (!draft_find(draft, name))
		return;
	int64_t value = draft_int(draft, name, 0);
	draft_set_input(draft, index, draft_ints_constant(draft, name, 1, &value));
	draft_remove(draft, name);
}

static void
move_attrs(Draft *draft)
{
	for (int i = 0; i < moved_attr_count; i++) {
		const MovedAttr *moved = &moved_attrs[i];
		if (draft->version >= moved->below || !op_is_among(draft->op, moved->ops))
			continue;
		if (moved->kind == ATTR_INTS)
			ints_to_input(draft, moved->name, moved->input);
		else if (moved->kind == ATTR_INT)
			int_to_input(draft, moved->name, moved->input);
		else
			float_to_input(draft, moved->name, moved->input);
	}
}

/* Before 18, a Split without sizes cut into as many equal parts as it has outputs. */
static void
split_count(Draft *draft)
{
	if (!draft_input(draft, 1))
		draft_set_int(draft, "num_outputs", draft->outputs.count);
}

/* The ratio is kept for export; only training, which these versions do not ask for, would use it.
 */
static void
dropout_to_input(Draft *draft)
{
	if (!draft_find(draft, "ratio"))
		return;
	double ratio = (double)draft_float(draft, "ratio", 0.5f);
	draft_set_input(draft, 1, draft_number(draft, "ratio", DT_F32, ratio));
	draft_remove(draft, "ratio");
}

static void
dft_to_input(Draft *draft)
{
	int64_t axis = draft_int(draft, "axis", 1);
	draft_set_input(draft, 2,
	                draft_constant(draft, "axis", array_scalar_i64(draft->import->arena, axis)));
	draft_remove(draft, "axis");
}

/* ---- broadcasting before 7: explicit, the second input placed at an axis of the first ---- */

static void
numpy_broadcast(Draft *draft)
{
	bool is_placed = draft_int(draft, "broadcast", 0) && draft_find(draft, "axis");
	int64_t axis = draft_int(draft, "axis", 0);
	draft_remove(draft, "broadcast");
	draft_remove(draft, "axis");
	if (!is_placed)
		return;
	int a = draft_rank(draft, 0), b = draft_rank(draft, 1);
	if (a < 0 || b < 0)
		draft_unsupported(draft, "broadcasting along axis %lld with inputs of unknown rank",
		                  (long long)axis);
	int64_t behind = a - (axis < 0 ? axis + a : axis) - b;
	if (behind < 0 || behind > ARRAY_MAX_RANK)
		draft_fail(draft, "rank %d does not fit into rank %d at axis %lld", b, a, (long long)axis);
	if (behind == 0)
		return;
	int64_t axes[ARRAY_MAX_RANK];
	for (int i = 0; i < behind; i++)
		axes[i] = b + i;
	Value *inputs[] = {draft_input(draft, 1), draft_ints_constant(draft, "axes", behind, axes)};
	draft_set_input(draft, 1, draft_emit(draft, "Unsqueeze", 2, inputs, 0, NULL));
}

/* Before 7 the slope of each channel was a vector; since, it broadcasts from behind. */
static void
prelu_slope(Draft *draft)
{
	int x = draft_rank(draft, 0), slope = draft_rank(draft, 1);
	if (x < 0 || slope < 0)
		draft_unsupported(draft, "a slope or input of unknown rank");
	const Value *value = draft_input(draft, 1);
	if (slope != 1 || x <= 2 || (value->constant && array_count(value->constant) == 1))
		return;
	int64_t axes[ARRAY_MAX_RANK];
	for (int i = 0; i < x - 2; i++)
		axes[i] = i + 1;
	Value *inputs[] = {draft_input(draft, 1), draft_ints_constant(draft, "axes", x - 2, axes)};
	draft_set_input(draft, 1, draft_emit(draft, "Unsqueeze", 2, inputs, 0, NULL));
}

static void
gemm_broadcast(Draft *draft)
{
	draft_remove(draft, "broadcast");
}

/* ---- normalisation ---- */

static void
batch_norm_spatial(Draft *draft)
{
	if (draft_int(draft, "spatial", 1) == 0)
		draft_unsupported(draft, "spatial=0 (a mean for each position)");
	draft_remove(draft, "spatial");
}

static void
forget_is_test(Draft *draft)
{
	draft_remove(draft, "is_test");
}

/* Before 14, further outputs asked for training; the last two were for the backward pass. */
static void
batch_norm_outputs(Draft *draft)
{
	if (draft_wants(draft, 3) || draft_wants(draft, 4))
		draft_unsupported(draft, "outputs saved_mean and saved_var");
	draft_cut_outputs(draft, 3);
	if (draft_wants(draft, 1) || draft_wants(draft, 2))
		draft_set_int(draft, "training_mode", 1);
}

/* Scale and bias of a group become those of its channels: [G] -> [G, C/G] -> [C]. */
static Value *
per_channel(Draft *draft, int input, Value *shape, int64_t groups)
{
	Value *column[] = {draft_input(draft, input),
	                   draft_ints_constant(draft, "column", 2, (int64_t[]){groups, 1})};
	Value *wide[] = {draft_emit(draft, "Reshape", 2, column, 0, NULL), shape};
	Value *flat[] = {draft_emit(draft, "Expand", 2, wide, 0, NULL),
	                 draft_ints_constant(draft, "flat", 1, &(int64_t){-1})};
	return draft_emit(draft, "Reshape", 2, flat, 0, NULL);
}

static void
group_norm_channels(Draft *draft)
{
	int64_t groups = draft_int(draft, "num_groups", 0);
	if (groups <= 0)
		draft_fail(draft, "num_groups is %lld", (long long)groups);
	Attr range[] = {{.name = "start", .kind = ATTR_INT, .i = 1},
	                {.name = "end", .kind = ATTR_INT, .i = 2}};
	Value *x = draft_input(draft, 0);
	Value *count = draft_ints_constant(draft, "groups", 1, &groups);
	Value *division[] = {draft_emit(draft, "Shape", 1, &x, 2, range), count};
	Value *parts[] = {count, draft_emit(draft, "Div", 2, division, 0, NULL)};
	Attr axis = {.name = "axis", .kind = ATTR_INT, .i = 0};
	Value *shape = draft_emit(draft, "Concat", 2, parts, 1, &axis);
	Value *scale = per_channel(draft, 1, shape, groups);
	Value *bias = per_channel(draft, 2, shape, groups);
	draft_set_input(draft, 1, scale);
	draft_set_input(draft, 2, bias);
}

/* ---- Softmax, LogSoftmax and Hardmax before 13: over all axes from `axis` on, as one ---- */

static void
softmax_flat(Draft *draft)
{
	int64_t axis = draft_int(draft, "axis", 1);
	int rank = draft_rank(draft, 0);
	draft_remove(draft, "axis");
	if (rank >= 0 && (axis < -rank || axis > rank))
		draft_fail(draft, "axis %lld of an input of rank %d", (long long)axis, rank);
	if (rank > 0 && (axis == -1 || axis == rank - 1)) {
		draft_set_int(draft, "axis", axis);
		return;
	}
	Value *x = draft_input(draft, 0);
	if (!x)
		return;
	Value *shape = draft_emit(draft, "Shape", 1, &x, 0, NULL);
	Attr from = {.name = "axis", .kind = ATTR_INT, .i = axis};
	draft_set_input(draft, 0, draft_emit(draft, "Flatten", 1, &x, 1, &from));
	draft_set_int(draft, "axis", 1);
	draft_after(draft, 0, "Reshape", shape, (Attr){0});
}

const char *
upgrade_name(const char *op)
{
	static const struct {
		const char *old, *name;
	} renamed[] = {{"Upsample", "Resize"}, {"Scatter", "ScatterElements"}};
	for (size_t i = 0; i < countof(renamed); i++)
		if (strcmp(renamed[i].old, op) == 0)
			return renamed[i].name;
	return op;
}

/* ---- Upsample and Resize ---- */

static void
upsample_to_resize(Draft *draft)
{
	const Attr *scales = draft_find(draft, "scales");
	if (scales && scales->kind == ATTR_FLOATS) {
		const Array *data =
			array_from(draft->import->arena, DT_F32, 1, &scales->count, scales->floats);
		draft_set_input(draft, 1, draft_constant(draft, "scales", data));
		draft_remove(draft, "scales");
	}
	draft->op = upgrade_name(draft->op);
	draft->loc.op = "Resize";
}

/* Resize of opset 10 has input and scales, and reads at floor(x / scale). */
static void
resize_coordinates(Draft *draft)
{
	Value *scales = draft_input(draft, 1);
	draft_set_input(draft, 1, NULL);
	draft_set_input(draft, 2, scales);
	draft_set_string(draft, "coordinate_transformation_mode", "asymmetric");
	draft_set_string(draft, "nearest_mode", "floor");
	if (strcmp(draft_string(draft, "mode", "nearest"), "bilinear") == 0)
		draft_set_string(draft, "mode", "linear");
}

/* Gone since 13: floor((x + 0.5) / scale) is (x + 0.5) / scale - 0.5 rounded, halves up. */
static void
resize_tf_nearest(Draft *draft)
{
	const char *mode = draft_string(draft, "coordinate_transformation_mode", "half_pixel");
	if (strcmp(mode, "tf_half_pixel_for_nn") != 0)
		return;
	const char *nearest = draft_string(draft, "nearest_mode", "round_prefer_floor");
	bool is_nearest = strcmp(draft_string(draft, "mode", "nearest"), "nearest") == 0;
	if (!is_nearest || strcmp(nearest, "floor") != 0)
		draft_unsupported(draft, "tf_half_pixel_for_nn without nearest_mode floor");
	draft_set_string(draft, "coordinate_transformation_mode", "half_pixel");
	draft_set_string(draft, "nearest_mode", "round_prefer_ceil");
}

/* Before 18 an absent roi or scales could be given as a tensor without elements. */
static void
resize_empty(Draft *draft)
{
	for (int i = 1; i < draft->inputs.count; i++) {
		const Value *value = draft_input(draft, i);
		if (value && value->constant && !value->is_default && array_count(value->constant) == 0)
			draft_set_input(draft, i, NULL);
	}
}

/* ---- others ---- */

static void
scatter_elements(Draft *draft)
{
	draft->op = upgrade_name(draft->op);
	draft->loc.op = "ScatterElements";
}

static void
mask_of_input_type(Draft *draft)
{
	if (draft_dtype(draft, 0) != DT_NONE && draft_wants(draft, 1))
		draft_after(draft, 1, "Cast", NULL,
		            (Attr){.name = "to", .kind = ATTR_INT, .i = draft_dtype(draft, 0)});
}

/* In 1 the p of a p-norm was a float. */
static void
norm_to_int(Draft *draft)
{
	if (!draft_find(draft, "p"))
		return;
	float p = draft_float(draft, "p", 2);
	if (!(p >= 1 && p <= 1 << 20) || p != floorf(p))
		draft_unsupported(draft, "a norm with p = %g", (double)p);
	draft_set_int(draft, "p", (int64_t)p);
}

static void
concat_axis(Draft *draft)
{
	draft_set_int(draft, "axis", draft_int(draft, "axis", 1));
}

static void
forget_sequence(Draft *draft)
{
	draft_remove(draft, "output_sequence");
}

static void
roi_align_pixels(Draft *draft)
{
	draft_set_string(draft, "coordinate_transformation_mode", "output_half_pixel");
}

static void
grid_sample_modes(Draft *draft)
{
	const char *mode = draft_string(draft, "mode", "bilinear");
	if (strcmp(mode, "bilinear") == 0)
		draft_set_string(draft, "mode", "linear");
	if (strcmp(mode, "bicubic") == 0)
		draft_set_string(draft, "mode", "cubic");
}

static void
scan_of_opset_8(Draft *draft)
{
	draft_unsupported(draft, "Scan of opset 8 (with a batch axis of its own)");
}

static void
too_old(Draft *draft)
{
	draft_unsupported(draft, "opset %lld is older than this operator's present form",
	                  (long long)draft->version);
}

typedef struct UpgradeRow {
	int below;
	const char *ops;
	void (*upgrade)(Draft *draft);
} UpgradeRow;

/* below, operators of ai.onnx, what the step to that version did. By version. */
static const UpgradeRow ROWS[] = {
	{2, "Pad Split", too_old},
	{2, "LpPool GlobalLpPool", norm_to_int},
	{4, "Concat", concat_axis},
	{5, "Reshape", too_old},
	{6, "Cast Tile", too_old},
	{7, "Add Sub Mul Div Pow And Or Xor Greater Less Equal", numpy_broadcast},
	{7, "PRelu", prelu_slope},
	{7, "Gemm", gemm_broadcast},
	{7, "BatchNormalization Dropout", forget_is_test},
	{7, "RNN GRU LSTM", forget_sequence},
	{7, "Upsample", too_old},
	{9, "BatchNormalization", batch_norm_spatial},
	{9, "Scan", scan_of_opset_8},
	{10, "Dropout", mask_of_input_type},
	{11, "Upsample", upsample_to_resize},
	{11, "Resize", resize_coordinates},
	{12, "Dropout", dropout_to_input},
	{13, "Softmax LogSoftmax Hardmax", softmax_flat},
	{13, "Resize", resize_tf_nearest},
	{14, "BatchNormalization", batch_norm_outputs},
	{16, "RoiAlign", roi_align_pixels},
	{18, "Split", split_count},
	{18, "Resize", resize_empty},
	{20, "DFT", dft_to_input},
	{20, "GridSample", grid_sample_modes},
	{21, "GroupNormalization", group_norm_channels},
	{ONNX_DIALECT + 1, "Scatter", scatter_elements},
};

void
draft_upgrade(Draft *draft)
{
	if (*draft->domain)
		return;
	if (draft->version < 6)
		draft_remove(draft, "consumed_inputs"); /* most operators' hint about reuse of memory */
	move_attrs(draft);
	for (size_t i = 0; i < countof(ROWS); i++)
		if (draft->version < ROWS[i].below && op_is_among(draft->op, ROWS[i].ops))
			ROWS[i].upgrade(draft);
}
