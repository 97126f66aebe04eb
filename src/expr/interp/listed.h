/* Blocks of listed points: the inside of points.c.
 *
 * A machine normally runs over a box. A listed one runs over any points of it: a lane is a point,
 * every loop has a value per lane from a table, and the reduction's iterators are the steps.
 *
 *     points 0, 57 and 783 of Y[f:4, p:14, q:14]      lane    0   1   2
 *                                                     f       0   0   3
 *                                                     p       0   4  13
 *                                                     q       0   1  13
 *
 * Inputs are read where they lie, in their own type and with their strides. Of a stage's results
 * only the elements somebody asks for exist: a Listing says which, and where each is. While
 * *collecting*, the same code runs to find out which these are: a read of a listed tensor notes the
 * element and gives a value that nothing is known of, so whatever depends on it may go either way.
 *
 * Beside its bound a register has a deviation, the error one would expect: see
 * deviation.c.
 */
#ifndef EXPR_INTERP_LISTED_H
#define EXPR_INTERP_LISTED_H

#include "expr/interp/code.h"

/* Above this many elements a listing is not kept. */
enum { LISTING_MAX = 1 << 22 };

typedef struct Listing {
	Arena *arena;
	int64_t size;  /* elements of the whole box */
	bool is_whole; /* all are listed: element i stands at i */
	bool is_full;  /* more were asked for than LISTING_MAX */
	int64_t *at;   /* in order of asking */
	int count, capacity;
	int *slots; /* a hash table of places in `at`, plus 1 */
	int nslot;
} Listing;

Listing *listing_new(Arena *arena, int64_t size);
void listing_add(Listing *listing, int64_t at);
void listing_fill(Listing *listing); /* all elements */
int64_t listing_count(const Listing *listing);
/* The place of an element; -1 when it is not listed. */
int64_t listing_find(const Listing *listing, int64_t at);

/* Memory for the listed elements of a stage's result. */
void listed_alloc(Store *store, Arena *arena);

/* One element, wherever it is; by its row-major number in the tensor. */
typedef struct Element {
	double value; /* floats */
	int64_t integer;
	double bound, deviation;
} Element;
Element listed_get(const Store *store, int64_t at);
void listed_put(Store *store, int64_t place, Element element);

/* A machine for `count` points of the stage's box. */
Machine *interp_compile_listed(Stores *stores, ExprCtx *ctx, const Stage *stage, int64_t count);
/* Compute points at[0..count) of the box (NULL: 0..count), the results of the i-th standing at i,
 * or at at[i] where by_place. */
void interp_run_listed(Machine *m, int64_t count, const int64_t *at, bool by_place);
/* Instructions that so many points take. */
double interp_operations(const Machine *m, int64_t count);

/* For the compiler. */
void listed_lanes(Machine *m);
void listed_offsets(Machine *m, ReadInfo *info, const int64_t *coef);
void listed_casts(ReadInfo *info);
void run_listed_read(Machine *m, const Instr *in);

/* ---- deviations ------------------------------------------------------------------------------ */

/* Of the terms so far, by lane: what the deviation of their sum is made of. */
typedef struct ListedSums {
	double count[BLOCK_LANES], square[BLOCK_LANES], partial[BLOCK_LANES], carried[BLOCK_LANES];
} ListedSums;

double reg_deviation(const Reg *r, int lane); /* of one lane */
/* After in->bound: the deviation of an instruction's result. */
void deviate_run(Machine *m, const Instr *in, int n);
/* After deviate_run(): an operand of an addition may have been a term of a sum (Machine.joined). */
void join_sum(Machine *m, const Instr *in, int n);
/* Before the bounds of `to` become those of `from` in the lanes of the mask. */
void deviate_merge(Machine *m, int to, int from, const unsigned char *mask);
void deviate_sum_start(Machine *m);
/* Before the term is added. */
void deviate_sum_step(Machine *m, const unsigned char *mask);
void deviate_sum_fold(Machine *m, const unsigned char *mask);
/* After bound_sum_finish(). */
void deviate_sum_finish(Machine *m);

/* How bounds propagate (bound.c). */
typedef struct Lane {
	double value, bound;
} Lane;
Lane reg_lane(const Machine *m, int reg, int i);
bool bound_propagates(ExprOp op); /* smoothly: no jumps */
double bound_propagate(ExprOp op, const Lane *x, double y);
/* The own error of an operation on `type`, relative and absolute. */
void bound_own_error(ExprOp op, DType type, double *own, double *tiny);

#endif
