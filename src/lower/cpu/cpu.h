/* How kernels are made for CPUs: what the parts of its maker (target/maker.h) share. */
#ifndef LOWER_CPU_CPU_H
#define LOWER_CPU_CPU_H

#include "lower/group.h"
#include "program/group.h"
#include "target/maker.h"
#include "tir/script.h"

typedef struct Coster {
	Arena *arena;
	const Program *program;
	const Target *target;
	const Stage *stage;
	int iter; /* along which accesses move */
} Coster;

/* How far apart neighbours along c->iter lie in this tensor, in elements; false: it differs. */
bool cost_stride(const Coster *c, const Tensor *t, const Expr *const *index, int64_t *stride);

/* Iterations from 0, or 0 where that is no number. */
int64_t iter_extent(const Iter *iter);

/* Scripts of one form of kernels. A form may have several for a group, best first: it gives number
 * *candidate; NULL: it has fewer, or does not know such groups, and then takes those it has off
 * *candidate, so that the numbers go on with the next form's. */
typedef const Script *FormScript(Arena *arena, const Group *group, const Target *target,
                                 const Nest *nest, int *candidate);

/* A register tile of sums of products: matrix products and convolutions whose channels lie side by
 * side, which run in lanes; none where no tile fits. (product.c) */
FormScript product_script;

/* A product of matrices of which neither is known before and which do not stay in cache, or are of
 * any size; none where copies of them would serve too seldom. (panels.c) */
FormScript panels_script;
enum { PANEL_VECTORS = 4 }; /* of a tile, at most */

/* Whatever is left: maps, rows, windows. (map_tile.c, map_script.c) */
FormScript map_script;

/* Windows of neighbouring rows: when they are computed together, and how many.
 *
 *     Y[p, q] = sum(r:3, s:3) X[p+r, q+s] * W[r, s]       rows p to p+3 read rows p to p+5 of X
 *
 * A vector that crosses a cache line costs more to load than to use: a row that is loaded once
 * serves all rows of the result in whose windows it lies.
 *
 * Whether the group's one reduction reads such windows along shared iterator `row`, with
 * `lane` in lanes: how many rows to take at once, by candidate 0 or another, and the iterator
 * of the reduction that counts rows of the window; 0: they share little, or the reduction is long
 * (register tiles are for those). (window.c) */
int window_rows(Arena *arena, const Group *group, const Target *target, int row, int lane,
                int candidate, int *counter);

/* A test's device has the same with other limits. */
extern const Maker maker_cpu;

/* Half of a vector's lanes, where that still is a vector worth using; else 0. (maker.c) */
int64_t half_lanes(int64_t vector);

#endif
