/* The naive loops of a group, for whoever writes a script for them. */
#ifndef LOWER_NEST_H
#define LOWER_NEST_H

#include "tir/stmt.h"

/* What the naive loops of one stage are called. */
typedef struct NestStage {
	const Expr *const *iters; /* per iterator its variable; shared ones are the group's */
	int nacc;                 /* accumulators of a reduction, and … */
	const Buffer *const *acc; /* … these */
	const Buffer *last;       /* the buffer that the stage stores to last */
} NestStage;

/* The group's shared loops around the stages in order. */
typedef struct Nest {
	Map names;                 /* all that are taken */
	const Expr *const *shared; /* per shared iterator its variable */
	NestStage *stages;
} Nest;

#endif
