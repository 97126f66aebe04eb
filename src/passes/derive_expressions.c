/* DeriveExpressions: nodes by programs that a search finds to be equal and faster (EinNet).
 *
 *     %y = ConvTranspose(%x, %w)
 * =>  %t = Expression(%x, %w')     T[n,h,w,rsf] = sum(c) X[n,h,w,c] * W'[rsf,c]    a library's call
 *     %y = Expression(%t)          Y[n,f,p,q]   = sum(r,s where ...) T[...]        a kernel
 *
 * Alone only products that windows move over have something to gain; of products that do not need
 * one another it is asked, too, whether they are better as one (derive_siblings.c). Equal questions
 * (the same program, the same inputs known) are asked once, those of the most work first while
 * there is time. What follows from weights alone is computed here.
 */
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "einnet/derivation.h"
#include "einnet/rules.h"
#include "graph/infer.h"
#include "graph/meaning.h"
#include "passes/derive_siblings.h"
#include "passes/derived_nodes.h"
#include "passes/passes.h"

/* For all questions of a model. */
enum { SECONDS = 60 };

typedef struct Deriver {
	Graph *graph;
	PassContext *context;
	const Target *target;
	Map by_key;                /* key -> Question */
	Map levels;                /* Node -> level, itself counted */
	VEC(Question *) questions; /* in order of the nodes, then of the groups */
	Askers askers;
	SiblingsVec groups;
	double begun, longest;  /* when measuring began, and what the longest question took */
	bool changed, is_mixed; /* is_mixed: nodes may stand before what they read */
} Deriver;

/* ---- what is asked --------------------------------------------------------------------------- */

/* What the node is to become. */
static const char *
way_of(const Question *question)
{
	bool is_derived = question && question->choice.chosen && !question->reason;
	return is_derived ? question->choice.chosen : AS_GIVEN;
}

/* The one that equal ones share. */
static Question *
shared_question(Deriver *deriver, Question *asked)
{
	Arena *arena = deriver->context->arena;
	Question *question = map_find(&deriver->by_key, asked->key);
	if (question)
		return question;
	asked->number = deriver->questions.count;
	question = arena_memdup(arena, asked, sizeof *asked);
	map_set(&deriver->by_key, asked->key, question);
	vec_push(arena, &deriver->questions, question);
	return question;
}

/* False: the node computes no product that is worth it. */
static bool
ask(Deriver *deriver, Node *node, int level)
{
	Arena *arena = deriver->context->arena;
	Question asked;
	const char *why = derive_question(deriver->context, deriver->graph, node, &asked);
	if (!asked.program)
		return false;
	Value **inputs = NEW_N(arena, Value *, node->ninput + 1);
	node_meaning_inputs(node, inputs);
	Asker asker = {node, asked.program, inputs, asked.constant, level, NULL, NULL};
	asker.question = why ? NULL : shared_question(deriver, &asked);
	vec_push(arena, &deriver->askers, asker);
	return true;
}

static void
ask_region(Deriver *deriver, Region *region)
{
	for (Node *node = region->first; node; node = node->next) {
		for (int i = 0; i < node->nregion; i++)
			ask_region(deriver, node->regions[i]);
		int level = derive_level(&deriver->levels, node);
		level += ask(deriver, node, level);
		map_set_ptr(&deriver->levels, node, (void *)(intptr_t)level);
	}
}

static bool
can_merge(Arena *arena, const Program *program)
{
	RuleSteps steps = {.arena = arena};
	for (int s = 0; s < program->nstage; s++)
		rule_list(&steps, RULE_merge_products, program, s);
	return steps.list.count > 0;
}

static void
ask_group(Deriver *deriver, Siblings *group)
{
	Arena *arena = deriver->context->arena;
	const Program *programs[SIBLINGS_MOST];
	Buf names = {.arena = arena};
	for (int m = 0; m < group->count; m++) {
		const Asker *asker = group->members[m];
		programs[m] = asker->program;
		buf_printf(&names, "%s%s", m ? " with " : "", asker->node->loc.node);
	}
	group->names = buf_text(&names);
	const Program *program = siblings_joined(group, programs);
	if (!can_merge(arena, program))
		return;
	Question asked = derive_question_of(deriver->context, program, group->constant, group->names);
	group->question = shared_question(deriver, &asked);
}

