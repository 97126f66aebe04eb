/* DynamicToStatic (Relay's name): a shape that is computed, though it is known, is a constant.
 *
 *     %s = Shape(%x)
 *     %n = Gather(%s, 0)
 *     %t = Concat(%n, {18, 4, 8})              %t = {-1, 18, 4, 8}
 *     %y = Reshape(%x, %t)                =>   %y = Reshape(%x, %t)
 *
 * where %x: f32[N,18,32] and %y: f32[N,18,4,8]. Reshape can say what inference knows: numbers, 0
 * for a dim that stays, -1 for one that follows; and Expand: numbers, 1 for a dim that stays.
 * Exporters ask for the batch before each of them; what computed the shape has nobody left who
 * reads it.
 *
 * needs    shapes
 * keeps    shapes, order, values
 * breaks   nothing
 */
#include "graph/infer.h"
#include "passes/passes.h"
#include "passes/views.h"

/* The shape that expands x to these dims; NULL: it cannot be said. */
static Value *
expanding_shape(Graph *graph, const Value *x, int rank, const Dim *const *dims)
{
	int64_t shape[ARRAY_MAX_RANK];
	int behind = rank - x->type.rank;
	if (behind < 0)
		return NULL;
	for (int d = 0; d < rank; d++) {
		shape[d] = 1;
		bool stays = d >= behind && x->type.dims[d - behind] == dims[d];
		if (!stays && !dim_is_const(dims[d], &shape[d]))
			return NULL;
	}
	return graph_constant(graph, graph_fresh_name(graph, "shape"),
	                      array_vector_i64(graph->arena, rank, shape));
}

/* Operators whose second input is a shape, and how that is said. */
static const struct StaticRow {
	OpCode op;
	Value *(*shape)(Graph *graph, const Value *x, int rank, const Dim *const *dims);
} ROWS[] = {{OP_Reshape, view_shape}, {OP_Expand, expanding_shape}};

/* NULL: its shape is no computed one, or it is not known what that gives. */
static const struct StaticRow *
row_of(const Node *node)
{
	for (size_t i = 0; i < sizeof ROWS / sizeof *ROWS; i++) {
		const Value *y = node->op->code == ROWS[i].op ? node->outputs[0] : NULL;
		if (y && y->type.kind == TYPE_TENSOR && y->type.rank >= 0 && !value_fixed(node->inputs[1]))
			return &ROWS[i];
	}
	return NULL;
}

static void
set_shape(Node *node, Value *shape, int64_t allowzero)
{
	node_set_input(node, 1, shape);
	if (op_attr(node->op, "allowzero") && attr_int(node, "allowzero") != allowzero)
		node_set_int(node, "allowzero", allowzero);
}

static bool
make_static(Graph *graph, PassContext *context, Node *node, const struct StaticRow *row)
{
	Value *computed = node->inputs[1];
	const Type type = node->outputs[0]->type;
	int64_t allowzero = op_attr(node->op, "allowzero") ? attr_int(node, "allowzero") : 0;
	Value *shape = row->shape(graph, node->inputs[0], type.rank, type.dims);
	if (!shape)
		return false;
	set_shape(node, shape, 0);
	if (node_try_infer(node) && type_equal(&node->outputs[0]->type, &type)) {
		pass_log(context, "shape", node->loc.node, shape->name, NULL);
		return true;
	}
	set_shape(node, computed, allowzero); /* a quotient that inference does not see through */
	node_infer(graph, node);
	return false;
}

bool
pass_DynamicToStatic(Graph *graph, PassContext *context)
{
	bool changed = false;
	for (Node *node = NULL; (node = region_step(graph->body, node));) {
		const struct StaticRow *row = row_of(node);
		changed |= row && pass_may_rewrite(context) && make_static(graph, context, node, row);
	}
	region_update_captures(graph->body);
	return changed;
}
