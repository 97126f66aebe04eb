#include "lower/moves.h"

#include "expr/index/dim.h"
#include "graph/infer.h"
#include "graph/meaning.h"
#include "lower/node.h"
#include "program/group.h"

bool
stage_is_heavy(const Stage *stage)
{
	const Expr *product = stage_summed_product(stage);
	return product && product->arg[0]->has_read && product->arg[1]->has_read &&
	       product->arg[0] != product->arg[1];
}

bool
node_may_fuse(const Node *node)
{
	return node_has_meaning(node) && node_effect(node) == EFFECT_pure && node->nregion == 0;
}

/* The one stage of a node that reads an element for each of its own; NULL: it is another node. */
static const Stage *
moving_stage(Arena *arena, const Graph *graph, const Node *node)
{
	if (!node_may_fuse(node) || node->noutput != 1)
		return NULL;
	Value **values = NEW_N(arena, Value *, node->ninput + 1);
	const Program *p = node_program(graph->arena, graph, node, values);
	const Stage *stage = p->nstage == 1 ? p->stages[0] : NULL;
	bool moves = stage && stage->kind == STAGE_map && !stage->scan && stage->nresult == 1 &&
	             stage->body[0]->op == EX_read;
	return moves ? stage : NULL;
}

bool
node_moves(Arena *arena, const Graph *graph, const Node *node, bool *repeats)
{
	const Stage *stage = moving_stage(arena, graph, node);
	for (int i = 0; stage && i < stage->nloop; i++)
		*repeats |= !expr_uses_iter(stage->body[0], i) && !dim_is(stage->iters[i].hi, 1);
	return stage != NULL;
}

/* Dims in another order and nothing else, the innermost of which stays one of the last two. */
static bool
is_turned(const Stage *stage)
{
	const Expr *read = stage->body[0];
	int rank = stage->nloop, moved = 0;
	if (read->argc != rank || rank < 2)
		return false;
	for (int d = 0; d < rank; d++) {
		if (read->arg[d]->op != EX_iter)
			return false;
		moved += read->arg[d]->iter != d;
	}
	return moved > 0 && read->arg[rank - 1]->iter >= rank - 2;
}

static bool
stage_multiplies(const Stage *stage, const Tensor *tensor)
{
	const Expr *product = stage_is_heavy(stage) ? stage_summed_product(stage) : NULL;
	for (int i = 0; product && i < 2; i++) {
		const Expr *factor = expr_without_casts(product->arg[i]);
		if (factor->op == EX_read && factor->tensor == tensor)
			return true;
	}
	return false;
}

bool
node_multiplies(Arena *arena, const Graph *graph, const Node *node, const Value *value)
{
	if (!node || node->parent != value->region || !node_has_meaning(node))
		return false;
	Value **values = NEW_N(arena, Value *, node->ninput + 1);
	const Program *p = node_program(graph->arena, graph, node, values);
	bool multiplies = false;
	for (int s = 0; s < p->nstage; s++)
		for (int k = 0; k < p->ninput; k++)
			multiplies |= values[k] == value && stage_multiplies(p->stages[s], p->inputs[k]);
	return multiplies;
}

bool
node_turns_for_products(Arena *arena, const Graph *graph, const Node *node)
{
	const Stage *stage = moving_stage(arena, graph, node);
	if (!stage || !is_turned(stage))
		return false;
	const Value *y = node->outputs[0];
	bool is = y->uses.count > 0;
	for (int i = 0; is && i < y->uses.count; i++)
		is = node_multiplies(arena, graph, y->uses.data[i].node, y);
	return is;
}

/* Products alone read what the node makes, or what such nodes make of that. */
static bool
leads_to_products(Arena *arena, const Graph *graph, const Node *node, int nodes, bool *repeats)
{
	const Value *y = node->outputs[0];
	if (nodes == 0 || y->uses.count == 0)
		return false;
	for (int i = 0; i < y->uses.count; i++) {
		const Node *user = y->uses.data[i].node;
		if (node_multiplies(arena, graph, user, y))
			continue;
		if (!user || user->parent != node->parent || !node_moves(arena, graph, user, repeats) ||
		    !leads_to_products(arena, graph, user, nodes - 1, repeats))
			return false;
	}
	return true;
}

bool
node_repeats_for_products(Arena *arena, const Graph *graph, const Node *node)
{
	enum { MOST = 6 }; /* nodes that exporters write for a repetition: four */
	bool repeats = false;
	return node_moves(arena, graph, node, &repeats) &&
	       leads_to_products(arena, graph, node, MOST, &repeats) && repeats;
}
