/* What is in a bundle, or in a model, as tables. */
#ifndef CLI_VERBS_INSPECT_H
#define CLI_VERBS_INSPECT_H

#include "bundle/bundle.h"
#include "cli/report/report.h"

/* The steps of a plan, those of branches and loops under theirs; with `node` only those of this
 * node of the model. */
void report_steps(Report *report, Arena *arena, const Plan *plan, const Node *node);

/* The verb for a model: what it says of itself, its types, its weights, and multiply-adds by
 * operator at typical sizes. */
void inspect_model(const Options *options, const char *path, Bytes bytes);

/* What a step reads and writes. */
void report_arguments(Report *report, Arena *arena, const Plan *plan, const PlanStep *step);

/* Add to `counts` how many steps of each kind a plan and the plans in it have. */
void plan_count_kinds(const Plan *plan, int counts[PT_SCAN + 1]);

/* A GPU's kernel as it was modelled when it was compiled. */
typedef struct ModelledKernel {
	const char *kernel, *bound;
	double blocks, threads, registers, shared, local, occupancy, mflop, mbytes, coalesced,
		conflicts;
	double microseconds;
} ModelledKernel;

typedef struct ModelledEntry {
	ModelledKernel *kernels;
	int count; /* 0: the target's are not modelled */
} ModelledEntry;

const ModelledEntry *modelled_read(Arena *arena, const char *path, const Bundle *bundle,
                                   int target);

/* The kernel of a step, or in its place; NULL: it has none that was modelled. */
const ModelledKernel *modelled_find(const ModelledEntry *modelled, const Plan *plan,
                                    const PlanStep *step);

/* Of a target whose kernels were modelled: each kernel's shape, registers, shared memory, work,
 * modelled time and what bounds it, and the sum, with libraries' calls and without. (modelled.c) */
void report_modelled(Report *report, Arena *arena, const char *path, const Bundle *bundle,
                     int target);

#endif
