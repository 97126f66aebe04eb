/* Accepting HoistBranches and LICM kernel by kernel: where the C compiler makes less of a kernel
 * without them, its scalars stay where they are.
 *
 * --config LICM.weigh=N asks for it, for kernels that are at least N percent of the model's work.
 * motion_hold() then keeps both passes from running with the others; motion_choose() runs them on a
 * copy of each kernel, compares the instructions of both (codegen_weigh()), and keeps the better
 * one. What was chosen is a recorded choice, "motion TARGET KERNEL": "moved" or "still".
 */
#ifndef CLI_MOTION_H
#define CLI_MOTION_H

#include "base/pass.h"
#include "tir/module.h"

bool motion_hold(PassContext *context);
void motion_choose(Arena *arena, const Module *module, PassContext *context);

#endif
