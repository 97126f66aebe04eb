/* Options: two tables and one loop.
 *
 *     --name=value   --name value   --flag   -O3   -o FILE   --   (the rest are arguments)
 *
 * A verb has the options of its groups; a wrong name gets the nearest right one.
 */
#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"

typedef enum OptionKind {
	KIND_flag,
	KIND_text,
	KIND_word,
	KIND_count,
	KIND_list,
	KIND_many
} OptionKind;

typedef struct OptionInfo {
	const char *name, *argument, *doc;
	char letter;
	OptionKind kind;
	unsigned groups;
	size_t offset; /* of the field in Options */
	int64_t fallback;
} OptionInfo;

#define OPTION(field_, kind_, short_, name_, groups_, argument_, fallback_, doc_) \
	{.name = name_, \
	 .argument = argument_, \
	 .doc = doc_, \
	 .letter = short_, \
	 .kind = KIND_##kind_, \
	 .groups = groups_, \
	 .offset = offsetof(Options, field_), \
	 .fallback = fallback_},
static const OptionInfo infos[] = {
#include "cli/options.def"
};
#undef OPTION

#define VERB(name_, text_, args_, least_, most_, groups_, doc_, more_) \
	{.name = text_, \
	 .args = args_, \
	 .least = least_, \
	 .most = most_, \
	 .groups = (groups_) | ALL, \
	 .run = verb_##name_, \
	 .doc = doc_, \
	 .more = more_},
static const Verb verbs[] = {
#include "cli/verbs.def"
};
#undef VERB

const Verb *
verb_at(int index)
{
	return index >= 0 && index < (int)countof(verbs) ? &verbs[index] : NULL;
}

const Verb *
verb_find(const char *name)
{
	for (size_t i = 0; i < countof(verbs); i++)
		if (strcmp(verbs[i].name, name) == 0)
			return &verbs[i];
	return NULL;
}

/* ---- near misses ---- */

enum { NAME_LIMIT = 40 };

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

static const char *
near_name(const char *wrong, int count, const char *const *names)
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

void
fail_unknown_at(const Loc *loc, const char *what, const char *wrong, int count,
                const char *const *names, const char *verb)
{
	const char *near = near_name(wrong, count, names);
	fail_as(FAIL_USAGE, loc, "there is no %s '%s'%s%s%s; try: tilewright %s", what, wrong,
	        near ? "; did you mean '" : "", near ? near : "", near ? "'?" : "", verb);
}

void
fail_unknown(const char *what, const char *wrong, int count, const char *const *names,
             const char *verb)
{
	fail_unknown_at(NULL, what, wrong, count, names, verb);
}

/* ---- values ---- */

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

