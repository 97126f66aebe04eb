/* Stages and programs: what an operator means.
 *
 * A stage computes tensors over a box of positional iterators, with at most one reduction:
 *
 *     m[n:N]: f32 = max(c:C) X[n,c]
 *     e[n:N, c:C]: f32 = exp(X[n,c] - m[n])
 *     Y[n:N,p:P] = sum(r:3 where 0 <= p+r-1, p+r-1 < D) X[n,p+r-1] * W[r]
 *
 * iters[0..nloop) are the loops, in the order of the result's dims; iters[nloop..nloop+nreduce) the
 * reduction's, in row-major order. A scalar refers to them as EX_iter by this position.
 *
 * The guard belongs to the reduction: a term whose guard is false is omitted. It is part of the
 * stage, travels with every substitution, and never comes back from the reads. The verifier proves
 * every read in range: under the guard, under the conditions of lazy operations, over the box.
 *
 * A program is a list of stages in topological order with inputs and outputs. Stages and programs
 * are immutable once made: rewriting makes new stages.
 */
#ifndef EXPR_STAGE_STAGE_H
#define EXPR_STAGE_STAGE_H

#include "expr/index/simplify.h"
#include "expr/stage/reduce.h"

typedef struct Iter {
	const char *name;   /* for texts only */
	const Dim *lo, *hi; /* lo <= value < hi */
} Iter;

typedef enum StageKind {
	STAGE_map,     /* result[...] = body[0] */
	STAGE_reduce,  /* results = reduction of body[0..nbody) over the reduction iterators */
	STAGE_scatter, /* result = init, then for each point of the box in row-major order:
	                  result[target] = combine(result[target], body[0]) */
} StageKind;

/* How a scatter combines: by a reduce row, or by plain replacement. */
enum { SCATTER_SET = -1 };

typedef struct Scan Scan;

struct Stage {
	StageKind kind;
	const char *name; /* of its first result */
	Loc loc;
	int nloop, nreduce;
	const Iter *iters; /* nloop + nreduce; for a scatter: the box of the updates */
	int nbody;
	const Expr *const *body; /* map, scatter: 1; reduce: one per state (a key and its payloads) */
	int nresult;
	Tensor *const *results; /* reduce: result k is state k, converted to its type */

	/* reduce */
	ReduceOp reduce;
	DType acc;         /* accumulator type of state 0; payloads keep their own types */
	const Expr *guard; /* bool over all iterators; NULL = always */

	/* scatter */
	const Tensor *init;
	const Expr *const *target; /* one index per dim of the result, over the updates' iterators */
	int combine;               /* SCATTER_SET or a ReduceOp of one state */

	/* member of a scan */
	const Scan *scan; /* NULL: none */
	int scan_axis;    /* which of its loops is the scan's iterator */
};

/* A recurrence: stages evaluated in lockstep along one iterator. Each step stage is an ordinary
 * stage with the scan's iterator among its loops (scan_axis). Its reads of prev[k], a tensor
 * without that axis, see the slice of next[k] at the step before, and init[k] at the first step
 * (lo going forward, hi-1 in reverse).
 *
 *     Y[i:N] = scan i from 0: prev + X[i]
 */
struct Scan {
	const Dim *lo, *hi;
	bool reverse;
	int nstate;
	Tensor *const *prev;       /* Tensor.stage is NULL */
	const Tensor *const *init; /* shape of prev[k]; NULL entry: all zero */
	const Tensor *const *next; /* result of a step stage */
	int nstep;
	const Stage *const *steps; /* in order of evaluation within a step */
};

typedef struct Program {
	ExprCtx *ctx;
	const char *name;
	int ninput;
	Tensor *const *inputs;
	int nstage;
	const Stage *const *stages; /* topological; the steps of a scan stand together */
	int noutput;
	const Tensor *const *outputs; /* an input may be an output; NULL where nobody asked */
} Program;

/* ---- texts: parse(print(x)) == x, deterministically ------------------------------------------ */

void program_print(Buf *buf, const Program *program);
/* How that calls the first result of a stage. */
const char *program_stage_name(Arena *arena, const Program *program, int stage);
void stage_print(Buf *buf, const Stage *stage); /* for the debugger */
/* A scalar of the stage, with its names of iterators. */
void stage_print_scalar(Buf *buf, const Stage *stage, const Expr *e);
/* `expr name(inputs) -> outputs { … }`; fails with file and line. */
Program *program_parse(ExprCtx *ctx, const char *file, const char *text);

