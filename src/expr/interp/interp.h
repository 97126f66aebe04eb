/* The interpreter: the oracle for everything below it.
 *
 * exact  type by type as scalar.def says, sums in the accumulator type in row-major order: the same
 *        bits as kernels, up to the freedom of order-free reductions. For folding, known values,
 *        integers.
 * bound  in double, with an absolute error bound carried through every operation: a result of a
 *        correct kernel lies within the bound. Where the bound straddles a jump (compare, floor,
 *        round, cast to integer, arg-reductions) the point is undecided and any side is accepted.
 *
 * Both run flat programs over blocks of points (no recursion per point).
 */
#ifndef EXPR_INTERP_INTERP_H
#define EXPR_INTERP_INTERP_H

#include "expr/stage/stage.h"

/* Evaluate all outputs. inputs[k] has the type and bound shape of program->inputs[k] (checked);
 * outputs[k] is allocated in `arena` (NULL where the program's output is NULL). Symbols are bound
 * from the inputs' shapes and from `binding` (may be NULL). Fails with the program's loc on a
 * checked index outside its range, an overflowing size, or memory. */
void program_eval(Arena *arena, const Program *program, const Binding *binding,
                  const Array *const *inputs, Array **outputs);

/* A tensor with bounds. Floats: value f64, bound >= 0 (0: exactly representable input). Integers
 * and bools: value i64 exact, undecided marks points where another value is as right. */
typedef struct BoundArray {
	DType type; /* of the tensor it stands for */
	int rank;
	const int64_t *dims;
	double *value;      /* floats (type f64 f32 f16 bf16 and storage floats), else NULL */
	int64_t *integer;   /* integers and bool, else NULL */
	double *bound;      /* floats; NULL: all 0 */
	uint8_t *undecided; /* integers and bool; NULL: none */
	int64_t sampled;    /* points evaluated when sampling left some out, else -1 */
} BoundArray;

/* sample: of a reduction's operations; keeps_halves: roundings to f16 and bf16 may be left out, as
 * -O2 leaves them: the value is as it was, and the bound has the half unit that it may be off. */
typedef struct BoundWay {
	double sample;
	bool keeps_halves;
} BoundWay;

/* As program_eval(), in bound mode. sample > 0: reductions above that many operations whose results
 * no other reduction reads are evaluated at sampled blocks of points only; points left out, or
 * computed from such, have bound = inf / undecided = 1, and `sampled` counts the others. */
void program_eval_bound(Arena *arena, const Program *program, const Binding *binding,
                        const BoundArray *const *inputs, BoundArray **outputs, BoundWay way);

BoundArray *bound_from_array(Arena *arena, const Array *array); /* bounds 0 */
/* The values of a, for a comparison with what rounds as b does: with the bounds of both. `a` itself
 * where b has other dims. */
const BoundArray *bound_join(Arena *arena, const BoundArray *a, const BoundArray *b);

/* How an array agrees with a bounded result. A point without a finite bound is undecided (or, where
 * there was sampling, not counted). slack multiplies the bound (1 = as stated). */
typedef struct Agreement {
	int64_t points, wrong, undecided;
	int64_t special;              /* of the wrong ones: NaN or an infinity is expected */
	double worst;                 /* largest |error| / bound among decided points */
	int64_t first_wrong;          /* flat index, -1 when none */
	double expected, seen, bound; /* at first_wrong */
	double spread; /* of points with deviations (points.h): sqrt(mean((error / deviation)^2)) */
} Agreement;
Agreement bound_compare(const BoundArray *expected, const Array *seen, double slack);

#endif
