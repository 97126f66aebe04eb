/* What a bundle gets when it is written already, because it takes running it. */
#ifndef DRIVER_PROOF_FINISH_H
#define DRIVER_PROOF_FINISH_H

#include "codegen/common/bundle.h"
#include "driver/proof/proof.h"

/* A bundle that runs here in another's place: the same plan, the same text of kernels. */
typedef struct StandIn {
	const char *path;    /* NULL: there is none, and none is needed */
	const char *target;  /* what it is for: "test:sm_90" */
	const char *trouble; /* why it is not there after all, or NULL */
} StandIn;

/* What was compiled for one target. */
typedef struct Made {
	const Device *device;
	StandIn stand_in;      /* what is run instead of it */
	const Graph *compiled; /* behind all passes */
	const Binding *asked;  /* sizes: --shape's */
	Learnt learnt;         /* what it runs with */
	InputRanges ranges;    /* of integers, at any sizes */
} Made;

typedef struct Finish {
	const char *path;  /* of the bundle, … */
	const char *place; /* … and where it goes: on this disk lies what is looked at seldom */
	const char *name;  /* of the model, in messages: they are the same wherever it is written */
	Graph *model;      /* as read: what the interpreter computes for the self-test */
	int count;         /* targets of the bundle, in its order */
	const Made *made;
	const BundleReport *written;
} Finish;

typedef struct Finished {
	Proofs proofs;             /* of each target */
	const char *self_test;     /* in words */
	int64_t bytes;             /* of the file */
	int64_t packed_bytes;      /* of that, weights as the vendor library wants them */
	int64_t only_packed_bytes; /* weights that are not stored otherwise */
} Finished;

/* Prove the bundle for each of its targets: where that fails nothing more is done. Else add the
 * proofs, and from the first target that runs here the self-test sample and packed weights, at the
 * sizes of --shape. */
Finished finish_bundle(const Options *options, Arena *arena, const Finish *finish);

#endif
