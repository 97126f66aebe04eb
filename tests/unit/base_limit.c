/* Steps in a process of their own: what comes back, and what takes too long or dies. */
#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fail.h"
#include "unit.h"

enum { LARGE = 1 << 20 }; /* more than a pipe holds */

static char answer[LARGE];
static int elsewhere;

static void
fill(void *arg)
{
	memset(answer, *(int *)arg, sizeof answer);
	elsewhere = 1;
}

static void
never_end(void *arg)
{
	(void)arg;
	for (volatile int i = 0;; i = !i)
		continue;
}

static void
die(void *arg)
{
	(void)arg;
	kill(getpid(), SIGKILL);
}

START_TEST(the_result_alone_comes_back)
{
	const char *why;
	int byte = 7;
	ck_assert(run_limited(100, fill, &byte, answer, sizeof answer, &why));
	ck_assert(!why && answer[0] == 7 && answer[LARGE - 1] == 7);
	ck_assert_int_eq(elsewhere, 0);
}
END_TEST

START_TEST(what_does_not_end_is_ended)
{
	const char *why;
	double begin = now_seconds();
	ck_assert(!run_limited(0.2, never_end, NULL, answer, sizeof answer, &why));
	ck_assert_str_eq(why, "it takes too long");
	ck_assert(now_seconds() - begin >= 0.2);
}
END_TEST

START_TEST(what_dies_is_said)
{
	const char *why;
	ck_assert(!run_limited(100, die, NULL, answer, sizeof answer, &why));
	ck_assert_str_eq(why, "its process died");
}
END_TEST

int
main(void)
{
	TCase *tcase = tcase_create("limit");
	tcase_add_test(tcase, the_result_alone_comes_back);
	tcase_add_test(tcase, what_does_not_end_is_ended);
	tcase_add_test(tcase, what_dies_is_said);
	return unit_run(tcase);
}
