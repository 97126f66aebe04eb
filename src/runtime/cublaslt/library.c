/* cuBLASLt as a vendor library: when compiling a call is made in all that needs no device; which of
 * the library's algorithms computes it is chosen where it runs, by its heuristics, for these sizes
 * and this memory. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/fail.h"
#include "runtime/cublaslt/api.h"

extern const VendorLibrary vendor_cublaslt;

/* WORKSPACE: what NVIDIA advises for an H100. FOUND: algorithms that are looked at. */
enum { WORKSPACE = 32 << 20, FOUND = 8 };

typedef struct Lt {
	Vendor head;
	LtApi api;
	int capability; /* of the device that is compiled for */
	pthread_mutex_t lock;
	LtHandle *handle; /* of the device that runs, made for the first call */
} Lt;

typedef struct LtCall {
	PreparedCall head;
	const Lt *lt;
	LtProduct product;
	LtFound found;
} LtCall;

/* ---- opening ---- */

static Vendor *
open_library(char *error, size_t error_size)
{
	Lt *lt = calloc(1, sizeof *lt);
	if (!lt) {
		refuse_with(error, error_size, "out of memory");
		return NULL;
	}
	if (!lt_load(&lt->api, error, error_size)) {
		free(lt);
		return NULL;
	}
	int version = (int)lt->api.GetVersion();
	pthread_mutex_init(&lt->lock, NULL);
	lt->head.library = &vendor_cublaslt;
	snprintf(lt->head.version, sizeof lt->head.version, "cuBLASLt %d.%d.%d", version / 10000,
	         version / 100 % 100, version % 100);
	return &lt->head;
}

static void
close_library(Vendor *vendor)
{
	Lt *lt = (Lt *)vendor;
	if (lt->handle)
		lt->api.Destroy(lt->handle);
	pthread_mutex_destroy(&lt->lock);
	free(lt);
}

static bool
use_device(Vendor *vendor, const VendorDevice *device, char *error, size_t error_size)
{
	(void)error, (void)error_size;
	((Lt *)vendor)->capability = device->capability;
	return true;
}

/* ---- when compiling ---- */

static bool
accept(Vendor *vendor, const VendorCall *call, char impl[VENDOR_IMPL_SIZE], char *error,
       size_t error_size)
{
	enum { LEAST_OF_BF16 = 80 };
	const Lt *lt = (const Lt *)vendor;
	LtProduct product = {.api = &lt->api};
	LtMaker maker = {&product, error, error_size};
	if (call->args[0].type == DT_BF16 && lt->capability < LEAST_OF_BF16)
		return refuse_with(error, error_size, "products of bf16 are there from sm_80 on");
	bool is_made = lt_product(&maker, call);
	lt_product_free(&product);
	snprintf(impl, VENDOR_IMPL_SIZE, "at open: by cuBLASLt's heuristics");
	return is_made;
}

/* ---- an algorithm ---- */

static bool
wish_number(const LtMaker *maker, LtWish *wish, int attribute, const void *value, size_t size)
{
	return LT_TRY(maker, MatmulPreferenceSetAttribute, wish, attribute, value, size);
}

/* Partial sums are added in f32, so that bits repeat and 16 bits are rounded once. */
static bool
fill_wish(const LtMaker *maker, LtWish *wish)
{
	static const uint64_t workspace = WORKSPACE;
	static const uint32_t sums_in_f32 = 2;
	const LtProduct *p = maker->product;
	bool is_told = wish_number(maker, wish, LT_WORKSPACE, &workspace, sizeof workspace) &&
	               wish_number(maker, wish, LT_REDUCTIONS, &sums_in_f32, sizeof sums_in_f32);
	for (int i = 0; i < LT_MATRICES && is_told; i++)
		is_told = wish_number(maker, wish, LT_ALIGNMENT_A + i, &p->alignment, sizeof p->alignment);
	return is_told;
}

/* The first that works of what the library's heuristics list. */
static bool
ask_heuristics(const LtMaker *maker, LtHandle *handle, LtWish *wish, LtFound *chosen)
{
	const LtProduct *p = maker->product;
	const void *bias = (const void *)(uintptr_t)p->alignment; /* that alone is looked at */
	LtFound found[FOUND];
	int count = 0;
	if (!fill_wish(maker, wish) ||
	    (p->bias >= 0 &&
	     !LT_TRY(maker, MatmulDescSetAttribute, p->matmul, LT_BIAS, &bias, sizeof bias)) ||
	    !LT_TRY(maker, MatmulAlgoGetHeuristic, handle, p->matmul, p->layouts[LT_A],
	            p->layouts[LT_B], p->layouts[LT_C], p->layouts[LT_D], wish, FOUND, found, &count))
		return false;
	for (int i = 0; i < count && i < FOUND; i++)
		if (found[i].status == LT_OK && found[i].workspace <= WORKSPACE) {
			*chosen = found[i];
			return true;
		}
	return refuse_with(maker->error, maker->error_size, "cuBLASLt has no algorithm for it");
}

