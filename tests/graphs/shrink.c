/* Making a graph that fails smaller while it fails in the same way: fewer outputs, nodes cut off by
 * inputs or passed by, attributes left out, symbols as numbers, small dims.
 *
 * Each change works on a graph read anew from the text, and is kept when its text fails.
 */
#include "graphs.h"

#include <string.h>

#include "graph/infer.h"
#include "graph/text.h"

enum { MOST_TRIES = 400 };

/* Apply change number `index` of a kind: false when there is none of this number. */
typedef bool Change(Graph *graph, int index, uint64_t seed);

static void
remove_dead(Region *region)
{
	for (Node *node = region->last, *before; node; node = before) {
		before = node->prev;
		int uses = 0;
		for (int i = 0; i < node->noutput; i++)
			uses += node->outputs[i] ? node->outputs[i]->uses.count : 0;
		if (uses == 0 && node->noutput > 0)
			node_remove(node);
		for (int i = 0; uses && i < node->nregion; i++)
			remove_dead(node->regions[i]);
	}
}

/* Node `*index` in the order of the text, or NULL; *index is what is left to count. */
static Node *
find_node(const Region *region, int *index)
{
	for (Node *node = region->first; node; node = node->next) {
		if ((*index)-- == 0)
			return node;
		for (int i = 0; i < node->nregion; i++) {
			Node *found = find_node(node->regions[i], index);
			if (found)
				return found;
		}
	}
	return NULL;
}

static bool
drop_output(Graph *graph, int index, uint64_t seed)
{
	Region *body = graph->body;
	(void)seed;
	Value **kept = NEW_N(graph->arena, Value *, body->nresult);
	int count = 0;
	for (int i = 0; i < body->nresult; i++)
		if (i != index)
			kept[count++] = body->results[i];
	if (count == body->nresult)
		return false;
	if (count > 0)
		graph_set_outputs(graph, count, kept);
	return true;
}

static bool
is_simple(const Graph *graph, const Type *type)
{
	int64_t number;
	for (int i = 0; i < type->rank; i++) {
		bool is_input = dim_is_const(type->dims[i], &number);
		for (int k = 0; k < graph->symbols.count; k++) {
			const SymbolDef *def = &graph->symbols.data[k];
			is_input |= def->source == SYMBOL_DIM && !def->value->def &&
			            !def->value->region->parent &&
			            type->dims[i] == dim_symbol(graph->ctx, def->symbol->name);
		}
		if (!is_input)
			return false;
	}
	return type->kind == TYPE_TENSOR && type->rank >= 0;
}

/* Inputs instead of what a node gives: all before it may go. */
static bool
cut_node(Graph *graph, int index, uint64_t seed)
{
	(void)seed;
	Node *node = find_node(graph->body, &index);
	for (int i = 0; node && i < node->noutput; i++) {
		Value *value = node->outputs[i];
		if (value && value->uses.count && is_simple(graph, &value->type))
			value_replace_uses(value,
			                   graph_input(graph, graph_fresh_name(graph, "x"), &value->type));
	}
	return node != NULL;
}

/* An operand of the same type instead of the result. */
static bool
pass_node(Graph *graph, int index, uint64_t seed)
{
	(void)seed;
	int at = index / 3, operand = index % 3;
	Node *node = find_node(graph->body, &at);
	if (node && operand < node->ninput && node->inputs[operand] && node->outputs[0] &&
	    type_equal(&node->inputs[operand]->type, &node->outputs[0]->type))
		value_replace_uses(node->outputs[0], node->inputs[operand]);
	return node != NULL;
}

/* The nodes of one side of an If instead of it. */
static bool
open_branch(Graph *graph, int index, uint64_t seed)
{
	(void)seed;
	int at = index / 2;
	Node *node = find_node(graph->body, &at);
	if (!node || node->op->code != OP_If)
		return node != NULL;
	Region *side = node->regions[index % 2];
	while (side->first)
		node_move(side->first, node->parent, node);
	for (int i = 0; i < node->noutput; i++)
		if (node->outputs[i])
			value_replace_uses(node->outputs[i], side->results[i]);
	return true;
}

static bool
drop_attr(Graph *graph, int index, uint64_t seed)
{
	(void)seed;
	int at = index / 6;
	Node *node = find_node(graph->body, &at);
	if (node && index % 6 < node->nattr) {
		Attr *gone = node->attrs + index % 6;
		node->nattr--;
		memmove(gone, gone + 1, (size_t)(node->attrs + node->nattr - gone) * sizeof *gone);
	}
	return node != NULL;
}

static bool
weight_to_input(Graph *graph, int index, uint64_t seed)
{
	(void)seed;
	if (index >= graph->constants.count)
		return false;
	Value *value = graph->constants.data[index];
	if (dtype_is_float(value->type.dtype) && value->uses.count)
		value_replace_uses(value, graph_input(graph, graph_fresh_name(graph, "x"), &value->type));
	return true;
}

/* ---- sizes ----------------------------------------------------------------------------------- */

