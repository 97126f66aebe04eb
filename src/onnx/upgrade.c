/* Opset adapters, upwards: from the version a model is written in to the dialect, opset 28.
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

#include "graph/infer.h"
#include "onnx/import.h"

/* ---- attributes that became inputs ---- */

/* What an attribute says, as an input: integers as a list, a float as a scalar of the first
 * input's type. */
static Value *
as_input(Draft *draft, const char *name, AttrKind kind)
{
	if (kind == ATTR_FLOAT) {
		DType type = draft_dtype(draft, 0) == DT_NONE ? DT_F32 : draft_dtype(draft, 0);
		return draft_number(draft, name, type, (double)draft_float(draft, name, 0));
	}
	int64_t single = kind == ATTR_INT ? draft_int(draft, name, 0) : 0, count = 1;
	const int64_t *values = kind == ATTR_INT ? &single : draft_ints(draft, name, &count);
	return draft_ints_constant(draft, name, count, values);
}

static void
move_attrs(Draft *draft)
{
	for (int i = 0; i < moved_attr_count; i++) {
		const MovedAttr *moved = &moved_attrs[i];
		if (draft->version >= moved->below || !word_is_among(draft->op, moved->ops) ||
		    !attrs_find(&draft->attrs, moved->name))
			continue;
		draft_set_input(draft, moved->input, as_input(draft, moved->name, moved->kind));
		attrs_remove(&draft->attrs, moved->name);
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
	if (!attrs_find(&draft->attrs, "ratio"))
		return;
	double ratio = (double)draft_float(draft, "ratio", 0.5f);
	draft_set_input(draft, 1, draft_number(draft, "ratio", DT_F32, ratio));
	attrs_remove(&draft->attrs, "ratio");
}

static void
dft_to_input(Draft *draft)
{
	int64_t axis = draft_int(draft, "axis", 1);
	draft_set_input(draft, 2,
	                draft_constant(draft, "axis", array_scalar_i64(draft->import->kept, axis)));
	attrs_remove(&draft->attrs, "axis");
}

/* ---- broadcasting before 7: explicit, the second input placed at an axis of the first ---- */

static void
numpy_broadcast(Draft *draft)
{
	bool is_placed = draft_int(draft, "broadcast", 0) && attrs_find(&draft->attrs, "axis");
	int64_t axis = draft_int(draft, "axis", 0);
	attrs_remove(&draft->attrs, "broadcast");
	attrs_remove(&draft->attrs, "axis");
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

/* ---- normalisation ---- */

static void
batch_norm_spatial(Draft *draft)
{
	if (draft_int(draft, "spatial", 1) == 0)
		draft_unsupported(draft, "spatial=0 (a mean for each position)");
	attrs_remove(&draft->attrs, "spatial");
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
	attrs_remove(&draft->attrs, "axis");
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
	/* a 0 would stand for a dim of the flat form; old versions can't write the attribute */
	bool has_zero = false;
	for (int i = 0; i < rank; i++)
		has_zero |= dim_is(x->type.dims[i], 0);
	Attr zeros = {.name = "allowzero", .kind = ATTR_INT, .i = 1};
	draft_after(draft, 0, "Reshape", shape, has_zero ? zeros : (Attr){0});
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
	const Attr *scales = attrs_find(&draft->attrs, "scales");
	if (scales && scales->kind == ATTR_FLOATS) {
		const Array *data =
			array_from(draft->import->kept, DT_F32, 1, &scales->count, scales->floats);
		draft_set_input(draft, 1, draft_constant(draft, "scales", data));
		attrs_remove(&draft->attrs, "scales");
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
	if (!attrs_find(&draft->attrs, "p"))
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

static Value *
cast_to(Draft *draft, Value *value, DType type)
{
	Attr to = {.name = "to", .kind = ATTR_INT, .i = type};
	return value->type.dtype == type ? value : draft_emit(draft, "Cast", 1, &value, 1, &to);
}

/* Whether data decides what an input is; then the symbol of it is 32 bits wide. */
static bool
is_data(const Draft *draft, int index)
{
	const Known *known = value_known(draft->import->graph, draft_input(draft, index));
	return !known || known->count != 1 || !known->value[0];
}

/* A range of floats, or with a step, or between bounds, that data decides: numbers from 0 on,
 * scaled.
 *
 *     n = max(i64(ceil((f64(limit) - f64(start)) / f64(delta))), 0)
 *     start + Range(0, n, 1) * delta
 */
static void
range_of_data(Draft *draft)
{
	DType type = draft_dtype(draft, 0);
	bool is_float = type != DT_NONE && dtype_is_float(type);
	if (type == DT_NONE || !draft_input(draft, 1) || !draft_input(draft, 2) ||
	    draft->import->graph->is_open)
		return;
	bool is_start = is_data(draft, 0), is_limit = is_data(draft, 1), is_step = is_data(draft, 2);
	if (!(is_step || (is_start && is_limit) || (is_float && (is_start || is_limit))))
		return;
	DType work = dtype_bits(type) < 32 && is_float ? DT_F32 : type;
	DType wide = is_float ? DT_F64 : DT_I64;
	Value *span[] = {cast_to(draft, draft_input(draft, 1), wide),
	                 cast_to(draft, draft_input(draft, 0), wide)};
	Value *ratio[] = {draft_emit(draft, "Sub", 2, span, 0, NULL), draft_input(draft, 2)};
	for (int i = 0; i < 2; i++)
		ratio[i] = cast_to(draft, ratio[i], DT_F64);
	Value *count = draft_emit(draft, "Div", 2, ratio, 0, NULL);
	count = cast_to(draft, draft_emit(draft, "Ceil", 1, &count, 0, NULL), DT_I64);
	Value *zero = draft_number(draft, "zero", DT_I64, 0);
	Value *one = draft_number(draft, "one", DT_I64, 1);
	Value *above[] = {count, zero};
	Value *range[] = {zero, draft_emit(draft, "Max", 2, above, 0, NULL), one};
	Value *scaled[] = {cast_to(draft, draft_emit(draft, "Range", 3, range, 0, NULL), work),
	                   cast_to(draft, draft_input(draft, 2), work)};
	Value *sum[] = {cast_to(draft, draft_input(draft, 0), work),
	                draft_emit(draft, "Mul", 2, scaled, 0, NULL)};
	attrs_remove(&draft->attrs, "stash_type");
	draft->inputs.count = 1;
	draft_set_input(draft, 0, draft_emit(draft, "Add", 2, sum, 0, NULL));
	draft->op = "Cast";
	draft_set_int(draft, "to", type);
}

/* A depth is an integer, also where a float holds it: data says it only as one. */
static void
one_hot_depth(Draft *draft)
{
	DType type = draft_dtype(draft, 1);
	if (type != DT_NONE && dtype_is_float(type) && is_data(draft, 1) &&
	    !draft->import->graph->is_open)
		draft_set_input(draft, 1, cast_to(draft, draft_input(draft, 1), DT_I64));
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
	void (*upgrade)(Draft *draft); /* or NULL */
	const char *forgotten;         /* an attribute that said nothing else, or NULL */
} UpgradeRow;

/* below, operators of ai.onnx, what the step to that version did. By version. */
static const UpgradeRow ROWS[] = {
	{2, "Pad Split", too_old, NULL},
	{2, "LpPool GlobalLpPool", norm_to_int, NULL},
	{4, "Concat", concat_axis, NULL},
	{5, "Reshape", too_old, NULL},
	{6, "Cast Tile", too_old, NULL},
	{7, "Add Sub Mul Div Pow And Or Xor Greater Less Equal", numpy_broadcast, NULL},
	{7, "PRelu", prelu_slope, NULL},
	{7, "Gemm", NULL, "broadcast"},
	{7, "BatchNormalization Dropout", NULL, "is_test"},
	{7, "RNN GRU LSTM", NULL, "output_sequence"},
	{7, "Upsample", too_old, NULL},
	{9, "BatchNormalization", batch_norm_spatial, NULL},
	{9, "Scan", scan_of_opset_8, NULL},
	{10, "Dropout", mask_of_input_type, NULL},
	{11, "Upsample", upsample_to_resize, NULL},
	{11, "Resize", resize_coordinates, NULL},
	{12, "Dropout", dropout_to_input, NULL},
	{13, "Softmax LogSoftmax Hardmax", softmax_flat, NULL},
	{13, "Resize", resize_tf_nearest, NULL},
	{14, "BatchNormalization", batch_norm_outputs, NULL},
	{16, "RoiAlign", roi_align_pixels, NULL},
	{18, "Split", split_count, NULL},
	{18, "Resize", resize_empty, NULL},
	{20, "DFT", dft_to_input, NULL},
	{20, "GridSample", grid_sample_modes, NULL},
	{21, "GroupNormalization", group_norm_channels, NULL},
	{ONNX_DIALECT + 1, "Scatter", scatter_elements, NULL},
	{ONNX_DIALECT + 1, "Range", range_of_data, NULL},
	{ONNX_DIALECT + 1, "OneHot", one_hot_depth, NULL},
	{ONNX_DIALECT + 1, "CumSum CumProd", cumulative_of_data, NULL},
	{ONNX_DIALECT + 1, "Pad", pad_of_data, NULL},
	{ONNX_DIALECT + 1, "Slice", slice_of_data, NULL},
	{ONNX_DIALECT + 1, "Squeeze", squeeze_of_data, NULL},
	{ONNX_DIALECT + 1, "Unsqueeze", unsqueeze_of_data, NULL},
	{ONNX_DIALECT + 1,
     "ReduceL1 ReduceL2 ReduceLogSum ReduceLogSumExp ReduceMax ReduceMean ReduceMin ReduceProd "
     "ReduceSum ReduceSumSquare",
     reduce_of_data, NULL},
};

void
draft_upgrade(Draft *draft)
{
	if (*draft->domain)
		return;
	if (draft->version < 6)
		attrs_remove(&draft->attrs,
		             "consumed_inputs"); /* most operators' hint about reuse of memory */
	move_attrs(draft);
	for (size_t i = 0; i < countof(ROWS); i++) {
		if (draft->version >= ROWS[i].below || !word_is_among(draft->op, ROWS[i].ops))
			continue;
		if (ROWS[i].upgrade)
			ROWS[i].upgrade(draft);
		else
			attrs_remove(&draft->attrs, ROWS[i].forgotten);
	}
}
