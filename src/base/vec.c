/* Growing arrays: room doubles, so that n pushes copy fewer than 2n elements. */
#include "base/vec.h"

#include <limits.h>

#include "base/fail.h"

void
vec_reserve(Arena *arena, void **data, int count, int *capacity, size_t size)
{
	if (count < *capacity)
		return;
	if (*capacity > INT_MAX / 2)
		fail_environment(NULL, "out of memory: an array of more than %d elements", *capacity);
	int room = *capacity ? *capacity * 2 : 8;
	void *grown = arena_alloc_n(arena, (size_t)room, size);
	if (count)
		__builtin_memcpy(grown, *data, (size_t)count * size);
	*data = grown;
	*capacity = room;
}
