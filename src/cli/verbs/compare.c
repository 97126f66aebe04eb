/* tilewright compare: what subjects give, and how fast, beside the first of them.
 *
 *     conditions   processor, threads, inputs, and who runs each; what does not fit is warned of
 *     outputs      how far from the base's (distance.h)
 *     times        as bench takes them, with the interval of ratios (turns.h)
 *     tensors      --tensors, --kernels: what lies between inputs and outputs (compared.c)
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "bundle/json.h"
#include "cli/measure/distance.h"
#include "cli/report/report.h"
#include "cli/verbs/compared.h"
#include "driver/measure/oracle.h"
#include "driver/sizes/sizes.h"
#include "runtime/handle.h"

/* ---- conditions ---- */

static void
add_warning(Compared *c, const char *text)
{
	vec_push(c->arena, &c->warnings, text);
	warn(NULL, "%s", text);
}

static const Manifest *
manifest_of(const Subject *subject)
{
	return subject->session ? subject->session->bundle->bundle.manifest : NULL;
}

/* "tilewright 0.1.0, cpu:x86-64-v4, oneDNN 2.6.3" */
static const char *
runner_text(Arena *arena, Subject *subject)
{
	const Executor *executor = subject->executor;
	if (executor)
		return arena_printf(arena, "%s %s", executor->title, executor->version(subject->state));
	const TwBundle *bundle = subject->session->bundle;
	const char *vendor = tw_vendor(bundle);
	return arena_printf(arena, "%s, %s%s%s", tw_producer(bundle), tw_target(bundle),
	                    *vendor ? ", " : "", vendor);
}

/* SHA-256 of its model; "": a command. */
static const char *
model_hash(Arena *arena, const Subject *subject)
{
	if (manifest_of(subject))
		return manifest_of(subject)->model_sha256;
	if (subject->executor == &executor_command)
		return "";
	Bytes file = file_map(arena, subject->file);
	return sha256_hex(arena, file.data, file.size);
}

static void
check_producer(Compared *c, const Subject *subject)
{
	const char *ours = arena_printf(c->arena, "tilewright %s", tw_version_text());
	const Manifest *manifest = manifest_of(subject);
	if (manifest && strcmp(manifest->producer, ours) != 0)
		add_warning(c, arena_printf(c->arena, "%s was compiled by %s, this is %s", subject->text,
		                            manifest->producer, ours));
}

/* Choices are made for some sizes: others are not what it is best at. */
static void
check_sizes(Compared *c, const Subject *subject)
{
	const Session *session = subject->session;
	for (int i = 0; session && i < session->ninput; i++) {
		const TwTensorInfo *info = tw_input(session->bundle, i);
		for (int d = 0; session->inputs[i] && d < info->rank; d++) {
			int64_t size = session->inputs[i]->dims[d];
			int64_t chosen = !info->dims[d].symbol || !session->sizes.data
			                     ? size
			                     : sizes_find((const char *)session->sizes.data,
			                                  session->sizes.size, info->dims[d].symbol, size);
			if (chosen != size)
				add_warning(c,
				            arena_printf(c->arena, "%s was compiled for %s=%lld and runs at %lld",
				                         subject->text, info->dims[d].symbol, (long long)chosen,
				                         (long long)size));
		}
	}
}

static void
report_conditions(Compared *c)
{
	Arena *arena = c->arena;
	const Options *options = c->options;
	const char *processor = strchr(processor_text(arena), ':');
	char *name = arena_strdup(arena, processor ? processor + 2 : "not known");
	name[strcspn(name, "\n")] = 0;
	report_text(c->report, "processor", "processor", name);
	report_number(c->report, "threads", "threads", (double)c->subjects[0]->options.threads, "%.0f");
	report_number(c->report, "seed", NULL, (double)options->seed, "%.0f");
	report_text(c->report, "inputs", "inputs", subject_inputs_text(arena, c->subjects[0]));
	Table *table = report_table(c->report, "conditions", "subject|by|model_sha256:model");
	const char *first = NULL;
	for (int i = 0; i < c->count; i++) {
		Subject *subject = c->subjects[i];
		const char *hash = model_hash(arena, subject);
		table_row(table, "%s|%s|%s", subject->text, runner_text(arena, subject),
		          options->json ? hash : arena_strndup(arena, hash, 12));
		if (first && *hash && strcmp(first, hash) != 0)
			add_warning(c, arena_printf(arena, "%s is of another model file than %s", subject->text,
			                            c->subjects[0]->text));
		first = first ? first : hash;
		check_producer(c, subject);
		check_sizes(c, subject);
	}
}

/* ---- outputs ---- */

/* The subject's output that stands beside the base's of this number: by its name, or, where it has
 * as many but calls it otherwise, by its place; -1: it has none. */
static int
output_beside(Subject *base, Subject *subject, int index)
{
	const char *name = subject_output_name(base, index);
	int count = subject_output_count(subject);
	for (int i = 0; i < count; i++)
		if (strcmp(subject_output_name(subject, i), name) == 0)
			return i;
	return count == subject_output_count(base) ? index : -1;
}

/* "": it is accepted; else what is wrong. */
static const char *
difference_text(Arena *arena, const Distance *distance, const Array *base, const Array *seen)
{
	const Comparison *comparison = &distance->comparison;
	if (!comparison->reason && comparison->wrong == 0)
		return "";
	return comparison_text(arena, comparison, base, seen);
}

