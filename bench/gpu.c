/* Bundles on a GPU, inputs and outputs in its memory, one run behind the other without a wait.
 *
 * usage: build/bench-gpu BUNDLE... [SYMBOL=SIZE...]       a line of JSON for each
 *
 *     open_ms    opening the bundle, and the session
 *     first_ms   the first run: copies of weights and inputs, and what is made for these sizes
 *     host_ms    a run whose inputs and outputs are in the host's memory, waited for: median
 *     run_ms     a run among many in the GPU's memory: the clock over their number, least of five
 *     median_ms  the median of the five
 *
 * Outputs in the GPU's memory are filled with 0xff before, and must then have the bits of the first
 * run.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/fail.h"
#include "driver/proof/session.h"
#include "runtime/cuda/cudart.h"

enum { MOST = 64, TURNS = 5 };

#define CUDA_DO(call) \
	do { \
		int error = (call); \
		if (error != CUDA_OK) \
			fail_environment(NULL, #call ": %s", cuda_runtime()->GetErrorString(error)); \
	} while (0)

typedef struct Lent {
	void *inputs[MOST], *memory[MOST]; /* of the GPU: memory of outputs */
	size_t bytes[MOST];
	void *expected[MOST]; /* what the first run gave */
	int count;
} Lent;

static void
check(TwCode code, const TwError *error)
{
	if (code != TW_OK)
		fail_environment(NULL, "%s", error->text);
}

static void *
to_gpu(const void *data, size_t bytes)
{
	void *memory = NULL;
	CUDA_DO(cuda_runtime()->Malloc(&memory, bytes + 1));
	CUDA_DO(cuda_runtime()->Memcpy(memory, data, bytes, CUDA_COPY_BY_ADDRESS));
	return memory;
}

static double
by_host(Session *session)
{
	double seconds[TURNS];
	for (int i = 0; i < TURNS; i++) {
		double start = now_seconds();
		session_run(session);
		seconds[i] = now_seconds() - start;
	}
	return median_of(TURNS, seconds);
}

static void
keep_outputs(Session *session, Lent *lent)
{
	lent->count = session->noutput < MOST ? session->noutput : MOST;
	for (int i = 0; i < lent->count; i++) {
		Array output = session_output(session, i);
		lent->bytes[i] = array_bytes(&output);
		lent->expected[i] = arena_alloc(session->arena, lent->bytes[i] + 1);
		memcpy(lent->expected[i], output.data, lent->bytes[i]);
	}
}

static void
bind_gpu(Session *session, Lent *lent)
{
	TwError error;
	for (int i = 0; i < session->ninput && i < MOST; i++) {
		const Array *array = session->inputs[i];
		if (!array)
			continue;
		lent->inputs[i] = to_gpu(array->data, array_bytes(array));
		check(tw_bind_input(session->session, i, lent->inputs[i], array_bytes(array), array->rank,
		                    array->dims, &error),
		      &error);
	}
	for (int i = 0; i < lent->count; i++) {
		void *poison = arena_alloc(session->arena, lent->bytes[i] + 1);
		memset(poison, 0xff, lent->bytes[i]);
		lent->memory[i] = to_gpu(poison, lent->bytes[i]);
		check(tw_bind_output(session->session, i, lent->memory[i], lent->bytes[i], &error), &error);
	}
}

static bool
outputs_are_as_before(Session *session, const Lent *lent)
{
	for (int i = 0; i < lent->count; i++) {
		void *seen = arena_alloc(session->arena, lent->bytes[i] + 1);
		CUDA_DO(
			cuda_runtime()->Memcpy(seen, lent->memory[i], lent->bytes[i], CUDA_COPY_BY_ADDRESS));
		if (memcmp(seen, lent->expected[i], lent->bytes[i]) != 0)
			return false;
	}
	return true;
}

static void
give_back(Session *session, const Lent *lent)
{
	tw_session_free(session->session);
	session->session = NULL;
	for (int i = 0; i < MOST; i++) {
		if (lent->inputs[i])
			CUDA_DO(cuda_runtime()->Free(lent->inputs[i]));
		if (lent->memory[i])
			CUDA_DO(cuda_runtime()->Free(lent->memory[i]));
	}
}

static double
runs_take(Session *session, CudaStream *stream, int runs)
{
	TwError error;
	check(tw_wait(session->session, &error), &error);
	double start = now_seconds();
	for (int i = 0; i < runs; i++)
		check(tw_run_async(session->session, stream, &error), &error);
	check(tw_wait(session->session, &error), &error);
	return (now_seconds() - start) / runs;
}

typedef struct Job {
	const char *path;
	const Options *options;
} Job;

static void
measure(void *arg)
{
	const Job *job = arg;
	Arena *arena = arena_new("bundle");
	Lent lent = {0};
	double start = now_seconds();
	Session *session = session_open(arena, job->path, job->path, job->options, NULL);
	double opened = now_seconds();
	session_inputs(session, job->options);
	double bound = now_seconds();
	session_run(session);
	double first = now_seconds() - bound;
	keep_outputs(session, &lent);
	double host = by_host(session);
	bind_gpu(session, &lent);
	CudaStream *stream = NULL;
	CUDA_DO(cuda_runtime()->StreamCreateWithFlags(&stream, CUDA_STREAM_NON_BLOCKING));
	double once = runs_take(session, stream, 3);
	bool is_same = outputs_are_as_before(session, &lent);
	int runs = once > 0 && 0.05 / once > 10 ? (int)(0.05 / once) : 10;
	double seconds[TURNS], least = 0;
	for (int i = 0; i < TURNS; i++) {
		seconds[i] = runs_take(session, stream, runs);
		least = i == 0 || seconds[i] < least ? seconds[i] : least;
	}
	printf("{\"bundle\": \"%s\", \"same\": %s, \"open_ms\": %.1f, \"first_ms\": %.2f, "
	       "\"host_ms\": %.4f, \"run_ms\": %.5f, \"median_ms\": %.5f}\n",
	       job->path, is_same ? "true" : "false", (opened - start) * 1e3, first * 1e3, host * 1e3,
	       least * 1e3, median_of(TURNS, seconds) * 1e3);
	fflush(stdout);
	give_back(session, &lent);
	CUDA_DO(cuda_runtime()->StreamDestroy(stream));
	arena_free(arena);
}

static bool
is_bundle(const char *word)
{
	size_t length = strlen(word);
	return length > 4 && strcmp(word + length - 4, ".twb") == 0;
}

int
main(int argc, char **argv)
{
	Arena *arena = arena_new("bench");
	Options options = {.quiet = true};
	Failure failure;
	int failed = 0;
	for (int i = 1; i < argc; i++)
		if (!is_bundle(argv[i]))
			vec_push(arena, &options.shape, argv[i]);
	for (int i = 1; i < argc; i++) {
		Job job = {argv[i], &options};
		if (is_bundle(argv[i]) && !try_run(measure, &job, &failure)) {
			printf("{\"bundle\": \"%s\", \"error\": \"%s\"}\n", argv[i], failure.text);
			failed++;
		}
	}
	arena_free(arena);
	return failed > 0;
}
