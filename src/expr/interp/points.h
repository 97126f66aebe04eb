/* Points: some elements of a program's outputs, and nothing that they do not need.
 *
 * The oracle for what is too large to be computed as a whole: 64 points of a convolution with 4608
 * terms each are 300 thousand multiply-adds, whatever the size of its result. Bound mode: a value
 * in double, and how far from it a correct kernel may be. Inputs are read where they lie; of a
 * program's inner tensors only the elements that the points need are computed (of what a scan makes
 * all, and of tensors that are read at places which depend on inner values).
 */
#ifndef EXPR_INTERP_POINTS_H
#define EXPR_INTERP_POINTS_H

#include "expr/interp/interp.h"

/* An input where it lies: elements of its own type, packed types packed, with strides in elements;
 * NULL: dense, row-major. data is element 0, also where a stride is negative. What no stage reads
 * may be NULL: its size need not be known. */
typedef struct PointInput {
	DType type;
	int rank;
	const int64_t *dims, *strides;
	const void *data;
} PointInput;

/* Points of one output: numbers of elements of its bound shape in row-major order, in any order.
 * The caller fills in count and at; the rest is allocated and filled in by program_eval_points().
 *
 * deviation: the error that roundings are expected to make. It is carried like the bound, but where
 * that takes n * eps * sum|t| for a sum, an error of random signs is assumed: about
 * sqrt(n) * eps * ||t||. One error beyond it says little, many do: see points_compare(). */
typedef struct PointSet {
	int64_t count;
	const int64_t *at;
	DType type;         /* of the output */
	double *value;      /* floats (as BoundArray), else NULL */
	double *bound;      /* floats; inf: not known */
	double *deviation;  /* floats; 0 <= deviation <= bound */
	int64_t *integer;   /* integers and bool, else NULL */
	uint8_t *undecided; /* integers and bool */
} PointSet;

typedef struct PointResult {
	bool is_done;
	const char *reason; /* not done: a sentence, in the caller's arena */
	double operations;  /* instructions times points and terms: done, or at least needed */
} PointResult;

/* What a library's kernel may do. joins_sums: it adds what is added to a sum's result (a bias, a
 * residual) before or among its terms; it is rounded with each of them then. keeps_halves: see
 * BoundWay. */
typedef struct PointWay {
	bool joins_sums, keeps_halves;
} PointWay;

/* Evaluate points of the outputs; outputs[k] is NULL where nobody asks. inputs[k] has the type and
 * bound shape of program->inputs[k] (checked); symbols are bound from these shapes and from
 * `binding` (may be NULL). Above `limit` operations, and above some millions of inner elements,
 * nothing is filled in.
 * Fails as program_eval() does, also on a checked index that the points need. */
PointResult program_eval_points(Arena *arena, const Program *program, const Binding *binding,
                                const PointInput *const *inputs, PointSet *const *outputs,
                                double limit, PointWay way);

/* The shape of output `output` (not NULL in the program): its rank, dims in the arena. */
int program_output_dims(Arena *arena, const Program *program, const Binding *binding,
                        const PointInput *const *inputs, int output, const int64_t **dims);

/* How the elements of `seen`, a whole output where it lies, agree with the points: as
 * bound_compare(); first_wrong is a number of an element of the output. Points may all be inside
 * their bounds and `spread` still be above POINTS_SPREAD: roundings do not make that. */
enum { POINTS_SPREAD = 8 };
Agreement points_compare(const PointSet *expected, const PointInput *seen, double slack);

#endif
