/* What ONNX Runtime's optimiser joins: a sum, and an activation or a normalisation behind it. Their
 * meaning is a text (ops.def), but for that of EmbedLayerNormalization:
 *
 *     %at  = Add(Gather(%words, %ids), Slice(%positions, 0, S))
 *     %sum = Add(%at, Gather(%segments, %segment_ids))
 *     %y   = LayerNormalization(%sum, %gamma, %beta)
 */
#include "graph/expand.h"
#include "graph/inner.h"

/* A vector along the last axis of the first input. */
static void
check_last(Infer *infer, int index)
{
	const Type *x = infer_input(infer, 0);
	infer_vector(infer, index, x->dims[x->rank - 1]);
}

void
infer_biased(Infer *infer)
{
	infer_least_rank(infer, 0, 1);
	check_last(infer, 1);
	infer_same(infer);
}

/* What is skipped has the dims of the input, or lacks the batch, or has one of 1. */
static void
infer_skip(Infer *infer)
{
	const Type *x = infer_input(infer, 0), *skip = infer_input(infer, 1);
	if (x->rank < 2 || x->rank > 3 || skip->rank < 2 || skip->rank > x->rank)
		infer_fail(infer, "the inputs have ranks %d and %d, expected 3 or 2, and no more", x->rank,
		           skip->rank);
	for (int d = 1; d <= skip->rank; d++) {
		const Dim *whole = x->dims[x->rank - d], *dim = skip->dims[skip->rank - d];
		if (d < 3 || !dim_is(dim, 1))
			infer_equal(infer, whole, dim, "dims of the input and what is skipped");
	}
	infer_as_first(infer, 0, x->dtype);
	infer_as_first(infer, 3, x->dtype);
	for (int i = 1; i <= 2; i++) {
		if (infer_wants(infer, i))
			fail_unsupported(&infer->node->loc, "the result %s is not supported",
			                 infer->node->op->outputs[i].name);
		infer_set_unknown(infer, i, DT_F32);
	}
}

void
infer_SkipLayerNormalization(Infer *infer)
{
	infer_skip(infer);
	for (int i = 2; i <= 4; i++)
		check_last(infer, i);
}

void
infer_SkipSimplifiedLayerNormalization(Infer *infer)
{
	infer_skip(infer);
	for (int i = 2; i <= 3; i++)
		check_last(infer, i);
}

/* ---- EmbedLayerNormalization ----------------------------------------------------------------- */

enum { IDS, SEGMENT_IDS, WORDS, PLACES, SEGMENTS, GAMMA, BETA, MASK, PLACE_IDS };

void
infer_EmbedLayerNormalization(Infer *infer)
{
	const Type *ids = infer_input(infer, IDS), *words = infer_input(infer, WORDS);
	static const int matrices[] = {IDS, SEGMENT_IDS, WORDS, PLACES, SEGMENTS, MASK, PLACE_IDS};
	for (size_t i = 0; i < countof(matrices); i++)
		infer_rank(infer, matrices[i], 2);
	if ((infer_input(infer, SEGMENT_IDS) != NULL) != (infer_input(infer, SEGMENTS) != NULL))
		infer_fail(infer, "segment_ids without segment_embedding, or the other way round");
	for (int i = GAMMA; i <= BETA; i++)
		infer_vector(infer, i, words->dims[1]);
	const Dim *dims[] = {ids->dims[0], ids->dims[1], words->dims[1]};
	infer_set(infer, 0, words->dtype, 3, dims);
	infer_set(infer, 1, DT_I32, 1, dims);
	infer_set(infer, 2, words->dtype, 3, dims);
}

/* The vectors of the places: those that are named, or the first ones. */
static Value *
places_of(const Expander *m)
{
	Value *table = m->node->inputs[PLACES], *ids = m->node->inputs[IDS];
	Value *named = expander_input(m->node, PLACE_IDS);
	if (named)
		return expander_binary(m, "Gather", table, named);
	Node *shape = expander_node(m, "Shape", 1, &ids, 1);
	node_set_int(shape, "start", 1);
	Value *parts[] = {table, expander_integer(m, 1, 0), expander_result(m, shape),
	                  expander_integer(m, 1, 0)};
	return expander_result(m, expander_node(m, "Slice", 4, parts, 1));
}

/* How many words of each sequence the mask leaves; without one ONNX Runtime says 0. */
static Value *
mask_index(const Expander *m)
{
	Value *mask = expander_input(m->node, MASK), *ids = m->node->inputs[IDS];
	Value *seen = mask ? expander_binary(m, "Equal", mask, expander_number(m, DT_I32, 1))
	                   : expander_binary(m, "Less", ids, ids);
	Value *parts[] = {expander_cast(m, seen, DT_I32), expander_integer(m, 1, 1)};
	Node *sum = expander_node(m, "ReduceSum", 2, parts, 1);
	node_set_int(sum, "keepdims", 0);
	return expander_result(m, sum);
}

void
expand_EmbedLayerNormalization(Node *node)
{
	Expander m = {node->parent, node, node};
	Value *const *in = node->inputs, *segments = expander_input(node, SEGMENT_IDS);
	Value *sum = expander_binary(&m, "Gather", in[WORDS], in[IDS]);
	sum = expander_binary(&m, "Add", sum, places_of(&m));
	if (segments)
		sum =
			expander_binary(&m, "Add", sum, expander_binary(&m, "Gather", in[SEGMENTS], segments));
	Value *operands[] = {sum, in[GAMMA], in[BETA]};
	Node *norm = expander_node(&m, "LayerNormalization", 3, operands, 1);
	node_add_attr(norm, attr_find(node, "epsilon"));
	if (node->noutput > 1 && node->outputs[1])
		value_replace_uses(node->outputs[1], mask_index(&m));
	if (node->noutput > 2 && node->outputs[2])
		value_replace_uses(node->outputs[2], sum);
	node_become(node, expander_result(&m, norm));
}
