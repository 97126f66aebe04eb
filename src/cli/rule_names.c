/* --rules FILE: a name on each line; what stands behind a # is for people. */
#include "cli/rule_names.h"

#include <string.h>

#include "base/file.h"

static uint32_t
rules_of_file(Arena *arena, const char *path)
{
	uint32_t bits = 0;
	Loc loc = {.file = path};
	const char *text = file_text(arena, path);
	for (loc.line = 1; *text; loc.line++) {
		size_t length = strcspn(text, "\n"), named = strcspn(text, "#\n");
		const char *from = text + strspn(text, " \t\r");
		const char *end = text + named;
		while (end > from && strchr(" \t\r", end[-1]))
			end--;
		if (end > from)
			bits |= rule_bit(&loc, arena_strndup(arena, from, (size_t)(end - from)));
		text += length + (text[length] == '\n');
	}
	if (!bits)
		fail_as(FAIL_USAGE, &(Loc){.file = path}, "no rule is named: expected one on each line");
	return bits;
}

uint32_t
rules_left_out(const Options *options)
{
	uint32_t bits = options->rules ? ~rules_of_file(options->arena, options->rules) : 0;
	for (int i = 0; i < options->without.count; i++)
		bits |= rule_bit(NULL, options->without.data[i]);
	return bits;
}
