/* Writing models: stable bytes, names, external data, fused nodes opened, nothing half-written. */
#include "unit.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "graph/infer.h"
#include "onnx/tensor_file.h"
#include "onnx/walk.h"
#include "onnx_make.h"

static Arena *arena;
static char folder[] = "/tmp/onnx_export.XXXXXX";

static void
begin(void)
{
	arena = arena_new("test");
	strcpy(folder, "/tmp/onnx_export.XXXXXX");
	ck_assert_ptr_nonnull(mkdtemp(folder));
}

static void
end(void)
{
	ck_assert_int_eq(system(arena_printf(arena, "rm -r '%s'", folder)), 0);
	arena_free(arena);
}

static const char *
in_folder(const char *name)
{
	return arena_printf(arena, "%s/%s", folder, name);
}

static Onnx__ModelProto *
read_proto(const char *path)
{
	return onnx_unpack(arena, path, &onnx__model_proto__descriptor, file_map(arena, path));
}

/* x: f32[batch size, 4] -> Gemm w b -> Relu -> y, weights of 4 KiB and more. */
static Bytes
dense_model(int64_t ir_version)
{
	ModelMaker m = maker(arena);
	Wire attrs = {.arena = arena}, name = {.arena = arena}, dim = {.arena = arena};
	Wire shape = {.arena = arena}, tensor = {.arena = arena}, type = {.arena = arena};
	float *w = array_new(arena, DT_F32, 2, (int64_t[]){4, 600})->data;
	for (int i = 0; i < 2400; i++)
		w[i] = (float)i;
	wire_text(&dim, 2, "batch size");
	wire_message(&shape, 1, &dim);
	dim = (Wire){.arena = arena};
	wire_int(&dim, 1, 4);
	wire_message(&shape, 1, &dim);
	wire_int(&tensor, 1, DT_F32);
	wire_message(&tensor, 2, &shape);
	wire_message(&type, 1, &tensor);
	Wire info = {.arena = arena};
	wire_text(&info, 1, "x.1");
	wire_message(&info, 2, &type);
	wire_message(&m.graph, INPUT, &info);
	make_value(&m, OUTPUT, "y", DT_F32, 2, (int64_t[]){-1, 600});
	make_initializer(&m, "w", DT_F32, 2, (int64_t[]){4, 600}, w, 9600);
	make_initializer(&m, "b", DT_F32, 1, (int64_t[]){600}, w, 2400);
	wire_text(&attrs, 3, "/fc/Gemm");
	make_node(&m, "Gemm", "x.1 w b", "/fc/Gemm_output_0", &attrs);
	wire_text(&name, 3, "/relu");
	make_node(&m, "Relu", "/fc/Gemm_output_0", "y", &name);
	return make_model(&m, ir_version, 13);
}

START_TEST(the_second_export_has_the_same_bytes)
{
	const char *first = in_folder("1.onnx"), *second = in_folder("2.onnx");
	onnx_write(onnx_read_bytes(arena, "test.onnx", dense_model(7), NULL), first, NULL);
	onnx_write(onnx_read(arena, first, NULL), second, NULL);
	Bytes a = file_map(arena, first), b = file_map(arena, second);
	ck_assert_uint_eq(a.size, b.size);
	ck_assert_mem_eq(a.data, b.data, a.size);
}
END_TEST

START_TEST(names_dims_and_versions_are_kept)
{
	const char *path = in_folder("m.onnx");
	onnx_write(onnx_read_bytes(arena, "test.onnx", dense_model(7), NULL), path, NULL);
	Onnx__ModelProto *model = read_proto(path);
	ck_assert_int_eq(model->ir_version, 7);
	ck_assert_int_eq(model->opset_import[0]->version, 13);
	ck_assert_uint_eq(model->n_metadata_props, 0);
	ck_assert_uint_eq(model->graph->n_input, 1);
	ck_assert_str_eq(model->graph->input[0]->name, "x.1");
	Onnx__TensorShapeProto *shape = model->graph->input[0]->type->tensor_type->shape;
	ck_assert_str_eq(shape->dim[0]->dim_param, "batch size");
	shape = model->graph->output[0]->type->tensor_type->shape;
	ck_assert_str_eq(shape->dim[0]->dim_param, "batch size");
	ck_assert_int_eq(shape->dim[1]->dim_value, 600);
	ck_assert_str_eq(model->graph->node[0]->name, "/fc/Gemm");
	ck_assert_str_eq(model->graph->node[1]->output[0], "y");
}
END_TEST

