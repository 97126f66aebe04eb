/* The pipeline, for the verbs that need a bundle of a model. */
#ifndef CLI_COMPILE_H
#define CLI_COMPILE_H

#include "cli/model.h"

/* What a compilation made, for tables. */
typedef struct Compiled {
	const char *path;
	int nodes_before, nodes_after;
	int kernels, vendor, host, other; /* steps */
	double bytes;   /* of the file */
	double seconds;
} Compiled;

/* Compile the model at `path` into a bundle at `output`. */
Compiled compile_file(const Options *options, Arena *arena, const char *path, const char *output);

/* The bundle of a subject: the file itself, or, of a model, a bundle compiled to a temporary file
 * that goes with the arena. */
const char *bundle_of(const Options *options, Arena *arena, const char *path);

#endif
