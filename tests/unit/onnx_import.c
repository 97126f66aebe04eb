/* Reading models: data of every form, names, functions, external files, and every sentence
 * for a model that is wrong. */
#include "unit.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "graph/meaning.h"
#include "onnx_make.h"

static Arena *arena;

static void
begin(void)
{
	arena = arena_new("test");
}

static void
end(void)
{
	arena_free(arena);
}

/* The graph of a model that must be read. */
static Graph *
must_read(Bytes bytes)
{
	Failure failure;
	Graph *graph = try_bytes(arena, bytes, &failure);
	ck_assert_msg(graph != NULL, "%s", failure.text);
	return graph;
}

/* A model that must be refused so. */
static void
must_fail(Bytes bytes, FailKind kind, const char *text)
{
	Failure failure;
	Graph *graph = try_bytes(arena, bytes, &failure);
	ck_assert_msg(graph == NULL, "read, where '%s' was expected", text);
	ck_assert_msg(strstr(failure.text, text) != NULL, "'%s' is not in '%s'", text, failure.text);
	ck_assert_int_eq(failure.kind, kind);
	ck_assert_msg(strncmp(failure.text, "test.onnx: ", 11) == 0, "no place: %s", failure.text);
}

static const Array *
read_tensor(const Wire *tensor)
{
	ModelMaker m = make_small(arena);
	make_node(&m, "Relu", "x", "y", NULL);
	wire_message(&m.graph, 5, tensor);
	Graph *graph = must_read(make_model(&m, 8, 17));
	return graph_find_value(graph, "w")->constant;
}

static void
tensor_fails(const Wire *tensor, const char *text)
{
	ModelMaker m = make_small(arena);
	make_node(&m, "Relu", "x", "y", NULL);
	wire_message(&m.graph, 5, tensor);
	must_fail(make_model(&m, 8, 17), FAIL_INVALID, text);
}

START_TEST(typed_fields_and_raw_data_agree)
{
	/* field of TensorProto, entries of 3 elements as varints, and the elements */
	static const struct {
		DType type;
		int field, entries;
		double first;
	} cases[] = {
		{DT_I32, 5, 3, 1},
		{DT_I8, 5, 3, 1},
		{DT_U8, 5, 3, 1},
		{DT_I16, 5, 3, 1},
		{DT_U16, 5, 3, 1},
		{DT_BOOL, 5, 3, 1},
		{DT_I64, 7, 3, 1},
		{DT_U64, 11, 3, 1},
		{DT_U32, 11, 3, 1},
		{DT_F16, 5, 3, 0x1p-24},
		{DT_BF16, 5, 3, 0x1p-133},
		{DT_F8E4M3FN, 5, 3, 0x1p-9},
		{DT_F8E5M2, 5, 3, 0x1p-16},
		{DT_F8E4M3FNUZ, 5, 3, 0x1p-10},
		{DT_F8E5M2FNUZ, 5, 3, 0x1p-17},
		{DT_U4, 5, 2, 1},
		{DT_I4, 5, 2, 1},
		{DT_U2, 5, 1, 1},
		{DT_I2, 5, 1, 1},
	};
	for (size_t i = 0; i < countof(cases); i++) {
		int64_t count = 3, ones[] = {1, 1, 1};
		Wire typed = make_tensor(arena, "w", cases[i].type, 1, &count, NULL, 0);
		wire_ints(&typed, cases[i].field, cases[i].entries, ones);
		const Array *a = read_tensor(&typed);
		ck_assert_int_eq(a->type, cases[i].type);
		double value = dtype_load_f64(a->type, a->data, 0);
		ck_assert_msg(value == cases[i].first, "%s: %g", dtype_name(a->type), value);
		Wire raw = make_tensor(arena, "w", cases[i].type, 1, &count, a->data, array_bytes(a));
		const Array *b = read_tensor(&raw);
		ck_assert(array_same_bytes(a, b));
		ck_assert_uint_eq((uintptr_t)b->data % ((dtype_bits(b->type) + 7) / 8), 0);
	}
}
END_TEST

