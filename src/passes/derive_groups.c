/* Nodes that are asked about, and groups of them: siblings, then chains. Each question and each
 * group is set up as a step of its own: an error there leaves it out. */
#include "passes/derive_groups.h"

#include <math.h>

#include "einnet/converge.h"
#include "einnet/rules.h"
#include "expr/stage/canon.h"
#include "graph/meaning.h"
#include "program/forms.h"
#include "target/ask.h"

static const char *
name_of(const Node *node)
{
	return node->loc.node                          ? node->loc.node
	       : node->noutput > 0 && node->outputs[0] ? node->outputs[0]->name
	                                               : node->op->name;
}

/* ---- a group as one program ------------------------------------------------------------------ */

/* The member that makes the value; -1: none does. */
static int
maker_of(const NodeGroup *group, const Value *value)
{
	for (int m = 0; m < group->count; m++)
		if (value->def == group->members[m]->node)
			return m;
	return -1;
}

static int
input_number(const NodeGroup *group, const Value *value)
{
	int k = 0;
	while (k < group->ninput && group->inputs[k] != value)
		k++;
	return k;
}

void
node_group_add_inputs(Arena *arena, NodeGroup *group)
{
	int most = 0;
	for (int m = 0; m < group->count; m++)
		most += group->members[m]->program->ninput;
	group->inputs = NEW_N(arena, Value *, most + 1);
	group->constant = NEW_N(arena, bool, most + 1);
	for (int m = 0; m < group->count; m++) {
		const Asker *asker = group->members[m];
		for (int i = 0; i < asker->program->ninput; i++) {
			Value *value = asker->inputs[i];
			if (maker_of(group, value) >= 0 || input_number(group, value) < group->ninput)
				continue;
			group->inputs[group->ninput] = value;
			group->constant[group->ninput++] = asker->constant[i];
		}
	}
}

/* The input of all that stands for a member's own. */
static Tensor *
joined_input(const NodeGroup *group, ExprCtx *ctx, const Value *value, const Tensor *own,
             Tensor **inputs)
{
	int k = input_number(group, value);
	const char *name = arena_printf(expr_ctx_arena(ctx), "%c%d", group->constant[k] ? 'w' : 'x', k);
	if (!inputs[k])
		inputs[k] = tensor_new(ctx, name, own->type, own->rank, own->hi);
	return inputs[k];
}

const Program *
node_group_program(const NodeGroup *group, const Program *const *programs)
{
	ExprCtx *ctx = programs[0]->ctx;
	Arena *arena = expr_ctx_arena(ctx);
	Tensor **inputs = NEW_N(arena, Tensor *, group->ninput + 1);
	const Tensor *made[GROUP_MOST];
	for (int m = 0; m < group->count; m++) {
		const Program *program = programs[m];
		Map given = {.arena = arena};
		for (int i = 0; i < program->ninput; i++) {
			const Value *value = group->members[m]->inputs[i];
			int maker = maker_of(group, value);
			const Tensor *own = program->inputs[i];
			const Tensor *joined =
				maker >= 0 ? made[maker] : joined_input(group, ctx, value, own, inputs);
			map_set_ptr(&given, own, (void *)(uintptr_t)joined);
		}
		made[m] = program_substitute(program, &given)->outputs[0];
	}
	return program_new(ctx, "together", group->ninput, inputs, group->count - group->first,
	                   made + group->first);
}

void
node_group_inputs(Arena *arena, const NodeGroup *group, Value **inputs)
{
	for (int m = 0; m < group->count; m++) {
		const Asker *asker = group->members[m];
		Value **present = NEW_N(arena, Value *, asker->node->ninput + 1);
		node_meaning_inputs(asker->node, present);
		for (int i = 0; i < asker->program->ninput; i++) {
			int k = input_number(group, asker->inputs[i]);
			if (k < group->ninput)
				inputs[k] = present[i];
		}
	}
}

/* ---- siblings -------------------------------------------------------------------------------- */

/* Which products that do not need one another are asked about together. Only such can be merged
 * (merge_products.c). Levels make that cheap to see, and safe: replacing nodes of one level by
 * nodes that need all their inputs makes no cycle, however many groups there are. Chains make none,
 * either: what one needs, its last node needed already. */

