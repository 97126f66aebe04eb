/* ONNX Runtime through its C API. The API is one struct of function pointers that only ever grows
 * at its end; this file knows the positions of those it calls, and their types.
 */
#include "cli/measure/executor.h"

#include <dlfcn.h>
#include <glob.h>
#include <stdlib.h>
#include <string.h>

#include "base/fail.h"

enum {
	API_VERSION = 13,
	LOG_ERROR = 3,
	OPTIMISE_NOTHING = 0,
	OPTIMISE_ALL = 99,
	ARENA_ALLOCATOR = 1
};

/* The struct's members used here, by position. */
enum {
	GET_ERROR_MESSAGE = 2,
	CREATE_ENV = 3,
	CREATE_SESSION = 7,
	RUN = 9,
	CREATE_SESSION_OPTIONS = 10,
	SET_OPTIMISATION = 23,
	SET_THREADS = 24,
	SET_INTER_THREADS = 25,
	INPUT_COUNT = 30,
	OUTPUT_COUNT = 31,
	OUTPUT_NAME = 37,
	CREATE_TENSOR = 49,
	TENSOR_DATA = 51,
	ELEMENT_TYPE = 60,
	DIMS_COUNT = 61,
	DIMS = 62,
	TYPE_AND_SHAPE = 65,
	CPU_MEMORY = 69,
	DEFAULT_ALLOCATOR = 78,
	RELEASE_ENV = 92,
	RELEASE_MEMORY_INFO = 94,
	RELEASE_SESSION = 95,
	RELEASE_VALUE = 96,
	RELEASE_TYPE_AND_SHAPE = 99,
	RELEASE_SESSION_OPTIONS = 100,
};

typedef void Function(void);
typedef void *Handle;

typedef struct ApiBase {
	Function *const *(*get_api)(uint32_t version);
	const char *(*get_version)(void);
} ApiBase;

typedef struct Ort {
	Arena *arena;
	const char *model;
	const ApiBase *base;
	Function *const *api;
	Handle env, options, session, allocator, memory;
	int ninput, noutput;
	const char *const *input_names;
	const char **output_names;
	Handle *inputs, *outputs;
} Ort;

/* Call a member that gives a status: NULL, or an error with a message. */
#define CALL(ort, member, types, ...) \
	check((ort), ((Handle(*) types)(ort)->api[member])(__VA_ARGS__))

static void
check(const Ort *ort, Handle status)
{
	if (!status)
		return;
	const char *text = ((const char *(*)(Handle))ort->api[GET_ERROR_MESSAGE])(status);
	fail_environment(NULL, "ONNX Runtime: %s: %s", ort->model, text);
}

static void
release(const Ort *ort, int member, Handle handle)
{
	if (handle)
		((void (*)(Handle))ort->api[member])(handle);
}

static void
close_ort(void *handle)
{
	Ort *ort = handle;
	for (int i = 0; i < ort->ninput; i++)
		release(ort, RELEASE_VALUE, ort->inputs[i]);
	for (int i = 0; i < ort->noutput; i++)
		release(ort, RELEASE_VALUE, ort->outputs[i]);
	release(ort, RELEASE_SESSION, ort->session);
	release(ort, RELEASE_SESSION_OPTIONS, ort->options);
	release(ort, RELEASE_MEMORY_INFO, ort->memory);
	release(ort, RELEASE_ENV, ort->env);
}

/* ---- finding the library ---- */

static void *
load(Arena *arena)
{
	const char *given = getenv("ORT_LIBRARY");
	void *library = given ? dlopen(given, RTLD_NOW | RTLD_LOCAL) : NULL;
	glob_t found;
	if (!library && glob("build/ort/onnxruntime/capi/libonnxruntime.so*", 0, NULL, &found) == 0) {
		library = dlopen(found.gl_pathv[found.gl_pathc - 1], RTLD_NOW | RTLD_LOCAL);
		globfree(&found);
	}
	if (!library)
		library = dlopen("libonnxruntime.so.1", RTLD_NOW | RTLD_LOCAL);
	if (!library)
		fail_environment(NULL,
		                 "ONNX Runtime was not found; `make bench` puts it into build/ort, or "
		                 "set ORT_LIBRARY to its libonnxruntime.so");
	(void)arena; /* it starts threads: never unloaded */
	return library;
}

static const ApiBase *
find_base(Arena *arena)
{
	void *symbol = dlsym(load(arena), "OrtGetApiBase");
	if (!symbol)
		fail_environment(NULL, "ONNX Runtime: the library has no OrtGetApiBase");
	const ApiBase *(*get)(void);
	memcpy(&get, &symbol, sizeof get); /* ISO C has no cast from void * to a function */
	return get();
}

/* ---- sessions ---- */

static void
find_outputs(Ort *ort)
{
	size_t inputs, outputs;
	CALL(ort, INPUT_COUNT, (Handle, size_t *), ort->session, &inputs);
	CALL(ort, OUTPUT_COUNT, (Handle, size_t *), ort->session, &outputs);
	ort->outputs = NEW_N(ort->arena, Handle, outputs + 1);
	ort->output_names = NEW_N(ort->arena, const char *, outputs + 1);
	ort->noutput = (int)outputs;
	for (size_t i = 0; i < outputs; i++) {
		char *name;
		CALL(ort, OUTPUT_NAME, (Handle, size_t, Handle, char **), ort->session, i, ort->allocator,
		     &name);
		ort->output_names[i] = arena_strdup(ort->arena, name);
	}
}

