/* tilewright ablate: the model compiled again and again, each time without one pass that did
 * something to it, without all calls of libraries, without one, or without one derivation: what
 * each of them is worth, and what it changes.
 */
#include <math.h>
#include <string.h>

#include "base/clock.h"
#include "cli/measure/turns.h"
#include "cli/report/report.h"
#include "driver/choices.h"
#include "driver/compile.h"
#include "driver/history.h"
#include "driver/parts.h"

/* The library's calls, as a word of a pipeline (subject.h). */
static const char LIBRARY[] = "vendor";

typedef struct Ablation {
	const char *what; /* that is left out: a pass, LIBRARY, a call, a derivation; NULL: nothing */
	const char *choices; /* of a call or derivation: a file that denies it */
	int rewrites;        /* that it makes otherwise */
	const char *bundle;
	int steps;
	const char *trouble; /* why it cannot be left out; NULL: it can */
	Subject *subject;
} Ablation;

typedef VEC(Ablation) Ablations;

typedef struct Ablating {
	Options options;
	Progress progress;
	Ablations all; /* the first leaves nothing out */
	Ablation *now;
} Ablating;

static int
count_steps(const Plan *plan)
{
	int count = plan->nstep;
	for (int i = 0; i < plan->nstep; i++)
		for (int k = 0; k < plan->steps[i].nbody; k++)
			count += count_steps(plan->steps[i].bodies[k]);
	return count;
}

static const Bundle *
bundle_at(Arena *arena, const char *path)
{
	return bundle_get(arena, path, file_map(arena, path), BUNDLE_VERIFY_CODE);
}

/* This kind of choice, denied for one name among the choices that the whole model took. */
static void
list_denied(Ablating *a, const char *kind, const char *name, const char *what)
{
	Arena *arena = a->options.arena;
	const char *folder = file_temporary_folder(arena), *known = a->options.choices;
	const Bytes chosen = bundle_part(arena, a->all.data[0].bundle, "choices.jsonl");
	if (!known && chosen.size) {
		known = arena_printf(arena, "%s/choices.jsonl", folder);
		file_write(arena, known, chosen.data, chosen.size);
	}
	const char *path = arena_printf(arena, "%s/%d.jsonl", folder, a->all.count);
	choices_deny(arena, known, kind, 1, &name, path);
	vec_push(arena, &a->all, ((Ablation){.what = what, .choices = path}));
}

static void
list_calls(Ablating *a, const Bundle *bundle)
{
	Arena *arena = a->options.arena;
	const Plan *plan = bundle_plan(arena, bundle, 0);
	for (int i = 0; i < plan->nstep; i++) {
		const PlanStep *step = &plan->steps[i];
		const char *value = choices_value(plan, i);
		if (value && step->kind == PT_VENDOR)
			list_denied(a, "vendor", value, arena_printf(arena, "%s of %s", step->row, value));
	}
}

static void
list_derivations(Ablating *a, const History *history)
{
	for (int i = 0; i < history->lines.count; i++) {
		const HistoryLine *line = &history->lines.data[i];
		bool is_derived = !line->reason && strcmp(line->pass, "DeriveExpressions") == 0;
		for (int k = 0; k < line->nodes.count && is_derived; k++)
			list_denied(
				a, "derive", line->nodes.data[k],
				arena_printf(a->options.arena, "%s of %s", line->rule, line->nodes.data[k]));
	}
}

/* Each pass that the history has, in order, and how often it rewrote something. */
static void
list_passes(Ablating *a, const Bundle *bundle, const History *history)
{
	Arena *arena = a->options.arena;
	for (int i = 0; i < history->lines.count; i++) {
		const HistoryLine *line = &history->lines.data[i];
		int at = 1;
		if (line->reason || !pass_find(line->pass))
			continue;
		while (at < a->all.count && strcmp(a->all.data[at].what, line->pass) != 0)
			at++;
		if (at == a->all.count)
			vec_push(arena, &a->all, (Ablation){.what = line->pass});
		a->all.data[at].rewrites += line->nodes.count;
	}
	if (*bundle->manifest->targets[0].vendor)
		vec_push(arena, &a->all, (Ablation){.what = LIBRARY});
}