/* What has been answered of each alone belongs to what is asked of all. */
static void
ask_groups(Deriver *deriver)
{
	PassContext *context = deriver->context;
	int64_t most = pass_config_int(context, "DeriveExpressions.together", SIBLINGS_MOST);
	derive_siblings(context->arena, &deriver->askers,
	                (int)(most < 1    ? 1
	                      : most > 99 ? 99
	                                  : most),
	                &deriver->groups);
	for (int g = 0; g < deriver->groups.count; g++) {
		Siblings *group = deriver->groups.data[g];
		ask_group(deriver, group);
		if (!group->question || group->question->alone)
			continue;
		Buf alone = {.arena = context->arena};
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
	const PassChoice *known = pass_choice_find(context, question->key);
	question->choice.chosen = known ? known->chosen : map_find(&context->recorded, question->key);
	if (!question->choice.chosen)
		return false;
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
	const Program *programs[SIBLINGS_MOST];
	int g = 0;
	while (deriver->groups.data[g]->question != question)
		g++;
	const Siblings *group = deriver->groups.data[g];
	for (int m = 0; m < group->count; m++) {
		const Asker *asker = group->members[m];
		const char *way = way_of(asker->question);
		programs[m] =
			strcmp(way, AS_GIVEN) == 0 ? asker->program : derived_by(deriver, asker->question, way);
	}
	return siblings_joined(group, programs);
}

/* Each is given as much time as the longest so far took, so the last ends in time, too. */
static void
measure_open(Deriver *deriver, int count, Question **open)
{
	PassContext *context = deriver->context;
	double limit = (double)pass_config_int(context, "DeriveExpressions.seconds", SECONDS);
	for (int i = 0; i < count; i++) {
		double begin = now_seconds();
		if (limit <= 0 || begin - deriver->begun + deriver->longest > limit) {
			open[i]->choice.chosen = AS_GIVEN;
			open[i]->choice.candidates = open[i]->reason = "no time left";
			continue;
		}
		if (context->progress)
			context->progress(context->progress_arg, "deriving", i, count);
		derive_measure(context, open[i],
		               open[i]->alone ? apart(deriver, open[i]) : open[i]->program);
		double seconds = now_seconds() - begin;
		deriver->longest = seconds > deriver->longest ? seconds : deriver->longest;
	}
}

/* All questions from number `first` on. */
static void
answer_from(Deriver *deriver, int first)
{
	PassContext *context = deriver->context;
	int count = 0, total = deriver->questions.count;
	Question **open = NEW_N(context->arena, Question *, total + 1);
	for (int i = first; i < total; i++) {
		Question *question = deriver->questions.data[i];
		if (!is_recorded(context, question) && !derive_recall(context, question))
			open[count++] = question;
	}
	qsort(open, (size_t)count, sizeof *open, compare_work);
	if (deriver->target->oracle && deriver->target->oracle->time)
		measure_open(deriver, count, open);
	for (int i = first; i < total; i++) {
		const PassChoice *choice = &deriver->questions.data[i]->choice;
		if (choice->chosen && !pass_choice_find(context, choice->key))
			vec_push(context->arena, &context->choices, *choice);
	}
}

/* ---- the pass -------------------------------------------------------------------------------- */

/* Puts what was found for the question in the place of the nodes that `place` names. `inputs`: what
 * was derived before may stand there now. */
static bool
derive(Deriver *deriver, const Question *question, const char *name, const Place *place,
       Value **inputs)
{
	PassContext *context = deriver->context;
	const char *way = way_of(question), *trouble;
	if (strcmp(way, AS_GIVEN) == 0) {
		pass_log(context, "search", name, NULL,
		         question->reason ? question->reason : "no candidate is clearly faster");
		return false;
	}
	Value *results[SIBLINGS_MOST];
	bool is_done = derived_nodes(deriver->graph, place, derived_by(deriver, question, way), inputs,
	                             question->constant, results, &trouble);
	for (int i = 0; i < place->norigin && is_done; i++)
		value_replace_uses(place->origins[i]->outputs[0], results[i]);
	pass_log(context, way, name, trouble ? NULL : "Expression", trouble);
	deriver->changed |= is_done;
	return is_done;
}

static void
derive_node(Deriver *deriver, const Asker *asker)
{
	Node *node = asker->node;
	Place place = {node->parent, node, &node->loc, 1, &asker->node};
	Value **inputs = NEW_N(deriver->graph->arena, Value *, node->ninput + 1);
	node_meaning_inputs(node, inputs);
	derive(deriver, asker->question, node->loc.node, &place, inputs);
}

/* All stand where the first one stood: before what others read, perhaps. */
static void
derive_group(Deriver *deriver, Siblings *group)
{
	Node *nodes[SIBLINGS_MOST];
	Value **inputs = NEW_N(deriver->graph->arena, Value *, group->ninput + 1);
	siblings_inputs(deriver->graph->arena, group, inputs);
	for (int m = 0; m < group->count; m++)
		nodes[m] = group->members[m]->node;
	Place place = {nodes[0]->parent, nodes[0], &nodes[0]->loc, group->count, nodes};
	if (!derive(deriver, group->question, group->names, &place, inputs))
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
	                   .by_key = {.arena = context->arena},
	                   .levels = {.arena = context->arena},
	                   .begun = now_seconds()};
	if (!context->target)
		return false;
	ask_region(&deriver, graph->body);
	answer_from(&deriver, 0);
	int alone = deriver.questions.count;
	ask_groups(&deriver);
	answer_from(&deriver, alone);
	for (int g = 0; g < deriver.groups.count; g++)
		if (deriver.groups.data[g]->question)
			derive_group(&deriver, deriver.groups.data[g]);
	for (int i = 0; i < deriver.askers.count; i++)
		if (deriver.askers.data[i].question)
			derive_node(&deriver, &deriver.askers.data[i]);
	if (deriver.is_mixed)
		graph_sort(graph);
	if (deriver.changed) {
		region_update_captures(graph->body);
		pass_DeadCodeElimination(graph, context);
		graph_infer(graph);
	}
	return deriver.changed;
}
