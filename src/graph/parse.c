/* Reading the text of a graph (print.c shows it). Every error has file and line. */
#include <stdio.h>
#include <string.h>

#include "base/scan.h"
#include "expr/text.h"
#include "graph/inner.h"

/* A definition of a symbol, resolved when all values are known. */
typedef struct Pending {
	const Symbol *symbol;
	int position; /* of the token behind = */
} Pending;

/* A list of captures as written, compared with the real one at the end. */
typedef struct Claim {
	Region *region;
	VEC(Value *) values;
	Loc loc;
} Claim;

typedef struct Parser {
	Graph *graph;
	Arena *arena;
	Scanner *scan;
	VEC(Pending) pending;
	VEC(Claim) claims;
} Parser;

__attribute__((format(printf, 2, 3))) _Noreturn static void
fail_here(const Parser *parser, const char *format, ...)
{
	char text[1024];
	va_list args;
	va_start(args, format);
	vsnprintf(text, sizeof text, format, args);
	va_end(args);
	Loc loc = scan_loc(parser->scan);
	fail(&loc, "%s", text);
}

/* ---- names ----------------------------------------------------------------------------------- */

static bool
at_value(const Parser *parser)
{
	const Token *token = scan_peek(parser->scan);
	return (token->kind == TOK_NAME && token->text[0] == '%') || scan_at(parser->scan, "%");
}

static const char *
parse_name(Parser *parser)
{
	if (!at_value(parser))
		fail_here(parser, "expected a value (%%name), saw '%s'", scan_peek(parser->scan)->text);
	if (scan_accept(parser->scan, "%"))
		return scan_string(parser->scan, "name in quotes");
	return scan_next(parser->scan)->text + 1;
}

/* A new value's name must be free. */
static const char *
parse_new_name(Parser *parser)
{
	const char *name = parse_name(parser);
	if (graph_find_value(parser->graph, name))
		fail_here(parser, "%%%s is defined twice", name);
	return name;
}

static Value *
parse_use(Parser *parser, const Region *region)
{
	Loc loc = scan_loc(parser->scan);
	const char *name = parse_name(parser);
	Value *value = graph_find_value(parser->graph, name);
	if (!value)
		fail(&loc, "%%%s is not defined", name);
	if (region && !region_encloses(value->region, region))
		fail(&loc, "%%%s is defined in another region", name);
	return value;
}

/* ---- types ----------------------------------------------------------------------------------- */

static Type parse_type(Parser *parser);

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

static Type
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
		fail_here(parser, "rank %d is more than %d", dims.count, ARRAY_MAX_RANK);
	return type_tensor(dtype, dims.count, dims.data);
}

/* What stands behind a name: its type and layout, if given. */
static const char *
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
		fail_here(parser, "elements of this type cannot be written");
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
		fail_here(parser, "a constant needs a type with numbers for dims");
	int64_t *dims = NEW_N(parser->arena, int64_t, type->rank);
	for (int i = 0; i < type->rank; i++)
		dim_is_const(type->dims[i], &dims[i]);
	if (dims_count(type->rank, dims) < 0)
		fail_here(parser, "the size of the constant overflows");
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

static void
parse_constant(Parser *parser, const char *name, const Type *type, const char *layout)
{
	bool is_default = scan_accept(parser->scan, "default");
	const int64_t *dims = static_dims(parser, type);
	const Array *array;
	int number = -1;
	if (scan_accept(parser->scan, "weight")) {
		number = (int)scan_integer(parser->scan, "weight's number");
		if (type->dtype == DT_STRING || dtype_class(type->dtype) == DC_NONE)
			fail_here(parser, "a weight of this type must be written out");
		array = array_seeded(parser->arena, type->dtype, type->rank, dims, (uint64_t)number);
	} else {
		array = parse_elements(parser, type->dtype, type->rank, dims);
	}
	Value *value = graph_constant(parser->graph, name, array);
	value->is_default = is_default;
	value->layout = layout;
	if (number >= 0)
		value->weight = number;
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
		fail_here(parser, "a region stands behind the node, not among its attributes");
	}
}

static void
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

/* ---- nodes ----------------------------------------------------------------------------------- */

static void parse_region(Parser *parser, Node *node, const char *name);