double
real_of(const char *option, const char *text, double fallback)
{
	if (!text)
		return fallback;
	char *end;
	double value = strtod(text, &end);
	if (end == text || *end || !(value >= 0))
		fail_as(FAIL_USAGE, NULL, "%s: expected a number of at least 0, saw '%s'", option, text);
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

static void
add_list(Arena *arena, StrVec *list, const char *text)
{
	while (*text) {
		size_t length = strcspn(text, ",");
		if (length)
			vec_push(arena, list, arena_strndup(arena, text, length));
		text += length + (text[length] == ',');
	}
}

/* A value must be one of the words of the argument, "steps|none". */
static void
check_word(const OptionInfo *info, const char *value)
{
	size_t length = strlen(value);
	for (const char *word = info->argument; word; word = strchr(word, '|')) {
		word += *word == '|';
		if (strncmp(word, value, length) == 0 && (word[length] == '|' || !word[length]))
			return;
	}
	fail_as(FAIL_USAGE, NULL, "--%s: expected %s, saw '%s'", info->name, info->argument, value);
}

static void
store(Options *options, const OptionInfo *info, const char *value)
{
	void *field = (char *)options + info->offset;
	switch (info->kind) {
	case KIND_flag:
		*(bool *)field = true;
		return;
	case KIND_word:
		check_word(info, value);
		*(const char **)field = value;
		return;
	case KIND_text:
		*(const char **)field = value;
		return;
	case KIND_count:
		*(int64_t *)field = number_of(arena_printf(options->arena, "--%s", info->name), value);
		return;
	case KIND_list:
		add_list(options->arena, field, value);
		return;
	case KIND_many:
		vec_push(options->arena, (StrVec *)field, value);
		return;
	}
}

/* ---- the loop ---- */

static const OptionInfo *
find_long(const Options *options, const char *name, size_t length)
{
	for (size_t i = 0; i < countof(infos); i++)
		if ((infos[i].groups & options->verb->groups) && strlen(infos[i].name) == length &&
		    strncmp(infos[i].name, name, length) == 0)
			return &infos[i];
	return NULL;
}

static const OptionInfo *
find_letter(const Options *options, char letter)
{
	for (size_t i = 0; i < countof(infos); i++)
		if ((infos[i].groups & options->verb->groups) && infos[i].letter == letter)
			return &infos[i];
	return NULL;
}

static _Noreturn void
unknown_option(const Options *options, const char *text, size_t length)
{
	const char *names[countof(infos)];
	int count = 0;
	for (size_t i = 0; i < countof(infos); i++)
		if (infos[i].groups & options->verb->groups)
			names[count++] = infos[i].name;
	const char *name = arena_strndup(options->arena, text, length);
	const char *near = near_name(name + strspn(name, "-"), count, names);
	fail_as(FAIL_USAGE, NULL, "%s has no option %s%s%s%s; try: tilewright %s --help",
	        options->verb->name, name, near ? "; did you mean --" : "", near ? near : "",
	        near ? "?" : "", options->verb->name);
}

/* One option at argv[at]; gives the place of the next argument. */
static int
read_option(Options *options, int argc, char **argv, int at)
{
	const char *text = argv[at], *value = NULL;
	bool is_long = text[1] == '-';
	size_t length = is_long ? strcspn(text + 2, "=") : 1;
	const OptionInfo *info =
		is_long ? find_long(options, text + 2, length) : find_letter(options, text[1]);
	if (!info)
		unknown_option(options, text, is_long ? length + 2 : strlen(text));
	if (is_long && text[length + 2] == '=')
		value = text + length + 3;
	else if (!is_long && text[2])
		value = text + 2;
	if (info->kind == KIND_flag && value)
		fail_as(FAIL_USAGE, NULL, "%s takes no value", argv[at]);
	if (info->kind != KIND_flag && !value) {
		if (at + 1 >= argc)
			fail_as(FAIL_USAGE, NULL, "%s: expected %s behind it", text, info->argument);
		value = argv[++at];
	}
	store(options, info, value);
	return at + 1;
}

void
options_read(Options *options, int argc, char **argv)
{
	for (size_t i = 0; i < countof(infos); i++)
		if (infos[i].kind == KIND_count)
			*(int64_t *)((char *)options + infos[i].offset) = infos[i].fallback;
	bool only_args = false;
	for (int at = 0; at < argc;) {
		if (only_args || argv[at][0] != '-' || !argv[at][1])
			vec_push(options->arena, &options->args, argv[at++]);
		else if (strcmp(argv[at], "--") == 0)
			only_args = ++at;
		else
			at = read_option(options, argc, argv, at);
	}
	const Verb *verb = options->verb;
	int count = options->args.count;
	if (!options->help && (count < verb->least || (verb->most >= 0 && count > verb->most)))
		fail_as(FAIL_USAGE, NULL, "usage: tilewright %s [options] %s; try: tilewright %s --help",
		        verb->name, verb->args, verb->name);
}

/* ---- help ---- */

void
print_help(void)
{
	printf("tilewright: optimise, compile and run ONNX models\n\n"
	       "  tilewright compile model.onnx      makes model.twb, one file that runs\n"
	       "  tilewright run model.twb --profile\n\n"
	       "verbs (tilewright VERB --help says more):\n");
	for (size_t i = 0; i < countof(verbs); i++)
		printf("  %-10s %s\n", verbs[i].name, verbs[i].doc);
	printf("\nexit codes: 0 ok, 1 comparison failed, 2 usage, 3 invalid model, 4 unsupported,\n"
	       "            5 a bug of ours, 6 environment (file, space, memory, compiler, device)\n");
}

void
print_verb_help(const Verb *verb)
{
	printf("usage: tilewright %s [options] %s\n\n%s.\n%s\noptions:\n", verb->name, verb->args,
	       verb->doc, verb->more);
	for (size_t i = 0; i < countof(infos); i++) {
		const OptionInfo *info = &infos[i];
		if (!(info->groups & verb->groups))
			continue;
		char left[64];
		if (info->letter)
			snprintf(left, sizeof left, "-%c, --%s", info->letter, info->name);
		else
			snprintf(left, sizeof left, "    --%s", info->name);
		if (info->argument)
			snprintf(left + strlen(left), sizeof left - strlen(left), " %s", info->argument);
		printf("  %-28s %s\n", left, info->doc);
	}
}
