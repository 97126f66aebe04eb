/* Formulas of rows, made into scalars.
 *
 *     "min(max(x, lo = lowest(T)), hi = highest(T))"      with T = f32, lo given, hi absent
 *  => min(max(x, lo), highest(f32))
 *
 * This file works on tokens: it takes the alternative that holds, puts types in the place of
 * letters, and keeps either the input or its default; the scalar parser does the rest.
 */
#include "graph/formula.h"

#include <math.h>
#include <string.h>

#include "base/scan.h"
#include "expr/index/text.h"
#include "expr/scalar/ctx.h"
#include "graph/ops/helpers.h"

typedef struct Formula {
	const Build *build;
	const OpInfo *op;
	Arena *arena;
	const char *where;
	DType letters[26];
	VEC(Token) tokens; /* of the alternative taken */
} Formula;

static bool
is_punct(const Token *token, const char *text)
{
	return token->kind == TOK_PUNCT && !strcmp(token->text, text);
}

static void
bind_letters(Formula *formula)
{
	const Build *build = formula->build;
	for (int i = 0; i < build->nin; i++) {
		const ParamSpec *spec = op_input(formula->op, i);
		if (build->in_types[i] && spec->letter)
			formula->letters[spec->letter - 'A'] = build->in_types[i]->dtype;
	}
}

/* The type that literals and attributes have: the first letter's. */
static DType
main_type(const Formula *formula)
{
	char letter = formula->op->inputs[0].letter;
	return letter ? formula->letters[letter - 'A'] : formula->build->in_types[0]->dtype;
}

/* Whether `name = value:` holds for the node's attribute. */
static bool
attr_holds(const Formula *formula, const Token *name, const Token *value)
{
	const Node *node = formula->build->node;
	if (value->kind == TOK_STRING) {
		const char *text = attr_string(node, name->text);
		return text && !strcmp(text, value->text);
	}
	return attr_int(node, name->text) == value->integer;
}

/* The condition at `token`, if there is one: its length in tokens, and whether it holds. */
static int
condition(const Formula *formula, const Token *token, bool *holds)
{
	*holds = true;
	if (token[0].kind != TOK_NAME || token[1].kind == TOK_END)
		return 0;
	if (is_punct(&token[1], ":")) {
		*holds = op_type_set(token[0].text) >> main_type(formula) & 1;
		return 2;
	}
	if (!is_punct(&token[1], "=") || token[2].kind == TOK_END || !is_punct(&token[3], ":"))
		return 0;
	*holds = attr_holds(formula, &token[0], &token[2]);
	return 4;
}

static bool
is_else(const Token *token)
{
	return token->kind == TOK_NAME && !strcmp(token->text, "else");
}

/* Whether the operator's input `name` is given; -1 when it has none of this name. */
static int
has_input(const Formula *formula, const char *name)
{
	for (int i = 0; i < formula->op->ninput; i++)
		if (!strcmp(formula->op->inputs[i].name, name))
			return formula->build->in[i] != NULL;
	return -1;
}

/* Past the default behind `=`: to the comma or parenthesis that ends it. */
static const Token *
skip_default(const Token *token)
{
	int depth = 0;
	for (; token->kind != TOK_END && !is_else(token); token++) {
		if (is_punct(token, "("))
			depth++;
		if ((is_punct(token, ",") && depth == 0) || (is_punct(token, ")") && depth-- == 0))
			break;
	}
	return token;
}

static void
add_token(Formula *formula, const Token *token)
{
	Token copy = *token;
	bool is_letter = token->kind == TOK_NAME && token->text[0] >= 'A' && token->text[0] <= 'Z' &&
	                 !token->text[1];
	if (is_letter)
		copy.text = dtype_name(formula->letters[token->text[0] - 'A']);
	vec_push(formula->arena, &formula->tokens, copy);
}

/* Copy one alternative, up to `else` or the end. */
static void
take(Formula *formula, const Token *token)
{
	while (token->kind != TOK_END && !is_else(token)) {
		bool has_default = token->kind == TOK_NAME && is_punct(&token[1], "=");
		if (!has_default) {
			add_token(formula, token++);
		} else if (has_input(formula, token->text) == 1) {
			add_token(formula, token);
			token = skip_default(token + 2);
		} else {
			token += 2;
		}
	}
	Token end = {.kind = TOK_END, .text = ""};
	vec_push(formula->arena, &formula->tokens, end);
}

