/* Growing arrays in an arena.
 *
 *     VEC(Node *) nodes = {0};
 *     vec_push(arena, &nodes, node);
 *     for (int i = 0; i < nodes.count; i++) use(nodes.data[i]);
 */
#ifndef BASE_VEC_H
#define BASE_VEC_H

#include "base/arena.h"

#define VEC(T) \
	struct { \
		T *data; \
		int count, capacity; \
	}

/* Append one element; `v` is evaluated several times. */
#define vec_push(arena, v, ...) \
	((v)->count < (v)->capacity ? (void)0 \
	                            : vec_reserve((arena), (void **)&(v)->data, (v)->count, \
	                                          &(v)->capacity, sizeof *(v)->data), \
	 (v)->data[(v)->count++] = (__VA_ARGS__))

/* Make room for one more element: doubles, copies, checks for overflow. */
void vec_reserve(Arena *arena, void **data, int count, int *capacity, size_t size);

typedef VEC(int) IntVec;
typedef VEC(const char *) StrVec;

/* Lists grow in place: a copy of what holds one needs its own. */
StrVec strings_copy(Arena *arena, const StrVec *list);

/* An order of 0..count-1 that has each behind those it needs, and is the given one where nothing
 * forces another: depth first, by an explicit stack since chains may be long. Gives -1, or one that
 * needs itself. */
int vec_order(Arena *arena, int count, const IntVec *needs, int *order);

#endif
