/* tilewright bench: subjects take turns, so that all see the same weather; medians and ratios.
 *
 * Opening and the first run are measured in processes of their own, which this program starts as
 * `tilewright bench --rounds=0 --json SUBJECT`: nothing is warm there, and the peak of memory is
 * the subject's alone. They get the inputs as files, so that making them costs them nothing.
 */
#include <math.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/json.h"
#include "base/clock.h"
#include "base/file.h"
#include "cli/compare.h"
#include "cli/npy.h"
#include "cli/progress.h"
#include "cli/report.h"
#include "cli/subject.h"

enum { FRESH_RUNS = 3, MAX_OUTPUT = 1 << 16 };

/* ---- one process for one opening ---- */

/* The largest resident size of this process, in bytes. */
static double
peak_memory(void)
{
	FILE *file = fopen("/proc/self/status", "r");
	char line[256];
	double kilobytes = 0;
	while (file && fgets(line, sizeof line, file))
		if (strncmp(line, "VmHWM:", 6) == 0)
			kilobytes = strtod(line + 6, NULL);
	if (file)
		fclose(file);
	return kilobytes * 1024;
}

static int
bench_once(const Options *options)
{
	Arena *arena = options->arena;
	Subject *subject = subject_new(options, arena, options->args.data[0]);
	double start = now_seconds();
	subject_open(subject, arena);
	subject_run(subject);
	Report *report = report_new(options);
	report_number(report, "open_and_first_ms", "open and first run", (now_seconds() - start) * 1e3,
	              "%.2f ms");
	report_number(report, "peak_bytes", "peak memory", peak_memory(), "%.0f");
	report_print(report);
	return 0;
}

extern char **environ;

/* Standard output of a program; fails when it does. */
static const char *
output_of(Arena *arena, char **argv)
{
	int ends[2], status = 0;
	pid_t child;
	posix_spawn_file_actions_t actions;
	if (pipe(ends) != 0)
		fail_environment(NULL, "cannot make a pipe");
	posix_spawn_file_actions_init(&actions);
	posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
	posix_spawn_file_actions_addclose(&actions, ends[0]);
	int error = posix_spawn(&child, "/proc/self/exe", &actions, NULL, argv, environ);
	posix_spawn_file_actions_destroy(&actions);
	close(ends[1]);
	char *text = arena_alloc(arena, MAX_OUTPUT + 1);
	size_t size = 0;
	ssize_t got;
	while (!error && size < MAX_OUTPUT && (got = read(ends[0], text + size, MAX_OUTPUT - size)) > 0)
		size += (size_t)got;
	close(ends[0]);
	if (error || waitpid(child, &status, 0) < 0 || status != 0)
		fail_environment(NULL, "a process that measures opening failed, as said above");
	return text;
}

/* "x: f32[1,3,224,224], …": what a subject is given; the rest holds its default. */
static const char *
inputs_text(Arena *arena, const Subject *subject)
{
	Buf buf = {.arena = arena};
	for (int i = 0; i < subject->ninput; i++)
		if (subject->inputs[i])
			buf_printf(&buf, "%s%s: %s", buf.size ? ", " : "", subject->names[i],
			           array_type_text(arena, subject->inputs[i]));
	return buf.size ? buf_text(&buf) : "none";
}

static bool
has_input(const Subject *subject, const char *name, const Array *array)
{
	for (int i = 0; i < subject->ninput; i++)
		if (subject->inputs[i] && strcmp(subject->names[i], name) == 0)
			return !shape_difference(subject->options.arena, array, subject->inputs[i]);
	return false;
}

static bool
has_inputs_of(const Subject *subject, const Subject *other)
{
	for (int i = 0; i < other->ninput; i++)
		if (other->inputs[i] && !has_input(subject, other->names[i], other->inputs[i]))
			return false;
	return true;
}

/* Every subject gets the inputs of the first. */
static void
check_inputs(Arena *arena, const Subject *first, const Subject *subject)
{
	if (!has_inputs_of(first, subject) || !has_inputs_of(subject, first))
		fail_as(FAIL_USAGE, NULL,
		        "the subjects have different inputs, and only equal ones can be compared: %s has "
		        "%s, and %s has %s",
		        first->text, inputs_text(arena, first), subject->text, inputs_text(arena, subject));
}

