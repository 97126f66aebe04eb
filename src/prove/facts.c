/* plan_facts: buffers, values and nodes, and the boundaries between which things hold.
 *
 * A buffer is whole behind the last step that writes it, or a view of it: the pieces of a
 * concatenation are written one by one. A view that no step writes is whole when what it shows is.
 */
#include "prove/facts.h"

#include <string.h>

#include "graph/meaning.h"

enum { PRODUCERS = 16 }; /* without storage, that are taken together */

/* ---- buffers ---- */

static void
note_writer(PlanFacts *facts, int buffer, int step)
{
	const PlanBuffer *buffers = facts->plan->buffers;
	for (; buffer >= 0; buffer = buffers[buffer].kind == PB_VIEW ? buffers[buffer].of : -1)
		if (facts->done[buffer] < step + 1)
			facts->done[buffer] = step + 1;
}

static void
find_writers(PlanFacts *facts)
{
	const Plan *plan = facts->plan;
	for (int i = 0; i < plan->nbuffer; i++) {
		PlanBufferKind kind = plan->buffers[i].kind;
		bool is_given = kind == PB_INPUT || kind == PB_WEIGHT || kind == PB_CAPTURE;
		facts->done[i] = is_given ? 0 : NEVER;
	}
	for (int s = 0; s < plan->nstep; s++) {
		const PlanStep *step = &plan->steps[s];
		for (int k = step->narg - step->noutput; k < step->narg; k++)
			note_writer(facts, step->args[k], s);
	}
}

/* Who made it. What crosses from one memory to the other was made where it came from. */
static void
find_maker(const PlanFacts *facts, Claim *claim)
{
	const Plan *plan = facts->plan;
	claim->made = claim->buffer;
	claim->step = claim->done > 0 ? claim->done - 1 : NEVER;
	const PlanStep *step = claim->step >= 0 ? &plan->steps[claim->step] : NULL;
	if (!step || step->kind != PT_COPY || step->args[1] != claim->buffer)
		return;
	int from = step->args[0];
	bool crosses = plan->buffers[from].place != plan->buffers[claim->buffer].place;
	if (crosses && facts->done[from] > 0 && facts->done[from] <= claim->step) {
		claim->made = from;
		claim->step = facts->done[from] - 1;
	}
}

static void
add_claim(Arena *arena, PlanFacts *facts, int buffer, const Value *value)
{
	Claim claim = {.buffer = buffer, .value = value, .node = -1, .done = facts->done[buffer]};
	find_maker(facts, &claim);
	facts->claim_of[buffer] = facts->claims.count;
	vec_push(arena, &facts->claims, claim);
	if (!map_find_ptr(&facts->values, value))
		map_set_ptr(&facts->values, value, (void *)(uintptr_t)facts->claims.count);
}

/* What a region enters under a name of its own lies where that does. */
static void
find_entered(PlanFacts *facts, const PlanBuffer *buffer, const Value *value)
{
	const Node *def = buffer->kind == PB_CAPTURE ? value->def : NULL;
	if (def && def->op->code == OP_Enter && !map_find_ptr(&facts->values, def->inputs[0]))
		map_set_ptr(&facts->values, def->inputs[0], (void *)(uintptr_t)facts->claims.count);
}

static void
find_claims(Arena *arena, PlanFacts *facts, const Graph *graph)
{
	for (int i = 0; i < facts->plan->nbuffer; i++) {
		const PlanBuffer *buffer = &facts->plan->buffers[i];
		const Value *value = buffer->is_value ? graph_find_value(graph, buffer->name) : NULL;
		facts->claim_of[i] = -1;
		if (!value)
			continue;
		add_claim(arena, facts, i, value);
		find_entered(facts, buffer, value);
	}
}

Claim *
facts_claim(const PlanFacts *facts, const Value *value)
{
	uintptr_t known = (uintptr_t)map_find_ptr(&facts->values, value);
	return known ? &facts->claims.data[known - 1] : NULL;
}

