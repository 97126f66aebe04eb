/* OpenVINO through its C API, by the functions' names.
 *
 * It is told to compute in f32: by itself it takes bf16 where the processor has units for that,
 * and then it is not the same model any more.
 */
#include "cli/measure/executor.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

#include "base/fail.h"

typedef void *Handle;

typedef struct Shape {
	int64_t rank, *dims;
} Shape;

typedef struct Version {
	const char *number, *description;
} Version;

/* FUNCTION(member, "name behind ov_", result, parameters) */
#define FUNCTIONS \
	FUNCTION(get_version, "get_openvino_version", int, (Version *)) \
	FUNCTION(last_error, "get_last_err_msg", const char *, (void)) \
	FUNCTION(error_text, "get_error_info", const char *, (int)) \
	FUNCTION(core_create, "core_create", int, (Handle *)) \
	FUNCTION(read_model, "core_read_model", int, (Handle, const char *, const char *, Handle *)) \
	FUNCTION(compile, "core_compile_model", int, \
	         (Handle, Handle, const char *, size_t, Handle *, ...)) \
	FUNCTION(request, "compiled_model_create_infer_request", int, (Handle, Handle *)) \
	FUNCTION(outputs_size, "compiled_model_outputs_size", int, (Handle, size_t *)) \
	FUNCTION(output_port, "compiled_model_output_by_index", int, (Handle, size_t, Handle *)) \
	FUNCTION(port_name, "port_get_any_name", int, (Handle, char **)) \
	FUNCTION(port_free, "output_const_port_free", void, (Handle)) \
	FUNCTION(from_host, "tensor_create_from_host_ptr", int, (unsigned, Shape, void *, Handle *)) \
	FUNCTION(set_tensor, "infer_request_set_tensor", int, (Handle, const char *, Handle)) \
	FUNCTION(infer, "infer_request_infer", int, (Handle)) \
	FUNCTION(get_output, "infer_request_get_output_tensor_by_index", int, \
	         (Handle, size_t, Handle *)) \
	FUNCTION(tensor_size, "tensor_get_size", int, (Handle, size_t *)) \
	FUNCTION(tensor_shape, "tensor_get_shape", int, (Handle, Shape *)) \
	FUNCTION(shape_free, "shape_free", int, (Shape *)) \
	FUNCTION(tensor_type, "tensor_get_element_type", int, (Handle, unsigned *)) \
	FUNCTION(tensor_data, "tensor_data", int, (Handle, void **)) \
	FUNCTION(tensor_free, "tensor_free", void, (Handle)) \
	FUNCTION(request_free, "infer_request_free", void, (Handle)) \
	FUNCTION(compiled_free, "compiled_model_free", void, (Handle)) \
	FUNCTION(model_free, "model_free", void, (Handle)) \
	FUNCTION(core_free, "core_free", void, (Handle))

typedef struct OpenVino {
	Arena *arena;
	const char *model;
#define FUNCTION(member, name, result, parameters) result(*member) parameters;
	FUNCTIONS
#undef FUNCTION
	Version known;
	Handle core, read, compiled, infer_request;
	int ninput, noutput;
	Handle *inputs, *outputs;
	const char **output_names;
} OpenVino;

/* Its numbers of types since 2025. */
static const DType types[] = {
	[1] = DT_BOOL, [2] = DT_BF16, [3] = DT_F16,  [4] = DT_F32,  [5] = DT_F64,
	[7] = DT_I8,   [8] = DT_I16,  [9] = DT_I32,  [10] = DT_I64, [16] = DT_U8,
	[17] = DT_U16, [18] = DT_U32, [19] = DT_U64,
};

static void
check(const OpenVino *ov, int status)
{
	if (!status)
		return;
	const char *text = ov->last_error();
	fail_environment(NULL, "OpenVINO: %s: %s", ov->model, text ? text : ov->error_text(status));
}

static void
close_openvino(void *handle)
{
	OpenVino *ov = handle;
	for (int i = 0; i < ov->ninput; i++)
		if (ov->inputs[i])
			ov->tensor_free(ov->inputs[i]);
	for (int i = 0; i < ov->noutput; i++)
		if (ov->outputs[i])
			ov->tensor_free(ov->outputs[i]);
	if (ov->infer_request)
		ov->request_free(ov->infer_request);
	if (ov->compiled)
		ov->compiled_free(ov->compiled);
	if (ov->read)
		ov->model_free(ov->read);
	if (ov->core)
		ov->core_free(ov->core);
}

/* Never unloaded: it starts threads. */
static void
load(OpenVino *ov)
{
	const char *given = getenv("OPENVINO_LIBRARY");
	void *library = dlopen(given ? given : "libopenvino_c.so", RTLD_NOW | RTLD_LOCAL);
	if (!library)
		fail_environment(NULL,
		                 "OpenVINO was not found (%s); after `pip install openvino` set "
		                 "OPENVINO_LIBRARY to the libopenvino_c.so of its folder libs",
		                 dlerror());
	void *symbol;
#define FUNCTION(member, name, result, parameters) \
	symbol = dlsym(library, "ov_" name); \
	if (!symbol) \
		fail_environment(NULL, "OpenVINO: the library has no ov_%s", name); \
	memcpy(&ov->member, &symbol, sizeof symbol);
	FUNCTIONS
#undef FUNCTION
	check(ov, ov->get_version(&ov->known));
	if (strtol(ov->known.number, NULL, 10) < 2025)
		fail_environment(NULL, "OpenVINO %s is older than 2025", ov->known.number);
}