typedef struct Left {
	StrVec names; /* NULL: absent */
	VEC(Type) types;
	StrVec layouts;
} Left;

static void
parse_left(Parser *parser, Left *left)
{
	do {
		Type type = {.rank = -1};
		const char *name = NULL, *layout = NULL;
		if (!scan_accept(parser->scan, "_")) {
			name = parse_new_name(parser);
			layout = parse_declared(parser, &type);
		}
		vec_push(parser->arena, &left->names, name);
		vec_push(parser->arena, &left->types, type);
		vec_push(parser->arena, &left->layouts, layout);
	} while (scan_accept(parser->scan, ","));
	scan_expect(parser->scan, "=", "after what a line defines");
}

/* The string behind a node is its name in the model; `from` lists those it was made from. */
static void
parse_origins(Parser *parser, Node *node)
{
	if (scan_peek(parser->scan)->kind == TOK_STRING)
		node->loc.node = scan_next(parser->scan)->text;
	if (!scan_accept(parser->scan, "from"))
		return;
	do
		vec_push(parser->arena, &node->origins, scan_string(parser->scan, "name of a node"));
	while (scan_accept(parser->scan, ","));
}

static bool
at_attrs(const Parser *parser)
{
	const Token *next = scan_peek_at(parser->scan, 1), *then = scan_peek_at(parser->scan, 2);
	return scan_at(parser->scan, "{") && next->kind == TOK_NAME && next->text[0] != '%' &&
	       strcmp(next->text, "_") && then->kind == TOK_PUNCT && !strcmp(then->text, "=");
}

/* A region's name is followed by its parameters, captures or brace. */
static bool
at_region_name(const Parser *parser)
{
	const Token *token = scan_peek(parser->scan), *then = scan_peek_at(parser->scan, 1);
	bool is_name = token->kind == TOK_NAME && token->text[0] != '%' && strcmp(token->text, "yield");
	return is_name &&
	       (!strcmp(then->text, "(") || !strcmp(then->text, "{") || !strcmp(then->text, "uses"));
}

static void
parse_regions(Parser *parser, Node *node)
{
	for (;;) {
		if (at_region_name(parser))
			parse_region(parser, node, scan_next(parser->scan)->text);
		else if (scan_at(parser->scan, "{"))
			parse_region(parser, node, "body");
		else
			return;
	}
}

static void
parse_node(Parser *parser, Region *region, const Left *left, Loc loc)
{
	const char *op = scan_name(parser->scan, "operator");
	VEC(Value *) inputs = {0};
	scan_expect(parser->scan, "(", "before inputs");
	while (!scan_at(parser->scan, ")")) {
		Value *input = NULL;
		if (inputs.count)
			scan_expect(parser->scan, ",", "between inputs");
		if (!scan_accept(parser->scan, "_"))
			input = parse_use(parser, region);
		vec_push(parser->arena, &inputs, input);
	}
	scan_next(parser->scan);
	Node *node = node_new(region, NULL, op, &loc, inputs.count, inputs.data, left->names.count,
	                      left->names.data);
	for (int i = 0; i < node->noutput; i++) {
		if (!node->outputs[i])
			continue;
		node->outputs[i]->type = left->types.data[i];
		node->outputs[i]->layout = left->layouts.data[i];
	}
	if (at_attrs(parser)) {
		scan_next(parser->scan);
		parse_attrs(parser, node);
	}
	parse_origins(parser, node);
	parse_regions(parser, node);
}

static bool
at_constant(const Parser *parser)
{
	return scan_at(parser->scan, "weight") || scan_at(parser->scan, "default") ||
	       scan_at(parser->scan, "{");
}

/* One line that defines values. */
static void
parse_definition(Parser *parser, Region *region)
{
	Left left = {0};
	Loc loc = scan_loc(parser->scan);
	parse_left(parser, &left);
	if (!at_constant(parser)) {
		parse_node(parser, region, &left, loc);
		return;
	}
	if (left.names.count != 1 || !left.names.data[0] || region->parent)
		fail(&loc, "a constant is one name in the graph's own body");
	parse_constant(parser, left.names.data[0], &left.types.data[0], left.layouts.data[0]);
}

/* ---- symbols --------------------------------------------------------------------------------- */