/* ---- nodes ---- */

static void
note_read(const Tensor *tensor, void *arg)
{
	map_set_ptr(arg, tensor, (void *)(uintptr_t)tensor);
}

/* Whether the program needs the data of input `index`; shapes are known without. */
static bool
is_read(const Program *program, const Map *reads, int index)
{
	for (int k = 0; k < program->noutput; k++)
		if (program->outputs[k] == program->inputs[index])
			return true;
	return map_find_ptr(reads, program->inputs[index]) != NULL;
}

/* The boundary at which all that the program reads is there. */
static void
find_inputs(Arena *arena, PlanFacts *facts, NodeFacts *node)
{
	Map reads = {.arena = arena};
	for (int s = 0; s < node->program->nstage; s++)
		stage_visit_reads(node->program->stages[s], note_read, &reads);
	for (int i = 0; i < node->program->ninput; i++) {
		const Value *value = node->inputs[i];
		const Claim *claim = facts_claim(facts, value);
		if (value_fixed(value) || !is_read(node->program, &reads, i))
			continue;
		if (!claim || claim->done == NEVER)
			node->reason = "an input has no storage of its own";
		else if (claim->done > node->ready)
			node->ready = claim->done;
	}
}

/* Sizes and numbers that are known only while the plan runs: its own ones. Those of the plan around
 * are known when a nested plan is entered, and their steps are the other plan's. */
static void
find_symbols(const PlanFacts *facts, NodeFacts *node)
{
	int own = facts->plan->parent ? facts->plan->parent->nsymbol : 0;
	for (int s = 0; s < node->program->nstage; s++) {
		const Stage *stage = node->program->stages[s];
		ExprWalk walk = stage_walk(stage);
		for (int i = 0; i < stage->nloop + stage->nreduce; i++)
			expr_walk_add(&walk, stage->iters[i].hi);
		while (expr_step(&walk))
			for (int i = own; walk.e->op == EX_symbol && i < facts->plan->nsymbol; i++) {
				const PlanSymbol *symbol = &facts->plan->symbols[i];
				if (symbol->source != PS_INPUT && symbol->step > node->ready &&
				    strcmp(symbol->name, walk.e->symbol->name) == 0)
					node->ready = symbol->step;
			}
	}
}

/* A node without a meaning: its operands, and what the regions of a control node capture. */
static void
find_operands(PlanFacts *facts, NodeFacts *node)
{
	for (int i = 0; i < node->node->ninput; i++) {
		const Value *value = node->node->inputs[i];
		const Claim *claim = value ? facts_claim(facts, value) : NULL;
		if (claim && claim->done > node->ready)
			node->ready = claim->done;
		bool is_there = !value || value_fixed(value) || (claim && claim->done != NEVER);
		if (!is_there && node->node->nregion == 0)
			node->reason = "an input has no storage of its own";
	}
	for (int r = 0; r < node->node->nregion; r++)
		for (int i = 0; i < node->node->regions[r]->captures.count; i++) {
			const Claim *claim = facts_claim(facts, node->node->regions[r]->captures.data[i]);
			if (claim && claim->done > node->ready)
				node->ready = claim->done;
		}
}

typedef struct NodeList {
	const Node *nodes[PRODUCERS];
	int count;
} NodeList;

/* A node behind the producers of those of its inputs that have no storage, in order. Once the list
 * is full it no longer says who has been visited, and nobody wants what else there is. */
static void
list_producers(const PlanFacts *facts, const Node *node, NodeList *list)
{
	if (list->count == PRODUCERS)
		return;
	for (int i = 0; i < list->count; i++)
		if (list->nodes[i] == node)
			return;
	for (int i = 0; i < node->ninput; i++) {
		const Value *value = node->inputs[i];
		const Node *def = value ? value->def : NULL;
		if (def && !facts_claim(facts, value) && def->parent == node->parent &&
		    node_has_meaning(def) && node_effect(def) == EFFECT_pure)
			list_producers(facts, def, list);
	}
	if (list->count < PRODUCERS)
		list->nodes[list->count++] = node;
}

