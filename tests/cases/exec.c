/* Plans run as sessions do (runtime/tilewright.c), on memory that never was a file. */
#include "exec.h"

#include <stdlib.h>
#include <string.h>

#include "cli/verbs/inspect.h"
#include "runtime/exec/exec.h"

struct CaseCode {
	const Backend *backend;
	BackendCode *code;
};

struct CaseExec {
	Arena *arena;
	Exec exec;
	ExecModel model;
	Weights weights;
	void *held; /* weights, as the backend reads them */
	TwError error;
};

static void
close_code(void *handle)
{
	CaseCode *code = handle;
	code->backend->unload(code->code);
}

/* $BACKEND: another one, that runs the same objects ("cuda:" on what stands for CUDA's runtime). */
static const Backend *
backend_of(const Device *device)
{
	const char *name = getenv("BACKEND");
	const Backend *backend = backend_find(name ? name : device->name);
	if (!backend)
		fail_environment(NULL, "there is no backend for %s", name ? name : device->name);
	return backend;
}

static const CaseCode *
load_named(Arena *arena, const Device *device, Bytes object, const Plan *names)
{
	CaseCode *code = NEW(arena, CaseCode);
	char error[512];
	code->backend = backend_of(device);
	if (code->backend->load(object, "of the cases", names, &code->code, error, sizeof error) !=
	    TW_OK)
		fail_environment(NULL, "%s", error);
	arena_defer(arena, close_code, code);
	return code;
}

const CaseCode *
case_code_load(Arena *arena, const Device *device, Bytes object)
{
	return load_named(arena, device, object, NULL);
}

/* A text in which no kernel begins is one unit (codegen_units): the kernels of random cases do not
 * come again, and to start a compiler for each costs more than to compile them. */
static const char *
as_one_unit(Arena *arena, const char *text)
{
	static const char begin[] = "\nTW_BODY\n";
	char *whole = arena_strdup(arena, text);
	for (char *at = whole; (at = strstr(at, begin)); at += strlen(begin))
		at[strlen(begin) - 1] = ' ';
	return whole;
}

const CaseCode *
case_code_compile(Arena *arena, const Device *device, const KernelList *kernels)
{
	const Target target = {.device = device};
	const Artefact *artefact = artefact_of(device);
	const char *text =
		artefact->emit(arena, &target, kernels->kernels.count, kernels->kernels.data);
	const char **names = NEW_N(arena, const char *, kernels->kernels.count + 1);
	for (int i = 0; i < kernels->kernels.count; i++)
		names[i] = kernels->kernels.data[i]->function;
	const Plan plan = {.nkernel = kernels->kernels.count, .kernels = names};
	return load_named(arena, device,
	                  artefact->compile(arena, &target, as_one_unit(arena, text), NULL), &plan);
}

static void
check(const CaseExec *exec, TwCode code)
{
	if (code != TW_OK)
		fail_as(code == TW_DATA ? FAIL_INVALID : FAIL_BUG, NULL, "%s", exec->error.text);
}

static void
close_exec(void *handle)
{
	CaseExec *exec = handle;
	if (exec->exec.main)
		exec_close(&exec->exec);
	vendors_close(&exec->model.vendors);
	exec->model.backend->drop(exec->held);
}

static const unsigned char *
weights_blob(Arena *arena, const WeightPool *pool)
{
	unsigned char *blob = arena_alloc_aligned(arena, (size_t)pool->size + 64, 64);
	for (int i = 0; i < pool->pieces.count; i++)
		if (pool->pieces.data[i].bytes)
			memcpy(blob + pool->pieces.data[i].offset, pool->pieces.data[i].data->data,
			       pool->pieces.data[i].bytes);
	return blob;
}

CaseExec *
case_exec_new(Arena *arena, const Plan *plan, const WeightPool *weights, const Device *device,
              const CaseCode *code, bool no_vendor)
{
	CaseExec *exec = NEW(arena, CaseExec);
	exec->arena = arena;
	char error[512];
	const Backend *backend = backend_of(device);
	if (!plan_verify(plan, (size_t)weights->size, error, sizeof error))
		fail_as(FAIL_BUG, NULL, "%s", error);
	exec->model = (ExecModel){
		.plan = plan,
		.backend = backend,
		.code = code ? code->code : NULL,
		.weights = &exec->weights,
	};
	exec->weights.plain = (Bytes){weights_blob(arena, weights), (size_t)weights->size};
	arena_defer(arena, close_exec, exec);
	exec->held = backend->hold(exec->weights.plain);
	if (!exec->held)
		fail_environment(NULL, "out of memory for the weights");
	exec->model.held = exec->held;
	if (!no_vendor)
		model_open_vendors(&exec->model);
	exec->exec = (Exec){.model = &exec->model, .error = &exec->error, .workers = {.threads = 1}};
	check(exec, exec_open(&exec->exec));
	return exec;
}

void
case_exec_run(CaseExec *exec, const Array *const *inputs)
{
	const Plan *plan = exec->model.plan;
	Frame *frame = exec->exec.main;
	Array *arrays = NEW_N(exec->arena, Array, plan->ninput + 1);
	for (int i = 0; i < plan->ninput; i++) {
		const PlanBuffer *buffer = &plan->buffers[plan->inputs[i]];
		if (inputs[i]->type != buffer->type || inputs[i]->rank != buffer->rank)
			fail_as(FAIL_INVALID, NULL, "input %s is not of the type the model says", buffer->name);
		arrays[i] = *inputs[i];
	}
	check(exec, frame_bind(frame, arrays));
	for (int i = 0; i < plan->ninput; i++)
		frame->slots[plan->inputs[i]].data = arrays[i].data;
	check(exec, exec_run(&exec->exec));
}

Array
case_exec_output(CaseExec *exec, int index)
{
	int buffer = exec->model.plan->outputs[index];
	const PlanBuffer *info = &exec->model.plan->buffers[buffer];
	const Slot *slot = &exec->exec.main->slots[buffer];
	return (Array){info->type, info->rank, slot->dims, slot->data};
}

CaseResult
case_kind(const Plan *plan)
{
	int counts[PT_SCAN + 1] = {0};
	plan_count_kinds(plan, counts);
	return counts[PT_VENDOR]   ? CASE_VENDOR
	       : counts[PT_HOST]   ? CASE_HOST
	       : counts[PT_KERNEL] ? CASE_EMITTED
	                           : CASE_FOLDED;
}
