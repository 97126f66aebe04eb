/* The pipeline, for the verbs that need a bundle of a model. */
#ifndef CLI_COMPILE_H
#define CLI_COMPILE_H

#include "cli/model.h"
#include "cli/proof.h"
#include "codegen/common/bundle.h"

/* From a graph as read to kernels and steps: graph passes, lowering, loop passes. */
Module *compile_graph(Arena *arena, Graph *graph, PassContext *context);

/* A device with its oracle and the sizes to choose at. */
Target *target_new(const Options *options, Arena *arena, const Device *device, const Graph *graph);

/* What a compilation made, for tables. */
typedef struct Compiled {
	const char *path;
	int nodes_before, nodes_after;
	BundleReport written;
	ProofResult proof;     /* of the target that runs here */
	const char *self_test; /* in words */
	const char *trouble;   /* why no vendor library was used; NULL: nothing is wrong */
	double seconds;
} Compiled;

/* Compile the model at `path` into a bundle at `output` (NULL: in the current folder, by the
 * model's name). */
Compiled compile_file(const Options *options, Arena *arena, const char *path, const char *output);

/* The bundle of a subject: the file itself, or, of a model, a bundle compiled to a temporary file
 * that goes with the arena. */
const char *bundle_of(const Options *options, Arena *arena, const char *path);

#endif
