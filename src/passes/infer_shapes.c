/* InferShapes: give every value a type, its dims and the integer values known before running.
 *
 * The rules are the operators' own (graph/infer.h); this pass only asks for all of them again, so
 * that what a rewrite made known reaches the nodes behind it.
 *
 * needs    topological order
 * keeps    order, values
 * breaks   nothing
 */
#include "graph/infer.h"
#include "passes/passes.h"

bool
pass_InferShapes(Graph *graph, PassContext *context)
{
	(void)context;
	graph_infer(graph);
	return false; /* types are facts, not rewrites */
}
