/* Askers in order of the nodes, and the groups of them. */
#include "passes/derive_asked.h"

#include "einnet/rules.h"
#include "graph/meaning.h"
#include "passes/derive_chains.h"
#include "passes/derive_siblings.h"

typedef struct Asking {
	PassContext *context;
	const Graph *graph;
	Asked *asked;
} Asking;

/* The one that equal ones share. */
static Question *
shared_question(Asking *asking, Question *asked)
{
	Arena *arena = asking->context->arena;
	Question *question = map_find(&asking->asked->by_key, asked->key);
	if (question) {
		question->work += asked->work;
		return question;
	}
	asked->number = asking->asked->questions.count;
	question = arena_memdup(arena, asked, sizeof *asked);
	map_set(&asking->asked->by_key, asked->key, question);
	vec_push(arena, &asking->asked->questions, question);
	return question;
}

/* False: the node computes no product that is worth it. */
static bool
ask(Asking *asking, Node *node, int level)
{
	Arena *arena = asking->context->arena;
	Question asked;
	const char *why = derive_question(asking->context, asking->graph, node, &asked);
	if (!asked.program)
		return false;
	Value **inputs = NEW_N(arena, Value *, node->ninput + 1);
	node_meaning_inputs(node, inputs);
	Asker asker = {node, asked.program, inputs, asked.constant, level, NULL, NULL};
	asker.question = why ? NULL : shared_question(asking, &asked);
	vec_push(arena, &asking->asked->askers, asker);
	return true;
}

static void
ask_region(Asking *asking, Region *region)
{
	for (Node *node = region->first; node; node = node->next) {
		for (int i = 0; i < node->nregion; i++)
			ask_region(asking, node->regions[i]);
		int level = derive_level(&asking->asked->levels, node);
		level += ask(asking, node, level);
		map_set_ptr(&asking->asked->levels, node, (void *)(intptr_t)level);
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
ask_group(Asking *asking, NodeGroup *group)
{
	Arena *arena = asking->context->arena;
	const Program *programs[GROUP_MOST];
	Buf names = {.arena = arena};
	for (int m = 0; m < group->count; m++) {
		const Node *node = group->members[m]->node;
		programs[m] = group->members[m]->program;
		buf_printf(&names, "%s%s", m ? " with " : "",
		           node->loc.node ? node->loc.node : node->outputs[0]->name);
	}
	group->names = buf_text(&names);
	const Program *program = node_group_program(group, programs);
	bool is_chain = group->first > 0; /* worth it, or it would not be one */
	if (!is_chain && !can_merge(arena, program))
		return;
	Question asked = derive_question_of(asking->context, program, group->constant, group->names);
	group->question = shared_question(asking, &asked);
}

Asked
derive_ask(PassContext *context, const Graph *graph)
{
	Asked asked = {.by_key = {.arena = context->arena}, .levels = {.arena = context->arena}};
	ask_region(&(Asking){context, graph, &asked}, graph->body);
	return asked;
}

void
derive_ask_groups(PassContext *context, const Graph *graph, Asked *asked)
{
	Asking asking = {context, graph, asked};
	int64_t most = pass_config_int(context, "DeriveExpressions.together", PRODUCTS_MOST);
	most = most < 1 ? 1 : most > PRODUCTS_MOST ? PRODUCTS_MOST : most;
	if (most > 1)
		derive_chains(context, graph, &asked->askers, (int)most, &asked->groups);
	derive_siblings(context->arena, &asked->askers, (int)most, &asked->groups);
	for (int g = 0; g < asked->groups.count; g++)
		ask_group(&asking, asked->groups.data[g]);
}
