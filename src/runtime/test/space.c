/* space: blocks in a list. There is one list per process, as there is one address space; `lock`
 * guards it. */
#include "runtime/test/space.h"

#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

typedef struct SpaceBlock {
	struct SpaceBlock *next;
	unsigned char *address, *bytes;
	size_t size;
} SpaceBlock;

typedef struct Space {
	pthread_mutex_t lock;
	SpaceBlock *blocks;
} Space;

static Space space = {.lock = PTHREAD_MUTEX_INITIALIZER};

static void *
map(size_t size, int protection)
{
	void *at = mmap(NULL, size, protection, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	return at == MAP_FAILED ? NULL : at;
}

static void
unmap(SpaceBlock *block)
{
	if (block->address)
		munmap(block->address, block->size);
	if (block->bytes)
		munmap(block->bytes, block->size);
	free(block);
}

void *
space_alloc(size_t bytes)
{
	SpaceBlock *block = calloc(1, sizeof *block);
	if (!block)
		return NULL;
	block->size = bytes + 1; /* the address behind a block is in no other one */
	block->address = map(block->size, PROT_NONE);
	block->bytes = map(block->size, PROT_READ | PROT_WRITE);
	if (!block->address || !block->bytes) {
		unmap(block);
		return NULL;
	}
	memset(block->bytes, 0xff, block->size);
	pthread_mutex_lock(&space.lock);
	block->next = space.blocks;
	space.blocks = block;
	pthread_mutex_unlock(&space.lock);
	return block->address;
}

void
space_release(void *address)
{
	pthread_mutex_lock(&space.lock);
	SpaceBlock **at = &space.blocks;
	while (*at && (*at)->address != address)
		at = &(*at)->next;
	SpaceBlock *block = *at;
	if (block)
		*at = block->next;
	pthread_mutex_unlock(&space.lock);
	if (block)
		unmap(block);
}

void *
space_bytes(const void *address)
{
	void *bytes = NULL;
	uintptr_t wanted = (uintptr_t)address;
	pthread_mutex_lock(&space.lock);
	for (const SpaceBlock *block = space.blocks; block && !bytes; block = block->next) {
		uintptr_t first = (uintptr_t)block->address;
		if (wanted >= first && wanted - first < block->size)
			bytes = block->bytes + (wanted - first);
	}
	pthread_mutex_unlock(&space.lock);
	return bytes;
}
