/* DeriveExpressions: nodes by programs that a search finds to be equal and faster (EinNet).
 *
 *     %y = ConvTranspose(%x, %w)
 * =>  %t = Expression(%x, %w')    T[n,h,w,rsf] = sum(c) X[n,h,w,c] * W'[rsf,c]     a library's call
 *     %y = Expression(%t)         Y[n,f,p,q]   = sum(r,s where ...) T[...]         a kernel
 *
 * Only products that windows move over have something to gain. Equal questions (the same program,
 * the same inputs known) are asked once. A candidate is compared with what it was derived from, by
 * the interpreter at points, before it is measured; the original is measured beside the candidates
 * and stays unless one is clearly faster. What follows from weights alone is computed here.
 */
#include <math.h>
#include <string.h>

#include "einnet/search.h"
#include "einnet/verify.h"
#include "expr/stage/canon.h"
#include "graph/infer.h"
#include "graph/meaning.h"
#include "passes/derived_nodes.h"
#include "passes/passes.h"
#include "program/forms.h"
#include "program/unit.h"

enum { TRIED = 5, DEPTH = 4, STATES = 1000 };

/* Faster by less is not worth another form, and may be noise. */
static const double CLEARLY = 0.93;

/* Products below are not worth a search: a few microseconds. */
static const double LEAST_FLOPS = 1e6;

typedef struct Deriver {
	Graph *graph;
	PassContext *context;
	const Target *target;
	int done, total;
	bool changed;
} Deriver;

/* What is asked of one node. */
typedef struct Question {
	Node *node;
	const Program *program; /* of the graph's ctx */
	Value **inputs;         /* of the program */
	const bool *constant;
	const char *key;
} Question;

/* ---- what is asked --------------------------------------------------------------------------- */

static bool
moves_in_windows(const Stage *stage)
{
	for (ExprWalk walk = expr_walk(stage->body[0]); expr_step(&walk);)
		for (int d = 0; walk.e->op == EX_read && d < walk.e->argc; d++)
			if (walk.e->arg[d]->op != EX_iter && !expr_is_const(walk.e->arg[d]))
				return true;
	return false;
}

static bool
is_worth(const Deriver *deriver, const Program *program)
{
	double flops = 0;
	for (int s = 0; s < program->nstage; s++) {
		const Stage *stage = program->stages[s];
		const Dim *points = stage_points(program->ctx, stage);
		if (stage_is_product(stage) && moves_in_windows(stage))
			flops += 2 * (double)probe_dim(deriver->target, points);
	}
	return flops >= LEAST_FLOPS;
}

static const char *
key_of(Deriver *deriver, const Question *question)
{
	Buf buf = {.arena = deriver->context->arena};
	Hash128 hash = program_fingerprint(program_canon(question->program));
	buf_printf(&buf, "derive %016llx%016llx ", (unsigned long long)hash.high,
	           (unsigned long long)hash.low);
	for (int i = 0; i < question->program->ninput; i++)
		buf_putc(&buf, question->constant[i] ? 'w' : 'x');
	return buf_text(&buf);
}

/* False where the node has nothing to ask. */
static bool
ask(Deriver *deriver, Node *node, Question *question)
{
	Arena *arena = deriver->graph->arena;
	if (!node_has_meaning(node) || node->nregion || node->noutput != 1 || !node->outputs[0])
		return false;
	const Program *program = node_meaning(deriver->graph, node);
	if (!is_worth(deriver, program))
		return false;
	Value **inputs = NEW_N(arena, Value *, node->ninput + 1);
	int count = node_meaning_inputs(node, inputs);
	bool *constant = NEW_N(arena, bool, count + 1);
	for (int i = 0; i < count; i++)
		constant[i] = inputs[i]->constant && !inputs[i]->is_default;
	*question = (Question){node, program_inline_stages(arena, program), inputs, constant, NULL};
	question->key = key_of(deriver, question);
	return true;
}

/* ---- the answer ------------------------------------------------------------------------------ */

static const char *
way_text(Arena *arena, const Derivation *way)
{
	Buf buf = {.arena = arena};
	derivation_print(&buf, way);
	return buf_text(&buf);
}

/* Alike for all that is known of them: one is tried. */
static bool
is_alike(const Cost *a, const Cost *b)
{
	static const double NEAR = 0.02;
	return a->calls == b->calls && a->kernels == b->kernels &&
	       fabs(a->seconds - b->seconds) <= NEAR * a->seconds;
}

typedef struct Trial {
	Deriver *deriver;
	const Question *question;
	const Program *program; /* of the search's ctx */
	double seconds;
	const char *trouble;
} Trial;

/* Compare, then measure; the original needs no comparing. */
static void
try_candidate(void *arg)
{
	Trial *trial = arg;
	const Target *target = trial->deriver->target;
	Arena *scratch = arena_new_in(trial->deriver->context->arena, "derived");
	static const Binding none = {0};
	const Binding *binding = target->probe ? target->probe : &none;
	if (trial->program != trial->question->program)
		trial->trouble =
			einnet_difference(scratch, trial->question->program, trial->program, binding);
	if (trial->trouble)
		trial->trouble = arena_strdup(trial->deriver->context->arena, trial->trouble);
	arena_reset(scratch);
	const Program *program = program_bind(trial->program, binding);
	if (!trial->trouble && !target->oracle->time(target->oracle->self, program,
	                                             trial->question->constant, &trial->seconds))
		trial->trouble = "it cannot be measured";
}

