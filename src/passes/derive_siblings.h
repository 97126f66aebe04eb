/* Siblings: products of one level, neither of which needs the other.
 *
 *     %a = Conv(%x, %v)       of one level: no product lies on a way from one to the other
 *     %b = Conv(%x, %w)
 */
#ifndef PASSES_DERIVE_SIBLINGS_H
#define PASSES_DERIVE_SIBLINGS_H

#include "passes/derive_group.h"

/* The level of a node by those of the nodes before it: levels[node] counts the node itself. */
int derive_level(const Map *levels, const Node *node);

/* Sets askers of one level together that share a factor, or have equal boxes: at most `most`. Those
 * that are in a group stay there. */
void derive_siblings(Arena *arena, const Askers *askers, int most, NodeGroups *groups);

#endif
