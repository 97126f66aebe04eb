/* Lowering: from groups of nodes to kernels, vendor calls, host steps and views. */
#ifndef LOWER_LOWER_H
#define LOWER_LOWER_H

#include "base/pass.h"
#include "graph/graph.h"
#include "program/unit.h"
#include "tir/module.h"

/* The last graph-level step: every group becomes a kernel, a vendor call or a host step. */
Module *lower_graph(Arena *arena, Graph *graph, PassContext *context);

/* A part whose one reduction is long and leaves cores idle gets it in two stages: the first sums
 * chunks, and is to be a kernel of its own. */
bool pass_SplitReduction(ProgramUnit *unit, PassContext *context);

/* One kernel for a group: loops, schedule for the target's device. Arguments: the program's inputs,
 * then its outputs, none NULL. strides[k] of argument k: elements per dim, NULL entry dense.
 * `candidate` as in target/maker.h; NULL: there are no so many. */
Kernel *lower_group(Arena *arena, const Program *program, const Dim *const *const *strides,
                    const char *name, const Loc *loc, const char *ancestry, const Target *target,
                    int candidate);

/* What a kernel was made of, so that it can be made with another script. */
typedef struct KernelSource {
	const char *key; /* what decides about its time, at the probe sizes: "tile 01ab…" */
	const Program *program;
	const Dim *const *const *strides;
	bool is_plain, is_finite; /* as of a Target */
} KernelSource;

/* The kernel of what is given, with the candidate that the recorded choices say ("tile 01ab…" ->
 * "3 …"): what was measured for one kernel holds for all that have its key. (candidate.c) */
Kernel *lower_source(Arena *arena, const KernelSource *given, const char *name, const Loc *loc,
                     const char *ancestry, PassContext *context);
/* The same kernel with this candidate, its loops as they come; NULL: there are no so many. */
Kernel *lower_candidate(Arena *arena, const Kernel *kernel, const Target *target, int candidate);

/* Puts steps that do not depend on one another next to one another, and marks them, where one of
 * them alone has not work for all cores; in nested modules, too. (side_by_side.c) */
void lower_side_by_side(Arena *arena, Module *module, const Target *target);

#endif
