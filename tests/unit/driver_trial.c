/* Turns of a model with and without a pass: how many are taken until the times have decided. The
 * clock of the program is made up, for whoever asks: each look at it takes as long as the turn at
 * work says. Turns are taken in this process. */
#include <time.h>
#include <unistd.h>

#include "driver/compile.h"
#include "driver/measure/trial.h"
#include "graph/infer.h"
#include "graph/text.h"
#include "unit.h"

enum { SUBJECTS = 2 };

typedef struct Case {
	double steps[SUBJECTS][2]; /* seconds of a look, in rounds in turn */
	int least, most;           /* turns */
} Case;

static const Case cases[] = {
	{{{1e-4, 1e-4}, {1.2e-4, 1.2e-4}}, 16, 24},    /* each turn says the same: a few rounds */
	{{{1.2e-4, 1.2e-4}, {1e-4, 1e-4}}, 16, 24},    /* whichever is the faster */
	{{{1.3e-4, 1e-4}, {1.1e-4, 1.2e-4}}, 60, 120}, /* they lie between one another */
};

static const Case *now;
static int turns;
static uint64_t nanoseconds;

static uint64_t
step_of(int turn)
{
	if (!now)
		return 1000;
	return (uint64_t)(now->steps[turn % SUBJECTS][turn / (2 * SUBJECTS) % 2] * 1e9);
}

int look_at_clock(clockid_t clock, struct timespec *time) __asm__("clock_gettime");

int
look_at_clock(clockid_t clock, struct timespec *time)
{
	(void)clock;
	uint64_t at = __atomic_add_fetch(&nanoseconds, step_of(turns), __ATOMIC_RELAXED);
	*time = (struct timespec){(time_t)(at / 1000000000), (long)(at % 1000000000)};
	return 0;
}

bool
run_limited(double seconds, void (*step)(void *), void *arg, void *result, size_t size,
            const char **why)
{
	(void)seconds, (void)result, (void)size, (void)why;
	step(arg);
	return true;
}

/* Each turn begins by setting the time it may take, and ends by taking that back. */
unsigned
alarm(unsigned seconds)
{
	turns += seconds == 0;
	return 0;
}

static void
compile_trial(const Options *options, Arena *arena, const Graph *graph, const char *output)
{
	compile_given(options, arena, graph, output);
}

START_TEST(rounds_end_when_decided)
{
	Arena *arena = arena_new("test");
	now = &cases[_i];
	turns = 0;
	Options options = {.arena = arena, .seed = 1, .threads = 1};
	Graph *graph = graph_parse(arena, "text", "graph g(%x: f32[64]) -> %y { %y = Exp(%x) }");
	graph_infer(graph);
	const Map choices = {.arena = arena};
	const TrialModel model = {graph, NULL, "DeriveExpressions", &choices, NULL};
	double without[2], with[2];
	bool is_noisy;
	ck_assert(
		trial_pass(&options, arena, "cpu:native", compile_trial, &model, without, with, &is_noisy));
	ck_assert_msg(turns >= now->least && turns <= now->most, "%d turns", turns);
	arena_free(arena);
}
END_TEST

int
main(void)
{
	TCase *tcase = tcase_create("trial");
	tcase_add_loop_test(tcase, rounds_end_when_decided, 0, (int)countof(cases));
	return unit_run(tcase);
}
