/* What a bundle gets when it is written already, because it takes running it. */
#ifndef CLI_FINISH_H
#define CLI_FINISH_H

#include "cli/proof.h"

typedef struct Finish {
	const char *path;      /* of the bundle */
	const char *folder;    /* whose disk takes what is looked at seldom */
	const char *name;      /* of the model, in messages: they are the same wherever it is written */
	Graph *model;          /* as read: what the interpreter computes for the self-test */
	SelfTest *test;        /* with inputs */
	const Graph *compiled; /* behind all passes */
	const Binding *probe;
	ProofResult *proof; /* filled in */
	bool is_packed;     /* add packed weights */
} Finish;

/* Prove the bundle: where that fails nothing more is done, and the result is 0. Else add the proof,
 * the self-test sample, and the packed weights of the target that runs here, at the sizes of
 * --shape. Gives the bytes of all parts. */
int64_t finish_bundle(const Options *options, Arena *arena, const Finish *finish);

#endif
