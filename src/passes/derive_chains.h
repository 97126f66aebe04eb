/* Chains: products of which each needs the one before, with what is linear between them, where
 * another order takes fewer operations.
 *
 *     %t = MatMul(%x, %v)     64x768 by 768x3072     V*W is known when compiling, so that only
 *     %y = MatMul(%t, %w)     64x3072 by 3072x16     64x768 by 768x16 is left; asked
 */
#ifndef PASSES_DERIVE_CHAINS_H
#define PASSES_DERIVE_CHAINS_H

#include "passes/derive_group.h"

/* Adds the chains, of at most `most` products, that end in askers that are in no group yet. */
void derive_chains(PassContext *context, const Graph *graph, const Askers *askers, int most,
                   NodeGroups *groups);

#endif
