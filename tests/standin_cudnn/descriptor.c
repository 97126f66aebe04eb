/* Descriptors, and what they are asked. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cudnn.h"

enum { BAD = 2000, NOT_SUPPORTED = 3000, FAILED = 5000 };
enum { WINOGRAD, PLAIN, COMPILED, ENGINES };
enum { CONFIG_OF_PLAN = 401, PLAN_JSON = 405, DEVICE_JSON = 2702, GRAPH = 1300, INDEX = 1301 };

struct CudnnHandle {
	Handle head;
	CudaStream *stream;
};

size_t
attr_size(int type)
{
	switch (type) {
	case CUDNN_TYPE_HANDLE:
	case CUDNN_TYPE_INT64:
	case CUDNN_TYPE_DOUBLE:
	case CUDNN_TYPE_POINTER:
	case CUDNN_TYPE_DESCRIPTOR:
		return 8;
	case CUDNN_TYPE_BOOLEAN:
	case CUDNN_TYPE_CHAR:
		return 1;
	default:
		return 4;
	}
}

static int
begin(void)
{
	return enter() ? FAILED : CUDNN_OK;
}

/* ---- What is read of them ---- */

static CudnnDescriptor *
find(const CudnnDescriptor *descriptor, bool is_final)
{
	CudnnDescriptor *found = handle_find(descriptor, IS_DESCRIPTOR);
	if (found->is_final != is_final)
		misuse("a descriptor of kind %d is final: %d", found->kind, found->is_final);
	return found;
}

const void *
attr_elements(const CudnnDescriptor *descriptor, int name, int type, int64_t *count,
              bool is_optional)
{
	const Attr *attr = find(descriptor, true)->attrs;
	while (attr && attr->name != name)
		attr = attr->next;
	if (!attr && is_optional)
		return NULL;
	if (!attr || attr->type != type)
		misuse("a descriptor of kind %d has no attribute %d of type %d", descriptor->kind, name,
		       type);
	*count = attr->count;
	return attr->bytes;
}

const CudnnDescriptor *
attr_part(const CudnnDescriptor *descriptor, int name)
{
	int64_t count;
	const CudnnDescriptor *part;
	memcpy(&part, attr_elements(descriptor, name, CUDNN_TYPE_DESCRIPTOR, &count, false),
	       sizeof part);
	return find(part, true);
}

int64_t
attr_int(const CudnnDescriptor *descriptor, int name)
{
	int64_t count, value;
	memcpy(&value, attr_elements(descriptor, name, CUDNN_TYPE_INT64, &count, false), sizeof value);
	return value;
}

int
attr_enum(const CudnnDescriptor *descriptor, int name, int type, int otherwise)
{
	int64_t count;
	const void *found = attr_elements(descriptor, name, type, &count, otherwise >= 0);
	if (found)
		memcpy(&otherwise, found, sizeof otherwise);
	return otherwise;
}

double
attr_double(const CudnnDescriptor *descriptor, int name, double otherwise)
{
	int64_t count;
	const void *found = attr_elements(descriptor, name, CUDNN_TYPE_DOUBLE, &count, true);
	if (found)
		memcpy(&otherwise, found, sizeof otherwise);
	return otherwise;
}

int
kind_of(const CudnnDescriptor *descriptor)
{
	return descriptor->kind;
}

/* ---- Making them ---- */

int
descriptor_set(CudnnDescriptor *descriptor, int name, int type, int64_t count, const void *elements)
{
	size_t bytes = (size_t)count * attr_size(type);
	Attr *attr = count < 1 ? NULL : malloc(sizeof *attr + bytes);
	if (!attr)
		return BAD;
	*attr = (Attr){descriptor->attrs, name, type, count};
	memcpy(attr->bytes, elements, bytes);
	descriptor->attrs = attr;
	return CUDNN_OK;
}

CudnnDescriptor *
descriptor_new(int kind)
{
	CudnnDescriptor *made = calloc(1, sizeof *made);
	if (made) {
		handle_add(made, IS_DESCRIPTOR);
		made->kind = kind;
	}
	return made;
}

void
descriptor_free(CudnnDescriptor *descriptor)
{
	while (descriptor->attrs) {
		Attr *attr = descriptor->attrs;
		bool has_parts = descriptor->is_read && attr->type == CUDNN_TYPE_DESCRIPTOR;
		for (int64_t i = 0; has_parts && i < attr->count; i++)
			descriptor_free(((CudnnDescriptor **)attr->bytes)[i]);
		descriptor->attrs = attr->next;
		free(attr);
	}
	handle_remove(descriptor);
}

int
cudnnBackendCreateDescriptor(int kind, CudnnDescriptor **descriptor)
{
	int status = begin();
	*descriptor = status ? NULL : descriptor_new(kind);
	leave();
	return status;
}

int
cudnnBackendDestroyDescriptor(CudnnDescriptor *descriptor)
{
	int status = begin();
	descriptor_free(handle_find(descriptor, IS_DESCRIPTOR));
	leave();
	return status;
}