START_TEST(floats_strings_and_bools)
{
	int64_t two = 2;
	Wire floats = make_tensor(arena, "w", DT_F32, 1, &two, NULL, 0);
	wire_floats(&floats, 4, 2, (float[]){1.5f, -2});
	const Array *a = read_tensor(&floats);
	ck_assert(((float *)a->data)[1] == -2);
	Wire strings = make_tensor(arena, "w", DT_STRING, 1, &two, NULL, 0);
	wire_bytes(&strings, 6, "one", 3);
	wire_bytes(&strings, 6, "", 0);
	a = read_tensor(&strings);
	ck_assert_str_eq(((const char *const *)a->data)[0], "one");
	ck_assert_str_eq(((const char *const *)a->data)[1], "");
	Wire bools = make_tensor(arena, "w", DT_BOOL, 1, &two, "\x00\x07", 2);
	a = read_tensor(&bools);
	ck_assert_int_eq(((unsigned char *)a->data)[1], 1);
}
END_TEST

START_TEST(wrong_tensors)
{
	int64_t three = 3, minus = -3, huge[] = {INT64_C(1) << 40, INT64_C(1) << 40};
	Wire raw = make_tensor(arena, "w", DT_F32, 1, &three, "12345678", 8);
	tensor_fails(&raw, "tensor \"w\": 8 bytes of data where 12 are expected for 3 elements of f32");
	Wire both = make_tensor(arena, "w", DT_F32, 1, &three, "123456781234", 12);
	wire_floats(&both, 4, 3, (float[]){1, 2, 3});
	tensor_fails(&both, "its elements are given in more than one field");
	Wire other = make_tensor(arena, "w", DT_I64, 1, &three, NULL, 0);
	wire_floats(&other, 4, 3, (float[]){1, 2, 3});
	tensor_fails(&other, "elements of type i64 are given in float_data");
	Wire few = make_tensor(arena, "w", DT_I64, 1, &three, NULL, 0);
	wire_ints(&few, 7, 2, (int64_t[]){1, 2});
	tensor_fails(&few, "2 entries of int64_data for 3 elements of i64");
	Wire none = make_tensor(arena, "w", DT_F32, 1, &three, NULL, 0);
	tensor_fails(&none, "0 entries of float_data for 3 elements");
	Wire negative = make_tensor(arena, "w", DT_F32, 1, &minus, NULL, 0);
	tensor_fails(&negative, "dim 0 is -3");
	Wire overflow = make_tensor(arena, "w", DT_F32, 2, huge, "1234", 4);
	tensor_fails(&overflow, "the product of its dims is too large");
	Wire type = make_tensor(arena, "w", (DType)99, 1, &three, NULL, 0);
	tensor_fails(&type, "element type 99");
	Wire nibbles = make_tensor(arena, "w", DT_U4, 1, &three, "123", 3);
	tensor_fails(&nibbles, "3 bytes of data where 2 are expected");
}
END_TEST

static Wire
make_sparse(int64_t count, const int64_t *indices, const float *values)
{
	Wire sparse = {.arena = arena};
	Wire value = make_tensor(arena, "w", DT_F32, 1, &count, values, (size_t)count * 4);
	Wire index = make_tensor(arena, "i", DT_I64, 1, &count, indices, (size_t)count * 8);
	wire_message(&sparse, 1, &value);
	wire_message(&sparse, 2, &index);
	wire_ints(&sparse, 3, 2, (int64_t[]){2, 3});
	return sparse;
}

START_TEST(sparse_initializers_are_written_out)
{
	ModelMaker m = make_small(arena);
	Wire sparse = make_sparse(2, (int64_t[]){1, 5}, (float[]){7, 8});
	wire_message(&m.graph, 15, &sparse);
	make_node(&m, "Add", "x w", "y", NULL);
	Graph *graph = must_read(make_model(&m, 8, 17));
	const float *data = graph_find_value(graph, "w")->constant->data;
	float expected[] = {0, 7, 0, 0, 0, 8};
	ck_assert_mem_eq(data, expected, sizeof expected);
	ModelMaker wrong = make_small(arena);
	sparse = make_sparse(2, (int64_t[]){1, 6}, (float[]){7, 8});
	wire_message(&wrong.graph, 15, &sparse);
	must_fail(make_model(&wrong, 8, 17), FAIL_INVALID, "index 6 outside its 6 elements");
	wrong = make_small(arena);
	sparse = make_sparse(2, (int64_t[]){5, 5}, (float[]){7, 8});
	wire_message(&wrong.graph, 15, &sparse);
	must_fail(make_model(&wrong, 8, 17), FAIL_INVALID, "do not rise");
}
END_TEST

