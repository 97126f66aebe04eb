/* Errors have a place and a kind.
 *
 * fail() is for the user's input and unwinds to the nearest try_run() of this thread, which may
 * nest; must() is for our own bugs, and unwinds like it; warn() goes on. Messages are lower case,
 * say what was expected and what was seen, and carry no full stop:
 *
 *     resnet50.onnx: node "conv1" (Conv): group 3 does not divide 64 channels
 *     fuse.t:7: expected ')' after inputs of Relu, saw '{'
 *
 * Never fail() inside a callback of a foreign library, nor in src/runtime, which returns codes.
 */
#ifndef BASE_FAIL_H
#define BASE_FAIL_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>

/* Where something came from. All strings may be NULL; they must outlive the Loc. */
typedef struct Loc {
	const char *file; /* model or text file */
	int line;         /* 0 when there is none */
	const char *node; /* ONNX node name */
	const char *op;   /* operator of that node */
} Loc;

/* The kinds are the exit codes of the command. */
typedef enum FailKind {
	FAIL_NONE = 0,
	FAIL_COMPARISON = 1,  /* results differ */
	FAIL_USAGE = 2,       /* wrong command line */
	FAIL_INVALID = 3,     /* the model or text is wrong */
	FAIL_UNSUPPORTED = 4, /* valid, but not built yet */
	FAIL_BUG = 5,         /* ours */
	FAIL_ENVIRONMENT = 6, /* file, space, memory, compiler, device */
} FailKind;

typedef struct Failure {
	FailKind kind;
	char text[2048]; /* one line, with its place in front */
	char pass[64];   /* of a FAIL_BUG: the pass that was running; empty when none was */
	const char *way; /* of a FAIL_BUG: the way round it, where that is not -O0; or NULL */
} Failure;

/* What this thread is at work on: the pass manager, inference, meanings, lowering and code
 * generation say it, so that a bug has a place also where nothing knows of nodes. try_run() puts
 * back what it found. */
typedef struct Work {
	Loc loc;
	const char *pass;
} Work;

/* Begin with a node (NULL: the same one) or a pass (NULL: the same one); gives what was before, for
 * work_end(). Strings must live until then. */
Work work_begin(const Loc *loc, const char *pass);
void work_end(Work before);
Work work_now(void);

/* Unwind with "place: message". `loc` may be NULL. fail() is FAIL_INVALID. What the place of a
 * FAIL_BUG leaves open is taken from the work under way; so is that of a FAIL_INVALID or
 * FAIL_UNSUPPORTED without any. */
_Noreturn void fail(const Loc *loc, const char *format, ...) __attribute__((format(printf, 2, 3)));
_Noreturn void fail_unsupported(const Loc *loc, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
_Noreturn void fail_environment(const Loc *loc, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
_Noreturn void fail_as(FailKind kind, const Loc *loc, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

/* What holds unless we made a mistake: FAIL_BUG with the place in our source. */
#define must(condition) ((condition) ? (void)0 : fail_must(__FILE__, __LINE__, #condition))
_Noreturn void fail_must(const char *file, int line, const char *condition);

/* The sentence to print behind a FAIL_BUG: whose mistake it is, and a way on. */
void bug_advice(char *text, size_t size, const Failure *failure);
/* The failure on standard error, with this advice where it is due. */
void failure_print(const Failure *failure);

/* Pass on a failure that another try_run() (or another thread) caught. */
_Noreturn void fail_again(const Failure *failure);

/* Run fn(arg). True when it returned; false when it failed, with *failure filled in. Arenas made
 * inside fn and not freed there leak unless deferred to an outer one: make them outside. */
bool try_run(void (*fn)(void *arg), void *arg, Failure *failure);

/* For what returns instead of unwinding: the sentence in `error`, and false. */
bool refuse_with(char *error, size_t size, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

/* Say it on standard error and go on. */
void warn(const Loc *loc, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* A step that may take too long, or that nothing can interrupt. */

/* Does the step in a copy of this process and brings back the `size` bytes at `result` as it left
 * them; of all else it did nothing is seen here. False, with a sentence: it took longer than so
 * many seconds and was ended, or it died. It must not fail() out of itself. */
bool run_limited(double seconds, void (*step)(void *), void *arg, void *result, size_t size,
                 const char **why);

/* Names that nothing has: the sentence that refuses them, with the nearest name that there is. */

/* Whether a text is one of the words of a list as "steps|none". */
bool word_among(const char *text, const char *words);

/* The name that a slip of the finger makes `wrong` of; NULL: none is near. */
const char *name_near(const char *wrong, int count, const char *const *names);

/* Fail (FAIL_USAGE): "there is no pass 'FuseOp'; did you mean 'FuseOps'? (tilewright list passes
 * shows all)". `command`: what shows all names, behind `tilewright`; NULL: the names themselves
 * are told. `loc` may be NULL. */
_Noreturn void fail_unknown(const Loc *loc, const char *what, const char *wrong, int count,
                            const char *const *names, const char *command);

#endif
