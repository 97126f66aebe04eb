/* Symbols and the places that define them: one each, among the values that are there.
 *
 * A rewrite may take away the value that a symbol is read from. What reads the same element is then
 * its place (symbols_move), and symbols that nothing speaks of any more go (symbols_prune).
 */

#include "graph/inner.h"

const Symbol *
dim_as_symbol(const Dim *dim)
{
	return dim->op == EX_symbol ? dim->symbol : NULL;
}

const SymbolDef *
symbol_def_find(const Graph *graph, const Symbol *symbol)
{
	intptr_t index = (intptr_t)map_find_ptr(graph->symbol_map, symbol);
	return index ? &graph->symbols.data[index - 1] : NULL;
}

static int
depth_of(const Region *region)
{
	return region->parent ? 1 + depth_of(region->parent) : 0;
}

Region *
symbol_home(const SymbolDef *def)
{
	return def->value ? def->value->region : def->region;
}

Region *
symbols_home(const Graph *graph, const Expr *e)
{
	Region *home = graph->body;
	for (ExprWalk walk = expr_walk(e); expr_step(&walk);) {
		bool is_symbol = walk.e->op == EX_symbol;
		const SymbolDef *def = is_symbol ? symbol_def_find(graph, walk.e->symbol) : NULL;
		if (def && depth_of(symbol_home(def)) > depth_of(home))
			home = symbol_home(def);
	}
	return home;
}

void
symbol_def_add(Graph *graph, const SymbolDef *def)
{
	must(!symbol_def_find(graph, def->symbol));
	vec_push(graph->arena, &graph->symbols, *def);
	if (def->expr && !def->region)
		graph->symbols.data[graph->symbols.count - 1].region = symbols_home(graph, def->expr);
	map_set_ptr(graph->symbol_map, def->symbol, (void *)(intptr_t)graph->symbols.count);
}

void
symbols_remove(Graph *graph, const bool *is_gone)
{
	int kept = 0;
	graph->symbol_map = NEW(graph->arena, Map);
	graph->symbol_map->arena = graph->arena;
	for (int i = 0; i < graph->symbols.count; i++) {
		if (is_gone[i])
			continue;
		const SymbolDef def = graph->symbols.data[i];
		graph->symbols.data[kept++] = def;
		map_set_ptr(graph->symbol_map, def.symbol, (void *)(intptr_t)kept);
	}
	graph->symbols.count = kept;
}

void
symbols_from_input(Graph *graph, Value *value)
{
	for (int i = 0; i < value->type.rank && value->type.kind == TYPE_TENSOR; i++) {
		const Symbol *symbol = dim_as_symbol(value->type.dims[i]);
		if (symbol && !symbol_def_find(graph, symbol))
			symbol_def_add(graph, &(SymbolDef){symbol, SYMBOL_DIM, value, i, NULL, NULL});
	}
}

bool
symbol_reads(const Graph *graph, const Value *value)
{
	for (int i = 0; i < graph->symbols.count; i++)
		if (graph->symbols.data[i].value == value)
			return true;
	return false;
}

void
symbols_move(Graph *graph, const Value *old, Value *new)
{
	for (int i = 0; i < graph->symbols.count; i++)
		if (graph->symbols.data[i].value == old)
			graph->symbols.data[i].value = new;
}

/* ---- which are spoken of --------------------------------------------------------------------- */

typedef struct Used {
	const Graph *graph;
	bool *is_used; /* by the index of the definition */
	bool is_new;   /* one was found since this was set to false */
} Used;

static void
note_symbols(Used *used, const Expr *e)
{
	for (ExprWalk walk = expr_walk(e); expr_step(&walk);) {
		bool is_symbol = walk.e->op == EX_symbol;
		const SymbolDef *def = is_symbol ? symbol_def_find(used->graph, walk.e->symbol) : NULL;
		if (!def || used->is_used[def - used->graph->symbols.data])
			continue;
		used->is_used[def - used->graph->symbols.data] = true;
		used->is_new = true;
	}
}

