/* Products and convolutions that ONNX Runtime's optimiser joins with what stands beside them.
 *
 *     %y = com.microsoft.FusedMatMul(%a, %b) {transA=1, alpha=0.5}
 *     =>
 *     %y = Mul(MatMul(Transpose(%a), %b), 0.5)
 *
 *     %y = com.microsoft.FusedConv(%x, %w, %b, %z) {activation="Clip", activation_params=[0, 6]}
 *     =>
 *     %y = Clip(Add(Conv(%x, %w, %b), %z), 0, 6)
 */
#include <string.h>

#include "graph/expand.h"
#include "graph/inner.h"
#include "graph/ops/helpers.h"

enum { A, B };

/* A node that takes those attributes of the joined one that it has, too. */
static Value *
standard(const Expander *m, const char *op, int ninput, Value *const *inputs)
{
	Node *made = expander_node(m, op, ninput, inputs, 1);
	for (int i = 0; i < m->node->nattr; i++)
		if (op_attr(made->op, m->node->attrs[i].name))
			node_add_attr(made, &m->node->attrs[i]);
	return expander_result(m, made);
}

/* ---- FusedMatMul ----------------------------------------------------------------------------- */

/* How the axes of an operand are ordered for MatMul; false: as they are. transBatch says that the
 * rows stand before the batch, and trans that the last two axes are exchanged (behind that). */
static bool
operand_order(const Node *node, int operand, int rank, int64_t *order)
{
	bool is_turned = attr_int(node, operand == A ? "transA" : "transB") && rank > 1;
	bool is_outside = attr_int(node, operand == A ? "transBatchA" : "transBatchB") && rank > 2;
	for (int d = 0; d < rank; d++)
		order[d] = is_outside && d < rank - 2 ? d + 1 : d;
	if (is_outside)
		order[rank - 2] = 0;
	if (is_turned) {
		int64_t last = order[rank - 1];
		order[rank - 1] = order[rank - 2];
		order[rank - 2] = last;
	}
	return is_turned || is_outside;
}

void
infer_FusedMatMul(Infer *infer)
{
	Type types[2];
	const Dim *dims[2][MAX_RANK];
	int64_t order[MAX_RANK];
	for (int i = 0; i < 2; i++) {
		const Type *x = infer_input(infer, i);
		operand_order(infer->node, i, x->rank, order);
		for (int d = 0; d < x->rank; d++)
			dims[i][d] = x->dims[order[d]];
		types[i] = *x;
		types[i].dims = dims[i];
	}
	infer_product(infer, &types[A], &types[B], types[A].dtype);
}

static Value *
ordered(const Expander *m, int operand)
{
	Value *x = m->node->inputs[operand];
	int64_t *order = NEW_N(m->region->graph->arena, int64_t, x->type.rank + 1);
	if (!operand_order(m->node, operand, x->type.rank, order))
		return x;
	return expander_transposed(m, x, x->type.rank, order);
}

void
expand_FusedMatMul(Node *node)
{
	Expander m = {node->parent, node, node};
	double alpha = (double)attr_float(node, "alpha");
	Value *y = expander_binary(&m, "MatMul", ordered(&m, A), ordered(&m, B));
	if (alpha != 1)
		y = expander_binary(&m, "Mul", y, expander_number(&m, y->type.dtype, alpha));
	node_become(node, y);
}

/* ---- activations ----------------------------------------------------------------------------- */

/* Limits are inputs of Clip. */
static Value *
clipped(const Expander *m, Value *y, const Attr *limits)
{
	if (!limits || limits->count != 2)
		fail(&m->node->loc, "activation Clip needs two activation_params, its limits");
	Value *inputs[] = {y, expander_number(m, y->type.dtype, (double)limits->floats[0]),
	                   expander_number(m, y->type.dtype, (double)limits->floats[1])};
	return expander_result(m, expander_node(m, "Clip", 3, inputs, 1));
}

/* What the attribute `activation` names, of y. Its parameters are a list (FusedConv), in the order
 * of the activation's own, or attributes activation_alpha … (FusedGemm). */
static Value *
activated(const Expander *m, Value *y)
{
	static const char *const known[] = {"Relu",        "LeakyRelu",      "Elu",      "Selu",
	                                    "Sigmoid",     "Tanh",           "Softplus", "Softsign",
	                                    "HardSigmoid", "ThresholdedRelu"};
	const char *name = attr_string(m->node, "activation");
	bool has_list = op_attr(m->node->op, "activation_params");
	const Attr *list = has_list ? attr_find(m->node, "activation_params") : NULL;
	if (!name || !*name)
		return y;
	if (has_list && strcmp(name, "Clip") == 0)
		return clipped(m, y, list);
	size_t at = 0;
	while (at < countof(known) && strcmp(known[at], name) != 0)
		at++;
	if (at == countof(known))
		fail_unsupported(&m->node->loc, "activation %s is not supported", name);
	Node *made = expander_node(m, name, 1, &y, 1);
	for (int i = 0; i < made->op->nattr; i++) {
		const char *own = made->op->attrs[i].name;
		const char *outer = arena_printf(m->region->graph->arena, "activation_%s", own);
		Attr number = {.name = own, .kind = ATTR_FLOAT};
		bool is_given = has_list ? list && i < list->count : attr_has(m->node, outer);
		if (is_given) {
			number.f = has_list ? list->floats[i] : attr_float(m->node, outer);
			node_add_attr(made, &number);
		}
	}
	return expander_result(m, made);
}

/* ---- FusedConv, FusedGemm -------------------------------------------------------------------- */

enum { X, W, BIAS, ADDED };

void
infer_FusedConv(Infer *infer)
{
	infer_Conv(infer);
	const Type *y = &infer->node->outputs[0]->type, *z = infer_input(infer, ADDED);
	infer_rank(infer, ADDED, y->rank);
	for (int d = 0; z && d < y->rank; d++)
		infer_equal(infer, z->dims[d], y->dims[d], "dims of the result and what is added");
}

void
expand_FusedConv(Node *node)
{
	Expander m = {node->parent, node, node};
	Value *z = expander_input(node, ADDED);
	Value *y = standard(&m, "Conv", expander_input(node, BIAS) ? 3 : 2, node->inputs);
	node_become(node, activated(&m, z ? expander_binary(&m, "Add", y, z) : y));
}

void
expand_FusedGemm(Node *node)
{
	Expander m = {node->parent, node, node};
	node_become(node, activated(&m, standard(&m, "Gemm", node->ninput, node->inputs)));
}
