/* Protobuf's wire format, written (wire.h). */
#include "onnx/wire.h"

#include <string.h>

enum { VARINT = 0, LENGTH = 2, FIXED32 = 5 };

uint64_t
wire_size(const Wire *wire)
{
	return wire->buf.size + wire->spliced;
}

static void
put_varint(Wire *wire, uint64_t value)
{
	unsigned char bytes[10];
	int count = 0;
	do {
		bytes[count++] = (unsigned char)((value & 0x7f) | (value > 0x7f ? 0x80 : 0));
		value >>= 7;
	} while (value);
	wire->buf.arena = wire->arena;
	buf_write(&wire->buf, bytes, (size_t)count);
}

static void
put_key(Wire *wire, int field, int type)
{
	put_varint(wire, (uint64_t)field << 3 | (uint64_t)type);
}

void
wire_int(Wire *wire, int field, int64_t value)
{
	put_key(wire, field, VARINT);
	put_varint(wire, (uint64_t)value);
}

void
wire_float(Wire *wire, int field, float value)
{
	put_key(wire, field, FIXED32);
	buf_write(&wire->buf, &value, sizeof value);
}

void
wire_bytes(Wire *wire, int field, const void *data, size_t size)
{
	put_key(wire, field, LENGTH);
	put_varint(wire, size);
	buf_write(&wire->buf, data, size);
}

void
wire_text(Wire *wire, int field, const char *text)
{
	if (text && *text)
		wire_bytes(wire, field, text, strlen(text));
}

void
wire_data(Wire *wire, int field, const void *data, size_t size)
{
	put_key(wire, field, LENGTH);
	put_varint(wire, size);
	vec_push(wire->arena, &wire->splices, (Splice){wire->buf.size, data, size});
	wire->spliced += size;
}

void
wire_message(Wire *wire, int field, const Wire *inner)
{
	put_key(wire, field, LENGTH);
	put_varint(wire, wire_size(inner));
	for (int i = 0; i < inner->splices.count; i++) {
		Splice splice = inner->splices.data[i];
		splice.at += wire->buf.size;
		vec_push(wire->arena, &wire->splices, splice);
	}
	wire->spliced += inner->spliced;
	buf_write(&wire->buf, buf_text(&inner->buf), inner->buf.size);
}

void
wire_ints(Wire *wire, int field, int64_t count, const int64_t *values)
{
	Wire packed = {.arena = wire->arena};
	for (int64_t i = 0; i < count; i++)
		put_varint(&packed, (uint64_t)values[i]);
	wire_message(wire, field, &packed);
}

void
wire_floats(Wire *wire, int field, int64_t count, const float *values)
{
	wire_bytes(wire, field, values, (size_t)count * sizeof *values);
}

void
wire_save(FileWriter *file, const Wire *wire)
{
	const char *bytes = buf_text(&wire->buf);
	size_t at = 0;
	for (int i = 0; i < wire->splices.count; i++) {
		const Splice *splice = &wire->splices.data[i];
		file_put(file, bytes + at, splice->at - at);
		file_put(file, splice->data, splice->size);
		at = splice->at;
	}
	file_put(file, bytes + at, wire->buf.size - at);
}
