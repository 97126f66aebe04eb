/* A deep copy of a graph, or of a part, with its own ctx and arena. Constants' data and notes are
 * shared. */
#include <string.h>

#include "expr/scalar/ctx.h"
#include "graph/inner.h"

typedef struct Cloner {
	const Graph *from;
	Graph *to;
	Map values;            /* old Value, and old Region, to new */
	Map dims;              /* old Dim to new */
	Map empty;             /* dims hold no tensors and no variables */
	const GraphPart *part; /* NULL: all of it */
} Cloner;

static const Expr *
clone_expr(Cloner *clone, const Expr *e)
{
	return expr_import(clone->to->ctx, e, &clone->empty);
}

static const Dim *
clone_dim(Cloner *clone, const Dim *dim)
{
	if (!dim)
		return NULL;
	const Dim *known = map_find_ptr(&clone->dims, dim);
	if (!known) {
		const Expr *copy = clone_expr(clone, dim);
		known = dim_from_expr(clone->to->ctx, copy); /* back into normal form */
		known = known ? known : copy;                /* a known float */
		map_set_ptr(&clone->dims, dim, (void *)(uintptr_t)known);
	}
	return known;
}

static const Dim *const *
clone_dims(Cloner *clone, int count, const Dim *const *dims)
{
	const Dim **copy = NEW_N(clone->to->arena, const Dim *, count < 0 ? 0 : count);
	for (int i = 0; i < count; i++)
		copy[i] = clone_dim(clone, dims[i]);
	return copy;
}

static Type
clone_type(Cloner *clone, const Type *type)
{
	Type copy = *type;
	copy.dims = clone_dims(clone, type->rank, type->dims);
	if (type->element) {
		Type element = clone_type(clone, type->element);
		copy.element = arena_memdup(clone->to->arena, &element, sizeof element);
	}
	return copy;
}

static const char *
clone_text(Cloner *clone, const char *text)
{
	return text ? arena_strdup(clone->to->arena, text) : NULL;
}

/* Nearly all nodes come from the graph's own file. */
static Loc
clone_loc(Cloner *clone, const Loc *loc)
{
	const char *file = clone->to->file;
	bool is_own = file && loc->file && strcmp(file, loc->file) == 0;
	return (Loc){is_own ? file : clone_text(clone, loc->file), loc->line,
	             clone_text(clone, loc->node), clone_text(clone, loc->op)};
}

static void
copy_value(Cloner *clone, const Value *old, Value *new)
{
	map_set_ptr(&clone->values, old, new);
	new->type = clone_type(clone, &old->type);
	new->constant = old->constant;
	new->is_default = old->is_default;
	new->layout = clone_text(clone, old->layout);
	new->weight = old->weight;
	new->is_made_up = old->is_made_up;
	new->is_listed = old->is_listed;
	new->notes = old->notes;
	if (old->known) {
		Known *known = NEW(clone->to->arena, Known);
		known->count = old->known->count;
		known->value = clone_dims(clone, known->count, old->known->value);
		new->known = known;
	}
}

static Value *
clone_use(Cloner *clone, const Value *value)
{
	Value *copy = value ? map_find_ptr(&clone->values, value) : NULL;
	if (!value || copy || !clone->part)
		return copy;
	if (value->constant && !value->is_default) {
		copy = graph_constant(clone->to, value->name, value->constant);
		copy_value(clone, value, copy);
		return copy;
	}
	copy = clone->part->outside(clone->part->arg, clone->to, value);
	map_set_ptr(&clone->values, value, copy);
	return copy;
}

static Attr
clone_attr(Cloner *clone, const Attr *attr)
{
	Arena *arena = clone->to->arena;
	Attr copy = *attr;
	size_t count = (size_t)attr->count;
	if (attr->kind == ATTR_STRING) {
		char *text = arena_alloc(arena, count + 1);
		memcpy(text, attr->s, count);
		copy.s = text;
	} else if (attr->kind == ATTR_INTS) {
		copy.ints = arena_memdup(arena, attr->ints, count * sizeof *attr->ints);
	} else if (attr->kind == ATTR_FLOATS) {
		copy.floats = arena_memdup(arena, attr->floats, count * sizeof *attr->floats);
	} else if (attr->kind == ATTR_STRINGS) {
		const char **texts = NEW_N(arena, const char *, count);
		for (size_t i = 0; i < count; i++)
			texts[i] = arena_strdup(arena, attr->strings[i]);
		copy.strings = texts;
	} else if (attr->kind == ATTR_TYPE) {
		Type type = clone_type(clone, attr->type);
		copy.type = arena_memdup(arena, &type, sizeof type);
	}
	return copy;
}

