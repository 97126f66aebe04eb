/* filter_run: files are its standard input, output and error, so that neither side waits for the
 * other, and nobody writes into a closed pipe. */
#include "base/filter.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/file.h"

enum { MOST_SAID = 600, MOST_MEGABYTES = 256, WAIT_NANOSECONDS = 2000000 };

typedef struct Filter {
	const char *program;
	const char *files[3]; /* in place of standard input, output and error */
} Filter;

static bool
redirect(const Filter *filter, int stream)
{
	int file = open(filter->files[stream], stream ? O_WRONLY | O_CREAT : O_RDONLY, 0600);
	return file >= 0 && dup2(file, stream) >= 0;
}

/* The child's part: it becomes the program, or writes into the pipe why it cannot. It is in a group
 * of its own, which is ended together, and does not outlive who waits for it. */
static _Noreturn void
become_program(const Filter *filter, int pipe)
{
	const struct rlimit size = {(rlim_t)MOST_MEGABYTES << 20, (rlim_t)MOST_MEGABYTES << 20};
	char *argv[] = {(char *)(uintptr_t)filter->program, NULL};
	bool is_ready = setpgid(0, 0) == 0 && prctl(PR_SET_PDEATHSIG, SIGKILL) == 0 &&
	                setrlimit(RLIMIT_FSIZE, &size) == 0;
	signal(SIGPIPE, SIG_DFL);
	signal(SIGXFSZ, SIG_DFL);
	for (int stream = STDIN_FILENO; stream <= STDERR_FILENO; stream++)
		is_ready = is_ready && redirect(filter, stream);
	if (is_ready)
		execvp(filter->program, argv);
	int error = errno;
	ssize_t put = write(pipe, &error, sizeof error);
	_exit(put < 0);
}

/* 0: the program runs; else the error. */
static int
start(const Filter *filter, pid_t *child)
{
	int ends[2], error = 0;
	if (pipe2(ends, O_CLOEXEC) != 0)
		return errno;
	*child = fork();
	if (*child == 0)
		become_program(filter, ends[1]);
	error = *child < 0 ? errno : 0;
	close(ends[1]);
	ssize_t got = read(ends[0], &error, sizeof error); /* nothing where it became the program */
	close(ends[0]);
	if (got > 0)
		waitpid(*child, NULL, 0);
	return error;
}

/* How it ended; NULL: well. */
static const char *
finish(Arena *arena, pid_t child, double seconds)
{
	const struct timespec pause = {0, WAIT_NANOSECONDS};
	double end = now_seconds() + seconds;
	int status = 0;
	pid_t got;
	while ((got = waitpid(child, &status, WNOHANG)) == 0 && now_seconds() < end)
		nanosleep(&pause, NULL);
	kill(-child, SIGKILL);
	while (got == 0 && waitpid(child, &status, 0) < 0 && errno == EINTR)
		continue;
	if (got == 0)
		return arena_printf(arena, "it ran for more than %.0f s", seconds);
	if (WIFSIGNALED(status) && WTERMSIG(status) == SIGXFSZ)
		return arena_printf(arena, "it wrote more than %d MB", MOST_MEGABYTES);
	if (WIFSIGNALED(status))
		return arena_printf(arena, "it was ended by a signal: %s", strsignal(WTERMSIG(status)));
	return WEXITSTATUS(status)
	           ? arena_printf(arena, "it ended with exit code %d", WEXITSTATUS(status))
	           : NULL;
}

/* In one line, for a terminal: the program may say anything. */
static const char *
beginning(Arena *arena, const char *path)
{
	Bytes bytes = file_map(arena, path);
	size_t size = bytes.size < MOST_SAID ? bytes.size : MOST_SAID;
	char *line = arena_strndup(arena, (const char *)bytes.data, size);
	for (size_t i = 0; i < size; i++)
		if ((unsigned char)line[i] < ' ' || line[i] == 0x7f)
			line[i] = ' ';
	while (size > 0 && line[size - 1] == ' ')
		line[--size] = 0;
	return line;
}

Filtered
filter_run(Arena *arena, const char *program, const char *text, double seconds)
{
	Filter filter = {.program = program};
	Filtered result = {.said = ""};
	const char *folder = file_temporary_folder(arena);
	pid_t child = 0;
	for (int i = 0; i < 3; i++)
		filter.files[i] = arena_printf(arena, "%s/%d", folder, i);
	file_write(arena, filter.files[0], text, strlen(text));
	int error = start(&filter, &child);
	if (error) {
		result.why = arena_printf(arena, "it cannot be started: %s", strerror(error));
		return result;
	}
	result.why = finish(arena, child, seconds);
	result.said = beginning(arena, filter.files[2]);
	Bytes made = result.why ? (Bytes){NULL, 0} : file_map(arena, filter.files[1]);
	if (made.size && memchr(made.data, 0, made.size))
		result.why = "it wrote a zero byte, which no text has";
	else if (!result.why)
		result.text = arena_strndup(arena, (const char *)made.data, made.size);
	return result;
}
