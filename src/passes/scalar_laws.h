/* The laws of graph_rules.def, applied to programs. */
#ifndef PASSES_SCALAR_LAWS_H
#define PASSES_SCALAR_LAWS_H

#include "expr/stage/stage.h"
#include "graph/graph.h"

/* The program with numbers for constants whose elements are all equal (values[i] is what input i
 * is), and with what the laws say is smaller. The same bits, whatever is given. */
typedef struct ScalarLaws ScalarLaws; /* as they are for a ctx, read when they are needed */
ScalarLaws *laws_new(Arena *arena, ExprCtx *ctx);
const Expr *laws_rewrite(ScalarLaws *laws, const Expr *e); /* the same of a scalar without reads */
const Program *laws_apply(ScalarLaws *laws, const Program *program, Value *const *values);

/* A law of one type, for tests: variables x and y, and both sides. NULL: there are no more. */
typedef struct ScalarLaw {
	const Expr *x, *y, *before, *after;
} ScalarLaw;
const ScalarLaw *scalar_law(ExprCtx *ctx, DType type, int number);

#endif
