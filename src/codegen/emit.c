/* Statements to C. Loops are counted in int64, unrolled ones are written out, @parallel ones decode
 * the flat range begin..end once and then count like an odometer.
 */
#include "codegen/emit.h"

enum { MAX_COPIES = 256, SHORT_BODY = 4 };

void
push_var(Emit *em, VarInfo info)
{
	vec_push(em->arena, &em->vars, info);
}

const VarInfo *
find_var(const Emit *em, const Var *var)
{
	for (int i = em->vars.count - 1; i >= 0; i--)
		if (em->vars.data[i].var == var)
			return &em->vars.data[i];
	fail_as(FAIL_BUG, &em->kernel->loc, "kernel %s: %s has no value here", em->kernel->name,
	        var->name);
}

void
learn_loop(Emit *em, const Stmt *loop)
{
	facts_var(em->facts, loop->var, loop->lo, loop->hi);
}

/* A block of its own: what is defined inside ends with it. */
static void
emit_block(Emit *em, const Stmt *list)
{
	int vars = em->vars.count, regs = em->regs.count, mark = facts_mark(em->facts);
	em->depth++;
	emit_list(em, list);
	em->depth--;
	em->vars.count = vars;
	em->regs.count = regs;
	facts_release(em->facts, mark);
}

/* ---- loops ----------------------------------------------------------------------------------- */

static VarInfo
counter(Emit *em, const Var *var)
{
	Val val = {map_find_ptr(&em->names, var), UNIFORM};
	return (VarInfo){.var = var, .kind = VAR_NAMED, .val = val, .depth = em->vars.count + 1};
}

void
emit_serial_loop(Emit *em, const Stmt *loop)
{
	begin_statement(em, 2, (const Expr *[]){loop->lo, loop->hi});
	const char *lo = emit_scalar(em, loop->lo), *hi = emit_scalar(em, loop->hi);
	VarInfo info = counter(em, loop->var);
	int64_t value;
	if (!constant_value(em, loop->hi, &value)) {
		const char *end = new_name(em, 'e');
		line(em, "const tw_i64 %s = %s;", end, hi);
		hi = end;
	}
	line(em, "for (tw_i64 %s = %s; %s < %s; %s++) {", info.val.text, lo, info.val.text, hi,
	     info.val.text);
	int mark = facts_mark(em->facts);
	learn_loop(em, loop);
	push_var(em, info);
	emit_block(em, loop->body);
	em->vars.count--;
	facts_release(em->facts, mark);
	line(em, "}");
}

static void
emit_unrolled(Emit *em, const Stmt *loop)
{
	int64_t lo, hi;
	if (!constant_value(em, loop->lo, &lo) || !constant_value(em, loop->hi, &hi) ||
	    hi - lo > MAX_COPIES) {
		emit_serial_loop(em, loop);
		return;
	}
	int mark = facts_mark(em->facts);
	learn_loop(em, loop);
	for (int64_t i = lo; i < hi; i++) {
		line(em, "{");
		push_var(em, (VarInfo){.var = loop->var, .kind = VAR_CONST, .value = i});
		emit_block(em, loop->body);
		em->vars.count--;
		line(em, "}");
	}
	facts_release(em->facts, mark);
}

/* ---- the parallel range ---------------------------------------------------------------------- */

/* From the flat index to the loops' variables, innermost first; afterwards they are counted. */
static void
decode_begin(Emit *em, int count, const Stmt *const *loops)
{
	line(em, "tw_i64 rest = begin;");
	for (int i = count - 1; i >= 0; i--) {
		const char *name = map_find_ptr(&em->names, loops[i]->var);
		const Expr *extent = dim_from_expr(em->ctx, expr_sub(em->ctx, loops[i]->hi, loops[i]->lo));
		const char *lo = emit_scalar(em, loops[i]->lo), *width = emit_scalar(em, extent);
		const char *start = expr_is_zero(loops[i]->lo) ? "" : text(em, "%s + ", lo);
		if (i == 0) {
			line(em, "tw_i64 %s = %srest;", name, start);
			break;
		}
		line(em, "tw_i64 %s = %s(tw_i64)((tw_u64)rest %% (tw_u64)%s);", name, start, width);
		line(em, "rest = (tw_i64)((tw_u64)rest / (tw_u64)%s);", width);
	}
}

