/* The public functions: bundles, signatures, sessions. What they promise is in tilewright.h. */
#include "runtime/tilewright.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "runtime/bundle.h"
#include "runtime/exec.h"
#include "runtime/pool.h"
#include "runtime/signature.h"

struct TwBundle {
	atomic_int users; /* the opener and the sessions */
	Bundle bundle;
	void *map; /* what tw_close() unmaps; NULL: the caller's memory */
	bool is_file;
	size_t map_size;
	int target;
	Plan *plan;
	BundleCode code;
	Vendor *vendor;
	ExecModel model;
	Arena *texts; /* of the signature */
	TwTensorInfo *inputs, *outputs;
};

struct TwSession {
	TwBundle *bundle;
	Exec exec;
	Array *inputs;
	bool *is_input_bound, has_run, is_prepared;
	int64_t *input_dims; /* PLAN_MAX_RANK each */
	void **output_data;
	size_t *output_bytes;
};

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

__attribute__((format(printf, 3, 4))) static TwCode
fail_with(TwError *error, TwCode code, const char *format, ...)
{
	if (!error)
		return code;
	va_list args;
	va_start(args, format);
	error->code = code;
	vsnprintf(error->text, sizeof error->text, format, args);
	va_end(args);
	for (char *c = error->text; *c; c++)
		if ((unsigned char)*c < ' ' || *c == 127)
			*c = '?';
	return code;
}

static TwCode
success(TwError *error)
{
	if (error) {
		error->code = TW_OK;
		error->text[0] = 0;
	}
	return TW_OK;
}

/* Copy the caller's options, which may be those of an older or newer header. False when a member
 * that this library does not know is set. */
static bool
take_options(void *own, size_t own_size, const void *options)
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
	vendor_close(bundle->vendor);
	bundle_unload(&bundle->code);
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

static bool
plan_uses_vendor(const Plan *plan)
{
	for (int i = 0; i < plan->nstep; i++) {
		if (plan->steps[i].kind == PT_VENDOR)
			return true;
		for (int j = 0; j < plan->steps[i].nbody; j++)
			if (plan_uses_vendor(plan->steps[i].bodies[j]))
				return true;
	}
	return false;
}

/* Tell the library what the bundle has packed for it. The plain weights then wait in the file: they
 * were read to be hashed, and need not stay in memory. */
static void
use_packed(TwBundle *b)
{
	Bytes weights = b->bundle.weights, store = bundle_packed(&b->bundle, b->target);
	vendor_use_weights(b->vendor, weights, bundle_weights_hash(&b->bundle), store);
	if (store.size && b->is_file)
		madvise((void *)(uintptr_t)weights.data, weights.size, MADV_DONTNEED);
}

/* Plan, kernels and vendor library of the chosen target. */
static TwCode
load_target(TwBundle *b, const TwOpenOptions *options, TwError *error)
{
	char text[900];
	Failure failure;
	b->target = bundle_find_target(&b->bundle, options->target, text, sizeof text);
	if (b->target < 0)
		return fail_with(error, TW_UNSUPPORTED, "%s", text);
	if (!bundle_read_plan(&b->bundle, b->target, &b->plan, text, sizeof text) ||
	    !bundle_load(&b->bundle, b->target, &b->code, text, sizeof text))
		return fail_with(error, TW_DAMAGED, "%s", text);
	int have = b->code.kernels ? (int)b->code.kernels->count : 0;
	if (plan_kernels(b->plan) > have)
		return fail_with(error, TW_DAMAGED, "the bundle's plan uses %d kernels and has %d",
		                 plan_kernels(b->plan), have);
	if (!try_run(describe, b, &failure))
		return fail_with(error, TW_MEMORY, "%s", failure.text);
	b->model = (ExecModel){.plan = b->plan,
	                       .kernels = b->code.kernels,
	                       .weights = b->bundle.weights.data,
	                       .log = options->log,
	                       .log_context = options->log_context};
	if (!options->no_vendor && plan_uses_vendor(b->plan)) {
		b->vendor = vendor_open(text, sizeof text);
		b->model.vendor = b->vendor;
		if (!b->vendor)
			exec_log(&b->model, "%s: fallback kernels are used", text);
		else
			use_packed(b);
	}
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
		return fail_with(error, TW_MEMORY, "%s", failure.text);
	if (strcasecmp(seen, wanted) == 0)
		return TW_OK;
	return fail_with(error, TW_DAMAGED, "the bundle has SHA-256 %s, and %.64s was asked for", seen,
	                 wanted);
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
		return fail_with(error, TW_MEMORY, "out of memory for a bundle");
	}
	atomic_init(&b->users, 1);
	b->map = map;
	b->map_size = file.size;
	b->is_file = is_file;
	b->code.file = -1;
	TwCode code = TW_OK;
	if (!take_options(&options, sizeof options, given))
		code = fail_with(error, TW_USAGE,
		                 "the options of tw_open() have the wrong size, or ask "
		                 "for what this version does not know");
	if (!code)
		code = check_file_hash(file, options.sha256, error);
	if (!code &&
	    !bundle_open(&b->bundle, file,
	                 options.verify == TW_VERIFY_CODE ? BUNDLE_VERIFY_CODE : BUNDLE_VERIFY_ALL,
	                 text, sizeof text))
		code = fail_with(error, TW_DAMAGED, "%s", text);
	if (!code)
		code = load_target(b, &options, error);
	if (code) {
		free_bundle(b);
		return code;
	}
	*bundle = b;
	return success(error);
}

