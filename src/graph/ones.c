/* Open dims of inputs that may be 1 where others that they meet are not.
 *
 *     add(%x: f32[N,4], %y: f32[M,4])    assumes N == M, and yet a run may give M = 1
 *
 * Code is made for equal sizes (unify.c). It serves a 1 as well if the input's one element is
 * repeated before the run: where nobody looks at a value along that dim before the value meets
 * another that has the size (InputWish.may_be_one). Whether it is so the meanings say: what is read
 * along the dim is read at a plain loop, which stands nowhere else, and the node's results are
 * alike along that loop; or the node broadcasts, and another operand has the size there. Whoever
 * asks for the size itself, adds up over it, or gives it out as a result, keeps the dim from being
 * 1: ONNX would compute something else.
 */
#include <string.h>

#include "graph/inner.h"
#include "graph/meaning.h"

/* Symbols that must be equal: all sets of them are tried. */
enum { MEMBERS = 4 };

typedef struct Ones {
	const Graph *graph;
	int count; /* of symbols that are 1 */
	const Symbol *const *symbols;
	Map axes; /* Value, or Tensor of a meaning: along which axes it has one element */
	const Stage *stage;
	Axes alike; /* loops of the stage at which such axes are read */
	bool is_lost;
} Ones;

static Axes
axes_of(const Ones *ones, const void *key)
{
	return (Axes)(uintptr_t)map_find_ptr(&ones->axes, key);
}

static void
set_axes(Ones *ones, const void *key, Axes axes)
{
	map_set_ptr(&ones->axes, key, (void *)(uintptr_t)axes);
}

static bool
is_one(const Ones *ones, const Symbol *symbol)
{
	for (int i = 0; i < ones->count; i++)
		if (ones->symbols[i] == symbol)
			return true;
	return false;
}

static bool
speaks_of_one(const Ones *ones, const Expr *e)
{
	bool is_found = false;
	for (ExprWalk walk = expr_walk(e); expr_step(&walk);)
		is_found |= walk.e->op == EX_symbol && is_one(ones, walk.e->symbol);
	return is_found;
}

static bool
value_speaks_of_one(const Ones *ones, const Value *value)
{
	const Type *type = &value->type;
	bool is_found = false;
	for (int i = 0; type->kind == TYPE_TENSOR && i < type->rank; i++)
		is_found |= speaks_of_one(ones, type->dims[i]);
	for (int i = 0; value->known && i < value->known->count; i++)
		is_found |= value->known->value[i] && speaks_of_one(ones, value->known->value[i]);
	return is_found;
}

/* ---- a stage --------------------------------------------------------------------------------- */

/* A read as it is where the axis has one element. */
static const Expr *
read_first(ExprCtx *ctx, const Expr *e, void *arg)
{
	Ones *ones = arg;
	Axes axes = e->op == EX_read ? axes_of(ones, e->tensor) : 0;
	const Expr *index[ARRAY_MAX_RANK];
	if (!axes)
		return e;
	for (int i = 0; i < e->argc; i++) {
		index[i] = e->arg[i];
		if (!(axes & AXIS(i)))
			continue;
		bool is_plain = index[i]->op == EX_iter && index[i]->iter < ones->stage->nloop;
		ones->is_lost |= !is_plain;
		ones->alike |= is_plain ? AXIS(index[i]->iter) : 0;
		index[i] = expr_i64(ctx, 0);
	}
	return expr_read(ctx, e->tensor, index);
}

/* The loops that a scalar needs besides. */
static Axes
other_loops(Ones *ones, const Expr *e)
{
	const Expr *first = e ? expr_rewrite(ones->graph->ctx, e, read_first, ones) : NULL;
	ones->is_lost |= first && speaks_of_one(ones, first);
	return first ? first->iters : 0;
}

/* A dim of one of these symbols that is no loop of reads from the operand is looked at. */
static bool
is_looked_at(const Ones *ones, Axes others, bool broadcasts)
{
	const Stage *stage = ones->stage;
	for (int i = 0; i < stage->nloop + stage->nreduce; i++) {
		bool is_read = i < stage->nloop && ((broadcasts ? others : 0) | ones->alike) & AXIS(i);
		if (!is_read && speaks_of_one(ones, stage->iters[i].hi))
			return true;
	}
	return false;
}

