/* FoldBias: constants added per channel become the bias of what comes before.
 *
 *     %c = Conv(%x, %w)
 *     %y = Add(%c, %t)       =>   %y = Conv(%x, %w, %b)      b[f] = t[f, 0, 0]
 *
 * Stated on expressions: the operator before has an optional input that is absent, or a constant,
 * and with it its meaning is what it was, plus this input at one dim of the result. Which input
 * that is, and whether Gemm's beta is 1, nobody asks: the meaning of the new node is looked at. A
 * bias that is there already is added to. Sums are re-associated: -O2.
 *
 * needs    shapes, topological order
 * keeps    shapes, order; values but those of sums, which are joined in another order
 * breaks   nothing
 */
#include <string.h>

#include "expr/scalar/affine.h"
#include "graph/infer.h"
#include "graph/meaning.h"
#include "passes/passes.h"
#include "program/forms.h"

/* y = x + shift[i], where i is the index along `channel` of x. */
typedef struct Shift {
	Value *x;
	const Array *data; /* as many elements as the channel has */
	int channel;
} Shift;

/* ---- the addition ---- */

/* What `node` adds to its one variable operand; false when it does something else. */
static bool
operands_of(const Node *node, Value **x, Value **constant)
{
	*x = *constant = NULL;
	if (node->ninput != 2 || node->noutput != 1 || node->nregion || !node_has_meaning(node))
		return false;
	for (int i = 0; i < 2; i++) {
		Value *value = node->inputs[i];
		bool is_constant = value && value->constant && !value->is_default;
		*(is_constant ? constant : x) = value;
	}
	return *x && *constant && dtype_is_float((*x)->type.dtype);
}

static const Expr *
without_cast(const Expr *e)
{
	return e->op == EX_cast && dtype_is_float((DType)e->type) ? e->arg[0] : e;
}

/* Whether a read is of element [i0, i1, …] at its own loops, or [channel] for a rank of 1. */
static bool
reads_in_place(const Expr *e, int nloop)
{
	bool is_same = e->op == EX_read && e->argc == nloop;
	for (int d = 0; is_same && d < nloop; d++)
		is_same = (e->arg[d]->op == EX_iter && e->arg[d]->iter == d) ||
		          (expr_is_zero(e->arg[d]) && dim_is(e->tensor->hi[d], 1));
	return is_same;
}

/* The only stage of the node is x + constant, and gives what x is. */
static bool
is_addition(Graph *graph, const Node *node, const Value *x, const Value *constant)
{
	const Program *program = program_flatten(graph->arena, node_meaning(graph, node));
	Value *values[2];
	if (program->nstage != 1 || program->stages[0]->kind != STAGE_map ||
	    node_meaning_inputs(node, values) != 2)
		return false;
	const Stage *stage = program->stages[0];
	const Expr *sum = without_cast(stage->body[0]);
	if (sum->op != EX_add || !type_equal(&node->outputs[0]->type, &x->type))
		return false;
	const Expr *a = without_cast(sum->arg[0]), *b = without_cast(sum->arg[1]);
	const Tensor *variable = program->inputs[values[0] == x ? 0 : 1];
	const Expr *kept = a->op == EX_read && a->tensor == variable ? a : b;
	const Expr *added = kept == a ? b : a;
	return kept->op == EX_read && kept->tensor == variable && reads_in_place(kept, stage->nloop) &&
	       added->op == EX_read && added->tensor != variable && constant->type.rank <= stage->nloop;
}

/* The one dim of x that the constant runs along. */
static bool
find_channel(const Value *x, const Value *constant, int *channel)
{
	int behind = x->type.rank - constant->type.rank, count = 0;
	int64_t extent, own;
	if (behind < 0)
		return false;
	for (int d = 0; d < constant->type.rank; d++) {
		if (!dim_is_const(constant->type.dims[d], &own) || own == 1)
			continue;
		if (!dim_is_const(x->type.dims[behind + d], &extent) || extent != own)
			return false;
		*channel = behind + d;
		count++;
	}
	return count == 1;
}

static bool
shift_of(Graph *graph, const Node *node, Shift *shift)
{
	Value *constant;
	if (!operands_of(node, &shift->x, &constant) ||
	    !find_channel(shift->x, constant, &shift->channel) ||
	    !is_addition(graph, node, shift->x, constant))
		return false;
	shift->data = constant->constant;
	return true;
}

/* ---- the operator before ---- */

