/* A set of 128-bit hashes, by open addressing: what a search has met. */
#ifndef BASE_HASH_SET_H
#define BASE_HASH_SET_H

#include "base/arena.h"
#include "base/map.h"

typedef struct HashSet {
	Hash128 *slots; /* all zero: free */
	size_t slot_count, count;
} HashSet;

/* Whether the hash, which is not 0, is new in the set; it is there from now on. */
bool hash_set_add(Arena *arena, HashSet *set, Hash128 hash);
bool hash_set_has(const HashSet *set, Hash128 hash);

#endif
