/* Running cases: by the interpreter one by one, compiled in batches that share one call of the C
 * compiler (which costs more than the rest together).
 *
 * A batch goes through three phases: read and lower each case; compile all kernels; run each. Each
 * case begins anew in each phase, so that a crash or a failure is laid at its own door.
 * ONNX's tolerances: rtol 1e-3, atol 1e-7, two steps of bf16; integers, bools and texts equal.
 */
#include "cases.h"

#include <fnmatch.h>
#include <string.h>

#include "driver/compile.h"
#include "driver/proof/compare.h"
#include "eval/eval.h"

enum { BATCH = 50 };

static const double RTOL = 1e-3, RTOL_BF16 = 0x1p-6, ATOL = 1e-7;

/* Cases whose expected data carries rounding of its own. */
static const struct {
	const char *name;
	double atol;
} NOISY[] = {
	{"test_dft_inverse*", 4e-6},                      /* an FFT in f32 of numbers up to 100 */
	{"test_attention_4d_causal_fp16_expanded", 5e-4}, /* sums of f16, each step rounded */
};

static double
case_atol(const Case *c)
{
	for (size_t i = 0; i < countof(NOISY); i++)
		if (fnmatch(NOISY[i].name, c->name, 0) == 0)
			return NOISY[i].atol;
	return ATOL;
}

typedef struct CaseJob {
	Arena *arena;
	const Options *options;
	Case *c;
	CaseModel model;
	const char *reason; /* of a skip */
	bool is_readable, is_done;
	/* compiled */
	const Device *device; /* NULL: interpreted */
	KernelList *kernels;  /* of the batch */
	WeightPool weights;
	Plan *plan;
	const CaseCode *code;
} CaseJob;

static void
read_case(void *arg)
{
	CaseJob *job = arg;
	job->is_readable =
		case_read(job->arena, job->c, job->device != NULL, &job->model, &job->reason);
}

/* Which of the model's inputs parameter `param` of the graph is: fixed ones are gone. */
static int
input_of_param(const CaseModel *model, const char *param)
{
	for (int i = 0; i < model->ninput; i++)
		if (strcmp(model->names[i], param) == 0)
			return i;
	fail_as(FAIL_BUG, NULL, "the case has no data for input %s", param);
}

/* Compare one output; on a difference the case has failed. */
static void
judge(const CaseJob *job, int set, int index, const Array *seen)
{
	Data expected;
	if (!case_output(job->arena, job->c, &job->model, set, index, &expected))
		return;
	if (expected.kind != TYPE_TENSOR)
		fail_unsupported(NULL, "output %d is no tensor", index);
	Comparison comparison =
		compare_arrays(job->arena, expected.tensor, seen,
	                   expected.tensor->type == DT_BF16 ? RTOL_BF16 : RTOL, case_atol(job->c));
	if (!comparison.reason && comparison.wrong == 0)
		return;
	fail_as(FAIL_COMPARISON, NULL, "output %d: %s", index,
	        comparison_text(job->arena, &comparison, expected.tensor, seen));
}

static const Array *
tensor_input(const CaseJob *job, int set, const Value *param)
{
	int index = input_of_param(&job->model, param->name);
	Data data = case_input(job->arena, job->c, &job->model, set, index);
	if (data.kind != TYPE_TENSOR && param->constant)
		return param->constant;
	if (data.kind != TYPE_TENSOR)
		fail_as(FAIL_INVALID, NULL, "%s: there is no data for input %s", job->c->name, param->name);
	return data.tensor;
}

static const Array **
tensor_inputs(const CaseJob *job, int set)
{
	const Region *body = job->model.graph->body;
	const Array **inputs = NEW_N(job->arena, const Array *, body->nparam + 1);
	for (int i = 0; i < body->nparam; i++)
		inputs[i] = tensor_input(job, set, body->params[i]);
	return inputs;
}

/* Run one phase of a case; false when it is over with it. */
static bool
phase(CaseJob *job, void (*run)(void *arg))
{
	Failure failure;
	if (try_run(run, job, &failure))
		return true;
	job->c->result = CASE_FAILED;
	job->c->detail = arena_strdup(job->options->arena, failure.text);
	return false;
}

static bool
read_phase(CaseJob *job)
{
	if (!phase(job, read_case))
		return false;
	if (job->is_readable)
		return true;
	job->c->result = CASE_SKIPPED;
	job->c->detail = arena_strdup(job->options->arena, job->reason);
	return false;
}

/* ---- by the interpreter ---- */

static void
interpret(void *arg)
{
	CaseJob *job = arg;
	const Region *body = job->model.graph->body;
	const Array **outputs = NEW_N(job->arena, const Array *, body->nresult + 1);
	for (int set = 0; set < job->c->nset; set++) {
		eval_graph(job->arena, job->model.graph, tensor_inputs(job, set), outputs);
		for (int i = 0; i < body->nresult; i++)
			judge(job, set, i, outputs[i]);
	}
	job->c->result = CASE_INTERPRETED;
}

