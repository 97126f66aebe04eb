/* Random programs of threads, with and without the barriers they need.
 *
 * A program is a list of steps that all threads take: loads and stores of shared arrays and of the
 * result at shuffled places, asynchronous copies, shuffles among lanes, barriers, loops. It is
 * written down twice: as threads, and as plain loops, where each step is done for all threads
 * before the next. A model that lists each access tells whether two unordered ones meet, or one
 * meets a copy on its way. kernel_eval() must report a mistake exactly then, and otherwise compute
 * what the plain loops do. No pass over loops changes that.
 */
#include <stdio.h>
#include <string.h>

#include "kernels.h"
#include "loop_passes.h"
#include "thread_steps.h"
#include "unit.h"

enum { PROGRAMS = 6000 };

typedef struct Job {
	const char *text;
	bool takes_passes;
	Array *result;
} Job;

static void
evaluate(void *arg)
{
	Job *job = arg;
	Kernel *kernel = read_kernel(printed(read_kernel(job->text)));
	kernel_check(kernel);
	if (job->takes_passes)
		take_passes(kernel);
	job->result = evaluated(kernel);
}

static void
compare(const char *text, const Array *a, const Array *b)
{
	for (int64_t i = 0; i < array_count(a); i++)
		ck_assert_msg(dtype_load_i64(DT_I64, a->data, i) == dtype_load_i64(DT_I64, b->data, i),
		              "element %d differs from plain loops:\n%s", (int)i, text);
}

START_TEST(test_programs)
{
	int wrong = 0;
	for (uint64_t seed = 1; seed <= PROGRAMS; seed++) {
		setup();
		uint64_t state = seed;
		Steps steps = make_steps(&state);
		Job threads = {program_text(&steps, false), false, NULL};
		Job plain = {program_text(&steps, true), false, NULL};
		Failure failure;
		bool is_right = try_run(evaluate, &threads, &failure), expected = !is_wrong(&steps);
		ck_assert_msg(is_right || strstr(failure.text, "nothing orders them") ||
		                  strstr(failure.text, "before its copy has been waited for"),
		              "seed %d: %s\n%s", (int)seed, failure.text, threads.text);
		ck_assert_msg(is_right == expected, "seed %d: %s\n%s", (int)seed,
		              is_right ? "a mistake was not found" : failure.text, threads.text);
		if (is_right) {
			evaluate(&plain);
			compare(threads.text, threads.result, plain.result);
			threads.takes_passes = true;
			ck_assert_msg(try_run(evaluate, &threads, &failure), "seed %d: %s\n%s", (int)seed,
			              failure.text, threads.text);
			compare(threads.text, threads.result, plain.result);
		}
		wrong += !is_right;
		teardown();
	}
	ck_assert_msg(wrong > PROGRAMS / 5 && wrong < PROGRAMS * 4 / 5, "%d of %d are wrong", wrong,
	              PROGRAMS);
}
END_TEST

int
main(void)
{
	TCase *tests = tcase_create("programs");
	tcase_add_test(tests, test_programs);
	return unit_run(tests);
}
