/* Reductions by row: the formulas of reduce.def are read as scalars when they are wanted. */
#include "expr/stage/reduce.h"

#include <stdio.h>
#include <string.h>

#include "expr/index/text.h"
#include "expr/scalar/ctx.h"

#define REDUCE(name, text, states, identity, combine, freedom, doc) \
	[REDUCE_##name] = {#name, text, states, identity, combine, REDUCE_##freedom, doc},
static const ReduceInfo rows[REDUCE_COUNT] = {
#include "expr/stage/reduce.def"
};
#undef REDUCE

const ReduceInfo *
reduce_info(ReduceOp op)
{
	return &rows[op];
}

bool
reduce_in_parts(ReduceOp op)
{
	return rows[op].states == 1 && rows[op].freedom != REDUCE_ordered;
}

ExprOp
reduce_fold(int op)
{
	static const uint8_t ops[REDUCE_COUNT] = {
		[REDUCE_sum] = EX_add,
		[REDUCE_prod] = EX_mul,
		[REDUCE_max] = EX_max,
		[REDUCE_min] = EX_min,
	};
	return op >= 0 && op < REDUCE_COUNT && ops[op] ? (ExprOp)ops[op] : EX_COUNT;
}

DType
reduce_accumulator(ReduceOp op, DType type)
{
	bool adds_up = rows[op].freedom == REDUCE_order_free; /* the others only choose */
	if (!adds_up)
		return type;
	if (type == DT_F16 || type == DT_BF16)
		return DT_F32;
	if (type == DT_I8 || type == DT_I16)
		return DT_I32;
	return type == DT_U8 || type == DT_U16 ? DT_U32 : type;
}

/* Read expression number `state` of a row's text: they are separated by semicolons. */
static const Expr *
parse_state(ExprCtx *ctx, const char *text, int state, const Map *names, DType type)
{
	Scanner scan;
	const Expr *e = NULL;
	scan_open(&scan, ctx->arena, "reduce.def", text);
	for (int i = 0; i <= state; i++) {
		if (i > 0)
			scan_expect(&scan, ";", "between the states");
		e = expr_parse_in(ctx, &scan, &(TextScope){.names = names}, i == state ? type : DT_NONE);
	}
	return e;
}

const Expr *
reduce_identity(ExprCtx *ctx, ReduceOp op, int state, DType acc)
{
	if (rows[op].states == 0 && state > 0)
		return expr_number(ctx, acc, 0);
	Map names = {.arena = ctx->arena};
	map_set(&names, "lowest", (void *)(uintptr_t)expr_lowest(ctx, acc));
	map_set(&names, "highest", (void *)(uintptr_t)expr_highest(ctx, acc));
	return parse_state(ctx, rows[op].identity, state, &names, acc);
}

static void
name_operands(Map *names, const char *letter, int count, const Expr *const *operands)
{
	for (int i = 0; i < count; i++) {
		const char *name = arena_printf(names->arena, "%s%d", letter, i);
		map_set(names, name, (void *)(uintptr_t)operands[i]);
	}
}

void
reduce_combine(ExprCtx *ctx, ReduceOp op, int count, const Expr *const *a, const Expr *const *b,
               const Expr **out)
{
	Map names = {.arena = ctx->arena};
	name_operands(&names, "a", count, a);
	name_operands(&names, "b", count, b);
	if (rows[op].states > 0) {
		must(count == rows[op].states);
		for (int i = 0; i < count; i++)
			out[i] = parse_state(ctx, rows[op].combine, i, &names, (DType)a[i]->type);
		return;
	}
	const Expr *replaces = parse_state(ctx, rows[op].combine, 0, &names, DT_BOOL);
	for (int i = 0; i < count; i++)
		out[i] = expr_select(ctx, replaces, b[i], a[i]);
}

/* ---- in texts -------------------------------------------------------------------------------- */

/* max(a, b) is a scalar, max(c:C) a reduction, with no iterators too: the token behind tells. */
static bool
is_reduce_ahead(const Scanner *scan)
{
	int at = 0;
	while (scan_peek_at(scan, at)->kind == TOK_NAME)
		at++;
	const char *paren = scan_peek_at(scan, at)->text;
	const Token *inside = scan_peek_at(scan, at + 1);
	if (at == 0 || strcmp(paren, "(") != 0)
		return false;
	if (inside->kind != TOK_NAME)
		return strcmp(inside->text, ")") == 0;
	return strcmp(scan_peek_at(scan, at + 2)->text, ":") == 0 || strcmp(inside->text, "where") == 0;
}

ReduceOp
reduce_accept(Scanner *scan)
{
	for (int op = 0; op < REDUCE_COUNT && is_reduce_ahead(scan); op++) {
		const char *text = rows[op].text;
		const char *space = strchr(text, ' ');
		size_t length = space ? (size_t)(space - text) : strlen(text);
		const Token *first = scan_peek(scan), *second = scan_peek_at(scan, 1);
		if (first->kind != TOK_NAME || strlen(first->text) != length ||
		    strncmp(first->text, text, length) != 0)
			continue;
		if (space && strcmp(second->text, space + 1) != 0)
			continue;
		const Token *behind = scan_peek_at(scan, space ? 2 : 1);
		bool has_type = dtype_find(behind->text) != DT_NONE;
		const Token *paren = has_type ? scan_peek_at(scan, space ? 3 : 2) : behind;
		if (paren->kind != TOK_PUNCT || strcmp(paren->text, "(") != 0)
			continue;
		scan_next(scan);
		if (space)
			scan_next(scan);
		return (ReduceOp)op;
	}
	return REDUCE_COUNT;
}
