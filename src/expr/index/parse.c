/* Scalars from text: precedence climbing over the infix rows of scalar.def.
 *
 * A number has no type until an operand beside it has one (`x * 2`), so a parsed operand is either
 * an Expr or a number still to be typed.
 */
#include <math.h>
#include <string.h>

#include "expr/index/text.h"
#include "expr/scalar/ctx.h"

/* Scalars are walked by recursion, and each operation may be an operand of the next. */
enum { MAX_NESTING = 6000, MAX_OPERATIONS = 10000, COMPARE_LEVEL = 4, UNARY_LEVEL = 8 };

typedef struct Parser {
	ExprCtx *ctx;
	Scanner *scan;
	const TextScope *scope;
	Map lets; /* names of this scalar */
	int nesting, operations;
} Parser;

/* e, or a number when e is NULL. */
typedef struct Operand {
	const Expr *e;
	double number;
	int64_t integer; /* exact, when is_integer */
	bool is_integer;
} Operand;

static Operand parse_ternary(Parser *p);
static Operand parse_binary(Parser *p, int level);

/* ---- typing numbers -------------------------------------------------------------------------- */

static const Expr *
typed(Parser *p, Operand x, DType type)
{
	ExprCtx *ctx = p->ctx;
	if (x.e)
		return x.e;
	if (type == DT_NONE)
		type = x.is_integer ? DT_I64 : DT_F32;
	if (!dtype_is_arithmetic(type))
		scan_fail(p->scan, "%s has no numbers: convert from another type", dtype_name(type));
	bool is_exact = x.is_integer && !(x.integer == 0 && signbit(x.number));
	if (!is_exact)
		x.integer = (int64_t)(fabs(x.number) < 9e18 ? x.number : 0);
	if (dtype_is_float(type) && !(is_exact && fabs(x.number) < 9e18))
		return expr_number(ctx, type, x.number);
	if (dtype_is_float(type))
		return expr_const(ctx, type, scalar_cast(type, 0, DT_I64, (Scalar){.i64 = x.integer}));
	const Expr *e = expr_const(ctx, type, (Scalar){.i64 = x.integer});
	if (expr_const_f64(e) != x.number)
		scan_fail(p->scan, "the number is not a value of type %s", dtype_name(type));
	return e;
}

/* Give every number the type of the first operand that has one. */
static void
type_group(Parser *p, int count, const Operand *in, const Expr **out)
{
	DType type = DT_NONE;
	bool is_float = false;
	for (int i = count - 1; i >= 0; i--) {
		type = in[i].e ? (DType)in[i].e->type : type;
		is_float |= !in[i].e && !in[i].is_integer;
	}
	if (type == DT_NONE && is_float)
		type = DT_F32;
	for (int i = 0; i < count; i++)
		out[i] = typed(p, in[i], type);
}

/* Arithmetic on two numbers before they have a type. */
static bool
fold_numbers(ExprOp op, Operand a, Operand b, Operand *out)
{
	*out = (Operand){.is_integer = a.is_integer && b.is_integer};
	if (a.e || b.e)
		return false;
	switch (op) {
	case EX_add:
		out->number = a.number + b.number;
		out->is_integer &= !__builtin_add_overflow(a.integer, b.integer, &out->integer);
		return true;
	case EX_sub:
		out->number = a.number - b.number;
		out->is_integer &= !__builtin_sub_overflow(a.integer, b.integer, &out->integer);
		return true;
	case EX_mul:
		out->number = a.number * b.number;
		out->is_integer &= !__builtin_mul_overflow(a.integer, b.integer, &out->integer);
		return true;
	case EX_div:
		out->number = a.number / b.number;
		out->is_integer =
			out->is_integer && out->number == floor(out->number) && fabs(out->number) < 9e15;
		out->integer = out->is_integer ? (int64_t)out->number : 0;
		return true;
	default:
		return false;
	}
}

