/* Mutations led by descriptors (mutate.h). */
#include "mutate.h"

#include <limits.h>
#include <math.h>
#include <string.h>

enum { LIST_MAX = 4096 }; /* a list does not grow beyond: cases shall stay small */

static uint32_t
roll(Mutator *m, size_t sides)
{
	return sides ? (uint32_t)(fuzz_random(&m->state) % sides) : 0;
}

/* ---- memory of protobuf-c ---- */

static void *
take(void *arena, size_t size)
{
	return arena_alloc(arena, size);
}

static void
leave(void *arena, void *memory)
{
	(void)arena, (void)memory;
}

ProtobufCMessage *
mutate_unpack(Arena *arena, const ProtobufCMessageDescriptor *type, const uint8_t *data,
              size_t size)
{
	ProtobufCAllocator allocator = {take, leave, arena};
	return protobuf_c_message_unpack(type, &allocator, size, data);
}

ProtobufCMessage *
mutate_copy(Mutator *m, const ProtobufCMessage *message)
{
	size_t size = protobuf_c_message_get_packed_size(message);
	uint8_t *bytes = arena_alloc(m->arena, size + 1);
	protobuf_c_message_pack(message, bytes);
	return mutate_unpack(m->arena, message->descriptor, bytes, size);
}

/* ---- fields ---- */

static size_t
element_size(const ProtobufCFieldDescriptor *field)
{
	switch (field->type) {
	case PROTOBUF_C_TYPE_INT64:
	case PROTOBUF_C_TYPE_UINT64:
	case PROTOBUF_C_TYPE_SINT64:
	case PROTOBUF_C_TYPE_SFIXED64:
	case PROTOBUF_C_TYPE_FIXED64:
	case PROTOBUF_C_TYPE_DOUBLE:
		return 8;
	case PROTOBUF_C_TYPE_STRING:
	case PROTOBUF_C_TYPE_MESSAGE:
		return sizeof(void *);
	case PROTOBUF_C_TYPE_BYTES:
		return sizeof(ProtobufCBinaryData);
	default:
		return 4;
	}
}

static char *
place_of(const Slot *slot)
{
	return (char *)slot->owner + slot->field->offset;
}

static size_t *
count_of(const Slot *slot)
{
	return (size_t *)(void *)((char *)slot->owner + slot->field->quantifier_offset);
}

static unsigned *
chosen_of(const Slot *slot) /* has_…, or which one of a oneof */
{
	return (unsigned *)(void *)((char *)slot->owner + slot->field->quantifier_offset);
}

static bool
is_repeated(const Slot *slot)
{
	return slot->field->label == PROTOBUF_C_LABEL_REPEATED;
}

static bool
is_oneof(const Slot *slot)
{
	return slot->field->flags & PROTOBUF_C_FIELD_FLAG_ONEOF;
}

static bool
is_pointer(const Slot *slot)
{
	return slot->field->type == PROTOBUF_C_TYPE_STRING ||
	       slot->field->type == PROTOBUF_C_TYPE_MESSAGE;
}

static bool
is_present(const Slot *slot)
{
	if (is_repeated(slot))
		return *count_of(slot) > 0;
	if (is_oneof(slot))
		return *chosen_of(slot) == slot->field->id;
	if (is_pointer(slot))
		return *(void **)(void *)place_of(slot) != NULL;
	return *chosen_of(slot) != 0;
}

static void
set_present(const Slot *slot, bool is_there)
{
	if (is_oneof(slot))
		*chosen_of(slot) = is_there ? slot->field->id : 0;
	else if (!is_pointer(slot))
		*chosen_of(slot) = is_there;
	if (!is_there && is_pointer(slot))
		*(void **)(void *)place_of(slot) = NULL;
}

static char *
element_at(const Slot *slot, size_t index)
{
	if (!is_repeated(slot))
		return place_of(slot);
	return *(char **)(void *)place_of(slot) + index * element_size(slot->field);
}

static void
collect(Mutator *m, ProtobufCMessage *message)
{
	for (unsigned i = 0; i < message->descriptor->n_fields; i++) {
		Slot slot = {message, &message->descriptor->fields[i]};
		if (!is_present(&slot)) {
			vec_push(m->arena, &m->absent, slot);
			continue;
		}
		vec_push(m->arena, &m->present, slot);
		size_t count = is_repeated(&slot) ? *count_of(&slot) : 1;
		for (size_t k = 0; slot.field->type == PROTOBUF_C_TYPE_MESSAGE && k < count; k++)
			collect(m, *(ProtobufCMessage **)(void *)element_at(&slot, k));
	}
}

