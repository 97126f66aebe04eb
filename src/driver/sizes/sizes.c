/* Sizes that are typical, and what a model allows of them. */
#include "driver/sizes/sizes.h"

#include <limits.h>
#include <string.h>

#include "eval/eval.h"
#include "expr/scalar/ctx.h"

/* ---- what a model allows ---- */

typedef struct Search {
	Arena *arena;
	const Graph *graph; /* NULL: every symbol is free */
	Eval *eval;         /* of the graph: gives the symbols that follow from others */
	SizeTable own;      /* without a graph */
	const Binding *fixed;
	Demands demands; /* the model's assumptions, and what was learnt */
	const Demand *demand;
	int most;                    /* demands that may be broken once this one holds */
	VEC(const Symbol *) symbols; /* free ones of the demand */
} Search;

static bool
is_fixed(const Search *search, const Symbol *symbol)
{
	const Binding *fixed = search->fixed;
	return fixed && symbol->id < fixed->count && fixed->is_bound[symbol->id];
}

static Binding
sizes_now(const Search *search)
{
	const SizeTable *own = &search->own;
	return search->eval ? eval_binding(search->eval)
	                    : (Binding){own->count, own->value, own->is_bound};
}

static int64_t
size_of(const Search *search, const Symbol *symbol)
{
	return sizes_now(search).value[symbol->id];
}

static void
give(const Search *search, const Symbol *symbol, int64_t size)
{
	if (search->eval)
		eval_give_symbol(search->eval, symbol, size);
	else
		size_table_set(&search->own, symbol, size);
}

static bool
holds(const Search *search, const Demand *demand)
{
	Binding now = sizes_now(search);
	return demand_holds(demand, &now);
}

/* Demands that do not hold, counted until there are more than `most`. */
static int
broken_at(const Demands *demands, const Binding *sizes, int most)
{
	int broken = 0;
	for (int i = 0; i < demands->count && broken <= most; i++)
		broken += !demand_holds(&demands->data[i], sizes);
	return broken;
}

static int
count_broken(const Search *search, int most)
{
	Binding now = sizes_now(search);
	return broken_at(&search->demands, &now, most);
}

/* Whether the demand holds, and no more than `most` others do not. */
static bool
is_mended(const Search *search)
{
	return holds(search, search->demand) && count_broken(search, search->most) <= search->most;
}

static void
add_symbol(Search *search, const Symbol *symbol)
{
	for (int i = 0; i < search->symbols.count; i++)
		if (search->symbols.data[i] == symbol)
			return;
	vec_push(search->arena, &search->symbols, symbol);
}

bool
symbol_is_input(const SymbolDef *def)
{
	return def->source == SYMBOL_DIM && !def->value->def && !def->value->region->parent;
}

/* The free symbols that an expression comes from: of a graph the inputs'. */
static void
collect(Search *search, const Expr *e)
{
	const Graph *graph = search->graph;
	for (ExprWalk walk = expr_walk(e); expr_step(&walk);) {
		const Symbol *symbol = walk.e->op == EX_symbol ? walk.e->symbol : NULL;
		const SymbolDef *def = symbol && graph ? symbol_def_find(graph, symbol) : NULL;
		if (!symbol || is_fixed(search, symbol))
			continue;
		if (def && def->source == SYMBOL_EXPR)
			expr_walk_add(&walk, def->expr);
		else if (!graph || (def && symbol_is_input(def)))
			add_symbol(search, symbol);
	}
}

/* The next size to try from `start`: upwards to LARGEST, then downwards; -1: there is none. */
static int64_t
next_size(int64_t start, int64_t size)
{
	enum { LARGEST = 4096 };
	if (size >= start && size < LARGEST)
		return size + 1;
	if (size >= start)
		return start - 1;
	return size > 1 ? size - 1 : -1;
}

static int64_t
within(const Symbol *symbol, int64_t size)
{
	return size < symbol->lo ? symbol->lo : size > symbol->hi ? symbol->hi : size;
}