START_TEST(initializers_that_are_inputs)
{
	for (int ir = 3; ir <= 4; ir++) {
		ModelMaker m = make_small(arena);
		float w[6] = {1, 2, 3};
		make_value(&m, INPUT, "w", DT_F32, 2, (int64_t[]){2, 3});
		make_initializer(&m, "w", DT_F32, 2, (int64_t[]){2, 3}, w, sizeof w);
		make_node(&m, "Add", "x w", "y", NULL);
		Graph *graph = must_read(make_model(&m, ir, 17));
		Value *value = graph_find_value(graph, "w");
		ck_assert_int_eq(value->is_default, ir == 4);
		ck_assert_int_eq(graph->body->nparam, ir == 4 ? 2 : 1);
		ck_assert(((float *)value->constant->data)[1] == 2);
	}
}
END_TEST

START_TEST(dims_are_numbers_names_or_unknown)
{
	ModelMaker m = maker(arena);
	make_value(&m, INPUT, "x", DT_F32, 3, (int64_t[]){-2, 3, -1});
	make_value(&m, INPUT, "z", DT_F32, 3, (int64_t[]){-2, 3, -1});
	make_value(&m, OUTPUT, "y", DT_F32, 3, (int64_t[]){-2, 3, -1});
	make_node(&m, "Relu", "x", "y", NULL);
	Graph *graph = must_read(make_model(&m, 8, 17));
	const Type *x = &graph->body->params[0]->type, *z = &graph->body->params[1]->type;
	ck_assert_ptr_eq(x->dims[0], dim_symbol(graph->ctx, "N"));
	ck_assert(dim_is(x->dims[1], 3));
	ck_assert_ptr_eq(x->dims[0], z->dims[0]);
	ck_assert_ptr_ne(x->dims[2], z->dims[2]);
	const Type *y = &graph->body->results[0]->type;
	ck_assert(type_equal(x, y));
}
END_TEST

START_TEST(dims_of_unknown_size_are_spelled_in_many_ways)
{
	static const int64_t ways[] = {UNNAMED, MINUS_ONE, -3, -4, -5, -6, -7};
	for (size_t i = 0; i < countof(ways); i++) {
		ModelMaker m = maker(arena);
		make_value(&m, INPUT, "x", DT_F32, 2, (int64_t[]){ways[i], ways[i]});
		make_value(&m, OUTPUT, "y", DT_F32, 2, (int64_t[]){ways[i], ways[i]});
		make_node(&m, "Relu", "x", "y", NULL);
		const Type *x = &must_read(make_model(&m, 8, 17))->body->params[0]->type;
		bool is_one = x->dims[0] == x->dims[1], is_named = ways[i] == -7;
		ck_assert_msg(is_one == is_named, "dims of %d are %s", (int)ways[i],
		              is_one ? "one" : "two");
	}
}
END_TEST

START_TEST(absent_inputs_and_outputs)
{
	ModelMaker m = make_small(arena);
	make_i64s(&m, "hi", 0, NULL);
	float six = 6;
	make_initializer(&m, "six", DT_F32, 0, NULL, &six, 4);
	make_node(&m, "Clip", "x _ six", "c", NULL);
	make_node(&m, "Dropout", "c", "y _", NULL);
	Graph *graph = must_read(make_model(&m, 8, 17));
	Node *clip = graph->body->first;
	ck_assert_int_eq(clip->ninput, 3);
	ck_assert_ptr_null(clip->inputs[1]);
	ck_assert_ptr_nonnull(clip->inputs[2]);
	ck_assert_int_eq(clip->next->noutput, 1);
}
END_TEST

