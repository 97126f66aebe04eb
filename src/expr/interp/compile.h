/* The compiler's inside, for compile.c (expressions) and stage.c (stages). */
#ifndef EXPR_INTERP_COMPILE_H
#define EXPR_INTERP_COMPILE_H

#include "expr/interp/code.h"

/* Which register holds an expression; a memo's own code has a scope of its own, because it is not
 * always run. */
typedef struct Scope {
	struct Scope *outer;
	VEC(Map *) values; /* by mask + 1 */
	InstrVec *code;    /* where all instructions of this scope go; NULL: by level */
	int level;         /* of the scope's code; what belongs to outer levels goes there */
} Scope;

typedef struct MaskKey {
	int mask, condition, reg;
	bool is_negated;
} MaskKey;

typedef struct Compiler {
	Machine *m;
	Stores *stores;
	ExprCtx *ctx;
	Arena *arena;
	InstrVec *lists; /* by level */
	Scope *scope;
	Map vars; /* Var to register + 1 */
	Map lazy; /* Expr to whether it may read: 1 no, 2 yes */
	VEC(MaskKey) masks;
} Compiler;

/* A register of a scalar's type, in this mode's representation. */
int compile_reg(Compiler *c, DType type, bool is_uniform);
/* Code for an expression under a mask register (or NO_MASK); its register. */
int compile_expr(Compiler *c, const Expr *e, int mask);
int compile_cast(Compiler *c, DType to, int flags, int reg);
/* Code for a condition (the register is a mask) or an index (i64), remembered per block where this
 * saves work. */
int compile_memo(Compiler *c, const Expr *e, int mask);
/* From coefficients of iterators to what an address is computed from. */
void compile_offsets(Compiler *c, ReadInfo *info, const int64_t *coef);

#endif
