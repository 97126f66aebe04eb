/* FoldConstant: evaluate nodes whose inputs are all known.
 *
 *     %s = Shape(%x)            %x: f32[2,3]
 *     %d = Gather(%s, %zero)    =>   %d = {2}
 *
 * Two ways for an output to be known: inference knows its integers, or all inputs are constants and
 * the interpreter computes it exactly as a kernel would. Random and stateful nodes stay,
 * initializers the caller may override are not constants, and results above the limit
 * (--fold-limit, config FoldConstant.limit in bytes) are left alone with a line in the log, unless
 * they are no larger than what they replace. Where a machine is given, what they are made of may
 * stay for others: a table that is also needed transposed is transposed here, not at each run. A
 * file that optimize writes would grow by it. Weights of 4 bits, and of 8 with a scale for each
 * block, stay as they are where only products read them: these wait for memory, and unpack them on
 * the way (lower/codes.c; config FoldConstant.unpack=1 folds them).
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
	bool unpacks; /* weights of few bits that products would unpack */
	bool has_machine;
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

/* Whether the result may be stored: small, or no larger than the constants it replaces, or, for a
 * machine, is made of. */
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
		if (node->inputs[i] && (folder->has_machine || node->inputs[i]->uses.count == 1))
			replaced += bytes_of_type(&node->inputs[i]->type);
	if (made <= folder->limit || made <= replaced)
		return true;
	const char *reason = arena_printf(folder->context->arena, "%lld bytes exceed --fold-limit %lld",
	                                  (long long)made, (long long)folder->limit);
	pass_log(folder->context, "evaluate", node->loc.node, NULL, reason);
	return false;
}

/* Whether the user is a product that unpacks its weights of so many bits on this machine. */
static bool
unpacks(const Folder *folder, const Use *use, int bits)
{
	const Node *user = use->node;
	bool is_product = user && (user->op->code == OP_MatMul || user->op->code == OP_Gemm);
	if (!is_product || use->index != 1 || user->inputs[1]->type.rank != 2)
		return false;
	const Target *target = folder->context->target;
	const Type *w = &user->inputs[1]->type;
	bool is_turned = user->op->code == OP_Gemm && attr_int(user, "transB");
	int64_t terms, columns;
	return dim_is_const(w->dims[is_turned], &terms) &&
	       dim_is_const(w->dims[!is_turned], &columns) &&
	       target_unpacks(target, bits, columns, terms);
}

/* Weights of few bits that nothing but such products reads. Where no machine is given (optimize),
 * all quantised numbers stay: the file would grow, and a runtime that computes with integers would
 * find floats. */
static bool
stays_quantised(const Folder *folder, const Node *node)
{
	if (folder->unpacks || node->op->code != OP_DequantizeLinear)
		return false;
	if (!folder->has_machine)
		return true;
	if (node->outputs[0]->type.dtype != DT_F32)
		return false;
	const Value *y = node->outputs[0];
	int bits = dtype_bits(node->inputs[0]->type.dtype);
	bool is_unpacked =
		y->uses.count > 0 && (bits == 4 || (bits == 8 && attr_int(node, "block_size")));
	for (int i = 0; i < y->uses.count && is_unpacked; i++)
		is_unpacked = unpacks(folder, &y->uses.data[i], bits);
	return is_unpacked;
}

static void
fold_by_value(Folder *folder, const Node *node)
{
	if (node->op->effect != EFFECT_pure || !node_has_meaning(node) || !inputs_are_constant(node) ||
	    stays_quantised(folder, node) || !is_within_limit(folder, node))
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
		Array *known = value_known_array(folder->graph->arena, value);
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
		if (pass_may_rewrite(folder->context))
			fold_node(folder, node);
	}
}

bool
pass_FoldConstant(Graph *graph, PassContext *context)
{
	const Target *target = context->target;
	Folder folder = {.graph = graph,
	                 .context = context,
	                 .limit = pass_config_int(context, "FoldConstant.limit", DEFAULT_LIMIT),
	                 .unpacks = pass_config_int(context, "FoldConstant.unpack", 0) != 0,
	                 .has_machine = target && target->device};
	fold_region(&folder, graph->body);
	if (folder.changed)
		graph_infer(graph); /* assumptions and symbols are of what is left */
	region_update_captures(graph->body);
	return folder.changed;
}
