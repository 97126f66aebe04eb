/* cuBLASLt of CUDA 12 or 13: products of matrices, declared by hand, loaded when asked for.
 *
 * Nothing here needs CUDA's headers, and a machine without CUDA builds and tests all of it. Handles
 * are pointers to what only the library knows; numbers are those of its enums.
 */
#ifndef RUNTIME_CUBLASLT_API_H
#define RUNTIME_CUBLASLT_API_H

#include <stddef.h>
#include <stdint.h>

#include "runtime/vendor.h"

typedef struct LtHandle LtHandle;
typedef struct LtMatmul LtMatmul; /* cublasLtMatmulDesc_t */
typedef struct LtLayout LtLayout;
typedef struct LtWish LtWish; /* cublasLtMatmulPreference_t */

enum { LT_OK = 0, LT_NO_MEMORY = 3 };

/* Types of numbers, and how sums are computed: in f32, of which nothing is rounded to tf32. */
enum { LT_F32 = 0, LT_F16 = 2, LT_BF16 = 14, LT_SUM_F32 = 68 };

/* Attributes of an LtMatmul, an LtLayout, an LtWish. */
enum {
	LT_TRANSPOSE_A = 3,
	LT_TRANSPOSE_B = 4,
	LT_EPILOGUE = 7,
	LT_BIAS = 8,

	LT_BATCH_COUNT = 5,
	LT_BATCH_STRIDE = 6,

	LT_WORKSPACE = 1,
	LT_REDUCTIONS = 3,
	LT_ALIGNMENT_A = 5, /* then of B, C and D */
};

/* Epilogues: one is the bits of several, but for the first. */
enum { LT_PLAIN = 1, LT_RELU = 2, LT_WITH_BIAS = 4, LT_GELU = 32 };

/* A way to compute, as the library's heuristics give it. */
typedef struct LtFound {
	uint64_t algorithm[8];
	size_t workspace;
	int status; /* LT_OK: this one works */
	float waves;
	int reserved[4];
} LtFound;

/* name, parameters; each is cublasLt<name>() and gives LT_OK or a status. */
#define CUBLASLT_FUNCTIONS(F) \
	F(Create, (LtHandle * *handle)) \
	F(Destroy, (LtHandle * handle)) \
	F(MatmulDescCreate, (LtMatmul * *matmul, int sum, int factors)) \
	F(MatmulDescDestroy, (LtMatmul * matmul)) \
	F(MatmulDescSetAttribute, (LtMatmul * matmul, int attribute, const void *value, size_t size)) \
	F(MatrixLayoutCreate, \
	  (LtLayout * *layout, int type, uint64_t rows, uint64_t columns, int64_t column_stride)) \
	F(MatrixLayoutDestroy, (LtLayout * layout)) \
	F(MatrixLayoutSetAttribute, \
	  (LtLayout * layout, int attribute, const void *value, size_t size)) \
	F(MatmulPreferenceCreate, (LtWish * *wish)) \
	F(MatmulPreferenceDestroy, (LtWish * wish)) \
	F(MatmulPreferenceSetAttribute, \
	  (LtWish * wish, int attribute, const void *value, size_t size)) \
	F(MatmulAlgoGetHeuristic, \
	  (LtHandle * handle, LtMatmul * matmul, LtLayout * a, LtLayout * b, LtLayout * c, \
	   LtLayout * d, LtWish * wish, int most, LtFound *found, int *count)) \
	F(Matmul, (LtHandle * handle, LtMatmul * matmul, const void *alpha, const void *a, \
	           LtLayout *a_layout, const void *b, LtLayout *b_layout, const void *beta, \
	           const void *c, LtLayout *c_layout, void *d, LtLayout *d_layout, \
	           const uint64_t *algorithm, void *workspace, size_t bytes, void *stream))

typedef struct LtApi {
	size_t (*GetVersion)(void);
	const char *(*GetStatusString)(int status);
#define F(name, parameters) int(*name) parameters;
	CUBLASLT_FUNCTIONS(F)
#undef F
} LtApi;

/* Looked for where libraries are, then in $CUDA_HOME and $CUDA_PATH, then in /usr/local/cuda.
 * False, with a sentence: there is none, or it is too old. */
bool lt_load(LtApi *api, char *error, size_t error_size);

/* ---- a call as a product of the library's ---- */

enum { LT_A, LT_B, LT_C, LT_D, LT_MATRICES }; /* D = epilogue(alpha * A * B + beta * C + bias) */

/* Dims along which the library is called again. */
enum { LT_OUTER = VENDOR_MAX_RANK, LT_MOST_CALLS = 16 };

typedef struct LtProduct {
	const LtApi *api;
	LtMatmul *matmul;
	LtLayout *layouts[LT_MATRICES];
	float alpha, beta;
	int args[LT_MATRICES], bias; /* which arguments of the call they are; bias -1: none */
	int nouter;
	int64_t extents[LT_OUTER], steps[LT_MATRICES][LT_OUTER]; /* bytes */
	uint32_t alignment; /* of all addresses: bytes, 16 at most */
} LtProduct;

/* A product that is made, and where to say what went wrong. */
typedef struct LtMaker {
	LtProduct *product;
	char *error;
	size_t error_size;
} LtMaker;

/* Whether a function of the library's went well; else its words are said. */
bool lt_check(const LtMaker *maker, const char *function, int status);
#define LT_TRY(maker, name, ...) \
	lt_check(maker, "cublasLt" #name, (maker)->product->api->name(__VA_ARGS__))

/* False: the library has no such product. What was made must be freed either way. */
bool lt_product(const LtMaker *maker, const VendorCall *call);
void lt_product_free(LtProduct *product);

#endif
