/* Evaluating nodes in order: cells of values, symbols, meanings. */
#include "eval/eval.h"

#include <string.h>

#include "eval/inner.h"
#include "graph/meaning.h"
#include "host/host.h"

/* ---- symbols --------------------------------------------------------------------------------- */

typedef VEC(int) DefList;

static void
release_cells(void *handle)
{
	Eval *eval = handle;
	for (int i = 0; i < eval->cells.count; i++)
		if (eval->cells.entries[i].value)
			arena_free(((Cell *)eval->cells.entries[i].value)->memory);
}

Eval *
eval_new(Arena *arena, const Graph *graph, EvalMode mode)
{
	Eval *eval = NEW(arena, Eval);
	*eval = (Eval){.arena = arena, .graph = graph, .mode = mode};
	eval->cells.arena = eval->programs.arena = eval->defs.arena = eval->last.arena = arena;
	for (int i = 0; i < graph->symbols.count; i++) {
		const SymbolDef *def = &graph->symbols.data[i];
		if (def->symbol->id >= eval->nsymbol)
			eval->nsymbol = def->symbol->id + 1;
		if (def->source == SYMBOL_EXPR)
			continue;
		DefList *list = map_find_ptr(&eval->defs, def->value);
		if (!list)
			map_set_ptr(&eval->defs, def->value, list = NEW(arena, DefList));
		vec_push(arena, list, i);
	}
	eval->symbol_value = NEW_N(arena, int64_t, eval->nsymbol + 1);
	eval->symbol_known = NEW_N(arena, bool, eval->nsymbol + 1);
	arena_defer(arena, release_cells, eval);
	return eval;
}

void
eval_clear(Eval *eval)
{
	release_cells(eval);
	for (int i = 0; i < eval->cells.count; i++)
		*(Cell *)eval->cells.entries[i].value = (Cell){NULL};
	memset(eval->symbol_known, 0, (size_t)eval->nsymbol * sizeof *eval->symbol_known);
}

void
eval_keep_all(Eval *eval)
{
	eval->keeps_all = true;
}

Binding
eval_binding(const Eval *eval)
{
	return (Binding){eval->nsymbol, eval->symbol_value, eval->symbol_known};
}

/* Values of symbols that are scalars over other symbols (Resize's floor(f32(H)*s)). */
static bool
eval_scalar(const Eval *eval, const Expr *e, Scalar *out)
{
	Scalar args[3];
	if (e->op == EX_const) {
		*out = e->value;
		return true;
	}
	if (e->op == EX_symbol) {
		bool is_known = e->symbol->id < eval->nsymbol && eval->symbol_known[e->symbol->id];
		out->i64 = is_known ? eval->symbol_value[e->symbol->id] : 0;
		return is_known;
	}
	for (int i = 0; i < e->argc; i++)
		if (i >= 3 || !eval_scalar(eval, e->arg[i], &args[i]))
			return false;
	if (e->op == EX_cast)
		*out = scalar_cast(e->type, e->flags, e->arg[0]->type, args[0]);
	else if (scalar_info(e->op))
		*out = scalar_eval(e->op, e->type, args, e->arg[0]->type);
	else
		return false;
	return true;
}

/* Symbols computed from those that are known; their definitions stand behind these. */
static void
follow_symbols(Eval *eval)
{
	for (int i = 0; i < eval->graph->symbols.count; i++) {
		const SymbolDef *def = &eval->graph->symbols.data[i];
		Scalar result;
		if (def->source != SYMBOL_EXPR || !eval_scalar(eval, def->expr, &result))
			continue;
		eval->symbol_value[def->symbol->id] = result.i64;
		eval->symbol_known[def->symbol->id] = true;
	}
}

/* Set a symbol, and those computed from it. */
static void
set_symbol(Eval *eval, const Symbol *symbol, int64_t value)
{
	if (symbol->id >= eval->nsymbol)
		return; /* not of this graph's table */
	eval->symbol_value[symbol->id] = value;
	eval->symbol_known[symbol->id] = true;
	follow_symbols(eval);
}

void
eval_give_symbol(Eval *eval, const Symbol *symbol, int64_t number)
{
	set_symbol(eval, symbol, number);
}

static int64_t
element_of(const Cell *cell, int index)
{
	if (cell->array)
		return index < array_count(cell->array)
		           ? dtype_load_i64(cell->array->type, cell->array->data, index)
		           : 0;
	const BoundArray *b = cell->bounds;
	return b->integer && index < dims_count(b->rank, b->dims) ? b->integer[index] : 0;
}