static Operand
operand(const Expr *e)
{
	return (Operand){.e = e};
}

static const Expr *
make_op(Parser *p, ExprOp op, const Expr *const *args)
{
	const ScalarInfo *row = scalar_info(op);
	DType types[3] = {DT_NONE, DT_NONE, DT_NONE};
	if (++p->operations > MAX_OPERATIONS)
		scan_fail(p->scan, "more than %d operations in one expression", MAX_OPERATIONS);
	for (int i = 0; i < row->arity; i++)
		types[i] = args[i]->type;
	if (scalar_result_type(op, types) == DT_NONE) {
		const char *second = row->arity > 1 ? dtype_name(types[row->arity - 1]) : "";
		scan_fail(p->scan, "'%s' does not take operands of type %s%s%s",
		          row->text ? row->text : row->name, dtype_name(types[0]),
		          row->arity > 1 ? ", " : "", second);
	}
	return expr_op(p->ctx, op, args);
}

/* ---- calls ----------------------------------------------------------------------------------- */

static const Expr *
find_name(const Map *map, const char *name)
{
	return map ? map_find(map, name) : NULL;
}

/* An element type by its name, or the type of what the scope calls so; DT_NONE for neither. */
static DType
find_type(const Parser *p, const char *name)
{
	DType type = dtype_find(name);
	const Expr *like = type == DT_NONE ? find_name(p->scope->names, name) : NULL;
	return like ? (DType)like->type : type;
}

static DType
parse_type(Parser *p)
{
	const char *name = scan_name(p->scan, "type");
	DType type = find_type(p, name);
	if (type == DT_NONE)
		scan_fail(p->scan, "expected a type, saw '%s'", name);
	return type;
}

static const Expr *
parse_scalar(Parser *p, DType type)
{
	Operand x = parse_ternary(p);
	return typed(p, x, type);
}

static Operand
parse_cast(Parser *p, DType type)
{
	int flags = 0;
	Operand x = parse_ternary(p);
	while (scan_accept(p->scan, ",")) {
		const char *mode = scan_name(p->scan, "conversion mode");
		if (strcmp(mode, "nosat") == 0)
			flags |= CAST_NOSAT;
		else if (strcmp(mode, "down") == 0)
			flags |= CAST_ROUND_DOWN;
		else if (strcmp(mode, "nearest") == 0)
			flags |= CAST_ROUND_NEAREST;
		else
			scan_fail(p->scan, "expected nosat, down or nearest, saw '%s'", mode);
	}
	scan_expect(p->scan, ")", "after what is converted");
	const Expr *e = typed(p, x, dtype_is_arithmetic(type) ? type : DT_F32);
	DTypeClass class = dtype_class(e->type), to = dtype_class(type);
	if (class == DC_X || to == DC_X || class == DC_NONE)
		scan_fail(p->scan, "cannot convert %s to %s", dtype_name(e->type), dtype_name(type));
	return operand(expr_cast_flags(p->ctx, type, e, flags));
}

static Operand
parse_bitcast(Parser *p)
{
	DType type = parse_type(p);
	scan_expect(p->scan, ",", "after the type of a bitcast");
	const Expr *e = parse_scalar(p, DT_NONE);
	scan_expect(p->scan, ")", "after the operand of a bitcast");
	if (dtype_bits(type) != dtype_bits(e->type))
		scan_fail(p->scan, "%s and %s have different widths", dtype_name(type),
		          dtype_name(e->type));
	return operand(expr_bitcast(p->ctx, type, e));
}

