/* The command line: what its files share.
 *
 *     verbs/    a file per verb; each has a row in verbs.def
 *     measure/  subjects of bench and compare: bundles, other runtimes; their turns and profiles
 *     report/   tables and JSON
 *     bisect/   which choice breaks a check, and the smallest model that shows it
 *     page/     a bundle as a page of HTML
 *
 * Options stand in driver/options.def, one set for all verbs. A verb
 * returns its exit code (0, or FAIL_COMPARISON); everything else that can go wrong is a fail().
 * Standard output carries results, standard error the rest.
 */
#ifndef CLI_CLI_H
#define CLI_CLI_H

#include "driver/options.h"

typedef struct Verb Verb;

enum {
	PIPELINE = 1,
	SHAPES = 2,
	TARGET = 4,
	THREADS = 8,
	INPUTS = 16,
	RUN = 32,
	REPEAT = 64,
	BENCH = 128,
	PRINT = 256,
	EXPORT = 512,
	CASES = 1024,
	OUTPUT = 2048,
	ALL = 4096,
	INSPECT = 8192,
	COMPILE = 16384,
	DERIVE = 32768,
	EXPLAIN = 65536,
	FIX = 131072,
	MAKE = 262144,
	WATCH = 524288,
	CHOICES = 1048576,
	TUNE = 2097152,
	COMPARE = 4194304,
	BISECT = 8388608,
	ABLATE = 16777216,
	TILES = 33554432,
	DEVELOPER = 67108864, /* no verb's: options that the short help leaves out */
};

/* What a verb was given to work on, in the column `of` of options.def. */
enum {
	OF_MODEL = 1, /* an ONNX file, or the text of a graph */
	OF_BUNDLE = 2,
	OF_EXPR = 4, /* the text of an expression */
	OF_LOOPS = 8,
	OF_NET = OF_MODEL | OF_BUNDLE,
	OF_SOURCE = OF_MODEL | OF_EXPR | OF_LOOPS,
	OF_ANY = ~0,
};

struct Verb {
	const char *name, *args;
	int least, most;
	unsigned groups;
	int (*run)(const Options *options);
	const char *doc, *more;
};

#define VERB(name, ...) int verb_##name(const Options *options);
#include "cli/verbs.def"
#undef VERB

const Verb *verb_find(const char *name); /* NULL: none */
const Verb *verb_at(int index);          /* NULL behind the last */

/* Read the arguments behind the verb. Fails (FAIL_USAGE) on what the verb does not have. */
void options_read(Options *options, int argc, char **argv);

/* Fail (FAIL_USAGE) where an option is given that does nothing for these subjects (OF_…; 0: no
 * option does): "--log is for a model or an expression: m.twb is a bundle". `why` is what stands
 * behind the colon. */
void options_refuse(const Options *options, unsigned subjects, const char *why);

/* Fail (FAIL_USAGE) where this file is one of the arguments. */
void refuse_over_input(const Options *options, const char *output);

/* From now on SIGSEGV, an abort() and their like, the end of the stack included, say where the
 * compiler was at work and that it is our bug, remove files that are not complete, and end with
 * exit code 5. To be killed removes these files, too. (crash.c) */
void crash_watch(void);

void print_help(void);
/* `of`: NULL, or "all": options for developers too. Fails (FAIL_USAGE) on other words. */
void print_verb_help(const Verb *verb, const char *of);

#endif
