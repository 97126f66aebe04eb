/* The verifier: what must hold of a graph between passes. A violation is our bug, and its message
 * names the node.
 */
#include <string.h>

#include "graph/inner.h"

#define BUG(loc, ...) fail_as(FAIL_BUG, (loc), __VA_ARGS__)

typedef struct Checker {
	const Graph *graph;
	Map seen; /* values defined so far, in order */
} Checker;

static void check_region(Checker *check, const Region *region);

/* ---- uses ------------------------------------------------------------------------------------ */

static bool
has_use(const Value *value, Use use)
{
	int count = 0;
	for (int i = 0; i < value->uses.count; i++) {
		const Use *at = &value->uses.data[i];
		count += at->node == use.node && at->region == use.region && at->index == use.index;
	}
	return count == 1;
}

static void
check_use(Checker *check, const Loc *loc, const Region *region, const Value *value, Use use)
{
	if (!map_find_ptr(&check->seen, value))
		BUG(loc, "%%%s is used before it is defined", value->name);
	if (!region_encloses(value->region, region))
		BUG(loc, "%%%s is used outside of its region", value->name);
	if (!has_use(value, use))
		BUG(loc, "the use of %%%s is not in its list exactly once", value->name);
}

/* Every entry of a use list is an operand that is there. */
static void
check_use_list(const Value *value)
{
	for (int i = 0; i < value->uses.count; i++) {
		const Use *use = &value->uses.data[i];
		bool is_right = false;
		if (use->node)
			is_right = use->node->parent && use->index < use->node->ninput &&
			           use->node->inputs[use->index] == value;
		else if (use->region)
			is_right =
				use->index < use->region->nresult && use->region->results[use->index] == value;
		if (!is_right)
			BUG(value->def ? &value->def->loc : NULL, "%%%s lists a use that is not there",
			    value->name);
	}
}

/* ---- values ---------------------------------------------------------------------------------- */

static void
check_type(const Loc *loc, const Value *value)
{
	const Type *type = &value->type;
	if (type->kind != TYPE_TENSOR)
		return;
	if (type->rank > ARRAY_MAX_RANK)
		BUG(loc, "%%%s has rank %d", value->name, type->rank);
	for (int i = 0; i < type->rank; i++)
		if (!type->dims[i])
			BUG(loc, "dim %d of %%%s is missing", i, value->name);
}

static void
define(Checker *check, const Loc *loc, const Region *region, Value *value)
{
	if (value->region != region)
		BUG(loc, "%%%s does not know its region", value->name);
	if (map_find(check->graph->names, value->name) != value)
		BUG(loc, "%%%s is not the value of this name", value->name);
	if (map_find_ptr(&check->seen, value))
		BUG(loc, "%%%s is defined twice", value->name);
	map_set_ptr(&check->seen, value, value);
	check_type(loc, value);
	check_use_list(value);
}

/* ---- nodes ----------------------------------------------------------------------------------- */

static void
check_attrs(const Node *node)
{
	for (int i = 0; i < node->nattr; i++) {
		const AttrSpec *spec = op_attr(node->op, node->attrs[i].name);
		if (!spec || spec->kind != (int)node->attrs[i].kind)
			BUG(&node->loc, "attribute %s is not one of the operator's row", node->attrs[i].name);
	}
	for (int i = 0; i < node->op->nattr; i++) {
		const AttrSpec *spec = &node->op->attrs[i];
		if (spec->required && spec->kind != ATTR_GRAPH && !attr_has(node, spec->name))
			BUG(&node->loc, "attribute %s is missing", spec->name);
	}
}

/* A group's inputs are what its region uses, in the same order. */
static void
check_group(const Node *node)
{
	if (node->nregion != 1 || node->regions[0]->nresult != node->noutput)
		BUG(&node->loc, "a group has one region with a result for each output");
	const Region *region = node->regions[0];
	bool is_same = region->captures.count == node->ninput;
	for (int i = 0; is_same && i < node->ninput; i++)
		is_same = region->captures.data[i] == node->inputs[i];
	if (!is_same)
		BUG(&node->loc, "the inputs of a group are not what its region uses");
}

