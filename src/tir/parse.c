/* Kernels from text (the form at the head of stmt.h).
 *
 *     kernel  = "kernel" name "(" [ argument { "," argument } ] ")" [ "flat" ] [ string ]
 *               "{" { stmt } "}" [ "schedule" "{" { step } "}" ]    see script.h
 *     argument = name [ "in" integer ".." integer ]                 a symbol
 *              | name ":" [ "out" ] [ "alias" ] type                a buffer
 *     type    = dtype [ "[" dim { "," dim } "]" ] [ "strides" "(" dim { "," dim } ")" ]
 *     stmt    = "for" range { "," range } [ "@" bind [ "(" lanes ")" ] ] block
 *             | "if" "(" scalar ")" block [ "else" block ]
 *             | "let" name "=" scalar
 *             | name ":" type "@" scope [ "(" lanes ")" ] [ "=" scalar ]
 *             | "sync"
 *             | name "[" scalar … "]" ( "=" | "+=" | "*=" | "max=" | "min=" ) ( scalar | warp_op )
 *             | warp_op
 *     warp_op = name of a row of warp.def "(" [ scalar { "," scalar } ] ")"
 *     range   = name "in" scalar [ ".." scalar ]
 *     block   = "{" { stmt } "}" | stmt
 *
 * Inner names hide outer ones. Scalars are read by expr/index/text.h; a name that is neither
 * variable nor buffer is a symbol.
 */
#include "tir/text.h"

#include <stdio.h>

#include "expr/index/text.h"
#include "tir/script.h"

/* What a name meant outside the scope that redefines it. */
typedef struct Hidden {
	const char *name;
	void *var, *tensor;
} Hidden;

typedef struct Parser {
	Scanner scan;
	Kernel *kernel;
	Map vars, tensors; /* names in scope to Exprs, to Tensors */
	VEC(Hidden) hidden;
	TextScope scope;
} Parser;

/* Define a name until leave_scope() with an earlier mark. */
static void
add_name(Parser *parser, const char *name, const Var *var, const Buffer *buffer)
{
	Hidden hidden = {name, map_find(&parser->vars, name), map_find(&parser->tensors, name)};
	vec_push(parser->kernel->arena, &parser->hidden, hidden);
	const Expr *value = var ? expr_var(parser->kernel->ctx, var) : NULL;
	if (buffer && buffer->tensor.rank == 0) /* `acc` may stand for `acc[]` */
		value = expr_read(parser->kernel->ctx, &buffer->tensor, NULL);
	map_set(&parser->vars, name, (void *)value);
	map_set(&parser->tensors, name, (void *)buffer);
}

static void
leave_scope(Parser *parser, int mark)
{
	while (parser->hidden.count > mark) {
		Hidden hidden = parser->hidden.data[--parser->hidden.count];
		map_set(&parser->vars, hidden.name, hidden.var);
		map_set(&parser->tensors, hidden.name, hidden.tensor);
	}
}

