/* A local that stands for the box of a buffer (box.c): in the order of its dims, or another one.
 *
 *     parts of a6b over A[6*t .. 6*t+12, ko .. ko+64]      local[2, 64, 6]: [i/6, k, i%6]
 */
#ifndef TIR_SCHEDULE_LOCAL_H
#define TIR_SCHEDULE_LOCAL_H

#include "tir/schedule/inner.h"

/* A dim of the local. */
typedef struct Part {
	enum { PART_WHOLE, PART_BLOCKS, PART_IN_BLOCK, PART_LANE } kind;
	int dim;       /* of the buffer; PART_LANE: none, one element for each iteration of a loop */
	int64_t block; /* iterations */
} Part;

typedef struct Local {
	const Scheduling *s;
	Facts *facts; /* of the place where the local is made */
	const Tensor *old;
	DType type; /* of its elements: the old one's, or what all reads turn these into */
	Box box;
	VEC(Part) parts;
	const Expr *lane;                /* PART_LANE: from 0 … */
	const Dim *lanes;                /* … to this */
	int64_t padding;                 /* elements that a row of it has more: nobody uses them */
	bool is_clamped[ARRAY_MAX_RANK]; /* the box goes on behind the end of this dim (cache.c) */
	Buffer *buffer;
} Local;

typedef enum Move { MOVE_IN, MOVE_OUT, MOVE_IDENTITY } Move;

/* The local for what the accesses touch of `old`; parts are its dims, but those of one index. */
Local local_plan(const Scheduling *s, Facts *facts, const AccessVec *all, const Tensor *old);
/* The same where nothing stores: an index min(i, N-1) that keeps `i` inside the dim is i, and what
 * the local has behind the end is what the last index gives. */
Local local_plan_reads(const Scheduling *s, Facts *facts, const AccessVec *all, const Tensor *old);
/* Makes the buffer, when parts are complete. `leaving` (or NULL) is a local that it takes the place
 * of: what does not fit on the stack then lives in scratch memory. */
void local_make(Local *l, const char *name, const Buffer *leaving);
/* Loops over its elements: it is filled, stored back (by op), or gets the identity of op. */
Stmt *local_move(Local *l, Move move, int op);
/* Reads and stores of the old buffer in the list are of the local. */
void local_redirect(Local *l, Stmt *list);

/* The buffer that the step names, among those accessed; refuses when none has the name. */
const Tensor *named_tensor(const Scheduling *s, const AccessVec *all);
/* Refuses what is no argument of the kernel, or is stored. */
void check_only_read(const Scheduling *s, const Tensor *tensor);

#endif