/* ---- checking -------------------------------------------------------------------------------- */

/* Fails (FAIL_BUG) unless: types agree with the tables, every use follows its definition, boxes and
 * ranks match, guards are conjunctions of comparisons, every read is proven in range. */
void program_check(const Program *program);

/* ---- facts ----------------------------------------------------------------------------------- */

/* Points of the box times terms of the reduction. */
const Dim *stage_points(ExprCtx *ctx, const Stage *stage);
/* Every element of the body is computed from reads at exactly the loop position or broadcasts. */
bool stage_is_pointwise(const Stage *stage);
/* The product that the stage sums and of which it is nothing else, but for casts; NULL: no such. */
const Expr *stage_summed_product(const Stage *stage);
bool program_has_stage(const Program *program, const Stage *stage);
/* Whether a result of the stage goes out. */
bool program_gives(const Program *program, const Stage *stage);
/* Operations of one point: each of any kind one, and one for each term of a reduction. Where floats
 * are computed, integers are positions. */
int stage_point_work(const Stage *stage);
int stage_point_cost(const Stage *stage); /* the same in units of one addition */
/* A walk over all scalars of the stage: bodies, guard, a scatter's target. */
ExprWalk stage_walk(const Stage *stage);
/* Every tensor the stage reads (once or more), a scatter's init included. */
void stage_visit_reads(const Stage *stage, void (*visit)(const Tensor *tensor, void *arg),
                       void *arg);
/* Whether it reads this one. */
bool stage_reads(const Stage *stage, const Tensor *tensor);
/* Iterators by position as an identity map: {iter0, iter1 …}. */
void stage_identity(ExprCtx *ctx, int count, const Expr **out);

/* A new tensor with the name, type and box of another; the caller may change the box. */
Tensor *tensor_copy(ExprCtx *ctx, const Tensor *tensor);

/* A copy of `stage` to be given other parts; results are new tensors of the same types. Used by
 * every transformation, so that a field cannot be forgotten: its lists are copies, which the caller
 * may replace before anybody reads the stage. */
Stage *stage_clone(ExprCtx *ctx, const Stage *stage);

/* A program of the stages reachable from `outputs`, in topological order. */
Program *program_new(ExprCtx *ctx, const char *name, int ninput, Tensor *const *inputs, int noutput,
                     const Tensor *const *outputs);

/* Replace tensors by tensors (PtrMap old to new) in every read, rebuilding what depends on them. */
Program *program_substitute(const Program *program, const Map *tensors);

/* Rewrite every scalar of every stage, as expr_rewrite() does; stages that change are new. */
Program *program_rewrite(const Program *program, ExprRewrite rewrite, void *arg);

/* Copy into another ctx (for another thread or search). `known`: tensors of the program that have
 * their copies there already, with these; may be NULL. */
Program *program_import(ExprCtx *to, const Program *program, const Map *known);

/* The program as a function, in another ctx: `given` holds what its symbols stand for (PtrMap from
 * Symbol to Dim) and what is read as its inputs (from Tensor to Tensor). */
Program *program_apply(ExprCtx *to, const Program *program, const Map *given);

/* One stage, no step of a scan, whose reads are of `tensors` (PtrMap from what it reads). */
Stage *stage_import(ExprCtx *to, const Stage *stage, const Map *tensors);

/* The program with symbols bound to numbers. */
Program *program_bind(const Program *program, const Binding *binding);

/* Whether their loops are as many and have the same ranges. */
bool stage_same_loops(const Stage *a, const Stage *b);
/* The same of all their iterators. */
bool stage_same_iters(const Stage *a, const Stage *b);
/* The boxes of its iterators, not the guard. */
Facts *facts_of_stage(ExprCtx *ctx, Arena *arena, const Stage *stage);

/* What transformations of programs share. */

/* As program_rewrite() of what has reads in it, and stages that change are tidied. */
Program *program_rewrite_tidy(const Program *program, ExprRewrite rewrite, void *arg);

/* Simplify the scalars under the box and guard, drop terms of the guard that the box implies, and
 * let a sum omit terms that are zero: sum select(c, x, 0)*y becomes a sum of x*y where c. */
void stage_tidy(ExprCtx *ctx, Stage *stage);

/* Whether every read of the bodies is in range where it happens. */
bool stage_reads_are_certain(ExprCtx *ctx, const Stage *stage);

#endif
