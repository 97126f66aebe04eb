/* AttributeProto -> Attr. Numbers and texts stay in the message, which the graph keeps alive. */
#include "onnx/import.h"

#include <string.h>

typedef Onnx__AttributeProto__AttributeType ProtoType;

#define T(name) ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__##name

ProtoType
attr_type(const Onnx__AttributeProto *proto)
{
	if (proto->type != T(UNDEFINED))
		return proto->type;
	const struct {
		bool is_given;
		ProtoType type;
	} guesses[] = {
		{proto->has_f, T(FLOAT)},       {proto->has_i, T(INT)},
		{proto->has_s, T(STRING)},      {proto->t, T(TENSOR)},
		{proto->g, T(GRAPH)},           {proto->n_floats, T(FLOATS)},
		{proto->n_ints, T(INTS)},       {proto->n_strings, T(STRINGS)},
		{proto->tp, T(TYPE_PROTO)},     {proto->sparse_tensor, T(SPARSE_TENSOR)},
		{proto->n_tensors, T(TENSORS)}, {proto->n_graphs, T(GRAPHS)},
	};
	for (size_t i = 0; i < countof(guesses); i++)
		if (guesses[i].is_given)
			return guesses[i].type;
	return T(UNDEFINED);
}

const Onnx__AttributeProto *
attr_resolve(const Import *import, const Onnx__AttributeProto *proto, const Loc *loc)
{
	if (!proto->ref_attr_name || !*proto->ref_attr_name)
		return proto;
	if (!import->call)
		fail(loc, "attribute %s refers to '%s', but the node is in no function",
		     text_of(proto->name), proto->ref_attr_name);
	return map_find(&import->call->attrs, proto->ref_attr_name);
}

static const char *
copy_text(Import *import, const char *name, ProtobufCBinaryData text, const Loc *loc)
{
	if (text.len && memchr(text.data, 0, text.len))
		fail_unsupported(loc, "attribute %s: a zero byte in a text", name);
	return arena_strndup(import->kept, text.len ? (const char *)text.data : "", text.len);
}

static void
import_strings(Import *import, const Onnx__AttributeProto *proto, Attr *attr, const Loc *loc)
{
	const char **texts = NEW_N(import->kept, const char *, proto->n_strings + 1);
	for (size_t i = 0; i < proto->n_strings; i++)
		texts[i] = copy_text(import, attr->name, proto->strings[i], loc);
	attr->kind = ATTR_STRINGS;
	attr->count = (int64_t)proto->n_strings;
	attr->strings = texts;
}

/* A message that the type promises. */
static void
need(const void *message, const char *name, const Loc *loc)
{
	if (!message)
		fail(loc, "attribute %s has no value of its type", name);
}

static void
import_message(Import *import, const Onnx__AttributeProto *proto, Attr *attr, const Loc *loc)
{
	switch (attr_type(proto)) {
	case T(TENSOR):
		need(proto->t, attr->name, loc);
		attr->kind = ATTR_TENSOR;
		attr->tensor = tensor_import(import, proto->t, loc);
		return;
	case T(SPARSE_TENSOR):
		need(proto->sparse_tensor, attr->name, loc);
		attr->kind = ATTR_TENSOR;
		attr->tensor = sparse_import(import, proto->sparse_tensor, loc);
		return;
	case T(TYPE_PROTO): {
		need(proto->tp, attr->name, loc);
		Type type = type_import(import, proto->tp, false, loc);
		attr->kind = ATTR_TYPE;
		attr->type = arena_memdup(import->arena, &type, sizeof type);
		return;
	}
	case T(UNDEFINED):
		fail(loc, "attribute %s has no type", attr->name);
	default:
		fail_unsupported(loc, "attribute %s is a list of tensors, graphs or types", attr->name);
	}
}

Attr
attr_import(Import *import, const Onnx__AttributeProto *proto, const Loc *loc)
{
	Attr attr = {.name = text_of(proto->name)};
	switch (attr_type(proto)) {
	case T(INT):
		attr.kind = ATTR_INT;
		attr.i = proto->i;
		break;
	case T(FLOAT):
		attr.kind = ATTR_FLOAT;
		attr.f = proto->f;
		break;
	case T(STRING):
		attr.kind = ATTR_STRING;
		attr.count = (int64_t)proto->s.len;
		attr.s = copy_text(import, attr.name, proto->s, loc);
		break;
	case T(INTS):
		attr.kind = ATTR_INTS;
		attr.count = (int64_t)proto->n_ints;
		attr.ints = proto->ints;
		break;
	case T(FLOATS):
		attr.kind = ATTR_FLOATS;
		attr.count = (int64_t)proto->n_floats;
		attr.floats = proto->floats;
		break;
	case T(STRINGS):
		import_strings(import, proto, &attr, loc);
		break;
	default:
		import_message(import, proto, &attr, loc);
	}
	return attr;
}
