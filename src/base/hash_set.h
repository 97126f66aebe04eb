/* A set of 128-bit hashes, by open addressing: what a search has met, and what it knows of it. */
#ifndef BASE_HASH_SET_H
#define BASE_HASH_SET_H

#include "base/arena.h"
#include "base/map.h"

typedef struct HashSlot {
	Hash128 hash; /* all zero: free */
	void *value;
} HashSlot;

typedef struct HashSet {
	HashSlot *slots;
	size_t slot_count, count;
} HashSet;

/* Whether the hash, which is not 0, is new in the set; it is there from now on. */
bool hash_set_add(Arena *arena, HashSet *set, Hash128 hash);
/* The value of the hash, which is there from now on: NULL at first. Until another is added. */
void **hash_set_value(Arena *arena, HashSet *set, Hash128 hash);

#endif
