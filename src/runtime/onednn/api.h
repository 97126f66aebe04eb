/* oneDNN without its headers: the few functions that are used, from whichever version is installed.
 *
 * The library is loaded when a plan needs it. Versions 2.6 and 3.x differ in how operations are
 * described; api.c hides that behind the functions below, and everything else of oneDNN is the
 * same in both. Numbers that differ (layout tags, element-wise algorithms) are looked up by name
 * with the library's own functions, so no table of them can be out of date.
 *
 * The library may use OpenMP. It is held to one thread: between dnnl_enter() and dnnl_leave() the
 * calling thread has an OpenMP team size of 1, for which oneDNN enters no parallel region at all.
 */
#ifndef RUNTIME_ONEDNN_API_H
#define RUNTIME_ONEDNN_API_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/dtype.h"
#include "base/map.h"
#include "runtime/vendor.h"

enum {
	DNNL_OK = 0,
	MD2_BYTES = 696, /* size of a descriptor of oneDNN 2.6, a plain struct */
	DNNL_RANK = 12,  /* most dims of a tensor */
	DNNL_TAG_ANY = 1,
	DNNL_SRC = 1, /* also src_0; weights of matmul are DNNL_WEIGHTS */
	DNNL_SRC_1 = 2,
	DNNL_DST = 17,
	DNNL_WEIGHTS = 33,
	DNNL_BIAS = 41,
	DNNL_SCRATCHPAD = 80,
	DNNL_QUERY_WEIGHTS = 131,
	DNNL_QUERY_SCRATCHPAD = 136,
	DNNL_QUERY_RANK = 256, /* of descriptors, version 3 */
	DNNL_QUERY_DIMS = 257,
	DNNL_QUERY_PADDED_DIMS = 260,
	DNNL_DIRECT = 1,
	DNNL_WINOGRAD = 2,
	DNNL_AUTO = 3,
	DNNL_POOL_MAX = 0x1ff,
	DNNL_POOL_AVG_PADDED = 0x2ff,
	DNNL_BINARY_ADD = 0x1fff0, /* mul, max, min, div, sub follow */
};

/* A memory descriptor: NULL where there is none. */
typedef void DnnlMd;

typedef struct DnnlArg {
	int code;
	void *memory;
} DnnlArg;

/* name, result, arguments, versions that have it: 0 both, 2, 3, 9 = may be missing */
#define DNNL_FUNCTIONS(F) \
	F(engine_create, int, (void **engine, int kind, size_t index), 0) \
	F(engine_destroy, int, (void *engine), 0) \
	F(stream_create, int, (void **stream, void *engine, unsigned flags), 0) \
	F(stream_destroy, int, (void *stream), 0) \
	F(memory_create, int, (void **memory, const DnnlMd *md, void *engine, void *data), 0) \
	F(memory_destroy, int, (void *memory), 0) \
	F(memory_set_data_handle, int, (void *memory, void *data), 0) \
	F(memory_desc_get_size, size_t, (const DnnlMd *md), 0) \
	F(memory_desc_equal, int, (const DnnlMd *a, const DnnlMd *b), 0) \
	F(primitive_attr_create, int, (void **attr), 0) \
	F(primitive_attr_destroy, int, (void *attr), 0) \
	F(primitive_attr_set_scratchpad_mode, int, (void *attr, int mode), 0) \
	F(primitive_attr_set_post_ops, int, (void *attr, const void *post_ops), 0) \
	F(primitive_attr_set_output_scales, int, \
	  (void *attr, int64_t count, int mask, const float *scales), 2) \
	F(post_ops_create, int, (void **post_ops), 0) \
	F(post_ops_destroy, int, (void *post_ops), 0) \
	F(post_ops_append_binary, int, (void *post_ops, int algorithm, const DnnlMd *md), 0) \
	F(primitive_desc_destroy, int, (void *desc), 0) \
	F(primitive_desc_query, int, (const void *desc, int what, int index, void *result), 0) \
	F(primitive_desc_query_md, const DnnlMd *, (const void *desc, int what, int index), 0) \
	F(reorder_primitive_desc_create, int, \
	  (void **desc, const DnnlMd *src, void *src_engine, const DnnlMd *dst, void *dst_engine, \
	   const void *attr), \
	  0) \
	F(primitive_create, int, (void **primitive, const void *desc), 0) \
	F(primitive_destroy, int, (void *primitive), 0) \
	F(primitive_execute, int, \
	  (const void *primitive, void *stream, int count, const DnnlArg *args), 0) \
	F(set_max_cpu_isa, int, (int isa), 0) \
	F(get_effective_cpu_isa, int, (void), 0) \
	F(fmt_tag2str, const char *, (int tag), 0) \
	F(alg_kind2str, const char *, (int algorithm), 0) \
	F(memory_desc_init_by_tag, int, \
	  (DnnlMd * md, int rank, const int64_t *dims, int type, int tag), 2) \
	F(memory_desc_init_by_strides, int, \
	  (DnnlMd * md, int rank, const int64_t *dims, int type, const int64_t *strides), 2) \
	F(dilated_convolution_forward_desc_init, int, \
	  (void *op, int prop, int algorithm, const DnnlMd *src, const DnnlMd *weights, \
	   const DnnlMd *bias, const DnnlMd *dst, const int64_t *strides, const int64_t *dilates, \
	   const int64_t *pads_lo, const int64_t *pads_hi), \
	  2) \
	F(matmul_desc_init, int, \
	  (void *op, const DnnlMd *src, const DnnlMd *weights, const DnnlMd *bias, const DnnlMd *dst), \
	  2) \
	F(pooling_v2_forward_desc_init, int, \
	  (void *op, int prop, int algorithm, const DnnlMd *src, const DnnlMd *dst, \
	   const int64_t *strides, const int64_t *kernel, const int64_t *dilates, \
	   const int64_t *pads_lo, const int64_t *pads_hi), \
	  2) \
	F(primitive_desc_create, int, \
	  (void **desc, const void *op, const void *attr, void *engine, const void *hint), 2) \
	F(memory_desc_create_with_tag, int, \
	  (DnnlMd * *md, int rank, const int64_t *dims, int type, int tag), 3) \
	F(memory_desc_create_with_strides, int, \
	  (DnnlMd * *md, int rank, const int64_t *dims, int type, const int64_t *strides), 3) \
	F(memory_desc_clone, int, (DnnlMd * *md, const DnnlMd *from), 3) \
	F(memory_desc_destroy, int, (DnnlMd * md), 3) \
	F(memory_desc_query, int, (const DnnlMd *md, int what, void *result), 3) \
	F(convolution_forward_primitive_desc_create, int, \
	  (void **desc, void *engine, int prop, int algorithm, const DnnlMd *src, \
	   const DnnlMd *weights, const DnnlMd *bias, const DnnlMd *dst, const int64_t *strides, \
	   const int64_t *dilates, const int64_t *pads_lo, const int64_t *pads_hi, const void *attr), \
	  3) \
	F(matmul_primitive_desc_create, int, \
	  (void **desc, void *engine, const DnnlMd *src, const DnnlMd *weights, const DnnlMd *bias, \
	   const DnnlMd *dst, const void *attr), \
	  3) \
	F(pooling_forward_primitive_desc_create, int, \
	  (void **desc, void *engine, int prop, int algorithm, const DnnlMd *src, const DnnlMd *dst, \
	   const int64_t *strides, const int64_t *kernel, const int64_t *dilates, \
	   const int64_t *pads_lo, const int64_t *pads_hi, const void *attr), \
	  3)

