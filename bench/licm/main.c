/* make bench-licm: what the loop passes are worth on the cases of cases.csv (docs/licm.md).
 *
 * usage: build/bench-licm time  CASES.csv [OP|NUMBER ...]    seconds of each case in each variant, as CSV
 *        build/bench-licm count CASES.csv [OP|NUMBER ...]    the same runs under callgrind, which counts
 *        build/bench-licm check CASES.csv [OP|NUMBER ...]    small sizes, all elements, against the meaning
 *        build/bench-licm points CASES.csv [OP|NUMBER ...]   full sizes, some elements
 *        build/bench-licm print CASES.csv NUMBER      a case's loops in all variants
 *        build/bench-licm cubin CASES.csv [OP|NUMBER ...]    what NVRTC makes of each for sm_90, as CSV
 *        build/bench-licm blocks CASES.csv [OP|NUMBER ...]   small sizes, in blocks of threads
 *        build/bench-licm threads CASES.csv NUMBER    a case's loops in blocks of threads
 *
 * Sizes are those of the table but for `check`. A kernel is measured on some runs of its pieces of
 * work, the first and the last among them, and counted as if the others were alike. One thread;
 * variants take turns, medians count. Variants of one text are one function, measured once.
 */
#include <dlfcn.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bench.h"

#include "base/clock.h"
#include "codegen/common/codegen.h"
#include "expr/interp/points.h"

#if __has_include(<valgrind/callgrind.h>)
#include <valgrind/callgrind.h>
#else
#define CALLGRIND_START_INSTRUMENTATION (void)0
#define CALLGRIND_STOP_INSTRUMENTATION (void)0
#define CALLGRIND_ZERO_STATS (void)0
#define CALLGRIND_DUMP_STATS_AT(label) (void)(label)
#endif

enum { ROUNDS = 5, SEGMENTS = 4, BATCH = 12, POINTS = 48 };

/* Multiply-adds of a measured run. */
static const double TIMED = 2e6, COUNTED = 1e5;

/* ---- data ------------------------------------------------------------------------------------ */

Array *
bench_array(Arena *arena, const Tensor *tensor)
{
	int64_t dims[ARRAY_MAX_RANK];
	for (int d = 0; d < tensor->rank; d++)
		must(dim_is_const(tensor->hi[d], &dims[d]));
	return array_new(arena, tensor->type, tensor->rank, dims);
}

/* Numbers between -1 and 1, integers of all sizes, truths; the same each time. */
void
bench_fill(Array *array)
{
	enum { PERIOD = 4099 };
	int64_t count = array_count(array), size = dtype_bits(array->type) / 8;
	uint64_t state = 88172645463325252u;
	for (int64_t i = 0; i < count && i < PERIOD; i++) {
		state ^= state << 13;
		state ^= state >> 7;
		state ^= state << 17;
		if (dtype_is_float(array->type))
			dtype_store_f64(array->type, array->data, i, (double)(state >> 40) / 8388608.0 - 1);
		else
			dtype_store_i64(array->type, array->data, i,
			                array->type == DT_U8 ? (int64_t)(state >> 63)
			                                     : (int64_t)(state >> 50) - 8192);
	}
	for (int64_t i = PERIOD; i < count; i += PERIOD) {
		int64_t rest = count - i < PERIOD ? count - i : PERIOD;
		memcpy((char *)array->data + i * size, array->data, (size_t)(rest * size));
	}
}

static Array *
array_of(Job *job, Arena *arena, const Tensor *tensor)
{
	Array *array = map_find_ptr(&job->arrays, tensor);
	if (!array) {
		array = bench_array(arena, tensor);
		bench_fill(array);
		map_set_ptr(&job->arrays, tensor, array);
	}
	return array;
}

/* ---- running --------------------------------------------------------------------------------- */

/* The pieces of work that stand for all of a part's. */
typedef struct Sample {
	int segments;
	int64_t length; /* of each */
} Sample;