static void
count_on(Emit *em, int count, const Stmt *const *loops)
{
	for (int i = count - 1; i > 0; i--) {
		const char *name = map_find_ptr(&em->names, loops[i]->var);
		line(em, "if (++%s < %s)", name, emit_scalar(em, loops[i]->hi));
		line(em, "\tcontinue;");
		line(em, "%s = %s;", name, emit_scalar(em, loops[i]->lo));
	}
	if (count > 0)
		line(em, "%s++;", (const char *)map_find_ptr(&em->names, loops[0]->var));
}

static void
emit_parallel(Emit *em, const Stmt *outermost)
{
	const Stmt *loops[ARRAY_MAX_RANK], *body = outermost;
	int count = 0;
	while (body && body->kind == STMT_FOR && body->bind == BIND_PARALLEL && !body->next) {
		int64_t lo, hi;
		if (count == ARRAY_MAX_RANK)
			fail_as(FAIL_BUG, &em->kernel->loc, "kernel %s: too many @parallel loops",
			        em->kernel->name);
		if (expr_as_i64(body->lo, &lo) && expr_as_i64(body->hi, &hi) && hi - lo == 1) {
			learn_loop(em, body);
			push_var(em, (VarInfo){.var = body->var, .kind = VAR_CONST, .value = lo});
		} else {
			loops[count++] = body;
		}
		body = body->body;
	}
	begin_statement(em, 0, NULL);
	if (count > 0)
		decode_begin(em, count, loops);
	line(em, "for (tw_i64 flat = begin; flat < end; flat++) {");
	for (int i = 0; i < count; i++) {
		learn_loop(em, loops[i]);
		push_var(em, counter(em, loops[i]->var));
	}
	em->depth++;
	line(em, "{");
	emit_block(em, body);
	line(em, "}");
	begin_statement(em, 0, NULL);
	count_on(em, count, loops);
	em->depth--;
	em->vars.count -= count;
	line(em, "}");
}

static void
emit_for(Emit *em, const Stmt *stmt)
{
	if (stmt->bind == BIND_PARALLEL && !em->vector && stmt == em->kernel->body)
		emit_parallel(em, stmt);
	else if (stmt->bind == BIND_VECTOR && !em->vector)
		emit_vector_loop(em, stmt);
	else if (stmt->bind == BIND_UNROLL)
		emit_unrolled(em, stmt);
	else if (stmt->bind >= BIND_BLOCK_X && stmt->bind < BIND_COUNT)
		fail_as(FAIL_BUG, &em->kernel->loc, "kernel %s: a CPU has no blocks and threads",
		        em->kernel->name);
	else
		emit_serial_loop(em, stmt);
}

/* ---- conditions ------------------------------------------------------------------------------ */

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
	line(em, "if (%s) {", emit_scalar(em, stmt->condition));
	emit_arm_block(em, stmt->body, stmt->condition, true);
	if (stmt->other) {
		line(em, "} else {");
		emit_arm_block(em, stmt->other, stmt->condition, false);
	}
	line(em, "}");
}

static void
emit_masked(Emit *em, const Stmt *list, const Expr *condition, const char *mask, bool holds)
{
	Vector *vector = em->vector;
	const char *outer = vector->mask, *live = vector->live, *both = new_name(em, 'm');
	const char *chosen = holds ? mask : text(em, "~%s", mask);
	line(em, outer ? "const %s %s = %s & %s;" : "const %s %s = %s;",
	     c_vector(em, DT_BOOL, vector->lanes), both, chosen, outer);
	line(em, "if (TW_ANY(i%dx%d, %d, %s)) {", vector->width * 8, vector->lanes, vector->lanes,
	     both);
	vector->mask = vector->live = both;
	emit_arm_block(em, list, condition, holds);
	vector->mask = outer;
	vector->live = live;
	line(em, "}");
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
	const Expr **side = varies(em, e) ? varying : uniform;
	*side = *side ? expr_and(em->ctx, *side, e) : e;
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
	int64_t factor;
	const char *rest;
	if (e->op == EX_and)
		return is_affine_in_lanes(em, e->arg[0]) && is_affine_in_lanes(em, e->arg[1]);
	return split_lanes(em, expr_sub(em->ctx, e->arg[0], e->arg[1]), &factor, &rest);
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
	line(em, "if (%s && %s) {", first, last);
	emit_arm_block(em, stmt->body, varying, true);
	line(em, "} else {");
	return true;
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
		line(em, "if (%s)", emit_scalar(em, uniform));
	line(em, "{");
	em->depth++;
	begin_statement(em, 1, &varying);
	int mark = facts_mark(em->facts);
	if (uniform)
		facts_assume(em->facts, uniform);
	bool has_whole_case = emit_whole_case(em, stmt, varying);
	begin_statement(em, 1, &varying);
	const char *mask = new_name(em, 'm'), *test = emit_vector(em, varying);
	line(em, "const %s %s = %s;", c_vector(em, DT_BOOL, em->vector->lanes), mask, test);
	emit_masked(em, stmt->body, varying, mask, true);
	if (stmt->other)
		emit_masked(em, stmt->other, varying, mask, false);
	if (has_whole_case)
		line(em, "}");
	facts_release(em->facts, mark);
	em->depth--;
	line(em, "}");
}

