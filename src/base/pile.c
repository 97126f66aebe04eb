/* Piles: chunks in a list, handed out from the front. */
#include "base/pile.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/poison.h"

enum { PILE_ALIGN = 16, PILE_CHUNK = 16384 };

struct PileChunk {
	PileChunk *next;
	size_t size, used;
};

enum { PILE_HEAD = (sizeof(PileChunk) + PILE_ALIGN - 1) / PILE_ALIGN * PILE_ALIGN };

void *
pile_alloc(Pile *pile, size_t count, size_t size)
{
	size_t asked, bytes;
	if (__builtin_mul_overflow(count, size, &asked) || asked > SIZE_MAX / 2)
		pile->is_out = true;
	if (pile->is_out)
		return NULL;
	bytes = (asked + POISON_GAP + PILE_ALIGN - 1) / PILE_ALIGN * PILE_ALIGN;
	PileChunk *chunk = pile->chunks;
	if (!chunk || chunk->size - chunk->used < bytes) {
		size_t room = bytes > PILE_CHUNK / 4 ? bytes : PILE_CHUNK;
		chunk = calloc(1, PILE_HEAD + room);
		pile->is_out = !chunk;
		if (!chunk)
			return NULL;
		chunk->size = room;
		chunk->next = pile->chunks;
		pile->chunks = chunk;
		ASAN_POISON_MEMORY_REGION((char *)chunk + PILE_HEAD, room);
	}
	void *memory = (char *)chunk + PILE_HEAD + chunk->used;
	chunk->used += bytes;
	ASAN_UNPOISON_MEMORY_REGION(memory, asked);
	return memory;
}

void
pile_free(Pile *pile)
{
	while (pile->chunks) {
		PileChunk *chunk = pile->chunks;
		pile->chunks = chunk->next;
		ASAN_UNPOISON_MEMORY_REGION(chunk, PILE_HEAD + chunk->size);
		free(chunk);
	}
}
