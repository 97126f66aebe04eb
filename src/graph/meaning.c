/* From a node to its program. */
#include "graph/meaning.h"

#include <stdio.h>
#include <string.h>

#include "expr/scalar/ctx.h"
#include "graph/inner.h"

static const Dim *
find_element(const Build *build, int index, int element, bool is_bound)
{
	if (!build->in_types[index])
		return NULL;
	const Known *known = build->known[index];
	if (known && element < known->count && known->value[element])
		return known->value[element];
	const Graph *graph = build->graph;
	for (int i = 0; i < graph->symbols.count; i++) {
		const SymbolDef *def = &graph->symbols.data[i];
		if (def->source == SYMBOL_ELEMENT && def->value == build->node->inputs[index] &&
		    def->index == element && symbol_clamps(def->symbol->lo) == is_bound)
			return expr_symbol(build->ctx, def->symbol);
	}
	return NULL;
}

const Dim *
build_dim(const Build *build, int index, int element)
{
	return find_element(build, index, element, false);
}

const Dim *
build_bound(const Build *build, int index, int element)
{
	return find_element(build, index, element, true);
}

/* ---- whether --------------------------------------------------------------------------------- */

/* Strings, complex numbers, sequences and tensors without a rank have no scalars. */
static bool
value_has_meaning(const Value *value)
{
	const Type *type = &value->type;
	if (type->kind != TYPE_TENSOR || type->rank < 0)
		return false;
	DTypeClass class = dtype_class(type->dtype);
	return class != DC_X && class != DC_NONE;
}

/* Dropout is the only operator that is random in one mode: input training_mode decides. */
static bool
is_training(const Node *node)
{
	if (node->ninput < 3 || !node->inputs[2])
		return false;
	Value *mode = node->inputs[2];
	const Known *known = value_known(node->parent->graph, mode);
	return !known || known->count != 1 || !known->value[0] || !dim_is(known->value[0], 0);
}

static bool
fused_has_meaning(const Node *node)
{
	for (const Node *inner = node->regions[0]->first; inner; inner = inner->next)
		if (!node_has_meaning(inner))
			return false;
	return true;
}

bool
node_has_meaning(const Node *node)
{
	const OpInfo *op = node->op;
	if (op->code == OP_fused)
		return fused_has_meaning(node);
	if (op->meaning != MEANING_FORMULA && op->meaning != MEANING_BUILD)
		return false;
	if (node->is_waiting || (op->effect == EFFECT_random && is_training(node)))
		return false;
	for (int i = 0; i < node->ninput; i++)
		if (node->inputs[i] && !value_has_meaning(node->inputs[i]))
			return false;
	for (int i = 0; i < node->noutput; i++)
		if (node->outputs[i] && !value_has_meaning(node->outputs[i]))
			return false;
	return true;
}

bool
node_is_function(const Node *node)
{
	bool is = node && node->nregion == 0 && node->noutput > 0 && node->outputs[0] &&
	          node->outputs[0]->type.kind == TYPE_TENSOR && node_effect(node) == EFFECT_pure &&
	          node_has_meaning(node) && !node->is_waiting;
	for (int i = 1; is && i < node->noutput; i++)
		is = !node->outputs[i];
	return is;
}

void
node_drop(Node *node)
{
	int count = node->ninput;
	Value **inputs =
		arena_memdup(node->parent->graph->arena, node->inputs, (size_t)count * sizeof *inputs);
	node_remove(node);
	for (int i = 0; i < count; i++) {
		Node *before = inputs[i] ? inputs[i]->def : NULL;
		if (before && inputs[i]->uses.count == 0 && before->parent && node_is_function(before) &&
		    !symbol_reads(before->parent->graph, inputs[i]))
			node_drop(before);
	}
}

Effect
node_effect(const Node *node)
{
	Effect effect = node->op->effect;
	return effect == EFFECT_random && node_has_meaning(node) ? EFFECT_pure : effect;
}

/* ---- building -------------------------------------------------------------------------------- */

/* The tensors that stand for values while programs of nodes are put together. */
typedef struct Composer {
	const Graph *graph;
	ExprCtx *ctx;
	Arena *arena; /* for the time of the call */
	Map tensors;  /* Value to Tensor */
} Composer;

