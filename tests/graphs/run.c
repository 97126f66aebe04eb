/* Running cases: the interpreter with error bounds says what is right, at two bindings of the
 * symbols (or two sets of inputs); all others must agree with it, and say the model's names.
 *
 * A batch shares one call of the C compiler. The process that runs it may die at any case: what is
 * under way stands in memory shared with the process that watches.
 */
#include "../cases/exec.h"
#include "graphs.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/time.h>
#include <unistd.h>

#include "cli/measure/executor.h"
#include "driver/compile.h"
#include "driver/sizes/inputs.h"
#include "eval/eval.h"
#include "graph/infer.h"
#include "onnx/onnx.h"

enum { SECONDS = 20, CLOCK_SECONDS = 600, ORT_OPSET = 24, ORT_IR = 11 };

const char *const WAY_NAMES[] = {"making", "reading", "interpreted", "-O0",    "-O1",
                                 "-O2",    "-O3",     "fallback",    "export", "ONNX Runtime"};

/* Folding into weights and biases (-O2) rounds elsewhere, or less often, than the bound was
 * counted: four units of the shortest floats. */
static const double FOLDING_UNITS = 4, UNIT_F32 = 0x1p-23;

typedef struct Job {
	Arena *arena;
	Shared *shared;
	Sample *c;
	const Options *options;
	const Device *device;
	const char *model; /* file for ONNX Runtime; NULL: not asked */
	Graph *graph;
	int run, nrun;
	const Array **inputs[GRAPH_RUNS];
	const BoundArray **expected[GRAPH_RUNS];
	KernelList *kernels;
	Plan *plans[WAY_COUNT];
	const Graph *other[WAY_COUNT]; /* what is computed where it may round otherwise, else NULL */
	WeightPool weights[WAY_COUNT];
	const CaseCode *code;
	bool is_refused; /* by ONNX Runtime */
} Job;

/* ---- inputs ---------------------------------------------------------------------------------- */

Array *
sample_input(Arena *arena, uint64_t seed, const char *name, const void *ranges, DType type,
             int rank, const int64_t *dims)
{
	const InputRanges *known = ranges;
	bool has_range = false;
	if (type == DT_C64 || type == DT_C128) /* nobody reads them */
		return array_new(arena, type, rank, dims);
	for (int i = 0; known && i < known->count; i++)
		has_range |= strcmp(known->data[i].name, name) == 0;
	if (has_range || !dtype_is_integer(type))
		return input_make(arena, seed, known, name, type, rank, dims);
	Array *array = array_new(arena, type, rank, dims);
	uint64_t state = hash_mix(seed, hash64(name, strlen(name)));
	int64_t least = dtype_is_signed(type) ? -4 : 0, most = least + 15;
	if (graph_is_byte(type))
		graph_ends(type, &least, &most);
	for (int64_t i = 0, count = array_count(array); i < count; i++) {
		state = hash_mix(state, (uint64_t)i);
		dtype_store_i64(type, array->data, i, least + (int64_t)(state >> 40) % (most - least + 1));
	}
	return array;
}

static Binding
binding_of(const Job *job)
{
	int count = 0;
	for (int i = 0; i < job->graph->symbols.count; i++)
		if (job->graph->symbols.data[i].symbol->id >= count)
			count = job->graph->symbols.data[i].symbol->id + 1;
	int64_t *value = NEW_N(job->arena, int64_t, count + 1);
	bool *is_bound = NEW_N(job->arena, bool, count + 1);
	for (int i = 0; i < job->graph->symbols.count; i++) {
		const SymbolDef *def = &job->graph->symbols.data[i];
		if (def->source != SYMBOL_DIM || def->value->def || def->value->region->parent)
			continue;
		value[def->symbol->id] = graph_symbol_value(job->c->seed, job->run, def->symbol->name);
		is_bound[def->symbol->id] = true;
	}
	return (Binding){count, value, is_bound};
}

static void
make_inputs(Job *job)
{
	const Region *body = job->graph->body;
	Binding binding = binding_of(job);
	InputRanges ranges = input_ranges(job->arena, job->graph, &binding, NULL);
	const Array **inputs = NEW_N(job->arena, const Array *, body->nparam + 1);
	for (int i = 0; i < body->nparam; i++) {
		const Value *param = body->params[i];
		int64_t *dims = NEW_N(job->arena, int64_t, param->type.rank + 1);
		for (int d = 0; d < param->type.rank; d++)
			if (!dim_eval(param->type.dims[d], &binding, &dims[d]))
				fail(NULL, "a dim of input %s is no symbol", param->name);
		inputs[i] = sample_input(job->arena, job->c->seed + (uint64_t)job->run, param->name,
		                         &ranges, param->type.dtype, param->type.rank, dims);
	}
	job->inputs[job->run] = inputs;
}

