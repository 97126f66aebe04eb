/* Counted memory, and copies in it. Large blocks of the system's are aligned to and advised as huge
 * pages: packed weights and activations are read with few translations, and touched first with few
 * faults. */
#include "runtime/memory.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "bundle/plan.h"

enum { HUGE_PAGE = 2 << 20 };

static void *
system_alloc(size_t bytes)
{
	bool is_large = bytes >= HUGE_PAGE;
	size_t align = is_large ? HUGE_PAGE : MEMORY_ALIGN;
	if (bytes > SIZE_MAX - align)
		return NULL;
	void *block;
	if (posix_memalign(&block, align, bytes))
		return NULL;
	if (is_large)
		madvise(block, bytes / HUGE_PAGE * HUGE_PAGE, MADV_HUGEPAGE);
	return block;
}

void *
memory_alloc(Memory *memory, size_t bytes)
{
	bytes += bytes == 0;
	if (memory->limit && (bytes > memory->limit || memory->now > memory->limit - bytes))
		return NULL;
	void *block = memory->allocate ? memory->allocate(memory->context, bytes, MEMORY_ALIGN)
	                               : system_alloc(bytes);
	if (!block)
		return NULL;
	memory->now += bytes;
	if (memory->now > memory->most)
		memory->most = memory->now;
	return block;
}

void
memory_release(Memory *memory, void *block, size_t bytes)
{
	if (!block)
		return;
	bytes += bytes == 0;
	memory->now -= bytes;
	if (memory->allocate)
		memory->release(memory->context, block, bytes);
	else
		free(block);
}

bool
block_reserve(Memory *memory, Block *block, size_t bytes)
{
	if (block->data && bytes <= block->capacity)
		return true;
	block_free(block);
	*block = (Block){memory_alloc(memory, bytes), bytes, memory};
	if (!block->data)
		*block = (Block){0};
	return block->data;
}

void
block_free(Block *block)
{
	memory_release(block->memory, block->data, block->capacity);
	*block = (Block){0};
}

/* ---- Copies ---- */

static void
copy_rows(size_t size, int64_t count, const unsigned char *source, int64_t source_stride,
          unsigned char *target, int64_t target_stride)
{
	if (source_stride == 1 && target_stride == 1) {
		memcpy(target, source, (size_t)count * size);
		return;
	}
	for (int64_t i = 0; i < count; i++)
		memcpy(target + i * target_stride * (int64_t)size,
		       source + i * source_stride * (int64_t)size, size);
}

void
copy_strided(size_t size, int rank, const int64_t *dims, const void *source,
             const int64_t *source_strides, void *target, const int64_t *target_strides)
{
	int64_t from[PLAN_MAX_RANK], to[PLAN_MAX_RANK], at[PLAN_MAX_RANK] = {0}, dense = 1;
	const unsigned char *read = source;
	unsigned char *write = target;
	for (int i = rank - 1; i >= 0; i--) {
		from[i] = source_strides ? source_strides[i] : dense;
		to[i] = target_strides ? target_strides[i] : dense;
		dense *= dims[i];
	}
	if (dense == 0)
		return;
	if (rank == 0 || (!source_strides && !target_strides)) {
		memmove(write, read, (size_t)dense * size);
		return;
	}
	for (int axis = 0; axis >= 0;) {
		copy_rows(size, dims[rank - 1], read, from[rank - 1], write, to[rank - 1]);
		for (axis = rank - 2; axis >= 0; axis--) {
			read += from[axis] * (int64_t)size;
			write += to[axis] * (int64_t)size;
			if (++at[axis] < dims[axis])
				break;
			read -= dims[axis] * from[axis] * (int64_t)size;
			write -= dims[axis] * to[axis] * (int64_t)size;
			at[axis] = 0;
		}
	}
}
