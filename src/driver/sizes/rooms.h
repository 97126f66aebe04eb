/* Rooms: what a model's checks leave of their bounds at some sizes.
 *
 *     %pos = Range(past, past + seq)   %e = Gather(%table, %pos)     64 rows
 *
 * At past 2 and seq 3 the largest index is 4: its room is 64 - 1 - 4 = 59. Negative, and the check
 * fails. The integers that indices come from are computed for it, and nothing else.
 */
#ifndef DRIVER_SIZES_ROOMS_H
#define DRIVER_SIZES_ROOMS_H

#include "base/array.h"
#include "driver/sizes/inputs.h"
#include "eval/eval.h"

/* An index that a node checks, some elements of its operand; or two dims that must be equal, of
 * which data says one. */
typedef struct Check {
	const Value *index;            /* NULL: dims */
	int64_t place[ARRAY_MAX_RANK]; /* which elements of it */
	const Dim *a, *b;              /* dims; of an index `b` alone, its bound */
	bool wraps;                    /* negative indices count from the end */
	bool is_choice;                /* `index` takes `region`, a branch; left: 0, or -1 */
	const Region *region;          /* of the node */
	Loc loc;                       /* of the node */
} Check;

typedef struct Room {
	bool is_known;
	int64_t left; /* of dims: a - b, which must be 0 */
} Room;

typedef struct Rooms {
	Arena *arena;
	const Graph *graph;
	VEC(Check) checks;
	VEC(const Symbol *) symbols; /* free ones: dims of inputs */

	/* Integers as they are made up in these ranges; NULL: as large as they may be. */
	const InputRanges *made_up;

	/* rooms.c's own */
	Eval *eval;
	InputRanges ranges;
	VEC(const Node *) nodes; /* that are evaluated, in order */
	Map needed;              /* Value: an index comes from it */
	const Node *node;        /* at work */
	const Program *program;
	double work;
} Rooms;

/* Fails as node_meaning(). */
Rooms *rooms_new(Arena *arena, const Graph *graph);

/* One for each check. Never fails: what cannot be
 * computed is not known. */
const Room *rooms_at(Rooms *rooms, const Binding *sizes);

#endif