static void
build_formula(Build *build)
{
	const Type *type = build->out_types[0];
	const char *name = op_output(build->node->op, 0)->name;
	StageBuilder *stage = stage_open(build->ctx, name, type->rank, type->dims);
	const Expr *body = formula_scalar(build, stage);
	build->out[0] = stage_map(stage, type->dtype, body);
}

/* The same dim, the one that is named so, or one that was assumed to be equal. */
static bool
is_same_extent(const Graph *graph, const Dim *extent, const Dim *dim)
{
	const Symbol *symbol = dim_as_symbol(dim);
	const SymbolDef *def = symbol ? symbol_def_find(graph, symbol) : NULL;
	return extent == dim || (def && def->expr == extent) ||
	       (dim_proves_le(dim->ctx, extent, dim) && dim_proves_le(dim->ctx, dim, extent));
}

static void
check_output(const Node *node, const Type *type, const Tensor *tensor, int index)
{
	bool is_same = tensor && tensor->type == type->dtype && tensor->rank == type->rank;
	for (int i = 0; is_same && i < type->rank; i++)
		is_same = is_same_extent(node->parent->graph, tensor->hi[i], type->dims[i]);
	if (!is_same)
		fail_as(FAIL_BUG, &node->loc, "infer and meaning disagree about output %d", index);
}

static int
larger(int a, int b)
{
	return a > b ? a : b;
}

static void
prepare(Composer *composer, const Node *node, Build *build)
{
	Arena *arena = composer->arena;
	int nin = larger(node->ninput, node->op->ninput),
		nout = larger(node->noutput, node->op->noutput);
	const Type **in_types = NEW_N(arena, const Type *, nin);
	const Type **out_types = NEW_N(arena, const Type *, nout);
	Tensor **in = NEW_N(arena, Tensor *, nin);
	const Known **known = NEW_N(arena, const Known *, nin);
	const Array **constant = NEW_N(arena, const Array *, nin);
	for (int i = 0; i < node->ninput; i++) {
		Value *value = node->inputs[i];
		if (!value)
			continue;
		in_types[i] = &value->type;
		in[i] = map_find_ptr(&composer->tensors, value);
		known[i] = value_known(value->region->graph, value);
		constant[i] = value_fixed(value);
	}
	for (int i = 0; i < node->noutput; i++)
		out_types[i] = node->outputs[i] ? &node->outputs[i]->type : NULL;
	*build = (Build){composer->ctx,
	                 composer->graph,
	                 node,
	                 node->ninput,
	                 node->noutput,
	                 in_types,
	                 out_types,
	                 in,
	                 known,
	                 constant,
	                 NEW_N(arena, const Tensor *, nout)};
}

static void
compose_node(Composer *composer, const Node *node)
{
	if (node->op->code == OP_fused) {
		const Region *region = node->regions[0];
		for (const Node *inner = region->first; inner; inner = inner->next)
			compose_node(composer, inner);
		for (int i = 0; i < node->noutput; i++)
			if (node->outputs[i])
				map_set_ptr(&composer->tensors, node->outputs[i],
				            map_find_ptr(&composer->tensors, region->results[i]));
		return;
	}
	Build build;
	Work work = work_begin(&node->loc, NULL);
	prepare(composer, node, &build);
	if (node->op->meaning == MEANING_FORMULA)
		build_formula(&build);
	else
		node->op->build(&build);
	for (int i = 0; i < node->noutput; i++) {
		if (!node->outputs[i])
			continue;
		check_output(node, build.out_types[i], build.out[i], i);
		map_set_ptr(&composer->tensors, node->outputs[i], (void *)(uintptr_t)build.out[i]);
	}
	work_end(work);
}

/* ---- programs -------------------------------------------------------------------------------- */

int
node_meaning_inputs(const Node *node, Value **inputs)
{
	int count = 0;
	for (int i = 0; i < node->ninput; i++) {
		bool is_new = node->inputs[i] != NULL;
		for (int k = 0; k < count && is_new; k++)
			is_new = inputs[k] != node->inputs[i];
		if (is_new)
			inputs[count++] = node->inputs[i];
	}
	return count;
}