/* Other sizes for the demand's symbols that are `start` now, or only for `one` of them; or, where
 * `cuts`, all that are larger cut off at the same size. */
static bool
mend_symbols(const Search *search, int64_t start, const Symbol *one, bool cuts)
{
	int count = search->symbols.count;
	int64_t *before = NEW_N(search->arena, int64_t, count + 1);
	for (int i = 0; i < count; i++)
		before[i] = size_of(search, search->symbols.data[i]);
	for (int64_t size = start; size > 0; size = cuts ? size - 1 : next_size(start, size)) {
		for (int i = 0; i < count; i++) {
			const Symbol *symbol = search->symbols.data[i];
			bool moves = cuts ? before[i] > size : one ? symbol == one : before[i] == start;
			give(search, symbol, moves ? within(symbol, size) : before[i]);
		}
		if (is_mended(search))
			return true;
	}
	for (int i = 0; i < count; i++)
		give(search, search->symbols.data[i], before[i]);
	return false;
}

/* Other sizes for the symbols of a broken demand, so that it holds: for all that are equal (the
 * sides of an image), for one, or for all that may not be as large. */
static bool
mend(Search *search, const Demand *demand)
{
	int64_t most = 0;
	search->demand = demand;
	search->symbols.count = 0;
	collect(search, demand->a);
	collect(search, demand->b);
	for (int i = 0; i < search->symbols.count; i++) {
		const Symbol *symbol = search->symbols.data[i];
		int64_t size = size_of(search, symbol);
		most = size > most ? size : most;
		if (mend_symbols(search, size, NULL, false) || mend_symbols(search, size, symbol, false))
			return true;
	}
	return !demand->is_equal && mend_symbols(search, most, NULL, true);
}

/* As far as one demand at a time can give it: by sizes at which fewer are broken, where there are
 * some, else whatever they break. */
static void
mend_all(Search *search)
{
	enum { ROUNDS = 4 };
	bool is_better = true;
	for (int round = 0; round < ROUNDS && is_better; round++) {
		is_better = false;
		for (int i = 0; i < search->demands.count; i++) {
			const Demand *demand = &search->demands.data[i];
			if (holds(search, demand))
				continue;
			search->most = count_broken(search, INT_MAX - 1) - 1;
			bool is_done = mend(search, demand);
			search->most = search->demands.count;
			is_better |= is_done || mend(search, demand);
		}
	}
}

/* Start with these sizes of inputs, and within the symbols' ranges. */
static Search
search_from(Arena *arena, const Graph *graph, const Region *region, const Demands *learnt,
            const Binding *wanted, const Binding *fixed)
{
	Search search = {
		.arena = arena, .graph = graph, .eval = eval_new(arena, graph, EVAL_exact), .fixed = fixed};
	search.demands = demands_in(arena, graph, region, learnt);
	for (int i = 0; i < graph->symbols.count; i++) {
		const SymbolDef *def = &graph->symbols.data[i];
		const Symbol *symbol = def->symbol;
		bool is_known = is_fixed(&search, symbol);
		if (!symbol_is_input(def) && !is_known)
			continue;
		const Binding *from = is_known ? fixed : wanted;
		int64_t size = from->value[symbol->id];
		give(&search, symbol, is_known ? size : within(symbol, size));
	}
	return search;
}

static const Binding *
result_of(Arena *arena, const Search *search)
{
	Binding found = sizes_now(search);
	return arena_memdup(arena, &found, sizeof found);
}

const Binding *
sizes_assumed(Arena *arena, ExprCtx *ctx, int64_t size)
{
	int count = ctx->symbol_list.count;
	Search search = {
		.arena = arena,
		.own = {count, NEW_N(arena, int64_t, count + 1), NEW_N(arena, bool, count + 1)}};
	for (int i = 0; i < count; i++)
		give(&search, ctx->symbol_list.data[i], within(ctx->symbol_list.data[i], size));
	const Dim *zero = dim_const(ctx, 0);
	for (int i = 0; i < ctx->zeros.count; i++)
		vec_push(arena, &search.demands,
		         (Demand){.a = ctx->zeros.data[i], .b = zero, .is_equal = true});
	mend_all(&search);
	return count_broken(&search, 0) ? NULL : result_of(arena, &search);
}

