/* Formulas of rows, made into scalars.
 *
 *     "min(max(x, lo = lowest(T)), hi = highest(T))"      with T = f32, lo given, hi absent
 *  => min(max(x, lo), highest(f32))
 *
 * This file works on tokens: it takes the alternative that holds, puts types in the place of
 * letters, and keeps either the input or its default; the scalar parser does the rest.
 */
#include "graph/meaning.h"

#include <string.h>

#include "base/scan.h"
#include "expr/index/text.h"
#include "expr/scalar/ctx.h"
#include "graph/ops/helpers.h"

typedef struct Formula {
	ExprCtx *ctx;
	const OpInfo *op;
	Arena *arena;
	const char *where;
	int nin;
	const Expr *const *in; /* operands; NULL where absent */
	DType letters[26];
	DType given;       /* the first operand's */
	DType type;        /* that numbers have: the same, or wider */
	Map names;         /* attributes that are numbers, to Expr */
	Map words;         /* those that are texts */
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
	for (int i = 0; i < formula->nin; i++) {
		const ParamSpec *spec = op_input(formula->op, i);
		if (formula->in[i] && spec->letter)
			formula->letters[spec->letter - 'A'] = formula->in[i]->type;
	}
	char letter = formula->op->inputs[0].letter;
	formula->type = letter ? formula->letters[letter - 'A'] : (DType)formula->in[0]->type;
}

/* Of 16 bits "wide: …" is computed in f32. */
static bool
is_wide(const OpInfo *op)
{
	return !strncmp(op->formula, "wide:", 5);
}

static void
widen(Formula *formula)
{
	const Expr **in = NEW_N(formula->arena, const Expr *, formula->nin + 1);
	formula->type = work_type(formula->type);
	for (int i = 0; i < formula->nin; i++)
		in[i] = formula->in[i] ? scalar_as(formula->ctx, formula->type, formula->in[i]) : NULL;
	formula->in = in;
}

/* Whether `name = value:` holds for the attribute. */
static bool
attr_holds(const Formula *formula, const Token *name, const Token *value)
{
	if (value->kind == TOK_STRING) {
		const char *text = map_find(&formula->words, name->text);
		return text && !strcmp(text, value->text);
	}
	const Expr *number = map_find(&formula->names, name->text);
	return number && expr_is_const(number) && expr_const_f64(number) == value->number;
}

/* The condition at `token`, if there is one: its length in tokens, and whether it holds. */
static int
condition(const Formula *formula, const Token *token, bool *holds)
{
	*holds = true;
	if (token[0].kind != TOK_NAME || token[1].kind == TOK_END)
		return 0;
	if (is_punct(&token[1], ":")) {
		*holds = op_type_set(token[0].text) >> formula->type & 1;
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
			return i < formula->nin && formula->in[i];
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
	const Token *token = scan.tokens + (is_wide(formula->op) ? 2 : 0);
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
			fail_unsupported(&(Loc){.file = formula->where},
			                 "no alternative of the formula applies");
		token++;
	}
}

/* ---- names ----------------------------------------------------------------------------------- */

static void
name(Formula *formula, const char *text, const Expr *e)
{
	map_set(&formula->names, text, (void *)(uintptr_t)e);
}

static void
name_attr(Formula *formula, const Attr *attr)
{
	if (attr->kind == ATTR_STRING)
		map_set(&formula->words, attr->name, (void *)(uintptr_t)attr->s);
	if (attr->kind != ATTR_INT && attr->kind != ATTR_FLOAT)
		return;
	/* A float is one, too, where operands are integers. */
	bool is_real = attr->kind == ATTR_FLOAT && !dtype_is_float(formula->type);
	double value = attr->kind == ATTR_INT ? (double)attr->i : (double)attr->f;
	name(formula, attr->name, expr_number(formula->ctx, is_real ? DT_F64 : formula->type, value));
}

/* A variadic row: `step` for each further input, then what stands behind the semicolon. */
static const Expr *
fold(Formula *formula)
{
	const char *so_far = formula->op->outputs[0].name, *next = formula->op->inputs[0].name;
	Scanner scan = {formula->arena, formula->where, formula->tokens.data, 0};
	const Expr *value = formula->in[0];
	int end = 0;
	for (int i = 1; i < formula->nin; i++) {
		name(formula, so_far, value);
		name(formula, next, formula->in[i]);
		scan.position = 0;
		value = expr_parse(formula->ctx, &scan, &formula->names);
		end = scan.position;
	}
	while (scan.tokens[end].kind != TOK_END && !is_punct(&scan.tokens[end], ";"))
		end++;
	if (scan.tokens[end].kind == TOK_END)
		return value;
	scan.position = end + 1;
	name(formula, so_far, value);
	return expr_parse(formula->ctx, &scan, &formula->names);
}