int
cudnnBackendSetAttribute(CudnnDescriptor *descriptor, int name, int type, int64_t count,
                         const void *elements)
{
	int status = begin();
	find(descriptor, false);
	if (!status && descriptor->kind == CUDNN_PLAN && name == PLAN_JSON)
		plan_from_text(descriptor, elements, count);
	else if (!status)
		status = descriptor_set(descriptor, name, type, count, elements);
	leave();
	return status;
}

/* The engine of a configuration, or the configuration itself, if a heuristic listed it. */
static const CudnnDescriptor *
engine_in(const CudnnDescriptor *config)
{
	enum { ENGINE = 300 };
	int64_t count;
	const void *found = attr_elements(config, ENGINE, CUDNN_TYPE_DESCRIPTOR, &count, true);
	return found ? attr_part(config, ENGINE) : config;
}

/* The engine that cuDNN compiles is for products and norms alone, and compiled for a handle's
 * device. */
static void
check_plan(const CudnnDescriptor *plan)
{
	enum { HANDLE = 400 };
	int64_t count;
	const CudnnDescriptor *engine = engine_in(attr_part(plan, CONFIG_OF_PLAN));
	if (attr_int(engine, INDEX) != COMPILED)
		return;
	if (!attr_elements(plan, HANDLE, CUDNN_TYPE_HANDLE, &count, true))
		misuse("an engine is compiled when the answer is all that is asked for");
	const CudnnDescriptor *graph = attr_part(engine, GRAPH);
	if (!graph_has(graph, CUDNN_MATMUL_OPERATION) && !graph_has(graph, CUDNN_NORM_FORWARD))
		misuse("an engine is compiled where another takes the graph");
	const char *compiles = getenv("STANDIN_COMPILES");
	if (compiles && strcmp(compiles, "0") == 0)
		misuse("an engine is compiled whose plan was kept");
}

/* A graph of operations, each of which is final, is made for a device: the handle's, or another. */
static bool
is_sound(const CudnnDescriptor *descriptor)
{
	for (const Attr *attr = descriptor->attrs; attr; attr = attr->next)
		for (int64_t i = 0; i < attr->count; i++) {
			void *const *parts = (void *const *)attr->bytes;
			if (attr->type == CUDNN_TYPE_DESCRIPTOR)
				find(parts[i], true);
			else if (attr->type == CUDNN_TYPE_HANDLE)
				handle_check(parts[i], IS_CUDNN);
		}
	return descriptor->attrs;
}

int
cudnnBackendFinalize(CudnnDescriptor *descriptor)
{
	int status = begin();
	find(descriptor, false);
	if (!status && !is_sound(descriptor))
		status = BAD;
	descriptor->is_final = !status;
	if (!status && descriptor->kind == CUDNN_PLAN && !descriptor->is_read)
		check_plan(descriptor);
	if (!status && descriptor->kind == CUDNN_ENGINE && attr_int(descriptor, INDEX) >= ENGINES) {
		descriptor->is_final = false;
		status = NOT_SUPPORTED;
	}
	leave();
	return status;
}

/* ---- What they are asked ---- */

/* What a heuristic lists. Nobody transforms for a norm. */
static int64_t
list_configs(const CudnnDescriptor *heuristics, CudnnDescriptor **configs)
{
	enum { GRAPH_ASKED = 201 };
	static const int64_t order[] = {COMPILED, WINOGRAD, PLAIN};
	const CudnnDescriptor *graph = attr_part(heuristics, GRAPH_ASKED);
	int count = graph_has(graph, CUDNN_NORM_FORWARD)       ? 1
	            : graph_has(graph, CUDNN_MATMUL_OPERATION) ? 2
	                                                       : 3;
	for (int i = 0; i < count; i++) {
		CudnnDescriptor *config = find(configs[i], false);
		descriptor_set(config, INDEX, CUDNN_TYPE_INT64, 1, &order[i]);
		descriptor_set(config, GRAPH, CUDNN_TYPE_DESCRIPTOR, 1, &graph);
		config->is_final = true;
	}
	return count;
}

static int64_t
answer(const CudnnDescriptor *asked, int name, void *elements)
{
	enum {
		RESULTS = 202,
		ENGINE = 300,
		CHOICES = 302,
		WORKSPACE = 402,
		COUNT = 802,
		NOTES = 1303,
		BEHAVIOR = 1305
	};
	static const int winograd = 5, is_compiled = 0;
	int64_t index, workspace, count = 1;
	CudnnDescriptor **parts = elements;
	switch (name) {
	case RESULTS:
		return list_configs(asked, parts);
	case COUNT:
		count = ENGINES;
		memcpy(elements, &count, sizeof count);
		return 1;
	case ENGINE:
		index = attr_int(engine_in(asked), INDEX);
		descriptor_set(find(*parts, false), INDEX, CUDNN_TYPE_INT64, 1, &index);
		(*parts)->is_final = true;
		return 1;
	case CHOICES:
		return 0;
	case NOTES:
		count = attr_int(asked, INDEX) == WINOGRAD;
		memcpy(elements, &winograd, sizeof winograd * (size_t)count);
		return count;
	case BEHAVIOR:
		count = attr_int(asked, INDEX) == COMPILED;
		memcpy(elements, &is_compiled, sizeof is_compiled * (size_t)count);
		return count;
	case INDEX:
		index = attr_int(asked, INDEX);
		memcpy(elements, &index, sizeof index);
		return 1;
	case WORKSPACE:
		workspace = graph_workspace(attr_part(engine_in(attr_part(asked, CONFIG_OF_PLAN)), GRAPH));
		memcpy(elements, &workspace, sizeof workspace);
		return 1;
	default:
		return -1;
	}
}

