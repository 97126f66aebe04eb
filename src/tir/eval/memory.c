/* Buffers of the interpreter: where elements are, whether they were written, and by whom. */
#include "tir/eval/machine.h"

#include <string.h>

/* ---- elements -------------------------------------------------------------------------------- */

/* Storage types under a byte: several codes in one, the first in the low bits. */
static int64_t
load_code(DType type, const unsigned char *data, int64_t at)
{
	int bits = dtype_bits(type), per_byte = 8 / bits;
	return data[at / per_byte] >> at % per_byte * bits & ((1 << bits) - 1);
}

static void
store_code(DType type, unsigned char *data, int64_t at, uint64_t code)
{
	int bits = dtype_bits(type), per_byte = 8 / bits, shift = (int)(at % per_byte) * bits;
	unsigned mask = ((1u << bits) - 1) << shift;
	unsigned char *byte = &data[at / per_byte];
	*byte = (unsigned char)((*byte & ~mask) | ((unsigned)code << shift & mask));
}

Scalar
element_load(DType type, const unsigned char *data, int64_t at)
{
	Scalar value = {.u64 = 0};
	if (type == DT_F32)
		memcpy(&value.f32, data + 4 * at, 4);
	else if (type == DT_F64)
		memcpy(&value.f64, data + 8 * at, 8);
	else if (type == DT_F16 || type == DT_BF16)
		memcpy(&value.bits16, data + 2 * at, 2);
	else if (dtype_is_arithmetic(type))
		value.i64 = dtype_load_i64(type, data, at);
	else
		value.i64 = load_code(type, data, at);
	return value;
}

void
element_store(DType type, unsigned char *data, int64_t at, Scalar value)
{
	if (type == DT_F32)
		memcpy(data + 4 * at, &value.f32, 4);
	else if (type == DT_F64)
		memcpy(data + 8 * at, &value.f64, 8);
	else if (type == DT_F16 || type == DT_BF16)
		memcpy(data + 2 * at, &value.bits16, 2);
	else if (dtype_is_arithmetic(type))
		dtype_store_i64(type, data, at, value.i64);
	else
		store_code(type, data, at, value.u64);
}

/* ---- buffers --------------------------------------------------------------------------------- */

int64_t
dim_value(const Machine *m, const Expr *dim)
{
	int64_t value;
	if (!dim_eval(dim, m->binding, &value))
		machine_fail(m, FAIL_INVALID, "a dim has no value under this binding");
	return value;
}

Storage *
storage_of(Machine *m, const Tensor *tensor)
{
	Storage *storage = map_find_ptr(&m->storages, tensor);
	if (storage)
		return storage;
	const Buffer *buffer = (const Buffer *)tensor;
	storage = NEW(m->arena, Storage);
	storage->buffer = buffer;
	storage->is_private = buffer->scope != SCOPE_PARAM && buffer->scope != SCOPE_SHARED;
	storage->dims = NEW_N(m->arena, int64_t, tensor->rank + 1);
	storage->strides = NEW_N(m->arena, int64_t, tensor->rank + 1);
	int64_t dense = 1;
	for (int d = tensor->rank - 1; d >= 0; d--) {
		storage->dims[d] = dim_value(m, tensor->hi[d]);
		storage->strides[d] = buffer->stride ? dim_value(m, buffer->stride[d]) : dense;
		dense *= storage->dims[d];
	}
	storage->count = dense;
	map_set_ptr(&m->storages, tensor, storage);
	return storage;
}

/* Fresh contents, of this thread or of the block: nothing, or the initial value. Who touched an
 * element of shared memory stays known: a later turn of a loop finds the same memory there. */
