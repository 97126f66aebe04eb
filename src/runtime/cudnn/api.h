/* cuDNN 9.8 or later: its backend descriptors, declared by hand, loaded when asked for.
 *
 * Nothing here needs CUDA's headers, and a machine without CUDA builds and tests all of it. A
 * descriptor is a pointer to what only the library knows, made by setting attributes one by one;
 * numbers are those of cuDNN's enums.
 */
#ifndef RUNTIME_CUDNN_API_H
#define RUNTIME_CUDNN_API_H

#include <pthread.h>
#include <stddef.h>
#include <stdint.h>

#include "runtime/vendor.h"

typedef struct CudnnDescriptor CudnnDescriptor;
typedef struct CudnnHandle CudnnHandle;

enum { CUDNN_OK = 0 };

/* What an attribute's elements are: 1, 2, 7 … are enums of cuDNN's, ints here. */
enum {
	CUDNN_TYPE_HANDLE = 0,
	CUDNN_TYPE_DATA_TYPE = 1,
	CUDNN_TYPE_BOOLEAN = 2,
	CUDNN_TYPE_INT64 = 3,
	CUDNN_TYPE_FLOAT = 4,
	CUDNN_TYPE_DOUBLE = 5,
	CUDNN_TYPE_POINTER = 6,
	CUDNN_TYPE_CONVOLUTION_MODE = 7,
	CUDNN_TYPE_HEURISTICS_MODE = 8,
	CUDNN_TYPE_KNOB_TYPE = 9,
	CUDNN_TYPE_NAN_PROPAGATION = 10,
	CUDNN_TYPE_NUMERICAL_NOTE = 11,
	CUDNN_TYPE_POINTWISE_MODE = 14,
	CUDNN_TYPE_DESCRIPTOR = 15,
	CUDNN_TYPE_REDUCTION_OPERATOR = 18,
	CUDNN_TYPE_BEHAVIOR_NOTE = 19,
	CUDNN_TYPE_RESAMPLE_MODE = 21,
	CUDNN_TYPE_PADDING_MODE = 22,
	CUDNN_TYPE_CHAR = 24,
	CUDNN_TYPE_NORM_MODE = 27,
	CUDNN_TYPE_NORM_PHASE = 28,
};

/* Kinds of descriptors. */
enum {
	CUDNN_POINTWISE = 0,
	CUDNN_CONVOLUTION = 1,
	CUDNN_ENGINE = 2,
	CUDNN_CONFIG = 3,
	CUDNN_HEURISTICS = 4,
	CUDNN_PLAN = 5,
	CUDNN_KNOB = 7,
	CUDNN_CONVOLUTION_FORWARD = 10,
	CUDNN_CONVOLUTION_BACKWARD_DATA = 12,
	CUDNN_POINTWISE_OPERATION = 13,
	CUDNN_GRAPH = 15,
	CUDNN_PACK = 16,
	CUDNN_TENSOR = 17,
	CUDNN_MATMUL = 18,
	CUDNN_MATMUL_OPERATION = 19,
	CUDNN_REDUCTION = 21,
	CUDNN_REDUCTION_OPERATION = 22,
	CUDNN_RESAMPLE = 24,
	CUDNN_RESAMPLE_FORWARD = 25,
	CUDNN_NORM_FORWARD = 29,
	CUDNN_DEVICE = 38,
};

/* name, parameters; each is cudnn<name>() and gives CUDNN_OK or a status. */
#define CUDNN_FUNCTIONS(F) \
	F(Create, (CudnnHandle * *handle)) \
	F(Destroy, (CudnnHandle * handle)) \
	F(SetStream, (CudnnHandle * handle, void *stream)) \
	F(BackendExecute, \
	  (CudnnHandle * handle, const CudnnDescriptor *plan, const CudnnDescriptor *pack)) \
	F(BackendCreateDescriptor, (int kind, CudnnDescriptor **descriptor)) \
	F(BackendDestroyDescriptor, (CudnnDescriptor * descriptor)) \
	F(BackendFinalize, (CudnnDescriptor * descriptor)) \
	F(BackendSetAttribute, (CudnnDescriptor * descriptor, int attribute, int type, int64_t count, \
	                        const void *elements)) \
	F(BackendGetAttribute, (const CudnnDescriptor *descriptor, int attribute, int type, \
	                        int64_t asked, int64_t *count, void *elements))

