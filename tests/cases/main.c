/* usage: cases compiled|interpreted [OPTIONS] DIR
 *
 * The ONNX backend cases under a folder, with the options of `tilewright test-onnx`, and more of
 * them: whole models (light), and what is told is how each was run. Batches of cases share a call
 * of the C compiler, a few processes at once.
 *
 * SAMPLE=N in the environment: one of N cases, by a hash of its name, the same ones each time.
 *
 * Workers are children that report through pipes, line by line: "begin N", "done N RESULT DETAIL".
 * One that dies takes only the case it had begun with it: the rest is handed to a new one.
 */
#include "cases.h"

#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/map.h"
#include "cli/report/report.h"
#include "driver/pipeline.h"
#include "driver/progress.h"
#include "driver/targets.h"

enum { CASE_SECONDS = 600 /* the machine may be busy */, LINE_SIZE = 4096, MAX_JOBS = 64 };

typedef struct Worker {
	pid_t pid;
	int pipe;
	int begun;      /* case it is at; -1: none */
	VEC(int) cases; /* indices it was given */
	char line[LINE_SIZE];
	size_t used;
} Worker;

typedef struct Run {
	const Options *options;
	bool is_compiled;
	Arena *arena;
	CaseVec cases;
	int done;
	Worker workers[MAX_JOBS];
	Progress progress;
} Run;

/* ---- in the child ---- */

typedef struct Child {
	const Case *cases;
	FILE *out;
} Child;

static void
tell_begin(void *arg, const Case *c)
{
	const Child *child = arg;
	alarm(CASE_SECONDS);
	fprintf(child->out, "begin %d\n", (int)(c - child->cases));
	fflush(child->out);
}

static void
tell_done(void *arg, Case *c)
{
	const Child *child = arg;
	char detail[LINE_SIZE / 2];
	snprintf(detail, sizeof detail, "%s", c->detail ? c->detail : "");
	for (char *at = detail; *at; at++)
		if (*at == '\n')
			*at = ' ';
	fprintf(child->out, "done %d %d %s\n", (int)(c - child->cases), (int)c->result, detail);
	fflush(child->out);
}

static _Noreturn void
be_worker(const Run *run, const Worker *worker, int pipe)
{
	Child child = {run->cases.data, fdopen(pipe, "w")};
	Case **cases = NEW_N(run->arena, Case *, worker->cases.count + 1);
	for (int i = 0; i < worker->cases.count; i++)
		cases[i] = &run->cases.data[worker->cases.data[i]];
	cases_run(run->options, run->is_compiled, worker->cases.count, cases, tell_begin, tell_done,
	          &child);
	fclose(child.out);
	_exit(0);
}

/* ---- in the parent ---- */

static void
start_worker(Run *run, Worker *worker)
{
	int ends[2];
	fflush(stdout);
	if (pipe(ends) != 0)
		fail_environment(NULL, "cannot make a pipe");
	worker->pid = fork();
	if (worker->pid < 0)
		fail_environment(NULL, "cannot start a process");
	if (worker->pid == 0) {
		close(ends[0]);
		be_worker(run, worker, ends[1]);
	}
	close(ends[1]);
	worker->pipe = ends[0];
	worker->begun = -1;
	worker->used = 0;
}

static void
finish_case(Run *run, int index, CaseResult result, const char *detail)
{
	Case *c = &run->cases.data[index];
	c->result = result;
	c->detail = *detail ? arena_strdup(run->arena, detail) : NULL;
	run->done++;
	progress_show(&run->progress, "cases", run->done, run->cases.count);
	if (result == CASE_FAILED)
		printf("FAIL %s: %s\n", c->name, detail);
}

static void
take_line(Run *run, Worker *worker, const char *line)
{
	int index, result, at = 0;
	if (sscanf(line, "begin %d", &index) == 1) {
		worker->begun = index;
	} else if (sscanf(line, "done %d %d %n", &index, &result, &at) == 2 && at > 0) {
		finish_case(run, index, (CaseResult)result, line + at);
		worker->begun = -1;
	}
}

/* What is left of a dead worker's cases goes to a new one. */
static void
bury_worker(Run *run, Worker *worker)
{
	int status;
	close(worker->pipe);
	worker->pipe = -1;
	waitpid(worker->pid, &status, 0);
	bool died = !WIFEXITED(status) || WEXITSTATUS(status) != 0;
	if (died && worker->begun >= 0)
		finish_case(run, worker->begun, CASE_FAILED,
		            WIFSIGNALED(status) && WTERMSIG(status) == SIGALRM ? "it takes too long"
		            : WIFSIGNALED(status)
		                ? arena_printf(run->arena, "crashed: %s", strsignal(WTERMSIG(status)))
		                : "its process ended");
	else if (died)
		fail_as(FAIL_BUG, NULL, "a process ended between two cases");
	int left = 0;
	for (int i = 0; i < worker->cases.count; i++)
		if (run->cases.data[worker->cases.data[i]].result == CASE_OPEN)
			worker->cases.data[left++] = worker->cases.data[i];
	worker->cases.count = left;
	if (left)
		start_worker(run, worker);
}