/* A plan's, or that of a handle's device. Asked for no bytes it says how many there are. */
static int64_t
answer_text(const CudnnDescriptor *asked, int64_t most, char *to)
{
	const char *driver = getenv("STANDIN_DRIVER");
	char device[100];
	snprintf(device, sizeof device, "{\"device\": %d, \"driver\": %s}", asked->head.device,
	         driver ? driver : "0");
	char *text = asked->kind == CUDNN_PLAN ? text_of_plan(asked) : strdup(device);
	int64_t size = (int64_t)strlen(text);
	memcpy(to ? to : device, text, to && most >= size ? (size_t)size : 0);
	free(text);
	return size;
}

int
cudnnBackendGetAttribute(const CudnnDescriptor *descriptor, int name, int type, int64_t asked,
                         int64_t *count, void *elements)
{
	int status = begin();
	bool is_text = type == CUDNN_TYPE_CHAR && (name == PLAN_JSON || name == DEVICE_JSON);
	int64_t found = status    ? 0
	                : is_text ? answer_text(find(descriptor, true), asked, elements)
	                          : answer(find(descriptor, true), name, elements);
	if (found > asked && !(is_text && asked == 0))
		misuse("attribute %d has %lld elements", name, (long long)found);
	*count = found;
	leave();
	return status ? status : found < 0 ? NOT_SUPPORTED : CUDNN_OK;
}

/* ---- Handles ---- */

size_t
cudnnGetVersion(void)
{
	return 99900; /* no library's: what it answers is kept under its version */
}

void
cudnnGetLastErrorString(char *text, size_t size)
{
	snprintf(text, size, "an error of the stand-in");
}

int
cudnnCreate(CudnnHandle **handle)
{
	int status = begin();
	*handle = status ? NULL : calloc(1, sizeof **handle);
	if (*handle)
		handle_add(*handle, IS_CUDNN);
	leave();
	return status;
}

int
cudnnDestroy(CudnnHandle *handle)
{
	int status = begin();
	handle_check(handle, IS_CUDNN);
	handle_remove(handle);
	leave();
	return status;
}

int
cudnnSetStream(CudnnHandle *handle, void *stream)
{
	int status = begin();
	CudnnHandle *found = handle_check(handle, IS_CUDNN);
	if (!status)
		found->stream = handle_check(stream, IS_STREAM);
	leave();
	return status;
}

/* ---- Calls ---- */

static Call *
read_call(const CudnnDescriptor *plan, const CudnnDescriptor *pack)
{
	enum { IDS = 1000, POINTERS, WORKSPACE = 1003 };
	const CudnnDescriptor *engine = engine_in(attr_part(plan, CONFIG_OF_PLAN));
	int64_t count, same;
	Call *call = calloc(1, sizeof *call);
	call->plan = plan;
	call->graph = attr_part(engine, GRAPH);
	if (attr_int(engine, INDEX) == WINOGRAD)
		misuse("an engine is executed that computes by transforms");
	const void *ids = attr_elements(pack, IDS, CUDNN_TYPE_INT64, &count, false);
	const void *pointers = attr_elements(pack, POINTERS, CUDNN_TYPE_POINTER, &same, false);
	if (count != same || count > VENDOR_MAX_ARGS)
		misuse("%lld ids and %lld pointers", (long long)count, (long long)same);
	call->count = (int)count;
	memcpy(call->ids, ids, (size_t)count * sizeof *call->ids);
	memcpy(call->pointers, pointers, (size_t)count * sizeof *call->pointers);
	memcpy(&call->workspace, attr_elements(pack, WORKSPACE, CUDNN_TYPE_POINTER, &count, false),
	       sizeof call->workspace);
	return call;
}

int
cudnnBackendExecute(CudnnHandle *handle, const CudnnDescriptor *plan, const CudnnDescriptor *pack)
{
	int status = begin();
	const CudnnHandle *found = handle_check(handle, IS_CUDNN);
	if (kind_of(find(plan, true)) != CUDNN_PLAN || kind_of(find(pack, true)) != CUDNN_PACK)
		misuse("what is executed is no plan");
	if (!status)
		call_give(handle_check(found->stream, IS_STREAM), call_run, read_call(plan, pack));
	leave();
	return status;
}
