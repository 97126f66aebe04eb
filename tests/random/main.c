/* usage: random OPERATOR COUNT [SEED [NUMBER [FOLDER]]]
 *
 * Random cases of one operator, each run in every way there is: interpreted in double with error
 * bounds, which the others must keep to; interpreted as kernels compute; compiled to our own
 * kernels at some level; compiled for oneDNN where that matches, with it and with the fallback
 * kernels; by ONNX Runtime where it is found (cli/measure/ort.c) and takes the model. With NUMBER
 * only that case, with its graph; with FOLDER its model and data are left there (model.onnx,
 * NAME.npy), for other programs.
 *
 * Cases are compiled in batches that share a call of the C compiler, as tests/cases does.
 */
#include "../cases/exec.h"
#include "cli/cli.h"
#include "random.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/measure/executor.h"
#include "driver/compile.h"
#include "driver/sizes/npy.h"
#include "eval/eval.h"
#include "graph/infer.h"
#include "graph/text.h"
#include "onnx/onnx.h"

enum { BATCH = 25, MAX_SHOWN = 5, OPSET = 24, IR_VERSION = 11 };

typedef enum Way { WAY_EXACT, WAY_OWN, WAY_VENDOR, WAY_FALLBACK, WAY_ORT, WAY_COUNT } Way;

static const char *const WAY_NAMES[] = {"interpreted", "compiled", "oneDNN", "fallback",
                                        "ONNX Runtime"};

typedef struct Tally {
	int cases, failed, ways[WAY_COUNT], refused;
	double points, undecided, worst[WAY_COUNT];
} Tally;

typedef struct Run {
	const char *name;
	void (*make)(Trial *t);
	double ort_share; /* of the cases, that ONNX Runtime must take part in */
	uint64_t seed;
	Options options;
	const Device *device;
	bool has_ort, is_single;
	const char *model;  /* file to hand ONNX Runtime a model in */
	const char *folder; /* for the model and data of a single case, or NULL */
	Tally tally;
} Run;

typedef struct Job {
	Run *run;
	Arena *arena;
	int number;
	Trial trial;
	const BoundArray **expected;
	/* compiled */
	Way way;
	int level;
	KernelList *kernels;
	Plan *plans[WAY_COUNT];
	WeightPool weights[WAY_COUNT];
	const CaseCode *code;
	bool is_refused; /* by ONNX Runtime */
	bool has_failed;
} Job;

/* ---- judging ---- */

static void
show_failure(Job *job, const char *text)
{
	Run *run = job->run;
	if (!job->has_failed && run->tally.failed++ < MAX_SHOWN)
		printf("FAIL random %s %d %llu %d: %s\n", run->name, job->number + 1,
		       (unsigned long long)run->seed, job->number, text);
	else if (run->is_single)
		printf("%s\n", text);
	job->has_failed = true;
}

static bool
phase(Job *job, void (*act)(void *arg))
{
	Failure failure;
	if (try_run(act, job, &failure))
		return true;
	show_failure(job, arena_printf(job->arena, "%s: %s", WAY_NAMES[job->way], failure.text));
	return false;
}

/* Others may have more freedom than we: a share of the largest element on top of the bound. */
static const BoundArray *
widen(Arena *arena, const BoundArray *expected, double share)
{
	if (!expected->value || share <= 0)
		return expected;
	BoundArray *wide = arena_memdup(arena, expected, sizeof *wide);
	int64_t count = dims_count(expected->rank, expected->dims);
	double largest = 0;
	wide->bound = NEW_N(arena, double, count + 1);
	for (int64_t i = 0; i < count; i++)
		if (isfinite(expected->value[i]))
			largest = fmax(largest, fabs(expected->value[i]));
	for (int64_t i = 0; i < count; i++)
		wide->bound[i] = (expected->bound ? expected->bound[i] : 0) + share * largest;
	return wide;
}

