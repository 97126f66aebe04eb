/* tilewright check: can this be compiled, and if not, what is in the way? All of it at once.
 *
 * A model in which nothing is in the way is then compiled as far as that goes without a C compiler
 * and without loading code: passes, lowering, plans as the runtime reads them, kernels as text.
 *
 * For a bundle: is it whole? Container, manifest, every hash, every plan; no code is loaded.
 */
#include <stdio.h>

#include "cli/report/report.h"
#include "driver/compile.h"
#include "driver/obstacles.h"
#include "driver/parts.h"
#include "graph/infer.h"
#include "onnx/onnx.h"

/* The code of them all is the least. */
static void
add_row(Table *table, int *code, FailKind kind, const char *text)
{
	static const char *const words[] = {"",    "comparison", "usage", "invalid", "unsupported",
	                                    "bug", "environment"};
	table_row(table, "%s|%s", words[kind], text);
	*code = *code && *code < (int)kind ? *code : (int)kind;
}

/* What the compiler itself would stumble over in a model that reads well. */
static int
check_nodes(const Graph *graph, Table *table, int *code)
{
	ObstacleVec list = graph_obstacles(graph->arena, graph, true);
	for (int i = 0; i < list.count; i++) {
		const Node *node = list.data[i].node;
		const char *place =
			!node ? ""
				  : arena_printf(graph->arena,
		                         "node \"%s\" (%s): ", node->loc.node ? node->loc.node : "",
		                         node->op->name);
		add_row(table, code, list.data[i].kind,
		        arena_printf(graph->arena, "%s: %s%s", graph->file, place, list.data[i].text));
	}
	return list.count;
}

typedef struct Trial {
	Options options;
	Graph *model;
	int target;
	bool is_last; /* compiles the model itself, not a copy */
} Trial;

/* All of a compilation for one target that needs nothing but the model. */
static void
try_target(void *arg)
{
	const Trial *trial = arg;
	const Options *options = &trial->options;
	Arena *arena = options->arena;
	Graph *graph = trial->is_last ? trial->model : graph_clone(arena, trial->model);
	PassContext *context = pipeline_new(options, arena, 3);
	Target *target = target_new(options, arena, target_name(options, trial->target), graph);
	target->oracle = NULL; /* asking a library is loading it, and measuring takes long */
	context->target = target;
	const Module *module = compile_graph(arena, graph, context);
	pipeline_report(options, context);
	bundle_rehearse(arena, context->target, module);
}

/* One row for each target that cannot be had. */
static int
check_targets(const Options *options, Graph *model, Table *table, int *code)
{
	Trial trial = {.options = *options, .model = model};
	int count = target_count(options), failed = 0;
	char advice[256];
	for (; trial.target < count; trial.target++) {
		Failure failure;
		trial.is_last = trial.target == count - 1;
		if (try_run(try_target, &trial, &failure))
			continue;
		if (failure.kind == FAIL_USAGE)
			fail_again(&failure);
		add_row(table, code, failure.kind, arena_strdup(options->arena, failure.text));
		bug_advice(advice, sizeof advice, &failure);
		if (failure.kind == FAIL_BUG)
			report_say(options, "%s\n", advice);
		failed++;
	}
	return failed;
}

static void
say_assumed(const Options *options, Report *report, Graph *graph)
{
	graph_infer(graph);
	const char *assumed = graph_assumed_text(options->arena, graph);
	if (!*assumed)
		return;
	report_text(report, "assumed", NULL, assumed);
	report_say(options, "assumed: %s; other sizes are refused when run\n", assumed);
}

static int
check_model(const Options *options, const char *path)
{
	Report *report = report_new(options);
	Table *table = report_table(report, "obstacles", "kind|text:obstacle");
	const Failure *list;
	pipeline_new(options, options->arena, 3); /* what is wrong with options is no obstacle */
	/* What --shape and --fix decide is no obstacle: then reading ends at the first that is one. */
	bool is_decided = options->shape.count || options->fix.count;
	int count = is_decided ? 0 : onnx_obstacles(options->arena, path, NULL, &list), code = 0;
	for (int i = 0; i < count; i++)
		add_row(table, &code, list[i].kind, list[i].text);
	if (count == 0) {
		Graph *graph = model_read(options, options->arena, path);
		if (is_decided)
			graph_infer(graph);
		report_number(report, "nodes", NULL, graph_node_count(graph), "%.0f");
		count = check_nodes(graph, table, &code);
		if (count == 0) {
			say_assumed(options, report, graph);
			count = check_targets(options, graph, table, &code);
		}
	}
	report_print(report);
	if (count)
		report_say(options, "%d obstacle%s\n", count, count == 1 ? "" : "s");
	else
		report_say(options, "%s can be compiled; next: tilewright compile %s\n", path, path);
	return code;
}

static int
check_bundle(const Options *options, const char *path, Bytes bytes)
{
	options_refuse(
		options, 0,
		arena_printf(options->arena,
	                 "%s is a bundle, of which every byte is compared with its hash, and no more",
	                 path));
	const Bundle *bundle = bundle_get(options->arena, path, bytes, BUNDLE_VERIFY_ALL);
	for (int i = 0; i < bundle->manifest->ntarget; i++)
		bundle_plan(options->arena, bundle, i);
	Report *report = report_new(options);
	report_table(report, "obstacles", "text:obstacle");
	report_number(report, "parts", NULL, bundle->manifest->npart, "%.0f");
	report_number(report, "targets", NULL, bundle->manifest->ntarget, "%.0f");
	report_print(report);
	report_say(options, "%s is whole: %d parts, %d target%s\n", path, bundle->manifest->npart,
	           bundle->manifest->ntarget, bundle->manifest->ntarget == 1 ? "" : "s");
	return 0;
}

int
verb_check(const Options *options)
{
	const char *path = options->args.data[0];
	Bytes bytes = file_map(options->arena, path);
	FileKind kind = file_kind(path, bytes);
	if (kind == FILE_BUNDLE)
		return check_bundle(options, path, bytes);
	if (kind != FILE_ONNX)
		fail_as(FAIL_USAGE, NULL, "%s: expected an ONNX model or a bundle", path);
	return check_model(options, path);
}
