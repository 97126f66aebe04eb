/* The way of a model from the graph to a verified plan (pipeline.h). */
#include "pipeline.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/cli.h"
#include "driver/compile.h"
#include "driver/sizes/inputs.h"
#include "driver/proof/selftest.h"
#include "fuzz.h"
#include "onnx/onnx.h"
#include "bundle/plan.h"

static Options *
options_new(Arena *arena, int level)
{
	char *argv[] = {arena_printf(arena, "-O%d", level),
	                "-q",
	                "--no-vendor",
	                "--target",
	                "cpu:x86-64-v3",
	                "model"};
	Options *options = NEW(arena, Options);
	*options = (Options){.arena = arena, .verb = verb_find("compile")};
	options_read(options, countof(argv), argv);
	return options;
}

void
fuzz_compile(Arena *arena, Graph *graph, int level)
{
	const Options *options = options_new(arena, level);
	PassContext *context = pipeline_new(options, arena, level);
	Target *target = target_new(options, arena, target_name(options, 0), graph);
	target->oracle = NULL; /* nothing is measured */
	context->target = target;
	graph_check(graph);
	InputRanges ranges = input_ranges(arena, graph, context->target->probe, NULL);
	selftest_new(arena, graph, context->target->probe, &ranges, 1);
	const Module *module = compile_graph(arena, graph, context);
	WeightPool weights = {.arena = arena};
	KernelList kernels = {0};
	Plan *plan = plan_of_module(arena, module, &weights, &kernels), *again;
	char error[512];
	int count = kernels.kernels.count;
	if (!plan_verify(plan, (size_t)weights.size, error, sizeof error))
		fuzz_found("the compiler's plan does not verify: %s", error);
	Buf json = {.arena = arena};
	plan_write(&json, plan);
	if (!plan_read(buf_text(&json), json.size, &again, error, sizeof error))
		fuzz_found("the compiler's plan does not read back: %s", error);
	plan_free(again);
	if (count)
		codegen_c(arena, context->target, count, kernels.kernels.data);
}

typedef struct Export {
	Arena *arena;
	const char *path;
} Export;

static void
read_back(void *arg)
{
	const Export *export = arg;
	onnx_read(export->arena, export->path, NULL);
}

static void
remove_file(void *path)
{
	unlink(path);
}

void
fuzz_export(Arena *arena, Graph *graph)
{
	const char *folder = getenv("TMPDIR");
	char *path = arena_printf(arena, "%s/fuzz-%d.onnx", folder ? folder : "/tmp", (int)getpid());
	Export export = {arena, path};
	Failure failure;
	arena_defer(arena, remove_file, path);
	onnx_write(graph, path, NULL);
	if (!try_run(read_back, &export, &failure))
		fuzz_found("what was exported is refused: %s", failure.text);
}
