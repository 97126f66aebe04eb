/* Changes to a message of protobuf-c that leave it a message: fields given, taken away, copied from
 * elsewhere, numbers at their edges, lists longer, shorter and in another order. Everything is led
 * by protoc-c's descriptors; nothing here knows ONNX.
 */
#ifndef FUZZ_MUTATE_H
#define FUZZ_MUTATE_H

#include <protobuf-c/protobuf-c.h>

#include "base/vec.h"
#include "fuzz.h"

/* A field of a message in the tree. */
typedef struct Slot {
	ProtobufCMessage *owner;
	const ProtobufCFieldDescriptor *field;
} Slot;

typedef VEC(Slot) SlotVec;

typedef struct Mutator {
	Arena *arena; /* of the tree, too: nothing of it is freed singly */
	uint64_t state;
	/* A word that may stand in this string or bytes field; NULL: none comes to mind. */
	const char *(*word)(const ProtobufCFieldDescriptor *field, uint32_t random);
	SlotVec present, absent;
} Mutator;

/* Read a message; NULL: the bytes are none. */
ProtobufCMessage *mutate_unpack(Arena *arena, const ProtobufCMessageDescriptor *type,
                                const uint8_t *data, size_t size);
ProtobufCMessage *mutate_copy(Mutator *mutator, const ProtobufCMessage *message);

/* One change somewhere in the tree; parts may be taken from `donor` (or NULL). */
void mutate_message(Mutator *mutator, ProtobufCMessage *root, ProtobufCMessage *donor);

#endif
