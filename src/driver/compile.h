/* The whole compiler, for the verbs that need it. */
#ifndef DRIVER_COMPILE_H
#define DRIVER_COMPILE_H

#include "codegen/common/bundle.h"
#include "driver/files.h"
#include "driver/measure/tune.h"
#include "driver/pipeline.h"
#include "driver/proof/finish.h"
#include "driver/sizes/sizes.h"
#include "driver/targets.h"

/* From a graph as read to kernels and steps: graph passes, lowering, loop passes. */
const Module *compile_graph(Arena *arena, Graph *graph, PassContext *context);
/* The same before loop passes: kernels have naive loops and scripts. */
const Module *compile_to_loops(Arena *arena, Graph *graph, PassContext *context);

/* The target of a --target word for this graph, at the sizes that are typical. */
Target *target_new(const Options *options, Arena *arena, const char *name, const Graph *graph);

/* What a compilation made, for tables. */
typedef struct Compiled {
	const char *path;
	int nodes_before, nodes_after;
	BundleReport written;
	Finished finished;
	SizesEntry sizes;        /* what it was made for, and what the model demands of others, … */
	const char *sizes_entry; /* … and as in the bundle */
	const char *assumed;     /* graph_assumed_text() */
	const char *broken;      /* what the model says to the sizes of --shape; NULL: nothing */
	const char *trouble;     /* why no vendor library was used; NULL: nothing is wrong */
	const char *noise;       /* what to know about measurements (oracle.h); NULL: nothing */
	const char *slow;        /* slow.h, of the first target */
	const char *ours; /* where our kernels, or others of them, were faster in the model; or NULL */
	Tuned tuned;      /* what was asked for that */
	double seconds;
} Compiled;

/* Compile the model at `path` into a bundle at `output` (NULL: in the current folder, by the
 * model's name). */
Compiled compile_file(const Options *options, Arena *arena, const char *path, const char *output);
/* The same for a model that is no file and is only timed: without fallbacks of a library's calls,
 * proof and self-test, which take longer than it does (target.h: is_trial). */
Compiled compile_given(const Options *options, Arena *arena, const Graph *graph,
                       const char *output);

#endif
