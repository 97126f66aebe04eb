/* Reference values of whole models: what ONNX Runtime computes for our made-up inputs, kept as
 * samples and statistics, and what tests/model.sh needs to compare with them.
 *
 *     model reference MODEL.onnx N=1 N=3 > NAME.ref
 *             by ONNX Runtime (cli/measure/ort.c); only this needs it. "-" is a model without
 *             symbols
 *     model batches NAME.ref
 *             the shapes in it
 *     model compare NAME.ref N=3 FOLDER...
 *             FOLDER is the output of `tilewright run --output`: its largest error, in units of the
 *             largest element
 *     model agree NAME.ref N=3 FOLDER FOLDER...
 *             how far all elements are from the first folder's
 *     model weights MODEL.onnx
 *             how many weights can be perturbed
 *     model perturb MODEL.onnx K OUT.onnx
 *             weight K made half as large again
 *     model spread MODEL.onnx
 *             the deviation of each product with a weight
 *     model sensitivity MODEL.onnx
 *             the same for each weight in turn, at -O0 with kernels compiled once, and the least
 *             that any moves the samples
 *
 * NAME.ref, one block per shape:
 *
 *     shape N=3
 *     output y 3x1000 mean 0.01 deviation 1.02 largest 4.5
 *     17 0.25
 *     ...
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../cases/exec.h"
#include "cli/cli.h"
#include "cli/measure/executor.h"
#include "driver/compile.h"
#include "driver/sizes/inputs.h"
#include "driver/sizes/npy.h"
#include "driver/sizes/sizes.h"
#include "onnx/onnx.h"

enum { SAMPLES = 64, SEED = 1 };

/* What a perturbed weight is multiplied by, and how far it must then move a sample: twice what the
 * comparison with ONNX Runtime allows. */
static const double FACTOR = 1.5, NOTICED = 2e-4;

typedef struct Job {
	Arena *arena;
	int argc;
	char **argv;
	int result; /* exit code */
} Job;

/* ---- statistics ---- */

typedef struct Statistics {
	double mean, deviation, largest;
	int64_t count, small; /* small: below a thousandth of the largest */
} Statistics;

static Statistics
statistics_of(const Array *array)
{
	Statistics s = {.count = array_count(array)};
	double sum = 0, squares = 0;
	for (int64_t i = 0; i < s.count; i++) {
		double x = dtype_load_f64(array->type, array->data, i);
		sum += x;
		s.largest = fmax(s.largest, fabs(x));
	}
	s.mean = sum / (double)s.count;
	for (int64_t i = 0; i < s.count; i++) {
		double x = dtype_load_f64(array->type, array->data, i);
		squares += (x - s.mean) * (x - s.mean);
		s.small += fabs(x) < 1e-3 * s.largest;
	}
	s.deviation = sqrt(squares / (double)s.count);
	return s;
}

/* A model whose outputs are all alike, or all but a few 0, would agree with anything. */
static void
check_blindness(const char *name, const Statistics *s)
{
	bool is_flat = !(s->deviation >= 0.02 * s->largest) || !isfinite(s->largest);
	if (is_flat || s->count - s->small < 8)
		fail(NULL, "output %s is blind: deviation %g, largest %g, %lld of %lld are small", name,
		     s->deviation, s->largest, (long long)s->small, (long long)s->count);
}

/* Rows of a batch come from different inputs: where they hardly differ, so would wrong ones. */
static void
check_rows(const char *name, const Array *output, double largest)
{
	int64_t row = array_count(output) / (output->rank ? output->dims[0] : 1);
	double most = 0;
	for (int64_t i = 0; i < array_count(output) - row; i++)
		most = fmax(most, fabs(dtype_load_f64(output->type, output->data, i) -
		                       dtype_load_f64(output->type, output->data, i + row)));
	if (output->rank && output->dims[0] > 1 && !(most >= 0.01 * largest))
		fail(NULL, "output %s is blind: rows differ by %g, the largest is %g", name, most, largest);
}

