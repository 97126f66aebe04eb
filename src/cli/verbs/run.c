/* tilewright run: open, bind, run, say how long it took; --profile says where. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "cli/measure/profile.h"
#include "cli/measure/subject.h"
#include "cli/report/report.h"
#include "cli/verbs/results.h"
#include "driver/parts.h"
#include "driver/proof/proof.h"
#include "driver/proof/selftest.h"
#include "driver/simulated.h"
#include "runtime/pool.h"

enum { MAX_RUNS = 1000 };

/* ---- times ---- */

typedef struct Times {
	double open, first, median, least;
	int runs;
} Times;

static double
timed_run(Session *session, Profile *profile)
{
	if (profile)
		profile_begin(profile);
	double start = now_seconds();
	session_run(session);
	return now_seconds() - start;
}

/* Run as often as asked, or for half a second. */
static void
run_often(const Options *options, Session *session, Profile *profile, Times *times)
{
	times->first = timed_run(session, profile);
	int wanted = options->runs > 0 ? (int)options->runs : 0;
	int limit = wanted ? wanted : MAX_RUNS;
	double *seconds = NEW_N(session->arena, double, limit), spent = 0;
	int count = 0;
	while (count < limit && (wanted || spent < 0.5)) {
		seconds[count] = timed_run(session, profile);
		spent += seconds[count++];
	}
	times->runs = count;
	times->median = median_of(count, seconds);
	times->least = seconds[0]; /* median_of() has sorted them */
}

static void
report_times(Report *report, const Session *session, const Times *times)
{
	size_t held, most;
	tw_memory(session->session, &held, &most);
	report_text(report, "target", "target", tw_target(session->bundle));
	report_text(report, "vendor", *tw_vendor(session->bundle) ? "vendor library" : NULL,
	            tw_vendor(session->bundle));
	report_number(report, "open_ms", "open", times->open * 1e3, "%.2f ms");
	report_number(report, "first_ms", "first run", times->first * 1e3, "%.2f ms");
	report_number(report, "median_ms", "median run", times->median * 1e3, "%.3f ms");
	report_number(report, "least_ms", "fastest run", times->least * 1e3, "%.3f ms");
	report_number(report, "runs", "runs", times->runs, "%.0f");
	report_number(report, "temporary_bytes", NULL, (double)tw_arena_bytes(session->session),
	              "%.0f");
	report_number(report, "session_mb", "memory of the session", (double)most / 1e6, "%.3g MB");
}

/* ---- outputs ---- */

/* "y: f32[1,1000], 0.12 -0.5 … (largest 3.4)" */
static const char *
output_text(Arena *arena, const Array *output)
{
	enum { SHOWN = 4 };
	Buf buf = {.arena = arena};
	int64_t count = array_count(output);
	buf_puts(&buf, array_type_text(arena, output));
	if (output->type == DT_STRING || dtype_class(output->type) == DC_X)
		return buf_text(&buf);
	buf_puts(&buf, " ");
	for (int64_t i = 0; i < count && i < SHOWN; i++)
		buf_printf(&buf, " %.6g", dtype_load_f64(output->type, output->data, i));
	buf_puts(&buf, count > SHOWN ? " …" : "");
	return buf_text(&buf);
}

static void
report_outputs(Report *report, Session *session)
{
	Table *table = report_table(report, "outputs", "name:output|value:");
	for (int i = 0; i < session->noutput; i++) {
		Array output = session_output(session, i);
		table_row(table, "%s|%s", tw_output(session->bundle, i)->name,
		          output_text(session->arena, &output));
	}
}

/* run --prove */
static int
run_proved(const Options *options, Session *session)
{
	Report *report = report_new(options);
	const Proof *proof = proof_session(options, session->arena, session, NULL, NULL);
	if (!proof)
		fail_unsupported(NULL, "%s holds no graph to prove it by: compile the model again",
		                 session->path);
	report_text(report, "proved", "proved", proof_summary(session->arena, proof));
	const char *target = tw_target(session->bundle);
	ProofResult result = {.proof = proof, .runs = 1, .device = target, .target = target};
	report_json(report, "proof", proofs_json(session->arena, &(Proofs){1, &result}));
	Table *table = report_table(report, "findings", "finding:wrong");
	for (int i = 0; i < proof->findings.count; i++)
		table_row(table, "%s", finding_text(session->arena, &proof->findings.data[i]));
	table = report_table(report, "losses", "loss:lost");
	for (int i = 0; i < proof->losses.count; i++)
		table_row(table, "%s", finding_text(session->arena, &proof->losses.data[i]));
	report_print(report);
	return proof->findings.count + proof->losses.count ? FAIL_COMPARISON
	                                                   : give_results(options, session);
}

