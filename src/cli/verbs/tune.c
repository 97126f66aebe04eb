/* The verb tune: a compilation for its answers, whose bundle nobody wants. */
#include "base/file.h"
#include "cli/report/report.h"
#include "driver/compile.h"

int
verb_tune(const Options *given)
{
	Arena *arena = given->arena;
	Options options = *given;
	int share, shares;
	options.tune = options.tune ? options.tune : "full";
	options.prove = "none";
	options.no_prepack = true;
	if (options.level >= 0 && options.level < 3)
		fail_as(FAIL_USAGE, NULL, "tune: below -O3 nothing is measured");
	tune_budget(&options);
	tune_shard(&options, &share, &shares);
	const char *bundle = arena_printf(arena, "%s/tuned.twb", file_temporary_folder(arena));
	Compiled c = compile_file(&options, arena, options.args.data[0], bundle);
	const Tuned *t = &c.tuned;
	Report *report = report_new(given);
	report_number(report, "kernels", NULL, t->kernels, "%.0f");
	report_number(report, "asked", NULL, t->asked, "%.0f");
	report_number(report, "known", NULL, t->known, "%.0f");
	report_number(report, "left", NULL, t->left, "%.0f");
	report_number(report, "faster", NULL, t->faster, "%.0f");
	report_number(report, "seconds", NULL, c.seconds, "%.2f");
	if (c.ours)
		report_text(report, "ours", NULL, c.ours);
	report_print(report);
	if (t->kernels == 0)
		report_say(given, "all is known, or nothing has candidates: %.1f s\n", c.seconds);
	else
		report_say(
			given,
			"kernels that matter: %d measured: %d now, %d before; %d left; a candidate is faster "
			"for %d; %.1f s\n",
			t->asked + t->known, t->asked, t->known, t->left, t->faster, c.seconds);
	if (c.ours)
		report_say(given, "measured: %s\n", c.ours);
	if (c.noise)
		report_say(given, "measured: %s\n", c.noise);
	if (t->left > 0)
		report_say(given, "next: the same again, for those that are left\n");
	return 0;
}
