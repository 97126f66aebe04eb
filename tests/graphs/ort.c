/* Where ONNX Runtime (1.31) is known to do otherwise than ONNX says: such graphs are not asked
 * about. Each row was looked at against the standard's text or its reference implementation. */
#include "graphs.h"

#include <string.h>

static bool
always(const Node *node)
{
	(void)node;
	return true;
}

/* A result of a body that no node of the body makes, or that is given twice. */
static bool
passes_on(const Node *node)
{
	for (int r = 0; r < node->nregion; r++) {
		const Region *body = node->regions[r];
		for (int i = 0; i < body->nresult; i++) {
			bool is_made = body->results[i]->def && body->results[i]->region == body;
			for (int k = 0; k < i; k++)
				is_made &= body->results[k] != body->results[i];
			if (!is_made)
				return true;
		}
	}
	return false;
}

static bool
is_integer(const Node *node)
{
	return dtype_is_integer(node->inputs[0]->type.dtype);
}

/* A sum of no products. */
static bool
is_empty(const Node *node)
{
	const Type *a = &node->inputs[0]->type;
	return a->rank == 2 && dim_is(a->dims[attr_int(node, "transA") ? 0 : 1], 0);
}

static const struct {
	OpCode op;
	bool (*is_other)(const Node *node);
	const char *how;
} ROWS[] = {
	{OP_Scan, passes_on, "a result that is a parameter or an outer value is never written"},
	{OP_Shrink, is_integer, "integers are shrunk in their own type"},
	{OP_Gemm, is_empty, "no beta where there is nothing to multiply"},
	{OP_MeanVarianceNormalization, always, "no epsilon: equal elements give NaN"},
};

static const char *
region_deviates(const Region *region)
{
	for (const Node *node = region->first; node; node = node->next) {
		for (size_t i = 0; i < countof(ROWS); i++)
			if (ROWS[i].op == node->op->code && ROWS[i].is_other(node))
				return ROWS[i].how;
		for (int i = 0; i < node->nregion; i++) {
			const char *how = region_deviates(node->regions[i]);
			if (how)
				return how;
		}
	}
	return NULL;
}

const char *
ort_deviates(const Graph *graph)
{
	return region_deviates(graph->body);
}

static bool
has_short_floats(const Region *region)
{
	for (const Node *node = region->first; node; node = node->next) {
		for (int i = 0; i < node->noutput; i++) {
			DType type = node->outputs[i] ? node->outputs[i]->type.dtype : DT_NONE;
			if (type == DT_F16 || type == DT_BF16)
				return true;
		}
		for (int i = 0; i < node->nregion; i++)
			if (has_short_floats(node->regions[i]))
				return true;
	}
	return false;
}

/* It sums in other orders and has shorter polynomials; of short floats it rounds steps that we do
 * not, and leaves out others. */
double
ort_share(const Graph *graph)
{
	return has_short_floats(graph->body) ? 2e-2 : 2e-5;
}
