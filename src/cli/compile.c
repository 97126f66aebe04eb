/* tilewright compile: the whole compiler on one page.
 *
 *     read → graph passes → lower → loop passes → C → machine code → bundle
 *
 * Each target goes its own way from the model on, because layouts and vendor calls differ; weights
 * are stored once.
 */
#include "cli/compile.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/litter.h"
#include "cli/finish.h"
#include "cli/inputs.h"
#include "cli/obstacles.h"
#include "cli/oracle.h"
#include "cli/progress.h"
#include "cli/report.h"
#include "cli/session.h"
#include "codegen/common/bundle.h"
#include "graph/infer.h"
#include "lower/lower.h"
#include "runtime/bundle.h"
#include "runtime/tilewright.h"

/* Below a megabyte of weights, packing when the bundle is opened takes under a millisecond. */
enum { WORTH_PACKING = 1 << 20 };

/* ---- one target ---- */

static void
optimise_graph(Graph *graph, PassContext *context)
{
	graph_refuse_sizes(graph);
	run_graph_passes(graph, context);
	if (context->verify_each == verify_texts)
		verify_texts(NULL, "all passes", NULL, graph); /* also when no pass changed anything */
	graph_refuse_obstacles(graph);
}

static Module *
lower_to_loops(Arena *arena, Graph *graph, PassContext *context)
{
	Module *module = lower_graph(arena, graph, context);
	run_loop_passes(module, context);
	if (context->verify_each == verify_texts)
		verify_module_texts(module);
	return module;
}

Module *
compile_graph(Arena *arena, Graph *graph, PassContext *context)
{
	optimise_graph(graph, context);
	return lower_to_loops(arena, graph, context);
}

Target *
target_new(const Options *options, Arena *arena, const Device *device, const Graph *graph)
{
	Target *target = NEW(arena, Target);
	*target = (Target){
		.device = device,
		.oracle = options->no_vendor ? NULL : oracle_new(arena, device),
		.threads = options->threads ? (int)options->threads : 1,
		.probe = shape_binding(options, arena, graph),
	};
	return target;
}

/* ---- what else a bundle holds ---- */

static const char *
pipeline_text(Arena *arena, const PassContext *context)
{
	Buf buf = {.arena = arena};
	buf_printf(&buf, "O%d", context->level);
	for (int i = 0; i < context->disabled.count; i++)
		buf_printf(&buf, ",-%s", context->disabled.data[i]);
	for (int i = 0; i < context->required.count; i++)
		buf_printf(&buf, ",+%s", context->required.data[i]);
	for (int i = 0; i < context->only.count; i++)
		buf_printf(&buf, "%s%s", i ? "," : ":", context->only.data[i]);
	return buf_text(&buf);
}

/* A choice that was replayed keeps what was measured when it was made. */
static void
add_choices(const Options *options, Buf *buf, const PassContext *context)
{
	Map measured = {.arena = buf->arena};
	if (options->choices)
		choices_read(buf->arena, options->choices, "candidates", &measured);
	for (int i = 0; i < context->choices.count; i++) {
		const PassChoice *choice = &context->choices.data[i];
		const char *before = map_find(&measured, choice->key);
		buf_puts(buf, "{\"key\": ");
		buf_quote(buf, choice->key);
		buf_puts(buf, ", \"chosen\": ");
		buf_quote(buf, choice->chosen);
		buf_puts(buf, ", \"candidates\": ");
		buf_quote(buf, before ? before : choice->candidates);
		buf_puts(buf, "}\n");
	}
}

static const char *
base_name(Arena *arena, const char *path)
{
	return strcmp(path, "-") == 0 ? arena_strdup(arena, "stdin") : file_base(path);
}

/* Without -o: model.onnx becomes model.twb in the current folder. */
static const char *
default_output(Arena *arena, const char *path)
{
	char *name = arena_strdup(arena, base_name(arena, path)), *dot = strrchr(name, '.');
	if (dot && dot != name)
		*dot = 0;
	return arena_printf(arena, "%s.twb", name);
}

/* ---- the whole way ---- */

static void
remove_file(void *path)
{
	unlink(path);
	litter_remove(path);
}

typedef struct Ways {
	int count;
	const Target **targets;
	const Module **modules;
	const char **graphs;  /* as texts, after the passes */
	PassContext *context; /* of the first target */
	Buf choices;
	const char *ranges;
	const char *name;      /* of the model */
	Graph *model;          /* as read */
	const Graph *compiled; /* of the first target, behind its passes */
	Map denied;            /* choices that proving found wrong */
	SelfTest *test;
	Compiled *result;
} Ways;

typedef struct Watch {
	Progress progress;
	const Graph *graph;
	int lowered, nodes;
} Watch;

/* Lowering says which node is done, and does not know how many there are. */
static void
show(void *arg, const char *what, int done, int total)
{
	Watch *watch = arg;
	if (total > 0) {
		progress_show(&watch->progress, what, done, total);
		return;
	}
	if (watch->lowered++ == 0)
		watch->nodes = graph_node_count(watch->graph);
	progress_show(&watch->progress, "lowering", watch->lowered, watch->nodes);
}

