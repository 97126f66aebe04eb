/* What a command was asked for: one set of options for all verbs (options.def). The command line
 * fills it (cli/options.c); the driver only reads it.
 */
#ifndef DRIVER_OPTIONS_H
#define DRIVER_OPTIONS_H

#include "base/fail.h"
#include "base/vec.h"

#define FIELD_flag bool
#define FIELD_text const char *
#define FIELD_word const char *
#define FIELD_count int64_t
#define FIELD_real double
#define FIELD_list StrVec
#define FIELD_many StrVec

typedef struct Options {
	Arena *arena;            /* lives as long as the command */
	const struct Verb *verb; /* of cli/cli.h */
	StrVec args;             /* what is not an option */
#define OPTION(field, kind, short_, name, groups, of, argument, fallback, doc) \
	FIELD_##kind field; \
	bool gives_##field; /* whether the command line has it */
#include "driver/options.def"
#undef OPTION
} Options;

/* "name=value" cut in two; fails unless there is a '='. `option` is for the message. */
typedef struct Setting {
	const char *name, *value;
} Setting;
Setting setting_of(Arena *arena, const char *option, const char *text);

/* A number of an option; fails (FAIL_USAGE) on anything else. */
int64_t number_of(const char *option, const char *text);

#endif
