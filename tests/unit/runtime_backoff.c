/* How many workers take part behind one that was stopped (runtime/backoff.h), by clocks of ours. */
#include "unit.h"

#include "runtime/backoff.h"

START_TEST(all_take_part_where_none_is_stopped)
{
	Backoff b = {0};
	for (int i = 0; i < 100; i++)
		ck_assert_int_eq(backoff_width(&b, 4, i * 0.01), 4);
}
END_TEST

/* One fewer for a pause, and then one more is tried. */
START_TEST(one_fewer_for_a_pause)
{
	Backoff b = {0};
	backoff_lost(&b, 4, 1e-3, 10);
	ck_assert_int_eq(backoff_width(&b, 4, 10), 3);
	ck_assert_int_eq(backoff_width(&b, 4, 10 + b.pause * 0.9), 3);
	ck_assert_int_eq(backoff_width(&b, 4, 10 + b.pause * 1.1), 4);
}
END_TEST

/* What is lost is borne as long as more was gained of late. */
START_TEST(small_losses_are_borne)
{
	Backoff b = {0};
	for (int i = 0; i < 100; i++) {
		backoff_gained(&b, 3e-3);
		backoff_lost(&b, 2, 2e-3, 1 + i * 1e-2);
		ck_assert_int_eq(backoff_width(&b, 2, 1 + i * 1e-2), 2);
	}
	int lost = 0; /* ms: whatever was gained before */
	while (backoff_width(&b, 2, 3) == 2)
		backoff_lost(&b, 2, 1e-3, 3), lost++;
	ck_assert_int_lt(lost, 20);
}
END_TEST

/* Where it is stopped again and again, hardly any time is spent on trying. */
START_TEST(pauses_grow_and_are_bounded)
{
	Backoff b = {0};
	int tried = 0;
	for (int ms = 0; ms < 20000; ms++) {
		double now = 1 + ms * 1e-3;
		if (backoff_width(&b, 2, now) == 2) {
			tried++;
			backoff_lost(&b, 2, 1e-3, now);
		}
	}
	ck_assert_int_gt(tried, 20);
	ck_assert_int_lt(tried, 60);
}
END_TEST

/* Who is never stopped again works with all, and a later stop is a short pause. */
START_TEST(pauses_are_forgotten)
{
	Backoff b = {0};
	double now = 1;
	for (int i = 0; i < 20; i++, now = b.until)
		backoff_lost(&b, 2, 1e-3, now);
	double longest = b.pause;
	for (int i = 0; i < 3; i++, now = b.until)
		backoff_width(&b, 2, b.until);
	ck_assert_int_eq(backoff_width(&b, 2, now), 2);
	backoff_lost(&b, 2, 1e-3, now + 100);
	ck_assert(b.pause < longest / 10);
}
END_TEST

/* Never below one, and a caller that asks for fewer is not held to less than that. */
START_TEST(one_always_works)
{
	Backoff b = {0};
	for (int i = 0; i < 50; i++)
		backoff_lost(&b, 4, 1e-3, 1);
	ck_assert_int_eq(backoff_width(&b, 4, 1), 1);
	ck_assert_int_eq(backoff_width(&b, 2, 1), 1);
}
END_TEST

int
main(void)
{
	TCase *t = tcase_create("backoff");
	tcase_add_test(t, all_take_part_where_none_is_stopped);
	tcase_add_test(t, one_fewer_for_a_pause);
	tcase_add_test(t, small_losses_are_borne);
	tcase_add_test(t, pauses_grow_and_are_bounded);
	tcase_add_test(t, pauses_are_forgotten);
	tcase_add_test(t, one_always_works);
	return unit_run(t);
}
