/* Plans: dims, placement, texts both ways, and what reader and verifier refuse. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bundle/plan.h"
#include "unit.h"

/* clang-format off */
/* x -> t -> u -> y with a view, an attribute of each kind, and a nested plan. */
static const char PLAN[] =
	"{\"kernels\": [\"ka\", \"kb\"], "
	"\"symbols\": [{\"name\": \"N\", \"lo\": 1, \"hi\": \"9223372036854775807\", \"from\": "
    "\"input\","
	" \"buffer\": 0, \"index\": 0}, {\"name\": \"M\", \"lo\": 0, \"hi\": 100, \"from\": \"dim\","
	" \"dim\": 3}],\n"
	"\"dims\": [\"8\", \"s0\", \"s0 32 *\", \"s0 2 - 1 max 7 min\", \"0\", \"s0 8 *\", \"1\"],\n"
	"\"buffers\": ["
	"{\"name\": \"x\", \"type\": \"f32\", \"dims\": [1, 0], \"kind\": \"input\", \"index\": 0},"
	"{\"name\": \"t\", \"type\": \"f32\", \"dims\": [1, 0], \"kind\": \"temp\", \"size\": 2,"
	" \"first\": 0, \"last\": 1},"
	"{\"name\": \"u\", \"type\": \"f32\", \"dims\": [1, 0], \"kind\": \"temp\", \"size\": 2,"
	" \"first\": 1, \"last\": 3, \"layout\": \"nc16hw\"},"
	"{\"name\": \"v\", \"type\": \"f32\", \"dims\": [1], \"kind\": \"view\", \"base\": 1, \"at\": "
    "4,"
	" \"strides\": [0]},"
	"{\"name\": \"y\", \"type\": \"f32\", \"dims\": [1, 0], \"kind\": \"output\", \"index\": 0},"
	"{\"name\": \"w\", \"type\": \"f32\", \"dims\": [0], \"kind\": \"weight\", \"offset\": 64,"
	" \"bytes\": 32},"
	"{\"name\": \"c\", \"type\": \"bool\", \"dims\": [], \"kind\": \"temp\", \"size\": 6, "
    "\"first\": 0,"
	" \"last\": 3},"
	"{\"name\": \"p\", \"type\": \"f32\", \"dims\": [1, 0], \"kind\": \"pool\"}],\n"
	"\"steps\": ["
	"{\"kind\": \"kernel\", \"name\": \"a\", \"origins\": \"na, nb\", \"kernel\": 0, \"extent\": 5,"
	" \"scratch\": 0, \"grid\": [1, 6], \"block\": [0], \"shared\": 5,"
	" \"symbols\": [0], \"args\": [0, 5, 1, 6], \"outputs\": 2,"
	" \"flops\": 10.5, \"bytes\": 1},"
	"{\"kind\": \"vendor\", \"name\": \"b\", \"library\": \"onednn\", \"row\": \"conv\","
	" \"kernel\": 1, \"extent\": 5,"
	" \"args\": [3, 5, -1, 2], \"outputs\": 1, \"attrs\": ["
	"{\"name\": \"post\", \"string\": \"relu;\\\"q\\\"\\n\"}, {\"name\": \"k\", \"ints\": [3, "
	"\"-9223372036854775808\"]}, {\"name\": \"f\", \"floats\": [1.5, \"inf\", \"nan\"]}]},"
	"{\"kind\": \"if\", \"name\": \"c\", \"args\": [6, 7], \"outputs\": 1, \"bodies\": ["
	"{\"symbols\": [{\"name\": \"N\", \"lo\": 1, \"hi\": 5, \"from\": \"input\", \"buffer\": 0,"
	" \"index\": 0}, {\"name\": \"M\", \"lo\": 0, \"hi\": 100, \"from\": \"dim\", \"dim\": 0}],"
	" \"dims\": [\"s0\", \"8\"], \"buffers\": [{\"name\": \"o\", \"type\": \"f32\","
	" \"dims\": [0, 1], \"kind\": \"output\", \"index\": 0}, {\"name\": \"u\", \"type\": \"f32\","
	" \"dims\": [0, 1], \"kind\": \"capture\", \"index\": 2}], \"steps\": [{\"kind\": \"copy\","
	" \"name\": \"d\", \"args\": [1, 0], \"outputs\": 1}], \"inputs\": [], \"outputs\": [0],"
	" \"assumptions\": []},"
	"{\"symbols\": [{\"name\": \"N\", \"lo\": 1, \"hi\": 5, \"from\": \"input\", \"buffer\": 0,"
	" \"index\": 0}, {\"name\": \"M\", \"lo\": 0, \"hi\": 100, \"from\": \"dim\", \"dim\": 0}],"
	" \"dims\": [\"s0\", \"8\"], \"buffers\": [{\"name\": \"o\", \"type\": \"f32\","
	" \"dims\": [0, 1], \"kind\": \"output\", \"index\": 0}, {\"name\": \"x\", \"type\": \"f32\","
	" \"dims\": [0, 1], \"kind\": \"capture\", \"index\": 0}], \"steps\": [{\"kind\": \"copy\","
	" \"name\": \"e\", \"args\": [1, 0], \"outputs\": 1}], \"inputs\": [], \"outputs\": [0],"
	" \"assumptions\": []}]},"
	"{\"kind\": \"copy\", \"name\": \"f\", \"args\": [7, 4], \"outputs\": 1}],\n"
	"\"inputs\": [0], \"outputs\": [4], \"assumptions\": [{\"a\": 0, \"b\": 0, \"what\": \"it\"}],"
	" \"captures\": 0}";
