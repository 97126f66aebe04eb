/* Obstacles in the order of the graph: its inputs, its outputs, its nodes. */
#include "cli/compile/obstacles.h"

#include "graph/meaning.h"
#include "runtime/plan/plan.h"

bool
value_is_unknown(const Value *value)
{
	return value->type.kind == TYPE_UNKNOWN ||
	       (value->type.kind == TYPE_TENSOR && value->type.rank < 0);
}

static const char *
type_obstacle(Arena *arena, const char *what, const Value *value)
{
	Buf buf = {.arena = arena};
	type_print(&buf, &value->type);
	return arena_printf(arena, "%s %s is %s", what, value->name, buf_text(&buf));
}

/* Dims that are numbers already, whose product no address can hold. */
static const char *
size_obstacle(Arena *arena, const char *what, const Value *value)
{
	int64_t bytes = 8, dim;
	bool is_large = false;
	for (int i = 0; value->type.kind == TYPE_TENSOR && i < value->type.rank; i++)
		if (dim_is_const(value->type.dims[i], &dim))
			is_large |= __builtin_mul_overflow(bytes, dim > 1 ? dim : 1, &bytes);
	return is_large
	           ? arena_printf(arena, "%s: too large for 64 bits", type_obstacle(arena, what, value))
	           : NULL;
}

/* An expression can be made of it, as opposed to host and control nodes. */
static const char *
meaning_obstacle(Arena *arena, const Node *node)
{
	for (int i = 0; i < node->ninput; i++)
		if (node->inputs[i] && value_is_unknown(node->inputs[i]))
			return arena_printf(arena,
			                    "the rank of input %s is unknown; --fix the input that decides it",
			                    node->inputs[i]->name);
	if (node_has_meaning(node))
		return NULL;
	return node->op->effect == EFFECT_random
	           ? "the operator draws at random, which nothing computes yet"
	           : "the operator is not computed for operands of these types";
}

/* Branches that give different ranks, of which one is taken only when run. */
static const char *
choice_obstacle(Arena *arena, const Node *node)
{
	for (int k = 0; node->nregion == 2 && k < node->noutput; k++) {
		const Type *a = &node->regions[0]->results[k]->type,
				   *b = &node->regions[1]->results[k]->type;
		if (node->outputs[k] && value_is_unknown(node->outputs[k]) && a->rank >= 0 &&
		    b->rank >= 0 && a->rank != b->rank)
			return arena_printf(
				arena,
				"its branches give %%%s of ranks %d and %d, and %%%s takes one when run; "
				"a range of sizes (--shape) or a constant (--fix) can decide it before",
				node->outputs[k]->name, a->rank, b->rank, node->inputs[0]->name);
	}
	return NULL;
}

static const char *
node_obstacle(Arena *arena, const Node *node, bool is_compiled)
{
	if (node->op->meaning == MEANING_MISSING)
		return "nothing computes this operator yet (tilewright list ops shows which are computed)";
	if (node->op->meaning == MEANING_UNKNOWN)
		return "this operator is not known (tilewright list ops shows those that are)";
	bool is_expressible =
		node->op->meaning == MEANING_FORMULA || node->op->meaning == MEANING_BUILD;
	const char *text =
		is_expressible ? meaning_obstacle(arena, node) : choice_obstacle(arena, node);
	for (int k = 0; is_compiled && !text && k < node->noutput; k++)
		if (node->outputs[k] && (node->outputs[k]->type.kind == TYPE_SEQUENCE ||
		                         node->outputs[k]->type.kind == TYPE_OPTIONAL))
			text = type_obstacle(arena, "value", node->outputs[k]);
	return text;
}

typedef struct Search {
	Arena *arena;
	bool is_compiled;
	int nesting; /* of regions */
	ObstacleVec list;
} Search;

static void
note(Search *search, const Node *node, FailKind kind, const char *text)
{
	if (text)
		vec_push(search->arena, &search->list, (Obstacle){node, kind, text});
}

static void
search_region(Search *search, const Region *region)
{
	Arena *arena = search->arena;
	for (const Node *node = region->first; node; node = node->next) {
		note(search, node, FAIL_UNSUPPORTED, node_obstacle(arena, node, search->is_compiled));
		for (int k = 0; k < node->noutput; k++)
			if (node->outputs[k])
				note(search, node, FAIL_INVALID, size_obstacle(arena, "value", node->outputs[k]));
		if (node->nregion && ++search->nesting > PLAN_MAX_NESTING)
			note(search, node, FAIL_UNSUPPORTED,
			     arena_printf(arena, "graphs nested deeper than %d", PLAN_MAX_NESTING));
		for (int i = 0; i < node->nregion && search->nesting <= PLAN_MAX_NESTING; i++)
			search_region(search, node->regions[i]);
		search->nesting -= node->nregion > 0;
	}
}

static void
search_signature(Search *search, const char *what, int count, Value *const *values)
{
	for (int i = 0; i < count; i++) {
		if (values[i]->type.kind != TYPE_TENSOR || value_is_unknown(values[i]))
			note(search, NULL, FAIL_UNSUPPORTED,
			     arena_printf(search->arena, "%s, expected a tensor of known rank",
			                  type_obstacle(search->arena, what, values[i])));
		if (!values[i]->def)
			note(search, NULL, FAIL_INVALID, size_obstacle(search->arena, what, values[i]));
	}
}

ObstacleVec
graph_obstacles(Arena *arena, const Graph *graph, bool is_compiled)
{
	Search search = {arena, is_compiled, 0, {0}};
	search_signature(&search, "input", graph->body->nparam, graph->body->params);
	search_region(&search, graph->body);
	search_signature(&search, "output", graph->body->nresult, graph->body->results);
	return search.list;
}

static void
refuse(const Graph *graph, const Obstacle *obstacle)
{
	Loc loc = {.file = graph->file};
	fail_as(obstacle->kind, obstacle->node ? &obstacle->node->loc : &loc, "%s", obstacle->text);
}

void
graph_refuse_sizes(const Graph *graph)
{
	ObstacleVec list = graph_obstacles(graph->arena, graph, true);
	for (int i = 0; i < list.count; i++)
		if (list.data[i].kind == FAIL_INVALID)
			refuse(graph, &list.data[i]);
}

void
graph_refuse_obstacles(const Graph *graph)
{
	ObstacleVec list = graph_obstacles(graph->arena, graph, true);
	if (list.count)
		refuse(graph, &list.data[0]);
}
