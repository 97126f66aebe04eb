/* Whether a model is faster with what DeriveExpressions chose for its nodes.
 *
 * Each answer was measured as a model of its own: what its neighbours do with caches and threads is
 * not in it.
 */
#ifndef PASSES_DERIVE_WHOLE_H
#define PASSES_DERIVE_WHOLE_H

#include "passes/derive_asked.h"

/* What candidates say besides where the model is not faster. */
#define NOT_AS_A_WHOLE "the model as a whole is not faster with it"

/* Measure the model with and without all that was chosen, once: unless all of that is recorded, or
 * no time was given to this pass. Where it is not faster, all answers become "as given". */
void derive_judge(PassContext *context, const Graph *graph, Asked *asked);

#endif