/* clang-format on */

static char error[400];

static Plan *
read_text(const char *text)
{
	Plan *plan = NULL;
	error[0] = 0;
	bool is_read = plan_read(text, strlen(text), &plan, error, sizeof error);
	ck_assert(is_read == (plan != NULL));
	ck_assert(is_read || error[0]);
	return plan;
}

/* The text with the first `from` replaced; the caller frees. */
static char *
replace(const char *text, const char *from, const char *to)
{
	const char *at = strstr(text, from);
	ck_assert_msg(at != NULL, "no '%s'", from);
	char *result = malloc(strlen(text) + strlen(to) + 1);
	sprintf(result, "%.*s%s%s", (int)(at - text), text, to, at + strlen(from));
	return result;
}

START_TEST(round_trip)
{
	Arena *arena = arena_new("test");
	Buf first = {.arena = arena}, second = {.arena = arena};
	Plan *plan = read_text(PLAN);
	ck_assert_msg(plan != NULL, "%s", error);
	plan_write(&first, plan);
	Plan *again = read_text(buf_text(&first));
	ck_assert_msg(again != NULL, "%s", error);
	plan_write(&second, again);
	ck_assert_str_eq(buf_text(&first), buf_text(&second));
	ck_assert(again->symbols[0].hi == INT64_MAX);
	const PlanStep *step = &again->steps[1];
	ck_assert_str_eq(plan_attr(step, "post")->string, "relu;\"q\"\n");
	ck_assert(plan_attr(step, "k")->ints[1] == INT64_MIN);
	ck_assert(plan_attr(step, "f")->floats[1] > 1e38);
	ck_assert_int_eq(again->steps[2].bodies[0]->buffers[1].index, 2);
	ck_assert_ptr_eq(again->steps[2].bodies[1]->parent, again);
	ck_assert_int_eq(again->nkernel, 2);
	ck_assert_str_eq(again->steps[2].bodies[0]->kernels[1], "kb");
	ck_assert_msg(plan_verify(again, 96, error, sizeof error), "%s", error);
	plan_free(plan);
	plan_free(again);
	arena_free(arena);
}
END_TEST

