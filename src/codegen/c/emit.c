/* Statements to C. Loops are counted in int64; what a dialect has its own way is dialect.c's. */
#include "codegen/c/emit.h"

const Expr *
without_lets(Emit *em, const Expr *e)
{
	return e->has_var ? expr_replace_vars(e, &em->lets) : e;
}

void
learn_loop(Emit *em, const Stmt *loop)
{
	facts_var(em->facts, loop->var, without_lets(em, loop->lo), without_lets(em, loop->hi));
}

/* A block of its own: what is defined inside ends with it. */
void
emit_block(Emit *em, const Stmt *list)
{
	int mark = facts_mark(em->facts);
	em->depth++;
	emit_list(em, list);
	em->depth--;
	facts_release(em->facts, mark);
}

/* ---- loops ----------------------------------------------------------------------------------- */

void
emit_serial_loop(Emit *em, const Stmt *loop)
{
	begin_statement(em, 2, (const Expr *[]){loop->lo, loop->hi});
	const char *lo = emit_scalar(em, loop->lo), *hi = emit_scalar(em, loop->hi);
	const char *name = name_of(em, loop->var), *type = value_type(em, loop->hi);
	if (!expr_is_const(loop->hi)) {
		const char *end = new_name(em, 'e');
		emit_line(em, "const %s %s = %s;", type, end, hi);
		hi = end;
	}
	if (!is_narrow(em, loop->lo))
		type = c_type(DT_I64);
	emit_line(em, "for (%s %s = %s; %s < %s; %s++) {", type, name, lo, name, hi, name);
	int mark = facts_mark(em->facts);
	learn_loop(em, loop);
	emit_block(em, loop->body);
	facts_release(em->facts, mark);
	emit_line(em, "}");
}

static void
emit_for(Emit *em, const Stmt *stmt)
{
	if (stmt->bind == BIND_SERIAL || !em->dialect->loop(em, stmt))
		emit_serial_loop(em, stmt);
}

/* ---- the others ------------------------------------------------------------------------------ */

static void
emit_let(Emit *em, const Stmt *stmt)
{
	DType type = stmt->value->type;
	begin_statement(em, 1, &stmt->value);
	if (type == DT_BOOL || dtype_is_integer(type))
		map_set_ptr(&em->lets, stmt->var, (void *)without_lets(em, stmt->value));
	lanes_note(&em->lanes, stmt);
	Val val = emit_value(em, stmt->value);
	if (val.form == LANES)
		map_set_ptr(&em->names, stmt->var, (void *)val.text);
	else
		emit_line(em, "const %s %s = %s;",
		          val.form == VECTOR ? c_vector(em, type, em->vector->lanes)
		                             : value_type(em, stmt->value),
		          name_of(em, stmt->var), val.text);
	map_set_ptr(&em->forms, stmt->var, (void *)(uintptr_t)val.form);
}

static void
emit_stmt(Emit *em, const Stmt *stmt)
{
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
	case STMT_SYNC:
	case STMT_WARP_OP:
		em->dialect->threads(em, stmt);
		break;
	}
}

void
emit_list(Emit *em, const Stmt *list)
{
	for (; list; list = list->next)
		emit_stmt(em, list);
}
