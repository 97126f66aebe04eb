/* How kernels are made for CPUs: what the parts of its maker (target/maker.h) share.
 *
 * A stage costs what its accesses do, by how they move along the loop in lanes: an access that
 * is contiguous along that loop costs 1/lanes, a uniform one almost nothing, any other a scalar
 * load per lane; all at the probe sizes. (cost.c)
 */
#ifndef LOWER_CPU_CPU_H
#define LOWER_CPU_CPU_H

#include "lower/nest.h"
#include "program/group.h"
#include "target/maker.h"
#include "tir/script.h"

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

/* The script for a group that is a register tile of sums of products: matrix products and
 * convolutions whose channels lie side by side, which run in lanes; NULL: it is none, or no tile
 * fits. (product.c) */
const Script *product_script(Arena *arena, const Group *group, const Target *target,
                             const Nest *nest);

/* Rows of a register tile: iterations of a loop that are computed together, so that what one step
 * of their sums loads serves all of them.
 *
 *     Y[f,p,q] = sum(c,r,s) X[c,p+r,q+s] * W[f,c,r,s]     lanes q: 12 filters take each vector of X
 *     V[t,n,p,c] = sum(i) B[t,i] * X[n,p*4+i,c]           lanes c: all t do, and X is read once
 *
 * Of the group, whose shared loop `lane` runs in vector lanes: how many rows, and of which shared
 * loop; 0, and any loop: none, or it is no single sum with maps behind it. It pays where a sum
 * reads something that does not move along another shared loop, most where that is the vectors:
 * such loops come first, inner ones before outer ones. (rows.c) */
int rows_choose(Coster *c, const Group *group, int lane, int *row);

/* Windows of neighbouring rows: when they are computed together, and how many.
 *
 *     Y[p, q] = sum(r:3, s:3) X[p+r, q+s] * W[r, s]       rows p to p+3 read rows p to p+5 of X
 *
 * A vector that crosses a cache line costs more to load than to use: a row that is loaded once
 * serves all rows of the result in whose windows it lies.
 *
 * Whether the group's one reduction reads such windows along shared iterator `row`, with
 * `lane` in lanes: how many rows to take at once and the iterator of the reduction that counts
 * rows of the window; 0: they share little, or the reduction is long (register tiles are for
 * those). (window.c) */
int window_rows(Arena *arena, const Group *group, int row, int lane, int *counter);

/* A test's device has the same with other limits. */
extern const Maker maker_cpu;

/* Half of a vector's lanes, where that still is a vector worth using; else 0. (maker.c) */
int64_t half_lanes(int64_t vector);

/* The plain schedule of a group: a script for its naive loops, which says what runs in vector
 * lanes, in tiles and in parallel. Every choice is by estimated cost at the probe sizes.
 * (schedule.c) */
const Script *schedule_cpu(Arena *arena, const Group *group, const Target *target,
                           const Nest *nest);

#endif
