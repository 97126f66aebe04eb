/* usage: bench-products RANDOM [OPTIONS OF print] MODEL        (make build/bench-products)
 *
 * Kernels of a model, each with several scripts: the compiler's candidates in its order, the first
 * of which it takes without measuring, and, of sums of products whose channels run in lanes, so many
 * random legal tiles. Each kernel is compiled and run alone, on one thread, in turns; the least of
 * some rounds counts, in seconds of the processor, and the best five are timed again.
 *
 * At the end of each kernel: how much longer than the best of all take the first candidate, the
 * second (of products behind a rule of thumb Roller's first), and the best of the first ten. At the
 * end of all the means, and for how many kernels of 50 us and more the first is within 10 and 25 %.
 */
#include <dlfcn.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "bundle/abi.h"
#include "cli/cli.h"
#include "codegen/common/codegen.h"
#include "driver/compile.h"
#include "driver/pipeline.h"
#include "lower/cpu/product.h"
#include "lower/lower.h"
#include "passes/manager.h"

enum { FIRST_TILES = 16, RANDOM = 1000, MOST = 500, ROUNDS = 7, BEST = 10, AGAIN = 5 };

typedef struct Trial {
	char name[200];
	int number; /* of the candidate */
	void (*run)(const TwArgs *args, int64_t begin, int64_t end);
	int64_t extent;
	double seconds;
} Trial;

static char described[200];
static int64_t state;

static int
pick(int below)
{
	state = (int64_t)((uint64_t)state * 6364136223846793005u + 1442695040888963407u);
	return (int)((uint64_t)state >> 33) % below;
}

/* ---- tiles ----------------------------------------------------------------------------------- */

static void
describe(const Product *p, const ProductTile *tile, const Nest *nest)
{
	int at = 0, room = (int)sizeof described;
	for (int i = 0; i < p->group->nshared; i++) {
		int k = tile->order[i];
		const char *name = nest->shared[k]->var->name;
		at += snprintf(described + at, (size_t)(room - at), "%s:%lld", name,
		               (long long)tile->registers[k]);
		if (tile->block[k])
			at += snprintf(described + at, (size_t)(room - at), "/%lld", (long long)tile->block[k]);
		at += snprintf(described + at, (size_t)(room - at), " ");
	}
	for (int i = 0; i < p->stage->nreduce; i++)
		if (tile->terms[i])
			at += snprintf(described + at, (size_t)(room - at), "+%lld", (long long)tile->terms[i]);
}

/* Full in registers, now and then in blocks. */
static ProductTile
draw(const Product *p)
{
	ProductTile tile = {.order = {0}};
	bool has_blocks = pick(4) == 0;
	for (int k = 0; k < p->group->nshared; k++) {
		int64_t extent = product_extent(p, k), most = extent < 28 ? extent : 28;
		tile.registers[k] = k == p->lane ? p->lanes : most > 1 && pick(2) ? 1 + pick((int)most) : 1;
		if (has_blocks && extent > 0 && extent % tile.registers[k] == 0 && pick(2))
			tile.block[k] = tile.registers[k] * (1 + pick((int)(extent / tile.registers[k])));
		tile.order[k] = k;
	}
	for (int k = p->group->nshared - 1; k > 0; k--) {
		int other = pick(k + 1), kept = tile.order[k];
		tile.order[k] = tile.order[other];
		tile.order[other] = kept;
	}
	for (int i = 0; i < p->stage->nreduce && has_blocks; i++) {
		int64_t extent = product_terms(p, i);
		tile.terms[i] = extent > 64 ? 32 + pick((int)extent - 32) : 0;
	}
	return tile;
}

static bool
is_full(const Product *p, const ProductTile *tile)
{
	int64_t sums = 1;
	for (int k = 0; k < p->group->nshared; k++)
		sums *= k == p->lane ? 1 : tile->registers[k];
	return sums >= 6 && product_is_legal(p, tile);
}

static const Script *
bench_script(Arena *arena, const Group *group, const Target *target, const Nest *nest,
             int candidate)
{
	described[0] = 0;
	if (candidate < RANDOM) {
		snprintf(described, sizeof described, "candidate %d", candidate);
		return maker_cpu.script(arena, group, target, nest, candidate);
	}
	Product p = {.coster = {.arena = arena, .program = group->program, .target = target},
	             .group = group,
	             .stage = group->program->stages[0]};
	int reading = 0;
	while (reading < PRODUCT_READINGS && !product_read(&p, reading))
		reading++;
	if (reading == PRODUCT_READINGS)
		return NULL;
	state = candidate;
	ProductTile tile = draw(&p);
	for (int i = 0; !is_full(&p, &tile); i++, tile = draw(&p))
		if (i == 10000)
			return NULL;
	describe(&p, &tile, nest);
	return product_write(&p, &tile, nest);
}