START_TEST(large_weights_go_beside_the_model)
{
	const char *path = in_folder("m.onnx");
	Graph *graph = onnx_read_bytes(arena, "test.onnx", dense_model(7), NULL);
	onnx_write(graph, path, &(OnnxWriteOptions){.external_above = 1000});
	Onnx__ModelProto *model = read_proto(path);
	const Onnx__TensorProto *w = model->graph->initializer[0];
	ck_assert_int_eq(w->data_location, 1);
	ck_assert_str_eq(w->external_data[0]->value, "m.onnx.data");
	struct stat status;
	ck_assert_int_eq(stat(in_folder("m.onnx.data"), &status), 0);
	ck_assert_int_eq(status.st_size, 3 * 4096 + 2400); /* b on a page of its own */
	Graph *again = onnx_read(arena, path, NULL);
	const Array *a = graph_find_value(graph, "w")->constant;
	ck_assert(array_same_bytes(a, graph_find_value(again, "w")->constant));
	a = graph_find_value(graph, "b")->constant;
	ck_assert(array_same_bytes(a, graph_find_value(again, "b")->constant));
}
END_TEST

START_TEST(fused_nodes_are_opened)
{
	Graph *graph = onnx_read_bytes(arena, "test.onnx", dense_model(10), NULL);
	Node *gemm = graph->body->first, *relu = gemm->next;
	Loc loc = {.node = "/fc/Gemm+/relu"};
	const char *none = "";
	Node *fused = node_new(graph->body, gemm, "fused", &loc, 3, gemm->inputs, 1, &none);
	Region *region = region_new(fused, "body");
	value_replace_uses(relu->outputs[0], fused->outputs[0]);
	node_move(gemm, region, NULL);
	node_move(relu, region, NULL);
	region_set_results(region, 1, relu->outputs);
	region_update_captures(graph->body);
	const char *path = in_folder("m.onnx");
	onnx_write(graph, path, NULL);
	Onnx__ModelProto *model = read_proto(path);
	ck_assert_uint_eq(model->graph->n_node, 2);
	ck_assert_str_eq(model->graph->node[0]->op_type, "Gemm");
	ck_assert_str_eq(model->graph->node[1]->output[0], "y");
	ck_assert_str_eq(model->graph->output[0]->name, "y");
}
END_TEST

START_TEST(origins_are_kept_in_both_ways)
{
	for (int ir = 8; ir <= 10; ir += 2) {
		const char *path = in_folder("m.onnx");
		Graph *graph = onnx_read_bytes(arena, "test.onnx", dense_model(ir), NULL);
		Node *gemm = graph->body->first;
		node_add_origins(gemm, graph->body->last);
		onnx_write(graph, path, NULL);
		Onnx__NodeProto *node = read_proto(path)->graph->node[0];
		ck_assert_uint_eq(node->n_metadata_props, ir >= 10);
		ck_assert_int_eq(node->doc_string != NULL, ir < 10);
		Node *again = onnx_read(arena, path, NULL)->body->first;
		ck_assert_int_eq(again->origins.count, 2);
		ck_assert_str_eq(again->origins.data[0], "/fc/Gemm");
		ck_assert_str_eq(again->origins.data[1], "/relu");
	}
}
END_TEST

/* Documentation "NAME's", and a pair NAME: said, as these two fields. */
static void
put_notes(Wire *wire, const char *name, int doc, int pairs)
{
	Wire pair = {.arena = arena};
	wire_text(&pair, 1, name);
	wire_text(&pair, 2, "said");
	wire_text(wire, doc, arena_printf(arena, "%s's", name));
	wire_message(wire, pairs, &pair);
}

