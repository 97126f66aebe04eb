/* Children that compile, run and compare. */
#include "cli/bisect/attempt.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "cli/measure/subject.h"
#include "driver/compile.h"
#include "driver/parts.h"
#include "driver/proof/compare.h"
#include "driver/proof/proof.h"
#include "driver/sizes/npy.h"

static const double PATIENCE = 1800; /* seconds */

typedef struct Trial {
	const Suspect *suspect;
	Options options;
	bool is_reference; /* its results are kept: they are what is wanted */
	Arena *arena;      /* the child's */
	Attempt *result;
} Trial;

static const char *
wanted_path(const Suspect *suspect, Arena *arena, int output)
{
	return arena_printf(arena, "%s/%d.npy", suspect->folder, output);
}

const char *
attempt_bundle(const Suspect *suspect)
{
	return arena_printf(suspect->arena, "%s/attempt.twb", suspect->folder);
}

__attribute__((format(printf, 2, 3))) static void
find_wrong(Attempt *result, const char *format, ...)
{
	va_list args;
	if (result->verdict == VERDICT_wrong)
		return;
	result->verdict = VERDICT_wrong;
	va_start(args, format);
	vsnprintf(result->text, sizeof result->text, format, args);
	va_end(args);
}

/* ---- judging ---- */

static void
judge_steps(const Trial *t, Session *session)
{
	const Proof *proof = proof_session(&t->options, t->arena, session, NULL, NULL);
	if (!proof || proof->findings.count == 0)
		return;
	const ProofFinding *f = &proof->findings.data[0];
	Buf origins = {.arena = t->arena};
	const Node *node = f->value->def;
	for (int i = 0; node && i < node->origins.count; i++)
		buf_printf(&origins, "%s%s", i ? ", " : "", node->origins.data[i]);
	snprintf(t->result->origins, sizeof t->result->origins, "%s", buf_text(&origins));
	find_wrong(t->result, "%s", finding_text(t->arena, f));
}

static void
judge_output(const Trial *t, const char *name, const Array *wanted, const Array *seen)
{
	Comparison exact = compare_arrays(t->arena, wanted, seen, 0, 0);
	Tolerance bound = tolerance_between(&t->options, seen->type, exact.largest);
	Comparison c = compare_arrays(t->arena, wanted, seen, bound.rtol, bound.atol);
	if (c.reason || c.wrong > 0)
		find_wrong(t->result, "output %s: %s", name, comparison_text(t->arena, &c, wanted, seen));
}

static void
judge_outputs(const Trial *t, Session *session)
{
	for (int i = 0; i < session->noutput; i++) {
		Array seen = session_output(session, i);
		if (dtype_class(seen.type) == DC_NONE || seen.type == DT_STRING)
			continue;
		const char *path = wanted_path(t->suspect, t->arena, i);
		if (t->is_reference)
			npy_write(t->arena, path, &seen);
		else
			judge_output(t, tw_output(session->bundle, i)->name, npy_read(t->arena, path), &seen);
	}
}

/* --judge: the command's exit code is the verdict. */
static void
judge_by_command(const Trial *t, const char *bundle)
{
	setenv("BUNDLE", bundle, 1);
	int status = system(t->options.judge_command);
	if (status != 0)
		find_wrong(t->result, "the command ends with exit code %d: %s",
		           WIFEXITED(status) ? WEXITSTATUS(status) : 128, t->options.judge_command);
}

static void
compile_and_judge(void *arg)
{
	const Trial *t = arg;
	const char *bundle = attempt_bundle(t->suspect);
	compile_file(&t->options, t->arena, t->suspect->model, bundle);
	if (t->options.judge_command && !t->is_reference) {
		judge_by_command(t, bundle);
		return;
	}
	Session *session = session_open(t->arena, bundle, t->suspect->model, &t->options, NULL);
	session_inputs(session, &t->options);
	judge_steps(t, session);
	judge_outputs(t, session);
}

static void
compile_only(void *arg)
{
	const Trial *t = arg;
	compile_file(&t->options, t->arena, t->suspect->model, attempt_bundle(t->suspect));
}

