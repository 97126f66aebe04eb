/* What the primitives share. */
#ifndef TIR_SCHEDULE_INNER_H
#define TIR_SCHEDULE_INNER_H

#include "tir/rewrite.h"
#include "tir/script.h"

/* One step under way. */
typedef struct Scheduling {
	Kernel *kernel;
	ExprCtx *ctx;
	const ScriptStep *step;
} Scheduling;

#define PRIMITIVE(name, form, doc) void primitive_##name(Scheduling *s);
#include "tir/primitives.def"
#undef PRIMITIVE

_Noreturn void refuse_step(const Scheduling *s, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/* The loop that the step names at this place. */
Stmt *named_loop(const Scheduling *s, int index);
/* The loop that `outer` holds and nothing else. */
Stmt *only_loop(const Scheduling *s, const Stmt *outer);
/* The link to the statement that makes the named local; NULL: none does. */
Stmt **find_alloc(Stmt **list, const char *name);
/* Whether it is one of the buffers that the step names. */
bool is_named_buffer(const Scheduling *s, const Tensor *tensor);
/* The name that the step gives to number `index` of what it makes, and a variable of that name. */
const char *made_name(const Scheduling *s, int index);
const Var *new_counter(const Scheduling *s, int index, const Expr *lo, const Expr *hi);
/* hi - lo, in the normal form of dims where it is a dim. */
const Expr *loop_extent(const Scheduling *s, const Stmt *loop);
const Expr *tidy_dim(ExprCtx *ctx, const Expr *e);
/* ---- what depends on what (depend.c) --------------------------------------------------------- */

/* Loops that stand around something inside a list, from the inside out. */
typedef struct Around {
	const Stmt *loop;
	const struct Around *outer;
} Around;

/* What a list reads and stores, of buffers that are not made in it. Lets of the list stand in
 * indices by their values. */
typedef struct Access {
	const Tensor *tensor;
	const Expr *const *index;
	bool is_store;
	int op;              /* of a store */
	bool is_conditional; /* it stands under a condition of the list */
	const Around *around;
} Access;
typedef VEC(Access) AccessVec;
void find_accesses(Kernel *kernel, Stmt *list, AccessVec *accesses);
/* The same, seen from outside of these loops around the list. */
void find_accesses_within(Kernel *kernel, Stmt *list, const Around *around, AccessVec *accesses);

/* Whether one of the two stores what the other reads or overwrites. */
bool must_keep_order(const Access *a, const Access *b);
/* Whether different iterations of the loop never meet in one place by these accesses of its body.
 */
bool are_apart(const Scheduling *s, const Stmt *loop, const Access *a, const Access *b);
/* Refuses when the loops of a perfect nest, outermost first, would read something before it is
 * stored, or behind it, if they stood as in `after`. */
void check_order(const Scheduling *s, int count, const Stmt *const *nest, const Stmt *const *after);
/* Refuses when iterations of the loop cannot run at once; lanes may sum into one place. */
void check_apart(const Scheduling *s, const Stmt *loop, bool may_sum);
_Noreturn void refuse_meeting(const Scheduling *s, const Access *a, const Access *b);
/* Whether the access touches another place in each iteration of these loops around it, outermost
 * first. */
bool is_injective(const Scheduling *s, int count, const Stmt *const *loops, const Access *access);
/* What holds where a statement stands: the boxes of the loops and the conditions around it. Who
 * asks often closes them: a model's dims are facts, too, and a kernel has many steps. */
bool enter_facts(Facts *facts, const Stmt *list, const Stmt *inner);
Facts *facts_at(const Scheduling *s, const Stmt *place);
bool is_certain_at(const Scheduling *s, const Stmt *place, const Expr *condition);

/* ---- boxes (box.c) --------------------------------------------------------------------------- */

/* What accesses touch of a buffer: `extent` indices from `lo` on, at most `size` of them. */
typedef struct Box {
	int rank;
	const Expr *lo[ARRAY_MAX_RANK], *extent[ARRAY_MAX_RANK];
	const Dim *size[ARRAY_MAX_RANK];
} Box;

/* Refuses when the accesses have no such box; facts are those of the place it is seen from. */
Box find_box(const Scheduling *s, Facts *facts, const AccessVec *all, const Tensor *tensor);
/* No less than the extent, without loops' variables; NULL when none is known. */
const Dim *bound_of(const Scheduling *s, Facts *facts, const Expr *extent);
/* The same of how often a loop runs. */
const Dim *bound_of_loop(const Scheduling *s, const Stmt *loop);

#endif