static void
judge(Job *job, int index, const Array *seen, double share)
{
	Tally *tally = &job->run->tally;
	Agreement a = bound_compare(widen(job->arena, job->expected[index], share), seen, 1);
	if (job->way == WAY_OWN) {
		tally->points += (double)a.points;
		tally->undecided += (double)a.undecided;
	}
	tally->worst[job->way] = fmax(tally->worst[job->way], a.worst);
	if (a.wrong)
		fail_as(FAIL_COMPARISON, NULL,
		        "output %d: %lld of %lld are wrong; element %lld is %.9g, "
		        "expected %.9g within %.3g",
		        index, (long long)a.wrong, (long long)a.points, (long long)a.first_wrong, a.seen,
		        a.expected, a.bound);
}

/* ---- the ways ---- */

static void
make_case(void *arg)
{
	Job *job = arg;
	Trial *t = &job->trial;
	*t = (Trial){.arena = job->arena};
	t->dice = job->run->seed * 1000003 + (uint64_t)job->number;
	t->graph = graph_new(job->arena, "random", "random");
	t->graph->ir_version = IR_VERSION;
	vec_push(job->arena, &t->graph->opsets, (OpsetImport){"", OPSET});
	t->is_symbolic = chance(t, 50);
	job->level = (int)PICK(t, 0, 1, 2, 3, 3, 3);
	job->run->make(t);
	graph_infer(t->graph);
	graph_check(t->graph);
	if (job->run->is_single) {
		Buf text = {.arena = job->arena};
		graph_print(&text, t->graph);
		printf("-O%d\n%s", job->level, buf_text(&text));
	}
}

static void
interpret(void *arg)
{
	Job *job = arg;
	int count = job->trial.graph->body->nresult;
	const Array **seen = NEW_N(job->arena, const Array *, count + 1);
	job->expected = NEW_N(job->arena, const BoundArray *, count + 1);
	eval_graph_bound(job->arena, job->trial.graph, job->trial.inputs.data, job->expected,
	                 (BoundWay){.keeps_halves = job->level >= 2});
	eval_graph(job->arena, job->trial.graph, job->trial.inputs.data, seen);
	for (int i = 0; i < count; i++)
		judge(job, i, seen[i], 0);
	job->run->tally.ways[WAY_EXACT]++;
}

static void
lower(void *arg)
{
	Job *job = arg;
	Options options = job->run->options;
	options.no_vendor = job->way == WAY_OWN;
	Graph *graph = graph_clone(job->arena, job->trial.graph);
	PassContext *context = pipeline_new(&options, job->arena, job->level);
	context->target = target_new(&options, job->arena, job->run->device->name, graph);
	const Module *module = compile_graph(job->arena, graph, context);
	int first = job->kernels->kernels.count;
	job->weights[job->way].arena = job->arena;
	Plan *plan = plan_of_module(job->arena, module, &job->weights[job->way], job->kernels);
	if (job->way == WAY_VENDOR && case_kind(plan) != CASE_VENDOR)
		job->kernels->kernels.count = first; /* the same as our own */
	else
		job->plans[job->way] = plan;
}

static void
execute(void *arg)
{
	Job *job = arg;
	bool is_fallback = job->way == WAY_FALLBACK; /* the same plan */
	int made = is_fallback ? WAY_VENDOR : job->way;
	const Plan *plan = job->plans[made];
	CaseExec *exec = case_exec_new(job->arena, plan, &job->weights[made], job->run->device,
	                               job->code, is_fallback);
	case_exec_run(exec, job->trial.inputs.data);
	for (int i = 0; i < plan->noutput; i++) {
		Array seen = case_exec_output(exec, i);
		judge(job, i, &seen, 0);
	}
	job->run->tally.ways[job->way]++;
}

