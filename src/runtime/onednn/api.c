/* Loading oneDNN and the differences between its versions 2.6 and 3.x. */
#include "runtime/onednn/api.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/cpu.h"
#include "base/fail.h"
#include "base/library.h"

enum {
	FORWARD_INFERENCE = 96,
	CPU_ENGINE = 1,
	STREAM_DEFAULT = 1,
	/* oneDNN 2's descriptors are plain structs of a fixed size; these are larger than any of
	 * them (2.6: 696 and 5976 bytes; a unit test compares). */
	MD2_SIZE = 1024,
	OP2_SIZE = 8192,
	TAG_MOST = 2048,
	ELTWISE_MOST = 512,
	BLOB_MOST = 4096,
	RUNTIME_NONE = 0,
	RUNTIME_SEQ = 1,
	RUNTIME_OMP = 2,
	RUNTIME_THREADPOOL = 8,
	NEWEST_MINOR = 15, /* of names looked for */
};

typedef struct DnnlVersion {
	int major, minor, patch;
	const char *hash;
	unsigned cpu_runtime, gpu_runtime;
} DnnlVersion;

static bool
find_functions(DnnlApi *api, char *error, size_t size)
{
#define F(name, result, args, versions) \
	if ((versions) == 0 || (versions) == api->major) { \
		library_find(api->library, "dnnl_" #name, &api->name); \
		if (!api->name) \
			return refuse_with(error, size, "oneDNN %d.%d has no function dnnl_" #name, \
			                   api->major, api->minor); \
	}
	DNNL_FUNCTIONS(F)
#undef F
	bool is_2 = api->major == 2;
	library_find(api->library, "dnnl_post_ops_append_eltwise",
	             is_2 ? (void *)&api->append_eltwise2 : (void *)&api->append_eltwise3);
	library_find(api->library, "dnnl_post_ops_append_sum",
	             is_2 ? (void *)&api->append_sum2 : (void *)&api->append_sum3);
	library_find(api->library, "dnnl_memory_desc_get_blob", &api->md_get_blob);
	return true;
}

/* A library that would run threads of its own is of no use: results and fork() would be its. */
static bool
check_version(DnnlApi *api, const DnnlVersion *version, char *error, size_t size)
{
	bool has_omp = api->omp_get_max_threads && api->omp_set_num_threads;
	if (api->major < 2 || api->major > 3 || (api->major == 2 && api->minor < 6))
		return refuse_with(error, size, "oneDNN %d.%d is not one of 2.6 to 3.x", api->major,
		                   api->minor);
	if (version->cpu_runtime == RUNTIME_SEQ || version->cpu_runtime == RUNTIME_THREADPOOL ||
	    (version->cpu_runtime == RUNTIME_OMP && has_omp))
		return true;
	return refuse_with(error, size,
	                   "oneDNN was built with a threading runtime that cannot be held to one "
	                   "thread");
}

static void *
open_library(void)
{
	static const char *const names[] = {"libdnnl.so.3", "libdnnl.so.2", NULL};
	void *library = library_open("", names);
	/* Debian 13 gives each minor version a name of its own. */
	for (int minor = NEWEST_MINOR; minor > 0 && !library; minor--) {
		char name[32];
		snprintf(name, sizeof name, "libdnnl.so.3.%d", minor);
		library = library_open("", (const char *const[]){name, NULL});
	}
	return library;
}

static bool
load_library(DnnlApi *api, char *error, size_t size)
{
	if (!library_can_load())
		return refuse_with(error, size, "a static program loads no libraries");
	api->library = open_library();
	if (!api->library)
		return refuse_with(error, size, "oneDNN (libdnnl.so.3 or libdnnl.so.2) is not installed");
	const DnnlVersion *(*version_of)(void);
	library_find(api->library, "dnnl_version", &version_of);
	if (!version_of)
		return refuse_with(error, size, "libdnnl is not oneDNN");
	const DnnlVersion *version = version_of();
	api->major = version->major;
	api->minor = version->minor;
	api->patch = version->patch;
	api->post_op_base = api->major == 2 ? 16384 : 32768;
	library_find(api->library, "omp_get_max_threads", &api->omp_get_max_threads);
	library_find(api->library, "omp_set_num_threads", &api->omp_set_num_threads);
	return check_version(api, version, error, size) && find_functions(api, error, size);
}

/* oneDNN's instructions are those of the processor that this one is taken for (base/cpu.h). It can
 * be told so only before its first primitive; a process in which it was told before is as good. */
static bool
cap_instructions(const DnnlApi *api, char *error, size_t size)
{
	/* dnnl_cpu_isa_t, of both versions */
	static const struct {
		const char *march;
		int isa;
	} rows[] = {{"x86-64", 0x1},    /* SSE4.1: the least that there is */
	            {"x86-64-v2", 0x1}, /* the same */
	            {"x86-64-v3", 0x7}, /* AVX2 */
	            {"x86-64-v4", 0x27} /* AVX-512 F, BW, VL, DQ */};
	const char *cap = cpu_cap();
	for (size_t i = 0; cap && i < countof(rows); i++)
		if (strcmp(rows[i].march, cap) == 0 && api->set_max_cpu_isa(rows[i].isa) != DNNL_OK &&
		    (api->get_effective_cpu_isa() & ~rows[i].isa))
			return refuse_with(error, size,
			                   "oneDNN ran in this process before, and cannot be held to %s any "
			                   "more (TILEWRIGHT_CPU)",
			                   cap);
	return true;
}

bool
dnnl_load(DnnlApi *api, char *error, size_t error_size)
{
	*api = (DnnlApi){0};
	if (load_library(api, error, error_size) && cap_instructions(api, error, error_size)) {
		int before = dnnl_enter(api);
		if (api->engine_create(&api->engine, CPU_ENGINE, 0) == DNNL_OK &&
		    api->stream_create(&api->stream, api->engine, STREAM_DEFAULT) == DNNL_OK) {
			dnnl_leave(api, before);
			return true;
		}
		dnnl_leave(api, before);
		snprintf(error, error_size, "oneDNN has no CPU engine");
	}
	dnnl_unload(api);
	return false;
}

void
dnnl_unload(DnnlApi *api)
{
	if (api->stream)
		api->stream_destroy(api->stream);
	if (api->engine)
		api->engine_destroy(api->engine);
	if (api->library)
		dlclose(api->library);
	*api = (DnnlApi){0};
}

int
dnnl_enter(const DnnlApi *api)
{
	int before = api->omp_get_max_threads ? api->omp_get_max_threads() : 1;
	if (before != 1)
		api->omp_set_num_threads(1);
	return before;
}

void
dnnl_leave(const DnnlApi *api, int before)
{
	if (before != 1)
		api->omp_set_num_threads(before);
}

/* ---- Numbers by name ---- */

static int
find_number(const char *(*text_of)(int), int most, const char *name)
{
	for (int i = 1; i < most; i++)
		if (strcmp(text_of(i), name) == 0)
			return i;
	return 0;
}

int
dnnl_find_tag(const DnnlApi *api, const char *name)
{
	return find_number(api->fmt_tag2str, TAG_MOST, name);
}

int
dnnl_find_eltwise(const DnnlApi *api, const char *name)
{
	return find_number(api->alg_kind2str, ELTWISE_MOST, name);
}

int
dnnl_type(DType type)
{
	static const signed char NUMBERS[DT_COUNT] = {
		[DT_F16] = 1, [DT_BF16] = 2, [DT_F32] = 3, [DT_I32] = 4, [DT_I8] = 5, [DT_U8] = 6};
	return NUMBERS[type];
}

/* ---- Descriptors ---- */

DnnlMd *
dnnl_md_new(const DnnlApi *api, int rank, const int64_t *dims, DType type, int tag,
            const int64_t *strides)
{
	DnnlMd *md = NULL;
	int number = dnnl_type(type), status = 0;
	if (api->major == 3) {
		status = strides ? api->memory_desc_create_with_strides(&md, rank, dims, number, strides)
		                 : api->memory_desc_create_with_tag(&md, rank, dims, number, tag);
		return status ? NULL : md;
	}
	md = calloc(1, MD2_SIZE);
	if (md)
		status = strides ? api->memory_desc_init_by_strides(md, rank, dims, number, strides)
		                 : api->memory_desc_init_by_tag(md, rank, dims, number, tag);
	if (!status)
		return md;
	free(md);
	return NULL;
}

DnnlMd *
dnnl_md_copy(const DnnlApi *api, const DnnlMd *md)
{
	DnnlMd *copy = NULL;
	if (api->major == 3)
		return api->memory_desc_clone(&copy, md) ? NULL : copy;
	copy = calloc(1, MD2_SIZE);
	return copy ? memcpy(copy, md, MD2_BYTES) : NULL;
}

/* How a descriptor of version 2 begins, where its data lie in blocks. */
typedef struct Md2 {
	int rank;
	int64_t dims[DNNL_RANK];
	int type;
	int64_t padded_dims[DNNL_RANK], padded_begins[DNNL_RANK], begin;
	int kind;
	int64_t strides[DNNL_RANK];
	int nblock;
	int64_t blocks[DNNL_RANK], block_dims[DNNL_RANK];
} Md2;

static bool
md2_key(const DnnlMd *md, Hash128 *key, bool *is_padded)
{
	Md2 head;
	memcpy(&head, md, sizeof head);
	if (head.rank <= 0 || head.rank > DNNL_RANK)
		return false;
	*is_padded = memcmp(head.dims, head.padded_dims, (size_t)head.rank * sizeof *head.dims) != 0;
	*key = hash128(md, MD2_BYTES);
	return true;
}

void
dnnl_md_layout(const DnnlApi *api, const DnnlMd *md, PackedLayout *layout)
{
	enum { BLOCKED = 2 };
	Md2 head;
	if (api->major != 2)
		return;
	memcpy(&head, md, sizeof head);
	if (head.kind != BLOCKED || head.nblock < 0 || head.nblock > DNNL_RANK)
		return;
	layout->rank = head.rank;
	layout->begin = head.begin;
	layout->nblock = head.nblock;
	memcpy(layout->strides, head.strides, (size_t)head.rank * sizeof *head.strides);
	memcpy(layout->block, head.blocks, (size_t)head.nblock * sizeof *head.blocks);
	memcpy(layout->dim, head.block_dims, (size_t)head.nblock * sizeof *head.block_dims);
}

static bool
md3_key(const DnnlApi *api, const DnnlMd *md, Hash128 *key, bool *is_padded)
{
	int rank = 0;
	const int64_t *dims = NULL, *padded = NULL;
	if (!api->md_get_blob || api->memory_desc_query(md, DNNL_QUERY_RANK, &rank) != DNNL_OK ||
	    api->memory_desc_query(md, DNNL_QUERY_DIMS, &dims) != DNNL_OK ||
	    api->memory_desc_query(md, DNNL_QUERY_PADDED_DIMS, &padded) != DNNL_OK || rank <= 0)
		return false;
	*is_padded = memcmp(dims, padded, (size_t)rank * sizeof *dims) != 0;
	size_t size = 0;
	unsigned char blob[BLOB_MOST];
	if (api->md_get_blob(NULL, &size, md) != DNNL_OK || size > sizeof blob ||
	    api->md_get_blob(blob, &size, md) != DNNL_OK)
		return false;
	*key = hash128(blob, size);
	return true;
}

bool
dnnl_md_key(const DnnlApi *api, const DnnlMd *md, Hash128 *key, bool *is_padded)
{
	return api->major == 2 ? md2_key(md, key, is_padded) : md3_key(api, md, key, is_padded);
}

void
dnnl_md_free(const DnnlApi *api, DnnlMd *md)
{
	if (!md)
		return;
	if (api->major == 3)
		api->memory_desc_destroy(md);
	else
		free(md);
}

/* ---- Operations ---- */

/* oneDNN counts dilation from 0. */
static void
count_dilations(const DnnlWindow *window, int64_t *dilates)
{
	for (int i = 0; i < window->spatial; i++)
		dilates[i] = window->dilations[i] - 1;
}

int
dnnl_describe_conv(const DnnlApi *api, void **desc, int algorithm, const DnnlMd *src,
                   const DnnlMd *weights, const DnnlMd *bias, const DnnlMd *dst,
                   const DnnlWindow *window, const void *attr)
{
	int64_t dilates[DNNL_RANK];
	_Alignas(16) unsigned char op[OP2_SIZE];
	count_dilations(window, dilates);
	if (api->major == 3)
		return api->convolution_forward_primitive_desc_create(
			desc, api->engine, FORWARD_INFERENCE, algorithm, src, weights, bias, dst,
			window->strides, dilates, window->pads_lo, window->pads_hi, attr);
	int status = api->dilated_convolution_forward_desc_init(
		op, FORWARD_INFERENCE, algorithm, src, weights, bias, dst, window->strides, dilates,
		window->pads_lo, window->pads_hi);
	return status ? status : api->primitive_desc_create(desc, op, attr, api->engine, NULL);
}

int
dnnl_describe_matmul(const DnnlApi *api, void **desc, const DnnlMd *a, const DnnlMd *b,
                     const DnnlMd *bias, const DnnlMd *dst, const void *attr)
{
	_Alignas(16) unsigned char op[OP2_SIZE];
	if (api->major == 3)
		return api->matmul_primitive_desc_create(desc, api->engine, a, b, bias, dst, attr);
	int status = api->matmul_desc_init(op, a, b, bias, dst);
	return status ? status : api->primitive_desc_create(desc, op, attr, api->engine, NULL);
}

int
dnnl_describe_pool(const DnnlApi *api, void **desc, int algorithm, const DnnlMd *src,
                   const DnnlMd *dst, const DnnlWindow *window, const void *attr)
{
	int64_t dilates[DNNL_RANK];
	_Alignas(16) unsigned char op[OP2_SIZE];
	count_dilations(window, dilates);
	if (api->major == 3)
		return api->pooling_forward_primitive_desc_create(
			desc, api->engine, FORWARD_INFERENCE, algorithm, src, dst, window->strides,
			window->kernel, dilates, window->pads_lo, window->pads_hi, attr);
	int status = api->pooling_v2_forward_desc_init(op, FORWARD_INFERENCE, algorithm, src, dst,
	                                               window->strides, window->kernel, dilates,
	                                               window->pads_lo, window->pads_hi);
	return status ? status : api->primitive_desc_create(desc, op, attr, api->engine, NULL);
}

int
dnnl_append_eltwise(const DnnlApi *api, void *post_ops, int algorithm, float alpha, float beta)
{
	return api->major == 3 ? api->append_eltwise3(post_ops, algorithm, alpha, beta)
	                       : api->append_eltwise2(post_ops, 1, algorithm, alpha, beta);
}

int
dnnl_append_sum(const DnnlApi *api, void *post_ops)
{
	return api->major == 3 ? api->append_sum3(post_ops, 1, 0, 0) : api->append_sum2(post_ops, 1);
}