/* at(I[i], 0..D, wrap, check) */
static Operand
parse_at(Parser *p)
{
	int flags = 0;
	const Expr *index = parse_scalar(p, DT_I64);
	scan_expect(p->scan, ",", "after the index of at()");
	if (scan_integer(p->scan, "0") != 0)
		scan_fail(p->scan, "the range of at() begins at 0");
	scan_expect(p->scan, "..", "in the range of at()");
	const Expr *extent = parse_scalar(p, DT_I64);
	while (scan_accept(p->scan, ",")) {
		const char *mode = scan_name(p->scan, "mode of at()");
		if (strcmp(mode, "wrap") == 0)
			flags |= AT_WRAP;
		else if (strcmp(mode, "check") == 0)
			flags |= AT_CHECK;
		else if (strcmp(mode, "nowrap") != 0 && strcmp(mode, "clamp") != 0)
			scan_fail(p->scan, "expected wrap, nowrap, check or clamp, saw '%s'", mode);
	}
	scan_expect(p->scan, ")", "after at(");
	if (!dtype_is_integer(index->type) || extent->type != DT_I64)
		scan_fail(p->scan, "at() takes an integer and an extent");
	return operand(expr_at(p->ctx, index, extent, flags));
}

static Operand
parse_operation(Parser *p, ExprOp op)
{
	const ScalarInfo *row = scalar_info(op);
	Operand in[3];
	const Expr *args[3];
	for (int i = 0; i < row->arity; i++) {
		if (i > 0)
			scan_expect(p->scan, ",", "between operands");
		in[i] = parse_ternary(p);
	}
	scan_expect(p->scan, ")", "after the operands");
	int first = row->rule == RULE_select;
	if (first)
		args[0] = typed(p, in[0], DT_BOOL);
	type_group(p, row->arity - first, in + first, args + first);
	return operand(make_op(p, op, args));
}

static Operand
parse_call(Parser *p, const char *name)
{
	scan_expect(p->scan, "(", "after the name");
	if (strcmp(name, "at") == 0)
		return parse_at(p);
	if (strcmp(name, "bitcast") == 0)
		return parse_bitcast(p);
	if (strcmp(name, "lowest") == 0 || strcmp(name, "highest") == 0) {
		DType type = parse_type(p);
		scan_expect(p->scan, ")", "after the type");
		return operand(*name == 'l' ? expr_lowest(p->ctx, type) : expr_highest(p->ctx, type));
	}
	ExprOp op = scalar_find(name);
	if (op != EX_COUNT)
		return parse_operation(p, op);
	DType type = find_type(p, name);
	if (type != DT_NONE)
		return parse_cast(p, type);
	const TextOperators *operators = p->scope->operators;
	const Expr *called =
		operators ? operators->call(operators->self, p->ctx, p->scan, p->scope, name) : NULL;
	if (!called)
		scan_fail(p->scan, "unknown function '%s'", name);
	return operand(called);
}

/* ---- names and reads ------------------------------------------------------------------------- */

static Operand
parse_read(Parser *p, const char *name)
{
	const Tensor *tensor = p->scope->tensors ? map_find(p->scope->tensors, name) : NULL;
	if (!tensor)
		scan_fail(p->scan, "nothing called '%s' can be read here", name);
	const Expr **index = NEW_N(p->ctx->arena, const Expr *, tensor->rank + 1);
	scan_expect(p->scan, "[", "after the tensor");
	for (int i = 0; i < tensor->rank; i++) {
		if (i > 0)
			scan_expect(p->scan, ",", "between indices");
		if (scan_at(p->scan, "]"))
			scan_fail(p->scan, "'%s' has more dims than indices", name);
		index[i] = parse_scalar(p, DT_I64);
		if (!dtype_is_integer(index[i]->type))
			scan_fail(p->scan, "an index of '%s' has type %s", name, dtype_name(index[i]->type));
	}
	scan_expect(p->scan, "]", "after the indices");
	return operand(expr_read(p->ctx, tensor, index));
}

static Operand
parse_symbol(Parser *p, const char *name)
{
	bool is_known = map_find(&p->ctx->symbols, name) != NULL;
	if (p->scope->symbols == SYMBOLS_NONE || (p->scope->symbols == SYMBOLS_KNOWN && !is_known))
		scan_fail(p->scan, "unknown name '%s'", name);
	return operand(expr_symbol(p->ctx, symbol_get(p->ctx, name)));
}

