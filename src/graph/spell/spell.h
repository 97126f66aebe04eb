/* Spelling: a node's program in standard operators, for models that other runtimes run.
 *
 *     Y[n:N, h:H] = sum(r:3 where 0 <= h+r-1, h+r-1 < H) T[n, h+r-1, r]
 *
 *     %t  = Transpose(%T), Reshape          [N, H*3]          dims that share iterators become one
 *     %g  = Gather(%t, table)               [N, H*3]          the place of each h and r
 *     %m  = Where(mask, Reshape(%g), 0)     [N, H, 3]         terms outside the guard
 *     %y  = ReduceSum(%m, {2})
 *
 * Sums of products become MatMul. Sizes may be open as far as no table depends on them.
 */
#ifndef GRAPH_SPELL_SPELL_H
#define GRAPH_SPELL_SPELL_H

#include "graph/graph.h"

/* Put standard operators into the place of a node with a meaning. Fails (unsupported), with the
 * node's place, where none say it: scans, scatters, reads at data, tables of open sizes. */
void node_spell(Node *node);

/* Whether that would do, for who chooses between a node and others: nothing is changed. */
bool node_can_spell(const Node *node, Failure *why);

/* All Expression nodes, those in regions too; whether there were any. */
bool graph_has_expressions(const Graph *graph);
void graph_spell_expressions(Graph *graph);

#endif