static bool
choose(const LtMaker *maker, LtHandle *handle, LtFound *chosen)
{
	LtWish *wish = NULL;
	bool is_chosen =
		LT_TRY(maker, MatmulPreferenceCreate, &wish) && ask_heuristics(maker, handle, wish, chosen);
	if (wish)
		maker->product->api->MatmulPreferenceDestroy(wish);
	return is_chosen;
}

/* ---- when running ---- */

/* For the device that is current, once: all calls of a bundle are for one. */
static bool
make_handle(const LtMaker *maker, Lt *lt)
{
	pthread_mutex_lock(&lt->lock);
	bool is_made = lt->handle || LT_TRY(maker, Create, &lt->handle);
	if (!is_made)
		lt->handle = NULL;
	pthread_mutex_unlock(&lt->lock);
	return is_made;
}

static void
drop(PreparedCall *prepared)
{
	LtCall *call = (LtCall *)prepared;
	if (call)
		lt_product_free(&call->product);
	free(call);
}

static PreparedCall *
prepare(Vendor *vendor, const VendorCall *asked, char *error, size_t error_size)
{
	Lt *lt = (Lt *)vendor;
	LtCall *call = calloc(1, sizeof *call);
	if (!call) {
		refuse_with(error, error_size, "out of memory for a call");
		return NULL;
	}
	call->lt = lt;
	call->product.api = &lt->api;
	LtMaker maker = {&call->product, error, error_size};
	if (!make_handle(&maker, lt) || !lt_product(&maker, asked) ||
	    !choose(&maker, lt->handle, &call->found)) {
		drop(&call->head);
		return NULL;
	}
	call->head =
		(PreparedCall){.library = &vendor_cublaslt, .pieces = 1, .scratch = call->found.workspace};
	snprintf(call->head.impl, sizeof call->head.impl, "cuBLASLt, %zu bytes", call->head.scratch);
	return &call->head;
}

/* The matrices of call number i of the product. */
static void
find_matrices(const LtProduct *p, int64_t i, void *const *buffers, char *matrices[LT_MATRICES])
{
	for (int k = 0; k < LT_MATRICES; k++)
		matrices[k] = buffers[p->args[k]];
	for (int d = p->nouter - 1; d >= 0; i /= p->extents[d--])
		for (int k = 0; k < LT_MATRICES; k++)
			matrices[k] += i % p->extents[d] * p->steps[k][d];
}

static int64_t
count_calls(const LtProduct *p)
{
	int64_t count = 1;
	for (int d = 0; d < p->nouter; d++)
		count *= p->extents[d];
	return count;
}

static bool
enqueue(PreparedCall *prepared, void *stream, void *const *buffers, void *scratch, char *error,
        size_t error_size)
{
	LtCall *call = (LtCall *)prepared;
	LtProduct *p = &call->product;
	const LtMaker maker = {p, error, error_size};
	void *const *bias = p->bias < 0 ? NULL : &buffers[p->bias];
	bool is_given =
		!bias || LT_TRY(&maker, MatmulDescSetAttribute, p->matmul, LT_BIAS, bias, sizeof *bias);
	for (int64_t i = 0; i < count_calls(p) && is_given; i++) {
		char *m[LT_MATRICES];
		find_matrices(p, i, buffers, m);
		is_given = LT_TRY(&maker, Matmul, call->lt->handle, p->matmul, &p->alpha, m[LT_A],
		                  p->layouts[LT_A], m[LT_B], p->layouts[LT_B], &p->beta, m[LT_C],
		                  p->layouts[LT_C], m[LT_D], p->layouts[LT_D], call->found.algorithm,
		                  scratch, call->found.workspace, stream);
	}
	return is_given;
}

const VendorLibrary vendor_cublaslt = {
	.name = "cublaslt",
	.open = open_library,
	.close = close_library,
	.use_device = use_device,
	.accept = accept,
	.prepare = prepare,
	.drop = drop,
	.enqueue = enqueue,
};
