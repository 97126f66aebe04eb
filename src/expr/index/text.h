/* The text of scalars, for whoever has a text of his own around them (formulas of tables, the loop
 * IR). Programs are printed and read by stage.h.
 *
 *     alpha*(exp(x) - 1)     x > 0 ? x : f32(0)     f16(X[n, 2*p+r-1])     X[i-1] else 0
 *     at(I[i], 0..D, wrap, check)     max(a, lowest(T))     let t0 = x*x; t0 + t0*t0
 *
 * A number takes the type of the operand beside it; one that stands alone is i64, or f32 with a
 * point, unless written with its type: u8(3). `T(x)` and `lowest(T)` take an element type, or a
 * name of the scope, whose type is meant.
 */
#ifndef EXPR_INDEX_TEXT_H
#define EXPR_INDEX_TEXT_H

#include "base/scan.h"
#include "expr/index/simplify.h"

typedef struct TextScope TextScope;

/* What else a text may call, by a name with a capital: operators of ONNX, which graph knows
 * (formula_operators()). The name and the parenthesis are read; NULL: nothing is called so. */
typedef struct TextOperators {
	const void *self;
	const Expr *(*call)(const void *self, ExprCtx *ctx, Scanner *scan, const TextScope *scope,
	                    const char *name);
} TextOperators;

struct TextScope {
	const Map *names;   /* identifiers to Exprs; may be NULL */
	const Map *tensors; /* what can be read, by name; may be NULL */
	Facts *facts;       /* boxes, for `X[i] else 0`; NULL: nothing is certain */
	enum {
		SYMBOLS_NONE,  /* an unknown name is an error */
		SYMBOLS_KNOWN, /* it may be a symbol the ctx has */
		SYMBOLS_NEW,   /* it is a symbol */
	} symbols;
	const TextOperators *operators; /* NULL: none */
};

/* Read one scalar and stop behind it; fails with file and line. */
const Expr *expr_parse(ExprCtx *ctx, Scanner *scan, const Map *names);
/* `type`: of a number that stands alone, and checked if the result has another; DT_NONE: any. */
const Expr *expr_parse_in(ExprCtx *ctx, Scanner *scan, const TextScope *scope, DType type);
/* A dim: names are symbols. */
const Dim *dim_parse(ExprCtx *ctx, Scanner *scan);

/* How to print names. */
typedef struct TextNames {
	const char *const *iters; /* by position; NULL: i0, i1 … */
	int niter;
	const Map *tensors; /* PtrMap to names; absent ones print their own */
	Facts *facts;       /* as in TextScope */
	const Tensor *prev; /* of a one-step scan: printed as `prev` when read at the loops but one */
	int prev_axis;
} TextNames;

/* `type` as for expr_parse_in(): a constant of this type is printed bare. */
void expr_print_in(Buf *buf, const Expr *e, const TextNames *names, DType type);
/* A scalar of no stage. */
void expr_print(Buf *buf, const Expr *e);
/* A conjunction as a list: a, b, c. */
void expr_print_list(Buf *buf, const Expr *conjunction, const TextNames *names);

#endif
