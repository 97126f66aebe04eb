/* Bundles for a GPU on what stands for CUDA's runtime (tests/standin), by the public functions:
 *
 *     cuda fail CUDA.twb TEST.twb      every call of CUDA's fails once, and then all behind it
 *     cuda threads CUDA.twb TEST.twb   sessions on eight threads, on two devices
 *     cuda index CUDA.twb              an index that is out of range is said by each run
 *     cuda lent CUDA.twb TEST.twb      memory of the device's, and a stream of the caller's or
 *                                    CUDA's default stream
 *     cuda copies                      random strides; memory that is changed behind the copy
 *     cuda refuse CUDA.twb TEST.twb    tw_run_async() where the host takes part
 *     cuda life CUDA.twb TEST.twb      opened again and again, forked, short of memory, cancelled
 *
 * TEST.twb is the same bundle for the test device, whose results are the right ones.
 */
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/library.h"
#include "runtime/backend.h"
#include "runtime/memory.h"
#include "cuda.h"

const Standin *standin;

/* ---- What fails ---- */

/* What went wrong is said, or nothing did. */
static void
judge(const Model *m, const Model *right, TwCode code, const TwError *error, int given, long call)
{
	bool is_library = code && (strstr(error->text, "cuDNN") || strstr(error->text, "cublasLt"));
	TwCode wanted = given == CUDA_NO_MEMORY && !is_library ? TW_MEMORY : TW_DEVICE;
	if (!code && !has_outputs_of(m, right))
		lose("call %ld gives error %d, and results are wrong", call, given);
	if (code && code != wanted && code != TW_UNSUPPORTED)
		lose("call %ld gives error %d, which becomes code %d: %s", call, given, (int)code,
		     error->text);
	if (code && !strstr(error->text, "cuda") && !strstr(error->text, "out of memory") &&
	    !strstr(error->text, "driver") && !is_library)
		lose("call %ld gives error %d, of which is said: %s", call, given, error->text);
}

static long
fail_all(const char *path, const Model *right, int given)
{
	for (long call = 1;; call++) {
		Model m;
		TwError error = {TW_OK, ""};
		standin->fail(call, given);
		TwCode code = run_model(&m, path, 0, &error);
		judge(&m, right, code, &error, given, call);
		close_model(&m);
		bool is_over = standin->calls() < call;
		standin->fail(0, 0);
		if (standin->live())
			lose("call %ld gives error %d, and %d handles and blocks stay", call, given,
			     standin->live());
		if (is_over || failures > 9)
			return call - 1;
	}
}

static void
test_fail(char **argv)
{
	Model right;
	TwError error;
	if (run_model(&right, argv[3], 0, &error))
		lose("%s", error.text);
	for (unsigned long seed = 0; seed < 2; seed++) {
		standin->seed(seed);
		long once = fail_all(argv[2], &right, CUDA_NO_MEMORY);
		long always = fail_all(argv[2], &right, 700);
		printf("%ld calls failed alone, %ld with all behind them\n", once, always);
	}
	close_model(&right);
}

/* ---- Threads ---- */

typedef struct Job {
	const char *path, *right_path;
	int number;
	bool is_right;
	TwError error;
} Job;

static void *
work(void *arg)
{
	Job *job = arg;
	Model m = {NULL}, right = {NULL};
	standin->use_device(job->number % 2);
	TwCode code = run_model(&right, job->right_path, job->number, &job->error);
	if (!code)
		code = open_model(&m, job->path, NULL, &job->error);
	standin->use_device(1 - job->number % 2); /* the session's stays the bundle's */
	if (!code)
		code = run_opened(&m, job->number, &job->error);
	job->is_right = !code && has_outputs_of(&m, &right);
	close_model(&m);
	close_model(&right);
	job->is_right = job->is_right && standin->device() == 1 - job->number % 2;
	return NULL;
}

static void
test_threads(char **argv)
{
	pthread_t threads[THREADS];
	Job jobs[THREADS];
	for (int i = 0; i < THREADS; i++) {
		jobs[i] = (Job){.path = argv[2], .right_path = argv[3], .number = i};
		pthread_create(&threads[i], NULL, work, &jobs[i]);
	}
	for (int i = 0; i < THREADS; i++) {
		pthread_join(threads[i], NULL);
		if (!jobs[i].is_right)
			lose("thread %d: other results, or %s", i, jobs[i].error.text);
	}
	if (standin->live())
		lose("%d handles and blocks stay", standin->live());
}