static void
choose(Formula *formula)
{
	char *text = arena_strdup(formula->arena, formula->op->formula);
	for (char *c = text; *c; c++)
		if (*c == '\'')
			*c = '"';
	Scanner scan;
	scan_open(&scan, formula->arena, formula->where, text);
	const Token *token = scan.tokens;
	for (;;) {
		bool holds;
		int length = condition(formula, token, &holds);
		if (holds) {
			take(formula, token + length);
			return;
		}
		while (token->kind != TOK_END && !is_else(token))
			token++;
		if (token->kind == TOK_END)
			build_fail(formula->build, "no alternative of the formula applies");
		token++;
	}
}

/* ---- names ----------------------------------------------------------------------------------- */

static const Expr *
attr_scalar(Formula *formula, const Attr *attr)
{
	DType type = main_type(formula);
	double value = attr->kind == ATTR_INT ? (double)attr->i : (double)attr->f;
	if (!dtype_is_float(type))
		value = trunc(value);
	return expr_number(formula->build->ctx, type, value);
}

static void
name_attrs(Formula *formula, Map *names)
{
	for (int i = 0; i < formula->op->nattr; i++) {
		const Attr *attr = attr_find(formula->build->node, formula->op->attrs[i].name);
		if (attr && (attr->kind == ATTR_INT || attr->kind == ATTR_FLOAT))
			map_set(names, attr->name, (void *)(uintptr_t)attr_scalar(formula, attr));
	}
	const Expr *count = expr_number(formula->build->ctx, main_type(formula), formula->build->nin);
	map_set(names, "count", (void *)(uintptr_t)count);
}

static const Expr *
read_operand(const Build *build, StageBuilder *stage, int i)
{
	return read_broadcast(stage, build->ctx, build->out_types[0], build->in[i]);
}

/* A variadic row: `step` for each further input, then what stands behind the semicolon. */
static const Expr *
fold(Formula *formula, StageBuilder *stage, Map *names)
{
	const Build *build = formula->build;
	const char *so_far = formula->op->outputs[0].name, *next = formula->op->inputs[0].name;
	Scanner scan = {formula->arena, formula->where, formula->tokens.data, 0};
	const Expr *value = read_operand(build, stage, 0);
	int end = 0;
	for (int i = 1; i < build->nin; i++) {
		map_set(names, so_far, (void *)(uintptr_t)value);
		map_set(names, next, (void *)(uintptr_t)read_operand(build, stage, i));
		scan.position = 0;
		value = expr_parse(build->ctx, &scan, names);
		end = scan.position;
	}
	while (scan.tokens[end].kind != TOK_END && !is_punct(&scan.tokens[end], ";"))
		end++;
	if (scan.tokens[end].kind == TOK_END)
		return value;
	scan.position = end + 1;
	map_set(names, so_far, (void *)(uintptr_t)value);
	return expr_parse(build->ctx, &scan, names);
}

static const Expr *
read_formula(const Build *build, StageBuilder *stage, Arena *arena)
{
	const OpInfo *op = build->node->op;
	Formula formula = {.build = build, .op = op, .arena = arena};
	formula.where = arena_printf(formula.arena, "ops.def: %s", op->name);
	bind_letters(&formula);
	choose(&formula);
	Map names = {.arena = formula.arena};
	name_attrs(&formula, &names);
	if (op->inputs[op->ninput - 1].variadic)
		return fold(&formula, stage, &names);
	for (int i = 0; i < build->nin; i++)
		if (build->in[i])
			map_set(&names, op->inputs[i].name, (void *)(uintptr_t)read_operand(build, stage, i));
	Scanner scan = {formula.arena, formula.where, formula.tokens.data, 0};
	return expr_parse(build->ctx, &scan, &names);
}

const Expr *
formula_scalar(const Build *build, StageBuilder *stage)
{
	Arena *scratch = ctx_scratch(build->ctx);
	ArenaMark mark = arena_mark(scratch);
	const Expr *scalar = read_formula(build, stage, scratch);
	arena_release(scratch, mark);
	return scalar;
}