static void
skip_line(Parser *parser)
{
	while (scan_peek(parser->scan)->kind != TOK_END && !scan_peek(parser->scan)->starts_line)
		scan_next(parser->scan);
}

static void
parse_symbol(Parser *parser)
{
	const char *name = scan_name(parser->scan, "symbol");
	const Symbol *symbol = symbol_get(parser->graph->ctx, name);
	if (scan_accept(parser->scan, "in")) { /* read before everything else */
		scan_integer(parser->scan, "lower end");
		scan_expect(parser->scan, "..", "in a range");
		scan_integer(parser->scan, "upper end");
	}
	if (!scan_accept(parser->scan, "="))
		return;
	vec_push(parser->arena, &parser->pending, (Pending){symbol, parser->scan->position});
	skip_line(parser);
}

/* Ranges must be known before the first dim is made. */
static void
read_ranges(Parser *parser)
{
	Scanner ahead = *parser->scan;
	for (; scan_peek(&ahead)->kind != TOK_END; scan_next(&ahead)) {
		if (!scan_at(&ahead, "symbol") || !scan_peek(&ahead)->starts_line)
			continue;
		scan_next(&ahead);
		const Symbol *symbol = symbol_get(parser->graph->ctx, scan_name(&ahead, "symbol"));
		if (!scan_accept(&ahead, "in"))
			continue;
		Loc loc = scan_loc(&ahead);
		int64_t lo = scan_integer(&ahead, "lower end");
		scan_expect(&ahead, "..", "in a range");
		int64_t hi = scan_integer(&ahead, "upper end");
		if (lo > hi)
			fail(&loc, "the range of %s is empty", symbol->name);
		symbol_set_range(symbol, lo, hi);
	}
}

static void
resolve_symbol(Parser *parser, const Pending *pending)
{
	Scanner *scan = parser->scan;
	SymbolDef def = {.symbol = pending->symbol};
	scan->position = pending->position;
	Loc loc = scan_loc(scan);
	if (symbol_def_find(parser->graph, pending->symbol))
		fail(&loc, "symbol %s is defined twice", pending->symbol->name);
	if (at_value(parser)) {
		def.source = SYMBOL_ELEMENT;
		def.value = parse_use(parser, NULL);
		scan_expect(scan, "[", "before an element's number");
		def.index = (int)scan_integer(scan, "element's number");
		scan_expect(scan, "]", "after an element's number");
	} else if (scan_accept(scan, "dim")) {
		def.source = SYMBOL_DIM;
		scan_expect(scan, "(", "after dim");
		def.value = parse_use(parser, NULL);
		scan_expect(scan, ",", "before an axis");
		def.index = (int)scan_integer(scan, "axis");
		scan_expect(scan, ")", "after an axis");
	} else {
		TextScope scope = {.symbols = SYMBOLS_KNOWN};
		def.source = SYMBOL_EXPR;
		def.expr = expr_parse_in(parser->graph->ctx, scan, &scope, DT_I64);
	}
	symbol_def_add(parser->graph, &def);
}

static void
parse_assumption(Parser *parser)
{
	ExprCtx *ctx = parser->graph->ctx;
	TextScope scope = {.symbols = SYMBOLS_NEW};
	Assumption assumption = {.loc = scan_loc(parser->scan)};
	const Expr *equal = expr_parse_in(ctx, parser->scan, &scope, DT_BOOL);
	if (equal->op == EX_eq) {
		assumption.a = dim_from_expr(ctx, equal->arg[0]);
		assumption.b = dim_from_expr(ctx, equal->arg[1]);
	}
	if (!assumption.a || !assumption.b)
		fail(&assumption.loc, "expected dim == dim");
	assumption.what = scan_string(parser->scan, "reason");
	vec_push(parser->arena, &parser->graph->assumptions, assumption);
}

/* ---- regions --------------------------------------------------------------------------------- */

static void
parse_lines(Parser *parser, Region *region)
{
	for (;;) {
		const Token *next = scan_peek_at(parser->scan, 1);
		bool is_word = !region->parent && next->kind != TOK_PUNCT;
		if (scan_at(parser->scan, "}") || scan_at(parser->scan, "yield"))
			return;
		if (is_word && scan_accept(parser->scan, "symbol"))
			parse_symbol(parser);
		else if (!region->parent && scan_accept(parser->scan, "assume"))
			parse_assumption(parser);
		else
			parse_definition(parser, region);
	}
}

