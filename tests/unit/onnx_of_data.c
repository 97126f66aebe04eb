/* Axes and steps that a run gives mean what constants of the same numbers do (onnx/of_data.c). */
#include "unit.h"

#include "eval/eval.h"
#include "onnx_fixture.h"

enum { NONE = 99, MAX_LISTS = 4 };

/* op(x, lists): the numbers of each, ended by NONE; a list that begins with it is left out. */
typedef struct Case {
	const char *op, *attr; /* one more, of 1 or 0, or NULL */
	int attr_value;
	int64_t lists[MAX_LISTS][5];
	const char *refused; /* what a run says, or NULL */
} Case;

static const Case CASES[] = {
	{"CumSum", "reverse", 1, {{2, NONE}, {NONE}, {NONE}, {NONE}}, NULL},
	{"CumSum", "exclusive", 1, {{-3, NONE}, {NONE}, {NONE}, {NONE}}, NULL},
	{"CumSum",
     NULL,
     0,
     {{3, NONE}, {NONE}, {NONE}, {NONE}},
     "index 3 is outside of its range 0..2"},
	{"Pad", NULL, 0, {{1, 2, 0, -1, NONE}, {NONE}, {-1, 0, NONE}, {NONE}}, NULL},
	{"Slice", NULL, 0, {{1, -2, NONE}, {9, -9, NONE}, {2, -3, NONE}, {2, -1, NONE}}, NULL},
	{"Slice", NULL, 0, {{-9, 0, NONE}, {-9, 2, NONE}, {0, 1, NONE}, {-1, 3, NONE}}, NULL},
	{"Slice", NULL, 0, {{3, 0, NONE}, {1, 3, NONE}, {0, 2, NONE}, {NONE}}, NULL},
	{"Slice", NULL, 0, {{0, -1, NONE}, {9, -4, NONE}, {NONE}, {1, -2, NONE}}, NULL},
	{"Slice",
     NULL,
     0,
     {{0, NONE}, {9, NONE}, {1, NONE}, {0, NONE}},
     "index 9 is outside of its range 0..1"},
	{"Unsqueeze", NULL, 0, {{0, -2, NONE}, {NONE}, {NONE}, {NONE}}, NULL},
	{"Unsqueeze", NULL, 0, {{2, NONE}, {NONE}, {NONE}, {NONE}}, NULL},
	{"Unsqueeze",
     NULL,
     0,
     {{4, NONE}, {NONE}, {NONE}, {NONE}},
     "index 4 is outside of its range 0..3"},
	{"Squeeze", NULL, 0, {{-2, NONE}, {NONE}, {NONE}, {NONE}}, NULL},
	{"Squeeze", NULL, 0, {{0, NONE}, {NONE}, {NONE}, {NONE}}, "elements before and after"},
	{"ReduceMean", NULL, 0, {{2, 0, NONE}, {NONE}, {NONE}, {NONE}}, NULL},
	{"ReduceLogSumExp", "keepdims", 0, {{-1, 0, NONE}, {NONE}, {NONE}, {NONE}}, NULL},
	{"ReduceMin", "keepdims", 0, {{1, NONE}, {NONE}, {NONE}, {NONE}}, NULL},
};

static int
length_of(const int64_t *list)
{
	int count = 0;
	while (list[count] != NONE)
		count++;
	return count;
}

static Graph *
read_case(const Case *c, bool is_given)
{
	static const char *const NAMES[] = {"a", "b", "c", "d"};
	ModelMaker m = maker(arena);
	Wire attrs = {.arena = arena};
	Buf inputs = {.arena = arena};
	buf_puts(&inputs, "x");
	make_value(&m, INPUT, "x", DT_F32, 3, (int64_t[]){4, 1, 3});
	for (int i = 0; i < MAX_LISTS; i++) {
		int64_t count = length_of(c->lists[i]);
		buf_printf(&inputs, " %s", count ? NAMES[i] : "_");
		int rank = strcmp(c->op, "CumSum") != 0;
		if (count && is_given)
			make_value(&m, INPUT, NAMES[i], DT_I64, rank, &count);
		else if (count)
			make_initializer(&m, NAMES[i], DT_I64, rank, &count, c->lists[i], (size_t)count * 8);
	}
	if (c->attr)
		put_int(&attrs, c->attr, c->attr_value);
	char *names = inputs.data;
	for (size_t end = strlen(buf_text(&inputs)); names[end - 1] == '_'; end -= 2)
		names[end - 2] = 0;
	make_node(&m, c->op, names, "y", &attrs);
	make_value(&m, OUTPUT, "y", DT_F32, -1, NULL);
	Failure failure;
	Graph *graph = try_bytes(arena, make_model(&m, 8, 18), &failure);
	ck_assert_msg(graph != NULL, "%s", failure.text);
	return graph;
}

typedef struct Job {
	const Case *c;
	bool is_given;
	const Array *y;
} Job;

static void
run_case(void *arg)
{
	Job *job = arg;
	const Array *inputs[1 + MAX_LISTS];
	Array *x = array_new(arena, DT_F32, 3, (int64_t[]){4, 1, 3});
	for (int i = 0; i < 12; i++)
		((float *)x->data)[i] = (float)(i * 7 % 12) - 4;
	inputs[0] = x;
	for (int i = 0, n = 1; i < MAX_LISTS; i++) {
		int64_t count = length_of(job->c->lists[i]);
		if (!count)
			continue;
		Array *list = array_new(arena, DT_I64, strcmp(job->c->op, "CumSum") != 0, &count);
		memcpy(list->data, job->c->lists[i], (size_t)count * 8);
		inputs[n++] = list;
	}
	eval_graph(arena, read_case(job->c, job->is_given), inputs, &job->y);
}

START_TEST(data_means_what_constants_do)
{
	for (size_t i = 0; i < countof(CASES); i++) {
		const Case *c = &CASES[i];
		Job given = {c, true, NULL}, known = {c, false, NULL};
		Failure failure;
		bool has_run = try_run(run_case, &given, &failure);
		if (c->refused) {
			ck_assert_msg(!has_run && strstr(failure.text, c->refused), "%s: %s", c->op,
			              has_run ? "it ran" : failure.text);
			continue;
		}
		ck_assert_msg(has_run, "%s: %s", c->op, failure.text);
		run_case(&known);
		ck_assert_int_eq(given.y->rank, known.y->rank);
		for (int k = 0; k < known.y->rank; k++)
			ck_assert_int_eq(given.y->dims[k], known.y->dims[k]);
		size_t size = (size_t)array_count(known.y) * sizeof(float);
		ck_assert_msg(!memcmp(given.y->data, known.y->data, size), "%s, row %d", c->op, (int)i);
	}
}
END_TEST

int
main(void)
{
	TCase *t = tcase_create("onnx_of_data");
	tcase_add_checked_fixture(t, begin, end);
	tcase_add_test(t, data_means_what_constants_do);
	return unit_run(t);
}
