/* Opening and the first run are measured in processes of their own, which this program starts as
 * `tilewright bench --rounds=0 --json SUBJECT`: nothing is warm there, and the peak of memory is
 * the subject's alone. They get the inputs as files, so that making them costs them nothing.
 */
#include "cli/measure/turns.h"

#include <math.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/json.h"
#include "driver/proof/compare.h"

enum { FRESH_RUNS = 3, MAX_OUTPUT = 1 << 16 };

extern char **environ;

/* ---- one process for one opening ---- */

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
		        first->text, subject_inputs_text(arena, first), subject->text,
		        subject_inputs_text(arena, subject));
}

static double
member(const Json *json, const char *name)
{
	const Json *item = json_member(json, name);
	return json_is(item, JSON_NUMBER) ? item->number : NAN;
}

static void
measure_fresh(Arena *arena, Subject *subject, const StrVec *inputs)
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
	if (subject->options.no_vendor)
		vec_push(arena, &argv, arena_strdup(arena, "--no-vendor"));
	vec_push(arena, &argv, arena_strdup(arena, subject->bundle ? subject->bundle : subject->text));
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

/* ---- rounds ---- */

/* A turn lasts a tenth of a second, or one run. Opened at another time, a bundle may take some
 * hundredths longer or less, by where its memory lies; so no turn is of the opening of another. */
static void
take_turn(Subject *subject, Arena *arena)
{
	double spent = 0;
	int first = subject->seconds.count;
	subject_reopen(subject);
	subject_run(subject); /* warm */
	double used = used_seconds();
	while (spent < 0.1) {
		double seconds = subject_run(subject);
		vec_push(arena, &subject->seconds, seconds);
		spent += seconds;
	}
	int count = subject->seconds.count - first;
	double *turn = arena_memdup(arena, subject->seconds.data + first, (size_t)count * sizeof *turn);
	vec_push(arena, &subject->turns, median_of(count, turn));
	subject->used += used_seconds() - used;
	subject->runs += count;
}

/* ---- what they say ---- */

/* What differs by less is called the same. */
static const double MARGIN = 0.02;
/* They are looked at after 8, 16, 32 and 64 rounds: each look may be wrong by a quarter of 5 %. */
static const double MISS = 0.05 / 4;

/* The rank from either end of so many sorted values between which their distribution's median lies
 * but for MISS: each value is below it by the toss of a coin, so that tails of the binomial
 * distribution say how often so few are. 0: there are too few. */
static int
rank_of_interval(int count)
{
	double term = pow(0.5, count), below = term;
	int rank = 0;
	while (2 * below <= MISS) {
		rank++;
		term *= (double)(count - rank + 1) / rank;
		below += term;
	}
	return rank;
}

Ratio
turns_ratio(Arena *arena, const Subject *first, const Subject *subject)
{
	int count = subject->turns.count, rank = rank_of_interval(count);
	if (count == 0)
		return (Ratio){NAN, NAN, NAN, ""};
	double *ratios = NEW_N(arena, double, count);
	for (int i = 0; i < count; i++)
		ratios[i] = subject->turns.data[i] / first->turns.data[i];
	Ratio ratio = {.middle = median_of(count, ratios)}; /* which sorts them */
	ratio.lower = ratios[rank ? rank - 1 : 0];
	ratio.upper = ratios[rank ? count - rank : count - 1];
	ratio.verdict = subject == first           ? ""
	                : rank == 0                ? "too few rounds to say"
	                : ratio.lower > 1 + MARGIN ? "slower"
	                : ratio.upper < 1 - MARGIN ? "faster"
	                : ratio.upper <= 1 + MARGIN && ratio.lower >= 1 - MARGIN ? "not distinguishable"
	                                                                         : "undecided";
	return ratio;
}

const char *
turns_json(Arena *arena, int count, Subject **subjects)
{
	Buf json = {.arena = arena};
	buf_putc(&json, '[');
	for (int i = 0; i < count; i++) {
		buf_printf(&json, "%s[", i ? ", " : "");
		for (int k = 0; k < subjects[i]->turns.count; k++)
			buf_printf(&json, "%s%.6g", k ? ", " : "", subjects[i]->turns.data[k] * 1e3);
		buf_putc(&json, ']');
	}
	buf_putc(&json, ']');
	return buf_text(&json);
}

void
turns_noise(Arena *arena, int count, Subject **subjects, double *noise, double *apart)
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

/* ---- all of it ---- */

/* Options of compiling are for the models among the subjects. */
static void
refuse_without_model(const Options *options, int count, Subject **subjects)
{
	for (int i = 0; i < count; i++)
		if (subjects[i]->bundle && strcmp(subjects[i]->bundle, subjects[i]->file) != 0)
			return;
	options_refuse(options, OF_BUNDLE, "no subject is a model that is compiled here");
}

Subject **
turns_open(const Options *options, Progress *progress)
{
	Arena *arena = options->arena;
	int count = options->args.count;
	Subject **subjects = NEW_N(arena, Subject *, count);
	for (int i = 0; i < count; i++) {
		progress_show(progress, "opening subjects", i, count);
		subjects[i] = subject_new(options, arena, options->args.data[i]);
		subject_open(subjects[i], arena, i ? subjects[0] : NULL);
		check_inputs(arena, subjects[0], subjects[i]);
		subject_run(subjects[i]); /* warm */
	}
	refuse_without_model(options, count, subjects);
	return subjects;
}

static bool
is_decided(Arena *arena, const Subject *first, const Subject *subject)
{
	const char *verdict = turns_ratio(arena, first, subject).verdict;
	return strcmp(verdict, "undecided") != 0 && strcmp(verdict, "too few rounds to say") != 0;
}

/* Who is decided has no more turns. */
static int
keep_undecided(Arena *arena, int count, Subject **subjects, bool *is_over)
{
	int left = 0;
	for (int i = 1; i < count; i++) {
		is_over[i] = is_over[i] || is_decided(arena, subjects[0], subjects[i]);
		left += !is_over[i];
	}
	return left;
}

static void
take_rounds(const Options *options, int count, Subject **subjects, Progress *progress)
{
	enum { MOST = TURNS_LEAST << 3 };
	Arena *arena = options->arena;
	bool is_open = options->rounds < 0, *is_over = NEW_N(arena, bool, count);
	int look = TURNS_LEAST, most = is_open ? MOST : (int)options->rounds;
	for (int round = 0; round < most; round++) {
		progress_show(progress, "rounds", round, most);
		for (int i = 0; i < count;
		     i++) { /* each comes behind each: a runtime's threads may linger */
			int at = round % 2 ? count - 1 - i : i;
			if (!is_over[at])
				take_turn(subjects[at], arena);
		}
		if (!is_open || round + 1 < look)
			continue;
		if (keep_undecided(arena, count, subjects, is_over) == 0)
			return;
		look *= 2;
	}
}

void
turns_take(const Options *options, int count, Subject **subjects, Progress *progress)
{
	Arena *arena = options->arena;
	StrVec inputs = subject_inputs(arena, subjects[0]);
	for (int i = 0; i < count; i++) {
		progress_show(progress, "opening in fresh processes", i, count);
		measure_fresh(arena, subjects[i], &inputs);
	}
	take_rounds(options, count, subjects, progress);
}