START_TEST(constants_of_all_forms)
{
	ModelMaker m = make_small(arena);
	Wire attrs[3] = {{.arena = arena}, {.arena = arena}, {.arena = arena}};
	put_float(&attrs[0], "value_float", 2.5f);
	put_ints(&attrs[1], "value_ints", 2, (int64_t[]){4, 5});
	put_string(&attrs[2], "value_string", "s");
	make_node(&m, "Constant", "", "f", &attrs[0]);
	make_node(&m, "Constant", "", "i", &attrs[1]);
	make_node(&m, "Constant", "", "s", &attrs[2]);
	make_node(&m, "Add", "x f", "y", NULL);
	Graph *graph = must_read(make_model(&m, 8, 17));
	const Array *f = graph_find_value(graph, "f")->constant;
	ck_assert_int_eq(f->rank, 0);
	ck_assert(*(float *)f->data == 2.5f);
	ck_assert_int_eq(((int64_t *)graph_find_value(graph, "i")->constant->data)[1], 5);
	ck_assert_int_eq(graph_find_value(graph, "s")->constant->type, DT_STRING);
}
END_TEST

START_TEST(nodes_out_of_order_are_put_in_order)
{
	ModelMaker m = make_small(arena);
	make_node(&m, "Neg", "b", "y", NULL);
	make_node(&m, "Abs", "a", "b", NULL);
	make_node(&m, "Relu", "x", "a", NULL);
	Graph *graph = must_read(make_model(&m, 8, 17));
	ck_assert_str_eq(graph->body->first->op->name, "Relu");
	ck_assert_str_eq(graph->body->last->op->name, "Neg");
}
END_TEST

START_TEST(wrong_graphs)
{
	ModelMaker m = make_small(arena);
	make_node(&m, "Relu", "a", "b", NULL);
	make_node(&m, "Relu", "b", "a", NULL);
	make_node(&m, "Add", "x a", "y", NULL);
	must_fail(make_model(&m, 8, 17), FAIL_INVALID, "the node is part of a cycle");
	m = make_small(arena);
	make_node(&m, "Relu", "nobody", "y", NULL);
	must_fail(make_model(&m, 8, 17), FAIL_INVALID,
	          "node \"y\" (Relu): input 'nobody' is not defined");
	m = make_small(arena);
	make_node(&m, "Relu", "x", "y", NULL);
	make_node(&m, "Abs", "x", "y", NULL);
	must_fail(make_model(&m, 8, 17), FAIL_INVALID, "value 'y' is defined twice");
	m = make_small(arena);
	make_node(&m, "Relu", "x", "z", NULL);
	must_fail(make_model(&m, 8, 17), FAIL_INVALID, "output 'y' of graph '' is not computed");
	m = make_small(arena);
	make_node(&m, "Frobnicate", "x", "y", NULL);
	must_fail(make_model(&m, 8, 17), FAIL_UNSUPPORTED,
	          "node \"y\" (Frobnicate): operator Frobnicate is not supported in any");
	m = make_small(arena);
	make_node(&m, "fused", "x", "y", NULL); /* a row, which no model may name */
	must_fail(make_model(&m, 8, 17), FAIL_UNSUPPORTED, "operator fused is not supported in any");
	m = make_small(arena);
	Wire attrs = {.arena = arena};
	put_int(&attrs, "speed", 3);
	make_node(&m, "Relu", "x", "y", &attrs);
	must_fail(make_model(&m, 8, 17), FAIL_INVALID, "(Relu): unknown attribute 'speed'");
	m = make_small(arena);
	attrs = (Wire){.arena = arena};
	put_float(&attrs, "axis", 1);
	make_node(&m, "Softmax", "x", "y", &attrs);
	must_fail(make_model(&m, 8, 17), FAIL_INVALID, "attribute axis is of kind float, expected int");
	m = make_small(arena);
	make_node(&m, "Add", "x", "y", NULL);
	must_fail(make_model(&m, 8, 17), FAIL_INVALID, "input 1 (b) is missing");
	m = make_small(arena);
	make_node(&m, "Relu", "x x", "y", NULL);
	must_fail(make_model(&m, 8, 17), FAIL_INVALID, "2 inputs, at most 1 are expected");
	m = make_small(arena);
	make_node(&m, "Concat", "x x", "y", NULL);
	must_fail(make_model(&m, 8, 17), FAIL_INVALID, "attribute axis is missing");
	m = make_small(arena);
	make_node(&m, "Conv", "x x", "y", NULL);
	must_fail(make_model(&m, 8, 17), FAIL_INVALID, "node \"y\" (Conv): ");
	m = make_small(arena);
	make_node(&m, "MatMul", "x x", "y", NULL);
	must_fail(make_model(&m, 8, 17), FAIL_INVALID, "node \"y\" (MatMul): ");
	must_fail(make_model(&(ModelMaker){arena, {.arena = arena}, {.arena = arena}}, 8, 17),
	          FAIL_INVALID, "the graph has no outputs");
	m = make_small(arena);
	make_node(&m, "Relu", "x", "y", NULL);
	must_fail(make_model(&m, 8, 29), FAIL_UNSUPPORTED, "opset 29; supported are 1 to 28");
}
END_TEST