/* From the model to a module for target `index`. */
static void
go_one_way(const Options *options, Arena *arena, const char *path, Bytes bytes, Ways *ways,
           int index, Watch *watch)
{
	Graph *graph = model_read_bytes(options, arena, path, bytes);
	graph_infer(graph); /* symbols that must be equal, or numbers, are so before sizes are chosen */
	const char *name = options->target.count ? options->target.data[index] : "cpu:native";
	Target *target = target_new(options, arena, device_of(name), graph);
	PassContext *context = pipeline_new(options, arena, 3);
	context->target = target;
	for (int i = 0; i < ways->denied.count; i++)
		map_set(&context->recorded, ways->denied.entries[i].name, ways->denied.entries[i].value);
	context->progress = show;
	context->progress_arg = watch;
	watch->graph = graph;
	watch->lowered = 0;
	if (index == 0) {
		InputRanges ranges = input_ranges(arena, graph, target->probe);
		ways->ranges = input_ranges_text(arena, &ranges);
		ways->model = graph_clone(arena, graph);
		ways->test = selftest_new(arena, graph, target->probe, options->seed);
		ways->result->nodes_before = graph_node_count(graph);
		ways->context = context;
	}
	ways->targets[index] = target;
	optimise_graph(graph, context);
	Buf text = {.arena = arena};
	graph_print(&text, graph);
	ways->graphs[index] = buf_text(&text);
	ways->modules[index] = lower_to_loops(arena, graph, context);
	if (index == 0) {
		ways->compiled = graph;
		ways->result->nodes_after = graph_node_count(graph);
	}
	pipeline_report(options, context);
	add_choices(options, &ways->choices, context);
}

/* --keep: the parts of the bundle as files. */
static void
keep_parts(Arena *arena, const char *path, const char *folder)
{
	char error[512];
	Bundle bundle;
	if (!bundle_open(&bundle, file_map(arena, path), BUNDLE_VERIFY_ALL, error, sizeof error))
		fail_as(FAIL_BUG, NULL, "%s: %s", path, error);
	for (int i = 0; i < bundle.zip.count; i++) {
		const ZipEntry *entry = &bundle.zip.entries[i];
		const char *name = arena_printf(arena, "%s/%s", folder, entry->name);
		file_make_folder(file_folder(arena, name));
		file_write(arena, name, entry->data.data, entry->data.size);
	}
	bundle_close(&bundle);
}

/* Compile and write to `path`, without the choices that are denied. */
static void
write_once(const Options *options, Arena *arena, const char *model, Bytes bytes, const char *path,
           Ways *ways, Watch *watch)
{
	int count = ways->count;
	ways->targets = NEW_N(arena, const Target *, count);
	ways->modules = NEW_N(arena, const Module *, count);
	ways->graphs = NEW_N(arena, const char *, count);
	ways->choices = (Buf){.arena = arena};
	for (int i = 0; i < count; i++)
		go_one_way(options, arena, model, bytes, ways, i, watch);
	BundlePart parts[] = {
		{INPUTS_ENTRY, {(const unsigned char *)ways->ranges, strlen(ways->ranges)}},
	};
	BundleInput input = {
		.producer = arena_printf(arena, "tilewright %s", tw_version_text()),
		.model_name = ways->name,
		.model_sha256 = sha256_hex(arena, bytes.data, bytes.size),
		.pipeline = pipeline_text(arena, ways->context),
		.ntarget = count,
		.targets = ways->targets,
		.modules = ways->modules,
		.graphs = ways->graphs,
		.choices = ways->choices.size ? buf_text(&ways->choices) : NULL,
		.npart = countof(parts),
		.parts = parts,
		.progress = show,
		.progress_arg = watch,
	};
	ways->result->written = bundle_write(arena, path, &input);
}

/* Prove what was written, and add what only running it gives. */
static void
finish(const Options *options, Arena *arena, const char *path, Ways *ways)
{
	BundleReport *written = &ways->result->written;
	Finish finish = {
		.path = path,
		.folder = file_folder(arena, ways->result->path),
		.name = ways->name,
		.model = ways->model,
		.compiled = ways->compiled,
		.probe = ways->targets[0]->probe,
		.test = ways->test,
		.proof = &ways->result->proof,
		.is_packed =
			written->vendor && written->weight_bytes >= WORTH_PACKING && !options->no_prepack,
	};
	written->file_bytes = finish_bundle(options, arena, &finish);
}

/* What was found, and what is done about it. */
static void
report_findings(Arena *arena, const char *model, const ProofResult *proof, const char *next)
{
	Loc loc = {.file = model};
	if (proof->broken)
		warn(&loc, "the compiled plan does not run: %s", proof->broken);
	for (int i = 0; proof->proof && i < proof->proof->findings.count; i++)
		warn(&loc, "%s", finding_text(arena, &proof->proof->findings.data[i]));
	warn(&loc,
	     "what was compiled is wrong, which is a bug in Tilewright: please report it with these "
	     "lines; %s",
	     next);
}