static void
check_node(Checker *check, const Node *node)
{
	const Region *region = node->parent;
	for (int i = 0; i < node->ninput; i++)
		if (node->inputs[i])
			check_use(check, &node->loc, region, node->inputs[i],
			          (Use){(Node *)(uintptr_t)node, NULL, i});
	check_attrs(node);
	for (int i = 0; i < node->nregion; i++) {
		const Region *inner = node->regions[i];
		if (inner->owner != node || inner->parent != region)
			BUG(&node->loc, "region %s does not know its node", inner->name);
		check_region(check, inner);
	}
	if (node->op->code == OP_fused)
		check_group(node);
	for (int i = 0; i < node->noutput; i++) {
		Value *value = node->outputs[i];
		if (!value)
			continue;
		if (value->def != node || value->result != i)
			BUG(&node->loc, "%%%s does not know its node", value->name);
		define(check, &node->loc, region, value);
	}
}

/* ---- regions --------------------------------------------------------------------------------- */

/* The captures a region should list, computed anew and compared. */
static void
check_captures(const Region *region)
{
	const Loc *loc = region->owner ? &region->owner->loc : NULL;
	VEC(Value *) old = {0};
	Arena *arena = region->graph->arena;
	for (int i = 0; i < region->captures.count; i++)
		vec_push(arena, &old, region->captures.data[i]);
	region_update_captures((Region *)(uintptr_t)region);
	bool is_same = old.count == region->captures.count;
	for (int i = 0; is_same && i < old.count; i++)
		is_same = old.data[i] == region->captures.data[i];
	if (!is_same)
		BUG(loc, "the captures of region %s are not up to date", region->name);
}

static void
check_region(Checker *check, const Region *region)
{
	const Loc *loc = region->owner ? &region->owner->loc : NULL;
	for (int i = 0; i < region->nparam; i++)
		define(check, loc, region, region->params[i]);
	const Node *last = NULL;
	for (const Node *node = region->first; node; node = node->next) {
		if (node->parent != region || node->prev != last)
			BUG(&node->loc, "the list of nodes is broken");
		check_node(check, node);
		last = node;
	}
	if (region->last != last)
		BUG(loc, "the list of nodes is broken");
	for (int i = 0; i < region->nresult; i++) {
		if (!region->results[i])
			BUG(loc, "result %d of a region is missing", i);
		check_use(check, loc, region, region->results[i],
		          (Use){NULL, (Region *)(uintptr_t)region, i});
	}
	if (region->parent)
		check_captures(region);
}

/* ---- symbols --------------------------------------------------------------------------------- */

static void
check_symbols(const Graph *graph, const Value *value, const Dim *dim)
{
	for (ExprWalk walk = expr_walk(dim); expr_step(&walk);)
		if (walk.e->op == EX_symbol && !graph->is_open && !symbol_def_find(graph, walk.e->symbol))
			BUG(value->def ? &value->def->loc : NULL,
			    "symbol %s in the type of %%%s has no definition", walk.e->symbol->name,
			    value->name);
}

static void
check_definitions(const Checker *check)
{
	const Graph *graph = check->graph;
	for (int i = 0; i < graph->symbols.count; i++) {
		const SymbolDef *def = &graph->symbols.data[i];
		for (int k = 0; k < i; k++)
			if (graph->symbols.data[k].symbol == def->symbol)
				BUG(NULL, "symbol %s is defined twice", def->symbol->name);
		if (def->source == SYMBOL_EXPR ? !def->expr : !def->value)
			BUG(NULL, "the definition of symbol %s is incomplete", def->symbol->name);
		if (def->value && !map_find_ptr(&check->seen, def->value))
			BUG(NULL, "symbol %s is read from %%%s, which is gone", def->symbol->name,
			    def->value->name);
	}
	for (int i = 0; i < check->seen.count; i++) {
		const Value *value = check->seen.entries[i].value;
		for (int d = 0; value->type.kind == TYPE_TENSOR && d < value->type.rank; d++)
			check_symbols(graph, value, value->type.dims[d]);
	}
}

void
graph_check(const Graph *graph)
{
	Checker check = {graph, {.arena = graph->arena}};
	for (int i = 0; i < graph->constants.count; i++) {
		Value *value = graph->constants.data[i];
		if (!value->constant || value->def)
			BUG(NULL, "constant %%%s has no data", value->name);
		define(&check, NULL, graph->body, value);
	}
	check_region(&check, graph->body);
	check_definitions(&check);
}
