/* Kernels from text (the form at the head of stmt.h).
 *
 *     kernel  = "kernel" name "(" [ argument { "," argument } ] ")" [ string ] "{" { stmt } "}"
 *     argument = name [ "in" integer ".." integer ]                 a symbol
 *              | name ":" [ "out" ] [ "alias" ] type                a buffer
 *     type    = dtype [ "[" dim { "," dim } "]" ] [ "strides" "(" ( dim | "_" ) … ")" ]
 *     stmt    = "for" range { "," range } [ "@" bind ] block
 *             | "if" "(" scalar ")" block [ "else" block ]
 *             | "let" name "=" scalar
 *             | name ":" type "@" scope [ "=" scalar ]
 *             | "check" integer "(" scalar ")" "value" scalar
 *             | "sync"
 *             | name [ "[" scalar … "]" ] ( "=" | "+=" | "*=" | "max=" | "min=" ) scalar
 *     range   = name "in" scalar [ ".." scalar ]
 *     block   = "{" { stmt } "}" | stmt
 *
 * Inner names hide outer ones. Scalars are read by expr/text.h, which asks here what a name means.
 */
#include "tir/text.h"

#include <string.h>

#include "base/scan.h"
#include "expr/text.h"

typedef struct Name {
	const char *name;
	const Var *var;       /* one of the two */
	const Buffer *buffer;
} Name;

typedef struct Parser {
	Scanner scan;
	Kernel *kernel;
	VEC(Name) names; /* in scope, innermost last */
} Parser;

static const Name *
find_name(const Parser *parser, const char *name)
{
	for (int i = parser->names.count - 1; i >= 0; i--)
		if (strcmp(parser->names.data[i].name, name) == 0)
			return &parser->names.data[i];
	return NULL;
}

static void
add_name(Parser *parser, const char *name, const Var *var, const Buffer *buffer)
{
	vec_push(parser->kernel->arena, &parser->names, (Name){name, var, buffer});
}

/* What a name in a scalar means; symbols are whatever is neither variable nor buffer. */
static bool
resolve(void *arg, const char *name, const Var **var, const Tensor **tensor)
{
	const Name *found = find_name(arg, name);
	if (!found)
		return false;
	*var = found->var;
	*tensor = found->buffer ? &found->buffer->tensor : NULL;
	return true;
}

static const Expr *
parse_scalar(Parser *parser, DType wanted)
{
	return text_scalar(&parser->scan, parser->kernel->ctx, resolve, parser, wanted);
}

static const Dim *
parse_dim(Parser *parser)
{
	Loc loc = scan_loc(&parser->scan);
	const Dim *dim = dim_from_expr(parser->kernel->ctx, parse_scalar(parser, DT_I64));
	if (!dim)
		fail(&loc, "expected a dim over symbols and numbers");
	return dim;
}

/* ---- types and arguments --------------------------------------------------------------------- */

static DType
parse_dtype(Parser *parser)
{
	Loc loc = scan_loc(&parser->scan);
	const char *name = scan_name(&parser->scan, "an element type");
	DType type = dtype_find(name);
	if (type == DT_NONE || dtype_class(type) == DC_X)
		fail(&loc, "%s is no element type of kernels", name);
	return type;
}

static void
parse_strides(Parser *parser, Buffer *buffer)
{
	int rank = buffer->tensor.rank;
	const Expr **stride = NEW_N(parser->kernel->arena, const Expr *, rank + 1);
	scan_expect(&parser->scan, "(", "after strides");
	for (int d = 0; d < rank; d++) {
		if (d)
			scan_expect(&parser->scan, ",", "between strides");
		if (!scan_accept(&parser->scan, "_"))
			stride[d] = parse_dim(parser);
	}
	scan_expect(&parser->scan, ")", "after strides");
	buffer->stride = stride;
}

/* A buffer of the type that follows; its scope is set by the caller. */
static Buffer *
parse_buffer(Parser *parser, const char *name, bool is_output)
{
	const Dim *dims[ARRAY_MAX_RANK];
	Kernel *kernel = parser->kernel;
	DType type = parse_dtype(parser);
	int rank = 0;
	if (scan_accept(&parser->scan, "[")) {
		do {
			Loc loc = scan_loc(&parser->scan);
			if (rank == ARRAY_MAX_RANK)
				fail(&loc, "more than %d dims", ARRAY_MAX_RANK);
			dims[rank++] = parse_dim(parser);
		} while (scan_accept(&parser->scan, ","));
		scan_expect(&parser->scan, "]", "after dims");
	}
	bool has_strides = scan_accept(&parser->scan, "strides");
	Buffer *buffer = kernel_local(kernel, name, type, rank, dims, SCOPE_REG);
	if (has_strides)
		parse_strides(parser, buffer);
	buffer->is_output = is_output;
	return buffer;
}

