/* External data: elements of tensors in files beside the model.
 *
 *     external_data = {location: "weights.bin", offset: "4096", length: "802816"}
 *
 * A model is somebody else's word, so the location must stay beneath the model's folder and may
 * pass through no symbolic link (file_map_beneath), numbers are checked before anything is mapped,
 * and unknown keys are refused. One mapping serves all tensors of a file.
 */
#include "onnx/import.h"

#include <string.h>

typedef struct ExternalPlace {
	const char *location;
	uint64_t offset, length;
	bool has_length;
} ExternalPlace;

static uint64_t
parse_number(const char *key, const char *text, const Loc *loc)
{
	uint64_t value = 0;
	if (!*text)
		fail(loc, "external data: %s is empty", key);
	for (const char *c = text; *c; c++) {
		if (*c < '0' || *c > '9' || __builtin_mul_overflow(value, 10u, &value) ||
		    __builtin_add_overflow(value, (uint64_t)(*c - '0'), &value))
			fail(loc, "external data: %s '%s' is not a number of bytes", key, text);
	}
	return value;
}

static ExternalPlace
parse_place(const Onnx__TensorProto *proto, const Loc *loc)
{
	ExternalPlace place = {0};
	for (size_t i = 0; i < proto->n_external_data; i++) {
		const char *key = text_of(proto->external_data[i]->key);
		const char *value = text_of(proto->external_data[i]->value);
		if (strcmp(key, "location") == 0)
			place.location = value;
		else if (strcmp(key, "offset") == 0)
			place.offset = parse_number(key, value, loc);
		else if (strcmp(key, "length") == 0)
			place.has_length = true, place.length = parse_number(key, value, loc);
		else if (strcmp(key, "checksum") != 0 && strcmp(key, "basepath") != 0)
			fail(loc, "external data: unknown key '%s'", key);
	}
	if (!place.location)
		fail(loc, "external data without a location");
	return place;
}

static Bytes
map_location(Import *import, const char *location, const Loc *loc)
{
	Bytes *known = map_find(&import->files, location);
	if (!known) {
		Bytes bytes = file_map_beneath(import->kept, import->folder, location, loc);
		known = arena_memdup(import->arena, &bytes, sizeof bytes);
		map_set(&import->files, location, known);
		vec_push(import->arena, &import->graph->data_files,
		         arena_printf(import->arena, "%s/%s", import->folder, location));
	}
	return *known;
}

Bytes
external_bytes(Import *import, const Onnx__TensorProto *proto, size_t size, const Loc *loc)
{
	ExternalPlace place = parse_place(proto, loc);
	if (!import->folder)
		fail(loc, "external data '%s' of a model that has no folder", place.location);
	Bytes file = map_location(import, place.location, loc);
	if (place.offset > file.size)
		fail(loc, "external data '%s' has %zu bytes; offset %llu is beyond", place.location,
		     file.size, (unsigned long long)place.offset);
	uint64_t rest = file.size - place.offset;
	if (place.has_length && place.length > rest)
		fail(loc, "external data '%s' has %zu bytes; %llu at offset %llu are beyond its end",
		     place.location, file.size, (unsigned long long)place.length,
		     (unsigned long long)place.offset);
	if (!place.has_length && rest > size)
		rest = size;
	return (Bytes){file.data + place.offset, place.has_length ? place.length : rest};
}
