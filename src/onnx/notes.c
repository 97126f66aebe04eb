/* What a model says of its parts to readers: documentation, metadata, types of inner values.
 *
 * Files before IR 10 have no metadata of nodes: there, what an export noted of a node's origins
 * stands behind its documentation.
 */
#include <string.h>

#include "onnx/import.h"

const Notes *
notes_import(const Import *import, const char *doc, size_t count,
             Onnx__StringStringEntryProto *const *pairs)
{
	if (!*text_of(doc) && count == 0)
		return NULL;
	Notes *notes = NEW(import->kept, Notes);
	notes->doc = doc;
	for (size_t i = 0; i < count; i++)
		vec_push(import->kept, &notes->pairs,
		         ((StringPair){text_of(pairs[i]->key), text_of(pairs[i]->value)}));
	return notes;
}

/* Where KEY_ORIGINS stands in a node's documentation; NULL: it does not. */
static const char *
find_key(const char *doc)
{
	const char *key = strstr(text_of(doc), KEY_ORIGINS "\n");
	return key && (key == doc || key[-1] == '\n') ? key : NULL;
}

StrVec
node_noted_origins(Arena *arena, const Onnx__NodeProto *proto)
{
	StrVec origins = {0};
	const char *key = find_key(proto->doc_string);
	const char *text = key ? key + strlen(KEY_ORIGINS "\n") : NULL;
	for (size_t i = 0; i < proto->n_metadata_props; i++)
		if (strcmp(text_of(proto->metadata_props[i]->key), KEY_ORIGINS) == 0)
			text = text_of(proto->metadata_props[i]->value);
	while (text && *text) {
		size_t line = strcspn(text, "\n");
		vec_push(arena, &origins, arena_strndup(arena, text, line));
		text += line + (text[line] == '\n');
	}
	return origins;
}

void
notes_of_node(const Import *import, Node *node, const Onnx__NodeProto *proto)
{
	size_t count = 0;
	Onnx__StringStringEntryProto **pairs =
		NEW_N(import->arena, Onnx__StringStringEntryProto *, proto->n_metadata_props + 1);
	const char *doc = proto->doc_string, *key = find_key(doc);
	if (key) /* it is not the reader's */
		doc = arena_strndup(import->kept, doc, key > doc ? (size_t)(key - doc) - 1 : 0);
	for (size_t i = 0; i < proto->n_metadata_props; i++)
		if (strcmp(text_of(proto->metadata_props[i]->key), KEY_ORIGINS) != 0)
			pairs[count++] = proto->metadata_props[i];
	StrVec origins = node_noted_origins(import->arena, proto);
	if (origins.count)
		node->origins = origins;
	node->notes = notes_import(import, doc, count, pairs);
}

static void
note_value(const Scope *scope, const char *name, const Notes *notes, bool is_listed)
{
	const Meaning *meaning = map_find(&scope->meanings, name);
	Value *value = meaning ? meaning->value : NULL;
	if (!value)
		return;
	value->is_listed |= is_listed;
	if (notes)
		value->notes = notes;
}

static void
note_values(const Import *import, const Scope *scope, size_t count,
            Onnx__ValueInfoProto *const *infos, bool are_listed)
{
	for (size_t i = 0; i < count; i++)
		note_value(scope, text_of(infos[i]->name),
		           notes_import(import, infos[i]->doc_string, infos[i]->n_metadata_props,
		                        infos[i]->metadata_props),
		           are_listed);
}

void
notes_of_graph(const Import *import, Region *region, const Scope *scope,
               const Onnx__GraphProto *proto)
{
	region->notes =
		notes_import(import, proto->doc_string, proto->n_metadata_props, proto->metadata_props);
	for (size_t i = 0; i < proto->n_initializer; i++) {
		const Onnx__TensorProto *tensor = proto->initializer[i];
		note_value(scope, text_of(tensor->name),
		           notes_import(import, tensor->doc_string, tensor->n_metadata_props,
		                        tensor->metadata_props),
		           false);
	}
	note_values(import, scope, proto->n_input, proto->input, false);
	note_values(import, scope, proto->n_output, proto->output, false);
	note_values(import, scope, proto->n_value_info, proto->value_info, true);
}