/* The bias with the shift: [C]. NULL: what stands there is no such bias, or the sum none. */
static const Array *
new_bias(Graph *graph, const Value *old, const Array *shift)
{
	int64_t count = array_count(shift);
	const Array *bias = old ? old->constant : NULL;
	if (old && (!bias || old->is_default || bias->type != shift->type || bias->rank != 1 ||
	            bias->dims[0] != count))
		return NULL;
	Array *sum = array_new(graph->arena, shift->type, 1, &count);
	for (int64_t i = 0; i < count; i++) {
		double first = bias ? dtype_load_f64(bias->type, bias->data, i) : 0;
		double then = dtype_load_f64(shift->type, shift->data, i);
		AffineStep steps[] = {{EX_mul, 1}, {EX_add, first}, {EX_add, then}}; /* behind products */
		Affine joined;
		if (!affine_join(sum->type, countof(steps), steps, &joined))
			return NULL;
		dtype_store_f64(sum->type, sum->data, i, joined.shift);
	}
	return sum;
}

/* The result is something, plus the bias along `channel`, which nothing else reads. */
static bool
adds_bias(Graph *graph, const Node *node, const Value *bias, int channel)
{
	const Program *program = node_meaning(graph, node);
	Value **values = NEW_N(graph->arena, Value *, node->ninput + 1);
	int count = node_meaning_inputs(node, values);
	const Tensor *tensor = NULL, *result = program->outputs[0];
	for (int i = 0; i < count; i++)
		if (values[i] == bias)
			tensor = program->inputs[i];
	if (!tensor || !result || !result->stage || result->stage->kind != STAGE_map)
		return false;
	for (int i = 0; i < program->nstage; i++)
		for (int k = 0; program->stages[i] != result->stage && k < program->stages[i]->nbody; k++)
			if (expr_reads(program->stages[i]->body[k], tensor))
				return false;
	const Expr *sum = without_cast(result->stage->body[0]);
	if (sum->op != EX_add || result->stage->scan)
		return false;
	for (int side = 0; side < 2; side++) {
		const Expr *read = without_cast(sum->arg[side]);
		if (read->op == EX_read && read->tensor == tensor && read->argc == 1 &&
		    read->arg[0]->op == EX_iter && read->arg[0]->iter == channel)
			return !expr_reads(sum->arg[1 - side], tensor);
	}
	return false;
}

/* The operator again, with another input `index`. */
static Node *
with_input(Graph *graph, Node *node, int index, Value *value)
{
	int ninput = index < node->ninput ? node->ninput : index + 1;
	Value **inputs = NEW_N(graph->arena, Value *, ninput);
	memcpy(inputs, node->inputs, (size_t)node->ninput * sizeof *inputs);
	inputs[index] = value;
	const char *name = "";
	Node *made = node_new(node->parent, node, op_text(graph->arena, node->op), &node->loc, ninput,
	                      inputs, 1, &name);
	for (int i = 0; i < node->nattr; i++)
		node_add_attr(made, &node->attrs[i]);
	return made;
}

/* NULL: no input of the node is a bias. */
static Node *
with_bias(Graph *graph, Node *node, const Shift *shift)
{
	for (int i = 0; i < node->op->ninput; i++) {
		const Value *old = i < node->ninput ? node->inputs[i] : NULL;
		const ParamSpec *param = &node->op->inputs[i];
		if (!param->optional || param->variadic || i > node->ninput)
			continue;
		const Array *data = new_bias(graph, old, shift->data);
		if (!data)
			continue;
		Value *bias = graph_constant(graph, graph_fresh_name(graph, "bias"), data);
		Node *made = with_input(graph, node, i, bias);
		if (node_try_infer(made) && /* else it takes no bias of this length */
		    type_equal(&made->outputs[0]->type, &shift->x->type) &&
		    adds_bias(graph, made, bias, shift->channel))
			return made;
		node_remove(made);
	}
	return NULL;
}

static bool
fold_node(Graph *graph, PassContext *context, Node *node)
{
	Shift shift;
	if (!pass_may_rewrite(context) || !shift_of(graph, node, &shift))
		return false;
	Node *producer = shift.x->def;
	if (!producer || producer->parent != node->parent || shift.x->uses.count != 1 ||
	    value_is_graph_output(shift.x) || producer->noutput != 1 || producer->nregion ||
	    node_effect(producer) != EFFECT_pure || !node_has_meaning(producer))
		return false;
	Node *made = with_bias(graph, producer, &shift);
	if (!made)
		return false;
	node_add_origins(made, producer);
	node_add_origins(made, node);
	pass_log(context, "bias", node->loc.node, producer->loc.node, NULL);
	value_replace_uses(node->outputs[0], made->outputs[0]);
	node_remove(node);
	node_remove(producer);
	return true;
}

static bool
fold_region(Graph *graph, PassContext *context, Region *region)
{
	bool changed = false;
	for (Node *node = region->first, *next; node; node = next) {
		next = node->next;
		for (int i = 0; i < node->nregion; i++)
			changed |= fold_region(graph, context, node->regions[i]);
		changed |= fold_node(graph, context, node);
	}
	return changed;
}

bool
pass_FoldBias(Graph *graph, PassContext *context)
{
	return fold_region(graph, context, graph->body);
}