START_TEST(files_that_are_no_models)
{
	must_fail((Bytes){(const unsigned char *)"", 0}, FAIL_INVALID, "the file holds no graph");
	must_fail((Bytes){(const unsigned char *)"\x08\x08", 2}, FAIL_INVALID, "holds no graph");
	must_fail((Bytes){(const unsigned char *)"hello, world", 12}, FAIL_INVALID, "byte ");
}
END_TEST

/* function f(X) {alpha, beta = 0.5} => (Y): Y = Elu(LeakyRelu(X)), in domain "local". */
static void
add_function(ModelMaker *m, const char *inner)
{
	Wire function = {.arena = arena}, attr = {.arena = arena};
	wire_text(&function, 1, "f");
	make_names(&function, arena, 4, "X");
	make_names(&function, arena, 5, "Y");
	make_names(&function, arena, 6, "alpha");
	wire_text(&attr, 1, "beta");
	wire_float(&attr, 2, 0.5f);
	wire_int(&attr, 20, 1);
	wire_message(&function, 11, &attr);
	Wire first = {.arena = arena}, second = {.arena = arena};
	Wire refs[2] = {{.arena = arena}, {.arena = arena}};
	const char *names[] = {"alpha", "beta"};
	for (int i = 0; i < 2; i++) {
		wire_text(&refs[i], 1, "alpha");
		wire_text(&refs[i], 21, names[i]);
		wire_int(&refs[i], 20, 1);
	}
	wire_message(&first, 5, &refs[0]);
	wire_message(&second, 5, &refs[1]);
	Wire a = make_node_wire(arena, inner, "X", "t", &first);
	Wire b = make_node_wire(arena, "Elu", "t", "Y", &second);
	if (strcmp(inner, "f") == 0)
		wire_text(&a, 7, "local");
	wire_message(&function, 7, &a);
	wire_message(&function, 7, &b);
	put_opset(&function, 9, "", 17);
	put_opset(&function, 9, "local", 1);
	wire_text(&function, 10, "local");
	wire_message(&m->functions, 25, &function);
}

static void
call_function(ModelMaker *m, const char *input, const char *output, const char *name, float alpha)
{
	Wire more = {.arena = arena};
	wire_text(&more, 3, name);
	put_float(&more, "alpha", alpha);
	wire_text(&more, 7, "local");
	make_node(m, "f", input, output, &more);
}

START_TEST(functions_are_inlined)
{
	ModelMaker m = make_small(arena);
	call_function(&m, "x", "h", "first", 0.25f);
	call_function(&m, "h", "y", "second", 0.75f);
	add_function(&m, "LeakyRelu");
	Graph *graph = must_read(make_model(&m, 9, 17));
	Node *leaky = graph->body->first, *elu = leaky->next;
	ck_assert_str_eq(leaky->op->name, "LeakyRelu");
	ck_assert(attr_float(leaky, "alpha") == 0.25f);
	ck_assert(attr_float(elu, "alpha") == 0.5f); /* the function's default of beta */
	ck_assert_str_eq(elu->outputs[0]->name, "h");
	ck_assert_str_eq(leaky->outputs[0]->name, "first/t");
	ck_assert_str_eq(leaky->origins.data[0], "first");
	ck_assert(attr_float(elu->next, "alpha") == 0.75f);
	ck_assert_str_eq(graph->body->last->outputs[0]->name, "y");
	ck_assert_str_eq(graph->body->last->origins.data[0], "second");
	graph_check(graph);
	m = make_small(arena);
	call_function(&m, "x", "y", "loop", 1);
	add_function(&m, "f");
	must_fail(make_model(&m, 9, 17), FAIL_INVALID, "function f calls itself");
}
END_TEST

