/* Times of repeated runs, and names that nothing has. */
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/fail.h"
#include "unit.h"

START_TEST(quantiles_lie_between_measurements)
{
	double odd[] = {5, 1, 3}, even[] = {4, 1, 3, 2};
	ck_assert(quantile_of(0, odd, 0.5) == 0);
	ck_assert(median_of(3, odd) == 3 && median_of(4, even) == 2.5);
	ck_assert(odd[0] == 1 && odd[2] == 5); /* sorted */
	ck_assert(quantile_of(3, odd, 0) == 1 && quantile_of(3, odd, 1) == 5);
	ck_assert(quantile_of(3, odd, 0.25) == 2 && quantile_of(4, even, 0.75) == 3.25);
	ck_assert(quantile_of(1, odd, 0.75) == 1);
}
END_TEST

START_TEST(spread_is_a_share_of_the_median)
{
	double steady[] = {2, 2, 2, 9}, wild[] = {1, 2, 3, 4, 5}, none[] = {0, 0};
	ck_assert(timing_of(4, steady).seconds == 2 && timing_of(4, steady).spread == 0.875);
	ck_assert(timing_of(3, steady).spread == 0); /* one run of four may be disturbed */
	ck_assert(timing_of(5, wild).seconds == 3 && timing_of(5, wild).spread == 2.0 / 3);
	ck_assert(timing_of(2, none).spread == 0 && timing_of(0, none).spread == 0);
}
END_TEST

static const char *const NAMES[] = {"compile", "check", "run", "print"};

START_TEST(near_names)
{
	ck_assert_str_eq(name_near("complie", 4, NAMES), "compile");
	ck_assert_str_eq(name_near("prnt", 4, NAMES), "print");
	ck_assert_ptr_null(name_near("optimise", 4, NAMES));
	char tall[200];
	memset(tall, 'x', sizeof tall);
	tall[199] = 0;
	const char *names[] = {tall};
	ck_assert_ptr_null(name_near("run", 1, names)); /* too long to compare */
	ck_assert(word_among("steps", "steps|none") && word_among("none", "steps|none"));
	ck_assert(!word_among("step", "steps|none") && !word_among("", "steps|none"));
	ck_assert(!word_among("steps|none", "steps|none"));
}
END_TEST

typedef struct Question {
	int count;
	const char *const *names;
	const char *wrong, *command;
} Question;

static void
ask(void *arg)
{
	const Question *q = arg;
	fail_unknown(NULL, "verb", q->wrong, q->count, q->names, q->command);
}

static void
must_say(const char *text, Question question)
{
	Failure failure;
	ck_assert(!try_run(ask, &question, &failure));
	ck_assert_int_eq(failure.kind, FAIL_USAGE);
	ck_assert_str_eq(failure.text, text);
}

START_TEST(unknown_names_are_refused_in_one_sentence)
{
	must_say("there is no verb 'runn'; did you mean 'run'? (tilewright --help shows all)",
	         (Question){4, NAMES, "runn", "--help"});
	must_say("there is no verb 'fly' (there are: compile, check, run, print)",
	         (Question){4, NAMES, "fly", NULL});
	must_say("there is no verb 'fly' (there is none)", (Question){0, NAMES, "fly", NULL});
	const char *many[100];
	for (int i = 0; i < 100; i++)
		many[i] = "abcdefghijklmnopqrstuvwxyzabcdefghijklmnopqrstuvwxyzabcdefghijklmnop";
	Failure failure;
	ck_assert(!try_run(ask, &(Question){100, many, "z", NULL}, &failure));
	ck_assert(strlen(failure.text) < 700);
}
END_TEST

int
main(void)
{
	TCase *tcase = tcase_create("words");
	tcase_add_test(tcase, quantiles_lie_between_measurements);
	tcase_add_test(tcase, spread_is_a_share_of_the_median);
	tcase_add_test(tcase, near_names);
	tcase_add_test(tcase, unknown_names_are_refused_in_one_sentence);
	return unit_run(tcase);
}
