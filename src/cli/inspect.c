/* tilewright inspect: what is in a bundle. Reads the file only; no code is loaded. */
#include "cli/inspect.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/model.h"
#include "cli/parts.h"
#include "cli/proof.h"
#include "cli/report.h"
#include "cli/selftest.h"
#include "cli/sizes.h"

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

static const char *
step_kind(PlanStepKind kind)
{
	static const char *const words[] = {"kernel", "vendor", "host", "copy", "if", "loop", "scan"};
	return words[kind];
}

static const char *
result_text(Arena *arena, const Plan *plan, const PlanStep *step)
{
	Buf result = {.arena = arena};
	for (int k = step->narg - step->noutput; k < step->narg; k++) {
		const PlanBuffer *buffer = step->args[k] >= 0 ? &plan->buffers[step->args[k]] : NULL;
		if (!buffer)
			continue;
		buf_printf(&result, "%s%s[", result.size ? ", " : "", dtype_name(buffer->type));
		for (int d = 0; d < buffer->rank; d++) {
			buf_puts(&result, d ? "," : "");
			bundle_dim_text(&result, plan, buffer->dims[d]);
		}
		buf_printf(&result, "]%s%s", buffer->layout ? " @" : "",
		           buffer->layout ? buffer->layout : "");
	}
	return buf_text(&result);
}

/* "a, b" has "a". */
static bool
is_among(const char *names, const char *name)
{
	size_t length = strlen(name);
	for (const char *at = names; at; at = strstr(at, ", ")) {
		at += at == names ? 0 : 2;
		if (strncmp(at, name, length) == 0 && (!at[length] || strncmp(at + length, ", ", 2) == 0))
			return true;
	}
	return false;
}

static void
plan_rows(Table *table, Arena *arena, const Plan *plan, const char *origin, const char *prefix)
{
	for (int i = 0; i < plan->nstep; i++) {
		const PlanStep *step = &plan->steps[i];
		if (!origin || (step->origins && is_among(step->origins, origin)))
			table_row(table, "%s|%s|%s|%s|%s|%s", arena_printf(arena, "%s%d", prefix, i),
			          step_kind(step->kind), step->is_beside ? "|" : "", step->row ? step->row : "",
			          result_text(arena, plan, step), step->name ? step->name : "");
		for (int k = 0; k < step->nbody; k++)
			plan_rows(table, arena, step->bodies[k], origin,
			          arena_printf(arena, "%s%d.", prefix, i));
	}
}

void
report_steps(Report *report, Arena *arena, const Plan *plan, const char *origin)
{
	plan_rows(report_table(report, "steps", ">index:step|kind|beside|row|result|name"), arena, plan,
	          origin, "");
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
report_targets(Report *report, Arena *arena, const Bundle *bundle)
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
				buf_printf(&buf, "%s%d %s", buf.size ? ", " : "", counts[k],
				           step_kind((PlanStepKind)k));
		table_row(table, "%s|%s|%s|%s", target->device, bundle_target_runs(target) ? "runs" : "",
		          *target->vendor ? target->vendor : "none", buf_text(&buf));
		if (i == 0)
			report_steps(report, arena, plan, NULL);
	}
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
	report_text(report, "graph", NULL, text);
	report_print(report);
	if (!options->json)
		fputs(text, stdout);
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

static double
part_bytes(const Manifest *manifest, const char *entry)
{
	for (int i = 0; i < manifest->npart; i++)
		if (strcmp(manifest->parts[i].entry, entry) == 0)
			return (double)manifest->parts[i].size;
	return 0;
}

static BundleSizes
sizes_of(size_t all, const Manifest *manifest)
{
	BundleSizes sizes = {.all = (double)all, .weights = part_bytes(manifest, manifest->weights)};
	for (int i = 0; i < manifest->ntarget; i++) {
		sizes.packed += part_bytes(manifest, manifest->targets[i].packed);
		sizes.code += part_bytes(manifest, manifest->targets[i].kernels);
	}
	return sizes;
}

int
verb_inspect(const Options *options)
{
	Arena *arena = options->arena;
	const char *path = options->args.data[0];
	Bytes bytes = file_map(arena, path);
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
	const BundleSizes sizes = sizes_of(bytes.size, manifest);
	report_text(report, "size", "size", bundle_sizes_text(arena, &sizes));
	report_sizes(report, arena, path, bundle);
	report_proof(report, arena, path, bundle);
	report_text(report, "self_test", "self-test", self_test_text(arena, path, bundle));
	report_signature(report, arena, bundle);
	report_targets(report, arena, bundle);
	report_parts(report, arena, manifest);
	report_print(report);
	return 0;
}
