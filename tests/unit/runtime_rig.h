/* Hand-written plans for tests: kernels that are functions, and an executor without a bundle. */
#ifndef RUNTIME_RIG_H
#define RUNTIME_RIG_H

#include <stdlib.h>
#include <string.h>

#include "runtime/cpu/cpu.h"
#include "runtime/exec/exec.h"
#include "unit.h"

/* ---- Kernels ---- */

/* y = 2 x + 1 */
static inline void
k_scale(const TwArgs *args, int64_t begin, int64_t end)
{
	const float *x = args->buffers[0];
	float *y = args->buffers[1];
	for (int64_t i = begin; i < end; i++)
		y[i] = 2 * x[i] + 1;
}

/* y = a + b */
static inline void
k_add(const TwArgs *args, int64_t begin, int64_t end)
{
	const float *a = args->buffers[0], *b = args->buffers[1];
	float *y = args->buffers[2];
	for (int64_t i = begin; i < end; i++)
		y[i] = a[i] + b[i];
}

/* y[i] = x[index[i]], checked; the symbol is the length of x. Uses its scratch. */
static inline void
k_gather(const TwArgs *args, int64_t begin, int64_t end)
{
	const float *x = args->buffers[0];
	const int64_t *index = args->buffers[1];
	float *y = args->buffers[2];
	memset(args->scratch, 1, 100);
	for (int64_t i = begin; i < end; i++) {
		int64_t at = index[i];
		if (at < 0 || at >= args->symbols[0]) {
			if (!args->status->code) {
				args->status->value = at;
				args->status->limit = args->symbols[0];
				args->status->code = TW_CHECK_INDEX;
			}
			at = 0;
		}
		y[i] = x[at];
	}
}

/* y[i] = i * first element of x */
static inline void
k_iota(const TwArgs *args, int64_t begin, int64_t end)
{
	const float *x = args->buffers[0];
	float *y = args->buffers[1];
	for (int64_t i = begin; i < end; i++)
		y[i] = (float)i * x[0];
}

/* go = number < 3 */
static inline void
k_less(const TwArgs *args, int64_t begin, int64_t end)
{
	const int64_t *number = args->buffers[0];
	bool *go = args->buffers[1];
	if (begin < end)
		*go = *number < 3;
}

/* y = x with a pause, so that several workers meet. */
static inline void
k_slow(const TwArgs *args, int64_t begin, int64_t end)
{
	const float *x = args->buffers[0];
	float *y = args->buffers[1];
	for (int64_t i = begin; i < end; i++) {
		float sum = 0;
		for (int j = 0; j < 2000; j++)
			sum += x[i] / (float)(j + 1);
		y[i] = sum;
	}
	memset(args->scratch, 2, 64);
}

static TwKernel *const TABLE[] = {k_scale, k_add, k_gather, k_iota, k_less, k_slow};
static const CpuCode KERNELS = {.head = {6}, .table = TABLE};

/* ---- Harness ---- */

/* Whether two results are the same bits. */
static inline bool
same_bytes(const void *a, const void *b, size_t size)
{
	return memcmp(a, b, size) == 0;
}

typedef struct Rig {
	Plan *plan;
	ExecModel model;
	Exec exec;
	TwError error;
	int allocations;
} Rig;

static inline void *
count_allocate(void *context, size_t bytes, size_t alignment)
{
	void *memory = NULL;
	((Rig *)context)->allocations++;
	return posix_memalign(&memory, alignment, bytes) ? NULL : memory;
}

static inline void
count_release(void *context, void *memory, size_t bytes)
{
	(void)context;
	(void)bytes;
	free(memory);
}

static const unsigned char WEIGHTS[64] = {0};
static Weights WEIGHTS_HERE = {.plain = {WEIGHTS, sizeof WEIGHTS}};

/* A plan's text with the names of KERNELS. */
static inline bool
rig_read(const char *text, Plan **plan, char *error, size_t error_size)
{
	static const char names[] = "{\"kernels\": [\"k0\", \"k1\", \"k2\", \"k3\", \"k4\", \"k5\"], ";
	size_t size = strlen(text), used = sizeof names - 1;
	char *named = malloc(used + size);
	memcpy(named, names, used);
	memcpy(named + used, text + 1, size - 1);
	bool is_read = plan_read(named, used + size - 1, plan, error, error_size);
	free(named);
	return is_read;
}

static inline void
rig_open_on(Rig *rig, const Backend *backend, const char *text, int threads)
{
	char sentence[400];
	*rig = (Rig){.plan = NULL};
	ck_assert_msg(rig_read(text, &rig->plan, sentence, sizeof sentence), "%s", sentence);
	ck_assert_msg(plan_verify(rig->plan, sizeof WEIGHTS, sentence, sizeof sentence), "%s",
	              sentence);
	rig->model = (ExecModel){.plan = rig->plan,
	                         .backend = backend,
	                         .code = &KERNELS.head,
	                         .weights = &WEIGHTS_HERE,
	                         .held = WEIGHTS};
	rig->exec = (Exec){
		.model = &rig->model, .workers = {.threads = threads, .spin_us = 20}, .error = &rig->error};
	rig->exec.memory =
		(Memory){.allocate = count_allocate, .release = count_release, .context = rig};
	pool_acquire();
	ck_assert_int_eq(exec_open(&rig->exec), TW_OK);
}

static inline void
rig_open(Rig *rig, const char *text, int threads)
{
	rig_open_on(rig, &backend_cpu, text, threads);
}

static inline void
rig_close(Rig *rig)
{
	exec_close(&rig->exec);
	ck_assert_uint_eq(rig->exec.memory.now, 0);
	plan_free(rig->plan);
	pool_release();
}

/* Bind inputs and one output (NULL: the session's own), and run. */
static inline TwCode
rig_run(Rig *rig, const Array *inputs, void *output, size_t bytes)
{
	Frame *frame = rig->exec.main;
	TwCode code = frame_bind(frame, inputs);
	if (code)
		return code;
	for (int i = 0; i < rig->plan->ninput; i++)
		frame->slots[rig->plan->inputs[i]].data = inputs[i].data;
	Slot *slot = &frame->slots[rig->plan->outputs[0]];
	slot->bound = output;
	slot->bound_bytes = bytes;
	return exec_run(&rig->exec);
}

/* clang-format off */
#define SYMBOL_N \
	"\"symbols\": [{\"name\": \"N\", \"lo\": 1, \"hi\": 4096, \"from\": \"input\", \"buffer\": 0," \
	" \"index\": 0}]"
#define BUFFER(name, type, dims, rest) \
	"{\"name\": \"" name "\", \"type\": \"" type "\", \"dims\": " dims ", " rest "}"
#define KERNEL(number, extent, args) \
	"{\"kind\": \"kernel\", \"name\": \"k" #number "\", \"origins\": \"node" #number "\"," \
	" \"kernel\": " #number ", \"extent\": " #extent ", \"args\": " args ", \"outputs\": 1}"
#define NOTHING "\"assumptions\": []"
/* clang-format on */

static inline Array
vector(float *data, int64_t *count)
{
	return (Array){DT_F32, 1, count, data};
}

#endif
