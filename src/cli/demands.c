/* demands_learn: what indices may be, from what they are at a few sizes.
 *
 *     %pos = Range(past, past + seq)   %e = Gather(%table, %pos)     64 rows
 *
 *     past 2, seq 3:  room 64 - 1 - 4 = 59       past 3: 58       seq 4: 58
 *     room = 64 - past - seq  >=  0              all one more: 57, as that says
 *
 * The *room* of a check is what is left of its bound: negative where it fails. Nodes from which no
 * index comes are not evaluated, nor those that are dear: their checks say nothing here, and the
 * sizes show when the bundle runs.
 */
#include "cli/demands.h"

#include <string.h>

#include "cli/inputs.h"
#include "cli/sizes.h"
#include "eval/eval.h"
#include "expr/scalar/ctx.h"
#include "graph/meaning.h"

enum {
	ROUNDS = 4,    /* what one demand hides another may ask: a node behind a check that fails */
	SYMBOLS = 16,  /* a model with more is not asked */
	ANYWHERE = -1, /* of an index of the operand: all elements along this dim */
};

/* Work of one node at small sizes, and of all nodes in all rounds. */
static const double NODE_WORK = 1e6, ALL_WORK = 2e8;

/* An index that a node checks, an element of its operand; or two dims that must be equal, of which
 * data says one. */
typedef struct Check {
	const Node *node;
	const Value *index;            /* NULL: an assumption */
	int64_t place[ARRAY_MAX_RANK]; /* which elements of it */
	const Dim *a, *b;              /* of an assumption; else `b` is the bound */
	bool wraps;                    /* negative indices count from the end */
	Loc loc;
} Check;

typedef struct Room {
	bool is_known;
	int64_t left; /* of an assumption: a - b, which must be 0 */
} Room;

typedef struct Learner {
	Arena *arena, *scratch; /* `scratch` goes at the end */
	const Graph *graph;
	Eval *eval;
	InputRanges ranges;
	VEC(const Node *) nodes; /* that are evaluated, in order */
	VEC(Check) checks;
	VEC(const Symbol *) symbols; /* free ones: dims of inputs */
	Map needed;                  /* Value: an index comes from it */
	const Node *node;            /* at work */
	const Program *program;
	double work;
	Demands found;
} Learner;

/* ---- what is checked ---- */

static void
make_program(void *arg)
{
	Learner *l = arg;
	l->program = node_meaning(l->graph, l->node);
}

static const Program *
program_of(Learner *l, const Node *node)
{
	Failure failure;
	l->node = node;
	return node_has_meaning(node) && try_run(make_program, l, &failure) ? l->program : NULL;
}

static bool
is_index_type(const Value *value)
{
	return value && value->type.kind == TYPE_TENSOR && !value_fixed(value) &&
	       dtype_is_integer(value->type.dtype) && value->type.rank >= 0;
}

static void
add_check(Learner *l, const Node *node, Value *const *inputs, const Expr *at)
{
	const Expr *read = at->arg[0];
	Check check = {.node = node, .b = at->arg[1], .wraps = at->flags & AT_WRAP, .loc = node->loc};
	while (read->op == EX_cast)
		read = read->arg[0];
	if (!(at->flags & AT_CHECK) || read->op != EX_read || read->argc > ARRAY_MAX_RANK)
		return;
	for (int k = 0; k < l->program->ninput; k++)
		if (l->program->inputs[k] == read->tensor)
			check.index = inputs[k];
	for (int d = 0; d < read->argc; d++)
		check.place[d] = read->arg[d]->op == EX_const ? read->arg[d]->value.i64 : ANYWHERE;
	if (check.index && is_index_type(check.index))
		vec_push(l->scratch, &l->checks, check);
}

static void
find_checks(Learner *l, const Node *node)
{
	bool has_index = false;
	for (int i = 0; i < node->ninput; i++)
		has_index = has_index || is_index_type(node->inputs[i]);
	const Program *program = has_index && node->nregion == 0 ? program_of(l, node) : NULL;
	Value **inputs = NEW_N(l->scratch, Value *, node->ninput + 1);
	if (!program || node_meaning_inputs(node, inputs) != program->ninput)
		return;
	for (int s = 0; s < program->nstage; s++)
		for (ExprWalk walk = stage_walk(program->stages[s]); expr_step(&walk);)
			if (walk.e->op == EX_at)
				add_check(l, node, inputs, walk.e);
}

