/* Plans of engines that cuDNN compiles, kept for the next process: to make one takes a second, to
 * read back the text that cuDNN writes of it (its JSON, with the machine code) some milliseconds.
 *
 * They lie in the compiler's cache, by all that decides them: cuDNN's version, the device as cuDNN
 * describes it, its driver included, what the graph was told, and the engine that was named. The
 * process dies of a damaged text in cuDNN, so it sees none that has not our hash. What cannot be
 * kept or read back is made as ever, and nobody is told: this runs in others' processes.
 */
#include <string.h>

#include "base/cache.h"
#include "runtime/cudnn/api.h"

/* Another one where entries, or the engines that plan.c takes, are others. */
static const char FORM[] = "cuDNN's plans, 1";

typedef struct Keeper {
	const Cudnn *cudnn;
	Hash128 key;
	CudnnPlan *plan;
	char *impl;
	Arena *arena; /* with the cache and the entry: the plan's name, its text */
} Keeper;

static Hash128
with_text(Hash128 key, const char *text, size_t size)
{
	return hash128_combine(key, hash128(text, size));
}

bool
cudnn_key(const Cudnn *cudnn, const CudnnPile *graph, const char *named, Hash128 *key)
{
	enum { HANDLE = 2701, JSON = 2702 };
	const CudnnAttr attrs[] = {{HANDLE, CUDNN_TYPE_HANDLE, 1, &cudnn->handle}, {0}};
	char said[256], text[4096];
	CudnnPile pile = {.api = &cudnn->api, .error = said, .error_size = sizeof said};
	const CudnnDescriptor *device =
		cudnn->handle ? cudnn_make(&pile, CUDNN_DEVICE, attrs) : cudnn->device;
	int64_t size = 0;
	bool is_told = device && !cudnn->api.BackendGetAttribute(device, JSON, CUDNN_TYPE_CHAR,
	                                                         sizeof text, &size, text);
	cudnn_free(&pile);
	if (!is_told || size <= 0 || size > (int64_t)sizeof text)
		return false;
	*key = with_text(graph->told, FORM, sizeof FORM);
	*key = with_text(*key, cudnn->head.version, strlen(cudnn->head.version));
	*key = with_text(*key, text, (size_t)size);
	*key = with_text(*key, named, strlen(named));
	return true;
}

static Cache *
open_cache(Keeper *k)
{
	k->arena = arena_new("cuDNN's plan");
	Cache *cache = cache_open(k->arena, NULL, CACHE_LIMIT);
	cache_be_silent(cache);
	return cache;
}

/* Memory may be out, and the cache unwinds then. */
static void
run(void (*step)(void *), Keeper *k)
{
	Failure failure;
	try_run(step, k, &failure);
	arena_free(k->arena);
}

static void
recall(void *arg)
{
	enum { HANDLE = 400, WORKSPACE = 402, JSON = 405, DEVICE = 407 };
	Keeper *k = arg;
	Bytes found;
	Cache *cache = open_cache(k);
	if (!cache_find(cache, k->arena, k->key, &found) || found.size <= VENDOR_IMPL_SIZE)
		return;
	int64_t one, size = (int64_t)found.size - VENDOR_IMPL_SIZE;
	char *text = arena_alloc(k->arena, (size_t)size + 1), said[256];
	memcpy(text, found.data + VENDOR_IMPL_SIZE, (size_t)size);
	const CudnnAttr handle = {HANDLE, CUDNN_TYPE_HANDLE, 1, &k->cudnn->handle};
	const CudnnAttr device = {DEVICE, CUDNN_TYPE_DESCRIPTOR, 1, &k->cudnn->device};
	const CudnnAttr attrs[] = {
		k->cudnn->handle ? handle : device, {JSON, CUDNN_TYPE_CHAR, size, text}, {0}};
	CudnnPile *pile = &k->plan->made;
	*pile = (CudnnPile){.api = &k->cudnn->api, .error = said, .error_size = sizeof said};
	const CudnnDescriptor *made = cudnn_make(pile, CUDNN_PLAN, attrs);
	if (made && !k->cudnn->api.BackendGetAttribute(made, WORKSPACE, CUDNN_TYPE_INT64, 1, &one,
	                                               &k->plan->workspace)) {
		k->plan->plan = made;
		memcpy(k->impl, found.data, VENDOR_IMPL_SIZE);
	} else {
		cudnn_free(pile);
	}
}

bool
cudnn_recall(const Cudnn *cudnn, Hash128 key, CudnnPlan *plan, char impl[VENDOR_IMPL_SIZE])
{
	run(recall, &(Keeper){cudnn, key, plan, impl, NULL});
	return plan->plan != NULL;
}

static void
keep(void *arg)
{
	enum { JSON = 405 };
	Keeper *k = arg;
	const CudnnApi *api = &k->cudnn->api;
	Cache *cache = open_cache(k);
	int64_t size = 0, written = 0;
	if (!cache_folder(cache) ||
	    api->BackendGetAttribute(k->plan->plan, JSON, CUDNN_TYPE_CHAR, 0, &size, NULL) || size <= 0)
		return;
	char *entry = arena_alloc(k->arena, VENDOR_IMPL_SIZE + (size_t)size);
	strncpy(entry, k->impl, VENDOR_IMPL_SIZE - 1);
	if (!api->BackendGetAttribute(k->plan->plan, JSON, CUDNN_TYPE_CHAR, size, &written,
	                              entry + VENDOR_IMPL_SIZE) &&
	    written == size)
		cache_store(cache, k->key, entry, VENDOR_IMPL_SIZE + (size_t)size);
}

void
cudnn_keep(const Cudnn *cudnn, Hash128 key, CudnnPlan *plan, char impl[VENDOR_IMPL_SIZE])
{
	run(keep, &(Keeper){cudnn, key, plan, impl, NULL});
}
