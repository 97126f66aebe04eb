/* tilewright bisect: which rewrite, or which choice, makes a model's result wrong.
 *
 *     no rewrite left out     wrong: else there is nothing to look for
 *     all left out            right: the number of rewrites where it goes wrong is found by halves
 *                             wrong: so is the value whose choice is to blame, a kind of choice
 *                             after the other
 *
 * Then the smallest model is looked for that is wrong in the same way.
 */
#include <stdio.h>
#include <string.h>

#include "cli/bisect/smallest.h"
#include "cli/report/report.h"
#include "driver/choices.h"
#include "driver/files.h"
#include "driver/parts.h"

typedef struct Bisect {
	Suspect suspect;
	Arena *arena;
	Progress progress;
	int attempts;
	StrVec blamed; /* nodes and values */
	const char *blame, *text;
	int rewrites; /* with so many it is wrong */
} Bisect;

static Attempt
try_with(Bisect *b, const Suspect *suspect, int rewrites)
{
	enum { USUAL = 20 };
	progress_show(&b->progress, "bisecting", b->attempts++, USUAL);
	Attempt a = attempt_take(suspect, rewrites);
	if (a.verdict == VERDICT_none)
		fail_unsupported(&(Loc){.file = suspect->model}, "with %d rewrites it cannot be judged: %s",
		                 rewrites, a.text);
	return a;
}

static void
take_blame(Bisect *b, const Attempt *a, int rewrites)
{
	b->text = arena_strdup(b->arena, a->text);
	b->rewrites = rewrites;
	for (const char *at = a->origins; *at;) {
		const char *end = strstr(at, ", ");
		size_t length = end ? (size_t)(end - at) : strlen(at);
		vec_push(b->arena, &b->blamed, arena_strndup(b->arena, at, length));
		at += length + (end ? 2 : 0);
	}
}

/* ---- rewrites -------------------------------------------------------------------------------- */

static History
history_now(const Bisect *b)
{
	const char *bundle = attempt_bundle(&b->suspect);
	return history_read(b->arena, bundle, bundle_part(b->arena, bundle, HISTORY_ENTRY));
}

static int
count_rewrites(const History *history)
{
	int count = 0;
	for (int i = 0; i < history->lines.count; i++)
		for (int k = 0; k < history->lines.data[i].rewrites.count; k++)
			if (history->lines.data[i].rewrites.data[k] > count)
				count = history->lines.data[i].rewrites.data[k];
	return count;
}

/* "k7_k3_relu" is what "k3_relu" is emitted as. */
static bool
is_function_of(const char *function, const char *kernel)
{
	size_t all = strlen(function), length = strlen(kernel);
	return all >= length && strcmp(function + all - length, kernel) == 0;
}

/* Of a kernel, the nodes that it computes. */
static void
blame_kernel(Bisect *b, const char *name)
{
	const char *path = attempt_bundle(&b->suspect);
	const Bundle *bundle = bundle_get(b->arena, path, file_map(b->arena, path), BUNDLE_VERIFY_CODE);
	const Plan *plan = bundle_plan(b->arena, bundle, 0);
	for (int i = 0; i < plan->nstep; i++) {
		const PlanStep *step = &plan->steps[i];
		if (step->kernel < 0 || !is_function_of(plan->kernels[step->kernel], name))
			continue;
		Attempt of_step = {.verdict = VERDICT_wrong};
		snprintf(of_step.origins, sizeof of_step.origins, "%s", step->origins);
		take_blame(b, &of_step, b->rewrites);
	}
}

static void
blame_rewrite(Bisect *b, int number, const Attempt *a)
{
	int node = 0;
	take_blame(b, a, number);
	History history = history_now(b);
	const HistoryLine *line = history_rewrite(&history, number, &node);
	if (!line) { /* that compilation has ended in the middle */
		line = history_rewrite(&history, number - 1, &node);
		b->blame = line ? arena_printf(b->arena, "rewrite %d, the one behind %s", number,
		                               history_line_text(b->arena, line, node))
		                : arena_printf(b->arena, "rewrite %d", number);
		return;
	}
	vec_push(b->arena, &b->blamed, line->nodes.data[node]);
	if (node < line->made.count)
		vec_push(b->arena, &b->blamed, line->made.data[node]);
	const char *text = b->text;
	blame_kernel(b, line->nodes.data[node]);
	b->text = text;
	b->blame =
		arena_printf(b->arena, "rewrite %d: %s", number, history_line_text(b->arena, line, node));
}

/* `low` rewrites are right, `high` are wrong. */
static void
halve_rewrites(Bisect *b, int low, int high, Attempt wrong)
{
	while (high - low > 1) {
		int middle = low + (high - low) / 2;
		Attempt a = try_with(b, &b->suspect, middle);
		if (a.verdict == VERDICT_wrong) {
			high = middle;
			wrong = a;
		} else {
			low = middle;
		}
	}
	attempt_take(&b->suspect, low); /* one of these two leaves its bundle */
	attempt_take(&b->suspect, high);
	blame_rewrite(b, high, &wrong);
}

/* A number of rewrites with which it is wrong: all, where the compilation came so far that it could
 * say how many there are. */
static int
first_wrong(Bisect *b, int all)
{
	int number = all;
	for (number = all ? all : 1; !all && number < ALL_REWRITES / 2; number *= 2)
		if (try_with(b, &b->suspect, number).verdict == VERDICT_wrong)
			break;
	return number;
}

/* ---- choices --------------------------------------------------------------------------------- */

