/* Profiles of made-up steps: which runs count, and whose steps are whose. */
#include "unit.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "cli/measure/profile.h"

static Arena *arena;

static void
begin(void)
{
	arena = arena_new("test");
}

static void
end(void)
{
	arena_free(arena);
}

static void
step(Profile *profile, int depth, int index, const char *name, double seconds, const char *units)
{
	TwStep step = {.size = sizeof step,
	               .index = index,
	               .depth = depth,
	               .name = name,
	               .origins = "",
	               .kind = "kernel",
	               .impl = "",
	               .flops = 1.76e9,
	               .units = units,
	               .seconds = seconds};
	profile_step(profile, &step);
}

/* A loop of two trips, which is told of behind what it runs, and a step behind it. */
static void
run(Profile *profile, double trip, double behind)
{
	profile_begin(profile);
	step(profile, 1, 0, "trip", trip, "s8");
	step(profile, 1, 0, "trip", trip, "s8");
	step(profile, 0, 0, "loop", 2 * trip, "");
	step(profile, 0, 1, "behind", behind, "f16");
}

static const char *
text_of(const char *path)
{
	Bytes bytes = file_map(arena, path);
	return arena_strndup(arena, (const char *)bytes.data, bytes.size);
}

/* The report, for people. */
static const char *
printed(Profile *profile)
{
	char path[] = "/tmp/tw-profile-XXXXXX";
	int file = mkstemp(path), before = dup(STDOUT_FILENO);
	ck_assert_int_ge(file, 0);
	fflush(stdout);
	dup2(file, STDOUT_FILENO);
	Options options = {.arena = arena};
	Report *report = report_new(&options);
	profile_report(profile, report, &(Machine){device_find("cpu:x86-64-v4-dot"), 2});
	report_print(report);
	fflush(stdout);
	dup2(before, STDOUT_FILENO);
	close(before);
	close(file);
	const char *text = text_of(path);
	unlink(path);
	return text;
}

/* "NUMBER … NAME" is a line. */
static void
expect_ms(const char *text, const char *name, double ms)
{
	const char *at = strstr(text, name);
	ck_assert_msg(at != NULL, "no %s in\n%s", name, text);
	while (at > text && at[-1] != '\n')
		at--;
	ck_assert_msg(strtod(at, NULL) == ms, "%s: not %g ms in\n%s", name, ms, text);
}

START_TEST(first_run_is_left_out)
{
	Profile *profile = profile_new(arena);
	run(profile, 5, 7);
	run(profile, 0.001, 0.010);
	run(profile, 0.002, 0.020);
	const char *text = printed(profile);
	expect_ms(text, "trip", 3);
	expect_ms(text, "loop", 3);
	expect_ms(text, "behind", 15);
	ck_assert_msg(strstr(text, "18.000 ms") != NULL, "%s", text); /* all steps */
}
END_TEST

START_TEST(the_only_run_counts)
{
	Profile *profile = profile_new(arena);
	run(profile, 0.001, 0.010);
	expect_ms(printed(profile), "behind", 10);
}
END_TEST

/* Of two cores, 176 GFLOP/s of f32 and 704 of bytes each. */
START_TEST(shares_are_of_their_units)
{
	Profile *profile = profile_new(arena);
	run(profile, 0.001, 0.010);
	const char *text = printed(profile);
	ck_assert_msg(strstr(text, "50 % of f32") != NULL, "%s", text);
	ck_assert_msg(strstr(text, "125 % of s8") != NULL, "%s", text);
}
END_TEST

/* The bound of a step of two threads, 352 GFLOP/s and 22.4 GB/s. */
static const char *
bound(PlanStepKind kind, double flops, double bytes, double seconds)
{
	const Machine machine = {device_find("cpu:x86-64-v4-dot"), 2};
	const PlanStep step = {.kind = kind, .flops = flops, .bytes = bytes, .units = "f32"};
	return speed_of(&machine, &step, seconds, 1).bound;
}

static void
expect_bound(const char *text, const char *begin)
{
	ck_assert_msg(strncmp(text, begin, strlen(begin)) == 0, "%s: not %s", text, begin);
}

START_TEST(bounds)
{
	expect_bound(bound(PT_KERNEL, 352e6, 1e5, NAN), "compute");
	expect_bound(bound(PT_KERNEL, 352e6, 1e5, 1.5e-3), "compute");
	expect_bound(bound(PT_VENDOR, 352e6, 1e5, 1.5e-3), "compute");
	expect_bound(bound(PT_KERNEL, 352e6, 1e5, 3e-3), "its loops");
	expect_bound(bound(PT_VENDOR, 352e6, 1e5, 3e-3), "the library, ");
	expect_bound(bound(PT_KERNEL, 1e6, 1e8, NAN), "memory");
	expect_bound(bound(PT_KERNEL, 1e6, 1e8, 6e-3), "memory");
	expect_bound(bound(PT_KERNEL, 1e6, 1e4, NAN), "its size");
	expect_bound(bound(PT_VENDOR, 1e6, 1e4, 40e-6), "the library's call");
	expect_bound(bound(PT_KERNEL, 1e3, 1e3, NAN), "its begin");
	expect_bound(bound(PT_KERNEL, 1e3, 1e3, 2e-6), "its begin");
	expect_bound(bound(PT_KERNEL, 1e3, 1e3, 1e-3), "its loops");
	expect_bound(bound(PT_HOST, 1e3, 1e3, 1e-3), "what it copies");
}
END_TEST

/* What a loop does twice takes twice as long, and reaches no more. */
START_TEST(shares_are_of_one_execution)
{
	const Machine machine = {device_find("cpu:x86-64-v4-dot"), 2};
	const PlanStep step = {.kind = PT_KERNEL, .flops = 176e6, .bytes = 1e5, .units = "f32"};
	Speed once = speed_of(&machine, &step, 1e-3, 1), twice = speed_of(&machine, &step, 2e-3, 2);
	ck_assert_double_eq_tol(once.of_peak, 0.5, 1e-9);
	ck_assert_double_eq_tol(twice.of_peak, 0.5, 1e-9);
	ck_assert_double_eq_tol(once.gflops, 176, 1e-9);
	ck_assert_double_eq_tol(twice.least, 2 * once.least, 1e-12);
}
END_TEST

START_TEST(trace_is_of_the_last_run)
{
	Profile *profile = profile_new(arena);
	char path[] = "/tmp/tw-profile-XXXXXX";
	int file = mkstemp(path), events = 0;
	ck_assert_int_ge(file, 0);
	close(file);
	run(profile, 5, 7);
	run(profile, 0.001, 0.010);
	profile_trace(profile, arena, path);
	const char *text = text_of(path);
	for (const char *at = text; (at = strstr(at, "\"ph\"")); at++)
		events++;
	unlink(path);
	ck_assert_int_eq(events, 4);
}
END_TEST

int
main(void)
{
	TCase *t = tcase_create("profile");
	tcase_add_checked_fixture(t, begin, end);
	tcase_add_test(t, first_run_is_left_out);
	tcase_add_test(t, the_only_run_counts);
	tcase_add_test(t, shares_are_of_their_units);
	tcase_add_test(t, bounds);
	tcase_add_test(t, shares_are_of_one_execution);
	tcase_add_test(t, trace_is_of_the_last_run);
	return unit_run(t);
}
