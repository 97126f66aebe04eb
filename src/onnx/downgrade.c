/* Opset adapters, downwards: from the dialect to the opset a model is written for.
 *
 *     {20, "DFT", dft_to_attr}      models below opset 20 want DFT's axis as an attribute
 *
 * Rows are those of upgrade.c read backwards, by falling version; behind them, inputs become the
 * attributes that moved.def says. What an opset cannot say (axes
 * that are computed, an attribute it does not know at other than its default) raises out->needed,
 * and the exporter starts again with the first opset that can.
 */
#include <string.h>

#include "onnx/export.h"

/* ---- what rows are written with ---- */

void
out_need(OutNode *node, int opset)
{
	if (node->out->needed < opset)
		node->out->needed = opset;
}

static void
set(OutNode *node, Attr attr)
{
	attrs_set(node->out->arena, &node->attrs, attr);
}

static void
set_int(OutNode *node, const char *name, int64_t value)
{
	set(node, (Attr){.name = name, .kind = ATTR_INT, .i = value});
}

static bool
is_given(const OutNode *node, int input)
{
	return input < node->inputs.count && *node->inputs.data[input];
}

static const Value *
input_value(const OutNode *node, int input)
{
	return input < node->node->ninput ? node->node->inputs[input] : NULL;
}

static const Type *
input_type(const OutNode *node, int input)
{
	const Value *value = input_value(node, input);
	return value && value->type.kind == TYPE_TENSOR ? &value->type : NULL;
}

/* The constant behind an input; NULL when it is computed or may be overridden. */
static const Array *
constant(const OutNode *node, int input)
{
	const Value *value = input_value(node, input);
	return value ? value_fixed(value) : NULL;
}

static void
cut_inputs(OutNode *node, int count)
{
	if (node->inputs.count > count)
		node->inputs.count = count;
}

/* A constant input becomes an attribute; where it is computed, that takes its opset. */
static void
input_to_attr(OutNode *node, const MovedAttr *moved)
{
	if (!is_given(node, moved->input))
		return;
	const Array *data = constant(node, moved->input);
	Attr attr = {.name = moved->name, .kind = moved->kind};
	if (!data || (attr.kind != ATTR_INTS && array_count(data) != 1)) {
		out_need(node, moved->below);
		return;
	}
	int64_t count = array_count(data), *values = NEW_N(node->out->arena, int64_t, count + 1);
	for (int64_t i = 0; i < count && attr.kind != ATTR_FLOAT; i++)
		values[i] = dtype_load_i64(data->type, data->data, i);
	if (attr.kind == ATTR_FLOAT) {
		attr.f = (float)dtype_load_f64(data->type, data->data, 0);
	} else if (attr.kind == ATTR_INT) {
		attr.i = values[0];
	} else {
		attr.count = count;
		attr.ints = values;
	}
	set(node, attr);
	node->inputs.data[moved->input] = "";
}

/* ---- rows ---- */

/* Before 18, parts without sizes are equal: the last may not be smaller. */
static void
split_equal(OutNode *node)
{
	const Type *type = input_type(node, 0);
	const Attr *axis = attrs_find(&node->attrs, "axis");
	int64_t at = axis ? axis->i : 0, extent;
	attrs_remove(&node->attrs, "num_outputs");
	if (is_given(node, 1))
		return;
	if (!type || type->rank < 0)
		out_need(node, 18);
	else if (!dim_is_const(type->dims[at < 0 ? at + type->rank : at], &extent) ||
	         extent % node->outputs.count != 0)
		out_need(node, 18);
}

static void
slice_steps(OutNode *node)
{
	if (is_given(node, 4)) {
		const Array *steps = constant(node, 4);
		for (int64_t i = 0; steps && i < array_count(steps); i++)
			if (dtype_load_i64(steps->type, steps->data, i) != 1)
				out_need(node, 10);
		if (!steps)
			out_need(node, 10);
	}
	cut_inputs(node, 4);
}

