/* What every unit test begins with: Check, without its macro `fail`, and a main() in one line.
 *
 *     int main(void)
 *     { TCase *t = tcase_create("map"); tcase_add_test(t, order); return unit_run(t); }
 */
#ifndef UNIT_H
#define UNIT_H

#include <check.h>
#include <stdlib.h>
#undef fail

/* ck_assert_msg() for each of many elements: that one writes a message to a file also where all is
 * well, to say where a test was when it crashed; of millions this takes minutes. */
#define ck_element_msg(condition, ...) \
	do { \
		if (!(condition)) \
			ck_abort_msg(__VA_ARGS__); \
	} while (0)

/* How many cases to try: what the environment says under this name, else `otherwise`. */
static inline int
unit_count(const char *name, int otherwise)
{
	const char *given = getenv(name);
	return given ? atoi(given) : otherwise;
}

/* Run the tests of one case, each for so many seconds at most; the exit code of main(). */
static inline int
unit_run_for(TCase *tcase, double seconds)
{
	tcase_set_timeout(tcase, seconds);
	Suite *suite = suite_create("unit");
	suite_add_tcase(suite, tcase);
	SRunner *runner = srunner_create(suite);
	srunner_run_all(runner, CK_NORMAL);
	int failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed != 0;
}

static inline int
unit_run(TCase *tcase)
{
	return unit_run_for(tcase, 600); /* the longest with sanitizers, on busy machines */
}

#endif