/* inner = Add(x, w), y = Relu(inner): whatever may have notes has some. */
static Bytes
noted_model(int64_t ir_version)
{
	ModelMaker m = maker(arena);
	static const struct {
		const char *name;
		int field;
	} values[] = {{"x", INPUT}, {"inner", 13}, {"y", OUTPUT}};
	for (size_t i = 0; i < countof(values); i++) {
		Wire info = {.arena = arena}, type = make_type(arena, DT_F32, 1, (int64_t[]){2});
		wire_text(&info, 1, values[i].name);
		wire_message(&info, 2, &type);
		put_notes(&info, values[i].name, 3, 4);
		wire_message(&m.graph, values[i].field, &info);
	}
	Wire tensor = make_tensor(arena, "w", DT_F32, 1, (int64_t[]){2}, (float[]){1, 2}, 8);
	put_notes(&tensor, "w", 12, 16);
	wire_message(&m.graph, 5, &tensor);
	Wire add = {.arena = arena}, relu = {.arena = arena};
	put_notes(&add, "add", 6, 9);
	put_notes(&relu, "relu", 6, 9);
	make_node(&m, "Add", "x w", "inner", &add);
	make_node(&m, "Relu", "inner", "y", &relu);
	put_notes(&m.graph, "graph", 10, 16);
	wire_text(&m.functions, 2, "somebody"); /* fields of the model */
	wire_text(&m.functions, 3, "1.2");
	wire_text(&m.functions, 4, "org.example");
	wire_int(&m.functions, 5, 7);
	put_notes(&m.functions, "model", 6, 14);
	return make_model(&m, ir_version, 17);
}

static void
check_notes(const char *name, const char *doc, size_t count,
            Onnx__StringStringEntryProto *const *pairs)
{
	ck_assert_str_eq(doc, arena_printf(arena, "%s's", name));
	ck_assert_uint_eq(count, 1);
	ck_assert_str_eq(pairs[0]->key, name);
	ck_assert_str_eq(pairs[0]->value, "said");
}

#define CHECK_NOTES(name, message) \
	check_notes(name, (message)->doc_string, (message)->n_metadata_props, (message)->metadata_props)

START_TEST(notes_are_kept)
{
	const char *path = in_folder("m.onnx");
	Graph *graph = onnx_read_bytes(arena, "test.onnx", noted_model(10), NULL);
	onnx_write(graph_clone(arena, graph), path, NULL);
	const Onnx__ModelProto *model = read_proto(path);
	const Onnx__GraphProto *written = model->graph;
	ck_assert_str_eq(model->producer_name, "somebody");
	ck_assert_str_eq(model->producer_version, "1.2");
	ck_assert_str_eq(model->domain, "org.example");
	ck_assert_int_eq(model->model_version, 7);
	CHECK_NOTES("model", model);
	CHECK_NOTES("graph", written);
	CHECK_NOTES("x", written->input[0]);
	CHECK_NOTES("y", written->output[0]);
	CHECK_NOTES("w", written->initializer[0]);
	CHECK_NOTES("add", written->node[0]);
	CHECK_NOTES("relu", written->node[1]);
	ck_assert_uint_eq(written->n_value_info, 1);
	ck_assert_str_eq(written->value_info[0]->name, "inner");
	CHECK_NOTES("inner", written->value_info[0]);
}
END_TEST

/* A node's documentation and the origins behind it, where there is no metadata. */
START_TEST(notes_and_origins_share_a_text)
{
	const char *path = in_folder("m.onnx");
	Graph *graph = onnx_read_bytes(arena, "test.onnx", noted_model(9), NULL);
	node_add_origins(graph->body->last, graph->body->first);
	onnx_write(graph, path, NULL);
	ck_assert_str_eq(read_proto(path)->graph->node[1]->doc_string,
	                 "relu's\ntilewright.origins\ny\ninner");
	const Node *again = onnx_read(arena, path, NULL)->body->last;
	ck_assert_str_eq(again->notes->doc, "relu's");
	ck_assert_int_eq(again->origins.count, 2);
}
END_TEST