static void
pad_axes(OutNode *node)
{
	if (is_given(node, 3))
		out_need(node, 18);
}

static void
dropout_to_attr(OutNode *node)
{
	const Array *training = is_given(node, 2) ? constant(node, 2) : NULL;
	if (is_given(node, 2) && (!training || dtype_load_i64(training->type, training->data, 0)))
		out_need(node, 12);
	input_to_attr(node, &(MovedAttr){12, NULL, "ratio", ATTR_FLOAT, 1});
	cut_inputs(node, 1);
}

/* Before 10 the mask was of the input's type: a Cast to that is part of the Dropout. */
static void
dropout_mask(OutNode *node)
{
	const Value *mask = node->node->noutput > 1 ? node->node->outputs[1] : NULL;
	if (!mask)
		return;
	const Node *cast = mask->uses.count == 1 ? mask->uses.data[0].node : NULL;
	const Type *type = input_type(node, 0);
	bool is_cast = cast && strcmp(cast->op->name, "Cast") == 0 && cast->outputs[0];
	if (!is_cast || !type || attr_int(cast, "to") != (int64_t)type->dtype) {
		out_need(node, 10);
		return;
	}
	node->outputs.data[1] = cast->outputs[0]->name;
	map_set_ptr(&node->out->skipped, cast, node->out);
}

static void
dft_to_attr(OutNode *node)
{
	if (!is_given(node, 2))
		out_need(node, 20); /* the default changed */
	input_to_attr(node, &(MovedAttr){20, NULL, "axis", ATTR_INT, 2});
}

static void
batch_norm_training(OutNode *node)
{
	const Attr *training = attrs_find(&node->attrs, "training_mode");
	bool has_more = node->outputs.count > 1;
	if ((training && training->i != 0) != has_more)
		out_need(node, 14);
	attrs_remove(&node->attrs, "training_mode");
}

/* Softmax over one axis, said as over all axes from there on: the last axis only. */
static void
softmax_last(OutNode *node)
{
	const Type *type = input_type(node, 0);
	const Attr *attr = attrs_find(&node->attrs, "axis");
	int64_t axis = attr ? attr->i : -1;
	if (!type || type->rank < 0) {
		out_need(node, 13);
		return;
	}
	axis += axis < 0 ? type->rank : 0;
	for (int64_t i = axis + 1; i < type->rank; i++)
		if (!dim_is(type->dims[i], 1))
			out_need(node, 13);
	set_int(node, "axis", axis);
}

static void
grid_sample_modes(OutNode *node)
{
	const Attr *mode = attrs_find(&node->attrs, "mode");
	const char *old = mode && strcmp(mode->s, "cubic") == 0    ? "bicubic"
	                  : mode && strcmp(mode->s, "linear") == 0 ? "bilinear"
	                                                           : NULL;
	if (old)
		set(node, (Attr){.name = "mode", .kind = ATTR_STRING, .s = old});
}

static void
roi_align_pixels(OutNode *node)
{
	const Attr *mode = attrs_find(&node->attrs, "coordinate_transformation_mode");
	if (!mode || strcmp(mode->s, "output_half_pixel") != 0)
		out_need(node, 16);
	attrs_remove(&node->attrs, "coordinate_transformation_mode");
}

static void
scatter_none(OutNode *node)
{
	const Attr *reduction = attrs_find(&node->attrs, "reduction");
	if (reduction && strcmp(reduction->s, "none") != 0)
		out_need(node, 16);
	attrs_remove(&node->attrs, "reduction");
}

static void
scatter_min_max(OutNode *node)
{
	const Attr *reduction = attrs_find(&node->attrs, "reduction");
	if (reduction && (strcmp(reduction->s, "max") == 0 || strcmp(reduction->s, "min") == 0))
		out_need(node, 18);
}

static void
scatter_name(OutNode *node)
{
	node->op = "Scatter";
}

