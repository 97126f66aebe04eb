/* SplitMasks: what differs between the lanes of a vector, tested for all of them at once.
 *
 *     if (p < 7 && 0 <= i+s && i+s < 56)   =>   if (p < 7)
 *       acc[i] += X[i+s]                          if (0 <= s && s < 56 && 0 <= 15+s && 15+s < 56)
 *                                                   acc[i] += X[i+s]
 *                                                 else
 *                                                   if (0 <= i+s && i+s < 56)
 *                                                     acc[i] += X[i+s]
 *
 * Conditions that are the same for all lanes are tested before. Of the others, which become masks,
 * what holds at the first and the last lane holds between, where it compares sums of indices: so
 * inside an image all taps of a window run without masks.
 *
 * needs    to come before Unroll: most of these tests are known once taps are numbers
 * keeps    values
 * breaks   nothing
 * leaves   conditions with an else branch, those that are no such comparisons, long bodies
 */
#include "expr/index/poly.h"
#include "tir/loops/loops.h"
#include "tir/rewrite.h"

enum { SHORT_BODY = 4 };

typedef struct Masks {
	Kernel *kernel;
	const Stmt *vector; /* the vector around, or NULL */
	Lanes lanes;
} Masks;

/* The conjuncts that are the same for all lanes, and the others. */
static void
split_condition(const Masks *masks, const Expr *e, const Expr **same, const Expr **different)
{
	if (e->op == EX_and && !e->has_read && !e->has_check) {
		split_condition(masks, e->arg[0], same, different);
		split_condition(masks, e->arg[1], same, different);
		return;
	}
	const Expr **side = lanes_differ(&masks->lanes, e) ? different : same;
	*side = expr_both(masks->kernel->ctx, *side, e);
}

/* Whether a condition compares sums, of which one grows evenly with the lanes. */
static bool
is_even(const Masks *masks, const Expr *e)
{
	ExprCtx *ctx = masks->kernel->ctx;
	Poly gap, factor, rest;
	int64_t step;
	if (e->op == EX_and)
		return is_even(masks, e->arg[0]) && is_even(masks, e->arg[1]);
	bool is_order = e->op == EX_lt || e->op == EX_le || e->op == EX_gt || e->op == EX_ge;
	return is_order && e->arg[0]->type == DT_I64 && !e->has_read &&
	       poly_gap(e->arg[0], e->arg[1], 0, &gap) &&
	       poly_split_atom(&gap, expr_var(ctx, masks->vector->var), &factor, &rest) &&
	       poly_is_const(&factor, &step) && !lanes_differ(&masks->lanes, poly_build(ctx, &rest));
}

static bool
is_short(const Stmt *list)
{
	int count = 0;
	for (; list; list = list->next, count++)
		if (list->kind != STMT_STORE && list->kind != STMT_LET)
			return false;
	return count <= SHORT_BODY;
}

static void
split_mask(const Masks *masks, Stmt *stmt)
{
	Kernel *kernel = masks->kernel;
	ExprCtx *ctx = kernel->ctx;
	const Expr *same = NULL, *different = NULL;
	split_condition(masks, stmt->condition, &same, &different);
	if (same) {
		Stmt *inner = stmt_if(kernel, different, stmt->body, NULL);
		stmt->condition = same;
		stmt->body = inner;
		stmt = inner;
	}
	if (!is_short(stmt->body) || !is_even(masks, different))
		return;
	const Var *lane = masks->vector->var;
	const Expr *last = expr_sub(ctx, masks->vector->hi, expr_i64(ctx, 1));
	stmt->other = stmt_if(kernel, different, stmt->body, NULL);
	stmt->body = stmt_copy(kernel, stmt->body, NULL, NULL);
	stmt->condition = expr_both(ctx, expr_replace_var(different, lane, expr_i64(ctx, 0)),
	                            expr_replace_var(different, lane, last));
}

static void
split_list(Masks *masks, Stmt *list)
{
	for (Stmt *stmt = list; stmt; stmt = stmt->next) {
		lanes_note(&masks->lanes, stmt);
		if (stmt->lanes)
			masks->vector = stmt;
		split_list(masks, stmt->body);
		split_list(masks, stmt->other);
		if (stmt->lanes)
			masks->vector = NULL;
		if (masks->vector && stmt->kind == STMT_IF && !stmt->other &&
		    lanes_differ(&masks->lanes, stmt->condition))
			split_mask(masks, stmt);
	}
}

bool
pass_SplitMasks(Kernel *kernel, PassContext *context)
{
	(void)context;
	Masks masks = {.kernel = kernel, .lanes.arena = kernel->arena};
	split_list(&masks, kernel->body);
	return true;
}
