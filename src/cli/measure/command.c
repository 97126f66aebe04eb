/* A program that runs a model, as a subject: cmd:COMMAND.
 *
 * It is started once, as `COMMAND INPUTS OUTPUTS THREADS`: two folders and a number. INPUTS holds
 * a NAME.npy for each input. Then it reads words from its standard input, one a line, and answers
 * each with a number on a line of its own on standard output:
 *
 *     run     it runs once, and answers how many nanoseconds that took
 *     save    it writes what the last run gave as OUTPUTS/NAME.npy, and answers any number
 *
 * and ends where there is no more to read. In the names of files / is _. What else it prints goes
 * to our standard error.
 */
#include "cli/measure/executor.h"

#include <dirent.h>
#include <math.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fail.h"
#include "base/vec.h"
#include "driver/sizes/npy.h"

typedef struct Program {
	Arena *arena;
	const char *command, *inputs, *outputs; /* folders */
	int threads;
	pid_t pid;  /* 0: not started */
	FILE *talk; /* its standard input and output */
	double nanoseconds;
	bool is_saved;
	StrVec names; /* of its outputs, once saved */
} Program;

extern char **environ;

static void
end_program(void *handle)
{
	Program *program = handle;
	if (program->talk)
		fclose(program->talk);
	if (program->pid > 0) {
		kill(program->pid, SIGTERM);
		waitpid(program->pid, NULL, 0);
	}
}

static void *
open_command(Arena *arena, const char *command, int threads, bool is_optimised)
{
	Program *program = NEW(arena, Program);
	const char *folder = file_temporary_folder(arena);
	(void)is_optimised; /* it is asked for its outputs only */
	*program = (Program){
		.arena = arena,
		.command = command,
		.threads = threads,
		.inputs = arena_printf(arena, "%s/inputs", folder),
		.outputs = arena_printf(arena, "%s/outputs", folder),
	};
	file_make_folder(program->inputs);
	file_make_folder(program->outputs);
	arena_defer(arena, end_program, program);
	return program;
}

static void
start(Program *program)
{
	Arena *arena = program->arena;
	int ends[2];
	posix_spawn_file_actions_t actions;
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0)
		fail_environment(NULL, "cannot make a pipe");
	program->talk = fdopen(ends[0], "r");
	posix_spawn_file_actions_init(&actions);
	posix_spawn_file_actions_adddup2(&actions, ends[1], STDIN_FILENO);
	posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
	char *line = arena_printf(arena, "exec %s \"$@\"", program->command);
	char *argv[] = {(char[]){"sh"},
	                (char[]){"-c"},
	                line,
	                (char[]){"sh"},
	                arena_strdup(arena, program->inputs),
	                arena_strdup(arena, program->outputs),
	                arena_printf(arena, "%d", program->threads),
	                NULL};
	int error = posix_spawn(&program->pid, "/bin/sh", &actions, NULL, argv, environ);
	posix_spawn_file_actions_destroy(&actions);
	close(ends[1]);
	if (error || !program->talk)
		fail_environment(NULL, "cmd:%s: cannot be started: %s", program->command, strerror(error));
}

/* Its answer to a word, a number. */
static double
ask(Program *program, const char *word)
{
	char line[512], *end;
	int size = snprintf(line, sizeof line, "%s\n", word);
	if (send(fileno(program->talk), line, (size_t)size, MSG_NOSIGNAL) != size)
		fail_environment(NULL, "cmd:%s: it ended before the word '%s'", program->command, word);
	while (fgets(line, sizeof line, program->talk)) {
		double number = strtod(line, &end);
		if (end != line && (*end == '\n' || !*end) && isfinite(number))
			return number;
		fputs(line, stderr);
	}
	fail_environment(NULL, "cmd:%s: it ended and did not answer '%s'", program->command, word);
}

static void
bind_inputs(void *state, int count, const char *const *names, Array *const *inputs)
{
	Program *program = state;
	for (int i = 0; i < count; i++)
		npy_write(program->arena, npy_path(program->arena, program->inputs, names[i]), inputs[i]);
	start(program);
}

static void
run(void *state)
{
	Program *program = state;
	program->nanoseconds = ask(program, "run");
	program->is_saved = false;
}

/* ---- what it saved ---- */

static int
compare_names(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static void
save(Program *program)
{
	if (program->is_saved)
		return;
	ask(program, "save");
	program->is_saved = true;
	program->names.count = 0;
	DIR *folder = opendir(program->outputs);
	for (struct dirent *entry; folder && (entry = readdir(folder));) {
		size_t length = strlen(entry->d_name);
		if (length > 4 && strcmp(entry->d_name + length - 4, ".npy") == 0)
			vec_push(program->arena, &program->names,
			         arena_strndup(program->arena, entry->d_name, length - 4));
	}
	if (folder)
		closedir(folder);
	if (program->names.count)
		qsort(program->names.data, (size_t)program->names.count, sizeof *program->names.data,
		      compare_names);
}

static int
output_count(void *state)
{
	Program *program = state;
	save(program);
	return program->names.count;
}

static const char *
output_name(void *state, int index)
{
	Program *program = state;
	return program->names.data[index];
}

static Array *
output(void *state, int index)
{
	Program *program = state;
	save(program);
	return npy_read(program->arena,
	                npy_path(program->arena, program->outputs, program->names.data[index]));
}

static const char *
version(void *state)
{
	(void)state;
	return "";
}

static double
seconds(void *state)
{
	Program *program = state;
	return program->nanoseconds * 1e-9;
}

static pid_t
process(void *state)
{
	Program *program = state;
	return program->pid;
}

const Executor executor_command = {
	.title = "a program",
	.open = open_command,
	.bind = bind_inputs,
	.run = run,
	.output_count = output_count,
	.output_name = output_name,
	.output = output,
	.version = version,
	.seconds = seconds,
	.process = process,
};
