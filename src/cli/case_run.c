/* Running cases: by the interpreter one by one, compiled in batches that share one call of the C
 * compiler (which costs more than the rest together).
 *
 * ONNX's tolerances: rtol 1e-3, atol 1e-7; integers, bools and texts equal.
 */
#include <string.h>

#include "cli/cases.h"
#include "cli/compare.h"
#include "eval/eval.h"

static const double RTOL = 1e-3, ATOL = 1e-7;

typedef struct CaseJob {
	Arena *arena;
	const Options *options;
	Case *c;
	CaseModel model;
	const char *reason; /* of a skip */
	bool is_readable;
} CaseJob;

static void
read_case(void *arg)
{
	CaseJob *job = arg;
	job->is_readable = case_read(job->arena, job->c, &job->model, &job->reason);
}

/* Which of the model's inputs parameter `param` of the graph is: fixed ones are gone. */
static int
input_of_param(const CaseModel *model, const Value *param)
{
	for (int i = 0; i < model->ninput; i++)
		if (strcmp(model->names[i], param->name) == 0)
			return i;
	fail_as(FAIL_BUG, NULL, "input %s has come from nowhere", param->name);
}

/* Compare one output; on a difference the case has failed. */
static void
judge(const CaseJob *job, int set, int index, const Array *seen)
{
	Data expected;
	Case *c = job->c;
	if (!case_output(job->arena, c, &job->model, set, index, &expected))
		return;
	if (expected.kind != TYPE_TENSOR)
		fail_unsupported(NULL, "output %d is no tensor", index);
	Comparison comparison = compare_arrays(job->arena, expected.tensor, seen, RTOL, ATOL);
	if (!comparison.reason && comparison.wrong == 0)
		return;
	fail_as(FAIL_COMPARISON, NULL, "output %s: %s", job->model.graph->body->results[index]->name,
	        comparison_text(job->arena, &comparison, expected.tensor, seen));
}

static const Array *
tensor_input(const CaseJob *job, int set, const Value *param)
{
	int index = input_of_param(&job->model, param);
	Data data = case_input(job->arena, job->c, &job->model, set, index);
	if (data.kind != TYPE_TENSOR && param->constant)
		return param->constant;
	if (data.kind != TYPE_TENSOR)
		fail_as(FAIL_INVALID, NULL, "%s: there is no data for input %s", job->c->name, param->name);
	return data.tensor;
}

/* ---- by the interpreter ---- */

static void
interpret(void *arg)
{
	CaseJob *job = arg;
	const Region *body = job->model.graph->body;
	const Array **inputs = NEW_N(job->arena, const Array *, body->nparam + 1);
	const Array **outputs = NEW_N(job->arena, const Array *, body->nresult + 1);
	for (int set = 0; set < job->c->nset; set++) {
		for (int i = 0; i < body->nparam; i++)
			inputs[i] = tensor_input(job, set, body->params[i]);
		eval_graph(job->arena, job->model.graph, inputs, outputs);
		for (int i = 0; i < body->nresult; i++)
			judge(job, set, i, outputs[i]);
	}
	job->c->result = CASE_INTERPRETED;
}

static void
run_alone(CaseJob *job)
{
	Failure failure;
	Arena *keep = job->options->arena;
	if (!try_run(read_case, job, &failure)) {
		job->c->result = CASE_FAILED;
		job->c->detail = arena_strdup(keep, failure.text);
	} else if (!job->is_readable) {
		job->c->result = CASE_SKIPPED;
		job->c->detail = arena_strdup(keep, job->reason);
	} else if (!try_run(interpret, job, &failure)) {
		job->c->result = CASE_FAILED;
		job->c->detail = arena_strdup(keep, failure.text);
	}
}

void
cases_run(const Options *options, int count, Case **cases, CaseBegin *begin, CaseDone *done,
          void *arg)
{
	for (int i = 0; i < count; i++) {
		CaseJob job = {.arena = arena_new(cases[i]->name), .options = options, .c = cases[i]};
		begin(arg, cases[i]);
		run_alone(&job);
		arena_free(job.arena);
		done(arg, cases[i]);
	}
}