START_TEST(dim_values)
{
	static const struct {
		const char *text;
		bool exists;
		int64_t value;
	} CASES[] = {
		{"s0 2 +", true, -3},
		{"s0 2 /", true, -3},
		{"s0 2 %", true, 1},
		{"5 -3 /", true, -2},
		{"5 -3 %", true, -1},
		{"s0 0 /", false, 0},
		{"s1 1 +", false, 0},
		{"3 9 min", true, 3},
		{"3 9 max", true, 9},
		{"9223372036854775807 1 +", false, 0},
		{"4611686018427387904 2 *", false, 0},
		{"7 float f4609434218613702656 f* floor int", true, 10}, /* 7 * 1.5 */
		{"s0 float 2 float f/ ceil int", true, -2},
		{"s0 float 2 float f/ round int", true, -2},
		{"s0 float 2 float f/ int", true, -2},
		{"1 float 3 float f/ single 9 float f* single 3 float f- 1 float f+ int", true, 1},
		{"16777217 float single int", true, 16777216},
		{"9007199254740993 float int", false, 0},
		{"1 float 0 float f/ 7 float fmin int", true, 7},
		{"1 float 0 float f/ int", false, 0},
		{"0 float 0 float f/ 7 float fmax int", false, 0},
		{"s1 float int", false, 0},
		{"s0 0 < 4 9 ?", true, 4},
		{"s0 -5 == 0 == 4 9 ?", true, 9},
		{"s0 0 < 4 1 0 / ?", true, 4}, /* what is not chosen need not exist */
		{"0 s0 < 4 1 0 / ?", false, 0},
		{"1 0 / 4 9 ?", false, 0},
	};
	for (size_t i = 0; i < sizeof CASES / sizeof *CASES; i++) {
		char *text = replace(PLAN, "s0 8 *", CASES[i].text);
		Plan *plan = read_text(text);
		ck_assert_msg(plan != NULL, "%s", error);
		int64_t symbols[2] = {-5, PLAN_UNBOUND}, value = 0;
		ck_assert_int_eq(plan_dim_eval(plan, 5, symbols, &value), CASES[i].exists);
		if (CASES[i].exists)
			ck_assert_int_eq(value, CASES[i].value);
		plan_free(plan);
		free(text);
	}
}
END_TEST

/* No two that live at once overlap, and the total is no more than everything side by side. */
START_TEST(placement)
{
	enum { COUNT = 60, ROUNDS = 300 };
	srand(7);
	for (int round = 0; round < ROUNDS; round++) {
		int64_t size[COUNT], offset[COUNT], again[COUNT], sum = 0;
		PlanBuffer buffers[COUNT] = {{0}};
		const Plan plan = {.nbuffer = COUNT, .buffers = buffers};
		for (int i = 0; i < COUNT; i++) {
			size[i] = rand() % 10 == 0 ? -1 : rand() % 5000;
			buffers[i].first = rand() % 30;
			buffers[i].last = buffers[i].first + rand() % 8;
			sum += size[i] < 0 ? 0 : (size[i] + 63) / 64 * 64;
		}
		int64_t total = plan_place(&plan, PLACE_DEVICE, size, offset);
		ck_assert(total >= 0 && total <= sum);
		ck_assert(plan_place(&plan, PLACE_DEVICE, size, again) == total);
		ck_assert_mem_eq(offset, again, sizeof offset);
		for (int i = 0; i < COUNT; i++) {
			ck_assert((offset[i] < 0) == (size[i] < 0));
			ck_assert(offset[i] < 0 || (offset[i] % 64 == 0 && offset[i] + size[i] <= total));
			for (int j = 0; j < i; j++)
				if (size[i] > 0 && size[j] > 0 && buffers[i].first <= buffers[j].last &&
				    buffers[j].first <= buffers[i].last)
					ck_assert(offset[i] >= offset[j] + size[j] || offset[j] >= offset[i] + size[i]);
		}
	}
	int64_t huge[2] = {INT64_MAX - 100, INT64_MAX - 100}, offset[2];
	PlanBuffer both[2] = {{0}};
	const Plan large = {.nbuffer = 2, .buffers = both};
	ck_assert(plan_place(&large, PLACE_DEVICE, huge, offset) == -1);
	both[1].place = PLACE_HOST; /* then they are in nobody's way */
	ck_assert(plan_place(&large, PLACE_DEVICE, huge, offset) > 0);
	ck_assert(offset[0] == 0 && offset[1] == -1);
}
END_TEST

