/* Reading JSON strictly, from a tree that base/json.h reads; writing it. */
#include "bundle/json.h"

#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const double EXACT = 9007199254740992.0; /* 2^53 */

void
json_fail(JsonReader *r, const char *format, ...)
{
	if (r->failed)
		return;
	r->failed = true;
	int used = snprintf(r->error, r->error_size, "%s is damaged: ", r->what);
	if (used < 0 || (size_t)used >= r->error_size)
		return;
	va_list args;
	va_start(args, format);
	vsnprintf(r->error + used, r->error_size - (size_t)used, format, args);
	va_end(args);
}

static void
fail_memory(JsonReader *r)
{
	r->failed = true;
	snprintf(r->error, r->error_size, "out of memory while reading %s", r->what);
}

Json *
json_parse(JsonReader *r, const char *text, size_t size, size_t limit)
{
	if (size > limit) {
		json_fail(r, "it is longer than %zu bytes", limit);
		return NULL;
	}
	errno = 0;
	Json *root = json_read(text, size);
	if (!root && errno == ENOMEM)
		fail_memory(r);
	else if (!json_is(root, JSON_OBJECT))
		json_fail(r, "it is not a JSON object");
	return root;
}

void *
json_alloc(JsonReader *r, size_t count, size_t size)
{
	void *memory = r->failed ? NULL : pile_alloc(r->pile, count, size);
	if (!memory && !r->failed)
		fail_memory(r);
	return memory;
}

/* A number without fraction, or a text of digits; false when it is neither. */
static bool
item_integer(const Json *item, int64_t *value)
{
	if (json_is(item, JSON_NUMBER)) {
		double number = item->number;
		if (!(number >= -EXACT && number <= EXACT) || number != floor(number))
			return false;
		*value = (int64_t)number;
		return true;
	}
	if (!json_is(item, JSON_TEXT) || !item->text[0])
		return false;
	char *end;
	errno = 0;
	*value = strtoll(item->text, &end, 10);
	return errno == 0 && *end == 0;
}

int64_t
json_item_int(JsonReader *r, const Json *item, const char *name, int64_t lo, int64_t hi)
{
	int64_t value = 0;
	if (r->failed)
		return lo;
	if (!item_integer(item, &value)) {
		json_fail(r, "%s is not an integer", name);
		return lo;
	}
	if (value < lo || value > hi) {
		json_fail(r, "%s is %lld, outside %lld..%lld", name, (long long)value, (long long)lo,
		          (long long)hi);
		return lo;
	}
	return value;
}

double
json_item_number(JsonReader *r, const Json *item, const char *name)
{
	if (json_is(item, JSON_NUMBER))
		return item->number;
	const char *text = json_is(item, JSON_TEXT) ? item->text : "";
	if (strcmp(text, "inf") == 0)
		return INFINITY;
	if (strcmp(text, "-inf") == 0)
		return -INFINITY;
	if (strcmp(text, "nan") != 0)
		json_fail(r, "%s is not a number", name);
	return NAN;
}

const char *
json_item_text(JsonReader *r, const Json *item, const char *name)
{
	if (!r->failed && !json_is(item, JSON_TEXT))
		json_fail(r, "%s is not a text", name);
	if (r->failed)
		return "";
	size_t size = strlen(item->text) + 1;
	char *copy = json_alloc(r, size, 1);
	return copy ? memcpy(copy, item->text, size) : "";
}

static void
put_text(Buf *json, const char *text)
{
	buf_putc(json, '"');
	for (const unsigned char *c = (const unsigned char *)text; *c; c++) {
		if (*c == '"' || *c == '\\')
			buf_printf(json, "\\%c", *c);
		else if (*c < ' ')
			buf_printf(json, "\\u%04x", *c);
		else
			buf_putc(json, (char)*c);
	}
	buf_putc(json, '"');
}

static void
put_int(Buf *json, long long value)
{
	bool is_exact = value >= -(int64_t)EXACT && value <= (int64_t)EXACT;
	buf_printf(json, is_exact ? "%lld" : "\"%lld\"", value);
}

static void
put_number(Buf *json, double value)
{
	if (isfinite(value))
		buf_double(json, value);
	else
		buf_puts(json, isnan(value) ? "\"nan\"" : value > 0 ? "\"inf\"" : "\"-inf\"");
}

void
json_put(Buf *json, const char *format, ...)
{
	va_list args;
	va_start(args, format);
	for (const char *c = format; *c; c++) {
		if (c[0] != '%') {
			buf_putc(json, (char)(*c == '\'' ? '"' : *c));
		} else if (*++c == 's') {
			const char *text = va_arg(args, const char *);
			put_text(json, text ? text : "");
		} else if (*c == 'd') {
			put_int(json, va_arg(args, int));
		} else if (*c == 'g') {
			put_number(json, va_arg(args, double));
		} else {
			put_int(json, va_arg(args, long long));
			c += 2;
		}
	}
	va_end(args);
}
