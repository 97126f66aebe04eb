/* Nested plans: If, Loop and Scan as ONNX defines them, with captures. */
#include <stdio.h>

#include "runtime_rig.h"

/* clang-format off */
#define INNER_SYMBOL SYMBOL_N
#define CAPTURED_X BUFFER("x", "f32", "[0]", "\"kind\": \"capture\", \"index\": 0")

/* y = c ? 2x+1 : x+x */
static const char IF[] =
	"{" SYMBOL_N ", \"dims\": [\"s0\", \"1\"], \"buffers\": ["
	BUFFER("x", "f32", "[0]", "\"kind\": \"input\", \"index\": 0") ","
	BUFFER("c", "bool", "[]", "\"kind\": \"input\", \"index\": 1") ","
	BUFFER("y", "f32", "[0]", "\"kind\": \"output\", \"index\": 0")
	"], \"steps\": [{\"kind\": \"if\", \"name\": \"if\", \"args\": [1, 2], \"outputs\": 1,"
	" \"bodies\": [{" INNER_SYMBOL ", \"dims\": [\"s0\"], \"buffers\": [" CAPTURED_X ","
	BUFFER("o", "f32", "[0]", "\"kind\": \"output\", \"index\": 0") "],"
	" \"steps\": [" KERNEL(0, 0, "[0, 1]") "], \"inputs\": [], \"outputs\": [1], " NOTHING "},"
	"{" INNER_SYMBOL ", \"dims\": [\"s0\"], \"buffers\": [" CAPTURED_X ","
	BUFFER("o", "f32", "[0]", "\"kind\": \"output\", \"index\": 0") "],"
	" \"steps\": [" KERNEL(1, 0, "[0, 0, 1]") "], \"inputs\": [], \"outputs\": [1], "
	NOTHING "}]}],"
	"\"inputs\": [0, 1], \"outputs\": [2], " NOTHING "}";
/* clang-format on */

START_TEST(if_step)
{
	Rig rig;
	rig_open(&rig, IF, 1);
	float x[3] = {1, 2, 3}, y[3];
	int64_t n = 3;
	bool condition;
	Array inputs[2] = {vector(x, &n), {DT_BOOL, 0, NULL, &condition}};
	for (int round = 0; round < 4; round++) {
		condition = round % 2;
		ck_assert_msg(rig_run(&rig, inputs, y, sizeof y) == TW_OK, "%s", rig.error.text);
		for (int i = 0; i < 3; i++)
			ck_assert(y[i] == (condition ? 2 * x[i] + 1 : x[i] + x[i]));
	}
	rig_close(&rig);
}
END_TEST

/* clang-format off */
/* Loop: v = v + x (captured) while number < 3 and at most M times; y = v, and all v collected.
 * The trip count decides the size of `all`. */
static const char LOOP[] =
	"{\"symbols\": [{\"name\": \"N\", \"lo\": 1, \"hi\": 99, \"from\": \"input\", \"buffer\": 0,"
	" \"index\": 0}, {\"name\": \"T\", \"lo\": 0, \"hi\": 99, \"from\": \"output\", \"buffer\": 3,"
	" \"index\": 0, \"step\": 1}], \"dims\": [\"s0\", \"s1\", \"s0 4 *\"], \"buffers\": ["
	BUFFER("x", "f32", "[0]", "\"kind\": \"input\", \"index\": 0") ","
	BUFFER("m", "i64", "[]", "\"kind\": \"input\", \"index\": 1") ","
	BUFFER("v", "f32", "[0]", "\"kind\": \"temp\", \"size\": 2, \"first\": 0, \"last\": 1") ","
	BUFFER("all", "f32", "[1, 0]", "\"kind\": \"output\", \"index\": 0") ","
	BUFFER("y", "f32", "[0]", "\"kind\": \"output\", \"index\": 1")
	"], \"steps\": [{\"kind\": \"loop\", \"name\": \"loop\", \"args\": [1, -1, 0, 2, 3],"
	" \"outputs\": 2, \"bodies\": [{"
	"\"symbols\": [{\"name\": \"N\", \"lo\": 1, \"hi\": 99, \"from\": \"input\", \"buffer\": 0,"
	" \"index\": 0}, {\"name\": \"T\", \"lo\": 0, \"hi\": 99, \"from\": \"output\", \"buffer\": 3,"
	" \"index\": 0, \"step\": 1}], \"dims\": [\"s0\", \"1\"], \"buffers\": [" CAPTURED_X ","
	BUFFER("number", "i64", "[]", "\"kind\": \"input\", \"index\": 0") ","
	BUFFER("go", "bool", "[]", "\"kind\": \"input\", \"index\": 1") ","
	BUFFER("in", "f32", "[0]", "\"kind\": \"input\", \"index\": 2") ","
	BUFFER("more", "bool", "[]", "\"kind\": \"output\", \"index\": 0") ","
	BUFFER("out", "f32", "[0]", "\"kind\": \"output\", \"index\": 1") ","
	BUFFER("each", "f32", "[0]", "\"kind\": \"output\", \"index\": 2") "],"
	" \"steps\": [" KERNEL(4, 1, "[1, 4]") "," KERNEL(1, 0, "[3, 0, 5]") ","
	"{\"kind\": \"copy\", \"name\": \"copy\", \"args\": [5, 6], \"outputs\": 1}],"
	" \"inputs\": [1, 2, 3], \"outputs\": [4, 5, 6], " NOTHING "}]},"
	"{\"kind\": \"copy\", \"name\": \"copy\", \"args\": [2, 4], \"outputs\": 1}],"
	"\"inputs\": [0, 1], \"outputs\": [3, 4], " NOTHING "}";
/* clang-format on */

