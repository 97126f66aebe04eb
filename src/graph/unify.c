/* Symbols that infer took to be equal become one.
 *
 *     add(%x: f32[N,4], %y: f32[M,4])    assumes N == M    =>    %y: f32[N,4]
 *
 * Only symbols that dims of graph inputs define are replaced, by an earlier one of these or by a
 * number; binding then checks the second input against the first, and says which node asked for it
 * (Graph.wishes), and which of both may be 1 all the same (ones.c). Everything else that is assumed
 * equal stays an assumption.
 */
#include "graph/inner.h"

typedef struct Unifier {
	Graph *graph;
	Map replaced; /* Symbol to Dim */
	Map settled;  /* Symbol that is replaced, or stands for another one */
	Map why;      /* Symbol replaced, to who asked for it */
	Map ones;     /* Symbol that may be 1, to itself */
} Unifier;

int
graph_input_symbol(const Graph *graph, const Dim *dim)
{
	const Symbol *symbol = dim_as_symbol(dim);
	const SymbolDef *def = symbol ? symbol_def_find(graph, symbol) : NULL;
	bool is_input =
		def && def->source == SYMBOL_DIM && !def->value->def && def->value->region == graph->body;
	return is_input ? (int)(def - graph->symbols.data) : -1;
}

/* What a dim has become so far. */
static const Dim *
resolve(const Unifier *unify, const Dim *dim)
{
	const Dim *next = dim;
	while (dim_as_symbol(dim) && (next = map_find_ptr(&unify->replaced, dim->symbol)))
		dim = next;
	return dim;
}

/* Whether a symbol may be this number. */
static bool
may_be(const Dim *symbol, int64_t number)
{
	return symbol->symbol->lo <= number && number <= symbol->symbol->hi;
}

static void
unify_pair(Unifier *unify, const Assumption *assumption)
{
	const Dim *a = resolve(unify, assumption->a), *b = resolve(unify, assumption->b);
	int ia = graph_input_symbol(unify->graph, a), ib = graph_input_symbol(unify->graph, b);
	int64_t number;
	const Dim *gone = NULL, *kept = NULL;
	if (a == b || (dim_is(a, 1) && a != assumption->a) || (dim_is(b, 1) && b != assumption->b))
		return; /* what meets a 1 in a broadcast need not be 1: inference says so next time */
	if (ia >= 0 && ib >= 0) {
		gone = ia > ib ? a : b;
		kept = ia > ib ? b : a;
	} else if (ia >= 0 && dim_is_const(b, &number) && may_be(a, number)) {
		gone = a;
		kept = b;
	} else if (ib >= 0 && dim_is_const(a, &number) && may_be(b, number)) {
		gone = b;
		kept = a;
	}
	if (!gone)
		return;
	Arena *arena = unify->graph->arena;
	const char *place = assumption_place(arena, assumption);
	map_set_ptr(&unify->replaced, gone->symbol, (void *)(uintptr_t)kept);
	map_set_ptr(&unify->why, gone->symbol, arena_printf(arena, "%s%s", place, assumption->what));
	map_set_ptr(&unify->settled, gone->symbol, unify);
	if (dim_as_symbol(kept))
		map_set_ptr(&unify->settled, kept->symbol, unify);
}

static const Expr *
replace_symbol(ExprCtx *ctx, const Expr *e, void *arg)
{
	const Unifier *unify = arg;
	(void)ctx;
	return e->op == EX_symbol ? resolve(unify, e) : e;
}

static const Dim *
replace_dim(Unifier *unify, const Dim *dim)
{
	ExprCtx *ctx = unify->graph->ctx;
	return dim_from_expr(ctx, expr_rewrite(ctx, dim, replace_symbol, unify));
}

/* Who asked for what a dim of an input has become: the last one counts. */
static void
note_why(Unifier *unify, int input, int axis, const Dim *old)
{
	Graph *graph = unify->graph;
	const Symbol *symbol = dim_as_symbol(old);
	InputWish wish = {input, axis, "", symbol && map_find_ptr(&unify->ones, symbol)};
	for (ExprWalk walk = expr_walk(old); expr_step(&walk);)
		if (walk.e->op == EX_symbol && map_find_ptr(&unify->why, walk.e->symbol))
			wish.what = map_find_ptr(&unify->why, walk.e->symbol);
	for (int i = 0; i < graph->wishes.count; i++)
		if (graph->wishes.data[i].input == input && graph->wishes.data[i].axis == axis) {
			graph->wishes.data[i] = wish;
			return;
		}
	vec_push(graph->arena, &graph->wishes, wish);
}

/* What now stands for more symbols than those that were looked at together. */
static void
forget_ones(Unifier *unify)
{
	Graph *graph = unify->graph;
	for (int i = 0; i < graph->wishes.count; i++) {
		InputWish *wish = &graph->wishes.data[i];
		const Symbol *symbol =
			dim_as_symbol(graph->body->params[wish->input]->type.dims[wish->axis]);
		wish->may_be_one &= !symbol || !map_find_ptr(&unify->settled, symbol);
	}
}

static void
replace_inputs(Unifier *unify)
{
	const Region *body = unify->graph->body;
	for (int i = 0; i < body->nparam; i++) {
		Type *type = &body->params[i]->type;
		if (type->kind != TYPE_TENSOR || type->rank < 1)
			continue;
		const Dim **dims = NEW_N(unify->graph->arena, const Dim *, type->rank);
		for (int d = 0; d < type->rank; d++) {
			const Symbol *symbol = dim_as_symbol(type->dims[d]);
			dims[d] = replace_dim(unify, type->dims[d]);
			if (dims[d] != type->dims[d] || (symbol && map_find_ptr(&unify->ones, symbol)))
				note_why(unify, i, d, type->dims[d]);
		}
		type->dims = dims;
	}
}

/* Whether a definition is of a symbol that is gone, or needs one: inference makes it anew. */
static bool
is_stale(const Unifier *unify, const SymbolDef *def)
{
	bool is_found = map_find_ptr(&unify->replaced, def->symbol) != NULL;
	for (ExprWalk walk = expr_walk(def->expr); expr_step(&walk);)
		is_found |= walk.e->op == EX_symbol && map_find_ptr(&unify->replaced, walk.e->symbol);
	return is_found;
}

bool
graph_unify_symbols(Graph *graph)
{
	Arena *arena = graph->arena;
	Unifier unify = {.graph = graph,
	                 .replaced = {.arena = arena},
	                 .settled = {.arena = arena},
	                 .why = {.arena = arena},
	                 .ones = {.arena = arena}};
	for (int i = 0; i < graph->assumptions.count; i++) {
		const Assumption *assumption = &graph->assumptions.data[i];
		if (assumption->region == graph->body)
			unify_pair(&unify, assumption);
	}
	if (unify.replaced.count == 0)
		return false;
	graph_find_ones(graph, &unify.settled, &unify.ones);
	forget_ones(&unify);
	replace_inputs(&unify);
	bool *is_gone = NEW_N(graph->arena, bool, graph->symbols.count);
	for (int i = 0; i < graph->symbols.count; i++)
		is_gone[i] = is_stale(&unify, &graph->symbols.data[i]);
	symbols_remove(graph, is_gone);
	return true;
}