static Sample
sample_of(const Part *part, double work)
{
	double all = 0;
	for (int s = 0; s < part->program->nstage; s++) {
		int64_t points;
		if (dim_is_const(stage_points(part->program->ctx, part->program->stages[s]), &points))
			all += (double)points;
	}
	double pieces = work / (all / (double)part->extent);
	Sample sample = {1, part->extent};
	if (pieces < (double)part->extent) {
		sample.segments = pieces >= SEGMENTS ? SEGMENTS : 1;
		sample.length = (int64_t)(pieces / sample.segments);
		sample.length = sample.length < 1 ? 1 : sample.length;
	}
	return sample;
}

static double
scale_of(const Part *part, const Sample *sample)
{
	return (double)part->extent / (double)(sample->segments * sample->length);
}

static TwArgs
args_of(Job *job, Arena *arena, const Part *part)
{
	const Program *p = part->program;
	void **buffers = NEW_N(arena, void *, p->ninput + p->noutput + 1);
	for (int i = 0; i < p->ninput + p->noutput; i++)
		buffers[i] =
			array_of(job, arena, i < p->ninput ? p->inputs[i] : p->outputs[i - p->ninput])->data;
	TwArgs args = {.size = sizeof args, .abi = TW_KERNEL_ABI, .buffers = buffers};
	args.status = NEW(arena, TwStatus);
	if (part->scratch)
		args.scratch = arena_alloc_aligned(arena, (size_t)part->scratch, 64);
	return args;
}

static void
run_sample(const Part *part, int id, const TwArgs *args, const Sample *sample)
{
	int64_t last = part->extent - sample->length, gaps = sample->segments - 1;
	for (int s = 0; s < sample->segments; s++) {
		int64_t begin = gaps ? last * s / gaps : last / 2;
		part->function[id](args, begin, begin + sample->length);
	}
}

/* The first variant with the same text. */
static int
first_like(const Part *part, int id)
{
	int first = 0;
	while (part->function[first] != part->function[id])
		first++;
	return first;
}

/* Adds the seconds of each variant, as if all pieces had been run. */
static void
time_part(Job *job, Arena *arena, const Part *part, double *seconds)
{
	double taken[VARIANTS][ROUNDS];
	Sample sample = sample_of(part, TIMED);
	TwArgs args = args_of(job, arena, part);
	for (int round = -1; round < ROUNDS; round++)
		for (int id = 0; id < VARIANTS; id++) {
			if (first_like(part, id) < id)
				continue;
			double start = now_seconds();
			run_sample(part, id, &args, &sample);
			if (round >= 0)
				taken[id][round] = now_seconds() - start;
		}
	double median[VARIANTS];
	for (int id = 0; id < VARIANTS; id++) {
		int first = first_like(part, id);
		median[id] = first < id ? median[first] : median_of(ROUNDS, taken[id]);
		seconds[id] += median[id] * scale_of(part, &sample);
	}
}

/* case, operator, variant, whether its text is that of none, seconds */
static void
time_job(Bench *bench, Job *job, Arena *arena)
{
	(void)bench;
	double seconds[VARIANTS] = {0};
	bool same[VARIANTS];
	memset(same, true, sizeof same);
	for (int p = 0; p < job->parts.count; p++) {
		const Part *part = &job->parts.data[p];
		time_part(job, arena, part, seconds);
		for (int id = 0; id < VARIANTS; id++)
			same[id] &= part->function[id] == part->function[VARIANT_NONE];
	}
	for (int id = 0; id < VARIANTS; id++)
		printf("%d,%s,%s,%d,%.9f\n", job->number, job->c->op, variant_names[id], same[id],
		       seconds[id]);
	fflush(stdout);
}

/* What is between start and dump is one entry of callgrind's file: case, variant, scale. */
static void
count_job(Bench *bench, Job *job, Arena *arena)
{
	(void)bench;
	for (int p = 0; p < job->parts.count; p++) {
		const Part *part = &job->parts.data[p];
		Sample sample = sample_of(part, COUNTED);
		TwArgs args = args_of(job, arena, part);
		for (int id = 0; id < VARIANTS; id++) {
			const char *label = arena_printf(arena, "%d %s %.9g", job->number, variant_names[id],
			                                 scale_of(part, &sample));
			CALLGRIND_START_INSTRUMENTATION;
			CALLGRIND_ZERO_STATS;
			run_sample(part, id, &args, &sample);
			CALLGRIND_DUMP_STATS_AT(label);
			CALLGRIND_STOP_INSTRUMENTATION;
		}
	}
}