START_TEST(loop_step)
{
	Rig rig;
	rig_open(&rig, LOOP, 1);
	float x[2] = {1, 10};
	int64_t n = 2, trips;
	Array inputs[2] = {vector(x, &n), {DT_I64, 0, NULL, &trips}};
	int allocations = 0;
	for (int round = 0; round < 6; round++) {
		trips = (int64_t[]){9, 2, 0, 1, -4, 9}[round];
		int64_t done = trips < 0 ? 0 : trips > 4 ? 4 : trips; /* number 3 says stop */
		ck_assert_msg(rig_run(&rig, inputs, NULL, 0) == TW_OK, "%s", rig.error.text);
		const Slot *all = &rig.exec.main->slots[3], *last = &rig.exec.main->slots[4];
		ck_assert_int_eq(all->dims[0], done);
		ck_assert_int_eq(all->dims[1], 2);
		for (int64_t t = 0; t < done; t++)
			for (int i = 0; i < 2; i++)
				ck_assert(((float *)(void *)all->data)[2 * t + i] == x[i] * (float)(t + 2));
		for (int i = 0; i < 2; i++)
			ck_assert(((float *)(void *)last->data)[i] == x[i] * (float)(done + 1));
		if (round == 0)
			allocations = rig.allocations;
	}
	ck_assert_int_eq(rig.allocations, allocations);
	rig_close(&rig);
}
END_TEST

enum { MAX_LENGTH = 6 };

/* clang-format off */
/* Scan: s = s + slice; outputs s each time. The test fills in length, axes and directions. */
static const char SCAN[] =
	"{\"symbols\": [], \"dims\": [\"2\", \"%d\", \"8\"], \"buffers\": ["
	BUFFER("s", "f32", "[0]", "\"kind\": \"input\", \"index\": 0") ","
	BUFFER("x", "f32", "%s", "\"kind\": \"input\", \"index\": 1") ","
	BUFFER("f", "f32", "[0]", "\"kind\": \"temp\", \"size\": 2, \"first\": 0, \"last\": 0") ","
	BUFFER("y", "f32", "%s", "\"kind\": \"output\", \"index\": 0")
	"], \"steps\": [{\"kind\": \"scan\", \"name\": \"scan\", \"args\": [0, 1, 2, 3],"
	" \"outputs\": 2, \"attrs\": [{\"name\": \"num_scan_inputs\", \"ints\": [1]},"
	" {\"name\": \"scan_input_axes\", \"ints\": [%d]},"
	" {\"name\": \"scan_output_axes\", \"ints\": [%d]},"
	" {\"name\": \"scan_input_directions\", \"ints\": [%d]},"
	" {\"name\": \"scan_output_directions\", \"ints\": [%d]}], \"bodies\": [{\"symbols\": [],"
	" \"dims\": [\"2\"], \"buffers\": ["
	BUFFER("a", "f32", "[0]", "\"kind\": \"input\", \"index\": 0") ","
	BUFFER("b", "f32", "[0]", "\"kind\": \"input\", \"index\": 1") ","
	BUFFER("c", "f32", "[0]", "\"kind\": \"output\", \"index\": 0") ","
	BUFFER("d", "f32", "[0]", "\"kind\": \"output\", \"index\": 1") "],"
	" \"steps\": [" KERNEL(1, 0, "[0, 1, 2]") "," KERNEL(1, 0, "[0, 1, 3]") "],"
	" \"inputs\": [0, 1], \"outputs\": [2, 3], " NOTHING "}]}],"
	"\"inputs\": [0, 1], \"outputs\": [3], " NOTHING "}";
/* clang-format on */

/* `mode`: axis and direction of the input and of the output, a bit each. */
static void
check_scan(int mode, int length)
{
	int in = mode & 1, out = mode >> 1 & 1, back_in = mode >> 2 & 1, back_out = mode >> 3;
	char text[4000];
	snprintf(text, sizeof text, SCAN, length, in ? "[0, 1]" : "[1, 0]", out ? "[0, 1]" : "[1, 0]",
	         in ? -1 : 0, out, back_in, back_out);
	Rig rig;
	rig_open(&rig, text, 1);
	float s[2] = {100, 200}, x[2 * MAX_LENGTH], y[2 * MAX_LENGTH], sum[2] = {100, 200};
	int64_t two = 2, dims[2] = {in ? 2 : length, in ? length : 2};
	for (int t = 0; t < length; t++)
		for (int i = 0; i < 2; i++)
			x[in ? i * length + t : t * 2 + i] = (float)(10 * t + i + 1);
	Array inputs[2] = {vector(s, &two), {DT_F32, 2, dims, x}};
	ck_assert_msg(rig_run(&rig, inputs, y, (size_t)(8 * length)) == TW_OK, "%s", rig.error.text);
	for (int t = 0; t < length; t++)
		for (int i = 0; i < 2; i++) {
			int from = back_in ? length - 1 - t : t, to = back_out ? length - 1 - t : t;
			sum[i] += (float)(10 * from + i + 1);
			float seen = y[out ? i * length + to : to * 2 + i];
			ck_assert_msg(seen == sum[i], "mode %d, slice %d of %d: %g instead of %g", mode, to,
			              length, (double)seen, (double)sum[i]);
		}
	rig_close(&rig);
}

START_TEST(scan_step)
{
	for (int mode = 0; mode < 16; mode++)
		for (int length = 0; length <= MAX_LENGTH; length++)
			check_scan(mode, length);
}
END_TEST

int
main(void)
{
	TCase *t = tcase_create("flow");
	tcase_add_test(t, if_step);
	tcase_add_test(t, loop_step);
	tcase_add_test(t, scan_step);
	return unit_run(t);
}
