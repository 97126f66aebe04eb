/* Subjects of bench and compare: FILE[@PIPELINE][/EXECUTOR], or cmd:COMMAND.
 *
 *     resnet18.twb                 a bundle, run by us
 *     m.onnx@O3,-FuseOps           a model, compiled with this pipeline
 *     m.onnx@none                  … with as few passes as possible
 *     m.onnx/ort                   the model, run by ONNX Runtime (executor.h: who else)
 *     cmd:COMMAND                  run by a program of yours
 */
#ifndef CLI_MEASURE_SUBJECT_H
#define CLI_MEASURE_SUBJECT_H

#include "cli/cli.h"
#include "cli/measure/executor.h"
#include "driver/proof/session.h"

typedef struct Subject {
	const char *text, *file;  /* the file is a model, a bundle, or the command */
	const Executor *executor; /* NULL: ours */
	Options options;          /* with the subject's pipeline */
	const char *bundle;       /* ours */
	Session *session;         /* ours */
	void *state;              /* the executor's */
	Arena *life;              /* of session and state: it ends when they are opened anew */
	bool has_all_inputs;      /* --input gives all: a model need not be read for them */
	int ninput;               /* once open */
	const char *const *names;
	Array *const *inputs;
	VEC(double) seconds;               /* one per run */
	VEC(double) turns;                 /* the median of each turn's */
	double used, runs;                 /* seconds of processors of so many runs */
	double fresh_seconds, fresh_bytes; /* open and first run, in a process of its own */
} Subject;

/* The bundle of a subject: the file itself, or, of a model, a bundle compiled to a temporary file
 * that goes with the arena. */
const char *bundle_of(const Options *options, Arena *arena, const char *path);

/* Fail (FAIL_USAGE) where the file is a bundle and an option of compiling is given. */
void refuse_compiling(const Options *options, Arena *arena, const char *path);

/* A pipeline in a word, as a subject and the manifest of a bundle have it (pipeline_text()). */
void subject_pipeline(Options *options, Arena *arena, const char *text);

/* Cut the text; compiles where needed. Fails on a wrong pipeline or executor. */
Subject *subject_new(const Options *options, Arena *arena, const char *text);

/* Open it and bind the inputs, which are made where --input does not give them; a command gets
 * those of `first` (NULL: all are given). */
void subject_open(Subject *subject, Arena *arena, const Subject *first);
/* Close it and open it with the same inputs again: its memory may lie elsewhere then. A command
 * goes on. */
void subject_reopen(Subject *subject);
double subject_run(Subject *subject); /* seconds it took */
int subject_output_count(Subject *subject);
const char *subject_output_name(Subject *subject, int index);
Array subject_output(Subject *subject, int index);
/* "x: f32[1,3,224,224], …": what it is given; the rest holds its default. */
const char *subject_inputs_text(Arena *arena, const Subject *subject);
double subject_peak(Subject *subject); /* the largest memory of the process that runs it, bytes */

/* The inputs of an open subject as files that go with the arena: the words of --input. */
StrVec subject_inputs(Arena *arena, const Subject *subject);
/* The largest difference to the first subject's outputs, relative to the largest element. */
double subject_difference(Arena *arena, Subject *a, Subject *b);

#endif
