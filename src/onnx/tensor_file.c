/* Values of test data: read through the same walk and checks as models, written by wire.h. */
#include "onnx/tensor_file.h"

#include "onnx/export.h"
#include "onnx/import.h"

typedef struct DataFile {
	Import import; /* what tensor_import() needs of one: arena, file, bytes */
	Loc loc;
} DataFile;

static Data
read_tensor(DataFile *file, const Onnx__TensorProto *proto)
{
	return (Data){
		.kind = TYPE_TENSOR,
		.tensor = tensor_import(&file->import, proto, &file->loc),
		.name = text_of(proto->name),
	};
}

static Data read_sequence(DataFile *file, const Onnx__SequenceProto *proto);
static Data read_optional(DataFile *file, const Onnx__OptionalProto *proto);

/* Messages are at most WALK_MAX_DEPTH deep, so this recursion is bounded. */
static Data
read_sequence(DataFile *file, const Onnx__SequenceProto *proto)
{
	if (proto->n_map_values || proto->n_sparse_tensor_values)
		fail_unsupported(&file->loc, "a sequence of maps or sparse tensors");
	size_t count = proto->n_tensor_values + proto->n_sequence_values + proto->n_optional_values;
	Data data = {.kind = TYPE_SEQUENCE, .name = text_of(proto->name), .count = (int)count};
	data.items = NEW_N(file->import.arena, Data, count + 1);
	Data *item = data.items;
	for (size_t i = 0; i < proto->n_tensor_values; i++)
		*item++ = read_tensor(file, proto->tensor_values[i]);
	for (size_t i = 0; i < proto->n_sequence_values; i++)
		*item++ = read_sequence(file, proto->sequence_values[i]);
	for (size_t i = 0; i < proto->n_optional_values; i++)
		*item++ = read_optional(file, proto->optional_values[i]);
	return data;
}

static Data
read_optional(DataFile *file, const Onnx__OptionalProto *proto)
{
	if (proto->map_value || proto->sparse_tensor_value)
		fail_unsupported(&file->loc, "an optional map or sparse tensor");
	Data data = {.kind = TYPE_OPTIONAL, .name = text_of(proto->name)};
	data.items = NEW_N(file->import.arena, Data, 1);
	data.count = proto->tensor_value || proto->sequence_value || proto->optional_value;
	if (proto->tensor_value)
		data.items[0] = read_tensor(file, proto->tensor_value);
	else if (proto->sequence_value)
		data.items[0] = read_sequence(file, proto->sequence_value);
	else if (proto->optional_value)
		data.items[0] = read_optional(file, proto->optional_value);
	return data;
}

Data
data_read(Arena *arena, const char *path, TypeKind kind)
{
	DataFile file = {.import = {.arena = arena, .kept = arena, .file = arena_strdup(arena, path)}};
	file.loc.file = file.import.file;
	file.import.bytes = file_map(arena, path);
	const ProtobufCMessageDescriptor *type =
		kind == TYPE_SEQUENCE   ? &onnx__sequence_proto__descriptor
		: kind == TYPE_OPTIONAL ? &onnx__optional_proto__descriptor
								: &onnx__tensor_proto__descriptor;
	const void *message = onnx_unpack(arena, file.import.file, type, file.import.bytes);
	if (kind == TYPE_SEQUENCE)
		return read_sequence(&file, message);
	return kind == TYPE_OPTIONAL ? read_optional(&file, message) : read_tensor(&file, message);
}

/* ---- writing ---- */

/* SequenceProto and OptionalProto number their fields alike, and their DataType too. */
static void
put_data(Arena *arena, Wire *wire, const char *name, const Data *data)
{
	static const int fields[] = {[TYPE_TENSOR] = 3, [TYPE_SEQUENCE] = 5, [TYPE_OPTIONAL] = 7};
	static const int types[] = {[TYPE_TENSOR] = 1, [TYPE_SEQUENCE] = 3, [TYPE_OPTIONAL] = 5};
	if (data->kind == TYPE_TENSOR) {
		out_tensor(wire, name, data->tensor);
		return;
	}
	wire_text(wire, 1, name);
	if (data->count > 0)
		wire_int(wire, 2, types[data->items[0].kind]);
	for (int i = 0; i < data->count; i++) {
		Wire item = {.arena = arena};
		put_data(arena, &item, data->items[i].name, &data->items[i]);
		wire_message(wire, fields[data->items[i].kind], &item);
	}
}

void
data_write(Arena *arena, const char *path, const char *name, const Data *data)
{
	Wire wire = {.arena = arena};
	put_data(arena, &wire, name, data);
	FileWriter *writer = file_create(arena, path);
	wire_save(writer, &wire);
	file_commit(writer);
}