/* Weights and packed forms are read where they lie, so they must lie as they do in a file. */
TwCode
tw_open_memory(const void *data, size_t data_size, const TwOpenOptions *options, TwBundle **bundle,
               TwError *error)
{
	*bundle = NULL;
	if ((uintptr_t)data % MEMORY_ALIGN == 0 || data_size == 0)
		return open_bytes((Bytes){data, data_size}, NULL, false, options, bundle, error);
	void *copy = mmap(NULL, data_size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (copy == MAP_FAILED)
		return fail_with(error, TW_MEMORY, "out of memory for a bundle of %zu bytes", data_size);
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
		return fail_with(error, TW_FILE, "%.300s: %s", name, strerror(errno));
	if (!S_ISREG(status.st_mode))
		return fail_with(error, TW_FILE, "%.300s: not a regular file", name);
	if (status.st_size == 0)
		return fail_with(error, TW_DAMAGED, "%.300s: the file is empty", name);
	size_t size = (size_t)status.st_size;
	void *map = mmap(NULL, size, PROT_READ, MAP_PRIVATE, file, 0);
	if (map == MAP_FAILED)
		return fail_with(error, TW_FILE, "%.300s: %s", name, strerror(errno));
	TwError inner;
	TwCode code = open_bytes((Bytes){map, size}, map, true, options, bundle, &inner);
	return code ? fail_with(error, code, "%.300s: %.700s", name, inner.text) : success(error);
}

TwCode
tw_open_descriptor(int descriptor, const TwOpenOptions *options, TwBundle **bundle, TwError *error)
{
	return open_file(descriptor, "bundle", options, bundle, error);
}

TwCode
tw_open(const char *path, const TwOpenOptions *options, TwBundle **bundle, TwError *error)
{
	*bundle = NULL;
	int file = open(path, O_RDONLY | O_CLOEXEC);
	if (file < 0)
		return fail_with(error, TW_FILE, "%.300s: %s", path, strerror(errno));
	TwCode code = open_file(file, path, options, bundle, error);
	close(file);
	return code;
}

Vendor *
signature_vendor(const TwBundle *bundle)
{
	return bundle->vendor;
}

/* ---- Questions ---- */

int
tw_input_count(const TwBundle *bundle)
{
	return bundle->plan->ninput;
}

int
tw_output_count(const TwBundle *bundle)
{
	return bundle->plan->noutput;
}

const TwTensorInfo *
tw_input(const TwBundle *bundle, int index)
{
	return index >= 0 && index < bundle->plan->ninput ? &bundle->inputs[index] : NULL;
}

const TwTensorInfo *
tw_output(const TwBundle *bundle, int index)
{
	return index >= 0 && index < bundle->plan->noutput ? &bundle->outputs[index] : NULL;
}

static int
find_name(const TwTensorInfo *tensors, int count, const char *name)
{
	for (int i = 0; i < count; i++)
		if (strcmp(tensors[i].name, name) == 0)
			return i;
	return -1;
}

int
tw_find_input(const TwBundle *bundle, const char *name)
{
	return find_name(bundle->inputs, bundle->plan->ninput, name);
}

int
tw_find_output(const TwBundle *bundle, const char *name)
{
	return find_name(bundle->outputs, bundle->plan->noutput, name);
}

const char *
tw_target(const TwBundle *bundle)
{
	return bundle->bundle.manifest->targets[bundle->target].device;
}

const char *
tw_producer(const TwBundle *bundle)
{
	return bundle->bundle.manifest->producer;
}

const char *
tw_vendor(const TwBundle *bundle)
{
	return bundle->vendor ? vendor_name(bundle->vendor) : "";
}

/* ---- Sessions ---- */

enum { SPIN_DEFAULT_US = 50 };

static TwCode
set_options(TwSession *session, const TwSessionOptions *o, TwError *error)
{
	Exec *exec = &session->exec;
	if (!o->allocate != !o->release || (o->arena && (uintptr_t)o->arena % MEMORY_ALIGN) ||
	    o->threads < 0)
		return fail_with(error, TW_USAGE,
		                 "allocate and release come together, an arena is 64-byte "
		                 "aligned, and threads are not negative");
	exec->memory = (Memory){.allocate = o->allocate,
	                        .release = o->release,
	                        .context = o->memory_context,
	                        .limit = o->memory_limit};
	exec->threads = o->threads == 0 ? pool_cores() : o->threads;
	if (exec->threads > POOL_MOST)
		exec->threads = POOL_MOST;
	exec->spin_us = o->spin_us == 0 ? SPIN_DEFAULT_US : o->spin_us < 0 ? 0 : o->spin_us;
	exec->parallel_for = o->parallel_for;
	exec->parallel_context = o->parallel_context;
	exec->cancel = o->cancel;
	exec->profile = o->profile;
	exec->profile_context = o->profile_context;
	exec->arena = o->arena;
	exec->arena_size = o->arena_size;
	return TW_OK;
}

static bool
make_tables(TwSession *session)
{
	const Plan *plan = session->bundle->plan;
	Pile *pile = &session->exec.pile;
	size_t ninput = (size_t)plan->ninput, noutput = (size_t)plan->noutput;
	session->inputs = pile_alloc(pile, ninput, sizeof *session->inputs);
	session->is_input_bound = pile_alloc(pile, ninput, sizeof *session->is_input_bound);
	session->input_dims = pile_alloc(pile, ninput * PLAN_MAX_RANK, sizeof *session->input_dims);
	session->output_data = pile_alloc(pile, noutput, sizeof *session->output_data);
	session->output_bytes = pile_alloc(pile, noutput, sizeof *session->output_bytes);
	return session->inputs && session->is_input_bound && session->input_dims &&
	       session->output_data && session->output_bytes;
}

TwCode
tw_session_new(TwBundle *bundle, const TwSessionOptions *options, TwSession **session,
               TwError *error)
{
	TwSessionOptions own;
	*session = NULL;
	if (!take_options(&own, sizeof own, options))
		return fail_with(error, TW_USAGE,
		                 "the options of tw_session_new() have the wrong size, or "
		                 "ask for what this version does not know");
	TwSession *s = calloc(1, sizeof *s);
	if (!s)
		return fail_with(error, TW_MEMORY, "out of memory for a session");
	s->bundle = bundle;
	s->exec.model = &bundle->model;
	s->exec.error = error;
	pool_acquire();
	atomic_fetch_add(&bundle->users, 1);
	TwCode code = set_options(s, &own, error);
	if (!code && !make_tables(s))
		code = fail_with(error, TW_MEMORY, "out of memory for a session");
	if (!code)
		code = exec_open(&s->exec);
	if (code) {
		tw_session_free(s);
		return code;
	}
	*session = s;
	return success(error);
}

void
tw_session_free(TwSession *session)
{
	if (!session)
		return;
	TwBundle *bundle = session->bundle;
	exec_close(&session->exec);
	free(session);
	pool_release();
	tw_close(bundle);
}

TwCode
tw_bind_input(TwSession *session, int index, const void *data, size_t bytes, int rank,
              const int64_t *dims, TwError *error)
{
	const TwTensorInfo *info = tw_input(session->bundle, index);
	size_t needed;
	if (!info)
		return fail_with(error, TW_USAGE, "there is no input %d", index);
	if (rank != info->rank)
		return fail_with(error, TW_SHAPE, "input '%.60s' has rank %d; rank %d is needed",
		                 info->name, rank, info->rank);
	const PlanBuffer shape = {.type = (DType)info->type, .rank = rank};
	if (!slot_measure(&shape, dims, &needed))
		return fail_with(error, TW_SHAPE, "the dims of input '%.60s' are negative or too large",
		                 info->name);
	if (bytes < needed || (!data && needed))
		return fail_with(error, TW_USAGE, "input '%.60s' needs %zu bytes and %zu were given",
		                 info->name, needed, data ? bytes : 0);
	int64_t *own = session->input_dims + (size_t)index * PLAN_MAX_RANK;
	if (rank)
		memcpy(own, dims, (size_t)rank * sizeof *own);
	session->inputs[index] = (Array){(DType)info->type, rank, own, (void *)(uintptr_t)data};
	session->is_input_bound[index] = true;
	session->is_prepared = false;
	return success(error);
}

TwCode
tw_bind_output(TwSession *session, int index, void *data, size_t bytes, TwError *error)
{
	if (!tw_output(session->bundle, index))
		return fail_with(error, TW_USAGE, "there is no output %d", index);
	session->output_data[index] = data;
	session->output_bytes[index] = bytes;
	return success(error);
}

TwCode
tw_prepare(TwSession *session, TwError *error)
{
	const Plan *plan = session->bundle->plan;
	Frame *frame = session->exec.main;
	session->exec.error = error;
	for (int i = 0; i < plan->ninput; i++)
		if (!session->is_input_bound[i])
			return fail_with(error, TW_USAGE, "input '%.60s' is not bound",
			                 session->bundle->inputs[i].name);
	TwCode code = frame_bind(frame, session->inputs);
	if (code)
		return code;
	for (int i = 0; i < plan->ninput; i++)
		frame->slots[plan->inputs[i]].data = session->inputs[i].data;
	session->is_prepared = true;
	return success(error);
}

static bool
overlap(const void *a, size_t a_bytes, const void *b, size_t b_bytes)
{
	uintptr_t x = (uintptr_t)a, y = (uintptr_t)b;
	return a && b && (x < y ? y - x < a_bytes : x - y < b_bytes);
}

/* Kernels are made for results that share memory with nothing they read. */
static TwCode
check_outputs(const TwSession *session, TwError *error)
{
	const Plan *plan = session->bundle->plan;
	for (int i = 0; i < plan->noutput; i++) {
		const char *name = session->bundle->outputs[i].name;
		const void *data = session->output_data[i];
		size_t bytes = session->output_bytes[i];
		for (int k = 0; k < plan->ninput; k++)
			if (overlap(data, bytes, session->inputs[k].data,
			            session->exec.main->slots[plan->inputs[k]].bytes))
				return fail_with(error, TW_USAGE,
				                 "the memory of output '%.60s' overlaps that of input '%.60s'",
				                 name, session->bundle->inputs[k].name);
		for (int k = 0; k < i; k++)
			if (overlap(data, bytes, session->output_data[k], session->output_bytes[k]))
				return fail_with(error, TW_USAGE,
				                 "the memory of output '%.60s' overlaps that of output '%.60s'",
				                 name, session->bundle->outputs[k].name);
	}
	return TW_OK;
}

TwCode
tw_run(TwSession *session, TwError *error)
{
	const Plan *plan = session->bundle->plan;
	Exec *exec = &session->exec;
	TwCode code = session->is_prepared ? TW_OK : tw_prepare(session, error);
	if (!code)
		code = check_outputs(session, error);
	if (code)
		return code;
	exec->error = error;
	session->has_run = false;
	for (int i = 0; i < plan->noutput; i++) {
		Slot *slot = &exec->main->slots[plan->outputs[i]];
		slot->bound = session->output_data[i];
		slot->bound_bytes = session->output_bytes[i];
	}
	code = frame_run(exec->main);
	if (code)
		return code;
	session->has_run = true;
	return success(error);
}

TwCode
tw_get_output(TwSession *session, int index, TwTensor *tensor, TwError *error)
{
	const TwTensorInfo *info = tw_output(session->bundle, index);
	*tensor = (TwTensor){0};
	if (!info)
		return fail_with(error, TW_USAGE, "there is no output %d", index);
	const Slot *slot = &session->exec.main->slots[session->bundle->plan->outputs[index]];
	if (!session->is_prepared || !slot->has_dims || (slot->is_late && !session->has_run))
		return fail_with(error, TW_USAGE, "the size of output '%.60s' is not known before %s",
		                 info->name, session->is_prepared ? "tw_run()" : "tw_prepare()");
	void *data = session->has_run ? slot->data : session->output_data[index];
	*tensor = (TwTensor){info->type, info->rank, slot->dims, data, slot->bytes};
	return success(error);
}

size_t
tw_arena_bytes(const TwSession *session)
{
	return session->is_prepared ? session->exec.main->arena_bytes : 0;
}

void
tw_memory(const TwSession *session, size_t *now, size_t *most)
{
	if (now)
		*now = session->exec.memory.now;
	if (most)
		*most = session->exec.memory.most;
}