/* ---- judging --------------------------------------------------------------------------------- */

/* Others may have more freedom than we: a share of the largest element on top of the bound. */
static const BoundArray *
widen(Arena *arena, const BoundArray *expected, double share)
{
	if (!expected->value || share <= 0)
		return expected;
	BoundArray *wide = arena_memdup(arena, expected, sizeof *wide);
	int64_t count = dims_count(expected->rank, expected->dims);
	double largest = 0.01; /* functions are as near as this beside 1, not beside their own value */
	wide->bound = NEW_N(arena, double, count + 1);
	for (int64_t i = 0; i < count; i++)
		if (isfinite(expected->value[i]))
			largest = fmax(largest, fabs(expected->value[i]));
	for (int64_t i = 0; i < count; i++)
		wide->bound[i] = (expected->bound ? expected->bound[i] : 0) + share * largest;
	return wide;
}

static void
check_shape(const BoundArray *expected, const Array *seen, int index)
{
	bool is_same = expected->type == seen->type && expected->rank == seen->rank;
	for (int i = 0; is_same && i < seen->rank; i++)
		is_same = expected->dims[i] == seen->dims[i];
	if (!is_same)
		fail_as(FAIL_COMPARISON, NULL, "output %d: %s of rank %d, expected %s of rank %d", index,
		        dtype_name(seen->type), seen->rank, dtype_name(expected->type), expected->rank);
}

static Agreement
compare(Job *job, int index, const Array *seen, double share)
{
	const BoundArray *expected = job->expected[job->run][index];
	check_shape(expected, seen, index);
	return bound_compare(widen(job->arena, expected, share), seen, 1);
}

static void
judge(Job *job, int index, const Array *seen, double share)
{
	Shared *shared = job->shared;
	Way way = job->c->way;
	Agreement a = compare(job, index, seen, share);
	if (way == WAY_exact) {
		shared->tallies.points += a.points;
		shared->tallies.undecided += a.undecided;
	}
	shared->tallies.worst[way] = fmax(shared->tallies.worst[way], a.worst);
	if (a.wrong)
		fail_as(FAIL_COMPARISON, NULL,
		        "output %d, run %d: %lld of %lld are wrong; element %lld is %.9g, "
		        "expected %.9g within %.3g",
		        index, job->run, (long long)a.wrong, (long long)a.points, (long long)a.first_wrong,
		        a.seen, a.expected, a.bound);
}

/* ---- the ways -------------------------------------------------------------------------------- */

static void
make_text(void *arg)
{
	Job *job = arg;
	Sample *c = job->c;
	const char *text = graph_make(job->arena, c->seed, c->number, c->theme, c->text);
	if (!text || strlen(text) >= GRAPH_TEXT)
		fail(NULL, "nothing came of it");
	snprintf(c->text, sizeof c->text, "%s", text);
}

static void
read_text(void *arg)
{
	Job *job = arg;
	job->graph = graph_read(job->arena, job->c->text);
	graph_infer(job->graph);
	graph_check(job->graph);
	job->graph->ir_version = ORT_IR;
	vec_push(job->arena, &job->graph->opsets, (OpsetImport){"", ORT_OPSET});
}

static void
expect(void *arg)
{
	Job *job = arg;
	int count = job->graph->body->nresult;
	const BoundArray **expected = NEW_N(job->arena, const BoundArray *, count + 1);
	make_inputs(job);
	eval_graph_bound(job->arena, job->graph, job->inputs[job->run], expected,
	                 (BoundWay){.sample = 0});
	job->expected[job->run] = expected;
}

static void
interpret(void *arg)
{
	Job *job = arg;
	int count = job->graph->body->nresult;
	const Array **seen = NEW_N(job->arena, const Array *, count + 1);
	for (job->run = 0; job->run < job->nrun; job->run++) {
		eval_graph(job->arena, job->graph, job->inputs[job->run], seen);
		for (int i = 0; i < count; i++)
			judge(job, i, seen[i], 0);
	}
}