static int
level_behind(const Map *levels, const Region *region, const Value *value)
{
	if (!value || !value->def || value->def->parent != region)
		return 0;
	return (int)(intptr_t)map_find_ptr(levels, value->def);
}

int
derive_level(const Map *levels, const Node *node)
{
	int level = 0;
	for (int i = 0; i < node->ninput; i++) {
		int one = level_behind(levels, node->parent, node->inputs[i]);
		level = one > level ? one : level;
	}
	for (int r = 0; r < node->nregion; r++)
		for (int i = 0; i < node->regions[r]->captures.count; i++) {
			int one = level_behind(levels, node->parent, node->regions[r]->captures.data[i]);
			level = one > level ? one : level;
		}
	return level;
}

/* The first; NULL: none is left where short stages are inlined. */
static const Stage *
product_of(const Asker *asker)
{
	for (int s = 0; s < asker->program->nstage; s++)
		if (stage_is_product(asker->program->stages[s]))
			return asker->program->stages[s];
	return NULL;
}

/* The factor of its product that is this value, read as it is; NULL: none is. */
static const Expr *
read_of(const Asker *asker, const Value *value)
{
	const Program *program = asker->program;
	for (int f = 0; f < 2; f++) {
		const Expr *read = stage_read_at(product_of(asker), f);
		for (int i = 0; i < program->ninput; i++)
			if (program->inputs[i] == read->tensor && asker->inputs[i] == value)
				return read;
	}
	return NULL;
}

/* How often an element is read of a factor for each that goes with it. */
static const Dim *
points_moving(const Asker *asker, const Expr *factor)
{
	ExprCtx *ctx = asker->program->ctx;
	const Stage *stage = product_of(asker);
	const Dim *points = dim_const(ctx, 1);
	for (int i = 0; i < stage->nloop + stage->nreduce; i++)
		if (expr_uses_iter(factor, i))
			points = dim_mul(ctx, points, dim_sub(ctx, stage->iters[i].hi, stage->iters[i].lo));
	return points;
}

/* Whether they read this value alike; NULL: whether they have equal boxes. */
static bool
is_sibling(const Asker *a, const Asker *b, const Value *shared)
{
	ExprCtx *ctx = a->program->ctx;
	if (b->group || a->node->parent != b->node->parent || a->level != b->level)
		return false;
	const Stage *x = product_of(a), *y = product_of(b);
	if (!x || !y)
		return false;
	if (!shared)
		return stage_same_loops(x, y) && stage_points(ctx, x) == stage_points(ctx, y);
	const Expr *of_a = read_of(a, shared), *of_b = read_of(b, shared);
	return of_a && of_b && points_moving(a, of_a) == points_moving(b, of_b);
}

/* Asker `first` and those behind it that go with it; false: there are none. */
static bool
add_siblings(Arena *arena, const Askers *askers, int first, const Value *shared, int most,
             NodeGroups *groups)
{
	Asker *asker = &askers->data[first];
	NodeGroup *group = NEW(arena, NodeGroup);
	group->members[group->count++] = asker;
	for (int k = first + 1; k < askers->count && group->count < most; k++)
		if (is_sibling(asker, &askers->data[k], shared))
			group->members[group->count++] = &askers->data[k];
	if (group->count < 2)
		return false;
	for (int m = 0; m < group->count; m++)
		group->members[m]->group = group;
	node_group_add_inputs(arena, group);
	vec_push(arena, groups, group);
	return true;
}

/* Factors that are shared first: then there is less to move. */
void
derive_siblings(Arena *arena, const Askers *askers, int most, NodeGroups *groups)
{
	for (int n = 0; n < askers->count; n++) {
		const Asker *asker = &askers->data[n];
		bool is_found = asker->group != NULL;
		for (int i = 0; i < asker->program->ninput && !is_found; i++)
			is_found = add_siblings(arena, askers, n, asker->inputs[i], most, groups);
	}
	for (int n = 0; n < askers->count; n++)
		if (!askers->data[n].group)
			add_siblings(arena, askers, n, NULL, most, groups);
}

/* ---- chains ---------------------------------------------------------------------------------- */

/* Activations cut a chain: what is between its products adds and scales (associate.c). So does what
 * a second node reads: it would have to be computed as well. */

/* By another order that saves less it is not worth asking. */
static const double WORTH = 0.9;