/* What another runtime computes. */
static void
ask_other(void *arg)
{
	const Trial *t = arg;
	const char *text = arena_printf(t->arena, "%s/%s", t->suspect->model, t->options.against);
	Subject *subject = subject_new(&t->options, t->arena, text);
	subject_open(subject, t->arena, NULL);
	subject_run(subject);
	for (int i = 0; i < subject_output_count(subject); i++) {
		Array output = subject_output(subject, i);
		npy_write(t->arena, wanted_path(t->suspect, t->arena, i), &output);
	}
}

/* What fails where -O0 does not is wrong, too, unless a user or the machine is to blame for it. */
static void
run_trial(Trial *t, void (*step)(void *))
{
	Failure failure;
	t->arena = arena_new("attempt");
	if (!freopen("/dev/null", "w", stderr))
		return;
	if (try_run(step, t, &failure))
		return;
	bool is_ours =
		!t->is_reference && failure.kind != FAIL_USAGE && failure.kind != FAIL_ENVIRONMENT;
	if (failure.kind == FAIL_BUG || is_ours) {
		find_wrong(t->result, "%s", failure.text);
	} else {
		t->result->verdict = VERDICT_none;
		snprintf(t->result->text, sizeof t->result->text, "%s", failure.text);
	}
}

static void
try_it(void *arg)
{
	run_trial(arg, compile_and_judge);
}

static void
try_compiling(void *arg)
{
	run_trial(arg, compile_only);
}

static void
try_other(void *arg)
{
	run_trial(arg, ask_other);
}

static Attempt
take(const Suspect *suspect, const Options *options, void (*step)(void *), bool is_reference)
{
	Attempt result = {.verdict = VERDICT_right};
	Trial t = {suspect, *options, is_reference, NULL, &result};
	const char *why;
	t.options.quiet = true;
	if (!run_limited(PATIENCE, step, &t, &result, sizeof result, &why)) {
		result.verdict = VERDICT_none;
		find_wrong(&result, "%s", why);
	}
	return result;
}

/* ---- suspects ---- */

/* Nothing is measured, nothing mended: what is wrong shall stay so. */
static Options
options_of(const Suspect *suspect, int rewrites)
{
	Options options = suspect->options;
	options.prove = options.tune = "none";
	options.no_prepack = true;
	options.choices = suspect->choices;
	options.rewrites = rewrites;
	return options;
}

static void
find_wanted(const Suspect *suspect)
{
	Options options = options_of(suspect, 0);
	options.level = 0;
	options.no_vendor = true;
	options.choices = NULL;
	bool is_other = options.against != NULL;
	Attempt a = take(suspect, &options, is_other ? try_other : try_it, true);
	if (a.verdict == VERDICT_wrong)
		fail_as(FAIL_COMPARISON, &(Loc){.file = suspect->model},
		        "it is wrong at -O0 and with our kernels alone, where no rewrite can be left out: "
		        "%s",
		        a.text);
	if (a.verdict == VERDICT_none)
		fail_unsupported(&(Loc){.file = suspect->model}, "there is nothing to compare with: %s",
		                 a.text);
}

Suspect
suspect_new(const Options *options, Arena *arena, const char *model)
{
	Suspect suspect = {.options = *options,
	                   .arena = arena,
	                   .model = model,
	                   .choices = options->choices,
	                   .folder = file_temporary_folder(arena)};
	if (!options->judge_command)
		find_wanted(&suspect);
	return suspect;
}

const char *
suspect_choices(const Suspect *suspect)
{
	Options options = suspect->options;
	options.prove = "none";
	Attempt a = take(suspect, &options, try_compiling, false);
	if (a.verdict == VERDICT_none)
		fail_unsupported(&(Loc){.file = suspect->model}, "it cannot be compiled: %s", a.text);
	if (a.verdict == VERDICT_wrong) /* it will be found */
		return NULL;
	Bytes part = bundle_part(suspect->arena, attempt_bundle(suspect), "choices.jsonl");
	if (part.size == 0)
		return NULL;
	const char *path = arena_printf(suspect->arena, "%s/choices.jsonl", suspect->folder);
	file_write(suspect->arena, path, part.data, part.size);
	return path;
}

Suspect
suspect_with(const Suspect *suspect, const char *choices)
{
	Suspect other = *suspect;
	other.choices = choices;
	return other;
}

Attempt
attempt_take(const Suspect *suspect, int rewrites)
{
	Options options = options_of(suspect, rewrites);
	return take(suspect, &options, try_it, false);
}
