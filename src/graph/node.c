/* Nodes and regions: making, moving, removing; captures. */
#include <string.h>

#include "graph/inner.h"

/* ---- nodes ----------------------------------------------------------------------------------- */

static void
link_node(Region *region, Node *before, Node *node)
{
	must(!before || before->parent == region);
	node->parent = region;
	node->next = before;
	node->prev = before ? before->prev : region->last;
	if (node->prev)
		node->prev->next = node;
	else
		region->first = node;
	if (before)
		before->prev = node;
	else
		region->last = node;
}

static void
unlink_node(Node *node)
{
	Region *region = node->parent;
	if (node->prev)
		node->prev->next = node->next;
	else
		region->first = node->next;
	if (node->next)
		node->next->prev = node->prev;
	else
		region->last = node->prev;
	node->prev = node->next = NULL;
}

/* "Relu", "fused" or "com.example.Thing". */
static const OpInfo *
find_op(const Graph *graph, const char *text)
{
	const OpInfo *op = op_find(graph->ops, "", text);
	return op && op->code != OP_NONE ? op : NULL;
}

static void
add_output(Node *node, int index, const char *name)
{
	Value *value = value_new(node->parent, name);
	value->def = node;
	value->result = index;
	node->outputs[index] = value;
}

Node *
node_new(Region *region, Node *before, const char *op, const Loc *loc, int ninput,
         Value *const *inputs, int noutput, const char *const *output_names)
{
	const OpInfo *row = find_op(region->graph, op);
	if (!row)
		fail_unsupported(loc, "operator %s is not known", op);
	return node_new_row(region, before, row, loc, ninput, inputs, noutput, output_names);
}

Node *
node_new_row(Region *region, Node *before, const OpInfo *op, const Loc *loc, int ninput,
             Value *const *inputs, int noutput, const char *const *output_names)
{
	Graph *graph = region->graph;
	Node *node = NEW(graph->arena, Node);
	node->op = op;
	if (loc)
		node->loc = *loc;
	node->loc.op = node->op->name;
	if (!node->loc.file)
		node->loc.file = graph->file;
	link_node(region, before, node);
	node->ninput = ninput;
	node->inputs = NEW_N(graph->arena, Value *, ninput);
	for (int i = 0; i < ninput; i++)
		node_set_input(node, i, inputs[i]);
	node->noutput = noutput;
	node->outputs = NEW_N(graph->arena, Value *, noutput);
	for (int i = 0; i < noutput; i++)
		if (output_names[i])
			add_output(node, i, output_names[i]);
	return node;
}

const char *
node_called(const Node *node)
{
	if (node->loc.node && *node->loc.node)
		return node->loc.node;
	return node->noutput > 0 && node->outputs[0] ? node->outputs[0]->name : node->op->name;
}

void
node_want_output(Node *node, int index)
{
	if (index >= node->noutput) {
		Value **outputs = NEW_N(node->parent->graph->arena, Value *, index + 1);
		memcpy(outputs, node->outputs, (size_t)node->noutput * sizeof *outputs);
		node->outputs = outputs;
		node->noutput = index + 1;
	}
	if (!node->outputs[index])
		add_output(node, index, "");
}

void
node_set_input(Node *node, int index, Value *value)
{
	must(index >= 0 && index < node->ninput);
	value_remove_use(node->inputs[index], (Use){node, NULL, index});
	node->inputs[index] = value;
	value_add_use(value, (Use){node, NULL, index});
}

static void
forget_value(Value *value)
{
	must(value->uses.count == 0);
	map_set(value->region->graph->names, value->name, NULL);
}

/* Take the uses out of everything below a region, last node first. */
static void
region_clear(Region *region)
{
	for (int i = 0; i < region->nresult; i++)
		region_set_result(region, i, NULL);
	while (region->last)
		node_remove(region->last);
	for (int i = 0; i < region->nparam; i++)
		forget_value(region->params[i]);
}

void
node_remove(Node *node)
{
	for (int i = 0; i < node->nregion; i++)
		region_clear(node->regions[i]);
	for (int i = 0; i < node->ninput; i++)
		node_set_input(node, i, NULL);
	for (int i = 0; i < node->noutput; i++)
		if (node->outputs[i])
			forget_value(node->outputs[i]);
	unlink_node(node);
	node->parent = NULL;
}

void
node_move(Node *node, Region *region, Node *before)
{
	if (before == node)
		return;
	unlink_node(node);
	link_node(region, before, node);
	for (int i = 0; i < node->noutput; i++)
		if (node->outputs[i])
			node->outputs[i]->region = region;
	for (int i = 0; i < node->nregion; i++)
		node->regions[i]->parent = region;
}

