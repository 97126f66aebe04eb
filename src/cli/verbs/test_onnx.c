/* tilewright test-onnx: the ONNX backend cases under a folder, a few at once.
 *
 *     node/test_relu/model.onnx, test_data_set_0/input_0.pb, output_0.pb …
 *
 * A case is what `tilewright run --data-set` says of each of its sets, in a process of its own,
 * with --fix if it has to be: it passes where all agree, is skipped where something is not
 * supported, and has failed otherwise, also where the process died.
 */
#include <dirent.h>
#include <fnmatch.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/file.h"
#include "cli/report/report.h"
#include "driver/pipeline.h"
#include "driver/progress.h"
#include "driver/targets.h"
#include "onnx/tensor_file.h"

enum { CASE_SECONDS = 600 /* the machine may be busy */ };

typedef struct Case {
	const char *folder, *name;
	pid_t pid;
	FILE *said;         /* what its process writes to standard error */
	const char *result; /* "passed", "skipped", "failed"; NULL: not run yet */
	const char *detail; /* what the process said last, or NULL */
} Case;

typedef struct Run {
	const Options *options;
	Arena *arena;
	VEC(Case) cases;
	int passed, skipped, failed;
	Progress progress;
} Run;

static void
find_cases(Run *run, const char *folder)
{
	struct dirent **entries;
	const char *glob = run->options->only, *name = file_base(folder);
	bool is_case = file_exists(arena_printf(run->arena, "%s/model.onnx", folder));
	if (is_case && (!glob || fnmatch(glob, name, 0) == 0))
		vec_push(run->arena, &run->cases, ((Case){.folder = folder, .name = name}));
	int count = is_case ? 0 : scandir(folder, &entries, NULL, alphasort);
	if (count < 0)
		fail_environment(NULL, "cannot read folder %s", folder);
	for (int i = 0; i < count; i++) {
		const char *path = arena_printf(run->arena, "%s/%s", folder, entries[i]->d_name);
		if (entries[i]->d_name[0] != '.' && file_is_folder(path))
			find_cases(run, path);
		free(entries[i]);
	}
	if (!is_case)
		free(entries);
}

/* ---- in a case's process ---- */

typedef struct Set {
	Options options; /* of `run` */
	int code;
} Set;

static void
run_set(void *arg)
{
	Set *set = arg;
	options_check(&set->options);
	set->code = verb_run(&set->options);
}

/* The same with inputs by name, those of rank 0 and 1, which may decide shapes, made constants. */
static void
run_set_fixed(void *arg)
{
	Set *set = arg;
	Options *options = &set->options;
	Arena *arena = options->arena;
	for (int i = 0;; i++) {
		const char *path = arena_printf(arena, "%s/input_%d.pb", options->data_set, i);
		if (!file_exists(path))
			break;
		Data data = data_read(arena, path, TYPE_TENSOR);
		vec_push(arena, data.tensor->rank <= 1 ? &options->fix : &options->input,
		         arena_printf(arena, "%s=@%s", data.name, path));
	}
	run_set(set);
}

/* The exit code of one set; what went wrong is said. */
static int
run_either_way(const Set *set)
{
	Set as_it_is = *set, with_fixed = *set;
	Failure failure, second;
	if (try_run(run_set, &as_it_is, &failure))
		return as_it_is.code;
	if (failure.kind == FAIL_UNSUPPORTED) {
		if (try_run(run_set_fixed, &with_fixed, &second))
			return with_fixed.code;
		if (second.kind == FAIL_BUG)
			failure = second;
	}
	fprintf(stderr, "%s\n", failure.text);
	return (int)failure.kind;
}

static _Noreturn void
be_case(const Run *run, const Case *c)
{
	Arena *arena = arena_new("case");
	Set set = {.options = *run->options};
	int code = 0;
	alarm(CASE_SECONDS);
	dup2(fileno(c->said), STDERR_FILENO);
	set.options.arena = arena;
	set.options.quiet = true;
	set.options.runs = !set.options.prove_run; /* which runs once */
	set.options.args = (StrVec){0};
	vec_push(arena, &set.options.args, arena_printf(arena, "%s/model.onnx", c->folder));
	for (int i = 0; code == 0; i++) {
		set.options.data_set = arena_printf(arena, "%s/test_data_set_%d", c->folder, i);
		if (i > 0 && !file_is_folder(set.options.data_set))
			break;
		code = run_either_way(&set);
	}
	arena_free(arena);
	_exit(code);
}

