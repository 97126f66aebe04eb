/* Signatures: a plan's inputs and outputs as tilewright.h shows them. */
#ifndef RUNTIME_SIGNATURE_H
#define RUNTIME_SIGNATURE_H

#include "base/arena.h"
#include "runtime/plan/plan.h"
#include "runtime/tilewright.h"
#include "runtime/vendor.h"

/* Descriptions of the buffers `ports`, in the arena; unwinds when memory is out. */
TwTensorInfo *signature_tensors(Arena *arena, const Plan *plan, int count, const int *ports);

/* The library of an open bundle, for keeping what it has packed; NULL: none. */
Vendor *signature_vendor(const TwBundle *bundle);

#endif
