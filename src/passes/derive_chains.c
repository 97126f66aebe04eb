/* derive_chains: products that one way through the model leads through, in another order.
 *
 * Activations cut a chain: what is between its products adds and scales (associate.c). So does what
 * a second node reads: it would have to be computed as well.
 */
#include "passes/derive_chains.h"

#include <math.h>

#include "einnet/cost.h"
#include "einnet/rules.h"
#include "expr/stage/canon.h"
#include "graph/meaning.h"
#include "program/forms.h"

/* By another order that saves less it is not worth asking. */
static const double WORTH = 0.9;

typedef struct Chains {
	PassContext *context;
	const Graph *graph;
	const Askers *askers;
	NodeGroup *group; /* members from the last to the first */
	int most, products;
} Chains;

/* ---- finding --------------------------------------------------------------------------------- */

static Asker *
asker_of(const Chains *chains, const Node *node)
{
	for (int i = 0; i < chains->askers->count; i++)
		if (chains->askers->data[i].node == node)
			return &chains->askers->data[i];
	return NULL;
}

static bool
adds_or_scales(const Program *program)
{
	for (int s = 0; s < program->nstage; s++) {
		const Stage *stage = program->stages[s];
		ExprOp op = (ExprOp)stage->body[0]->op;
		if (stage->kind != STAGE_map || stage->nresult != 1 || stage->scan ||
		    (op != EX_read && op != EX_add && op != EX_mul && op != EX_div))
			return false;
	}
	return program->nstage > 0;
}

/* The node between two products; NULL: it is none that may stand there. */
static Asker *
between(const Chains *chains, Node *node)
{
	Arena *arena = chains->context->arena;
	if (node->noutput != 1 || node->nregion || !node_has_meaning(node))
		return NULL;
	const Program *program = node_meaning(chains->graph, node);
	if (!adds_or_scales(program))
		return NULL;
	Asker *asker = NEW(arena, Asker);
	Value **inputs = NEW_N(arena, Value *, node->ninput + 1);
	node_meaning_inputs(node, inputs);
	*asker = (Asker){.node = node,
	                 .program = program_inline_stages(arena, program),
	                 .inputs = inputs,
	                 .constant = derive_known_inputs(arena, node)};
	return asker;
}

static bool lengthen(Chains *chains, Asker *member);

/* From a value that only the chain reads to the product that makes it, as far as there is room. */
static bool
follow_back(Chains *chains, const Value *value)
{
	NodeGroup *group = chains->group;
	Node *node = value->def;
	if (!node || node->parent != group->members[0]->node->parent || value->uses.count != 1 ||
	    group->count == GROUP_MOST)
		return false;
	Asker *product = asker_of(chains, node), *member = product ? product : between(chains, node);
	if (!member || member->group || (product && chains->products == chains->most))
		return false;
	int count = group->count;
	group->members[group->count++] = member;
	chains->products += product != NULL;
	if (lengthen(chains, member) || product)
		return true;
	group->count = count;
	return false;
}

/* By one of its inputs. */
static bool
lengthen(Chains *chains, Asker *member)
{
	for (int i = 0; i < member->program->ninput; i++)
		if (!member->constant[i] && follow_back(chains, member->inputs[i]))
			return true;
	return false;
}

/* ---- worth ----------------------------------------------------------------------------------- */

/* The order of fewest operations that one step leads to; *least: how many these are. */
static const Program *
best_step(const Chains *chains, const Program *program, double *least)
{
	const NodeGroup *group = chains->group;
	const Target *target = chains->context->target;
	const Program *best = NULL;
	RuleSteps steps = {.arena = chains->context->arena};
	for (int s = 0; s < program->nstage; s++)
		rule_list(&steps, RULE_associate, program, s);
	for (int i = 0; i < steps.list.count; i++) {
		const Program *next = rule_apply(program, &steps.list.data[i], NULL);
		if (!next || isinf(einnet_bound(next, group->constant, target)))
			continue;
		double work = derive_work(target, next, group->constant);
		if (work >= *least)
			continue;
		*least = work;
		best = next;
	}
	return best;
}

static bool
saves_operations(const Chains *chains, const Program *program)
{
	double given = derive_work(chains->context->target, program, chains->group->constant);
	double least = given;
	while (program)
		program = best_step(chains, program_canon(program), &least);
	return least < WORTH * given;
}

static void
turn_round(NodeGroup *group)
{
	for (int a = 0, b = group->count - 1; a < b; a++, b--) {
		Asker *member = group->members[a];
		group->members[a] = group->members[b];
		group->members[b] = member;
	}
}

static void
find_chain(Chains *chains, Asker *last, NodeGroups *groups)
{
	Arena *arena = chains->context->arena;
	const Program *programs[GROUP_MOST];
	NodeGroup *group = chains->group = NEW(arena, NodeGroup);
	group->members[group->count++] = last;
	chains->products = 1;
	if (!lengthen(chains, last))
		return;
	turn_round(group);
	group->first = group->count - 1;
	node_group_add_inputs(arena, group);
	for (int m = 0; m < group->count; m++)
		programs[m] = group->members[m]->program;
	if (!saves_operations(chains, node_group_program(group, programs)))
		return;
	for (int m = 0; m < group->count; m++)
		group->members[m]->group = group;
	vec_push(arena, groups, group);
}

void
derive_chains(PassContext *context, const Graph *graph, const Askers *askers, int most,
              NodeGroups *groups)
{
	Chains chains = {.context = context, .graph = graph, .askers = askers, .most = most};
	for (int i = askers->count - 1; i >= 0; i--)
		if (!askers->data[i].group)
			find_chain(&chains, &askers->data[i], groups);
}
