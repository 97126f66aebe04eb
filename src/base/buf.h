/* A growing text or byte buffer in an arena. The text is always terminated. */
#ifndef BASE_BUF_H
#define BASE_BUF_H

#include <stdarg.h>

#include "base/arena.h"

typedef struct Buf {
	Arena *arena;
	char *data; /* NULL while empty; buf_text() gives "" then */
	size_t size, capacity;
} Buf;

void buf_vprintf(Buf *buf, const char *format, va_list args);
void buf_printf(Buf *buf, const char *format, ...) __attribute__((format(printf, 2, 3)));
void buf_puts(Buf *buf, const char *text);
void buf_putc(Buf *buf, char c);
void buf_write(Buf *buf, const void *data, size_t size);
const char *buf_text(const Buf *buf);

/* Add spaces until the current line has `column` characters (aligned listings). */
void buf_pad(Buf *buf, int column);

/* The shortest decimal text that reads back as the same float/double; "inf", "-inf", "nan". */
void buf_float(Buf *buf, float value);
void buf_double(Buf *buf, double value);

/* A quoted string with \" \\ \n \t \xHH escapes, as scan.h reads it. */
void buf_quote(Buf *buf, const char *text);

#endif
