/* Others that run a model: each a row of functions over a state of its own.
 *
 *     m.onnx/ort         ONNX Runtime
 *     m.onnx/openvino    OpenVINO
 *     cmd:COMMAND        a program (docs/compare.md has what it is told and must answer)
 *
 * Libraries are loaded when the first subject asks for them; ours is none of these rows.
 */
#ifndef CLI_MEASURE_EXECUTOR_H
#define CLI_MEASURE_EXECUTOR_H

#include <sys/types.h>

#include "base/array.h"

typedef struct Executor {
	const char *word;  /* of a subject, behind its last slash; NULL: the subject is a command */
	const char *title; /* for people */
	/* Everything goes with the arena. `model` is a file, or the command. Not optimised: node by
	 * node as the model says, so that each value is what the model means by its name. Fails
	 * (FAIL_ENVIRONMENT) saying how to get the library. */
	void *(*open)(Arena *arena, const char *model, int threads, bool is_optimised);
	void (*bind)(void *state, int count, const char *const *names, Array *const *inputs);
	void (*run)(void *state);
	int (*output_count)(void *state);
	const char *(*output_name)(void *state, int index);
	Array *(*output)(void *state, int index); /* a view, valid until the next run; no strings */
	const char *(*version)(void *state);
	double (*seconds)(void *state); /* of the last run; NULL: our clock says it */
	pid_t (*process)(void *state);  /* that runs it; NULL: this one */
} Executor;

extern const Executor executor_ort;      /* $ORT_LIBRARY, or under build/ort, or the system's */
extern const Executor executor_openvino; /* $OPENVINO_LIBRARY, or the system's */
extern const Executor executor_command;

#endif
