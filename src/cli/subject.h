/* Subjects of bench: FILE[@PIPELINE][/EXECUTOR].
 *
 *     resnet18.twb                 a bundle, run by us
 *     m.onnx@O3,-FuseOps           a model, compiled with this pipeline
 *     m.onnx@none                  … with as few passes as possible
 *     m.onnx/ort                   the model, run by ONNX Runtime
 */
#ifndef CLI_SUBJECT_H
#define CLI_SUBJECT_H

#include "cli/cli.h"
#include "cli/ort.h"
#include "cli/session.h"

typedef struct Subject {
	const char *text, *file;
	bool is_ort;
	Options options;    /* with the subject's pipeline */
	const char *bundle; /* NULL: ort */
	Session *session;
	Ort *ort;
	int ninput; /* once open */
	const char *const *names;
	Array *const *inputs;
	VEC(double) seconds;               /* one per run */
	VEC(double) turns;                 /* the median of each turn's */
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

/* Open it and bind the inputs, which are made where --input does not give them. */
void subject_open(Subject *subject, Arena *arena);
void subject_run(Subject *subject);
int subject_output_count(const Subject *subject);
Array subject_output(Subject *subject, int index);

#endif
