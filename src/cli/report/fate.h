/* What became of a node of the model, by the plan and the history of its bundle.
 *
 *     "step 3: conv of onednn"    "steps 4, 5"    "FoldConstant, evaluate: shape_1"
 *     "a view: nothing is computed"
 */
#ifndef CLI_REPORT_FATE_H
#define CLI_REPORT_FATE_H

#include "bundle/plan.h"
#include "driver/history.h"
#include "graph/graph.h"

/* Of a node of the model as read; NULL: nothing is known of it. */
const char *fate_of(Arena *arena, const Plan *plan, const History *history, const Graph *graph,
                    const Node *node);

/* Whether a step of the plan comes from a node of the model, or computes its value. */
bool step_is_of(const Plan *plan, const PlanStep *step, const Node *node);

#endif
