/* DeriveExpressions: nodes by programs that a search finds to be equal and faster (EinNet).
 *
 *     %y = ConvTranspose(%x, %w)
 * =>  %t = Expression(%x, %w')     T[n,h,w,rsf] = sum(c) X[n,h,w,c] * W'[rsf,c]    a library's call
 *     %y = Expression(%t)          Y[n,f,p,q]   = sum(r,s where ...) T[...]        a kernel
 *
 * A single node is searched only if it is convolution-like and heavy (derive_questions.c). Products
 * that do not depend on one another are also searched together, as one product, and chains of
 * products in another order (derive_groups.c). In the end the whole model is run with and without
 * all this, and the faster one stays (derive_whole.c). Equal questions (the same program, the same
 * inputs known) are asked once, those of the most work first while there is time. What follows from
 * weights alone is computed here.
 *
 * needs    shapes, topological order; a target
 * keeps    shapes; values within the bound of what is replaced, if they are finite
 * breaks   operators: behind it stand expressions, which only we run
 */
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "einnet/derivation.h"
#include "graph/infer.h"
#include "graph/meaning.h"
#include "passes/derive_groups.h"
#include "passes/derived_nodes.h"
#include "passes/passes.h"
#include "target/ask.h"

/* Of processors, for all questions of a model. */
enum { SECONDS = 75 };

typedef struct Deriver {
	Graph *graph;
	PassContext *context;
	const Target *target;
	Asked asked;
	double begun, longest;  /* when measuring began, and what the longest question took */
	bool changed, is_mixed; /* is_mixed: nodes may stand before what they read */
} Deriver;

/* What the node is to become. */
static const char *
way_of(const Question *question)
{
	bool is_derived = question && question->choice.chosen && !question->reason;
	return is_derived ? question->choice.chosen : AS_GIVEN;
}

/* What has been answered of each alone belongs to what is asked of all. */
static void
note_alone(const Deriver *deriver)
{
	for (int g = 0; g < deriver->asked.groups.count; g++) {
		const NodeGroup *group = deriver->asked.groups.data[g];
		if (!group->question || group->question->alone)
			continue;
		Buf alone = {.arena = deriver->context->arena};
		for (int m = 0; m < group->count; m++)
			buf_printf(&alone, "%s%s", m ? " | " : "", way_of(group->members[m]->question));
		group->question->alone = buf_text(&alone);
	}
}

/* ---- answers --------------------------------------------------------------------------------- */

/* What a record says stands, also where it cannot be used: the same choices, the same bundle. */
static bool
is_recorded(PassContext *context, Question *question)
{
	const PassContext *before = context->before;
	const PassChoice *known = before ? pass_choice_find(before, question->key) : NULL;
	if (known) {
		question->choice = *known;
		return true;
	}
	known = pass_choice_find(context, question->key);
	question->choice.chosen = known ? known->chosen : map_find(&context->recorded, question->key);
	if (!question->choice.chosen)
		return false;
	if (context->target->is_trial) /* who asks for the trial has compared it */
		return true;
	const char *trouble = derive_trouble(context, question, question->choice.chosen);
	if (trouble)
		question->reason =
			arena_printf(context->arena, "the recorded derivation is not used: %s", trouble);
	return true;
}

/* The most work first, then as they came. */
static int
compare_work(const void *a, const void *b)
{
	const Question *const *x = a, *const *y = b;
	if ((*x)->work != (*y)->work)
		return (*x)->work > (*y)->work ? -1 : 1;
	return (*x)->number - (*y)->number;
}

/* What the way makes of the question's program. */
static const Program *
derived_by(const Deriver *deriver, const Question *question, const char *way)
{
	Derivation derivation;
	must(derivation_parse(deriver->context->arena, way, &derivation));
	return derivation_replay(deriver->graph->arena, question->program, question->constant,
	                         &derivation);
}

/* What a group's nodes become if each stays alone. */
static const Program *
apart(const Deriver *deriver, const Question *question)
{
	const Program *programs[GROUP_MOST];
	int g = 0;
	while (deriver->asked.groups.data[g]->question != question)
		g++;
	const NodeGroup *group = deriver->asked.groups.data[g];
	for (int m = 0; m < group->count; m++) {
		const Asker *asker = group->members[m];
		const char *way = way_of(asker->question);
		programs[m] =
			strcmp(way, AS_GIVEN) == 0 ? asker->program : derived_by(deriver, asker->question, way);
	}
	return node_group_program(group, programs);
}

typedef struct Open {
	Deriver *deriver;
	Question *question;
} Open;

static void
measure(void *arg)
{
	const Open *open = arg;
	Question *question = open->question;
	derive_measure(open->deriver->context, question,
	               question->alone ? apart(open->deriver, question) : question->program);
}

/* Each is given as much time as the longest so far took, so the last ends in time, too. */
static void
measure_open(Deriver *deriver, int count, Question **open)
{
	PassContext *context = deriver->context;
	double limit = (double)pass_config_int(context, "DeriveExpressions.seconds", SECONDS);
	for (int i = 0; i < count; i++) {
		double begin = used_seconds();
		if (limit <= 0 || begin - deriver->begun + deriver->longest > limit) {
			open[i]->choice.chosen = AS_GIVEN;
			open[i]->choice.candidates = open[i]->reason = "no time left";
			continue;
		}
		if (context->progress)
			context->progress(context->progress_arg, "deriving", i, count);
		if (!ask_try(context, "search", open[i]->node, measure, &(Open){deriver, open[i]}))
			derive_give_up(open[i]);
		double seconds = used_seconds() - begin;
		deriver->longest = seconds > deriver->longest ? seconds : deriver->longest;
	}
}