static double
member(const Json *json, const char *name)
{
	const Json *item = json_member(json, name);
	return json_is(item, JSON_NUMBER) ? item->number : NAN;
}

static void
measure_fresh(const Options *options, Arena *arena, Subject *subject, const StrVec *inputs)
{
	double seconds[FRESH_RUNS];
	VEC(char *) argv = {0};
	const char *const fixed[] = {"tilewright", "bench", "--json", "--rounds=0"};
	for (size_t i = 0; i < countof(fixed); i++)
		vec_push(arena, &argv, arena_strdup(arena, fixed[i]));
	vec_push(arena, &argv,
	         arena_printf(arena, "--threads=%lld", (long long)subject->options.threads));
	for (int i = 0; i < inputs->count; i++)
		vec_push(arena, &argv, arena_printf(arena, "--input=%s", inputs->data[i]));
	if (options->no_vendor)
		vec_push(arena, &argv, arena_strdup(arena, "--no-vendor"));
	vec_push(arena, &argv,
	         subject->is_ort ? arena_printf(arena, "%s/ort", subject->file)
	                         : arena_strdup(arena, subject->bundle));
	vec_push(arena, &argv, NULL);
	for (int i = 0; i < FRESH_RUNS; i++) {
		const char *text = output_of(arena, argv.data);
		Json *json = json_read(text, strlen(text));
		seconds[i] = member(json, "open_and_first_ms") * 1e-3;
		subject->fresh_bytes = member(json, "peak_bytes");
		json_free(json);
	}
	subject->fresh_seconds = median_of(FRESH_RUNS, seconds);
}

/* ---- inputs as files ---- */

/* The inputs of a subject as --input words. */
static StrVec
write_inputs(Arena *arena, const Subject *subject)
{
	StrVec words = {0};
	const char *folder = file_temporary_folder(arena);
	for (int i = 0; i < subject->ninput; i++) {
		if (!subject->inputs[i]) /* its default holds */
			continue;
		const char *path = arena_printf(arena, "%s/%d.npy", folder, i);
		npy_write(arena, path, subject->inputs[i]);
		vec_push(arena, &words, arena_printf(arena, "%s=@%s", subject->names[i], path));
	}
	return words;
}

/* ---- rounds ---- */

/* A turn lasts a tenth of a second, or one run. */
static void
take_turn(Subject *subject, Arena *arena)
{
	double spent = 0;
	int first = subject->seconds.count;
	while (spent < 0.1) {
		double start = now_seconds();
		subject_run(subject);
		double seconds = now_seconds() - start;
		vec_push(arena, &subject->seconds, seconds);
		spent += seconds;
	}
	int count = subject->seconds.count - first;
	double *turn = arena_memdup(arena, subject->seconds.data + first, (size_t)count * sizeof *turn);
	vec_push(arena, &subject->turns, median_of(count, turn));
}

/* The largest difference to the first subject's outputs, relative to the largest element. */
static double
difference(Arena *arena, Subject *a, Subject *b)
{
	double worst = 0;
	int count = subject_output_count(a);
	if (subject_output_count(b) != count)
		return INFINITY;
	for (int i = 0; i < count; i++) {
		Array x = subject_output(a, i), y = subject_output(b, i);
		Comparison c = compare_arrays(arena, &x, &y, 0, 0);
		if (c.reason)
			return INFINITY;
		worst = fmax(worst, c.largest > 0 ? c.worst / c.largest : c.worst);
	}
	return worst;
}

/* What the rounds say of a subject beside the first. In one round both see the same weather, so the
 * ratios of rounds are compared: what the middle half of them agrees on is a difference. */
static const char *
verdict(Arena *arena, const Subject *first, const Subject *subject)
{
	enum { ROUNDS_LEAST = 3 };
	static const double PLACEMENT = 0.02; /* one bundle opened twice: by where its memory lies */
	int count = subject->turns.count;
	double *ratios = NEW_N(arena, double, count + 1);
	for (int i = 0; i < count; i++)
		ratios[i] = subject->turns.data[i] / first->turns.data[i];
	if (subject == first)
		return "";
	if (count < ROUNDS_LEAST)
		return "too few rounds to say";
	return quantile_of(count, ratios, 0.25) > 1 + PLACEMENT   ? "slower"
	       : quantile_of(count, ratios, 0.75) < 1 - PLACEMENT ? "faster"
	                                                          : "not distinguishable";
}

