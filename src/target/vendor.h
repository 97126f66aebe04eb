/* The post-ops of vendor kernels by row (vendor.def). */
#ifndef TARGET_VENDOR_H
#define TARGET_VENDOR_H

#include "expr/stage/stage.h"

enum { POST_MAX = 8 };

/* One post-op of an epilogue, in order of application. */
typedef struct PostOp {
	const char *text;    /* with numbers filled in; %K still stands for the operand */
	const Expr *operand; /* the read that is z, or NULL */
} PostOp;

/* Take an epilogue apart: `body` is a scalar over the read `main` (the main stage's result) and
 * other reads. Gives the post-ops from the innermost outwards; -1 when one has no row. */
int vendor_epilogue(ExprCtx *ctx, Arena *arena, const Expr *body, const Expr *main,
                    PostOp post[POST_MAX]);

#endif
