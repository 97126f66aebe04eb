/* Reading types, elements and attributes of a graph's text. */
#include "graph/parser.h"

#include <stdio.h>
#include <string.h>

#include "expr/index/text.h"
#include "graph/text.h"

/* ---- types ----------------------------------------------------------------------------------- */

static const Type *
parse_element_type(Parser *parser)
{
	scan_expect(parser->scan, "(", "before an element type");
	if (scan_accept(parser->scan, ")"))
		return NULL;
	Type element = parse_type(parser);
	scan_expect(parser->scan, ")", "after an element type");
	return arena_memdup(parser->arena, &element, sizeof element);
}

static DType
parse_dtype(Parser *parser)
{
	if (scan_accept(parser->scan, "?"))
		return DT_NONE;
	Loc loc = scan_loc(parser->scan);
	const char *name = scan_name(parser->scan, "type");
	DType dtype = dtype_find(name);
	if (dtype == DT_NONE)
		fail(&loc, "no type is called %s", name);
	return dtype;
}

Type
parse_type(Parser *parser)
{
	Scanner *scan = parser->scan;
	if (scan_accept(scan, "seq"))
		return (Type){.kind = TYPE_SEQUENCE, .rank = -1, .element = parse_element_type(parser)};
	if (scan_accept(scan, "optional"))
		return (Type){.kind = TYPE_OPTIONAL, .rank = -1, .element = parse_element_type(parser)};
	DType dtype = parse_dtype(parser);
	VEC(const Dim *) dims = {0};
	if (!scan_accept(scan, "["))
		return dtype == DT_NONE ? (Type){.rank = -1} : type_tensor(dtype, 0, NULL);
	if (scan_accept(scan, "*")) {
		scan_expect(scan, "]", "after *");
		return type_tensor(dtype, -1, NULL);
	}
	do
		vec_push(parser->arena, &dims, dim_parse(parser->graph->ctx, scan));
	while (scan_accept(scan, ","));
	scan_expect(scan, "]", "after dims");
	if (dims.count > ARRAY_MAX_RANK)
		scan_fail(parser->scan, "rank %d is more than %d", dims.count, ARRAY_MAX_RANK);
	return type_tensor(dtype, dims.count, dims.data);
}

/* What stands behind a name: its type and layout, if given. */
const char *
parse_declared(Parser *parser, Type *type)
{
	*type = (Type){.rank = -1};
	if (scan_accept(parser->scan, ":"))
		*type = parse_type(parser);
	const Token *token = scan_peek(parser->scan);
	if (token->kind == TOK_NAME && token->text[0] == '@')
		return scan_next(parser->scan)->text + 1;
	return NULL;
}

/* ---- data ------------------------------------------------------------------------------------ */

static void
parse_element(Parser *parser, Array *array, int64_t i)
{
	DType type = array->type;
	if (type == DT_STRING)
		((const char **)array->data)[i] = scan_string(parser->scan, "string");
	else if (type == DT_U64)
		dtype_store_i64(type, array->data, i, scan_next(parser->scan)->integer);
	else if (dtype_is_integer(type) || type == DT_BOOL)
		dtype_store_i64(type, array->data, i, scan_integer(parser->scan, "integer"));
	else
		dtype_store_f64(type, array->data, i, scan_number(parser->scan, "number"));
}

static const Array *
parse_elements(Parser *parser, DType type, int rank, const int64_t *dims)
{
	if (dtype_class(type) == DC_NONE || (dtype_class(type) == DC_X && type != DT_STRING))
		scan_fail(parser->scan, "elements of this type cannot be written");
	Array *array = array_new(parser->arena, type, rank, dims);
	int64_t count = array_count(array);
	scan_expect(parser->scan, "{", "before elements");
	for (int64_t i = 0; i < count; i++) {
		if (i)
			scan_expect(parser->scan, ",", "between elements");
		parse_element(parser, array, i);
	}
	scan_expect(parser->scan, "}", "after elements");
	return array;
}

static int64_t *
static_dims(Parser *parser, const Type *type)
{
	if (!type_is_static(type))
		scan_fail(parser->scan, "a constant needs a type with numbers for dims");
	int64_t *dims = NEW_N(parser->arena, int64_t, type->rank);
	for (int i = 0; i < type->rank; i++)
		dim_is_const(type->dims[i], &dims[i]);
	if (dims_count(type->rank, dims) < 0)
		scan_fail(parser->scan, "the size of the constant overflows");
	return dims;
}

Array *
array_seeded(Arena *arena, DType dtype, int rank, const int64_t *dims, uint64_t seed)
{
	Array *array = array_new(arena, dtype, rank, dims);
	int64_t count = array_count(array);
	uint64_t state = seed * 0x9e3779b97f4a7c15u + 1;
	bool is_integer = dtype_is_integer(dtype) || dtype == DT_BOOL;
	for (int64_t i = 0; i < count; i++) {
		state = hash_mix(state, (uint64_t)i);
		if (is_integer)
			dtype_store_i64(dtype, array->data, i, (int64_t)(state >> 40) % 2);
		else if (dtype_class(dtype) != DC_X)
			dtype_store_f64(dtype, array->data, i, (double)(state >> 40) * 0x1p-23 - 1);
	}
	return array;
}

