/* tilewright inspect: what is in a bundle. Reads the file only; no code is loaded. */
#include "cli/report/fate.h"
#include "cli/verbs/inspect.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/report/report.h"
#include "driver/files.h"
#include "driver/parts.h"
#include "driver/proof/proof.h"
#include "driver/proof/selftest.h"
#include "driver/sizes/sizes.h"

static const char *
tensor_text(Arena *arena, const ManifestTensor *tensor)
{
	Buf buf = {.arena = arena};
	buf_printf(&buf, "%s[", dtype_name(tensor->type));
	for (int d = 0; d < tensor->rank; d++)
		buf_printf(&buf, "%s%s", d ? "," : "", tensor->dims[d]);
	buf_putc(&buf, ']');
	return buf_text(&buf);
}

static void
report_signature(Report *report, Arena *arena, const Bundle *bundle)
{
	const Manifest *manifest = bundle->manifest;
	Table *inputs = report_table(report, "inputs", "name:input|type|default");
	const Plan *plan = manifest->ntarget > 0 ? bundle_plan(arena, bundle, 0) : NULL;
	for (int i = 0; i < manifest->ninput; i++) {
		bool is_held = plan && plan->buffers[plan->inputs[i]].bytes >= 0;
		table_row(inputs, "%s|%s|%s", manifest->inputs[i].name,
		          tensor_text(arena, &manifest->inputs[i]), is_held ? "yes" : "");
	}
	Table *outputs = report_table(report, "outputs", "name:output|type");
	for (int i = 0; i < manifest->noutput; i++)
		table_row(outputs, "%s|%s", manifest->outputs[i].name,
		          tensor_text(arena, &manifest->outputs[i]));
}

void
report_arguments(Report *report, Arena *arena, const Plan *plan, const PlanStep *step)
{
	Table *table = report_table(report, "arguments", "argument:|name|type|memory");
	for (int k = 0; k < step->narg; k++) {
		const PlanBuffer *buffer = step->args[k] >= 0 ? &plan->buffers[step->args[k]] : NULL;
		if (buffer)
			table_row(table, "%s|%s|%s|%s", k < step->narg - step->noutput ? "reads" : "writes",
			          buffer->name, buffer_type_text(arena, plan, buffer),
			          plan_buffer_words[buffer->kind]);
	}
}

/* How a step stands to others: beside the one in front, or in place of a call. */
static const char *
beside_text(Arena *arena, const PlanStep *step)
{
	return step->covered_by >= 0 ? arena_printf(arena, "unless %d", step->covered_by)
	       : step->is_beside     ? "|"
	                             : "";
}

static void
plan_rows(Table *table, Arena *arena, const Plan *plan, const Node *node, const char *prefix)
{
	for (int i = 0; i < plan->nstep; i++) {
		const PlanStep *step = &plan->steps[i];
		if (!node || step_is_of(plan, step, node))
			table_row(table, "%s|%s|%s|%s|%s|%s", arena_printf(arena, "%s%d", prefix, i),
			          plan_step_words[step->kind], beside_text(arena, step),
			          step->row ? step->row : "", result_text(arena, plan, step),
			          step->name ? step->name : "");
		for (int k = 0; k < step->nbody; k++)
			plan_rows(table, arena, step->bodies[k], node, arena_printf(arena, "%s%d.", prefix, i));
	}
}

void
report_steps(Report *report, Arena *arena, const Plan *plan, const Node *node)
{
	plan_rows(report_table(report, "steps", ">index:step|kind|beside|row|result|name"), arena, plan,
	          node, "");
}

void
plan_count_kinds(const Plan *plan, int counts[PT_SCAN + 1])
{
	for (int i = 0; i < plan->nstep; i++) {
		counts[plan->steps[i].kind]++;
		for (int k = 0; k < plan->steps[i].nbody; k++)
			plan_count_kinds(plan->steps[i].bodies[k], counts);
	}
}

static void
report_targets(Report *report, Arena *arena, const char *path, const Bundle *bundle)
{
	Table *table = report_table(report, "targets", "device:target|here|vendor|steps");
	for (int i = 0; i < bundle->manifest->ntarget; i++) {
		const ManifestTarget *target = &bundle->manifest->targets[i];
		const Plan *plan = bundle_plan(arena, bundle, i);
		int counts[PT_SCAN + 1] = {0};
		plan_count_kinds(plan, counts);
		Buf buf = {.arena = arena};
		for (int k = 0; k <= PT_SCAN; k++)
			if (counts[k])
				buf_printf(&buf, "%s%d %s", buf.size ? ", " : "", counts[k], plan_step_words[k]);
		table_row(table, "%s|%s|%s|%s", target->device, bundle_target_runs(target) ? "runs" : "",
		          *target->vendor ? target->vendor : "none", buf_text(&buf));
		if (i == 0)
			report_steps(report, arena, plan, NULL);
	}
	for (int i = 0; i < bundle->manifest->ntarget; i++)
		report_modelled(report, arena, path, bundle, i);
}

