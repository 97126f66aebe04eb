/* Operations over blocks of points: the machine below the interpreter, for this folder only.
 *
 * A block is a C array of one value per point (lane). f64, f32, the integers are held as
 * themselves, bool as one byte 0 or 1, f16 and bf16 as f32 (each operation is followed by a
 * rounding: the cast from f32), storage types as their code in one byte. An operand whose
 * value is the same for all lanes has step 0.
 */
#ifndef EXPR_SCALAR_BLOCKS_H
#define EXPR_SCALAR_BLOCKS_H

#include "expr/scalar/expr.h"

enum { BLOCK_LANES = 256 }; /* 1 KB of f32: some thirty blocks stay in the first-level cache */

typedef struct Operand {
	const void *data;
	int step; /* 1: a value per lane; 0: one value */
} Operand;

/* out[i] = operation of the operands' lane i, i < n. `out` may be an operand's block. */
typedef void (*BlockFn)(int n, void *out, const Operand *args);

/* The function of an operation on operands of `type` (of select: of its arms). and, or are taken as
 * strict here. NULL when the operation does not take the type. */
BlockFn block_op(ExprOp op, DType type);

/* state[i] = op(state[i], term[i]) for add, mul, min, max of wide types; NULL: not one of these.
 * The term's block is another one than the state's. */
typedef void (*BlockFold)(int n, void *state, Operand term);
BlockFold block_fold(ExprOp op, DType type);

/* state[i] = state[i] + a[i] * b[i], each rounded, without a block for the products. */
typedef void (*BlockFoldProduct)(int n, void *state, Operand a, Operand b);
BlockFoldProduct block_fold_product(DType type);

/* Sums in bound mode: of the terms, of their magnitudes and of their bounds. */
typedef struct SumLanes {
	double *sum, *size, *bound;
} SumLanes;
/* Add terms with their bounds (NULL: exact). */
void block_add_terms(int n, SumLanes lanes, Operand term, const double *bound);
/* Add products in f32: each has an error of its own, |product| * own + tiny, unless both factors
 * are exact and so is what f32 makes of it. The bounds of a factor have its step; NULL: exact. */
void block_add_products(int n, SumLanes lanes, const Operand *factors, const double *const *bounds,
                        double own, double tiny);

/* A cast as one to three functions in a row, each making a block of `type`. */
typedef struct BlockCast {
	BlockFn fn;
	DType type;
} BlockCast;
enum { BLOCK_CAST_MAX = 3 };
int block_cast_steps(DType to, DType from, int flags, BlockCast *steps);

/* The type whose C representation blocks of `type` have: f32 for f16 and bf16, u8 for bool and
 * storage types. */
DType block_type(DType type);
size_t block_size(DType type); /* bytes of a lane */

/* Whether results need rounding after an operation in f32. */
bool block_rounds(DType type);

/* Between tensors' memory and blocks: lane i is element index[i] (or first + i*stride). */
void block_load(DType type, int n, void *out, const void *data, const int64_t *index);
void block_load_stride(DType type, int n, void *out, const void *data, int64_t first,
                       int64_t stride);
void block_store(DType type, int n, void *data, const int64_t *index, const void *in);
void block_store_stride(DType type, int n, void *data, int64_t first, int64_t stride,
                        const void *in);

/* One value between a Scalar and a lane. */
void block_put(DType type, void *out, Scalar value);
Scalar block_get(DType type, const void *in);

#endif