/* What the node's results are, of values that have storage. */
static void
find_meaning(Arena *arena, const Graph *graph, PlanFacts *facts, NodeFacts *out)
{
	const Node *node = out->node;
	NodeList list = {.count = 0};
	int noperand = 1;
	list_producers(facts, node, &list);
	for (int i = 0; i < list.count; i++)
		noperand += list.nodes[i]->ninput;
	out->inputs = NEW_N(arena, Value *, noperand);
	if (list.count == 1 || list.nodes[list.count - 1] != node) {
		node_meaning_inputs(node, out->inputs);
		out->program = node_meaning(graph, node);
		return;
	}
	out->program =
		nodes_meaning(graph, list.count, list.nodes, node->noutput, node->outputs, out->inputs);
}

static NodeFacts
facts_of_node(Arena *arena, const Graph *graph, PlanFacts *facts, const Node *node)
{
	NodeFacts out = {.node = node};
	if (node_effect(node) == EFFECT_random) {
		out.reason = arena_printf(arena, "random operator %s", node->op->name);
	} else if (node_has_meaning(node)) {
		find_meaning(arena, graph, facts, &out);
		find_inputs(arena, facts, &out);
		find_symbols(facts, &out);
	} else {
		find_operands(facts, &out);
	}
	return out;
}

static bool
has_claim(const PlanFacts *facts, const Node *node)
{
	for (int i = 0; i < node->noutput; i++)
		if (node->outputs[i] && facts_claim(facts, node->outputs[i]))
			return true;
	return false;
}

/* All claims of a value learn its node. One that no step writes is whole when what it shows is. */
static void
tell_claims(PlanFacts *facts, int index)
{
	NodeFacts *node = &facts->nodes.data[index];
	for (int i = 0; i < facts->claims.count; i++) {
		Claim *claim = &facts->claims.data[i];
		if (claim->value->def != node->node)
			continue;
		const PlanBuffer *buffers = facts->plan->buffers;
		if (buffers[claim->buffer].kind != PB_CAPTURE)
			claim->node = index;
		if (claim->step >= 0 && facts->plan->steps[claim->step].kind == PT_VENDOR)
			node->is_vendor = true;
		int of = claim->buffer;
		while (facts->done[of] == NEVER && buffers[of].kind == PB_VIEW)
			of = buffers[of].of;
		if (claim->done == NEVER && facts->done[of] != NEVER)
			claim->done = facts->done[of] > node->ready ? facts->done[of] : node->ready;
		facts->done[claim->buffer] = claim->done;
	}
}

PlanFacts *
plan_facts(Arena *arena, const Graph *graph, const Region *region, const Plan *plan)
{
	PlanFacts *facts = NEW(arena, PlanFacts);
	facts->plan = plan;
	facts->region = region;
	facts->values.arena = arena;
	facts->claim_of = NEW_N(arena, int, plan->nbuffer + 1);
	facts->done = NEW_N(arena, int, plan->nbuffer + 1);
	find_writers(facts);
	find_claims(arena, facts, graph);
	for (const Node *node = region->first; node; node = node->next) {
		if (!has_claim(facts, node))
			continue;
		vec_push(arena, &facts->nodes, facts_of_node(arena, graph, facts, node));
		tell_claims(facts, facts->nodes.count - 1);
	}
	return facts;
}

const PlanStep *
facts_step_of(const PlanFacts *facts, const Node *node)
{
	for (int s = 0; s < facts->plan->nstep; s++) {
		const PlanStep *step = &facts->plan->steps[s];
		for (int k = step->narg - step->noutput; step->nbody && k < step->narg; k++) {
			for (int c = 0; c < facts->claims.count; c++) {
				const Claim *claim = &facts->claims.data[c];
				if (claim->made == step->args[k] && claim->value->def == node)
					return step;
			}
		}
	}
	return NULL;
}
