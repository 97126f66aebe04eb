/* HashSet: twice as large where three quarters are taken; old tables stay with the arena. */
#include "base/map.h"

static bool
is_free(const HashSlot *slot)
{
	return !(slot->hash.low | slot->hash.high);
}

static HashSlot *
find_slot(const HashSet *set, Hash128 hash)
{
	size_t at = hash.low & (set->slot_count - 1);
	while (!is_free(&set->slots[at]) && !hash128_equal(set->slots[at].hash, hash))
		at = (at + 1) & (set->slot_count - 1);
	return &set->slots[at];
}

static void
grow(Arena *arena, HashSet *set)
{
	enum { FIRST = 1024 };
	HashSet old = *set;
	set->slot_count = old.slot_count ? old.slot_count * 2 : FIRST;
	set->slots = NEW_N(arena, HashSlot, set->slot_count);
	for (size_t i = 0; i < old.slot_count; i++)
		if (!is_free(&old.slots[i]))
			*find_slot(set, old.slots[i].hash) = old.slots[i];
}

void **
hash_set_value(Arena *arena, HashSet *set, Hash128 hash)
{
	if (4 * set->count >= 3 * set->slot_count)
		grow(arena, set);
	HashSlot *slot = find_slot(set, hash);
	set->count += is_free(slot);
	slot->hash = hash;
	return &slot->value;
}

bool
hash_set_add(Arena *arena, HashSet *set, Hash128 hash)
{
	size_t before = set->count;
	hash_set_value(arena, set, hash);
	return set->count > before;
}