static void
set_dim(Graph *graph, Value *value, int axis, int64_t number)
{
	const Dim **dims = NEW_N(graph->arena, const Dim *, value->type.rank);
	memcpy(dims, value->type.dims, (size_t)value->type.rank * sizeof *dims);
	dims[axis] = dim_const(graph->ctx, number);
	value->type.dims = dims;
}

static bool
fix_symbol(Graph *graph, int index, uint64_t seed)
{
	if (index >= graph->symbols.count)
		return false;
	const SymbolDef *def = &graph->symbols.data[index];
	const Dim *symbol = dim_symbol(graph->ctx, def->symbol->name);
	for (int i = 0; i < graph->body->nparam; i++) {
		Value *param = graph->body->params[i];
		for (int d = 0; d < param->type.rank; d++)
			if (param->type.dims[d] == symbol)
				set_dim(graph, param, d, graph_symbol_value(seed, 0, def->symbol->name));
	}
	return true;
}

/* A constant with `to` in the place of extent `from`; the data begins the same. */
static void
resize_constant(Graph *graph, Value *value, int64_t from, int64_t to)
{
	const Array *old = value->constant;
	int64_t dims[ARRAY_MAX_RANK];
	bool has_it = false;
	for (int i = 0; i < old->rank; i++) {
		has_it |= old->dims[i] == from;
		dims[i] = old->dims[i] == from ? to : old->dims[i];
	}
	if (!has_it || old->type == DT_STRING)
		return;
	bool is_large = array_count(old) > TEXT_INLINE_MAX;
	uint64_t number = (uint64_t)value->weight;
	Array *made = is_large ? array_seeded(graph->arena, old->type, old->rank, dims, number)
	                       : array_new(graph->arena, old->type, old->rank, dims);
	for (int64_t i = 0, n = array_count(old); !is_large && i < array_count(made) && i < n; i++)
		dtype_store_f64(made->type, made->data, i, dtype_load_f64(old->type, old->data, i));
	value->constant = made;
	value->type = type_of_array(graph->ctx, made);
}

/* One extent made smaller wherever it stands: in inputs, weights and shapes. */
static void
replace_extent(Graph *graph, int64_t from, int64_t to, bool has_numbers)
{
	for (int i = 0; i < graph->body->nparam; i++) {
		Value *param = graph->body->params[i];
		for (int d = 0; d < param->type.rank; d++)
			if (dim_is(param->type.dims[d], from))
				set_dim(graph, param, d, to);
	}
	for (int i = 0; i < graph->constants.count; i++) {
		Value *value = graph->constants.data[i];
		resize_constant(graph, value, from, to);
		if (!has_numbers || value->type.dtype != DT_I64 || array_count(value->constant) > 8)
			continue;
		Array *made = array_from(graph->arena, DT_I64, value->constant->rank, value->constant->dims,
		                         value->constant->data);
		for (int64_t k = 0; k < array_count(made); k++)
			if (dtype_load_i64(DT_I64, made->data, k) == from)
				dtype_store_i64(DT_I64, made->data, k, to);
		value->constant = made;
	}
}

static bool
shrink_extent(Graph *graph, int index, uint64_t seed)
{
	static const int64_t sizes[] = {65, 33, 31, 17, 16, 13, 12, 9, 8, 7, 6, 5, 4, 3, 2};
	static const int64_t smaller[] = {1, 2, 3};
	(void)seed;
	int to = index % 3, which = index / 3 % (int)countof(sizes), way = index / 3 / countof(sizes);
	if (way > 1)
		return false;
	if (sizes[which] > smaller[to])
		replace_extent(graph, sizes[which], smaller[to], way);
	return true;
}

/* ---- the loop -------------------------------------------------------------------------------- */

typedef struct Attempt {
	Arena *arena;
	const char *text, *made;
	Change *change;
	int index;
	uint64_t seed;
	bool is_behind; /* there is no change of this number */
} Attempt;

static void
make_change(void *arg)
{
	Attempt *a = arg;
	Graph *graph = graph_parse(a->arena, "random", a->text);
	graph_infer(graph);
	if (!a->change(graph, a->index, a->seed)) {
		a->is_behind = true;
		return;
	}
	remove_dead(graph->body);
	region_update_captures(graph->body);
	a->made = graph_source(a->arena, graph);
}

const char *
graph_shrink(Arena *arena, const char *text, uint64_t seed, Fails *fails, void *arg)
{
	static Change *const changes[] = {drop_output, cut_node,        pass_node,     open_branch,
	                                  fix_symbol,  weight_to_input, shrink_extent, drop_attr};
	bool has_changed = true;
	int tries = 0;
	while (has_changed) {
		has_changed = false;
		for (size_t k = 0; k < countof(changes); k++)
			for (int index = 0; tries < MOST_TRIES;) {
				Attempt a = {arena, text, NULL, changes[k], index, seed, false};
				Failure failure;
				bool is_made = try_run(make_change, &a, &failure);
				if (a.is_behind || (!is_made && index > 200))
					break;
				bool is_other =
					is_made && a.made && strcmp(a.made, text) != 0 && strlen(a.made) < GRAPH_TEXT;
				if (is_other && (tries++, fails(arg, a.made))) {
					text = a.made;
					has_changed = true;
				} else {
					index++;
				}
			}
	}
	return text;
}
