/* What is in a bundle, as tables. */
#ifndef CLI_INSPECT_H
#define CLI_INSPECT_H

#include "cli/report.h"
#include "runtime/plan/plan.h"

/* The steps of a plan, those of branches and loops under theirs; with `origin` only those that come
 * from the model's node of this name. */
void report_steps(Report *report, Arena *arena, const Plan *plan, const char *origin);

/* Add to `counts` how many steps of each kind a plan and the plans in it have. */
void plan_count_kinds(const Plan *plan, int counts[PT_SCAN + 1]);

#endif
