/* ToBasicBlockNormalForm (Relay's name): each node stands where it runs only as often as it must.
 *
 *     %t = Exp(%x)
 *     %y = If(%c) then_branch {              %y = If(%c) then_branch {
 *       %u = Neg(%t)                    =>     %t = Exp(%x)
 *       yield %u                               %u = Neg(%t)
 *     } else_branch { … }                      yield %u …
 *
 * What only one branch of an If reads is computed there. What does not change in the body of a Loop
 * or Scan is computed before it, if it cannot fail, or if the body surely runs: a loop that runs no
 * times must not begin to fail. It stays if its result is larger than what it reads, as of
 * Expand: the body would read more than it computes.
 *
 * needs    shapes, topological order
 * keeps    shapes, order, values
 * breaks   nothing
 */
#include "graph/infer.h"
#include "graph/meaning.h"
#include "passes/passes.h"
#include "passes/replace.h"

/* The node in another place: in front of `before` in the region, or at its end. False: it stays, as
 * data decides its dims, or it decides those of others. */
static bool
move(PassContext *context, const char *rule, Node *node, Region *region, Node *before)
{
	if (symbol_reads(region->graph, node->outputs[0]))
		return false;
	Node *made = node_in(node, region, before, node->inputs);
	bool is_same = node_infers_as(made, &node->outputs[0]->type);
	if (is_same)
		put_in_place(context, rule, node, made);
	else
		node_remove(made);
	return is_same;
}

/* ---- into a branch ---- */

static const Region *
region_of(const Use *use)
{
	return use->node ? use->node->parent : use->region;
}

/* Whether it gives an outer value the dims that are assumed of it here: only an outer one. */
static bool
enters(const Node *node)
{
	return node && node->op->code == OP_Enter;
}

/* The branch of an If beside the node in which all its readers are; NULL: there is none. */
static Region *
only_branch(const Node *node)
{
	const Value *y = node->outputs[0];
	const Region *inner = y->uses.count ? region_of(&y->uses.data[0]) : node->parent;
	while (inner && inner->parent != node->parent)
		inner = inner->parent;
	if (!inner || !inner->owner || inner->owner->op->code != OP_If)
		return NULL;
	for (int i = 0; i < y->uses.count; i++)
		if (!region_encloses(inner, region_of(&y->uses.data[i])) || enters(y->uses.data[i].node))
			return NULL;
	return (Region *)(uintptr_t)inner;
}

static bool
sink_in(PassContext *context, Region *region)
{
	bool changed = false;
	for (Node *node = region->last, *before; node; node = before) {
		before = node->prev;
		Region *branch = node_is_function(node) ? only_branch(node) : NULL;
		if (branch && pass_may_rewrite(context))
			changed |= move(context, "into the branch", node, branch, branch->first);
	}
	for (Node *node = region->first; node; node = node->next)
		for (int i = 0; i < node->nregion; i++)
			changed |= sink_in(context, node->regions[i]);
	return changed;
}

/* ---- out of a body ---- */

/* Whether a body runs at least once: a count above 0, no condition but true; or a row to scan. */
static bool
surely_runs(const Node *loop)
{
	int64_t rows;
	if (loop->op->code == OP_Scan) {
		const Type *scanned = &loop->inputs[loop->ninput - 1]->type;
		int64_t count, axis = 0;
		const int64_t *axes = attr_ints(loop, "scan_input_axes", &count);
		if (count > 0)
			axis = axes[count - 1] + (axes[count - 1] < 0 ? scanned->rank : 0);
		return scanned->rank > axis && dim_is_const(scanned->dims[axis], &rows) && rows > 0;
	}
	const Array *times = loop->inputs[0] ? value_fixed(loop->inputs[0]) : NULL;
	const Array *go_on = loop->inputs[1] ? value_fixed(loop->inputs[1]) : NULL;
	bool may_stop = loop->inputs[0] && (!times || dtype_load_i64(DT_I64, times->data, 0) < 1);
	bool may_not = loop->inputs[1] && (!go_on || !dtype_load_i64(DT_BOOL, go_on->data, 0));
	return !may_stop && !may_not;
}

/* Whether it gives something for all inputs, here and elsewhere: no index that data decides, no
 * quotient of integers, no dims that might not be equal. */
static bool
cannot_fail(const Graph *graph, const Node *node)
{
	const Program *program = node_meaning(graph, node);
	int open = 0;
	for (int i = 0; i < node->ninput; i++)
		open += node->inputs[i] && !type_is_static(&node->inputs[i]->type);
	if (open > 1 || (open == 1 && node->ninput > 1))
		return false;
	for (int i = 0; i < program->nstage; i++)
		for (ExprWalk walk = stage_walk(program->stages[i]); expr_step(&walk);)
			if (walk.e->has_check ||
			    ((walk.e->op == EX_quot || walk.e->op == EX_rem) && walk.e->arg[1]->has_read))
				return false;
	return true;
}

/* Whether all it reads is from outside, and its result is no larger than that. */
static bool
is_invariant(const Node *node)
{
	ExprCtx *ctx = node->parent->graph->ctx;
	const Dim *made = type_count(ctx, &node->outputs[0]->type);
	bool is_small = false;
	for (int i = 0; i < node->ninput; i++) {
		const Value *input = node->inputs[i];
		if (!input)
			continue;
		if (region_encloses(node->parent, input->region) && !value_fixed(input))
			return false;
		is_small |= dim_proves_le(ctx, made, type_count(ctx, &input->type));
	}
	return is_small;
}

static bool
hoist_from(PassContext *context, Region *body)
{
	Node *loop = body->owner;
	bool changed = false, runs = surely_runs(loop);
	for (Node *node = body->first, *next; node; node = next) {
		next = node->next;
		if (!node_is_function(node) || enters(node) || !is_invariant(node) ||
		    !(runs || cannot_fail(body->graph, node)) || !pass_may_rewrite(context))
			continue;
		changed |= move(context, "out of the loop", node, loop->parent, loop);
	}
	return changed;
}

static bool
hoist_in(PassContext *context, Region *region)
{
	bool changed = false;
	for (Node *node = region->first; node; node = node->next)
		for (int i = 0; i < node->nregion; i++) {
			changed |= hoist_in(context, node->regions[i]);
			if (node->op->code == OP_Loop || node->op->code == OP_Scan)
				changed |= hoist_from(context, node->regions[i]);
		}
	return changed;
}

bool
pass_ToBasicBlockNormalForm(Graph *graph, PassContext *context)
{
	bool changed = hoist_in(context, graph->body);
	changed |= sink_in(context, graph->body);
	if (changed)
		region_update_captures(graph->body);
	return changed;
}
