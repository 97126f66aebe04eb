/* Reading the text of a graph (print.c shows it). Every error has file and line. */
#include <string.h>

#include "expr/index/text.h"
#include "expr/scalar/ctx.h"
#include "graph/parser.h"

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
		scan_fail(parser->scan, "expected a value (%%name), saw '%s'",
		          scan_peek(parser->scan)->text);
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
		scan_fail(parser->scan, "%%%s is defined twice", name);
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

/* ---- nodes ----------------------------------------------------------------------------------- */

enum { MAX_REGIONS = 200 }; /* whatever walks over a graph goes down into them */

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

/* The string behind a node is its name in the model; `from` lists those it was made from, of which
 * it is the only one where there is no such list. */
static void
parse_origins(Parser *parser, Node *node)
{
	if (scan_peek(parser->scan)->kind == TOK_STRING)
		node->loc.node = scan_next(parser->scan)->text;
	if (!scan_accept(parser->scan, "from")) {
		if (node->loc.node && node->loc.node[0])
			vec_push(parser->arena, &node->origins, node->loc.node);
		return;
	}
	do
		vec_push(parser->arena, &node->origins, scan_string(parser->scan, "name of a node"));
	while (scan_accept(parser->scan, ","));
}

static bool
at_attrs(const Parser *parser)
{
	const Token *next = scan_peek_at(parser->scan, 1), *then = scan_peek_at(parser->scan, 2);
	return scan_at(parser->scan, "{") && next->kind == TOK_NAME && next->text[0] != '%' &&
	       strcmp(next->text, "_") != 0 && then->kind == TOK_PUNCT && !strcmp(then->text, "=");
}

/* A region's name is followed by its parameters, captures or brace. */
static bool
at_region_name(const Parser *parser)
{
	const Token *token = scan_peek(parser->scan), *then = scan_peek_at(parser->scan, 1);
	bool is_name =
		token->kind == TOK_NAME && token->text[0] != '%' && strcmp(token->text, "yield") != 0;
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
parse_symbol(Parser *parser, Region *region)
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
	vec_push(parser->arena, &parser->pending, (Pending){symbol, region, parser->scan->position});
	skip_line(parser);
}

/* Ranges must be known before the first dim is made. */
static void
read_ranges(Parser *parser)
{
	Scanner ahead = *parser->scan;
	while (scan_peek(&ahead)->kind != TOK_END) {
		bool is_symbol = scan_at(&ahead, "symbol") && scan_peek(&ahead)->starts_line;
		scan_next(&ahead);
		if (!is_symbol)
			continue;
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
		def.region = pending->region->parent ? pending->region : NULL;
		def.expr = expr_parse_in(parser->graph->ctx, scan, &scope, DT_I64);
	}
	symbol_def_add(parser->graph, &def);
}

static void
parse_assumption(Parser *parser, Region *region)
{
	ExprCtx *ctx = parser->graph->ctx;
	TextScope scope = {.symbols = SYMBOLS_NEW};
	Assumption assumption = {.loc = scan_loc(parser->scan), .region = region};
	const Expr *equal = expr_parse_in(ctx, parser->scan, &scope, DT_BOOL);
	if (equal->op == EX_eq) {
		assumption.a = dim_from_expr(ctx, equal->arg[0]);
		assumption.b = dim_from_expr(ctx, equal->arg[1]);
	}
	if (!assumption.a || !assumption.b)
		fail(&assumption.loc, "expected dim == dim");
	assumption.what = scan_string(parser->scan, "reason");
	vec_push(parser->arena, &parser->graph->assumptions, assumption);
	dim_assume_equal(ctx, assumption.a, assumption.b);
}

/* ---- regions --------------------------------------------------------------------------------- */

static void
parse_lines(Parser *parser, Region *region)
{
	for (;;) {
		if (scan_at(parser->scan, "}") || scan_at(parser->scan, "yield"))
			return;
		if (scan_accept(parser->scan, "symbol"))
			parse_symbol(parser, region);
		else if (scan_accept(parser->scan, "assume"))
			parse_assumption(parser, region);
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
		if (!region->parent && scan_accept(parser->scan, "="))
			parse_default(parser, param);
	}
	scan_next(parser->scan);
}

static void
parse_region(Parser *parser, Node *node, const char *name)
{
	Region *region = region_new(node, name);
	if (++parser->depth > MAX_REGIONS)
		scan_fail(parser->scan, "graphs nested deeper than %d", MAX_REGIONS);
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
	parser->depth--;
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

/* Symbols have the ids that they have in the other graph: they are made in the same order. */
static void
take_symbols(const Graph *from, Graph *to)
{
	for (int i = 0; i < from->ctx->symbol_list.count; i++) {
		const Symbol *symbol = from->ctx->symbol_list.data[i];
		symbol_set_range(symbol_get(to->ctx, symbol->name), symbol->lo, symbol->hi);
	}
}

static void
check_ranges(const Graph *from, const Graph *to)
{
	for (int i = 0; i < from->ctx->symbol_list.count; i++) {
		const Symbol *symbol = from->ctx->symbol_list.data[i];
		const Symbol *now = symbol_get(to->ctx, symbol->name);
		if (now->lo != symbol->lo || now->hi != symbol->hi)
			fail(&(Loc){.file = to->file}, "symbol %s has another range", symbol->name);
	}
}

/* `given`: the graph whose text somebody has changed; or NULL. */
static Graph *
parse(Arena *arena, const char *file, const char *text, bool is_bare, const Graph *given)
{
	Scanner scan;
	scan_open(&scan, arena, file, text);
	scan_expect(&scan, "graph", "at the beginning");
	Graph *graph = graph_new(arena, parse_graph_name(&scan), file);
	Parser parser = {.graph = graph, .arena = arena, .scan = &scan, .is_bare = is_bare};
	parser.given = given;
	if (given)
		take_symbols(given, graph);
	read_ranges(&parser);
	if (given)
		check_ranges(given, graph);
	if (!scan_at(&scan, "("))
		scan_fail(parser.scan, "expected '(' after the graph's name");
	parse_params(&parser, graph->body);
	int outputs = skip_outputs(&parser);
	scan_expect(&scan, "{", "before the graph's lines");
	parse_lines(&parser, graph->body);
	scan_expect(&scan, "}", "after the graph's lines");
	if (scan_peek(&scan)->kind != TOK_END)
		scan_fail(parser.scan, "expected the end of the text, saw '%s'", scan_peek(&scan)->text);
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

Graph *
graph_parse(Arena *arena, const char *file, const char *text)
{
	return parse(arena, file, text, false, NULL);
}

Graph *
graph_parse_bare(Arena *arena, const char *file, const char *text)
{
	return parse(arena, file, text, true, NULL);
}

Graph *
graph_parse_changed(const Graph *given, const char *file, const char *text)
{
	return parse(given->arena, file, text, false, given);
}
