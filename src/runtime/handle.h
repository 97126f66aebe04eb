/* What stands behind the handles of tilewright.h, for the files that implement it. */
#ifndef RUNTIME_HANDLE_H
#define RUNTIME_HANDLE_H

#include <stdatomic.h>

#include "bundle/bundle.h"
#include "runtime/exec/exec.h"
#include "runtime/tilewright.h"

struct TwBundle {
	atomic_int users; /* the opener and the sessions */
	Bundle bundle;
	void *map; /* what tw_close() unmaps; NULL: the caller's memory */
	bool is_file;
	size_t map_size;
	int target;
	Plan *plan;
	BackendCode *code; /* NULL: the plan has no kernels */
	Weights weights;
	void *held;        /* the plain ones, as the backend reads them */
	char vendors[128]; /* versions of the libraries that the model uses */
	ExecModel model;
	Arena *texts; /* of the signature */
	TwTensorInfo *inputs, *outputs;
};

struct TwSession {
	TwBundle *bundle;
	Exec exec;
	Array *inputs;
	bool *is_input_bound, has_run, is_prepared;
	int64_t *input_dims; /* PLAN_MAX_RANK each */
	Array *taken;        /* what the plan gets: the inputs, or copies of them (repeat.c): */
	int64_t *taken_dims;
	Block *repeated;
	bool is_repeating; /* any of them */
	void **output_data;
	size_t *output_bytes;
};

/* A code and its sentence, without control characters; `error` may be NULL. */
TwCode handle_fail(TwError *error, TwCode code, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
TwCode handle_success(TwError *error);
/* TW_USAGE for an argument that may not be NULL. */
TwCode handle_missing(TwError *error, const char *function, const char *argument);

/* The buffers `ports` of a plan, its inputs or outputs, as tilewright.h shows them; in the arena.
 * Unwinds when memory is out. (signature.c) */
TwTensorInfo *signature_tensors(Arena *arena, const Plan *plan, int count, const int *ports);

/* Whether an input may have one element along a dim where the plan has another size. (repeat.c) */
bool plan_may_be_one(const Plan *plan, int input, int axis);
/* session->taken, from what is bound to all inputs; then, once the frame is bound, its memory; and
 * before each run the elements. */
void session_repeat_dims(TwSession *session);
TwCode session_repeat_memory(TwSession *session);
TwCode session_repeat(TwSession *session);

/* Copy the caller's options, which may be those of an older or newer header. False when a member
 * that this library does not know is set. */
bool handle_options(void *own, size_t own_size, const void *options);

#endif
