/* tilewright bench: subjects take turns; medians and ratios. With --rounds=0 one subject is opened
 * and run once: what turns.c starts in a process of its own.
 */
#include <math.h>

#include "base/clock.h"
#include "cli/measure/turns.h"
#include "cli/report/report.h"

static int
bench_once(const Options *options)
{
	Arena *arena = options->arena;
	Subject *subject = subject_new(options, arena, options->args.data[0]);
	subject->has_all_inputs = true;
	double start = now_seconds();
	subject_open(subject, arena, NULL);
	subject_run(subject);
	Report *report = report_new(options);
	report_number(report, "open_and_first_ms", "open and first run", (now_seconds() - start) * 1e3,
	              "%.2f ms");
	report_number(report, "peak_bytes", "peak memory", subject_peak(subject), "%.0f");
	report_print(report);
	return 0;
}

static void
report_subjects(Report *report, Arena *arena, int count, Subject **subjects)
{
	Table *table = report_table(report, "subjects",
	                            "subject|>median_ms:median|>lower_quartile_ms:lower quartile|"
	                            ">upper_quartile_ms:upper quartile|>least_ms:fastest|"
	                            ">ratio|>ratio_lower:from|>ratio_upper:to|verdict:|"
	                            ">cpu_ms:CPU|"
	                            ">open_and_first_ms:open + first|>peak_mb:peak MB|"
	                            ">difference|>runs");
	double base = 0;
	for (int i = 0; i < count; i++) {
		Subject *s = subjects[i];
		int n = s->seconds.count;
		double *seconds = s->seconds.data, ms = median_of(n, seconds) * 1e3;
		base = i == 0 ? ms : base;
		const Ratio ratio = turns_ratio(arena, subjects[0], s);
		bool is_here = !s->executor || !s->executor->process;
		table_row(table,
		          "%s|%.3f ms|%.3f ms|%.3f ms|%.3f ms|%.3f|%.3f|%.3f|%s|%.3f ms|%.2f ms|%.0f|%.1e|"
		          "%.0f",
		          s->text, ms, quantile_of(n, seconds, 0.25) * 1e3,
		          quantile_of(n, seconds, 0.75) * 1e3, seconds[0] * 1e3, ms / base, ratio.lower,
		          ratio.upper, ratio.verdict, is_here ? s->used / s->runs * 1e3 : NAN,
		          s->fresh_seconds * 1e3, s->fresh_bytes * 1e-6,
		          subject_difference(arena, subjects[0], s), (double)n);
	}
}

int
verb_bench(const Options *options)
{
	Arena *arena = options->arena;
	int count = options->args.count;
	if (options->rounds == 0)
		return bench_once(options);
	Progress progress = progress_begin(options);
	Subject **subjects = turns_open(options, &progress);
	turns_take(options, count, subjects, &progress);
	progress_end(&progress);
	Report *report = report_new(options);
	report_number(report, "threads", NULL, (double)subjects[0]->options.threads, "%.0f");
	report_subjects(report, arena, count, subjects);
	double noise, apart;
	turns_noise(arena, count, subjects, &noise, &apart);
	report_number(report, "noise", NULL, noise, "%.3f");
	report_json(report, "turns_ms", turns_json(arena, count, subjects));
	report_print(report);
	report_say(options, "times on %lld thread%s; ratio and difference are to the first subject\n",
	           (long long)subjects[0]->options.threads,
	           subjects[0]->options.threads == 1 ? "" : "s");
	if (noise > apart)
		report_say(options, "turns of one subject differ by %.1f %%, %s: is the machine busy?\n",
		           noise * 100, count > 1 ? "which is more than the subjects do" : "which is much");
	return 0;
}
