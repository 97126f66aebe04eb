/* The verb compile, and the table it ends with. */
#include "cli/report/report.h"
#include "driver/compile.h"

#include <string.h>

int
verb_compile(const Options *options)
{
	Arena *arena = options->arena;
	const char *model = options->args.data[0];
	const char *output = options->output ? options->output : bundle_name(arena, model);
	refuse_over_input(options, output);
	Compiled c = compile_file(options, arena, model, output);
	if (c.broken)
		warn(&(Loc){.file = model}, "at the sizes of --shape the model fails: %s", c.broken);
	proofs_warn_unproved(options, model, &c.finished.proofs);
	Report *report = report_new(options);
	Table *table = report_table(report, "sizes", "what:|>before|>after");
	const struct {
		const char *what;
		int before, after;
	} rows[] = {
		{"nodes and groups", c.nodes_before, c.nodes_after},
		{"steps: our kernels", 0, c.written.kernels},
		{"steps: vendor calls", 0, c.written.vendor},
		{"steps: host operators", 0, c.written.host},
		{"steps: copies", 0, c.written.copies},
	};
	for (size_t i = 0; i < countof(rows); i++)
		table_row(table, "%s|%.0f|%.0f", rows[i].what, (double)rows[i].before,
		          (double)rows[i].after);
	report_text(report, "output", NULL, c.path);
	double plain_bytes = (double)(c.written.weight_bytes - c.finished.only_packed_bytes);
	report_number(report, "weight_bytes", NULL, plain_bytes, "%.0f");
	report_number(report, "packed_bytes", NULL, (double)c.finished.packed_bytes, "%.0f");
	report_number(report, "code_bytes", NULL, (double)c.written.code_bytes, "%.0f");
	report_number(report, "file_bytes", NULL, (double)c.finished.bytes, "%.0f");
	report_text(report, "self_test", NULL, c.finished.self_test);
	report_json(report, "chosen_for", c.sizes_entry);
	const Proofs *proofs = &c.finished.proofs;
	report_text(report, "proved", NULL, proof_text(arena, &proofs->data[0]));
	report_json(report, "proof", proofs_json(arena, proofs));
	if (c.slow)
		report_text(report, "slow", NULL, c.slow);
	if (c.ours)
		report_text(report, "ours", NULL, c.ours);
	if (c.noise)
		report_text(report, "noise", NULL, c.noise);
	if (c.written.loses)
		report_text(report, "loses", NULL, c.written.loses);
	if (*c.assumed)
		report_text(report, "assumed", NULL, c.assumed);
	report_number(report, "seconds", NULL, c.seconds, "%.2f");
	report_print(report);
	const BundleSizes sizes = {(double)c.finished.bytes, plain_bytes,
	                           (double)c.finished.packed_bytes, (double)c.written.code_bytes};
	report_say(options, "wrote %s in %.1f s, %s\n", c.path, c.seconds,
	           bundle_sizes_text(arena, &sizes));
	if (*c.sizes.chosen)
		report_say(options, "chosen for: %s (--shape says others)\n", c.sizes.chosen);
	if (*c.assumed)
		report_say(options, "assumed: %s; other sizes are refused when run\n", c.assumed);
	if (*c.sizes.demands)
		report_say(options, "the model demands: %s\n", c.sizes.demands);
	for (int i = 0; i < proofs->count; i++)
		report_say(options, "proved%s%s: %s\n", proofs->count > 1 ? " for " : "",
		           proofs->count > 1 ? proofs->data[i].device : "",
		           proof_text(arena, &proofs->data[i]));
	report_say(options, "self-test: %s\n", c.finished.self_test);
	if (c.written.loses)
		report_say(options, "values: %d library call%s %s; --values all keeps it\n",
		           c.written.lossy, c.written.lossy == 1 ? " loses" : "s lose", c.written.loses);
	if (c.slow)
		report_say(options, "slow: %s\n", c.slow);
	if (c.ours)
		report_say(options, "measured: %s\n", c.ours);
	if (c.noise)
		report_say(options, "measured: %s\n", c.noise);
	if (c.trouble)
		report_say(options, "no vendor calls: %s\n", c.trouble);
	report_say(options, "next: tilewright run %s --profile\n", c.path);
	return 0;
}
