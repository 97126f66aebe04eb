/* Reading values through strides and blocks; the pattern of memory that nobody wrote. */
#include "prove/memory.h"

#include <string.h>

#include "base/dtype.h"

/* 0x7fb1 twice: f16, bf16 and f32 read a NaN. */
static const unsigned char PATTERN[4] = {0xb1, 0x7f, 0xb1, 0x7f};

/* ---- places ---- */

int64_t
held_stored(const Held *held, int d)
{
	if (d != held->block_dim)
		return held->dims[d];
	return (held->dims[d] + held->block - 1) / held->block;
}

bool
held_at(const Frame *frame, int buffer, Held *held)
{
	const PlanBuffer *described = &frame->plan->buffers[buffer];
	const Slot *slot = &frame->slots[buffer];
	*held = (Held){.type = described->type, .rank = described->rank, .dims = slot->dims};
	held->at = slot_data(frame, buffer);
	held->is_view = described->kind == PB_VIEW;
	if (!slot->has_dims || (!held->at && slot->bytes))
		return false;
	held->block_dim = layout_dim(described->layout);
	held->block = layout_block(described->layout);
	int64_t step = held->block_dim >= 0 ? held->block : 1;
	held->is_dense = held->block_dim < 0;
	for (int d = held->rank - 1; d >= 0; d--) {
		held->strides[d] = slot->strides ? slot->strides[d] : step;
		held->is_dense = held->is_dense && (held->strides[d] == step || held->dims[d] == 1);
		step *= held_stored(held, d);
	}
	return true;
}

bool
held_span(const Held *held, int64_t *low, int64_t *high)
{
	int64_t size = (int64_t)element_bytes(held->type);
	size_t packed = 0;
	*low = *high = 0;
	if (dims_count(held->rank, held->dims) == 0)
		return false;
	if (size == 0 && dtype_bytes(held->type, dims_count(held->rank, held->dims), &packed))
		*high = (int64_t)packed;
	if (size == 0)
		return *high > 0;
	*high = held->block_dim >= 0 ? held->block : 1;
	for (int d = 0; d < held->rank; d++) {
		int64_t span = (held_stored(held, d) - 1) * held->strides[d];
		*low += span < 0 ? span : 0;
		*high += span > 0 ? span : 0;
	}
	*low *= size;
	*high *= size;
	return true;
}

/* ---- the device's memory ---- */

static bool
is_the_hosts(const Frame *frame, PlanPlace place)
{
	return place == plan_host(frame->plan);
}

static void
copy_bytes(const Frame *frame, size_t bytes, PlanPlace from, const void *source, PlanPlace to,
           void *target)
{
	Exec *exec = frame->exec;
	TwCode code = exec_copy_bytes(exec, bytes, from, source, to, target);
	if (!code)
		code = exec_await(exec);
	if (code)
		fail(NULL, "the device's memory cannot be looked at: %s",
		     exec->error ? exec->error->text : "a copy fails");
}

const unsigned char *
place_read(Arena *arena, const Frame *frame, PlanPlace place, const unsigned char *at, size_t bytes)
{
	if (is_the_hosts(frame, place))
		return at;
	unsigned char *copy = arena_alloc_aligned(arena, bytes + 1, 64);
	copy_bytes(frame, bytes, place, at, PLACE_HOST, copy);
	return copy;
}

bool
held_of(Arena *arena, const Frame *frame, int buffer, Held *held)
{
	int64_t low, high;
	PlanPlace place = frame->plan->buffers[buffer].place;
	if (!held_at(frame, buffer, held))
		return false;
	held->data = held->at;
	if (!is_the_hosts(frame, place) && held_span(held, &low, &high))
		held->data = (unsigned char *)(uintptr_t)place_read(arena, frame, place, held->at + low,
		                                                    (size_t)(high - low)) -
		             low;
	return true;
}

int64_t
held_offset(const Held *held, int64_t index)
{
	int64_t offset = 0;
	if (held->is_dense)
		return index;
	for (int d = held->rank - 1; d >= 0; d--) {
		int64_t at = index % held->dims[d];
		index /= held->dims[d];
		if (d == held->block_dim)
			offset += at / held->block * held->strides[d] + at % held->block;
		else
			offset += at * held->strides[d];
	}
	return offset;
}