/* ---- sizes of which something is left ---- */

enum {
	ENOUGH = 16,       /* of whatever a model makes of a length (a second of sound has 50 frames) */
	LONGEST = 1 << 16, /* what a length may grow to for that */
};

typedef VEC(const Dim *) DimList;

/* The extents of all values that are no plain numbers. */
static DimList
extents_of(Arena *arena, const Graph *graph)
{
	DimList extents = {0};
	for (const Node *node = graph->body->first; node; node = node->next)
		for (int o = 0; o < node->noutput; o++) {
			const Type *type = node->outputs[o] ? &node->outputs[o]->type : NULL;
			for (int d = 0; type && d < type->rank; d++) {
				int64_t number;
				bool is_seen = extents.count && extents.data[extents.count - 1] == type->dims[d];
				if (!is_seen && !dim_is_const(type->dims[d], &number))
					vec_push(arena, &extents, type->dims[d]);
			}
		}
	return extents;
}

/* Whether a symbol of size `other` would raise an extent that is below `least`. */
static bool
wants(const Search *search, const DimList *extents, const Symbol *symbol, int64_t other,
      int64_t least)
{
	int64_t size = size_of(search, symbol), now, then;
	bool wants = false;
	for (int i = 0; i < extents->count && !wants; i++) {
		Binding binding = eval_binding(search->eval);
		if (!dim_eval(extents->data[i], &binding, &now) || now >= least)
			continue;
		eval_give_symbol(search->eval, symbol, other);
		binding = eval_binding(search->eval);
		wants = dim_eval(extents->data[i], &binding, &then) && then > now;
		eval_give_symbol(search->eval, symbol, size);
	}
	return wants;
}

static void
take(const Search *search, const Symbol *symbol, int64_t *size, int64_t other)
{
	*size = other;
	eval_give_symbol(search->eval, symbol, other);
}

/* Sizes are doubled until something is left of them wherever the model shortens them, those that
 * are `length` until ENOUGH is (sound, which a first convolution takes 320 samples at a time).
 * Those of windows are halved until these fit. */
static void
fit(Search *search, Arena *arena, int64_t length)
{
	const Graph *graph = search->graph;
	DimList extents = extents_of(arena, graph);
	for (int i = 0; i < graph->symbols.count; i++) {
		const SymbolDef *def = &graph->symbols.data[i];
		const Symbol *symbol = def->symbol;
		if (!symbol_is_input(def) || is_fixed(search, symbol))
			continue;
		int64_t size = size_of(search, symbol), most = symbol->hi < LONGEST ? symbol->hi : LONGEST;
		int64_t least = size == length ? ENOUGH : 1;
		while (size > 0 && 2 * size <= most && wants(search, &extents, symbol, most, least))
			take(search, symbol, &size, 2 * size);
		while (size / 2 > symbol->lo && wants(search, &extents, symbol, 1, 0))
			take(search, symbol, &size, size / 2);
	}
}

/* What must be at most one size is that size: a mask is as long as what it masks. */
static void
tighten(const Search *search)
{
	for (int i = 0; i < search->demands.count; i++) {
		const Demand *demand = &search->demands.data[i];
		const Symbol *symbol = demand->b->op == EX_symbol ? demand->b->symbol : NULL;
		const SymbolDef *def = symbol ? symbol_def_find(search->graph, symbol) : NULL;
		Binding now = eval_binding(search->eval);
		int64_t least, size;
		if (demand->is_equal || !def || !symbol_is_input(def) || is_fixed(search, symbol) ||
		    !dim_eval(demand->a, &now, &least) || least < 1)
			continue;
		size = size_of(search, symbol);
		give(search, symbol, least);
		if (count_broken(search, 0))
			give(search, symbol, size);
	}
}