/* ---- right or not ---------------------------------------------------------------------------- */

void
bench_report(Bench *bench, const Job *job, int id, const char *what, double error)
{
	printf("WRONG case %d %s, %s: %s (%g)\n", job->number, job->c->row, variant_names[id], what,
	       error);
	bench->wrong++;
}

/* What is an error of 1: the largest element there is, 1 at least. */
static double
scale_of_all(const Array *array)
{
	double most = 1;
	for (int64_t i = 0; i < array_count(array); i++) {
		double x = fabs(dtype_load_f64(array->type, array->data, i));
		most = isfinite(x) && x > most ? x : most;
	}
	return most;
}

double
bench_difference(const Array *seen, const Array *expected)
{
	double worst = 0, scale = scale_of_all(expected);
	for (int64_t i = 0; i < array_count(seen); i++) {
		double x = dtype_load_f64(seen->type, seen->data, i);
		double y = dtype_load_f64(seen->type, expected->data, i);
		double error = x == y ? 0 : fabs(x - y) / scale;
		worst = isnan(error) ? INFINITY : fmax(worst, error);
	}
	return worst;
}

/* All elements of all results; the variants agree bit by bit. */
static void
check_job(Bench *bench, Job *job, Arena *arena)
{
	const Program *p = job->program;
	const Array *inputs[MAX_ARGS];
	Array *expected[MAX_ARGS], *first[MAX_ARGS];
	for (int i = 0; i < p->ninput; i++)
		inputs[i] = array_of(job, arena, p->inputs[i]);
	program_eval(arena, p, NULL, inputs, expected);
	for (int id = 0; id < VARIANTS; id++) {
		for (int k = 0; k < job->parts.count; k++) {
			const Part *part = &job->parts.data[k];
			TwArgs args = args_of(job, arena, part);
			part->function[id](&args, 0, part->extent);
		}
		for (int o = 0; o < p->noutput; o++) {
			Array *seen = array_of(job, arena, p->outputs[o]);
			double error = bench_difference(seen, expected[o]);
			if (error > 1e-5)
				bench_report(bench, job, id, "differs from its meaning", error);
			if (id == 0)
				first[o] = array_from(arena, seen->type, seen->rank, seen->dims, seen->data);
			else if (!array_same_bytes(first[o], seen))
				bench_report(bench, job, id, "differs from the first variant", error);
			memset(seen->data, 0, array_bytes(seen));
		}
	}
}

/* Some of the elements that have been written, evenly spread. */
static PointSet
written_points(Arena *arena, const Array *seen, const Array *blank)
{
	int64_t size = dtype_bits(seen->type) / 8, written = 0, count = array_count(seen);
	const char *a = seen->data, *b = blank->data;
	for (int64_t i = 0; i < count; i++)
		written += memcmp(a + i * size, b + i * size, (size_t)size) != 0;
	int64_t step = written / POINTS + 1, met = 0, *at = NEW_N(arena, int64_t, POINTS + 1);
	PointSet set = {.at = at};
	for (int64_t i = 0; i < count; i++)
		if (memcmp(a + i * size, b + i * size, (size_t)size) != 0 && met++ % step == 0)
			at[set.count++] = i;
	return set;
}

