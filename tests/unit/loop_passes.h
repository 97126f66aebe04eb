/* All passes over loops, for tests that what a kernel computes is kept. */
#ifndef UNIT_LOOP_PASSES_H
#define UNIT_LOOP_PASSES_H

#include "passes/manager.h"
#include "tir/stmt.h"

static inline void
take_passes(Kernel *kernel)
{
	Target target = {.device = device_find("cpu:x86-64-v3")};
	PassContext context = {.arena = kernel->arena, .target = &target};
	const PassInfo *pass;
	for (int i = 0; (pass = pass_at(i)); i++) {
		if (pass->ir != IR_loop)
			continue;
		pass->run(kernel, &context);
		kernel_check(kernel);
	}
}

#endif
