/* What the parts of lower_group() share: the state of one kernel's emission. */
#ifndef LOWER_GROUP_H
#define LOWER_GROUP_H

#include "program/group.h"
#include "tir/stmt.h"

/* Where a tensor of the group lives: an argument, a local buffer, or both (an intermediate result
 * that is also an output). */
typedef struct Place {
	Buffer *param, *local;
	int rank;          /* of the local buffer */
	const int *source; /* per local dim: the tensor's dim */
} Place;

typedef struct Emit {
	Arena *arena;
	const Target *target;
	Kernel *kernel;
	Group group;
	Map places; /* Tensor -> Place */
	int64_t stack_bytes;
	const Expr **shared;       /* variable of shared iterator k */
	VEC(const Var *) parallel; /* of a scan or scatter: loops to run in parallel, outermost last */
	/* of the stage being emitted */
	const Expr **iters; /* value of each iterator */
	Buffer **acc;       /* of a reduction */
} Emit;

/* A scalar of the current stage over loop variables and buffers. */
const Expr *lower_scalar(Emit *emit, const Expr *e);

/* Where an array of the kernel's own lives: on the stack while there is room. */
Scope emit_array_scope(Emit *emit, DType type, int rank, const Dim *const *dims);

/* The place of a tensor; made empty when first asked for. */
Place *emit_place(Emit *emit, const Tensor *tensor);
/* Stores of one result of the current stage at its current iterators. */
Stmt *emit_result(Emit *emit, const Tensor *result, const Expr *value);
/* Give iterator `position` of a stage a loop variable; later put the loop around `body`. */
void emit_open_iter(Emit *emit, const Stage *stage, int position);
Stmt *emit_close_iter(Emit *emit, const Stage *stage, int position, Stmt *body);
/* The reduction of a stage at its current loops, or its map body, and the stores of the results. */
Stmt *emit_point(Emit *emit, const Stage *stage);

/* Updates in row-major order, parallel over iterators that own a dim of the result. */
Stmt *emit_scatter(Emit *emit, const Program *program);

/* A recurrence: the scan's iterator is a serial loop around its step stages. */
Stmt *emit_scan(Emit *emit, const Program *program);

/* The naive loops of a group, for whoever writes a script for them. */

/* What the naive loops of one stage are called. */
typedef struct NestStage {
	const Expr *const *iters; /* per iterator its variable; shared ones are the group's */
	int nacc;                 /* accumulators of a reduction, and … */
	const Buffer *const *acc; /* … these */
	const Buffer *last;       /* the buffer that the stage stores to last */
} NestStage;

/* The group's shared loops around the stages in order. */
typedef struct Nest {
	Map names;                 /* all that are taken */
	const Expr *const *shared; /* per shared iterator its variable */
	Buffer *const *arguments;  /* of the program's inputs, then of its outputs */
	NestStage *stages;
} Nest;

#endif