/* ---- What data does ---- */

/* Each run says it, be it recorded or not, and a right one behind it is right. */
static void
test_index(char **argv)
{
	Model m;
	TwError error;
	TwCode code = open_model(&m, argv[2], NULL, &error);
	if (!code)
		code = bind_inputs(&m, 0, &error);
	for (int run = 0; run < 8 && !code; run++) {
		((int64_t *)m.inputs[1])[0] = run % 2 ? 1 : 100;
		code = tw_run(m.session, &error);
		bool is_said = code == TW_DATA && strstr(error.text, "node \"take") &&
		               strstr(error.text, "index 100 is outside");
		if (run % 2 ? code != TW_OK : !is_said)
			lose("run %d gives %d: %s", run, (int)code, error.text);
		code = TW_OK;
	}
	close_model(&m);
}

/* ---- Memory and a stream of the caller's ---- */

static Cudart cuda;

static void
find_functions(void *library)
{
#define F(name, parameters) library_find(library, "cuda" #name, &cuda.name);
	CUDA_FUNCTIONS(F)
#undef F
}

/* Inputs and outputs in pinned memory, from where and to where the caller's stream copies them. */
typedef struct Lent {
	void *device[2 * MOST], *pinned[2 * MOST];
	size_t bytes[2 * MOST];
	int count;
} Lent;

static void
lend(Lent *lent, size_t bytes)
{
	int i = lent->count++;
	lent->bytes[i] = bytes;
	cuda.Malloc(&lent->device[i], bytes);
	cuda.HostAlloc(&lent->pinned[i], bytes, CUDA_HOST_PORTABLE_MAPPED);
}

static void
take_back(Lent *lent)
{
	for (int i = 0; i < lent->count; i++) {
		cuda.Free(lent->device[i]);
		cuda.FreeHost(lent->pinned[i]);
	}
}

/* `right` has run: sizes are its. */
static TwCode
bind_lent(Model *m, Lent *lent, const Model *right, TwError *error)
{
	TwCode code = bind_inputs(m, 0, error);
	for (int i = 0; i < m->ninput && !code; i++) {
		const TwTensorInfo *info = tw_input(m->bundle, i);
		int64_t dims[MOST];
		size_t count = 1;
		for (int d = 0; d < info->rank; d++)
			count *= (size_t)(dims[d] = extent_of(&info->dims[d]));
		size_t bytes = count * (info->type == TW_I64 ? sizeof(int64_t) : sizeof(float));
		lend(lent, bytes);
		code = tw_bind_input(m->session, i, lent->device[i], bytes, info->rank, dims, error);
	}
	for (int i = 0; i < m->noutput && !code; i++) {
		lend(lent, right->output_bytes[i]);
		code = tw_bind_output(m->session, i, lent->device[m->ninput + i], right->output_bytes[i],
		                      error);
	}
	return code;
}

/* Copies there, the run, and copies back are all given before anything is waited for. */
static TwCode
run_lent(Model *m, const Lent *lent, const Model *right, CudaStream *stream, TwError *error)
{
	for (int i = 0; i < m->ninput; i++) {
		memcpy(lent->pinned[i], right->inputs[i], lent->bytes[i]);
		cuda.MemcpyAsync(lent->device[i], lent->pinned[i], lent->bytes[i], CUDA_COPY_BY_ADDRESS,
		                 stream);
	}
	TwCode code = tw_run_async(m->session, stream, error);
	for (int i = m->ninput; i < lent->count && !code; i++)
		cuda.MemcpyAsync(lent->pinned[i], lent->device[i], lent->bytes[i], CUDA_COPY_BY_ADDRESS,
		                 stream);
	cuda.StreamSynchronize(stream);
	return code;
}

