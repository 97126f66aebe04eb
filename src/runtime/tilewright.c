/* The public functions of bundles: opening, and questions. What they promise is in tilewright.h. */
#include "runtime/tilewright.h"

#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cpu.h"
#include "runtime/handle.h"

uint32_t
tw_version(void)
{
	return TW_VERSION_MAJOR * 10000 + TW_VERSION_MINOR * 100 + TW_VERSION_PATCH;
}

#define TEXT_OF(x) #x
#define VERSION_TEXT(a, b, c) TEXT_OF(a) "." TEXT_OF(b) "." TEXT_OF(c)

const char *
tw_version_text(void)
{
	return VERSION_TEXT(TW_VERSION_MAJOR, TW_VERSION_MINOR, TW_VERSION_PATCH);
}

const char *
tw_type_name(TwType type)
{
	return dtype_name((DType)type);
}

_Static_assert((int)TW_I2 == (int)DT_I2 && (int)TW_BF16 == (int)DT_BF16 &&
                   (int)TW_F8E8M0 == (int)DT_F8E8M0 && (int)TW_STRING == (int)DT_STRING,
               "types have ONNX's numbers on both sides");

TwCode
handle_fail(TwError *error, TwCode code, const char *format, ...)
{
	va_list args;
	va_start(args, format);
	error_say(error, code, format, args);
	va_end(args);
	return code;
}

TwCode
handle_success(TwError *error)
{
	if (error) {
		error->code = TW_OK;
		error->text[0] = 0;
	}
	return TW_OK;
}

bool
handle_options(void *own, size_t own_size, const void *options)
{
	size_t size;
	memset(own, 0, own_size);
	if (!options)
		return true;
	memcpy(&size, options, sizeof size);
	memcpy(own, options, size < own_size ? size : own_size);
	for (size_t i = own_size; i < size; i++)
		if (((const unsigned char *)options)[i])
			return false;
	return size >= sizeof size;
}

TwCode
handle_missing(TwError *error, const char *function, const char *argument)
{
	return handle_fail(error, TW_USAGE, "%s: %s is NULL", function, argument);
}

/* What a reader of bundles refused (bundle.h): errno says whether for want of memory. */
static TwCode
refused_code(TwCode otherwise)
{
	return errno == ENOMEM ? TW_MEMORY : otherwise;
}

/* ---- Opening ---- */

/* Run under try_run(): arenas unwind when memory is out. */
static void
describe(void *arg)
{
	TwBundle *bundle = arg;
	const Plan *plan = bundle->plan;
	bundle->texts = arena_new("signature");
	bundle->inputs = signature_tensors(bundle->texts, plan, plan->ninput, plan->inputs);
	bundle->outputs = signature_tensors(bundle->texts, plan, plan->noutput, plan->outputs);
}

static void
free_bundle(TwBundle *bundle)
{
	model_close_vendors(&bundle->model);
	weights_close(&bundle->weights);
	if (bundle->model.backend) {
		bundle->model.backend->drop(bundle->held);
		bundle->model.backend->unload(bundle->code);
	}
	plan_free(bundle->plan);
	arena_free(bundle->texts);
	bundle_close(&bundle->bundle);
	if (bundle->map)
		munmap(bundle->map, bundle->map_size);
	free(bundle);
}

void
tw_close(TwBundle *bundle)
{
	if (bundle && atomic_fetch_sub(&bundle->users, 1) == 1)
		free_bundle(bundle);
}

/* Tell the libraries what the bundle has packed for them. The plain weights then wait in the file:
 * they were read to be hashed, and need not stay in memory. */
static void
use_packed(TwBundle *b)
{
	Bytes plain = b->weights.plain;
	vendors_use_weights(&b->model.vendors, &b->weights);
	if (b->weights.store.size && b->is_file)
		madvise((void *)(uintptr_t)plain.data, plain.size, MADV_DONTNEED);
}

/* Plain and packed ones, and as the backend takes the plain ones. A backend with memory of its own
 * copies them, and would miss the others. */
static TwCode
load_weights(TwBundle *b, TwError *error)
{
	char text[300];
	Bytes plain = b->bundle.weights;
	uint64_t only_packed = b->bundle.manifest->only_packed;
	if (!weights_open(&b->weights, plain, (size_t)only_packed, bundle_packed(&b->bundle, b->target),
	                  text, sizeof text))
		return handle_fail(error, refused_code(TW_DAMAGED), "%s", text);
	const Backend *backend = b->model.backend;
	BackendReport report;
	b->held = plain.size ? backend->hold(plain) : NULL;
	if (plain.size && !b->held && backend->trouble && backend->trouble(&report))
		return handle_fail(error, report.code, "the weights: %s", report.text);
	if (plain.size && !b->held)
		return handle_fail(error, TW_MEMORY, "out of memory for the weights");
	if (only_packed && b->held != plain.data)
		return handle_fail(error, TW_DAMAGED,
		                   "weights are stored only as a library packed them, which this "
		                   "device cannot read");
	return TW_OK;
}