/* Which elements are kept: of each of so many parts of the output the largest one. */
static int64_t
sample_place(const Array *output, int sample)
{
	int64_t count = array_count(output), parts = count < SAMPLES ? count : SAMPLES;
	int64_t first = count * sample / parts, end = count * (sample + 1) / parts, best = first;
	for (int64_t i = first; i < end; i++)
		if (fabs(dtype_load_f64(output->type, output->data, i)) >
		    fabs(dtype_load_f64(output->type, output->data, best)))
			best = i;
	return best;
}

/* ---- reference ---- */

static Options
options_for(Arena *arena, const char *shape)
{
	Options options = {.arena = arena, .verb = verb_find("run")};
	static char file[] = "model.onnx";
	char *arguments[] = {file};
	options_read(&options, 1, arguments);
	if (strcmp(shape, "-") != 0)
		vec_push(arena, &options.shape, shape);
	return options;
}

static void
print_output(const char *name, const Array *output)
{
	Statistics s = statistics_of(output);
	check_blindness(name, &s);
	check_rows(name, output, s.largest);
	printf("output %s ", name);
	for (int d = 0; d < output->rank; d++)
		printf("%s%lld", d ? "x" : "", (long long)output->dims[d]);
	printf(" mean %.6g deviation %.6g largest %.9g\n", s.mean, s.deviation, s.largest);
	for (int i = 0; i < SAMPLES && i < s.count; i++) {
		int64_t at = sample_place(output, i);
		printf("%lld %.9g\n", (long long)at, dtype_load_f64(output->type, output->data, at));
	}
}

/* The inputs that `tilewright run` makes up for this shape. */
static Array **
make_inputs(const Options *options, const Graph *graph)
{
	Arena *arena = options->arena;
	const Region *body = graph->body;
	const Binding *sizes = sizes_asked(options, arena, graph);
	InputRanges ranges = input_ranges(arena, graph, sizes, NULL);
	Array **inputs = NEW_N(arena, Array *, body->nparam + 1);
	for (int i = 0; i < body->nparam; i++)
		inputs[i] = input_make_for(arena, SEED, &ranges, body->params[i], sizes);
	return inputs;
}

static void
reference_at(Arena *arena, const char *path, const char *shape)
{
	Options options = options_for(arena, shape);
	const Graph *graph = onnx_read(arena, path, NULL);
	const Region *body = graph->body;
	const char **names = NEW_N(arena, const char *, body->nparam + 1);
	for (int i = 0; i < body->nparam; i++)
		names[i] = body->params[i]->name;
	void *ort = executor_ort.open(arena, path, 1, true);
	executor_ort.bind(ort, body->nparam, names, make_inputs(&options, graph));
	executor_ort.run(ort);
	printf("shape %s\n", shape);
	for (int i = 0; i < executor_ort.output_count(ort); i++)
		print_output(executor_ort.output_name(ort, i), executor_ort.output(ort, i));
}

static void
reference(Job *job)
{
	for (int i = 3; i < job->argc; i++)
		reference_at(job->arena, job->argv[2], job->argv[i]);
}

/* ---- reading references ---- */

typedef struct Lines {
	Arena *arena;
	const char *path;
	char *at;
} Lines;

static Lines
lines_of(Arena *arena, const char *path)
{
	Bytes bytes = file_map(arena, path);
	return (Lines){arena, path, arena_strndup(arena, (const char *)bytes.data, bytes.size)};
}

static char *
next_line(Lines *lines)
{
	if (!*lines->at)
		return NULL;
	char *line = lines->at, *end = strchr(line, '\n');
	lines->at = end ? end + 1 : line + strlen(line);
	if (end)
		*end = 0;
	return line;
}

static void
batches(Job *job)
{
	Lines lines = lines_of(job->arena, job->argv[2]);
	for (char *line; (line = next_line(&lines));)
		if (strncmp(line, "shape ", 6) == 0)
			printf("%s\n", line + 6);
}

