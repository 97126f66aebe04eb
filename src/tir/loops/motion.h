/* What moving scalars between loops has to know: how deep they change, what they cost, and whether
 * they may be evaluated where they were not before.
 */
#ifndef TIR_LOOPS_MOTION_H
#define TIR_LOOPS_MOTION_H

#include "tir/stmt.h"

/* The rank of what differs between the lanes of a vector: behind all loops. */
enum { RANK_LANES = INT32_MAX };

/* How deep scalars change: rank 0 is the same in the whole kernel, rank d changes with the d-th
 * loop around. Entered and left as the loops are walked. */
typedef struct Ranks {
	Arena *arena;
	const Kernel *kernel;
	int depth;     /* loops around */
	bool in_lanes; /* the innermost of these, or one around it, is a vector */
	Map vars;      /* Var to its rank */
	Map written; /* what is written (see ranks.c) to the depth of the innermost loop that does it */
	VEC(struct RankUndo {
		const void *key;
		void *old;
	})
	undo;
	VEC(struct RankLoop {
		int undo;
		bool in_lanes;
	})
	loops;
	Map known; /* Expr to its rank and, where it reads, when that was found */
	uint32_t time;
} Ranks;

Ranks ranks_new(Arena *arena, const Kernel *kernel);
int ranks_of(Ranks *ranks, const Expr *e);
void ranks_enter(Ranks *ranks, const Stmt *loop);
void ranks_leave(Ranks *ranks);
void ranks_let(Ranks *ranks, const Var *var, int rank);

/* What is the same wherever an expression stands. */
typedef struct Trait {
	int cost;
	bool is_unsafe;  /* reads, or divides by what varies: only where that happens anyway */
	bool has_effect; /* reports an index outside: stays where it is */
} Trait;

typedef struct Traits {
	Arena *arena;
	Map known;      /* Expr to Trait */
	bool by_halide; /* costs as Halide's LICM has them, see cost.c */
} Traits;

/* To workers, blocks or threads: such loops nest perfectly, and nothing leaves them. */
static inline bool
loop_is_bound(const Stmt *loop)
{
	return loop->bind == BIND_PARALLEL || loop->bind >= BIND_BLOCK_X;
}

const Trait *trait_of(Traits *traits, const Expr *e);

/* Make one if of those that stand beside each other in the list and have one condition, where the
 * first one does not change it. */
bool join_ifs(Arena *arena, Stmt *list);

#endif
