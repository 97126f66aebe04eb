/* Types, tensors and attributes as messages. Field numbers are those of proto/onnx.proto. */
#include "onnx/export.h"

#include <string.h>

#include "onnx.pb-c.h"

/* The model's spelling of a symbol where it is another than the symbol's name, or NULL. */
static const char *
spelling(const Graph *graph, const char *word)
{
	for (int i = 0; i < graph->metadata.count; i++) {
		StringPair pair = graph->metadata.data[i];
		if (strncmp(pair.key, KEY_DIM, strlen(KEY_DIM)) == 0 &&
		    strcmp(pair.key + strlen(KEY_DIM), word) == 0)
			return pair.value;
	}
	return NULL;
}

/* That of a dim: a symbol's own name, or the text of a term. */
static const char *
dim_text(const Export *out, const Dim *dim)
{
	Buf text = {.arena = out->arena};
	dim_print(&text, dim);
	const char *word = buf_text(&text), *spelt = spelling(out->graph, word);
	return spelt ? spelt : word;
}

/* Whether a dim follows from the dims of the graph's inputs, or the model has a name for it; others
 * are known at run time only, and have no name that a reader could use. */
static bool
follows_from_inputs(const Graph *graph, const Dim *dim)
{
	if (dim->op == EX_symbol) {
		for (int i = 0; i < graph->symbols.count; i++) {
			const SymbolDef *def = &graph->symbols.data[i];
			if (def->symbol == dim->symbol && def->source == SYMBOL_EXPR)
				return spelling(graph, dim->symbol->name) != NULL;
			if (def->symbol == dim->symbol)
				return def->source == SYMBOL_DIM && def->value->region == graph->body &&
				       !def->value->def;
		}
		return false;
	}
	for (int i = 0; i < dim->argc; i++)
		if (!follows_from_inputs(graph, dim->arg[i]))
			return false;
	return true;
}

static void
out_shape(const Export *out, Wire *wire, const Type *type)
{
	for (int i = 0; i < type->rank; i++) {
		Wire dim = {.arena = out->arena};
		int64_t value;
		if (dim_is_const(type->dims[i], &value))
			wire_int(&dim, 1, value);
		else if (follows_from_inputs(out->graph, type->dims[i]))
			wire_text(&dim, 2, dim_text(out, type->dims[i]));
		wire_message(wire, 1, &dim);
	}
}

void
out_type(const Export *out, Wire *wire, const Type *type)
{
	Wire inner = {.arena = out->arena};
	if (type->kind == TYPE_TENSOR) {
		wire_int(&inner, 1, type->dtype);
		if (type->rank >= 0) {
			Wire shape = {.arena = out->arena};
			out_shape(out, &shape, type);
			wire_message(&inner, 2, &shape);
		}
		wire_message(wire, 1, &inner);
	} else if (type->kind == TYPE_SEQUENCE || type->kind == TYPE_OPTIONAL) {
		Wire element = {.arena = out->arena};
		if (type->element)
			out_type(out, &element, type->element);
		wire_message(&inner, 1, &element);
		wire_message(wire, type->kind == TYPE_SEQUENCE ? 4 : 9, &inner);
	}
}

int
type_ir_version(const Type *type)
{
	static const int first[DT_COUNT] = {
		[DT_BF16] = 4,       [DT_F8E4M3FN] = 9, [DT_F8E4M3FNUZ] = 9, [DT_F8E5M2] = 9,
		[DT_F8E5M2FNUZ] = 9, [DT_U4] = 10,      [DT_I4] = 10,        [DT_F4E2M1] = 11,
		[DT_F8E8M0] = 12,    [DT_U2] = 13,      [DT_I2] = 13,
	};
	if (type->kind == TYPE_TENSOR)
		return first[type->dtype];
	return type->kind == TYPE_OPTIONAL ? 8 : 0;
}

void
out_tensor(Wire *wire, const char *name, const Array *data)
{
	wire_ints(wire, 1, data->rank, data->dims);
	wire_int(wire, 2, data->type);
	if (data->type == DT_STRING) {
		const char *const *texts = data->data;
		int64_t count = array_count(data);
		for (int64_t i = 0; i < count; i++)
			wire_bytes(wire, 6, texts[i], strlen(texts[i]));
	}
	wire_text(wire, 8, name);
	if (data->type != DT_STRING)
		wire_data(wire, 9, data->data, array_bytes(data));
}

void
out_attr(const Export *out, Wire *wire, const Attr *attr)
{
	Wire inner = {.arena = out->arena};
	static const int types[] = {
		[ATTR_INT] = ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__INT,
		[ATTR_FLOAT] = ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__FLOAT,
		[ATTR_STRING] = ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__STRING,
		[ATTR_TENSOR] = ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__TENSOR,
		[ATTR_TYPE] = ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__TYPE_PROTO,
		[ATTR_INTS] = ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__INTS,
		[ATTR_FLOATS] = ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__FLOATS,
		[ATTR_STRINGS] = ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__STRINGS,
	};
	wire_text(wire, 1, attr->name);
	if (attr->kind == ATTR_INT)
		wire_int(wire, 3, attr->i);
	else if (attr->kind == ATTR_FLOAT)
		wire_float(wire, 2, attr->f);
	else if (attr->kind == ATTR_STRING)
		wire_bytes(wire, 4, attr->s, strlen(attr->s));
	else if (attr->kind == ATTR_INTS)
		for (int64_t i = 0; i < attr->count; i++)
			wire_int(wire, 8, attr->ints[i]);
	else if (attr->kind == ATTR_FLOATS)
		for (int64_t i = 0; i < attr->count; i++)
			wire_float(wire, 7, attr->floats[i]);
	else if (attr->kind == ATTR_STRINGS)
		for (int64_t i = 0; i < attr->count; i++)
			wire_bytes(wire, 9, attr->strings[i], strlen(attr->strings[i]));
	else if (attr->kind == ATTR_TENSOR)
		out_tensor(&inner, NULL, attr->tensor);
	else if (attr->kind == ATTR_TYPE)
		out_type(out, &inner, attr->type);
	if (attr->kind == ATTR_TENSOR || attr->kind == ATTR_TYPE)
		wire_message(wire, attr->kind == ATTR_TENSOR ? 5 : 14, &inner);
	wire_int(wire, 20, types[attr->kind]);
}