static void
read_worker(Run *run, Worker *worker)
{
	ssize_t got =
		read(worker->pipe, worker->line + worker->used, sizeof worker->line - 1 - worker->used);
	if (got <= 0) {
		bury_worker(run, worker);
		return;
	}
	worker->used += (size_t)got;
	worker->line[worker->used] = 0;
	for (char *end; (end = strchr(worker->line, '\n'));) {
		*end = 0;
		take_line(run, worker, worker->line);
		worker->used -= (size_t)(end + 1 - worker->line);
		memmove(worker->line, end + 1, worker->used + 1);
	}
}

static void
run_all(Run *run, int jobs)
{
	for (int i = 0; i < run->cases.count; i++)
		vec_push(run->arena, &run->workers[i % jobs].cases, i);
	for (int w = 0; w < jobs; w++) {
		run->workers[w].pipe = -1;
		if (run->workers[w].cases.count)
			start_worker(run, &run->workers[w]);
	}
	while (run->done < run->cases.count) {
		struct pollfd polls[MAX_JOBS];
		for (int w = 0; w < jobs; w++)
			polls[w] = (struct pollfd){.fd = run->workers[w].pipe, .events = POLLIN};
		if (poll(polls, (nfds_t)jobs, -1) < 0)
			continue;
		for (int w = 0; w < jobs; w++)
			if (polls[w].revents)
				read_worker(run, &run->workers[w]);
	}
	for (int w = 0; w < jobs; w++)
		if (run->workers[w].pipe >= 0) {
			close(run->workers[w].pipe);
			waitpid(run->workers[w].pid, NULL, 0);
		}
}

/* ---- the report ---- */

static void
print_skips(const Run *run)
{
	for (int i = 0; i < run->cases.count; i++)
		if (run->cases.data[i].result == CASE_SKIPPED)
			printf("skipped %s: %s\n", run->cases.data[i].name, run->cases.data[i].detail);
}

static int
report_run(const Run *run)
{
	int counts[CASE_FAILED + 1] = {0}, passed = 0;
	for (int i = 0; i < run->cases.count; i++)
		counts[run->cases.data[i].result]++;
	for (int r = CASE_EMITTED; r <= CASE_INTERPRETED; r++)
		passed += counts[r];
	report_say(run->options, "%d emitted, %d vendor, %d host, %d folded, %d interpreted\n",
	           counts[CASE_EMITTED], counts[CASE_VENDOR], counts[CASE_HOST], counts[CASE_FOLDED],
	           counts[CASE_INTERPRETED]);
	printf("%d passed, %d failed, %d skipped\n", passed, counts[CASE_FAILED], counts[CASE_SKIPPED]);
	return counts[CASE_FAILED] ? FAIL_COMPARISON : 0;
}

static void
keep_sample(CaseVec *cases)
{
	const char *text = getenv("SAMPLE");
	uint64_t each = text ? strtoull(text, NULL, 10) : 0;
	int kept = 0;
	for (int i = 0; i < cases->count; i++) {
		const char *name = cases->data[i].name;
		if (each == 0 || hash64(name, strlen(name)) % each == 0)
			cases->data[kept++] = cases->data[i];
	}
	cases->count = kept;
}

static int
run_cases(const Options *options, bool is_compiled)
{
	Arena *arena = options->arena;
	Run *run = NEW(arena, Run);
	*run = (Run){options, is_compiled, .arena = arena, .progress = progress_begin(options)};
	pipeline_new(options, arena, 3); /* wrong options fail once, not in every case */
	run->cases = cases_find(arena, options->args.data[0], options->only);
	keep_sample(&run->cases);
	if (run->cases.count == 0)
		fail_as(FAIL_USAGE, NULL, "%s holds no cases%s%s", options->args.data[0],
		        options->only ? " named " : "", options->only ? options->only : "");
	int jobs = options->jobs < 1 ? 1 : options->jobs > MAX_JOBS ? MAX_JOBS : (int)options->jobs;
	run_all(run, jobs);
	progress_end(&run->progress);
	if (options->list_skips)
		print_skips(run);
	return report_run(run);
}

typedef struct Command {
	int argc;
	char **argv;
	Arena *arena;
	int code;
} Command;

static void
run_command(void *arg)
{
	Command *command = arg;
	const char *way = command->argc > 1 ? command->argv[1] : "";
	bool is_compiled = strcmp(way, "compiled") == 0;
	Options options = {.arena = command->arena, .verb = verb_find("test-onnx")};
	if (!is_compiled && strcmp(way, "interpreted") != 0)
		fail_as(FAIL_USAGE, NULL, "usage: cases compiled|interpreted [OPTIONS] DIR");
	options_read(&options, command->argc - 2, command->argv + 2);
	options_check(&options);
	command->code = run_cases(&options, is_compiled);
}

int
main(int argc, char **argv)
{
	Command command = {argc, argv, arena_new("command"), 0};
	Failure failure;
	if (!try_run(run_command, &command, &failure)) {
		failure_print(&failure);
		command.code = failure.kind;
	}
	arena_free(command.arena);
	return command.code;
}