static bool
follow_stage(Ones *ones, const Stage *stage, bool broadcasts)
{
	Axes others = 0;
	ones->stage = stage;
	ones->alike = 0;
	ones->is_lost = stage->scan || stage->kind == STAGE_scatter;
	for (int i = 0; i < stage->nbody; i++)
		others |= other_loops(ones, stage->body[i]);
	others |= other_loops(ones, stage->guard);
	if (ones->is_lost || is_looked_at(ones, others, broadcasts) ||
	    (!broadcasts && ones->alike & others))
		return false;
	for (int i = 0; i < stage->nresult; i++)
		set_axes(ones, stage->results[i], ones->alike & ~others);
	return true;
}

/* ---- a node ---------------------------------------------------------------------------------- */

typedef struct Asked {
	const Graph *graph;
	const Node *node;
	const Program *program;
} Asked;

static void
ask_meaning(void *arg)
{
	Asked *asked = arg;
	asked->program = node_meaning(asked->graph, asked->node);
}

/* An operand that nobody reads has told its size or its elements in another way. */
static bool
is_read(const Program *program, const Tensor *tensor)
{
	for (int i = 0; i < program->nstage; i++)
		if (stage_reads(program->stages[i], tensor))
			return true;
	for (int i = 0; i < program->noutput; i++)
		if (program->outputs[i] == tensor)
			return true;
	return false;
}

static bool
follow_meaning(Ones *ones, const Node *node)
{
	Failure failure;
	Asked asked = {ones->graph, node, NULL};
	if (!try_run(ask_meaning, &asked, &failure) || !asked.program)
		return false;
	const Program *program = asked.program;
	Value **inputs = NEW_N(ones->graph->arena, Value *, node->ninput);
	int count = node_meaning_inputs(node, inputs);
	for (int i = 0; i < count; i++) {
		set_axes(ones, program->inputs[i], axes_of(ones, inputs[i]));
		if (axes_of(ones, inputs[i]) && !is_read(program, program->inputs[i]))
			return false;
	}
	bool broadcasts = node->op->meaning == MEANING_FORMULA || node->op->code == OP_MatMul;
	for (int i = 0; i < program->nstage; i++)
		if (!follow_stage(ones, program->stages[i], broadcasts))
			return false;
	for (int i = 0; i < program->noutput; i++)
		if (node->outputs[i] && program->outputs[i])
			set_axes(ones, node->outputs[i], axes_of(ones, program->outputs[i]));
	return true;
}

/* False: what the node gives is another thing where these sizes are 1, or may be. */
static bool
follow_node(Ones *ones, const Node *node)
{
	bool has_one = false, is_captured = false, speaks = false;
	for (int i = 0; i < node->ninput; i++) {
		has_one |= node->inputs[i] && axes_of(ones, node->inputs[i]);
		speaks |= node->inputs[i] && value_speaks_of_one(ones, node->inputs[i]);
	}
	for (int r = 0; r < node->nregion; r++)
		for (int i = 0; i < node->regions[r]->captures.count; i++) {
			is_captured |= axes_of(ones, node->regions[r]->captures.data[i]) != 0;
			speaks |= value_speaks_of_one(ones, node->regions[r]->captures.data[i]);
		}
	for (int i = 0; i < node->noutput && !speaks; i++)
		if (node->outputs[i] && value_speaks_of_one(ones, node->outputs[i]))
			return false; /* it has the size from nowhere: what told it has been folded */
	if (!has_one || is_captured)
		return !is_captured;
	return node_has_meaning(node) && node_effect(node) == EFFECT_pure && node->nregion == 0 &&
	       follow_meaning(ones, node);
}

/* ---- the graph ------------------------------------------------------------------------------- */

static bool
follow_inputs(Ones *ones)
{
	const Region *body = ones->graph->body;
	for (int i = 0; i < body->nparam; i++) {
		const Type *type = &body->params[i]->type;
		Axes axes = 0;
		for (int d = 0; type->kind == TYPE_TENSOR && d < type->rank; d++) {
			if (!speaks_of_one(ones, type->dims[d]))
				continue;
			if (!dim_as_symbol(type->dims[d]))
				return false;
			axes |= AXIS(d);
		}
		set_axes(ones, body->params[i], axes);
	}
	return true;
}

/* Whether the model gives the same if all these are 1, and what has them is repeated. */
static bool
may_be_ones(const Graph *graph, int count, const Symbol *const *symbols)
{
	Ones ones = {graph, count, symbols, {.arena = graph->arena}, NULL, 0, false};
	if (!follow_inputs(&ones))
		return false;
	for (const Node *node = graph->body->first; node; node = node->next)
		if (!follow_node(&ones, node))
			return false;
	for (int i = 0; i < graph->body->nresult; i++)
		if (graph->body->results[i] && axes_of(&ones, graph->body->results[i]))
			return false;
	for (int i = 0; i < graph->symbols.count; i++) {
		const SymbolDef *def = &graph->symbols.data[i];
		bool is_element = def->value && def->source != SYMBOL_DIM;
		if ((def->expr && speaks_of_one(&ones, def->expr)) ||
		    (is_element && axes_of(&ones, def->value)))
			return false;
	}
	return true;
}