/* A constant made up for an input that older opsets do not let absent. */
static void
give_empty(OutNode *node, int input, const char *base)
{
	if (is_given(node, input))
		return;
	static const int64_t none;
	Export *out = node->out;
	const char *name = arena_printf(out->arena, "%s.%s", node->outputs.data[0], base);
	vec_push(out->arena, &out->arrays, array_from(out->arena, DT_F32, 1, &none, NULL));
	vec_push(out->arena, &out->array_names, name);
	while (node->inputs.count <= input)
		vec_push(out->arena, &node->inputs, "");
	node->inputs.data[input] = name;
}

static void
resize_inputs(OutNode *node)
{
	give_empty(node, 1, "roi");
	give_empty(node, 2, "scales");
}

static bool
attr_is(const OutNode *node, const char *name, const char *text)
{
	const Attr *attr = attrs_find(&node->attrs, name);
	return attr && strcmp(attr->s, text) == 0;
}

static void
resize_scales(OutNode *node)
{
	bool is_linear = attr_is(node, "mode", "linear");
	if (is_given(node, 3) || !attr_is(node, "coordinate_transformation_mode", "asymmetric") ||
	    (!is_linear && !attr_is(node, "nearest_mode", "floor")) || attr_is(node, "mode", "cubic"))
		out_need(node, 11);
	attrs_remove(&node->attrs, "coordinate_transformation_mode");
	attrs_remove(&node->attrs, "nearest_mode");
	if (node->inputs.count > 2)
		node->inputs.data[1] = node->inputs.data[2];
	cut_inputs(node, 2);
}

static void
resize_upsample(OutNode *node)
{
	node->op = "Upsample";
}

static void
upsample_attr(OutNode *node)
{
	const Array *scales = constant(node, 2);
	if (!scales || scales->type != DT_F32) {
		out_need(node, 9);
		return;
	}
	set(node, (Attr){.name = "scales",
	                 .kind = ATTR_FLOATS,
	                 .count = array_count(scales),
	                 .floats = scales->data});
	cut_inputs(node, 1);
}

/* The Unsqueeze that upgrade.c put in front of an input, from where old opsets placed it
 * themselves: it is said by the node again. NULL: there is none; `axes` get its constant axes. */
static const Node *
placing_unsqueeze(const OutNode *node, int input, const Array **axes)
{
	const Value *value = input_value(node, input);
	const Node *def = value ? value->def : NULL;
	if (!def || strcmp(def->op->name, "Unsqueeze") != 0 || value->uses.count != 1 ||
	    !def->inputs[0] || def->inputs[0]->type.rank < 0)
		return NULL;
	*axes = def->inputs[1] ? def->inputs[1]->constant : NULL;
	return *axes && (*axes)->type == DT_I64 ? def : NULL;
}

/* Whether axes are first, first + 1 … */
static bool
rise_from(const Array *axes, int64_t first)
{
	const int64_t *axis = axes->data;
	for (int64_t i = 0; i < array_count(axes); i++)
		if (axis[i] != first + i)
			return false;
	return true;
}

static void
take_over(OutNode *node, int input, const Node *unsqueeze)
{
	node->inputs.data[input] = unsqueeze->inputs[0]->name;
	map_set_ptr(&node->out->skipped, unsqueeze, node->out);
}

/* Before 7: equal shapes, or the second one a tail of the first and said so, or placed at an axis.
 */
static void
explicit_broadcast(OutNode *node)
{
	const Type *a = input_type(node, 0), *b = input_type(node, 1);
	const Array *axes;
	const Node *unsqueeze = placing_unsqueeze(node, 1, &axes);
	if (unsqueeze && a && a->rank >= b->rank && rise_from(axes, unsqueeze->inputs[0]->type.rank)) {
		take_over(node, 1, unsqueeze);
		set_int(node, "axis", a->rank - b->rank);
		set_int(node, "broadcast", 1);
		return;
	}
	if (!a || !b || a->rank < b->rank || b->rank < 0) {
		out_need(node, 7);
		return;
	}
	bool is_one = true;
	for (int i = 0; i < b->rank; i++)
		is_one = is_one && dim_is(b->dims[i], 1);
	for (int i = 0; i < b->rank && !is_one; i++)
		if (a->dims[a->rank - b->rank + i] != b->dims[i])
			out_need(node, 7);
	if (a->rank != b->rank || is_one)
		set_int(node, "broadcast", 1);
}