/* All questions from number `first` on. */
static void
answer_from(Deriver *deriver, int first)
{
	PassContext *context = deriver->context;
	int count = 0, total = deriver->asked.questions.count;
	Question **open = NEW_N(context->arena, Question *, total + 1);
	for (int i = first; i < total; i++) {
		Question *question = deriver->asked.questions.data[i];
		question->is_recorded = is_recorded(context, question);
		if (!question->is_recorded && !derive_recall(context, question))
			open[count++] = question;
	}
	qsort(open, (size_t)count, sizeof *open, compare_work);
	if (deriver->target->oracle && deriver->target->oracle->time)
		measure_open(deriver, count, open);
}

static void
note_choices(const Deriver *deriver)
{
	PassContext *context = deriver->context;
	for (int i = 0; i < deriver->asked.questions.count; i++) {
		const PassChoice *choice = &deriver->asked.questions.data[i]->choice;
		if (choice->chosen && !pass_choice_find(context, choice->key))
			vec_push(context->arena, &context->choices, *choice);
	}
}

/* ---- the pass -------------------------------------------------------------------------------- */

typedef struct Putting {
	const Deriver *deriver;
	const Question *question;
	const char *way;
	const Place *place;
	Value **inputs, **results;
	const char *trouble;
	bool is_done;
} Putting;

static void
put(void *arg)
{
	Putting *p = arg;
	const Program *program = derived_by(p->deriver, p->question, p->way);
	p->is_done = derived_nodes(p->deriver->graph, p->place, program, p->inputs,
	                           p->question->constant, p->results, &p->trouble);
}

/* Puts what was found for the question in the place of the nodes that `place` names: its results
 * are those of nodes `first` on. `inputs`: what was derived before may stand there now. */
static bool
derive(Deriver *deriver, const Question *question, const char *name, const Place *place, int first,
       Value **inputs)
{
	PassContext *context = deriver->context;
	const char *way = way_of(question);
	if (!pass_may_rewrite(context))
		return false;
	if (strcmp(way, AS_GIVEN) == 0) {
		pass_log(context, "search", name, NULL, "no candidate is clearly faster");
		if (question->reason)
			pass_note(context, "search", name, NULL, question->reason);
		return false;
	}
	if (pass_denied(context, "derive", name)) {
		pass_log(context, way, name, NULL, DERIVATION_DENIED);
		return false;
	}
	Value *results[GROUP_MOST];
	Putting p = {deriver, question, way, place, inputs, results, NULL, false};
	if (!ask_try(context, way, name, put, &p))
		return false;
	for (int i = first; i < place->norigin && p.is_done; i++)
		value_replace_uses(place->origins[i]->outputs[0], results[i - first]);
	pass_log(context, way, name, p.trouble ? NULL : "Expression", p.trouble);
	deriver->changed |= p.is_done;
	return p.is_done;
}

static void
derive_node(Deriver *deriver, const Asker *asker)
{
	Node *node = asker->node;
	Place place = {node->parent,
	               node,
	               &node->loc,
	               1,
	               &asker->node,
	               deriver->target->is_trial,
	               deriver->context->folded};
	Value **inputs = NEW_N(deriver->graph->arena, Value *, node->ninput + 1);
	node_meaning_inputs(node, inputs);
	derive(deriver, asker->question, node->loc.node, &place, 0, inputs);
}

/* All stand where the first that has a result stood: before what others read, perhaps. */
static void
derive_group(Deriver *deriver, NodeGroup *group)
{
	Node *nodes[GROUP_MOST];
	Value **inputs = NEW_N(deriver->graph->arena, Value *, group->ninput + 1);
	node_group_inputs(deriver->graph->arena, group, inputs);
	for (int m = 0; m < group->count; m++)
		nodes[m] = group->members[m]->node;
	const Node *node = nodes[group->first];
	Place place = {node->parent,
	               nodes[group->first],
	               &node->loc,
	               group->count,
	               nodes,
	               deriver->target->is_trial,
	               deriver->context->folded};
	if (!derive(deriver, group->question, group->names, &place, group->first, inputs))
		return;
	deriver->is_mixed = true;
	for (int m = 0; m < group->count; m++)
		group->members[m]->question = NULL;
}

bool
pass_DeriveExpressions(Graph *graph, PassContext *context)
{
	Deriver deriver = {.graph = graph,
	                   .context = context,
	                   .target = context->target,
	                   .asked = derive_ask(context, graph),
	                   .begun = used_seconds()};
	answer_from(&deriver, 0);
	int alone = deriver.asked.questions.count;
	derive_ask_groups(context, graph, &deriver.asked);
	note_alone(&deriver);
	answer_from(&deriver, alone);
	derive_judge(context, graph, &deriver.asked);
	note_choices(&deriver);
	for (int g = 0; g < deriver.asked.groups.count; g++)
		if (deriver.asked.groups.data[g]->question)
			derive_group(&deriver, deriver.asked.groups.data[g]);
	for (int i = 0; i < deriver.asked.askers.count; i++)
		if (deriver.asked.askers.data[i].question)
			derive_node(&deriver, &deriver.asked.askers.data[i]);
	if (deriver.is_mixed)
		graph_sort(graph);
	if (deriver.changed) {
		region_update_captures(graph->body);
		pass_DeadCodeElimination(graph, context);
		graph_infer(graph);
	}
	return deriver.changed;
}
