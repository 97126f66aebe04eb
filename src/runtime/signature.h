/* Signatures: a plan's inputs and outputs as tilewright.h shows them. */
#ifndef RUNTIME_SIGNATURE_H
#define RUNTIME_SIGNATURE_H

#include "base/arena.h"
#include "runtime/plan.h"
#include "runtime/tilewright.h"

/* Descriptions of the buffers `ports`, in the arena; unwinds when memory is out. */
TwTensorInfo *signature_tensors(Arena *arena, const Plan *plan, int count, const int *ports);

#endif