/* `type`: of a number that stands alone, and of the result; DT_NONE: any. */
static const Expr *
parse_scalar(Parser *parser, DType type)
{
	return expr_parse_in(parser->kernel->ctx, &parser->scan, &parser->scope, type);
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
		stride[d] = dim_parse(parser->kernel->ctx, &parser->scan);
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
			dims[rank++] = dim_parse(parser->kernel->ctx, &parser->scan);
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
	Kernel *kernel = parser->kernel;
	const Symbol *symbol = symbol_get(kernel->ctx, name);
	vec_push(kernel->arena, &kernel->symbols, symbol);
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
	int mark = parser->hidden.count;
	StmtList list = {0};
	if (!scan_accept(&parser->scan, "{")) {
		list.first = parse_stmt(parser);
	} else {
		while (!scan_accept(&parser->scan, "}"))
			stmt_list_add(&list, parse_stmt(parser));
	}
	leave_scope(parser, mark);
	return list.first;
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

/* (i32x16): a vector loop of 16 lanes of 4 bytes. */
static void
parse_lanes(Parser *parser, Stmt *loop)
{
	int bits = 0, end = 0;
	if (loop->bind != BIND_VECTOR || !scan_accept(&parser->scan, "("))
		return;
	Loc loc = scan_loc(&parser->scan);
	const char *name = scan_name(&parser->scan, "lanes");
	if (sscanf(name, "i%2dx%2d%n", &bits, &loop->lanes, &end) != 2 || name[end] ||
	    (bits != 32 && bits != 64) || loop->lanes < 2 || loop->lanes > 16 ||
	    (loop->lanes & (loop->lanes - 1)))
		fail(&loc, "expected lanes as i32x16 or i64x4, saw %s", name);
	loop->lane_bytes = bits / 8;
	scan_expect(&parser->scan, ")", "after the lanes");
}

/* How many tasks there are is asked before anything runs. */
static void
check_parallel(Parser *parser, const Loc *loc, const Expr *lo, const Expr *hi)
{
	ExprCtx *ctx = parser->kernel->ctx;
	if (!dim_from_expr(ctx, expr_sub(ctx, hi, lo)))
		fail(loc, "the extent of a @parallel loop is a dim: numbers and symbols");
}

static Stmt *
parse_for(Parser *parser)
{
	Kernel *kernel = parser->kernel;
	int mark = parser->hidden.count;
	const char *name = scan_name(&parser->scan, "loop variable");
	scan_expect(&parser->scan, "in", "after the loop variable");
	const Expr *lo = expr_i64(kernel->ctx, 0), *hi = parse_scalar(parser, DT_I64);
	if (scan_accept(&parser->scan, "..")) {
		lo = hi;
		hi = parse_scalar(parser, DT_I64);
	}
	const Var *var = var_new(kernel->ctx, name, DT_I64, lo, hi);
	add_name(parser, name, var, NULL);
	Stmt *loop = stmt_for(kernel, var, lo, hi, BIND_SERIAL, NULL);
	if (scan_accept(&parser->scan, ",")) {
		loop->body = parse_for(parser);
	} else {
		Loc loc = scan_loc(&parser->scan);
		loop->bind = parse_bind(parser);
		parse_lanes(parser, loop);
		if (loop->bind == BIND_PARALLEL)
			check_parallel(parser, &loc, lo, hi);
		loop->body = parse_block(parser);
	}
	leave_scope(parser, mark);
	return loop;
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
parse_alloc(Parser *parser, const char *name)
{
	Buffer *buffer = parse_buffer(parser, name, false);
	Loc loc = scan_loc(&parser->scan);
	const char *scope = scan_name(&parser->scan, "scope");
	int found = *scope == '@' ? scope_by_name(scope + 1) : -1;
	if (found < 0)
		fail(&loc, "expected @reg, @stack, @scratch or @shared, saw %s", scope);
	buffer->scope = (Scope)found;
	if (buffer->scope == SCOPE_REG && scan_accept(&parser->scan, "(")) {
		buffer->lanes = (int)scan_integer(&parser->scan, "lanes");
		scan_expect(&parser->scan, ")", "after the lanes");
	}
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
parse_warp_op(Parser *parser, const WarpOp *warp_op, const Buffer *buffer, const Expr *const *index,
              int op)
{
	const Expr *args[WARP_ARGS];
	DType result = buffer ? buffer->tensor.type : DT_NONE;
	scan_expect(&parser->scan, "(", "after the operation's name");
	for (int i = 0; i < warp_op->nargs; i++) {
		if (i)
			scan_expect(&parser->scan, ",", "between operands");
		Loc loc = scan_loc(&parser->scan);
		args[i] = parse_scalar(parser, warp_op_operand_type(warp_op, i, result));
		if (warp_op_takes_place(warp_op, i) && args[i]->op != EX_read)
			fail(&loc, "operand %d of %s is an element of a buffer", i + 1, warp_op->name);
	}
	scan_expect(&parser->scan, ")", "after operands");
	return stmt_warp_op(parser->kernel, warp_op, buffer, index, op, args);
}

/* The operation whose name comes next; NULL: none. */
static const WarpOp *
peek_warp_op(Parser *parser, bool has_result)
{
	const Token *token = scan_peek(&parser->scan);
	const WarpOp *warp_op = token->kind == TOK_NAME ? warp_op_find(token->text) : NULL;
	return warp_op && warp_op_has_result(warp_op) == has_result ? warp_op : NULL;
}

static Stmt *
parse_store(Parser *parser, const Loc *loc, const char *name)
{
	const Buffer *buffer = map_find(&parser->tensors, name);
	if (!buffer)
		fail(loc, "%s is no buffer here", name);
	const Expr *index[ARRAY_MAX_RANK];
	int rank = buffer->tensor.rank;
	bool is_bracketed = rank > 0 || scan_at(&parser->scan, "[");
	if (is_bracketed)
		scan_expect(&parser->scan, "[", "in a store");
	for (int d = 0; d < rank; d++) {
		if (d)
			scan_expect(&parser->scan, ",", "between the indices of a store");
		index[d] = parse_scalar(parser, DT_NONE);
	}
	if (is_bracketed)
		scan_expect(&parser->scan, "]", "after the indices of a store");
	int op = parse_store_op(parser);
	const WarpOp *warp_op = peek_warp_op(parser, true);
	if (warp_op) {
		scan_next(&parser->scan);
		return parse_warp_op(parser, warp_op, buffer, index, op);
	}
	const Expr *value = parse_scalar(parser, buffer->tensor.type);
	return stmt_store(parser->kernel, buffer, index, op, value);
}

static Stmt *
parse_stmt(Parser *parser)
{
	static const struct {
		const char *word;
		Stmt *(*parse)(Parser *parser);
	} words[] = {{"for", parse_for}, {"if", parse_if}, {"let", parse_let}};
	Loc loc = scan_loc(&parser->scan);
	Stmt *stmt = NULL;
	for (size_t i = 0; i < countof(words) && !stmt; i++)
		if (scan_accept(&parser->scan, words[i].word))
			stmt = words[i].parse(parser);
	if (!stmt && scan_accept(&parser->scan, "sync"))
		stmt = stmt_sync(parser->kernel);
	const WarpOp *warp_op = stmt ? NULL : peek_warp_op(parser, false);
	if (warp_op) {
		scan_next(&parser->scan);
		stmt = parse_warp_op(parser, warp_op, NULL, NULL, STORE_SET);
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
	parser.vars.arena = parser.tensors.arena = arena;
	parser.scope =
		(TextScope){.names = &parser.vars, .tensors = &parser.tensors, .symbols = SYMBOLS_NEW};
	scan_expect(&parser.scan, "(", "after the kernel's name");
	if (!scan_at(&parser.scan, ")"))
		do
			parse_argument(&parser);
		while (scan_accept(&parser.scan, ","));
	scan_expect(&parser.scan, ")", "after the arguments");
	kernel->is_flat = scan_accept(&parser.scan, "flat");
	if (scan_peek(&parser.scan)->kind == TOK_STRING)
		kernel->ancestry = scan_string(&parser.scan, "ancestry");
	scan_expect(&parser.scan, "{", "before the kernel's body");
	StmtList body = {0};
	while (!scan_accept(&parser.scan, "}"))
		stmt_list_add(&body, parse_stmt(&parser));
	kernel->body = body.first;
	if (scan_accept(&parser.scan, "schedule")) {
		scan_expect(&parser.scan, "{", "before the steps of a schedule");
		kernel->script = script_parse(arena, &parser.scan);
		scan_expect(&parser.scan, "}", "after the steps of a schedule");
	}
	kernel_finish(kernel);
	return kernel;
}
