/* Schedules: scripts of primitives (tir/script.h) applied to loops. The meaning stays; each
 * primitive checks its own conditions and refuses what it cannot do: with the line of a user's
 * script, as our bug for a script of ours.
 */
#ifndef TIR_SCHEDULE_SCHEDULE_H
#define TIR_SCHEDULE_SCHEDULE_H

#include "tir/script.h"

/* Names of variables and buffers must differ (kernel_name_apart()). */
void script_apply(Kernel *kernel, const Script *script);

#endif