static void *
open_ort(Arena *arena, const char *model, int threads, bool is_optimised)
{
	Ort *ort = NEW(arena, Ort);
	ort->arena = arena;
	ort->model = model;
	ort->base = find_base(arena);
	ort->api = ort->base->get_api(API_VERSION);
	if (!ort->api)
		fail_environment(NULL, "ONNX Runtime %s is older than version 1.%d of its API",
		                 ort->base->get_version(), API_VERSION);
	arena_defer(arena, close_ort, ort);
	CALL(ort, CREATE_ENV, (int, const char *, Handle *), LOG_ERROR, "bench", &ort->env);
	CALL(ort, CREATE_SESSION_OPTIONS, (Handle *), &ort->options);
	CALL(ort, SET_OPTIMISATION, (Handle, int), ort->options,
	     is_optimised ? OPTIMISE_ALL : OPTIMISE_NOTHING);
	CALL(ort, SET_THREADS, (Handle, int), ort->options, threads);
	CALL(ort, SET_INTER_THREADS, (Handle, int), ort->options, 1);
	CALL(ort, CREATE_SESSION, (Handle, const char *, Handle, Handle *), ort->env, model,
	     ort->options, &ort->session);
	CALL(ort, DEFAULT_ALLOCATOR, (Handle *), &ort->allocator);
	CALL(ort, CPU_MEMORY, (int, int, Handle *), ARENA_ALLOCATOR, 0, &ort->memory);
	find_outputs(ort);
	return ort;
}

/* Its numbers of types are ONNX's but for the last three. */
static const struct {
	DType type;
	int number;
} OTHER_NUMBERS[] = {{DT_U2, 24}, {DT_I2, 25}, {DT_F8E8M0, 26}};

static int
number_of_type(DType type)
{
	for (size_t i = 0; i < countof(OTHER_NUMBERS); i++)
		if (OTHER_NUMBERS[i].type == type)
			return OTHER_NUMBERS[i].number;
	return (int)type;
}

static DType
type_of_number(int number)
{
	for (size_t i = 0; i < countof(OTHER_NUMBERS); i++)
		if (OTHER_NUMBERS[i].number == number)
			return OTHER_NUMBERS[i].type;
	return (DType)number;
}

static void
bind_ort(void *state, int count, const char *const *names, Array *const *inputs)
{
	Ort *ort = state;
	ort->inputs = NEW_N(ort->arena, Handle, count + 1);
	ort->input_names = names;
	ort->ninput = count;
	for (int i = 0; i < count; i++)
		CALL(ort, CREATE_TENSOR, (Handle, void *, size_t, const int64_t *, size_t, int, Handle *),
		     ort->memory, inputs[i]->data, array_bytes(inputs[i]), inputs[i]->dims,
		     (size_t)inputs[i]->rank, number_of_type(inputs[i]->type), &ort->inputs[i]);
}

static void
run_ort(void *state)
{
	Ort *ort = state;
	for (int i = 0; i < ort->noutput; i++) {
		release(ort, RELEASE_VALUE, ort->outputs[i]);
		ort->outputs[i] = NULL;
	}
	CALL(ort, RUN,
	     (Handle, Handle, const char *const *, Handle *, size_t, const char *const *, size_t,
	      Handle *),
	     ort->session, NULL, ort->input_names, ort->inputs, (size_t)ort->ninput, ort->output_names,
	     (size_t)ort->noutput, ort->outputs);
}

static int
output_count(void *state)
{
	Ort *ort = state;
	return ort->noutput;
}

static const char *
output_name(void *state, int index)
{
	Ort *ort = state;
	return ort->output_names[index];
}

static Array *
output(void *state, int index)
{
	Ort *ort = state;
	Handle info;
	int type;
	size_t rank;
	Array *array = NEW(ort->arena, Array);
	CALL(ort, TYPE_AND_SHAPE, (Handle, Handle *), ort->outputs[index], &info);
	CALL(ort, ELEMENT_TYPE, (Handle, int *), info, &type);
	CALL(ort, DIMS_COUNT, (Handle, size_t *), info, &rank);
	int64_t *dims = NEW_N(ort->arena, int64_t, rank + 1);
	CALL(ort, DIMS, (Handle, int64_t *, size_t), info, dims, rank);
	release(ort, RELEASE_TYPE_AND_SHAPE, info);
	*array = (Array){type_of_number(type), (int)rank, dims, NULL};
	CALL(ort, TENSOR_DATA, (Handle, void **), ort->outputs[index], &array->data);
	return array;
}

static const char *
version(void *state)
{
	Ort *ort = state;
	return ort->base->get_version();
}

const Executor executor_ort = {
	.word = "ort",
	.title = "ONNX Runtime",
	.open = open_ort,
	.bind = bind_ort,
	.run = run_ort,
	.output_count = output_count,
	.output_name = output_name,
	.output = output,
	.version = version,
};
