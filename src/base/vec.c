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
	int room = *capacity ? *capacity * 2 : 4;
	void *grown = arena_alloc_n(arena, (size_t)room, size);
	if (count)
		__builtin_memcpy(grown, *data, (size_t)count * size);
	*data = grown;
	*capacity = room;
}

StrVec
strings_copy(Arena *arena, const StrVec *list)
{
	StrVec copy = {0};
	for (int i = 0; i < list->count; i++)
		vec_push(arena, &copy, list->data[i]);
	return copy;
}

enum { UNSEEN, OPEN, DONE };

int
vec_order(Arena *arena, int count, const IntVec *needs, int *order)
{
	char *state = arena_alloc(arena, (size_t)count + 1);
	IntVec stack = {0};
	for (int i = 0, placed = 0; i < count; i++) {
		vec_push(arena, &stack, i);
		while (stack.count > 0) {
			int at = stack.data[stack.count - 1];
			if (state[at] != UNSEEN) {
				stack.count--;
				if (state[at] == OPEN)
					order[placed++] = at;
				state[at] = DONE;
				continue;
			}
			state[at] = OPEN;
			for (int k = needs[at].count - 1; k >= 0; k--) {
				int need = needs[at].data[k];
				if (state[need] == OPEN)
					return need;
				if (state[need] == UNSEEN)
					vec_push(arena, &stack, need);
			}
		}
	}
	return -1;
}
