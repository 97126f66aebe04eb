/* What a bundle gets when it is written already, because it takes running it. */
#ifndef CLI_FINISH_H
#define CLI_FINISH_H

#include "cli/selftest.h"

typedef struct Finish {
	const char *path; /* of the bundle */
	Graph *model;     /* as read: what the interpreter computes for the self-test */
	SelfTest *test;   /* with inputs */
	bool is_packed;   /* add packed weights */
} Finish;

/* Add the self-test sample, and the packed weights of the target that runs here, at the sizes of
 * --shape. Gives the bytes of all parts. */
int64_t finish_bundle(const Options *options, Arena *arena, const Finish *finish);

#endif
