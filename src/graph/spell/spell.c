/* The speller: stage by stage, in order. */
#include "graph/spell/spell.h"

#include "graph/meaning.h"
#include "graph/spell/inner.h"

/* ---- stages ---------------------------------------------------------------------------------- */

static void
open_stage(Spell *s, const Stage *stage)
{
	s->stage = stage;
	s->rank = stage->nloop + stage->nreduce;
	if (stage->scan || stage->kind == STAGE_scatter)
		spell_fail(s, "a %s", stage->scan ? "scan" : "scatter");
	if (stage->nresult > 1)
		spell_fail(s, "%s", reduce_info(stage->reduce)->text);
	if (s->rank > SPELL_ITERS)
		spell_fail(s, "'%s' has %d iterators", stage->name, s->rank);
	s->stage = stage = spell_split_loops(s->ctx, s->arena, stage);
	s->rank = stage->nloop + stage->nreduce;
	s->extent = NEW_N(s->arena, const Dim *, s->rank + 1);
	for (int i = 0; i < s->rank; i++)
		s->extent[i] = dim_sub(s->ctx, stage->iters[i].hi, stage->iters[i].lo);
	s->facts = facts_of_stage(s->ctx, s->arena, stage);
	s->scalars = (Map){.arena = s->arena};
}

/* ---- guards ---- */

static Value *
masked(Spell *s, const Expr *guard, Value *value, Value *none)
{
	if (guard->op == EX_and)
		return masked(s, guard->arg[1], masked(s, guard->arg[0], value, none), none);
	return spell_where(s, guard, value, none);
}

/* What a term is where the guard holds (NULL: everywhere), and `none` elsewhere. */
static Value *
guarded(Spell *s, const Expr *e, const Expr *guard, const Expr *none)
{
	if (e->op == EX_read)
		return spell_read(s, e, guard, none);
	Value *value = spell_scalar(s, e);
	return guard ? masked(s, guard, value, spell_known(s, none)) : value;
}

/* The parts of a guard that speak of nothing else than e does; the others go to *left. */
static const Expr *
part_for(const Spell *s, const Expr *e, const Expr *guard, const Expr **left)
{
	if (!guard)
		return NULL;
	if (guard->op == EX_and)
		return expr_both(s->ctx, part_for(s, e, guard->arg[0], left),
		                 part_for(s, e, guard->arg[1], left));
	if (!(spell_without_ones(s, guard)->iters & ~e->iters))
		return guard;
	*left = expr_both(s->ctx, *left, guard);
	return NULL;
}

/* NULL where the stage is no sum of products, or its guard speaks of both operands: a term that is
 * omitted is 0 by one of them. */
static Value *
sum_of_product(Spell *s)
{
	const Stage *stage = s->stage;
	const Expr *term = stage->body[0], *none = expr_number(s->ctx, stage->acc, 0);
	if (stage->reduce != REDUCE_sum || term->op != EX_mul)
		return NULL;
	const Expr *rest = NULL, *left = NULL;
	const Expr *of_a = part_for(s, term->arg[0], stage->guard, &rest);
	const Expr *of_b = part_for(s, term->arg[1], rest, &left);
	if (left)
		return NULL;
	Value *a = guarded(s, term->arg[0], of_a, none), *b = guarded(s, term->arg[1], of_b, none);
	return spell_is_product(s, a, b) ? spell_product(s, a, b) : NULL;
}

static Value *
reduce_terms(Spell *s)
{
	static const char *const OPERATORS[REDUCE_COUNT] = {
		[REDUCE_sum] = "ReduceSum",
		[REDUCE_prod] = "ReduceProd",
		[REDUCE_max] = "ReduceMax",
		[REDUCE_min] = "ReduceMin",
	};
	const Stage *stage = s->stage;
	const char *op = OPERATORS[stage->reduce];
	if (!op)
		spell_fail(s, "%s", reduce_info(stage->reduce)->text);
	const Expr *none = reduce_identity(s->ctx, stage->reduce, 0, stage->acc);
	Value *terms = guarded(s, stage->body[0], stage->guard, none);
	Axes axes = 0;
	const Dim *dims[SPELL_ITERS];
	for (int i = 0; i < s->rank; i++) {
		bool is_summed = i >= stage->nloop;
		dims[i] = is_summed ? s->extent[i] : terms->type.dims[i];
		axes |= is_summed ? AXIS(i) : 0;
	}
	return spell_reduce(s, op, spell_expand(s, terms, s->rank, dims), axes, false);
}

/* What has no elements, at fixed sizes, is a constant; NULL: it has some. */
static Value *
without_elements(const Spell *s)
{
	const Stage *stage = s->stage;
	int64_t dims[SPELL_ITERS];
	bool is_empty = false;
	for (int i = 0; i < stage->nloop; i++) {
		if (!dim_is_const(s->extent[i], &dims[i]))
			return NULL;
		is_empty |= dims[i] == 0;
	}
	DType type = stage->results[0]->type;
	return is_empty ? spell_array(s, array_new(s->arena, type, stage->nloop, dims)) : NULL;
}

/* What a reduction without terms is, one for all elements; NULL: it has terms. */
static Value *
without_terms(const Spell *s)
{
	const Stage *stage = s->stage;
	const Dim *ones[SPELL_ITERS];
	bool is_empty = false;
	for (int i = stage->nloop; i < s->rank; i++)
		is_empty |= dim_is(s->extent[i], 0);
	if (!is_empty)
		return NULL;
	for (int i = 0; i < stage->nloop; i++)
		ones[i] = dim_const(s->ctx, 1);
	const Expr *none = reduce_identity(s->ctx, stage->reduce, 0, stage->acc);
	return spell_reshape(s, spell_known(s, none), stage->nloop, ones);
}

