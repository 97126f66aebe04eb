/* explain: what became of nodes, by the history and the plan of a bundle. */
#ifndef CLI_VERBS_FATES_H
#define CLI_VERBS_FATES_H

#include "cli/report/report.h"
#include "cli/verbs/explained.h"

/* In words, for people. */
const char *fate_text(const Explained *e, const Plan *plan, const Node *node);

/* A row for each node of the model. */
void fates_all(const Explained *e, Report *report, const Plan *plan);

/* What the history says of a node, of one pass or (NULL) of all. */
void fates_history(const Explained *e, Report *report, const char *pass, const Node *node);

/* --fusion and --step. */
void fates_asked(const Explained *e, const Options *options);

/* What bounds the steps of a node of the model, or one step (NULL: all of the plan): speeds.c. */
void report_speeds(const Explained *e, Report *report, const Plan *plan, const Node *node,
                   const PlanStep *only);

#endif
