/* The plain CPU schedule of a group: a script for its naive loops, which says what runs in vector
 * lanes, in tiles and in parallel.
 *
 * Every choice is by estimated cost at the probe sizes (cost_cpu.h).
 */
#ifndef LOWER_SCHEDULE_CPU_H
#define LOWER_SCHEDULE_CPU_H

#include "program/group.h"
#include "tir/script.h"

/* What the naive loops of one stage are called. */
typedef struct NestStage {
	const Expr *const *iters; /* per iterator its variable; shared ones are the group's */
	int nacc;                 /* accumulators of a reduction, and … */
	const Buffer *const *acc; /* … these */
	const Buffer *last;       /* the buffer that the stage stores to last */
} NestStage;

/* The naive loops of a group: its shared loops around the stages in order. */
typedef struct Nest {
	Map names;                 /* all that are taken */
	const Expr *const *shared; /* per shared iterator its variable */
	NestStage *stages;
} Nest;

const Script *schedule_cpu(Arena *arena, const Group *group, const Target *target,
                           const Nest *nest);
/* How many pieces of work the schedule hands to the threads, at the probe sizes. */
int64_t schedule_cpu_pieces(Arena *arena, const Group *group, const Target *target);
/* Of a scan or scatter: these loops, the outermost last, run in parallel. */
const Script *schedule_outer(Arena *arena, int count, const Var *const *loops);

#endif
