/* Opset adapters both ways: what a node of an old opset becomes, and that it is written back so. */
#include "unit.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "onnx/walk.h"
#include "onnx_fixture.h"

/* The body in one line: "Op(in, in) {attr=…} -> out; …", known constants as their numbers. */
static const char *
summary(const Graph *graph)
{
	Buf buf = {.arena = arena};
	for (const Node *node = graph->body->first; node; node = node->next) {
		buf_printf(&buf, "%s%s(", node->prev ? "; " : "", node->op->name);
		for (int i = 0; i < node->ninput; i++) {
			const Value *value = node->inputs[i];
			const Array *data = value ? value->constant : NULL;
			buf_puts(&buf, i ? ", " : "");
			if (!value || !data || array_count(data) > 4) {
				buf_puts(&buf, value ? value->name : "_");
				continue;
			}
			buf_puts(&buf, data->rank ? "[" : "");
			for (int64_t k = 0; k < array_count(data); k++)
				buf_printf(&buf, "%s%g", k ? "," : "", dtype_load_f64(data->type, data->data, k));
			buf_puts(&buf, data->rank ? "]" : "");
		}
		buf_puts(&buf, ")");
		for (int i = 0; i < node->nattr; i++) {
			const Attr *attr = &node->attrs[i];
			buf_printf(&buf, " %s=", attr->name);
			if (attr->kind == ATTR_INT)
				buf_printf(&buf, "%d", (int)attr->i);
			if (attr->kind == ATTR_STRING)
				buf_puts(&buf, attr->s);
		}
		buf_printf(&buf, " -> %s", node->outputs[0]->name);
	}
	return buf_text(&buf);
}

/* One node "y = OP(inputs)" on x: f32[2,3,4,4] at an opset. */
typedef struct Case {
	const char *op, *inputs, *outputs;
	int opset;
	void (*attrs)(Wire *attrs);
	const char *expected; /* in the dialect */
} Case;

static ModelMaker
case_model(const Case *c)
{
	ModelMaker m = maker(arena);
	make_value(&m, INPUT, "x", DT_F32, 4, (int64_t[]){2, 3, 4, 4});
	make_value(&m, INPUT, "c", DT_F32, 1, (int64_t[]){3});
	make_value(&m, OUTPUT, "y", DT_NONE, -1, NULL);
	float six[6] = {1, 2, 3, 4, 5, 6}, scales[] = {1, 1, 2, 2};
	make_initializer(&m, "w", DT_F32, 1, (int64_t[]){3}, six, 12);
	make_initializer(&m, "g", DT_F32, 1, (int64_t[]){1}, six, 4);
	make_initializer(&m, "scales", DT_F32, 1, (int64_t[]){4}, scales, 16);
	make_i64s(&m, "empty", 0, NULL);
	Wire attrs = {.arena = arena};
	if (c->attrs)
		c->attrs(&attrs);
	make_node(&m, c->op, c->inputs, c->outputs ? c->outputs : "y", &attrs);
	return m;
}

static void
axes1(Wire *a)
{
	put_ints(a, "axes", 1, (int64_t[]){1});
}
static void
axes2(Wire *a)
{
	put_ints(a, "axes", 2, (int64_t[]){0, 1});
}
static void
axis1(Wire *a)
{
	put_int(a, "axis", 1);
}
static void
axis3(Wire *a)
{
	put_int(a, "axis", 3);
}
static void
bounds(Wire *a)
{
	put_float(a, "min", -1);
	put_float(a, "max", 1);
}
static void
split(Wire *a)
{
	put_int(a, "axis", 3);
	put_ints(a, "split", 2, (int64_t[]){1, 3});
}
static void
ratio(Wire *a)
{
	put_float(a, "ratio", 0.25f);
}
static void
is_test(Wire *a)
{
	put_float(a, "ratio", 0.25f);
	put_int(a, "is_test", 1);
}
static void
topk(Wire *a)
{
	put_int(a, "k", 2);
}
static void
placed(Wire *a)
{
	put_int(a, "broadcast", 1);
	put_int(a, "axis", 1);
}
static void
tail(Wire *a)
{
	put_int(a, "broadcast", 1);
}
static void
groups(Wire *a)
{
	put_int(a, "num_groups", 1);
}
static void
slices(Wire *a)
{
	put_ints(a, "starts", 1, (int64_t[]){1});
	put_ints(a, "ends", 1, (int64_t[]){3});
	put_ints(a, "axes", 1, (int64_t[]){2});
}
static void
pads(Wire *a)
{
	put_ints(a, "pads", 8, (int64_t[]){0, 0, 1, 1, 0, 0, 1, 1});
	put_float(a, "value", 2);
	put_string(a, "mode", "constant");
}
static void
upsample(Wire *a)
{
	Wire attr = {.arena = a->arena};
	wire_text(&attr, 1, "scales");
	for (int i = 0; i < 4; i++)
		wire_float(&attr, 7, i < 2 ? 1 : 2);
	wire_int(&attr, 20, 6);
	wire_message(a, 5, &attr);
	put_string(a, "mode", "nearest");
}
static void
nearest(Wire *a)
{
	put_string(a, "mode", "nearest");
}

