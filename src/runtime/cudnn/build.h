/* Building a graph of cuDNN's operations: tensors as a call has them, what hands on values, and the
 * operations that several mains have. What fails says so in the pile. */
#ifndef RUNTIME_CUDNN_BUILD_H
#define RUNTIME_CUDNN_BUILD_H

#include "runtime/cudnn/api.h"

enum { F32 = 0, DIMS = 5, ALIGNMENT = 16, VIRTUAL_ID = 100, OPERATIONS = POST_MAX + 4 };

/* Attributes as they stand in lists of them. */
#define ATTR(name, type, count, elements) ((CudnnAttr){name, type, count, elements})
#define INTS(name, count, numbers) ATTR(name, CUDNN_TYPE_INT64, count, numbers)
#define INT(name, number) INTS(name, 1, (&(int64_t){number}))
#define YES(name, is) ATTR(name, CUDNN_TYPE_BOOLEAN, 1, (&(bool){is}))
#define ENUM(name, type, number) ATTR(name, type, 1, (&(int){number}))
#define TYPE(name, number) ENUM(name, CUDNN_TYPE_DATA_TYPE, number)
#define FLOAT(name, number) ATTR(name, CUDNN_TYPE_FLOAT, 1, (&(float){number}))
#define PART(name, made) ATTR(name, CUDNN_TYPE_DESCRIPTOR, 1, (&(CudnnDescriptor *){made}))
#define MAKE(pile, kind, ...) cudnn_make(pile, kind, (const CudnnAttr[]){__VA_ARGS__, {0}})

typedef struct Shape {
	int type, rank;
	int64_t offset; /* bytes behind what is aligned */
	int64_t dims[DIMS + 1], strides[DIMS + 1];
} Shape;

typedef struct Builder {
	CudnnPile *pile;
	const VendorCall *call;
	Shape result, whole; /* the second: as the call has it, before its batch is one dim */
	bool is_spread;      /* windows over one dim are windows over two, the first of them 1 */
	int between;         /* type of what operations hand on: F32, but for probabilities */
	int count;
	CudnnDescriptor *operations[OPERATIONS];
	CudnnDescriptor *value; /* what the operations so far give */
} Builder;

/* Modes of cuDNN's pointwise operations, and attributes that take the post-op's numbers. */
typedef struct PointwiseRow {
	int mode; /* 0 is an addition: rows that are not here have `is_known` false */
	bool is_known;
	int numbers[POST_NUMBERS];
} PointwiseRow;

/* False, with the reason in the pile if it is the first. */
bool build_refuse(Builder *b, const char *what);
/* Strides of what lies dense, in the order of a layout, or of its dims. */
bool build_strides(Shape *shape, const char *layout);
/* One more dim, of 1, at this place. */
void build_insert_dim(Shape *shape, int at);
/* An argument as it lies. */
bool build_shape(Builder *b, int arg, Shape *shape);
/* From VIRTUAL_ID on it is nowhere in memory. */
CudnnDescriptor *build_tensor(Builder *b, int64_t id, const Shape *s);
/* cuDNN multiplies matrices of one batch: dims before the last two become one, in all arguments. Of
 * those that are no 1 in the result either all are there, one behind the other, or none is. */
bool build_join_batch(Builder *b, Shape *s);
/* The result's, by which the arguments' are judged; it has three dims then. */
bool build_join_result(Builder *b);
/* An argument of the result's rank, or a vector along one of its dims. */
CudnnDescriptor *build_argument(Builder *b, int arg, int along);
/* The number that the call gives by its value: the tensor behind the result. */
CudnnDescriptor *build_number(Builder *b);
/* Whether rows begin at multiples of 16 bytes, as whoever loads so many at once needs it: that
 * cuDNN's engines load fewer where they do not, nothing here would show. */
bool build_is_aligned(const Shape *shape);
/* Where the next operation writes: the result, or nowhere. */
CudnnDescriptor *build_next(Builder *b, bool is_last);
/* y = mode(x) or mode(x, operand), x being the value so far. */
void build_pointwise(Builder *b, const PointwiseRow *row, const double *numbers,
                     CudnnDescriptor *operand, bool is_last);
/* c = a b, of matrices in the last two dims. */
void build_product(Builder *b, CudnnDescriptor *x, CudnnDescriptor *y, CudnnDescriptor *result);
void build_swap_last(Shape *shape);

/* ---- attention.c ---- */

bool build_attention(Builder *b);

/* ---- norm.c ---- */

bool build_layer_norm(Builder *b);
bool build_rms_norm(Builder *b);
bool build_instance_norm(Builder *b);

#endif