/* All nodes in order; those of a branch, which has no parameters, stand where it is chosen: what it
 * captures is there by then. */
static void
list_nodes(Learner *l, const Region *region)
{
	for (const Node *node = region->first; node; node = node->next) {
		for (int r = 0; r < node->nregion; r++)
			if (node->regions[r]->nparam == 0 && node->op->meaning == MEANING_CONTROL)
				list_nodes(l, node->regions[r]);
		vec_push(l->scratch, &l->nodes, node);
	}
}

/* An assumption of which data says a side: what inputs' dims say is known without. */
static bool
is_late(const Graph *graph, const Dim *dim)
{
	bool is_found = false;
	for (ExprWalk walk = expr_walk(dim); expr_step(&walk);) {
		const Symbol *symbol = walk.e->op == EX_symbol ? walk.e->symbol : NULL;
		const SymbolDef *def = symbol ? symbol_def_find(graph, symbol) : NULL;
		is_found = is_found || (def && def->source != SYMBOL_EXPR && !symbol_is_input(def));
	}
	return is_found;
}

static void
need(Learner *l, const Value *value)
{
	if (value)
		map_set_ptr(&l->needed, value, (void *)(uintptr_t)value);
}

/* Values from which late symbols of assumptions come. */
static void
need_symbols(Learner *l, const Dim *dim)
{
	for (ExprWalk walk = expr_walk(dim); expr_step(&walk);) {
		const SymbolDef *def =
			walk.e->op == EX_symbol ? symbol_def_find(l->graph, walk.e->symbol) : NULL;
		if (def && def->source != SYMBOL_EXPR)
			need(l, def->value);
	}
}

/* Keep the nodes from which something needed comes. */
static void
keep_needed(Learner *l)
{
	int kept = l->nodes.count;
	for (int i = l->nodes.count - 1; i >= 0; i--) {
		const Node *node = l->nodes.data[i];
		bool is_needed = false;
		for (int o = 0; o < node->noutput; o++)
			is_needed =
				is_needed || (node->outputs[o] && map_find_ptr(&l->needed, node->outputs[o]));
		if (!is_needed || node->nregion > 0 || node_effect(node) != EFFECT_pure)
			continue;
		for (int k = 0; k < node->ninput; k++)
			need(l, node->inputs[k]);
		l->nodes.data[--kept] = node;
	}
	memmove(l->nodes.data, l->nodes.data + kept,
	        (size_t)(l->nodes.count - kept) * sizeof *l->nodes.data);
	l->nodes.count -= kept;
}

static void
prepare(Learner *l)
{
	const Graph *graph = l->graph;
	list_nodes(l, graph->body);
	for (int i = 0; i < l->nodes.count; i++)
		find_checks(l, l->nodes.data[i]);
	for (int i = 0; i < graph->assumptions.count; i++) {
		const Assumption *a = &graph->assumptions.data[i];
		if (is_late(graph, a->a) || is_late(graph, a->b))
			vec_push(l->scratch, &l->checks, (Check){.a = a->a, .b = a->b, .loc = a->loc});
	}
	for (int i = 0; i < l->checks.count; i++) {
		const Check *check = &l->checks.data[i];
		need(l, check->index);
		need_symbols(l, check->b);
		if (check->a)
			need_symbols(l, check->a);
	}
	keep_needed(l);
	for (int i = 0; i < graph->symbols.count; i++)
		if (symbol_is_input(&graph->symbols.data[i]))
			vec_push(l->scratch, &l->symbols, graph->symbols.data[i].symbol);
	l->ranges = input_ranges(l->scratch, graph, sizes_least(l->scratch, graph, NULL, NULL));
}

/* ---- what there is at some sizes ---- */

static double
work_of(const Program *program, const Binding *sizes)
{
	double work = 0;
	for (int s = 0; s < program->nstage; s++) {
		const Stage *stage = program->stages[s];
		double points = 1;
		int64_t extent;
		for (int i = 0; i < stage->nloop + stage->nreduce; i++)
			points *= dim_eval(stage->iters[i].hi, sizes, &extent) ? (double)extent : 1;
		work += points;
	}
	return work;
}

static void
eval_one(void *arg)
{
	Learner *l = arg;
	eval_nodes(l->eval, 1, &l->node);
}