static void
lower(void *arg)
{
	Job *job = arg;
	Way way = job->c->way;
	Options options = *job->options;
	options.no_vendor = way != WAY_O3 || job->c->seed % 4 == 0;
	Graph *graph = graph_clone(job->arena, job->graph);
	PassContext *context = pipeline_new(&options, job->arena, way - WAY_O0);
	Target *target = target_new(&options, job->arena, job->device->name, graph);
	context->target = target;
	if (job->c->theme == THEME_any &&
	    job->c->seed % 3 == 1) /* after any number of rewrites it is right */
		context->first_out = 1 + (int)(job->c->seed / 3 % 64);
	if (job->c->theme == THEME_derived && way > WAY_O0)
		derive_by_chance(job->arena, job->c->seed, context, target);
	const Module *module = compile_graph(job->arena, graph, context);
	bool is_held = theme_is_held(context, job->c->theme);
	job->other[way] = is_held ? graph : NULL;
	job->c->is_held |= is_held;
	job->weights[way].arena = job->arena;
	job->plans[way] = plan_of_module(job->arena, module, &job->weights[way], job->kernels);
}

static void
check_names(const Job *job, const Plan *plan)
{
	const Region *body = job->graph->body;
	if (plan->noutput != body->nresult || plan->ninput != body->nparam)
		fail_as(FAIL_BUG, NULL, "the plan has %d inputs and %d outputs, the graph %d and %d",
		        plan->ninput, plan->noutput, body->nparam, body->nresult);
	for (int i = 0; i < plan->noutput; i++) {
		const char *name = plan->buffers[plan->outputs[i]].name;
		if (strcmp(name, body->results[i]->name) != 0)
			fail_as(FAIL_COMPARISON, NULL, "output %d is called %s, expected %s", i, name,
			        body->results[i]->name);
	}
}

/* A constant as it was rounded: what a zero point adds and a bias are one, and may nearly cancel
 * the sum that they are added to. */
static const BoundArray *
rounded(Arena *arena, const Array *constant)
{
	BoundArray *bounds = bound_from_array(arena, constant);
	int64_t count = array_count(constant);
	bounds->bound = NEW_N(arena, double, count + 1);
	for (int64_t k = 0; bounds->value && k < count; k++)
		bounds->bound[k] = 0x1p-24 * fabs(bounds->value[k]);
	return bounds;
}

/* What is derived, or a scaled sum of integers, may round elsewhere or more often than what it was
 * made of: its own bound counts, too, as --verify has it. Weights that derivation makes count as
 * exact, those of sums of integers do not. */
static void
allow_other(Job *job, const Graph *other)
{
	int count = other->body->nresult;
	const BoundArray **both = NEW_N(job->arena, const BoundArray *, count + 1);
	Eval *eval = eval_new(job->arena, other, EVAL_bound);
	for (int i = 0; i < other->body->nparam; i++)
		eval_give_bounds(eval, other->body->params[i],
		                 bound_from_array(job->arena, job->inputs[job->run][i]));
	for (int i = 0; job->c->theme == THEME_quantised && i < other->constants.count; i++) {
		const Value *value = other->constants.data[i];
		if (value->type.dtype == DT_F32)
			eval_give_bounds(eval, value, rounded(job->arena, value->constant));
	}
	eval_region(eval, other->body);
	for (int i = 0; i < count; i++)
		both[i] = bound_join(job->arena, job->expected[job->run][i],
		                     eval_bounds(eval, other->body->results[i]));
	job->expected[job->run] = both;
}

/* From -O2 on roundings to 16 bits may be left out (WidenHalves). */
static const BoundArray **
unrounded(const Job *job)
{
	const BoundArray **open = NEW_N(job->arena, const BoundArray *, job->graph->body->nresult + 1);
	const BoundWay way = {.keeps_halves = true};
	eval_graph_bound(job->arena, job->graph, job->inputs[job->run], open, way);
	return open;
}

static void
execute(void *arg)
{
	Job *job = arg;
	bool is_fallback = job->c->way == WAY_fallback; /* the same plan */
	Way made = is_fallback ? WAY_O3 : job->c->way;
	const Plan *plan = job->plans[made];
	CaseExec *exec =
		case_exec_new(job->arena, plan, &job->weights[made], job->device, job->code, is_fallback);
	double unit = made >= WAY_O2 ? graph_float_unit(job->graph) : 0;
	for (job->run = 0; job->run < job->nrun; job->run++) {
		const BoundArray **expected = job->expected[job->run];
		job->expected[job->run] = unit > UNIT_F32 ? unrounded(job) : expected;
		if (job->other[made])
			allow_other(job, job->other[made]);
		case_exec_run(exec, job->inputs[job->run]);
		for (int i = 0; i < plan->noutput; i++) {
			Array seen = case_exec_output(exec, i);
			judge(job, i, &seen, FOLDING_UNITS * unit);
		}
		job->expected[job->run] = expected;
	}
	check_names(job, plan);
}