START_TEST(views)
{
	int64_t dims[2] = {3, 4}, strides[2] = {4, 1}, back[2] = {-4, 1};
	ck_assert(plan_view_fits(2, dims, strides, 0, 12));
	ck_assert(!plan_view_fits(2, dims, strides, 1, 12));
	ck_assert(plan_view_fits(2, dims, back, 8, 12));
	ck_assert(!plan_view_fits(2, dims, back, 7, 12));
	int64_t far[2] = {INT64_MAX, 1}, none[2] = {0, 4};
	ck_assert(!plan_view_fits(2, dims, far, 0, 12));
	ck_assert(plan_view_fits(2, none, far, 99, 12));
	int64_t empty[4] = {0, INT64_MAX / 2, 4, 3}, expected[4] = {0, 12, 3, 1}, seen[4];
	plan_strides(4, empty, seen);
	ck_assert_mem_eq(seen, expected, sizeof seen);
}
END_TEST

/* One change each makes the text something that must not be read. */
START_TEST(refused_by_reader)
{
	static const char *const CHANGES[][2] = {
		{"\"args\": [0, 5, 1, 6]", "\"args\": [0, 5, 1, 99]"},
		{"\"args\": [0, 5, 1, 6]", "\"args\": [0, 5, 1, -2]"},
		{"\"args\": [0, 5, 1, 6]", "\"args\": [0, 5, 1.5, 6]"},
		{"\"outputs\": 2", "\"outputs\": 5"},
		{"\"type\": \"f32\"", "\"type\": \"f31\""},
		{"\"kind\": \"temp\"", "\"kind\": \"tmp\""},
		{"\"size\": 2", "\"size\": 7"},
		{"\"first\": 1, \"last\": 3", "\"first\": 3, \"last\": 1"},
		{"\"base\": 1", "\"base\": 3"},
		{"\"strides\": [0]", "\"strides\": [0, 0]"},
		{"s0 32 *", "s9 32 *"},
		{"s0 32 *", "s0 32 * *"},
		{"s0 32 *", "s0 32"},
		{"s0 32 *", "s0 32 ^"},
		{"s0 32 *", ""},
		{"s0 32 *", "99999999999999999999"},
		{"\"inputs\": [0]", "\"inputs\": [1]"},
		{"\"inputs\": [0]", "\"inputs\": []"},
		{"\"from\": \"dim\", \"dim\": 3", "\"from\": \"dim\", \"dim\": 7"},
		{"\"buffer\": 0, \"index\": 0", "\"buffer\": 1, \"index\": 0"},
		{"\"buffer\": 0, \"index\": 0", "\"buffer\": 0, \"index\": 2"},
		{"\"kind\": \"capture\", \"index\": 2", "\"kind\": \"capture\", \"index\": 8"},
		{"\"kind\": \"capture\", \"index\": 2", "\"kind\": \"capture\", \"index\": 5"},
		{"\"kind\": \"if\"", "\"kind\": \"loop\""},
		{"\"kind\": \"if\"", "\"kind\": \"kernel\""},
		{"\"lo\": 1", "\"lo\": \"x\""},
		{"\"a\": 0, \"b\": 0", "\"a\": 0, \"b\": 70"},
		{"\"kernel\": 0", "\"kernel\": -1"},
		{"\"kernel\": 1", "\"kernel\": 2"},
		{"\"kernels\": [\"ka\", \"kb\"]", "\"kernels\": [\"ka\", 7]"},
		{"\"grid\": [1, 6]", "\"grid\": [1, 6, 6, 6]"},
		{"\"block\": [0]", "\"block\": [7]"},
		{"\"shared\": 5", "\"shared\": 7"},
		{"\"kind\": \"pool\"", "\"kind\": \"pool\", \"place\": \"host\""},
		{"\"kind\": \"pool\"", "\"kind\": \"pool\", \"place\": \"moon\""},
	};
	for (size_t i = 0; i < sizeof CHANGES / sizeof *CHANGES; i++) {
		char *text = replace(PLAN, CHANGES[i][0], CHANGES[i][1]);
		Plan *plan = read_text(text);
		ck_assert_msg(plan == NULL, "read with %s", CHANGES[i][1]);
		free(text);
	}
}
END_TEST

