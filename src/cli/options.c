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

#include "base/buf.h"
#include "base/file.h"
#include "cli/cli.h"

typedef enum OptionKind {
	KIND_flag,
	KIND_text,
	KIND_word,
	KIND_count,
	KIND_real,
	KIND_list,
	KIND_many
} OptionKind;

typedef struct OptionInfo {
	const char *name, *argument, *doc;
	char letter;
	OptionKind kind;
	unsigned groups, of;
	size_t offset, given; /* of the field in Options, and of what says that it was given */
	int64_t fallback;
} OptionInfo;

#define OPTION(field_, kind_, short_, name_, groups_, of_, argument_, fallback_, doc_) \
	{.name = name_, \
	 .argument = argument_, \
	 .doc = doc_, \
	 .letter = short_, \
	 .kind = KIND_##kind_, \
	 .groups = groups_, \
	 .of = of_, \
	 .offset = offsetof(Options, field_), \
	 .given = offsetof(Options, gives_##field_), \
	 .fallback = fallback_},
static const OptionInfo infos[] = {
#include "driver/options.def"
};
#undef OPTION

/* ---- values ---- */

static double
real_of(const char *option, const char *text)
{
	char *end;
	double value = strtod(text, &end);
	if (end == text || *end || !(value >= 0))
		fail_as(FAIL_USAGE, NULL, "--%s: expected a number of at least 0, saw '%s'", option, text);
	return value;
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

/* From 0 to what an int holds; bytes and seeds may be more. */
static int64_t
count_of(const OptionInfo *info, const char *text)
{
	char option[64];
	snprintf(option, sizeof option, "--%s", info->name);
	int64_t value = number_of(option, text);
	if (value < 0)
		fail_as(FAIL_USAGE, NULL, "%s: %s is negative; expected 0 or more", option, text);
	if (value > INT32_MAX && strcmp(info->argument, "N") == 0)
		fail_as(FAIL_USAGE, NULL, "%s: expected a number from 0 to %d, saw %s", option, INT32_MAX,
		        text);
	return value;
}

static void
store(Options *options, const OptionInfo *info, const char *value)
{
	void *field = (char *)options + info->offset;
	*(bool *)((char *)options + info->given) = true;
	switch (info->kind) {
	case KIND_flag:
		*(bool *)field = true;
		return;
	case KIND_word:
		if (!word_among(value, info->argument))
			fail_as(FAIL_USAGE, NULL, "--%s: expected %s, saw '%s'", info->name, info->argument,
			        value);
		*(const char **)field = value;
		return;
	case KIND_text:
		*(const char **)field = value;
		return;
	case KIND_count:
		*(int64_t *)field = count_of(info, value);
		return;
	case KIND_real:
		*(double *)field = real_of(info->name, value);
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
	const char *near = name_near(name + strspn(name, "-"), count, names);
	fail_as(FAIL_USAGE, NULL, "%s has no option %s%s%s%s (tilewright %s --help shows all)",
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
			fail_as(FAIL_USAGE, NULL, "%s: its value is missing; expected %s %s", text, text,
			        info->argument);
		value = argv[++at];
	}
	store(options, info, value);
	return at + 1;
}

/* Which argument is missing, or one too many. */
static void
check_arguments(const Verb *verb, const StrVec *args)
{
	const char *missing = verb->args;
	for (int i = 0; i < args->count && *missing; i++) {
		missing += strcspn(missing, " ");
		missing += *missing == ' ';
	}
	if (args->count < verb->least)
		fail_as(FAIL_USAGE, NULL, "%s: %.*s is missing; usage: tilewright %s [options] %s",
		        verb->name, (int)strcspn(missing, " "), missing, verb->name, verb->args);
	if (verb->most >= 0 && args->count > verb->most)
		fail_as(FAIL_USAGE, NULL,
		        "%s: '%s' is one argument too many; usage: tilewright %s [options] %s", verb->name,
		        args->data[verb->most], verb->name, verb->args);
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
	if (!options->help)
		check_arguments(options->verb, &options->args);
}

/* "a model or an expression": what an option is for. */
static const char *
subjects_text(Arena *arena, unsigned of)
{
	static const struct {
		unsigned of;
		const char *words;
	} all[] = {{OF_MODEL, "a model"},
	           {OF_BUNDLE, "a bundle"},
	           {OF_EXPR, "an expression"},
	           {OF_LOOPS, "a kernel's loops"}};
	Buf buf = {.arena = arena};
	for (size_t i = 0; i < countof(all); i++)
		if (of & all[i].of)
			buf_printf(&buf, "%s%s", buf.size ? " or " : "", all[i].words);
	return buf_text(&buf);
}

void
options_refuse(const Options *options, unsigned subjects, const char *why)
{
	for (size_t i = 0; i < countof(infos); i++) {
		const OptionInfo *info = &infos[i];
		if (*(const bool *)((const char *)options + info->given) && info->groups != ALL &&
		    !(info->of & subjects))
			fail_as(FAIL_USAGE, NULL, "--%s is for %s: %s", info->name,
			        subjects ? subjects_text(options->arena, info->of) : "models alone", why);
	}
}

void
refuse_over_input(const Options *options, const char *output)
{
	for (int i = 0; i < options->args.count; i++)
		if (options->args.data[i] != output && file_same(options->args.data[i], output))
			fail_as(FAIL_USAGE, NULL, "%s would be written over the input %s; give another name",
			        output, options->args.data[i]);
}

/* ---- help ---- */

/* Columns that a text takes: bytes of UTF-8 but for those that continue a character. */
static int
columns_of(const char *text)
{
	int count = 0;
	for (; *text; text++)
		count += ((unsigned char)*text & 0xC0) != 0x80;
	return count;
}

static void
print_option(const OptionInfo *info)
{
	enum { WIDTH = 29 };
	char left[64];
	if (info->letter)
		snprintf(left, sizeof left, "-%c, --%s", info->letter, info->name);
	else
		snprintf(left, sizeof left, "    --%s", info->name);
	if (info->argument)
		snprintf(left + strlen(left), sizeof left - strlen(left), " %s", info->argument);
	int columns = columns_of(left);
	printf("  %s%*s%s\n", left, columns < WIDTH ? WIDTH - columns : 1, "", info->doc);
}

void
print_verb_help(const Verb *verb, const char *of)
{
	int left_out = 0;
	bool is_all = of && strcmp(of, "all") == 0;
	if (of && !is_all)
		fail_as(FAIL_USAGE, NULL, "--help: expected nothing more, or 'all', saw '%s'", of);
	printf("usage: tilewright %s [options] %s\n\n%s.\n%s\noptions:\n", verb->name, verb->args,
	       verb->doc, verb->more);
	for (size_t i = 0; i < countof(infos); i++) {
		bool is_hidden = (infos[i].groups & DEVELOPER) && !is_all;
		if (!(infos[i].groups & verb->groups))
			continue;
		left_out += is_hidden;
		if (!is_hidden)
			print_option(&infos[i]);
	}
	if (left_out)
		printf("\n%d more for developers: tilewright %s --help all\n", left_out, verb->name);
}