/* Each part by itself, on inputs of its own. */
static void
check_points(Bench *bench, Job *job, Arena *arena, const Part *part, int id)
{
	const Program *p = part->program;
	const PointInput *inputs[MAX_ARGS];
	PointSet *sets[MAX_ARGS];
	Sample sample = sample_of(part, COUNTED);
	TwArgs args = args_of(job, arena, part);
	Array *blank[MAX_ARGS];
	for (int o = 0; o < p->noutput; o++) {
		Array *seen = array_of(job, arena, p->outputs[o]);
		memset(seen->data, 0xA7, array_bytes(seen));
		blank[o] = array_from(arena, seen->type, seen->rank, seen->dims, seen->data);
	}
	run_sample(part, id, &args, &sample);
	for (int i = 0; i < p->ninput; i++) {
		const Array *in = array_of(job, arena, p->inputs[i]);
		PointInput *input = NEW(arena, PointInput);
		*input = (PointInput){in->type, in->rank, in->dims, NULL, in->data};
		inputs[i] = input;
	}
	for (int o = 0; o < p->noutput; o++) {
		sets[o] = NEW(arena, PointSet);
		*sets[o] = written_points(arena, array_of(job, arena, p->outputs[o]), blank[o]);
		if (sets[o]->count == 0)
			bench_report(bench, job, id, "wrote nothing", 0);
	}
	PointResult result = program_eval_points(arena, p, NULL, inputs, sets, 1e9, (PointWay){0});
	if (!result.is_done)
		bench_report(bench, job, id, result.reason, 0);
	for (int o = 0; o < p->noutput && result.is_done; o++) {
		const Array *seen = array_of(job, arena, p->outputs[o]);
		double scale = 1;
		for (int64_t k = 0; k < sets[o]->count && sets[o]->value; k++)
			scale = isfinite(sets[o]->value[k]) ? fmax(scale, fabs(sets[o]->value[k])) : scale;
		for (int64_t k = 0; k < sets[o]->count; k++) {
			double x = dtype_load_f64(seen->type, seen->data, sets[o]->at[k]);
			double y = sets[o]->value ? sets[o]->value[k] : (double)sets[o]->integer[k];
			bool is_open = sets[o]->undecided && sets[o]->undecided[k];
			double expected = sets[o]->value ? 4 * sets[o]->deviation[k] : 0; /* of roundings */
			if (!is_open && x != y && !(fabs(x - y) <= fmax(1e-5 * scale, expected)))
				bench_report(bench, job, id, "differs from its meaning", fabs(x - y));
		}
	}
	for (int o = 0; o < p->noutput; o++) /* the next part may read it */
		bench_fill(array_of(job, arena, p->outputs[o]));
}

static void
points_job(Bench *bench, Job *job, Arena *arena)
{
	for (int k = 0; k < job->parts.count; k++)
		for (int id = 0; id < VARIANTS; id++)
			if (first_like(&job->parts.data[k], id) == id)
				check_points(bench, job, arena, &job->parts.data[k], id);
}

/* ---- cases ----------------------------------------------------------------------------------- */

static void
print_job(Bench *bench, Job *job, Arena *arena)
{
	(void)bench;
	Buf out = {.arena = arena};
	program_print(&out, job->program);
	for (int p = 0; p < job->parts.count; p++)
		for (int id = 0; id < LOWERED && job->parts.data[p].kernel[id]; id++)
			kernel_print(&out, job->parts.data[p].kernel[id]);
	fputs(buf_text(&out), stdout);
}

static void
load_kernels(Bench *bench, Arena *arena, const char *text, int count, TwKernel **functions)
{
	Bytes object = codegen_compile(arena, bench->target, text, NULL);
	char path[] = "/tmp/bench-licm-XXXXXX"; /* dlopen() knows libraries by their names */
	int fd = mkstemp(path);
	must(fd >= 0 && write(fd, object.data, object.size) == (ssize_t)object.size);
	close(fd);
	void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	unlink(path);
	if (!library)
		fail_environment(NULL, "%s", dlerror());
	const TwKernels *table = dlsym(library, "tw_kernels_v1");
	memcpy(functions, table->table, (size_t)count * sizeof *functions);
}

/* A part's functions; ours is what the compiler makes. */
static void
take_code(Part *part, TwKernel *const *functions)
{
	const Kernel *kernel = part->kernel[VARIANT_NONE];
	memcpy(part->function, functions, LOWERED * sizeof *functions);
	part->function[VARIANT_OURS] = functions[VARIANT_MOVED];
	must(dim_is_const(kernel->extent, &part->extent));
	if (kernel->scratch)
		must(dim_is_const(kernel->scratch, &part->scratch));
}

