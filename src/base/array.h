/* A tensor's data: type, shape, bytes. Shared by interpreter, host operators, files and runtime.
 *
 * Elements are row-major and packed (dtype.h). Strings are an array of `const char *`.
 */
#ifndef BASE_ARRAY_H
#define BASE_ARRAY_H

#include "base/arena.h"
#include "base/dtype.h"

typedef struct Array {
	DType type;
	int rank;
	const int64_t *dims;
	void *data; /* may be a view of a mapped file: whoever makes an Array says who may write */
} Array;

enum { ARRAY_MAX_RANK = 64 };

/* Number of elements, or -1 when a dim is negative or the product overflows int64_t. */
int64_t array_count(const Array *array);
int64_t dims_count(int rank, const int64_t *dims);

/* A zeroed array in the arena (64-byte aligned); fails when the size overflows or memory is out. */
Array *array_new(Arena *arena, DType type, int rank, const int64_t *dims);
Array *array_from(Arena *arena, DType type, int rank, const int64_t *dims, const void *data);
Array *array_scalar_i64(Arena *arena, int64_t value);
Array *array_vector_i64(Arena *arena, int64_t count, const int64_t *values);

/* out[o][c/b][i][c%b] = in[o][c][i]: the middle one of three dims in blocks of b, which come last;
 * zeros behind the last. With b = count that dim moves behind the others. */
typedef struct Blocking {
	size_t size; /* of an element, bytes */
	int64_t outer, count, inner, block;
} Blocking;

Blocking blocking_of(const Array *array, int dim, int64_t block); /* elements of whole bytes */
int64_t blocking_count(const Blocking *blocking);                 /* elements of out */
void blocking_copy(const Blocking *blocking, const void *in, void *out);

Array *array_in_f32(Arena *arena, const Array *half); /* of f16 or bf16 */
size_t array_bytes(const Array *array);               /* of a valid array */
bool array_is_finite(const Array *array);             /* no NaN, no infinity */
bool array_same_bytes(const Array *a, const Array *b);

#endif