static void
find_outputs(OpenVino *ov)
{
	size_t count;
	check(ov, ov->outputs_size(ov->compiled, &count));
	ov->outputs = NEW_N(ov->arena, Handle, count + 1);
	ov->output_names = NEW_N(ov->arena, const char *, count + 1);
	ov->noutput = (int)count;
	for (size_t i = 0; i < count; i++) {
		Handle port;
		char *name = NULL;
		check(ov, ov->output_port(ov->compiled, i, &port));
		bool is_named = ov->port_name(port, &name) == 0 && name;
		ov->output_names[i] = is_named ? arena_strdup(ov->arena, name) : "";
		ov->port_free(port);
	}
}

static void *
open_openvino(Arena *arena, const char *model, int threads, bool is_optimised)
{
	OpenVino *ov = NEW(arena, OpenVino);
	(void)is_optimised; /* there is no such switch: values that are outputs stay what they are */
	ov->arena = arena;
	ov->model = model;
	load(ov);
	arena_defer(arena, close_openvino, ov);
	check(ov, ov->core_create(&ov->core));
	check(ov, ov->read_model(ov->core, model, NULL, &ov->read));
	const char *number = arena_printf(arena, "%d", threads);
	check(ov,
	      ov->compile(ov->core, ov->read, "CPU", 6, &ov->compiled, "PERFORMANCE_HINT", "LATENCY",
	                  "INFERENCE_PRECISION_HINT", "f32", "INFERENCE_NUM_THREADS", number));
	check(ov, ov->request(ov->compiled, &ov->infer_request));
	find_outputs(ov);
	return ov;
}

static unsigned
number_of_type(const OpenVino *ov, DType type)
{
	for (unsigned i = 1; i < countof(types); i++)
		if (types[i] == type)
			return i;
	fail_environment(NULL, "OpenVINO: %s: inputs of type %s cannot be given", ov->model,
	                 dtype_name(type));
}

static void
bind_inputs(void *state, int count, const char *const *names, Array *const *inputs)
{
	OpenVino *ov = state;
	ov->inputs = NEW_N(ov->arena, Handle, count + 1);
	ov->ninput = count;
	for (int i = 0; i < count; i++) {
		const Array *array = inputs[i];
		int64_t *dims = arena_memdup(ov->arena, array->dims, (size_t)array->rank * sizeof *dims);
		check(ov, ov->from_host(number_of_type(ov, array->type), (Shape){array->rank, dims},
		                        array->data, &ov->inputs[i]));
		check(ov, ov->set_tensor(ov->infer_request, names[i], ov->inputs[i]));
	}
}

static void
run(void *state)
{
	OpenVino *ov = state;
	check(ov, ov->infer(ov->infer_request));
}

static int
output_count(void *state)
{
	OpenVino *ov = state;
	return ov->noutput;
}

static const char *
output_name(void *state, int index)
{
	OpenVino *ov = state;
	return ov->output_names[index];
}

/* It has no shape for a scalar to give. */
static Shape
shape_of(const OpenVino *ov, Handle tensor)
{
	Shape shape = {0};
	size_t size = 0;
	int status = ov->tensor_shape(tensor, &shape);
	if (status) {
		check(ov, ov->tensor_size(tensor, &size));
		check(ov, size == 1 ? 0 : status);
		return (Shape){0};
	}
	return shape;
}

static Array *
output(void *state, int index)
{
	OpenVino *ov = state;
	Array *array = NEW(ov->arena, Array);
	Shape shape;
	unsigned type;
	if (ov->outputs[index])
		ov->tensor_free(ov->outputs[index]);
	ov->outputs[index] = NULL;
	check(ov, ov->get_output(ov->infer_request, (size_t)index, &ov->outputs[index]));
	Handle tensor = ov->outputs[index];
	check(ov, ov->tensor_type(tensor, &type));
	shape = shape_of(ov, tensor);
	if (type >= countof(types) || types[type] == DT_NONE)
		fail_environment(NULL, "OpenVINO: %s: output %s has a type that is not known here",
		                 ov->model, ov->output_names[index]);
	size_t size = (size_t)shape.rank * sizeof *shape.dims;
	*array = (Array){types[type], (int)shape.rank, arena_memdup(ov->arena, shape.dims, size), NULL};
	if (shape.rank)
		ov->shape_free(&shape);
	check(ov, ov->tensor_data(tensor, &array->data));
	return array;
}

static const char *
version(void *state)
{
	OpenVino *ov = state;
	return ov->known.number;
}

const Executor executor_openvino = {
	.word = "openvino",
	.title = "OpenVINO",
	.open = open_openvino,
	.bind = bind_inputs,
	.run = run,
	.output_count = output_count,
	.output_name = output_name,
	.output = output,
	.version = version,
};