static void
report_parts(Report *report, Arena *arena, const Manifest *manifest)
{
	Table *table = report_table(report, "parts", "entry:part|>bytes|xxh3");
	for (int i = 0; i < manifest->npart; i++) {
		char hash[BUNDLE_HASH_SIZE];
		bundle_hash_text(manifest->parts[i].hash, hash);
		table_row(table, "%s|%.0f|%s", manifest->parts[i].entry, (double)manifest->parts[i].size,
		          arena_strdup(arena, hash));
	}
}

/* The optimised graphs, one per target, each under the name of its part when there are several. */
static const char *
graphs_text(Arena *arena, const Bundle *bundle)
{
	Buf text = {.arena = arena};
	bool is_single = bundle->manifest->ntarget == 1;
	for (int i = 0; i < bundle->zip.count; i++) {
		const ZipEntry *entry = &bundle->zip.entries[i];
		if (strncmp(entry->name, GRAPH_FOLDER, strlen(GRAPH_FOLDER)) != 0)
			continue;
		if (!is_single)
			buf_printf(&text, "# %s\n", entry->name);
		buf_write(&text, (const char *)entry->data.data, entry->data.size);
	}
	return buf_text(&text);
}

static void
print_graphs(const Options *options, const char *path, const Bundle *bundle)
{
	const char *text = graphs_text(options->arena, bundle);
	if (!*text)
		fail_unsupported(NULL, "%s holds no graph: it was compiled by %s; compile the model again",
		                 path, bundle->manifest->producer);
	Report *report = report_new(options);
	report_body(report, "graph", text);
	report_print(report);
}

static const char *
self_test_text(Arena *arena, const char *path, const Bundle *bundle)
{
	const ZipEntry *entry = zip_find(&bundle->zip, SELFTEST_ENTRY);
	return entry ? selftest_summary(arena, selftest_read(arena, path, entry->data)) : "none";
}

static void
report_sizes(Report *report, Arena *arena, const char *path, const Bundle *bundle)
{
	const ZipEntry *entry = zip_find(&bundle->zip, SIZES_ENTRY);
	if (!entry)
		return;
	SizesEntry sizes = sizes_read(arena, path, entry->data);
	if (*sizes.chosen)
		report_text(report, "chosen_for", "chosen for", sizes.chosen);
	if (*sizes.demands)
		report_text(report, "demands", "demands", sizes.demands);
	report_json(report, "sizes",
	            arena_strndup(arena, (const char *)entry->data.data, entry->data.size));
}

static void
report_proof(Report *report, Arena *arena, const char *path, const Bundle *bundle)
{
	const ZipEntry *entry = zip_find(&bundle->zip, PROOF_ENTRY);
	if (!entry) {
		report_text(report, "proved", "proved", "not proved: made by an older version");
		return;
	}
	report_text(report, "proved", "proved", proof_read(arena, path, entry->data));
	report_json(report, "proof",
	            arena_strndup(arena, (const char *)entry->data.data, entry->data.size));
}

int
verb_inspect(const Options *options)
{
	Arena *arena = options->arena;
	const char *path = options->args.data[0];
	Bytes bytes = file_map(arena, path);
	if (file_kind(path, bytes) != FILE_BUNDLE) {
		inspect_model(options, path, bytes);
		return 0;
	}
	if (options->shape.count || options->fix.count)
		fail_as(FAIL_USAGE, NULL, "--%s is for a model: %s is a bundle",
		        options->shape.count ? "shape" : "fix", path);
	const Bundle *bundle = bundle_get(arena, path, bytes, BUNDLE_VERIFY_CODE);
	const Manifest *manifest = bundle->manifest;
	if (options->graph) {
		print_graphs(options, path, bundle);
		return 0;
	}
	Report *report = report_new(options);
	report_text(report, "model", "model", manifest->model_name);
	report_text(report, "model_sha256", "SHA-256 of the model", manifest->model_sha256);
	report_text(report, "sha256", "SHA-256 of this file",
	            sha256_hex(arena, bytes.data, bytes.size));
	report_text(report, "producer", "producer", manifest->producer);
	report_text(report, "pipeline", "pipeline", manifest->pipeline);
	const BundleSizes sizes = bundle_sizes(manifest, bytes.size);
	report_text(report, "size", "size", bundle_sizes_text(arena, &sizes));
	report_sizes(report, arena, path, bundle);
	report_proof(report, arena, path, bundle);
	report_text(report, "self_test", "self-test", self_test_text(arena, path, bundle));
	report_signature(report, arena, bundle);
	report_targets(report, arena, path, bundle);
	report_parts(report, arena, manifest);
	report_print(report);
	return 0;
}
