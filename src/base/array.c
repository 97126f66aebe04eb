/* Tensors' data: sizes are checked here, so that users of an Array need not. */
#include "base/array.h"

#include <math.h>
#include <string.h>

#include "base/fail.h"
#include "base/half.h"

int64_t
dims_count(int rank, const int64_t *dims)
{
	int64_t count = 1;
	bool is_empty = false, is_too_large = false;
	for (int i = 0; i < rank; i++) {
		if (dims[i] < 0)
			return -1;
		is_empty |= dims[i] == 0;
		is_too_large |= dims[i] > 0 && __builtin_mul_overflow(count, dims[i], &count);
	}
	if (is_empty)
		return 0;
	return is_too_large ? -1 : count;
}

int64_t
array_count(const Array *array)
{
	return dims_count(array->rank, array->dims);
}

/* Bytes of an element; strings are pointers. */
static bool
count_bytes(DType type, int64_t count, size_t *bytes)
{
	if (type != DT_STRING)
		return dtype_bytes(type, count, bytes);
	return !__builtin_mul_overflow((size_t)count, sizeof(const char *), bytes);
}

Array *
array_new(Arena *arena, DType type, int rank, const int64_t *dims)
{
	size_t bytes;
	int64_t count = rank < 0 || rank > ARRAY_MAX_RANK ? -1 : dims_count(rank, dims);
	if (count < 0 || !count_bytes(type, count, &bytes))
		fail(NULL, "a tensor of type %s and rank %d has no size that fits in memory",
		     dtype_name(type), rank);
	Array *array = NEW(arena, Array);
	array->type = type;
	array->rank = rank;
	array->dims = arena_memdup(arena, dims, (size_t)rank * sizeof *dims);
	array->data = arena_alloc_aligned(arena, bytes, 64);
	return array;
}

size_t
array_bytes(const Array *array)
{
	size_t bytes = 0;
	count_bytes(array->type, array_count(array), &bytes);
	return bytes;
}

Array *
array_from(Arena *arena, DType type, int rank, const int64_t *dims, const void *data)
{
	Array *array = array_new(arena, type, rank, dims);
	size_t bytes = array_bytes(array);
	if (bytes)
		memcpy(array->data, data, bytes);
	return array;
}

Array *
array_scalar_i64(Arena *arena, int64_t value)
{
	return array_from(arena, DT_I64, 0, NULL, &value);
}

Array *
array_vector_i64(Arena *arena, int64_t count, const int64_t *values)
{
	return array_from(arena, DT_I64, 1, &count, values);
}

static bool
same_strings(const Array *a, const Array *b)
{
	const char *const *left = a->data, *const *right = b->data;
	for (int64_t i = 0; i < array_count(a); i++)
		if (strcmp(left[i], right[i]) != 0)
			return false;
	return true;
}

bool
array_is_finite(const Array *array)
{
	for (int64_t i = 0; dtype_is_float(array->type) && i < array_count(array); i++)
		if (!isfinite(dtype_load_f64(array->type, array->data, i)))
			return false;
	return true;
}

bool
array_same_bytes(const Array *a, const Array *b)
{
	if (a->type != b->type || a->rank != b->rank)
		return false;
	for (int i = 0; i < a->rank; i++)
		if (a->dims[i] != b->dims[i])
			return false;
	if (a->type == DT_STRING)
		return same_strings(a, b);
	size_t bytes = array_bytes(a);
	return bytes == 0 || memcmp(a->data, b->data, bytes) == 0;
}

Blocking
blocking_of(const Array *array, int dim, int64_t block)
{
	return (Blocking){.size = (size_t)dtype_bits(array->type) / 8,
	                  .outer = dims_count(dim, array->dims),
	                  .count = array->dims[dim],
	                  .inner = dims_count(array->rank - dim - 1, array->dims + dim + 1),
	                  .block = block};
}

static int64_t
block_number(const Blocking *b)
{
	return b->count / b->block + (b->count % b->block != 0);
}

int64_t
blocking_count(const Blocking *b)
{
	return b->outer * block_number(b) * b->inner * b->block;
}

void
blocking_copy(const Blocking *b, const void *in, void *out)
{
	const unsigned char *from = in;
	size_t step = (size_t)b->block * b->size, part = (size_t)(block_number(b) * b->inner) * step;
	memset(out, 0, (size_t)blocking_count(b) * b->size);
	for (int64_t o = 0; o < b->outer; o++)
		for (int64_t c = 0; c < b->count; c++) {
			unsigned char *to = (unsigned char *)out + (size_t)o * part +
			                    (size_t)(c / b->block * b->inner) * step +
			                    (size_t)(c % b->block) * b->size;
			for (int64_t i = 0; i < b->inner; i++, from += b->size, to += step)
				memcpy(to, from, b->size);
		}
}

Array *
array_in_f32(Arena *arena, const Array *half)
{
	Array *out = array_new(arena, DT_F32, half->rank, half->dims);
	const uint16_t *from = half->data;
	float *to = out->data;
	for (int64_t i = 0; i < array_count(half); i++)
		to[i] = half->type == DT_F16 ? f16_to_f32(from[i]) : bf16_to_f32(from[i]);
	return out;
}
