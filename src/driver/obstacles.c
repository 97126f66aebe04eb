/* Obstacles in the order of the graph: its inputs, its outputs, its nodes. */
#include "driver/obstacles.h"

#include <string.h>

#include "bundle/plan.h"
#include "graph/meaning.h"

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

/* What decides between branches, and the option that decides it before: "seq == 1", where the
 * sizes of inputs do, else a value. */
static const char *
decided_by(Arena *arena, const Value *condition)
{
	static const struct {
		OpCode code;
		const char *sign;
	} SIGNS[] = {{OP_Equal, "=="},
	             {OP_Less, "<"},
	             {OP_LessOrEqual, "<="},
	             {OP_Greater, ">"},
	             {OP_GreaterOrEqual, ">="}};
	const Node *node = condition->def;
	while (node && (node->op->code == OP_Not || node->op->code == OP_Identity))
		node = node->inputs[0]->def;
	for (size_t i = 0; node && i < countof(SIGNS); i++) {
		const Known *a = node->op->code == SIGNS[i].code ? node->inputs[0]->known : NULL;
		const Known *b = a ? node->inputs[1]->known : NULL;
		if (!b || a->count != 1 || b->count != 1 || !a->value[0] || !b->value[0])
			continue;
		Buf buf = {.arena = arena};
		dim_print(&buf, a->value[0]);
		buf_printf(&buf, " %s ", SIGNS[i].sign);
		dim_print(&buf, b->value[0]);
		const char *text = buf_text(&buf);
		int length = (int)strcspn(text, " (");
		bool is_symbol = text[length] == ' ' && strspn(text, "0123456789-") == 0;
		const char *name = is_symbol ? arena_strndup(arena, text, (size_t)length) : "SYMBOL";
		return arena_printf(arena,
		                    "%s decides when run; sizes decide it before, as a range (--shape "
		                    "%s=2..100) or one alone (--shape %s=1..1)",
		                    text, name, name);
	}
	return arena_printf(arena,
	                    condition->def
	                        ? "%%%s takes one when run; a constant (--fix) for the input "
	                          "that it depends on decides it before"
	                        : "the input %s takes one when run; --fix %s=VALUE decides it "
	                          "before",
	                    condition->name, condition->name);
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
			return arena_printf(arena, "its branches give %%%s of ranks %d and %d, and %s",
			                    node->outputs[k]->name, a->rank, b->rank,
			                    decided_by(arena, node->inputs[0]));
	}
	return NULL;
}

static bool
is_expressible(const Node *node)
{
	return node->op->meaning == MEANING_FORMULA || node->op->meaning == MEANING_BUILD ||
	       node->op->meaning == MEANING_NODES;
}

/* Then its own inputs are looked at, and one in front of it has the obstacle. */
static bool
is_waiting(const Node *node)
{
	for (int i = 0; is_expressible(node) && i < node->ninput; i++)
		if (node->inputs[i] && value_is_unknown(node->inputs[i]))
			return true;
	return false;
}

/* An expression can be made of it, as opposed to host and control nodes. What only waits for a
 * value that has an obstacle already has none of its own. */
static const char *
meaning_obstacle(Arena *arena, const Node *node)
{
	for (int i = 0; i < node->ninput; i++)
		if (node->inputs[i] && value_is_unknown(node->inputs[i])) {
			const Node *maker = node->inputs[i]->def;
			return maker && (is_waiting(maker) || choice_obstacle(arena, maker))
			           ? NULL
			           : arena_printf(
							 arena,
							 "the rank of input %s is unknown; --fix the input that decides it",
							 node->inputs[i]->name);
		}
	if (node_has_meaning(node) || node->op->meaning == MEANING_NODES)
		return NULL;
	return node->op->effect == EFFECT_random
	           ? "the operator draws at random, which nothing computes yet"
	           : "the operator is not computed for operands of these types";
}

static const char *
node_obstacle(Arena *arena, const Node *node, bool is_compiled)
{
	if (node->op->meaning == MEANING_MISSING)
		return "nothing computes this operator yet (tilewright list ops shows which are computed)";
	if (node->op->meaning == MEANING_UNKNOWN)
		return "this operator is not known (tilewright list ops shows those that are)";
	const char *text =
		is_expressible(node) ? meaning_obstacle(arena, node) : choice_obstacle(arena, node);
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
		vec_push(search->arena, &search->list,
		         (Obstacle){node, node ? node->loc.node : NULL, kind, text});
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

ObstacleVec
graph_refuse_sizes(const Graph *graph)
{
	ObstacleVec list = graph_obstacles(graph->arena, graph, true);
	for (int i = 0; i < list.count; i++)
		if (list.data[i].kind == FAIL_INVALID)
			refuse(graph, &list.data[i]);
	return list;
}

/* What passes have left of a node says less of why. */
void
graph_refuse_obstacles(const Graph *graph, const ObstacleVec *before)
{
	ObstacleVec list = graph_obstacles(graph->arena, graph, true);
	const Obstacle *first = list.count ? &list.data[0] : NULL;
	for (int i = 0; first && first->node && i < before->count; i++)
		if (before->data[i].name && first->node->loc.node &&
		    strcmp(before->data[i].name, first->node->loc.node) == 0)
			fail_as(before->data[i].kind, &first->node->loc, "%s", before->data[i].text);
	if (first)
		refuse(graph, first);
}

/* The input before `index` that has this size, too; -1: none, since it is a number or a term. */
static int
first_with(const Graph *graph, int index, const Dim *dim, int *axis)
{
	for (int i = 0; i < index; i++)
		for (*axis = 0; *axis < graph->body->params[i]->type.rank; ++*axis)
			if (graph->body->params[i]->type.dims[*axis] == dim)
				return i;
	return -1;
}

const char *
graph_assumed_text(Arena *arena, const Graph *graph)
{
	enum { SHOWN = 3 };
	Buf buf = {.arena = arena};
	int count = graph->wishes.count;
	for (int i = 0; i < count && i < SHOWN; i++) {
		const InputWish *wish = &graph->wishes.data[i];
		const Value *input = graph->body->params[wish->input];
		int axis, other = first_with(graph, wish->input, input->type.dims[wish->axis], &axis);
		buf_printf(&buf, "%sdim %d of %s is ", i ? "; " : "", wish->axis, input->name);
		if (other < 0)
			dim_print(&buf, input->type.dims[wish->axis]);
		else if (axis == wish->axis)
			buf_printf(&buf, "that of %s", graph->body->params[other]->name);
		else
			buf_printf(&buf, "dim %d of %s", axis, graph->body->params[other]->name);
		buf_printf(&buf, "%s", wish->may_be_one ? ", or 1" : "");
		if (*wish->what)
			buf_printf(&buf, " (%s)", wish->what);
	}
	if (count > SHOWN)
		buf_printf(&buf, "; and %d more", count - SHOWN);
	return buf_text(&buf);
}