static void
compile_one(void *arg)
{
	Ablating *a = arg;
	Ablation *now = a->now;
	Options options = a->options;
	if (now->choices)
		options.choices = now->choices;
	else if (now->what)
		subject_pipeline(&options, options.arena, arena_printf(options.arena, "-%s", now->what));
	now->bundle = bundle_of(&options, options.arena, options.args.data[0]);
	now->steps = count_steps(bundle_plan(options.arena, bundle_at(options.arena, now->bundle), 0));
}

static void
run_one(void *arg)
{
	Ablating *a = arg;
	Arena *arena = a->options.arena;
	Subject *base = a->all.data[0].subject;
	a->now->subject = subject_new(&a->options, arena, a->now->bundle);
	subject_open(a->now->subject, arena, base);
	subject_run(a->now->subject);
}

/* Without a pass that others need, the model may not compile: that is an answer, too. */
static void
attempt(Ablating *a, Ablation *ablation, void (*step)(void *))
{
	Failure failure;
	a->now = ablation;
	if (ablation->trouble)
		return;
	if (!ablation->what)
		step(a);
	else if (!try_run(step, a, &failure))
		ablation->trouble = arena_strdup(a->options.arena, failure.text);
}

static void
measure(Ablating *a)
{
	Arena *arena = a->options.arena;
	Subject **subjects = NEW_N(arena, Subject *, a->all.count);
	int count = 0;
	for (int i = 0; i < a->all.count; i++)
		if (!a->all.data[i].trouble)
			subjects[count++] = a->all.data[i].subject;
	turns_take(&a->options, count, subjects, &a->progress);
}

static void
tell(const Options *options, const Ablations *all)
{
	Arena *arena = options->arena;
	Report *report = report_new(options);
	Table *table = report_table(report, "ablations",
	                            options->bench ? "without|>rewrites|>steps|>difference|"
	                                             ">median_ms:median|>ratio|verdict:|trouble:"
	                                           : "without|>rewrites|>steps|>difference|trouble:");
	Subject *base = all->data[0].subject;
	for (int i = 0; i < all->count; i++) {
		const Ablation *a = &all->data[i];
		const char *what = a->what ? a->what : "nothing";
		double rewrites = a->rewrites ? (double)a->rewrites : NAN;
		bool runs = !a->trouble;
		double steps = runs ? (double)a->steps : NAN;
		double difference = runs ? subject_difference(arena, base, a->subject) : NAN;
		if (!options->bench) {
			table_row(table, "%s|%.0f|%.0f|%.1e|%s", what, rewrites, steps, difference, a->trouble);
			continue;
		}
		const Ratio ratio =
			runs ? turns_ratio(arena, base, a->subject) : (Ratio){NAN, NAN, NAN, ""};
		double ms =
			runs ? median_of(a->subject->seconds.count, a->subject->seconds.data) * 1e3 : NAN;
		table_row(table, "%s|%.0f|%.0f|%.1e|%.3f ms|%.3f|%s|%s", what, rewrites, steps, difference,
		          ms, ratio.middle, ratio.verdict, a->trouble);
	}
	report_print(report);
	report_say(options, "difference%s to the model with all passes\n",
	           options->bench ? " and ratio are" : " is");
}

int
verb_ablate(const Options *options)
{
	Arena *arena = options->arena;
	Ablating a = {.options = *options, .progress = progress_begin(options)};
	a.options.quiet = true;
	a.options.prove = options->prove ? options->prove : "none"; /* results are compared */
	const char *model = options->args.data[0];
	if (file_kind(model, file_map(arena, model)) == FILE_BUNDLE)
		fail_as(FAIL_USAGE, &(Loc){.file = model},
		        "it is a bundle, whose passes are done: expected its model");
	vec_push(arena, &a.all, (Ablation){.what = NULL});
	attempt(&a, &a.all.data[0], compile_one);
	const Bundle *whole = bundle_at(arena, a.all.data[0].bundle);
	const History history =
		history_read(arena, model, bundle_part(arena, a.all.data[0].bundle, HISTORY_ENTRY));
	list_passes(&a, whole, &history);
	if (options->calls)
		list_calls(&a, whole);
	if (options->derivations)
		list_derivations(&a, &history);
	for (int i = 0; i < a.all.count; i++) {
		progress_show(&a.progress, "leaving out one at a time", i, a.all.count);
		if (i > 0)
			attempt(&a, &a.all.data[i], compile_one);
		attempt(&a, &a.all.data[i], run_one);
	}
	if (options->bench)
		measure(&a);
	progress_end(&a.progress);
	tell(options, &a.all);
	return 0;
}