static void
report_subjects(Report *report, Arena *arena, int count, Subject **subjects)
{
	Table *table = report_table(report, "subjects",
	                            "subject|>median_ms:median|>lower_quartile_ms:lower quartile|"
	                            ">upper_quartile_ms:upper quartile|>least_ms:fastest|"
	                            ">ratio|verdict:|"
	                            ">open_and_first_ms:open + first|>peak_mb:peak MB|"
	                            ">difference|>runs");
	double base = 0;
	for (int i = 0; i < count; i++) {
		Subject *s = subjects[i];
		int n = s->seconds.count;
		double *seconds = s->seconds.data, ms = median_of(n, seconds) * 1e3;
		base = i == 0 ? ms : base;
		table_row(table, "%s|%.3f ms|%.3f ms|%.3f ms|%.3f ms|%.3f|%s|%.2f ms|%.0f|%.1e|%.0f",
		          s->text, ms, quantile_of(n, seconds, 0.25) * 1e3,
		          quantile_of(n, seconds, 0.75) * 1e3, seconds[0] * 1e3, ms / base,
		          verdict(arena, subjects[0], s), s->fresh_seconds * 1e3, s->fresh_bytes * 1e-6,
		          difference(arena, subjects[0], s), (double)n);
	}
}

/* The largest spread of one subject's turns, and what subjects differ by at most. */
static void
measure_noise(Arena *arena, int count, Subject **subjects, double *noise, double *apart)
{
	double first = 0;
	*noise = 0;
	*apart = count > 1 ? 0 : TIMING_NOISY;
	for (int i = 0; i < count; i++) {
		const Subject *s = subjects[i];
		size_t size = (size_t)s->turns.count * sizeof *s->turns.data;
		Timing timing = timing_of(s->turns.count, arena_memdup(arena, s->turns.data, size));
		first = i == 0 ? timing.seconds : first;
		*noise = fmax(*noise, timing.spread);
		*apart = fmax(*apart, fabs(timing.seconds / first - 1));
	}
}

/* Options of compiling are for the models among the subjects. */
static void
refuse_without_model(const Options *options, int count, Subject **subjects)
{
	for (int i = 0; i < count; i++)
		if (!subjects[i]->is_ort && strcmp(subjects[i]->bundle, subjects[i]->file) != 0)
			return;
	options_refuse(options, OF_BUNDLE, "no subject is a model that is compiled here");
}

int
verb_bench(const Options *options)
{
	Arena *arena = options->arena;
	int count = options->args.count;
	if (options->rounds <= 0)
		return bench_once(options);
	Progress progress = progress_begin(options);
	Subject **subjects = NEW_N(arena, Subject *, count);
	for (int i = 0; i < count; i++) {
		progress_show(&progress, "opening subjects", i, count);
		subjects[i] = subject_new(options, arena, options->args.data[i]);
		subject_open(subjects[i], arena);
		check_inputs(arena, subjects[0], subjects[i]);
		subject_run(subjects[i]); /* warm */
	}
	refuse_without_model(options, count, subjects);
	StrVec inputs = write_inputs(arena, subjects[0]);
	for (int i = 0; i < count; i++) {
		progress_show(&progress, "opening in fresh processes", i, count);
		measure_fresh(options, arena, subjects[i], &inputs);
	}
	for (int round = 0; round < options->rounds; round++) {
		progress_show(&progress, "rounds", round, (int)options->rounds);
		for (int i = 0; i < count; i++) /* each comes behind each: a runtime's threads may linger */
			take_turn(subjects[round % 2 ? count - 1 - i : i], arena);
	}
	progress_end(&progress);
	Report *report = report_new(options);
	report_number(report, "threads", NULL, (double)subjects[0]->options.threads, "%.0f");
	report_subjects(report, arena, count, subjects);
	double noise, apart;
	measure_noise(arena, count, subjects, &noise, &apart);
	report_number(report, "noise", NULL, noise, "%.3f");
	report_print(report);
	report_say(options, "times on %lld thread%s; ratio and difference are to the first subject\n",
	           (long long)subjects[0]->options.threads,
	           subjects[0]->options.threads == 1 ? "" : "s");
	if (noise > apart)
		report_say(options, "turns of one subject differ by %.1f %%, %s: is the machine busy?\n",
		           noise * 100, count > 1 ? "which is more than the subjects do" : "which is much");
	return 0;
}