/* Seconds; 0 where it is no candidate, which is logged. */
static double
seconds_of(Deriver *deriver, const Question *question, const Program *program, const char *way)
{
	PassContext *context = deriver->context;
	Trial trial = {deriver, question, program, 0, NULL};
	Failure failure;
	if (!try_run(try_candidate, &trial, &failure))
		trial.trouble = arena_strdup(context->arena, failure.text);
	if (trial.trouble)
		pass_log(context, way, question->node->loc.node, NULL, trial.trouble);
	return trial.trouble ? 0 : trial.seconds;
}

/* The text of the fastest way, by measuring. */
static const char *
search(Deriver *deriver, const Question *question, PassChoice *choice)
{
	PassContext *context = deriver->context;
	Arena *arena = arena_new_in(context->arena, "DeriveExpressions");
	SearchOptions options = {
		.target = deriver->target,
		.constant = question->constant,
		.depth = (int)pass_config_int(context, "DeriveExpressions.depth", DEPTH),
		.states = (int)pass_config_int(context, "DeriveExpressions.budget", STATES),
	};
	SearchResult result = einnet_search(arena, expr_ctx_beside(arena, question->program->ctx),
	                                    question->program, &options);
	Buf text = {.arena = context->arena};
	const char *best = "as given";
	double given = seconds_of(deriver, question, question->program, best), least = given;
	const Cost *tried[TRIED];
	buf_printf(&text, "as given %.1f us", given * 1e6);
	for (int i = 0, count = 0; given > 0 && i < result.list.count && count < TRIED; i++) {
		const Candidate *candidate = &result.list.data[i];
		bool is_known = candidate->way.nstep == 0 && candidate->way.converged < 0;
		for (int k = 0; k < count; k++)
			is_known |= is_alike(tried[k], &candidate->cost);
		if (is_known)
			continue;
		tried[count++] = &candidate->cost;
		const char *way = way_text(context->arena, &candidate->way);
		double seconds = seconds_of(deriver, question, candidate->program, way);
		buf_printf(&text, ", %s %.1f us", way, seconds * 1e6);
		if (seconds > 0 && seconds < least && seconds < CLEARLY * given) {
			best = way;
			least = seconds;
		}
	}
	choice->candidates = buf_text(&text);
	choice->seconds = least;
	arena_reset(arena);
	return best;
}

static const char *
answer(Deriver *deriver, const Question *question)
{
	PassContext *context = deriver->context;
	const PassChoice *known = pass_choice_find(context, question->key);
	PassChoice choice = {.key = question->key, .candidates = ""};
	if (known)
		return known->chosen;
	choice.chosen = map_find(&context->recorded, question->key);
	if (!choice.chosen && deriver->target->oracle && deriver->target->oracle->time)
		choice.chosen = search(deriver, question, &choice);
	if (!choice.chosen)
		return "as given";
	vec_push(context->arena, &context->choices, choice);
	return choice.chosen;
}

/* ---- the pass -------------------------------------------------------------------------------- */

static void
derive_node(Deriver *deriver, Node *node)
{
	PassContext *context = deriver->context;
	Question question;
	Derivation way;
	if (pass_denied(context, "derive", node->outputs[0] ? node->outputs[0]->name : NULL) ||
	    !ask(deriver, node, &question))
		return;
	const char *text = answer(deriver, &question);
	if (strcmp(text, "as given") == 0) {
		pass_log(context, "search", node->loc.node, NULL, "no candidate is clearly faster");
		return;
	}
	Arena *arena = deriver->graph->arena;
	const Program *program =
		derivation_parse(context->arena, text, &way)
			? derivation_replay(arena, question.program, question.constant, &way)
			: NULL;
	const char *trouble = "the recorded derivation does not apply";
	Place place = {node->parent, node, &node->loc, node};
	Value *result = program ? derived_nodes(deriver->graph, &place, program, question.inputs,
	                                        question.constant, &trouble)
	                        : NULL;
	if (result)
		value_replace_uses(node->outputs[0], result);
	pass_log(context, text, node->loc.node, trouble ? NULL : "Expression", trouble);
	deriver->changed |= !trouble;
}

static void
visit_region(Deriver *deriver, Region *region, void (*visit)(Deriver *, Node *))
{
	for (Node *node = region->first; node; node = node->next) {
		for (int i = 0; i < node->nregion; i++)
			visit_region(deriver, node->regions[i], visit);
		if (node->noutput == 1)
			visit(deriver, node);
	}
}

bool
pass_DeriveExpressions(Graph *graph, PassContext *context)
{
	Deriver deriver = {.graph = graph, .context = context, .target = context->target};
	if (!context->target)
		return false;
	visit_region(&deriver, graph->body, derive_node);
	if (deriver.changed) {
		region_update_captures(graph->body);
		pass_DeadCodeElimination(graph, context);
		graph_infer(graph);
	}
	return deriver.changed;
}