START_TEST(refused_by_verifier)
{
	static const char *const CHANGES[][2] = {
		{"\"args\": [0, 5, 1, 6], \"outputs\": 2", "\"args\": [0, 2, 1, 6], \"outputs\": 2"},
		{"\"args\": [0, 5, 1, 6], \"outputs\": 2", "\"args\": [6, 5, 1, 0], \"outputs\": 2"},
		{"\"args\": [3, 5, -1, 2]", "\"args\": [3, 5, -1, -1]"},
		{"\"first\": 0, \"last\": 1", "\"first\": 0, \"last\": 0"},
		{"\"first\": 1, \"last\": 3", "\"first\": 1, \"last\": 1"},
		{"\"offset\": 64", "\"offset\": 128"},
		{"\"offset\": 64", "\"offset\": 32"},
		{"\"base\": 1, \"at\": 4", "\"base\": 1, \"at\": 2"},
		{"\"args\": [7, 4], \"outputs\": 1", "\"args\": [7, 7], \"outputs\": 1"},
		{"\"name\": \"e\", \"args\": [1, 0]", "\"name\": \"e\", \"args\": [0, 0]"},
		{"\"block\": [0], ", ""},
		{"\"grid\": [1, 6], \"block\": [0], ", ""},
		{"\"block\": [0]", "\"block\": [4]"},
		{"\"captures\": 0}", "\"captures\": 0, \"apart\": 1}"},
		{"\"outputs\": 2,", "\"outputs\": 2, \"beside\": 1,"},
		{"\"kernel\": 1, ", "\"kernel\": 1, \"beside\": 1, "},
		{"\"kind\": \"if\"", "\"kind\": \"if\", \"beside\": 1"},
	};
	for (size_t i = 0; i < sizeof CHANGES / sizeof *CHANGES; i++) {
		char *text = replace(PLAN, CHANGES[i][0], CHANGES[i][1]);
		Plan *plan = read_text(text);
		ck_assert_msg(plan != NULL, "%s", error);
		error[0] = 0;
		ck_assert_msg(!plan_verify(plan, 96, error, sizeof error), "took %s", CHANGES[i][1]);
		ck_assert(strstr(error, "not sound") != NULL);
		plan_free(plan);
		free(text);
	}
}
END_TEST

/* clang-format off */
/* A call, or in its place: t from x, y from t. */
static const char COVERED[] =
	"{\"kernels\": [\"k\"], \"symbols\": [], \"dims\": [\"8\", \"32\"], \"buffers\": ["
	"{\"name\": \"x\", \"type\": \"f32\", \"dims\": [0], \"kind\": \"input\", \"index\": 0},"
	"{\"name\": \"t\", \"type\": \"f32\", \"dims\": [0], \"kind\": \"temp\", \"size\": 1,"
	" \"first\": 0, \"last\": 3},"
	"{\"name\": \"y\", \"type\": \"f32\", \"dims\": [0], \"kind\": \"output\", \"index\": 0},"
	"{\"name\": \"z\", \"type\": \"f32\", \"dims\": [0], \"kind\": \"output\", \"index\": 1}],"
	"\"steps\": ["
	"{\"kind\": \"kernel\", \"name\": \"a\", \"kernel\": 0, \"extent\": 0, \"args\": [0, 1],"
	" \"outputs\": 1, \"covered\": 2},"
	"{\"kind\": \"kernel\", \"name\": \"b\", \"kernel\": 0, \"extent\": 0, \"args\": [1, 2],"
	" \"outputs\": 1, \"covered\": 2},"
	"{\"kind\": \"vendor\", \"name\": \"c\", \"library\": \"cudnn\", \"row\": \"conv\","
	" \"args\": [0, 2], \"outputs\": 1},"
	"{\"kind\": \"kernel\", \"name\": \"d\", \"kernel\": 0, \"extent\": 0, \"args\": [2, 3],"
	" \"outputs\": 1}],"
	"\"inputs\": [0], \"outputs\": [2, 3], \"assumptions\": [], \"captures\": 0}";

