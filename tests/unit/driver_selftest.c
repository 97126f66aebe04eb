/* The self-test sample: what is left out, its text read back, texts that are refused. */
#include "unit.h"

#include <string.h>

#include "driver/proof/selftest.h"
#include "graph/infer.h"

static Arena *arena;

static void
set_up(void)
{
	arena = arena_new("test");
}

static void
tear_down(void)
{
	arena_free(arena);
}

static SelfTest *
test_of(const char *text)
{
	Graph *graph = graph_parse(arena, "g", text);
	graph_infer(graph);
	const Binding probe = {0};
	return selftest_new(arena, graph, &probe, NULL, 7);
}

START_TEST(random_and_texts_are_left_out)
{
	SelfTest *test = test_of("graph g(%x: f32[2,3]) -> %y {\n  %y = RandomNormalLike(%x)\n}\n");
	ck_assert_str_eq(test->left_out, "the model has random operators");
	test = test_of("graph g(%x: f32[2,3], %s: string[2]) -> %y {\n  %y = Exp(%x)\n}\n");
	ck_assert_str_eq(test->left_out, "no data is made up for input s");
	const char *text = selftest_text(arena, test);
	test = selftest_read(arena, "b.twb", (Bytes){(const unsigned char *)text, strlen(text)});
	ck_assert_str_eq(test->left_out, "no data is made up for input s");
}
END_TEST

START_TEST(text_reads_back)
{
	SelfTest *test = test_of("graph g(%x: f32[N,3]) -> %y {\n  %y = Exp(%x)\n}\n");
	ck_assert_ptr_null(test->left_out);
	int64_t dims[2] = {1, 3}, at[2] = {0, 2};
	double values[2] = {0.1, -1.0 / 0.0};
	int64_t counts[2] = {INT64_MIN, (INT64_C(1) << 53) + 1};
	TestOutput outputs[2] = {
		{"y", DT_F32, 2, dims, 0.25, 2, at, false, NULL, values},
		{"n", DT_I64, 2, dims, 0, 2, at, true, counts, NULL},
	};
	test->oracle = "the interpreter";
	test->noutput = 2;
	test->outputs = outputs;
	const char *text = selftest_text(arena, test);
	const SelfTest *read =
		selftest_read(arena, "b.twb", (Bytes){(const unsigned char *)text, strlen(text)});
	ck_assert_str_eq(selftest_text(arena, read), text);
	ck_assert_str_eq(selftest_summary(arena, read), "4 elements of 2 outputs, by the interpreter");
	ck_assert_int_eq(read->seed, 7);
	ck_assert_int_eq(read->inputs[0].dims[0], 1);
	ck_assert_mem_eq(read->outputs[1].whole, counts, sizeof counts);
}
END_TEST

#define OUTPUT(dims, at, values) \
	"{\"oracle\": \"o\", \"seed\": 1, \"inputs\": [], \"outputs\": [{\"name\": \"y\", \"type\": " \
	"\"f32\", \"dims\": [" dims "], \"tolerance\": 0, \"at\": [" at "], \"values\": [" values \
	"]}]}"

static void
read_text(void *arg)
{
	const char *text = arg;
	selftest_read(arena, "b.twb", (Bytes){(const unsigned char *)text, strlen(text)});
}

START_TEST(wrong_texts_are_refused)
{
	static const struct {
		const char *text, *says;
	} wrong[] = {
		{"{}", "oracle"},
		{"{\"oracle\": 1}", "oracle"},
		{OUTPUT("3", "3", "1"), "'y' has no element 3"},
		{OUTPUT("3", "-1", "1"), "at is -1"},
		{OUTPUT("3", "0, 1", "1"), "values is not a list of 2 elements"},
		{OUTPUT("3", "0", "{}"), "values is not a number"},
		{OUTPUT("-3", "", ""), "dims is -3"},
		{OUTPUT("4611686018427387904, 4", "0", "1"), ""},
	};
	char good[] = OUTPUT("3", "2", "1");
	Failure failure;
	ck_assert_msg(try_run(read_text, good, &failure), "%s", failure.text);
	for (size_t i = 0; i < countof(wrong); i++) {
		ck_assert(!try_run(read_text, arena_strdup(arena, wrong[i].text), &failure));
		ck_assert_int_eq(failure.kind, FAIL_INVALID);
		ck_assert_msg(strstr(failure.text, wrong[i].says) != NULL, "%s", failure.text);
	}
}
END_TEST

int
main(void)
{
	TCase *t = tcase_create("driver_selftest");
	tcase_add_checked_fixture(t, set_up, tear_down);
	tcase_add_test(t, random_and_texts_are_left_out);
	tcase_add_test(t, text_reads_back);
	tcase_add_test(t, wrong_texts_are_refused);
	return unit_run(t);
}
