/* The loop passes, each a row of passes.def and a file here. They say whether anything changed. */
#ifndef TIR_LOOPS_LOOPS_H
#define TIR_LOOPS_LOOPS_H

#include "base/pass.h"
#include "tir/stmt.h"

bool pass_ApplySchedule(Kernel *kernel, PassContext *context);
bool pass_SimplifyLoops(Kernel *kernel, PassContext *context);
bool pass_SplitBorders(Kernel *kernel, PassContext *context);
bool pass_Flatten(Kernel *kernel, PassContext *context);
bool pass_Vectorize(Kernel *kernel, PassContext *context);
bool pass_SplitMasks(Kernel *kernel, PassContext *context);
bool pass_Unroll(Kernel *kernel, PassContext *context);
bool pass_PlaceRegisters(Kernel *kernel, PassContext *context);
bool pass_OrderTerms(Kernel *kernel, PassContext *context);

#endif