typedef struct Chains {
	PassContext *context;
	const Graph *graph;
	const Askers *askers;
	NodeGroups *groups;
	Asker *last;
	NodeGroup *group; /* members from the last to the first */
	int most, products;
} Chains;

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
find_chain(void *arg)
{
	Chains *chains = arg;
	Arena *arena = chains->context->arena;
	const Program *programs[GROUP_MOST];
	NodeGroup *group = chains->group = NEW(arena, NodeGroup);
	group->members[group->count++] = chains->last;
	chains->products = 1;
	if (!lengthen(chains, chains->last))
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
	vec_push(arena, chains->groups, group);
}

void
derive_chains(PassContext *context, const Graph *graph, const Askers *askers, int most,
              NodeGroups *groups)
{
	Chains chains = {
		.context = context, .graph = graph, .askers = askers, .groups = groups, .most = most};
	for (int i = askers->count - 1; i >= 0; i--) {
		chains.last = &askers->data[i];
		if (!chains.last->group)
			ask_try(context, "chain", name_of(chains.last->node), find_chain, &chains);
	}
}

/* ---- all of a graph -------------------------------------------------------------------------- */

typedef struct Asking {
	PassContext *context;
	const Graph *graph;
	Asked *asked;
	int most;         /* products of a group */
	Node *node;       /* asked about now */
	int level;        /* of it */
	NodeGroup *group; /* asked about now */
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

/* Where the node computes a product that is worth it, its level counts itself. */
static void
ask(void *arg)
{
	Asking *asking = arg;
	Node *node = asking->node;
	Arena *arena = asking->context->arena;
	Question asked;
	const char *why = derive_question(asking->context, asking->graph, node, &asked);
	if (!asked.program)
		return;
	Value **inputs = NEW_N(arena, Value *, node->ninput + 1);
	node_meaning_inputs(node, inputs);
	Asker asker = {node, asked.program, inputs, asked.constant, asking->level++, NULL, NULL};
	asker.question = why ? NULL : shared_question(asking, &asked);
	vec_push(arena, &asking->asked->askers, asker);
}

static void
ask_region(Asking *asking, Region *region)
{
	for (Node *node = region->first; node; node = node->next) {
		for (int i = 0; i < node->nregion; i++)
			ask_region(asking, node->regions[i]);
		asking->node = node;
		asking->level = derive_level(&asking->asked->levels, node);
		ask_try(asking->context, "ask", name_of(node), ask, asking);
		map_set_ptr(&asking->asked->levels, node, (void *)(intptr_t)asking->level);
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
ask_group(void *arg)
{
	Asking *asking = arg;
	NodeGroup *group = asking->group;
	Arena *arena = asking->context->arena;
	const Program *programs[GROUP_MOST];
	for (int m = 0; m < group->count; m++)
		programs[m] = group->members[m]->program;
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
	ask_region(&(Asking){.context = context, .graph = graph, .asked = &asked}, graph->body);
	return asked;
}

static void
add_all_siblings(void *arg)
{
	const Asking *asking = arg;
	derive_siblings(asking->context->arena, &asking->asked->askers, asking->most,
	                &asking->asked->groups);
}

static const char *
names_of(Arena *arena, const NodeGroup *group)
{
	Buf names = {.arena = arena};
	for (int m = 0; m < group->count; m++)
		buf_printf(&names, "%s%s", m ? " with " : "", name_of(group->members[m]->node));
	return buf_text(&names);
}

void
derive_ask_groups(PassContext *context, const Graph *graph, Asked *asked)
{
	int64_t most = pass_config_int(context, "DeriveExpressions.together", PRODUCTS_MOST);
	most = most < 1 ? 1 : most > PRODUCTS_MOST ? PRODUCTS_MOST : most;
	Asking asking = {.context = context, .graph = graph, .asked = asked, .most = (int)most};
	if (most > 1)
		derive_chains(context, graph, &asked->askers, asking.most, &asked->groups);
	ask_try(context, "siblings", "products of one level", add_all_siblings, &asking);
	for (int g = 0; g < asked->groups.count; g++) {
		NodeGroup *group = asking.group = asked->groups.data[g];
		group->names = names_of(context->arena, group);
		ask_try(context, "ask", group->names, ask_group, &asking);
	}
}
