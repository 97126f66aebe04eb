/* tilewright VERB …: find the verb, read its options, run it, turn a failure into an exit code. */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "base/cpu.h"
#include "cli/cli.h"
#include "codegen/cuda/cuda.h"
#include "driver/progress.h"
#include "driver/targets.h"
#include "runtime/tilewright.h"
#include "runtime/vendor.h"

typedef struct Command {
	int argc;
	char **argv;
	Arena *arena;
	int code;
} Command;

static _Noreturn void
unknown_verb(const char *name)
{
	const char *names[32];
	int count = 0;
	for (const Verb *verb; count < (int)countof(names) && (verb = verb_at(count)); count++)
		names[count] = verb->name;
	fail_unknown(NULL, "verb", name, count, names, "--help");
}

/* Vendor libraries are loaded, not linked: what there is can only be seen by trying. */
static void
print_version(void)
{
	char error[256], compiler[256];
	Vendors vendors = {.is_tried = {false}};
	cuda_compiler(compiler, sizeof compiler);
	printf("tilewright %s\nkernels for GPUs: %s\n", tw_version_text(), compiler);
	printf("backends: cpu");
	for (int i = 0; vendor_libraries[i]; i++) {
		const Vendor *vendor =
			vendors_open(&vendors, vendor_libraries[i]->name, error, sizeof error);
		printf("%s %s", vendor ? "," : ";", vendor ? vendor->version : error);
	}
	printf("\n");
	vendors_close(&vendors);
}

static void
run_command(void *arg)
{
	Command *command = arg;
	const char *name = command->argc > 1 ? command->argv[1] : "--help";
	if (strcmp(name, "help") == 0 && command->argc > 2) { /* help VERB */
		const Verb *verb = verb_find(command->argv[2]);
		if (!verb)
			unknown_verb(command->argv[2]);
		print_verb_help(verb, command->argv[3]); /* or the NULL behind the arguments */
		return;
	}
	if (strcmp(name, "--help") == 0 || strcmp(name, "-h") == 0 || strcmp(name, "help") == 0) {
		print_help();
		command->code = command->argc > 1 ? 0 : FAIL_USAGE;
		return;
	}
	if (strcmp(name, "--version") == 0) {
		print_version();
		return;
	}
	Options options = {.arena = command->arena, .verb = verb_find(name)};
	if (!options.verb)
		unknown_verb(name);
	char cap[400];
	if (!cpu_check_cap(cap, sizeof cap))
		fail_as(FAIL_USAGE, NULL, "%s", cap);
	options_read(&options, command->argc - 2, command->argv + 2);
	if (options.args.count)
		work_begin(&(Loc){.file = options.args.data[0]}, NULL);
	if (options.help) {
		print_verb_help(options.verb, options.args.count ? options.args.data[0] : NULL);
		return;
	}
	options_check(&options);
	command->code = options.verb->run(&options);
}

int
main(int argc, char **argv)
{
	signal(SIGXFSZ, SIG_IGN); /* a full disk or a limit is an error of write(), with its reason */
	signal(SIGPIPE, SIG_IGN);
	crash_watch();
	Command command = {argc, argv, arena_new("command"), 0};
	Failure failure;
	if (!try_run(run_command, &command, &failure)) {
		fflush(stdout);
		progress_wipe();
		failure_print(&failure);
		command.code = failure.kind;
	}
	arena_free(command.arena);
	if (fflush(stdout) != 0 || ferror(stdout)) {
		if (errno != EPIPE) /* `tilewright list ops | head` is no accident */
			perror("standard output");
		command.code = command.code ? command.code : FAIL_ENVIRONMENT;
	}
	return command.code;
}