static void clone_nodes(Cloner *clone, const Region *from, Region *to);

static void
clone_region(Cloner *clone, const Region *from, Region *to)
{
	map_set_ptr(&clone->values, from, to);
	to->notes = from->notes;
	for (int i = 0; i < from->nparam; i++) {
		const Value *old = from->params[i];
		copy_value(clone, old, region_param(to, old->name, NULL));
	}
	clone_nodes(clone, from, to);
}

static void
clone_results(Cloner *clone, const Region *from, Region *to)
{
	Value **results = NEW_N(clone->to->arena, Value *, from->nresult);
	for (int i = 0; i < from->nresult; i++)
		results[i] = clone_use(clone, from->results[i]);
	region_set_results(to, from->nresult, results);
}

static void
clone_node(Cloner *clone, const Node *old, Region *to)
{
	Arena *arena = clone->to->arena;
	Value **inputs = NEW_N(arena, Value *, old->ninput);
	for (int i = 0; i < old->ninput; i++)
		inputs[i] = clone_use(clone, old->inputs[i]);
	const char **outputs = NEW_N(arena, const char *, old->noutput);
	for (int i = 0; i < old->noutput; i++)
		outputs[i] = old->outputs[i] ? old->outputs[i]->name : NULL;
	Loc loc = clone_loc(clone, &old->loc);
	const OpInfo *op = old->op; /* one of no row lives in the old graph, as its texts do */
	if (op->meaning != MEANING_UNKNOWN)
		op = op_row(clone->to->ops, op->code);
	Node *node = node_new_row(to, NULL, op, &loc, old->ninput, inputs, old->noutput, outputs);
	node->is_waiting = old->is_waiting;
	node->notes = old->notes;
	for (int i = 0; i < old->noutput; i++)
		if (old->outputs[i])
			copy_value(clone, old->outputs[i], node->outputs[i]);
	for (int i = 0; i < old->nattr; i++) {
		Attr attr = clone_attr(clone, &old->attrs[i]);
		node_add_attr(node, &attr);
	}
	for (int i = 0; i < old->origins.count; i++)
		vec_push(arena, &node->origins, arena_strdup(arena, old->origins.data[i]));
	for (int i = 0; i < old->nregion; i++) {
		Region *region = region_new(node, old->regions[i]->name);
		clone_region(clone, old->regions[i], region);
		clone_results(clone, old->regions[i], region);
	}
}

static void
clone_nodes(Cloner *clone, const Region *from, Region *to)
{
	int place = 0;
	bool is_part = clone->part && !from->owner;
	for (const Node *node = from->first; node; node = node->next)
		if (!is_part || clone->part->kept[place++])
			clone_node(clone, node, to);
}

/* Symbols first, in their order of creation, so that they keep their ids, and with their ranges,
 * before any dim is made. */
static void
clone_symbols(Cloner *clone)
{
	const ExprCtx *from = clone->from->ctx;
	for (int i = 0; i < from->symbol_list.count; i++) {
		const Symbol *old = from->symbol_list.data[i];
		symbol_set_range(symbol_get(clone->to->ctx, old->name), old->lo, old->hi);
	}
}

static void
clone_definitions(Cloner *clone)
{
	const Graph *from = clone->from;
	Graph *to = clone->to;
	for (int i = 0; i < from->symbols.count; i++) {
		const SymbolDef *old = &from->symbols.data[i];
		SymbolDef def = *old;
		def.symbol = symbol_get(to->ctx, old->symbol->name);
		def.value = clone_use(clone, old->value);
		def.expr = old->expr ? clone_expr(clone, old->expr) : NULL;
		def.region = old->region ? map_find_ptr(&clone->values, old->region) : NULL;
		symbol_def_add(to, &def);
	}
	for (int i = 0; i < from->assumptions.count; i++) {
		const Assumption *old = &from->assumptions.data[i];
		Assumption copy = {clone_dim(clone, old->a), clone_dim(clone, old->b),
		                   clone_loc(clone, &old->loc), clone_text(clone, old->what),
		                   map_find_ptr(&clone->values, old->region)};
		vec_push(to->arena, &to->assumptions, copy);
		dim_assume_equal(to->ctx, copy.a, copy.b);
	}
}