/* has_stream: one of the caller's, else CUDA's default stream. */
static void
test_lent_once(char **argv, unsigned long seed, bool has_stream)
{
	Model m = {NULL}, right = {NULL};
	Lent lent = {.count = 0};
	TwError error;
	CudaStream *stream = NULL;
	if (has_stream)
		cuda.StreamCreateWithFlags(&stream, CUDA_STREAM_NON_BLOCKING);
	TwCode code = run_model(&right, argv[3], 0, &error);
	if (!code)
		code = open_model(&m, argv[2], NULL, &error);
	if (!code)
		code = bind_lent(&m, &lent, &right, &error);
	size_t across = 0;
	for (int i = 0; i < lent.count; i++)
		across += lent.bytes[i];
	for (int run = 0; run < RUNS && !code; run++) {
		fill_inputs(&right, run);
		code = tw_run(right.session, &error);
		if (!code)
			code = take_outputs(&right, &error);
		long before = standin->copied();
		if (!code)
			code = run_lent(&m, &lent, &right, stream, &error);
		if (!code && standin->copied() - before != (long)across)
			lose("run %d copies %ld bytes, and the caller %zu", run, standin->copied() - before,
			     across);
		for (int i = 0; i < right.noutput && !code; i++)
			if (memcmp(lent.pinned[m.ninput + i], right.outputs[i], right.output_bytes[i]) != 0)
				lose("order %lu, run %d: output %d is wrong", seed, run, i);
	}
	if (code || tw_wait(m.session, &error))
		lose("%s", error.text);
	close_model(&m);
	close_model(&right);
	take_back(&lent);
	if (stream)
		cuda.StreamDestroy(stream);
	if (standin->live())
		lose("%d handles and blocks stay", standin->live());
}

static void
test_lent(char **argv)
{
	for (unsigned long seed = 0; seed < 6; seed++) {
		standin->seed(seed);
		test_lent_once(argv, seed, seed % 2 == 0);
	}
}

static void
expect(TwCode code, TwCode wanted, const TwError *error, const char *words)
{
	if (code != wanted || !strstr(error->text, words))
		lose("code %d, and not %d with '%s': %s", (int)code, (int)wanted, words, error->text);
}

static void
test_refuse(char **argv)
{
	Model m = {NULL}, right = {NULL};
	Lent lent = {.count = 0};
	TwError error;
	if (run_model(&right, argv[3], 0, &error) || open_model(&m, argv[2], NULL, &error) ||
	    bind_inputs(&m, 0, &error))
		lose("%s", error.text);
	expect(tw_run_async(right.session, NULL, &error), TW_UNSUPPORTED, &error, "is for GPUs");
	if (m.noutput > 2) { /* of a node that the host computes */
		expect(tw_run_async(m.session, NULL, &error), TW_UNSUPPORTED, &error,
		       "the host takes part");
		bind_lent(&m, &lent, &right, &error);
		expect(tw_run(m.session, &error), TW_USAGE, &error, "the host itself reads");
	} else {
		expect(tw_run_async(m.session, NULL, &error), TW_USAGE, &error, "pinned memory");
	}
	close_model(&m);
	close_model(&right);
	take_back(&lent);
}

/* ---- Copies ---- */

enum { RANK = 4, ROOM = 20000 };

/* Strides that are apart, some of them back; gives where the first element lies. */
static int64_t
draw_strides(int rank, const int64_t *dims, int64_t *strides)
{
	int64_t reach = 1, first = 0;
	for (int d = rank - 1; d >= 0; d--) {
		strides[d] = reach * (rand() % 3 ? 1 : 2);
		reach = strides[d] * dims[d];
		if (rand() % 4 == 0) {
			first += strides[d] * (dims[d] - 1);
			strides[d] = -strides[d];
		}
	}
	return first;
}

static void
copy_across(const Backend *backend, Stream *stream, PlanPlace from, const void *source,
            void *target)
{
	const int64_t count = ROOM;
	BackendReport report;
	BackendCopy copy = {.size = 1, .rank = 1, .dims = &count, .from = from, .source = source};
	copy.to = from == PLACE_HOST ? PLACE_DEVICE : PLACE_HOST;
	copy.target = target;
	if (!backend->copy(stream, &copy, &report))
		lose("%s", report.text);
}

