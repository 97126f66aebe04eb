/* tilewright optimize: ONNX to ONNX.
 *
 * Runs the passes that leave standard operators, and writes the model at its own opset; FuseOps and
 * what else makes operators of ours is left out, so that the result runs anywhere. Operators that
 * we do not know pass through untouched.
 */
#include "cli/measure/subject.h"
#include "cli/report/report.h"
#include "driver/files.h"
#include "driver/pipeline.h"
#include "driver/sizes/sizes.h"
#include "graph/infer.h"
#include "onnx/onnx.h"

#include <string.h>

/* Of the largest element: as --rtol of run; of what --precision rounds. */
static const double ALLOWED = 1e-3, ALLOWED_SHORT = 1e-2;

/* Passes that a user asks for must leave what can be written. */
static void
refuse_private(const StrVec *names)
{
	for (int i = 0; i < names->count; i++) {
		const PassInfo *pass = pass_find(names->data[i]);
		if (pass->ir != IR_graph || pass->portability != PORT_standard)
			fail_as(FAIL_USAGE, NULL,
			        "optimize cannot run %s, which does not leave standard ONNX operators; "
			        "`tilewright list passes` shows what each pass leaves",
			        pass->name);
	}
}

static void
disable_private(Arena *arena, PassContext *context)
{
	const PassInfo *pass;
	refuse_private(&context->required);
	refuse_private(&context->only);
	for (int i = 0; (pass = pass_at(i)); i++)
		if (pass->ir == IR_graph && pass->portability != PORT_standard)
			vec_push(arena, &context->disabled, pass->name);
}

/* The sizes of --shape are written, so that whatever follows from them folds. */
static void
write_sizes(const Options *options, Graph *graph)
{
	for (int i = 0; i < options->shape.count; i++)
		if (strstr(options->shape.data[i], ".."))
			fail_as(FAIL_USAGE, NULL, "--shape %s: optimize writes one size, and this is a range",
			        options->shape.data[i]);
	if (options->shape.count == 0)
		return;
	graph_infer(graph);
	graph_bind(graph, sizes_asked(options, options->arena, graph));
}

/* What is asked for is the model's opset for the passes, too: they make operators that it has. */
static void
raise_opset(const Options *options, Graph *graph)
{
	for (int i = 0; i < graph->opsets.count; i++) {
		OpsetImport *opset = &graph->opsets.data[i];
		if (!*opset->domain && opset->version < options->opset)
			opset->version = options->opset < ONNX_DIALECT ? options->opset : ONNX_DIALECT;
	}
}

/* Weights lie beside the model, in no other folder: readers refuse that. */
static void
check_weights(const Options *options, const char *out)
{
	const char *name = options->weights;
	if (name && (!*name || strchr(name, '/') || strcmp(name, file_base(out)) == 0))
		fail_as(FAIL_USAGE, NULL,
		        "--weights: expected the name of another file in the folder of %s, saw '%s'", out,
		        name);
}

/* A model to run as it is, without what the command line says of passes. */
static Subject *
plain_subject(const Options *options, const char *path)
{
	Options plain = *options;
	plain.level = 1;
	plain.passes = plain.disable = plain.require = plain.config = (StrVec){0};
	plain.verify = plain.dump_after = NULL;
	plain.log = plain.timings = false;
	plain.fold_limit = -1;
	plain.precision = NULL;
	plain.keep_fp32 = (StrVec){0};
	plain.prove = plain.tune = "none";
	plain.rounds = 1;
	return subject_new(&plain, options->arena, path);
}

/* The largest difference of what both compute, of the same made-up inputs. */
static double
difference(const Options *options, const char *in, const char *out)
{
	Arena *arena = options->arena;
	Subject *before = plain_subject(options, in);
	subject_open(before, arena, NULL);
	session_expect_end(before->session);
	subject_run(before);
	Options given = *options;
	given.shape = given.fix = (StrVec){0}; /* they stand in the model */
	given.io_precision = NULL;
	Subject *after = plain_subject(&given, out);
	after->options.input = subject_inputs(arena, before);
	subject_open(after, arena, NULL);
	subject_run(after);
	return subject_difference(arena, before, after);
}

/* The file to write, by -o or as the second argument. */
static const char *
output_of(const Options *options)
{
	bool has_second = options->args.count > 1;
	if (has_second == options->gives_output)
		fail_as(FAIL_USAGE, NULL,
		        "optimize writes one file: expected OUT.onnx or -o OUT.onnx, saw %s",
		        has_second ? "both" : "neither");
	return has_second ? options->args.data[1] : options->output;
}

int
verb_optimize(const Options *options)
{
	Arena *arena = options->arena;
	const char *in = options->args.data[0], *out = output_of(options);
	refuse_over_input(options, out);
	check_weights(options, out);
	if (options->opset > ONNX_DIALECT)
		fail_as(FAIL_USAGE, NULL, "--opset: %lld is none that is known; expected 0 to %d",
		        (long long)options->opset, ONNX_DIALECT);
	Graph *graph = model_read_open(options, arena, in, file_map(arena, in));
	write_sizes(options, graph);
	raise_opset(options, graph);
	PassContext *context = pipeline_new(options, arena, 3);
	Target target = {.probe = sizes_typical(options, arena, graph, &(Learnt){.nrun = 0})};
	context->target = &target;
	disable_private(arena, context);
	GraphCounts before = graph_counts(arena, graph);
	if (context->only.count) /* exactly these */
		run_graph_passes(graph, context);
	else
		run_graph_passes_to_rest(graph, context);
	graph_check(graph);
	pipeline_report(options, context);
	onnx_write(graph, out,
	           &(OnnxWriteOptions){.opset = options->opset, .weights = options->weights});

	GraphCounts after = graph_counts(arena, graph);
	Report *report = report_new(options);
	report_graphs(report, &before, &after);
	report_text(report, "output", NULL, out);
	double apart = options->check_result ? difference(options, in, out) : 0;
	if (options->check_result)
		report_number(report, "difference", "largest difference", apart, "%.1e");
	report_print(report);
	report_say(options, "wrote %s; next: tilewright compile %s\n", out, out);
	return apart <= (options->precision ? ALLOWED_SHORT : ALLOWED) ? 0 : FAIL_COMPARISON;
}
