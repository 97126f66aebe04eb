/* The executor without a bundle: a plan, a kernel table shared by many plans, weights. */
#ifndef CASES_EXEC_H
#define CASES_EXEC_H

#include "bundle/plan.h"
#include "codegen/common/bundle.h"

typedef struct CaseCode CaseCode;
typedef struct CaseExec CaseExec;

/* Load a shared object as codegen_compile() makes it; closed with the arena. */
const CaseCode *case_code_load(Arena *arena, const Device *device, Bytes object);
/* All kernels of a list, by one call of the C compiler. */
const CaseCode *case_code_compile(Arena *arena, const Device *device, const KernelList *kernels);

/* `code` NULL: the plan has no kernels. no_vendor: vendor steps run their fallback kernels. */
CaseExec *case_exec_new(Arena *arena, const Plan *plan, const WeightPool *weights,
                        const Device *device, const CaseCode *code, bool no_vendor);
void case_exec_run(CaseExec *exec, const Array *const *inputs);
Array case_exec_output(CaseExec *exec, int index);

typedef enum CaseResult {
	CASE_OPEN, /* not run yet */
	CASE_EMITTED,
	CASE_VENDOR,
	CASE_HOST,
	CASE_FOLDED,
	CASE_INTERPRETED,
	CASE_SKIPPED,
	CASE_FAILED,
} CaseResult;

/* How a plan does its work: the least of host, vendor, emitted, folded that it needs. */
CaseResult case_kind(const Plan *plan);

#endif