static void
tf_nearest(Wire *a)
{
	put_string(a, "mode", "nearest");
	put_string(a, "coordinate_transformation_mode", "tf_half_pixel_for_nn");
	put_string(a, "nearest_mode", "floor");
}

static const Case CASES[] = {
	{"Squeeze", "g", NULL, 12, NULL, "Squeeze([1]) -> y"},
	{"Unsqueeze", "c", NULL, 11, axes2, "Unsqueeze(c, [0,1]) -> y"},
	{"ReduceSum", "x", NULL, 12, axes1, "ReduceSum(x, [1]) -> y"},
	{"ReduceMean", "x", NULL, 17, axes1, "ReduceMean(x, [1]) -> y"},
	{"ReduceMax", "x", NULL, 8, axes2, "ReduceMax(x, [0,1]) -> y"},
	{"ReduceMean", "x", NULL, 17, NULL, "ReduceMean(x) -> y"},
	{"Clip", "x", NULL, 6, bounds, "Clip(x, -1, 1) -> y"},
	{"Clip", "x", NULL, 10, NULL, "Clip(x) -> y"},
	{"Pad", "x", NULL, 10, pads, "Pad(x, y.pads, 2) mode=constant -> y"},
	{"Slice", "x", NULL, 9, slices, "Slice(x, [1], [3], [2]) -> y"},
	{"Split", "x", "y z", 11, split, "Split(x, [1,3]) axis=3 -> y"},
	{"Split", "x", "y z", 13, axis3, "Split(x) axis=3 num_outputs=2 -> y"},
	{"Dropout", "x", NULL, 10, ratio, "Dropout(x, 0.25) -> y"},
	{"Dropout", "x", NULL, 6, is_test, "Dropout(x, 0.25) -> y"},
	{"TopK", "x", "y z", 9, topk, "TopK(x, [2]) -> y"},
	{"Add", "x c", NULL, 6, placed, "Unsqueeze(c, [1,2]) -> y.Unsqueeze; Add(x, y.Unsqueeze) -> y"},
	{"Mul", "x g", NULL, 6, tail, "Mul(x, [1]) -> y"},
	{"PRelu", "x w", NULL, 6, NULL,
     "Unsqueeze([1,2,3], [1,2]) -> y.Unsqueeze; PRelu(x, y.Unsqueeze) -> y"},
	{"Softmax", "x", NULL, 12, axis3, "Softmax(x) axis=3 -> y"},
	{"Softmax", "x", NULL, 12, axis1,
     "Shape(x) -> y.Shape; Flatten(x) axis=1 -> y.Flatten; Softmax(y.Flatten) axis=1 -> y.Softmax; "
     "Reshape(y.Softmax, y.Shape) -> y"},
	{"LogSoftmax", "x", NULL, 13, axis1, "LogSoftmax(x) axis=1 -> y"},
	{"BatchNormalization", "x w w w w", NULL, 8, NULL,
     "BatchNormalization(x, [1,2,3], [1,2,3], [1,2,3], [1,2,3]) -> y"},
	{"Upsample", "x", NULL, 8, upsample,
     "Resize(x, _, [1,1,2,2]) mode=nearest coordinate_transformation_mode=asymmetric "
     "nearest_mode=floor -> y"},
	{"Upsample", "x scales", NULL, 9, nearest,
     "Resize(x, _, [1,1,2,2]) mode=nearest coordinate_transformation_mode=asymmetric "
     "nearest_mode=floor -> y"},
	{"Resize", "x scales", NULL, 10, nearest,
     "Resize(x, _, [1,1,2,2]) mode=nearest coordinate_transformation_mode=asymmetric "
     "nearest_mode=floor -> y"},
	{"Resize", "x empty scales", NULL, 13, nearest, "Resize(x, _, [1,1,2,2]) mode=nearest -> y"},
	{"Resize", "x empty scales", NULL, 11, tf_nearest,
     "Resize(x, _, [1,1,2,2]) mode=nearest coordinate_transformation_mode=half_pixel "
     "nearest_mode=round_prefer_ceil -> y"},
};