static void
bind_symbols(Eval *eval, const Value *value, const Cell *cell)
{
	const DefList *list = map_find_ptr(&eval->defs, value);
	int rank = cell->array ? cell->array->rank : cell->bounds->rank;
	const int64_t *dims = cell->array ? cell->array->dims : cell->bounds->dims;
	for (int i = 0; list && i < list->count; i++) {
		const SymbolDef *def = &eval->graph->symbols.data[list->data[i]];
		if (def->source == SYMBOL_DIM && def->index < rank) {
			set_symbol(eval, def->symbol, dims[def->index]);
		} else if (def->source == SYMBOL_ELEMENT) {
			int64_t number = element_of(cell, def->index);
			bool clamps = symbol_clamps(def->symbol->lo);
			number = clamps && number < def->symbol->lo ? def->symbol->lo : number;
			number = clamps && number > def->symbol->hi ? def->symbol->hi : number;
			set_symbol(eval, def->symbol, number);
		}
	}
}

/* ---- cells ----------------------------------------------------------------------------------- */

void
eval_set_cell(Eval *eval, const Value *value, Cell cell)
{
	Cell *old = map_find_ptr(&eval->cells, value);
	if (old) {
		if (old->memory != cell.memory)
			arena_free(old->memory);
		*old = cell;
	} else {
		old = NEW(eval->arena, Cell);
		*old = cell;
		map_set_ptr(&eval->cells, value, old);
	}
	bind_symbols(eval, value, old);
}

Cell
cell_copy(const Cell *from)
{
	Cell to = {.memory = arena_new("copy")};
	if (from->array) {
		to.array = array_from(to.memory, from->array->type, from->array->rank, from->array->dims,
		                      from->array->data);
		return to;
	}
	const BoundArray *b = from->bounds;
	size_t count = (size_t)dims_count(b->rank, b->dims);
	BoundArray *made = arena_memdup(to.memory, b, sizeof *b);
	made->dims = arena_memdup(to.memory, b->dims, (size_t)b->rank * sizeof(int64_t));
	made->value = b->value ? arena_memdup(to.memory, b->value, count * sizeof(double)) : NULL;
	made->integer =
		b->integer ? arena_memdup(to.memory, b->integer, count * sizeof(int64_t)) : NULL;
	made->bound = b->bound ? arena_memdup(to.memory, b->bound, count * sizeof(double)) : NULL;
	made->undecided = b->undecided ? arena_memdup(to.memory, b->undecided, count) : NULL;
	to.bounds = made;
	return to;
}

Cell
eval_copy(Eval *eval, const Value *value)
{
	return cell_copy(eval_cell(eval, value));
}

void
eval_drop(Eval *eval, const Value *value)
{
	Cell *cell = map_find_ptr(&eval->cells, value);
	if (!cell || eval->keeps_all)
		return;
	arena_free(cell->memory);
	*cell = (Cell){NULL};
}

Cell *
eval_find_cell(Eval *eval, const Value *value)
{
	Cell *cell = map_find_ptr(&eval->cells, value);
	if (cell && (cell->array || cell->bounds))
		return cell;
	if (!value->constant)
		return NULL;
	Cell made = {.array = value->constant};
	if (eval->mode == EVAL_bound) {
		if (dtype_class(value->constant->type) == DC_X)
			fail_unsupported(NULL, "%%%s holds %s: no bounds for these", value->name,
			                 dtype_name(value->constant->type));
		made.array = NULL;
		made.memory = arena_new("constant");
		made.bounds = bound_from_array(made.memory, value->constant);
	}
	eval_set_cell(eval, value, made);
	return map_find_ptr(&eval->cells, value);
}

Cell *
eval_cell(Eval *eval, const Value *value)
{
	Cell *cell = eval_find_cell(eval, value);
	if (!cell)
		fail_as(FAIL_BUG, NULL, "value %%%s is used before it has been computed", value->name);
	return cell;
}

void
eval_give(Eval *eval, const Value *value, const Array *array)
{
	Cell cell = {.array = array};
	if (value->type.kind == TYPE_TENSOR && value->type.dtype != array->type)
		fail(NULL, "input %%%s is %s, expected %s", value->name, dtype_name(array->type),
		     dtype_name(value->type.dtype));
	if (value->type.kind == TYPE_TENSOR && value->type.rank >= 0 && value->type.rank != array->rank)
		fail(NULL, "input %%%s has rank %d, expected %d", value->name, array->rank,
		     value->type.rank);
	if (eval->mode == EVAL_bound) {
		cell = (Cell){.memory = arena_new("input")};
		cell.bounds = bound_from_array(cell.memory, array);
	}
	eval_set_cell(eval, value, cell);
}

void
eval_give_bounds(Eval *eval, const Value *value, const BoundArray *bounds)
{
	eval_set_cell(eval, value, (Cell){.bounds = bounds});
}

const BoundArray *
eval_bounds(Eval *eval, const Value *value)
{
	Cell *cell = eval_find_cell(eval, value);
	return cell ? cell->bounds : NULL;
}

