/* A growing text buffer: capacity doubles, one byte is kept for the terminator. */
#include "base/buf.h"

#include <math.h>
#include <stdio.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/* Make room for `more` bytes and the terminator. */
static void
reserve(Buf *buf, size_t more)
{
	if (buf->capacity - buf->size > more)
		return;
	size_t room = buf->capacity ? buf->capacity * 2 : 64;
	while (room - buf->size <= more)
		room *= 2;
	buf->data = arena_grow(buf->arena, buf->data, buf->size, room);
	buf->capacity = room;
}

void
buf_write(Buf *buf, const void *data, size_t size)
{
	reserve(buf, size);
	if (size)
		memcpy(buf->data + buf->size, data, size);
	buf->size += size;
	buf->data[buf->size] = 0;
}

void
buf_puts(Buf *buf, const char *text)
{
	buf_write(buf, text, strlen(text));
}

void
buf_putc(Buf *buf, char c)
{
	buf_write(buf, &c, 1);
}

void
buf_vprintf(Buf *buf, const char *format, va_list args)
{
	va_list again;
	va_copy(again, args);
	int length = vsnprintf(NULL, 0, format, again);
	va_end(again);
	if (length < 0)
		return;
	reserve(buf, (size_t)length);
	vsnprintf(buf->data + buf->size, (size_t)length + 1, format, args);
	buf->size += (size_t)length;
}

void
buf_printf(Buf *buf, const char *format, ...)
{
	va_list args;
	va_start(args, format);
	buf_vprintf(buf, format, args);
	va_end(args);
}

const char *
buf_text(const Buf *buf)
{
	return buf->data ? buf->data : "";
}

void
buf_pad(Buf *buf, int column)
{
	size_t start = buf->size;
	while (start > 0 && buf->data[start - 1] != '\n')
		start--;
	while (buf->size - start < (size_t)(column > 0 ? column : 0))
		buf_putc(buf, ' ');
}

/* "inf", "-inf" or "nan"; false for finite numbers. */
static bool
put_special(Buf *buf, double value)
{
	if (isnan(value))
		buf_puts(buf, "nan");
	else if (isinf(value))
		buf_puts(buf, value < 0 ? "-inf" : "inf");
	return !isfinite(value);
}

void
buf_float(Buf *buf, float value)
{
	if (put_special(buf, (double)value))
		return;
	char text[32];
	for (int digits = 1; digits <= 9; digits++) {
		snprintf(text, sizeof text, "%.*g", digits, (double)value);
		if (strtof(text, NULL) == value)
			break;
	}
	buf_puts(buf, text);
}

void
buf_double(Buf *buf, double value)
{
	if (put_special(buf, value))
		return;
	char text[32];
	for (int digits = 1; digits <= 17; digits++) {
		snprintf(text, sizeof text, "%.*g", digits, value);
		if (strtod(text, NULL) == value)
			break;
	}
	buf_puts(buf, text);
}

void
buf_quote(Buf *buf, const char *text)
{
	buf_putc(buf, '"');
	for (; *text; text++) {
		unsigned char c = (unsigned char)*text;
		if (c == '"' || c == '\\')
			buf_printf(buf, "\\%c", c);
		else if (c == '\n')
			buf_puts(buf, "\\n");
		else if (c == '\t')
			buf_puts(buf, "\\t");
		else if (c < ' ' || c == 127)
			buf_printf(buf, "\\x%02X", c);
		else
			buf_putc(buf, (char)c);
	}
	buf_putc(buf, '"');
}