static void
parse_results(Parser *parser, Region *region)
{
	VEC(Value *) results = {0};
	if (!at_value(parser)) {
		region_set_results(region, 0, NULL);
		return;
	}
	do
		vec_push(parser->arena, &results, parse_use(parser, region));
	while (scan_accept(parser->scan, ","));
	region_set_results(region, results.count, results.data);
}

static void
parse_params(Parser *parser, Region *region)
{
	if (!scan_accept(parser->scan, "("))
		return;
	while (!scan_at(parser->scan, ")")) {
		Type type;
		if (region->nparam)
			scan_expect(parser->scan, ",", "between parameters");
		const char *name = parse_new_name(parser);
		const char *layout = parse_declared(parser, &type);
		Value *param = region->parent ? region_param(region, name, &type)
		                              : graph_input(parser->graph, name, &type);
		param->layout = layout;
	}
	scan_next(parser->scan);
}

static void
parse_region(Parser *parser, Node *node, const char *name)
{
	Region *region = region_new(node, name);
	parse_params(parser, region);
	Claim claim = {.region = region, .loc = scan_loc(parser->scan)};
	if (scan_accept(parser->scan, "uses")) {
		do
			vec_push(parser->arena, &claim.values, parse_use(parser, region));
		while (scan_accept(parser->scan, ","));
		vec_push(parser->arena, &parser->claims, claim);
	}
	scan_expect(parser->scan, "{", "before a region");
	parse_lines(parser, region);
	scan_expect(parser->scan, "yield", "at the end of a region");
	parse_results(parser, region);
	scan_expect(parser->scan, "}", "after a region");
}

static void
check_claims(const Parser *parser)
{
	for (int i = 0; i < parser->claims.count; i++) {
		const Claim *claim = &parser->claims.data[i];
		bool is_same = claim->values.count == claim->region->captures.count;
		for (int k = 0; is_same && k < claim->values.count; k++)
			is_same = claim->values.data[k] == claim->region->captures.data[k];
		if (!is_same)
			fail(&claim->loc, "the values that region %s uses are not these, in this order",
			     claim->region->name);
	}
}

/* ---- the graph ------------------------------------------------------------------------------- */

static const char *
parse_graph_name(Scanner *scan)
{
	if (scan_peek(scan)->kind == TOK_STRING)
		return scan_next(scan)->text;
	return scan_name(scan, "graph's name");
}

/* Names of outputs come before their definitions: remember where, and read them at the end. */
static int
skip_outputs(Parser *parser)
{
	if (!scan_accept(parser->scan, "->"))
		return -1;
	int position = parser->scan->position;
	while (!scan_at(parser->scan, "{") && scan_peek(parser->scan)->kind != TOK_END)
		scan_next(parser->scan);
	return position;
}

Graph *
graph_parse(Arena *arena, const char *file, const char *text)
{
	Scanner scan;
	scan_open(&scan, arena, file, text);
	scan_expect(&scan, "graph", "at the beginning");
	Graph *graph = graph_new(arena, parse_graph_name(&scan), file);
	Parser parser = {.graph = graph, .arena = arena, .scan = &scan};
	read_ranges(&parser);
	if (!scan_at(&scan, "("))
		fail_here(&parser, "expected '(' after the graph's name");
	parse_params(&parser, graph->body);
	int outputs = skip_outputs(&parser);
	scan_expect(&scan, "{", "before the graph's lines");
	parse_lines(&parser, graph->body);
	scan_expect(&scan, "}", "after the graph's lines");
	if (scan_peek(&scan)->kind != TOK_END)
		fail_here(&parser, "expected the end of the text, saw '%s'", scan_peek(&scan)->text);
	if (outputs >= 0) {
		scan.position = outputs;
		parse_results(&parser, graph->body);
		scan_expect(&scan, "{", "after the graph's outputs");
	}
	for (int i = 0; i < parser.pending.count; i++)
		resolve_symbol(&parser, &parser.pending.data[i]);
	region_update_captures(graph->body);
	check_claims(&parser);
	return graph;
}
