/* tilewright optimize: ONNX to ONNX.
 *
 * Runs the passes that leave standard operators, and writes the model at its own opset; FuseOps and
 * what else makes operators of ours is left out, so that the result runs anywhere. Operators that
 * we do not know pass through untouched.
 */
#include "cli/model.h"
#include "cli/report.h"
#include "cli/sizes.h"
#include "onnx/onnx.h"

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

int
verb_optimize(const Options *options)
{
	Arena *arena = options->arena;
	const char *in = options->args.data[0], *out = options->args.data[1];
	refuse_over_input(options, out);
	Graph *graph = model_read_open(options, arena, in);
	PassContext *context = pipeline_new(options, arena, 3);
	Target target = {.threads = 1,
	                 .probe = sizes_typical(options, arena, graph, &(Learnt){.nrun = 0})};
	context->target = &target;
	disable_private(arena, context);
	GraphCounts before = graph_counts(arena, graph);
	run_graph_passes(graph, context);
	graph_check(graph);
	pipeline_report(options, context);
	onnx_write(graph, out, &(OnnxWriteOptions){.opset = options->opset});

	GraphCounts after = graph_counts(arena, graph);
	Report *report = report_new(options);
	report_graphs(report, &before, &after);
	report_text(report, "output", NULL, out);
	report_print(report);
	report_say(options, "wrote %s; next: tilewright compile %s\n", out, out);
	return 0;
}
