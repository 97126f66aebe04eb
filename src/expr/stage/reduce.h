/* Reductions by row (reduce.def): identities and combining formulas as scalars. */
#ifndef EXPR_STAGE_REDUCE_H
#define EXPR_STAGE_REDUCE_H

#include "base/scan.h"
#include "expr/scalar/expr.h"

typedef enum ReduceOp {
#define REDUCE(name, text, states, identity, combine, freedom, doc) REDUCE_##name,
#include "expr/stage/reduce.def"
#undef REDUCE
	REDUCE_COUNT
} ReduceOp;

typedef enum ReduceFreedom { REDUCE_order_free, REDUCE_exact, REDUCE_ordered } ReduceFreedom;

typedef struct ReduceInfo {
	const char *name, *text;
	int states; /* 0: key and payloads */
	const char *identity, *combine;
	ReduceFreedom freedom;
	const char *doc;
} ReduceInfo;

enum { REDUCE_MAX_STATES = 8 };

const ReduceInfo *reduce_info(ReduceOp op);

/* The scalar operation that joins two terms; EX_COUNT where `op` has none, or is no reduction. */
ExprOp reduce_fold(int op);

/* Whether terms may be reduced in parts, lanes or pieces, that are then reduced as terms are: one
 * state and no order. */
bool reduce_in_parts(ReduceOp op);

/* The accumulator type a sum or product of `type` uses by default. */
DType reduce_accumulator(ReduceOp op, DType type);

/* The result over no terms, for state `state` (0-based) of accumulator type `acc`. */
const Expr *reduce_identity(ExprCtx *ctx, ReduceOp op, int state, DType acc);

/* out[i] = the combination of running states a[] and another tuple b[], both of length `count`
 * (rows with states = 0: key first, then payloads, by the row's condition). The same formula joins
 * two partial results, provided the terms of a come first where the row is ordered. */
void reduce_combine(ExprCtx *ctx, ReduceOp op, int count, const Expr *const *a,
                    const Expr *const *b, const Expr **out);

/* Take the name of a reduction, `sum` or `argmax first`, where one begins: before `(c:C`, with a
 * type in between or not. REDUCE_COUNT where none does: max(a, b) is a scalar. */
ReduceOp reduce_accept(Scanner *scan);

#endif
