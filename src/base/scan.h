/* The one tokenizer of the three texts (graph, expr, loop) and of rule tables.
 *
 * Tokens: names (letters, digits, _, $, and . before a letter; %name and @name are one token each,
 * but a % directly behind an operand is a remainder: t%112),
 * integers, floats (1.5, 1e-3, 0x1p-2, inf and nan are names), "strings", and punctuation, longest
 * first: -> .. <= >= == != && || += and single characters. `#` comments run to the end of the line.
 */
#ifndef BASE_SCAN_H
#define BASE_SCAN_H

#include "base/fail.h"
#include "base/vec.h"

typedef enum TokenKind {
	TOK_END,
	TOK_NAME,
	TOK_INT,
	TOK_FLOAT,
	TOK_STRING,
	TOK_PUNCT,
} TokenKind;

typedef struct Token {
	TokenKind kind;
	const char *text; /* interned in the scanner's arena; the contents of a string, unescaped */
	int64_t integer;  /* TOK_INT */
	double number;    /* TOK_INT and TOK_FLOAT */
	int line;
	bool starts_line; /* first token of its line */
} Token;

typedef struct Scanner {
	Arena *arena;
	const char *file;
	Token *tokens; /* the whole text, TOK_END last */
	int position;
} Scanner;

/* Cut `text` (terminated) into tokens; fails on a stray character or an unterminated string. */
void scan_open(Scanner *scan, Arena *arena, const char *file, const char *text);

const Token *scan_peek(const Scanner *scan);               /* the next token, not taken */
const Token *scan_peek_at(const Scanner *scan, int ahead); /* 0 is the next one */
const Token *scan_next(Scanner *scan);

bool scan_at(const Scanner *scan, const char *text); /* next is this name or punctuation */
bool scan_accept(Scanner *scan, const char *text);   /* take it if it is */
void scan_expect(Scanner *scan, const char *text, const char *where); /* or fail: "after inputs" */
const char *scan_name(Scanner *scan, const char *what); /* or fail: expected a <what> */
int64_t scan_integer(Scanner *scan, const char *what);  /* with optional minus */
double scan_number(Scanner *scan, const char *what);    /* with optional minus; inf, nan */
const char *scan_string(Scanner *scan, const char *what);
Loc scan_loc(const Scanner *scan); /* file and line of the next token */
/* fail() there. */
_Noreturn void scan_fail(const Scanner *scan, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/* Whether a word is one of several, which blanks separate. */
bool word_is_among(const char *word, const char *words);

#endif
