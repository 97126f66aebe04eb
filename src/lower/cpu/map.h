/* Maps, rows and windows: whatever is no sum of products whose channels run in lanes. Stages stand
 * in loops that all of them share; a tile says how these run.
 *
 *     y[i] = sum(k) X[i,k]; z[i,j] = X[i,j] / y[i]     own lanes: k of the sum, j of the map
 *     Y[f,q] = sum(c,s) X[c,q+s] * W[f,c,s]            lane q, rows: 12 of f in registers
 *     y[n] = sum(k) X[k,n]; z[n] = exp(y[n])           lane n in pieces of 512, k outside of them
 *     Y[i,j] = X[j,i] + B[i]                           lane j, lines: 16 of i, blocks of X turned
 *
 * map_tile.c chooses one by the task that Roller makes of the group, map_script.c writes the script
 * of any.
 */
#ifndef LOWER_CPU_MAP_H
#define LOWER_CPU_MAP_H

#include "lower/cpu/cpu.h"
#include "roller/roller.h"

typedef struct MapTile {
	/* The shared loop (index into Group.shared) that runs in lanes for all stages; -1: each stage
	 * has lanes of its own, along this iterator (its position in the stage; -1: none). */
	int lane;
	int own[TILE_WORKS];
	/* Iterations of the lanes' loop that are a piece; 0: it is not cut. Stages that have loops of
	 * their own, and streamed sums, take turns over a piece. */
	int64_t piece;
	bool takes_turns;
	/* Per stage: its sum's loops stand outside of the lanes, because a step moves far from the last
	 * one. Read down a column, memory gives a line of it at a time and every line anew. */
	bool is_streamed[TILE_WORKS];
	/* Another shared loop, of which so many iterations stand inside of the lanes, in registers, so
	 * that a vector loaded once serves all of them; 0: none. Of windows, which share what they
	 * read, also the iterator of the sum that counts rows. */
	int row, rows, counter;
	/* Or outside of the lanes: lines, along which inputs lie that are read across the lanes. Those
	 * at hand are turned in registers, tile by tile. */
	int64_t lines;
	/* Tiles in blocks of the nearest cache: of the lanes' and of the lines' loop; 0: none. */
	int64_t wide, tall;
	VEC(const TileAccess *) turned;
	/* Each stage's own lanes in parts, during each of which as much of the next row is fetched; 0:
	 * rows are short. To which cache; 0, where stages take turns: nothing is. */
	int64_t ahead;
	int cache;
} MapTile;

/* Of a group without a task (NULL), or of plain code: no lanes. Only windows have candidates behind
 * number 0, other rows: a tile without any stands for none. */
MapTile map_tile(const TileTask *task, const Group *group, const Target *target, int candidate);

const Script *map_write(const TileTask *task, const Group *group, const MapTile *tile,
                        const Nest *nest);

#endif
