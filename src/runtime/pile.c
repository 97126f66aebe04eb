/* Piles: chunks in a list, handed out from the front. */
#include "runtime/pile.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { PILE_ALIGN = 16, PILE_CHUNK = 16384 };

struct PileChunk {
	PileChunk *next;
	size_t size, used;
};

enum { PILE_HEAD = (sizeof(PileChunk) + PILE_ALIGN - 1) / PILE_ALIGN * PILE_ALIGN };

void *
pile_alloc(Pile *pile, size_t count, size_t size)
{
	size_t bytes;
	if (__builtin_mul_overflow(count, size, &bytes) || bytes > SIZE_MAX / 2)
		return NULL;
	bytes = (bytes + PILE_ALIGN - 1) / PILE_ALIGN * PILE_ALIGN;
	PileChunk *chunk = pile->chunks;
	if (!chunk || chunk->size - chunk->used < bytes) {
		size_t room = bytes > PILE_CHUNK / 4 ? bytes : PILE_CHUNK;
		chunk = calloc(1, PILE_HEAD + room);
		if (!chunk)
			return NULL;
		chunk->size = room;
		chunk->next = pile->chunks;
		pile->chunks = chunk;
	}
	void *memory = (char *)chunk + PILE_HEAD + chunk->used;
	chunk->used += bytes;
	return memory;
}

void
pile_free(Pile *pile)
{
	while (pile->chunks) {
		PileChunk *chunk = pile->chunks;
		pile->chunks = chunk->next;
		free(chunk);
	}
}
