/* The nearest name is the one that takes the fewest insertions, deletions and replacements. */
#include "base/fail.h"

#include <stdio.h>
#include <string.h>

enum { NAME_LIMIT = 40, SHOWN = 12 };

/* Insertions, deletions and replacements that turn one name into the other. */
static int
distance(const char *a, const char *b)
{
	int row[NAME_LIMIT + 1], length = (int)strlen(b);
	if (length > NAME_LIMIT)
		return NAME_LIMIT;
	for (int j = 0; j <= length; j++)
		row[j] = j;
	for (int i = 1; *a; a++, i++) {
		int corner = row[0];
		row[0] = i;
		for (int j = 1; j <= length; j++) {
			int least = corner + (*a != b[j - 1]);
			corner = row[j];
			if (row[j] + 1 < least)
				least = row[j] + 1;
			if (row[j - 1] + 1 < least)
				least = row[j - 1] + 1;
			row[j] = least;
		}
	}
	return row[length];
}

bool
word_among(const char *text, const char *words)
{
	size_t length = strlen(text);
	for (const char *word = words; word; word = strchr(word, '|')) {
		word += *word == '|';
		if (strcspn(word, "|") == length && strncmp(word, text, length) == 0)
			return true;
	}
	return false;
}

const char *
name_near(const char *wrong, int count, const char *const *names)
{
	const char *best = NULL;
	int least = 1 + (int)strlen(wrong) / 3;
	for (int i = 0; i < count; i++) {
		int d = distance(wrong, names[i]);
		if (d <= least && (!best || d < least)) {
			best = names[i];
			least = d;
		}
	}
	return best;
}

/* "(tilewright list passes shows all)", or "(there are: x, y)". */
static void
write_all(char *text, size_t size, int count, const char *const *names, const char *command)
{
	size_t used = 0;
	if (command)
		snprintf(text, size, "(tilewright %s shows all)", command);
	else
		used = (size_t)snprintf(text, size, "(there %s", count ? "are: " : "is none");
	for (int i = 0; !command && i < count && i <= SHOWN && used < size; i++)
		used += (size_t)snprintf(text + used, size - used, "%s%s", i ? ", " : "",
		                         i < SHOWN ? names[i] : "…");
	if (!command && used < size)
		snprintf(text + used, size - used, ")");
}

void
fail_unknown(const Loc *loc, const char *what, const char *wrong, int count,
             const char *const *names, const char *command)
{
	char all[512];
	const char *near = name_near(wrong, count, names);
	write_all(all, sizeof all, count, names, command);
	fail_as(FAIL_USAGE, loc, "there is no %s '%s'%s%s%s %s", what, wrong,
	        near ? "; did you mean '" : "", near ? near : "", near ? "'?" : "", all);
}