static Operand
parse_name(Parser *p)
{
	const char *name = scan_name(p->scan, "name");
	const Token *next = scan_peek(p->scan);
	bool follows = next->kind == TOK_PUNCT && !next->starts_line;
	if (follows && strcmp(next->text, "(") == 0)
		return parse_call(p, name);
	if (follows && strcmp(next->text, "[") == 0)
		return parse_read(p, name);
	const Expr *found = find_name(&p->lets, name);
	if (!found)
		found = find_name(p->scope->names, name);
	if (found)
		return operand(found);
	if (strcmp(name, "true") == 0 || strcmp(name, "false") == 0)
		return operand(expr_bool(p->ctx, *name == 't'));
	if (strcmp(name, "inf") == 0)
		return (Operand){.number = (double)INFINITY};
	if (strcmp(name, "nan") == 0)
		return (Operand){.number = (double)NAN};
	return parse_symbol(p, name);
}

/* ---- operators ------------------------------------------------------------------------------- */

static Operand
parse_primary(Parser *p)
{
	const Token *token = scan_peek(p->scan);
	if (token->kind == TOK_NAME)
		return parse_name(p);
	if (token->kind == TOK_INT || token->kind == TOK_FLOAT) {
		scan_next(p->scan);
		return (Operand){.number = token->number,
		                 .integer = token->integer,
		                 .is_integer = token->kind == TOK_INT};
	}
	if (!scan_accept(p->scan, "("))
		scan_fail(p->scan, "expected an expression, saw '%s'",
		          token->kind == TOK_END ? "the end" : token->text);
	Operand inner = parse_ternary(p);
	scan_expect(p->scan, ")", "after an expression in parentheses");
	return inner;
}

static void
enter(Parser *p)
{
	if (++p->nesting > MAX_NESTING)
		scan_fail(p->scan, "expression nested too deep");
}

static Operand
parse_unary(Parser *p)
{
	enter(p);
	Operand x;
	if (scan_accept(p->scan, "-")) {
		x = parse_unary(p);
		if (x.e)
			x.e = make_op(p, EX_neg, &x.e);
		x.number = -x.number;
		x.integer = (int64_t)(0 - (uint64_t)x.integer);
	} else if (scan_accept(p->scan, "!")) {
		x = parse_unary(p);
		const Expr *e = typed(p, x, DT_BOOL);
		x = operand(make_op(p, EX_not, &e));
	} else {
		x = parse_primary(p);
	}
	p->nesting--;
	return x;
}

/* The infix row whose text comes next, at this level or above; EX_COUNT when there is none. */
static ExprOp
next_infix(const Parser *p, int level)
{
	const Token *token = scan_peek(p->scan);
	for (int op = 0; op < EX_COUNT && token->kind == TOK_PUNCT; op++) {
		const ScalarInfo *row = scalar_info((ExprOp)op);
		if (row && row->text && row->arity == 2 && row->precedence >= level &&
		    strcmp(row->text, token->text) == 0)
			return (ExprOp)op;
	}
	return EX_COUNT;
}

/* `/` of floats is div, of integers floordiv. */
static Operand
join_operands(Parser *p, ExprOp op, Operand a, Operand b)
{
	Operand folded;
	const Expr *args[2];
	if (fold_numbers(op, a, b, &folded))
		return folded;
	type_group(p, 2, (Operand[]){a, b}, args);
	if (op == EX_div && !dtype_is_float(args[0]->type))
		op = EX_floordiv;
	return operand(make_op(p, op, args));
}