static void
read_output(Job *job, const char *folder, const char *name, Array *output)
{
	char *file = arena_strdup(job->arena, name);
	for (char *c = file; *c; c++)
		if (*c == '/')
			*c = '_';
	const char *path = arena_printf(job->arena, "%s/%s.npy", folder, file);
	*output = *tensor_read(job->arena, path);
}

static void
check_shape(const char *name, const char *expected, const Array *seen)
{
	char text[256] = "";
	size_t used = 0;
	for (int d = 0; d < seen->rank && used < sizeof text; d++)
		used += (size_t)snprintf(text + used, sizeof text - used, "%s%lld", d ? "x" : "",
		                         (long long)seen->dims[d]);
	if (strcmp(text, expected) != 0)
		fail_as(FAIL_COMPARISON, NULL, "output %s has shape %s, expected %s", name, text, expected);
}

/* The errors of one output in units of its largest element: of the samples, of the statistics. */
static double
compare_output(Job *job, Lines *lines, const char *header, const char *folder)
{
	char name[256], shape[256];
	double mean, deviation, largest, expected, worst = 0;
	long long at;
	Array seen;
	if (sscanf(header, "output %255s %255s mean %lf deviation %lf largest %lf", name, shape, &mean,
	           &deviation, &largest) != 5)
		fail(NULL, "%s: cannot read '%s'", lines->path, header);
	read_output(job, folder, name, &seen);
	check_shape(name, shape, &seen);
	Statistics s = statistics_of(&seen);
	worst = fmax(fabs(s.mean - mean), fabs(s.deviation - deviation));
	for (char *place = lines->at; sscanf(place, "%lld %lf", &at, &expected) == 2;
	     place = lines->at) {
		double error = fabs(dtype_load_f64(seen.type, seen.data, at) - expected);
		worst = error <= worst ? worst : error; /* NaN is worse than anything */
		next_line(lines);
	}
	return worst / largest;
}

static double
compare_folder(Job *job, const char *folder)
{
	Lines lines = lines_of(job->arena, job->argv[2]);
	bool is_here = false;
	double worst = 0;
	int outputs = 0;
	for (char *line; (line = next_line(&lines));) {
		if (strncmp(line, "shape ", 6) == 0)
			is_here = strcmp(line + 6, job->argv[3]) == 0;
		else if (is_here && strncmp(line, "output ", 7) == 0) {
			double error = compare_output(job, &lines, line, folder);
			worst = error <= worst ? worst : error;
			outputs++;
		}
	}
	if (outputs == 0)
		fail(NULL, "%s says nothing of shape %s", job->argv[2], job->argv[3]);
	return worst;
}

static void
compare(Job *job)
{
	for (int i = 4; i < job->argc; i++)
		printf("%.3g\n", compare_folder(job, job->argv[i]));
}

static double
distance(Job *job, const char *name, const char *folder)
{
	Array first, seen;
	double worst = 0, largest = 0;
	read_output(job, job->argv[4], name, &first);
	read_output(job, folder, name, &seen);
	if (array_bytes(&first) != array_bytes(&seen))
		fail_as(FAIL_COMPARISON, NULL, "output %s has another shape in %s", name, folder);
	for (int64_t i = 0; i < array_count(&first); i++) {
		double x = dtype_load_f64(first.type, first.data, i);
		double error = fabs(x - dtype_load_f64(seen.type, seen.data, i));
		worst = error <= worst ? worst : error;
		largest = fmax(largest, fabs(x));
	}
	return worst / largest;
}

static void
agree(Job *job)
{
	for (int i = 5; i < job->argc; i++) {
		Lines lines = lines_of(job->arena, job->argv[2]);
		double worst = 0;
		char name[256];
		for (char *line; (line = next_line(&lines));)
			if (sscanf(line, "output %255s", name) == 1) {
				double error = distance(job, name, job->argv[i]);
				worst = error <= worst ? worst : error;
			}
		printf("%.3g\n", worst);
	}
}