/* ---- elements from elsewhere ---- */

static bool
is_alike(const ProtobufCFieldDescriptor *a, const ProtobufCFieldDescriptor *b)
{
	return a->type == b->type && a->descriptor == b->descriptor;
}

/* Some element of a field like this one, in the tree or the donor; NULL: there is none. */
static const char *
element_alike(Mutator *m, const ProtobufCFieldDescriptor *field)
{
	const Slot *found = NULL;
	size_t seen = 0;
	for (int i = 0; i < m->present.count; i++) {
		const Slot *slot = &m->present.data[i];
		/* The same field weighs more than one that could hold the same. */
		size_t weight = !is_alike(slot->field, field) ? 0 : slot->field == field ? 8 : 1;
		seen += weight;
		if (weight && roll(m, seen) < weight)
			found = slot;
	}
	if (!found)
		return NULL;
	return element_at(found, is_repeated(found) ? roll(m, *count_of(found)) : 0);
}

/* ---- values ---- */

static int64_t
odd_int(Mutator *m, int64_t old)
{
	static const int64_t ODD[] = {
		0,    1,       -1,      2,           3,          -2,        4,         5,
		7,    8,       16,      17,          31,         32,        100,       127,
		1024, 1 << 20, INT_MAX, -2147483648, 4294967296, INT64_MAX, 6,         9,
		10,   11,      12,      13,          64,         255,       INT64_MIN, INT64_C(1) << 62};
	switch (roll(m, 6)) {
	case 0:
		return (int64_t)((uint64_t)old + 1);
	case 1:
		return (int64_t)((uint64_t)old - 1);
	case 2:
		return (int64_t)(0 - (uint64_t)old);
	default:
		/* Small ones more often: the others are refused at once. */
		return ODD[roll(m, roll(m, 3) ? 11 : countof(ODD))];
	}
}

static double
odd_float(Mutator *m)
{
	static const double ODD[] = {0, -0.0, 1, -1, 0.5, 2, 1e-38, 3e38, -1e30, 1e9, NAN, INFINITY};
	return ODD[roll(m, countof(ODD))];
}

static char *
odd_text(Mutator *m, const Slot *slot, const char *old)
{
	const char *word = m->word ? m->word(slot->field, fuzz_random(&m->state)) : NULL;
	const char *const *alike = (const char *const *)(const void *)element_alike(m, slot->field);
	switch (roll(m, 8)) {
	case 0:
		return arena_strdup(m->arena, "");
	case 1:
		return arena_printf(m->arena, "%sx", old ? old : "");
	case 2:
	case 3:
	case 4:
		if (alike && *alike)
			return arena_strdup(m->arena, *alike);
		break;
	default:
		break;
	}
	return arena_strdup(m->arena, word ? word : alike && *alike ? *alike : "x");
}

/* Cut, lengthened, or with an odd number of four or eight bytes in it. */
static ProtobufCBinaryData
odd_bytes(Mutator *m, const Slot *slot, ProtobufCBinaryData old)
{
	const char *word = m->word ? m->word(slot->field, fuzz_random(&m->state)) : NULL;
	uint8_t *data = arena_alloc(m->arena, old.len + 64);
	if (old.len)
		memcpy(data, old.data, old.len);
	size_t at = roll(m, old.len / 4 + 1) * 4;
	int64_t whole = odd_int(m, roll(m, 9));
	float real = (float)odd_float(m);
	switch (roll(m, 6)) {
	case 0:
		return (ProtobufCBinaryData){roll(m, old.len + 1), data};
	case 1:
		return (ProtobufCBinaryData){old.len + 1 + roll(m, 63), data};
	case 2:
		memcpy(data + at, &real, sizeof real);
		return (ProtobufCBinaryData){old.len, data};
	case 3:
		if (word)
			return (ProtobufCBinaryData){strlen(word), (uint8_t *)arena_strdup(m->arena, word)};
		break;
	default:
		break;
	}
	memcpy(data + at / 8 * 8, &whole, sizeof whole);
	return (ProtobufCBinaryData){old.len, data};
}