/* Machine code for the kernels of all jobs, in one object. */
static void
compile_jobs(Bench *bench, Arena *arena, Job *jobs, int count)
{
	VEC(Kernel *) kernels = {0};
	for (int j = 0; j < count; j++)
		for (int p = 0; p < jobs[j].parts.count; p++)
			for (int id = 0; id < LOWERED; id++)
				vec_push(arena, &kernels, jobs[j].parts.data[p].kernel[id]);
	TwKernel **functions = NEW_N(arena, TwKernel *, kernels.count + 1);
	const char *text = codegen_c(arena, bench->target, kernels.count, kernels.data);
	load_kernels(bench, arena, text, kernels.count, functions);
	int next = 0;
	for (int j = 0; j < count; j++)
		for (int p = 0; p < jobs[j].parts.count; p++, next += LOWERED)
			take_code(&jobs[j].parts.data[p], &functions[next]);
}

static void
run_job(Bench *bench, Job *job)
{
	Arena *arena = arena_new("data");
	job->arrays = (Map){.arena = arena};
	bench->mode->run(bench, job, arena);
	arena_free(arena);
}

static void
run_batch(Bench *bench, const Cases *cases, int from, int to)
{
	Arena *arena = arena_new("cases");
	Job jobs[BATCH];
	for (int i = from; i < to; i++) {
		const Case *c = &cases->data[i];
		Work work = work_begin(&(Loc){.file = c->row}, NULL);
		ExprCtx *ctx = expr_ctx_new(arena);
		const Program *program = case_program(ctx, arena, c, bench->mode->is_small);
		jobs[i - from] = (Job){.c = c, .number = i + 1, .program = program};
		jobs[i - from].parts = lower_variants(arena, bench->target, program);
		work_end(work);
	}
	if (bench->mode->is_compiled)
		compile_jobs(bench, arena, jobs, to - from);
	for (int i = 0; i < to - from; i++)
		run_job(bench, &jobs[i]);
	arena_free(arena);
}

typedef struct Call {
	int argc;
	char **argv;
	Bench bench;
} Call;

static bool
is_wanted(const Call *call, const char *op, int number)
{
	bool found = call->argc <= 3;
	for (int i = 3; i < call->argc; i++)
		found |= strcmp(call->argv[i], op) == 0 || atoi(call->argv[i]) == number;
	return found;
}

static void
run(void *arg)
{
	Call *call = arg;
	Bench *bench = &call->bench;
	Cases cases = cases_read(bench->arena, call->argv[2]);
	int count = 0;
	for (int i = 0; i < cases.count;) {
		int end = i;
		while (end < cases.count && end < i + BATCH && is_wanted(call, cases.data[end].op, end + 1))
			end++;
		if (end > i)
			run_batch(bench, &cases, i, end);
		count += end - i;
		i = end > i ? end : i + 1;
	}
	if (bench->mode->is_judged)
		printf("%d cases, %d wrong\n", count, bench->wrong);
}

static const Mode modes[] = {
	{"time", time_job, .is_compiled = true},
	{"count", count_job, .is_compiled = true},
	{"check", check_job, .is_compiled = true, .is_small = true, .is_judged = true},
	{"points", points_job, .is_compiled = true, .is_judged = true},
	{"print", print_job, .is_compiled = false},
	{"cubin", cubin_job, .is_gpu = true},
	{"blocks", blocks_job, .is_gpu = true, .is_small = true, .is_judged = true},
	{"threads", print_job, .is_gpu = true},
};

int
main(int argc, char **argv)
{
	const Mode *mode = NULL;
	for (size_t i = 0; i < countof(modes) && argc > 2; i++)
		mode = strcmp(argv[1], modes[i].name) == 0 ? &modes[i] : mode;
	if (!mode) {
		fprintf(stderr, "usage: bench-licm time|count|check|points|print|cubin|blocks|threads "
		                "CASES.csv [OP|NUMBER ...]\n");
		return FAIL_USAGE;
	}
	const char *device = mode->is_gpu ? "cuda:h100" : "cpu:x86-64-v3";
	const Target target = {.device = device_find(device)};
	Call call = {argc, argv, {mode, arena_new("bench"), &target, 0}};
	Failure failure;
	if (!try_run(run, &call, &failure)) {
		fprintf(stderr, "%s\n", failure.text);
		return failure.kind;
	}
	arena_free(call.bench.arena);
	return call.bench.wrong ? FAIL_COMPARISON : 0;
}
