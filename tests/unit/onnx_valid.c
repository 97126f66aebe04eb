/* What is valid and what is not: defaults of inputs, opsets imported twice or not, ranges of
 * data. */
#include "unit.h"

#include "eval/eval.h"
#include "onnx_fixture.h"

/* A model that is read; `text` stands in the failure of one that is not. */
static Graph *
read_model(Bytes bytes, const char *text)
{
	Failure failure;
	Graph *graph = try_bytes(arena, bytes, &failure);
	if (!text) {
		ck_assert_msg(graph != NULL, "%s", failure.text);
		return graph;
	}
	ck_assert_msg(graph == NULL, "read, where '%s' was expected", text);
	ck_assert_msg(strstr(failure.text, text) != NULL, "'%s' is not in '%s'", text, failure.text);
	ck_assert_int_eq(failure.kind, FAIL_INVALID);
	return NULL;
}

/* Declared dims of [2,3], [N,N] (with a default of [2,3]), and another type. */
START_TEST(defaults_fit_their_inputs)
{
	const struct {
		DType type;
		int rank;
		int64_t dims[3];
		const char *text;
	} rows[] = {
		{DT_F32, 2, {2, 3}, NULL},
		{DT_F32, 2, {-2, 3}, NULL},
		{DT_F32, 2, {2, 4}, "input 'w' is declared as f32[2,4], and its default"},
		{DT_F32, 2, {-2, -2}, "input 'w' is declared as f32[N,N]"},
		{DT_F32, 3, {1, 2, 3}, "input 'w' is declared as f32[1,2,3]"},
		{DT_F64, 2, {2, 3}, "input 'w' is declared as f64[2,3]"},
	};
	for (size_t i = 0; i < countof(rows); i++) {
		ModelMaker m = make_small(arena);
		float w[6] = {1, 2, 3};
		make_value(&m, INPUT, "w", rows[i].type, rows[i].rank, rows[i].dims);
		make_initializer(&m, "w", DT_F32, 2, (int64_t[]){2, 3}, w, sizeof w);
		make_node(&m, "Relu", "x", "y", NULL);
		read_model(make_model(&m, 8, 17), rows[i].text);
	}
}
END_TEST

/* Beside "" 17 another import of the model, or of a function. */
START_TEST(an_opset_is_imported_once_or_twice_the_same)
{
	const struct {
		const char *domain;
		int64_t version;
		const char *text;
	} rows[] = {
		{"", 17, NULL},
		{"ai.onnx", 17, NULL},
		{"ai.onnx.ml", 3, NULL},
		{"", 16, "opsets 17 and 16 of domain '' are imported"},
		{"ai.onnx", 18, "opsets 17 and 18 of domain '' are imported"},
	};
	for (size_t i = 0; i < countof(rows); i++)
		for (int in_function = 0; in_function < 2; in_function++) {
			ModelMaker m = make_small(arena);
			Wire function = {.arena = arena};
			make_node(&m, "Relu", "x", "y", NULL);
			wire_text(&function, 1, "f");
			wire_text(&function, 10, "mine");
			put_opset(&function, 9, "", 17);
			put_opset(in_function ? &function : &m.functions, in_function ? 9 : 8, rows[i].domain,
			          rows[i].version);
			wire_message(&m.functions, 25, &function);
			Graph *graph = read_model(make_model(&m, 8, 17), rows[i].text);
			ck_assert(!graph || graph->opsets.count <= 2);
		}
}
END_TEST

/* ONNX Runtime takes nodes of its own domain that no import speaks of; of others it does not. */
START_TEST(one_domain_need_not_be_imported)
{
	const struct {
		const char *domain, *text;
	} rows[] = {{"com.microsoft", NULL},
	            {"ai.onnx.ml", "the model imports no opset of domain 'ai.onnx.ml'"}};
	for (size_t i = 0; i < countof(rows); i++) {
		ModelMaker m = maker(arena);
		Wire attrs = {.arena = arena};
		float scale = 0.5;
		make_value(&m, INPUT, "x", DT_U8, 1, (int64_t[]){2});
		make_initializer(&m, "scale", DT_F32, 0, NULL, &scale, sizeof scale);
		make_value(&m, OUTPUT, "y", DT_U8, 1, (int64_t[]){2});
		wire_text(&attrs, 7, rows[i].domain);
		make_node(&m, "QLinearSigmoid", "x scale _ scale", "y", &attrs);
		read_model(make_model(&m, 8, 17), rows[i].text);
	}
}
END_TEST

/* Bounds that are inputs: of floats, and of integers with a step that is one; a limit alone is a
 * symbol. */
START_TEST(ranges_of_data_are_counted_by_nodes)
{
	const struct {
		DType type;
		const char *inputs, *last;
	} rows[] = {{DT_F32, "a b c", "Cast"},
	            {DT_F16, "a b c", "Cast"},
	            {DT_I64, "one b c", "Cast"},
	            {DT_I64, "a b one", "Cast"},
	            {DT_I64, "one b one", "Range"}};
	for (size_t i = 0; i < countof(rows); i++) {
		ModelMaker m = maker(arena);
		int64_t one = 1;
		make_value(&m, INPUT, "a", rows[i].type, 0, NULL);
		make_value(&m, INPUT, "b", rows[i].type, 0, NULL);
		make_value(&m, INPUT, "c", rows[i].type, 0, NULL);
		make_initializer(&m, "one", DT_I64, 0, NULL, &one, sizeof one);
		make_value(&m, OUTPUT, "y", rows[i].type, 1, (int64_t[]){-1});
		make_node(&m, "Range", rows[i].inputs, "y", NULL);
		Graph *graph = read_model(make_model(&m, 8, 17), NULL);
		const Value *y = graph->body->results[0];
		ck_assert_str_eq(y->def->op->name, rows[i].last);
		ck_assert_int_eq(y->type.rank, 1);
		ck_assert_int_eq(y->type.dtype, rows[i].type);
	}
}
END_TEST