/* Kernels and weights, as the target's backend takes them. */
static TwCode
load_code(TwBundle *b, TwError *error)
{
	char text[900];
	const ManifestTarget *target = &b->bundle.manifest->targets[b->target];
	const Backend *backend = backend_find(target->device); /* bundle_find_target(): there is one */
	Bytes image;
	b->model.backend = backend;
	if (!bundle_kernels(&b->bundle, b->target, &image, text, sizeof text))
		return handle_fail(error, TW_DAMAGED, "%s", text);
	TwCode code = TW_OK;
	if (image.size)
		code = backend->load(image, target->kernels, b->plan, &b->code, text, sizeof text);
	if (code)
		return handle_fail(error, code, "%s", text);
	int have = b->code ? b->code->count : 0;
	if (b->plan->nkernel > have)
		return handle_fail(error, TW_DAMAGED, "the bundle's plan uses %d kernels and has %d",
		                   b->plan->nkernel, have);
	return load_weights(b, error);
}

/* Plan, kernels and vendor libraries of the chosen target. */
static TwCode
load_target(TwBundle *b, const TwOpenOptions *options, TwError *error)
{
	char text[900];
	Failure failure;
	b->target = bundle_find_target(&b->bundle, options->target, text, sizeof text);
	if (b->target < 0)
		return handle_fail(error, TW_UNSUPPORTED, "%s", text);
	if (!bundle_read_plan(&b->bundle, b->target, &b->plan, text, sizeof text))
		return handle_fail(error, refused_code(TW_DAMAGED), "%s", text);
	TwCode code = load_code(b, error);
	if (code)
		return code;
	if (!try_run(describe, b, &failure))
		return handle_fail(error, TW_MEMORY, "%s", failure.text);
	b->model = (ExecModel){.plan = b->plan,
	                       .backend = b->model.backend,
	                       .code = b->code,
	                       .weights = &b->weights,
	                       .held = b->held,
	                       .log = options->log,
	                       .says_calls = options->log_calls,
	                       .log_context = options->log_context};
	if (!options->no_vendor)
		model_open_vendors(&b->model);
	if (*vendors_text(&b->model.vendors, b->vendors, sizeof b->vendors))
		use_packed(b);
	return TW_OK;
}

typedef struct HashJob {
	Bytes file;
	char text[65];
} HashJob;

static void
hash_file(void *arg)
{
	HashJob *job = arg;
	Arena *arena = arena_new("hash");
	snprintf(job->text, sizeof job->text, "%s", sha256_hex(arena, job->file.data, job->file.size));
	arena_free(arena);
}

static TwCode
check_file_hash(Bytes file, const char *wanted, TwError *error)
{
	HashJob job = {.file = file};
	Failure failure;
	const char *seen = job.text;
	if (!wanted)
		return TW_OK;
	if (!try_run(hash_file, &job, &failure))
		return handle_fail(error, TW_MEMORY, "%s", failure.text);
	if (strcasecmp(seen, wanted) == 0)
		return TW_OK;
	return handle_fail(error, TW_DAMAGED, "the bundle has SHA-256 %s, and %.64s was asked for",
	                   seen, wanted);
}

/* Open what is mapped; on failure the mapping is gone too. */
static TwCode
open_bytes(Bytes file, void *map, bool is_file, const TwOpenOptions *given, TwBundle **bundle,
           TwError *error)
{
	TwOpenOptions options;
	char text[900];
	TwBundle *b = calloc(1, sizeof *b);
	*bundle = NULL;
	if (!b) {
		if (map)
			munmap(map, file.size);
		return handle_fail(error, TW_MEMORY, "out of memory for a bundle");
	}
	atomic_init(&b->users, 1);
	b->map = map;
	b->map_size = file.size;
	b->is_file = is_file;
	TwCode code = TW_OK;
	if (!handle_options(&options, sizeof options, given))
		code = handle_fail(error, TW_USAGE,
		                   "the options of tw_open() have the wrong size, or ask "
		                   "for what this version does not know");
	if (!code && !cpu_check_cap(text, sizeof text))
		code = handle_fail(error, TW_USAGE, "%s", text);
	if (!code)
		code = check_file_hash(file, options.sha256, error);
	if (!code &&
	    !bundle_open(&b->bundle, file,
	                 options.verify == TW_VERIFY_CODE ? BUNDLE_VERIFY_CODE : BUNDLE_VERIFY_ALL,
	                 text, sizeof text))
		code = handle_fail(error, refused_code(TW_DAMAGED), "%s", text);
	if (!code)
		code = load_target(b, &options, error);
	if (code) {
		free_bundle(b);
		return code;
	}
	*bundle = b;
	return handle_success(error);
}

