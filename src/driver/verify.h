/* --verify: what a pass got and what it left mean the same. */
#ifndef DRIVER_VERIFY_H
#define DRIVER_VERIFY_H

#include "base/fail.h"
#include "passes/manager.h"
#include "program/unit.h"

/* Evaluate both on made-up inputs and compare: --verify=each. Loops above some millions of
 * iterations are left out, and so is what does not run at the sizes that are tried: the log says
 * that it is not verified, and why. */
void verify_rewrite(PassContext *context, PassIr ir, const void *before, const void *after);
void verify_unit(PassContext *context, const ProgramUnit *before, const ProgramUnit *after);
void verify_kernel(PassContext *context, const Kernel *before, const Kernel *after);
void verify_left_out(PassContext *context, const char *name, const Failure *why);

#endif
