/* Regions with symbols of their own: what a branch of an If, or the body of a loop, assumes of dims
 * from outside holds inside of it, and is checked when it is entered.
 *
 *     If(%c) then_branch {              x: f32[N], y: f32[M]
 *       %s = Add(%x, %y)                assumes N == M
 *  => If(%c) then_branch {
 *       symbol N_1 = N
 *       symbol M_2 = M
 *       assume N_1 == M_2
 *       %x.1: f32[N_1] = Enter(%x)
 *       %y.1: f32[M_2] = Enter(%y)
 *       %s: f32[N_1]   = Add(%x.1, %y.1)
 *
 * Proofs use what is assumed wherever they are asked (dim_assume_equal). Nothing outside speaks of
 * the copies, and nothing inside speaks of both a copy and its original: from N == N_1 == M_2 == M
 * a proof about values outside would follow.
 */
#include "graph/inner.h"

typedef struct Renaming {
	const Graph *graph;
	const Region *region;
} Renaming;

static bool
is_copy(const SymbolDef *def, const Region *region)
{
	return def->region == region && def->expr && def->expr->op == EX_symbol;
}

static const Expr *
copy_of(ExprCtx *ctx, const Expr *e, void *arg)
{
	const Renaming *to = arg;
	for (int i = 0; e->op == EX_symbol && i < to->graph->symbols.count; i++) {
		const SymbolDef *def = &to->graph->symbols.data[i];
		if (is_copy(def, to->region) && def->expr == e)
			return expr_symbol(ctx, def->symbol);
	}
	return e;
}

static const Expr *
original_of(ExprCtx *ctx, const Expr *e, void *arg)
{
	const Renaming *from = arg;
	const SymbolDef *def = e->op == EX_symbol ? symbol_def_find(from->graph, e->symbol) : NULL;
	(void)ctx;
	return def && is_copy(def, from->region) ? def->expr : e;
}

static const Dim *
rename_dim(Graph *graph, const Region *region, const Dim *dim, ExprRewrite replace)
{
	Renaming renaming = {graph, region};
	const Expr *e = dim ? expr_rewrite(graph->ctx, dim, replace, &renaming) : NULL;
	const Dim *made = e && e != dim ? dim_from_expr(graph->ctx, e) : NULL;
	return made ? made : e; /* a known float is no dim */
}

const Dim *
region_leave_dim(Region *region, const Dim *dim)
{
	return rename_dim(region->graph, region, dim, original_of);
}

static const Dim *const *
enter_dims(Region *region, int count, const Dim *const *dims)
{
	const Dim **copy = NEW_N(region->graph->arena, const Dim *, count);
	for (int i = 0; i < count; i++)
		copy[i] = rename_dim(region->graph, region, dims[i], copy_of);
	return copy;
}

Type
region_enter_type(Region *region, const Type *type)
{
	Type made = *type;
	if (type->kind == TYPE_TENSOR && type->rank > 0)
		made.dims = enter_dims(region, type->rank, type->dims);
	return made;
}

void
infer_Enter(Infer *infer)
{
	Region *region = infer->node->parent;
	const Known *known = infer_known(infer, 0);
	Type type = region_enter_type(region, infer_input(infer, 0));
	infer_set_type(infer, 0, &type);
	if (known)
		infer_set_known(infer, 0, known->count, enter_dims(region, known->count, known->value));
}

/* ---- making copies --------------------------------------------------------------------------- */

/* Whether a value's dims or known integers hold the symbol, or its elements define it. */
static bool
speaks_of(const Graph *graph, const Value *value, const Expr *symbol)
{
	const Type *type = &value->type;
	bool is_found = symbol_def_find(graph, symbol->symbol)->value == value;
	for (int i = 0; type->kind == TYPE_TENSOR && i < type->rank; i++)
		is_found |= expr_holds(type->dims[i], symbol);
	for (int i = 0; value->known && i < value->known->count; i++)
		is_found |= expr_holds(value->known->value[i], symbol);
	return is_found;
}

/* Every use of a value inside a region becomes one of its Enter; false: there is none but that. */
static bool
enter_value(Region *region, Value *value)
{
	Graph *graph = region->graph;
	VEC(Use) inside = {0};
	Node *enter = NULL;
	for (int i = 0; i < value->uses.count; i++) {
		const Use *use = &value->uses.data[i];
		const Region *at = use->node ? use->node->parent : use->region;
		if (use->node && at == region && use->node->op->code == OP_Enter)
			enter = use->node;
		else if (region_encloses(region, at))
			vec_push(graph->arena, &inside, *use);
	}
	if (inside.count == 0)
		return false;
	const char *name = graph_fresh_name(graph, value->name);
	if (!enter)
		enter = node_new(region, region->first, "Enter", NULL, 1, &value, 1, &name);
	for (int i = 0; i < inside.count; i++) {
		const Use *use = &inside.data[i];
		if (use->node)
			node_set_input(use->node, use->index, enter->outputs[0]);
		else
			region_set_result(use->region, use->index, enter->outputs[0]);
	}
	return true;
}

/* Give a region its own copy of a symbol from outside; false: it speaks of no other already. */
static bool
own_symbol(Region *region, const Expr *symbol)
{
	Graph *graph = region->graph;
	Renaming renaming = {graph, region};
	bool is_new = false;
	if (copy_of(graph->ctx, symbol, &renaming) == symbol) {
		const char *prefix = arena_printf(graph->arena, "%s_", symbol->symbol->name);
		const Symbol *copy = symbol_fresh(graph->ctx, prefix);
		symbol_set_range(copy, symbol->symbol->lo, symbol->symbol->hi);
		symbol_def_add(graph, &(SymbolDef){copy, SYMBOL_EXPR, NULL, 0, symbol, region});
		is_new = true;
	}
	for (int i = region->captures.count - 1; i >= 0; i--) {
		Value *value = region->captures.data[i];
		if (speaks_of(graph, value, symbol))
			is_new |= enter_value(region, value);
	}
	return is_new;
}

bool
graph_enter_regions(Graph *graph)
{
	bool is_any = false;
	for (int i = 0; i < graph->assumptions.count; i++) {
		const Assumption *assumption = &graph->assumptions.data[i];
		Region *region = assumption->region;
		bool is_new = false;
		ExprWalk walk = expr_walk(assumption->a);
		for (expr_walk_add(&walk, assumption->b); expr_step(&walk);) {
			const SymbolDef *def =
				walk.e->op == EX_symbol ? symbol_def_find(graph, walk.e->symbol) : NULL;
			const Region *home = def ? symbol_home(def) : region;
			if (home != region && region_encloses(home, region))
				is_new |= own_symbol(region, walk.e);
		}
		if (is_new)
			region_update_captures(region);
		is_any |= is_new;
	}
	return is_any;
}

/* ---- in messages ----------------------------------------------------------------------------- */

static void
place_print(Buf *buf, const Loc *loc)
{
	if (loc->node && loc->node[0])
		buf_printf(buf, "node \"%s\" ", loc->node);
	if (loc->op)
		buf_printf(buf, "(%s)", loc->op);
}

const char *
assumption_place(Arena *arena, const Assumption *assumption)
{
	Buf buf = {.arena = arena};
	place_print(&buf, &assumption->loc);
	for (const Region *at = assumption->region; at->owner; at = at->parent) {
		buf_printf(&buf, " in %s of ", at->name);
		place_print(&buf, &at->owner->loc);
	}
	if (buf.size)
		buf_puts(&buf, ": ");
	return buf_text(&buf);
}
