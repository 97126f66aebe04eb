/* Windows of neighbouring rows: when they are computed together, and how many.
 *
 *     Y[p, q] = sum(r:3, s:3) X[p+r, q+s] * W[r, s]       rows p to p+3 read rows p to p+5 of X
 *
 * A vector that crosses a cache line costs more to load than to use: a row that is loaded once
 * serves all rows of the result in whose windows it lies.
 */
#ifndef LOWER_WINDOW_CPU_H
#define LOWER_WINDOW_CPU_H

#include "program/group.h"

/* Whether the group's one reduction reads such windows along shared iterator `row`, with
 * `lane` in lanes: how many rows to take at once and the iterator of the reduction that counts
 * rows of the window; 0: they share little, or the reduction is long (register tiles are for
 * those). */
int window_rows(Arena *arena, const Group *group, int row, int lane, int *counter);

#endif
