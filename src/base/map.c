/* Hash maps: entries in order of insertion, and a table of indices into them probed linearly. */
#include "base/map.h"

#include <limits.h>
#include <string.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "base/fail.h"

Hash128
hash128(const void *data, size_t size)
{
	XXH128_hash_t hash = XXH3_128bits(data, size);
	return (Hash128){hash.low64, hash.high64};
}

Hash128
hash128_combine(Hash128 a, Hash128 b)
{
	uint64_t words[4] = {a.low, a.high, b.low, b.high};
	return hash128(words, sizeof words);
}

bool
hash128_equal(Hash128 a, Hash128 b)
{
	return a.low == b.low && a.high == b.high;
}

uint64_t
hash64(const void *data, size_t size)
{
	return XXH3_64bits(data, size);
}

/* One round of multiplication and folding (the constant is 2^64 divided by the golden ratio). */
uint64_t
hash_mix(uint64_t hash, uint64_t value)
{
	uint64_t x = (hash ^ value) * 0x9E3779B97F4A7C15u;
	return (x ^ (x >> 32)) + 0x632BE59BD9B4E019u;
}

/* What is looked for: a name of some length, or a pointer when `name` is NULL. */
typedef struct Wanted {
	const char *name;
	size_t length;
	const void *key;
	uint64_t hash;
} Wanted;

static Wanted
want_name(const char *name, size_t length)
{
	return (Wanted){name, length, NULL, hash64(name, length)};
}

static Wanted
want_pointer(const void *key)
{
	return (Wanted){NULL, 0, key, hash_mix(0, (uintptr_t)key)};
}

static bool
is_wanted(const MapEntry *entry, const Wanted *wanted)
{
	if (entry->hash != wanted->hash)
		return false;
	if (!wanted->name)
		return entry->key == wanted->key;
	return strncmp(entry->name, wanted->name, wanted->length) == 0 &&
	       entry->name[wanted->length] == 0;
}

/* The slot of the wanted entry, or the free slot where it belongs. */
static int *
find_slot(const Map *map, const Wanted *wanted)
{
	unsigned mask = (unsigned)map->slot_count - 1;
	for (unsigned i = (unsigned)wanted->hash & mask;; i = (i + 1) & mask) {
		int *slot = &map->slots[i];
		if (*slot == 0 || is_wanted(&map->entries[*slot - 1], wanted))
			return slot;
	}
}

static MapEntry *
find_entry(const Map *map, const Wanted *wanted)
{
	if (map->count == 0)
		return NULL;
	int slot = *find_slot(map, wanted);
	return slot ? &map->entries[slot - 1] : NULL;
}

/* Double the entries and keep the slots at least twice as many, so at most half are taken. */
static void
grow(Map *map)
{
	if (map->capacity > INT_MAX / 8)
		fail_environment(NULL, "out of memory: a map of more than %d entries", map->capacity);
	int capacity = map->capacity ? map->capacity * 2 : 4;
	MapEntry *entries = NEW_N(map->arena, MapEntry, capacity);
	if (map->count)
		memcpy(entries, map->entries, (size_t)map->count * sizeof *entries);
	int slot_count = capacity * 2;
	int *slots = NEW_N(map->arena, int, slot_count);
	unsigned mask = (unsigned)slot_count - 1;
	for (int i = 0; i < map->count; i++) {
		unsigned at = (unsigned)entries[i].hash & mask;
		while (slots[at])
			at = (at + 1) & mask;
		slots[at] = i + 1;
	}
	map->entries = entries;
	map->capacity = capacity;
	map->slots = slots;
	map->slot_count = slot_count;
}

static void
add_entry(Map *map, const Wanted *wanted, const char *name, void *value)
{
	if (map->count == map->capacity)
		grow(map);
	*find_slot(map, wanted) = map->count + 1;
	map->entries[map->count++] = (MapEntry){{name}, value, wanted->hash};
	if (!name)
		map->entries[map->count - 1].key = wanted->key;
}

void *
map_find(const Map *map, const char *name)
{
	Wanted wanted = want_name(name, strlen(name));
	MapEntry *entry = find_entry(map, &wanted);
	return entry ? entry->value : NULL;
}

void
map_set(Map *map, const char *name, void *value)
{
	Wanted wanted = want_name(name, strlen(name));
	MapEntry *entry = find_entry(map, &wanted);
	if (entry)
		entry->value = value;
	else
		add_entry(map, &wanted, name, value);
}

void
map_count(Map *map, const char *name)
{
	map_set(map, name, (void *)((uintptr_t)map_find(map, name) + 1));
}

void *
map_find_ptr(const Map *map, const void *key)
{
	Wanted wanted = want_pointer(key);
	MapEntry *entry = find_entry(map, &wanted);
	return entry ? entry->value : NULL;
}

void
map_set_ptr(Map *map, const void *key, void *value)
{
	Wanted wanted = want_pointer(key);
	MapEntry *entry = find_entry(map, &wanted);
	if (entry)
		entry->value = value;
	else
		add_entry(map, &wanted, NULL, value);
}

const char *
map_intern(Map *map, const char *text, size_t length)
{
	Wanted wanted = want_name(text, strnlen(text, length));
	MapEntry *entry = find_entry(map, &wanted);
	if (entry)
		return entry->name;
	char *copy = arena_strndup(map->arena, text, length);
	add_entry(map, &wanted, copy, copy);
	return copy;
}