/* ---- elements ---- */

static size_t
held_bytes(const Held *held)
{
	size_t bytes = 0;
	dtype_bytes(held->type, dims_count(held->rank, held->dims), &bytes);
	return bytes;
}

static void
copy_row(unsigned char *to, const unsigned char *from, int64_t count, int64_t step, size_t size)
{
	if (size == sizeof(float))
		for (int64_t i = 0; i < count; i++)
			memcpy(to + (size_t)i * sizeof(float), from + i * step, sizeof(float));
	else
		for (int64_t i = 0; i < count; i++)
			memcpy(to + (size_t)i * size, from + i * step, size);
}

/* Copy the elements from this flat index on. */
static void
copy_elements(const Held *held, int64_t first, int64_t count, unsigned char *to)
{
	size_t size = element_bytes(held->type);
	int last = held->rank - 1;
	bool is_strided = last >= 0 && held->block_dim != last;
	int64_t row = is_strided ? held->dims[last] : 1;
	int64_t step = is_strided ? held->strides[last] * (int64_t)size : 0;
	for (int64_t i = first, end = first + count; i < end;) {
		int64_t part = row - i % row < end - i ? row - i % row : end - i;
		copy_row(to, held->data + held_offset(held, i) * (int64_t)size, part, step, size);
		to += (size_t)part * size;
		i += part;
	}
}

const void *
held_dense(Arena *arena, const Held *held)
{
	if (held->is_dense)
		return held->data;
	unsigned char *out = arena_alloc_aligned(arena, held_bytes(held) + 1, 64);
	copy_elements(held, 0, dims_count(held->rank, held->dims), out);
	return out;
}

/* Elements of storage in blocks, padding included. */
static int64_t
stored_count(const Held *held)
{
	int64_t count = held->block;
	for (int d = 0; d < held->rank; d++)
		count *= held_stored(held, d);
	return count;
}

static bool
has_own_blocks(const Held *held)
{
	return held->block_dim >= 0 && !held->is_view;
}

/* What is the value's alone: at once where it lies so, otherwise in copied pieces. */
typedef struct Pieces {
	const Held *held;
	int64_t at, count; /* elements */
	_Alignas(16) unsigned char copy[1 << 14];
} Pieces;

static void
pieces_begin(Pieces *pieces, const Held *held)
{
	pieces->held = held;
	pieces->at = 0;
	pieces->count = dims_count(held->rank, held->dims);
}

/* NULL behind the last. */
static const unsigned char *
pieces_next(Pieces *pieces, size_t *bytes)
{
	const Held *held = pieces->held;
	size_t size = element_bytes(held->type);
	int64_t first = pieces->at, count = pieces->count - first;
	if (count <= 0)
		return NULL;
	if (has_own_blocks(held) || held->is_dense) {
		pieces->at = pieces->count;
		*bytes = has_own_blocks(held) ? (size_t)stored_count(held) * size : held_bytes(held);
		return held->data;
	}
	int64_t most = (int64_t)(sizeof pieces->copy / size);
	count = count < most ? count : most;
	copy_elements(held, first, count, pieces->copy);
	pieces->at += count;
	*bytes = (size_t)count * size;
	return pieces->copy;
}

bool
held_equal(Arena *arena, const Held *a, const Held *b)
{
	size_t bytes = 0;
	bool is_shape = a->type == b->type && a->rank == b->rank;
	for (int d = 0; is_shape && d < a->rank; d++)
		is_shape = a->dims[d] == b->dims[d];
	return is_shape && dtype_bytes(a->type, dims_count(a->rank, a->dims), &bytes) &&
	       (!bytes || memcmp(held_dense(arena, a), held_dense(arena, b), bytes) == 0);
}

Hash128
held_hash(const Held *held)
{
	Hash128 hash = {0};
	Pieces pieces;
	size_t bytes;
	pieces_begin(&pieces, held);
	for (const unsigned char *data; (data = pieces_next(&pieces, &bytes));)
		hash = hash128_combine(hash, hash128(data, bytes));
	return hash;
}

