/* What of spread's arrays is a thread's own. */
#ifndef TIR_SCHEDULE_SPREAD_OWN_H
#define TIR_SCHEDULE_SPREAD_OWN_H

#include "tir/schedule/inner.h"

/* What a thread needs of a local array of the list, if each thread uses its own part of it alone,
 * by these loops of the step; NULL: others use it, or it has no registers for so much. */
Buffer *spread_own(const Scheduling *s, Stmt *const *loops, Stmt *list, const Buffer *local);

#endif
