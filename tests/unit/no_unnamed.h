/* A file system without unnamed files (O_TMPFILE), when `has_unnamed` is false: open() is replaced
 * for the whole program. */
#ifndef NO_UNNAMED_H
#define NO_UNNAMED_H

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdbool.h>

static bool has_unnamed = true;

/* NOLINTNEXTLINE(readability-inconsistent-declaration-parameter-name): glibc has reserved words */
int
open(const char *path, int flags, ...)
{
	va_list args;
	va_start(args, flags);
	mode_t mode = flags & (O_CREAT | O_TMPFILE) ? va_arg(args, mode_t) : 0;
	va_end(args);
	if (!has_unnamed && (flags & O_TMPFILE) == O_TMPFILE) {
		errno = EOPNOTSUPP;
		return -1;
	}
	return openat(AT_FDCWD, path, flags, mode);
}

#endif
