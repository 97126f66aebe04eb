/* What is told of a value that is not as it should be. */
#ifndef PROVE_FINDING_H
#define PROVE_FINDING_H

#include "expr/interp/interp.h"
#include "prove/facts.h"
#include "prove/memory.h"

ProofFinding finding_of(const PlanFacts *facts, const Claim *claim, const char *text);

/* What the step says that it loses (target/vendor.def), where that explains all that is `seen` to
 * be wrong: NaN or an infinity is expected, or lies in its operands. NULL: it does not. */
const char *finding_loss(Arena *scratch, const PlanFacts *facts, const Frame *frame,
                         const Claim *claim, const Agreement *seen);

#endif
