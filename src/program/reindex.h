/* program_reindex: the one engine that puts a program over other dims and iterators.
 *
 *     X[n:1, c:64, h:H, w:W]     X'[c:64, hw:H*W]             n dropped, h and w one run
 *                                X'[n:1, c:4, h:H, w:W, b:16]  c in blocks, which come last
 *
 * A pass says what the dims of a tensor become and what the iterators of a stage were; reads,
 * bodies, guards, targets, results, inputs and outputs follow from that. Stages of a scan are not
 * for it (FAIL_BUG).
 */
#ifndef PROGRAM_REINDEX_H
#define PROGRAM_REINDEX_H

#include "expr/stage/stage.h"

/* A new dim and its index: that of an old dim, divided by a block, or the remainder of that. The
 * first dim of a run that becomes one stands for it: all are read by neighbouring iterators. */
typedef struct NewDim {
	int dim;
	int64_t block;     /* 0: the index as it is */
	bool is_remainder; /* of the block */
	const Dim *lo, *hi;
} NewDim;

typedef struct NewStage {
	int nloop, nreduce;
	Iter *iters;
	const Expr **old;   /* the old iterators over the new ones */
	const Expr *inside; /* where the new box is larger: true in the old one. Else NULL */
} NewStage;

typedef struct Reindex {
	Arena *arena;
	const Program *program;
	/* The new dims of a tensor, in `dims` (room for twice its rank); gives their number, or -1: it
	 * stays as it is. */
	int (*tensor)(void *self, const Tensor *tensor, NewDim *dims);
	/* The new iterators of a stage, `iters` and `old` with room for two more than there were; comes
	 * filled in with them as they are. NULL: all stay. */
	void (*stage)(void *self, const Stage *stage, NewStage *to);
	void *self;
	bool is_simplified; /* indices over the new iterators have something to cancel */
	/* What an input is stored as; NULL: each stays what it is. */
	DType (*type)(void *self, const Tensor *input);
	/* What becomes of a body that reads such inputs, over the new ones; NULL: nothing. */
	const Expr *(*body)(void *self, const Stage *stage, const Expr *body);
} Reindex;

/* The program over the new ones, or itself where nothing is new. An element outside the old box is
 * 0 in a map, and no term in a reduction. */
Program *program_reindex(const Reindex *how);

#endif
