/* Calls on this thread's device: plans made with a handle, executed as a stream's next work. Calls
 * that are alike have one plan; one that was refused is not asked for again at once. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/fail.h"
#include "runtime/cudnn/api.h"

typedef struct CudnnShared {
	struct CudnnShared *next;
	Hash128 call;
	int users;
	CudnnPlan plan;
	char impl[VENDOR_IMPL_SIZE];
} CudnnShared;

typedef struct CudnnCall {
	PreparedCall head;
	Cudnn *cudnn;
	CudnnShared *shared;
	int narg;
	bool has_number;
	float number; /* by value: the tensor behind the arguments */
} CudnnCall;

/* ---- What decides a plan ---- */

static void
add(Hash128 *key, const void *data, size_t size)
{
	*key = hash128_combine(*key, hash128(size ? data : "", size));
}

static void
add_text(Hash128 *key, const char *text)
{
	add(key, text, text ? strlen(text) + 1 : 0);
}

static Hash128
key_of(const VendorCall *call)
{
	Hash128 key = {0};
	add_text(&key, call->row);
	for (int i = 0; i < call->narg; i++) {
		const VendorArg *a = &call->args[i];
		size_t bytes = (size_t)a->rank * sizeof *a->dims;
		const int64_t facts[] = {a->type, a->rank, a->offset};
		add(&key, facts, sizeof facts);
		add(&key, a->dims, bytes);
		add(&key, a->strides, a->strides ? bytes : 0);
		add_text(&key, a->layout);
	}
	for (int i = 0; i < call->nattr; i++) {
		const StepAttr *attr = &call->attrs[i];
		size_t count = (size_t)attr->count;
		add_text(&key, attr->name);
		add_text(&key, attr->string);
		add(&key, attr->ints, attr->ints ? count * sizeof *attr->ints : 0);
		add(&key, attr->floats, attr->floats ? count * sizeof *attr->floats : 0);
	}
	return key;
}

/* ---- Plans ---- */

static bool
make_handle(Cudnn *cudnn, char *error, size_t error_size)
{
	int status = cudnn->handle ? CUDNN_OK : cudnn->api.Create(&cudnn->handle);
	return !status || cudnn_refuse(&cudnn->api, status, error, error_size);
}

static CudnnShared *
make_plan(Cudnn *cudnn, const VendorCall *call, Hash128 key, char *error, size_t error_size)
{
	CudnnShared *made = calloc(1, sizeof *made);
	if (!made) {
		refuse_with(error, error_size, "out of memory for a call");
		return NULL;
	}
	if (!make_handle(cudnn, error, error_size) ||
	    !cudnn_choose(cudnn, call, &made->plan, made->impl, error, error_size)) {
		CudnnRefusal *refusal = &cudnn->refusals[cudnn->nrefusal++ % CUDNN_REFUSALS];
		refusal->call = key;
		snprintf(refusal->said, sizeof refusal->said, "%s", error);
		free(made);
		return NULL;
	}
	made->call = key;
	made->next = cudnn->plans;
	return cudnn->plans = made;
}

/* The plan of a call, made or known; it has one more user. */
static CudnnShared *
take_plan(Cudnn *cudnn, const VendorCall *call, char *error, size_t error_size)
{
	Hash128 key = key_of(call);
	CudnnShared *found = cudnn->plans;
	for (int i = 0; i < CUDNN_REFUSALS && i < cudnn->nrefusal; i++)
		if (hash128_equal(cudnn->refusals[i].call, key)) {
			snprintf(error, error_size, "%s", cudnn->refusals[i].said);
			return NULL;
		}
	while (found && !hash128_equal(found->call, key))
		found = found->next;
	if (!found)
		found = make_plan(cudnn, call, key, error, error_size);
	if (found)
		found->users++;
	return found;
}

static void
leave_plan(Cudnn *cudnn, CudnnShared *shared)
{
	CudnnShared **place = &cudnn->plans;
	if (--shared->users > 0)
		return;
	while (*place != shared)
		place = &(*place)->next;
	*place = shared->next;
	cudnn_drop_plan(&shared->plan);
	free(shared);
}