/* a < b < c is a < b && b < c. */
static Operand
parse_compare_chain(Parser *p, ExprOp op, Operand a, Operand b)
{
	Operand all = join_operands(p, op, a, b);
	for (op = next_infix(p, COMPARE_LEVEL); op != EX_COUNT; op = next_infix(p, COMPARE_LEVEL)) {
		scan_next(p->scan);
		Operand c = parse_binary(p, COMPARE_LEVEL + 1);
		Operand more = join_operands(p, op, b, c);
		all = operand(expr_and(p->ctx, all.e, more.e));
		b = c;
	}
	return all;
}

static Operand
parse_binary(Parser *p, int level)
{
	enter(p);
	Operand left = parse_unary(p);
	for (;;) {
		ExprOp op = next_infix(p, level);
		if (op == EX_COUNT)
			break;
		scan_next(p->scan);
		int precedence = scalar_info(op)->precedence;
		Operand right = parse_binary(p, precedence + 1);
		left = precedence == COMPARE_LEVEL ? parse_compare_chain(p, op, left, right)
		                                   : join_operands(p, op, left, right);
	}
	p->nesting--;
	return left;
}

/* X[i-1] else 0 */
static Operand
parse_else(Parser *p, const Expr *read)
{
	Facts *facts = p->scope->facts ? p->scope->facts : facts_new(p->ctx, p->ctx->arena);
	if (read->op != EX_read)
		scan_fail(p->scan, "'else' follows a read");
	const Expr *fill = parse_scalar(p, read->type);
	if (fill->type != read->type)
		scan_fail(p->scan, "a read of %s cannot be filled with %s", dtype_name(read->type),
		          dtype_name(fill->type));
	const Expr *range = read_range(facts, read->tensor, read->arg);
	return operand(range ? expr_select(p->ctx, range, read, fill) : read);
}

static Operand
parse_ternary(Parser *p)
{
	enter(p);
	Operand x = parse_binary(p, 1);
	if (x.e && scan_accept(p->scan, "else")) {
		x = parse_else(p, x.e);
	} else if (scan_accept(p->scan, "?")) {
		const Expr *args[3] = {typed(p, x, DT_BOOL), NULL, NULL};
		Operand arms[2];
		arms[0] = parse_ternary(p);
		scan_expect(p->scan, ":", "between the arms of a choice");
		arms[1] = parse_ternary(p);
		type_group(p, 2, arms, args + 1);
		x = operand(make_op(p, EX_select, args));
	}
	p->nesting--;
	return x;
}

/* ---- entries --------------------------------------------------------------------------------- */

const Expr *
expr_parse_in(ExprCtx *ctx, Scanner *scan, const TextScope *scope, DType type)
{
	Parser p = {.ctx = ctx, .scan = scan, .scope = scope, .lets = {.arena = ctx->arena}};
	while (scan_accept(scan, "let")) {
		const char *name = scan_name(scan, "name after let");
		scan_expect(scan, "=", "after the name of a let");
		const Expr *value = parse_scalar(&p, DT_NONE);
		scan_expect(scan, ";", "after a let");
		map_set(&p.lets, ctx_name(ctx, name), (void *)(uintptr_t)value);
	}
	const Expr *e = parse_scalar(&p, type);
	if (type != DT_NONE && e->type != type)
		scan_fail(p.scan, "expected an expression of type %s before this, saw one of %s",
		          dtype_name(type), dtype_name(e->type));
	return e;
}

const Expr *
expr_parse(ExprCtx *ctx, Scanner *scan, const Map *names)
{
	return expr_parse_in(ctx, scan, &(TextScope){.names = names}, DT_NONE);
}

const Dim *
dim_parse(ExprCtx *ctx, Scanner *scan)
{
	Loc loc = scan_loc(scan);
	const Expr *e = expr_parse_in(ctx, scan, &(TextScope){.symbols = SYMBOLS_NEW}, DT_I64);
	const Dim *dim = dim_from_expr(ctx, e);
	if (!dim)
		fail(&loc, "this is not an extent: only numbers, symbols, + - * / %% min and max are");
	return dim;
}