/* ---- in the one that waits ---- */

static void
start_case(const Run *run, Case *c)
{
	fflush(NULL);
	c->said = tmpfile();
	c->pid = c->said ? fork() : -1;
	if (c->pid < 0)
		fail_environment(NULL, "cannot start a process");
	if (c->pid == 0)
		be_case(run, c);
}

/* The last line that a process said, without the path that it begins with. */
static const char *
last_words(const Run *run, const Case *c)
{
	char line[1024], last[sizeof line] = "";
	rewind(c->said);
	while (fgets(line, sizeof line, c->said))
		memcpy(last, line, sizeof last);
	last[strcspn(last, "\n")] = 0;
	const char *model = arena_printf(run->arena, "%s/model.onnx: ", c->folder);
	size_t length = strlen(model);
	return arena_strdup(run->arena, last + (strncmp(last, model, length) == 0 ? length : 0));
}

static void
finish_case(Run *run, Case *c, int status)
{
	int code = WIFEXITED(status) ? WEXITSTATUS(status) : FAIL_BUG;
	c->detail = code != 0 ? last_words(run, c) : NULL;
	if (WIFSIGNALED(status))
		c->detail = WTERMSIG(status) == SIGALRM ? "it takes too long" : strsignal(WTERMSIG(status));
	fclose(c->said);
	c->result = code == 0 ? "passed" : code == FAIL_UNSUPPORTED ? "skipped" : "failed";
	*(code == 0 ? &run->passed : code == FAIL_UNSUPPORTED ? &run->skipped : &run->failed) += 1;
	progress_show(&run->progress, "cases", run->passed + run->skipped + run->failed,
	              run->cases.count);
	if (*c->result == 'f' && !run->options->json)
		printf("FAIL %s: %s\n", c->name, c->detail);
}

static void
wait_for_one(Run *run)
{
	int status;
	pid_t pid = wait(&status);
	for (int i = 0; i < run->cases.count; i++)
		if (run->cases.data[i].pid == pid && !run->cases.data[i].result) /* numbers come again */
			finish_case(run, &run->cases.data[i], status);
}

static int
report_run(const Run *run)
{
	Report *report = report_new(run->options);
	Table *table = report_table(report, "cases", "name:case|result|detail:");
	for (int i = 0; i < run->cases.count; i++) {
		const Case *c = &run->cases.data[i];
		table_row(table, "%s|%s|%s", c->name, c->result, c->detail);
		if (run->options->list_skips && !run->options->json && *c->result == 's')
			printf("skipped %s: %s\n", c->name, c->detail);
	}
	report_number(report, "passed", NULL, run->passed, "%.0f");
	report_number(report, "failed", NULL, run->failed, "%.0f");
	report_number(report, "skipped", NULL, run->skipped, "%.0f");
	if (run->options->json)
		report_print(report);
	else
		printf("%d passed, %d failed, %d skipped\n", run->passed, run->failed, run->skipped);
	return run->failed ? FAIL_COMPARISON : 0;
}

int
verb_test_onnx(const Options *options)
{
	Run run = {options, options->arena, .progress = progress_begin(options)};
	pipeline_new(options, options->arena, 3); /* wrong options fail once, not in every case */
	find_cases(&run, options->args.data[0]);
	if (run.cases.count == 0)
		fail_as(FAIL_USAGE, NULL, "%s holds no cases%s%s", options->args.data[0],
		        options->only ? " named " : "", options->only ? options->only : "");
	int jobs = options->jobs < 1 ? 1 : (int)options->jobs;
	for (int i = 0; i < run.cases.count; i++) {
		if (i >= jobs)
			wait_for_one(&run);
		start_case(&run, &run.cases.data[i]);
	}
	for (int left = jobs < run.cases.count ? jobs : run.cases.count; left > 0; left--)
		wait_for_one(&run);
	progress_end(&run.progress);
	return report_run(&run);
}