/* Weights and packed forms are read where they lie, so they must lie as they do in a file. */
TwCode
tw_open_memory(const void *data, size_t data_size, const TwOpenOptions *options, TwBundle **bundle,
               TwError *error)
{
	if (!bundle)
		return handle_missing(error, "tw_open_memory()", "bundle");
	*bundle = NULL;
	if (!data)
		return handle_missing(error, "tw_open_memory()", "data");
	if ((uintptr_t)data % MEMORY_ALIGN == 0 || data_size == 0)
		return open_bytes((Bytes){data, data_size}, NULL, false, options, bundle, error);
	void *copy = mmap(NULL, data_size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (copy == MAP_FAILED)
		return handle_fail(error, TW_MEMORY, "out of memory for a bundle of %zu bytes", data_size);
	memcpy(copy, data, data_size);
	return open_bytes((Bytes){copy, data_size}, copy, false, options, bundle, error);
}

static TwCode
open_file(int file, const char *name, const TwOpenOptions *options, TwBundle **bundle,
          TwError *error)
{
	struct stat status;
	*bundle = NULL;
	if (fstat(file, &status) != 0)
		return handle_fail(error, TW_FILE, "%.300s: %s", name, strerror(errno));
	if (!S_ISREG(status.st_mode))
		return handle_fail(error, TW_FILE, "%.300s: not a regular file", name);
	if (status.st_size == 0)
		return handle_fail(error, TW_DAMAGED, "%.300s: the file is empty", name);
	size_t size = (size_t)status.st_size;
	void *map = mmap(NULL, size, PROT_READ, MAP_PRIVATE, file, 0);
	if (map == MAP_FAILED)
		return handle_fail(error, refused_code(TW_FILE), "%.300s: %s", name, strerror(errno));
	TwError inner;
	TwCode code = open_bytes((Bytes){map, size}, map, true, options, bundle, &inner);
	return code ? handle_fail(error, code, "%.300s: %.700s", name, inner.text)
	            : handle_success(error);
}

TwCode
tw_open_descriptor(int descriptor, const TwOpenOptions *options, TwBundle **bundle, TwError *error)
{
	if (!bundle)
		return handle_missing(error, "tw_open_descriptor()", "bundle");
	return open_file(descriptor, "bundle", options, bundle, error);
}

TwCode
tw_open(const char *path, const TwOpenOptions *options, TwBundle **bundle, TwError *error)
{
	if (!bundle)
		return handle_missing(error, "tw_open()", "bundle");
	*bundle = NULL;
	if (!path)
		return handle_missing(error, "tw_open()", "path");
	int file = open(path, O_RDONLY | O_CLOEXEC);
	if (file < 0)
		return handle_fail(error, TW_FILE, "%.300s: %s", path, strerror(errno));
	TwCode code = open_file(file, path, options, bundle, error);
	close(file);
	return code;
}

/* ---- Questions ---- */

int
tw_input_count(const TwBundle *bundle)
{
	return bundle ? bundle->plan->ninput : 0;
}

int
tw_output_count(const TwBundle *bundle)
{
	return bundle ? bundle->plan->noutput : 0;
}

const TwTensorInfo *
tw_input(const TwBundle *bundle, int index)
{
	return index >= 0 && index < tw_input_count(bundle) ? &bundle->inputs[index] : NULL;
}

const TwTensorInfo *
tw_output(const TwBundle *bundle, int index)
{
	return index >= 0 && index < tw_output_count(bundle) ? &bundle->outputs[index] : NULL;
}

static int
find_name(const TwTensorInfo *tensors, int count, const char *name)
{
	for (int i = 0; name && i < count; i++)
		if (strcmp(tensors[i].name, name) == 0)
			return i;
	return -1;
}

int
tw_find_input(const TwBundle *bundle, const char *name)
{
	return bundle ? find_name(bundle->inputs, bundle->plan->ninput, name) : -1;
}

int
tw_find_output(const TwBundle *bundle, const char *name)
{
	return bundle ? find_name(bundle->outputs, bundle->plan->noutput, name) : -1;
}

const char *
tw_target(const TwBundle *bundle)
{
	return bundle ? bundle->bundle.manifest->targets[bundle->target].device : "";
}

const char *
tw_producer(const TwBundle *bundle)
{
	return bundle ? bundle->bundle.manifest->producer : "";
}

const char *
tw_vendor(const TwBundle *bundle)
{
	return bundle ? bundle->vendors : "";
}