/* The row's name of the operand; in a group, the value's name as far as texts take it. */
static const char *
input_name(Arena *arena, const Node *node, const Value *value)
{
	int index = 0;
	while (node->inputs[index] != value)
		index++;
	const ParamSpec *spec = op_input(node->op, index);
	if (!spec->variadic)
		return spec->name;
	if (node->op->code != OP_fused)
		return arena_printf(arena, "%s%d", spec->name, index);
	char *name = arena_printf(arena, "v%s", value->name);
	for (char *c = name; *c; c++)
		if (!((*c >= 'a' && *c <= 'z') || (*c >= 'A' && *c <= 'Z') || (*c >= '0' && *c <= '9')))
			*c = '_';
	return name;
}

static const char *
unique_name(Arena *arena, Map *taken, const char *name)
{
	const char *unique = name;
	for (int i = 2; map_find(taken, unique); i++)
		unique = arena_printf(arena, "%s_%d", name, i);
	map_set(taken, unique, taken);
	return unique;
}

Program *
node_meaning(const Graph *graph, const Node *node)
{
	if (!node_has_meaning(node)) {
		for (int i = 0; i < node->ninput; i++)
			if (node->inputs[i] && node->inputs[i]->type.kind == TYPE_TENSOR &&
			    node->inputs[i]->type.rank < 0)
				fail_unsupported(&node->loc, "the rank of %%%s is not known",
				                 node->inputs[i]->name);
		return NULL;
	}
	Arena *arena = ctx_scratch(graph->ctx);
	ArenaMark mark = arena_mark(arena);
	Composer composer = {graph, graph->ctx, arena, {.arena = arena}};
	Value **values = NEW_N(arena, Value *, node->ninput);
	int count = node_meaning_inputs(node, values);
	Tensor **inputs = NEW_N(arena, Tensor *, count);
	Map taken = {.arena = arena};
	for (int i = 0; i < count; i++) {
		const Type *type = &values[i]->type;
		const char *name = unique_name(arena, &taken, input_name(arena, node, values[i]));
		inputs[i] = tensor_new(graph->ctx, name, type->dtype, type->rank, type->dims);
		map_set_ptr(&composer.tensors, values[i], inputs[i]);
	}
	compose_node(&composer, node);
	const Tensor **outputs = NEW_N(arena, const Tensor *, node->noutput);
	for (int i = 0; i < node->noutput; i++)
		if (node->outputs[i])
			outputs[i] = map_find_ptr(&composer.tensors, node->outputs[i]);
	Program *program =
		program_new(graph->ctx, node->op->name, count, inputs, node->noutput, outputs);
	arena_release(arena, mark);
	return program;
}

static bool
is_made_inside(int count, const Node *const *nodes, const Value *value)
{
	for (int i = 0; i < count; i++)
		if (value->def == nodes[i])
			return true;
	return false;
}

Program *
nodes_meaning(const Graph *graph, int count, const Node *const *nodes, int noutput,
              Value *const *outputs, Value **inputs)
{
	Arena *arena = ctx_scratch(graph->ctx);
	ArenaMark mark = arena_mark(arena);
	Composer composer = {graph, graph->ctx, arena, {.arena = arena}};
	Map taken = {.arena = arena};
	VEC(Tensor *) tensors = {0};
	for (int n = 0; n < count; n++)
		for (int i = 0; i < nodes[n]->ninput; i++) {
			Value *value = nodes[n]->inputs[i];
			if (!value || map_find_ptr(&composer.tensors, value) ||
			    is_made_inside(count, nodes, value))
				continue;
			const char *name = unique_name(arena, &taken, input_name(arena, nodes[n], value));
			const Type *type = &value->type;
			Tensor *tensor = tensor_new(graph->ctx, name, type->dtype, type->rank, type->dims);
			map_set_ptr(&composer.tensors, value, tensor);
			inputs[tensors.count] = value;
			vec_push(arena, &tensors, tensor);
		}
	for (int n = 0; n < count; n++)
		compose_node(&composer, nodes[n]);
	const Tensor **results = NEW_N(arena, const Tensor *, noutput);
	for (int i = 0; i < noutput; i++)
		results[i] = map_find_ptr(&composer.tensors, outputs[i]);
	Program *program =
		program_new(graph->ctx, "group", tensors.count, tensors.data, noutput, results);
	arena_release(arena, mark);
	return program;
}