/* ---- what must be equal ---------------------------------------------------------------------- */

/* Symbols of inputs that must be equal, perhaps to a number. */
typedef struct Class {
	int count;
	const Symbol *members[MEMBERS];
	bool has_number;
	bool is_refused; /* it is large, or the number is 1, which need not be what others are */
} Class;

static bool
class_has(const Class *class, const Symbol *symbol)
{
	for (int i = 0; i < class->count; i++)
		if (class->members[i] == symbol)
			return true;
	return false;
}

/* Add `other`, which a member must be equal to; whether the class has grown. */
static bool
class_add(const Graph *graph, Class *class, const Dim *other)
{
	const Symbol *symbol = dim_as_symbol(other);
	bool is_input = graph_input_symbol(graph, other) >= 0;
	class->has_number |= !is_input; /* or a size that something else tells */
	class->is_refused |= dim_is(other, 1);
	if (!is_input || class_has(class, symbol))
		return false;
	class->is_refused |= class->count == MEMBERS;
	if (!class->is_refused)
		class->members[class->count++] = symbol;
	return !class->is_refused;
}

static Class
class_of(const Graph *graph, const Symbol *symbol)
{
	Class class = {1, {symbol}, false, false};
	bool has_grown = true;
	while (has_grown) {
		has_grown = false;
		for (int i = 0; i < graph->assumptions.count; i++) {
			const Assumption *a = &graph->assumptions.data[i];
			const Symbol *left = dim_as_symbol(a->a), *right = dim_as_symbol(a->b);
			if (left && class_has(&class, left))
				has_grown |= class_add(graph, &class, a->b);
			if (right && class_has(&class, right))
				has_grown |= class_add(graph, &class, a->a);
		}
	}
	return class;
}

/* Whether the symbol does not become one with the others now, or stood for some before. */
static bool
is_apart(const Graph *graph, const Map *settled, const Symbol *symbol)
{
	if (!map_find_ptr(settled, symbol))
		return true;
	for (int i = 0; i < graph->wishes.count; i++) {
		const InputWish *wish = &graph->wishes.data[i];
		if (dim_as_symbol(graph->body->params[wish->input]->type.dims[wish->axis]) == symbol)
			return true;
	}
	return false;
}

/* Whether this symbol may be 1, too, together with any of those that may. All of a class are the
 * same size without our help. */
static bool
may_join(const Graph *graph, const Class *class, int count, const Symbol *const *ones,
         const Symbol *symbol)
{
	if (symbol->lo > 1 || symbol->hi < 1)
		return false;
	for (int set = 0; set < 1 << count; set++) {
		const Symbol *these[MEMBERS];
		int n = 0;
		for (int i = 0; i < count; i++)
			if (set >> i & 1)
				these[n++] = ones[i];
		these[n++] = symbol;
		if ((n < class->count || class->has_number) && !may_be_ones(graph, n, these))
			return false;
	}
	return true;
}

/* As many of a class as may be 1, in the order of the inputs. */
static void
find_ones_of(const Graph *graph, const Map *settled, const Class *class, Map *found)
{
	const Symbol *ones[MEMBERS];
	int count = 0;
	for (int i = 0; i < class->count; i++)
		if (is_apart(graph, settled, class->members[i]))
			return;
	for (int i = 0; i < class->count; i++) {
		const Symbol *symbol = class->members[i];
		if (!may_join(graph, class, count, ones, symbol))
			continue;
		ones[count++] = symbol;
		map_set_ptr(found, symbol, (void *)(uintptr_t)symbol);
	}
}

void
graph_find_ones(const Graph *graph, const Map *settled, Map *found)
{
	Map done = {.arena = graph->arena};
	for (int i = 0; i < graph->symbols.count; i++) {
		const Symbol *symbol = graph->symbols.data[i].symbol;
		const Dim *dim = expr_symbol(graph->ctx, symbol);
		if (map_find_ptr(&done, symbol) || graph_input_symbol(graph, dim) < 0)
			continue;
		const Class class = class_of(graph, symbol);
		for (int k = 0; k < class.count; k++)
			map_set_ptr(&done, class.members[k], &done);
		if (!class.is_refused && class.count + class.has_number > 1)
			find_ones_of(graph, settled, &class, found);
	}
}
