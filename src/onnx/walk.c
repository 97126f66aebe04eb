/* The bounded walk over wire format, driven by protoc-c's descriptors (walk.h says what and why).
 *
 * Lengths of messages change when raw data leaves them, and are only known at their end; the
 * skeleton therefore writes them as varints of fixed width, padded, which every reader accepts:
 *
 *     file      2a 80 80 02 [32768 bytes…]          raw_data inside a tensor inside the graph
 *     skeleton  2a 96 80 80 80 00 [… 4a 10 view]    five bytes of length, patched afterwards
 */
#include "onnx/walk.h"

#include <stdio.h>
#include <string.h>

#include "base/buf.h"

enum {
	LENGTH_BYTES = 5, /* of a padded length: up to 2^35 */
	VIEW_BYTES = 16,  /* offset and length */
	VARINT_MAX = 10,
	FIELDS_MAX = 32,    /* of one message type; checked */
	RAW_DATA_FIELD = 9, /* TensorProto.raw_data */
	MEMBER_COST = 64, /* what protobuf-c keeps for one occurrence of a field, and malloc's share */
};

/* Unpacked memory allowed: some for every file, then so many times its size. The dearest honest
 * field is a dimension: 4 bytes on the wire, some 150 in memory, always beside names and other
 * fields. */
static const uint64_t BUDGET_BASE = 64 << 20, BUDGET_FACTOR = 64;

typedef enum WireType {
	WIRE_VARINT = 0,
	WIRE_64 = 1,
	WIRE_BYTES = 2,
	WIRE_32 = 5,
} WireType;

/* One level of the path in messages. */
typedef struct Frame {
	const struct Frame *outer;
	const ProtobufCFieldDescriptor *field; /* NULL: the file's message */
	unsigned index;
} Frame;

typedef struct Walk {
	Arena *arena;
	const char *file;
	Bytes bytes;
	size_t at;
	Buf out;
	uint64_t cost, budget;
} Walk;

static void
print_path(Buf *buf, const Frame *frame)
{
	if (!frame || !frame->field)
		return;
	if (frame->outer && frame->outer->field) {
		print_path(buf, frame->outer);
		buf_putc(buf, '.');
	}
	buf_puts(buf, frame->field->name);
	if (frame->field->label == PROTOBUF_C_LABEL_REPEATED)
		buf_printf(buf, "[%u]", frame->index);
}

_Noreturn static void walk_fail(const Walk *walk, const Frame *frame, size_t at, const char *format,
                                ...) __attribute__((format(printf, 4, 5)));

_Noreturn static void
walk_fail(const Walk *walk, const Frame *frame, size_t at, const char *format, ...)
{
	char message[256];
	va_list args;
	va_start(args, format);
	vsnprintf(message, sizeof message, format, args);
	va_end(args);
	Buf path = {.arena = walk->arena};
	print_path(&path, frame);
	Loc loc = {.file = walk->file};
	if (path.size == 0)
		fail(&loc, "this is no ONNX file (byte %zu: %s)", at, message);
	fail(&loc, "byte %zu, in %s: %s", at, buf_text(&path), message);
}

static uint64_t
take_varint(Walk *walk, size_t end, const Frame *frame)
{
	uint64_t value = 0;
	size_t start = walk->at;
	for (int i = 0; i < VARINT_MAX; i++) {
		if (walk->at == end)
			walk_fail(walk, frame, start,
			          "the file is cut off or damaged: it ends inside a number");
		unsigned char byte = walk->bytes.data[walk->at++];
		value |= (uint64_t)(byte & 0x7f) << (7 * i);
		if (!(byte & 0x80))
			return value;
	}
	walk_fail(walk, frame, start, "a number of more than %d bytes", VARINT_MAX);
}

static size_t
take_length(Walk *walk, size_t end, const Frame *frame)
{
	size_t start = walk->at;
	uint64_t length = take_varint(walk, end, frame);
	if (length > end - walk->at)
		walk_fail(walk, frame, start, "%s: of %llu bytes %zu are there",
		          end == walk->bytes.size ? "the file is cut off" : "the file is damaged",
		          (unsigned long long)length, end - walk->at);
	return (size_t)length;
}

static void
charge(Walk *walk, const Frame *frame, uint64_t cost)
{
	walk->cost += cost;
	if (walk->cost > walk->budget)
		walk_fail(walk, frame, walk->at,
		          "a file of %zu bytes that unpacks to more than %llu bytes is refused",
		          walk->bytes.size, (unsigned long long)walk->budget);
}