static void
parse_symbol(Parser *parser, const char *name)
{
	const Symbol *symbol = symbol_get(parser->kernel->ctx, name);
	if (!scan_accept(&parser->scan, "in"))
		return;
	int64_t lo = scan_integer(&parser->scan, "lower bound");
	scan_expect(&parser->scan, "..", "between the bounds of a symbol");
	int64_t hi = scan_integer(&parser->scan, "upper bound");
	Loc loc = scan_loc(&parser->scan);
	if (lo > hi)
		fail(&loc, "symbol %s has an empty range", name);
	symbol_set_range(symbol, lo, hi);
}

static void
parse_argument(Parser *parser)
{
	Kernel *kernel = parser->kernel;
	const char *name = scan_name(&parser->scan, "argument");
	if (!scan_accept(&parser->scan, ":")) {
		parse_symbol(parser, name);
		return;
	}
	bool is_output = scan_accept(&parser->scan, "out");
	bool may_alias = scan_accept(&parser->scan, "alias");
	Buffer *buffer = parse_buffer(parser, name, is_output);
	buffer->scope = SCOPE_PARAM;
	buffer->may_alias = may_alias;
	buffer->param = kernel->buffers.count;
	vec_push(kernel->arena, &kernel->buffers, buffer);
	add_name(parser, buffer->tensor.name, NULL, buffer);
}

/* ---- statements ------------------------------------------------------------------------------ */

static Stmt *parse_stmt(Parser *parser);

static Stmt *
parse_block(Parser *parser)
{
	int mark = parser->names.count;
	Stmt *list = NULL;
	if (!scan_accept(&parser->scan, "{")) {
		list = parse_stmt(parser);
	} else {
		while (!scan_accept(&parser->scan, "}"))
			list = stmt_append(list, parse_stmt(parser));
	}
	parser->names.count = mark;
	return list;
}

static Bind
parse_bind(Parser *parser)
{
	const Token *token = scan_peek(&parser->scan);
	if (token->kind != TOK_NAME || token->text[0] != '@')
		return BIND_SERIAL;
	Loc loc = scan_loc(&parser->scan);
	Bind bind = bind_find(scan_next(&parser->scan)->text + 1);
	if (bind == BIND_COUNT)
		fail(&loc, "%s is no binding of a loop", token->text);
	return bind;
}

static Stmt *
parse_for(Parser *parser)
{
	Kernel *kernel = parser->kernel;
	int mark = parser->names.count;
	const char *name = scan_name(&parser->scan, "loop variable");
	scan_expect(&parser->scan, "in", "after the loop variable");
	const Expr *lo = expr_i64(kernel->ctx, 0), *hi = parse_scalar(parser, DT_I64);
	if (scan_accept(&parser->scan, "..")) {
		lo = hi;
		hi = parse_scalar(parser, DT_I64);
	}
	const Var *var = var_new(kernel->ctx, name, DT_I64, lo, hi);
	add_name(parser, name, var, NULL);
	Stmt *body;
	Bind bind = BIND_SERIAL;
	if (scan_accept(&parser->scan, ",")) {
		body = parse_for(parser);
	} else {
		bind = parse_bind(parser);
		body = parse_block(parser);
	}
	parser->names.count = mark;
	return stmt_for(kernel, var, lo, hi, bind, body);
}

static Stmt *
parse_if(Parser *parser)
{
	scan_expect(&parser->scan, "(", "after if");
	const Expr *condition = parse_scalar(parser, DT_BOOL);
	scan_expect(&parser->scan, ")", "after the condition");
	Stmt *body = parse_block(parser);
	Stmt *other = scan_accept(&parser->scan, "else") ? parse_block(parser) : NULL;
	return stmt_if(parser->kernel, condition, body, other);
}

static Stmt *
parse_let(Parser *parser)
{
	const char *name = scan_name(&parser->scan, "variable");
	scan_expect(&parser->scan, "=", "after the variable");
	const Expr *value = parse_scalar(parser, DT_NONE);
	const Var *var = var_new(parser->kernel->ctx, name, value->type, NULL, NULL);
	add_name(parser, name, var, NULL);
	return stmt_let(parser->kernel, var, value);
}

static Stmt *
parse_check(Parser *parser)
{
	int code = (int)scan_integer(&parser->scan, "code");
	scan_expect(&parser->scan, "(", "after the code");
	const Expr *condition = parse_scalar(parser, DT_BOOL);
	scan_expect(&parser->scan, ")", "after the condition");
	scan_expect(&parser->scan, "value", "after the condition");
	return stmt_check(parser->kernel, condition, code, parse_scalar(parser, DT_I64));
}

