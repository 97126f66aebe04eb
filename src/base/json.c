/* Reading JSON (RFC 8259), by recursive descent.
 *
 * Before that the text is walked once: each value but the first stands behind a comma, a bracket or
 * a brace outside of texts, so that their number bounds the number of nodes.
 */
#include "base/json.h"

#include <errno.h>
#include <locale.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_NESTING = 1000, NUMBER_SIZE = 64 };

typedef struct Reading {
	char *at; /* in the copy, which ends with a 0 */
	Json *next_node;
	int nesting;
} Reading;

static Json *read_value(Reading *r);

static void
skip_blanks(Reading *r)
{
	r->at += strspn(r->at, " \t\n\r");
}

/* Blanks, and the character if it is the next one. */
static bool
accept(Reading *r, char c)
{
	skip_blanks(r);
	bool is_there = *r->at == c;
	r->at += is_there;
	return is_there;
}

static bool
accept_word(Reading *r, const char *word)
{
	size_t size = strlen(word);
	bool is_there = strncmp(r->at, word, size) == 0;
	r->at += is_there ? size : 0;
	return is_there;
}

/* ---- texts ----------------------------------------------------------------------------------- */

/* Four hex digits; -1 where they are not. */
static int
read_unit(Reading *r)
{
	int unit = 0;
	for (int i = 0; i < 4; i++) {
		const char *digits = "0123456789abcdef0123456789ABCDEF";
		const char *digit = *r->at ? strchr(digits, *r->at) : NULL;
		if (!digit)
			return -1;
		unit = unit << 4 | (int)((digit - digits) & 15);
		r->at++;
	}
	return unit;
}

/* What stands behind \u, as UTF-8; NULL where that is no character, or 0, which ends texts. */
static char *
put_character(Reading *r, char *to)
{
	int code = read_unit(r);
	if (code >= 0xd800 && code < 0xdc00 && r->at[0] == '\\' && r->at[1] == 'u') {
		r->at += 2;
		int low = read_unit(r);
		code =
			low >= 0xdc00 && low < 0xe000 ? 0x10000 + ((code - 0xd800) << 10) + low - 0xdc00 : -1;
	}
	if (code <= 0 || (code >= 0xd800 && code < 0xe000))
		return NULL;
	int more = code < 0x80 ? 0 : code < 0x800 ? 1 : code < 0x10000 ? 2 : 3;
	static const int lead[] = {0, 0xc0, 0xe0, 0xf0};
	*to++ = (char)(lead[more] | code >> 6 * more);
	while (more-- > 0)
		*to++ = (char)(0x80 | (code >> 6 * more & 0x3f));
	return to;
}

/* A text behind its first quote, unescaped where it stands; NULL where it is none. */
static char *
read_text(Reading *r)
{
	char *text = r->at, *to = text;
	while (*r->at != '"') {
		static const char escapes[] = "\"\\/bfnrt", meant[] = "\"\\/\b\f\n\r\t";
		unsigned char c = (unsigned char)*r->at++;
		if (c < ' ')
			return NULL;
		if (c != '\\') {
			*to++ = (char)c;
			continue;
		}
		const char *escape = *r->at ? strchr(escapes, *r->at) : NULL;
		bool is_unit = *r->at == 'u';
		if (!escape && !is_unit)
			return NULL;
		r->at++;
		if (escape)
			*to++ = meant[escape - escapes];
		else if (!(to = put_character(r, to)))
			return NULL;
	}
	r->at++;
	*to = 0;
	return text;
}

/* ---- numbers --------------------------------------------------------------------------------- */

static bool
skip_digits(Reading *r)
{
	size_t count = strspn(r->at, "0123456789");
	r->at += count;
	return count > 0;
}

/* Whatever the locale of the process takes for a point. */
static double
to_double(const char *text, size_t size)
{
	char copy[NUMBER_SIZE + 1];
	memcpy(copy, text, size);
	copy[size] = 0;
	char *point = strchr(copy, '.');
	if (point)
		*point = localeconv()->decimal_point[0];
	return strtod(copy, NULL);
}

