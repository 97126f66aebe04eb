/* tir_simplify: every scalar in the simplest form that holds where it stands; branches that are
 * never taken, loops that run not at all or once, and statements without effect go.
 *
 * Lets stay: a let is there because a pass wanted the value computed once, at that place.
 */
#include "tir/rewrite.h"

typedef struct Simplifier {
	Kernel *kernel;
	Facts *facts;
} Simplifier;

static const Expr *
simple(const Simplifier *simplifier, const Expr *e)
{
	return e ? expr_lighten(simplifier->facts, e) : NULL;
}

static const Expr *const *
simple_list(const Simplifier *simplifier, int count, const Expr *const *list)
{
	const Expr **made = NEW_N(simplifier->kernel->arena, const Expr *, count + 1);
	for (int i = 0; i < count; i++)
		made[i] = simple(simplifier, list[i]);
	return made;
}

static Stmt *simplify_list(Simplifier *simplifier, Stmt *list);

static Stmt *
simplify_if(Simplifier *simplifier, Stmt *stmt)
{
	Facts *facts = simplifier->facts;
	stmt->condition = simple(simplifier, stmt->condition);
	bool reports = stmt_reports(stmt);
	bool is_true = !reports && facts_prove(facts, stmt->condition);
	bool is_false = !reports && !is_true && facts_disprove(facts, stmt->condition);
	int mark = facts_mark(facts);
	if (!is_false) {
		facts_assume(facts, stmt->condition);
		stmt->body = simplify_list(simplifier, stmt->body);
		facts_release(facts, mark);
	}
	if (!is_true) {
		facts_assume(facts, expr_not(simplifier->kernel->ctx, stmt->condition));
		stmt->other = simplify_list(simplifier, stmt->other);
		facts_release(facts, mark);
	}
	if (is_true || is_false)
		return is_true ? stmt->body : stmt->other;
	if (!stmt->body && stmt->other) {
		stmt->condition = expr_not(simplifier->kernel->ctx, stmt->condition);
		stmt->body = stmt->other;
		stmt->other = NULL;
	}
	return stmt->body || reports ? stmt : NULL;
}

/* Whether the loop runs exactly once; a vector is kept, as what it stores may be vectors. */
static bool
runs_once(const Simplifier *simplifier, const Stmt *stmt)
{
	ExprCtx *ctx = simplifier->kernel->ctx;
	const Expr *extent = simple(simplifier, expr_sub(ctx, stmt->hi, stmt->lo));
	return expr_is_one(extent) && stmt->bind <= BIND_UNROLL && !stmt->lanes;
}

static Stmt *
simplify_for(Simplifier *simplifier, Stmt *stmt)
{
	Facts *facts = simplifier->facts;
	ExprCtx *ctx = simplifier->kernel->ctx;
	stmt->lo = simple(simplifier, stmt->lo);
	stmt->hi = simple(simplifier, stmt->hi);
	bool reports = stmt_reports(stmt);
	if (!reports && facts_prove(facts, expr_le(ctx, stmt->hi, stmt->lo)))
		return NULL;
	if (runs_once(simplifier, stmt)) {
		stmt_substitute(simplifier->kernel, stmt->body, stmt->var, stmt->lo);
		return simplify_list(simplifier, stmt->body);
	}
	int mark = facts_mark(facts);
	facts_var(facts, stmt->var, stmt->lo, stmt->hi);
	stmt->body = simplify_list(simplifier, stmt->body);
	facts_release(facts, mark);
	return stmt->body || reports ? stmt : NULL;
}

void
facts_let(Facts *facts, const Stmt *let)
{
	ExprCtx *ctx = let->value->ctx;
	int64_t lo, hi;
	if (let->value->type == DT_I64 && facts_range(facts, let->value, &lo, &hi) && hi < INT64_MAX)
		facts_var(facts, let->var, expr_i64(ctx, lo), expr_i64(ctx, hi + 1));
}

/* What stands in place of stmt: itself, other statements, or nothing. */
static Stmt *
simplify_stmt(Simplifier *simplifier, Stmt *stmt)
{
	if (stmt->kind == STMT_IF)
		return simplify_if(simplifier, stmt);
	if (stmt->kind == STMT_FOR)
		return simplify_for(simplifier, stmt);
	stmt->value = simple(simplifier, stmt->value);
	stmt->condition = simple(simplifier, stmt->condition);
	if (stmt->kind == STMT_LET)
		facts_let(simplifier->facts, stmt);
	if (stmt->index)
		stmt->index = simple_list(simplifier, stmt->buffer->tensor.rank, stmt->index);
	if (stmt->args)
		stmt->args = simple_list(simplifier, stmt->warp_op->nargs, stmt->args);
	return stmt;
}

static Stmt *
simplify_list(Simplifier *simplifier, Stmt *list)
{
	int mark = facts_mark(simplifier->facts);
	StmtList simple = {0};
	while (list) {
		Stmt *next = list->next;
		list->next = NULL;
		stmt_list_add(&simple, simplify_stmt(simplifier, list));
		list = next;
	}
	facts_release(simplifier->facts, mark);
	return simple.first;
}

void
tir_simplify(Kernel *kernel)
{
	Arena *arena = arena_new_in(kernel->arena, "simplifying a kernel");
	Simplifier simplifier = {kernel, facts_new(kernel->ctx, arena)};
	kernel->body = simplify_list(&simplifier, kernel->body);
	kernel->is_normal = false;
	facts_close(simplifier.facts);
	arena_reset(arena);
	kernel_finish(kernel);
}