static void
ask_ort(void *arg)
{
	Job *job = arg;
	const Region *body = job->trial.graph->body;
	const char **names = NEW_N(job->arena, const char *, body->nparam + 1);
	for (int i = 0; i < body->nparam; i++)
		names[i] = body->params[i]->name;
	job->is_refused = true;
	void *ort = executor_ort.open(job->arena, job->run->model, 1, true);
	executor_ort.bind(ort, body->nparam, names, (Array *const *)job->trial.inputs.data);
	executor_ort.run(ort);
	job->is_refused = false;
	for (int i = 0; i < executor_ort.output_count(ort); i++)
		judge(job, i, executor_ort.output(ort, i), job->trial.ort_share);
	job->run->tally.ways[WAY_ORT]++;
}

static void
export_case(void *arg)
{
	Job *job = arg;
	const Region *body = job->trial.graph->body;
	const char *folder = job->run->folder;
	onnx_write(job->trial.graph, job->run->model, NULL);
	if (!folder)
		return;
	onnx_write(job->trial.graph, arena_printf(job->arena, "%s/model.onnx", folder), NULL);
	for (int i = 0; i < body->nparam; i++)
		npy_write(job->arena, arena_printf(job->arena, "%s/%s.npy", folder, body->params[i]->name),
		          job->trial.inputs.data[i]);
}

/* A model that ONNX Runtime does not take says nothing about us; it is counted. */
static void
run_ort(Job *job)
{
	Failure failure;
	job->way = WAY_ORT;
	if (!job->run->has_ort || job->trial.no_ort || !phase(job, export_case) ||
	    try_run(ask_ort, job, &failure))
		return;
	if (!job->is_refused)
		show_failure(job, arena_printf(job->arena, "ONNX Runtime: %s", failure.text));
	else if (job->run->is_single)
		printf("refused: %s\n", failure.text);
	job->run->tally.refused += job->is_refused;
}

/* ---- batches ---- */

typedef struct Batch {
	Arena *arena;
	const Device *device;
	KernelList kernels;
	const CaseCode *code;
} Batch;

static void
compile_batch(void *arg)
{
	Batch *batch = arg;
	batch->code = case_code_compile(batch->arena, batch->device, &batch->kernels);
}

static void
prepare_job(Job *job)
{
	job->way = WAY_EXACT;
	job->has_failed = !phase(job, make_case) || !phase(job, interpret);
	for (int way = WAY_OWN; way <= WAY_VENDOR && !job->has_failed; way++) {
		job->way = (Way)way;
		phase(job, lower);
	}
}

static void
finish_job(Job *job, const CaseCode *code)
{
	job->code = code;
	for (int way = WAY_OWN; way <= WAY_FALLBACK; way++) {
		job->way = (Way)way;
		if (job->plans[way == WAY_FALLBACK ? WAY_VENDOR : way])
			phase(job, execute);
	}
	if (job->expected)
		run_ort(job);
	job->run->tally.cases++;
}

static void
run_batch(Run *run, int first, int count)
{
	Batch batch = {.arena = arena_new("batch"), .device = run->device};
	Job *jobs = NEW_N(batch.arena, Job, count);
	Failure failure;
	run->options.arena = batch.arena;
	for (int i = 0; i < count; i++) {
		jobs[i].run = run;
		jobs[i].arena = batch.arena;
		jobs[i].number = first + i;
		jobs[i].kernels = &batch.kernels;
		prepare_job(&jobs[i]);
	}
	if (batch.kernels.kernels.count && !try_run(compile_batch, &batch, &failure))
		show_failure(&jobs[0], failure.text);
	else
		for (int i = 0; i < count; i++)
			finish_job(&jobs[i], batch.code);
	arena_free(batch.arena);
}

/* ---- the program ---- */

/* Undecided points say nothing: more than one in a hundred is as bad as a failure; so is an ONNX
 * Runtime that is there and takes part too rarely. */