/* ---- weights ---- */

/* Tensors of floats with more than one element that some node reads. The bias of attention's keys
 * adds the same to all scores of a row, which softmax takes away again: no output depends on it. */
static bool
is_weight(const Value *value)
{
	if (strstr(value->name, "attention.self.key.bias"))
		return false;
	return value->constant && dtype_is_float(value->type.dtype) && value->uses.count > 0 &&
	       array_count(value->constant) > 1;
}

static int
nth_weight(const Graph *graph, int wanted, Value **found)
{
	int count = 0;
	for (int i = 0; i < graph->constants.count; i++)
		if (is_weight(graph->constants.data[i]) && count++ == wanted)
			*found = graph->constants.data[i];
	return count;
}

static void
weights(Job *job)
{
	Value *found = NULL;
	printf("%d\n", nth_weight(onnx_read(job->arena, job->argv[2], NULL), -1, &found));
}

static void
scale(Array *array, double factor)
{
	for (int64_t i = 0; i < array_count(array); i++)
		dtype_store_f64(array->type, array->data, i,
		                factor * dtype_load_f64(array->type, array->data, i));
}

static Array *
copy_of(Arena *arena, const Array *old)
{
	return array_from(arena, old->type, old->rank, old->dims, old->data);
}

static void
perturb(Job *job)
{
	Graph *graph = onnx_read(job->arena, job->argv[2], NULL);
	Value *found = NULL;
	nth_weight(graph, (int)strtol(job->argv[3], NULL, 10), &found);
	if (!found)
		fail_as(FAIL_USAGE, NULL, "%s has no weight %s", job->argv[2], job->argv[3]);
	Array *new = copy_of(job->arena, found->constant);
	scale(new, FACTOR);
	found->constant = new;
	printf("%s\n", found->name);
	onnx_write(graph, job->argv[4], NULL);
}

/* ---- every weight, compiled once ---- */

typedef struct Trial {
	Arena *arena;
	const Options *options;
	const Graph *graph;
	const CaseCode *code; /* NULL until the first run: kernels do not depend on weights */
	const Array *const *inputs;
	Array **expected; /* outputs with the weights as they are; NULL until then */
} Trial;

static Plan *
plan_trial(Trial *trial, Arena *arena, WeightPool *pool)
{
	const Target *target = target_new(trial->options, arena, "cpu:native", trial->graph);
	Graph *graph = graph_clone(arena, trial->graph);
	KernelList kernels = {0};
	PassContext *context = pipeline_new(trial->options, arena, 0);
	context->target = target;
	pool->arena = arena;
	Plan *plan = plan_of_module(arena, compile_graph(arena, graph, context), pool, &kernels);
	if (!trial->code) {
		const char *text = codegen_c(arena, target, kernels.kernels.count, kernels.kernels.data);
		trial->code = case_code_load(trial->arena, target->device,
		                             codegen_compile(arena, target, text, NULL));
	}
	return plan;
}

static double
largest_move(const Array *expected, const Array *seen)
{
	double largest = statistics_of(expected).largest, most = 0;
	for (int k = 0; k < SAMPLES && k < array_count(expected); k++) {
		int64_t at = sample_place(expected, k);
		double x = dtype_load_f64(expected->type, expected->data, at);
		most = fmax(most, fabs(dtype_load_f64(seen->type, seen->data, at) - x) / largest);
	}
	return most;
}

/* The largest change of a sample, in units of the largest element; the first run is what others are
 * compared with. */
static double
run_trial(Trial *trial)
{
	Arena *arena = arena_new("run");
	WeightPool pool = {0};
	const Plan *plan = plan_trial(trial, arena, &pool);
	CaseExec *exec = case_exec_new(arena, plan, &pool, device_native(), trial->code, false);
	bool is_first = !trial->expected;
	double most = 0;
	if (is_first)
		trial->expected = NEW_N(trial->arena, Array *, plan->noutput + 1);
	case_exec_run(exec, trial->inputs);
	for (int i = 0; i < plan->noutput; i++) {
		Array seen = case_exec_output(exec, i);
		if (is_first)
			trial->expected[i] = copy_of(trial->arena, &seen);
		most = fmax(most, largest_move(trial->expected[i], &seen));
	}
	arena_free(arena);
	return most;
}

