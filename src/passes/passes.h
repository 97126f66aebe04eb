/* Prototypes of the passes, made from the table. */
#ifndef PASSES_PASSES_H
#define PASSES_PASSES_H

#include "passes/pass.h"

#define PASS_ARG_graph Graph
#define PASS_ARG_loop Kernel
#define PASS(ir, name, level, portability, numerics, doc) \
	bool pass_##name(PASS_ARG_##ir *subject, PassContext *context);
#include "passes/passes.def"
#undef PASS
#undef PASS_ARG_graph
#undef PASS_ARG_loop

#endif
