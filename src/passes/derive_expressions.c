/* DeriveExpressions: nodes by programs that a search finds to be equal and faster (EinNet).
 *
 *     %y = ConvTranspose(%x, %w)
 * =>  %t = Expression(%x, %w')     T[n,h,w,rsf] = sum(c) X[n,h,w,c] * W'[rsf,c]    a library's call
 *     %y = Expression(%t)          Y[n,f,p,q]   = sum(r,s where ...) T[...]        a kernel
 *
 * Equal questions (the same program, the same inputs known) are asked once, those of the most work
 * first while there is time. What follows from weights alone is computed here.
 */
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "einnet/derivation.h"
#include "graph/infer.h"
#include "graph/meaning.h"
#include "passes/derive_trials.h"
#include "passes/derived_nodes.h"
#include "passes/passes.h"

/* For all questions of a model. */
enum { SECONDS = 60 };

/* A node that asks. */
typedef struct Asker {
	Node *node;
	Question *question;
} Asker;

typedef struct Deriver {
	Graph *graph;
	PassContext *context;
	const Target *target;
	Map by_key;                /* key -> Question */
	VEC(Question *) questions; /* in order of the nodes */
	VEC(Asker) askers;
	bool changed;
} Deriver;

/* ---- what is asked --------------------------------------------------------------------------- */

static void
ask(Deriver *deriver, Node *node)
{
	Arena *arena = deriver->context->arena;
	Question asked;
	if (derive_question(deriver->context, deriver->graph, node, &asked))
		return;
	Question *question = map_find(&deriver->by_key, asked.key);
	if (!question) {
		asked.number = deriver->questions.count;
		question = arena_memdup(arena, &asked, sizeof asked);
		map_set(&deriver->by_key, asked.key, question);
		vec_push(arena, &deriver->questions, question);
	}
	vec_push(arena, &deriver->askers, (Asker){node, question});
}

static void
ask_region(Deriver *deriver, Region *region)
{
	for (Node *node = region->first; node; node = node->next) {
		for (int i = 0; i < node->nregion; i++)
			ask_region(deriver, node->regions[i]);
		ask(deriver, node);
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

/* Each is given as much time as the longest so far took, so the last ends in time, too. */
static void
measure_open(Deriver *deriver, int count, Question **open)
{
	PassContext *context = deriver->context;
	double limit = (double)pass_config_int(context, "DeriveExpressions.seconds", SECONDS);
	double start = now_seconds(), longest = 0;
	for (int i = 0; i < count; i++) {
		double begin = now_seconds();
		if (limit <= 0 || begin - start + longest > limit) {
			open[i]->choice.chosen = AS_GIVEN;
			open[i]->choice.candidates = open[i]->reason = "no time left";
			continue;
		}
		if (context->progress)
			context->progress(context->progress_arg, "deriving", i, count);
		derive_measure(context, open[i]);
		double seconds = now_seconds() - begin;
		longest = seconds > longest ? seconds : longest;
	}
}

static void
answer_all(Deriver *deriver)
{
	PassContext *context = deriver->context;
	int count = 0, total = deriver->questions.count;
	Question **open = NEW_N(context->arena, Question *, total + 1);
	for (int i = 0; i < total; i++) {
		Question *question = deriver->questions.data[i];
		if (!is_recorded(context, question) && !derive_recall(context, question))
			open[count++] = question;
	}
	qsort(open, (size_t)count, sizeof *open, compare_work);
	if (deriver->target->oracle && deriver->target->oracle->time)
		measure_open(deriver, count, open);
	for (int i = 0; i < total; i++) {
		const PassChoice *choice = &deriver->questions.data[i]->choice;
		if (choice->chosen && !pass_choice_find(context, choice->key))
			vec_push(context->arena, &context->choices, *choice);
	}
}

/* ---- the pass -------------------------------------------------------------------------------- */

static void
derive_node(Deriver *deriver, const Asker *asker)
{
	PassContext *context = deriver->context;
	const Question *question = asker->question;
	Node *node = asker->node;
	Graph *graph = deriver->graph;
	const char *text = question->choice.chosen;
	Derivation way;
	if (!text || strcmp(text, AS_GIVEN) == 0 || question->reason) {
		pass_log(context, "search", node->loc.node, NULL,
		         question->reason ? question->reason : "no candidate is clearly faster");
		return;
	}
	must(derivation_parse(context->arena, text, &way));
	const Program *program =
		derivation_replay(graph->arena, question->program, question->constant, &way);
	Value **inputs = NEW_N(graph->arena, Value *, node->ninput + 1);
	node_meaning_inputs(node, inputs); /* what was derived before may stand there now */
	const char *trouble;
	Place place = {node->parent, node, &node->loc, node};
	Value *result = derived_nodes(graph, &place, program, inputs, question->constant, &trouble);
	if (result)
		value_replace_uses(node->outputs[0], result);
	pass_log(context, text, node->loc.node, trouble ? NULL : "Expression", trouble);
	deriver->changed |= !trouble;
}

bool
pass_DeriveExpressions(Graph *graph, PassContext *context)
{
	Deriver deriver = {.graph = graph,
	                   .context = context,
	                   .target = context->target,
	                   .by_key = {.arena = context->arena}};
	if (!context->target)
		return false;
	ask_region(&deriver, graph->body);
	answer_all(&deriver);
	for (int i = 0; i < deriver.askers.count; i++)
		derive_node(&deriver, &deriver.askers.data[i]);
	if (deriver.changed) {
		region_update_captures(graph->body);
		pass_DeadCodeElimination(graph, context);
		graph_infer(graph);
	}
	return deriver.changed;
}