/* What an old Softmax flattens has its own dims again, also where one is 0. */
START_TEST(a_flat_softmax_of_nothing)
{
	ModelMaker m = maker(arena);
	make_value(&m, INPUT, "x", DT_F32, 4, (int64_t[]){2, 0, 3, 4});
	make_value(&m, OUTPUT, "y", DT_F32, -1, NULL);
	Wire attrs = {.arena = arena};
	put_int(&attrs, "axis", 2);
	make_node(&m, "Softmax", "x", "y", &attrs);
	const Type *y = &read_model(make_model(&m, 8, 11), NULL)->body->results[0]->type;
	ck_assert_int_eq(y->rank, 4);
	ck_assert(dim_is(y->dims[0], 2) && dim_is(y->dims[1], 0) && dim_is(y->dims[2], 3));
}
END_TEST

/* A depth that a float input holds is cast to the integer that it is; a known one needs none. */
START_TEST(a_depth_of_floats_is_an_integer)
{
	for (int is_known = 0; is_known < 2; is_known++) {
		ModelMaker m = maker(arena);
		float three = 3, values[] = {5, 7};
		make_value(&m, INPUT, "x", DT_I64, 1, (int64_t[]){2});
		make_value(&m, INPUT, "depth", DT_F32, 0, NULL);
		make_initializer(&m, "three", DT_F32, 0, NULL, &three, sizeof three);
		make_initializer(&m, "values", DT_F32, 1, (int64_t[]){2}, values, sizeof values);
		make_value(&m, OUTPUT, "y", DT_F32, 2, (int64_t[]){2, -1});
		make_node(&m, "OneHot", is_known ? "x three values" : "x depth values", "y", NULL);
		Graph *graph = read_model(make_model(&m, 8, 17), NULL);
		const Array *inputs[] = {array_new(arena, DT_I64, 1, (int64_t[]){2}),
		                         array_new(arena, DT_F32, 0, NULL)};
		const Array *y;
		((int64_t *)inputs[0]->data)[1] = 2;
		*(float *)inputs[1]->data = 3;
		eval_graph(arena, graph, inputs, &y);
		ck_assert_int_eq(graph->body->results[0]->def->inputs[1]->type.dtype,
		                 is_known ? DT_F32 : DT_I64);
		ck_assert_int_eq(y->dims[1], 3);
		for (int i = 0; i < 6; i++)
			ck_assert(((float *)y->data)[i] == (i == 0 || i == 5 ? 7 : 5));
	}
}
END_TEST

/* A scalar where ONNX says a vector: refused, or made a vector of, where ONNX Runtime takes it. */
START_TEST(a_scalar_is_no_vector)
{
	const struct {
		const char *op, *inputs, *text;
	} rows[] = {
		{"ConstantOfShape", "s", "input input has rank 0, expected 1"},
		{"Reshape", "x s", "input shape has rank 0, expected 1"},
		{"Tile", "x s", "input repeats has rank 0, expected 1"},
		{"Squeeze", "x s", "input axes has rank 0, expected 1"},
		{"ReduceSum", "x s", "input axes has rank 0, expected 1"},
		{"ReduceLogSumExp", "x s", "input axes has rank 0, expected 1"},
		{"Slice", "x s v", "input starts has rank 0, expected 1"},
		{"Slice", "x v s", "input ends has rank 0, expected 1"},
		{"Slice", "x v v s", "input axes has rank 0, expected 1"},
		{"Slice", "x v v v s", "input steps has rank 0, expected 1"},
		{"Split", "x s", "input split has rank 0, expected 1"},
		{"TopK", "x s", "input k has rank 0, expected 1"},
		{"Pad", "x s", "input pads has rank 0, expected 1"},
		{"Unsqueeze", "x s", NULL},
		{"Expand", "x s", NULL},
		{"Resize", "row _ _ s", NULL},
	};
	for (size_t i = 0; i < countof(rows); i++) {
		ModelMaker m = maker(arena);
		int64_t one = 1;
		bool is_topk = !strcmp(rows[i].op, "TopK");
		make_value(&m, INPUT, "x", DT_F32, 2, (int64_t[]){2, 3});
		make_value(&m, INPUT, "row", DT_F32, 1, (int64_t[]){3});
		make_initializer(&m, "s", DT_I64, 0, NULL, &one, sizeof one);
		make_initializer(&m, "v", DT_I64, 1, (int64_t[]){1}, &one, sizeof one);
		make_value(&m, OUTPUT, "y", DT_F32, -1, NULL);
		make_node(&m, rows[i].op, rows[i].inputs, is_topk ? "y z" : "y", NULL);
		Graph *graph = read_model(make_model(&m, 8, 18), rows[i].text);
		const Node *node = graph ? graph->body->results[0]->def : NULL;
		if (node)
			ck_assert_int_eq(node->inputs[node->ninput - 1]->type.rank, 1);
	}
}
END_TEST

int
main(void)
{
	TCase *t = tcase_create("onnx_valid");
	tcase_add_checked_fixture(t, begin, end);
	tcase_add_test(t, defaults_fit_their_inputs);
	tcase_add_test(t, an_opset_is_imported_once_or_twice_the_same);
	tcase_add_test(t, one_domain_need_not_be_imported);
	tcase_add_test(t, ranges_of_data_are_counted_by_nodes);
	tcase_add_test(t, a_flat_softmax_of_nothing);
	tcase_add_test(t, a_depth_of_floats_is_an_integer);
	tcase_add_test(t, a_scalar_is_no_vector);
	return unit_run(t);
}