typedef struct DnnlApi {
	void *library;
	int major, minor, patch;
	int post_op_base; /* argument of post-op i: base * (i + 1) | DNNL_SRC_1 */
	void *engine, *stream;
	int (*omp_get_max_threads)(void);
	void (*omp_set_num_threads)(int count);
	/* These two have another form in each version. */
	int (*append_eltwise2)(void *post_ops, float scale, int algorithm, float alpha, float beta);
	int (*append_eltwise3)(void *post_ops, int algorithm, float alpha, float beta);
	int (*append_sum2)(void *post_ops, float scale);
	int (*append_sum3)(void *post_ops, float scale, int32_t zero, int type);
	/* Of later versions 3; may be NULL. */
	int (*md_get_blob)(uint8_t *blob, size_t *size, const DnnlMd *md);
#define F(name, result, args, versions) result(*name) args;
	DNNL_FUNCTIONS(F)
#undef F
} DnnlApi;

/* Load the library, newest first; false with a sentence. */
bool dnnl_load(DnnlApi *api, char *error, size_t error_size);
void dnnl_unload(DnnlApi *api);

/* Hold this thread to one OpenMP thread; leave with what enter gave. */
int dnnl_enter(const DnnlApi *api);
void dnnl_leave(const DnnlApi *api, int before);

/* Numbers by name: "aBcd16b", "eltwise_relu"; 0 when this version has none. */
int dnnl_find_tag(const DnnlApi *api, const char *name);
int dnnl_find_eltwise(const DnnlApi *api, const char *name);
int dnnl_type(DType type); /* 0: none */

/* Descriptors; NULL when the library refuses. Freed by dnnl_md_free(). */
DnnlMd *dnnl_md_new(const DnnlApi *api, int rank, const int64_t *dims, DType type, int tag,
                    const int64_t *strides); /* NULL: as the tag says */
DnnlMd *dnnl_md_copy(const DnnlApi *api, const DnnlMd *md);
/* A hash of all that a descriptor says, and whether it has padding, which the library clears
 * whenever it is told where such data lie; false where it cannot be read. */
bool dnnl_md_key(const DnnlApi *api, const DnnlMd *md, Hash128 *key, bool *is_padded);
/* Where a descriptor has elements; nothing is written where that cannot be told: of
 * version 3, and of layouts that are no blocks. */
void dnnl_md_layout(const DnnlApi *api, const DnnlMd *md, PackedLayout *layout);
void dnnl_md_free(const DnnlApi *api, DnnlMd *md);

/* Windows of convolution and pooling, per spatial dim. Dilations as ONNX counts. */
typedef struct DnnlWindow {
	int spatial;
	int64_t kernel[DNNL_RANK], strides[DNNL_RANK], dilations[DNNL_RANK];
	int64_t pads_lo[DNNL_RANK], pads_hi[DNNL_RANK];
} DnnlWindow;

/* Descriptions of operations; a status of the library. */
int dnnl_describe_conv(const DnnlApi *api, void **desc, int algorithm, const DnnlMd *src,
                       const DnnlMd *weights, const DnnlMd *bias, const DnnlMd *dst,
                       const DnnlWindow *window, const void *attr);
int dnnl_describe_matmul(const DnnlApi *api, void **desc, const DnnlMd *a, const DnnlMd *b,
                         const DnnlMd *bias, const DnnlMd *dst, const void *attr);
int dnnl_describe_pool(const DnnlApi *api, void **desc, int algorithm, const DnnlMd *src,
                       const DnnlMd *dst, const DnnlWindow *window, const void *attr);
int dnnl_append_eltwise(const DnnlApi *api, void *post_ops, int algorithm, float alpha, float beta);
int dnnl_append_sum(const DnnlApi *api, void *post_ops);

#endif
