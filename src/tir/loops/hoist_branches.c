/* HoistBranches: what a loop does only under a condition that none of its iterations changes is
 * asked before it.
 *
 *     for r in 3                            for r in 3
 *       for s in 3                            if (0 <= p+r-1)
 *         if (0 <= p+r-1 && s != q)   =>        for s in 3
 *           acc += …                              if (s != q)
 *                                                   acc += …
 *
 * So whole loops are left out, where moving the condition as a value would only ask it sooner. It
 * goes on to the loops around. Conjuncts that read stay, and so do those behind them, and those
 * behind what reports an index; loops bound to workers, blocks or threads nest perfectly and are
 * left by nothing. An else costs a second loop over its own part, and is taken along where the
 * whole condition leaves.
 *
 * needs    Normalize, whose conjuncts stand in the order in which they change
 * keeps    values, reports
 * breaks   nests without anything between their loops, but for those that are bound
 * setting  HoistBranches.whole=1: a condition leaves as a whole or not at all, to compare with
 */
#include "tir/loops/loops.h"
#include "tir/loops/motion.h"
#include "tir/rewrite.h"

typedef struct Hoisting {
	Kernel *kernel;
	Arena *arena;
	Ranks ranks;
	Traits traits;
	bool is_whole; /* no part of a condition leaves alone */
	bool changed;
} Hoisting;

/* A condition in two: what a loop leaves alone, and the rest. NULL: nothing. */
typedef struct Parts {
	const Expr *outside, *inside;
	bool is_stopped; /* a conjunct that reads has been met */
} Parts;

static void
split_condition(Hoisting *h, const Expr *e, Parts *parts)
{
	ExprCtx *ctx = h->kernel->ctx;
	if (e->op == EX_and) {
		split_condition(h, e->arg[0], parts);
		split_condition(h, e->arg[1], parts);
		return;
	}
	parts->is_stopped |= trait_of(&h->traits, e)->is_unsafe || e->has_check;
	if (!parts->is_stopped && ranks_of(&h->ranks, e) < h->ranks.depth)
		parts->outside = expr_both(ctx, parts->outside, e);
	else
		parts->inside = expr_both(ctx, parts->inside, e);
}

/* The if that is all that a loop does; lets without it may go with it where they report nothing. */
static Stmt *
only_test(const Stmt *loop)
{
	Stmt *list = loop_is_bound(loop) || stmt_reports(loop) ? NULL : loop->body;
	while (list && list->kind == STMT_LET && !stmt_reports(list))
		list = list->next;
	return list && list->kind == STMT_IF && !list->next ? list : NULL;
}

/* The loop, or the if around it. */
static Stmt *
hoist(Hoisting *h, Stmt *loop)
{
	Parts parts = {0};
	Stmt *test = only_test(loop);
	if (!test)
		return loop;
	split_condition(h, test->condition, &parts);
	bool is_parted = parts.inside && (test->other || h->is_whole);
	if (!parts.outside || is_parted || (test->other && test != loop->body))
		return loop;
	Stmt *outer = stmt_if(h->kernel, parts.outside, loop, NULL);
	outer->next = loop->next;
	loop->next = NULL;
	if (test->other) {
		outer->other = stmt_copy(h->kernel, loop, NULL, NULL);
		outer->other->body = outer->other->body->other;
	}
	h->changed = true;
	test->condition = parts.inside;
	if (parts.inside)
		return outer;
	Stmt **link = &loop->body;
	while (*link != test)
		link = &(*link)->next;
	*link = test->body;
	outer->body = hoist(h, loop); /* an if in the if */
	return outer;
}

static Stmt *
hoist_list(Hoisting *h, Stmt *list)
{
	Stmt *first = list;
	for (Stmt **link = &first; *link; link = &(*link)->next) {
		Stmt *stmt = *link;
		if (stmt->kind == STMT_FOR) {
			ranks_enter(&h->ranks, stmt);
			stmt->body = hoist_list(h, stmt->body);
			*link = hoist(h, stmt);
			ranks_leave(&h->ranks);
		} else if (stmt->kind == STMT_LET) {
			/* it stays in the loop around, and with it what asks it */
			bool is_lane = ranks_of(&h->ranks, stmt->value) == RANK_LANES;
			ranks_let(&h->ranks, stmt->var, is_lane ? RANK_LANES : h->ranks.depth);
		} else if (stmt->kind == STMT_IF) {
			stmt->body = hoist_list(h, stmt->body);
			stmt->other = hoist_list(h, stmt->other);
		}
	}
	h->changed |= join_ifs(h->arena, first);
	return first;
}

bool
pass_HoistBranches(Kernel *kernel, PassContext *context)
{
	Arena *arena = arena_new_in(kernel->arena, "HoistBranches");
	Hoisting h = {.kernel = kernel,
	              .arena = arena,
	              .ranks = ranks_new(arena, kernel),
	              .traits = {.arena = arena, .known.arena = arena},
	              .is_whole = pass_config_int(context, "HoistBranches.whole", 0) != 0};
	kernel->body = hoist_list(&h, kernel->body);
	arena_reset(arena);
	return h.changed;
}