/* Skip the payload of a field, whatever it means. */
static void
skip_payload(Walk *walk, unsigned wire, size_t end, const Frame *frame)
{
	size_t start = walk->at, size = 0;
	if (wire == WIRE_VARINT)
		take_varint(walk, end, frame);
	else if (wire == WIRE_BYTES)
		size = take_length(walk, end, frame);
	else if (wire == WIRE_64 || wire == WIRE_32)
		size = wire == WIRE_64 ? 8 : 4;
	else
		walk_fail(walk, frame, start, "a field of wire type %u, which ONNX does not use", wire);
	if (size > end - walk->at)
		walk_fail(walk, frame, start, "the file is cut off or damaged: of %zu bytes %zu are there",
		          size, end - walk->at);
	walk->at += size;
}

/* The wire type of one element of a field. */
static WireType
wire_of(const ProtobufCFieldDescriptor *field)
{
	switch (field->type) {
	case PROTOBUF_C_TYPE_STRING:
	case PROTOBUF_C_TYPE_BYTES:
	case PROTOBUF_C_TYPE_MESSAGE:
		return WIRE_BYTES;
	case PROTOBUF_C_TYPE_FLOAT:
	case PROTOBUF_C_TYPE_FIXED32:
	case PROTOBUF_C_TYPE_SFIXED32:
		return WIRE_32;
	case PROTOBUF_C_TYPE_DOUBLE:
	case PROTOBUF_C_TYPE_FIXED64:
	case PROTOBUF_C_TYPE_SFIXED64:
		return WIRE_64;
	default:
		return WIRE_VARINT;
	}
}

/* The elements of a packed field: whole ones, and not too many. */
static void
check_packed(Walk *walk, const ProtobufCFieldDescriptor *field, size_t end, const Frame *frame)
{
	size_t start = walk->at, length = end - start;
	WireType wire = wire_of(field);
	size_t width = wire == WIRE_64 ? 8 : 4;
	if (wire != WIRE_VARINT) {
		if (length % width != 0)
			walk_fail(walk, frame, start, "%zu bytes are no whole number of %zu-byte elements",
			          length, width);
		charge(walk, frame, length);
		walk->at = end;
		return;
	}
	for (uint64_t count = 0; walk->at < end; count++) {
		take_varint(walk, end, frame);
		if (count % 4096 == 0)
			charge(walk, frame, 8 * 4096);
	}
}

/* A string, or bytes that stay in the skeleton. */
static void
check_text(Walk *walk, const ProtobufCFieldDescriptor *field, size_t length, const Frame *frame)
{
	charge(walk, frame, length);
	if (field->type == PROTOBUF_C_TYPE_STRING && length &&
	    memchr(walk->bytes.data + walk->at, 0, length))
		walk_fail(walk, frame, walk->at, "a zero byte in a text");
	walk->at += length;
}

/* Write a length of fixed width at `place` of the skeleton. */
static void
put_length(Walk *walk, size_t place, uint64_t length)
{
	for (int i = 0; i < LENGTH_BYTES; i++)
		walk->out.data[place + (size_t)i] =
			(char)(((length >> (7 * i)) & 0x7f) | (i < LENGTH_BYTES - 1 ? 0x80 : 0));
}

/* raw_data: note where it is, and step over it. */
static void
put_view(Walk *walk, size_t length)
{
	uint64_t view[2] = {walk->at, length};
	_Static_assert(sizeof view == VIEW_BYTES, "a view is two numbers");
	buf_write(&walk->out, (char[]){RAW_DATA_FIELD << 3 | WIRE_BYTES, VIEW_BYTES}, 2);
	buf_write(&walk->out, view, sizeof view);
	walk->at += length;
}

static void walk_fields(Walk *walk, const ProtobufCMessageDescriptor *type, size_t end,
                        const Frame *frame, int depth);

/* A message inside: its fields between a length that is patched when they are written. */
static void
walk_inner(Walk *walk, const ProtobufCMessageDescriptor *type, size_t length, const Frame *frame,
           int depth)
{
	if (depth >= WALK_MAX_DEPTH)
		walk_fail(walk, NULL, walk->at, "messages nested deeper than %d", WALK_MAX_DEPTH);
	charge(walk, frame, type->sizeof_message);
	size_t place = walk->out.size;
	buf_write(&walk->out, (char[LENGTH_BYTES]){0}, LENGTH_BYTES);
	walk_fields(walk, type, walk->at + length, frame, depth + 1);
	put_length(walk, place, walk->out.size - place - LENGTH_BYTES);
}