static void
emit_if(Emit *em, const Stmt *stmt)
{
	begin_statement(em, 1, &stmt->condition);
	if (varies(em, stmt->condition))
		emit_varying_if(em, stmt);
	else
		emit_plain_if(em, stmt);
}

/* ---- the others ------------------------------------------------------------------------------ */

/* What is known of a let's variable: where its value lies. */
static void
learn_let(Emit *em, const Stmt *stmt)
{
	int64_t lo, hi;
	if (stmt->value->type == DT_I64 && facts_range(em->facts, stmt->value, &lo, &hi) &&
	    hi < INT64_MAX)
		facts_var(em->facts, stmt->var, expr_i64(em->ctx, lo), expr_i64(em->ctx, hi + 1));
}

static void
emit_let(Emit *em, const Stmt *stmt)
{
	int64_t value;
	begin_statement(em, 1, &stmt->value);
	learn_let(em, stmt);
	VarInfo info = counter(em, stmt->var);
	if (stmt->value->type == DT_I64 && constant_value(em, stmt->value, &value)) {
		push_var(em, (VarInfo){.var = stmt->var, .kind = VAR_CONST, .value = value});
		return;
	}
	Val val = emit_value(em, stmt->value);
	DType type = stmt->value->type;
	if (val.form == LANES) {
		info.val = val;
	} else {
		const char *name = info.val.text;
		info.val.form = val.form;
		line(em, "const %s %s = %s;",
		     val.form == VECTOR ? c_vector(em, type, em->vector->lanes) : c_type(type), name,
		     val.text);
	}
	push_var(em, info);
}

typedef struct Limit {
	const Expr *value, *limit;
} Limit;

/* The check's limit: what the value is compared with. */
static void
find_limit(const Expr *e, void *arg)
{
	Limit *limit = arg;
	if (e->op == EX_lt && e->arg[0] == limit->value)
		limit->limit = e->arg[1];
}

static void
emit_check(Emit *em, const Stmt *stmt)
{
	Limit limit = {stmt->value, NULL};
	expr_visit(stmt->condition, find_limit, &limit);
	begin_statement(em, 3, (const Expr *[]){stmt->condition, stmt->value, limit.limit});
	bool is_lane_wise = varies(em, stmt->condition) || varies(em, stmt->value);
	int mark = is_lane_wise ? enter_lanes(em) : 0;
	line(em, "if (!%s)", emit_scalar(em, stmt->condition));
	line(em, "\ttw_report(args, %d, %s, %s);", stmt->code, emit_scalar(em, stmt->value),
	     limit.limit ? emit_scalar(em, limit.limit) : "0");
	if (is_lane_wise)
		leave_lanes(em, mark);
}

static void
emit_stmt(Emit *em, const Stmt *stmt)
{
	em->place = stmt;
	switch (stmt->kind) {
	case STMT_FOR:
		emit_for(em, stmt);
		break;
	case STMT_STORE:
		emit_store(em, stmt);
		break;
	case STMT_IF:
		emit_if(em, stmt);
		break;
	case STMT_LET:
		emit_let(em, stmt);
		break;
	case STMT_ALLOC:
		emit_alloc(em, stmt);
		break;
	case STMT_CHECK:
		emit_check(em, stmt);
		break;
	case STMT_SYNC:
		fail_as(FAIL_BUG, &em->kernel->loc, "kernel %s: a CPU has no barriers", em->kernel->name);
	}
}

void
emit_list(Emit *em, const Stmt *list)
{
	for (; list; list = list->next)
		emit_stmt(em, list);
}