static void
clone_header(Cloner *clone)
{
	const Graph *from = clone->from;
	Graph *to = clone->to;
	to->ir_version = from->ir_version;
	to->is_open = from->is_open;
	to->model_version = from->model_version;
	to->producer = clone_text(clone, from->producer);
	to->producer_version = clone_text(clone, from->producer_version);
	to->domain = clone_text(clone, from->domain);
	to->doc = clone_text(clone, from->doc);
	for (int i = 0; i < from->opsets.count; i++) {
		OpsetImport opset = from->opsets.data[i];
		opset.domain = clone_text(clone, opset.domain);
		vec_push(to->arena, &to->opsets, opset);
	}
	for (int i = 0; i < from->data_files.count; i++)
		vec_push(to->arena, &to->data_files, clone_text(clone, from->data_files.data[i]));
	for (int i = 0; i < from->wishes.count; i++) {
		InputWish wish = from->wishes.data[i];
		wish.what = clone_text(clone, wish.what);
		vec_push(to->arena, &to->wishes, wish);
	}
	for (int i = 0; i < from->metadata.count; i++) {
		StringPair pair = {clone_text(clone, from->metadata.data[i].key),
		                   clone_text(clone, from->metadata.data[i].value)};
		vec_push(to->arena, &to->metadata, pair);
	}
}

static Cloner
cloner_new(const Graph *from, Graph *to, const GraphPart *part)
{
	Arena *arena = to->arena;
	Cloner clone = {from, to, {.arena = arena}, {.arena = arena}, {.arena = arena}, part};
	clone_header(&clone);
	clone_symbols(&clone);
	for (int i = 0; !part && i < from->constants.count; i++) { /* a part takes what it reads */
		const Value *old = from->constants.data[i];
		copy_value(&clone, old, graph_constant(to, old->name, old->constant));
	}
	return clone;
}

Graph *
graph_clone(Arena *arena, const Graph *graph)
{
	Graph *to = graph_new(arena, graph->name, graph->file);
	Cloner clone = cloner_new(graph, to, NULL);
	clone_region(&clone, graph->body, to->body);
	clone_results(&clone, graph->body, to->body);
	clone_definitions(&clone);
	to->next_name = graph->next_name;
	region_update_captures(to->body);
	return to;
}

/* Whether the part itself reads it. */
static bool
is_read_inside(const GraphPart *part, const Map *place, const Value *value)
{
	for (int i = 0; i < value->uses.count; i++) {
		const Node *user = value->uses.data[i].node;
		while (user && user->parent->owner)
			user = user->parent->owner;
		if (user && part->kept[(intptr_t)map_find_ptr(place, user) - 1])
			return true;
	}
	return false;
}

/* Of a part: what nobody inside reads. */
static void
part_results(Cloner *clone)
{
	VEC(Value *) results = {0};
	Map place = {.arena = clone->to->arena};
	intptr_t count = 0;
	for (const Node *node = clone->from->body->first; node; node = node->next)
		map_set_ptr(&place, node, (void *)++count);
	count = 0;
	for (const Node *node = clone->from->body->first; node; node = node->next)
		for (int i = clone->part->kept[count++] ? 0 : node->noutput; i < node->noutput; i++)
			if (node->outputs[i] && !is_read_inside(clone->part, &place, node->outputs[i]))
				vec_push(clone->to->arena, &results, clone_use(clone, node->outputs[i]));
	graph_set_outputs(clone->to, results.count, results.data);
}

Graph *
graph_part(Arena *arena, const Graph *graph, const GraphPart *part)
{
	Graph *to = graph_new(arena, graph->name, graph->file);
	Cloner clone = cloner_new(graph, to, part);
	clone_nodes(&clone, graph->body, to->body);
	part_results(&clone);
	to->next_name = graph->next_name;
	region_update_captures(to->body);
	return to;
}
