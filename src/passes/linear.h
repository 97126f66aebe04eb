/* Nodes that scale and shift one value by constants: BatchNormalization, Mul, Div, Add.
 *
 *     y = (x - mean) / deviation * s + b      steps: -mean, / deviation, * s, + b
 *
 * Stated on expressions: x is read in place, and constants depend on at most one dim of it, the
 * channel. The steps of several such nodes are joined where affine_join() says that they may be. */
#ifndef PASSES_LINEAR_H
#define PASSES_LINEAR_H

#include "graph/graph.h"

enum { NO_DIM = -1, LINEAR_STEPS = 64 };

typedef struct LinearStep {
	ExprOp op; /* EX_add, EX_mul, EX_div */
	const Array *by;
} LinearStep;

/* Arrays are [C] along loop `channel` of the result, or [1]. */
typedef struct Linear {
	Value *x;
	int channel;    /* or NO_DIM */
	bool is_simple; /* no dearer than a Mul and an Add */
	int count;
	LinearStep steps[LINEAR_STEPS];
	Array *scale, *shift; /* y = scale * x + shift, in f64; scale NULL: 1 */
} Linear;

/* The one operand that is no constant; NULL: there are several, or none. */
Value *linear_operand(const Node *node);

/* False where the node is not linear, or not by one product and one sum. */
bool linear_of(Arena *scratch, Graph *graph, Node *node, Linear *out);

/* What makes l->x goes into l; false, and l is as it was, where that is not linear along the same
 * loop or may not be joined. */
bool linear_absorb(Arena *scratch, Graph *graph, Linear *l);

#endif