const Array *
eval_array(Eval *eval, const Value *value)
{
	Cell *cell = eval_find_cell(eval, value);
	if (!cell || cell->array)
		return cell ? cell->array : NULL;
	const BoundArray *b = cell->bounds;
	Array *array = array_new(eval->arena, b->type, b->rank, b->dims);
	for (int64_t i = 0, count = array_count(array); i < count; i++)
		if (b->value)
			dtype_store_f64(b->type, array->data, i, b->value[i]);
		else
			dtype_store_i64(b->type, array->data, i, b->integer[i]);
	return array;
}

int64_t
eval_number(Eval *eval, const Value *value, const Loc *loc)
{
	const Cell *cell = eval_cell(eval, value);
	const BoundArray *b = cell->bounds;
	if (b && b->undecided && dims_count(b->rank, b->dims) > 0 && b->undecided[0])
		fail_unsupported(loc, "%%%s decides what runs, but is within its error bound of both",
		                 value->name);
	return element_of(cell, 0);
}

/* ---- nodes ----------------------------------------------------------------------------------- */

typedef struct MeaningJob {
	Eval *eval;
	const Program *program;
	Value **inputs;
	Arena *memory;
	Array **arrays;
	BoundArray **bounds;
} MeaningJob;

static void
run_program(void *arg)
{
	MeaningJob *job = arg;
	Eval *eval = job->eval;
	int ninput = job->program->ninput;
	Binding binding = eval_binding(eval);
	const void **given = NEW_N(job->memory, const void *, ninput + 1);
	for (int i = 0; i < ninput; i++) {
		const Cell *cell = eval_cell(eval, job->inputs[i]);
		given[i] =
			eval->mode == EVAL_bound ? (const void *)cell->bounds : (const void *)cell->array;
	}
	if (eval->mode == EVAL_bound)
		program_eval_bound(job->memory, job->program, &binding, (const BoundArray *const *)given,
		                   job->bounds, eval->way);
	else
		program_eval(job->memory, job->program, &binding, (const Array *const *)given, job->arrays);
}

/* The place of the node in front of a sentence that has none. */
static _Noreturn void
fail_at_node(const Node *node, const Failure *failure)
{
	if (node->loc.node && strstr(failure->text, node->loc.node))
		fail_again(failure);
	fail_as(failure->kind, &node->loc, "%s", failure->text);
}

const Program *
eval_program(Eval *eval, const Node *node)
{
	Program *program = map_find_ptr(&eval->programs, node);
	if (!program && node_has_meaning(node)) {
		program = node_meaning(eval->graph, node);
		map_set_ptr(&eval->programs, node, program);
	}
	return program;
}

static void
eval_meaning(Eval *eval, const Node *node)
{
	Arena *memory = arena_new("results");
	MeaningJob job = {.eval = eval, .memory = memory};
	Failure failure;
	job.program = eval_program(eval, node);
	job.inputs = NEW_N(memory, Value *, node->ninput + 1);
	job.arrays = NEW_N(memory, Array *, node->noutput + 1);
	job.bounds = NEW_N(memory, BoundArray *, node->noutput + 1);
	node_meaning_inputs(node, job.inputs);
	if (!try_run(run_program, &job, &failure)) {
		arena_free(memory);
		fail_at_node(node, &failure);
	}
	bool is_owned = false; /* the first result owns the memory, the others get copies */
	for (int k = 0; k < node->noutput; k++) {
		Cell cell = {job.arrays[k], job.bounds[k], memory};
		if (!node->outputs[k])
			continue;
		eval_set_cell(eval, node->outputs[k], is_owned ? cell_copy(&cell) : cell);
		is_owned = true;
	}
}

/* A window that is longer than what it runs over leaves less than nothing, which no run takes. */
static void
check_extents(const Eval *eval, const Node *node)
{
	Binding binding = eval_binding(eval);
	for (int k = 0; k < node->noutput; k++) {
		const Value *value = node->outputs[k];
		int rank = value && value->type.kind == TYPE_TENSOR ? value->type.rank : 0;
		int64_t extent;
		for (int d = 0; d < rank; d++)
			if (dim_eval(value->type.dims[d], &binding, &extent) && extent < 0)
				fail(&node->loc, "dim %d of %%%s would be %lld", d, value->name, (long long)extent);
	}
}

static void
eval_node(Eval *eval, const Node *node)
{
	if (node->op->meaning == MEANING_CONTROL)
		eval_control(eval, node);
	else if (node_has_meaning(node))
		eval_meaning(eval, node);
	else if (node->op->meaning == MEANING_NODES)
		eval_expanded(eval, node);
	else if (node->op->meaning == MEANING_HOST)
		eval_host(eval, node);
	else
		fail_unsupported(&node->loc,
		                 node->op->meaning == MEANING_MISSING
		                     ? "nothing computes this operator yet"
		                     : "the operator is not computed for operands of these types");
	check_extents(eval, node);
}

