/* rooms_at: the part of a model that makes indices, evaluated.
 *
 * Nodes from which no index comes are not evaluated, nor those that are dear: their checks say
 * nothing here, and sizes that they refuse show when the bundle runs.
 */
#include "driver/sizes/rooms.h"

#include <string.h>

#include "driver/sizes/sizes.h"
#include "graph/meaning.h"

enum {
	ANYWHERE = -1, /* of an index of the operand: all elements along this dim */
};

/* Work of one node at small sizes beside that of calling it, and of all nodes. */
static const double CALL_WORK = 1e3, NODE_WORK = 1e6, ALL_WORK = 1e8;

/* ---- what is checked ---- */

static void
make_program(void *arg)
{
	Rooms *rooms = arg;
	rooms->program = node_meaning(rooms->graph, rooms->node);
}

static const Program *
program_of(Rooms *rooms, const Node *node)
{
	Failure failure;
	rooms->node = node;
	return node_has_meaning(node) && try_run(make_program, rooms, &failure) ? rooms->program : NULL;
}

static bool
is_index_type(const Value *value)
{
	return value && value->type.kind == TYPE_TENSOR && !value_fixed(value) &&
	       dtype_is_integer(value->type.dtype) && value->type.rank >= 0;
}

static void
add_check(Rooms *rooms, const Node *node, Value *const *inputs, const Expr *at)
{
	const Expr *read = at->arg[0];
	Check check = {
		.b = at->arg[1], .wraps = at->flags & AT_WRAP, .loc = node->loc, .region = node->parent};
	while (read->op == EX_cast)
		read = read->arg[0];
	if (!(at->flags & AT_CHECK) || read->op != EX_read || read->argc > ARRAY_MAX_RANK)
		return;
	for (int k = 0; k < rooms->program->ninput; k++)
		if (rooms->program->inputs[k] == read->tensor)
			check.index = inputs[k];
	for (int d = 0; d < read->argc; d++)
		check.place[d] = read->arg[d]->op == EX_const ? read->arg[d]->value.i64 : ANYWHERE;
	if (check.index && is_index_type(check.index))
		vec_push(rooms->arena, &rooms->checks, check);
}

static void
find_checks(Rooms *rooms, const Node *node)
{
	bool has_index = false;
	for (int i = 0; i < node->ninput; i++)
		has_index = has_index || is_index_type(node->inputs[i]);
	const Program *program = has_index && node->nregion == 0 ? program_of(rooms, node) : NULL;
	Value **inputs = NEW_N(rooms->arena, Value *, node->ninput + 1);
	if (!program || node_meaning_inputs(node, inputs) != program->ninput)
		return;
	for (int s = 0; s < program->nstage; s++)
		for (ExprWalk walk = stage_walk(program->stages[s]); expr_step(&walk);)
			if (walk.e->op == EX_at)
				add_check(rooms, node, inputs, walk.e);
}

/* All nodes in order; those of a branch, which has no parameters, stand where it is chosen: what it
 * captures is there by then. */
static void
list_nodes(Rooms *rooms, const Region *region)
{
	for (const Node *node = region->first; node; node = node->next) {
		for (int r = 0; r < node->nregion; r++)
			if (node->regions[r]->nparam == 0 && node->op->meaning == MEANING_CONTROL)
				list_nodes(rooms, node->regions[r]);
		vec_push(rooms->arena, &rooms->nodes, node);
	}
}

static void
need(Rooms *rooms, const Value *value)
{
	if (value)
		map_set_ptr(&rooms->needed, value, (void *)(uintptr_t)value);
}

/* Whether data says symbols of the dim, as inputs' dims do not; where `needs`, all values from
 * which its symbols come are. */
static bool
is_late(Rooms *rooms, const Dim *dim, bool needs)
{
	bool is_found = false;
	for (ExprWalk walk = expr_walk(dim); expr_step(&walk);) {
		const Symbol *symbol = walk.e->op == EX_symbol ? walk.e->symbol : NULL;
		const SymbolDef *def = symbol ? symbol_def_find(rooms->graph, symbol) : NULL;
		if (!def || def->source == SYMBOL_EXPR)
			continue;
		is_found = is_found || !symbol_is_input(def);
		if (needs)
			need(rooms, def->value);
	}
	return is_found;
}

/* Keep the nodes from which something needed comes. */
static void
keep_needed(Rooms *rooms)
{
	int kept = rooms->nodes.count;
	for (int i = rooms->nodes.count - 1; i >= 0; i--) {
		const Node *node = rooms->nodes.data[i];
		bool is_needed = false;
		for (int o = 0; o < node->noutput; o++)
			is_needed =
				is_needed || (node->outputs[o] && map_find_ptr(&rooms->needed, node->outputs[o]));
		if (!is_needed || node->nregion > 0 || node_effect(node) != EFFECT_pure)
			continue;
		for (int k = 0; k < node->ninput; k++)
			need(rooms, node->inputs[k]);
		rooms->nodes.data[--kept] = node;
	}
	for (int i = kept; i < rooms->nodes.count; i++)
		rooms->nodes.data[i - kept] = rooms->nodes.data[i];
	rooms->nodes.count -= kept;
}

/* What takes the branches that a region lies in. */
static void
add_choices(Rooms *rooms, const Region *region)
{
	while ((region = region_branch(region))) {
		for (int i = 0; i < rooms->checks.count; i++)
			if (rooms->checks.data[i].is_choice && rooms->checks.data[i].region == region)
				return;
		vec_push(rooms->arena, &rooms->checks,
		         (Check){.index = region->owner->inputs[0],
		                 .b = dim_const(rooms->graph->ctx, 1),
		                 .is_choice = true,
		                 .region = region,
		                 .loc = region->owner->loc});
		region = region->parent;
	}
}