/* One known field whose key begins at `start`; its payload is next. */
static void
walk_field(Walk *walk, const ProtobufCMessageDescriptor *type, unsigned wire, size_t start,
           size_t end, const Frame *frame, int depth)
{
	const ProtobufCFieldDescriptor *field = frame->field;
	WireType own = wire_of(field);
	bool is_packed =
		wire == WIRE_BYTES && own != WIRE_BYTES && field->label == PROTOBUF_C_LABEL_REPEATED;
	if (wire != (unsigned)own && !is_packed)
		walk_fail(walk, frame, start,
		          "a field of wire type %u, expected %d: the file is damaged, or no ONNX file",
		          wire, (int)own);
	charge(walk, frame, MEMBER_COST);
	size_t key_end = walk->at;
	if (wire != WIRE_BYTES) {
		skip_payload(walk, wire, end, frame);
		buf_write(&walk->out, walk->bytes.data + start, walk->at - start);
		return;
	}
	size_t length = take_length(walk, end, frame);
	if (field->type == PROTOBUF_C_TYPE_MESSAGE) {
		buf_write(&walk->out, walk->bytes.data + start, key_end - start);
		walk_inner(walk, field->descriptor, length, frame, depth);
		return;
	}
	if (type == &onnx__tensor_proto__descriptor && field->id == RAW_DATA_FIELD) {
		put_view(walk, length);
		return;
	}
	if (is_packed)
		check_packed(walk, field, walk->at + length, frame);
	else
		check_text(walk, field, length, frame);
	buf_write(&walk->out, walk->bytes.data + start, walk->at - start);
}

/* A singular message, or a choice, given twice would be merged by protobuf's rules: no writer does
 * so, and merging is where readers differ. */
static void
check_once(const Walk *walk, const ProtobufCFieldDescriptor *field, uint64_t *seen, unsigned slot,
           const Frame *frame)
{
	bool is_choice = field->flags & PROTOBUF_C_FIELD_FLAG_ONEOF;
	bool is_message = field->type == PROTOBUF_C_TYPE_MESSAGE;
	if (field->label == PROTOBUF_C_LABEL_REPEATED || (!is_choice && !is_message))
		return;
	uint64_t bit = is_choice ? (uint64_t)1 << FIELDS_MAX : (uint64_t)1 << slot;
	if (*seen & bit)
		walk_fail(walk, frame, walk->at, "the field is given twice, expected once");
	*seen |= bit;
}

static void
walk_fields(Walk *walk, const ProtobufCMessageDescriptor *type, size_t end, const Frame *frame,
            int depth)
{
	unsigned count[FIELDS_MAX] = {0};
	uint64_t seen = 0;
	must(type->n_fields <= FIELDS_MAX);
	while (walk->at < end) {
		size_t start = walk->at;
		uint64_t key = take_varint(walk, end, frame);
		unsigned wire = key & 7;
		if (key >> 3 == 0 || key >> 32 != 0)
			walk_fail(walk, frame, start, "a field of number %llu, which ONNX does not have",
			          (unsigned long long)(key >> 3));
		const ProtobufCFieldDescriptor *field =
			protobuf_c_message_descriptor_get_field(type, (unsigned)(key >> 3));
		if (!field) {
			skip_payload(walk, wire, end, frame);
			continue;
		}
		unsigned slot = (unsigned)(field - type->fields);
		Frame inner = {.outer = frame, .field = field, .index = count[slot]++};
		check_once(walk, field, &seen, slot, &inner);
		walk_field(walk, type, wire, start, end, &inner, depth);
	}
}

Bytes
walk_message(Arena *arena, const char *file, const ProtobufCMessageDescriptor *type, Bytes bytes)
{
	Walk walk = {
		.arena = arena,
		.file = file,
		.bytes = bytes,
		.out = {.arena = arena},
		.budget = BUDGET_BASE + BUDGET_FACTOR * bytes.size,
	};
	Frame root = {0};
	walk_fields(&walk, type, bytes.size, &root, 0);
	return (Bytes){(const unsigned char *)buf_text(&walk.out), walk.out.size};
}

static void
release_message(void *handle)
{
	protobuf_c_message_free_unpacked(handle, NULL);
}

void *
onnx_unpack(Arena *arena, const char *file, const ProtobufCMessageDescriptor *type, Bytes bytes)
{
	Arena *scratch = arena_new_in(arena, "walk");
	arena_spill(scratch, arena_folder(arena)); /* typed data makes the skeleton large */
	Bytes skeleton = walk_message(scratch, file, type, bytes);
	Loc loc = {.file = file};
	if (skeleton.size > INT32_MAX)
		fail_unsupported(&loc,
		                 "%zu bytes of names, attributes and typed data; protobuf's limit is "
		                 "2 GB (raw and external data do not count)",
		                 skeleton.size);
	void *message = protobuf_c_message_unpack(type, NULL, skeleton.size, skeleton.data);
	if (!message)
		fail(&loc, "not a %s: protobuf-c cannot unpack it", type->short_name);
	arena_defer(arena, release_message, message);
	arena_reset(scratch);
	return message;
}

Bytes
onnx_raw_view(Bytes file, const ProtobufCBinaryData *raw)
{
	uint64_t view[2];
	must(raw->len == sizeof view);
	memcpy(view, raw->data, sizeof view);
	must(view[0] <= file.size && view[1] <= file.size - view[0]);
	return (Bytes){file.data + view[0], view[1]};
}
