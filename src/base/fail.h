/* Errors have a place and a kind.
 *
 * fail() is for the user's input and unwinds to the nearest try_run() of this thread, which may
 * nest; assert() is for our own bugs; warn() goes on. Messages are lower case, say what was
 * expected and what was seen, and carry no full stop:
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

/* Where something came from. All strings may be NULL; they must outlive the Loc. */
typedef struct Loc {
	const char *file; /* model or text file */
	int line;         /* 0 when there is none */
	const char *node; /* ONNX node name */
	const char *op;   /* operator of that node */
} Loc;

/* The kinds are the exit codes of the command (design.md section 10). */
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
} Failure;

/* Unwind with "place: message". `loc` may be NULL. fail() is FAIL_INVALID. */
_Noreturn void fail(const Loc *loc, const char *format, ...) __attribute__((format(printf, 2, 3)));
_Noreturn void fail_unsupported(const Loc *loc, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
_Noreturn void fail_environment(const Loc *loc, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
_Noreturn void fail_as(FailKind kind, const Loc *loc, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

/* Pass on a failure that another try_run() (or another thread) caught. */
_Noreturn void fail_again(const Failure *failure);

/* Run fn(arg). True when it returned; false when it failed, with *failure filled in. Arenas made
 * inside fn and not freed there leak unless deferred to an outer one: make them outside. */
bool try_run(void (*fn)(void *arg), void *arg, Failure *failure);

/* Say it on standard error and go on. */
void warn(const Loc *loc, const char *format, ...) __attribute__((format(printf, 2, 3)));

#endif
