/* What a stage costs on a CPU: every access by how it moves along the loop in lanes.
 *
 * An access that is contiguous along that loop costs 1/lanes, a uniform one almost nothing, any
 * other a scalar load per lane; all at the probe sizes.
 */
#ifndef LOWER_COST_CPU_H
#define LOWER_COST_CPU_H

#include "target/target.h"

typedef struct Coster {
	Arena *arena;
	const Program *program;
	const Target *target;
	const Stage *stage;
	int iter; /* the lane iterator considered; -1: scalar code */
	double lanes;
} Coster;

/* Estimated time of a whole stage with `iter` in lanes. */
double cost_of_stage(Coster *c, const Stage *stage, int iter);
/* How far apart neighbours along c->iter lie in this tensor, in elements; false: it differs. */
bool cost_stride(const Coster *c, const Tensor *t, const Expr *const *index, int64_t *stride);
/* Whether an index of the read moves with the iterator of its stage. */
bool cost_moves(const Expr *read, int iter);

/* So far apart that a step finds nothing in cache that the last one brought. */
bool cost_is_far(const Tensor *t, int64_t stride);

#endif