static const Dim *const *
result_dims(const Spell *s, const Stage *stage)
{
	const Dim **dims = NEW_N(s->arena, const Dim *, stage->nloop);
	for (int i = 0; i < stage->nloop; i++)
		dims[i] = dim_sub(s->ctx, stage->iters[i].hi, stage->iters[i].lo);
	return dims;
}

static void
spell_stage(Spell *s, const Stage *stage)
{
	open_stage(s, stage);
	const Tensor *result = stage->results[0];
	Value *value = without_elements(s);
	if (!value && stage->kind == STAGE_map)
		value = spell_scalar(s, s->stage->body[0]);
	if (!value)
		value = without_terms(s);
	if (!value)
		value = sum_of_product(s);
	if (!value)
		value = reduce_terms(s);
	value = spell_expand(s, spell_cast(s, value, result->type), s->stage->nloop, s->extent);
	value = spell_reshape(s, value, stage->nloop, result_dims(s, stage));
	map_set_ptr(&s->values, result, value);
	facts_close(s->facts);
}

/* ---- nodes ----------------------------------------------------------------------------------- */

/* What was made on ways that were left, nodes between these two. */
static void
remove_unused(const Node *first, Node *end)
{
	for (Node *at = end->prev, *next; at != first; at = next) {
		next = at->prev;
		if (at->outputs[0]->uses.count == 0)
			node_remove(at);
	}
}

void
node_spell(Node *node)
{
	const Node *before = node->prev;
	Graph *graph = node->parent->graph;
	const Program *program = node_meaning(graph, node);
	Spell s = {.node = node,
	           .graph = graph,
	           .ctx = graph->ctx,
	           .arena = graph->arena,
	           .values = {.arena = graph->arena}};
	if (!program)
		spell_fail(&s, "%s has no expression", node->op->name);
	Value **inputs = NEW_N(graph->arena, Value *, node->ninput + 1);
	int count = node_meaning_inputs(node, inputs);
	for (int i = 0; i < count; i++)
		map_set_ptr(&s.values, program->inputs[i], inputs[i]);
	for (int i = 0; i < program->nstage; i++)
		spell_stage(&s, program->stages[i]);
	for (int i = 0; i < node->noutput; i++)
		if (node->outputs[i])
			value_replace_uses(node->outputs[i], map_find_ptr(&s.values, program->outputs[i]));
	remove_unused(before, node);
	node_remove(node);
}

/* ---- whether ---- */

typedef struct Trial {
	Arena *arena;
	const Node *node;
} Trial;

static Value *
alone_input(Graph *alone, Map *inputs, const Value *value)
{
	Value *known = value ? map_find_ptr(inputs, value) : NULL;
	if (!value || known)
		return known;
	Map empty = {.arena = alone->arena};
	Type type = value->type;
	const Dim **dims = NEW_N(alone->arena, const Dim *, type.rank);
	for (int d = 0; d < type.rank; d++)
		dims[d] = dim_from_expr(alone->ctx, expr_import(alone->ctx, type.dims[d], &empty));
	type.dims = dims;
	known = graph_input(alone, graph_fresh_name(alone, "x"), &type);
	map_set_ptr(inputs, value, known);
	return known;
}

/* The node in a graph of its own. */
static void
spell_alone(void *arg)
{
	const Trial *trial = arg;
	const Node *node = trial->node;
	Graph *alone = graph_new(trial->arena, node->op->name, node->loc.file);
	Map known = {.arena = trial->arena};
	Value **inputs = NEW_N(trial->arena, Value *, node->ninput);
	const char **outputs = NEW_N(trial->arena, const char *, node->noutput);
	for (int i = 0; i < node->ninput; i++)
		inputs[i] = alone_input(alone, &known, node->inputs[i]);
	for (int i = 0; i < node->noutput; i++)
		outputs[i] = node->outputs[i] ? "" : NULL;
	Node *copy = node_new(alone->body, NULL, op_text(trial->arena, node->op), &node->loc,
	                      node->ninput, inputs, node->noutput, outputs);
	for (int i = 0; i < node->nattr; i++)
		node_add_attr(copy, &node->attrs[i]);
	node_infer(alone, copy);
	node_spell(copy);
}

bool
node_can_spell(const Node *node, Failure *why)
{
	Trial trial = {arena_new("spell"), node};
	bool can = try_run(spell_alone, &trial, why);
	arena_free(trial.arena);
	return can;
}

/* ---- graphs ---- */

static bool
region_spells(const Region *region, bool is_asked)
{
	bool is_any = false;
	for (Node *node = region->first, *next; node; node = next) {
		next = node->next;
		for (int i = 0; i < node->nregion; i++)
			is_any |= region_spells(node->regions[i], is_asked);
		if (node->op->code != OP_Expression)
			continue;
		is_any = true;
		if (!is_asked)
			node_spell(node);
	}
	return is_any;
}

bool
graph_has_expressions(const Graph *graph)
{
	return region_spells(graph->body, true);
}

void
graph_spell_expressions(Graph *graph)
{
	region_spells(graph->body, false);
	region_update_captures(graph->body);
}