/* Values whose steps' choices can be denied, in order. */
static StrVec
stored_values(const Bisect *b, bool only_calls)
{
	StrVec values = {0};
	const char *path = attempt_bundle(&b->suspect);
	const Bundle *bundle = bundle_get(b->arena, path, file_map(b->arena, path), BUNDLE_VERIFY_CODE);
	const Plan *plan = bundle_plan(b->arena, bundle, 0);
	for (int i = 0; i < plan->nstep; i++) {
		const char *value = choices_value(plan, i);
		if (value && (!only_calls || plan->steps[i].kind == PT_VENDOR))
			vec_push(b->arena, &values, value);
	}
	return values;
}

/* The suspect without this kind of choice for the first `count` values. */
static Suspect
without(const Bisect *b, const char *kind, const StrVec *values, int count)
{
	const char *path = arena_printf(b->arena, "%s/denied.jsonl", b->suspect.folder);
	choices_deny(b->arena, b->suspect.choices, kind, count, values->data, path);
	return suspect_with(&b->suspect, path);
}

/* Whether this kind of choice is to blame, and of which value. */
static bool
halve_choices(Bisect *b, const char *kind, Attempt wrong)
{
	StrVec values = stored_values(b, strcmp(kind, "vendor") == 0);
	Suspect none = without(b, kind, &values, values.count);
	if (values.count == 0 || try_with(b, &none, 0).verdict == VERDICT_wrong)
		return false;
	int low = 0, high = values.count; /* so many denied: wrong, right */
	while (high - low > 1) {
		int middle = low + (high - low) / 2;
		Suspect some = without(b, kind, &values, middle);
		Attempt a = try_with(b, &some, 0);
		if (a.verdict == VERDICT_wrong) {
			low = middle;
			wrong = a;
		} else {
			high = middle;
		}
	}
	take_blame(b, &wrong, 0);
	vec_push(b->arena, &b->blamed, values.data[high - 1]);
	b->blame =
		arena_printf(b->arena, "the %s of %s",
	                 strcmp(kind, "vendor") == 0 ? "library's call" : kind, values.data[high - 1]);
	return true;
}

static void
blame_choices(Bisect *b, const Attempt *wrong)
{
	static const char *const kinds[] = {"vendor", "schedule", "view"};
	for (size_t i = 0; i < countof(kinds); i++) {
		attempt_take(&b->suspect, 0); /* its bundle has the values */
		if (halve_choices(b, kinds[i], *wrong))
			return;
	}
	take_blame(b, wrong, 0);
	b->blame = "neither a rewrite nor a choice that can be left out: what every compilation does";
}

/* ---- the verb -------------------------------------------------------------------------------- */

static const char *
output_of(const Bisect *b)
{
	const Options *options = &b->suspect.options;
	const char *name = model_name(b->arena, b->suspect.model);
	const char *dot = strrchr(name, '.');
	return options->output ? options->output
	                       : arena_printf(b->arena, "%.*s.smallest.onnx",
	                                      (int)(dot ? dot - name : (long)strlen(name)), name);
}

static int
report_blame(Bisect *b, const Options *options)
{
	const char *path = output_of(b);
	Smallest smallest = {.nodes = 0};
	if (!options->judge_command)
		smallest = smallest_part(&b->suspect, &b->blamed, b->rewrites ? ALL_REWRITES : 0, path,
		                         &b->progress);
	progress_end(&b->progress);
	Report *report = report_new(options);
	report_text(report, "blame", "to blame", b->blame);
	report_text(report, "wrong", "wrong", b->text);
	report_number(report, "rewrites", NULL, b->rewrites, "%.0f");
	report_number(report, "attempts", "attempts", b->attempts, "%.0f");
	report_text(report, "smallest", smallest.nodes ? "smallest" : NULL, path);
	report_number(report, "nodes", smallest.nodes ? "nodes of it" : NULL, smallest.nodes, "%.0f");
	report_text(report, "smallest_wrong", smallest.nodes ? "wrong in it" : NULL, smallest.text);
	report_print(report);
	if (!smallest.nodes && !options->judge_command)
		report_say(options, "no part of the model is wrong alone\n");
	return FAIL_COMPARISON;
}

int
verb_bisect(const Options *options)
{
	Bisect b = {.arena = options->arena, .progress = progress_begin(options)};
	b.suspect.model = options->args.data[0];
	if (file_kind(b.suspect.model, file_map(b.arena, b.suspect.model)) == FILE_BUNDLE)
		fail_as(FAIL_USAGE, &(Loc){.file = b.suspect.model},
		        "it is a bundle, whose rewrites are made: expected its model");
	b.suspect.options = *options;
	file_draft(b.arena, output_of(&b)); /* whether it can be written is known before all work */
	b.suspect = suspect_new(options, b.arena, options->args.data[0]);
	if (!b.suspect.choices)
		b.suspect.choices = suspect_choices(&b.suspect);
	Attempt all = try_with(&b, &b.suspect, ALL_REWRITES);
	if (all.verdict == VERDICT_right) {
		progress_end(&b.progress);
		report_say(options,
		           "nothing is wrong: results agree with what is wanted, and each step with "
		           "its meaning\n");
		return 0;
	}
	History history = history_now(&b);
	Attempt none = try_with(&b, &b.suspect, 0);
	if (none.verdict == VERDICT_wrong)
		blame_choices(&b, &none);
	else
		halve_rewrites(&b, 0, first_wrong(&b, count_rewrites(&history)), all);
	return report_blame(&b, options);
}