/* ---- --self-test ---- */

static int
report_self_test(const Options *options, Session *session, const SelfTest *test)
{
	Report *report = report_new(options);
	report_text(report, "oracle", NULL, test->oracle);
	report_text(report, "target", NULL, tw_target(session->bundle));
	Table *table = report_table(report, "outputs",
	                            "name:output|>samples|>wrong|>error:largest error|>tolerance");
	int wrong = 0;
	double worst = 0;
	for (int i = 0; i < test->noutput; i++) {
		Comparison c;
		wrong += !selftest_check(session, &test->outputs[i], &c);
		worst = fmax(worst, c.worst);
		table_row(table, "%s|%.0f|%.0f|%.3g|%.3g", test->outputs[i].name,
		          (double)test->outputs[i].count, (double)c.wrong, c.worst,
		          test->outputs[i].tolerance);
	}
	report_print(report);
	if (wrong == 0)
		report_say(options, "self-test: %d output%s agree%s (largest error %.3g) with %s\n",
		           test->noutput, test->noutput == 1 ? "" : "s", test->noutput == 1 ? "s" : "",
		           worst, test->oracle);
	return wrong ? FAIL_COMPARISON : 0;
}

static int
selftest_run(const Options *options, const char *path, const char *name)
{
	Arena *arena = options->arena;
	if (options->input.count || options->data_set || options->shape.count || options->expect.count)
		fail_as(FAIL_USAGE, NULL,
		        "--self-test makes its own inputs and knows what to expect: "
		        "leave out --input, --data-set, --shape and --expect");
	Session *session = session_open(arena, path, name, options, NULL);
	Bytes text = bundle_part(arena, path, SELFTEST_ENTRY);
	const SelfTest *test = text.data ? selftest_read(arena, path, text) : NULL;
	if (!test)
		fail_unsupported(NULL, "%s holds no self-test: compile the model again", name);
	if (test->left_out)
		fail_unsupported(NULL, "%s holds no self-test: %s", name, test->left_out);
	selftest_bind(test, session->arena, session);
	session_run(session);
	return report_self_test(options, session, test);
}

/* Both run once, to compare: no times are taken, and a self-test's results are its own. */
static void
refuse_measuring(const Options *options)
{
	const char *how = options->self_test ? "--self-test" : options->prove_run ? "--prove" : NULL;
	if (how && (options->profile || options->trace || options->runs > 0))
		fail_as(FAIL_USAGE, NULL,
		        "%s runs once and takes no times: leave out --profile, --trace and --runs", how);
	if (options->self_test && options->result_dir)
		fail_as(FAIL_USAGE, NULL,
		        "--self-test compares samples and keeps none: leave out --output");
	if (options->self_test && options->prove_run)
		fail_as(FAIL_USAGE, NULL, "--self-test and --prove are two runs: ask for one at a time");
}

/* The file to run; --device says that it is another one than was given, for another target. */
static const char *
file_to_run(const Options *given, Options *options)
{
	Arena *arena = given->arena;
	const char *name = given->args.data[0], *device;
	*options = *given;
	refuse_compiling(given, arena, name);
	if (!given->device)
		return bundle_of(given, arena, name);
	const char *path = simulated_bundle(given, arena, name, &device);
	options->target = (StrVec){0};
	vec_push(arena, &options->target, device);
	return path;
}

int
verb_run(const Options *given)
{
	refuse_measuring(given);
	Options with_target, *options = &with_target;
	const char *name = given->args.data[0], *path = file_to_run(given, options);
	Arena *arena = options->arena;
	Report *report = report_new(options);
	Profile *profile = options->profile || options->trace ? profile_new(arena) : NULL;
	if (options->self_test)
		return selftest_run(options, path, name);
	Times times = {0};
	double start = now_seconds();
	TwSessionOptions settings = {.size = sizeof settings};
	if (profile) {
		settings.profile = profile_step;
		settings.profile_context = profile;
	}
	Session *session = session_open(arena, path, name, options, &settings);
	session_inputs(session, options);
	times.open = now_seconds() - start;
	if (options->prove_run)
		return run_proved(options, session);
	run_often(options, session, profile, &times);
	report_times(report, session, &times);
	report_outputs(report, session);
	int threads = options->threads > 0 ? (int)options->threads : pool_cores();
	if (options->profile)
		profile_report(profile, report,
		               &(Machine){device_find(tw_target(session->bundle)), threads});
	if (options->trace)
		profile_trace(profile, arena, options->trace);
	report_print(report);
	return give_results(options, session);
}