/* A model in a folder of its own, whose weight w lies at `location`. */
static const char *
external_model(const char *folder, const char *location, const char *offset, const char *length)
{
	ModelMaker m = make_small(arena);
	Wire tensor = make_tensor(arena, "w", DT_F32, 2, (int64_t[]){2, 3}, NULL, 0);
	const char *pairs[][2] = {{"location", location}, {"offset", offset}, {"length", length}};
	for (int i = 0; i < 3; i++) {
		Wire pair = {.arena = arena};
		wire_text(&pair, 1, pairs[i][0]);
		wire_text(&pair, 2, pairs[i][1]);
		if (pairs[i][1])
			wire_message(&tensor, 13, &pair);
	}
	wire_int(&tensor, 14, 1);
	wire_message(&m.graph, 5, &tensor);
	make_node(&m, "Add", "x w", "y", NULL);
	Bytes bytes = make_model(&m, 8, 17);
	const char *path = arena_printf(arena, "%s/model.onnx", folder);
	file_write(arena, path, bytes.data, bytes.size);
	return path;
}

static void
external_fails(const char *path, FailKind kind, const char *text)
{
	Failure failure;
	Graph *graph = try_path(arena, path, &failure);
	ck_assert(graph == NULL);
	ck_assert_msg(strstr(failure.text, text) != NULL, "'%s' is not in '%s'", text, failure.text);
	ck_assert_int_eq(failure.kind, kind);
}

START_TEST(external_data_stays_in_the_folder)
{
	char *folder = mkdtemp(arena_strdup(arena, "/tmp/onnx_import.XXXXXX"));
	const char *data = arena_printf(arena, "%s/w.bin", folder);
	float values[] = {-1, 1, 2, 3, 4, 5, 6};
	file_write(arena, data, values, sizeof values);
	Failure failure;
	Graph *graph = try_path(arena, external_model(folder, "w.bin", "4", "24"), &failure);
	ck_assert_msg(graph != NULL, "%s", failure.text);
	ck_assert(((float *)graph_find_value(graph, "w")->constant->data)[5] == 6);
	graph = try_path(arena, external_model(folder, "w.bin", "0", NULL), &failure);
	ck_assert(((float *)graph_find_value(graph, "w")->constant->data)[0] == -1);
	external_fails(external_model(folder, "w.bin", "8", "24"), FAIL_INVALID, "beyond its end");
	external_fails(external_model(folder, "w.bin", "99999999999999999999", "24"), FAIL_INVALID,
	               "is not a number of bytes");
	external_fails(external_model(folder, "w.bin", "0", "20"), FAIL_INVALID,
	               "20 bytes of data where 24 are expected");
	external_fails(external_model(folder, "../w.bin", "0", "24"), FAIL_INVALID,
	               "leaves the model's");
	external_fails(external_model(folder, "/etc/passwd", "0", "24"), FAIL_INVALID,
	               "is not a relative path");
	external_fails(external_model(folder, "none.bin", "0", "24"), FAIL_ENVIRONMENT, "none.bin");
	const char *link = arena_printf(arena, "%s/link.bin", folder);
	ck_assert_int_eq(symlink(data, link), 0);
	external_fails(external_model(folder, "link.bin", "0", "24"), FAIL_INVALID, "symbolic link");
	unlink(link);
	unlink(data);
	unlink(arena_printf(arena, "%s/model.onnx", folder));
	rmdir(folder);
}
END_TEST

START_TEST(all_obstacles_are_listed)
{
	ModelMaker m = make_small(arena);
	Wire attrs = {.arena = arena};
	put_int(&attrs, "speed", 3);
	make_node(&m, "Frobnicate", "x", "a", NULL);
	make_node(&m, "Relu", "a", "b", &attrs);
	make_node(&m, "Abs", "b", "c", NULL);
	make_node(&m, "Frobnicate", "c", "d", NULL);
	make_node(&m, "Add", "d nobody", "y", NULL);
	Bytes bytes = make_model(&m, 8, 17);
	char *folder = mkdtemp(arena_strdup(arena, "/tmp/onnx_import.XXXXXX"));
	const char *path = arena_printf(arena, "%s/model.onnx", folder);
	file_write(arena, path, bytes.data, bytes.size);
	const Failure *list;
	int count = onnx_obstacles(arena, path, NULL, &list);
	ck_assert_int_eq(count, 4);
	ck_assert_ptr_nonnull(strstr(list[0].text, "node \"a\" (Frobnicate)"));
	ck_assert_ptr_nonnull(strstr(list[1].text, "unknown attribute 'speed'"));
	ck_assert_ptr_nonnull(strstr(list[2].text, "node \"d\" (Frobnicate)"));
	ck_assert_ptr_nonnull(strstr(list[3].text, "input 'nobody' is not defined"));
	ck_assert_int_eq(list[0].kind, FAIL_UNSUPPORTED);
	ck_assert_int_eq(list[3].kind, FAIL_INVALID);
	unlink(path);
	rmdir(folder);
}
END_TEST