/* ---- regions --------------------------------------------------------------------------------- */

static void
note_last_uses(Map *last, const Node *node)
{
	for (int i = 0; i < node->ninput; i++)
		if (node->inputs[i])
			map_set_ptr(last, node->inputs[i], (void *)(uintptr_t)node);
	for (int r = 0; r < node->nregion; r++)
		for (int i = 0; i < node->regions[r]->captures.count; i++)
			map_set_ptr(last, node->regions[r]->captures.data[i], (void *)(uintptr_t)node);
}

static bool
is_result(const Region *region, const Value *value)
{
	for (int i = 0; i < region->nresult; i++)
		if (region->results[i] == value)
			return true;
	return false;
}

static void
drop_if_done(Eval *eval, const Map *last, const Node *node, const Value *value)
{
	const Node *user = map_find_ptr(last, value);
	if (value->region != node->parent || value->constant || is_result(node->parent, value))
		return;
	if (!user || user == node)
		eval_drop(eval, value);
}

static void
drop_dead(Eval *eval, const Map *last, const Node *node)
{
	for (int i = 0; i < node->ninput; i++)
		if (node->inputs[i])
			drop_if_done(eval, last, node, node->inputs[i]);
	for (int r = 0; r < node->nregion; r++)
		for (int i = 0; i < node->regions[r]->captures.count; i++)
			drop_if_done(eval, last, node, node->regions[r]->captures.data[i]);
	for (int k = 0; k < node->noutput; k++)
		if (node->outputs[k] && !map_find_ptr(last, node->outputs[k]))
			drop_if_done(eval, last, node, node->outputs[k]);
}

/* Dims that met in a broadcast were taken to be equal: now they are numbers. */
static void
check_assumptions(const Eval *eval, const Region *region)
{
	Binding binding = eval_binding(eval);
	for (int i = 0; i < eval->graph->assumptions.count; i++) {
		const Assumption *a = &eval->graph->assumptions.data[i];
		int64_t left, right;
		if (a->region == region && dim_eval(a->a, &binding, &left) &&
		    dim_eval(a->b, &binding, &right) && left != right)
			fail(NULL, "%s%s must be equal, and are %lld and %lld",
			     assumption_place(eval->arena, a), a->what, (long long)left, (long long)right);
	}
}

/* What a region decided when it ran before is not known yet; copies of outer symbols are. */
static void
enter_region(Eval *eval, const Region *region)
{
	bool is_again = region->owner && region->owner->op->code != OP_fused;
	for (int i = 0; is_again && i < eval->graph->symbols.count; i++) {
		const SymbolDef *def = &eval->graph->symbols.data[i];
		if (symbol_home(def) == region && (!def->value || def->value->def))
			eval->symbol_known[def->symbol->id] = false;
	}
	follow_symbols(eval);
	check_assumptions(eval, region);
}

void
eval_region(Eval *eval, const Region *region)
{
	Map *last = map_find_ptr(&eval->last, region);
	if (!last) {
		last = NEW(eval->arena, Map);
		last->arena = eval->arena;
		for (const Node *node = region->first; node; node = node->next)
			note_last_uses(last, node);
		map_set_ptr(&eval->last, region, last);
	}
	enter_region(eval, region);
	for (const Node *node = region->first; node; node = node->next) {
		eval_node(eval, node);
		drop_dead(eval, last, node);
	}
	check_assumptions(eval, region); /* of what data decided, too */
}

void
eval_nodes(Eval *eval, int count, const Node *const *nodes)
{
	for (int i = 0; i < count; i++)
		eval_node(eval, nodes[i]);
}

/* ---- whole graphs ---------------------------------------------------------------------------- */

static void
run_graph(Eval *eval, const Array *const *inputs)
{
	const Region *body = eval->graph->body;
	for (int i = 0; i < body->nparam; i++)
		if (inputs[i]) /* NULL: its default */
			eval_give(eval, body->params[i], inputs[i]);
	eval_region(eval, body);
}

void
eval_graph(Arena *arena, const Graph *graph, const Array *const *inputs, const Array **outputs)
{
	Eval *eval = eval_new(arena, graph, EVAL_exact);
	run_graph(eval, inputs);
	for (int i = 0; i < graph->body->nresult; i++)
		outputs[i] = eval_cell(eval, graph->body->results[i])->array;
}

void
eval_graph_bound(Arena *arena, const Graph *graph, const Array *const *inputs,
                 const BoundArray **outputs, BoundWay way)
{
	Eval *eval = eval_new(arena, graph, EVAL_bound);
	eval->way = way;
	run_graph(eval, inputs);
	for (int i = 0; i < graph->body->nresult; i++)
		outputs[i] = eval_cell(eval, graph->body->results[i])->bounds;
}
