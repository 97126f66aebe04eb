/* The plain CPU schedule of a group: which loop runs in vector lanes, what runs in parallel.
 *
 * Every choice is by estimated cost at the probe sizes: an access that is contiguous along the
 * vectorised loop costs 1/lanes, a uniform one almost nothing, any other a scalar load per lane.
 */
#ifndef LOWER_SCHEDULE_CPU_H
#define LOWER_SCHEDULE_CPU_H

#include "program/group.h"

typedef struct Schedule {
	/* The shared iterator (index into Group.shared) that runs in lanes for all stages; -1: each
	 * stage vectorises a loop or reduction of its own. */
	int vector_shared;
	/* With vector_shared: intermediates have dims of their own, so the vector loop is cut into
	 * tiles and each stage runs over a tile in turn. */
	bool is_tiled;
	int64_t tile; /* iterations of the vector loop per parallel piece; 0: not cut */
	/* Per stage: its reduction loops stand outside its lanes, and a tile of accumulators in memory
	 * takes each step, because a step moves far from the last one. Read down a column, memory gives
	 * a line of it at a time and every line anew. Only with is_tiled. */
	const bool *is_streamed;
	bool has_streams; /* any of them */
	/* The shared iterator along which memory is contiguous where the lanes stride far (transposes):
	 * `block` iterations of it run inside each piece, so that lines fetched for one serve the next;
	 * -1: none. Only without is_tiled. */
	int block_shared;
	int64_t block;
	/* Rows of the register tile: `rows` consecutive iterations of shared iterator `row_shared` are
	 * computed together, so that a vector loaded once serves all of them; 0: none. */
	int row_shared;
	int rows;
	/* Without vector_shared: per stage, the iterator (position in the stage) that runs in lanes,
	 * -1 none. */
	const int *vector_iter;
} Schedule;

void schedule_cpu(Arena *arena, const Group *group, const Target *target, Schedule *schedule);

#endif
