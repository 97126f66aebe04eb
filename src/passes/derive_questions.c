/* Which nodes are searched. A single node is, if it is convolution-like (a sum of products under a
 * moving window: another form of it may be a matrix product) and has at least LEAST_FLOPS of work.
 * Plain matrix products are searched only in groups (derive_groups.c). */
#include "passes/derive_questions.h"

#include "einnet/converge.h"
#include "expr/stage/canon.h"
#include "graph/meaning.h"
#include "program/forms.h"
#include "target/target.h"

/* Operations of products that are not worth a search if they are fewer: a few microseconds. */
enum { LEAST_FLOPS = 1000000 };

static double
least_flops(const PassContext *context)
{
	return (double)pass_config_int(context, "DeriveExpressions.least", LEAST_FLOPS);
}

/* An index that two iterators of more than one step move. */
static bool
moves_in_windows(const Stage *stage)
{
	int total = stage->nloop + stage->nreduce;
	for (ExprWalk walk = expr_walk(stage->body[0]); expr_step(&walk);)
		for (int d = 0; walk.e->op == EX_read && d < walk.e->argc; d++) {
			int count = 0;
			for (int i = 0; i < total; i++)
				count += expr_uses_iter(walk.e->arg[d], i) && !dim_is(stage->iters[i].hi, 1);
			if (count > 1)
				return true;
		}
	return false;
}

static double
work_of(const Target *target, const Program *program, const bool *constant, double *in_windows)
{
	double flops = 0;
	*in_windows = 0;
	for (int s = 0; s < program->nstage; s++) {
		const Stage *stage = program->stages[s];
		if (!stage_is_product(stage) || einnet_is_constant(program, stage->results[0], constant))
			continue;
		double one = 2 * (double)probe_dim(target, stage_points(program->ctx, stage));
		flops += one;
		*in_windows += moves_in_windows(stage) ? one : 0;
	}
	return flops;
}

double
derive_work(const Target *target, const Program *program, const bool *constant)
{
	double in_windows;
	return work_of(target, program, constant, &in_windows);
}

static const char *
key_of(Arena *arena, const Program *program, const bool *constant)
{
	Buf buf = {.arena = arena};
	Hash128 hash = program_fingerprint(program_canon(program));
	buf_printf(&buf, "derive %016llx%016llx ", (unsigned long long)hash.high,
	           (unsigned long long)hash.low);
	for (int i = 0; i < program->ninput; i++)
		buf_putc(&buf, constant[i] ? 'w' : 'x');
	return buf_text(&buf);
}

void
derive_put_sizes(Buf *buf, const Target *target)
{
	const Binding *sizes = target->probe;
	for (int i = 0; sizes && i < sizes->count; i++)
		if (sizes->is_bound[i])
			buf_printf(buf, "symbol %d: %lld\n", i, (long long)sizes->value[i]);
}

const bool *
derive_known_inputs(Arena *arena, const Node *node)
{
	Value **inputs = NEW_N(arena, Value *, node->ninput + 1);
	int count = node_meaning_inputs(node, inputs);
	bool *constant = NEW_N(arena, bool, count + 1);
	for (int i = 0; i < count; i++)
		constant[i] = inputs[i]->constant && !inputs[i]->is_default;
	return constant;
}

Question
derive_question_of(PassContext *context, const Program *program, const bool *constant,
                   const char *node)
{
	const char *key = key_of(context->arena, program, constant);
	return (Question){.key = key,
	                  .program = program,
	                  .constant = constant,
	                  .work = derive_work(context->target, program, constant),
	                  .node = node,
	                  .choice = {.key = key, .candidates = ""}};
}

const char *
derive_question(PassContext *context, const Graph *graph, const Node *node, Question *question)
{
	Arena *arena = graph->arena;
	*question = (Question){0};
	if (node->noutput != 1 || !node->outputs[0])
		return "it has several results";
	if (node->nregion || !node_has_meaning(node))
		return "its operator is no expression: control flow, or computed by a host function";
	const Program *program = node_meaning(graph, node);
	double in_windows, least = least_flops(context);
	const bool *constant = derive_known_inputs(arena, node);
	bool is_heavy = work_of(context->target, program, constant, &in_windows) >= least;
	const Symbol *untold = is_heavy ? expression_untold(arena, program) : NULL;
	if (untold)
		return arena_printf(arena, "no dim of its inputs tells what symbol %s is", untold->name);
	if (is_heavy)
		*question = derive_question_of(context, program_inline_stages(arena, program), constant,
		                               node->loc.node);
	if (in_windows == 0)
		return "it is no convolution-like sum: products that a moving window adds up";
	if (in_windows < least)
		return arena_printf(
			arena, "its products are too few to be worth a search: under %.0f operations", least);
	return NULL;
}