/* Operators without a row: named all at once, with what to do; none helps by another opset. */
START_TEST(unknown_operators_are_named_together)
{
	ModelMaker m = maker(arena);
	Failure failure;
	float x = 1;
	make_initializer(&m, "x", DT_F32, 0, NULL, &x, sizeof x);
	make_node(&m, "Relu", "x", "r", NULL);
	make_node(&m, "Blur", "r", "l", NULL);
	make_value(&m, OUTPUT, "l", DT_F32, 0, NULL);
	ck_assert_ptr_null(try_bytes(arena, make_model(&m, 8, 20), &failure));
	ck_assert_int_eq(failure.kind, FAIL_UNSUPPORTED);
	ck_assert_str_eq(failure.text,
	                 "test.onnx: node \"l\" (Blur): operator Blur is not supported in any opset; "
	                 "`tilewright list ops` shows those that are");
	make_node(&m, "Deblur", "l", "g", NULL);
	make_node(&m, "Blur", "g", "h", NULL);
	ck_assert_ptr_null(try_bytes(arena, make_model(&m, 8, 20), &failure));
	ck_assert_ptr_nonnull(
		strstr(failure.text, ": operators Blur, Deblur are not supported in any"));
}
END_TEST

/* A node that waits for values of run time has the types that the model says, and no meaning: what
 * inference would have refused is not built. */
START_TEST(types_on_the_models_word_have_no_meaning)
{
	ModelMaker m = maker(arena);
	Failure failure;
	make_value(&m, INPUT, "x", DT_F32, 3, (int64_t[]){1, 5, 5});
	make_value(&m, INPUT, "block", DT_I64, 1, (int64_t[]){2});
	make_i64s(&m, "image", 2, (int64_t[]){5, 5});
	make_node(&m, "Col2Im", "x image block", "y", NULL);
	make_value(&m, OUTPUT, "y", DT_F32, 4, (int64_t[]){1, 1, 5, 5});
	Graph *graph = try_bytes(arena, make_model(&m, 8, 18), &failure);
	ck_assert_msg(graph != NULL, "%s", failure.text);
	ck_assert_int_eq(graph->body->last->outputs[0]->type.rank, 4);
	ck_assert(!node_has_meaning(graph->body->last));
}
END_TEST

int
main(void)
{
	TCase *t = tcase_create("onnx_import");
	tcase_add_checked_fixture(t, begin, end);
	tcase_add_test(t, typed_fields_and_raw_data_agree);
	tcase_add_test(t, floats_strings_and_bools);
	tcase_add_test(t, wrong_tensors);
	tcase_add_test(t, sparse_initializers_are_written_out);
	tcase_add_test(t, initializers_that_are_inputs);
	tcase_add_test(t, dims_are_numbers_names_or_unknown);
	tcase_add_test(t, dims_of_unknown_size_are_spelled_in_many_ways);
	tcase_add_test(t, absent_inputs_and_outputs);
	tcase_add_test(t, constants_of_all_forms);
	tcase_add_test(t, nodes_out_of_order_are_put_in_order);
	tcase_add_test(t, wrong_graphs);
	tcase_add_test(t, files_that_are_no_models);
	tcase_add_test(t, functions_are_inlined);
	tcase_add_test(t, external_data_stays_in_the_folder);
	tcase_add_test(t, all_obstacles_are_listed);
	tcase_add_test(t, unknown_operators_are_named_together);
	tcase_add_test(t, types_on_the_models_word_have_no_meaning);
	return unit_run(t);
}
