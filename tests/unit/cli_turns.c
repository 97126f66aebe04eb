/* Verdicts on made-up turns: what random noise may be called, and what a difference must be. */
#include "unit.h"

#include <math.h>
#include <string.h>

#include "cli/measure/turns.h"
#include "random_number.h"

enum { TRIES = 4000 };

/* Around 1, with a few turns that something else has held up. */
static double
noise(uint64_t *state, double share)
{
	double x = 0;
	for (int i = 0; i < 6; i++)
		x += (random_below(state, 20001) / 10000.0 - 1) / 3;
	return 1 + share * x + (random_below(state, 20) == 0 ? 0.5 : 0);
}

/* The ratio of so many rounds, of which the second subject's turns take `times` as long. */
static Ratio
ratio_of(Arena *arena, uint64_t *state, int rounds, double times, double share)
{
	Subject a = {.text = "a"}, b = {.text = "b"};
	for (int i = 0; i < rounds; i++) {
		double weather = noise(state, 0.2); /* that both see */
		vec_push(arena, &a.turns, weather * noise(state, share));
		vec_push(arena, &b.turns, weather * noise(state, share) * times);
	}
	return turns_ratio(arena, &a, &b);
}

/* Of tries: how often the interval of so many rounds leaves the true ratio out. */
static int
misses(int rounds, double times)
{
	Arena *arena = arena_new("test");
	uint64_t state = (uint64_t)rounds;
	int count = 0;
	for (int i = 0; i < TRIES; i++) {
		Ratio ratio = ratio_of(arena, &state, rounds, times, 0.05);
		count += ratio.lower > times || ratio.upper < times;
		ck_assert(ratio.lower <= ratio.middle && ratio.middle <= ratio.upper);
		arena_reset(arena);
	}
	arena_free(arena);
	return count;
}

/* Each look misses once in 80 times or less, so that four of them do once in 20; and the interval
 * is no wider than that needs: rounds that are sixteen times as many miss about as often. */
START_TEST(intervals_hold)
{
	static const int looks[] = {8, 16, 32, 64};
	for (int i = 0; i < 4; i++) {
		ck_assert_int_le(misses(looks[i], 1), TRIES / 80 * 4 / 3);
		ck_assert_int_le(misses(looks[i], 1.1), TRIES / 80 * 4 / 3);
	}
	ck_assert_int_ge(misses(64, 1), TRIES / 400);
}
END_TEST

static const char *
verdict_of(int rounds, double times, double share)
{
	Arena *arena = arena_new("test");
	uint64_t state = 7;
	const char *verdict = ratio_of(arena, &state, rounds, times, share).verdict;
	arena_free(arena);
	return verdict;
}

START_TEST(verdicts)
{
	ck_assert_str_eq(verdict_of(64, 1.05, 0.005), "slower");
	ck_assert_str_eq(verdict_of(64, 0.95, 0.005), "faster");
	ck_assert_str_eq(verdict_of(64, 1, 0.005), "not distinguishable");
	ck_assert_str_eq(verdict_of(64, 1.01, 0.005), "not distinguishable");
	ck_assert_str_eq(verdict_of(8, 1.02, 0.1), "undecided");
	ck_assert_str_eq(verdict_of(7, 2, 0.005), "too few rounds to say");
}
END_TEST

int
main(void)
{
	TCase *t = tcase_create("turns");
	tcase_add_test(t, intervals_hold);
	tcase_add_test(t, verdicts);
	return unit_run(t);
}
