/* FoldConstant: evaluate nodes whose inputs are all known.
 *
 *     %s = Shape(%x)            %x: f32[2,3]
 *     %d = Gather(%s, %zero)    =>   %d = {2}
 *
 * Two ways for an output to be known: inference knows its integers, or all inputs are constants and
 * the interpreter computes it exactly as a kernel would. Random and stateful nodes stay,
 * initializers the caller may override are not constants, and results above the limit
 * (--fold-limit, config FoldConstant.limit in bytes) are left alone with a line in the log, unless
 * they are no larger than what they replace.
 *
 * needs    shapes, topological order
 * keeps    shapes, order, values
 * breaks   nothing
 */
#include <string.h>

#include "expr/interp/interp.h"
#include "graph/infer.h"
#include "graph/meaning.h"
#include "passes/passes.h"

enum { DEFAULT_LIMIT = 16 << 20 };

typedef struct Folder {
	Graph *graph;
	PassContext *context;
	int64_t limit;
	bool changed;
	/* one evaluation, for try_run() */
	const Program *program;
	const Array *const *inputs;
	Array **outputs;
} Folder;

static const Array *
constant_of(const Value *value)
{
	return value ? value_fixed(value) : NULL;
}

static int64_t
bytes_of_type(const Type *type)
{
	int64_t count = 1, extent;
	for (int d = 0; d < type->rank; d++)
		if (!dim_is_const(type->dims[d], &extent) || __builtin_mul_overflow(count, extent, &count))
			return INT64_MAX;
	size_t bytes;
	return dtype_bytes(type->dtype, count, &bytes) ? (int64_t)bytes : INT64_MAX;
}

/* The integers inference knows, as an array; NULL unless all of them are numbers. */
static Array *
array_of_known(Arena *arena, const Value *value)
{
	const Known *known = value->known;
	const Type *type = &value->type;
	if (!known || type->kind != TYPE_TENSOR || type->rank < 0 || !dtype_is_integer(type->dtype))
		return NULL;
	int64_t extents[ARRAY_MAX_RANK], number;
	for (int d = 0; d < type->rank; d++)
		if (!dim_is_const(type->dims[d], &extents[d]))
			return NULL;
	Array *array = array_new(arena, type->dtype, type->rank, extents);
	for (int i = 0; i < known->count; i++) {
		if (!known->value[i] || !dim_is_const(known->value[i], &number))
			return NULL;
		dtype_store_i64(array->type, array->data, i, number);
	}
	return array;
}

static void
replace_output(Folder *folder, const Node *node, int index, const Array *data)
{
	Value *old = node->outputs[index];
	Value *constant =
		graph_constant(folder->graph, graph_fresh_name(folder->graph, old->name), data);
	value_replace_uses(old, constant);
	pass_log(folder->context, "evaluate", node->loc.node, constant->name, NULL);
	folder->changed = true;
}

static void
evaluate(void *arg)
{
	Folder *folder = arg;
	program_eval(folder->graph->arena, folder->program, NULL, folder->inputs, folder->outputs);
}

static bool
inputs_are_constant(const Node *node)
{
	for (int i = 0; i < node->ninput; i++)
		if (node->inputs[i] && !constant_of(node->inputs[i]))
			return false;
	return true;
}

/* Whether the result may be stored: small, or no larger than the constants it replaces. */
static bool
is_within_limit(const Folder *folder, const Node *node)
{
	int64_t made = 0, replaced = 0;
	for (int i = 0; i < node->noutput; i++) {
		if (!node->outputs[i])
			continue;
		int64_t bytes = bytes_of_type(&node->outputs[i]->type);
		if (bytes == INT64_MAX)
			return false;
		made += bytes;
	}
	for (int i = 0; i < node->ninput; i++)
		if (node->inputs[i] && node->inputs[i]->uses.count == 1)
			replaced += bytes_of_type(&node->inputs[i]->type);
	if (made <= folder->limit || made <= replaced)
		return true;
	const char *reason = arena_printf(folder->context->arena, "%lld bytes exceed --fold-limit %lld",
	                                  (long long)made, (long long)folder->limit);
	pass_log(folder->context, "evaluate", node->loc.node, NULL, reason);
	return false;
}

static void
fold_by_value(Folder *folder, const Node *node)
{
	if (node->op->effect != EFFECT_pure || !node_has_meaning(node) || !inputs_are_constant(node) ||
	    !is_within_limit(folder, node))
		return;
	Arena *arena = folder->graph->arena;
	Value **values = NEW_N(arena, Value *, node->ninput + 1);
	int count = node_meaning_inputs(node, values);
	const Array **inputs = NEW_N(arena, const Array *, count + 1);
	for (int i = 0; i < count; i++)
		inputs[i] = constant_of(values[i]);
	folder->program = node_meaning(folder->graph, node);
	folder->inputs = inputs;
	folder->outputs = NEW_N(arena, Array *, node->noutput + 1);
	Failure failure;
	if (!try_run(evaluate, folder, &failure)) { /* it will fail, or not be reached, when run */
		pass_log(folder->context, "evaluate", node->loc.node, NULL,
		         arena_strdup(folder->context->arena, failure.text));
		return;
	}
	for (int i = 0; i < node->noutput; i++)
		if (node->outputs[i] && node->outputs[i]->uses.count > 0)
			replace_output(folder, node, i, folder->outputs[i]);
}

static void
fold_node(Folder *folder, Node *node)
{
	if (node->op->effect != EFFECT_pure)
		return;
	bool all_known = node->noutput > 0;
	for (int i = 0; i < node->noutput; i++) {
		Value *value = node->outputs[i];
		if (!value || value->uses.count == 0)
			continue;
		Array *known = array_of_known(folder->graph->arena, value);
		if (known)
			replace_output(folder, node, i, known);
		else
			all_known = false;
	}
	if (!all_known)
		fold_by_value(folder, node);
}

static void
fold_region(Folder *folder, Region *region)
{
	for (Node *node = region->first; node; node = node->next) {
		if (folder->changed)
			node_infer(folder->graph, node);
		for (int i = 0; i < node->nregion; i++)
			fold_region(folder, node->regions[i]);
		fold_node(folder, node);
	}
}

bool
pass_FoldConstant(Graph *graph, PassContext *context)
{
	Folder folder = {.graph = graph,
	                 .context = context,
	                 .limit = pass_config_int(context, "FoldConstant.limit", DEFAULT_LIMIT)};
	fold_region(&folder, graph->body);
	if (folder.changed)
		graph_infer(graph); /* assumptions and symbols are of what is left */
	region_update_captures(graph->body);
	return folder.changed;
}