static bool
read_number(Reading *r, double *number)
{
	const char *from = r->at;
	r->at += *r->at == '-';
	bool is_zero = *r->at == '0', is_whole = skip_digits(r);
	size_t digits = (size_t)(r->at - from) - (*from == '-');
	if (!is_whole || (is_zero && digits > 1))
		return false;
	if (*r->at == '.' && (r->at++, !skip_digits(r)))
		return false;
	if (*r->at == 'e' || *r->at == 'E') {
		r->at++;
		r->at += *r->at == '+' || *r->at == '-';
		if (!skip_digits(r))
			return false;
	}
	size_t size = (size_t)(r->at - from);
	*number = size <= NUMBER_SIZE ? to_double(from, size) : 0;
	return size <= NUMBER_SIZE;
}

/* ---- values ---------------------------------------------------------------------------------- */

/* What stands in brackets or braces, behind the first of them. */
static bool
read_children(Reading *r, Json *json, char end)
{
	Json **link = &json->child;
	if (++r->nesting > MAX_NESTING)
		return false;
	bool is_more = !accept(r, end);
	while (is_more) {
		const char *name = NULL;
		if (json->kind == JSON_OBJECT &&
		    (!accept(r, '"') || !(name = read_text(r)) || !accept(r, ':')))
			return false;
		Json *child = read_value(r);
		if (!child)
			return false;
		child->name = name;
		*link = child;
		link = &child->next;
		is_more = accept(r, ',');
		if (!is_more && !accept(r, end))
			return false;
	}
	r->nesting--;
	return true;
}

static Json *
read_value(Reading *r)
{
	Json *json = r->next_node++;
	*json = (Json){.kind = JSON_NULL};
	bool is_read = true;
	if (accept(r, '{')) {
		json->kind = JSON_OBJECT;
		is_read = read_children(r, json, '}');
	} else if (accept(r, '[')) {
		json->kind = JSON_ARRAY;
		is_read = read_children(r, json, ']');
	} else if (accept(r, '"')) {
		json->kind = JSON_TEXT;
		json->text = read_text(r);
		is_read = json->text != NULL;
	} else if (accept_word(r, "true")) {
		*json = (Json){.kind = JSON_BOOL, .number = 1};
	} else if (accept_word(r, "false")) {
		*json = (Json){.kind = JSON_BOOL, .number = 0};
	} else if (!accept_word(r, "null")) {
		json->kind = JSON_NUMBER;
		is_read = read_number(r, &json->number);
	}
	return is_read ? json : NULL;
}

static size_t
count_nodes(const char *text, size_t size)
{
	size_t count = 1;
	bool is_text = false;
	for (size_t i = 0; i < size; i++) {
		if (text[i] == '"')
			is_text = !is_text;
		else if (is_text)
			i += text[i] == '\\';
		else
			count += text[i] == ',' || text[i] == '[' || text[i] == '{';
	}
	return count;
}

Json *
json_read(const char *text, size_t size)
{
	size_t nodes = count_nodes(text, size), bytes;
	if (__builtin_mul_overflow(nodes, sizeof(Json), &bytes) ||
	    __builtin_add_overflow(bytes, size + 1, &bytes)) {
		errno = ENOMEM;
		return NULL;
	}
	Json *root = malloc(bytes);
	if (!root)
		return NULL;
	char *copy = (char *)(root + nodes);
	memcpy(copy, text, size);
	copy[size] = 0;
	Reading r = {.at = copy, .next_node = root};
	if (read_value(&r) && (skip_blanks(&r), r.at == copy + size))
		return root;
	free(root);
	return NULL;
}

void
json_free(Json *json)
{
	free(json);
}

const Json *
json_member(const Json *object, const char *name)
{
	if (!json_is(object, JSON_OBJECT))
		return NULL;
	for (const Json *member = object->child; member; member = member->next)
		if (strcmp(member->name, name) == 0)
			return member;
	return NULL;
}
