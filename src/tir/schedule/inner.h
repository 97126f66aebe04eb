/* What the primitives share. */
#ifndef TIR_SCHEDULE_INNER_H
#define TIR_SCHEDULE_INNER_H

#include "tir/rewrite.h"
#include "tir/schedule/schedule.h"

/* One step under way. */
typedef struct Scheduling {
	Kernel *kernel;
	ExprCtx *ctx;
	const ScriptStep *step;
} Scheduling;

#define PRIMITIVE(name, form, doc) void primitive_##name(Scheduling *s);
#include "tir/primitives.def"
#undef PRIMITIVE

_Noreturn void refuse(const Scheduling *s, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/* The loop that the step names at this place. */
Stmt *named_loop(const Scheduling *s, int index);
/* The loop that `outer` holds and nothing else. */
Stmt *only_loop(const Scheduling *s, const Stmt *outer);
/* A variable under the name that the step gives to loop `index` of those it makes. */
const Var *new_counter(const Scheduling *s, int index, const Expr *lo, const Expr *hi);
/* hi - lo, in the normal form of dims where it is a dim. */
const Expr *loop_extent(const Scheduling *s, const Stmt *loop);
const Expr *tidy(ExprCtx *ctx, const Expr *e);
/* Whether e is the variable and something that none of these is in. */
bool moves_with(const Scheduling *s, const Expr *e, const Var *var, int count,
                const Var *const *vars);
/* What a list reads and stores, of buffers that are not made in it. */
typedef struct Access {
	const Tensor *tensor;
	const Expr *const *index;
	bool is_store;
	int op; /* of a store */
} Access;
typedef VEC(Access) AccessVec;
void find_accesses(Kernel *kernel, Stmt *list, AccessVec *accesses);

#endif
