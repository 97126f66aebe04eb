/* Piles: memory of the runtime that goes together and may run out.
 *
 * Like an arena, but running out of memory is a NULL that the caller turns into a code: nothing in
 * the runtime unwinds. Used for what is read once (plans, manifests).
 */
#ifndef BASE_PILE_H
#define BASE_PILE_H

#include <stdbool.h>
#include <stddef.h>

typedef struct PileChunk PileChunk;

typedef struct Pile {
	PileChunk *chunks;
	bool is_out;
} Pile;

/* Zeroed, aligned to 16 bytes; NULL when memory is out or count * size overflows, and from then on:
 * who takes many things looks at is_out once. */
void *pile_alloc(Pile *pile, size_t count, size_t size);
void pile_free(Pile *pile);

#endif