/* Results of inputs that are a little other than they are: where the smallest difference decides
 * (the largest of equal elements, a number that is rounded), others may decide otherwise. */
static void
shake(Job *job, double share)
{
	const Region *body = job->graph->body;
	const BoundArray **expected = NEW_N(job->arena, const BoundArray *, body->nresult + 1);
	Eval *eval = eval_new(job->arena, job->graph, EVAL_bound);
	for (int i = 0; i < body->nparam; i++) {
		BoundArray *shaken = bound_from_array(job->arena, job->inputs[0][i]);
		int64_t count = dims_count(shaken->rank, shaken->dims);
		shaken->bound = shaken->value ? NEW_N(job->arena, double, count + 1) : NULL;
		for (int64_t k = 0; shaken->value && k < count; k++)
			shaken->bound[k] = share * fabs(shaken->value[k]);
		eval_give_bounds(eval, body->params[i], shaken);
	}
	eval_region(eval, body);
	for (int i = 0; i < body->nresult; i++)
		expected[i] = eval_bounds(eval, body->results[i]);
	job->expected[0] = expected;
}

/* Of no elements its shapes are not always ONNX's. */
static bool
is_judged(void *ort, int index)
{
	return array_count(executor_ort.output(ort, index)) > 0;
}

static void
judge_ort(Job *job, void *ort)
{
	double share = ort_share(job->graph);
	bool is_near = true;
	for (int i = 0; i < executor_ort.output_count(ort) && is_near; i++)
		is_near = !is_judged(ort, i) || !compare(job, i, executor_ort.output(ort, i), share).wrong;
	if (!is_near)
		shake(job, share / 10);
	for (int i = 0; i < executor_ort.output_count(ort); i++)
		if (is_judged(ort, i))
			judge(job, i, executor_ort.output(ort, i), share);
}

static void
export_model(void *arg)
{
	Job *job = arg;
	onnx_write(job->graph, job->model, NULL);
}

static void
ask_ort(void *arg)
{
	Job *job = arg;
	const Region *body = job->graph->body;
	const char **names = NEW_N(job->arena, const char *, body->nparam + 1);
	for (int i = 0; i < body->nparam; i++)
		names[i] = body->params[i]->name;
	job->run = 0;
	job->is_refused = true;
	if (ort_deviates(job->graph))
		fail(NULL, "%s", ort_deviates(job->graph));
	/* Its optimiser makes integer products of what only looks like one. */
	bool is_optimised = job->c->theme != THEME_quantised;
	void *ort = executor_ort.open(job->arena, job->model, 1, is_optimised);
	executor_ort.bind(ort, body->nparam, names, (Array *const *)job->inputs[0]);
	executor_ort.run(ort);
	for (int i = 0; i < executor_ort.output_count(ort); i++)
		executor_ort.output(ort, i); /* which may fail, where its optimiser took a node away */
	job->is_refused = executor_ort.output_count(ort) != body->nresult;
	if (!job->is_refused)
		judge_ort(job, ort);
}

/* ---- phases ---------------------------------------------------------------------------------- */

static Verdict
verdict_of(const Job *job, FailKind kind)
{
	Way way = job->c->way;
	if (kind == FAIL_UNSUPPORTED)
		return VERDICT_refused;
	if (kind == FAIL_BUG)
		return VERDICT_bug;
	if (way <= WAY_read || !job->expected[0])
		return VERDICT_unmade;
	return kind == FAIL_ENVIRONMENT ? VERDICT_bug : VERDICT_wrong;
}

/* So many seconds of the processor, which a busy machine does not shorten; by the clock as many as
 * nothing takes that ends. */
static void
set_alarm(int seconds)
{
	struct itimerval processor = {.it_value.tv_sec = seconds};
	setitimer(ITIMER_PROF, &processor, NULL);
	alarm(seconds ? CLOCK_SECONDS : 0);
}

/* Whether the case goes on. */
static bool
phase(Job *job, Way way, void (*act)(void *arg))
{
	Failure failure;
	Sample *c = job->c;
	c->way = way;
	job->shared->current = (int)(c - job->shared->cases);
	set_alarm(SECONDS);
	bool is_done = try_run(act, job, &failure);
	set_alarm(0);
	job->shared->current = -1;
	if (!is_done) {
		c->verdict = verdict_of(job, failure.kind);
		snprintf(c->reason, sizeof c->reason, "%.299s", failure.text);
	} else {
		job->shared->tallies.runs[way]++;
	}
	return is_done;
}