static void
add_origin(Node *node, const char *name)
{
	for (int i = 0; i < node->origins.count; i++)
		if (!strcmp(node->origins.data[i], name))
			return;
	vec_push(node->parent->graph->arena, &node->origins, name);
}

void
node_add_origins(Node *node, const Node *from)
{
	if (from->origins.count == 0 && from->loc.node && from->loc.node[0])
		add_origin(node, from->loc.node);
	for (int i = 0; i < from->origins.count; i++)
		add_origin(node, from->origins.data[i]);
	if (!node->notes)
		node->notes = from->notes;
}

/* ---- regions --------------------------------------------------------------------------------- */

Region *
region_new(Node *owner, const char *name)
{
	Graph *graph = owner->parent->graph;
	Region *region = NEW(graph->arena, Region);
	region->graph = graph;
	region->parent = owner->parent;
	region->owner = owner;
	region->name = arena_strdup(graph->arena, name ? name : "body");
	size_t size = (size_t)owner->nregion * sizeof(Region *);
	owner->regions = arena_grow(graph->arena, owner->regions, size, size + sizeof(Region *));
	owner->regions[owner->nregion++] = region;
	return region;
}

Node *
region_step(const Region *region, const Node *node)
{
	if (!node)
		return region->first;
	for (int i = 0; i < node->nregion; i++)
		if (node->regions[i]->first)
			return node->regions[i]->first;
	while (!node->next) {
		const Region *done = node->parent;
		if (done == region)
			return NULL;
		node = done->owner;
		int i = 0;
		while (node->regions[i] != done)
			i++;
		for (i++; i < node->nregion; i++)
			if (node->regions[i]->first)
				return node->regions[i]->first;
	}
	return node->next;
}

Region *
node_region(const Node *node, const char *name)
{
	for (int i = 0; i < node->nregion; i++)
		if (!strcmp(node->regions[i]->name, name))
			return node->regions[i];
	fail(&node->loc, "region %s is missing", name);
}

Value *
region_param(Region *region, const char *name, const Type *type)
{
	Value *value = value_new(region, name);
	if (type)
		value->type = *type;
	value->result = region->nparam;
	size_t size = (size_t)region->nparam * sizeof(Value *);
	region->params = arena_grow(region->graph->arena, region->params, size, size + sizeof(Value *));
	region->params[region->nparam++] = value;
	return value;
}

void
region_set_result(Region *region, int index, Value *value)
{
	value_remove_use(region->results[index], (Use){NULL, region, index});
	region->results[index] = value;
	value_add_use(value, (Use){NULL, region, index});
}

void
region_set_results(Region *region, int count, Value *const *results)
{
	for (int i = 0; i < region->nresult; i++)
		region_set_result(region, i, NULL);
	region->nresult = count;
	region->results = NEW_N(region->graph->arena, Value *, count);
	for (int i = 0; i < count; i++)
		region_set_result(region, i, results[i]);
}

Region *
region_entered(const Node *node)
{
	Region *region = node->parent;
	while (region->owner && region->owner->op->code == OP_fused)
		region = region->parent;
	return region;
}

bool
region_encloses(const Region *region, const Region *inner)
{
	for (; inner; inner = inner->parent)
		if (inner == region)
			return true;
	return false;
}

/* ---- captures -------------------------------------------------------------------------------- */

/* Capture a value that a region uses but does not define. `seen` holds this region's captures. */
static void
capture(Region *region, Map *seen, Value *value)
{
	if (!value || value->region == region || map_find_ptr(seen, value))
		return;
	map_set_ptr(seen, value, value);
	vec_push(region->graph->arena, &region->captures, value);
}

/* Captures of one region whose inner regions are up to date. */
static void
update_one(Region *region)
{
	Map seen = {.arena = region->graph->arena};
	region->captures.count = 0;
	if (!region->parent)
		return;
	for (Node *node = region->first; node; node = node->next) {
		for (int i = 0; i < node->ninput; i++)
			capture(region, &seen, node->inputs[i]);
		for (int r = 0; r < node->nregion; r++)
			for (int i = 0; i < node->regions[r]->captures.count; i++)
				capture(region, &seen, node->regions[r]->captures.data[i]);
	}
	for (int i = 0; i < region->nresult; i++)
		capture(region, &seen, region->results[i]);
}

static void
update_inside(Region *region)
{
	for (Node *node = region->first; node; node = node->next)
		for (int i = 0; i < node->nregion; i++)
			update_inside(node->regions[i]);
	update_one(region);
}

void
region_update_captures(Region *region)
{
	update_inside(region);
	for (Region *outer = region->parent; outer; outer = outer->parent)
		update_one(outer);
}

Region *
node_body(const Node *node, int index)
{
	bool is_swapped = node->nregion == 2 && strcmp(node->regions[0]->name, "else_branch") == 0;
	return node->regions[is_swapped ? 1 - index : index];
}
