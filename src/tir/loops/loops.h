/* The loop passes, each a row of passes.def and a file here. They say whether anything changed. */
#ifndef TIR_LOOPS_LOOPS_H
#define TIR_LOOPS_LOOPS_H

#include "base/pass.h"
#include "tir/stmt.h"

bool pass_ApplySchedule(Kernel *kernel, PassContext *context);
bool pass_SimplifyLoops(Kernel *kernel, PassContext *context);
bool pass_UnfuseLoops(Kernel *kernel, PassContext *context);
bool pass_SplitBorders(Kernel *kernel, PassContext *context);
bool pass_PartitionLoops(Kernel *kernel, PassContext *context);
bool pass_Flatten(Kernel *kernel, PassContext *context);
bool pass_Vectorize(Kernel *kernel, PassContext *context);
bool pass_SplitMasks(Kernel *kernel, PassContext *context);
bool pass_Unroll(Kernel *kernel, PassContext *context);
bool pass_PlaceRegisters(Kernel *kernel, PassContext *context);
bool pass_Normalize(Kernel *kernel, PassContext *context);
bool pass_HoistBranches(Kernel *kernel, PassContext *context);
bool pass_TurnLoops(Kernel *kernel, PassContext *context);
bool pass_LICM(Kernel *kernel, PassContext *context);

#endif
