/* A bundle being run, with its inputs: what run, bench and test-onnx drive. Failures of the library
 * become fail()s with their exit code. */
#ifndef DRIVER_PROOF_SESSION_H
#define DRIVER_PROOF_SESSION_H

#include "base/file.h"
#include "driver/sizes/inputs.h"
#include "runtime/tilewright.h"

typedef struct Session {
	Arena *arena;
	const char *path; /* of the bundle */
	const char *name; /* for messages: of the model, where the bundle was made on the way */
	TwBundle *bundle;
	TwSession *session;
	int ninput, noutput;
	Array **inputs; /* filled in by session_inputs(), or by whoever calls session_bind() */
	InputRanges ranges;
	Bytes sizes; /* what was typical when it was compiled (driver/sizes/sizes.h) */
} Session;

/* Open a bundle file, called `name` in messages. Released with the arena. `settings` may be
 * NULL. */
Session *session_open(Arena *arena, const char *path, const char *name, const Options *options,
                      const TwSessionOptions *settings);

/* For inputs that nobody gave: what a loop does with them may have no end. Runs fail once their
 * loops have made so many turns, or so much work, or hold so much memory. */
void session_expect_end(Session *session);
bool session_saw_no_end(const Session *session); /* in the last run */

/* Make or read the inputs, at the sizes of --shape, typical ones for the other symbols, and bind
 * them. Where some are made, an end is expected. */
void session_inputs(Session *session, const Options *options);
void session_bind(Session *session); /* bind session->inputs, and prepare */
void session_run(Session *session);
/* An output of the last run: a view of the session's memory. */
Array session_output(Session *session, int index);

#endif