/* What takes the place of another takes its name, and what the model says of it; else it is called
 * by its node. */
START_TEST(made_up_names_are_not_written)
{
	const char *path = in_folder("m.onnx");
	Graph *graph = onnx_read_bytes(arena, "test.onnx", noted_model(10), NULL);
	Node *add = graph->body->first;
	Loc loc = {.node = "twice"};
	Node *neg = node_new(graph->body, add, "Neg", &loc, 1, add->inputs, 1, &(const char *){""});
	Node *other = node_new(graph->body, add, "Neg", &loc, 1, neg->outputs, 1, &(const char *){""});
	value_replace_uses(add->outputs[0], other->outputs[0]);
	node_remove(add);
	graph_infer(graph);
	onnx_write(graph, path, NULL);
	const Onnx__GraphProto *written = read_proto(path)->graph;
	ck_assert_str_eq(written->node[0]->output[0], "twice.out");
	ck_assert_str_eq(written->node[1]->output[0], "inner");
	CHECK_NOTES("inner", written->value_info[0]);
}
END_TEST

/* y = If(c) {z} else {constant}: results of branches must be made by nodes of theirs. */
START_TEST(results_of_branches_are_made_there)
{
	ModelMaker m = maker(arena);
	float one = 1;
	make_value(&m, INPUT, "c", DT_BOOL, 0, NULL);
	make_value(&m, INPUT, "z", DT_F32, 0, NULL);
	make_value(&m, OUTPUT, "y", DT_F32, 0, NULL);
	make_initializer(&m, "one", DT_F32, 0, NULL, &one, 4);
	Wire then = {.arena = arena}, other = {.arena = arena}, attrs = {.arena = arena};
	make_value_in(&then, arena, OUTPUT, "z", DT_F32, 0, NULL);
	make_value_in(&other, arena, OUTPUT, "one", DT_F32, 0, NULL);
	put_graph(&attrs, "then_branch", &then);
	put_graph(&attrs, "else_branch", &other);
	make_node(&m, "If", "c", "y", &attrs);
	const char *path = in_folder("m.onnx"), *second = in_folder("2.onnx");
	onnx_write(onnx_read_bytes(arena, "test.onnx", make_model(&m, 8, 17), NULL), path, NULL);
	Onnx__NodeProto *node = read_proto(path)->graph->node[0];
	for (size_t i = 0; i < 2; i++) {
		Onnx__GraphProto *branch = node->attribute[i]->g;
		ck_assert_uint_eq(branch->n_node, 1);
		ck_assert_str_eq(branch->node[0]->op_type, "Identity");
		ck_assert_str_eq(branch->node[0]->output[0], branch->output[0]->name);
	}
	onnx_write(onnx_read(arena, path, NULL), second, NULL);
	Bytes a = file_map(arena, path), b = file_map(arena, second);
	ck_assert_uint_eq(a.size, b.size);
	ck_assert_mem_eq(a.data, b.data, a.size);
}
END_TEST

/* A constant, an input and a value that stand among the outputs, a constant of them twice. */
START_TEST(outputs_keep_their_names)
{
	static const char *const names[] = {"named", "x", "y", "named"};
	Graph *graph = graph_parse(arena, "t",
	                           "graph g(%x: f32[2], %unused: i64[1]) -> %named, %x, %y, %named {\n"
	                           "  %named: f32[2] = {1, 2}\n"
	                           "  %y = Relu(%x)  \"r\"\n}");
	graph_infer(graph);
	const char *path = in_folder("m.onnx");
	onnx_write(graph, path, NULL);
	Onnx__GraphProto *written = read_proto(path)->graph;
	ck_assert_uint_eq(written->n_input, 2);
	ck_assert_str_eq(written->input[1]->name, "unused");
	ck_assert_uint_eq(written->n_output, countof(names));
	for (size_t i = 0; i < countof(names); i++)
		ck_assert_str_eq(written->output[i]->name, names[i]);
}
END_TEST