static int
report(Run *run)
{
	Tally *t = &run->tally;
	double open = t->points > 0 ? t->undecided / t->points : 0;
	printf("%s: %d cases, %.3g points, %.2g%% undecided;", run->name, t->cases, t->points,
	       100 * open);
	for (int way = 0; way < WAY_COUNT; way++)
		printf(" %d %s (%.2g)", t->ways[way], WAY_NAMES[way], t->worst[way]);
	printf(", %d refused\n", t->refused);
	if (run->is_single)
		return t->failed;
	if (open > 0.01)
		t->failed++, printf("FAIL random %s: more than 1%% undecided\n", run->name);
	if (run->has_ort && t->cases >= 100 && t->ways[WAY_ORT] < run->ort_share * t->cases)
		t->failed++, printf("FAIL random %s: too few by ONNX Runtime\n", run->name);
	int passed = t->cases > t->failed ? t->cases - t->failed : 0;
	printf("%d passed, %d failed, %d skipped\n", passed, t->failed, run->has_ort ? 0 : 1);
	return t->failed;
}

static void
find_operator(Run *run, const char *name)
{
	static const Run rows[] = {
#define TRIAL(op, share) {.name = #op, .make = try_##op, .ort_share = share},
#include "operators.def"
#undef TRIAL
	};
	for (size_t i = 0; i < countof(rows); i++)
		if (strcmp(rows[i].name, name) == 0) {
			*run = rows[i];
			return;
		}
	fprintf(stderr, "usage: random OPERATOR COUNT [SEED [NUMBER]]; operators:");
	for (size_t i = 0; i < countof(rows); i++)
		fprintf(stderr, " %s", rows[i].name);
	fprintf(stderr, "\n");
	exit(FAIL_USAGE);
}

/* Whether ONNX Runtime is here: a model that any takes. */
static void
probe_ort(void *arg)
{
	const Run *run = arg;
	Arena *arena = run->options.arena;
	Trial t = {.arena = arena, .graph = graph_new(arena, "probe", "probe")};
	int64_t one = 1;
	Value *x = trial_input(&t, "x", array_new(t.arena, DT_F32, 1, &one), false);
	t.graph->ir_version = 8;
	vec_push(t.arena, &t.graph->opsets, (OpsetImport){"", 17});
	trial_finish(&t, 1, trial_node(&t, "Relu", 1, &x, 1));
	graph_infer(t.graph);
	onnx_write(t.graph, run->model, NULL);
	executor_ort.open(t.arena, run->model, 1, true);
}

static void
prepare_run(Run *run, Arena *arena)
{
	static char file[] = "model.onnx", *arguments[] = {file};
	Failure failure;
	run->options = (Options){.arena = arena, .verb = verb_find("compile")};
	options_read(&run->options, 1, arguments);
	const char *named = getenv("DEVICE");
	run->device = named && *named ? device_find(named) : device_native();
	run->has_ort = try_run(probe_ort, run, &failure);
}

int
main(int argc, char **argv)
{
	Run run;
	find_operator(&run, argc > 2 ? argv[1] : "");
	char model[] = "/tmp/tilewright-random-XXXXXX.onnx";
	int file = mkstemps(model, (int)strlen(".onnx"));
	Arena *arena = arena_new("random");
	int count = (int)strtol(argv[2], NULL, 10);
	run.seed = argc > 3 ? strtoull(argv[3], NULL, 10) : 1;
	run.model = model;
	run.is_single = argc > 4;
	run.folder = argc > 5 ? argv[5] : NULL;
	prepare_run(&run, arena);
	if (run.is_single)
		run_batch(&run, (int)strtol(argv[4], NULL, 10), 1);
	for (int first = 0; first < count && !run.is_single; first += BATCH)
		run_batch(&run, first, count - first < BATCH ? count - first : BATCH);
	int failed = report(&run);
	arena_free(arena);
	close(file);
	unlink(model);
	return failed ? FAIL_COMPARISON : 0;
}
