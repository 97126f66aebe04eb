/* The tokenizer: the whole text is cut at once, so parsers may look ahead as far as they like.
 *
 * `%` begins a name (%x, %12) unless it stands directly behind an operand: `t%112` is a remainder,
 * `f(%x)` and `a, %x` hold a name.
 */
#include "base/scan.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/map.h"

/* Two-character punctuation; every character of SINGLES is a token of its own. */
static const char *const PAIRS[] = {"->", "..", "<=", ">=", "==", "!=", "&&", "||", "+="};
static const char SINGLES[] = "()[]{}<>,:;=+-*/%^&|!?.@~";

typedef struct Cutter {
	Arena *arena;
	const char *begin, *at;
	Loc loc;
	Map names; /* of all token texts */
	VEC(Token) tokens;
} Cutter;

static bool
is_name_start(char c)
{
	return isalpha((unsigned char)c) || c == '_' || c == '$';
}

static bool
is_name_part(char c)
{
	return is_name_start(c) || isdigit((unsigned char)c);
}

static void
add_token(Cutter *cut, TokenKind kind, const char *text, size_t length)
{
	int count = cut->tokens.count;
	bool starts_line = count == 0 || cut->tokens.data[count - 1].line != cut->loc.line;
	Token token = {kind, map_intern(&cut->names, text, length), 0, 0, cut->loc.line, starts_line};
	vec_push(cut->arena, &cut->tokens, token);
}

static Token *
last_token(Cutter *cut)
{
	return &cut->tokens.data[cut->tokens.count - 1];
}

/* A name, with its % or @ if it has one; a dot belongs to it when a letter follows. */
static void
cut_name(Cutter *cut)
{
	const char *start = cut->at;
	const char *end = is_name_part(*start) ? start : start + 1;
	while (is_name_part(*end) || (*end == '.' && is_name_start(end[1])))
		end++;
	add_token(cut, TOK_NAME, start, (size_t)(end - start));
	cut->at = end;
}

static const char *
skip_digits(const char *at, bool is_hex)
{
	while (is_hex ? isxdigit((unsigned char)*at) : isdigit((unsigned char)*at))
		at++;
	return at;
}

/* The end of the number at `at`; a dot or exponent without digits behind it is not part of it. */
static const char *
number_end(const char *at, bool *is_float)
{
	bool is_hex = at[0] == '0' && (at[1] == 'x' || at[1] == 'X') && isxdigit((unsigned char)at[2]);
	const char *end = skip_digits(is_hex ? at + 2 : at, is_hex);
	*is_float = false;
	if (*end == '.' && skip_digits(end + 1, is_hex) > end + 1) {
		*is_float = true;
		end = skip_digits(end + 1, is_hex);
	}
	if (tolower((unsigned char)*end) == (is_hex ? 'p' : 'e')) {
		const char *digits = end + 1 + (end[1] == '+' || end[1] == '-');
		if (isdigit((unsigned char)*digits)) {
			*is_float = true;
			end = skip_digits(digits, false);
		}
	}
	return end;
}

static void
cut_number(Cutter *cut)
{
	bool is_float;
	const char *start = cut->at;
	const char *end = number_end(start, &is_float);
	add_token(cut, is_float ? TOK_FLOAT : TOK_INT, start, (size_t)(end - start));
	Token *token = last_token(cut);
	if (is_float) {
		token->number = strtod(token->text, NULL);
	} else {
		bool is_hex = token->text[0] == '0' && tolower((unsigned char)token->text[1]) == 'x';
		errno = 0;
		uint64_t value = strtoull(token->text, NULL, is_hex ? 16 : 10);
		if (errno == ERANGE)
			fail(&cut->loc, "integer %s does not fit in 64 bits", token->text);
		token->integer = (int64_t)value;
		token->number = (double)value;
	}
	cut->at = end;
}

/* The character behind a backslash; leaves *at on the last character used. */
static char
unescape(Cutter *cut, const char **at)
{
	switch (**at) {
	case 'n':
		return '\n';
	case 't':
		return '\t';
	case '"':
	case '\\':
		return **at;
	case 'x':
		if (isxdigit((unsigned char)(*at)[1]) && isxdigit((unsigned char)(*at)[2])) {
			char digits[3] = {(*at)[1], (*at)[2], 0};
			char value = (char)strtoul(digits, NULL, 16);
			*at += 2;
			if (value != 0)
				return value;
		}
	}
	fail(&cut->loc, "expected \\n, \\t, \\\", \\\\ or \\xHH (not 00) in a string");
}

static void
cut_string(Cutter *cut)
{
	Buf contents = {.arena = cut->arena};
	const char *at = cut->at + 1;
	for (; *at != '"'; at++) {
		if (*at == 0 || *at == '\n')
			fail(&cut->loc, "expected '\"' at the end of a string, saw the end of the line");
		if (*at != '\\') {
			buf_putc(&contents, *at);
			continue;
		}
		at++;
		buf_putc(&contents, unescape(cut, &at));
	}
	add_token(cut, TOK_STRING, buf_text(&contents), contents.size);
	cut->at = at + 1;
}

static void
cut_punctuation(Cutter *cut)
{
	size_t length = 1;
	for (size_t i = 0; i < countof(PAIRS); i++)
		if (strncmp(cut->at, PAIRS[i], 2) == 0)
			length = 2;
	unsigned char c = (unsigned char)*cut->at;
	if (length == 1 && !strchr(SINGLES, c))
		fail(&cut->loc, isprint(c) ? "stray character '%c'" : "stray byte 0x%02X", c);
	add_token(cut, TOK_PUNCT, cut->at, length);
	cut->at += length;
}

