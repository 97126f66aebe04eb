/* What one step `reindex` knows: reindex.c finds it out, reindex_copy.c makes the copies. */
#ifndef TIR_SCHEDULE_REINDEX_H
#define TIR_SCHEDULE_REINDEX_H

#include "tir/schedule/grid.h"

enum { WIDEST_COPY = 16 }; /* bytes */

/* What is divided, under a name. */
typedef struct Named {
	const Var *var;
	const Expr *value;
} Named;

typedef struct Reindex {
	Scheduling *s;
	Grid grid;
	Stmt *at, *store; /* the loop, and the statement that reads */
	const Expr *read;
	VEC(const Stmt *) loops; /* outermost first */
	VEC(int64_t) sizes;
	VEC(Stmt *) path;     /* from the loop's body to the store */
	const Expr *guard;    /* what must hold for a value to be used */
	const Expr *used;     /* the read where it holds */
	VEC(Named) named;     /* what these divide */
	int64_t count, width; /* elements in all, and of one access */
	Buffer *buffer;
} Reindex;

/* c's place of these values of the listed loops; in normal form under the facts, if there are. */
const Expr *const *reindex_place(const Reindex *r, Facts *facts, const Map *values);
/* Guard and read as they are where both hold, with names for what they divide. */
void reindex_settle(Reindex *r, Facts *facts);
/* How many elements go together; then the loops that fill the buffer. */
int64_t reindex_width(const Reindex *r, Facts *facts);
Stmt *reindex_copy(Reindex *r, Facts *facts);

#endif
