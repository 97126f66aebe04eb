/* Inputs that are fixed while a model is read. */
#include "graph/meaning.h"
#include "onnx_fixture.h"

START_TEST(inputs_can_be_fixed)
{
	ModelMaker m = maker(arena);
	make_value(&m, INPUT, "x", DT_F32, 2, (int64_t[]){2, 3});
	make_value(&m, INPUT, "shape", DT_I64, 1, (int64_t[]){2});
	make_value(&m, OUTPUT, "y", DT_F32, 2, (int64_t[]){-1, -1});
	make_node(&m, "Reshape", "x shape", "y", NULL);
	OnnxFixed fixed = {"shape", array_vector_i64(arena, 2, (int64_t[]){3, 2}), NULL};
	OnnxReadOptions options = {.nfixed = 1, .fixed = &fixed};
	Graph *graph = onnx_read_bytes(arena, "test.onnx", make_model(&m, 8, 17), &options);
	ck_assert_int_eq(graph->body->nparam, 1);
	ck_assert(dim_is(graph->body->results[0]->type.dims[0], 3));
}
END_TEST

typedef struct FixedJob {
	Bytes bytes;
	OnnxReadOptions options;
	Graph *graph;
} FixedJob;

static void
read_fixed(void *arg)
{
	FixedJob *job = arg;
	job->graph = onnx_read_bytes(arena, "test.onnx", job->bytes, &job->options);
}

/* Words are of the model's type and rank, and go before the initializer that is the input's
 * default. */
START_TEST(inputs_can_be_fixed_by_words)
{
	static const struct {
		DType type;
		const char *words, *fails;
	} cases[] = {{DT_F32, "2.5", NULL},
	             {DT_F64, "0.1", NULL},
	             {DT_F16, "3", NULL},
	             {DT_BOOL, "true", NULL},
	             {DT_BOOL, "0", NULL},
	             {DT_U8, "255", NULL},
	             {DT_I64, "9007199254740993", NULL},
	             {DT_U8, "256", "the model says u8[1], --fix gives '256'"},
	             {DT_I32, "1.5", "the model says i32[1], --fix gives '1.5'"},
	             {DT_BOOL, "2", "--fix gives '2'"},
	             {DT_F32, "1,", "--fix gives '1,'"},
	             {DT_F32, "many", "--fix gives 'many'"},
	             {DT_F32, "1,2", "the model says f32[1], --fix gives f32[2]"}};
	for (size_t i = 0; i < countof(cases); i++) {
		ModelMaker m = maker(arena);
		int64_t one = 1;
		make_value(&m, INPUT, "k", cases[i].type, 1, &one);
		make_initializer(&m, "k", cases[i].type, 1, &one, "\0\0\0\0\0\0\0",
		                 dtype_bits(cases[i].type) / 8);
		make_value(&m, OUTPUT, "y", cases[i].type, 1, &one);
		make_node(&m, "Identity", "k", "y", NULL);
		OnnxFixed fixed = {"k", NULL, cases[i].words};
		FixedJob job = {.bytes = make_model(&m, 8, 17), .options = {.nfixed = 1, .fixed = &fixed}};
		Failure failure = {0};
		bool is_read = try_run(read_fixed, &job, &failure);
		ck_assert_msg(is_read == !cases[i].fails, "%s: %s", cases[i].words, failure.text);
		if (!is_read)
			ck_assert_msg(strstr(failure.text, cases[i].fails) != NULL, "%s", failure.text);
		else
			ck_assert_ptr_nonnull(graph_clone(arena, job.graph)); /* what reading took is gone */
	}
}
END_TEST

int
main(void)
{
	TCase *t = tcase_create("onnx_fixed");
	tcase_add_checked_fixture(t, begin, end);
	tcase_add_test(t, inputs_can_be_fixed);
	tcase_add_test(t, inputs_can_be_fixed_by_words);
	return unit_run(t);
}