/* ---- running --------------------------------------------------------------------------------- */

static double
thread_seconds(void)
{
	struct timespec at;
	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &at);
	return (double)at.tv_sec + (double)at.tv_nsec * 1e-9;
}

static bool
load(Trial *trial, Kernel *kernel, PassContext *context)
{
	Kernel *const kernels[] = {kernel};
	run_passes(context, IR_loop, kernel);
	const char *text = codegen_c(context->arena, context->target, 1, kernels);
	Bytes object = codegen_compile(context->arena, context->target, text, NULL);
	char path[] = "/tmp/bench-products-XXXXXX";
	int fd = mkstemp(path);
	bool is_written = fd >= 0 && write(fd, object.data, object.size) == (ssize_t)object.size;
	void *library = is_written ? dlopen(path, RTLD_NOW | RTLD_LOCAL) : NULL;
	close(fd);
	unlink(path);
	const TwKernels *table = library ? dlsym(library, "tw_kernels_v1") : NULL;
	if (!table)
		return false;
	trial->run = table->table[0];
	trial->extent = probe_dim(context->target, kernel->extent);
	return true;
}

static size_t sizes[64]; /* of arguments */

/* Arguments of small numbers, whose sums are exact, and memory that kernels ask for. */
static TwArgs
make_args(const Kernel *kernel, const Target *target)
{
	void **buffers = calloc((size_t)kernel->buffers.count + 1, sizeof *buffers);
	int64_t *symbols = calloc((size_t)kernel->symbols.count + 1, sizeof *symbols);
	for (int i = 0; i < kernel->symbols.count; i++)
		symbols[i] = target->probe->value[kernel->symbols.data[i]->id];
	for (int i = 0; i < kernel->buffers.count; i++) {
		const Buffer *buffer = kernel->buffers.data[i];
		int64_t last = 0, step = 1;
		for (int d = buffer->tensor.rank - 1; d >= 0; d--) {
			int64_t extent = probe_dim(target, buffer->tensor.hi[d]);
			last += (extent - 1) * (buffer->stride ? probe_dim(target, buffer->stride[d]) : step);
			step *= extent;
		}
		size_t count = (size_t)last + 64;
		sizes[i] = count * 4;
		float *numbers = buffers[i] = aligned_alloc(64, (count * 8 + 63) / 64 * 64);
		for (size_t k = 0; k < count * 2; k++)
			numbers[k] = (float)(k % 7) - 3;
	}
	static TwStatus status;
	return (TwArgs){.size = sizeof(TwArgs),
	                .abi = TW_KERNEL_ABI,
	                .buffers = buffers,
	                .symbols = symbols,
	                .status = &status,
	                .scratch = aligned_alloc(64, 64 << 20)};
}

/* Of all that stands in the arguments, results included. */
static uint64_t
contents(const TwArgs *args)
{
	uint64_t hash = 0;
	for (int i = 0; i < 64 && sizes[i]; i++)
		hash = hash * 31 + hash64(args->buffers[i], sizes[i]);
	return hash;
}

static void
measure(int count, Trial *trials, const TwArgs *args)
{
	int calls[MOST];
	uint64_t first = 0;
	for (int i = 0; i < count; i++) {
		trials[i].run(args, 0, trials[i].extent);
		first = i == 0 ? contents(args) : first;
		if (contents(args) != first)
			printf("  %s: other results\n", trials[i].name);
		double start = thread_seconds();
		trials[i].run(args, 0, trials[i].extent);
		trials[i].seconds = thread_seconds() - start;
		calls[i] = (int)fmin(1000, fmax(1, 2e-3 / trials[i].seconds));
	}
	for (int round = 0; round < ROUNDS; round++)
		for (int i = 0; i < count; i++) {
			double start = thread_seconds();
			for (int k = 0; k < calls[i]; k++)
				trials[i].run(args, 0, trials[i].extent);
			trials[i].seconds = fmin(trials[i].seconds, (thread_seconds() - start) / calls[i]);
		}
}

static int
by_seconds(const void *a, const void *b)
{
	double x = (*(Trial *const *)a)->seconds, y = (*(Trial *const *)b)->seconds;
	return (x > y) - (x < y);
}