static void
interpret_all(const Options *options, int count, Case **cases, CaseBegin *begin, CaseDone *done,
              void *arg)
{
	for (int i = 0; i < count; i++) {
		CaseJob job = {.arena = arena_new("case"), .options = options, .c = cases[i]};
		begin(arg, cases[i]);
		if (read_phase(&job))
			phase(&job, interpret);
		arena_free(job.arena);
		done(arg, cases[i]);
	}
}

/* ---- compiled ---- */

static const char *
text_of_kernels(const CaseJob *job, int first)
{
	const Target target = {.device = job->device};
	KernelList *list = job->kernels;
	return artefact_of(job->device)
	    ->emit(job->arena, &target, list->kernels.count - first, list->kernels.data + first);
}

static void
lower_case(void *arg)
{
	CaseJob *job = arg;
	PassContext *context = pipeline_new(job->options, job->arena, 3);
	context->target = target_new(job->options, job->arena, job->device->name, job->model.graph);
	const Module *module = compile_graph(job->arena, job->model.graph, context);
	int first = job->kernels->kernels.count;
	job->weights.arena = job->arena;
	job->plan = plan_of_module(job->arena, module, &job->weights, job->kernels);
	if (job->kernels->kernels.count > first)
		text_of_kernels(job, first); /* what fails here fails alone */
}

static void
execute_case(void *arg)
{
	CaseJob *job = arg;
	CaseExec *exec =
		case_exec_new(job->arena, job->plan, &job->weights, job->device, job->code, false);
	for (int set = 0; set < job->c->nset; set++) {
		case_exec_run(exec, tensor_inputs(job, set));
		for (int i = 0; i < job->plan->noutput; i++) {
			Array seen = case_exec_output(exec, i);
			judge(job, set, i, &seen);
		}
	}
	job->c->result = case_kind(job->plan);
}

typedef struct BatchCode {
	Arena *arena;
	const Device *device;
	KernelList *kernels;
	const CaseCode *code;
} BatchCode;

static void
compile_batch(void *arg)
{
	BatchCode *batch = arg;
	batch->code = case_code_compile(batch->arena, batch->device, batch->kernels);
}

static void
finish(CaseJob *job, CaseDone *done, void *arg)
{
	job->is_done = true;
	done(arg, job->c);
}

/* One batch. Fails together when the C compiler refuses the text: the caller halves it. */
static bool
run_batch(const Options *options, int count, Case **cases, CaseBegin *begin, CaseDone *done,
          void *arg)
{
	const Device *device = device_of(target_name(options, 0));
	Arena *arena = arena_new("batch");
	CaseJob *jobs = NEW_N(arena, CaseJob, count);
	KernelList kernels = {0};
	for (int i = 0; i < count; i++) {
		jobs[i] = (CaseJob){.arena = arena,
		                    .options = options,
		                    .c = cases[i],
		                    .device = device,
		                    .kernels = &kernels};
		begin(arg, cases[i]);
		if (!read_phase(&jobs[i]) || !phase(&jobs[i], lower_case))
			finish(&jobs[i], done, arg);
	}
	BatchCode batch = {arena, device, &kernels, NULL};
	Failure failure;
	bool compiled = kernels.kernels.count == 0 || try_run(compile_batch, &batch, &failure);
	for (int i = 0; i < count; i++) {
		jobs[i].code = batch.code;
		if (jobs[i].is_done || (!compiled && count > 1))
			continue;
		begin(arg, cases[i]);
		if (compiled) {
			phase(&jobs[i], execute_case);
		} else {
			cases[i]->result = CASE_FAILED;
			cases[i]->detail = arena_strdup(options->arena, failure.text);
		}
		finish(&jobs[i], done, arg);
	}
	arena_free(arena);
	return compiled;
}

static void
run_compiled(const Options *options, int count, Case **cases, CaseBegin *begin, CaseDone *done,
             void *arg)
{
	if (run_batch(options, count, cases, begin, done, arg) || count == 1)
		return;
	Case **open = NEW_N(options->arena, Case *, count);
	int left = 0;
	for (int i = 0; i < count; i++)
		if (cases[i]->result == CASE_OPEN)
			open[left++] = cases[i];
	int half = (left + 1) / 2;
	run_compiled(options, half, open, begin, done, arg);
	if (left > half)
		run_compiled(options, left - half, open + half, begin, done, arg);
}

void
cases_run(const Options *options, bool is_compiled, int count, Case **cases, CaseBegin *begin,
          CaseDone *done, void *arg)
{
	if (!is_compiled) {
		interpret_all(options, count, cases, begin, done, arg);
		return;
	}
	for (int i = 0; i < count; i += BATCH)
		run_compiled(options, count - i < BATCH ? count - i : BATCH, cases + i, begin, done, arg);
}