static void
report_output(Compared *c, Table *table, Subject *subject, int index)
{
	Subject *base = c->subjects[0];
	/* printed when subjects have been opened anew, for times */
	const char *name = arena_strdup(c->arena, subject_output_name(base, index));
	int at = output_beside(base, subject, index);
	if (at < 0) {
		table_row(table, "%s|%s|%g|%g|%g|%g|%g|%g|%g|%g|%s", subject->text, name, NAN, NAN, NAN,
		          NAN, NAN, NAN, NAN, NAN, "it has no such output");
		c->differs = true;
		return;
	}
	Array x = subject_output(base, index), y = subject_output(subject, at);
	Distance d = distance_of(c->options, c->arena, &x, &y);
	const char *text = difference_text(c->arena, &d, &x, &y);
	bool is_other = d.comparison.reason;
	c->differs |= *text != 0;
	table_row(table, "%s|%s|%.2e|%.1e|%.1e|%.1e|%.1e|%.9f|%.3g|%.3g|%s", subject->text, name,
	          is_other ? NAN : d.comparison.worst, d.mean, d.median, d.most, d.relative, d.cosine,
	          d.top1, d.top5, text);
}

static void
report_outputs(Compared *c)
{
	Table *table = report_table(c->report, "outputs",
	                            "subject|output|>max:largest difference|>mean|>median|>most:99 %|"
	                            ">relative|>cosine|>top1:top 1|>top5:top 5|differs:");
	for (int i = 1; i < c->count; i++)
		for (int k = 0; k < subject_output_count(c->subjects[0]); k++)
			report_output(c, table, c->subjects[i], k);
}

/* ---- times ---- */

/* "3%" or "3" as 0.03 */
static double
share_of(const char *text)
{
	char *end;
	double percent = strtod(text, &end);
	if (end == text || !(percent >= 0) || (*end && strcmp(end, "%") != 0))
		fail_as(FAIL_USAGE, NULL, "--fail-if-slower: expected a percentage as 3%%, saw '%s'", text);
	return percent / 100;
}

static void
report_times(Compared *c)
{
	Table *table =
		report_table(c->report, "times",
	                 "subject|>median_ms:median|>ratio|>ratio_lower:from|>ratio_upper:to|"
	                 "verdict:|>open_and_first_ms:open + first|>peak_mb:peak MB|>steps");
	for (int i = 0; i < c->count; i++) {
		Subject *s = c->subjects[i];
		Ratio ratio = turns_ratio(c->arena, c->subjects[0], s);
		double steps = s->session ? s->session->bundle->plan->nstep : NAN;
		table_row(table, "%s|%.3f ms|%.3f|%.3f|%.3f|%s|%.2f ms|%.0f|%.0f", s->text,
		          median_of(s->seconds.count, s->seconds.data) * 1e3, ratio.middle, ratio.lower,
		          ratio.upper, ratio.verdict, s->fresh_seconds * 1e3, s->fresh_bytes * 1e-6, steps);
		c->is_slower |= i > 0 && ratio.lower > 1 + c->slower_most;
	}
	double noise, apart;
	turns_noise(c->arena, c->count, c->subjects, &noise, &apart);
	report_number(c->report, "noise", NULL, noise, "%.3f");
	report_json(c->report, "turns_ms", turns_json(c->arena, c->count, c->subjects));
}

/* ---- all of it ---- */

static void
write_outputs(Compared *c)
{
	for (int i = 0; i < c->count; i++)
		for (int k = 0; k < subject_output_count(c->subjects[i]); k++) {
			Array output = subject_output(c->subjects[i], k);
			compared_write(c, i, subject_output_name(c->subjects[i], k), &output);
		}
}

static void
report_warnings(Compared *c)
{
	Buf json = {.arena = c->arena};
	buf_putc(&json, '[');
	for (int i = 0; i < c->warnings.count; i++)
		json_put(&json, i ? ", %s" : "%s", c->warnings.data[i]);
	buf_putc(&json, ']');
	report_json(c->report, "warnings", buf_text(&json));
}

int
verb_compare(const Options *options)
{
	double slower_most = options->fail_if_slower ? share_of(options->fail_if_slower) : INFINITY;
	if (options->fail_if_slower && options->rounds >= 0 && options->rounds < TURNS_LEAST)
		fail_as(FAIL_USAGE, NULL,
		        "--fail-if-slower: fewer than %d rounds do not tell; saw --rounds %lld",
		        TURNS_LEAST, (long long)options->rounds);
	Progress progress = progress_begin(options);
	Compared c = {.options = options,
	              .slower_most = slower_most,
	              .arena = options->arena,
	              .report = report_new(options),
	              .count = options->args.count,
	              .said.arena = options->arena,
	              .subjects = turns_open(options, &progress)};
	report_conditions(&c);
	report_outputs(&c);
	if (options->result_dir)
		write_outputs(&c);
	if (options->tensors || options->kernels)
		compared_tensors(&c, &progress);
	if (options->rounds != 0) {
		turns_take(options, c.count, c.subjects, &progress);
		report_times(&c);
	}
	progress_end(&progress);
	report_warnings(&c);
	report_print(c.report);
	report_say(options, "%s", buf_text(&c.said));
	bool fails = (c.differs && options->fail_if_differs) || c.is_slower;
	return fails ? FAIL_COMPARISON : 0;
}