START_TEST(nodes_become_those_of_the_dialect)
{
	ModelMaker m = case_model(&CASES[_i]);
	Failure failure;
	Graph *graph = try_bytes(arena, make_model(&m, 8, CASES[_i].opset), &failure);
	ck_assert_msg(graph != NULL, "%s", failure.text);
	ck_assert_str_eq(summary(graph), CASES[_i].expected);
}
END_TEST

static const Onnx__NodeProto *
find_node(const Onnx__ModelProto *model, const char *op)
{
	for (size_t i = 0; i < model->graph->n_node; i++)
		if (strcmp(model->graph->node[i]->op_type, op) == 0)
			return model->graph->node[i];
	return NULL;
}

/* Written again, the model has the same opset and node, attributes by name and inputs by number. */
START_TEST(and_are_written_back)
{
	const Case *c = &CASES[_i];
	ModelMaker m = case_model(c);
	Bytes bytes = make_model(&m, 8, c->opset);
	const char *path = arena_printf(arena, "%s/m.onnx", folder);
	Graph *graph = onnx_read_bytes(arena, "test.onnx", bytes, NULL);
	onnx_write(graph, path, NULL);
	Onnx__ModelProto *old = onnx_unpack(arena, "old", &onnx__model_proto__descriptor, bytes);
	Onnx__ModelProto *new =
		onnx_unpack(arena, "new", &onnx__model_proto__descriptor, file_map(arena, path));
	ck_assert_int_eq(new->opset_import[0]->version, c->opset);
	const Onnx__NodeProto *a = find_node(old, c->op), *b = find_node(new, c->op);
	ck_assert_ptr_nonnull(b);
	ck_assert_uint_eq(a->n_input, b->n_input);
	for (size_t i = 0; i < a->n_attribute; i++) {
		const char *name = a->attribute[i]->name;
		if (strcmp(c->op, "Softmax") == 0 && new->graph->n_node > 1)
			continue; /* flattened around: its axis is in the Flatten */
		bool is_there = false;
		for (size_t k = 0; k < b->n_attribute; k++)
			is_there |= strcmp(b->attribute[k]->name, name) == 0;
		ck_assert_msg(is_there, "%s has lost its %s", c->op, name);
	}
	Graph *again = onnx_read(arena, path, NULL);
	ck_assert_str_eq(summary(again), summary(graph));
}
END_TEST

START_TEST(scale_of_a_group_becomes_that_of_its_channels)
{
	Case c = {"GroupNormalization", "x g g", NULL, 18, groups, NULL};
	ModelMaker m = case_model(&c);
	Graph *graph = onnx_read_bytes(arena, "test.onnx", make_model(&m, 8, 18), NULL);
	const Node *norm = graph->body->last;
	ck_assert_str_eq(norm->op->name, "GroupNormalization");
	for (int i = 1; i <= 2; i++) {
		ck_assert_int_eq(norm->inputs[i]->type.rank, 1);
		ck_assert(dim_is(norm->inputs[i]->type.dims[0], 3));
	}
}
END_TEST

START_TEST(what_an_opset_cannot_say_raises_it)
{
	Case c = {"Relu", "x", NULL, 17, NULL, NULL};
	ModelMaker m = case_model(&c);
	Graph *graph = onnx_read_bytes(arena, "test.onnx", make_model(&m, 8, 17), NULL);
	Node *relu = graph->body->first;
	const char *name = "";
	Node *gelu = node_new(graph->body, NULL, "Gelu", NULL, 1, &relu->outputs[0], 1, &name);
	gelu->outputs[0]->type = relu->outputs[0]->type;
	graph_set_outputs(graph, 1, gelu->outputs);
	const char *path = arena_printf(arena, "%s/m.onnx", folder);
	onnx_write(graph, path, NULL);
	Onnx__ModelProto *model =
		onnx_unpack(arena, "new", &onnx__model_proto__descriptor, file_map(arena, path));
	ck_assert_int_eq(model->opset_import[0]->version, 20);
}
END_TEST

int
main(void)
{
	TCase *t = tcase_create("onnx_upgrade");
	tcase_add_checked_fixture(t, begin, end);
	tcase_add_loop_test(t, nodes_become_those_of_the_dialect, 0, (int)countof(CASES));
	tcase_add_loop_test(t, and_are_written_back, 0, (int)countof(CASES));
	tcase_add_test(t, scale_of_a_group_becomes_that_of_its_channels);
	tcase_add_test(t, what_an_opset_cannot_say_raises_it);
	return unit_run(t);
}
