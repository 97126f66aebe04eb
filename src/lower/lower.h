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
 * then its outputs, none NULL. strides[k] of argument k: elements per dim, NULL entry dense. */
Kernel *lower_group(Arena *arena, const Program *program, const Dim *const *const *strides,
                    const char *name, const Loc *loc, const char *ancestry, const Target *target);

/* Puts steps that do not depend on one another next to one another, and marks them, where one of
 * them alone has not work for all cores; in nested modules, too. (side_by_side.c) */
void lower_side_by_side(Arena *arena, Module *module, const Target *target);

#endif