static void
settle(Search *search, int64_t length)
{
	mend_all(search);
	fit(search, search->arena, length);
	mend_all(search);
	tighten(search);
}

const Binding *
sizes_in(Arena *arena, const Graph *graph, const Region *region, const Demands *learnt,
         const Binding *wanted, const Binding *fixed)
{
	Search search = search_from(arena, graph, region, learnt, wanted, fixed);
	settle(&search, 0);
	return result_of(arena, &search);
}

/* Whether the model allows a run of the region at these sizes. */
static bool
sizes_suit(Arena *arena, const Graph *graph, const Region *region, const Demands *learnt,
           const Binding *sizes)
{
	Demands all = demands_in(arena, graph, region, learnt);
	return broken_at(&all, sizes, 0) == 0;
}

/* Whether something is asked in a region inside of it, which does not run without it. */
static bool
holds_others(const Demands *demands, const Region *region)
{
	for (int i = 0; i < demands->count; i++)
		for (const Region *r = demands->data[i].region->parent; r; r = r->parent)
			if (r == region)
				return true;
	return false;
}

static const Binding *
least_in(Arena *arena, const Graph *graph, const Region *region, const Demands *learnt,
         const Binding *fixed)
{
	SizeTable ones = size_table_new(arena, graph);
	for (int i = 0; i < ones.count; i++)
		ones.value[i] = 1;
	return sizes_in(arena, graph, region, learnt, size_table_binding(arena, &ones), fixed);
}

const Binding *
sizes_least(Arena *arena, const Graph *graph, const Learnt *learnt, const Binding *fixed)
{
	return least_in(arena, graph, learnt->runs[0].region, &learnt->demands, fixed);
}

int
sizes_regions(Arena *arena, const Graph *graph, const Demands *learnt, const Binding *fixed,
              const Region *regions[MOST_RUNS])
{
	const Binding *sizes[MOST_RUNS];
	Demands all = demands_in(arena, graph, NULL, learnt);
	int count = 0;
	regions[0] = NULL;
	if (sizes_suit(arena, graph, NULL, learnt, least_in(arena, graph, NULL, learnt, fixed)))
		return 1;
	for (int i = 0; i < all.count && count < MOST_RUNS; i++) {
		const Region *region = all.data[i].region;
		bool is_kept = holds_others(&all, region);
		for (int k = 0; k < count; k++)
			is_kept |= regions[k] == region || sizes_suit(arena, graph, region, learnt, sizes[k]);
		if (is_kept)
			continue;
		regions[count] = region;
		sizes[count++] = least_in(arena, graph, region, learnt, fixed);
	}
	return count;
}

/* ---- typical sizes ---- */

enum {
	BATCH = 1,
	SIDE = 224,       /* of an image */
	VOLUME_SIDE = 64, /* of a volume, or a film */
	LENGTH = 128,     /* of a sequence */
};

/* Different symbols among the dims behind the first. */
static int
inner_symbols(const Type *type)
{
	int count = 0;
	for (int d = 1; d < type->rank; d++) {
		bool is_new = type->dims[d]->op == EX_symbol;
		for (int k = 1; k < d; k++)
			is_new = is_new && type->dims[k] != type->dims[d];
		count += is_new;
	}
	return count;
}

/* [layers, batch, channels]: what a recurrent network keeps between its runs. */
static bool
is_state_batch(const Type *type, int d)
{
	return type->rank == 3 && d == 1 && type->dims[0]->op != EX_symbol &&
	       type->dims[2]->op != EX_symbol;
}

/* [length, batch, channels], by a state that has the same batch. */
static bool
is_time_major(const Graph *graph, const Type *type)
{
	bool found = false;
	for (int i = 0; i < graph->body->nparam && !found && type->rank == 3; i++) {
		const Type *state = &graph->body->params[i]->type;
		found = type->dims[0]->op == EX_symbol && type->dims[1]->op == EX_symbol &&
		        type->dims[0] != type->dims[1] && is_state_batch(state, 1) &&
		        state->dims[1] == type->dims[1];
	}
	return found;
}

