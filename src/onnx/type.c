/* TypeProto -> Type. A dim is a number, a name (a symbol of the graph) or unknown (a fresh symbol).
 *
 * Exporters spell an unknown dim as none, as -1, or by a text without a letter, such as "?", "-1"
 * or "*", or as "None": two of these are two dims, where two of the same name are one.
 *
 * Exporters write any text as a dim's name ("batch size", "floor(H/2)"); texts of ours want a word.
 * A name that is none is spelled with underscores, and the graph's metadata keeps the original for
 * export.
 */
#include "onnx/import.h"

#include <ctype.h>
#include <string.h>

enum { TYPE_MAX_DEPTH = 16 }; /* sequences of optionals of … */

static bool
is_word(const char *name)
{
	if (!isalpha((unsigned char)*name) && *name != '_')
		return false;
	for (; *name; name++)
		if (!isalnum((unsigned char)*name) && *name != '_')
			return false;
	return true;
}

/* The symbol that stands for a dim's name. */
static const Dim *
named_dim(Import *import, const char *name)
{
	Graph *graph = import->graph;
	if (is_word(name))
		return dim_symbol(graph->ctx, name);
	for (int i = 0; i < graph->metadata.count; i++) {
		StringPair pair = graph->metadata.data[i];
		if (strncmp(pair.key, KEY_DIM, strlen(KEY_DIM)) == 0 && strcmp(pair.value, name) == 0)
			return dim_symbol(graph->ctx, pair.key + strlen(KEY_DIM));
	}
	char *word = arena_printf(import->arena, "d_%s", name);
	for (char *c = word; *c; c++)
		if (!isalnum((unsigned char)*c))
			*c = '_';
	StringPair pair = {arena_printf(import->arena, KEY_DIM "%s", word), name};
	vec_push(graph->arena, &graph->metadata, pair);
	return dim_symbol(graph->ctx, word);
}

static bool
is_name(const char *text)
{
	bool has_letter = false;
	for (const char *c = text; *c; c++) /* bytes beyond ASCII belong to letters */
		has_letter = has_letter || isalpha((unsigned char)*c) || (unsigned char)*c >= 0x80;
	return has_letter && strcmp(text, "None") != 0;
}

static const Dim *
import_dim(Import *import, const Onnx__TensorShapeProto__Dimension *dim, bool keep_names, int axis,
           const Loc *loc)
{
	ExprCtx *ctx = import->graph->ctx;
	if (dim->value_case == ONNX__TENSOR_SHAPE_PROTO__DIMENSION__VALUE_DIM_VALUE) {
		if (dim->dim_value < -1)
			fail(loc, "dim %d is %lld", axis, (long long)dim->dim_value);
		return dim->dim_value < 0 ? dim_fresh(ctx, "d") : dim_const(ctx, dim->dim_value);
	}
	bool is_named = dim->value_case == ONNX__TENSOR_SHAPE_PROTO__DIMENSION__VALUE_DIM_PARAM;
	if (keep_names && is_named && is_name(dim->dim_param))
		return named_dim(import, dim->dim_param);
	return dim_fresh(ctx, "d");
}

static Type
import_tensor(Import *import, const Onnx__TypeProto__Tensor *proto, bool keep_names, const Loc *loc)
{
	if (proto->elem_type < 0 || proto->elem_type >= DT_COUNT)
		fail(loc, "element type %d is not one of ONNX's", proto->elem_type);
	Type type = {.kind = TYPE_TENSOR, .dtype = (DType)proto->elem_type, .rank = -1};
	if (!proto->shape)
		return type;
	if (proto->shape->n_dim > ARRAY_MAX_RANK)
		fail_unsupported(loc, "rank %zu, the limit is %d", proto->shape->n_dim, ARRAY_MAX_RANK);
	const Dim **dims = NEW_N(import->arena, const Dim *, proto->shape->n_dim + 1);
	for (size_t i = 0; i < proto->shape->n_dim; i++)
		dims[i] = import_dim(import, proto->shape->dim[i], keep_names, (int)i, loc);
	type.rank = (int)proto->shape->n_dim;
	type.dims = dims;
	return type;
}

static Type import_type(Import *import, const Onnx__TypeProto *proto, bool keep_names, int depth,
                        const Loc *loc);

static Type
import_container(Import *import, TypeKind kind, const Onnx__TypeProto *element, bool keep_names,
                 int depth, const Loc *loc)
{
	Type inner = {.kind = TYPE_UNKNOWN, .rank = -1};
	if (element)
		inner = import_type(import, element, keep_names, depth + 1, loc);
	return (Type){
		.kind = kind,
		.rank = -1,
		.element = arena_memdup(import->arena, &inner, sizeof inner),
	};
}

static Type
import_type(Import *import, const Onnx__TypeProto *proto, bool keep_names, int depth,
            const Loc *loc)
{
	if (depth > TYPE_MAX_DEPTH)
		fail(loc, "a type nested deeper than %d", TYPE_MAX_DEPTH);
	switch (proto->value_case) {
	case ONNX__TYPE_PROTO__VALUE_TENSOR_TYPE:
		return import_tensor(import, proto->tensor_type, keep_names, loc);
	case ONNX__TYPE_PROTO__VALUE_SEQUENCE_TYPE:
		return import_container(import, TYPE_SEQUENCE, proto->sequence_type->elem_type, keep_names,
		                        depth, loc);
	case ONNX__TYPE_PROTO__VALUE_OPTIONAL_TYPE:
		return import_container(import, TYPE_OPTIONAL, proto->optional_type->elem_type, keep_names,
		                        depth, loc);
	case ONNX__TYPE_PROTO__VALUE_MAP_TYPE:
		fail_unsupported(loc, "values of type map are not supported");
	case ONNX__TYPE_PROTO__VALUE_SPARSE_TENSOR_TYPE:
		fail_unsupported(loc, "values of type sparse tensor are not supported");
	case ONNX__TYPE_PROTO__VALUE_OPAQUE_TYPE:
		fail_unsupported(loc, "values of opaque type are not supported");
	default:
		return (Type){.kind = TYPE_UNKNOWN, .rank = -1};
	}
}

Type
type_import(Import *import, const Onnx__TypeProto *proto, bool keep_names, const Loc *loc)
{
	if (!proto)
		return (Type){.kind = TYPE_UNKNOWN, .rank = -1};
	return import_type(import, proto, keep_names, 0, loc);
}

void
type_adopt(Import *import, Value *value, const Onnx__ValueInfoProto *info, const Loc *loc)
{
	Type *type = &value->type;
	bool is_unknown = type->kind == TYPE_UNKNOWN ||
	                  (type->kind == TYPE_TENSOR && (type->dtype == DT_NONE || type->rank < 0));
	if (!info || !is_unknown)
		return;
	Type said = type_import(import, info->type, import->graph->is_open, loc);
	if (type->kind == TYPE_TENSOR && (said.kind != TYPE_TENSOR || said.dtype == DT_NONE ||
	                                  (type->dtype != DT_NONE && type->dtype != said.dtype)))
		return;
	if (said.kind == TYPE_TENSOR && !type_is_static(&said) && !import->graph->is_open)
		said.rank = -1;
	*type = said;
}