/* ---- memory that nobody wrote ---- */

void
memory_poison(void *data, size_t bytes)
{
	unsigned char *to = data;
	for (size_t i = 0; i + sizeof PATTERN <= bytes; i += sizeof PATTERN)
		memcpy(to + i, PATTERN, sizeof PATTERN);
	memcpy(to + bytes / sizeof PATTERN * sizeof PATTERN, PATTERN, bytes % sizeof PATTERN);
}

void
held_poison(const Held *held)
{
	size_t size = element_bytes(held->type);
	int64_t count = dims_count(held->rank, held->dims);
	if (held->type == DT_STRING)
		return;
	if (has_own_blocks(held))
		memory_poison(held->data, size * (size_t)stored_count(held));
	else if (held->is_dense)
		memory_poison(held->data, held_bytes(held));
	else
		for (int64_t i = 0; i < count; i++)
			memory_poison(held->data + held_offset(held, i) * (int64_t)size, size);
}

void
place_poison(const Frame *frame, PlanPlace place, unsigned char *at, size_t bytes)
{
	unsigned char pattern[1 << 14];
	if (is_the_hosts(frame, place)) {
		memory_poison(at, bytes);
		return;
	}
	memory_poison(pattern, sizeof pattern);
	for (size_t done = 0, part; done < bytes; done += part) {
		part = bytes - done < sizeof pattern ? bytes - done : sizeof pattern;
		copy_bytes(frame, part, PLACE_HOST, pattern, place, at + done);
	}
}

void
held_write(const Frame *frame, PlanPlace place, const Held *held)
{
	int64_t low, high;
	if (!is_the_hosts(frame, place) && held_span(held, &low, &high))
		copy_bytes(frame, (size_t)(high - low), PLACE_HOST, held->data + low, place,
		           held->at + low);
}

void
held_spoil(const Frame *frame, PlanPlace place, const Held *held)
{
	held_poison(held);
	held_write(frame, place, held);
}

static bool
is_poison(const unsigned char *element, size_t size)
{
	if (size < sizeof PATTERN)
		return memcmp(element, PATTERN, 2) == 0;
	for (size_t i = 0; i < size; i += sizeof PATTERN)
		if (memcmp(element + i, PATTERN, sizeof PATTERN) != 0)
			return false;
	return true;
}

bool
held_is_unwritten(const Held *held, int64_t index)
{
	size_t size = element_bytes(held->type);
	return is_poison(held->data + held_offset(held, index) * (int64_t)size, size);
}

int64_t
held_unwritten(const Held *held)
{
	size_t bytes, size = element_bytes(held->type);
	int64_t count = 0;
	if ((size < 2 && held->type != DT_BOOL) || held->type == DT_STRING ||
	    (size == 2 && !dtype_is_float(held->type)))
		return 0;
	Pieces pieces;
	pieces_begin(&pieces, held);
	for (const unsigned char *data; (data = pieces_next(&pieces, &bytes));)
		for (size_t i = 0; i < bytes; i += size)
			count += size == 1 ? data[i] > 1 : is_poison(data + i, size);
	return count;
}

int64_t
held_padding(const Held *held)
{
	static const unsigned char zero[16];
	size_t size = element_bytes(held->type);
	int64_t count = 0;
	if (!has_own_blocks(held) || held->dims[held->block_dim] % held->block == 0)
		return 0;
	int64_t used = held->dims[held->block_dim] % held->block, inner = held->block;
	for (int d = held->block_dim + 1; d < held->rank; d++)
		inner *= held->dims[d];
	int64_t stride = held_stored(held, held->block_dim) * inner, all = stored_count(held);
	for (int64_t last = stride - inner; last < all; last += stride)
		for (int64_t block = last; block < last + inner; block += held->block)
			for (int64_t i = block + used; i < block + held->block; i++)
				count += memcmp(held->data + (size_t)i * size, zero, size) != 0;
	return count;
}