/* Where operands are missing, or it is dear, the node's results stay unknown. */
static void
evaluate(Learner *l, const Node *node)
{
	Failure failure;
	Binding sizes = eval_binding(l->eval);
	for (int i = 0; i < node->ninput; i++)
		if (node->inputs[i] && !eval_array(l->eval, node->inputs[i]))
			return;
	double work = node_has_meaning(node) ? work_of(eval_program(l->eval, node), &sizes) : 1;
	l->work += work;
	l->node = node;
	if (work <= NODE_WORK && l->work <= ALL_WORK)
		try_run(eval_one, l, &failure);
}

/* Integers as large as they may be, so that indices are; 1 where nothing says it. */
static void
give_input(Learner *l, Arena *memory, const Value *input)
{
	Binding sizes = eval_binding(l->eval);
	Array *array = input_make_for(memory, 1, NULL, input, &sizes);
	int64_t extent = 2;
	for (int i = 0; i < l->ranges.count; i++)
		if (strcmp(l->ranges.data[i].name, input->name) == 0)
			dim_eval(l->ranges.data[i].dim, &sizes, &extent);
	for (int64_t i = 0; dtype_is_integer(array->type) && i < array_count(array); i++)
		dtype_store_i64(array->type, array->data, i, extent > 0 ? extent - 1 : 0);
	eval_give(l->eval, input, array);
}

typedef struct Observation {
	Learner *learner;
	Arena *memory;
	const Binding *sizes;
	Room *rooms; /* one for each check */
} Observation;

static bool
is_at(const int64_t *index, const int64_t *place, int rank)
{
	for (int d = 0; d < rank; d++)
		if (place[d] != ANYWHERE && place[d] != index[d])
			return false;
	return true;
}

/* What the elements of an index leave of its bound, at either end. */
static Room
room_of_index(const Check *check, const Array *array, int64_t bound)
{
	Room room = {false, INT64_MAX};
	int64_t index[ARRAY_MAX_RANK] = {0};
	for (int64_t i = 0, count = array_count(array); i < count; i++) {
		int64_t value = dtype_load_i64(array->type, array->data, i);
		int64_t below = value + (check->wraps ? bound : 0), above = bound - 1 - value;
		if (is_at(index, check->place, array->rank)) {
			room.is_known = true;
			room.left = above < room.left ? above : room.left;
			room.left = below < room.left ? below : room.left;
		}
		for (int d = array->rank - 1; d >= 0 && ++index[d] == array->dims[d]; d--)
			index[d] = 0;
	}
	return room;
}

static Room
room_of(const Learner *l, const Check *check)
{
	Binding sizes = eval_binding(l->eval);
	int64_t a, b;
	if (!dim_eval(check->b, &sizes, &b))
		return (Room){false, 0};
	if (check->a)
		return dim_eval(check->a, &sizes, &a) ? (Room){true, a - b} : (Room){false, 0};
	const Array *array = eval_array(l->eval, check->index);
	return array ? room_of_index(check, array, b) : (Room){false, 0};
}

static void
observe_under(void *arg)
{
	Observation *o = arg;
	Learner *l = o->learner;
	for (int i = 0; i < l->symbols.count; i++)
		eval_give_symbol(l->eval, l->symbols.data[i], o->sizes->value[l->symbols.data[i]->id]);
	for (int i = 0; i < l->graph->body->nparam; i++) {
		const Value *input = l->graph->body->params[i];
		if (map_find_ptr(&l->needed, input) && !value_fixed(input))
			give_input(l, o->memory, input);
	}
	for (int i = 0; i < l->nodes.count; i++)
		evaluate(l, l->nodes.data[i]);
	for (int i = 0; i < l->checks.count; i++)
		o->rooms[i] = room_of(l, &l->checks.data[i]);
}

/* The rooms at these sizes. */
static Room *
observe(Learner *l, const Binding *sizes)
{
	Failure failure;
	Observation o = {l, arena_new("sizes"), sizes, NEW_N(l->scratch, Room, l->checks.count + 1)};
	eval_clear(l->eval);
	try_run(observe_under, &o, &failure); /* where it fails all are unknown */
	eval_clear(l->eval);
	arena_free(o.memory);
	return o.rooms;
}

/* ---- sums over symbols ---- */

/* The sizes with one symbol, or with all (-1), a step further. */
static const Binding *
one_more(Learner *l, const Binding *sizes, int index)
{
	Binding *more = arena_memdup(l->scratch, sizes, sizeof *sizes);
	int64_t *value = arena_memdup(l->scratch, sizes->value, (size_t)sizes->count * sizeof *value);
	for (int i = 0; i < l->symbols.count; i++)
		if (i == index || index < 0)
			value[l->symbols.data[i]->id]++;
	more->value = value;
	return more;
}