/* The second run is another binding: where it is none of the graph's, there is only one. */
static bool
expect_all(Job *job)
{
	Failure failure;
	if (!phase(job, WAY_exact, expect))
		return false;
	job->run = 1;
	job->nrun = 1;
	set_alarm(SECONDS);
	job->shared->current = (int)(job->c - job->shared->cases);
	if (try_run(expect, job, &failure))
		job->nrun = GRAPH_RUNS;
	else
		job->shared->tallies.unbound++;
	job->run = 0;
	set_alarm(0);
	return phase(job, WAY_exact, interpret);
}

static unsigned
usual_ways(const Sample *c)
{
	unsigned ways = 1u << WAY_O0 | 1u << WAY_O3 | 1u << WAY_fallback | 1u << WAY_ort;
	if (c->number % 10 == 3)
		ways |= 1u << WAY_O1;
	if (c->number % 10 == 7)
		ways |= 1u << WAY_O2;
	return ways;
}

static bool
is_open(const Sample *c)
{
	return c->verdict == VERDICT_open;
}

/* What no interpreter knows is compiled, or refused in a sentence. */
static void
lower_refused(Job *job)
{
	Sample *c = job->c;
	for (Way way = WAY_O0; way <= WAY_O3 && c->verdict == VERDICT_refused; way++)
		if ((c->ways & 1u << way) && phase(job, way, lower))
			job->plans[way] = NULL; /* nothing to compare with */
}

static void
prepare(Job *job)
{
	Sample *c = job->c;
	if (!c->ways)
		c->ways = usual_ways(c);
	if (!c->text[0] && !phase(job, WAY_make, make_text))
		return;
	if (!phase(job, WAY_read, read_text))
		return;
	if (!expect_all(job)) {
		lower_refused(job);
		return;
	}
	for (Way way = WAY_O0; way <= WAY_O3 && is_open(c); way++)
		if (c->ways & 1u << way)
			phase(job, way, lower);
}

/* What ONNX Runtime does not take says nothing about us. */
static void
run_ort(Job *job)
{
	if (!job->model || !(job->c->ways & 1u << WAY_ort) || !phase(job, WAY_export, export_model) ||
	    phase(job, WAY_ort, ask_ort))
		return;
	if (job->is_refused) {
		job->c->verdict = VERDICT_open;
		job->shared->tallies.ort_refused++;
	}
}

static void
finish(Job *job, const CaseCode *code)
{
	Sample *c = job->c;
	job->code = code;
	for (Way way = WAY_O0; way <= WAY_O3 && is_open(c); way++)
		if (job->plans[way])
			phase(job, way, execute);
	if (is_open(c) && job->plans[WAY_O3] && case_kind(job->plans[WAY_O3]) == CASE_VENDOR)
		phase(job, WAY_fallback, execute);
	if (is_open(c))
		run_ort(job);
	if (is_open(c))
		c->verdict = VERDICT_right;
	if (c->verdict == VERDICT_right || c->verdict == VERDICT_refused)
		coverage_add(&job->shared->tallies.coverage, job->graph, c->text,
		             c->verdict == VERDICT_refused);
}

static void
blame(Sample *c, const char *reason)
{
	c->verdict = VERDICT_bug;
	snprintf(c->reason, sizeof c->reason, "%.299s", reason);
}

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

void
batch_run(Shared *shared, const Options *options, const char *model)
{
	Batch batch = {.arena = arena_new("batch"), .device = device_native()};
	Job *jobs = NEW_N(batch.arena, Job, shared->count);
	Failure failure;
	for (int i = 0; i < shared->count; i++) {
		jobs[i] = (Job){.arena = batch.arena,
		                .shared = shared,
		                .c = &shared->cases[i],
		                .options = options,
		                .device = batch.device,
		                .model = model,
		                .kernels = &batch.kernels};
		if (is_open(jobs[i].c))
			prepare(&jobs[i]);
	}
	bool is_compiled = batch.kernels.kernels.count == 0 || try_run(compile_batch, &batch, &failure);
	for (int i = 0; i < shared->count; i++) {
		Sample *c = jobs[i].c;
		if (is_open(c) && is_compiled)
			finish(&jobs[i], batch.code);
		else if (is_open(c) && shared->count == 1)
			blame(c, failure.text);
		else if (c->verdict == VERDICT_refused && jobs[i].graph)
			coverage_add(&shared->tallies.coverage, jobs[i].graph, c->text, true);
	}
	arena_free(batch.arena);
}
