/* From a lowered graph to a file: modules become plans, kernels code, weights one blob. */
#ifndef CODEGEN_COMMON_BUNDLE_H
#define CODEGEN_COMMON_BUNDLE_H

#include "bundle/plan.h"
#include "codegen/common/codegen.h"

/* Weights of all plans, each content once, at multiples of 64 bytes. Starts as {.arena = arena}. */
typedef struct WeightPool {
	Arena *arena;
	VEC(struct {
		const Array *data;
		size_t bytes;
		int64_t offset;
	})
	pieces;
	Map by_hash;  /* hash as text to piece number + 1 */
	int64_t size; /* of the blob */
} WeightPool;

/* "cpu:x86-64-v3" as a file's name. */
const char *device_file_name(Arena *arena, const char *device);

/* Kernels in the order of a plan's numbers, nested plans included. */
typedef struct KernelList {
	VEC(Kernel *) kernels;
} KernelList;

/* The runtime's plan of a module. It lives in the arena; the pool and list grow by what it uses.
 * Once kernels are printed, they have names of functions: plan_name_kernels(). */
Plan *plan_of_module(Arena *arena, const Module *module, WeightPool *weights, KernelList *kernels);
void plan_name_kernels(Arena *arena, Plan *plan, const KernelList *list);

typedef struct BundlePart {
	const char *entry; /* "inputs.json" */
	Bytes data;
} BundlePart;

typedef struct BundleTarget {
	const Target *target;
	const Module *module; /* all of one signature */
	const char *graph;    /* the text of what was lowered */
} BundleTarget;

typedef struct BundleInput {
	const char *producer, *model_name, *model_sha256, *pipeline;
	int ntarget;
	const BundleTarget *targets;
	const char *choices; /* choices.jsonl, or NULL */
	int npart;
	const BundlePart *parts; /* whatever else travels along */
	void (*progress)(void *arg, const char *what, int done, int total); /* may be NULL */
	void *progress_arg;
} BundleInput;

typedef struct BundleReport {
	int kernels, vendor, host, copies; /* steps of the first target, nested ones included, */
	int lossy;                         /* and the calls that lose NaN or infinities, … */
	const char *loses;                 /* … in words, or NULL: "NaN in Relu, NaN in Clip" */
	int64_t weight_bytes, code_bytes;
} BundleReport;

/* Everything of bundle_write() that needs neither a C compiler nor a file, for one target: fails as
 * it would. */
void bundle_rehearse(Arena *arena, const Target *target, const Module *module);

/* Write the file whole or not at all; fails as file_create() and codegen_compile() do. Equal inputs
 * give equal bytes. */
BundleReport bundle_write(Arena *arena, const char *path, const BundleInput *input);

#endif
