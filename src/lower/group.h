/* What the parts of lower_group() share: the state of one kernel's emission. */
#ifndef LOWER_GROUP_H
#define LOWER_GROUP_H

#include "lower/schedule_cpu.h"
#include "tir/stmt.h"

enum { PLACE_TILE = -1 }; /* in Place.source: the position within the tile */

/* Where a tensor of the group lives: an argument, a local buffer, or both (an intermediate result
 * that is also an output). */
typedef struct Place {
	Buffer *param, *local;
	int rank;          /* of the local buffer */
	const int *source; /* per local dim: the tensor's dim, or PLACE_TILE */
} Place;

typedef struct Emit {
	Arena *arena;
	const Target *target;
	Kernel *kernel;
	Group group;
	Schedule schedule;
	Map places; /* Tensor -> Place */
	int64_t stack_bytes;
	const Expr **shared;     /* value of shared iterator k (tiled: of the tile's first position) */
	const Expr *tile_extent; /* iterations of this tile */
	const Var *row_tile;     /* counts register tiles along schedule.row_shared */
	/* of the stage being emitted */
	const Expr **iters;  /* value of each iterator */
	const Expr *in_tile; /* position within the tile */
} Emit;

/* A scalar of the current stage over loop variables and buffers. */
const Expr *lower_scalar(Emit *emit, const Expr *e);

/* The place of a tensor; made empty when first asked for. */
Place *emit_place(Emit *emit, const Tensor *tensor);
/* Where an array of so many bytes lives: on the stack while there is room. */
Scope emit_scope(Emit *emit, int64_t bytes);
/* Stores of one result of the current stage at its current iterators. */
Stmt *emit_result(Emit *emit, const Tensor *result, const Expr *value);
/* Give iterator `position` of a stage a loop variable; later put the loop around `body`. */
void emit_open_iter(Emit *emit, const Stage *stage, int position);
Stmt *emit_close_iter(Emit *emit, const Stage *stage, int position, Bind bind, Stmt *body);
/* The reduction of a stage at its current loops, or its map body, and the stores of the results.
 * `lane`: the iterator that runs in vector lanes, -1 none. */
Stmt *emit_point(Emit *emit, const Stage *stage, int lane);
/* acc[at] combined with the terms of the current point; `at` NULL for registers. */
Stmt *emit_terms(Emit *emit, const Stage *stage, Buffer *const *acc, const Expr *const *at);
/* Stage s over the positions of a tile: the loop's variable, and the vector loop around `body`. */
const Var *emit_open_tile(Emit *emit, int s);
Stmt *emit_close_tile(Emit *emit, const Var *in_tile, Stmt *body);
/* Stage s of the group inside the shared loops. */
Stmt *emit_stage(Emit *emit, int s);

/* The register-tiled body of a group whose first stage is the one reduction, and the loop over its
 * rows (schedule.rows consecutive iterations of one shared iterator). */
Stmt *emit_rows(Emit *emit);
Stmt *emit_row_loop(Emit *emit, Stmt *body);

/* The reduction of stage s over a tile, its loops outside the lanes (Schedule.is_streamed). */
Stmt *emit_stream(Emit *emit, int s);

/* Updates in row-major order, parallel over iterators that own a dim of the result. */
Stmt *emit_scatter(Emit *emit, const Program *program);

/* A recurrence: the scan's iterator is a serial loop around its step stages. */
Stmt *emit_scan(Emit *emit, const Program *program);

#endif