/* a <= b, or a == b, where b - a is what is left: each term stands where it is positive. */
static Demand
demand_of(Learner *l, const Check *check, const int64_t *slope, int64_t constant)
{
	ExprCtx *ctx = l->graph->ctx;
	const Dim *sides[2] = {dim_const(ctx, constant < 0 ? -constant : 0),
	                       dim_const(ctx, constant > 0 ? constant : 0)};
	for (int i = 0; i < l->symbols.count; i++) {
		const Dim *symbol = dim_symbol(ctx, l->symbols.data[i]->name);
		int64_t factor = slope[i] < 0 ? -slope[i] : slope[i];
		const Dim **side = &sides[slope[i] > 0];
		if (factor)
			*side = dim_add(ctx, *side, dim_mul_i64(ctx, symbol, factor));
	}
	return (Demand){sides[0], sides[1], check->a != NULL, check->loc};
}

static bool
is_new(const Demands *found, const Demand *demand)
{
	for (int i = 0; i < found->count; i++)
		if (found->data[i].a == demand->a && found->data[i].b == demand->b)
			return false;
	return true;
}

/* Whether all sizes that symbols can have satisfy it: 0 of a symbol is its least. */
static bool
is_always(const Learner *l, const Check *check, const int64_t *slope, int64_t constant)
{
	int64_t least = constant;
	for (int i = 0; i < l->symbols.count; i++) {
		if (slope[i] < 0)
			return false;
		least += slope[i] * l->symbols.data[i]->lo;
	}
	return !check->a && least >= 0;
}

/* Rooms at `sizes`, at one more of each symbol, and of all: a sum, where they fit one. */
static bool
fit(Learner *l, const Binding *sizes)
{
	bool has_new = false;
	Room *here = observe(l, sizes), *all = observe(l, one_more(l, sizes, -1));
	Room **more = NEW_N(l->scratch, Room *, l->symbols.count + 1);
	for (int i = 0; i < l->symbols.count; i++)
		more[i] = observe(l, one_more(l, sizes, i));
	for (int c = 0; c < l->checks.count; c++) {
		int64_t slope[SYMBOLS], constant = here[c].left, sum = constant;
		bool is_known = here[c].is_known && all[c].is_known, is_flat = true;
		for (int i = 0; i < l->symbols.count; i++) {
			is_known = is_known && more[i][c].is_known;
			slope[i] = more[i][c].left - here[c].left;
			constant -= slope[i] * sizes->value[l->symbols.data[i]->id];
			sum += slope[i];
			is_flat = is_flat && slope[i] == 0;
		}
		if (!is_known || sum != all[c].left || is_flat ||
		    is_always(l, &l->checks.data[c], slope, constant))
			continue;
		Demand demand = demand_of(l, &l->checks.data[c], slope, constant);
		if (is_new(&l->found, &demand)) {
			vec_push(l->arena, &l->found, demand);
			has_new = true;
		}
	}
	return has_new;
}

/* ---- all ---- */

static void
learn(void *arg)
{
	Learner *l = arg;
	prepare(l);
	if (l->symbols.count == 0 || l->symbols.count > SYMBOLS || l->checks.count == 0)
		return;
	l->eval = eval_new(l->scratch, l->graph, EVAL_exact);
	bool is_better = true;
	for (int round = 0; round < ROUNDS && is_better; round++) {
		is_better = fit(l, sizes_apart(l->scratch, l->graph, &l->found));
	}
}

Demands
demands_learn(Arena *arena, const Graph *graph)
{
	Failure failure;
	Learner l = {.arena = arena, .scratch = arena_new("demands"), .graph = graph};
	l.needed.arena = l.scratch;
	try_run(learn, &l, &failure);
	arena_free(l.scratch);
	return l.found;
}

bool
demand_holds(const Demand *demand, const Binding *sizes)
{
	int64_t a, b;
	if (!dim_eval(demand->a, sizes, &a) || !dim_eval(demand->b, sizes, &b))
		return true;
	return demand->is_equal ? a == b : a <= b;
}

const char *
demand_text(Arena *arena, const Demand *demand)
{
	Buf buf = {.arena = arena};
	dim_print(&buf, demand->a);
	buf_puts(&buf, demand->is_equal ? " == " : " <= ");
	dim_print(&buf, demand->b);
	return buf_text(&buf);
}
