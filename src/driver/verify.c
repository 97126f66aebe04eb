/* --verify=each: after each pass that changed something, what it got and what it left are evaluated
 * on the same made-up inputs. Graphs: before in double with error bounds, after as kernels compute.
 * What a pass may change (the order of a sum) stays within the bounds; anything else is a bug,
 * named with its pass. A pass of class finite may leave what rounds more often: its bounds are
 * allowed, too. Programs and loops: verify_parts.c.
 */
#include "driver/sizes/inputs.h"
#include "driver/sizes/learn.h"
#include "driver/sizes/sizes.h"
#include "driver/verify.h"
#include "eval/eval.h"

/* Above so many operations a reduction is evaluated at sampled points. */
static const double SAMPLE = 1e8;

typedef struct GraphJob {
	const Options *options;
	Arena *arena;
	const Graph *before;
	bool learns; /* what its checks ask of sizes and inputs, since it failed without */
	const Array **inputs;
	const BoundArray **expected;
	Numerics numerics; /* of the pass at work */
} GraphJob;

static void
make_inputs(GraphJob *job)
{
	const Graph *graph = job->before;
	const Binding *asked = sizes_asked(job->options, job->arena, graph);
	Learnt learnt = {0};
	if (job->learns)
		learnt = demands_learn(job->arena, graph, asked);
	const Binding *sizes = sizes_least(job->arena, graph, &learnt, asked);
	InputRanges ranges = input_ranges(job->arena, graph, sizes, &learnt.runs[0].values);
	job->inputs = NEW_N(job->arena, const Array *, graph->body->nparam + 1);
	for (int i = 0; i < graph->body->nparam; i++) {
		const Value *input = graph->body->params[i];
		job->inputs[i] = value_default(input);
		if (!job->inputs[i])
			job->inputs[i] =
				input_make_for(job->arena, (uint64_t)job->options->seed, &ranges, input, sizes);
	}
}

static void
evaluate_before(void *arg)
{
	GraphJob *job = arg;
	make_inputs(job);
	job->expected = NEW_N(job->arena, const BoundArray *, job->before->body->nresult + 1);
	eval_graph_bound(job->arena, job->before, job->inputs, job->expected,
	                 (BoundWay){SAMPLE, job->numerics >= NUM_reassociating});
}

/* A graph that does not run is no pass's mistake: it is as that pass got it. */
static void
verify_graph(PassContext *context, const Graph *before, const Graph *after)
{
	Arena *arena = arena_new_in(after->arena, "verify"); /* also when it fails */
	const PassInfo *pass = pass_find(context->running);
	GraphJob job = {.options = context->verify_arg,
	                .arena = arena,
	                .before = before,
	                .numerics = pass ? pass->numerics : NUM_exact};
	Failure failure;
	bool is_done = try_run(evaluate_before, &job, &failure);
	job.learns = true;
	if (!is_done && !try_run(evaluate_before, &job, &failure)) {
		arena_reset(arena);
		verify_left_out(context, before->name, &failure);
		return;
	}
	int noutput = before->body->nresult;
	const BoundArray **own = NEW_N(arena, const BoundArray *, noutput + 1);
	const Array **seen = NEW_N(arena, const Array *, noutput + 1);
	eval_graph(arena, after, job.inputs, seen);
	if (job.numerics >= NUM_finite) /* it promises equal values, not the roundings of what it got */
		eval_graph_bound(arena, after, job.inputs, own, (BoundWay){.sample = SAMPLE});
	for (int i = 0; i < noutput; i++) {
		const BoundArray *expected = job.expected[i];
		if (own[i])
			expected = bound_join(arena, expected, own[i]);
		Agreement a = bound_compare(expected, seen[i], 1);
		if (a.wrong)
			fail_as(pass_is_program(context->running) ? FAIL_COMPARISON : FAIL_BUG, NULL,
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