static void
note_value(Used *used, const Value *value)
{
	const Type *type = &value->type;
	for (int i = 0; type->kind == TYPE_TENSOR && i < type->rank; i++)
		note_symbols(used, type->dims[i]);
	for (int i = 0; value->known && i < value->known->count; i++)
		note_symbols(used, value->known->value[i]);
}

/* A node that nobody asks for speaks of nothing: the symbol that only its own result has would keep
 * it otherwise. */
static bool
is_asked_for(const Node *node)
{
	for (int i = 0; i < node->noutput; i++)
		if (node->outputs[i] && node->outputs[i]->uses.count > 0)
			return true;
	return node->op->effect == EFFECT_stateful;
}

static void
note_region(Used *used, const Region *region)
{
	for (int i = 0; i < region->nparam; i++)
		note_value(used, region->params[i]);
	for (const Node *node = region->first; node; node = node->next) {
		for (int i = 0; i < node->noutput && is_asked_for(node); i++)
			if (node->outputs[i])
				note_value(used, node->outputs[i]);
		for (int i = 0; i < node->nregion; i++)
			note_region(used, node->regions[i]);
	}
}

/* A slice reads its bounds, also where no dim speaks of them: x[n:n+1] of one element has one. */
static void
note_bounds(Used *used)
{
	for (int i = 0; i < used->graph->symbols.count; i++) {
		const SymbolDef *def = &used->graph->symbols.data[i];
		if (def->source != SYMBOL_ELEMENT || !symbol_clamps(def->symbol->lo))
			continue;
		for (int k = 0; k < def->value->uses.count; k++) {
			const Node *reader = def->value->uses.data[k].node;
			used->is_used[i] |= reader && reader->op->code == OP_Slice && is_asked_for(reader);
		}
	}
}

/* Definitions of symbols that are used speak of symbols themselves. */
static void
note_definitions(Used *used)
{
	do {
		used->is_new = false;
		for (int i = 0; i < used->graph->symbols.count; i++)
			if (used->is_used[i])
				note_symbols(used, used->graph->symbols.data[i].expr);
	} while (used->is_new);
}

/* What no row infers has its dims from here. */
static void
bind_value(Value *value, const Binding *sizes)
{
	Graph *graph = value->region->graph;
	Type *type = &value->type;
	const Dim **dims = NEW_N(graph->arena, const Dim *, type->rank < 0 ? 0 : type->rank);
	for (int d = 0; d < type->rank; d++)
		dims[d] = dim_bind(graph->ctx, type->dims[d], sizes);
	type->dims = dims;
}

static void
bind_region(const Region *region, const Binding *sizes)
{
	for (int i = 0; i < region->nparam; i++)
		bind_value(region->params[i], sizes);
	for (const Node *node = region->first; node; node = node->next) {
		for (int i = 0; i < node->noutput; i++)
			if (node->outputs[i])
				bind_value(node->outputs[i], sizes);
		for (int i = 0; i < node->nregion; i++)
			bind_region(node->regions[i], sizes);
	}
}

void
graph_bind(Graph *graph, const Binding *sizes)
{
	bind_region(graph->body, sizes);
	graph_infer(graph);
}

bool
symbols_prune(Graph *graph)
{
	bool *is_gone = NEW_N(graph->arena, bool, graph->symbols.count);
	Used used = {graph, is_gone, false};
	note_region(&used, graph->body);
	note_bounds(&used);
	for (int i = 0; i < graph->assumptions.count; i++) {
		note_symbols(&used, graph->assumptions.data[i].a);
		note_symbols(&used, graph->assumptions.data[i].b);
	}
	note_definitions(&used);
	int before = graph->symbols.count;
	for (int i = 0; i < before; i++)
		is_gone[i] = !used.is_used[i];
	symbols_remove(graph, is_gone);
	return graph->symbols.count < before;
}
