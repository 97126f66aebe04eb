/* An If that shapes and constants decide: its side stands in its place.
 *
 *     c = Equal(Size(Shape(x)), 4);  y = If(c) {then: a = Relu(x) => (a)   x: f32[1,3,8,8]
 *                                               else: … => (…)}
 *  => c = …;  y is a = Relu(x)
 *
 * The other side is not read. It may be nonsense: the function of AffineGrid splits five dims in
 * four on its way for images, where the input is a volume.
 */
#include <string.h>

#include "graph/infer.h"
#include "onnx/import.h"

static const Onnx__GraphProto *
find_side(const Draft *draft)
{
	Value *condition = draft_input(draft, 0);
	int64_t truth;
	if (strcmp(draft->op, "If") != 0 || *draft->domain || !condition)
		return NULL;
	const Known *known = value_known(draft->import->graph, condition);
	if (!known || known->count != 1 || !known->value[0] || !dim_is_const(known->value[0], &truth))
		return NULL;
	for (int i = 0; i < draft->graphs.count; i++)
		if (strcmp(draft->graphs.data[i].name, truth ? "then_branch" : "else_branch") == 0)
			return draft->graphs.data[i].proto;
	return NULL;
}

bool
branch_inline(Draft *draft, Scope *scope)
{
	Import *import = draft->import;
	const Onnx__GraphProto *side = find_side(draft);
	if (!side)
		return false;
	if ((size_t)draft->outputs.count != side->n_output)
		draft_fail(draft, "graph '%s' gives %zu results, expected %d", text_of(side->name),
		           side->n_output, draft->outputs.count);
	Scope inner = {.outer = scope, .meanings = {.arena = import->arena}};
	if (side->n_input > 0)
		draft_fail(
			draft,
			"graph '%s' has formal inputs, expected none: it uses the values around the node",
			text_of(side->name));
	import_enter(import, &draft->loc);
	import_initializers(import, &inner, side);
	import_nodes(import, draft->region, &inner, side->n_node, side->node);
	for (int i = 0; i < draft->outputs.count; i++) {
		const Meaning *result = import_result(&inner, side, (size_t)i, &draft->loc);
		if (*draft->outputs.data[i])
			scope_share(import, scope, draft->outputs.data[i], result, &draft->loc);
	}
	import->region_depth--;
	return true;
}