static void
change_number(Mutator *m, const Slot *slot, char *element)
{
	const char *alike = roll(m, 4) == 0 ? element_alike(m, slot->field) : NULL;
	size_t size = element_size(slot->field) == 4 ? 4 : 8;
	double real = odd_float(m);
	float narrow = (float)real;
	int64_t whole = 0;
	memcpy(&whole, element, size);
	whole = odd_int(m, size == 4 ? (int32_t)whole : whole);
	const void *value = &whole;
	if (slot->field->type == PROTOBUF_C_TYPE_FLOAT)
		value = &narrow;
	if (slot->field->type == PROTOBUF_C_TYPE_DOUBLE)
		value = &real;
	memmove(element, alike ? alike : value, size);
}

static ProtobufCMessage *
other_message(Mutator *m, const Slot *slot)
{
	const char *alike = element_alike(m, slot->field);
	if (alike)
		return mutate_copy(m, *(ProtobufCMessage *const *)(const void *)alike);
	return mutate_unpack(m->arena, slot->field->descriptor, NULL, 0);
}

static void
change_element(Mutator *m, const Slot *slot, char *element)
{
	char **text = (char **)(void *)element;
	ProtobufCMessage **message = (ProtobufCMessage **)(void *)element;
	ProtobufCBinaryData *bytes = (ProtobufCBinaryData *)(void *)element;
	switch (slot->field->type) {
	case PROTOBUF_C_TYPE_STRING:
		*text = odd_text(m, slot, *text);
		break;
	case PROTOBUF_C_TYPE_BYTES:
		*bytes = odd_bytes(m, slot, *bytes);
		break;
	case PROTOBUF_C_TYPE_MESSAGE:
		*message = other_message(m, slot);
		break;
	default:
		change_number(m, slot, element);
	}
}

/* ---- lists ---- */

static void
insert_element(Mutator *m, const Slot *slot)
{
	size_t size = element_size(slot->field), count = *count_of(slot), at = roll(m, count + 1);
	if (count >= LIST_MAX)
		return;
	char *old = *(char **)(void *)place_of(slot), *list = arena_alloc(m->arena, (count + 1) * size);
	if (count)
		memcpy(list, old, count * size);
	/* The new one is made behind the list, where nobody takes it for one of the tree. */
	char *made = list + count * size, swap[sizeof(ProtobufCBinaryData)];
	bool is_message = slot->field->type == PROTOBUF_C_TYPE_MESSAGE;
	if (count && !is_message)
		memcpy(made, old + roll(m, count) * size, size);
	if (!count || is_message || roll(m, 2))
		change_element(m, slot, made);
	memcpy(swap, made, size);
	memmove(list + (at + 1) * size, list + at * size, (count - at) * size);
	memcpy(list + at * size, swap, size);
	*(char **)(void *)place_of(slot) = list;
	*count_of(slot) = count + 1;
}

static void
change_list(Mutator *m, const Slot *slot)
{
	size_t size = element_size(slot->field), *count = count_of(slot);
	size_t a = roll(m, *count), b = roll(m, *count);
	char *x = element_at(slot, a), *y = element_at(slot, b), swap[sizeof(ProtobufCBinaryData)];
	switch (roll(m, 8)) {
	case 0:
		memmove(x, x + size, (*count - a - 1) * size);
		--*count;
		break;
	case 1:
		*count = a;
		break;
	case 2:
		memcpy(swap, x, size);
		memmove(x, y, size);
		memcpy(y, swap, size);
		break;
	case 3:
	case 4:
		insert_element(m, slot);
		break;
	default:
		change_element(m, slot, x);
	}
}

/* ---- the tree ---- */

static void
fill_absent(Mutator *m, const Slot *slot)
{
	if (is_repeated(slot)) {
		insert_element(m, slot);
		return;
	}
	memset(place_of(slot), 0, element_size(slot->field));
	change_element(m, slot, place_of(slot));
	set_present(slot, true);
}

void
mutate_message(Mutator *m, ProtobufCMessage *root, ProtobufCMessage *donor)
{
	m->present.count = m->absent.count = 0;
	collect(m, root);
	int own = m->present.count, own_absent = m->absent.count;
	if (donor)
		collect(m, donor);
	if (own_absent && roll(m, 8) == 0) {
		fill_absent(m, &m->absent.data[roll(m, (size_t)own_absent)]);
		return;
	}
	if (!own)
		return;
	Slot slot = m->present.data[roll(m, (size_t)own)];
	if (is_repeated(&slot))
		change_list(m, &slot);
	else if (slot.field->label == PROTOBUF_C_LABEL_OPTIONAL && roll(m, 8) == 0)
		set_present(&slot, false);
	else
		change_element(m, &slot, place_of(&slot));
}
