/* --verify=each: after each pass that changed something, what it got and what it left are evaluated
 * on the same made-up inputs. Graphs: before in double with error bounds, after as kernels compute.
 * What a pass may change (the order of a sum) stays within the bounds; anything else is a bug,
 * named with its pass. Programs and loops: verify_parts.c.
 */
#include "cli/inputs.h"
#include "cli/model.h"
#include "cli/sizes.h"
#include "eval/eval.h"

/* Above so many operations a reduction is evaluated at sampled points. */
static const double SAMPLE = 1e8;

static const Array **
make_inputs(Arena *arena, const Options *options, const Graph *graph)
{
	const Binding *probe = sizes_asked(options, arena, graph);
	InputRanges ranges = input_ranges(arena, graph, probe);
	const Array **inputs = NEW_N(arena, const Array *, graph->body->nparam + 1);
	for (int i = 0; i < graph->body->nparam; i++) {
		const Value *input = graph->body->params[i];
		inputs[i] = value_default(input);
		if (!inputs[i])
			inputs[i] = input_make_for(arena, (uint64_t)options->seed, &ranges, input, probe);
	}
	return inputs;
}

static void
verify_graph(const PassContext *context, const Graph *before, const Graph *after)
{
	const Options *options = context->verify_arg;
	Arena *arena = arena_new_in(after->arena, "verify"); /* also when it fails */
	int noutput = before->body->nresult;
	const BoundArray **expected = NEW_N(arena, const BoundArray *, noutput + 1);
	const Array **seen = NEW_N(arena, const Array *, noutput + 1);
	const Array **inputs = make_inputs(arena, options, before);
	eval_graph_bound(arena, before, inputs, expected, SAMPLE);
	eval_graph(arena, after, inputs, seen);
	for (int i = 0; i < noutput; i++) {
		Agreement a = bound_compare(expected[i], seen[i], 1);
		if (a.wrong)
			fail_as(FAIL_BUG, NULL,
			        "%s changed output %s: element %lld is %.9g, expected %.9g within %.3g; "
			        "%lld of %lld are wrong",
			        context->running, before->body->results[i]->name, (long long)a.first_wrong,
			        a.seen, a.expected, a.bound, (long long)a.wrong, (long long)a.points);
	}
	arena_reset(arena);
}

void
verify_rewrite(PassContext *context, PassIr ir, const void *before, const void *after)
{
	if (ir == IR_graph)
		verify_graph(context, before, after);
	else if (ir == IR_loop)
		verify_kernel(context, before, after);
	else
		verify_unit(context, before, after);
}
