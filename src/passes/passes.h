/* Prototypes of the graph passes, made from the table; those of other rooms stand there. */
#ifndef PASSES_PASSES_H
#define PASSES_PASSES_H

#include "lower/lower.h"
#include "passes/manager.h"
#include "program/unit.h"
#include "tir/loops/loops.h"

#define DECLARE_graph(name) bool pass_##name(Graph *graph, PassContext *context);
#define DECLARE_program(name)
#define DECLARE_part(name)
#define DECLARE_nest(name)
#define DECLARE_loop(name)
#define PASS(ir, name, level, portability, numerics, needs, devices, doc) DECLARE_##ir(name)
#include "passes/passes.def"
#undef PASS
#undef DECLARE_graph
#undef DECLARE_program
#undef DECLARE_part
#undef DECLARE_nest
#undef DECLARE_loop

#endif
