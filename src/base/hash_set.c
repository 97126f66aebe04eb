/* HashSet: twice as large where three quarters are taken; old tables stay with the arena. */
#include "base/hash_set.h"

static Hash128 *
find_slot(const HashSet *set, Hash128 hash)
{
	size_t at = hash.low & (set->slot_count - 1);
	while ((set->slots[at].low | set->slots[at].high) && !hash128_equal(set->slots[at], hash))
		at = (at + 1) & (set->slot_count - 1);
	return &set->slots[at];
}

static void
grow(Arena *arena, HashSet *set)
{
	enum { FIRST = 1024 };
	HashSet old = *set;
	set->slot_count = old.slot_count ? old.slot_count * 2 : FIRST;
	set->slots = NEW_N(arena, Hash128, set->slot_count);
	for (size_t i = 0; i < old.slot_count; i++)
		if (old.slots[i].low | old.slots[i].high)
			*find_slot(set, old.slots[i]) = old.slots[i];
}

bool
hash_set_add(Arena *arena, HashSet *set, Hash128 hash)
{
	if (4 * set->count >= 3 * set->slot_count)
		grow(arena, set);
	Hash128 *slot = find_slot(set, hash);
	if (slot->low | slot->high)
		return false;
	*slot = hash;
	set->count++;
	return true;
}

bool
hash_set_has(const HashSet *set, Hash128 hash)
{
	return set->slot_count > 0 && hash128_equal(*find_slot(set, hash), hash);
}
