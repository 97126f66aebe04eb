/* Conditions: plain branches, and masks where lanes take different ways.
 *
 * Where the lanes' positions are constants, the mask is one.
 */
#include "codegen/c/emit.h"

void
learn_condition(Emit *em, const Expr *condition, bool holds)
{
	condition = without_lets(em, condition);
	facts_assume(em->facts, holds ? condition : expr_not(em->ctx, condition));
}

static void
emit_arm_block(Emit *em, const Stmt *list, const Expr *condition, bool holds)
{
	int mark = facts_mark(em->facts);
	learn_condition(em, condition, holds);
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

/* The list in the lanes of a mask, of which there is one. */
static void
emit_under(Emit *em, const Stmt *list, const Expr *condition, const char *mask, bool holds)
{
	Vector *vector = em->vector;
	const char *outer = vector->mask, *live = vector->live;
	vector->mask = vector->live = mask;
	emit_arm_block(em, list, condition, holds);
	vector->mask = outer;
	vector->live = live;
}

static void
emit_masked(Emit *em, const Stmt *list, const Expr *condition, const char *mask, bool holds)
{
	const char *outer = em->vector->mask, *both = new_name(em, 'm');
	const char *chosen = holds ? mask : emit_text(em, "~%s", mask);
	emit_line(em, outer ? "const %s %s = %s & %s;" : "const %s %s = %s;",
	          c_vector(em, DT_BOOL, em->vector->lanes), both, chosen, outer);
	emit_line(em, "if (tw_any_i%dx%d(%s)) {", em->vector->width * 8, em->vector->lanes, both);
	emit_under(em, list, condition, both, holds);
	emit_line(em, "}");
}

/* The condition in each lane of a vector at a constant position; false when one is not known. */
static bool
known_lanes(Emit *em, const Expr *condition, bool holds[LANES_MAX])
{
	const Stmt *loop = em->vector->loop;
	int64_t hi;
	condition = without_lets(em, condition);
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
emit_known_case(Emit *em, const Stmt *stmt)
{
	bool holds[LANES_MAX], any = false;
	const Vector *vector = em->vector;
	if (stmt->other || vector->mask != vector->tail || !known_lanes(em, stmt->condition, holds))
		return false;
	for (int i = 0; i < vector->lanes; i++)
		any |= holds[i];
	if (!any)
		return true;
	const char *mask = new_name(em, 'm'), *list = "";
	for (int i = 0; i < vector->lanes; i++)
		list = emit_text(em, "%s%s%s", list, i ? ", " : "", holds[i] ? "-1" : "0");
	emit_line(em, "const %s %s = {%s};", c_vector(em, DT_BOOL, vector->lanes), mask, list);
	emit_under(em, stmt->body, stmt->condition, mask, true);
	return true;
}

static void
emit_varying_if(Emit *em, const Stmt *stmt)
{
	emit_line(em, "{");
	em->depth++;
	if (!emit_known_case(em, stmt)) {
		const char *mask = new_name(em, 'm'), *test = emit_vector(em, stmt->condition);
		emit_line(em, "const %s %s = %s;", c_vector(em, DT_BOOL, em->vector->lanes), mask, test);
		emit_masked(em, stmt->body, stmt->condition, mask, true);
		if (stmt->other)
			emit_masked(em, stmt->other, stmt->condition, mask, false);
	}
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
