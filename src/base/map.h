/* Hash maps in an arena, from strings, pointers or 128-bit hashes to pointers. Iteration is in
 * order of insertion, so that nothing printed from a map depends on addresses.
 */
#ifndef BASE_MAP_H
#define BASE_MAP_H

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"

typedef struct Hash128 {
	uint64_t low, high;
} Hash128;

/* XXH3-128 of bytes; and of two hashes in order. */
Hash128 hash128(const void *data, size_t size);
Hash128 hash128_combine(Hash128 a, Hash128 b);
bool hash128_equal(Hash128 a, Hash128 b);

/* 64-bit mixing for interning tables. */
uint64_t hash64(const void *data, size_t size);
uint64_t hash_mix(uint64_t hash, uint64_t value);

typedef struct MapEntry {
	union { /* all of a map are names, or none is */
		const char *name;
		const void *key;
	};
	void *value;
	uint64_t hash;
} MapEntry;

typedef struct Map {
	Arena *arena;
	MapEntry *entries; /* in order of insertion */
	int count, capacity;
	int *slots; /* index + 1 into entries, 0 = free */
	int slot_count;
} Map;

/* `map` starts as {.arena = arena}. find gives NULL when absent; set adds or replaces. Names are
 * not copied. */
void *map_find(const Map *map, const char *name);
void map_set(Map *map, const char *name, void *value);
void map_count(Map *map, const char *name); /* the value is how often it was counted */
void *map_find_ptr(const Map *map, const void *key);
void map_set_ptr(Map *map, const void *key, void *value);

/* One copy of each distinct text, so that equal strings are equal pointers within one Map. */
const char *map_intern(Map *map, const char *text, size_t length);

/* A set of 128-bit hashes, by open addressing: what a search has met, and what it knows of it. */

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