/* As copy_strided() does it in the host's memory. */
static void
try_copy(const Backend *backend, Stream *stream, unsigned char *device[2])
{
	static unsigned char source[ROOM], target[ROOM], expected[ROOM];
	int64_t dims[RANK], from[RANK], to[RANK];
	int rank = rand() % (RANK + 1);
	size_t size = (size_t)1 << rand() % 3;
	for (int d = 0; d < rank; d++)
		dims[d] = 1 + rand() % 4;
	int64_t first = draw_strides(rank, dims, from), second = draw_strides(rank, dims, to);
	bool is_from = rand() % 4, is_to = rand() % 4; /* else dense */
	for (int i = 0; i < ROOM; i++)
		source[i] = (unsigned char)rand();
	memset(expected, 0, ROOM);
	memset(target, 0, ROOM);
	copy_across(backend, stream, PLACE_HOST, source, device[0]);
	copy_across(backend, stream, PLACE_HOST, target, device[1]);
	size_t skip_from = is_from ? (size_t)first * size : 0,
		   skip_to = is_to ? (size_t)second * size : 0;
	BackendCopy copy = {.size = size, .rank = rank, .dims = dims};
	BackendReport report;
	copy.source = device[0] + skip_from;
	copy.target = device[1] + skip_to;
	copy.source_strides = is_from ? from : NULL;
	copy.target_strides = is_to ? to : NULL;
	if (!backend->copy(stream, &copy, &report))
		lose("%s", report.text);
	copy_strided(size, rank, dims, source + skip_from, copy.source_strides, expected + skip_to,
	             copy.target_strides);
	copy_across(backend, stream, PLACE_DEVICE, device[1], target);
	if (!backend->wait(stream, backend->mark(stream), &report))
		lose("%s", report.text);
	if (memcmp(target, expected, ROOM) != 0)
		lose("a copy of rank %d differs", rank);
}

/* What was given may be changed when copy() returns, be it pinned or not. */
static void
try_source(const Backend *backend, Stream *stream, unsigned char *device)
{
	static unsigned char seen[ROOM];
	void *pinned;
	BackendReport report;
	cuda.HostAlloc(&pinned, ROOM, CUDA_HOST_PORTABLE_MAPPED);
	memset(pinned, 1, ROOM);
	copy_across(backend, stream, PLACE_HOST, pinned, device);
	memset(pinned, 2, ROOM);
	copy_across(backend, stream, PLACE_DEVICE, device, seen);
	if (!backend->wait(stream, backend->mark(stream), &report) || seen[0] != 1)
		lose("pinned memory is read too late");
	cuda.FreeHost(pinned);
}

static void
test_copies(char **argv)
{
	(void)argv;
	const Backend *backend = backend_find("cuda:any");
	Memory memory = {.limit = 0};
	Workers workers = {.threads = 1};
	unsigned char *device[2];
	Stream *stream = backend ? backend->open(NULL, &workers, &memory) : NULL;
	if (!stream) {
		lose("no backend");
		return;
	}
	standin->seed(0);
	for (int i = 0; i < 2; i++)
		device[i] = memory_alloc(stream->memory, ROOM);
	for (int i = 0; i < 500 && !failures; i++)
		try_copy(backend, stream, device);
	try_source(backend, stream, device[0]);
	for (int i = 0; i < 2; i++)
		memory_release(stream->memory, device[i], ROOM);
	backend->close(stream);
	if (standin->live())
		lose("%d handles and blocks stay", standin->live());
}

int
main(int argc, char **argv)
{
	static const struct {
		const char *verb;
		int argc;
		void (*test)(char **argv);
	} tests[] = {{"fail", 4, test_fail}, {"threads", 4, test_threads}, {"index", 3, test_index},
	             {"lent", 4, test_lent}, {"refuse", 4, test_refuse},   {"copies", 2, test_copies},
	             {"life", 4, test_life}};
	void *library = dlopen("libcudart.so.13", RTLD_NOW);
	standin = library ? dlsym(library, "standin") : NULL;
	if (!standin) {
		fprintf(stderr, "what stands for CUDA's runtime is not found: %s\n", dlerror());
		return 2;
	}
	find_functions(library);
	for (size_t i = 0; argc > 1 && i < sizeof tests / sizeof *tests; i++)
		if (strcmp(argv[1], tests[i].verb) == 0 && argc == tests[i].argc) {
			tests[i].test(argv);
			return failures ? 1 : 0;
		}
	fprintf(stderr, "usage: cuda fail|threads|lent|refuse|life CUDA TEST | index CUDA | copies\n");
	return 2;
}
