/* Failures unwind with longjmp() to the nearest try_run() of their thread.
 *
 * The frames live on the stack and are chained through one thread-local pointer; it and what the
 * thread is at work on are the only state of this file. Nothing here allocates: running out of
 * memory is itself a failure.
 */
#include "base/fail.h"

#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct Frame {
	jmp_buf place;
	Failure *failure;
	Work work; /* when it was entered */
	struct Frame *outer;
} Frame;

static _Thread_local Frame *innermost;
static _Thread_local Work work;

/* Longest names shown of a place, so that a hostile model cannot push the message out. */
enum { FILE_SHOWN = 512, NAME_SHOWN = 256 };

__attribute__((format(printf, 3, 4))) static void
append(char *text, size_t size, const char *format, ...)
{
	size_t used = strlen(text);
	va_list args;
	va_start(args, format);
	vsnprintf(text + used, size - used, format, args);
	va_end(args);
}

bool
refuse_with(char *error, size_t size, const char *format, ...)
{
	va_list args;
	va_start(args, format);
	vsnprintf(error, size, format, args);
	va_end(args);
	return false;
}

/* "place: message" on one line, control characters replaced. */
__attribute__((format(printf, 4, 0))) static void
compose(char *text, size_t size, const Loc *loc, const char *format, va_list args)
{
	text[0] = 0;
	if (loc && loc->file)
		append(text, size, "%.*s:", FILE_SHOWN, loc->file);
	if (loc && loc->file && loc->line > 0)
		append(text, size, "%d:", loc->line);
	if (loc && loc->node)
		append(text, size, "%snode \"%.*s\"", *text ? " " : "", NAME_SHOWN, loc->node);
	if (loc && loc->op)
		append(text, size, "%s(%.*s)", *text ? " " : "", NAME_SHOWN, loc->op);
	if (loc && (loc->node || loc->op))
		append(text, size, ":");
	if (*text)
		append(text, size, " ");
	size_t used = strlen(text);
	vsnprintf(text + used, size - used, format, args);
	for (char *c = text; *c; c++)
		if ((unsigned char)*c < ' ' || *c == 127)
			*c = '?';
}

/* ---- what is under way ---- */

Work
work_begin(const Loc *loc, const char *pass)
{
	Work before = work;
	if (loc)
		work.loc = *loc;
	if (loc && !loc->file)
		work.loc.file = before.loc.file;
	if (pass)
		work.pass = pass;
	return before;
}

void
work_end(Work before)
{
	work = before;
}

Work
work_now(void)
{
	return work;
}

/* What `loc` says of a place, and the work under way for the rest. */
static Loc
place_of_work(const Loc *loc)
{
	Loc place = loc ? *loc : (Loc){0};
	if (!place.file)
		place.file = work.loc.file;
	if (!place.node && !place.op && place.line == 0) {
		place.line = loc && loc->file ? 0 : work.loc.line;
		place.node = work.loc.node;
		place.op = work.loc.op;
	}
	return place;
}

void
bug_advice(char *text, size_t size, const Failure *failure)
{
	const char *pass = failure->pass;
	if (failure->way)
		snprintf(text, size, "this is a bug in Tilewright; a way round it is %s", failure->way);
	else if (*pass)
		snprintf(text, size,
		         "this is a bug in Tilewright, met in pass %s; a way round it may be --disable %s, "
		         "or -O0",
		         pass, pass);
	else
		snprintf(text, size, "this is a bug in Tilewright; a way round it may be -O0");
}

/* ---- unwinding ---- */

void
failure_print(const Failure *failure)
{
	char advice[256];
	fprintf(stderr, "%s\n", failure->text);
	if (failure->kind != FAIL_BUG)
		return;
	bug_advice(advice, sizeof advice, failure);
	fprintf(stderr, "%s\n", advice);
}

/* Unwind with the failure; without a try_run() around, print it and end the process. */
_Noreturn void
fail_again(const Failure *failure)
{
	Frame *frame = innermost;
	if (!frame) {
		failure_print(failure);
		exit(failure->kind);
	}
	if (frame->failure != failure)
		*frame->failure = *failure;
	innermost = frame->outer;
	work = frame->work;
	longjmp(frame->place, 1);
}

#define FAIL(a_kind, loc, format) \
	do { \
		Failure failure = {.kind = (a_kind)}; \
		bool is_bug = failure.kind == FAIL_BUG; \
		bool is_placeless = failure.kind == FAIL_INVALID || failure.kind == FAIL_UNSUPPORTED; \
		bool is_open = is_bug || (is_placeless && !(loc)); \
		Loc place = is_open ? place_of_work(loc) : (Loc){0}; \
		va_list args; \
		va_start(args, format); \
		compose(failure.text, sizeof failure.text, is_open ? &place : (loc), format, args); \
		if (is_bug && work.pass) \
			append(failure.pass, sizeof failure.pass, "%s", work.pass); \
		va_end(args); \
		fail_again(&failure); \
	} while (0)

_Noreturn void
fail(const Loc *loc, const char *format, ...)
{
	FAIL(FAIL_INVALID, loc, format);
}

_Noreturn void
fail_unsupported(const Loc *loc, const char *format, ...)
{
	FAIL(FAIL_UNSUPPORTED, loc, format);
}

_Noreturn void
fail_environment(const Loc *loc, const char *format, ...)
{
	FAIL(FAIL_ENVIRONMENT, loc, format);
}

_Noreturn void
fail_as(FailKind kind, const Loc *loc, const char *format, ...)
{
	FAIL(kind, loc, format);
}

void
fail_must(const char *file, int line, const char *condition)
{
	fail_as(FAIL_BUG, NULL, "%s:%d: expected %s", file, line, condition);
}

bool
try_run(void (*fn)(void *arg), void *arg, Failure *failure)
{
	Frame frame = {.failure = failure, .work = work, .outer = innermost};
	if (setjmp(frame.place))
		return false; /* fail_again() has taken the frame off */
	innermost = &frame;
	fn(arg);
	innermost = frame.outer;
	return true;
}

void
warn(const Loc *loc, const char *format, ...)
{
	char text[sizeof((Failure *)0)->text];
	va_list args;
	va_start(args, format);
	compose(text, sizeof text, loc, format, args);
	va_end(args);
	fprintf(stderr, "warning: %s\n", text);
}
