/* Counted memory. Large blocks of the system's are aligned to and advised as huge pages: packed
 * weights and activations are read with few translations, and touched first with few faults. */
#include "runtime/memory.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

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

void *
memory_alloc_zeroed(Memory *memory, size_t count, size_t size)
{
	size_t bytes;
	if (__builtin_mul_overflow(count, size, &bytes))
		return NULL;
	void *block = memory_alloc(memory, bytes);
	return block ? memset(block, 0, bytes) : NULL;
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
	block_free(memory, block);
	block->data = memory_alloc(memory, bytes);
	block->capacity = block->data ? bytes : 0;
	return block->data;
}

bool
block_grow(Memory *memory, Block *block, size_t kept, size_t bytes)
{
	if (block->data && bytes <= block->capacity)
		return true;
	if (bytes < block->capacity * 2)
		bytes = block->capacity * 2;
	unsigned char *data = memory_alloc(memory, bytes);
	if (!data)
		return false;
	if (kept)
		memcpy(data, block->data, kept);
	block_free(memory, block);
	*block = (Block){data, bytes};
	return true;
}

void
block_free(Memory *memory, Block *block)
{
	memory_release(memory, block->data, block->capacity);
	*block = (Block){0};
}