typedef struct CudnnApi {
	size_t (*GetVersion)(void);
	void (*GetLastErrorString)(char *text, size_t size);
#define F(name, parameters) int(*name) parameters;
	CUDNN_FUNCTIONS(F)
#undef F
} CudnnApi;

enum { CUDNN_REFUSALS = 16 };

typedef struct CudnnRefusal {
	Hash128 call;
	char said[256];
} CudnnRefusal;

/* What calls are for: a device that need not be here, or that of a handle. */
typedef struct Cudnn {
	Vendor head;
	CudnnApi api;
	CudnnDescriptor *device;               /* NULL: not said yet */
	CudnnHandle *handle;                   /* NULL: nothing was prepared yet */
	void *stream;                          /* of the handle's next work */
	struct CudnnShared *plans;             /* in use */
	CudnnRefusal refusals[CUDNN_REFUSALS]; /* the last ones, in a ring */
	int nrefusal;                          /* how many there were */
	pthread_mutex_t lock;                  /* a handle is one thread's at a time */
} Cudnn;

/* Looked for where libraries are, then in $CUDNN_HOME, $CUDA_HOME and $CUDA_PATH, then in
 * /usr/local/cuda. False, with a sentence: there is none, or it is too old. */
bool cudnn_load(CudnnApi *api, char *error, size_t error_size);

/* The library's own sentence, in one line. Returns false. */
bool cudnn_refuse(const CudnnApi *api, int status, char *error, size_t error_size);

/* ---- descriptors ---- */

/* An attribute; of a list of them the last has no elements. */
typedef struct CudnnAttr {
	int name, type;
	int64_t count;
	const void *elements;
} CudnnAttr;

/* Descriptors that are made one from another, and given back together. What goes wrong is said
 * once; everything behind it does nothing. */
typedef struct CudnnPile {
	const CudnnApi *api;
	int count;
	CudnnDescriptor *made[64];
	int status;   /* of what went wrong; CUDNN_OK: nothing */
	Hash128 told; /* all that cudnn_make() set, but for handles and addresses */
	char *error;
	size_t error_size;
} CudnnPile;

/* NULL: it went wrong, now or before. */
CudnnDescriptor *cudnn_make(CudnnPile *pile, int kind, const CudnnAttr *attrs);
/* The same without making it final: for the library to fill in. */
CudnnDescriptor *cudnn_create(CudnnPile *pile, int kind);
void cudnn_free(CudnnPile *pile);

/* The call as a graph of operations; the tensor of argument i has the id i + 1. `handle` NULL: for
 * a device that is not here. */
CudnnDescriptor *cudnn_graph(CudnnPile *pile, const VendorCall *call, CudnnHandle *handle);

/* The number that a call gives by its value, the tensor behind its arguments; NULL: none. */
const float *cudnn_number(const VendorCall *call);

/* ---- plans ---- */

/* A plan, and what it was made of. */
typedef struct CudnnPlan {
	CudnnPile graph, listed, made;
	const CudnnDescriptor *plan;
	int64_t workspace; /* bytes */
} CudnnPlan;

/* The plan that the call names, else the first for the graph, in the order of the library's
 * heuristics, that it makes for this device; `impl` names it. `plan` NULL: the answer is all that
 * is asked for. */
bool cudnn_choose(const Cudnn *cudnn, const VendorCall *call, CudnnPlan *plan,
                  char impl[VENDOR_IMPL_SIZE], char *error, size_t error_size);
void cudnn_drop_plan(CudnnPlan *plan);

/* Plans kept between processes (keep.c). */

/* Of a graph's plan on this device, by the engine that was named when compiling. False: it can't be
 * said what the device is, so nothing is kept. */
bool cudnn_key(const Cudnn *cudnn, const CudnnPile *graph, const char *named, Hash128 *key);
/* Read it back, with its name. False: there is none, or cuDNN does not take it. */
bool cudnn_recall(const Cudnn *cudnn, Hash128 key, CudnnPlan *plan, char impl[VENDOR_IMPL_SIZE]);
void cudnn_keep(const Cudnn *cudnn, Hash128 key, CudnnPlan *plan, char impl[VENDOR_IMPL_SIZE]);

/* ---- calls (run.c) ---- */

PreparedCall *cudnn_prepare(Vendor *vendor, const VendorCall *call, char *error, size_t error_size);
void cudnn_drop(PreparedCall *prepared);
bool cudnn_enqueue(PreparedCall *prepared, void *stream, void *const *buffers, void *scratch,
                   char *error, size_t error_size);

#endif
