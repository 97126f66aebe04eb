/* Failures: places, kinds, nesting, threads, and processes without a try_run(). */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/fail.h"
#include "unit.h"

typedef struct Case {
	FailKind kind;
	Loc loc;
	const char *message, *text;
} Case;

static void
fail_case(void *arg)
{
	const Case *c = arg;
	fail_as(c->kind, &c->loc, "%s", c->message);
}

/* ---- bugs: the work under way ---- */

static void
fail_in_pass(void *arg)
{
	(void)arg;
	work_begin(&(Loc){.node = "n", .op = "Relu"}, "FuseOps");
	must(arg != NULL);
}

START_TEST(a_bug_says_what_was_under_way)
{
	Failure failure;
	char advice[256];
	Work before = work_begin(&(Loc){.file = "m.onnx"}, NULL);
	ck_assert(!try_run(fail_in_pass, NULL, &failure));
	ck_assert_int_eq(failure.kind, FAIL_BUG);
	ck_assert_ptr_nonnull(strstr(failure.text, "m.onnx: node \"n\" (Relu): "));
	ck_assert_ptr_nonnull(strstr(failure.text, "base_fail.c"));
	ck_assert_ptr_nonnull(strstr(failure.text, "expected arg != NULL"));
	ck_assert_str_eq(failure.pass, "FuseOps");
	bug_advice(advice, sizeof advice, &failure);
	ck_assert_ptr_nonnull(strstr(advice, "--disable FuseOps"));
	/* what try_run() found is there again */
	ck_assert_ptr_null(work_now().loc.node);
	ck_assert_ptr_null(work_now().pass);
	ck_assert_str_eq(work_now().loc.file, "m.onnx");
	work_end(before);
	ck_assert_ptr_null(work_now().loc.file);
}
END_TEST

START_TEST(places_are_written_in_front)
{
	Case cases[] = {
		{FAIL_INVALID,
	     {"m.onnx", 0, "conv1", "Conv"},
	     "group 3 does not divide 64 channels",
	     "m.onnx: node \"conv1\" (Conv): group 3 does not divide 64 channels"},
		{FAIL_INVALID, {"f.t", 7, NULL, NULL}, "expected ')'", "f.t:7: expected ')'"},
		{FAIL_USAGE, {NULL, 0, "n", NULL}, "x", "node \"n\": x"},
		{FAIL_BUG, {NULL, 0, NULL, "Relu"}, "x", "(Relu): x"},
		{FAIL_UNSUPPORTED, {NULL, 9, NULL, NULL}, "x", "x"},
		{FAIL_COMPARISON, {"a\nb", 0, NULL, NULL}, "two\nlines\x1b", "a?b: two?lines?"},
	};
	for (size_t i = 0; i < countof(cases); i++) {
		Failure failure;
		ck_assert(!try_run(fail_case, &cases[i], &failure));
		ck_assert_int_eq(failure.kind, cases[i].kind);
		ck_assert_str_eq(failure.text, cases[i].text);
	}
}
END_TEST

START_TEST(long_texts_are_cut)
{
	char *name = malloc(100001);
	memset(name, 'n', 100000);
	name[100000] = 0;
	Case c = {FAIL_INVALID, {name, 1, name, name}, "the message stays", NULL};
	Failure failure;
	ck_assert(!try_run(fail_case, &c, &failure));
	ck_assert_ptr_nonnull(strstr(failure.text, ": the message stays"));
	c = (Case){FAIL_INVALID, {0}, name, NULL};
	ck_assert(!try_run(fail_case, &c, &failure));
	ck_assert_uint_eq(strlen(failure.text), sizeof failure.text - 1);
	free(name);
}
END_TEST

static void
succeed(void *arg)
{
	*(int *)arg += 1;
}

/* Three levels: the inner failure is caught, looked at and passed on. */
static void
nest(void *arg)
{
	int *calls = arg;
	Failure failure;
	Case c = {FAIL_UNSUPPORTED, {0}, "inner", NULL};
	ck_assert(try_run(succeed, calls, &failure));
	ck_assert(!try_run(fail_case, &c, &failure));
	ck_assert_str_eq(failure.text, "inner");
	ck_assert(try_run(succeed, calls, &failure));
	fail_again(&failure);
}

START_TEST(failures_nest)
{
	int calls = 0;
	Failure failure;
	for (int i = 0; i < 1000; i++)
		ck_assert(!try_run(nest, &calls, &failure));
	ck_assert_int_eq(failure.kind, FAIL_UNSUPPORTED);
	ck_assert_str_eq(failure.text, "inner");
	ck_assert_int_eq(calls, 2000);
}
END_TEST

typedef struct Worker {
	int number, right;
} Worker;

static void
fail_numbered(void *arg)
{
	fail(NULL, "worker %d", ((Worker *)arg)->number);
}

static void *
work(void *arg)
{
	Worker *worker = arg;
	char expected[32];
	snprintf(expected, sizeof expected, "worker %d", worker->number);
	for (int i = 0; i < 20000; i++) {
		Failure failure;
		if (!try_run(fail_numbered, worker, &failure) && strcmp(failure.text, expected) == 0)
			worker->right++;
	}
	return NULL;
}

START_TEST(threads_do_not_meet)
{
	pthread_t threads[4];
	Worker workers[4] = {0};
	for (int i = 0; i < 4; i++) {
		workers[i].number = i;
		ck_assert_int_eq(pthread_create(&threads[i], NULL, work, &workers[i]), 0);
	}
	for (int i = 0; i < 4; i++) {
		pthread_join(threads[i], NULL);
		ck_assert_int_eq(workers[i].right, 20000);
	}
}
END_TEST

START_TEST(without_a_frame_the_kind_is_the_exit_code)
{
	ck_assert_ptr_nonnull(freopen("/dev/null", "w", stderr));
	fail_unsupported(NULL, "nobody catches this");
}
END_TEST

int
main(void)
{
	TCase *tcase = tcase_create("fail");
	tcase_add_test(tcase, places_are_written_in_front);
	tcase_add_test(tcase, long_texts_are_cut);
	tcase_add_test(tcase, failures_nest);
	tcase_add_test(tcase, a_bug_says_what_was_under_way);
	tcase_add_test(tcase, threads_do_not_meet);
	tcase_add_exit_test(tcase, without_a_frame_the_kind_is_the_exit_code, FAIL_UNSUPPORTED);
	return unit_run(tcase);
}