static Stmt *
parse_alloc(Parser *parser, const char *name)
{
	Buffer *buffer = parse_buffer(parser, name, false);
	Loc loc = scan_loc(&parser->scan);
	const char *scope = scan_name(&parser->scan, "scope");
	int found = *scope == '@' ? scope_find(scope + 1) : -1;
	if (found < 0)
		fail(&loc, "expected @reg, @stack, @scratch or @shared, saw %s", scope);
	buffer->scope = (Scope)found;
	const Expr *initial = NULL;
	if (scan_accept(&parser->scan, "="))
		initial = parse_scalar(parser, buffer->tensor.type);
	add_name(parser, buffer->tensor.name, NULL, buffer);
	return stmt_alloc(parser->kernel, buffer, initial);
}

static int
parse_store_op(Parser *parser)
{
	static const struct {
		const char *text;
		int op;
	} ops[] = {{"*", REDUCE_prod}, {"max", REDUCE_max}, {"min", REDUCE_min}};
	if (scan_accept(&parser->scan, "+="))
		return REDUCE_sum;
	for (size_t i = 0; i < countof(ops); i++) {
		if (!scan_accept(&parser->scan, ops[i].text))
			continue;
		scan_expect(&parser->scan, "=", "in a store");
		return ops[i].op;
	}
	scan_expect(&parser->scan, "=", "in a store");
	return STORE_SET;
}

static Stmt *
parse_store(Parser *parser, const Loc *loc, const char *name)
{
	const Name *found = find_name(parser, name);
	if (!found || !found->buffer)
		fail(loc, "%s is no buffer here", name);
	const Expr *index[ARRAY_MAX_RANK];
	int rank = found->buffer->tensor.rank;
	for (int d = 0; d < rank; d++) {
		scan_expect(&parser->scan, d ? "," : "[", "in the indices of a store");
		index[d] = parse_scalar(parser, DT_I64);
	}
	if (rank)
		scan_expect(&parser->scan, "]", "after the indices of a store");
	int op = parse_store_op(parser);
	const Expr *value = parse_scalar(parser, found->buffer->tensor.type);
	if (value->type != found->buffer->tensor.type)
		fail(loc, "a store of %s to %s: %s", dtype_name(value->type), name,
		     dtype_name(found->buffer->tensor.type));
	return stmt_store(parser->kernel, found->buffer, index, op, value);
}

static Stmt *
parse_stmt(Parser *parser)
{
	static const struct {
		const char *word;
		Stmt *(*parse)(Parser *parser);
	} words[] = {{"for", parse_for}, {"if", parse_if}, {"let", parse_let}, {"check", parse_check}};
	Loc loc = scan_loc(&parser->scan);
	Stmt *stmt = NULL;
	for (size_t i = 0; i < countof(words) && !stmt; i++)
		if (scan_accept(&parser->scan, words[i].word))
			stmt = words[i].parse(parser);
	if (!stmt && scan_accept(&parser->scan, "sync")) {
		stmt = stmt_check(parser->kernel, NULL, 0, NULL);
		stmt->kind = STMT_SYNC;
	}
	if (!stmt) {
		const char *name = scan_name(&parser->scan, "statement");
		stmt = scan_accept(&parser->scan, ":") ? parse_alloc(parser, name)
		                                       : parse_store(parser, &loc, name);
	}
	stmt->loc = loc;
	return stmt;
}

Kernel *
kernel_parse(Arena *arena, ExprCtx *ctx, const char *file, const char *text)
{
	Parser parser = {0};
	scan_open(&parser.scan, arena, file, text);
	Loc loc = scan_loc(&parser.scan);
	scan_expect(&parser.scan, "kernel", "at the beginning of a kernel");
	Kernel *kernel = kernel_new(arena, ctx, scan_name(&parser.scan, "kernel's name"), &loc);
	parser.kernel = kernel;
	scan_expect(&parser.scan, "(", "after the kernel's name");
	if (!scan_at(&parser.scan, ")"))
		do
			parse_argument(&parser);
		while (scan_accept(&parser.scan, ","));
	scan_expect(&parser.scan, ")", "after the arguments");
	if (scan_peek(&parser.scan)->kind == TOK_STRING)
		kernel->ancestry = scan_string(&parser.scan, "ancestry");
	scan_expect(&parser.scan, "{", "before the kernel's body");
	while (!scan_accept(&parser.scan, "}"))
		kernel->body = stmt_append(kernel->body, parse_stmt(&parser));
	kernel_finish(kernel);
	return kernel;
}