static void
sensitivity(Job *job)
{
	Arena *arena = job->arena;
	Graph *graph = onnx_read(arena, job->argv[2], NULL);
	Options options = options_for(arena, "-");
	options.no_vendor = true;
	Value *found = NULL;
	int count = nth_weight(graph, -1, &found);
	Trial trial = {.arena = arena, .options = &options, .graph = graph};
	trial.inputs = (const Array *const *)make_inputs(&options, graph);
	run_trial(&trial);
	double least = INFINITY;
	for (int k = 0; k < count; k++) {
		nth_weight(graph, k, &found);
		const Array *old = found->constant;
		Arena *scratch = arena_new("weight");
		Array *new = copy_of(scratch, old);
		scale(new, FACTOR);
		found->constant = new;
		double move = run_trial(&trial);
		found->constant = old;
		arena_free(scratch);
		least = fmin(least, move);
		if (!(move > NOTICED))
			fprintf(stderr, "weight %d (%s) moves samples by %.3g only\n", k, found->name, move);
	}
	printf("%.3g\n", least);
	job->result = least > NOTICED ? 0 : FAIL_COMPARISON;
}

/* ---- the spread of activations ---- */

static bool
is_product_with_weight(const Node *node)
{
	static const char *const ops[] = {"Conv", "ConvTranspose", "Gemm", "MatMul"};
	for (size_t i = 0; i < countof(ops); i++)
		if (strcmp(node->op->name, ops[i]) == 0)
			return node->inputs[1]->constant != NULL;
	return false;
}

static void
spread(Job *job)
{
	Arena *arena = job->arena;
	Graph *graph = onnx_read(arena, job->argv[2], NULL);
	Options options = options_for(arena, "-");
	VEC(Value *) products = {0};
	for (const Node *node = graph->body->first; node; node = node->next)
		if (is_product_with_weight(node))
			vec_push(arena, &products, node->outputs[0]);
	graph_set_outputs(graph, products.count, products.data);
	Trial trial = {.arena = arena, .options = &options, .graph = graph};
	options.no_vendor = true;
	trial.inputs = (const Array *const *)make_inputs(&options, graph);
	run_trial(&trial);
	for (int i = 0; i < products.count; i++)
		printf("%.3g %s\n", statistics_of(trial.expected[i]).deviation, products.data[i]->name);
}

/* ---- the program ---- */

static const struct {
	const char *name;
	int least; /* arguments */
	void (*run)(Job *job);
} COMMANDS[] = {
	{"reference", 2, reference},     {"batches", 1, batches},
	{"compare", 3, compare},         {"agree", 4, agree},
	{"weights", 1, weights},         {"perturb", 3, perturb},
	{"sensitivity", 1, sensitivity}, {"spread", 1, spread},
};

static void
run(void *arg)
{
	Job *job = arg;
	for (size_t i = 0; i < countof(COMMANDS); i++)
		if (job->argc >= 2 && strcmp(job->argv[1], COMMANDS[i].name) == 0 &&
		    job->argc - 2 >= COMMANDS[i].least) {
			COMMANDS[i].run(job);
			return;
		}
	fail_as(FAIL_USAGE, NULL, "usage: model reference|batches|compare|weights|spread ...");
}

int
main(int argc, char **argv)
{
	Job job = {.arena = arena_new("model"), .argc = argc, .argv = argv};
	Failure failure;
	bool is_done = try_run(run, &job, &failure);
	arena_free(job.arena);
	if (!is_done)
		fprintf(stderr, "model: %s\n", failure.text);
	return is_done ? job.result : (int)failure.kind;
}
