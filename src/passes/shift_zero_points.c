/* ShiftZeroPoints: store quantised numbers in the type in which their zero point is 0.
 *
 *     %q: i8 = QuantizeLinear(%x, s, -128)        %q: u8 = QuantizeLinear(%x, s, 0)
 *     %y = DequantizeLinear(%q, s, -128)     =>   %y = DequantizeLinear(%q, s, 0)
 *
 * What is never negative, behind a Relu, has the lowest byte as its zero point: 0 of u8, -128 of
 * i8, and exporters write both. Sums of products need less without: no padding by a zero point, no
 * sum of weights, which the library makes for i8 too. Of u8 with 128 i8 is made.
 *
 * Only where all users are DequantizeLinear, so that nobody sees the bytes.
 *
 * needs    shapes, topological order
 * keeps    shapes but the type of the bytes, order, values
 * breaks   nothing
 */
#include "graph/infer.h"
#include "passes/passes.h"
#include "passes/quantised.h"

/* How far below the other type's numbers those of this type lie: i8 128, u8 -128. */
static int64_t
shift_of(DType type)
{
	return type == DT_I8 ? 128 : -128;
}

/* The zero point in the other type; NULL: it has none there, or isn't known. */
static Array *
shifted(Arena *arena, const Value *zero)
{
	const Array *array = zero ? value_fixed(zero) : NULL;
	if (!array || !dtype_is_byte(array->type))
		return NULL;
	DType other = array->type == DT_I8 ? DT_U8 : DT_I8;
	Array *made = array_new(arena, other, array->rank, array->dims);
	for (int64_t i = 0; i < array_count(array); i++)
		dtype_store_i64(other, made->data, i,
		                dtype_load_i64(array->type, array->data, i) + shift_of(array->type));
	return made;
}

/* Weights are best as i8, and are constant. */
static bool
becomes_zero(const Node *node)
{
	const Value *q = node->outputs[0], *zero = expander_input(node, 2);
	const Array *array = zero ? value_fixed(zero) : NULL;
	bool is = quantised_are_bytes(q) && array && array_count(array) > 0 &&
	          attr_int(node, "output_dtype") == 0 && !value_is_graph_output(q) &&
	          !value_fixed(node->inputs[0]);
	for (int64_t i = 0; is && i < array_count(array); i++)
		is = dtype_load_i64(array->type, array->data, i) == -shift_of(array->type);
	for (int i = 0; is && i < q->uses.count; i++) {
		const Node *user = q->uses.data[i].node;
		is = user && user->op->code == OP_DequantizeLinear && q->uses.data[i].index == 0;
		is = is && expander_input(user, 2) && value_fixed(user->inputs[2]);
	}
	return is;
}

static void
set_zero(Graph *graph, Node *node)
{
	node_set_input(node, 2,
	               graph_constant(graph, graph_fresh_name(graph, "zero"),
	                              shifted(graph->arena, node->inputs[2])));
}

static bool
shift_region(PassContext *context, Region *region)
{
	bool changed = false;
	for (Node *node = region->first; node; node = node->next) {
		for (int i = 0; i < node->nregion; i++)
			changed |= shift_region(context, node->regions[i]);
		if (node->op->code != OP_QuantizeLinear || !becomes_zero(node) ||
		    !pass_may_rewrite(context))
			continue;
		pass_log(context, "zero point", node->loc.node, NULL, NULL);
		set_zero(region->graph, node);
		node_infer(region->graph, node);
		for (int i = 0; i < node->outputs[0]->uses.count; i++)
			set_zero(region->graph, (Node *)(uintptr_t)node->outputs[0]->uses.data[i].node);
		changed = true;
	}
	return changed;
}

bool
pass_ShiftZeroPoints(Graph *graph, PassContext *context)
{
	return shift_region(context, graph->body);
}