/* Compile until the result is proved: choices that were found wrong are denied, and in the end all
 * are. */
static void
write_proved(const Options *options, Arena *arena, const char *model, Bytes bytes, const char *path,
             Ways *ways, Watch *watch)
{
	enum { ATTEMPTS = 4 };
	Options own = *options;
	for (int attempt = 0;; attempt++) {
		ProofResult *proof = &ways->result->proof;
		write_once(&own, arena, model, bytes, path, ways, watch);
		finish(&own, arena, path, ways);
		if (!proof_failed(proof))
			break;
		bool is_new = attempt + 1 < ATTEMPTS && proof_deny(arena, proof, &ways->denied);
		bool is_last = !is_new && own.level == 0;
		report_findings(arena, model, proof,
		                is_last  ? "nothing was written"
		                : is_new ? "compiling again without the choices that made it so"
		                         : "compiling again at -O0");
		if (is_last)
			fail_as(FAIL_BUG, &(Loc){.file = model}, "no bundle that could be proved");
		own.level = is_new ? own.level : 0;
	}
}

Compiled
compile_file(const Options *options, Arena *arena, const char *path, const char *output)
{
	double start = now_seconds();
	Watch watch = {.progress = progress_begin(options)};
	Compiled result = {.path = output ? output : default_output(arena, path)};
	arena_spill(arena, file_folder(arena, result.path));
	Bytes bytes = file_map(arena, path);
	const char *unproved = file_draft(arena, result.path);
	Ways ways = {
		.count = options->target.count ? options->target.count : 1,
		.denied = {.arena = arena},
		.name = base_name(arena, path),
		.result = &result,
	};
	write_proved(options, arena, path, bytes, unproved, &ways, &watch);
	file_publish(arena, unproved, result.path);
	result.self_test = selftest_summary(arena, ways.test);
	result.trouble = oracle_trouble(ways.targets[0]->oracle);
	progress_end(&watch.progress);
	if (options->keep)
		keep_parts(arena, result.path, options->keep);
	arena_spill(arena, NULL);
	result.seconds = now_seconds() - start;
	return result;
}

/* ---- bundles of models, for run and bench ---- */

const char *
bundle_of(const Options *options, Arena *arena, const char *path)
{
	if (file_kind(path, file_map(arena, path)) == FILE_BUNDLE)
		return path;
	const char *folder = getenv("TMPDIR");
	char *output = arena_printf(arena, "%s/tilewright-XXXXXX", folder ? folder : "/tmp");
	int file = mkstemp(output);
	if (file < 0)
		fail_environment(NULL, "cannot make a temporary file %s", output);
	close(file);
	litter_add(output);
	arena_defer(arena, remove_file, output);
	compile_file(options, arena, path, output);
	return output;
}

/* ---- the verb ---- */

static void
report_row(Table *table, const char *what, double before, double after)
{
	table_text(table, what);
	table_number(table, before, "%.0f");
	table_number(table, after, "%.0f");
}

int
verb_compile(const Options *options)
{
	Arena *arena = options->arena;
	Compiled c = compile_file(options, arena, options->args.data[0], options->output);
	Report *report = report_new(options);
	Table *table = report_table(report, "sizes", NULL);
	table_column(table, "what", "", false);
	table_column(table, "before", "before", true);
	table_column(table, "after", "after", true);
	report_row(table, "nodes and groups", c.nodes_before, c.nodes_after);
	report_row(table, "steps: our kernels", 0, c.written.kernels);
	report_row(table, "steps: vendor calls", 0, c.written.vendor);
	report_row(table, "steps: host operators", 0, c.written.host);
	report_row(table, "steps: copies", 0, c.written.copies);
	report_text(report, "output", NULL, c.path);
	report_number(report, "weight_bytes", NULL, (double)c.written.weight_bytes, "%.0f");
	report_number(report, "code_bytes", NULL, (double)c.written.code_bytes, "%.0f");
	report_number(report, "file_bytes", NULL, (double)c.written.file_bytes, "%.0f");
	report_text(report, "self_test", NULL, c.self_test);
	report_text(report, "proved", NULL, proof_text(arena, &c.proof));
	report_number(report, "seconds", NULL, c.seconds, "%.2f");
	report_print(report);
	say(options, "wrote %s: %s, of which weights %s and code %s, in %.1f s\n", c.path,
	    size_text(arena, (double)c.written.file_bytes),
	    size_text(arena, (double)c.written.weight_bytes),
	    size_text(arena, (double)c.written.code_bytes), c.seconds);
	say(options, "proved: %s\n", proof_text(arena, &c.proof));
	say(options, "self-test: %s\n", c.self_test);
	if (c.trouble)
		say(options, "no vendor calls: %s\n", c.trouble);
	say(options, "next: tilewright run %s --profile\n", c.path);
	return 0;
}
