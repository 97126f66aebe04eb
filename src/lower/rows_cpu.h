/* Rows of a register tile: iterations of a loop that are computed together, so that what one step
 * of their sums loads serves all of them.
 *
 *     Y[f,p,q] = sum(c,r,s) X[c,p+r,q+s] * W[f,c,r,s]     lanes q: 12 filters take each vector of X
 *     V[t,n,p,c] = sum(i) B[t,i] * X[n,p*4+i,c]           lanes c: all t do, and X is read once
 */
#ifndef LOWER_ROWS_CPU_H
#define LOWER_ROWS_CPU_H

#include "lower/cost_cpu.h"
#include "program/group.h"

/* Of the group, whose shared loop `lane` runs in vector lanes: how many rows, and of which shared
 * loop; 0, and any loop: none, or it is no single sum with maps behind it. It pays where a sum
 * reads something that does not move along another shared loop, most where that is the vectors:
 * such loops come first, inner ones before outer ones. */
int rows_choose(Coster *c, const Group *group, int lane, int *row);

#endif