/* Two steps write parts of y side by side: u and v, of which v begins at dim 2, each of s0 images
 * of 4 elements, 8 from image to image. */
static const char PARTS[] =
	"{\"kernels\": [\"k\"], "
	"\"symbols\": [{\"name\": \"N\", \"lo\": 1, \"hi\": 9, \"from\": \"input\","
	" \"buffer\": 0, \"index\": 0}], \"dims\": [\"s0\", \"8\", \"4\", \"0\", \"1\"],"
	" \"buffers\": ["
	"{\"name\": \"x\", \"type\": \"f32\", \"dims\": [0, 2], \"kind\": \"input\", \"index\": 0},"
	"{\"name\": \"y\", \"type\": \"f32\", \"dims\": [0, 1], \"kind\": \"output\", \"index\": 0},"
	"{\"name\": \"u\", \"type\": \"f32\", \"dims\": [0, 2], \"kind\": \"view\", \"base\": 1,"
	" \"at\": 3, \"strides\": [1, 4]},"
	"{\"name\": \"v\", \"type\": \"f32\", \"dims\": [0, 2], \"kind\": \"view\", \"base\": 1,"
	" \"at\": 2, \"strides\": [1, 4]}],"
	"\"steps\": ["
	"{\"kind\": \"kernel\", \"name\": \"a\", \"kernel\": 0, \"extent\": 0, \"args\": [0, 2],"
	" \"outputs\": 1},"
	"{\"kind\": \"kernel\", \"name\": \"b\", \"kernel\": 0, \"extent\": 0, \"args\": [0, 3],"
	" \"outputs\": 1, \"beside\": 1}],"
	"\"inputs\": [0], \"outputs\": [1], \"assumptions\": [], \"captures\": 0}";
/* clang-format on */

static bool
verifies(const char *text)
{
	Plan *plan = read_text(text);
	ck_assert_msg(plan != NULL, "%s", error);
	bool is_sound = plan_verify(plan, 0, error, sizeof error);
	plan_free(plan);
	return is_sound;
}

/* What a call stands for may be left out: nobody else sees what those steps write. */
START_TEST(covered)
{
	static const char *const SEEN[][2] = {
		{"\"args\": [2, 3]", "\"args\": [1, 3]"}, /* t by the step behind, … */
		{"\"args\": [1, 2], \"outputs\": 1, \"covered\": 2",
	     "\"args\": [1, 2], \"outputs\": 1"},     /* … by the one between, */
		{"\"args\": [0, 2]", "\"args\": [1, 2]"}, /* … by the call */
		{"\"args\": [0, 1], \"outputs\": 1, \"covered\": 2",
	     "\"args\": [0, 3], \"outputs\": 1, \"covered\": 2"}, /* a result of the model */
		{"\"covered\": 2", "\"covered\": 3"},
		{"\"covered\": 2", "\"covered\": 0"},
		{"\"covered\": 2", "\"covered\": 99"},
		{"\"row\": \"conv\",", "\"row\": \"conv\", \"kernel\": 0, \"extent\": 0,"},
		{"\"row\": \"conv\",", "\"row\": \"conv\", \"covered\": 3,"},
	};
	ck_assert_msg(verifies(COVERED), "%s", error);
	for (size_t i = 0; i < sizeof SEEN / sizeof *SEEN; i++) {
		char *text = replace(COVERED, SEEN[i][0], SEEN[i][1]);
		ck_assert_msg(!verifies(text), "took %s", SEEN[i][1]);
		ck_assert_msg(strstr(error, "covered") != NULL, "%s", error);
		free(text);
	}
	/* y, between the step that writes it and the call */
	char *more = replace(COVERED, "{\"kind\": \"vendor\"",
	                     "{\"kind\": \"kernel\", \"name\": \"e\", \"kernel\": 0, \"extent\": 0,"
	                     " \"args\": [2, 3], \"outputs\": 1}, {\"kind\": \"vendor\"");
	char *one = replace(more, "\"covered\": 2", "\"covered\": 3");
	char *both = replace(one, "\"covered\": 2", "\"covered\": 3");
	char *all = replace(both, "\"outputs\": 1}, {\"kind\": \"vendor\"",
	                    "\"outputs\": 1, \"covered\": 3}, {\"kind\": \"vendor\"");
	ck_assert_msg(!verifies(both), "took a step between");
	ck_assert_msg(strstr(error, "covered") != NULL, "%s", error);
	ck_assert_msg(!verifies(all), "took a covered step that writes a result");
	free(more), free(one), free(both), free(all);
}
END_TEST