static void
slope_vector(OutNode *node)
{
	const Type *slope = input_type(node, 1), *x = input_type(node, 0);
	const Array *axes;
	const Node *unsqueeze = placing_unsqueeze(node, 1, &axes);
	if (unsqueeze && x && x->rank == slope->rank + 1 && rise_from(axes, 1)) {
		take_over(node, 1, unsqueeze);
		return;
	}
	bool is_one = slope && slope->rank >= 0;
	for (int i = 0; is_one && i < slope->rank; i++)
		is_one = dim_is(slope->dims[i], 1);
	if (!is_one && !(slope && slope->rank == 1 && x && x->rank == 2))
		out_need(node, 7);
}

static void
gemm_bias(OutNode *node)
{
	if (!is_given(node, 2))
		out_need(node, 11);
}

typedef struct DowngradeRow {
	int below;
	const char *ops;
	void (*downgrade)(OutNode *node); /* or NULL, and then */
	const char *flag;                 /* an attribute that is 1; NULL: they cannot */
} DowngradeRow;

/* below, operators of ai.onnx, how the opsets below say it. By falling version. */
static const DowngradeRow ROWS[] = {
	{21, "GroupNormalization", NULL, NULL},
	{20, "DFT", dft_to_attr, NULL},
	{20, "GridSample", grid_sample_modes, NULL},
	{18, "Split", split_equal, NULL},
	{18, "Pad", pad_axes, NULL},
	{18, "ScatterElements ScatterND", scatter_min_max, NULL},
	{16, "ScatterElements ScatterND", scatter_none, NULL},
	{16, "RoiAlign", roi_align_pixels, NULL},
	{14, "BatchNormalization", batch_norm_training, NULL},
	{13, "Softmax LogSoftmax Hardmax", softmax_last, NULL},
	{13, "Resize", resize_inputs, NULL},
	{12, "Dropout", dropout_to_attr, NULL},
	{11, "Resize", resize_scales, NULL},
	{11, "ScatterElements", scatter_name, NULL},
	{11, "Gemm", gemm_bias, NULL},
	{10, "Resize", resize_upsample, NULL},
	{10, "Dropout", dropout_mask, NULL},
	{10, "Slice", slice_steps, NULL},
	{9, "Upsample", upsample_attr, NULL},
	{7, "Add Sub Mul Div Pow And Or Xor Greater Less Equal", explicit_broadcast, NULL},
	{7, "PRelu", slope_vector, NULL},
	{7, "Gemm", NULL, "broadcast"},
	{7, "BatchNormalization Dropout", NULL, "is_test"},
};

static void
take_step(OutNode *node, const DowngradeRow *row)
{
	if (row->downgrade)
		row->downgrade(node);
	else if (row->flag)
		set_int(node, row->flag, 1);
	else
		out_need(node, row->below);
}

void
out_downgrade(OutNode *node)
{
	if (*node->domain)
		return;
	out_drop_later(node);
	for (size_t i = 0; i < countof(ROWS); i++)
		if (node->out->opset < ROWS[i].below && word_is_among(node->op, ROWS[i].ops))
			take_step(node, &ROWS[i]);
	for (int i = 0; i < moved_attr_count; i++)
		if (node->out->opset < moved_attrs[i].below && word_is_among(node->op, moved_attrs[i].ops))
			input_to_attr(node, &moved_attrs[i]);
	out_need_operator(node);
	while (node->inputs.count > 0 && !*node->inputs.data[node->inputs.count - 1])
		node->inputs.count--;
}