/* ---- Calls ---- */

PreparedCall *
cudnn_prepare(Vendor *vendor, const VendorCall *call, char *error, size_t error_size)
{
	Cudnn *cudnn = (Cudnn *)vendor;
	CudnnCall *made = calloc(1, sizeof *made);
	if (!made) {
		refuse_with(error, error_size, "out of memory for a call");
		return NULL;
	}
	pthread_mutex_lock(&cudnn->lock);
	double begin = now_seconds();
	made->shared = take_plan(cudnn, call, error, error_size);
	bool is_new = made->shared && made->shared->users == 1;
	made->head.seconds = is_new ? now_seconds() - begin : 0;
	pthread_mutex_unlock(&cudnn->lock);
	if (!made->shared) {
		free(made);
		return NULL;
	}
	memcpy(made->head.impl, made->shared->impl, sizeof made->head.impl);
	made->head.library = vendor->library;
	made->head.scratch = (size_t)made->shared->plan.workspace;
	made->cudnn = cudnn;
	made->narg = call->narg;
	const float *number = cudnn_number(call);
	made->has_number = number != NULL;
	made->number = number ? *number : 0;
	return &made->head;
}

void
cudnn_drop(PreparedCall *prepared)
{
	CudnnCall *call = (CudnnCall *)prepared;
	if (!call)
		return;
	pthread_mutex_lock(&call->cudnn->lock);
	leave_plan(call->cudnn, call->shared);
	pthread_mutex_unlock(&call->cudnn->lock);
	free(call);
}

/* Where the graph's tensors are: that of argument i has the id i + 1. */
static CudnnDescriptor *
make_pack(CudnnPile *pile, const CudnnCall *call, void *const *buffers, void *workspace)
{
	enum { IDS = 1000, POINTERS, WORKSPACE = 1003 };
	int64_t ids[VENDOR_MAX_ARGS + 1], count = 0;
	const void *pointers[VENDOR_MAX_ARGS + 1];
	for (int i = 0; i < call->narg; i++)
		if (buffers[i]) {
			ids[count] = i + 1;
			pointers[count++] = buffers[i];
		}
	if (call->has_number) {
		ids[count] = call->narg + 1;
		pointers[count++] = &call->number;
	}
	const CudnnAttr attrs[] = {{IDS, CUDNN_TYPE_INT64, count, ids},
	                           {POINTERS, CUDNN_TYPE_POINTER, count, pointers},
	                           {WORKSPACE, CUDNN_TYPE_POINTER, 1, &workspace},
	                           {0}};
	return cudnn_make(pile, CUDNN_PACK, attrs);
}

static int
execute(Cudnn *cudnn, const CudnnCall *call, const CudnnDescriptor *pack, void *stream)
{
	int status = stream == cudnn->stream ? CUDNN_OK : cudnn->api.SetStream(cudnn->handle, stream);
	cudnn->stream = status ? NULL : stream;
	return status ? status
	              : cudnn->api.BackendExecute(cudnn->handle, call->shared->plan.plan, pack);
}

bool
cudnn_enqueue(PreparedCall *prepared, void *stream, void *const *buffers, void *scratch,
              char *error, size_t error_size)
{
	const CudnnCall *call = (const CudnnCall *)prepared;
	Cudnn *cudnn = call->cudnn;
	CudnnPile pile = {.api = &cudnn->api, .error = error, .error_size = error_size};
	pthread_mutex_lock(&cudnn->lock);
	const CudnnDescriptor *pack = make_pack(&pile, call, buffers, scratch);
	int status = pack ? execute(cudnn, call, pack, stream) : CUDNN_OK;
	if (status)
		cudnn_refuse(&cudnn->api, status, error, error_size);
	cudnn_free(&pile);
	pthread_mutex_unlock(&cudnn->lock);
	return pack && !status;
}