static void
prepare(Rooms *rooms)
{
	const Graph *graph = rooms->graph;
	list_nodes(rooms, graph->body);
	for (int i = 0; i < rooms->nodes.count; i++)
		find_checks(rooms, rooms->nodes.data[i]);
	for (int i = 0; i < graph->assumptions.count; i++) {
		const Assumption *a = &graph->assumptions.data[i];
		if (is_late(rooms, a->a, false) || is_late(rooms, a->b, false))
			vec_push(rooms->arena, &rooms->checks,
			         (Check){.a = a->a, .b = a->b, .region = a->region, .loc = a->loc});
	}
	for (int i = 0, count = rooms->checks.count; i < count; i++)
		add_choices(rooms, rooms->checks.data[i].region);
	for (int i = 0; i < graph->assumptions.count; i++)
		add_choices(rooms, graph->assumptions.data[i].region);
	for (int i = 0; i < rooms->checks.count; i++) {
		const Check *check = &rooms->checks.data[i];
		need(rooms, check->index);
		is_late(rooms, check->b, true);
		if (check->a)
			is_late(rooms, check->a, true);
	}
	keep_needed(rooms);
	for (int i = 0; i < graph->symbols.count; i++)
		if (symbol_is_input(&graph->symbols.data[i]))
			vec_push(rooms->arena, &rooms->symbols, graph->symbols.data[i].symbol);
	const Learnt nothing = {.nrun = 0};
	const Binding *least = sizes_least(rooms->arena, graph, &nothing, NULL);
	rooms->ranges = input_ranges(rooms->arena, graph, least, NULL);
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
	Rooms *rooms = arg;
	eval_nodes(rooms->eval, 1, &rooms->node);
}

/* Where operands are missing, or it is dear, the node's results stay unknown. */
static void
evaluate(Rooms *rooms, const Node *node)
{
	Failure failure;
	Binding sizes = eval_binding(rooms->eval);
	for (int i = 0; i < node->ninput; i++)
		if (node->inputs[i] && !eval_array(rooms->eval, node->inputs[i]))
			return;
	double work = node_has_meaning(node) ? work_of(eval_program(rooms->eval, node), &sizes) : 1;
	rooms->work += work + CALL_WORK;
	rooms->node = node;
	if (work <= NODE_WORK && rooms->work <= ALL_WORK)
		try_run(eval_one, rooms, &failure);
}

/* Integers as large as they may be, so that indices are; 1 where nothing says it. */
static void
give_input(Rooms *rooms, Arena *memory, const Value *input)
{
	Binding sizes = eval_binding(rooms->eval);
	Array *array = input_make_for(memory, 1, rooms->made_up, input, &sizes);
	InputRange range = {.extent = 2};
	input_range_at(&rooms->ranges, input->name, &sizes, &range);
	for (int64_t i = 0; !rooms->made_up && dtype_is_integer(array->type) && i < array_count(array);
	     i++)
		dtype_store_i64(array->type, array->data, i, range.extent - 1);
	eval_give(rooms->eval, input, array);
}

typedef struct Observation {
	Rooms *of;
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
room_of(const Rooms *rooms, const Check *check)
{
	Binding sizes = eval_binding(rooms->eval);
	int64_t a, b;
	if (!dim_eval(check->b, &sizes, &b))
		return (Room){false, 0};
	if (check->a)
		return dim_eval(check->a, &sizes, &a) ? (Room){true, a - b} : (Room){false, 0};
	const Array *array = eval_array(rooms->eval, check->index);
	if (!array || !check->is_choice || array_count(array) != 1)
		return array ? room_of_index(check, array, b) : (Room){false, 0};
	bool is_then = strcmp(check->region->name, "then_branch") == 0;
	return (Room){true, (dtype_load_i64(array->type, array->data, 0) != 0) == is_then ? 0 : -1};
}

static void
observe_under(void *arg)
{
	Observation *o = arg;
	Rooms *rooms = o->of;
	for (int i = 0; i < rooms->symbols.count; i++)
		eval_give_symbol(rooms->eval, rooms->symbols.data[i],
		                 o->sizes->value[rooms->symbols.data[i]->id]);
	for (int i = 0; i < rooms->graph->body->nparam; i++) {
		const Value *input = rooms->graph->body->params[i];
		if (map_find_ptr(&rooms->needed, input) && !value_fixed(input))
			give_input(rooms, o->memory, input);
	}
	for (int i = 0; i < rooms->nodes.count; i++)
		evaluate(rooms, rooms->nodes.data[i]);
	for (int i = 0; i < rooms->checks.count; i++)
		o->rooms[i] = room_of(rooms, &rooms->checks.data[i]);
}

const Room *
rooms_at(Rooms *rooms, const Binding *sizes)
{
	Failure failure;
	Room *made = NEW_N(rooms->arena, Room, rooms->checks.count + 1);
	Observation o = {rooms, arena_new("sizes"), sizes, made};
	eval_clear(rooms->eval);
	try_run(observe_under, &o, &failure); /* where it fails all are unknown */
	eval_clear(rooms->eval);
	arena_free(o.memory);
	return made;
}

Rooms *
rooms_new(Arena *arena, const Graph *graph)
{
	Rooms *rooms = NEW(arena, Rooms);
	*rooms = (Rooms){.arena = arena, .graph = graph, .needed.arena = arena};
	rooms->eval = eval_new(arena, graph, EVAL_exact);
	prepare(rooms);
	return rooms;
}
