/* Loops bound to blocks and threads (grid.c), and what threads do together. */
#ifndef TIR_SCHEDULE_GRID_H
#define TIR_SCHEDULE_GRID_H

#include "tir/schedule/local.h"

/* The nest that holds all of a kernel. */
typedef struct Grid {
	Stmt *inner; /* its innermost loop; NULL: there is none */
	bool is_bound[BOUND_AXES];
	const Around *around;           /* the loops of threads, from the inside out; NULL: none */
	const Expr *thread;             /* a thread's number in its block, x first */
	int64_t threads;                /* of a block */
	const Expr *number[BOUND_AXES]; /* of threads: the variable of each axis, and … */
	int64_t extent[BOUND_AXES];     /* … its extent */
} Grid;
Grid find_grid(const Scheduling *s);
/* Refuses when the loop is not the next one of the nest, or not for this axis. */
void check_in_grid(const Scheduling *s, const Stmt *loop, Bind bind);

/* Whether threads meet in the list: it holds a barrier, or an operation of threads. */
bool has_barriers(const Scheduling *s, Stmt *list);
/* Refuses unless all threads of a block run each iteration of the loop together. */
void check_met_by_all(const Scheduling *s, const Grid *grid, Stmt *loop);

/* The local is @shared: all threads of a block fill it, at the beginning of each iteration. */
void share_reads(Scheduling *s, Stmt *loop);
/* Each iteration of the loop begins with a copy to a buffer that is new, and barriers around what
 * reads it. */
void share_copy(Scheduling *s, const Grid *grid, Stmt *loop, const Buffer *buffer, Stmt *copy);

#endif
