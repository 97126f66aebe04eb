/* What the parts of the verifier share: check.c walks, check_threads.c judges what threads do. */
#ifndef TIR_CHECK_H
#define TIR_CHECK_H

#include "tir/rewrite.h"

/* Loops whose iterations run at one time, as bits: the axes @block.x … @thread.z in the order of
 * Bind, then the @parallel loops around. What a value, or whether a statement is reached, may
 * depend on is a set of them. */
typedef unsigned Axes;
enum {
	BLOCK_AXES = (1 << GRID_AXES) - 1,
	THREAD_AXES = BLOCK_AXES << GRID_AXES,
	READS = 1 << 30, /* what memory says, which may be different anywhere */
};

typedef struct Checker {
	const Kernel *kernel;
	Arena *arena;
	Facts *facts;
	VEC(const void *) defined; /* variables and tensors in scope */
	Map scope;                 /* those; left ones are NULL */
	Map lets;                  /* Var to its value, for integers */
	const Stmt *vector;        /* the @vector loop around, or NULL */
	Lanes lanes;               /* its */
	IntVec written;            /* per argument */
	int64_t stack_bytes;

	Map axes;                      /* Var to Axes */
	const Dim *extent[BOUND_AXES]; /* NULL: no loop is bound to the axis */
	Axes parallel; /* of more than one iteration; of @parallel loops: those around */
	Axes around;   /* what decides whether the place is reached */
	int parallels; /* @parallel loops around */
	int inside;    /* loops and conditions around but for @block loops */
	bool in_block; /* a @block or @thread loop is around */
} Checker;

_Noreturn void check_fails(const Checker *check, const Stmt *stmt, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
void prove_place(const Checker *check, const Stmt *stmt, const Tensor *tensor,
                 const Expr *const *index, int width);
void check_scalar(Checker *check, const Stmt *stmt, const Expr *e, DType type, const char *what);
void check_target(Checker *check, const Stmt *stmt, int width);

/* ---- check_threads.c ---- */

/* Learn which axes are bound, and how far. */
void check_axes(Checker *check);
/* Enter a loop: rules of those bound to an axis or @parallel; what its variable depends on. */
void check_bound(Checker *check, const Stmt *loop, Axes bounds);
void leave_axes(Checker *check, const Checker *outer);
/* What the value may depend on. */
Axes axes_of(const Checker *check, const Expr *e);
/* The store does not put values of all iterations of an axis in one place. */
void check_race(Checker *check, const Stmt *store);
void check_scope(Checker *check, const Stmt *alloc);
void check_sync(Checker *check, const Stmt *sync);
void check_warp_op(Checker *check, const Stmt *stmt);

#endif