static Array *
bare_array(Arena *arena, DType dtype, int rank, const int64_t *dims)
{
	Array *array = NEW(arena, Array);
	*array = (Array){dtype, rank, dims, NULL};
	return array;
}

/* The weight of this number in the graph whose text it was. */
static const Array *
given_weight(Parser *parser, const Type *type, int number)
{
	const Value *value = graph_weight(parser->given, number);
	if (!value)
		scan_fail(parser->scan, "the graph has no weight %d", number);
	if (!type_takes(type, value->constant))
		scan_fail(parser->scan, "weight %d is %s, not %s", number,
		          type_text(parser->arena, &value->type), type_text(parser->arena, type));
	return value->constant;
}

/* Elements, or the number of a weight (else -1). */
static const Array *
parse_value(Parser *parser, const Type *type, int *number)
{
	const int64_t *dims = static_dims(parser, type);
	*number = -1;
	if (!scan_accept(parser->scan, "weight"))
		return parse_elements(parser, type->dtype, type->rank, dims);
	*number = (int)scan_integer(parser->scan, "weight's number");
	if (type->dtype == DT_STRING || dtype_class(type->dtype) == DC_NONE)
		scan_fail(parser->scan, "a weight of this type must be written out");
	if (parser->given)
		return given_weight(parser, type, *number);
	if (parser->is_bare)
		return bare_array(parser->arena, type->dtype, type->rank, dims);
	return array_seeded(parser->arena, type->dtype, type->rank, dims, (uint64_t)*number);
}

void
parse_constant(Parser *parser, const char *name, const Type *type, const char *layout)
{
	int number;
	const Array *array = parse_value(parser, type, &number);
	Value *value = graph_constant(parser->graph, name, array);
	value->layout = layout;
	if (number >= 0)
		value->weight = number;
}

void
parse_default(Parser *parser, Value *input)
{
	int number;
	input->constant = parse_value(parser, &input->type, &number);
	input->is_default = true;
	if (number >= 0)
		input->weight = number;
}

/* ---- attributes ------------------------------------------------------------------------------ */

static void
parse_list(Parser *parser, Attr *attr)
{
	Scanner *scan = parser->scan;
	VEC(int64_t) ints = {0};
	VEC(float) floats = {0};
	StrVec strings = {0};
	scan_expect(scan, "[", "before a list");
	for (attr->count = 0; !scan_at(scan, "]"); attr->count++) {
		if (attr->count)
			scan_expect(scan, ",", "in a list");
		if (attr->kind == ATTR_INTS)
			vec_push(parser->arena, &ints, scan_integer(scan, "integer"));
		else if (attr->kind == ATTR_FLOATS)
			vec_push(parser->arena, &floats, (float)scan_number(scan, "number"));
		else
			vec_push(parser->arena, &strings, scan_string(scan, "string"));
	}
	scan_next(scan);
	if (attr->kind == ATTR_INTS)
		attr->ints = ints.data;
	else if (attr->kind == ATTR_FLOATS)
		attr->floats = floats.data;
	else
		attr->strings = strings.data;
}

static void
parse_attr_value(Parser *parser, Attr *attr)
{
	Type type;
	switch (attr->kind) {
	case ATTR_INT:
		attr->i = scan_integer(parser->scan, "integer");
		break;
	case ATTR_FLOAT:
		attr->f = (float)scan_number(parser->scan, "number");
		break;
	case ATTR_STRING:
		attr->s = scan_string(parser->scan, "string");
		attr->count = (int64_t)strlen(attr->s);
		break;
	case ATTR_TENSOR:
		type = parse_type(parser);
		attr->tensor = parse_elements(parser, type.dtype, type.rank, static_dims(parser, &type));
		break;
	case ATTR_TYPE:
		type = parse_type(parser);
		attr->type = arena_memdup(parser->arena, &type, sizeof type);
		break;
	case ATTR_INTS:
	case ATTR_FLOATS:
	case ATTR_STRINGS:
		parse_list(parser, attr);
		break;
	case ATTR_NONE:
	case ATTR_GRAPH:
		scan_fail(parser->scan, "a region stands behind the node, not among its attributes");
	}
}

void
parse_attrs(Parser *parser, Node *node)
{
	do {
		Loc loc = scan_loc(parser->scan);
		const char *name = scan_name(parser->scan, "attribute");
		const AttrSpec *spec = op_attr(node->op, name);
		if (!spec)
			fail(&loc, "attribute %s is not one of %s", name, node->op->name);
		scan_expect(parser->scan, "=", "after an attribute's name");
		Attr attr = {.name = spec->name, .kind = (AttrKind)spec->kind};
		parse_attr_value(parser, &attr);
		node_add_attr(node, &attr);
	} while (scan_accept(parser->scan, ","));
	scan_expect(parser->scan, "}", "after attributes");
}
