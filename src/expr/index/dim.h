/* Dims: extents as polynomials in one normal form.
 *
 * A dim is an i64 scalar: a sum of integer coefficients times products of atoms, where an atom is a
 * symbol or floordiv, floormod, min or max of dims. These constructors keep the normal form (terms
 * sorted, like terms joined, exact quotients cancelled: floordiv(N*S*768, 64*12) = N*S), so equal
 * dims are equal pointers. A divisor is taken to be non-zero: a dim is evaluated only where it is.
 * Overflow of a coefficient fails with a sentence.
 */
#ifndef EXPR_INDEX_DIM_H
#define EXPR_INDEX_DIM_H

#include "expr/scalar/expr.h"

const Dim *dim_const(ExprCtx *ctx, int64_t value);
const Dim *dim_symbol(ExprCtx *ctx, const char *name);
const Dim *dim_fresh(ExprCtx *ctx, const char *prefix);
const Dim *dim_add(ExprCtx *ctx, const Dim *a, const Dim *b);
const Dim *dim_sub(ExprCtx *ctx, const Dim *a, const Dim *b);
const Dim *dim_mul(ExprCtx *ctx, const Dim *a, const Dim *b);
const Dim *dim_floordiv(ExprCtx *ctx, const Dim *a, const Dim *b);
const Dim *dim_floormod(ExprCtx *ctx, const Dim *a, const Dim *b);
const Dim *dim_ceildiv(ExprCtx *ctx, const Dim *a, const Dim *b);
const Dim *dim_min(ExprCtx *ctx, const Dim *a, const Dim *b);
const Dim *dim_max(ExprCtx *ctx, const Dim *a, const Dim *b);
const Dim *dim_add_i64(ExprCtx *ctx, const Dim *a, int64_t b);
const Dim *dim_mul_i64(ExprCtx *ctx, const Dim *a, int64_t b);
const Dim *dim_product(ExprCtx *ctx, int count, const Dim *const *dims);

/* An operation on dims, of the above, -a or a comparison (1 or 0); NULL where it is none of these,
 * or a division by zero, or what it compares is not decided. */
const Dim *dim_op(ExprCtx *ctx, ExprOp op, const Dim *const *args);

/* Any i64 scalar over constants and symbols by + - * / % min max, put in normal form; NULL when it
 * holds anything else. */
const Dim *dim_from_expr(ExprCtx *ctx, const Expr *e);

/* Whether arithmetic knows the dim's terms: not where these are more than DIM_TERMS. */
enum { DIM_TERMS = 128 };
bool dim_is_polynomial(const Dim *dim);
bool dim_is_const(const Dim *dim, int64_t *value);
bool dim_is(const Dim *dim, int64_t value);
/* Whether a <= b (a < b) for every value of the symbols in their ranges; false = not proven. */
bool dim_proves_le(ExprCtx *ctx, const Dim *a, const Dim *b);
bool dim_proves_lt(ExprCtx *ctx, const Dim *a, const Dim *b);
/* Whether what has this dim is read at 0 alone in a loop of that extent: it is 1, or 1 or 0 and the
 * loop's another, which is 0 as well where this one is. */
bool dim_stands(ExprCtx *ctx, const Dim *dim, const Dim *loop);
/* What it can be, as far as is known: INT64_MIN and INT64_MAX where there is no bound. */
void dim_range(const Dim *dim, int64_t *lo, int64_t *hi);

/* From now on every proof of this ctx may use a == b: inference has met the two in an equality and
 * has recorded that binding checks it. */
void dim_assume_equal(ExprCtx *ctx, const Dim *a, const Dim *b);
/* How many of these there are; and back to so many. */
int dim_assumed(const ExprCtx *ctx);
void dim_forget(ExprCtx *ctx, int count);

/* Values of symbols, by Symbol.id; a symbol not bound is absent. */
typedef struct Binding {
	int count; /* length of the arrays */
	const int64_t *value;
	const bool *is_bound;
} Binding;

/* False with no value when a symbol is unbound, a divisor is 0 or the result overflows. */
bool dim_eval(const Dim *dim, const Binding *binding, int64_t *value);

/* The dim with bound symbols replaced by their values. */
const Dim *dim_bind(ExprCtx *ctx, const Dim *dim, const Binding *binding);

/* Text: N*64, (H - 1)/2 + 1, min(N, 8): sums and products read as index scalars do. */
void dim_print(Buf *buf, const Dim *dim);

#endif