/* True when `%` or `@` at the current place begins a name. */
static bool
is_prefixed_name(const Cutter *cut)
{
	if (*cut->at == '@')
		return is_name_part(cut->at[1]);
	if (*cut->at != '%' || !is_name_part(cut->at[1]))
		return false;
	char before = cut->at == cut->begin ? ' ' : cut->at[-1];
	return !is_name_part(before) && before != ')' && before != ']';
}

static void
cut_all(Cutter *cut)
{
	while (*cut->at) {
		char c = *cut->at;
		if (c == '\n')
			cut->loc.line++;
		if (c == '#')
			cut->at += strcspn(cut->at, "\n");
		else if (c == ' ' || c == '\t' || c == '\r' || c == '\n')
			cut->at++;
		else if (is_name_start(c) || is_prefixed_name(cut))
			cut_name(cut);
		else if (isdigit((unsigned char)c))
			cut_number(cut);
		else if (c == '"')
			cut_string(cut);
		else
			cut_punctuation(cut);
	}
	add_token(cut, TOK_END, "", 0);
}

void
scan_open(Scanner *scan, Arena *arena, const char *file, const char *text)
{
	Cutter cut = {
		.arena = arena,
		.begin = text,
		.at = text,
		.loc = {.file = file, .line = 1},
		.names = {.arena = arena},
	};
	cut_all(&cut);
	*scan = (Scanner){arena, file, cut.tokens.data, 0};
}

const Token *
scan_peek(const Scanner *scan)
{
	return &scan->tokens[scan->position];
}

const Token *
scan_peek_at(const Scanner *scan, int ahead)
{
	const Token *token = scan_peek(scan);
	while (ahead-- > 0 && token->kind != TOK_END)
		token++;
	return token;
}

const Token *
scan_next(Scanner *scan)
{
	const Token *token = scan_peek(scan);
	if (token->kind != TOK_END)
		scan->position++;
	return token;
}

bool
scan_at(const Scanner *scan, const char *text)
{
	const Token *token = scan_peek(scan);
	return (token->kind == TOK_NAME || token->kind == TOK_PUNCT) && strcmp(token->text, text) == 0;
}

bool
scan_accept(Scanner *scan, const char *text)
{
	if (!scan_at(scan, text))
		return false;
	scan_next(scan);
	return true;
}

Loc
scan_loc(const Scanner *scan)
{
	return (Loc){.file = scan->file, .line = scan_peek(scan)->line};
}

/* What a message says about the next token. */
static const char *
saw(const Scanner *scan)
{
	const Token *token = scan_peek(scan);
	if (token->kind == TOK_END)
		return "the end of the text";
	if (token->kind == TOK_STRING)
		return arena_printf(scan->arena, "\"%.40s\"", token->text);
	return arena_printf(scan->arena, "'%.40s'", token->text);
}

_Noreturn void
scan_fail(const Scanner *scan, const char *format, ...)
{
	Loc loc = scan_loc(scan);
	char text[1024];
	va_list args;
	va_start(args, format);
	vsnprintf(text, sizeof text, format, args);
	va_end(args);
	fail(&loc, "%s", text);
}

void
scan_expect(Scanner *scan, const char *text, const char *where)
{
	if (scan_accept(scan, text))
		return;
	scan_fail(scan, "expected '%s'%s%s, saw %s", text, where ? " " : "", where ? where : "",
	          saw(scan));
}

const char *
scan_name(Scanner *scan, const char *what)
{
	if (scan_peek(scan)->kind != TOK_NAME)
		scan_fail(scan, "expected %s, saw %s", what, saw(scan));
	return scan_next(scan)->text;
}

int64_t
scan_integer(Scanner *scan, const char *what)
{
	bool is_negative = scan_accept(scan, "-");
	const Token *token = scan_peek(scan);
	if (token->kind != TOK_INT)
		scan_fail(scan, "expected %s, saw %s", what, saw(scan));
	/* Tokens hold 64 bits without a sign: -2^63 is the one value above INT64_MAX that fits. */
	if (token->integer < 0 && !(is_negative && token->integer == INT64_MIN))
		scan_fail(scan, "integer %s%s does not fit in 64 bits", is_negative ? "-" : "",
		          token->text);
	scan_next(scan);
	return is_negative ? (int64_t)(0 - (uint64_t)token->integer) : token->integer;
}

double
scan_number(Scanner *scan, const char *what)
{
	bool is_negative = scan_accept(scan, "-");
	double value = 0;
	if (scan_accept(scan, "inf"))
		value = (double)INFINITY;
	else if (scan_accept(scan, "nan"))
		value = (double)NAN;
	else if (scan_peek(scan)->kind == TOK_INT || scan_peek(scan)->kind == TOK_FLOAT)
		value = scan_next(scan)->number;
	else
		scan_fail(scan, "expected %s, saw %s", what, saw(scan));
	return is_negative ? -value : value;
}

const char *
scan_string(Scanner *scan, const char *what)
{
	if (scan_peek(scan)->kind != TOK_STRING)
		scan_fail(scan, "expected %s, saw %s", what, saw(scan));
	return scan_next(scan)->text;
}

bool
word_is_among(const char *word, const char *words)
{
	size_t length = strlen(word);
	for (const char *at = words; *at; at += strspn(at, " ")) {
		size_t size = strcspn(at, " ");
		if (size == length && memcmp(at, word, length) == 0)
			return true;
		at += size;
	}
	return false;
}