void
storage_make(Machine *m, Storage *storage, const Scalar *initial)
{
	DType type = storage->buffer->tensor.type;
	int64_t copies = storage->is_private ? m->count : 1, all;
	size_t bytes, count = (size_t)storage->count;
	if (!storage->data) {
		if (storage->count < 0 || __builtin_mul_overflow(storage->count, copies, &all) ||
		    !dtype_bytes(type, all, &bytes))
			machine_fail(m, FAIL_INVALID, "the size of %s overflows", storage->buffer->tensor.name);
		storage->data = arena_alloc(m->arena, bytes);
		storage->state = arena_alloc(m->arena, (size_t)all);
		if (storage->buffer->scope == SCOPE_SHARED)
			storage->touched = NEW_N(m->arena, Touched, storage->count);
	}
	int64_t first = storage->is_private ? m->now.thread * storage->count : 0;
	memset(storage->state + first, initial ? ELEMENT_SET : ELEMENT_EMPTY, count);
	for (int64_t i = 0; initial && i < storage->count; i++)
		element_store(type, storage->data, first + i, *initial);
}

void
storages_enter_block(Machine *m)
{
	for (int i = 0; i < m->storages.count; i++) {
		Storage *storage = m->storages.entries[i].value;
		if (storage->buffer->scope != SCOPE_SHARED || !storage->data)
			continue;
		memset(storage->state, ELEMENT_EMPTY, (size_t)storage->count);
		memset(storage->touched, 0, (size_t)storage->count * sizeof *storage->touched);
	}
}

/* ---- accesses -------------------------------------------------------------------------------- */

int64_t
locate_elements(const Machine *m, Place place, int count)
{
	const Storage *storage = place.storage;
	const Tensor *tensor = &storage->buffer->tensor;
	/* whoever gives sizes may give some that do not go together */
	bool is_given = storage->buffer->scope == SCOPE_PARAM && m->kernel->symbols.count > 0;
	int64_t at = 0;
	for (int d = 0; d < tensor->rank; d++) {
		int64_t i = m->at[place.index[d]].i64, last = d == tensor->rank - 1 ? i + count - 1 : i;
		if (i < 0 || last >= storage->dims[d])
			machine_fail(m, is_given ? FAIL_INVALID : FAIL_BUG,
			             "index %lld of %s is outside 0..%lld", (long long)(i < 0 ? i : last),
			             tensor->name, (long long)storage->dims[d]);
		at += i * storage->strides[d];
	}
	if (count > 1 && (tensor->rank == 0 || storage->strides[tensor->rank - 1] != 1))
		machine_fail(m, FAIL_BUG, "%s has no %d elements side by side", tensor->name, count);
	if (at < 0 || at >= storage->count || !storage->data)
		machine_fail(m, FAIL_BUG, "element %lld of %s is outside its %lld", (long long)at,
		             tensor->name, (long long)storage->count);
	return storage->is_private ? at + m->now.thread * storage->count : at;
}

/* The element cannot be read now, or if it is coming, written. */
static _Noreturn void
fail_unready(const Machine *m, const Storage *storage, int64_t at, const char *does)
{
	const char *name = storage->buffer->tensor.name;
	if (storage->state[at] == ELEMENT_COMING)
		machine_fail(m, FAIL_BUG, "element %lld of %s is %s before its copy has been waited for",
		             (long long)at, name, does);
	machine_fail(m, FAIL_BUG, "%s is read before it is written", name);
}

Scalar
read_at(Machine *m, const Storage *storage, int64_t at)
{
	if (storage->state && storage->state[at] != ELEMENT_SET)
		fail_unready(m, storage, at, "read");
	if (storage->touched)
		note_read(m, storage, at);
	if (m->watch)
		watch_access(m, storage, at, false);
	return element_load(storage->buffer->tensor.type, storage->data, at);
}

void
write_at(Machine *m, Storage *storage, int64_t at, Scalar value)
{
	if (storage->state && storage->state[at] == ELEMENT_COMING)
		fail_unready(m, storage, at, "written");
	if (storage->touched)
		note_write(m, storage, at);
	if (m->watch)
		watch_access(m, storage, at, true);
	element_store(storage->buffer->tensor.type, storage->data, at, value);
	if (storage->state)
		storage->state[at] = ELEMENT_SET;
}