/* What dim `d` of an input says about its symbol: [batch, length, …], [batch, …, side, side, …]
 * with two of them, a volume with more; a single dim is a length. */
static int64_t
typical_dim(const Graph *graph, const Type *type, int d)
{
	bool is_image = (type->rank >= 4 || (type->rank == 3 && type->dims[0]->op != EX_symbol)) &&
	                (dtype_is_float(type->dtype) || type->dtype == DT_U8);
	int inner = inner_symbols(type);
	if (is_time_major(graph, type))
		return d == 1 ? BATCH : LENGTH;
	if (d == 0 && type->rank > 1)
		return BATCH;
	return !is_image || inner < 2 ? LENGTH : inner == 2 ? SIDE : VOLUME_SIDE;
}

/* In which turn a dim is asked: one behind the first says most of its symbol, a single one least.
 * One that may be the batch of a state is what the first dim of another input says. */
static int
turn_of(const Type *type, int d)
{
	return is_state_batch(type, d) ? 2 : d > 0 ? 0 : type->rank > 1 ? 1 : 3;
}

/* What inputs' dims say of their symbols, the first that says something. */
static void
guess(const Graph *graph, const SizeTable *wanted, int turn)
{
	for (int i = 0; i < graph->body->nparam; i++) {
		const Type *type = &graph->body->params[i]->type;
		for (int d = 0; d < type->rank; d++) {
			const Symbol *symbol = type->dims[d]->op == EX_symbol ? type->dims[d]->symbol : NULL;
			if (symbol && turn_of(type, d) == turn && !wanted->is_bound[symbol->id])
				size_table_set(wanted, symbol, typical_dim(graph, type, d));
		}
	}
}

/* A symbol that data decides has the size that the model assumes it to have. */
static void
follow(const Search *search, const Dim *dim, const Dim *other)
{
	int64_t size;
	Binding now = eval_binding(search->eval);
	if (dim->op == EX_max && expr_is_zero(dim->arg[1]))
		dim = dim->arg[0];
	const SymbolDef *def =
		dim->op == EX_symbol ? symbol_def_find(search->graph, dim->symbol) : NULL;
	if (def && def->source != SYMBOL_EXPR && !now.is_bound[dim->symbol->id] &&
	    dim_eval(other, &now, &size))
		eval_give_symbol(search->eval, dim->symbol, size);
}

/* What data decides and nothing says: an index is 0, a number of things as long as a sequence. */
static void
guess_data(const Search *search)
{
	enum { ROUNDS = 4 };
	const Graph *graph = search->graph;
	for (int round = 0; round < ROUNDS; round++)
		for (int i = 0; i < search->demands.count; i++) {
			const Demand *demand = &search->demands.data[i];
			if (!demand->is_equal)
				continue;
			follow(search, demand->a, demand->b);
			follow(search, demand->b, demand->a);
		}
	for (int i = 0; i < graph->symbols.count; i++) {
		const SymbolDef *def = &graph->symbols.data[i];
		if (def->source != SYMBOL_EXPR && !sizes_now(search).is_bound[def->symbol->id])
			eval_give_symbol(search->eval, def->symbol, def->symbol->lo < 0 ? 0 : LENGTH);
	}
}

const Binding *
sizes_typical(const Options *options, Arena *arena, const Graph *graph, const Learnt *learnt)
{
	SizeTable wanted = size_table_new(arena, graph);
	for (int turn = 0; turn < 4; turn++)
		guess(graph, &wanted, turn);
	Search search =
		search_from(arena, graph, learnt->runs[0].region, &learnt->demands,
	                size_table_binding(arena, &wanted), sizes_asked(options, arena, graph));
	settle(&search, LENGTH);
	guess_data(&search);
	return result_of(arena, &search);
}