/* The least of many is often one that was lucky. */
static void
measure_best(int count, Trial *trials, const TwArgs *args)
{
	Trial *order[MOST], again[AGAIN];
	int best = count < AGAIN ? count : AGAIN;
	for (int i = 0; i < count; i++)
		order[i] = &trials[i];
	qsort(order, (size_t)count, sizeof(Trial *), by_seconds);
	for (int i = 0; i < best; i++)
		again[i] = *order[i];
	measure(best, again, args);
	for (int i = 0; i < best; i++)
		order[i]->seconds = again[i].seconds;
}

/* ---- reports --------------------------------------------------------------------------------- */

typedef struct Sums {
	int count;
	double first, second, ten;  /* logarithms of ratios */
	int heavy, within, near_by; /* of 50 us; the first within 10 %, 25 % of the best */
} Sums;

static void
report(const char *name, int count, const Trial *trials, Sums *sums)
{
	double best = trials[0].seconds, ten = trials[0].seconds, second = 0;
	for (int i = 0; i < count; i++) {
		best = fmin(best, trials[i].seconds);
		ten = trials[i].number < BEST ? fmin(ten, trials[i].seconds) : ten;
		second = trials[i].number == 1 ? trials[i].seconds : second;
		printf("  %4d %10.2f us  %s\n", trials[i].number, trials[i].seconds * 1e6, trials[i].name);
	}
	double first = trials[0].seconds / best;
	second = (second > 0 ? second : trials[0].seconds) / best;
	printf("%-60s %9.2f us first %5.3f second %5.3f ten %5.3f of %d\n", name,
	       trials[0].seconds * 1e6, first, second, ten / best, count);
	fflush(stdout);
	sums->count++;
	sums->first += log(first);
	sums->second += log(second);
	sums->ten += log(ten / best);
	if (trials[0].seconds < 50e-6)
		return;
	sums->heavy++;
	sums->within += first <= 1.1;
	sums->near_by += first <= 1.25;
}

static void
try_kernel(const Kernel *kernel, int random, PassContext *context, Sums *sums)
{
	static Trial trials[MOST];
	int count = 0;
	Kernel *first = NULL;
	for (int i = 0; i < FIRST_TILES + random && count < MOST; i++) {
		int number = i < FIRST_TILES ? i : RANDOM + i - FIRST_TILES;
		Kernel *made = lower_candidate(context->arena, kernel, context->target, number);
		if (!made || !described[0])
			continue;
		Trial *trial = &trials[count];
		snprintf(trial->name, sizeof trial->name, "%s", described);
		trial->number = number;
		first = first ? first : made;
		bool is_known = false;
		for (int k = 0; k < count; k++)
			is_known |= strcmp(trials[k].name, trial->name) == 0;
		count += !is_known && load(trial, made, context);
	}
	if (count == 0)
		return;
	memset(sizes, 0, sizeof sizes);
	const TwArgs args = make_args(first, context->target);
	measure(count, trials, &args);
	measure_best(count, trials, &args);
	report(kernel->name, count, trials, sums);
}

static Options options;

int
main(int argc, char **argv)
{
	options.arena = arena_new("options");
	options.verb = verb_find("print");
	options_read(&options, argc - 2, argv + 2);
	Arena *arena = options.arena;
	Graph *graph = model_read(&options, arena, options.args.data[0]);
	PassContext *context = pipeline_new(&options, arena, 3);
	Target *target = target_new(&options, arena, target_name(&options, 0), graph);
	Device device = *target->device;
	Maker maker = *device.maker;
	maker.script = bench_script;
	device.maker = &maker;
	target->device = &device;
	context->target = target;
	const Module *module = compile_graph(arena, graph, context);
	MStepVec steps = module_steps(arena, module);
	Map seen = {.arena = arena};
	Sums sums = {0};
	for (int i = 0; i < steps.count; i++) {
		Kernel *kernel = steps.data[i]->kernel;
		const char *key = kernel && kernel->source ? kernel->source->key : NULL;
		if (!key || map_find(&seen, key))
			continue;
		map_set(&seen, key, kernel);
		try_kernel(kernel, atoi(argv[1]), context, &sums);
	}
	if (sums.count)
		printf("%d kernels, of the best: first %.3f, second %.3f, best of ten %.3f; of %d of 50 us "
		       "and "
		       "more the first within 10 %% for %d, within 25 %% for %d\n",
		       sums.count, exp(sums.first / sums.count), exp(sums.second / sums.count),
		       exp(sums.ten / sums.count), sums.heavy, sums.within, sums.near_by);
	return 0;
}
