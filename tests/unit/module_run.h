/* A module whose steps are kernels, compiled and run. */
#ifndef MODULE_RUN_H
#define MODULE_RUN_H

#include "codegen_run.h"
#include "lower/lower.h"

typedef struct Runner {
	Arena *arena;
	Array **arrays; /* by number of the buffer */
} Runner;

static Array *
array_of(const Runner *r, const MBuffer *buffer)
{
	Array **slot = &r->arrays[buffer->index];
	int64_t dims[ARRAY_MAX_RANK];
	for (int d = 0; d < buffer->rank; d++)
		ck_assert(dim_is_const(buffer->dims[d], &dims[d]));
	if (buffer->kind == PB_VIEW && !*slot) {
		ck_assert(dim_is(buffer->offset, 0));
		*slot =
			array_from(r->arena, buffer->type, buffer->rank, dims, array_of(r, buffer->base)->data);
		(*slot)->data = array_of(r, buffer->base)->data;
	} else if (!*slot)
		*slot = buffer->data ? (Array *)(uintptr_t)buffer->data
		                     : array_new(r->arena, buffer->type, buffer->rank, dims);
	return *slot;
}

typedef bool IsCounted(const Expr *value);

static bool
stores_counted(const Kernel *kernel, IsCounted *is_counted)
{
	bool has = false;
	for (StmtWalk walk = stmt_walk(kernel->arena, kernel->body); stmt_step(&walk);)
		has |= walk.stmt->value && is_counted(walk.stmt->value);
	return has;
}

/* How many of the kernels store values that count. */
static int
run_module(Arena *arena, const Target *target, const Module *module, Array **inputs,
           Array **outputs, IsCounted *is_counted)
{
	Runner r = {arena, NEW_N(arena, Array *, module->buffers.count + 1)};
	Kernel **kernels = NEW_N(arena, Kernel *, module->steps.count + 1);
	int counted = 0;
	void *library;
	for (int i = 0; i < module->inputs.count; i++)
		r.arrays[module->inputs.data[i]->index] = inputs[i];
	for (int i = 0; i < module->steps.count; i++) {
		ck_assert_int_eq(module->steps.data[i]->plan.kind, PT_KERNEL);
		kernels[i] = module->steps.data[i]->kernel;
		counted += stores_counted(kernels[i], is_counted);
	}
	const char *text = codegen_c(arena, target, module->steps.count, kernels);
	const TwKernels *table = load_kernels(arena, target, text, &library);
	for (int i = 0; i < module->steps.count; i++) {
		const MStep *step = module->steps.data[i];
		Array *args[16];
		TwStatus status = {0};
		int count = 0;
		for (int k = 0; k < step->plan.narg; k++)
			if (step->args[k])
				args[count++] = array_of(&r, step->args[k]);
		run_kernel(table, i, kernels[i], &(Binding){0}, args, 1, &status);
	}
	for (int i = 0; i < module->outputs.count; i++)
		outputs[i] = array_of(&r, module->outputs.data[i]);
	dlclose(library);
	return counted;
}

#endif