START_TEST(side_by_side)
{
	static const char *const SHARED[][2] = {
		{"\"at\": 2, \"strides\": [1, 4]", "\"at\": 4, \"strides\": [1, 4]"}, /* from 1 on */
		{"\"at\": 2, \"strides\": [1, 4]", "\"at\": 2, \"strides\": [2, 4]"},
		{"\"args\": [0, 3]", "\"args\": [2, 3]"}, /* reads what the other writes */
		{"\"args\": [0, 3]", "\"args\": [0, 1]"},
	};
	ck_assert_msg(verifies(PARTS), "%s", error);
	for (size_t i = 0; i < sizeof SHARED / sizeof *SHARED; i++) {
		char *text = replace(PARTS, SHARED[i][0], SHARED[i][1]);
		ck_assert_msg(!verifies(text), "took %s", SHARED[i][1]);
		ck_assert_msg(strstr(error, "side by side") != NULL, "%s", error);
		free(text);
	}
	/* b writes to a temporary that is only there when a is done: it may lie where a's does */
	char *late = replace(PARTS, "{\"name\": \"v\"",
	                     "{\"name\": \"t\", \"type\": \"f32\", \"dims\": [0], \"kind\": \"temp\","
	                     " \"size\": 1, \"first\": 1, \"last\": 1}, {\"name\": \"v\"");
	char *taken = replace(late, "\"args\": [0, 3]", "\"args\": [0, 3, 4]");
	char *both = replace(taken, "\"outputs\": 1, \"beside\"", "\"outputs\": 2, \"beside\"");
	ck_assert(!verifies(both));
	ck_assert_msg(strstr(error, "lives in steps 1..1") != NULL, "%s", error);
	free(late), free(taken), free(both);
	char *alone = replace(PARTS, ", \"beside\": 1", "");
	ck_assert_msg(verifies(alone), "%s", error);
	free(alone);
}
END_TEST

/* Cut anywhere, or with bytes changed: a sentence or a plan, never a crash. */
START_TEST(hostile)
{
	size_t size = strlen(PLAN);
	char *text = malloc(size + 1);
	Plan *plan;
	for (size_t cut = 0; cut < size; cut++)
		ck_assert(!plan_read(PLAN, cut, &plan, error, sizeof error));
	srand(11);
	for (int round = 0; round < 3000; round++) {
		memcpy(text, PLAN, size + 1);
		for (int i = rand() % 4; i >= 0; i--)
			text[(size_t)rand() % size] = "0123456789-\"[]{},:s a"[rand() % 21];
		if (plan_read(text, size, &plan, error, sizeof error)) {
			plan_verify(plan, 96, error, sizeof error);
			plan_free(plan);
		}
	}
	free(text);
	char *deep = malloc(200000);
	memset(deep, '[', 199999);
	deep[199999] = 0;
	ck_assert(!plan_read(deep, 199999, &plan, error, sizeof error));
	free(deep);
}
END_TEST

int
main(void)
{
	TCase *t = tcase_create("plan");
	tcase_add_test(t, round_trip);
	tcase_add_test(t, dim_values);
	tcase_add_test(t, placement);
	tcase_add_test(t, views);
	tcase_add_test(t, refused_by_reader);
	tcase_add_test(t, refused_by_verifier);
	tcase_add_test(t, covered);
	tcase_add_test(t, side_by_side);
	tcase_add_test(t, hostile);
	return unit_run(t);
}
