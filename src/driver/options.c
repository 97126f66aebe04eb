/* Values of options that are more than a text. */
#include "driver/options.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

int64_t
number_of(const char *option, const char *text)
{
	char *end;
	errno = 0;
	long long value = strtoll(text, &end, 10);
	if (end == text || *end || errno)
		fail_as(FAIL_USAGE, NULL, "%s: expected a number, saw '%s'", option, text);
	return value;
}

Setting
setting_of(Arena *arena, const char *option, const char *text)
{
	const char *equal = strchr(text, '=');
	if (!equal || equal == text || !equal[1])
		fail_as(FAIL_USAGE, NULL, "--%s: expected NAME=VALUE, saw '%s'", option, text);
	return (Setting){arena_strndup(arena, text, (size_t)(equal - text)), equal + 1};
}