static const Expr *
make_scalar(Formula *formula)
{
	choose(formula);
	name(formula, "count", expr_number(formula->ctx, formula->type, formula->nin));
	if (formula->op->inputs[formula->op->ninput - 1].variadic)
		return fold(formula);
	for (int i = 0; i < formula->nin; i++)
		if (formula->in[i])
			name(formula, formula->op->inputs[i].name, formula->in[i]);
	Scanner scan = {formula->arena, formula->where, formula->tokens.data, 0};
	const Expr *value = expr_parse(formula->ctx, &scan, &formula->names);
	return is_wide(formula->op) ? expr_cast(formula->ctx, formula->given, value) : value;
}

static Formula
formula_of(ExprCtx *ctx, const OpInfo *op, Arena *arena, int nin, const Expr *const *in)
{
	Formula formula = {.ctx = ctx, .op = op, .arena = arena, .nin = nin, .in = in};
	formula.where = arena_printf(arena, "ops.def: %s", op->name);
	formula.names.arena = formula.words.arena = arena;
	bind_letters(&formula);
	formula.given = formula.type;
	if (is_wide(op))
		widen(&formula);
	return formula;
}

/* ---- of a node ------------------------------------------------------------------------------- */

static const Expr *
read_formula(const Build *build, StageBuilder *stage, Arena *arena)
{
	const OpInfo *op = build->node->op;
	const Expr **in = NEW_N(arena, const Expr *, build->nin + 1);
	for (int i = 0; i < build->nin; i++)
		if (build->in[i])
			in[i] = read_broadcast(stage, build->ctx, build->out_types[0], build->in[i]);
	Formula formula = formula_of(build->ctx, op, arena, build->nin, in);
	for (int i = 0; i < op->nattr; i++) {
		const Attr *attr = attr_find(build->node, op->attrs[i].name);
		if (attr)
			name_attr(&formula, attr);
	}
	return make_scalar(&formula);
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

/* ---- of a text: Gelu(x, approximate = tanh) -------------------------------------------------- */

/* The attributes behind the operands, then the parenthesis. */
static void
read_attrs(Formula *formula, Scanner *scan, const TextScope *scope)
{
	while (!scan_accept(scan, ")")) {
		const char *word = scan_name(scan, "attribute");
		const AttrSpec *spec = op_attr(formula->op, word);
		if (!spec)
			scan_fail(scan, "%s has no attribute '%s'", formula->op->name, word);
		scan_expect(scan, "=", "after an attribute");
		if (spec->kind == ATTR_STRING)
			map_set(&formula->words, word, (void *)(uintptr_t)scan_name(scan, "word"));
		else
			name(formula, word, expr_parse_in(formula->ctx, scan, scope, formula->type));
		if (!scan_at(scan, ")"))
			scan_expect(scan, ",", "between attributes");
	}
}

static const Expr *
call_operator(const void *self, ExprCtx *ctx, Scanner *scan, const TextScope *scope,
              const char *called)
{
	enum { OPERANDS = 4 };
	const OpInfo *op = op_find(self, "", called);
	const Expr *in[OPERANDS];
	int count = 0;
	if (!op || op->meaning != MEANING_FORMULA)
		return NULL;
	do {
		const Token *next = scan_peek(scan);
		if (count == OPERANDS || (next->kind == TOK_NAME && is_punct(&next[1], "=")))
			break;
		in[count++] = expr_parse_in(ctx, scan, scope, DT_NONE);
	} while (scan_accept(scan, ","));
	if (count == 0 || !op_input(op, count - 1))
		scan_fail(scan, "%s does not take %d operands", called, count);
	Formula formula = formula_of(ctx, op, scan->arena, count, in);
	for (int i = 0; i < op->nattr; i++)
		if (op->attrs[i].fallback)
			name_attr(&formula, op->attrs[i].fallback);
	read_attrs(&formula, scan, scope);
	return make_scalar(&formula);
}

TextOperators
formula_operators(const OpTable *table)
{
	return (TextOperators){table, call_operator};
}
