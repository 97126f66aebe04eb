/* Conditions: plain branches, and masks where lanes take different ways.
 *
 * Where the lanes' positions are constants, the mask is one. Else the condition is tried at the
 * first and the last lane: true at both, no mask is needed.
 */
#include "codegen/c/emit.h"

enum { SHORT_BODY = 4 };

static void
emit_arm_block(Emit *em, const Stmt *list, const Expr *condition, bool holds)
{
	int mark = facts_mark(em->facts);
	facts_assume(em->facts, holds ? condition : expr_not(em->ctx, condition));
	emit_block(em, list);
	facts_release(em->facts, mark);
}

static void
emit_plain_if(Emit *em, const Stmt *stmt)
{
	emit_line(em, "if (%s) {", emit_scalar(em, stmt->condition));
	emit_arm_block(em, stmt->body, stmt->condition, true);
	if (stmt->other) {
		emit_line(em, "} else {");
		emit_arm_block(em, stmt->other, stmt->condition, false);
	}
	emit_line(em, "}");
}

static void
emit_masked(Emit *em, const Stmt *list, const Expr *condition, const char *mask, bool holds)
{
	Vector *vector = em->vector;
	const char *outer = vector->mask, *live = vector->live, *both = new_name(em, 'm');
	const char *chosen = holds ? mask : emit_text(em, "~%s", mask);
	emit_line(em, outer ? "const %s %s = %s & %s;" : "const %s %s = %s;",
	          c_vector(em, DT_BOOL, vector->lanes), both, chosen, outer);
	emit_line(em, "if (tw_any_i%dx%d(%s)) {", vector->width * 8, vector->lanes, both);
	vector->mask = vector->live = both;
	emit_arm_block(em, list, condition, holds);
	vector->mask = outer;
	vector->live = live;
	emit_line(em, "}");
}

/* The conjuncts that are the same for all lanes, and the others. */
static void
split_condition(Emit *em, const Expr *e, const Expr **uniform, const Expr **varying)
{
	if (e->op == EX_and && !e->has_read) {
		split_condition(em, e->arg[0], uniform, varying);
		split_condition(em, e->arg[1], uniform, varying);
		return;
	}
	const Expr **side = emit_varies(em, e) ? varying : uniform;
	*side = expr_both(em->ctx, *side, e);
}

/* Whether a condition is a conjunction of affine comparisons: true at both ends of the lanes, it is
 * true in between. */
static bool
is_convex(const Expr *e)
{
	if (e->op == EX_and)
		return is_convex(e->arg[0]) && is_convex(e->arg[1]);
	bool is_order = e->op == EX_lt || e->op == EX_le || e->op == EX_gt || e->op == EX_ge;
	return is_order && e->arg[0]->type == DT_I64 && !e->has_read;
}

static bool
is_affine_in_lanes(Emit *em, const Expr *e)
{
	if (e->op == EX_and)
		return is_affine_in_lanes(em, e->arg[0]) && is_affine_in_lanes(em, e->arg[1]);
	return is_lane_test(em, e);
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

/* The condition at one lane, as a scalar. */
static const char *
condition_at(Emit *em, const Expr *condition, const char *lane)
{
	int mark = em->memo.count;
	em->vector->lane = lane;
	const char *at = emit_scalar(em, condition);
	em->vector->lane = NULL;
	em->memo.count = mark;
	return at;
}

/* Inside an image all taps of a window hold for all lanes: test the first and the last, then go
 * without masks. Gives whether the masked form stands in an else branch now. */
static bool
emit_whole_case(Emit *em, const Stmt *stmt, const Expr *varying)
{
	if (stmt->other || !is_convex(varying) || !is_short(stmt->body) ||
	    !is_affine_in_lanes(em, varying))
		return false;
	const char *first = condition_at(em, varying, "0");
	const char *last = condition_at(em, varying, em->vector->last);
	emit_line(em, "if (%s && %s) {", first, last);
	emit_arm_block(em, stmt->body, varying, true);
	emit_line(em, "} else {");
	return true;
}

/* The condition in each lane of a vector at a constant position; false when one is not known. */
static bool
known_lanes(Emit *em, const Expr *condition, bool holds[LANES_MAX])
{
	const Stmt *loop = em->vector->loop;
	int64_t hi;
	if (condition->has_read || !expr_as_i64(loop->hi, &hi))
		return false;
	for (int i = 0; i < em->vector->lanes; i++) {
		int mark = facts_mark(em->facts);
		facts_var(em->facts, loop->var, expr_i64(em->ctx, i), expr_i64(em->ctx, i + 1));
		holds[i] = i < hi && facts_prove(em->facts, condition);
		bool is_known = i >= hi || holds[i] || facts_disprove(em->facts, condition);
		facts_release(em->facts, mark);
		if (!is_known)
			return false;
	}
	return true;
}

/* Lanes that are known when the code is made: a constant mask, and nothing to test. */
static bool
emit_known_case(Emit *em, const Stmt *stmt, const Expr *varying)
{
	bool holds[LANES_MAX], any = false;
	Vector *vector = em->vector;
	if (stmt->other || vector->mask != vector->tail || !known_lanes(em, varying, holds))
		return false;
	for (int i = 0; i < vector->lanes; i++)
		any |= holds[i];
	if (!any)
		return true;
	const char *mask = new_name(em, 'm'), *outer = vector->mask, *live = vector->live, *list = "";
	for (int i = 0; i < vector->lanes; i++)
		list = emit_text(em, "%s%s%s", list, i ? ", " : "", holds[i] ? "-1" : "0");
	emit_line(em, "const %s %s = {%s};", c_vector(em, DT_BOOL, vector->lanes), mask, list);
	vector->mask = vector->live = mask;
	emit_arm_block(em, stmt->body, varying, true);
	vector->mask = outer;
	vector->live = live;
	return true;
}

static void
emit_by_mask(Emit *em, const Stmt *stmt, const Expr *varying)
{
	begin_statement(em, 1, &varying);
	const char *mask = new_name(em, 'm'), *test = emit_vector(em, varying);
	emit_line(em, "const %s %s = %s;", c_vector(em, DT_BOOL, em->vector->lanes), mask, test);
	emit_masked(em, stmt->body, varying, mask, true);
	if (stmt->other)
		emit_masked(em, stmt->other, varying, mask, false);
}

static void
emit_varying_if(Emit *em, const Stmt *stmt)
{
	const Expr *uniform = NULL, *varying = NULL;
	if (stmt->other)
		varying = stmt->condition;
	else
		split_condition(em, stmt->condition, &uniform, &varying);
	if (uniform)
		emit_line(em, "if (%s)", emit_scalar(em, uniform));
	emit_line(em, "{");
	em->depth++;
	begin_statement(em, 1, &varying);
	int mark = facts_mark(em->facts);
	if (uniform)
		facts_assume(em->facts, uniform);
	bool is_done = emit_known_case(em, stmt, varying);
	bool has_whole_case = !is_done && emit_whole_case(em, stmt, varying);
	if (!is_done)
		emit_by_mask(em, stmt, varying);
	if (has_whole_case)
		emit_line(em, "}");
	facts_release(em->facts, mark);
	em->depth--;
	emit_line(em, "}");
}

void
emit_if(Emit *em, const Stmt *stmt)
{
	begin_statement(em, 1, &stmt->condition);
	if (emit_varies(em, stmt->condition))
		emit_varying_if(em, stmt);
	else
		emit_plain_if(em, stmt);
}
