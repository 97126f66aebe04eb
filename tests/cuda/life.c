/* Sessions that end early, begin again, or have too little: each says so, and leaves nothing. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cuda.h"

static const char *path, *right_path;
static Model right;

/* A session that is as good as new, and then nothing of it. */
static void
finish(Model *m, const char *what)
{
	TwError error;
	TwCode code = run_opened(m, 0, &error);
	if (code)
		lose("%s: code %d: %s", what, (int)code, error.text);
	else if (!has_outputs_of(m, &right))
		lose("%s: other results", what);
	close_model(m);
	if (standin->live())
		lose("%s: %d handles and blocks stay", what, standin->live());
}

static void
open_or_lose(Model *m, const TwSessionOptions *options)
{
	TwError error;
	if (open_model(m, path, options, &error))
		lose("%s", error.text);
}

/* ---- Again ---- */

/* The second is opened before the first goes. */
static void
test_reopen(void)
{
	enum { TIMES = 4 };
	for (int i = 0; i < TIMES && !failures; i++) {
		Model first, second;
		TwError error;
		open_or_lose(&first, NULL);
		open_or_lose(&second, NULL);
		if (run_opened(&first, i, &error))
			lose("%s", error.text);
		close_model(&first);
		finish(&second, "opened again");
	}
}

/* Two sessions of one bundle in turns, of other sizes: calls have their streams and plans each. */
static void
test_together(void)
{
	Model first, second, other;
	TwError error;
	open_or_lose(&first, NULL);
	second = (Model){.bundle = first.bundle, .ninput = first.ninput, .noutput = first.noutput};
	second.more = 1;
	if (tw_session_new(second.bundle, NULL, &second.session, &error) ||
	    open_model(&other, right_path, NULL, &error))
		lose("%s", error.text);
	other.more = 1;
	if (run_opened(&other, 1, &error) || run_opened(&first, 2, &error) ||
	    run_opened(&second, 1, &error))
		lose("two sessions: %s", error.text);
	else if (!has_outputs_of(&second, &other))
		lose("two sessions: other results");
	second.bundle = NULL; /* the first one's */
	close_model(&second);
	close_model(&other);
	finish(&first, "beside another session");
}

/* ---- Memory ---- */

/* Whatever little there is, it is said; with enough, results are right. */
static void
test_limit(void)
{
	int refused = 0;
	TwCode code = TW_MEMORY;
	for (size_t limit = 1; code && !failures; limit += limit / 32 + 1) {
		const TwSessionOptions options = {.size = sizeof options, .memory_limit = limit};
		Model m;
		TwError error = {TW_OK, ""};
		code = open_model(&m, path, &options, &error);
		code = code ? code : run_opened(&m, 0, &error);
		refused += code == TW_MEMORY;
		if (code && (code != TW_MEMORY || !strstr(error.text, "of the limit of")))
			lose("%zu bytes: code %d: %s", limit, (int)code, error.text);
		if (!code && !has_outputs_of(&m, &right))
			lose("%zu bytes: other results", limit);
		close_model(&m);
		if (standin->live())
			lose("%zu bytes: %d handles and blocks stay", limit, standin->live());
	}
	if (!refused)
		lose("no limit is too low");
}

/* ---- Cancelled ---- */

static int until, cancelled;

static void
count_down(void *context, const TwStep *step)
{
	(void)context, (void)step;
	cancelled = --until == 0;
}

/* Behind each step of a run, until one has fewer; the run behind it is whole. */
static void
test_cancel(void)
{
	const TwSessionOptions options = {
		.size = sizeof options, .cancel = &cancelled, .profile = count_down};
	TwCode code = TW_CANCELLED;
	for (int steps = 0; code && !failures; steps++) {
		Model m;
		TwError error;
		open_or_lose(&m, &options);
		cancelled = steps == 0;
		until = steps;
		code = bind_inputs(&m, 0, &error);
		code = code ? code : tw_run(m.session, &error);
		if (code != TW_CANCELLED && steps < 2)
			lose("cancelled behind step %d: code %d: %s", steps, (int)code, error.text);
		if (code != TW_CANCELLED && code)
			lose("cancelled behind step %d: code %d: %s", steps, (int)code, error.text);
		until = cancelled = 0;
		finish(&m, "behind a run that was cancelled");
	}
}

/* ---- Forked ---- */

/* What the parent opened is of no use: that is said, and closing it does no harm. */
static void
use_forked(Model *m)
{
	TwError error = {TW_OK, ""};
	TwCode code = tw_run(m->session, &error);
	if (code != TW_DEVICE || !strstr(error.text, "cuda"))
		lose("in a child a run gives code %d: %s", (int)code, error.text);
	close_model(m);
	code = open_model(m, path, NULL, &error);
	if (!code || !error.text[0])
		lose("in a child a bundle can be opened, code %d", (int)code);
	close_model(m);
}

static void
test_fork(void)
{
	Model m;
	TwError error;
	int status = 1;
	open_or_lose(&m, NULL);
	if (run_opened(&m, 1, &error))
		lose("%s", error.text);
	fflush(stdout);
	pid_t child = fork();
	if (child == 0) {
		failures = 0;
		use_forked(&m);
		fflush(stdout);
		_exit(failures ? 1 : 0);
	}
	if (child < 0 || waitpid(child, &status, 0) != child || status)
		lose("the child ends with status %d", status);
	finish(&m, "behind fork()");
}

void
test_life(char **argv)
{
	TwError error;
	path = argv[2];
	right_path = argv[3];
	if (run_model(&right, right_path, 0, &error))
		lose("%s", error.text);
	test_reopen();
	test_together();
	test_limit();
	test_cancel();
	test_fork();
	close_model(&right);
}