typedef struct WriteJob {
	const Graph *graph;
	const char *path;
} WriteJob;

static void
write_job(void *arg)
{
	WriteJob *job = arg;
	onnx_write(job->graph, job->path, NULL);
}

START_TEST(what_cannot_be_written_leaves_nothing)
{
	Graph *graph = onnx_read_bytes(arena, "test.onnx", dense_model(8), NULL);
	WriteJob job = {graph, in_folder("none/m.onnx")};
	Failure failure;
	ck_assert(!try_run(write_job, &job, &failure));
	ck_assert_int_eq(failure.kind, FAIL_ENVIRONMENT);
	if (access("/dev/full", W_OK) == 0) {
		job.path = "/dev/full";
		ck_assert(!try_run(write_job, &job, &failure));
		ck_assert_int_eq(failure.kind, FAIL_ENVIRONMENT);
	}
}
END_TEST

START_TEST(values_in_files)
{
	const char *path = in_folder("input_0.pb");
	int64_t two = 2;
	Data items[2];
	for (int i = 0; i < 2; i++)
		items[i] = (Data){
			.kind = TYPE_TENSOR,
			.tensor = array_vector_i64(arena, 2, (int64_t[]){i, i + 1}),
			.name = "t",
		};
	data_write(arena, path, "x", &items[1]);
	Data tensor = data_read(arena, path, TYPE_TENSOR);
	ck_assert_str_eq(tensor.name, "x");
	ck_assert(array_same_bytes(tensor.tensor, items[1].tensor));
	Data sequence = {.kind = TYPE_SEQUENCE, .count = 2, .items = items};
	data_write(arena, path, "s", &sequence);
	Data again = data_read(arena, path, TYPE_SEQUENCE);
	ck_assert_int_eq(again.count, 2);
	ck_assert(array_same_bytes(again.items[0].tensor, items[0].tensor));
	Data full = {.kind = TYPE_OPTIONAL, .count = 1, .items = &sequence},
		 none = {.kind = TYPE_OPTIONAL};
	data_write(arena, path, NULL, &full);
	again = data_read(arena, path, TYPE_OPTIONAL);
	ck_assert_int_eq(again.count, 1);
	ck_assert_int_eq(again.items[0].kind, TYPE_SEQUENCE);
	ck_assert(array_same_bytes(again.items[0].items[1].tensor, items[1].tensor));
	data_write(arena, path, NULL, &none);
	ck_assert_int_eq(data_read(arena, path, TYPE_OPTIONAL).count, 0);
	Array strings = {DT_STRING, 1, &two, (void *)(uintptr_t)(const char *[]){"a", "bc"}};
	Data text = {.kind = TYPE_TENSOR, .tensor = &strings};
	data_write(arena, path, "s", &text);
	again = data_read(arena, path, TYPE_TENSOR);
	ck_assert_str_eq(((const char *const *)again.tensor->data)[1], "bc");
}
END_TEST

int
main(void)
{
	TCase *t = tcase_create("onnx_export");
	tcase_add_checked_fixture(t, begin, end);
	tcase_add_test(t, the_second_export_has_the_same_bytes);
	tcase_add_test(t, names_dims_and_versions_are_kept);
	tcase_add_test(t, large_weights_go_beside_the_model);
	tcase_add_test(t, fused_nodes_are_opened);
	tcase_add_test(t, origins_are_kept_in_both_ways);
	tcase_add_test(t, notes_are_kept);
	tcase_add_test(t, notes_and_origins_share_a_text);
	tcase_add_test(t, made_up_names_are_not_written);
	tcase_add_test(t, results_of_branches_are_made_there);
	tcase_add_test(t, outputs_keep_their_names);
	tcase_add_test(t, what_cannot_be_written_leaves_nothing);
	tcase_add_test(t, values_in_files);
	return unit_run(t);
}
